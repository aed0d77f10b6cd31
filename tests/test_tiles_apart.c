/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles of a recovery one by one, in any order and after a way through bytes, have the bits of
 * csrec_recover; wrong calls are refused with one line. */
#include "backends.h"
#include "tile_cases.h"

SEED(seed);
SEED(drawn); /* seed at the start */

static csrec_shape shape_of(const csrec_slab *slabs, int dims) {
    csrec_shape shape = {.dims = dims};
    for (int a = 0; a < dims; a++) shape.dim[a] = slabs[a].count;
    return shape;
}

/* Position in a box of an entry of the whole; -1: outside. */
static int64_t inside(const csrec_shape *whole, const csrec_slab *box, int64_t entry) {
    int64_t at = 0, scale = 1;
    for (int a = whole->dims - 1; a >= 0; entry /= whole->dim[a], a--) {
        int64_t x = entry % whole->dim[a] - box[a].first;
        if (x < 0 || x >= box[a].count) return -1;
        at += x * scale;
        scale *= box[a].count;
    }
    return at;
}

static csrec_measurement samples_in(const csrec_measurement *m, const csrec_slab *box) {
    csrec_measurement part = {.shape = shape_of(box, m->shape.dims), .channels = m->channels};
    part.index = malloc((size_t)(m->n + 1) * sizeof *part.index);
    part.y = malloc((size_t)(m->n * m->channels + 1) * sizeof *part.y);
    assert_true(part.index && part.y);
    for (int64_t k = 0; k < m->n; k++) {
        int64_t at = inside(&m->shape, box, m->index[k]);
        if (at < 0) continue;
        part.index[part.n] = at;
        memcpy(part.y + part.n++ * m->channels, m->y + k * m->channels,
               (size_t)m->channels * sizeof *m->y);
    }
    return part;
}

/* Puts a core into the whole, and counts it. */
static void put(const csrec_measurement *m, const csrec_slab *core, const double *values,
                double *signal, int64_t *covered) {
    int64_t entries = entries_in(&m->shape), C = m->channels;
    for (int64_t i = 0; i < entries; i++) {
        int64_t at = inside(&m->shape, core, i);
        if (at >= 0) memcpy(signal + i * C, values + at * C, (size_t)C * sizeof *values);
        *covered += at >= 0;
    }
}

static double *run_one(const csrec_tiles *tiles, const csrec_measurement *m, int64_t k,
                       csrec_recover_report *sum) {
    csrec_tile_place place;
    csrec_recover_report report;
    csrec_error error = {""};
    assert_true(csrec_tiles_place(tiles, k, &place));
    CLEARED(csrec_measurement) part = samples_in(m, place.box);
    const int64_t entries = entries_in(&part.shape);
    double *values = malloc((size_t)(entries * m->channels) * sizeof *values);
    assert_non_null(values);
    csrec_status status = csrec_tiles_run(tiles, k, &part, values, &report, &error);
    if (status) print_error("tile %lld: %s\n", (long long)k, error.text);
    assert_ok(status);
    sum->iterations += report.iterations;
    sum->pursuits += report.pursuits;
    return values;
}

static void blend_all(const csrec_tiles *tiles, const csrec_measurement *m, double *const *values,
                      int64_t n, double *signal) {
    int64_t entries = entries_in(&m->shape), covered = 0;
    double *core = check_room(entries * m->channels);
    for (int64_t k = 0; k < n; k++) {
        const double *near[27];
        csrec_tile_place place;
        int used = 0;
        for (int64_t j = -1; (j = csrec_tiles_near(tiles, k, j)) >= 0;) near[used++] = values[j];
        assert_true(used > 0 && used <= 27);
        assert_ok(csrec_tiles_blend(tiles, k, near, core, NULL));
        assert_true(csrec_tiles_place(tiles, k, &place));
        put(m, place.core, core, signal, &covered);
    }
    assert_int_equal(covered, entries); /* every entry once */
}

/* The object that comes out of the bytes of another. */
static csrec_tiles *copy_of(csrec_tiles *tiles, const csrec_recover_options *o) {
    csrec_tiles *copy = NULL;
    csrec_error error = {""};
    size_t size = csrec_tiles_pack(tiles, NULL);
    OWNED void *bytes = malloc(size);
    assert_int_equal(csrec_tiles_pack(tiles, bytes), size);
    csrec_status status = csrec_tiles_unpack(bytes, size, o, &copy, &error);
    if (status) print_error("%s\n", error.text);
    assert_ok(status);
    assert_int_equal(csrec_tiles_unpack(bytes, size - 1, o, &copy, &error), CSREC_DATA);
    memset(bytes, 'x', 12);
    assert_int_equal(csrec_tiles_unpack(bytes, size, o, &copy, &error), CSREC_DATA);
    memcpy(bytes, "csrec_tiles 9.9.9", 18);
    assert_refused(csrec_tiles_unpack(bytes, size, o, &copy, &told), CSREC_UNSUPPORTED, "9.9.9");
    return copy;
}

static void recover_apart(csrec_tiles *tiles, const csrec_measurement *m,
                          const csrec_recover_options *o, double *signal,
                          csrec_recover_report *sum) {
    int64_t count[CSREC_TILES_DIMS], n = csrec_tiles_count(tiles, count), product = 1;
    for (int a = 0; a < m->shape.dims; a++) product *= count[a];
    assert_int_equal(n, product);
    OWNED double **values = calloc((size_t)n, sizeof *values);
    assert_non_null(values);
    int64_t start = check_below(&seed, n);
    for (int64_t i = 0; i < n; i++) { /* backwards from anywhere, each second one by a copy */
        int64_t k = (start + n - i) % n;
        ENDS_BY(end_tiles) csrec_tiles *other = i % 2 ? copy_of(tiles, o) : NULL;
        values[k] = run_one(other ? other : tiles, m, k, sum);
    }
    blend_all(tiles, m, values, n, signal);
    for (int64_t k = 0; k < n; k++) free(values[k]);
}

static void check_case(const tile_case *c, const char *backend) {
    ENDS_BY(clear) picture p = make(&c->shape, c->channels, 0.2, c->rate, c->sigma, &seed);
    const csrec_recover_options o = tile_case_options(c, backend);
    csrec_recover_report report, sum = {0};
    csrec_error error = {""};
    ENDS_BY(end_tiles) csrec_tiles *tiles = NULL;
    for (int64_t k = 0; k < p.m.n * c->channels; k++) p.m.y[k] *= c->factor;
    p.m.sigma *= c->factor;
    csrec_status status = csrec_recover(&p.m, &o, p.signal, NULL, &report, &error);
    if (status) print_error("%s: %s\n", c->name, error.text);
    assert_ok(status);
    status = csrec_tiles_create(&p.m, &o, &tiles, &error);
    if (status) print_error("%s: %s\n", c->name, error.text);
    assert_ok(status);
    int64_t count[CSREC_TILES_DIMS], n = csrec_tiles_count(tiles, count);
    assert_int_equal(n, c->single ? 1 : report.estimate.tiles);
    assert_int_equal(n == 1, c->single);
    double *signal = check_room(p.entries * c->channels);
    recover_apart(tiles, &p.m, &o, signal, &sum);
    printf("%-20s %lld tiles\n", c->name, (long long)n);
    assert_memory_equal(signal, p.signal, (size_t)(p.entries * c->channels) * sizeof *signal);
    assert_int_equal(sum.iterations, report.iterations);
    assert_int_equal(sum.pursuits, report.pursuits);
}

TEST_ON_EACH(tiles_apart_have_the_bits_of_the_whole) {
    const char *backend = check_backend(state);
    for (int i = 0; i < TILE_CASES; i++)
        if (tile_case_runs(i, backend, 0, drawn)) check_case(&tile_cases[i], backend);
}

/* A tile whose box has no sample is the mean of all, as in the whole. */
TEST_ON("cpu", a_tile_without_samples_is_the_mean) {
    const char *backend = check_backend(state);
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {560, 1100}}, 2, 0.2, 0.2, 0.0, &seed);
    csrec_recover_report sum = {0};
    ENDS_BY(end_tiles) csrec_tiles *tiles = NULL;
    int64_t kept = 0;
    for (int64_t k = 0; k < p.m.n; k++) { /* of the left part only */
        if (p.m.index[k] % 1100 >= 300) continue;
        p.m.index[kept] = p.m.index[k];
        memcpy(p.m.y + 2 * kept++, p.m.y + 2 * k, 2 * sizeof *p.m.y);
    }
    p.m.n = kept;
    p.m.pattern = CSREC_PATTERN_NONE;
    p.m.count = 0;
    csrec_recover_options o = options_by(NULL);
    const csrec_setting steps = {"steps", 3};
    o.method = "frames";
    use_settings(&o.solve, 1, &steps);
    o.tile = 180000;
    o.backend = backend;
    assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, NULL, NULL));
    assert_ok(csrec_tiles_create(&p.m, &o, &tiles, NULL));
    OWNED double *signal = malloc((size_t)p.entries * 2 * sizeof *signal);
    recover_apart(tiles, &p.m, &o, signal, &sum);
    assert_memory_equal(signal, p.signal, (size_t)p.entries * 2 * sizeof *signal);
}

static void expect_refusal(const csrec_measurement *m, const csrec_recover_options *o,
                           csrec_status expected, const char *word) {
    csrec_tiles *tiles = NULL;
    assert_refused(csrec_tiles_create(m, o, &tiles, &told), expected, word);
    assert_null(tiles);
}

TEST(wrong_calls_are_refused) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {600, 520}}, 1, 0.0, 0.1, 0.0, &seed);
    ENDS_BY(end_history) csrec_history *history = NULL;
    ENDS_BY(end_tiles) csrec_tiles *tiles = NULL;
    csrec_tile_place place;
    double value = 0.0;
    csrec_recover_options o = options_by("grids");
    expect_refusal(&p.m, &o, CSREC_UNSUPPORTED, "needs the whole signal");
    o.method = "frames";
    o.tile = -1;
    expect_refusal(&p.m, &o, CSREC_ARGUMENT, "tile");
    o.tile = 100000;
    o.memory = 1 << 20;
    expect_refusal(&p.m, &o, CSREC_MEMORY, "memory");
    o.memory = 0;
    assert_ok(csrec_history_create(NULL, 1.0, &history));
    o.history = history;
    expect_refusal(&p.m, &o, CSREC_ARGUMENT, "history");
    o.history = NULL;
    assert_well(csrec_tiles_create(&p.m, &o, &tiles, &told));
    assert_fails(csrec_tiles_run(tiles, 0, &p.m, &value, NULL, &told), CSREC_DATA);
    assert_fails(csrec_tiles_run(tiles, 99, &p.m, &value, NULL, &told), CSREC_ARGUMENT);
    assert_fails(csrec_tiles_blend(tiles, -1, NULL, &value, &told), CSREC_ARGUMENT);
    assert_false(csrec_tiles_place(tiles, -1, &place));
    assert_false(csrec_tiles_place(tiles, 99, &place));
    assert_int_equal(csrec_tiles_near(tiles, 99, -1), -1);
    csrec_tiles_destroy(NULL);
}
