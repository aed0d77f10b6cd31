/* engine.h - operators whose products a CUDA device computes. */
#ifndef CSREC_KERNELS_OPERATOR_ENGINE_H
#define CSREC_KERNELS_OPERATOR_ENGINE_H

#include "device/omp.h"

/* The operator's type becomes one that computes forward, adjoint, norms, correlations, synthesis
 * and analysis on the device; what else its row offers (columns, searches and least squares on the
 * tree) stays with the CPU. */
csrec_status csrec_cuda_take_operator(csrec_operator *A, csrec_error *error);
void csrec_cuda_release_operator(csrec_operator *A);

/* Whether a recovery by products of an operator is sooner done where a device computes them. */
bool csrec_cuda_products_pay(const csrec_measurement *measurement,
                             const csrec_recover_options *options);

/* As csrec_backend's omp. */
csrec_status csrec_cuda_omp(const csrec_omp_job *job, const csrec_omp_result *result);

#endif
