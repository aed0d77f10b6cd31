/* SPDX-License-Identifier: BSD-3-Clause */
/* test_tools_phase.c - csbench phase: its draws by their definitions, its counts against
 * plain solving, and runs that go on after a stop. */
#include "csbench.h"
#include "dense.h"
#include "solvers.h"

SEED(seed);

/* Moments of m n independent entries, within 6 standard deviations. */
TEST(test_independent_entries) {
    const int64_t m = 40 + check_below(&seed, 40), n = 200 + check_below(&seed, 100);
    const double count = (double)(m * n);
    for (int normal = 0; normal < 2; normal++) {
        OWNED double *A = draw(normal ? "gaussian" : "bernoulli", m, n, check_next(&seed));
        double sum = 0.0, squares = 0.0, neighbours = 0.0;
        for (int64_t i = 0; i < m * n; i++) {
            double v = A[i] * sqrt((double)m);
            if (!normal) assert_true(fabs(fabs(v) - 1.0) < 1e-12);
            sum += v;
            squares += v * v - 1.0;
            neighbours += i ? v * A[i - 1] * sqrt((double)m) : 0.0;
        }
        assert_true(fabs(sum) < 6.0 * sqrt(count));
        assert_true(fabs(neighbours) < 6.0 * sqrt(count));
        assert_true(fabs(squares) < 6.0 * sqrt(2.0 * count));
    }
}

/* Rows are orthogonal, of length sqrt(n / m), and each is a row of the cosine transform. */
TEST(test_cosines) {
    const int64_t m = 5 + check_below(&seed, 10), n = 30 + check_below(&seed, 40);
    OWNED double *A = draw("dct", m, n, check_next(&seed));
    for (int64_t a = 0; a < m; a++) {
        for (int64_t b = 0; b <= a; b++) {
            double product = 0.0;
            for (int64_t j = 0; j < n; j++) product += A[a * n + j] * A[b * n + j];
            assert_true(fabs(product - (a == b ? (double)n / (double)m : 0.0)) < 1e-10);
        }
        double best = INFINITY;
        for (int64_t f = 0; f < n; f++) {
            double wrong = 0.0, scale = sqrt((f ? 2.0 : 1.0) / (double)m);
            for (int64_t j = 0; j < n; j++)
                wrong = fmax(wrong, fabs(A[a * n + j] -
                                         scale * cos(3.14159265358979323846 * ((double)j + 0.5) *
                                                     (double)f / (double)n)));
            best = fmin(best, wrong);
        }
        assert_true(best < 1e-11);
    }
}

/* Haar's columns by the definition in dense.h, at the rows that the library's sampling gives. */
TEST(test_haar) {
    static const char *const names[] = {"haar", "haar-jitter", "haar-two-sided"};
    for (int e = 0; e < 3; e++) {
        const int levels = 3 + (int)check_below(&seed, 4);
        const int64_t n = INT64_C(1) << levels, m = 2 + check_below(&seed, n - 2);
        const uint64_t key = check_next(&seed);
        OWNED double *A = draw(names[e], m, n, key), *psi = malloc((size_t)m * sizeof *psi);
        OWNED uint64_t *rows = malloc((size_t)m * sizeof *rows);
        CLEARED(csrec_sampling) drawn;
        assert_ok(csrec_sampling_create(&(csrec_shape){1, {n}},
                                        e == 1 ? CSREC_PATTERN_JITTER : CSREC_PATTERN_UNIFORM, m,
                                        key, &drawn, NULL));
        for (int64_t i = 0; i < m; i++) rows[i] = (uint64_t)drawn.index[i];
        for (int64_t j = 0; j < n; j++) {
            int64_t count, above = 0;
            dense_column(levels, m, rows, (uint64_t)j, psi, &count);
            for (int64_t i = 0; i < m; i++) above += psi[i] > 0.0;
            bool dropped = e == 2 && j > 0 && (above == 0 || above == count);
            for (int64_t i = 0; i < m; i++)
                assert_true(fabs(A[i * n + j] - (dropped ? 0.0 : psi[i])) < 1e-14);
        }
    }
}

/* k entries at columns that are not zero; equally often each. */
TEST(test_signals) {
    enum { COLUMNS = 24, DRAWS = 2000 };
    const int64_t n = COLUMNS, m = 4, k = 1 + check_below(&seed, 8);
    double A[4 * COLUMNS], x[COLUMNS];
    int64_t hits[COLUMNS] = {0}, usable = 0;
    for (int64_t j = 0; j < n; j++) {
        bool zero = j % 5 == 0;
        usable += !zero;
        for (int64_t i = 0; i < m; i++) A[i * n + j] = zero ? 0.0 : check_normal(&seed);
    }
    for (int draws = 0; draws < DRAWS; draws++) {
        int64_t found = 0;
        assert_ok(bench_signal_draw(draws % 4, m, n, A, k, check_next(&seed), x));
        for (int64_t j = 0; j < n; j++) {
            if (x[j] == 0.0) continue;
            assert_true(j % 5 != 0);
            if (draws % 4 == 0) assert_true(fabs(x[j]) == 1.0);
            if (draws % 4 == 2) assert_true(fabs(x[j]) >= 1.0 && fabs(x[j]) < 2.0);
            hits[j]++;
            found++;
        }
        assert_int_equal(found, k);
    }
    double share = (double)k / (double)usable, spread = sqrt(DRAWS * share * (1.0 - share));
    for (int64_t j = 0; j < n; j++)
        if (j % 5) assert_true(fabs((double)hits[j] - DRAWS * share) < 6.5 * spread + 1.0);
}

/* OMP by its definition, k picks, with the normal equations. */
static void plain_omp(int64_t m, int64_t n, const double *A, const double *y, int64_t k,
                      double *x) {
    uint64_t picked[PICKS] = {0};
    double r[256], z[PICKS];
    assert_true(k <= PICKS && m <= 256);
    memcpy(r, y, (size_t)m * sizeof *r);
    for (int64_t size = 1; size <= k; size++) {
        double best = 0.0;
        for (int64_t j = 0; j < n; j++) {
            const double c = correlation(m, n, A, r, j);
            if (c > best) best = c, picked[size - 1] = (uint64_t)j;
        }
        plain_fit(m, n, A, y, size, picked, z, r);
        memset(x, 0, (size_t)n * sizeof *x);
        for (int64_t a = 0; a < size; a++) x[picked[a]] = z[a];
        /* the residual of 1e-6 at which solvers end */
        if (length_of(m, 1, r) <= 1e-6 * length_of(m, 1, y)) return;
    }
}

/* csrec_solve on the matrix, one signal. */
static void direct_solve(const char *solver, int64_t m, int64_t n, const double *A, const double *y,
                         int64_t k, double *x) {
    csrec_setting set[BENCH_SETTINGS];
    csrec_solve_options how = bench_solver_options(solver, m, k, set);
    CLEARED(csrec_atoms) atoms;
    ENDS_BY(end_operator) csrec_operator *operator= dense_operator(NULL, m, n, A);
    assert_ok(csrec_solve(operator, y, &how, &atoms, NULL, NULL, NULL));
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
}

typedef struct size {
    int ensemble;
    int64_t m, n, k, trials, matrices;
    uint64_t seed;
} size;

static double square_of(int64_t n, const double *v) {
    return length_of(n, 1, v) * length_of(n, 1, v);
}

static int count_directly(const char *solver, const size *s) {
    OWNED double *A = malloc((size_t)(s->m * s->n) * sizeof *A),
                 *x = malloc((size_t)s->n * sizeof *x);
    OWNED double *y = malloc((size_t)s->m * sizeof *y), *z = malloc((size_t)s->n * sizeof *z);
    int found = 0;
    for (int64_t t = 0; t < s->trials; t++) {
        int64_t q = 0;
        while ((q + 1) * s->trials / s->matrices <= t) q++;
        uint64_t key = bench_key(s->seed, BENCH_MATRIX, s->m, s->k, q);
        assert_ok(bench_matrix_draw(s->ensemble, s->m, s->n, key, A, NULL));
        key = bench_key(s->seed, BENCH_SIGNAL, s->m, s->k, t);
        assert_ok(bench_signal_draw(0, s->m, s->n, A, s->k, key, x));
        apply_matrix(s->m, s->n, A, x, y);
        if (strcmp(solver, "omp") == 0)
            plain_omp(s->m, s->n, A, y, s->k, z);
        else
            direct_solve(solver, s->m, s->n, A, y, s->k, z);
        double most = 1e-4 * square_of(s->n, x);
        for (int64_t j = 0; j < s->n; j++) z[j] -= x[j];
        found += square_of(s->n, z) <= most;
    }
    return found;
}

/* Every count of a phase diagram; omp's by a plain one. Columns of the other ensembles are equal up
 * to sign if there are few rows, so that rounding decides between them. */
TEST(test_phase) {
    static const char *const solvers[] = {"omp", "iht", "bpdn"};
    size s = {.ensemble = number_of(bench_ensemble_name, "gaussian"),
              .n = 24 + check_below(&seed, 12),
              .trials = 5,
              .matrices = 2,
              .seed = check_next(&seed)};
    run_line("$B phase -o phase.npz -s omp -s iht -s bpdn -n %lld -g 4 -T 5 -Q 2 --seed %llu -q",
             (long long)s.n, (unsigned long long)s.seed);
    ENDS_BY(csrec_array_clear)
    csrec_array counts = array_of("phase.npz", "successes"), m = array_of("phase.npz", "m"),
                k = array_of("phase.npz", "k");
    assert_int_equal(counts.count, 3 * 16);
    for (int64_t i = 0; i < counts.count; i++) {
        int64_t cell = i % 16;
        double delta = ((double)(cell / 4) + 0.5) / 4.0, rho = ((double)(cell % 4) + 0.5) / 4.0;
        s.m = (int64_t)csrec_array_value(&m, cell / 4);
        s.k = (int64_t)csrec_array_value(&k, cell);
        assert_int_equal(s.m, (int64_t)fmax(1.0, round(delta * (double)s.n)));
        assert_int_equal(s.k, (int64_t)fmax(1.0, round(rho * (double)s.m)));
        int expected = count_directly(solvers[i / 16], &s);
        if ((int)csrec_array_value(&counts, i) != expected)
            fail_msg("%s, m = %lld, k = %lld: %g, not %d", solvers[i / 16], (long long)s.m,
                     (long long)s.k, csrec_array_value(&counts, i), expected);
    }
}

/* The transition of l1 by its parametric form, z being the parameter. */
static double l1_by_bisection(double delta) {
    double low = 1e-9, high = 20.0;
    for (int step = 0; step < 200; step++) {
        double z = 0.5 * (low + high), density = exp(-0.5 * z * z) / sqrt(2.0 * 3.14159265358979);
        double tail = 0.5 * erfc(z / sqrt(2.0));
        if (2.0 * density / (z + 2.0 * (density - z * tail)) > delta)
            low = z;
        else
            high = z;
    }
    double density = exp(-0.5 * low * low) / sqrt(2.0 * 3.14159265358979);
    return 1.0 - low * 0.5 * erfc(low / sqrt(2.0)) / density;
}

TEST(test_report) {
    run_well("$B phase -o report.npz -s omp -n 16 -g 5 -T 2 -q --json --plot report.svg");
    const char *text = read_text("out");
    CLEARED(csrec_array) counts = array_of("report.npz", "successes");
    for (int64_t c = 0; c < 5; c++) {
        double sum = 0.0;
        for (int64_t r = 0; r < 5; r++) sum += csrec_array_value(&counts, 5 * c + r) / 2.0;
        assert_true(fabs(listed_in(text, "half", c) - sum / 5.0) < 1e-12);
        assert_true(fabs(listed_in(text, "m_over_n", c) - ((double)c + 0.5) / 5.0) < 1e-12);
        assert_true(fabs(listed_in(text, "l1", c) - l1_by_bisection(((double)c + 0.5) / 5.0)) <
                    1e-5);
    }
    assert_non_null(strstr(read_text("report.svg"), "class=\"shade\""));
    run_well("$B phase -o report.npz -s omp -n 16 -g 5 -T 2 -q --plot report.png"); /* known */
}

#define STUDY "-s omp -s htp -s mp -n 32 -g 4 -T 4 -q --seed 5 >/dev/null"

/* The file without some sizes, as a stopped run leaves it. */
static void forget(const char *path, const char *to) {
    static const char *const names[] = {"successes", "trials", "n", "m", "k", "solvers"};
    csrec_array arrays[6];
    const csrec_array *list[6];
    ENDS_BY(end_files) csrec_files *files;
    char text[2048];
    assert_ok(csrec_fingerprint_read(path, text, sizeof text, NULL));
    assert_int_equal(strncmp(text, "whole=1", 7), 0);
    text[6] = '0';
    for (int i = 0; i < 6; i++) {
        arrays[i] = array_of(path, names[i]);
        list[i] = &arrays[i];
    }
    for (int64_t cell = 0; cell < 16; cell++)
        for (int s = 0; check_below(&seed, 2) && s < 3; s++)
            for (int every = 0; every < 3; every++)
                ((int32_t *)arrays[0].data)[every * 16 + cell] = -1;
    assert_ok(csrec_files_create(&(csrec_files_options){.fingerprint = text}, &files, NULL));
    assert_ok(csrec_files_add_npz(files, to, 6, names, list, NULL));
    assert_ok(csrec_files_commit(files, NULL));
    for (int i = 0; i < 6; i++) csrec_array_clear(&arrays[i]);
}

TEST(test_going_on) {
    run_well("$B phase -o whole.npz -t 1 " STUDY);
    run_well("$B phase -o threads.npz -t 3 " STUDY " && cmp whole.npz threads.npz");
    forget("whole.npz", "part.npz");
    run_well("$B phase -o part.npz " STUDY " && cmp whole.npz part.npz");
    for (int i = 0; i < 6; i++) { /* signals at any time; the last two leave nothing behind */
        run_line("timeout -s %s 0.%03d $B phase -o cut.npz " STUDY "; true",
                 i % 3 == 2   ? "KILL"
                 : i % 3 == 1 ? "TERM"
                              : "INT",
                 20 + (int)check_below(&seed, 100));
    }
    run_well("$B phase -o cut.npz " STUDY " && cmp whole.npz cut.npz");
    expect_mistake("$B phase -o whole.npz -s omp -n 32 -g 4 -T 5", 1, "other settings");
    run_well("$B phase -o whole.npz -s omp -n 32 -g 4 -T 5 -q --fresh");
}

FIXTURE(make_inputs, remove_inputs);
