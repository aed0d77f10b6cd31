/* SPDX-License-Identifier: BSD-3-Clause */
/* nufft.cu - csrec's calls of cuFINUFFT. */
#include "kernels/operator/nufft.h"

#include <stdlib.h>

#include "base/nufft.h"
#include "kernels/operator/operator.cuh"

#ifndef CSREC_HAS_CUFINUFFT

csrec_status csrec_cuda_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                     double precision, csrec_cuda_nufft **nufft,
                                     csrec_error *error) {
    (void)shape, (void)m, (void)k, (void)precision, *nufft = NULL;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "operator nufft: its products on a device need cuFINUFFT; build csrec with "
                      "-DCSREC_CUFINUFFT=ON or use backend cpu");
}

void csrec_cuda_nufft_destroy(csrec_cuda_nufft *nufft) {
    (void)nufft;
}

csrec_status csrec_cuda_nufft_execute(const csrec_cuda_nufft *nufft, bool adjoint, double *grid,
                                      double *values, csrec_error *error) {
    (void)nufft, (void)adjoint, (void)grid, (void)values, (void)error;
    return CSREC_UNSUPPORTED;
}

#else

#include <cufinufft.h>

struct csrec_cuda_nufft {
    cufinufft_plan forward, adjoint; /* it has no adjoint of a plan */
    csrec_cuda_block block;
    double *angles[3]; /* [m] of each axis, the fastest first, which the plans read */
};

static csrec_status check(int failed, csrec_error *error) {
    const cudaError_t code = cudaGetLastError();
    if (failed <= 1 && code == cudaSuccess) return CSREC_OK; /* 1: a remark on the precision */
    return csrec_fail(error, code == cudaErrorMemoryAllocation ? CSREC_MEMORY : CSREC_DEVICE,
                      "cuFINUFFT: error %d (%s)", failed, cudaGetErrorString(code));
}

static csrec_status send_angles(csrec_cuda_nufft *nufft, const csrec_shape *shape, int64_t m,
                                const double *k, csrec_error *error) {
    double *line = (double *)malloc((size_t)m * sizeof *line);
    csrec_status status = line ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int a = 0; a < shape->dims && !status; a++) {
        csrec_nufft_angles(shape, m, k, a, line);
        status = csrec_cuda_copy(nufft->angles[a], line, (size_t)m * sizeof *line, error);
    }
    free(line);
    return status;
}

static csrec_status make_plan(const csrec_cuda_nufft *nufft, int type, const csrec_shape *shape,
                              int64_t m, double precision, cufinufft_plan *plan,
                              csrec_error *error) {
    double *const *x = nufft->angles;
    int64_t extent[3] = {1, 1, 1};
    cufinufft_opts options;
    cufinufft_default_opts(&options);
    csrec_status status =
        csrec_cuda_check(cudaGetDevice(&options.gpu_device_id), "the current device", error);
    for (int a = 0; a < shape->dims; a++) extent[a] = shape->dim[shape->dims - 1 - a];
    if (!status)
        status = check(cufinufft_makeplan(type, shape->dims, extent, type == 1 ? 1 : -1, 1,
                                          precision, plan, &options),
                       error);
    if (status) return status;
    return check(cufinufft_setpts(*plan, m, x[0], x[1], x[2], 0, NULL, NULL, NULL), error);
}

csrec_status csrec_cuda_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                     double precision, csrec_cuda_nufft **nufft,
                                     csrec_error *error) {
    csrec_cuda_nufft *made = (csrec_cuda_nufft *)calloc(1, sizeof *made);
    *nufft = NULL;
    if (!made) return csrec_fail(error, CSREC_MEMORY, "operator nufft: out of memory");
    csrec_status status = csrec_cuda_lay(&made->block, "operator nufft", error, [&] {
        for (int a = 0; a < shape->dims; a++) csrec_cuda_take(&made->block, m, &made->angles[a]);
    });
    if (!status) status = send_angles(made, shape, m, k, error);
    if (!status) status = make_plan(made, 2, shape, m, precision, &made->forward, error);
    if (!status) status = make_plan(made, 1, shape, m, precision, &made->adjoint, error);
    return CSREC_SETTLE(status, csrec_cuda_nufft_destroy(made), *nufft = made);
}

void csrec_cuda_nufft_destroy(csrec_cuda_nufft *nufft) {
    if (!nufft) return;
    if (nufft->forward) cufinufft_destroy(nufft->forward);
    if (nufft->adjoint) cufinufft_destroy(nufft->adjoint);
    csrec_cuda_block_destroy(&nufft->block);
    free(nufft);
}

csrec_status csrec_cuda_nufft_execute(const csrec_cuda_nufft *nufft, bool adjoint, double *grid,
                                      double *values, csrec_error *error) {
    return check(cufinufft_execute(adjoint ? nufft->adjoint : nufft->forward,
                                   (cuDoubleComplex *)values, (cuDoubleComplex *)grid),
                 error);
}

#endif
