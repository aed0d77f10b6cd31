/* SPDX-License-Identifier: BSD-3-Clause */
/* mixture.h - rounds of a mixture of Gaussians over the patches of a picture, on a device;
 * method/mixture/engine_cpu.c is the reference, operation by operation, with fused multiply-add:
 * the same picture, to the bit, as by its code for AVX2 and AVX-512. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "method/mixture/patches.h"

enum { CSREC_CUDA_MIXTURE_SIZE = 256 }; /* most entries of a patch */

typedef struct csrec_cuda_mixture csrec_cuda_mixture;

/* Arrays in host memory. */
typedef struct csrec_cuda_mixture_spec {
    csrec_patches patches;
    int K, stride; /* stride: entries of a patch up to whole 16 */
    const unsigned char *mask;
    const float *y, *u;    /* [height][width][channels] */
    bool keep, adapt;      /* samples keep their values; moments are asked for */
    bool variance;         /* that of the picture is asked for */
    float noise, evenness; /* variance of a sample's noise; beside that of an estimate */
} csrec_cuda_mixture_spec;

/* Arrays in host memory: the mixture that chooses (learn/gmm.h), and the one that conditions.
 */
typedef struct csrec_cuda_mixture_round {
    const double *whiten, *offset, *means; /* [K][csrec_whiten_size(d)], [K], [K][d] */
    const float *C, *mean;                 /* [K][d][stride], [K][stride] */
} csrec_cuda_mixture_round;

/* CSREC_UNSUPPORTED: patches of more than CSREC_CUDA_MIXTURE_SIZE entries, or 2^32 patches.
 * CSREC_MEMORY names the bytes. */
csrec_status csrec_cuda_mixture_create(const csrec_cuda_mixture_spec *spec,
                                       csrec_cuda_mixture **mixture, csrec_error *error);
void csrec_cuda_mixture_destroy(csrec_cuda_mixture *mixture);

/* A round; first [K + 1]: patches of a component in their order. Moments may be queued. */
csrec_status csrec_cuda_mixture_run(csrec_cuda_mixture *mixture,
                                    const csrec_cuda_mixture_round *round, int64_t *first,
                                    csrec_error *error);

/* To host memory; of component k, of which there are patches: mean [d], and S, G [d][d]. */
csrec_status csrec_cuda_mixture_moments(const csrec_cuda_mixture *mixture, int k, double *mean,
                                        double *S, double *G, csrec_error *error);

/* To host memory; variance and energy may be NULL. */
csrec_status csrec_cuda_mixture_get(csrec_cuda_mixture *mixture, float *u, float *variance,
                                    double *energy, csrec_error *error);

CSREC_C_END
