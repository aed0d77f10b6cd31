/* SPDX-License-Identifier: BSD-3-Clause */
/* Where to send the next rays: numbers by the formula of sampling.h, written again for
 * lines, and what must hold for any. */
#include "rays.h"
#include "samples.h"

#include <omp.h>

typedef struct scene {
    csrec_measurement m;
    double *density, *known; /* [entries] */
    uint8_t *allowed;
    int64_t entries;
    csrec_next_options options;
} scene;

/* Of a random shape, samples, errors and places that are allowed; rays with room for the count. */
static scene make_scene(int round) {
    static const int64_t most[] = {0, 2000, 50, 13};
    scene s = {.m = {.shape = {1 + round % 3, {0}}}};
    for (int d = 0; d < s.m.shape.dims; d++)
        s.m.shape.dim[d] = 1 + check_below(&drawn, most[s.m.shape.dims]);
    s.entries = entries_in(&s.m.shape);
    s.density = draw_within(s.entries, 0.0, 1.0);
    const double unit = exp(100 * check_uniform(&drawn) - 50);
    for (int64_t i = 0; i < s.entries; i++) s.density[i] *= s.density[i] * s.density[i] * unit;
    s.known = check_keep_zeros((size_t)s.entries, sizeof *s.known);
    s.allowed = check_keep_zeros((size_t)s.entries, 1);
    s.m.index = check_keep((size_t)s.entries * sizeof *s.m.index);
    s.m.rays = draw_rays(s.entries);
    const double rate = check_uniform(&drawn);
    for (int64_t i = 0; i < s.entries; i++) {
        s.allowed[i] = i == 0 || check_uniform(&drawn) < 0.9;
        if (check_uniform(&drawn) >= rate) continue;
        s.known[i] = s.m.rays[s.m.n];
        s.m.index[s.m.n++] = i;
    }
    s.options = (csrec_next_options){.seed = check_next(&drawn), .allowed = s.allowed};
    s.options.most = round % 2 ? 0 : 33 + check_below(&drawn, 20);
    s.options.count = 1 + check_below(&drawn, round % 4 ? s.entries : 40 * s.entries);
    return s;
}

/* That options->most leaves of position i. */
static int64_t room_at(const scene *s, int64_t i) {
    if (!s->allowed[i]) return 0;
    return s->options.most ? s->options.most - (int64_t)s->known[i] : s->options.count;
}

static int64_t room_in(const scene *s) {
    int64_t sum = 0;
    for (int64_t i = 0; i < s->entries; i++) sum += room_at(s, i);
    return sum;
}

static csrec_sampling find(const scene *s, const double *density) {
    csrec_sampling next = {.n = 0};
    assert_well(csrec_rays_next(&s->m, density, &s->options, &next, &told));
    return next;
}

/* The rays of each entry. */
static int64_t *spread_out(const scene *s, const csrec_sampling *next) {
    int64_t *rays = check_keep_zeros((size_t)s->entries, sizeof *rays);
    for (int64_t k = 0; k < next->n; k++) rays[next->index[k]] = next->rays[k];
    return rays;
}

TEST(numbers_sum_to_the_budget) {
    int shared = 0;
    for (int round = 0; round < 300; round++) {
        scene s = make_scene(round);
        const int64_t room = room_in(&s);
        if (s.options.count > room) s.options.count = room;
        CLEARED(csrec_sampling) next = find(&s, round % 5 ? s.density : NULL);
        int64_t sum = 0, known = 0;
        for (int64_t k = 0; k < next.n; k++) {
            const int64_t i = next.index[k];
            assert_true(i >= 0 && i < s.entries && (k == 0 || next.index[k - 1] < i));
            assert_true(next.rays[k] >= 1 && next.rays[k] <= room_at(&s, i));
            sum += next.rays[k];
            known += s.known[i] > 0;
        }
        assert_int_equal(sum, s.options.count);
        shared += known > 0 && known < next.n;
    }
    assert_true(shared > 30); /* known and new ones together */
}

/* q of position k of a line. */
static double q_at(const scene *s, int64_t k) {
    double rays = 1.0, around = 0.0;
    for (int64_t i = k - 16; i <= k + 16; i++)
        if (i >= 0 && i < s->entries) rays += s->known[i], around += 1.0;
    return s->density[k] * sqrt(rays / around);
}

/* Of a line the curve is the line. Where no bound is touched, and no known rays are too many, all
 * rays of a stretch sum to c q, but for what is left at its ends and taken away. */
TEST(numbers_follow_the_formula) {
    enum { ENTRIES = 1500, STRETCH = 50 };
    for (int round = 0; round < 20; round++) {
        scene s = {.m = {.shape = {1, {ENTRIES}}, .n = ENTRIES}, .entries = ENTRIES};
        s.density = draw_within(ENTRIES, 0.7, 1.3);
        s.m.rays = s.known = check_room(ENTRIES);
        s.m.index = check_keep(ENTRIES * sizeof *s.m.index);
        double q[ENTRIES], sum = 0, all = 0;
        for (int64_t i = 0; i < ENTRIES; i++) {
            s.m.index[i] = i;
            s.known[i] = (double)(1 + check_below(&drawn, 2));
        }
        s.options = (csrec_next_options){.count = 8 * ENTRIES, .seed = check_next(&drawn)};
        for (int64_t i = 0; i < ENTRIES; i++) sum += q[i] = q_at(&s, i), all += s.known[i];
        all += (double)s.options.count;
        CLEARED(csrec_sampling) next = find(&s, s.density);
        const int64_t *rays = spread_out(&s, &next);
        for (int64_t at = 0; at < ENTRIES; at += STRETCH) {
            double wanted = 0, found = 0;
            for (int64_t i = at; i < at + STRETCH; i++) {
                wanted += all * q[i] / sum;
                found += s.known[i] + (double)rays[i];
            }
            expect_number(found, wanted, 2.0 + 2e-3 * wanted, "stretch", at);
        }
    }
}

/* The sum of e^2 n / t over all, where t are rays in all: no ray moved from one position to another
 * makes it less, beyond what rounding to whole numbers may. A line of equal known rays. */
TEST(no_move_is_better) {
    enum { ENTRIES = 60 };
    scene s = {.m = {.shape = {1, {ENTRIES}}, .n = ENTRIES}, .entries = ENTRIES};
    s.density = draw_within(ENTRIES, 0.5, 1.5);
    s.m.rays = s.known = check_room(ENTRIES);
    s.m.index = check_keep(ENTRIES * sizeof *s.m.index);
    for (int64_t i = 0; i < ENTRIES; i++) s.m.index[i] = i, s.known[i] = 4;
    s.options = (csrec_next_options){.count = 100 * ENTRIES, .seed = check_next(&drawn)};
    CLEARED(csrec_sampling) next = find(&s, s.density);
    const int64_t *rays = spread_out(&s, &next);
    for (int64_t a = 0; a < ENTRIES; a++)
        for (int64_t b = 0; b < ENTRIES; b++) {
            const double A = pow(q_at(&s, a), 2), B = pow(q_at(&s, b), 2);
            const double x = 4 + (double)rays[a], y = 4 + (double)rays[b];
            const double now = A / x + B / y, then = A / (x - 4) + B / (y + 4);
            if (a != b && x > 8) assert_true(then > now);
        }
}

/* Without a density rays go to new positions first. */
TEST(even_rays_go_to_new_positions) {
    enum { ENTRIES = 999 };
    for (int round = 0; round < 20; round++) {
        scene s = {.m = {.shape = {1, {ENTRIES}}}, .entries = ENTRIES};
        s.m.index = check_keep(ENTRIES * sizeof *s.m.index);
        s.m.rays = check_room(ENTRIES);
        s.known = check_keep_zeros(ENTRIES, sizeof *s.known);
        for (int64_t i = 1; i < ENTRIES; i += 2) {
            s.known[i] = s.m.rays[s.m.n] = 1;
            s.m.index[s.m.n++] = i;
        }
        s.options = (csrec_next_options){.count = s.m.n + 1, .seed = check_next(&drawn)};
        CLEARED(csrec_sampling) next = find(&s, NULL);
        const int64_t *rays = spread_out(&s, &next);
        int64_t twice = 0;
        for (int64_t i = 0; i < ENTRIES; i++) twice += s.known[i] + (double)rays[i] > 1;
        assert_true(twice <= 1);
    }
}

/* The first rays, where nothing is known. */
TEST(nothing_known) {
    const csrec_measurement m = {.shape = {2, {30, 40}}};
    const csrec_next_options options = {.count = 300, .seed = check_next(&drawn)};
    CLEARED(csrec_sampling) next;
    assert_well(csrec_rays_next(&m, NULL, &options, &next, &told));
    assert_int_equal(next.n, 300);
    for (int64_t k = 0; k < next.n; k++) assert_int_equal(next.rays[k], 1);
}

/* What is seen does not depend on the unit of light. */
TEST(expected_errors_have_no_unit) {
    csrec_measurement m = draw_light_at((csrec_shape){2, {24, 28}}, 3, 300);
    csrec_recover_options options;
    double *density[2];
    m.rays = draw_rays(300);
    csrec_recover_defaults(&options);
    for (int k = 0; k < 2; k++) {
        density[k] = check_room(24 * 28);
        assert_well(csrec_uncertainty_density(&m, &options, density[k], &told));
        for (int i = 0; i < 900; i++) m.y[i] *= 256.0;
    }
    for (int64_t i = 0; i < 24 * 28; i++) {
        assert_true(density[0][i] > 0.0);
        expect_number(density[1][i], density[0][i], 1e-3 * density[0][i], "entry", i);
    }
}

TEST(same_for_any_threads) {
    scene s = make_scene(1);
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    CLEARED(csrec_sampling) one = find(&s, s.density);
    omp_set_num_threads(7);
    CLEARED(csrec_sampling) many = find(&s, s.density);
    omp_set_num_threads(before);
    assert_int_equal(one.n, many.n);
    assert_memory_equal(one.index, many.index, (size_t)one.n * sizeof *one.index);
    assert_memory_equal(one.rays, many.rays, (size_t)one.n * sizeof *one.rays);
}

/* Numbers beyond all others change nothing and do not hang. */
TEST(extreme_numbers) {
    int64_t index[] = {0, 1};
    double rays[] = {1e308, 1e-308}, density[] = {0x1p1023, 0x1p-1074, 0, 1};
    const csrec_measurement m = {.shape = {1, {4}}, .n = 2, .index = index, .rays = rays};
    csrec_next_options options = {.count = INT64_C(1) << 31};
    CLEARED(csrec_sampling) next;
    assert_well(csrec_rays_next(&m, density, &options, &next, &told));
    int64_t sum = 0;
    for (int64_t k = 0; k < next.n; k++) sum += next.rays[k];
    assert_int_equal(sum, options.count);
}

TEST(mistakes_are_named) {
    int none = 0;
    int64_t index[] = {0, 11};
    double rays[] = {1, 0}, density[12] = {1, 2, NAN};
    uint8_t allowed[12] = {0};
    csrec_measurement m = {.shape = {2, {3, 4}}, .n = 1, .index = index};
    csrec_next_options options = {.count = 3};
    csrec_sampling next = {.n = 77};
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_ARGUMENT,
                   "have no numbers of rays");
    m.rays = rays;
    assert_refused(csrec_rays_next(&m, density, &options, &next, &told), CSREC_DATA,
                   "density: entry 2 is nan");
    m.n = 2;
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_DATA,
                   "array 'rays': sample 1 has 0");
    rays[1] = 4, options.count = 0;
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_ARGUMENT,
                   "count 0 is not in 1");
    options.count = 22, options.most = 2; /* 10 new ones, and one of the first */
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_ARGUMENT,
                   "count 22 is not in 1 .. 21");
    options.allowed = allowed;
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_ARGUMENT,
                   "all positions are excluded");
    options = (csrec_next_options){.count = 5, .progress = stop_by_count, .context = &none};
    for (int i = 0; i < 12; i++) density[i] = i;
    assert_fails(csrec_rays_next(&m, density, &options, &next, &told), CSREC_STOPPED);
    m.through = &(csrec_operator_spec){.name = "hadamard"};
    assert_refused(csrec_rays_next(&m, NULL, &options, &next, &told), CSREC_UNSUPPORTED,
                   "through an operator");
    assert_int_equal(next.n, 77);
}
