/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tools_bench.c - csbench: coherence and problems against plain computations,
 * and mistakes. */
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

/* The file's matrix times the truth is y, but for noise of the file's sigma. */
static void check_problem(const char *name, double sigma) {
    CLEARED(csrec_measurement) scan;
    run_line("$B problems %s --sigma %g -o p.npz --truth x.npy --seed %llu", name, sigma,
             (unsigned long long)check_next(&seed));
    assert_ok(csrec_measurement_read("p.npz", NULL, &scan, NULL));
    CLEARED(csrec_array) A = array_of("p.npz", "matrix"), x = read_values("x.npy");
    int64_t m = scan.n, n = x.count;
    double squares = 0.0, most = 0.0;
    assert_int_equal(A.count, m * n);
    assert_true(scan.sigma == sigma);
    for (int64_t i = 0; i < m; i++) {
        double r = scan.y[i];
        for (int64_t j = 0; j < n; j++)
            r -= csrec_array_value(&A, i * n + j) * csrec_array_value(&x, j);
        squares += r * r;
        most = fmax(most, fabs(r));
    }
    if (sigma > 0.0)
        assert_true(fabs(squares / sigma / sigma - (double)m) < 6.5 * sqrt(2.0 * (double)m) + 25.0);
    else
        assert_true(most < 1e-10);
}

TEST(test_problems) {
    static const char *const names[] = {"gaussian", "bernoulli",    "dct",    "haar",
                                        "spikes",   "compressible", "picture"};
    run_well("$B problems >listed && $B problems --list | cmp - listed");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        says("listed", names[i]);
        check_problem(names[i], i % 2 ? 0.0 : 0.25);
    }
    run_well("$B problems gaussian -n 40 -m 30 -k 2 -s omp -s bpdn --json");
    const char *text = read_text("out");
    assert_true(number_in(text, "error") < 1e-4);
    assert_true(number_in(text, "columns") == 2.0);
}

/* The command of docs/csbench.md finds what was written; without the basis it says what it guesses.
 */
TEST(problems_are_recovered) {
    static const char *const how[] = {"gaussian|omp", "bernoulli|omp", "dct|omp", "gaussian|bpdn",
                                      "dct|htp --set k=12"};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        run_line("$B problems %.*s -n 128 -m 80 -k 12 -o p.npz --truth x.npy --seed %llu",
                 (int)(strchr(how[i], '|') - how[i]), how[i],
                 (unsigned long long)check_next(&seed) >> 1);
        run_line("$R p.npz -o r.npy --basis identity --solver %s --epsilon 1e-9",
                 strchr(how[i], '|') + 1);
        says("err", "r.npy: recovered");
        assert_null(strstr(read_text("err"), "warning"));
        CLEARED(csrec_array) x = read_values("x.npy"), found = read_values("r.npy");
        double off = 0.0, whole = 0.0;
        for (int64_t j = 0; j < x.count; j++) {
            const double true_value = csrec_array_value(&x, j);
            off = fmax(off, fabs(csrec_array_value(&found, j) - true_value));
            whole = fmax(whole, fabs(true_value));
        }
        if (off > 1e-6 * whole) fail_msg("%s: error %g", how[i], off / whole);
    }
    run_well("$R p.npz -o r.npy --solver omp --epsilon 1e-9 2>told");
    says("told", "No basis is given");
    says("told", "identity");
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
        {"coherence gray.png", "gray.png", 1},
        {"problems nobody", "is not one of", 2},
        {"problems gaussian -m 300", "at most 256", 2},
        {"problems gaussian -o a.png", "measurements are", 2},
        {"problems gaussian -o a.npz -s omp", "give one of them", 2},
        {"problems picture -n 100", "is square", 2}};
    expect_mistakes("$B", wrong, sizeof wrong / sizeof *wrong);
    run_well("echo no >text.npz");
    expect_mistake("$B phase -o text.npz -s omp -n 16 -g 2 -T 1", 1, "text.npz");
}

FIXTURE(make_inputs, remove_inputs);
