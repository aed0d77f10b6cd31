/* test_adaptive_fit.c - one adaptive grid's closed form against a pursuit and against dense least
 * squares. */
#include "check.h"

#include <string.h>

#include "method/adaptive/fit.h"

static uint64_t seed;

static int compare_rows(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* n ascending distinct rows below 2^bits, clustered at times; returns how many there are. */
static int draw_rows(int bits, int n, uint64_t *rows) {
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    int narrow = (int)check_below(&seed, bits);
    for (int i = 0; i < n; i++) {
        uint64_t r = check_next(&seed);
        rows[i] = (r & 64 ? r >> 7 : r >> 7 >> narrow << 1 & (mask >> narrow)) & mask;
    }
    qsort(rows, (size_t)n, sizeof *rows, compare_rows);
    int kept = 1;
    for (int i = 1; i < n; i++)
        if (rows[i] != rows[kept - 1]) rows[kept++] = rows[i];
    return kept;
}

/* Matching Pursuit to a residual of `epsilon` ||y||, then its signal at `row`. */
static double pursued(int bits, int n, const uint64_t *rows, const double *y, double epsilon,
                      uint64_t row) {
    csrec_operator_spec spec = {
        .name = "haar", .levels = bits, .m = n, .rows = rows, .columns = CSREC_COLUMNS_TWO_SIDED};
    csrec_solve_options options = {.stop = {.epsilon = epsilon, .atoms = INT64_C(1) << 40}};
    csrec_operator *A;
    csrec_atoms atoms;
    csrec_solve_report report;
    double value;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    assert_ok(csrec_solve(A, y, &options, &atoms, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_ok(csrec_atoms_synthesize(bits, &atoms, 1, &row, &value));
    csrec_atoms_clear(&atoms);
    csrec_operator_destroy(A);
    return value;
}

enum { MOST = 40 };
static const float units = 0x1p22f;

/* A fit of one channel over rows as given (any order, repeats allowed). */
static csrec_fit build(int bits, int n, const uint64_t *rows, const float *z, float threshold) {
    csrec_fit fit;
    assert_ok(csrec_fit_create(n, 1, threshold > 0.0f, &fit));
    memcpy(fit.row[0], rows, (size_t)n * sizeof *rows);
    csrec_fit_build(&fit, bits, z, threshold, units);
    return fit;
}

static double value_at(const csrec_fit *fit, uint64_t row) {
    int32_t sum = 0;
    csrec_fit_add_rows(fit, 1, &row, &sum);
    return sum / (double)units;
}

/* Values are averages of y - r with weights that sum to 1, so they differ from the limit's by at
 * most ||r|| <= 1e-7 sqrt(40); floats of |z| < 1 and units of 2^-22 add less than 1e-6. */
static const double closeness = 2e-6;

static void closed_form_is_the_limit_of_the_pursuit(void **state) {
    (void)state;
    for (int k = 0; k < 300; k++) {
        int bits = 6 + (int)check_below(&seed, 50);
        uint64_t rows[MOST], shuffled[MOST];
        float z[MOST], shuffled_z[MOST];
        double y[MOST];
        int n = draw_rows(bits, 1 + (int)check_below(&seed, MOST), rows);
        int turn = (int)check_below(&seed, n);
        for (int i = 0; i < n; i++) {
            z[i] = (float)(2.0 * check_uniform(&seed) - 1.0);
            y[i] = z[i];
            shuffled[(i + turn) % n] = rows[i];
            shuffled_z[(i + turn) % n] = z[i];
        }
        csrec_fit fit = build(bits, n, shuffled, shuffled_z, 0.0f);
        for (int j = 0; j < 8; j++) {
            uint64_t row = rows[check_below(&seed, n)] ^ (UINT64_C(1) << check_below(&seed, bits));
            if (j < 2) row = check_next(&seed) >> (64 - bits);
            double limit = pursued(bits, n, rows, y, 1e-7, row);
            assert_true(fabs(value_at(&fit, row) - limit) <= closeness);
        }
        csrec_fit_clear(&fit);
    }
}

/* The value at a sample is that of a pursuit that never saw it. */
static void samples_get_values_without_themselves(void **state) {
    (void)state;
    for (int k = 0; k < 200; k++) {
        int bits = 6 + (int)check_below(&seed, 50), n;
        uint64_t rows[MOST], rest[MOST];
        float z[MOST];
        double y[MOST];
        int32_t sum[MOST] = {0};
        do n = draw_rows(bits, 2 + (int)check_below(&seed, MOST - 1), rows);
        while (n < 2);
        for (int i = 0; i < n; i++) z[i] = (float)check_uniform(&seed);
        csrec_fit fit = build(bits, n, rows, z, 0.0f);
        csrec_fit_add_samples(&fit, z, units, sum);
        int out = (int)check_below(&seed, n), kept = 0;
        for (int i = 0; i < n; i++)
            if (i != out) {
                rest[kept] = rows[i];
                y[kept++] = z[i];
            }
        double limit = pursued(bits, kept, rest, y, 1e-7, rows[out]);
        assert_true(fabs(sum[out] / (double)units - limit) <= closeness);
        csrec_fit_clear(&fit);
    }
}

static void equal_rows_share_their_mean(void **state) {
    (void)state;
    const uint64_t rows[] = {9, 4, 9, 4, 4, 12};
    const float z[] = {1.0f, 3.0f, 2.0f, 5.0f, 7.0f, 8.0f};
    /* Others of the same row; for 12, the mean of row 9, across from it in the block 8 .. 15. */
    const double expected[] = {2.0, 6.0, 1.0, 5.0, 4.0, 1.5};
    int32_t sum[6] = {0};
    csrec_fit fit = build(4, 6, rows, z, 0.0f);
    csrec_fit_add_samples(&fit, z, units, sum);
    for (int i = 0; i < 6; i++) assert_true(fabs(sum[i] / (double)units - expected[i]) <= 1e-6);
    assert_true(fabs(value_at(&fit, 9) - 1.5) <= 1e-6);
    assert_true(fabs(value_at(&fit, 0) - 5.0) <= 1e-6);
    assert_true(fabs(value_at(&fit, 11) - 1.5) <= 1e-6);
    csrec_fit_clear(&fit);
}

/* Columns kept by the threshold, as rows of +-1 and 0 over samples and one more row, from blocks
 * walked by their definition. */
typedef struct columns {
    int n, count;
    const uint64_t *rows; /* [n + 1], the last not a sample */
    const float *z;
    double entry[MOST][MOST + 1];
} columns;

static void keep_columns(columns *c, int level, uint64_t group, double threshold) {
    if (level == 0) return;
    double sum[2] = {0}, count[2] = {0};
    for (int i = 0; i < c->n; i++) {
        if (c->rows[i] >> level != group) continue;
        int half = (int)(c->rows[i] >> (level - 1) & 1);
        sum[half] += c->z[i];
        count[half] += 1.0;
    }
    double total = count[0] + count[1];
    if (total < 2.0) return;
    if (count[0] > 0.0 && count[1] > 0.0) {
        double d = fabs(sum[0] / count[0] - sum[1] / count[1]);
        if (d * sqrt(count[0] * count[1] / total) >= threshold) {
            double *entry = c->entry[c->count++];
            for (int i = 0; i <= c->n; i++) {
                double sign = c->rows[i] >> (level - 1) & 1 ? -1.0 : 1.0;
                entry[i] = c->rows[i] >> level == group ? sign : 0.0;
            }
        }
    }
    keep_columns(c, level - 1, 2 * group, threshold);
    keep_columns(c, level - 1, 2 * group + 1, threshold);
}

/* Least squares by cyclic minimisation over the columns: the residual's largest product with a
 * column tells the distance from the minimum. */
static double least_squares_at(const columns *c, double *row_value) {
    double r[MOST], worst = 0.0;
    *row_value = 0.0;
    for (int i = 0; i < c->n; i++) r[i] = c->z[i];
    for (int sweep = 0; sweep < 20000; sweep++) {
        worst = 0.0;
        for (int j = 0; j < c->count; j++) {
            double dot = 0.0, square = 0.0;
            for (int i = 0; i < c->n; i++) {
                dot += c->entry[j][i] * r[i];
                square += fabs(c->entry[j][i]);
            }
            for (int i = 0; i < c->n; i++) r[i] -= dot / square * c->entry[j][i];
            *row_value += dot / square * c->entry[j][c->n];
            worst = fmax(worst, fabs(dot));
        }
        if (worst < 1e-13) break;
    }
    return worst;
}

static void threshold_leaves_a_least_squares_fit(void **state) {
    (void)state;
    for (int k = 0; k < 200; k++) {
        int bits = 5 + (int)check_below(&seed, 12);
        uint64_t rows[MOST + 1];
        float z[MOST];
        int n = draw_rows(bits, 1 + (int)check_below(&seed, 24), rows);
        for (int i = 0; i < n; i++) z[i] = (float)check_uniform(&seed);
        double threshold = 0.05 + 0.8 * check_uniform(&seed), expected;
        rows[n] = rows[check_below(&seed, n)] ^ (UINT64_C(1) << check_below(&seed, bits));
        static columns c;
        c = (columns){.n = n, .count = 1, .rows = rows, .z = z};
        for (int i = 0; i <= n; i++) c.entry[0][i] = 1.0;
        keep_columns(&c, bits, 0, threshold);
        if (least_squares_at(&c, &expected) > 1e-12) continue; /* too slow to tell */
        csrec_fit fit = build(bits, n, rows, z, (float)threshold);
        /* Floats of values below 1 through a recursion of at most 17 levels, each with weights
         * whose quotients stay below 4. */
        assert_true(fabs(value_at(&fit, rows[n]) - expected) <= 1e-4);
        csrec_fit_clear(&fit);
    }
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_is_the_limit_of_the_pursuit),
        cmocka_unit_test(samples_get_values_without_themselves),
        cmocka_unit_test(equal_rows_share_their_mean),
        cmocka_unit_test(threshold_leaves_a_least_squares_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
