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

typedef enum csrec_outcome {
    CSREC_CONVERGED,  /* residual <= epsilon ||y||, or <= sigma sqrt(m) */
    CSREC_DONE,       /* the method or the schedule ran to its end */
    CSREC_SMALL,      /* the best coefficient is below min_coefficient */
    CSREC_ATOM_LIMIT, /* `atoms` iterations done */
    CSREC_STALLED,    /* no step reduces the residual in the arithmetic in use */
    CSREC_INTERRUPTED /* the progress callback asked to stop */
} csrec_outcome;

CSREC_API const char *csrec_outcome_text(csrec_outcome outcome);

/* When a solver stops. Zero-initialised fields mean: no such limit. */
typedef struct csrec_stop {
    double epsilon; /* stop at ||r||_2 <= epsilon ||y||_2; 0 <= epsilon < 1 */
    int64_t atoms;  /* at most so many iterations; 0: 4 m (of use where nothing else stops) */
    double min_coefficient; /* stop when max |<r, Psi_i>| < this, in units of y */
    double sigma;           /* noise: stop at ||r||_2 <= sigma sqrt(m) */
    double stagnation;      /* stop when an iteration shortens r by less than this share of it */
} csrec_stop;

typedef struct csrec_solve_options {
    const char *solver; /* NULL: "mp" */
    bool reference;     /* mp: a full transform, argmax and update each iteration (slow, readable)
                           instead of the eager row tree; the same picks */
    csrec_stop stop;
    const csrec_setting *settings; /* [n_settings] parameters that differ from their defaults */
    int n_settings;
    const csrec_atoms
        *start;      /* warm start: NULL or x to start from (solvers that keep a dense x) */
    double *history; /* NULL or [history_size]: ||r|| / ||y|| after each iteration, entries past the
                        report's iterations left alone; csrec_solve_many: [count][history_size] */
    int64_t history_size;
    csrec_progress_fn progress; /* may be NULL */
    void *context;
} csrec_solve_options;

typedef struct csrec_solve_report {
    csrec_outcome outcome;
    int64_t iterations;
    double residual; /* ||r||_2 / ||y||_2; 0 for y = 0 */
} csrec_solve_report;

/* Solves A x ~= y for one y [m] (finite). Any of atoms, r ([m] residual y - A x) and report may be
 * NULL. Interruption is an outcome, not an error: the results so far are delivered.
 * atoms: mp on `haar` gives the columns' numbers in the Haar matrix and their counts, as
 * csrec_atoms_synthesize takes them; every other pair gives positions 0 to n - 1 among A's columns
 * and count 0. Coefficients belong to A's columns as they are. y of any size, as csrec_recover
 * takes it; what does not come out finite is CSREC_DATA. MP: Mallat and Zhang 1993; Andrecut 2008,
 * as method table 1 of Park 2015. */
CSREC_API csrec_status csrec_solve(const csrec_operator *A, const double *y,
                                   const csrec_solve_options *options, csrec_atoms *atoms,
                                   double *r, csrec_solve_report *report, csrec_error *error);

/* The same for `count` right-hand sides, y: [count][m], in parallel or, where the solver has a way
 * (omp on dense matrices), all at once. atoms: [count], r: [count][m], reports: [count]; each may
 * be NULL. threads 0: all cores. On failure nothing is delivered. With options->history each has
 * its own: to the bit that of csrec_solve one by one; from omp all at once the same to 1e-9, and
 * then on the CPU, as a device takes none down (docs/cuda.md). */
CSREC_API csrec_status csrec_solve_many(const csrec_operator *A, int64_t count, const double *y,
                                        const csrec_solve_options *options, int threads,
                                        csrec_atoms *atoms, double *r, csrec_solve_report *reports,
                                        csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
