/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h - the commands of csbench: one file and one row of the table in csbench.c each, and what
 * they share: random problems, and solvers that are counted on them; an operator and its matrix,
 * written out. */
#pragma once

#include "tools/common/options.h"

typedef struct bench_command {
    const cli_tool *tool; /* named "csbench NAME" */
    /* argv[0] is the command's name; returns the exit code. */
    int (*run)(int argc, char **argv);
} bench_command;

extern const bench_command bench_coherence, bench_phase;

/* Whether a plot, or NULL, can be written: CLI_CONTINUE, or the exit code after a message. */
int bench_plot_check(const cli_tool *tool, const char *plot);

/* paper, two-sided: for CLI_CHOICE, and its value. */
const char *bench_columns_name(int i);
csrec_columns bench_columns(int i);

enum { BENCH_SIZE_MOST = 1 << 16 };

/* Random matrices: name i, NULL past the end, and what it is. */
const char *bench_ensemble_name(int i);
const char *bench_ensemble_brief(int i);
/* NULL, or why the ensemble has no matrix of n columns. */
const char *bench_ensemble_refusal(int ensemble, int64_t n);

/* Draws a matrix [m][n], row-major; 1 <= m <= n. Columns have about unit length, or are zero.
 * CSREC_ARGUMENT, CSREC_MEMORY. */
csrec_status bench_matrix_draw(int ensemble, int64_t m, int64_t n, uint64_t key, double *matrix,
                               csrec_error *error);

/* Distributions of the entries of x that are not 0. */
const char *bench_amplitudes_name(int i);

/* Draws x [n] with k entries that are not 0, at columns of the matrix [m][n] that are not zero (all
 * of these, if there are fewer). CSREC_MEMORY. */
csrec_status bench_signal_draw(int amplitudes, int64_t m, int64_t n, const double *matrix,
                               int64_t k, uint64_t key, double *x);

/* The key of draw `number` for a purpose: different for all sizes. */
typedef enum bench_purpose { BENCH_MATRIX = 4096, BENCH_SIGNAL } bench_purpose;
uint64_t bench_key(uint64_t seed, bench_purpose purpose, int64_t m, int64_t k, int64_t number);

enum { BENCH_SOLVERS_MOST = 16 };

/* What is drawn and solved, but for m and k. */
typedef struct bench_trials {
    int ensemble, amplitudes;
    int64_t n, count, matrices; /* signals, and matrices among which they are divided evenly */
    uint64_t seed;
    double tolerance; /* success: ||x found - x|| <= tolerance ||x|| */
    int threads;
    const char *backend;
    int n_solvers;
    const char *solver[BENCH_SOLVERS_MOST];
} bench_trials;

/* Takes the names, or, if there are none, all solvers that take a matrix. CSREC_ARGUMENT: the
 * error names the solver. CSREC_MEMORY. */
csrec_status bench_solvers_take(const cli_texts *names, bench_trials *trials, csrec_error *error);

/* The options with which a solver runs: k known if it has a parameter k, else stopped by the
 * residual. They point to `set`. */
enum { BENCH_SETTINGS = 3 };
csrec_solve_options bench_solver_options(const char *solver, int64_t m, int64_t k,
                                         csrec_setting set[BENCH_SETTINGS]);

/* successes[s] = signals that solver s recovers from m x n matrices, of k entries. progress, or
 * NULL, counts solved signals from 0 to n_solvers * count. CSREC_STOPPED: it asked to stop; nothing
 * is counted. The result does not depend on threads. */
csrec_status bench_cell_solve(const bench_trials *trials, int64_t m, int64_t k,
                              csrec_progress_fn progress, void *context, int32_t *successes,
                              csrec_error *error);

enum { BENCH_COLUMNS_MOST = 8192 };

typedef struct bench_operator {
    char what[128]; /* in words */
    csrec_operator *A;
    int64_t m, n;
    double *matrix; /* [m][n], row-major */
} bench_operator;

/* The operator that a measurement was made through, its matrix column by column from products with
 * unit vectors; of points, Haar's columns of their rows in Morton order. */
csrec_status bench_operator_read(const char *path, csrec_columns columns, bench_operator *o,
                                 csrec_error *error);

void bench_operator_clear(bench_operator *o);
