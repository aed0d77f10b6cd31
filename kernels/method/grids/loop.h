/* loop.h - Matching Pursuit on the sampled Haar matrix, run on the device from first to last pick.
 *
 * Two ways, with the picks, coefficients and residual of csrec_pursuit_eager to the bit:
 *   grid       one cooperative kernel; every iteration all blocks exchange their best column and
 *              apply the pick (loop.cu). Its cost hardly depends on N or on the pick.
 *   speculate  the tree is cut into subtrees that run ahead on their own; what a pick above the cut
 *              would have changed is taken back (speculate.cu). Many picks a round.
 */
#ifndef CSREC_KERNELS_METHOD_GRIDS_LOOP_H
#define CSREC_KERNELS_METHOD_GRIDS_LOOP_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

typedef enum csrec_loop_way {
    CSREC_LOOP_AUTO, /* grid below CSREC_LOOP_SPECULATE_FROM samples, else speculate */
    CSREC_LOOP_GRID,
    CSREC_LOOP_SPECULATE
} csrec_loop_way;

enum { CSREC_LOOP_SPECULATE_FROM = 1 << 13 };

/* One pick, in the order of the pursuit. */
typedef struct csrec_loop_pick {
    int64_t code; /* 4 sample + kind: 0 the leaf's edge, 1 difference and 2 sum of the node whose
                     halves meet after that sample; -1 column 0 */
    double step;  /* d, in units */
} csrec_loop_pick;

typedef struct csrec_loop_problem {
    int levels;
    int64_t n;
    const uint64_t *rows; /* [n] ascending distinct; in host or device memory */
    const double *y;      /* [n] finite; in host memory */
    csrec_columns columns;
} csrec_loop_problem;

typedef struct csrec_loop_options {
    csrec_loop_way way;
    csrec_stop stop;
    csrec_progress_fn progress; /* polled by the host about every 10 ms; may be NULL */
    void *context;
    /* For tests and benches; zero: chosen by size. */
    int blocks;           /* grid: at most so many blocks */
    bool memory;          /* grid: state in device memory even where shared memory holds it */
    int32_t subtree;      /* speculate: samples of a subtree at most */
    int64_t log_capacity; /* grid: the first picks are written to log */
    csrec_loop_pick *log;
} csrec_loop_options;

typedef struct csrec_loop_report {
    csrec_solve_report solve;
    csrec_loop_way way;
    bool shared;    /* grid: the state was held in shared memory */
    int64_t rounds; /* speculate: rounds, top picks included */
    int64_t top;    /* speculate: picks above the cut */
    int64_t undone; /* speculate: picks taken back */
    int64_t subtrees;
    size_t bytes; /* device memory taken */
    double build_ms, pursuit_ms, result_ms;
} csrec_loop_report;

/* As csrec_solve with solver mp on the haar operator; any of atoms, r ([n], host or device memory)
 * and report may be NULL. One signal must fit: CSREC_MEMORY names the bytes needed and had.
 * CSREC_DEVICE: CUDA failed, or the device cannot hold a cooperative kernel. */
csrec_status csrec_loop_solve(const csrec_loop_problem *problem, const csrec_loop_options *options,
                              csrec_atoms *atoms, double *r, csrec_loop_report *report,
                              csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
