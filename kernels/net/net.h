/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h - what a network needs on the device besides its products: copies of parts of pictures, the
 * size of a gradient, steps. Arrays are in device memory; work is queued unless stated. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

/* Planes of height x width floats from the host, its lines and planes so many floats apart. Returns
 * when host may be changed. */
csrec_status csrec_cuda_net_put(int64_t planes, int64_t height, int64_t width, const float *host,
                                int64_t line, int64_t plane, float *array, csrec_error *error);

/* Sum of squares, on the host, which waits for it. scratch: csrec_cuda_net_energy_room bytes. The
 * count determines the order. */
size_t csrec_cuda_net_energy_room(void);
csrec_status csrec_cuda_net_energy(int64_t count, const float *array, void *scratch, double *sum,
                                   csrec_error *error);

/* Factors of a step of Adam, as src/net/engine_cpu.c has them. */
typedef struct csrec_cuda_net_factors {
    float beta1, beta2, scale, rate, root, shrink, change;
} csrec_cuda_net_factors;

/* mean may be NULL. */
csrec_status csrec_cuda_net_step(int64_t count, const csrec_cuda_net_factors *factors,
                                 const float *gradient, float *weights, float *first, float *second,
                                 float *mean, csrec_error *error);

CSREC_C_END
