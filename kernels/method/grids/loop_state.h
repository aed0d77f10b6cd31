/* loop_state.h - the state of one pursuit on the device, the row tree in the order of its gaps.
 *
 * Entry j of every array belongs to sample j and to the gap between samples j and j + 1, that is,
 * to the node whose halves meet there. The samples of a node, and so its descendants, are one range
 * around its own gap; no pointers, and any range of entries can be given to a block.
 */
#ifndef CSREC_KERNELS_METHOD_GRIDS_LOOP_STATE_H
#define CSREC_KERNELS_METHOD_GRIDS_LOOP_STATE_H

#include "kernels/device/device.h"
#include "kernels/method/grids/loop.h"

__extension__ typedef __int128 csrec_loop_wide;

/* Entry n - 1 has no node: size, scale and level are 0, and so is its key. */
typedef struct csrec_loop_tree {
    int64_t n;
    const int32_t *first; /* first sample of the node */
    const int32_t *size;
    const double *scale; /* 1 / sqrt(size) */
    const uint8_t *level;
    const uint8_t *node_edge, *leaf_edge; /* one-sided columns: as in haar/tree.h */
    double *D;                            /* sum over the left half - sum over the right half */
    double *S, *r;                        /* one-sided columns: sum over the node; residual */
    long long *x, *x_sum, *x_leaf;        /* coefficients, units */
    int64_t base;                         /* entry j is found at j - base */
} csrec_loop_tree;

/* What stays the same while the pursuit runs. */
typedef struct csrec_loop_rules {
    double units, inverse; /* 2^q, 2^-q */
    double all_scale;      /* 1 / sqrt(n) */
    double goal;           /* epsilon^2 ||y||^2 */
    double min_coefficient;
    int64_t limit;
} csrec_loop_rules;

/* Shared with the host while the kernel runs: mapped memory. */
typedef struct csrec_loop_mail {
    volatile int64_t iterations;
    volatile double energy;
    volatile int stop;
} csrec_loop_mail;

/* Where the pursuit stands. */
typedef struct csrec_loop_stand {
    csrec_loop_wide energy; /* ||r||^2, units^2 */
    double total;           /* sum of r, units */
    long long x_all;
    int64_t iterations;
    int64_t rounds, top, undone;
    int outcome;
} csrec_loop_stand;

typedef struct csrec_loop_state {
    const csrec_loop_problem *problem;
    csrec_cuda_block memory;
    csrec_loop_tree tree;
    csrec_loop_rules rules;
    double start;            /* ||y||^2, summed as csrec_solve sums it */
    csrec_loop_stand *stand; /* device */
    csrec_loop_mail *mail;   /* mapped: the address is good on both sides */
    uint64_t *rows;
    double *y;
    long long *prefix; /* [n + 1] prefix sums of y in units; later work space */
    long long *tiles;  /* work space of the scan */
    double *parts;     /* work space of reductions */
} csrec_loop_state;

/* Uploads, builds the tree, sets the rules. The state must be zeroed before, cleared after. */
csrec_status csrec_loop_state_create(csrec_loop_state *state, const csrec_loop_problem *problem,
                                     const csrec_stop *stop, csrec_error *error);
void csrec_loop_state_clear(csrec_loop_state *state);
csrec_status csrec_loop_state_result(csrec_loop_state *state, const csrec_loop_stand *stand,
                                     csrec_atoms *atoms, double *r, csrec_error *error);

/* In place: a[j] = a[0] + .. + a[j - 1], with a[j] too if inclusive. tiles: room for one entry in
 * 2048. */
csrec_status csrec_loop_scan(int64_t n, long long *a, long long *tiles, bool inclusive,
                             csrec_error *error);

/* The two ways, until one of the rules stops them; *stand receives the end. */
csrec_status csrec_loop_grid_run(csrec_loop_state *state, const csrec_loop_options *options,
                                 csrec_loop_report *report, csrec_loop_stand *stand,
                                 csrec_error *error);
csrec_status csrec_loop_speculate_run(csrec_loop_state *state, const csrec_loop_options *options,
                                      csrec_loop_report *report, csrec_loop_stand *stand,
                                      csrec_error *error);

/* Waits for what was launched; meanwhile progress is reported and an interruption passed on. */
csrec_status csrec_loop_wait(csrec_loop_state *state, const csrec_loop_options *options,
                             csrec_error *error);

#endif
