/* SPDX-License-Identifier: BSD-3-Clause */
/* solver.h - the interface of a solver; a new one is a file that ends in its row, and a line in
 * CSREC_SOLVERS. Stopping rules, progress, history and reports are in solve.c, not in solvers. */
#pragma once

#include <math.h>

#include "base/call.h"
#include "base/names.h"
#include "base/unit.h"
#include "csrec/solve.h"
#include "operator/operator.h"

/* ---- named numbers, and whose parameters they are: a method's, a solver's, a basis's. */

/* A name may say whose parameter it is: solver.k. */
typedef enum csrec_owner_kind { CSREC_OF_METHOD, CSREC_OF_SOLVER, CSREC_OF_BASIS } csrec_owner_kind;

typedef struct csrec_owner {
    csrec_owner_kind kind;
    const char *name;          /* of the method, solver or basis; NULL: there is none */
    const csrec_param *params; /* ends with a row without a name; NULL: none */
    const char *const *reals;  /* those that may have a fraction, then NULL; NULL: all are counts */
} csrec_owner;

/* The parameter of that name; NULL if there is none. params may be NULL. */
const csrec_param *csrec_param_find(const csrec_param *params, const char *name);

/* The parameter of an owner that a setting sets; NULL: it is another's. */
const csrec_param *csrec_setting_param(const csrec_owner *owner, const csrec_setting *setting);

/* CSREC_ARGUMENT: a setting that is no owner's, or that of several and does not say whose, or a
 * value outside the parameter's range or with a fraction where a whole number is asked for. */
csrec_status csrec_settings_check(const csrec_solve_options *options, int n,
                                  const csrec_owner *owners, csrec_error *error);

/* Whether a setting's name means that parameter of a kind's. */
bool csrec_setting_is(const char *setting, csrec_owner_kind kind, const char *name);

/* The last value that the settings give to an owner's parameter, or `otherwise`. */
double csrec_setting_value(const csrec_solve_options *options, csrec_owner_kind kind,
                           const char *name, double otherwise);

/* Inserts a setting before all others, which override it. room: for one more setting. */
void csrec_setting_prepend(csrec_solve_options *options, csrec_setting first, csrec_setting *room);

typedef struct csrec_solver_type csrec_solver_type;

typedef struct csrec_run csrec_run;

/* An observer, called before the first iteration, after each, and once more (`last`) when the
 * result is delivered. It may call csrec_run_signal, or the type's result unless that `settles`. */
typedef struct csrec_watch {
    void (*step)(const csrec_run *run, int64_t iteration, bool last, double energy, double whole,
                 void *context); /* energy = ||r||^2, whole = ||y||^2 */
    void *context;
} csrec_watch;

struct csrec_run {
    const csrec_solver_type *type;
    const csrec_operator *A;
    const double *y; /* [m] */
    const csrec_solve_options *options;
    void *state;              /* of the solver */
    csrec_pool pool;          /* of the solver: freed after destroy */
    csrec_status fault;       /* set by a step that fails; the loop ends and returns it */
    const csrec_watch *watch; /* or NULL */
    csrec_progress now;       /* state of the loop */
    csrec_ticker pace;        /* of the reports */
    bool stopped;             /* by a report */
    bool looking; /* the result is asked for between iterations: it fits nothing and changes no r */
    bool solved;  /* set by a `constrained` solver's step that returns false: x is the solution */
};

/* Many right-hand sides, checked. Results may be NULL; atoms come cleared. */
typedef struct csrec_many {
    const csrec_operator *A;
    int64_t count;
    const double *y; /* [count][m] */
    const csrec_solve_options *options;
    int threads; /* >= 1 */
    csrec_atoms *atoms;
    double *r;
    csrec_solve_report *reports;
    csrec_call *call;
} csrec_many;

/* Problem size, from which a solver's memory and time are estimated: a matrix of m x n; atoms of
 * csrec_stop (0: not given); k columns to find (0: a quarter of the samples). */
typedef struct csrec_solver_size {
    double m, n, atoms, k;
} csrec_solver_size;

/* Peak bytes; products with the operator, forward or adjoint; and seconds of other work. The number
 * of iterations is not known in advance: these are typical of pictures. */
typedef struct csrec_solver_need {
    double bytes, products, seconds;
} csrec_solver_need;

/* A row must have name, brief, source, create, update, energy and result;
 * csrec_solver_check_row has all rules. The rest may be NULL or 0. */
struct csrec_solver_type {
    const char *name, *brief, *source; /* source: paper and equation */
    const csrec_param *params;         /* ends with a row without a name; NULL: none */
    const char *const *lengths;        /* parameters in the units of y, then NULL; NULL: none */
    const char *const *reals; /* parameters that may be fractions, then NULL: others are counts */
    bool tones; /* its constants are for tones (method/method.h), and it has a parameter `range` */
    bool reference;   /* solve.reference has a meaning */
    bool constrained; /* stop.epsilon and stop.sigma bound ||r|| in its problem and do not end it */
    int64_t steps;    /* most iterations if stop.atoms is 0; 0: 4 m */
    bool fits;        /* its x is a least squares fit on its columns, and so is a start of it */
    bool pursues;     /* it shortens r for its own sake: a residual that is rounding ends it */
    bool weighted;    /* its problem has an l1 norm, which options.weights may change */
    bool norms;       /* it compares columns of unit length (support.h) */
    bool products_alone; /* it does little but products, which a device may do sooner */
    /* A status without words gets them: CSREC_MEMORY is "solver NAME: out of memory". */
    csrec_status (*create)(csrec_run *run, csrec_error *error);
    void (*destroy)(csrec_run *run); /* also after a failed create; NULL: the pool has all */
    /* Finds the next step; returns the size of the best coefficient, in the units of y. NULL: the
     * solver has no such value, and min_coefficient is refused. */
    double (*select)(csrec_run *run);
    /* Takes the step. false: there is none that helps, or run->fault is set. */
    bool (*update)(csrec_run *run);
    /* ||r||^2; after `result`, that of the x which it gave. */
    double (*energy)(const csrec_run *run);
    /* atoms and r [m] may be NULL. */
    csrec_status (*result)(const csrec_run *run, csrec_atoms *atoms, double *r);
    /* Optional: the number of iterations that the solver has planned; then it is done. */
    int64_t (*planned)(const csrec_run *run);
    /* Optional: the whole signal, if it is more than A's synthesis of x. */
    csrec_status (*signal)(const csrec_run *run, double *signal);
    /* Optional: whether result ends the run because it changes the state. */
    bool (*settles)(const csrec_run *run);
    /* Optional: solves all right-hand sides at once, with the same results as one by one.
     * CSREC_UNSUPPORTED: not for this job; solve them one by one. */
    csrec_status (*many)(const csrec_many *job);
    csrec_solver_need (*need)(const csrec_solver_size *size); /* of one right-hand side, or NULL */
};

/* Its need, or the default. */
csrec_solver_need csrec_solver_need_of(const csrec_solver_type *type,
                                       const csrec_solver_size *size);

/* NULL if no solver has the name. */
const csrec_solver_type *csrec_solver_find(const char *name);

/* The same; CSREC_ARGUMENT with a line that lists the names. */
csrec_status csrec_solver_take(const char *name, const csrec_solver_type **type,
                               csrec_error *error);

/* Adds the solvers' names. */
void csrec_solver_names(csrec_names *names);

/* Stopping rules, settings and samples as csrec_solve checks them; y NULL: without samples. */
csrec_status csrec_solve_check(const csrec_solver_type *type, const csrec_operator *A,
                               const double *y, const csrec_solve_options *options,
                               csrec_error *error);

/* csrec_solve without the test of the adjoint. */
csrec_status csrec_solve_one(const csrec_operator *A, const double *y,
                             const csrec_solve_options *options, csrec_atoms *atoms, double *r,
                             csrec_solve_report *report, csrec_error *error);

/* The options of right-hand side k: the job's, with its own history, and a callback that only
 * passes on a request to stop, so that any thread may run it. */
csrec_solve_options csrec_many_options(const csrec_many *job, int64_t k);

/* Right-hand side k alone, and x = 0 for one that an interruption leaves out. */
csrec_status csrec_many_solve(const csrec_many *job, int64_t k, csrec_error *error);
csrec_status csrec_many_leave_out(const csrec_many *job, int64_t k);

/* Reports `done` right-hand sides; true: stop. Any thread of the job may call it. */
bool csrec_many_stops(const csrec_many *job, int64_t done);

/* When the loop ends, but for the solver's own reasons. */
typedef struct csrec_rules {
    int64_t limit;      /* most iterations */
    double goal, whole; /* ||r||^2 that is asked for, 0: none; ||y||^2 */
    double end;         /* ||r||^2 that ends a pursuit */
} csrec_rules;

/* planned: iterations of a solver that plans them; -1: it does not. y: [m] */
csrec_rules csrec_rules_of(const csrec_stop *stop, int64_t planned, int64_t m, const double *y);

/* The magnitude of an entry of so many parts. */
static inline double csrec_entry_size(int64_t parts, const double *v) {
    if (parts > 2) return sqrt(csrec_squares(parts, v));
    return parts == 2 ? sqrt(v[0] * v[0] + v[1] * v[1]) : fabs(v[0]);
}

/* Shortens it by `limit`, to 0 if it is no longer. */
static inline void csrec_entry_shorten(int64_t parts, double limit, double *v) {
    const double size = csrec_entry_size(parts, v), kept = size > limit ? 1.0 - limit / size : 0.0;
    for (int64_t p = 0; p < parts; p++) v[p] *= kept;
}

/* Whether a setting's parameter of the solver (NULL: of any solver) has the units of y. */
bool csrec_solver_measures(const char *solver, const char *setting);

/* Call before each long piece of work in create and in steps: reports progress, at most every 10
 * ms. true: end early, with an x and r that belong together; the loop ends as interrupted. A step
 * may then set the fault CSREC_STOPPED. */
bool csrec_run_stops(csrec_run *run);

/* run->state: `size` bytes of the pool, zeros. NULL: out of memory. */
void *csrec_run_state(csrec_run *run, size_t size);

/* The value of a parameter: that of the options, else its default. */
double csrec_run_param(const csrec_run *run, const char *name);

/* The non-zeros of a dense x [n] as atoms. */
csrec_status csrec_run_atoms(const csrec_run *run, const double *x, csrec_atoms *atoms);

/* Fills x [n] from options->start, else with 0. CSREC_ARGUMENT: a column out of range. */
csrec_status csrec_run_start(const csrec_run *run, double *x, csrec_error *error);

/* As csrec_solve, with an observer, which may be NULL: of an operator with synthesize the whole
 * signal [entries]; if signal is NULL, atoms. */
csrec_status csrec_solve_watched(const csrec_operator *A, const double *y,
                                 const csrec_solve_options *options, const csrec_watch *watch,
                                 double *signal, csrec_atoms *atoms, csrec_solve_report *report,
                                 csrec_error *error);

/* The current whole signal [entries] of a run, for an operator with synthesize. */
csrec_status csrec_run_signal(const csrec_run *run, double *signal);

/* The table, in the order in which it is listed. */
#define CSREC_SOLVERS(X)                                                                           \
    X(mp)                                                                                          \
    X(omp)                                                                                         \
    X(romp)                                                                                        \
    X(cosamp)                                                                                      \
    X(iht)                                                                                         \
    X(htp)                                                                                         \
    X(fista)                                                                                       \
    X(bpdn)                                                                                        \
    X(threshold)                                                                                   \
    CSREC_MORE_SOLVERS(X)

#define CSREC_SOLVER_DECLARED(name) extern const csrec_solver_type csrec_solver_##name;
CSREC_SOLVERS(CSREC_SOLVER_DECLARED)
#undef CSREC_SOLVER_DECLARED

/* CSREC_ARGUMENT and a line that names the field, if a row lacks something. */
csrec_status csrec_solver_check_row(const csrec_solver_type *row, csrec_error *error);

/* ---- sum_j w_j |x_j| in place of ||x||_1: the problem of the columns a_j / w_j and of the
 * unknowns w_j x_j. */

typedef struct csrec_weighted csrec_weighted;

/* The operator of the columns a_j / w_j, for one run at a time. weights: of the entries of x, > 0.
 * A must outlive it. CSREC_MEMORY. */
csrec_status csrec_weighted_create(const csrec_operator *A, const double *weights,
                                   csrec_weighted **weighted);
void csrec_weighted_destroy(csrec_weighted *weighted);
const csrec_operator *csrec_weighted_operator(const csrec_weighted *weighted);

/* To the unknowns w_j x_j, and back. */
void csrec_weighted_apply(const csrec_weighted *weighted, csrec_atoms *atoms);
/* false: a coefficient is beyond the range of a double. */
bool csrec_weighted_undo(const csrec_weighted *weighted, csrec_atoms *atoms);

/* CSREC_ARGUMENT, CSREC_UNSUPPORTED: weights that are not numbers above 0, or a solver without. */
csrec_status csrec_weights_check(const csrec_solver_type *type, const csrec_operator *A,
                                 const double *weights, csrec_error *error);

/* ---- scales values to ordinary size before a solver runs, so that no square of them
 * overflows or underflows, and scales results back.
 *
 * A unit is a power of two, so dividing by it does not round: methods that are linear in y give the
 * same bits in any unit. It is 1 for values of ordinary size. */

/* Converts a length from the units of y to the new unit, clamped to 2^300, which is longer than
 * every sample and has a finite square. */
double csrec_in_unit(double length, double unit);

/* Columns and coefficients; counts stay 0. CSREC_MEMORY. */
csrec_status csrec_atoms_copy(const csrec_atoms *from, csrec_atoms *to);

/* Options with all lengths in the new unit: sigma and min_coefficient in that of y, the start's
 * coefficients, and the settings that the solver's table names, in that of x, which is the unit of
 * y divided by 2^exponent. A start that is 2^64 times as large, or 2^-300 times, is multiplied by a
 * power of two, too: squares of its product with A would leave the range, and it tells no more than
 * its columns and their shares. csrec_scaled_clear frees what they point to. */
typedef struct csrec_scaled {
    csrec_solve_options solve;
    csrec_setting *settings;
    csrec_atoms start;
} csrec_scaled;

/* CSREC_MEMORY. `to` may be cleared after a failure too. */
csrec_status csrec_scaled_create(const csrec_solve_options *solve, double unit, int exponent,
                                 csrec_scaled *to);
void csrec_scaled_clear(csrec_scaled *scaled);

/* Multiplies coefficients by unit / 2^exponent. False: one is then not finite, or none is as large
 * as the least normal number and they have lost digits. */
bool csrec_atoms_scale_back(csrec_atoms *atoms, double unit, int exponent);

/* v *= unit. Returns the first index whose value is then not finite, or -1. */
int64_t csrec_scale_back(int64_t n, double unit, double *v);
