/* SPDX-License-Identifier: BSD-3-Clause */
/* trials.c - draws problems of one size, solves them, and counts what is recovered. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static int solver_number(const char *name) {
    const char *found, *brief, *source;
    for (int i = 0; csrec_solver_info(i, &found, &brief, &source); i++)
        if (strcmp(found, name) == 0) return i;
    return -1;
}

static bool has(const char *solver, const char *name) {
    const csrec_param *param;
    int number = solver_number(solver);
    for (int i = 0; (param = csrec_solver_param(number, i)); i++)
        if (strcmp(param->name, name) == 0) return true;
    return false;
}

csrec_solve_options bench_solver_options(const char *solver, int64_t m, int64_t k,
                                         csrec_setting set[BENCH_SETTINGS]) {
    csrec_solve_options o = {.solver = solver, .stop = {.epsilon = 1e-6}, .settings = set};
    if (has(solver, "k")) {
        set[o.n_settings++] = (csrec_setting){"k", (double)k};
        o.stop.atoms = 200;
        o.stop.stagnation = 1e-4;
    }
    if (has(solver, "lambda")) {
        set[o.n_settings++] = (csrec_setting){"lambda", 1e-3};
        o.stop.atoms = 1000;
    }
    if (has(solver, "debias")) set[o.n_settings++] = (csrec_setting){"debias", 1.0};
    if (strcmp(solver, "omp") == 0) o.stop.atoms = k;
    if (strcmp(solver, "mp") == 0) o.stop.atoms = 16 * m;
    return o;
}

/* Some solvers need more of an operator than a matrix has. */
static csrec_status try_solver(const char *solver, csrec_error *error) {
    const double identity[4] = {1.0, 0.0, 0.0, 1.0}, y[2] = {1.0, 0.0};
    csrec_operator_spec spec = {.name = "dense", .m = 2, .n = 2, .matrix = identity};
    csrec_setting set[BENCH_SETTINGS];
    csrec_solve_options options = bench_solver_options(solver, 2, 1, set);
    csrec_operator *A;
    CLI_TRY(csrec_operator_create(&spec, &A, error));
    csrec_status status = csrec_solve(A, y, &options, NULL, NULL, NULL, error);
    csrec_operator_destroy(A);
    return status;
}

static csrec_status take_named(const cli_texts *names, bench_trials *trials, csrec_error *error) {
    for (int i = 0; i < names->n; i++) {
        const char *name = names->text[i];
        bool again = false;
        for (int j = 0; j < i; j++) again = again || strcmp(names->text[j], name) == 0;
        if (solver_number(name) < 0 || again || i == BENCH_SOLVERS_MOST)
            return cli_fail(error, CSREC_ARGUMENT, "--solver %s: %s", name,
                            again ? "is given twice"
                            : i < BENCH_SOLVERS_MOST
                                ? "is not a solver; csrecover --list shows them"
                                : "too many solvers");
        csrec_error why;
        csrec_status status = try_solver(name, &why);
        if (status)
            return cli_fail(error, status == CSREC_MEMORY ? CSREC_MEMORY : CSREC_ARGUMENT,
                            "--solver %s does not solve with a matrix: %.400s", name, why.text);
        trials->solver[trials->n_solvers++] = name;
    }
    return CSREC_OK;
}

csrec_status bench_solvers_take(const cli_texts *names, bench_trials *trials, csrec_error *error) {
    const char *name, *brief, *source;
    trials->n_solvers = 0;
    if (names->n > 0) return take_named(names, trials, error);
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++) {
        csrec_status status = try_solver(name, error);
        if (status == CSREC_MEMORY) return status;
        if (!status && trials->n_solvers < BENCH_SOLVERS_MOST)
            trials->solver[trials->n_solvers++] = name;
    }
    return CSREC_OK;
}

/* Signals of one matrix. */
typedef struct problems {
    int64_t m, n, count;
    csrec_operator *A;
    double *matrix, *x, *y; /* [m][n], [count][n], [count][m] */
    double *most;           /* [count], ||x found - x||^2 of success */
    csrec_atoms *atoms;     /* [count] */
} problems;

/* Counts the signals of all solvers and matrices in one row. */
typedef struct counter {
    csrec_progress_fn progress;
    void *context;
    int64_t before, total;
    bool stopped;
} counter;

static bool count_signals(const csrec_progress *now, void *context) {
    counter *c = context;
    csrec_progress all = {"signals", c->before + now->done, c->total, -1.0};
    c->stopped = c->stopped || c->progress(&all, c->context);
    return c->stopped;
}

static void problems_clear(problems *p) {
    csrec_operator_destroy(p->A);
    free(p->matrix);
    free(p->x);
    free(p->y);
    free(p->most);
    free(p->atoms);
    *p = (problems){0};
}

static csrec_status problems_allocate(problems *p, csrec_error *error) {
    p->matrix = malloc((size_t)(p->m * p->n) * sizeof *p->matrix);
    p->x = malloc((size_t)(p->count * p->n) * sizeof *p->x);
    p->y = malloc((size_t)(p->count * p->m) * sizeof *p->y);
    p->most = malloc((size_t)p->count * sizeof *p->most);
    p->atoms = calloc((size_t)p->count, sizeof *p->atoms);
    if (p->matrix && p->x && p->y && p->most && p->atoms) return CSREC_OK;
    return cli_fail(error, CSREC_MEMORY, "out of memory for a matrix of %lld x %lld",
                    (long long)p->m, (long long)p->n);
}

/* x and y of a signal of k entries, and how near is near enough. */
static csrec_status draw_one(const bench_trials *t, int64_t k, int64_t number, problems *p,
                             int64_t i) {
    double *x = p->x + i * p->n;
    uint64_t key = bench_key(t->seed, BENCH_SIGNAL, p->m, k, number);
    csrec_status status = bench_signal_draw(t->amplitudes, p->m, p->n, p->matrix, k, key, x);
    if (!status) status = csrec_operator_forward(p->A, x, p->y + i * p->m);
    if (status) return status;
    double whole = 0.0;
    for (int64_t j = 0; j < p->n; j++) whole += x[j] * x[j];
    p->most[i] = t->tolerance * t->tolerance * whole;
    return CSREC_OK;
}

/* Signals first .. first + count - 1 of the size, on matrix q. */
static csrec_status problems_draw(const bench_trials *t, int64_t k, int64_t q, int64_t first,
                                  problems *p, csrec_error *error) {
    csrec_status status = problems_allocate(p, error);
    uint64_t key = bench_key(t->seed, BENCH_MATRIX, p->m, k, q);
    if (!status) status = bench_matrix_draw(t->ensemble, p->m, p->n, key, p->matrix, error);
    csrec_operator_spec spec = {
        .name = "dense", .m = p->m, .n = p->n, .matrix = p->matrix, .backend = t->backend};
    if (!status) status = csrec_operator_create(&spec, &p->A, error);
    for (int64_t i = 0; i < p->count && !status; i++) {
        status = draw_one(t, k, first + i, p, i);
        if (status) cli_fail(error, status, "%s", csrec_status_text(status));
    }
    return status;
}

/* x is left as it is. */
static bool is_recovered(const problems *p, int64_t i) {
    const double *x = p->x + i * p->n;
    const csrec_atoms *found = &p->atoms[i];
    double whole = 0.0, wrong;
    for (int64_t j = 0; j < p->n; j++) whole += x[j] * x[j];
    wrong = whole;
    for (int64_t a = 0; a < found->n; a++) {
        double at = x[found->column[a]], off = at - found->coefficient[a];
        wrong += off * off - at * at;
    }
    return wrong <= p->most[i];
}

static csrec_status solve_all(const bench_trials *t, int64_t k, problems *p, counter *c,
                              int32_t *successes, csrec_error *error) {
    for (int s = 0; s < t->n_solvers; s++) {
        csrec_setting set[BENCH_SETTINGS];
        csrec_solve_options options = bench_solver_options(t->solver[s], p->m, k, set);
        if (c->progress) options.progress = count_signals;
        options.context = c;
        CLI_TRY(csrec_solve_many(p->A, p->count, p->y, &options, t->threads, p->atoms, NULL, NULL,
                                 error));
        for (int64_t i = 0; i < p->count; i++) {
            successes[s] += is_recovered(p, i);
            csrec_atoms_clear(&p->atoms[i]);
        }
        c->before += p->count;
        if (c->stopped) return CSREC_STOPPED;
    }
    return CSREC_OK;
}

csrec_status bench_cell_solve(const bench_trials *t, int64_t m, int64_t k,
                              csrec_progress_fn progress, void *context, int32_t *successes,
                              csrec_error *error) {
    counter c = {progress, context, 0, t->n_solvers * t->count, false};
    csrec_status status = CSREC_OK;
    memset(successes, 0, (size_t)t->n_solvers * sizeof *successes);
    for (int64_t q = 0; q < t->matrices && !status; q++) {
        int64_t first = q * t->count / t->matrices, end = (q + 1) * t->count / t->matrices;
        problems p = {.m = m, .n = t->n, .count = end - first};
        status = problems_draw(t, k, q, first, &p, error);
        if (!status) status = solve_all(t, k, &p, &c, successes, error);
        problems_clear(&p);
    }
    return status;
}
