/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec_recover on plain and random grids, against a mean of dense syntheses made here. */
#include "check.h"
#include "dense.h"

#include "method/history.h"

SEED(seed);

/* A random signal of a random small shape with distinct positions in random order. */
static csrec_measurement draw(int64_t channels) {
    csrec_measurement m = {.channels = channels, .dtype = CSREC_F64};
    m.shape.dims = 1 + (int)check_below(&seed, 3);
    int64_t entries = 1;
    for (int a = 0; a < m.shape.dims; a++)
        entries *= m.shape.dim[a] = 1 + check_below(&seed, m.shape.dims == 1 ? 60 : 7);
    m.n = 1 + check_below(&seed, entries);
    m.index = check_order(&seed, entries);
    m.y = malloc((size_t)(m.n * channels) * sizeof *m.y);
    for (int64_t k = 0; k < m.n * channels; k++) m.y[k] = check_uniform(&seed) - 0.5;
    return m;
}

TEST(random_grids_are_injective_and_invert) {
    for (int k = 0; k < 300; k++) {
        CLEARED(csrec_measurement) m = draw(1);
        csrec_grid grid;
        csrec_order order = (csrec_order)check_below(&seed, 3);
        const int64_t entries = entries_in(&m.shape);
        assert_ok(csrec_grid_create(&m.shape, order, check_below(&seed, 9), 9, seed, &grid));
        uint64_t *rows = malloc((size_t)entries * sizeof *rows), row;
        int64_t back;
        assert_ok(csrec_grid_rows(&grid, entries, m.index, rows));
        for (int64_t i = 0; i < entries; i++) {
            assert_ok(csrec_grid_entries(&grid, rows[i], 1, &row, &back));
            if (i < m.n) assert_int_equal(back, m.index[i]);
        }
        free(rows);
    }
}

static int64_t entries_between(const uint64_t *rows, int64_t n, uint64_t begin, uint64_t end) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += rows[i] >= begin && rows[i] < end;
    return count;
}

/* Of blocks longer than a unit the halves hold equally many units to one, and a unit less where the
 * first or the last is cut. */
TEST(halves_of_large_blocks_are_even) {
    for (int k = 0; k < 60; k++) {
        csrec_shape shape = {1, {2 + check_below(&seed, k % 2 ? 40 : 40000)}};
        int64_t extent = shape.dim[0], padded = 1;
        while (padded < extent) padded *= 2;
        int64_t unit = padded / 64 > 256 ? padded / 64 : padded < 256 ? padded : 256;
        csrec_grid grid;
        assert_ok(csrec_grid_create(&shape, (csrec_order)check_below(&seed, 3),
                                    check_below(&seed, 9), 9, seed, &grid));
        OWNED int64_t *index = malloc((size_t)extent * sizeof *index);
        OWNED uint64_t *rows = malloc((size_t)extent * sizeof *rows);
        for (int64_t i = 0; i < extent; i++) index[i] = i;
        assert_ok(csrec_grid_rows(&grid, extent, index, rows));
        for (int level = grid.levels; INT64_C(1) << level > unit; level--) {
            uint64_t half = UINT64_C(1) << (level - 1);
            for (uint64_t at = 0; at < UINT64_C(1) << grid.levels; at += 2 * half) {
                int64_t left = entries_between(rows, extent, at, at + half);
                int64_t right = entries_between(rows, extent, at + half, at + 2 * half);
                assert_in_range(left - right + 2 * unit, 0, 4 * unit);
            }
        }
    }
}

TEST(grids_of_too_long_axes_are_refused) {
    csrec_grid grid;
    for (int bits = 58; bits <= 62; bits++) {
        csrec_shape shape = {1, {INT64_C(1) << bits}};
        csrec_status status = csrec_grid_create(&shape, CSREC_ORDER_RASTER, 1, 2, seed, &grid);
        assert_int_equal(status, bits <= 61 ? CSREC_OK : CSREC_DATA);
        if (status) continue;
        for (int k = 0; k < 100; k++) {
            int64_t i = k == 0   ? 0
                        : k == 1 ? shape.dim[0] - 1
                                 : (int64_t)(check_next(&seed) & (uint64_t)(shape.dim[0] - 1));
            uint64_t row, again;
            int64_t back;
            assert_ok(csrec_grid_rows(&grid, 1, &i, &row));
            assert_true(row < UINT64_C(1) << grid.levels);
            assert_ok(csrec_grid_entries(&grid, row, 1, &again, &back));
            assert_int_equal(back, i);
        }
    }
}

typedef struct sample {
    uint64_t row;
    double value;
} sample;

static int compare(const void *a, const void *b) {
    const sample *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Adds Psi x at every entry, where x comes from csrec_solve and Psi from the definition. */
static void add_dense(const csrec_measurement *m, const csrec_recover_options *options,
                      int64_t number, int64_t channel, double *signal, int64_t entries) {
    csrec_grid grid;
    assert_ok(csrec_grid_create(&m->shape, options->order, number, options->shifts, options->seed,
                                &grid));
    OWNED uint64_t *rows = malloc((size_t)entries * sizeof *rows);
    OWNED sample *samples = malloc((size_t)m->n * sizeof *samples);
    OWNED double *y = malloc((size_t)m->n * sizeof *y);
    assert_ok(csrec_grid_rows(&grid, m->n, m->index, rows));
    for (int64_t k = 0; k < m->n; k++)
        samples[k] = (sample){rows[k], m->y[k * m->channels + channel]};
    qsort(samples, (size_t)m->n, sizeof *samples, compare);
    for (int64_t k = 0; k < m->n; k++) {
        rows[k] = samples[k].row;
        y[k] = samples[k].value;
    }
    csrec_operator_spec spec = {.name = "haar",
                                .levels = grid.levels,
                                .m = m->n,
                                .rows = rows,
                                .columns = options->columns};
    CLEARED(csrec_atoms) atoms;
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_ok(csrec_solve(A, y, &options->solve, &atoms, NULL, NULL, NULL));
    for (int64_t i = 0; i < entries; i++) {
        assert_ok(csrec_grid_rows(&grid, 1, &i, rows));
        for (int64_t a = 0; a < atoms.n; a++)
            signal[i * m->channels + channel] +=
                atoms.coefficient[a] * dense_entry(grid.levels, rows[0], atoms.column[a]) /
                sqrt((double)atoms.count[a]);
    }
}

TEST(signal_is_the_mean_of_the_grids) {
    for (int k = 0; k < 120; k++) {
        CLEARED(csrec_measurement) m = draw(1 + check_below(&seed, 3));
        csrec_recover_report report;
        const int64_t entries = entries_in(&m.shape);
        csrec_recover_options options = options_by(NULL);
        options.shifts = 1 + check_below(&seed, 40);
        options.seed = seed;
        options.order = (csrec_order)check_below(&seed, 3);
        options.columns = (csrec_columns)check_below(&seed, 2);
        options.solve.stop.epsilon = 0.1;
        size_t bytes = (size_t)(entries * m.channels) * sizeof(double);
        OWNED double *signal = malloc(bytes), *dense = calloc(1, bytes);
        assert_ok(csrec_recover(&m, &options, signal, NULL, &report, NULL));
        assert_int_equal(report.pursuits, options.shifts * m.channels);
        assert_true(report.residual <= 0.1);
        for (int64_t s = 0; s < options.shifts; s++)
            for (int64_t c = 0; c < m.channels; c++) add_dense(&m, &options, s, c, dense, entries);
        /* Values are below 1; up to 60 atoms an entry and 40 grids, a rounding each. */
        for (int64_t i = 0; i < entries * m.channels; i++)
            assert_true(fabs(signal[i] - dense[i] / (double)options.shifts) <= 0x1p-40);
    }
}

TEST(wrong_options_are_refused) {
    CLEARED(csrec_measurement) m = draw(1);
    csrec_atoms atoms;
    OWNED double *signal = calloc(4096, sizeof *signal);
    csrec_recover_options options = options_by(NULL);
    options.shifts = -1;
    assert_fails(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT);
    options.shifts = 4;
    assert_refused(csrec_recover(&m, &options, signal, &atoms, NULL, &told), CSREC_ARGUMENT,
                   "shifts 1");
    options.shifts = 1;
    options.backend = "abacus";
    assert_fails(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT);
    options.backend = "cpu";
    options.solve.stop.epsilon = 1.5;
    assert_refused(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT,
                   "epsilon");
    m.y[0] = NAN;
    assert_fails(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_DATA);
}

enum { SIDE = 48, CURVE_ENTRIES = SIDE * SIDE };

typedef enum kind { LAMP, RAIN, KELVIN, DECIBEL, PICTURE, CURVE_KINDS } kind;

/* x [entries]; samples of two in five entries. */
static csrec_measurement draw_values(kind k, double *x) {
    csrec_measurement m = {.shape = {2, {SIDE, SIDE}}, .channels = 1, .dtype = CSREC_F64};
    const double turn = 6.0 * check_uniform(&seed);
    m.index = malloc(CURVE_ENTRIES * sizeof *m.index);
    m.y = malloc(CURVE_ENTRIES * sizeof *m.y);
    if (k == PICTURE) m.scale[1] = 1000.0;
    for (int64_t i = 0; i < CURVE_ENTRIES; i++) {
        const double u = (double)(i % SIDE), v = (double)(i / SIDE);
        const double wave = 2.0 * sin(u / 7.0 + turn) + cos(v / 6.0), decades = 0.05 * exp(wave);
        const bool lamp = fabs(u - 24.0) < 3.0 && fabs(v - 24.0) < 3.0;
        x[i] = k == KELVIN    ? 285.0 + wave
               : k == DECIBEL ? -40.0 + 10.0 * wave
               : k == RAIN    ? fmax(exp(2.0 * wave) - 1.0, 0.0)
                              : (lamp ? 1000.0 : decades);
        if (check_below(&seed, 5) > 1 && i > 0) continue;
        m.index[m.n] = i;
        m.y[m.n++] = x[i];
    }
    return m;
}

/* Of entries that are not near the lamp. */
static double rms_of(const double *x, const double *signal) {
    double sum = 0.0;
    for (int64_t i = 0; i < CURVE_ENTRIES; i++)
        if (llabs(i % SIDE - 24) > 12 || llabs(i / SIDE - 24) > 12)
            sum += (signal[i] - x[i]) * (signal[i] - x[i]);
    return sqrt(sum / CURVE_ENTRIES);
}

static void recover_as(const csrec_measurement *m, csrec_curve curve, double low, double high,
                       double *signal, csrec_recover_report *report) {
    csrec_recover_options o = options_by(NULL);
    o.curve = curve;
    o.range[0] = low;
    o.range[1] = high;
    assert_ok(csrec_recover(m, &o, signal, NULL, report, NULL));
}

TEST(samples_choose_the_curve_and_the_range) {
    static double x[CURVE_ENTRIES], signal[CURVE_ENTRIES], plain[CURVE_ENTRIES];
    for (kind k = LAMP; k < CURVE_KINDS; k++) {
        if (sanitized_leaves()) continue;
        CLEARED(csrec_measurement) m = draw_values(k, x);
        csrec_recover_report report;
        double least = INFINITY, sums[2] = {0.0, 0.0};
        recover_as(&m, CSREC_CURVE_NONE, -INFINITY, INFINITY, plain, NULL);
        recover_as(&m, CSREC_CURVE_AUTO, NAN, NAN, signal, &report);
        assert_int_equal(report.curve, k <= RAIN ? CSREC_CURVE_LOG : CSREC_CURVE_NONE);
        if (k > RAIN) assert_memory_equal(signal, plain, sizeof signal);
        for (int64_t i = 0; i < m.n; i++) assert_true(signal[m.index[i]] == m.y[i]);
        for (int64_t i = 0; i < CURVE_ENTRIES; i++) {
            least = fmin(least, signal[i]);
            sums[0] += x[i];
            sums[1] += signal[i];
        }
        if (k <= RAIN) assert_true(least >= 0.0);
        if (k == RAIN) assert_true(fabs(sums[1] / sums[0] - 1.0) < 0.03);
        if (k == LAMP) assert_true(rms_of(x, signal) < 0.1 * rms_of(x, plain));
        for (int64_t i = 0; i < m.n; i++) m.y[i] *= 0x1p40; /* in another unit the same */
        recover_as(&m, CSREC_CURVE_AUTO, NAN, NAN, plain, NULL);
        for (int64_t i = 0; i < CURVE_ENTRIES && k <= RAIN; i++)
            assert_true(plain[i] == signal[i] * 0x1p40);
    }
}

/* Up to some value those by the logarithm, from there on those without it. */
TEST(each_way_has_the_values_at_which_it_errs_less) {
    static double x[CURVE_ENTRIES], signal[3][CURVE_ENTRIES];
    int64_t both = 0;
    for (int draw = 0; draw < SANITIZED_SHARE(6); draw++) {
        CLEARED(csrec_measurement) m = draw_values(LAMP, x);
        double most = 0.0, least = INFINITY;
        for (csrec_curve curve = CSREC_CURVE_AUTO; curve <= CSREC_CURVE_LOG; curve++)
            recover_as(&m, curve, NAN, NAN, signal[curve], NULL);
        for (int64_t i = 0; i < CURVE_ENTRIES; i++) {
            const double way[] = {signal[CSREC_CURVE_NONE][i], signal[CSREC_CURVE_LOG][i]};
            if (way[0] == way[1]) continue;
            assert_true(signal[0][i] == way[0] || signal[0][i] == way[1]);
            if (signal[0][i] == way[1]) most = fmax(most, way[1]);
            if (signal[0][i] == way[0]) least = fmin(least, way[1]);
        }
        assert_true(most < least);
        both += most > 0.0 && least < INFINITY;
    }
    assert_true(both > 0 || SANITIZED);
}

TEST(ranges_and_curves_that_samples_cannot_have_are_refused) {
    static double x[CURVE_ENTRIES];
    CLEARED(csrec_measurement) m = draw_values(DECIBEL, x);
    csrec_recover_options o = {.curve = CSREC_CURVE_LOG};
    assert_int_equal(csrec_recover(&m, &o, x, NULL, NULL, NULL), CSREC_UNSUPPORTED);
    o = (csrec_recover_options){.range = {1.0, 0.0}};
    assert_int_equal(csrec_recover(&m, &o, x, NULL, NULL, NULL), CSREC_ARGUMENT);
}
