/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tools_bench.c - csbench: coherence against plain computations, and mistakes. */
#include "csbench.h"
#include "dense.h"

SEED(seed);

static int falling(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double product_of(int64_t m, int64_t n, const double *A, int64_t a, int64_t b) {
    double c = 0.0, u = 0.0, v = 0.0;
    for (int64_t i = 0; i < m; i++) {
        c += A[i * n + a] * A[i * n + b];
        u += A[i * n + a] * A[i * n + a];
        v += A[i * n + b] * A[i * n + b];
    }
    return u > 0.0 && v > 0.0 ? fabs(c) / sqrt(u) / sqrt(v) : -1.0;
}

/* The report in `out` against all pairs of columns. */
static void check_coherence(int64_t m, int64_t n, const double *A) {
    const char *text = read_text("out");
    double *row = malloc((size_t)n * sizeof *row), cumulative[64] = {0.0};
    double most = 0.0, sum = 0.0, squares = 0.0, pairs = 0.0;
    int64_t zeros = 0, columns = 0;
    for (int64_t a = 0; a < n; a++) {
        int64_t others = 0;
        if (product_of(m, n, A, a, a) < 0.0) {
            zeros++;
            continue;
        }
        for (int64_t b = 0; b < n; b++) {
            double c = product_of(m, n, A, a, b);
            if (b == a || c < 0.0) continue;
            row[others++] = c;
            most = fmax(most, c);
            sum += c / 2.0;
            squares += c * c / 2.0;
            pairs += 0.5;
        }
        qsort(row, (size_t)others, sizeof *row, falling);
        columns = others + 1;
        for (int64_t k = 1; k < others && k < 64; k++) row[k] += row[k - 1];
        for (int64_t k = 0; k < others && k < 64; k++) cumulative[k] = fmax(cumulative[k], row[k]);
    }
    assert_true(number_in(text, "zeros") == (double)zeros);
    assert_true(fabs(number_in(text, "coherence") - most) < 1e-12);
    assert_true(fabs(number_in(text, "mean") - sum / pairs) < 1e-12);
    assert_true(fabs(number_in(text, "root_mean_square") - sqrt(squares / pairs)) < 1e-12);
    for (int64_t k = 0; k + 1 < columns && k < 64; k++)
        assert_true(fabs(listed_in(text, "cumulative", k) - cumulative[k]) < 1e-10);
    double total = 0.0, welch = sqrt((double)(columns - m) / (double)m / (double)(columns - 1));
    for (int64_t b = 0; b < 50; b++) total += listed_in(text, "histogram", b);
    assert_true(fabs(total - 1.0) < 1e-12);
    assert_true(fabs(number_in(text, "welch") - (columns > m ? welch : 0.0)) < 1e-12);
    assert_true(most >= number_in(text, "welch") - 1e-12);
    double sure = number_in(text, "sure_mutual");
    double bound = fmin(0.5 * (1.0 + 1.0 / most), (double)m + 1.0);
    assert_true(sure < bound + 1e-8 && sure + 1.0 >= bound - 1e-8);
    free(row);
}

TEST(test_coherence) {
    for (int e = 0; bench_ensemble_name(e); e++) {
        int64_t n = INT64_C(1) << (4 + check_below(&seed, 3)), m = 3 + check_below(&seed, n - 4);
        uint64_t drawn = check_next(&seed);
        run_line("$B coherence -e %s -n %lld -m %lld --seed %llu --json", bench_ensemble_name(e),
                 (long long)n, (long long)m, (unsigned long long)drawn);
        OWNED double *A =
            draw(bench_ensemble_name(e), m, n, bench_key(drawn, BENCH_MATRIX, m, 0, 0));
        check_coherence(m, n, A);
    }
}

/* Points of a line: its rows, and Haar's columns by the definition in dense.h. */
TEST(coherence_of_points) {
    CLEARED(csrec_measurement) scan;
    run_well("$S line.npy -n 50 -o line.npz && $B coherence line.npz --haar two-sided --json");
    assert_ok(csrec_measurement_read("line.npz", NULL, &scan, NULL));
    int levels = 0;
    int64_t n = 0, count, m = scan.n;
    while (INT64_C(1) << levels < scan.shape.dim[0]) levels++;
    OWNED double *A = malloc((size_t)(m * m) * sizeof *A), *psi = malloc((size_t)m * sizeof *psi);
    OWNED uint64_t *rows = malloc((size_t)m * sizeof *rows);
    for (int64_t i = 0; i < m; i++) rows[i] = (uint64_t)scan.index[i];
    for (uint64_t column = 0; column >> levels == 0; column++) {
        int64_t above = 0;
        dense_column(levels, m, rows, column, psi, &count);
        for (int64_t i = 0; i < m; i++) above += psi[i] > 0.0;
        if (column > 0 && (above == 0 || above == count)) continue;
        assert_true(n < m);
        for (int64_t i = 0; i < m; i++) A[i * m + n] = psi[i];
        n++;
    }
    assert_int_equal(n, m); /* as many as samples */
    check_coherence(m, n, A);
}

TEST(test_mistakes) {
    static const mistake wrong[] = {
        {"", "no command given", 2},
        {"phases", "no such command", 2},
        {"phase", "give -o FILE.npz", 2},
        {"phase input -o a.npz", "takes options only", 2},
        {"phase -o a.png", "results are a file", 2},
        {"phase -o -", "results are a file", 2},
        {"phase -o a.npz --plot a.npy", "name a .svg or .png", 2},
        {"phase -o a.npz -s nobody", "is not a solver", 2},
        {"phase -o a.npz -s omp -s omp", "given twice", 2},
        {"phase -o a.npz -s threshold", "does not solve with a matrix", 2},
        {"phase -o a.npz -e haar -n 100", "power of two", 2},
        {"phase -o a.npz -T 3 -Q 4", "at most --trials", 2},
        {"phase -o nowhere/a.npz -s omp", "nowhere", 1},
        {"phase -o gray.png.npz -e nothing", "is not one of", 2},
        {"coherence -n 10 -m 11", "at most --columns", 2},
        {"coherence nothing.npz", "nothing.npz", 1},
        {"coherence gray.png", "gray.png", 1}};
    expect_mistakes("$B", wrong, sizeof wrong / sizeof *wrong);
    run_well("echo no >text.npz");
    expect_mistake("$B phase -o text.npz -s omp -n 16 -g 2 -T 1", 1, "text.npz");
}

FIXTURE(make_inputs, remove_inputs);
