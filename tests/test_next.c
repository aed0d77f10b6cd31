/* SPDX-License-Identifier: BSD-3-Clause */
/* Where to measure next: places counted and measured by brute force; paths. */
#include "samples.h"

#include <omp.h>

SEED(seed);

static csrec_sampling find_next(const csrec_measurement *m, const double *density,
                                const csrec_next_options *options) {
    csrec_sampling next = {0};
    assert_well(csrec_where_next(m, density, options, &next, &told));
    return next;
}

/* A signal of random shape with random samples, density and places that are allowed. */
typedef struct {
    csrec_measurement m;
    double *density;
    uint8_t *allowed, *measured;
    int64_t entries, free, free_positive;
} scene;

static scene make_scene(int round) {
    static const int64_t most[] = {0, 2000, 50, 13};
    scene s = {.m = {.shape = {1 + round % 3, {0}}}};
    for (int d = 0; d < s.m.shape.dims; d++)
        s.m.shape.dim[d] = 1 + check_below(&seed, most[s.m.shape.dims]);
    s.entries = entries_in(&s.m.shape);
    s.density = check_keep((size_t)s.entries * sizeof *s.density);
    s.m.index = check_keep((size_t)s.entries * sizeof *s.m.index);
    s.allowed = check_keep_zeros((size_t)s.entries, 1);
    s.measured = check_keep_zeros((size_t)s.entries, 1);
    double rate = 0.3 * check_uniform(&seed), zeros = 0.3 * (double)(round / 3 % 2);
    double unit = exp(100 * check_uniform(&seed) - 50);
    for (int64_t i = 0; i < s.entries; i++) {
        s.density[i] = check_uniform(&seed) < zeros ? 0 : unit * exp(2 * check_normal(&seed));
        s.allowed[i] = check_uniform(&seed) < 0.9;
        s.measured[i] = check_uniform(&seed) < rate;
        if (s.measured[i]) s.m.index[s.m.n++] = i;
        if (s.measured[i] || !s.allowed[i]) continue;
        s.free++;
        s.free_positive += s.density[i] > 0;
    }
    return s;
}

static void check_places(const scene *s, const csrec_sampling *next, int64_t count) {
    int64_t positive = 0;
    assert_int_equal(next->n, count);
    for (int64_t k = 0; k < count; k++) {
        int64_t i = next->index[k];
        assert_true(i >= 0 && i < s->entries && (k == 0 || next->index[k - 1] < i));
        assert_true(s->allowed[i] && !s->measured[i]);
        positive += s->density[i] > 0;
    }
    /* Density zero: only if nothing else is left. */
    assert_int_equal(positive, count < s->free_positive ? count : s->free_positive);
}

/* The distances that the density asks for, from the formula and the smallest one that was reported.
 * A place that was taken later may be nearer to one before it than that one asks for. Returns
 * whether there was something to check. */
static bool check_distances(const scene *s, const csrec_sampling *next) {
    double mean = 0, dims = 0, least = INFINITY;
    if (next->min_distance <= 1.0 || next->n > s->free_positive) return false;
    OWNED double *r = malloc((size_t)next->n * sizeof *r);
    for (int d = 0; d < s->m.shape.dims; d++) dims += s->m.shape.dim[d] > 1;
    for (int64_t i = 0; i < s->entries; i++)
        if (s->allowed[i] && !s->measured[i]) mean += s->density[i] / (double)s->free_positive;
    double most = 1.5 * pow((double)s->free_positive / (double)next->n, 1 / dims);
    for (int64_t k = 0; k < next->n; k++) {
        r[k] = pow(mean / s->density[next->index[k]], 1 / dims);
        least = fmin(least, r[k]);
    }
    double c = next->min_distance / least * (1 - 1e-9);
    for (int64_t k = 0; k < next->n; k++) {
        r[k] = fmin(c * r[k], most * (1 - 1e-9));
        for (int64_t i = 0; i < s->m.n; i++)
            assert_true(distance_of(&s->m.shape, next->index[k], s->m.index[i]) >= r[k]);
        for (int64_t i = 0; i < k; i++)
            assert_true(distance_of(&s->m.shape, next->index[k], next->index[i]) >=
                        fmin(r[i], r[k]));
    }
    return true;
}

TEST(places_keep_their_distances) {
    int checked[4] = {0};
    for (int round = 0; round < 300; round++) {
        scene s = make_scene(round);
        csrec_next_options options = {.seed = check_next(&seed), .allowed = s.allowed};
        if (s.free > 0) {
            int64_t most = round % 5 ? 1 + s.free / (5 + check_below(&seed, 200)) : s.free;
            options.count = 1 + check_below(&seed, most);
            if (options.count > s.free) options.count = s.free;
            CLEARED(csrec_sampling) next = find_next(&s.m, s.density, &options);
            check_places(&s, &next, options.count);
            checked[s.m.shape.dims] += check_distances(&s, &next);
        }
    }
    for (int d = 1; d <= 3; d++) assert_true(checked[d] > 5);
}

/* The radius must be worth its name: random darts at distance r come to 0.7 / r^2 of a picture. */
TEST(even_places_are_far_apart) {
    const csrec_measurement m = {.shape = {2, {100, 120}}};
    const double rate[] = {0.17, 0.05, 0.01};
    const double least[] = {2.0, sqrt(0.7 / 0.05) * 0.8, sqrt(0.7 / 0.01) * 0.8};
    for (int i = 0; i < 3; i++) {
        csrec_next_options options = {.count = (int64_t)(rate[i] * 12000),
                                      .seed = check_next(&seed)};
        CLEARED(csrec_sampling) next = find_next(&m, NULL, &options);
        double nearest = INFINITY;
        for (int64_t a = 0; a < next.n; a++)
            for (int64_t b = 0; b < a; b++)
                nearest = fmin(nearest, distance_of(&m.shape, next.index[a], next.index[b]));
        assert_true(nearest >= next.min_distance && nearest >= least[i] - 1e-12);
    }
}

/* One place goes where the gap is largest. */
TEST(one_place_fills_the_gap) {
    int64_t index[1600], n = 0;
    for (int64_t i = 0; i < 1600; i++) {
        int64_t y = i / 40 - 28, x = i % 40 - 13;
        if (y * y + x * x > 36) index[n++] = i;
    }
    const csrec_measurement m = {.shape = {2, {40, 40}}, .n = n, .index = index};
    csrec_next_options options = {.count = 1, .seed = check_next(&seed)};
    CLEARED(csrec_sampling) next = find_next(&m, NULL, &options);
    assert_int_equal(next.index[0], 28 * 40 + 13);
}

/* Three stripes with densities 1, 2, 4. Of places drawn independently a stripe would get a
 * binomial number; places that are kept apart vary less, so five of its deviations are exceeded
 * less than once in 10^6 runs. */
TEST(places_follow_the_density) {
    enum { SIDE = 399, COUNT = 1500 };
    static double density[SIDE * SIDE];
    const csrec_measurement m = {.shape = {2, {SIDE, SIDE}}};
    int64_t found[3] = {0};
    for (int64_t i = 0; i < SIDE * SIDE; i++) density[i] = ldexp(1.0, (int)(i % SIDE / 133));
    csrec_next_options options = {.count = COUNT, .seed = check_next(&seed)};
    CLEARED(csrec_sampling) next = find_next(&m, density, &options);
    for (int64_t k = 0; k < COUNT; k++) found[next.index[k] % SIDE / 133]++;
    for (int i = 0; i < 3; i++) {
        double share = ldexp(1.0, i) / 7, deviation = sqrt(COUNT * share * (1 - share));
        printf("density %d: %lld places, %.1f expected\n", 1 << i, (long long)found[i],
               COUNT * share);
        assert_true(fabs((double)found[i] - COUNT * share) < 5 * deviation);
    }
}

TEST(equal_densities_are_even) {
    const csrec_measurement m = {.shape = {2, {60, 50}}};
    static double density[3000];
    csrec_next_options options = {.count = 200, .seed = check_next(&seed)};
    CLEARED(csrec_sampling) even = find_next(&m, NULL, &options);
    const double values[] = {0, 4, 0x1p-1060, 0x1p1000};
    for (int v = 0; v < 4; v++) {
        for (int i = 0; i < 3000; i++) density[i] = values[v];
        CLEARED(csrec_sampling) next = find_next(&m, density, &options);
        assert_memory_equal(even.index, next.index, 200 * sizeof *next.index);
    }
}

/* What is measured may have any density. */
TEST(only_free_places_count) {
    static double density[3000];
    int64_t index = 77;
    const csrec_measurement m = {.shape = {2, {60, 50}}, .n = 1, .index = &index};
    csrec_next_options options = {.count = 200, .seed = check_next(&seed)};
    CLEARED(csrec_sampling) even = find_next(&m, NULL, &options);
    for (int i = 0; i < 3000; i++) density[i] = i == index ? 0x1p1000 : 0x1p-1000;
    CLEARED(csrec_sampling) next = find_next(&m, density, &options);
    assert_memory_equal(even.index, next.index, 200 * sizeof *next.index);
}

TEST(same_for_any_threads) {
    scene s = make_scene(1);
    csrec_next_options options = {.count = 1 + s.free / 3, .seed = check_next(&seed)};
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    CLEARED(csrec_sampling) one = find_next(&s.m, s.density, &options);
    omp_set_num_threads(7);
    CLEARED(csrec_sampling) many = find_next(&s.m, s.density, &options);
    omp_set_num_threads(before);
    assert_memory_equal(one.index, many.index, (size_t)one.n * sizeof *one.index);
}

/* Positions that a release has given must not change; the keys are the same everywhere. */
TEST(positions_are_those_of_any_platform) {
    double density[600];
    int64_t index[] = {3, 77, 300, 555};
    const csrec_measurement m = {.shape = {2, {20, 30}}, .n = 4, .index = index};
    uint64_t sum = 0;
    for (int i = 0; i < 600; i++) density[i] = 1 + i % 30 * (i % 30);
    csrec_next_options options = {.count = 40, .seed = 5};
    CLEARED(csrec_sampling) next = find_next(&m, density, &options);
    for (int k = 0; k < 40; k++) sum = sum * 601 + (uint64_t)next.index[k];
    assert_true(sum == UINT64_C(8208658640725090394));
}

TEST(mistakes_are_named) {
    int none = 0;
    double density[12] = {1, 2, NAN};
    int64_t index[] = {0, 12};
    csrec_measurement m = {.shape = {2, {3, 4}}, .n = 1, .index = index};
    csrec_next_options options = {.count = 11};
    csrec_sampling next = {.n = 77};
    assert_refused(csrec_where_next(&m, density, &options, &next, &told), CSREC_DATA,
                   "density: entry 2 is nan");
    density[2] = -1;
    assert_fails(csrec_where_next(&m, density, &options, &next, &told), CSREC_DATA);
    options.count = 12;
    assert_refused(csrec_where_next(&m, NULL, &options, &next, &told), CSREC_ARGUMENT,
                   "count 12 is not in 1 .. 11");
    options.count = 0;
    assert_int_equal(csrec_where_next(&m, NULL, &options, &next, NULL), CSREC_ARGUMENT);
    m.n = 2, options.count = 1;
    assert_refused(csrec_where_next(&m, NULL, &options, &next, &told), CSREC_DATA,
                   "index: element 1 is 12");
    m.n = 1, options.progress = stop_by_count, options.context = &none;
    assert_fails(csrec_where_next(&m, NULL, &options, &next, &told), CSREC_STOPPED);
    m.shape = (csrec_shape){4, {2, 2, 2, 2}};
    assert_fails(csrec_where_next(&m, NULL, &options, &next, &told), CSREC_UNSUPPORTED);
    m.shape = (csrec_shape){1, {0}};
    assert_fails(csrec_where_next(&m, NULL, &options, &next, &told), CSREC_DATA);
    assert_int_equal(next.n, 77);
}

static double length_of(const csrec_shape *shape, int64_t n, const int64_t *index) {
    double sum = 0;
    for (int64_t k = 1; k < n; k++) sum += distance_of(shape, index[k - 1], index[k]);
    return sum;
}

/* The reported lengths are those of the paths, and no position is lost. */
static double check_path(const csrec_shape *shape, int64_t n, int64_t *index) {
    double length[2];
    OWNED int64_t *before = malloc((size_t)(n + 1) * sizeof *before);
    memcpy(before, index, (size_t)n * sizeof *before);
    double start = length_of(shape, n, index);
    assert_ok(csrec_path_order(shape, n, index, NULL, NULL, length, NULL));
    double end = length_of(shape, n, index);
    assert_true(fabs(length[0] - start) <= 1e-9 * start && fabs(length[1] - end) <= 1e-9 * end);
    assert_true(end <= start * (1 + 1e-12));
    OWNED int64_t *after = malloc((size_t)(n + 1) * sizeof *after);
    memcpy(after, index, (size_t)n * sizeof *after);
    qsort(before, (size_t)n, sizeof *before, check_ascend);
    qsort(after, (size_t)n, sizeof *after, check_ascend);
    if (n) assert_memory_equal(before, after, (size_t)n * sizeof *before);
    return end;
}

TEST(paths_are_permutations) {
    static const int64_t most[] = {0, 3000, 60, 14};
    for (int round = 0; round < 200; round++) {
        csrec_shape shape = {1 + round % 3, {0}};
        for (int d = 0; d < shape.dims; d++)
            shape.dim[d] = 1 + check_below(&seed, most[shape.dims]);
        int64_t n = check_below(&seed, round % 4 ? 300 : 12), index[300];
        for (int64_t k = 0; k < n; k++) index[k] = check_below(&seed, entries_in(&shape));
        double length = check_path(&shape, n, index);
        assert_true(check_path(&shape, n, index) <= length * (1 + 1e-12));
    }
}

/* The shortest path over random positions in the plane tends to 0.7124 sqrt(n area) (Johnson and
 * McGeoch 1996); the ends of the moves come within a tenth, borders add some percent. */
TEST(paths_are_short) {
    const csrec_shape shape = {2, {4000, 5000}};
    enum { COUNT = 20000 };
    static int64_t index[COUNT];
    for (int64_t k = 0; k < COUNT; k++) index[k] = check_below(&seed, entries_in(&shape));
    double length = check_path(&shape, COUNT, index);
    assert_true(length < 0.82 * sqrt((double)COUNT * 4000 * 5000));
    const csrec_shape line = {1, {1000}};
    assert_true(check_path(&line, 300, memset(index, 0, sizeof index)) == 0);
    for (int64_t k = 0; k < 300; k++) index[k] = (k * 7919) % 1000;
    assert_true(check_path(&line, 300, index) <= 2 * 999);
}

TEST(mistakes_of_paths_are_named) {
    int none = 0;
    csrec_shape shape = {2, {5, 5}};
    int64_t index[] = {24, 0, 25};
    assert_refused(csrec_path_order(&shape, 3, index, NULL, NULL, NULL, &told), CSREC_DATA,
                   "index: element 2 is 25");
    assert_fails(csrec_path_order(&shape, 2, index, stop_by_count, &none, NULL, &told),
                 CSREC_STOPPED);
    assert_true(index[0] == 24 && index[1] == 0);
    shape = (csrec_shape){4, {1, 1, 1, 1}};
    assert_fails(csrec_path_order(&shape, 0, index, NULL, NULL, NULL, &told), CSREC_UNSUPPORTED);
}
