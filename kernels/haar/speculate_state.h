/* SPDX-License-Identifier: BSD-3-Clause */
/* speculate_state.h - the state of one pursuit on the device, the row tree in the order of its
 * gaps.
 *
 * Entry j of every array belongs to sample j and to the gap between samples j and j + 1, that is,
 * to the node whose halves meet there. The samples of a node, and so its descendants, are one range
 * around its own gap; no pointers, and any range of entries can be given to a block.
 */
#pragma once

#include "kernels/device/device.h"
#include "kernels/haar/speculate.h"

extern "C" {
#include "haar/pursuit.h"
}

/* Entry n - 1 has no node: size, scale and level are 0, and so is its key. */
typedef struct csrec_speculate_tree {
    int64_t n;
    const int32_t *first; /* first sample of the node */
    const int32_t *size;
    const double *scale; /* 1 / sqrt(size) */
    const uint8_t *level;
    const uint8_t *node_edge, *leaf_edge; /* one-sided columns: as csrec_tree_edge of haar/tree.h */
    double *D;                            /* sum over the left half - sum over the right half */
    double *S, *r;                        /* one-sided columns: sum over the node; residual */
    long long *x, *x_sum, *x_leaf;        /* coefficients, units */
} csrec_speculate_tree;

/* What stays the same while the pursuit runs. */
typedef struct csrec_speculate_rules {
    double units, inverse; /* 2^q, 2^-q */
    double all_scale;      /* 1 / sqrt(n) */
    double goal;           /* epsilon^2 ||y||^2 */
    double min_coefficient;
    int64_t limit;
} csrec_speculate_rules;

/* Shared with the host while the kernel runs: mapped memory. */
typedef struct csrec_speculate_link {
    volatile int64_t iterations;
    volatile double energy;
    volatile int stop;
} csrec_speculate_link;

/* Progress of the pursuit. */
typedef struct csrec_speculate_totals {
    csrec_wide energy; /* ||r||^2, units^2 */
    double total;      /* sum of r, units */
    long long x_all;
    int64_t iterations;
    int64_t rounds, top, undone;
    int outcome;
} csrec_speculate_totals;

typedef struct csrec_speculate_state {
    const csrec_speculate_problem *problem;
    csrec_cuda_block memory;
    csrec_speculate_tree tree;
    csrec_speculate_rules rules;
    double start;                   /* ||y||^2, summed as csrec_solve sums it */
    csrec_speculate_totals *totals; /* device */
    csrec_speculate_link *link;     /* mapped: the address is good on both sides */
    uint64_t *rows;
    double *y;
    long long *prefix; /* [n + 2] prefix sums of y in units; later those of flags, of changes */
    void *scratch;     /* of the sums */
    size_t scratch_bytes;
} csrec_speculate_state;

/* Uploads, builds the tree, sets the rules. The state must be zeroed before, cleared after. */
csrec_status csrec_speculate_state_create(csrec_speculate_state *state,
                                          const csrec_speculate_problem *problem,
                                          const csrec_stop *stop, csrec_error *error);
void csrec_speculate_state_clear(csrec_speculate_state *state);
csrec_status csrec_speculate_state_atoms(csrec_speculate_state *state,
                                         const csrec_speculate_totals *totals, csrec_atoms *atoms,
                                         csrec_error *error);

/* prefix[j] = prefix[0] + .. + prefix[j - 1], for all n + 2 entries. */
csrec_status csrec_speculate_sums(csrec_speculate_state *state, csrec_error *error);

/* Runs until a rule stops it; *totals receives the final totals. */
csrec_status csrec_speculate_run(csrec_speculate_state *state,
                                 const csrec_speculate_options *options,
                                 csrec_speculate_report *report, csrec_speculate_totals *totals,
                                 csrec_error *error);

/* Waits for what was launched; meanwhile reports progress and passes on an interruption. */
csrec_status csrec_speculate_wait(csrec_speculate_state *state,
                                  const csrec_speculate_options *options, csrec_error *error);
