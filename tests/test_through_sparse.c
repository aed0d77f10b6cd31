/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery in a basis of what is measured through an operator: what the signal measures is what the
 * same solver leaves on the dense product of both matrices. */

#include "operators.h"

SEED(seed);

/* Of each operator by turns; A is its matrix times the basis, in doubles or in pairs. */
typedef struct problem {
    drawn d;
    csrec_measurement m;
    const char *basis;
    int64_t wide, width; /* doubles of an entry; coefficients of a channel, of `wide` doubles */
    double *synthesis;   /* [entries][width] */
    double *product;     /* [d.m][width * wide] */
    csrec_operator *A;   /* dense */
} problem;

/* The columns of the basis, for one part of the signal. */
static void find_synthesis(problem *p) {
    const csrec_operator_spec spec = {.name = p->basis,
                                      .m = p->d.entries,
                                      .shape = &p->d.shape,
                                      .block = 4,
                                      .step = 2,
                                      .kind = "cdf97"};
    ENDS_BY(end_operator) csrec_operator *basis = NULL;
    int64_t m;
    basis = operator_of(&spec);
    csrec_operator_size(basis, &m, &p->width);
    OWNED double *column = malloc((size_t)m * sizeof *column);
    p->synthesis = malloc((size_t)(m * p->width) * sizeof *p->synthesis);
    for (int64_t j = 0; j < p->width; j++) {
        assert_ok(csrec_operator_column(basis, j, column));
        for (int64_t i = 0; i < m; i++) p->synthesis[i * p->width + j] = column[i];
    }
}

/* What the operator removes of the basis is 0 but for rounding; a stored matrix has it as given. */
static void drop_rounding(problem *p) {
    const int64_t n = p->width * p->wide;
    double most = 0.0;
    for (int64_t i = 0; i < p->d.m * n; i++) most = fmax(most, fabs(p->product[i]));
    for (int64_t j = 0; j < n; j++) {
        double own = 0.0;
        for (int64_t i = 0; i < p->d.m; i++) own = fmax(own, fabs(p->product[i * n + j]));
        for (int64_t i = 0; i < p->d.m && own < 1e-13 * most; i++) p->product[i * n + j] = 0.0;
    }
}

/* Of a complex signal the even rows and columns of the product are the complex matrix. */
static void multiply(problem *p) {
    const int64_t wide = p->wide, n = p->width * wide, m = p->d.m, entries = p->d.entries;
    p->product = calloc((size_t)(m * n), sizeof *p->product);
    for (int64_t i = 0; i < m; i++)
        for (int64_t e = 0; e < entries * wide; e++)
            for (int64_t j = 0; j < p->width; j++)
                p->product[i * n + j * wide + e % wide] +=
                    p->d.matrix[i * entries * wide + e] * p->synthesis[e / wide * p->width + j];
    drop_rounding(p);
    OWNED double *pairs = wide == 2 ? malloc((size_t)(m / 2 * n) * sizeof *pairs) : NULL;
    for (int64_t i = 0; i < m / 2 && pairs; i++)
        for (int64_t j = 0; j < p->width; j++) {
            pairs[i * n + 2 * j] = p->product[2 * i * n + 2 * j];
            pairs[i * n + 2 * j + 1] = p->product[(2 * i + 1) * n + 2 * j];
        }
    const csrec_operator_spec spec = {.name = "dense",
                                      .m = m / wide,
                                      .n = p->width,
                                      .matrix = pairs ? pairs : p->product,
                                      .complex_signal = wide == 2};
    p->A = operator_of(&spec);
}

static void open_problem(const char *name, const char *basis, problem *p) {
    int64_t rows = 0;
    *p = (problem){.d = draw_operator(&seed, name, NULL), .basis = basis};
    p->m = (csrec_measurement){.shape = p->d.shape,
                               .channels = 1 + check_below(&seed, 2),
                               .index = p->d.index,
                               .dtype = CSREC_F64,
                               .is_complex = strcmp(name, "fourier") == 0,
                               .through = &p->d.spec};
    if (p->d.spec.coils) p->m.channels = 1;
    assert_ok(csrec_measurement_rows(&p->m, &rows, NULL));
    const bool all = strcmp(name, "matrix") == 0 || strcmp(name, "downsample") == 0;
    p->m.n = all || !p->d.spec.index ? rows : p->d.spec.m;
    if (!p->d.spec.index) {
        free(p->d.index);
        p->d.index = malloc((size_t)rows * sizeof *p->d.index);
        for (int64_t k = 0; k < rows; k++) p->d.index[k] = k;
        p->m.index = p->d.index;
    }
    p->wide = p->d.n / p->d.entries;
    p->m.y = malloc((size_t)csrec_measurement_values(&p->m) * sizeof *p->m.y);
    for (int64_t i = 0; i < csrec_measurement_values(&p->m); i++) p->m.y[i] = check_normal(&seed);
    find_synthesis(p);
    multiply(p);
}

static void close_problem(problem *p) {
    csrec_operator_destroy(p->A);
    free(p->synthesis);
    free(p->product);
    free(p->m.y);
    drop_drawn(&p->d);
}

/* What the signal's channel c measures, and what A x measures: differences, as shares of y. Of
 * columns that are multiples of each other either may be picked; both measure the same. */
static double compare(const problem *p, const csrec_solve_options *solve, const double *signal,
                      int64_t c) {
    const int64_t C = p->m.channels, wide = p->wide, m = p->d.m, each = m / p->m.n;
    OWNED double *y = calloc((size_t)m, sizeof *y), *r = calloc((size_t)m, sizeof *r);
    double off = 0.0, whole = 0.0;
    for (int64_t i = 0; i < m; i++) y[i] = p->m.y[(i / each * C + c) * each + i % each];
    assert_ok(csrec_solve(p->A, y, solve, NULL, r, NULL, NULL));
    for (int64_t i = 0; i < m; i++) {
        double sum = 0.0;
        for (int64_t e = 0; e < p->d.n; e++)
            sum += p->d.matrix[i * p->d.n + e] * signal[(e / wide * C + c) * wide + e % wide];
        off += (y[i] - r[i] - sum) * (y[i] - r[i] - sum);
        whole += y[i] * y[i];
    }
    return sqrt(off / whole);
}

static void check(const problem *p, csrec_solve_options solve, double most) {
    csrec_setting settings[6] = {{"block", 4}, {"step", 2}};
    csrec_recover_report report;
    csrec_error error = {""};
    const int skip = strcmp(p->basis, "dct") ? 2 : 0;
    csrec_recover_options options = options_by(NULL);
    options.basis = p->basis;
    options.solve = solve;
    for (int i = 0; i < solve.n_settings; i++) settings[2 + i] = solve.settings[i];
    use_settings(&options.solve, 2 + solve.n_settings - skip, settings + skip);
    options.threads = 1 + (int)check_below(&seed, 2);
    OWNED double *signal = malloc((size_t)csrec_measurement_signal_values(&p->m) * sizeof *signal);
    csrec_status status = csrec_recover(&p->m, &options, signal, NULL, &report, &error);
    if (status == CSREC_UNSUPPORTED && strcmp(p->d.spec.name, "fourier") == 0) {
        print_message("SKIPPED: %s\n", error.text);
        return;
    }
    if (status) fail_msg("%s: %s", p->d.text, error.text);
    assert_string_equal(report.method, "sparse");
    for (int64_t c = 0; c < p->m.channels; c++) {
        double off = compare(p, &solve, signal, c);
        if (!(off <= most))
            fail_msg("%s, %s of %s: channel %d is off by %g", solve.solver, p->basis, p->d.text,
                     (int)c, off);
    }
}

static const char *const names[] = {"hadamard", "fourier", "matrix", "blur", "downsample"};
static const char *const bases[] = {"wavelet", "dct", "identity"};

/* A few picks on noise. Columns of all but random matrices have symmetries, by which two that point
 * in different directions may be equally good after the first pick. */
TEST(pursuits) {
    for (int round = 0; round < 100; round++) {
        ENDS_BY(close_problem) problem p;
        open_problem(names[round % 5], bases[round / 5 % 3], &p);
        const int64_t m = p.d.m / p.wide, most = round % 5 != 2 ? 1 : m < 4 ? m : 4;
        csrec_solve_options solve = {.solver = round % 3 ? "omp" : "mp",
                                     .stop = {.atoms = 1 + check_below(&seed, most)}};
        if (solve.stop.atoms > p.width) solve.stop.atoms = p.width;
        check(&p, solve, 1e-8);
    }
}

/* A x of the l1 minimum is unique, whatever the columns: those of few rows of Hadamard's times a
 * wavelet basis are equal or combinations of each other. */
TEST(l1_minima) {
    for (int round = 0; round < 40; round++) {
        ENDS_BY(close_problem) problem p;
        open_problem(names[round % 5], bases[round / 5 % 3], &p);
        /* y of a random signal, so that every bound can be met. */
        double *x = kept_normals(&seed, csrec_measurement_signal_values(&p.m));
        csrec_status status = csrec_measurement_simulate(&p.m, x, p.m.y, NULL);
        assert_true(status == CSREC_OK ||
                    status == CSREC_UNSUPPORTED); /* built without transforms */
        csrec_setting set = {"lambda", 0.1 + 0.4 * check_uniform(&seed)};
        csrec_solve_options solve = {
            .solver = "fista", .stop = {.atoms = 100000}, .settings = &set, .n_settings = 1};
        check(&p, solve, 1e-5);
        solve = (csrec_solve_options){.solver = "bpdn",
                                      .stop.epsilon = 0.2 + 0.6 * check_uniform(&seed)};
        check(&p, solve, 1e-4);
    }
}

/* No options but the basis: least norm within the noise; what needs entries says so. */
TEST(choices) {
    ENDS_BY(close_problem) problem p;
    csrec_plan plan;
    open_problem("matrix", "wavelet", &p);
    csrec_recover_options options = options_by(NULL);
    options.basis = "wavelet";
    assert_ok(csrec_recover_plan(&p.m, &options, false, &plan, NULL));
    assert_string_equal(plan.options.solve.solver, "bpdn");
    options.basis = NULL;
    options.solve.solver = "omp";
    assert_ok(csrec_recover_plan(&p.m, &options, false, &plan, NULL));
    assert_string_equal(plan.options.method, "sparse");
    assert_string_equal(plan.options.basis, "wavelet");
    OWNED double *signal = malloc((size_t)csrec_measurement_signal_values(&p.m) * sizeof *signal);
    options.solve.solver = "threshold";
    assert_refused(csrec_recover(&p.m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT,
                   "bpdn or fista");
    options.solve.solver = "omp";
    options.basis = "haar";
    assert_refused(csrec_recover(&p.m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT,
                   "through an operator");
}
