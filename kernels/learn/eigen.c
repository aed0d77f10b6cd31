/* eigen.c - the largest eigenvalues of a symmetric matrix on a device. */
#include <math.h>

#include "kernels/device/device.h"
#include "kernels/learn/engine.h"
#include "learn/lapack.h"
#include "shim/eigen.h"

static void swap(int64_t count, double *a, double *b) {
    for (int64_t i = 0; i < count; i++) {
        double was = a[i];
        a[i] = b[i];
        b[i] = was;
    }
}

/* From ascending order to that of csrec_eigen_largest. */
static void turn_round(int n, int count, double *values, double *V) {
    for (int k = 0; k < count / 2; k++) {
        swap(1, values + k, values + count - 1 - k);
        swap(n, V + (int64_t)k * n, V + (int64_t)(count - 1 - k) * n);
    }
    for (int k = 0; k < count; k++) csrec_eigen_sign(n, V + (int64_t)k * n);
}

static csrec_status check(int n, const double *A, int count, csrec_error *error) {
    if (n < 1 || n > 1 << 15 || count < 1 || count > n)
        return csrec_fail(error, CSREC_ARGUMENT, "%d eigenvectors of %d x %d; at most 32768", count,
                          n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!isfinite(A[i * n + j]))
                return csrec_fail(error, CSREC_DATA,
                                  "the eigenvectors of %d x %d were not found; is the data finite?",
                                  n, n);
    return CSREC_OK;
}

csrec_status csrec_cuda_eigen(const csrec_context *context, int n, double *A, int count,
                              double *values, double *V, csrec_error *error) {
    csrec_status status = check(n, A, count, error);
    if (!status) status = csrec_cuda_enter(context, error);
    if (!status) status = csrec_shim_eigen(n, A, count, values, V, error);
    if (!status) turn_round(n, count, values, V);
    return status;
}

/* Seconds, with 16 threads and an H200 (bench/cuda.py): LAPACK takes 4.6e-11 n^3, and 1.1e-10
 * n^2 for each vector; cuSOLVER 0.09 for all of n = 2,048, but its first use 0.3, and 0.9 where the
 * library comes from the disk. */
bool csrec_cuda_eigen_pays(int n, int count) {
    const double squares = (double)n * (double)n;
    return squares * (4.6e-11 * n + 1.1e-10 * count) > 0.5;
}
