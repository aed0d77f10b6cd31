/* SPDX-License-Identifier: BSD-3-Clause */
/* patch.h - patches conditioned on their samples, one table per instruction set. */
#pragma once

#include "base/inline.h"

/* Rows of V are collected until there are CSREC_PATCH_ROWS, in batches of patches of one component.
 */
enum { CSREC_PATCH_LANES = 16, CSREC_PATCH_ROWS = 256, CSREC_PATCH_BATCH = 128 };

/* d up to whole CSREC_PATCH_LANES. */
CSREC_BOTH int csrec_patch_stride(int d) {
    return (d + CSREC_PATCH_LANES - 1) / CSREC_PATCH_LANES * CSREC_PATCH_LANES;
}

/* A Gaussian and the sampled entries of one patch. stride: d up to whole CSREC_PATCH_LANES; entries
 * from d on are 0. */
typedef struct csrec_patch {
    int d, stride, n;      /* n: sampled entries */
    const float *C, *mean; /* [d][stride], [stride] */
    const int *at;         /* [n] sampled entries */
    const float *y;        /* [n] */
    float noise;           /* variance of a sample's noise */
    float *V, *rest;       /* [n][stride], [stride]: scratch; V becomes L^-1 C_S, C_SS + noise = L
                              L^T; rest: samples less what those before them predict */
    float *x, *variance;   /* [stride] posterior mean, and variance per entry */
} csrec_patch;

typedef struct csrec_patch_simd {
    void (*condition)(csrec_patch *p);
    /* G [stride][stride] += V^T V for n rows of V, where column >= row or in the same tile. */
    void (*gram)(int n, int stride, const float *V, float *G);
} csrec_patch_simd;

extern const csrec_patch_simd csrec_patch_generic, csrec_patch_avx2, csrec_patch_avx512;
