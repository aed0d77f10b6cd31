/* SPDX-License-Identifier: BSD-3-Clause */
/* eigen.cu - cuSOLVER's divide and conquer for symmetric matrices, behind a C ABI. */
#include "shim/eigen.h"

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/device/pipe.h"

#define SONAME_OF(major) "libcusolver.so." #major
#define SONAME(major)    SONAME_OF(major)

typedef struct library {
    decltype(&cusolverDnCreate) create;
    decltype(&cusolverDnDestroy) destroy;
    decltype(&cusolverDnCreateParams) create_params;
    decltype(&cusolverDnDestroyParams) destroy_params;
    decltype(&cusolverDnXsyevd_bufferSize) bytes;
    decltype(&cusolverDnXsyevd) solve;
} library;

template <typename function> static bool find(void *file, const char *name, function *to) {
    *to = (function)dlsym(file, name);
    return *to != NULL;
}

/* The version whose header was compiled in. It stays loaded after dlclose: what a CUDA library has
 * registered with the driver must not outlive its code. */
static csrec_status load(library *l, csrec_error *error) {
    static const char soname[] = SONAME(CUSOLVER_VER_MAJOR);
    void *file = dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    const bool whole = file && find(file, "cusolverDnCreate", &l->create) &&
                       find(file, "cusolverDnDestroy", &l->destroy) &&
                       find(file, "cusolverDnCreateParams", &l->create_params) &&
                       find(file, "cusolverDnDestroyParams", &l->destroy_params) &&
                       find(file, "cusolverDnXsyevd_bufferSize", &l->bytes) &&
                       find(file, "cusolverDnXsyevd", &l->solve);
    if (file) dlclose(file);
    if (whole) return CSREC_OK;
    return csrec_fail(error, CSREC_DEVICE,
                      "backend cuda: eigenvectors need cuSOLVER, and %s is not found; install that "
                      "part of the CUDA toolkit, put its folder into LD_LIBRARY_PATH, or use "
                      "backend cpu",
                      soname);
}

csrec_status csrec_shim_eigen_usable(csrec_error *error) {
    library l;
    return load(&l, error);
}

static csrec_status check(cusolverStatus_t code, const char *what, csrec_error *error) {
    if (code == CUSOLVER_STATUS_SUCCESS) return CSREC_OK;
    if (code == CUSOLVER_STATUS_ALLOC_FAILED)
        return csrec_fail(error, CSREC_MEMORY, "cuSOLVER: %s: out of memory; use backend cpu",
                          what);
    return csrec_fail(error, CSREC_DEVICE, "cuSOLVER: %s: status %d; use backend cpu", what,
                      (int)code);
}

typedef struct problem {
    int64_t n;
    library l;
    cusolverDnHandle_t handle;
    cusolverDnParams_t params;
    csrec_cuda_block memory;
    csrec_cuda_pipe pipe;
    double *A, *values; /* on the device: A becomes the vectors, a row each */
    int *info;          /* likewise */
    void *work, *host_work;
    size_t bytes, host_bytes; /* of the workspaces */
} problem;

static void finish(problem *p) {
    free(p->host_work);
    csrec_cuda_pipe_destroy(&p->pipe);
    csrec_cuda_block_destroy(&p->memory);
    if (p->params) p->l.destroy_params(p->params);
    if (p->handle) p->l.destroy(p->handle);
}

static void lay_out(problem *p) {
    p->A = (double *)csrec_cuda_block_take(&p->memory, p->n * p->n, sizeof(double));
    p->values = (double *)csrec_cuda_block_take(&p->memory, p->n, sizeof(double));
    p->info = (int *)csrec_cuda_block_take(&p->memory, 1, sizeof(int));
    p->work = csrec_cuda_block_take(&p->memory, (int64_t)p->bytes, 1);
}

static csrec_status start(problem *p, csrec_error *error) {
    csrec_status status = load(&p->l, error);
    if (!status) status = check(p->l.create(&p->handle), "start", error);
    if (!status) status = check(p->l.create_params(&p->params), "start", error);
    if (!status)
        status = check(p->l.bytes(p->handle, p->params, CUSOLVER_EIG_MODE_VECTOR,
                                  CUBLAS_FILL_MODE_UPPER, p->n, CUDA_R_64F, NULL, p->n, CUDA_R_64F,
                                  NULL, CUDA_R_64F, &p->bytes, &p->host_bytes),
                       "workspace of eigenvectors", error);
    return status;
}

static csrec_status allocate(problem *p, csrec_error *error) {
    char what[80];
    snprintf(what, sizeof what, "eigenvectors of %lld x %lld", (long long)p->n, (long long)p->n);
    lay_out(p);
    csrec_status status = csrec_cuda_block_create(&p->memory, what, error);
    if (status) return status;
    lay_out(p);
    csrec_cuda_pipe_create((size_t)(p->n * p->n) * sizeof(double), &p->pipe);
    p->host_work = malloc(p->host_bytes ? p->host_bytes : 1);
    return p->host_work ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory for %s", what);
}

/* cuSOLVER is column-major: our lower triangle is its upper one, and its eigenvectors, columns,
 * become our rows. */
static csrec_status solve(problem *p, const double *A, csrec_error *error) {
    int info = 0;
    csrec_status status =
        csrec_cuda_pipe_send(&p->pipe, p->A, A, (size_t)(p->n * p->n) * sizeof *A, error);
    if (!status)
        status =
            check(p->l.solve(p->handle, p->params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER,
                             p->n, CUDA_R_64F, p->A, p->n, CUDA_R_64F, p->values, CUDA_R_64F,
                             p->work, p->bytes, p->host_work, p->host_bytes, p->info),
                  "eigenvectors", error);
    if (!status) status = csrec_cuda_copy(&info, p->info, sizeof info, error);
    if (!status && info)
        status = csrec_fail(error, CSREC_DATA,
                            "the eigenvectors of %lld x %lld were not found; is the data finite?",
                            (long long)p->n, (long long)p->n);
    return status;
}

static csrec_status receive(problem *p, int64_t count, double *values, double *V,
                            csrec_error *error) {
    const int64_t first = p->n - count;
    csrec_status status =
        csrec_cuda_copy(values, p->values + first, (size_t)count * sizeof *values, error);
    if (status) return status;
    return csrec_cuda_pipe_receive(&p->pipe, V, p->A + first * p->n,
                                   (size_t)(count * p->n) * sizeof *V, error);
}

csrec_status csrec_shim_eigen(int64_t n, const double *A, int64_t count, double *values, double *V,
                              csrec_error *error) {
    problem p = {};
    p.n = n;
    csrec_status status = start(&p, error);
    if (!status) status = allocate(&p, error);
    if (!status) status = solve(&p, A, error);
    if (!status) status = receive(&p, count, values, V, error);
    finish(&p);
    return status;
}

#else

csrec_status csrec_shim_eigen_usable(csrec_error *error) {
    return csrec_fail(error, CSREC_DEVICE,
                      "backend cuda: built without cuSOLVER's header, so without eigenvectors; use "
                      "backend cpu or rebuild with the whole CUDA toolkit");
}

csrec_status csrec_shim_eigen(int64_t, const double *, int64_t, double *, double *,
                              csrec_error *error) {
    return csrec_shim_eigen_usable(error);
}
#endif
