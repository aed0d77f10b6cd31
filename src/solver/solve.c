/* SPDX-License-Identifier: BSD-3-Clause */
/* solve.c - the one loop: stopping rules, progress, reports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "haar/tree.h"
#include "solver/solver.h"

void *csrec_run_state(csrec_run *run, size_t size) {
    return run->state = csrec_pool_zeros(&run->pool, 1, size);
}

double csrec_run_param(const csrec_run *run, const char *name) {
    const csrec_param *param = csrec_param_find(run->type->params, name);
    return csrec_setting_value(run->options, CSREC_OF_SOLVER, name, param->value);
}

csrec_status csrec_run_atoms(const csrec_run *run, const double *x, csrec_atoms *atoms) {
    return csrec_atoms_from_dense(run->A->n, x, atoms);
}

csrec_status csrec_run_start(const csrec_run *run, double *x, csrec_error *error) {
    memset(x, 0, (size_t)run->A->n * sizeof *x);
    const csrec_atoms *start = run->options->start;
    for (int64_t i = 0; start && i < start->n; i++) {
        if (start->column[i] >= (uint64_t)run->A->n)
            return csrec_fail(error, CSREC_ARGUMENT,
                              "start: column %llu, but the operator has %lld",
                              (unsigned long long)start->column[i], (long long)run->A->n);
        x[start->column[i]] = start->coefficient[i];
    }
    return CSREC_OK;
}

static csrec_status check_stop(const csrec_solver_type *type, const csrec_stop *stop,
                               csrec_error *error) {
    csrec_status status = csrec_stop_check(stop, error);
    if (!status && stop->min_coefficient > 0.0 && !type->select)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "min_coefficient: solver %s takes many columns at once; use epsilon",
                          type->name);
    return status;
}

csrec_status csrec_solve_check(const csrec_solver_type *type, const csrec_operator *A,
                               const double *y, const csrec_solve_options *options,
                               csrec_error *error) {
    const csrec_owner owner = {CSREC_OF_SOLVER, type->name, type->params, type->reals};
    csrec_status status = check_stop(type, &options->stop, error);
    if (!status) status = csrec_settings_check(options, 1, &owner, error);
    if (!status) status = csrec_weights_check(type, A, options->weights, error);
    const csrec_atoms *start = options->start;
    for (int64_t i = 0; start && i < start->n && !status; i++)
        if (!isfinite(start->coefficient[i]))
            return csrec_fail(error, CSREC_DATA,
                              "start: the coefficient of column %llu is not finite",
                              (unsigned long long)start->column[i]);
    for (int64_t j = 0; y && j < A->m && !status; j++)
        if (!isfinite(y[j]))
            return csrec_fail(error, CSREC_DATA, "y[%lld] is not finite",
                              (long long)(A->complex_y ? j / 2 : j));
    return status;
}

bool csrec_run_stops(csrec_run *run) {
    if (run->options->progress && !run->stopped && csrec_ticker_passed(&run->pace))
        run->stopped = run->options->progress(&run->now, run->options->context);
    return run->stopped;
}

/* The outcome where a solver has no step that helps. One that selects columns has none left. */
static csrec_outcome without_step(const csrec_run *run, double whole) {
    if (run->type->constrained) return run->solved ? CSREC_CONVERGED : CSREC_UNMET;
    double residual = whole > 0.0 ? sqrt(run->type->energy(run) / whole) : 0.0;
    csrec_outcome outcome =
        csrec_stop_verdict(&run->options->stop, run->A->m, residual, CSREC_EXHAUSTED);
    return outcome == CSREC_EXHAUSTED && !run->type->select ? CSREC_CONVERGED : outcome;
}

/* Between iterations, where x can be looked at. Then reports within an iteration do not delay
 * these. */
static void tell(csrec_run *run) {
    csrec_look *look = run->options->look;
    if (!look) {
        csrec_run_stops(run);
        return;
    }
    look->run = run;
    run->stopped = run->stopped || run->options->progress(&run->now, run->options->context);
    look->run = NULL;
}

csrec_status csrec_look_at(const csrec_look *look, csrec_atoms *atoms, double *r,
                           csrec_error *error) {
    csrec_atoms own = {0};
    if (!look->run)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "look: x is whole between iterations, in their callback, only");
    csrec_run run = *(const csrec_run *)look->run;
    run.looking = true;
    csrec_status status = run.type->result(&run, &own, r);
    if (!status && (!csrec_atoms_scale_back(&own, look->unit, look->exponent) ||
                    (r && csrec_scale_back(run.A->m, look->unit, r) >= 0)))
        status = CSREC_DATA;
    if (status) csrec_fail(error, status, "look: %s", csrec_status_text(status));
    if (status || !atoms)
        csrec_atoms_clear(&own);
    else
        *atoms = own;
    return status;
}

/* Whether the loop ends before the next iteration, and its outcome. */
static bool ended(csrec_run *run, double energy, double whole, double goal, int64_t limit,
                  csrec_solve_report *report) {
    const csrec_stop *stop = &run->options->stop;
    if (energy <= goal)
        report->outcome = CSREC_CONVERGED;
    else if (run->stopped)
        report->outcome = CSREC_INTERRUPTED;
    else if (report->iterations >= limit)
        report->outcome =
            run->type->planned && limit == run->type->planned(run) ? CSREC_DONE : CSREC_STEP_LIMIT;
    else if (run->type->select && run->type->select(run) < stop->min_coefficient)
        report->outcome = CSREC_SMALL;
    else if (!run->type->update(run))
        report->outcome = without_step(run, whole);
    else
        return false;
    return true;
}

static void look_on(const csrec_run *run, int64_t iteration, bool last, double energy,
                    double whole) {
    csrec_run seen = *run;
    seen.looking = !last;
    if (run->watch) run->watch->step(&seen, iteration, last, energy, whole, run->watch->context);
}

/* The residual for progress reports: unknown if it is NaN, which ends in an error. */
static double known_residual(double residual) {
    return isfinite(residual) ? residual : -1.0;
}

csrec_rules csrec_rules_of(const csrec_stop *stop, int64_t planned, int64_t m, const double *y) {
    csrec_rules rules = {.limit = planned >= 0 ? planned : 4 * m};
    if (stop->atoms && (stop->atoms < planned || planned < 0)) rules.limit = stop->atoms;
    for (int64_t j = 0; j < m; j++) rules.whole += y[j] * y[j];
    csrec_stop own = *stop;
    /* A solver with planned iterations uses sigma in its steps and runs them all. */
    if (planned >= 0) own.sigma = 0.0;
    rules.goal = csrec_stop_goal(&own, m, rules.whole);
    rules.end = csrec_stop_end(&own, m, rules.whole);
    return rules;
}

int64_t csrec_solve_limit(const csrec_operator *A, const csrec_solve_options *options) {
    const csrec_solver_type *type = csrec_solver_find(options->solver);
    const int64_t atoms = options->stop.atoms;
    if (!type) return 0;
    if (!type->planned) return atoms ? atoms : type->steps ? type->steps : 4 * A->m;
    const csrec_run run = {.type = type, .A = A, .options = options};
    int64_t planned = (int64_t)csrec_run_param(&run, "steps");
    return atoms && atoms < planned ? atoms : planned;
}

static void iterate(csrec_run *run, csrec_solve_report *report) {
    const csrec_solve_options *options = run->options;
    const csrec_stop *stop = &options->stop;
    int64_t planned = run->type->planned ? run->type->planned(run) : -1;
    csrec_rules rules = csrec_rules_of(stop, planned, run->A->m, run->y);
    if (run->type->steps && !stop->atoms) rules.limit = run->type->steps;
    if (run->type->pursues) rules.goal = rules.end;
    /* An l1 norm may be less elsewhere, though r is 0. */
    const bool shortens = run->type->weighted && rules.goal == 0.0 && rules.whole > 0.0;
    if (run->type->constrained || shortens) rules.goal = -1.0;
    int64_t limit = rules.limit;
    double energy = run->type->energy(run), whole = rules.whole, goal = rules.goal;
    double keep = (1.0 - stop->stagnation) * (1.0 - stop->stagnation);
    csrec_ticker t = {.next = 1, .stride = 1};
    report->iterations = 0;
    run->now = (csrec_progress){"pursuit", 0, limit,
                                known_residual(whole > 0.0 ? sqrt(energy / whole) : 0.0)};
    look_on(run, 0, false, energy, whole);
    while (!ended(run, energy, whole, goal, limit, report)) {
        double before = energy;
        energy = run->type->energy(run);
        double residual = whole > 0.0 ? sqrt(energy / whole) : 0.0;
        if (options->history && report->iterations < options->history_size)
            options->history[report->iterations] = residual;
        report->iterations++;
        run->now.done = report->iterations;
        run->now.residual = known_residual(residual);
        look_on(run, report->iterations, false, energy, whole);
        if (stop->stagnation > 0.0 && energy > keep * before) {
            report->outcome = energy <= goal ? CSREC_CONVERGED : CSREC_STAGNANT;
            break;
        }
        if (options->progress && csrec_ticker_due(&t, report->iterations)) tell(run);
    }
}

/* The last step and `result` may have changed x: the residual told is that of the x delivered. */
static void tell_residual(const csrec_run *run, csrec_solve_report *report) {
    const csrec_solve_options *options = run->options;
    double whole = csrec_squares(run->A->m, run->y), energy = run->type->energy(run);
    report->residual = whole > 0.0 ? sqrt(energy / whole) : 0.0;
    int64_t last = report->iterations - 1;
    if (options->history && last >= 0 && last < options->history_size)
        options->history[last] = report->residual;
    look_on(run, report->iterations, true, energy, whole);
}

/* Where the result goes, of csrec_solve and csrec_solve_watched. */
typedef struct delivery {
    csrec_atoms *atoms;
    double *r, *signal;
} delivery;

csrec_status csrec_run_signal(const csrec_run *run, double *signal) {
    if (run->type->signal) return run->type->signal(run, signal);
    csrec_atoms atoms = {0};
    double *x = calloc((size_t)run->A->n, sizeof *x);
    csrec_status status = x ? run->type->result(run, &atoms, NULL) : CSREC_MEMORY;
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
    if (!status) status = run->A->type->synthesize(run->A, x, signal);
    csrec_atoms_clear(&atoms);
    free(x);
    return status;
}

static csrec_status solve(csrec_run *run, const delivery *to, csrec_solve_report *report,
                          csrec_error *error) {
    CSREC_TRY(csrec_solver_take(run->options->solver, &run->type, error));
    CSREC_TRY(csrec_solve_check(run->type, run->A, run->y, run->options, error));
    csrec_solve_report own;
    run->now = (csrec_progress){"pursuit", 0, 0, -1.0};
    csrec_words_begin(error);
    csrec_status status = run->type->create(run, error);
    csrec_words_end(status, "solver", run->type->name, error);
    if (!status) {
        if (!report) report = &own;
        iterate(run, report);
        status = run->fault == CSREC_STOPPED ? CSREC_OK : run->fault;
        if (!status && to->signal) status = csrec_run_signal(run, to->signal);
        if (!status && !to->signal) status = run->type->result(run, to->atoms, to->r);
        if (status)
            csrec_fail(error, status, "solver %s: %s", run->type->name, csrec_status_text(status));
        else
            tell_residual(run, report);
        if (run->stopped) report->outcome = CSREC_INTERRUPTED;
    }
    if (run->type->destroy) run->type->destroy(run);
    csrec_pool_clear(&run->pool);
    return status;
}

/* Converts results back to the units of y. */
static csrec_status bring_back(const csrec_run *run, double unit, csrec_atoms *atoms, double *r,
                               const csrec_solve_report *report, csrec_error *error) {
    bool finite = isfinite(report->residual) &&
                  csrec_atoms_scale_back(atoms, unit, run->A->exponent) &&
                  (!r || csrec_scale_back(run->A->m, unit, r) < 0);
    return finite ? CSREC_OK
                  : csrec_fail(error, CSREC_DATA,
                               "solver %s: the result is beyond the range of a double; rescale "
                               "the samples and the columns of the operator",
                               run->type->name);
}

static csrec_status solve_in(double unit, csrec_run *run, csrec_atoms *atoms, double *r,
                             csrec_solve_report *report, csrec_error *error) {
    csrec_atoms own = {0};
    csrec_solve_report reached;
    csrec_status status = solve(run, &(delivery){.atoms = &own, .r = r}, &reached, error);
    if (!status) status = bring_back(run, unit, &own, r, &reached, error);
    if (!status && report) *report = reached;
    if (!status && atoms)
        *atoms = own;
    else
        csrec_atoms_clear(&own);
    return status;
}

/* The same with weights: in the unknowns w_j x_j. */
static csrec_status solve_weighted(const csrec_operator *A, const double *y,
                                   const csrec_solve_options *options, csrec_atoms *atoms,
                                   double *r, csrec_solve_report *report, csrec_error *error) {
    csrec_solve_options plain = *options;
    csrec_atoms start = {0}, found = {0};
    csrec_weighted *weighted;
    csrec_status status = csrec_weighted_create(A, options->weights, &weighted);
    plain.weights = NULL;
    plain.look = NULL; /* its x would be the weighted one */
    if (!status && options->start) status = csrec_atoms_copy(options->start, &start);
    if (!status && options->start) {
        csrec_weighted_apply(weighted, &start);
        plain.start = &start;
    }
    if (status)
        csrec_fail(error, status, "weights: out of memory for %lld columns", (long long)A->n);
    else
        status =
            csrec_solve_one(csrec_weighted_operator(weighted), y, &plain, &found, r, report, error);
    if (!status && !csrec_weighted_undo(weighted, &found))
        status = csrec_fail(error, CSREC_DATA,
                            "x is beyond the range of a double; rescale the samples and the "
                            "columns of the operator");
    if (!status && atoms)
        *atoms = found;
    else
        csrec_atoms_clear(&found);
    csrec_atoms_clear(&start);
    csrec_weighted_destroy(weighted);
    return status;
}

csrec_status csrec_solve(const csrec_operator *A, const double *y,
                         const csrec_solve_options *options, csrec_atoms *atoms, double *r,
                         csrec_solve_report *report, csrec_error *error) {
    csrec_operator *ordinary;
    csrec_status status = csrec_ordinary_create(A, &ordinary, error);
    if (!status)
        status = csrec_solve_one(ordinary ? ordinary : A, y, options, atoms, r, report, error);
    csrec_operator_destroy(ordinary);
    return status;
}

csrec_status csrec_solve_one(const csrec_operator *A, const double *y,
                             const csrec_solve_options *options, csrec_atoms *atoms, double *r,
                             csrec_solve_report *report, csrec_error *error) {
    double unit = csrec_unit_of(csrec_largest(A->m, y)), *scaled_y = NULL;
    csrec_scaled scaled;
    const csrec_solver_type *type;
    CSREC_TRY(csrec_solver_take(options->solver, &type, error));
    CSREC_TRY(csrec_solve_check(type, A, y, options, error));
    if (options->weights) return solve_weighted(A, y, options, atoms, r, report, error);
    csrec_status status = csrec_scaled_create(options, unit, A->exponent, &scaled);
    if (unit != 1.0) scaled_y = malloc((size_t)A->m * sizeof *scaled_y);
    if (status || (unit != 1.0 && !scaled_y)) {
        status = csrec_fail(error, CSREC_MEMORY, "out of memory for %lld samples", (long long)A->m);
    } else {
        for (int64_t i = 0; scaled_y && i < A->m; i++) scaled_y[i] = y[i] / unit;
        csrec_run run = {.A = A, .y = scaled_y ? scaled_y : y, .options = &scaled.solve};
        if (options->look) *options->look = (csrec_look){.unit = unit, .exponent = A->exponent};
        status = solve_in(unit, &run, atoms, r, report, error);
        if (status) csrec_operator_explain(A, error);
    }
    csrec_scaled_clear(&scaled);
    free(scaled_y);
    return status;
}

csrec_status csrec_solve_watched(const csrec_operator *A, const double *y,
                                 const csrec_solve_options *options, const csrec_watch *watch,
                                 double *signal, csrec_atoms *atoms, csrec_solve_report *report,
                                 csrec_error *error) {
    csrec_run run = {.A = A, .y = y, .options = options, .watch = watch};
    return solve(&run, &(delivery){.atoms = signal ? NULL : atoms, .signal = signal}, report,
                 error);
}
