/* SPDX-License-Identifier: BSD-3-Clause */
/* What a solver says of its result: for every solver, operator, start and end, the residual, r and
 * the end of the history are those of the x returned, by a product of the test's own. */
#include "solvers.h" /* before what declares `seed`, a name of its arguments */
#include "operator_rows.h"

#include "haar/tree.h"

enum { STEPS = 40, WAYS = 4 };

typedef struct told {
    csrec_atoms atoms;
    double *r, history[STEPS];
    csrec_solve_report report;
} told;

static int64_t looked, refused;

/* y = A x by the definition, where the row writes its matrix out. */
static void product(const drawn *d, const csrec_operator *A, const double *x, double *y) {
    if (d->matrix)
        apply_matrix(d->m, d->n, d->matrix, x, y);
    else
        assert_ok(csrec_operator_forward(A, x, y));
}

/* A x, and the sum of all its terms' lengths; NULL: atoms of mp on haar number the whole matrix. */
static double synthesis(const drawn *d, const csrec_operator *A, const csrec_atoms *atoms,
                        bool numbered, double *y) {
    OWNED double *x = calloc((size_t)d->n, sizeof *x),
                 *norms = malloc((size_t)d->n * sizeof *norms);
    double sum = 0.0;
    assert_ok(csrec_operator_column_norms(A, norms));
    for (int64_t i = 0; i < atoms->n; i++) {
        if (!numbered) x[atoms->column[i]] = atoms->coefficient[i];
        sum += fabs(atoms->coefficient[i]) * (numbered ? 1.0 : norms[atoms->column[i]]);
    }
    if (numbered)
        assert_ok(csrec_atoms_synthesize(d->spec.levels, atoms, d->m, d->rows, y));
    else
        product(d, A, x, y);
    return sum;
}

static void check_told(const drawn *d, const csrec_operator *A, const double *y,
                       const csrec_solve_options *options, const char *way, const told *t) {
    const bool numbered = strcmp(options->solver, "mp") == 0 && strcmp(d->spec.name, "haar") == 0;
    OWNED double *found = malloc((size_t)d->m * sizeof *found);
    double left = 0.0, size = 0.0, apart = 0.0;
    double terms = synthesis(d, A, &t->atoms, numbered, found);
    for (int64_t i = 0; i < d->m; i++) {
        double r = y[i] - found[i];
        left += r * r;
        size += y[i] * y[i];
        apart = fmax(apart, fabs(r - t->r[i]));
    }
    double wanted = size > 0.0 ? sqrt(left / size) : 0.0;
    double allowed = TOLERANCE * (1.0 + (size > 0.0 ? terms / sqrt(size) : 0.0));
    if (fabs(t->report.residual - wanted) > allowed || apart > allowed * (1.0 + sqrt(size)))
        fail_msg("%s, %s, %s: residual %.12g, of x %.12g; r differs by %.3g; %s after %lld",
                 d->text, options->solver, way, t->report.residual, wanted, apart,
                 csrec_outcome_text(t->report.outcome), (long long)t->report.iterations);
    int64_t steps = t->report.iterations;
    if (steps > 0 && steps <= STEPS && t->history[steps - 1] != t->report.residual)
        fail_msg("%s, %s, %s: the history ends with %.12g, not %.12g", d->text, options->solver,
                 way, t->history[steps - 1], t->report.residual);
}

static bool keeps_k(const char *solver) {
    return strcmp(solver, "iht") == 0 || strcmp(solver, "htp") == 0 ||
           strcmp(solver, "cosamp") == 0;
}

/* What a callback may look at. */
typedef struct window {
    const drawn *d;
    const csrec_operator *A;
    const double *y;
    csrec_solve_options *options;
    csrec_look look;
    int64_t looks;
} window;

static bool look_in(const csrec_progress *progress, void *context) {
    window *w = context;
    told t = {.r = malloc((size_t)w->d->m * sizeof *t.r)};
    csrec_error error;
    csrec_status status = csrec_look_at(&w->look, &t.atoms, t.r, &error);
    if (status == CSREC_OK) {
        t.report.residual = progress->residual;
        if (strcmp(w->options->solver, "threshold") != 0)
            check_told(w->d, w->A, w->y, w->options, "looked at", &t);
        w->looks++;
    } else if (status != CSREC_UNSUPPORTED || !strstr(error.text, "between iterations")) {
        fail_msg("%s: look: %s", w->options->solver, error.text);
    }
    csrec_atoms_clear(&t.atoms);
    free(t.r);
    return false;
}

/* One solve; way: with a dense start, 2: and a start that fits y, 3: and debias or a tolerance. */
static void solve_one(const drawn *d, const csrec_operator *A, const char *solver, int way,
                      const double *y, const csrec_atoms *start) {
    static const char *const ways[WAYS] = {"from 0", "dense start", "start that fits", "debiased"};
    const int64_t parts = A->parts, least = d->m < d->n ? d->m : d->n;
    csrec_setting set[2] = {{"k", (double)(1 + check_below(&seed, least / parts))}};
    csrec_solve_options options = {.solver = solver, .settings = set, .n_settings = 1};
    const bool fista = strcmp(solver, "fista") == 0, romp = strcmp(solver, "romp") == 0;
    if (fista) {
        set[0] = (csrec_setting){"lambda", 0.5 * check_uniform(&seed)};
        set[1] = (csrec_setting){"debias", way == 3};
        options.n_settings = 2;
    } else if (!keeps_k(solver) && !romp) {
        options.n_settings = 0;
    }
    told t = {.r = malloc((size_t)d->m * sizeof *t.r)};
    options.stop.atoms = 1 + check_below(&seed, check_below(&seed, 2) ? least / parts : 5);
    if (options.stop.atoms > least / parts) options.stop.atoms = least / parts;
    if (way == 3) options.stop.epsilon = 0.3 * check_uniform(&seed);
    options.start = way == 1 || way == 2 ? start : NULL;
    options.history = t.history;
    options.history_size = STEPS;
    csrec_error error;
    window w = {d, A, y, &options, {0}, 0};
    report_to(&options, look_in, &w);
    options.look = &w.look;
    csrec_status status = csrec_solve(A, y, &options, &t.atoms, t.r, &t.report, &error);
    if (status == CSREC_OK && t.report.iterations > 0) assert_true(w.looks > 0);
    assert_int_equal(csrec_look_at(&w.look, NULL, NULL, NULL), CSREC_UNSUPPORTED);
    if (status == CSREC_UNSUPPORTED) {
        refused++;
    } else {
        if (status) fail_msg("%s, %s, %s: %s", d->text, solver, ways[way], error.text);
        check_told(d, A, y, &options, ways[way], &t);
        int64_t entries = 0;
        for (int64_t i = 0; i < t.atoms.n; i++)
            entries += i == 0 || t.atoms.column[i] / (uint64_t)parts !=
                                     t.atoms.column[i - 1] / (uint64_t)parts;
        if (keeps_k(solver) && entries > (int64_t)set[0].value)
            fail_msg("%s, %s, %s: %d entries for k = %g", d->text, solver, ways[way], (int)entries,
                     set[0].value);
        looked++;
    }
    csrec_atoms_clear(&t.atoms);
    free(t.r);
}

static void told_is_true(const drawn *d, const csrec_operator *A) {
    const char *solver, *brief, *source;
    if (d->m < A->parts || d->m * d->n > 60000) return;
    OWNED double *y = malloc((size_t)d->m * sizeof *y), *x = random_vector(d->n);
    CLEARED(csrec_atoms) start;
    assert_ok(csrec_atoms_create(d->n, &start));
    for (int64_t j = 0; j < d->n; j++) start.column[j] = (uint64_t)j, start.coefficient[j] = x[j];
    for (int way = 0; way < WAYS; way++) {
        if (way == 2)
            product(d, A, x, y);
        else
            for (int64_t i = 0; i < d->m; i++) y[i] = check_normal(&seed);
        for (int s = 0; csrec_solver_info(s, &solver, &brief, &source); s++)
            solve_one(d, A, solver, way, y, &start);
    }
}

TEST_ON("cpu", the_residual_told_is_that_of_x) {
    const char *name, *brief;
    for (int row = 0; csrec_operator_info(row, &name, &brief); row++)
        for (int k = 0; k < (rounds() + 4) / 5; k++)
            check_one(name, check_backend(state), told_is_true);
    print_message("%lld results, %lld refused\n", (long long)looked, (long long)refused);
    assert_true(looked > 20 * refused / 10);
}

/* y of exactly k columns: a pursuit that found them ends there, and says so. */
TEST(pursuits_end_at_rounding) {
    static const char *const pursuits[] = {"omp", "romp", "cosamp", "htp", "iht", "mp"};
    for (int t = 0; t < 2 * rounds(); t++) {
        ENDS_BY(drop_dense)
        dense_problem p = draw_dense(&seed, "cpu", 96, 160, 1 + check_below(&seed, 5));
        for (int s = 0; s < 6; s++) {
            const csrec_setting set = {"k", (double)p.k};
            const csrec_solve_options options =
                solver_by(pursuits[s], (csrec_stop){0}, s > 0 && s < 5 ? &set : NULL);
            CLEARED(csrec_atoms) atoms;
            csrec_solve_report report;
            assert_ok(csrec_solve(p.A, p.y, &options, &atoms, NULL, &report, NULL));
            if (report.outcome != CSREC_CONVERGED || !(report.residual <= 1e-13) ||
                (s != 5 && s != 1 && atoms.n != p.k))
                fail_msg("%s: %lld entries of %lld, residual %g, %s after %lld", pursuits[s],
                         (long long)atoms.n, (long long)p.k, report.residual,
                         csrec_outcome_text(report.outcome), (long long)report.iterations);
        }
    }
}

/* Batch-OMP stops where omp does. Where three columns are not found at once it picks a few more. */
TEST(all_omps_end_at_rounding) {
    enum { MANY = 400, M = 60, N = 90, K = 3 };
    ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, "cpu", M, N, 1);
    OWNED double *y = calloc(MANY * M, sizeof *y);
    csrec_atoms atoms[MANY];
    csrec_solve_report reports[MANY];
    for (int s = 0; s < MANY; s++)
        for (int k = 0; k < K; k++) {
            const int64_t j = (k * N + check_below(&seed, N)) / K;
            const double x = (1.0 + check_uniform(&seed)) / length_of(M, N, p.matrix + j);
            for (int i = 0; i < M; i++) y[s * M + i] += x * p.matrix[i * N + j];
        }
    csrec_solve_options options = {.solver = "omp", .stop = {.atoms = M / 3}};
    assert_ok(csrec_solve_many(p.A, MANY, y, &options, 1, atoms, NULL, reports, NULL));
    int exact = 0;
    for (int s = 0; s < MANY; s++) {
        exact += atoms[s].n == K;
        assert_true(atoms[s].n < M / 3 && reports[s].outcome == CSREC_CONVERGED);
        csrec_atoms_clear(&atoms[s]);
    }
    assert_true(exact > MANY / 2);
}

/* By how much x misses the conditions of the l1 minimum, as a share of lambda. */
static double missed(const dense_problem *p, double share, const csrec_atoms *atoms,
                     const double *r) {
    OWNED double *c = malloc((size_t)p->n * sizeof *c), *at_0 = malloc((size_t)p->n * sizeof *at_0);
    double lambda = 0.0, most = 0.0;
    apply_turned(p->m, p->n, p->matrix, r, c);
    apply_turned(p->m, p->n, p->matrix, p->y, at_0);
    for (int64_t j = 0; j < p->n; j++) lambda = fmax(lambda, share * fabs(at_0[j]));
    for (int64_t j = 0; j < p->n; j++) most = fmax(most, fabs(c[j]) / lambda - 1.0);
    for (int64_t i = 0; i < atoms->n; i++)
        most =
            fmax(most, fabs(c[atoms->column[i]] / lambda - copysign(1.0, atoms->coefficient[i])));
    return most;
}

TEST(products_alone_lead_to_the_minimum) {
    for (int t = 0; t < (rounds() + 9) / 10; t++)
        for (double share = 0.1; share > 1e-5; share *= 0.1) {
            ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, "cpu", 30, 60, 5);
            struct drawn_matrix known = {p.m, p.n, p.matrix};
            const csrec_operator_spec spec = {.name = "callback",
                                              .m = p.m,
                                              .n = p.n,
                                              .forward = times_drawn,
                                              .adjoint = transposed_times_drawn,
                                              .context = &known};
            const csrec_setting set = {"lambda", share};
            const csrec_solve_options options = solver_by("fista", (csrec_stop){0}, &set);
            CLEARED(csrec_atoms) atoms;
            csrec_solve_report report;
            double r[30];
            for (int64_t i = 0; i < p.m * p.n; i++) p.matrix[i] = check_normal(&seed);
            for (int64_t i = 0; i < p.m; i++) p.y[i] = check_normal(&seed);
            ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
            assert_ok(csrec_solve(A, p.y, &options, &atoms, r, &report, NULL));
            double miss = missed(&p, share, &atoms, r);
            /* Rounding of A^T r is some 1e-14 of the largest product. */
            bool at_limit = report.outcome == CSREC_STEP_LIMIT;
            assert_int_equal(csrec_solve_limit(A, &options), 100000);
            if (at_limit ? report.iterations != 100000 || miss > 1e-3
                         : report.outcome != CSREC_CONVERGED || miss > 1e-8 + 1e-11 / share)
                fail_msg("lambda %g: misses its conditions by %g of it; %s after %lld", share, miss,
                         csrec_outcome_text(report.outcome), (long long)report.iterations);
        }
}

/* iht ends where its step leads nowhere: a second run from there ends at once. */
TEST(iht_ends_where_x_stays) {
    for (int t = 0; t < rounds() / 2; t++) {
        ENDS_BY(drop_dense) dense_problem p = draw_dense(&seed, "cpu", 20, 50, 4);
        for (int64_t i = 0; i < p.m; i++) p.y[i] += 0.1 * check_normal(&seed);
        csrec_setting set = {"k", 6};
        csrec_solve_options options = {.solver = "iht", .settings = &set, .n_settings = 1};
        CLEARED(csrec_atoms) atoms, again;
        csrec_solve_report report, other;
        assert_ok(csrec_solve(p.A, p.y, &options, &atoms, NULL, &report, NULL));
        assert_int_equal(report.outcome, CSREC_CONVERGED);
        options.start = &atoms;
        assert_ok(csrec_solve(p.A, p.y, &options, &again, NULL, &other, NULL));
        assert_true(fabs(other.residual - report.residual) <= 1e-7);
    }
}

/* What is said where a bound is out of reach, and where none was given. */
TEST(outcomes_say_what_happened) {
    ENDS_BY(drop_dense)
    dense_problem p = draw_dense(&seed, "cpu", 40, 12, 3); /* columns do not reach y */
    for (int64_t i = 0; i < p.m; i++) p.y[i] = check_normal(&seed);
    for (int bound = 0; bound < 2; bound++)
        for (int s = 0; s < 9; s++) {
            static const char *const solvers[] = {"omp", "romp", "mp",    "cosamp", "iht",
                                                  "htp", "bpdn", "fista", "omp"};
            csrec_solve_options options = {.solver = solvers[s],
                                           .stop = {.epsilon = bound ? 0.01 : 0.0}};
            csrec_solve_report report;
            if (s == 2) options.stop.atoms = 1000000;
            if (s == 8) options.stop.atoms = 4;
            assert_ok(csrec_solve(p.A, p.y, &options, NULL, NULL, &report, NULL));
            csrec_outcome wanted = s == 8   ? CSREC_STEP_LIMIT
                                   : bound  ? CSREC_UNMET
                                   : s < 3  ? CSREC_EXHAUSTED
                                   : s == 6 ? CSREC_UNMET /* A x = y is its bound */
                                            : CSREC_CONVERGED;
            if (report.outcome != wanted)
                fail_msg("%s, epsilon %g: %s, not %s", solvers[s], options.stop.epsilon,
                         csrec_outcome_text(report.outcome), csrec_outcome_text(wanted));
        }
}
