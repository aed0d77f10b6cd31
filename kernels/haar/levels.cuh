/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.cuh - the step of the paper's transform, one thread a sample (T. Park 2015).
 * src/haar/levels.c is the CPU's implementation of the same page.
 *
 * Thread k holds the entry of the group whose first sample is k: add, #, and end, the first sample
 * past the group. In step n, with span = 2^n and row index j,
 *
 *     group  g = j / span           member m = j % span           column = M / span + g.
 *
 * An entry is merged with the next one if that is in the same group; the left one is kept. */
#pragma once

#include "kernels/device/device.h"

struct level_entries {
    int64_t n;
    const uint64_t *rows;
    double *add;   /* sum of r over the group */
    int64_t *size; /* # */
    int64_t *end;
};

static __device__ inline void start_entry(const level_entries &e, int64_t k, const double *r) {
    e.add[k] = r[k];
    e.size[k] = 1;
    e.end[k] = k + 1;
}

/* Step n of the paper; where samples lie on both sides, two_sided. sub of thread k's group, or
 * false where the entry was merged into one to its left. */
static __device__ inline bool reduce_entry(const level_entries &e, int64_t k, int n, double *sub,
                                           bool *two_sided) {
    const uint64_t group = e.rows[k] >> n;
    if (k > 0 && e.rows[k - 1] >> n == group) return false;
    const bool in_left_half = (e.rows[k] >> (n - 1) & 1) == 0;
    const int64_t right = e.end[k];
    *two_sided = right < e.n && e.rows[right] >> n == group;
    *sub = in_left_half ? e.add[k] : -e.add[k];
    if (*two_sided) {
        *sub = e.add[k] - e.add[right];
        e.add[k] += e.add[right];
        e.size[k] += e.size[right];
        e.end[k] = e.end[right];
    }
    return true;
}

/* Device arrays of every transform. */
struct level_arrays {
    level_entries e; /* n is set before the arrays are assigned */
    uint64_t *rows;
    double *r;
};

static inline void take_arrays(csrec_cuda_block *b, level_arrays *a) {
    int64_t n = a->e.n;
    csrec_cuda_take(b, n, &a->rows, &a->r);
    a->e.rows = a->rows;
    csrec_cuda_take(b, n, &a->e.add, &a->e.size, &a->e.end);
}

static inline csrec_status fill_arrays(const level_arrays *a, const uint64_t *rows, const double *r,
                                       csrec_error *error) {
    size_t bytes = (size_t)a->e.n * sizeof *r;
    csrec_status status = csrec_cuda_copy(a->rows, rows, bytes, error);
    return status ? status : csrec_cuda_copy(a->r, r, bytes, error);
}
