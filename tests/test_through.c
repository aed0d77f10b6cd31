/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements through an operator: files, checks, complex values, chosen rows. */
#include "operators.h"
#include "io_measurement.h" /* after it: has a seed */

static const char *const names[] = {"hadamard", "fourier", "matrix", "blur", "downsample"};
enum { NAMES = sizeof names / sizeof *names };

/* A random operator and random values through it; complex where it is not fourier by chance. */
typedef struct made {
    drawn d;
    csrec_measurement m;
} made;

static void draw_measurement(const char *name, made *t) {
    t->d = draw_operator(&seed, name, NULL);
    int64_t rows = 0;
    t->m = (csrec_measurement){.shape = t->d.shape,
                               .channels = 1 + check_below(&seed, 3),
                               .index = t->d.index,
                               .dtype = check_below(&seed, 2) ? CSREC_F64 : CSREC_F32,
                               .sigma = check_uniform(&seed),
                               .through = &t->d.spec};
    if (t->d.spec.coils) t->m.channels = 1;
    t->m.is_complex = strcmp(name, "fourier") == 0 || check_below(&seed, 2);
    assert_ok(csrec_measurement_rows(&t->m, &rows, NULL));
    t->m.n = strcmp(name, "matrix") == 0 || strcmp(name, "downsample") == 0 ? rows : t->d.spec.m;
    if (t->m.n == rows && !t->d.spec.index) {
        free(t->d.index);
        t->d.index = malloc((size_t)rows * sizeof *t->d.index);
        for (int64_t k = 0; k < rows; k++) t->d.index[k] = k;
        t->m.index = t->d.index;
    }
    t->m.y = malloc((size_t)csrec_measurement_values(&t->m) * sizeof *t->m.y);
    for (int64_t i = 0; i < csrec_measurement_values(&t->m); i++)
        t->m.y[i] = (float)check_normal(&seed);
}

static void drop(made *t) {
    free(t->m.y);
    drop_drawn(&t->d);
}

static void same_values(int64_t n, const double *a, const double *b) {
    if (n > 0) assert_true((a == NULL) == (b == NULL));
    if (a) assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

static void same_extents(int dims, const int64_t *a, const int64_t *b) {
    assert_true((a == NULL) == (b == NULL));
    if (a) assert_memory_equal(a, b, (size_t)dims * sizeof *a);
}

static void same_operator(const csrec_measurement *a, const csrec_measurement *b) {
    const csrec_operator_spec *s = a->through, *t = b->through;
    int64_t entries = entries_in(&a->shape), each = 1;
    assert_string_equal(s->name, t->name);
    assert_string_equal(s->ordering ? s->ordering : "natural",
                        t->ordering ? t->ordering : "natural");
    assert_int_equal(s->scrambled, t->scrambled);
    if (s->scrambled) assert_int_equal(s->seed, t->seed);
    assert_int_equal(s->complex_signal, t->complex_signal);
    assert_int_equal(s->centred, t->centred);
    assert_string_equal(s->norm ? s->norm : "backward", t->norm ? t->norm : "backward");
    for (int d = 0; d < a->shape.dims; d++) each *= s->kernel ? s->kernel[d] : a->shape.dim[d];
    same_values(s->coils ? 2 * s->n_coils * entries : 0, s->coils, t->coils);
    same_values(s->matrix ? s->m * each : 0, s->matrix, t->matrix);
    same_values(s->filters && !s->coils && !s->matrix ? each : 0,
                s->coils || s->matrix ? NULL : s->filters,
                s->coils || s->matrix ? NULL : t->filters);
    same_extents(a->shape.dims, s->kernel, t->kernel);
    same_extents(a->shape.dims, s->factor, t->factor);
}

TEST(files_keep_everything) {
    for (int round = 0; round < 60; round++) {
        ENDS_BY(drop) made t;
        draw_measurement(names[round % NAMES], &t);
        CLEARED(csrec_measurement) found;
        assert_well(csrec_measurement_write(io_path("m.npz"), &t.m, false, &told));
        assert_well(csrec_measurement_read(io_path("m.npz"), NULL, &found, &told));
        assert_int_equal(found.n, t.m.n);
        assert_int_equal(found.channels, t.m.channels);
        assert_int_equal(found.is_complex, t.m.is_complex);
        assert_int_equal(found.dtype, t.m.dtype);
        assert_true(found.sigma == t.m.sigma);
        same_values(csrec_measurement_values(&t.m), t.m.y, found.y);
        assert_memory_equal(found.index, t.m.index, (size_t)t.m.n * sizeof *found.index);
        same_operator(&t.m, &found);
    }
}

/* What the operator gives of a signal, channel by channel and part by part, is its matrix's. */
TEST(simulation_equals_the_definition) {
    for (int round = 0; round < 40; round++) {
        ENDS_BY(drop) made t;
        draw_measurement(names[round % NAMES], &t);
        const int64_t values = csrec_measurement_signal_values(&t.m);
        const bool own = strcmp(t.d.spec.name, "fourier") == 0;
        const int64_t parts = t.m.is_complex && !own ? 2 : 1, C = t.m.channels * parts;
        const int64_t wide = t.d.n / t.d.entries, each = t.d.m / t.m.n;
        double *x = kept_normals(&seed, values);
        assert_int_equal(values, t.d.entries * C * wide);
        assert_ok(csrec_measurement_simulate(&t.m, x, t.m.y, NULL));
        for (int64_t i = 0; i < t.d.m; i++)
            for (int64_t c = 0; c < C; c++) {
                double sum = 0.0;
                for (int64_t j = 0; j < t.d.n; j++)
                    sum += t.d.matrix[i * t.d.n + j] * x[(j / wide * C + c) * wide + j % wide];
                double found = t.m.y[(i / each * C + c) * each + i % each];
                assert_true(fabs(found - sum) <= 1e-10 * (1.0 + fabs(sum)));
            }
    }
}

static void add_text(const char *name, const char *text) {
    io_bytes b = {0};
    io_npy_header(&b, 1, check_print("<U%d", (int)strlen(text)), false, "()");
    for (; *text; text++) io_put_le(&b, (uint64_t)*text, 4);
    add(name, b);
}

/* Doubles as an array of any type and shape of as many bytes. */
static void add_as(const char *name, const char *descr, const char *shape, int n,
                   const double *values) {
    io_bytes b = {0};
    io_npy_header(&b, 1, descr, false, shape);
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], 8);
        io_put_le(&b, bits, 8);
    }
    add(name, b);
}

#define NUMBERS(...)                                                                               \
    sizeof((double[]){__VA_ARGS__}) / 8, (double[]) {                                              \
        __VA_ARGS__                                                                                \
    }

/* Patterns of 0 and 1 and their complements: rows are differences, with twice the variance. */
TEST(split_rows_are_subtracted) {
    add_text("operator", "hadamard");
    Y(9, 4, 7, 7.5, 1, 3);
    INTS("index", 3, 0, 2);
    INTS("shape", 2, 2);
    SCALAR("split", 1);
    add_f8("sigma", 1, (double[]){1.5});
    csrec_measurement m = accept(finish(), NULL);
    assert_true(fabs(m.sigma - 1.5 * sqrt(2.0)) < 1e-15);
    expect(m, 3, 1, (int64_t[]){3, 0, 2}, (double[]){5, -0.5, -2});
}

/* Without index the first rows; a mask of frequencies; y of coils; real coils. */
TEST(rows_may_be_told_in_other_ways) {
    add_text("operator", "hadamard");
    Y(1, 2, 3);
    INTS("shape", 4);
    expect(accept(finish(), NULL), 3, 1, (int64_t[]){0, 1, 2}, (double[]){1, 2, 3});
    add_text("operator", "fourier");
    add_as("y", "<c16", "(2, 2)", NUMBERS(1, 2, 3, 4, 5, 6, 7, 8));
    add("mask", io_npy_u1("|b1", "(3,)", 3, (uint8_t[]){1, 0, 1}));
    add_as("coils", "<f8", "(2, 3)", NUMBERS(1, 2, 3, 4, 5, 6));
    CLEARED(csrec_measurement) m = accept(finish(), NULL);
    assert_int_equal(m.n, 2);
    assert_int_equal(m.channels, 1);
    assert_int_equal(csrec_measurement_values(&m), 8);
    assert_true(m.y[6] == 7.0 && m.index[1] == 2 && m.through->n_coils == 2);
    assert_true(m.through->coils[2] == 2.0 && m.through->coils[3] == 0.0);
}

static void begin(const char *name, int rows) {
    static const double values[16];
    add_text("operator", name);
    add_f8("y", rows, values);
    INTS("shape", 2, 2);
}

/* One array beside y and the shape 2 x 2: whole numbers where it has no shape of its own. */
static const struct {
    const char *operator;
    int rows;
    const char *array, *shape;
    int n;
    double values[8];
    const char *words;
} wrong[] = {
    {"hadamrd", 2, .words = "'hadamrd' is unknown"},
    {"hadamard", 5, .words = "operator hadamard has 4"},
    {"hadamard", 2, "index", NULL, 2, {0, 4}, "outside 0 to 3"},
    {"hadamard", 2, "index", NULL, 2, {1, 1}, "repeats"},
    {"hadamard", 3, "split", NULL, 0, {1}, "even number"},
    {"hadamard", 2, "scramble", NULL, 0, {-1}, "-1 is negative"},
    {"fourier", 2, .words = "complex64"},
    {"matrix", 2, "matrix", "(2, 3)", 6, {1, 2, 3, 4, 5, 6}, "[rows, 4]"},
    {"matrix", 2, .words = "'matrix'"},
    {"matrix", 3, "matrix", "(2, 4)", 8, {1, 2, 3, 4, 5, 6, 7, 8}, "operator matrix has 2"},
    {"matrix", 1, "matrix", "(1, 4)", 4, {1, 2, NAN, 4}, "not finite"},
    {"blur", 2, "kernel", "(3, 1)", 3, {1, 2, 3}, "extent 3 of axis 0"},
    {"blur", 2, "kernel", "(2,)", 2, {1, 2}, "has 1 axes"},
    {"downsample", 2, "factor", NULL, 2, {3, 1}, "3 along axis 0"},
    {"downsample", 3, "factor", NULL, 2, {2, 1}, "operator downsample has 2"},
    {"downsample", 2, "factor", NULL, 3, {1, 2, 3}, "one for each of the 2 axes"},
};

TEST(wrong_files_are_refused) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t whole[8];
        for (int k = 0; k < 8; k++) whole[k] = wrong[i].shape ? 0 : (int64_t)wrong[i].values[k];
        begin(wrong[i].operator, wrong[i].rows);
        if (wrong[i].shape)
            add_as(wrong[i].array, "<f8", wrong[i].shape, wrong[i].n, wrong[i].values);
        else if (wrong[i].array)
            add_i8(wrong[i].array, wrong[i].n, whole);
        refuse(wrong[i].words);
    }
    begin("hadamard", 2);
    add_text("ordering", "zigzag");
    refuse("'zigzag' is unknown");
    begin("matrix", 2);
    add_as("matrix", "<f8", "(1, 3)", NUMBERS(1, 2, 3));
    INTS("block", 1, 3);
    refuse("extent 3 along axis 1; save 1 to the signal's 2");
    begin("downsample", 2);
    INTS("factor", 2, 1);
    INTS("index", 1, 0);
    refuse("leave it out");
    add_text("operator", "fourier");
    INTS("shape", 2, 2);
    add_as("y", "<c16", "(1, 2)", NUMBERS(1, 2, 3, 4));
    add_as("coils", "<f8", "(2, 2)", NUMBERS(1, 2, 3, 4));
    refuse("[coils, shape]");
    add_text("operator", "fourier");
    INTS("shape", 2);
    add_as("y", "<c16", "(1, 1)", NUMBERS(1, 2));
    add_as("coils", "<f8", "(2, 2)", NUMBERS(1, 2, 3, 4));
    refuse("2 coils, but 'y' has 1");
}

/* ---- what needs entries refuses operators, and methods for entries do */

TEST(others_refuse) {
    ENDS_BY(drop) made t;
    draw_measurement("hadamard", &t);
    double sigma, *signal = calloc((size_t)csrec_measurement_signal_values(&t.m), sizeof *signal);
    csrec_doubts doubts;
    const csrec_measurement *parts[] = {&t.m, &t.m};
    csrec_measurement merged;
    t.m.is_complex = false;
    assert_fails(csrec_noise_estimate(&t.m, &sigma, &told), CSREC_UNSUPPORTED);
    assert_fails(csrec_doubts_find(&t.m, 1, &doubts, &told), CSREC_UNSUPPORTED);
    assert_fails(csrec_measurement_merge(2, parts, &merged, NULL, &told), CSREC_UNSUPPORTED);
    csrec_recover_options o = options_on_cpu("grids", NULL);
    io_refused(csrec_recover(&t.m, &o, signal, NULL, NULL, &error), CSREC_ARGUMENT, "method grids",
               "hadamard");
    o.method = NULL;
    assert_fails(csrec_uncertainty(&t.m, &o, signal, NULL, &sigma, &told), CSREC_UNSUPPORTED);
    free(signal);
}

/* Complex samples of entries are recovered as two real channels. */
TEST(complex_entries_are_two_channels) {
    enum { SIDE = 16, N = 100 };
    int64_t n, *index = draw_some(&seed, SIDE * SIDE, &n);
    double y[2 * N], a[2 * SIDE * SIDE], b[2 * SIDE * SIDE];
    for (int i = 0; i < 2 * N; i++) y[i] = check_normal(&seed);
    csrec_measurement m = samples_at((csrec_shape){2, {SIDE, SIDE}}, N, 1, index, y);
    m.is_complex = true;
    csrec_recover_options o = options_on_cpu(NULL, NULL);
    o.method = "frames";
    assert_int_equal(csrec_measurement_signal_values(&m), 2 * SIDE * SIDE);
    assert_ok(csrec_recover(&m, &o, a, NULL, NULL, NULL));
    m.is_complex = false;
    m.channels = 2;
    assert_ok(csrec_recover(&m, &o, b, NULL, NULL, NULL));
    assert_memory_equal(a, b, sizeof a);
    free(index);
}

static int64_t middle_of(const csrec_shape *shape) {
    int64_t flat = 0;
    for (int a = 0; a < shape->dims; a++) flat = flat * shape->dim[a] + shape->dim[a] / 2;
    return flat;
}

TEST(chosen_rows) {
    for (int round = 0; round < 40; round++) {
        made t;
        draw_measurement(round % 2 ? "fourier" : "hadamard", &t);
        csrec_sampling rows = {0};
        int64_t all = 0, count;
        assert_ok(csrec_measurement_rows(&t.m, &all, NULL));
        count = 1 + check_below(&seed, all);
        const csrec_row_choice way = (csrec_row_choice)(round % 2 ? round / 2 % 4 : round / 2 % 2);
        csrec_status status = csrec_sampling_rows(&t.m, way, count, 7, &rows, NULL);
        if (way == CSREC_ROWS_LINES && t.m.shape.dims == 1) {
            assert_int_equal(status, CSREC_ARGUMENT);
            drop(&t);
            continue;
        }
        assert_ok(status);
        const int64_t line = way == CSREC_ROWS_LINES ? t.m.shape.dim[t.m.shape.dims - 1] : 1;
        const int64_t lines = count / line > 0 ? count / line : 1;
        assert_int_equal(rows.n, way == CSREC_ROWS_LINES ? lines * line : count);
        bool has_zero = !t.m.through->centred && rows.index[0] == 0;
        for (int64_t k = 0; k < rows.n; k++) {
            assert_true(rows.index[k] < all && (k == 0 || rows.index[k] > rows.index[k - 1]));
            if (line > 1 && k % line) assert_int_equal(rows.index[k], rows.index[k - 1] + 1);
            has_zero = has_zero || (t.m.through->centred && rows.index[k] == middle_of(&t.m.shape));
        }
        assert_true(has_zero);
        csrec_sampling_clear(&rows);
        assert_int_equal(csrec_sampling_rows(&t.m, way, all + 1, 7, &rows, NULL), CSREC_ARGUMENT);
        drop(&t);
    }
}

FIXTURE(io_setup, io_teardown);
