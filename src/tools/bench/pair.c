/* pair.c - compares what a solver finds on an operator and on its matrix, and tells ties from
 * mistakes. */
#include "operator.h"

#include <math.h>
#include <string.h>

/* Smaller entries than this share of the largest are rounding. */
static const double ROUNDING = 1e-9;

double bench_difference(int64_t n, const double *a, const double *b) {
    double most = 0.0, whole = 0.0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        whole = fmax(whole, fabs(b[i]));
    }
    return most > 0.0 ? most / fmax(whole, 1e-300) : 0.0;
}

/* x of the atoms; mp on haar names columns by their numbers in Haar's matrix. */
static csrec_status spread(const bench_operator *o, const csrec_atoms *atoms, bool numbered,
                           double *x) {
    memset(x, 0, (size_t)o->n * sizeof *x);
    for (int64_t a = 0; a < atoms->n; a++) {
        int64_t j = numbered ? 0 : (int64_t)atoms->column[a];
        while (numbered && j < o->n && o->number[j] != atoms->column[a]) j++;
        if (j >= o->n) return CSREC_DATA;
        x[j] = atoms->coefficient[a];
    }
    return CSREC_OK;
}

static csrec_status solve(const bench_pair *p, bool dense, const csrec_solve_options *how,
                          double *x, csrec_error *error) {
    csrec_atoms atoms;
    csrec_status status =
        csrec_solve(dense ? p->dense : p->o->A, p->y, how, &atoms, NULL, NULL, error);
    if (status) return status;
    bool numbered = !dense && p->o->number && atoms.n > 0 && atoms.count[0] > 0;
    status = spread(p->o, &atoms, numbered, x);
    if (status) cli_fail(error, status, "solver %s: found a column that is not there", how->solver);
    csrec_atoms_clear(&atoms);
    return status;
}

static csrec_status solve_both(const bench_pair *p, const csrec_solve_options *how,
                               csrec_error *error) {
    csrec_status status = solve(p, false, how, p->one, error);
    return status ? status : solve(p, true, how, p->two, error);
}

static void count_columns(const bench_pair *p, bench_agreement *to) {
    double most = 0.0;
    for (int64_t j = 0; j < p->o->n; j++) most = fmax(most, fabs(p->two[j]));
    for (int64_t j = 0; j < p->o->n; j++) {
        bool one = fabs(p->one[j]) > ROUNDING * most, two = fabs(p->two[j]) > ROUNDING * most;
        to->columns += two;
        to->others += one != two;
    }
}

static bool are_same(const bench_pair *p, const bench_agreement *found) {
    return found->difference <= p->tolerance && found->others == 0;
}

/* ------------------------------------------------------------------ ties ---------------------- */

/* The column of a step from `before` to x: the new one, else the one that changed most. */
static int64_t pick_of(const bench_pair *p, const double *x) {
    int64_t pick = 0;
    for (int64_t j = 0; j < p->o->n; j++) {
        if (p->before[j] == 0.0 && x[j] != 0.0) return j;
        if (fabs(x[j] - p->before[j]) > fabs(x[pick] - p->before[pick])) pick = j;
    }
    return pick;
}

/* |<a_j, r>| / ||a_j|| with r = y - A before. */
static double correlation(const bench_pair *p, int64_t j) {
    double c = 0.0;
    for (int64_t i = 0; i < p->o->m; i++) c += p->o->matrix[i * p->o->n + j] * p->r[i];
    return p->norms[j] > 0.0 ? fabs(c) / p->norms[j] : 0.0;
}

static void set_residual(const bench_pair *p, double *length) {
    *length = 0.0;
    for (int64_t i = 0; i < p->o->m; i++) {
        p->r[i] = p->y[i];
        for (int64_t j = 0; j < p->o->n; j++)
            p->r[i] -= p->o->matrix[i * p->o->n + j] * p->before[j];
        *length = hypot(*length, p->y[i]);
    }
}

/* Of a solver that picks a column an iteration: whether the first picks that differ have equal
 * correlations, the largest there are. */
static csrec_status find_tie(const bench_pair *p, csrec_solve_options how, bool *tie,
                             csrec_error *error) {
    const int64_t most = how.stop.atoms;
    csrec_status status = CSREC_OK;
    memset(p->before, 0, (size_t)p->o->n * sizeof *p->before);
    for (int64_t t = 1; t <= most && !status; t++) {
        how.stop.atoms = t;
        status = solve_both(p, &how, error);
        if (status || bench_difference(p->o->n, p->one, p->two) > ROUNDING) break;
        memcpy(p->before, p->two, (size_t)p->o->n * sizeof *p->before);
    }
    if (status) return status;
    double length, best = 0.0;
    set_residual(p, &length);
    for (int64_t j = 0; j < p->o->n; j++) best = fmax(best, correlation(p, j));
    double worse = fmin(correlation(p, pick_of(p, p->one)), correlation(p, pick_of(p, p->two)));
    *tie = worse >= best - ROUNDING * length;
    return CSREC_OK;
}

/* Of a solver that minimises sum |x_j| for the residual, or with a weight: the same norm, and the
 * same A x, which is unique. */
static bool is_other_minimum(const bench_pair *p) {
    double one = 0.0, two = 0.0, length, wrong = 0.0;
    for (int64_t j = 0; j < p->o->n; j++) {
        one += fabs(p->one[j]);
        two += fabs(p->two[j]);
        p->before[j] = p->one[j] - p->two[j];
    }
    set_residual(p, &length);
    for (int64_t i = 0; i < p->o->m; i++) wrong = hypot(wrong, p->r[i] - p->y[i]);
    return fabs(one - two) <= p->tolerance * two && wrong <= p->tolerance * length;
}

csrec_status bench_pair_compare(const bench_pair *p, const char *solver, int64_t k,
                                bench_agreement *to, csrec_error *error) {
    csrec_setting set[BENCH_SETTINGS];
    csrec_solve_options how = bench_solver_options(solver, p->o->m, k, set);
    const bool greedy = strcmp(solver, "mp") == 0 || strcmp(solver, "omp") == 0;
    bool tie = false;
    if (strcmp(solver, "mp") == 0) how.stop.atoms = 4 * k;
    if (bench_solver_has(solver, "debias")) { /* the minimum itself, to its last digits */
        how.n_settings--;
        how.stop = (csrec_stop){.atoms = 1000000};
    }
    *to = (bench_agreement){.name = solver};
    csrec_status status = solve_both(p, &how, error);
    if (status) return status;
    to->difference = bench_difference(p->o->n, p->one, p->two);
    count_columns(p, to);
    if (are_same(p, to) || bench_solver_has(solver, "k")) return CSREC_OK;
    if (greedy) status = find_tie(p, how, &tie, error);
    if (tie) to->equal = "columns of equal correlation";
    if (!greedy && is_other_minimum(p)) to->equal = "another minimum";
    return status;
}
