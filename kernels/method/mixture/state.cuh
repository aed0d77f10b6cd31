/* SPDX-License-Identifier: BSD-3-Clause */
/* state.cuh - arguments of the kernels of a round of a mixture. Only for kernels/. */
#pragma once

#include "kernels/device/device.h"
#include "kernels/method/mixture/mixture.h"

typedef struct csrec_mixture_device {
    csrec_patches patches;
    int K, d, stride;
    int64_t count, values, batches; /* patches; values of the picture; batches of this round */
    bool keep, adapt;
    float noise, evenness;
    unsigned char *mask;
    float *y, *u, *means, *variance;  /* [values]; means: before samples are put back */
    double *whiten, *offset, *centre; /* of the mixture that chooses */
    float *C, *mean;                  /* of the one that conditions */
    uint64_t *key, *sorted;           /* [count] components */
    uint32_t *number, *order, *place; /* [count]; place: the inverse of order */
    int64_t *first;                   /* [K + 1] of a component in order */
    int *component;                   /* [batches] of a batch */
    int64_t *from, *batch;            /* [batches + 1] where it begins; [K + 1] its first */
    float *x, *v;                     /* [count][d] in order: posterior mean, variance */
    float *G;                         /* [batches][stride][stride] */
    double *sums;                     /* [batches][d] of x */
    double *centres, *S, *T;          /* [K][d], [K][d][d], [K][d][d] moments */
    double *energy;                   /* [height] */
    float *scratch;                   /* rows of V of each block that condition runs */
} csrec_mixture_device;

/* The most likely component of each patch into key. */
csrec_status csrec_mixture_choose_on(const csrec_mixture_device *g, csrec_error *error);

/* x, v and, with adapt, G and sums. rows: of V of a block; blocks: that have scratch, 0: rows are
 * in shared memory. */
csrec_status csrec_mixture_condition_on(const csrec_mixture_device *g, int rows, int blocks,
                                        csrec_error *error);

/* means, u and variance. */
csrec_status csrec_mixture_average_on(const csrec_mixture_device *g, csrec_error *error);

/* centres, S and T. */
csrec_status csrec_mixture_moments_on(const csrec_mixture_device *g, csrec_error *error);

/* energy [height], to be added in order. */
csrec_status csrec_mixture_energy_on(const csrec_mixture_device *g, csrec_error *error);
