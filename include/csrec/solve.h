/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/solve.h - sparse solvers: A x ~= y for any operator A. */
#ifndef CSREC_SOLVE_H
#define CSREC_SOLVE_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of the table of solvers, for help texts; false past the end. */
CSREC_API bool csrec_solver_info(int i, const char **name, const char **brief, const char **source);

/* Parameter i of solver number `solver`; NULL past the end. */
CSREC_API const csrec_param *csrec_solver_param(int solver, int i);

/* Why a solver ended; a larger value is further from what was asked for. */
typedef enum csrec_outcome {
    CSREC_CONVERGED,  /* ||r|| <= epsilon ||y|| or sigma sqrt(m), or r is rounding of y; or neither
                         was asked for, and x is the solver's solution: its steps change it no more
                       */
    CSREC_DONE,       /* the method or the schedule ran to its end */
    CSREC_SMALL,      /* the best coefficient is below min_coefficient */
    CSREC_STAGNANT,   /* an iteration shortened r by less than `stagnation`, above what was asked */
    CSREC_STEP_LIMIT, /* `atoms` iterations done, or as many as the solver makes without it */
    CSREC_EXHAUSTED, /* mp, omp, romp: every column left depends on those picked; none shortens r */
    CSREC_UNMET,     /* epsilon or sigma was asked for, and no step of the solver gets there */
    CSREC_INTERRUPTED /* the progress callback asked to stop */
} csrec_outcome;

CSREC_API const char *csrec_outcome_text(csrec_outcome outcome);

/* When a solver stops. Zero-initialised fields mean: no such limit. */
typedef struct csrec_stop {
    double epsilon;         /* stop at ||r||_2 <= epsilon ||y||_2; 0 <= epsilon < 1 */
    int64_t atoms;          /* maximum number of iterations; 0: csrec_solve_limit */
    double min_coefficient; /* stop when max |<r, Psi_i>| is below this, in units of y */
    double sigma;           /* noise level: stop at ||r||_2 <= sigma sqrt(m) */
    double stagnation;      /* stop when an iteration shortens r by less than this share of it */
    double precision;       /* relative rounding of y and of products, below 1: 2^-23 for floats;
                               0: that of doubles. What is as short beside y is no signal */
} csrec_stop;

/* A window on a running csrec_solve, zeroed by the caller; see csrec_look_at. */
typedef struct csrec_look {
    const void *run; /* the library's */
    double unit;     /* of y */
    int exponent;    /* of the operator's unit */
} csrec_look;

typedef struct csrec_solve_options {
    const char *solver; /* NULL: "mp" */
    bool reference; /* mp: a full transform, argmax and update in each iteration (slow, readable)
                       instead of the row tree; the same picks */
    csrec_stop stop;
    const csrec_setting *settings; /* [n_settings] values of parameters, else their defaults */
    int n_settings;
    const csrec_atoms
        *start; /* warm start: NULL, or the x to start from (solvers that keep a dense x); those
                   with a parameter k keep its k entries of the largest ||a_j|| |x_j|, fitted but
                   for iht; fista and bpdn leave it out if it is no nearer to y than x = 0 */
    const double *weights; /* fista, bpdn: NULL, or [entries of x] w_j > 0: sum_j w_j |x_j| in place
                              of ||x||_1; lambda is then a share of max |<a_j, y>| / w_j */
    double *history; /* NULL or [history_size]: ||r|| / ||y|| after each iteration, the last that of
                        the x returned; later entries are unchanged; csrec_solve_many:
                        [count][history_size] */
    int64_t history_size;
    csrec_progress_fn progress; /* may be NULL */
    void *context;
    csrec_look *look; /* NULL, or for csrec_look_at; with csrec_solve, a callback and no weights */
} csrec_solve_options;

typedef struct csrec_solve_report {
    csrec_outcome outcome;
    int64_t iterations;
    double residual; /* ||r||_2 / ||y||_2 of the x returned; 0 for y = 0 */
} csrec_solve_report;

/* Solves A x ~= y for one y [m] (finite; m and n as of csrec_operator_size). Any of atoms, r ([m]
 * residual y - A x) and report may be NULL. Interruption is an outcome, not an error: the results
 * so far are returned. atoms: mp on `haar` gives the columns' numbers in the Haar matrix and their
 * counts, as csrec_atoms_synthesize takes them; all other combinations give columns 0 to n - 1 of A
 * and count 0. Coefficients belong to A's columns as given, whatever their length. Of complex x,
 * which is pairs, columns 2 j and 2 j + 1 are the real and imaginary part of entry j: they are
 * picked together by the magnitude |<a_j, r>| / ||a_j||, and `atoms`, the parameter k and
 * iterations count entries. y, A's columns, the weights and the start may have any size: they are
 * solved in units that are powers of two. CSREC_DATA: a result that is not finite, or too small for
 * its digits, and columns below 2^-960 of the longest. An A with operator callback in it is first
 * tested, unless `unchecked`, by one product each way: of random x and y, <A x, y> and <x, A^T y>
 * must agree within 2^-21 (64 + sqrt(max(m, n))) (||A x|| + ||A^T y||), which float32 does, else
 * CSREC_ARGUMENT. MP: Mallat and Zhang 1993; Andrecut 2008, as method table 1 of Park 2015. */
CSREC_API csrec_status csrec_solve(const csrec_operator *A, const double *y,
                                   const csrec_solve_options *options, csrec_atoms *atoms,
                                   double *r, csrec_solve_report *report, csrec_error *error);

/* Iterations that csrec_solve makes at most, and entries of a history that has them all:
 * stop.atoms, or what the solver plans; without these 100,000 (iht, fista, bpdn) or 4 m. 0:
 * there is no such solver. */
CSREC_API int64_t csrec_solve_limit(const csrec_operator *A, const csrec_solve_options *options);

/* The x and r [m] of a running csrec_solve, from its progress callback: atoms and r as csrec_solve
 * delivers them if it ends here, without a fit that the solver makes at the end (debias). Either
 * may be NULL; free the atoms with csrec_atoms_clear. ||r|| / ||y|| is progress->residual, but for
 * threshold, whose residual is that of its signal. Nothing is computed or kept unless it is called:
 * O(n + m), threshold a transform. With options.look the callback is called between iterations, at
 * most about every 10 ms, beside the calls within a long iteration, in which x is in pieces.
 * CSREC_UNSUPPORTED: within an iteration, or outside of the callback. CSREC_MEMORY, CSREC_DATA. */
CSREC_API csrec_status csrec_look_at(const csrec_look *look, csrec_atoms *atoms, double *r,
                                     csrec_error *error);

/* As csrec_solve, for `count` right-hand sides, y: [count][m], in parallel, or at once by an
 * algorithm for many (omp on dense matrices). atoms: [count], r: [count][m], reports: [count]; each
 * may be NULL. threads 0: all cores; count 0: there is nothing to do. On failure there are no
 * results. With options->history each right-hand side has its own: the bits of csrec_solve, or,
 * from omp for many, the same to 1e-9; that runs on the CPU then, because a device records no
 * history (docs/cuda.md). With fista's and bpdn's parameter `joint` it is one problem: the sum over
 * j of the length of row j of X, [n][count], in place of ||x||_1, and its ||r|| and ||y|| are those
 * of all right-hand sides; each has the outcome, the iterations and the history of all, and its own
 * residual. */
CSREC_API csrec_status csrec_solve_many(const csrec_operator *A, int64_t count, const double *y,
                                        const csrec_solve_options *options, int threads,
                                        csrec_atoms *atoms, double *r, csrec_solve_report *reports,
                                        csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
