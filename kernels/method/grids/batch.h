/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.h - many eager pursuits at once on the device, one thread block per signal. */
#pragma once

#include "kernels/haar/tree.h"

/* A top's value and the largest key in each of its parts, with the unit it lies in: all that a
 * change below needs, in one sector. key 0: no item there. */
typedef struct csrec_cuda_record {
    double value;
    int64_t key[2];
    uint32_t unit[2];
} csrec_cuda_record;

/* One signal: its start, memory, stopping rules and results. In units of 2^-q. */
typedef struct csrec_cuda_signal {
    int32_t tree;              /* its number among the trees */
    double unit;               /* 2^-q, of the samples */
    double *value;             /* [items] of those in buckets */
    double *x;                 /* [items] coefficients found, before scaling */
    csrec_cuda_record *record; /* [tops] */
    double total, x_all;       /* sum of r; coefficient of column 0 */
    uint64_t energy_low, goal_low;
    int64_t energy_high, goal_high; /* ||r||^2; stops at or below the goal */
    int64_t limit;                  /* iterations at most */
    double min_coefficient;         /* in the units of the samples */
    double keep;     /* stops when a step leaves more than this of ||r||^2; < 0: never */
    const double *y; /* samples, and how they are found: see csrec_cuda_batch_start */
    const uint32_t *order;
    int64_t stride;
    double whole; /* ||y||^2, added up in the order of the rows */
    int64_t iterations;
    int32_t outcome; /* csrec_outcome */
} csrec_cuda_signal;

CSREC_C_BEGIN

/* Trees and, `channels` on each, signals: all their memory. */
typedef struct csrec_cuda_batch {
    int64_t trees, channels, signals; /* signals = trees * channels, tree by tree */
    csrec_cuda_tree *tree;            /* [trees] on the host, fields on the device */
    csrec_cuda_signal *signal;        /* [signals] likewise; valid after run */
    csrec_cuda_tree *device_tree;
    csrec_cuda_signal *device_signal;
    double *sums; /* scratch: prefix sums of one signal */
    void *scratch;
    size_t scratch_bytes;
    volatile int64_t *seen; /* pinned: [0] stop, then iterations a signal */
    csrec_cuda_block block;
    void *stream;
} csrec_cuda_batch;

/* Takes the trees over (they are destroyed with the batch, also on failure) and the memory of their
 * signals. CSREC_MEMORY names the bytes needed and available. */
csrec_status csrec_cuda_batch_create(int64_t trees, csrec_cuda_tree *tree, int64_t channels,
                                     void *stream, csrec_cuda_batch *batch, csrec_error *error);
void csrec_cuda_batch_destroy(csrec_cuda_batch *batch);

/* Bytes of one signal on this tree. */
size_t csrec_cuda_signal_bytes(const csrec_cuda_tree *tree);

/* Signal s starts from r[j] = rint(y[order[j] * stride] / unit); order NULL: j. y and order on the
 * device. total, energies, goal, limit, min_coefficient and keep of batch->signal[s] are set by the
 * caller. */
csrec_status csrec_cuda_batch_start(csrec_cuda_batch *batch, int64_t s, const double *y,
                                    int64_t stride, const uint32_t *order, csrec_error *error);

/* Sets whole of all signals that have been started; waits. */
csrec_status csrec_cuda_batch_norms(csrec_cuda_batch *batch, csrec_error *error);

/* Runs all signals; warps a signal 1, 2, 4, 8 or 16; 0: as many as keep all resident. seen(context)
 * is called about every 10 ms with the iterations done, and stops the run when it returns true. */
csrec_status csrec_cuda_batch_run(csrec_cuda_batch *batch, int warps,
                                  bool (*seen)(int64_t iterations, void *context), void *context,
                                  csrec_error *error);

CSREC_C_END
