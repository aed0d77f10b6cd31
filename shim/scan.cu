/* SPDX-License-Identifier: BSD-3-Clause */
/* scan.cu - prefix sums by CUB; no C++ types or exceptions leave this file. */
#include "shim/scan.h"

#include <cub/device/device_scan.cuh>

#include "kernels/device/device.h"

size_t csrec_shim_sums_bytes(int64_t count) {
    size_t most = 0, bytes = 0;
    uint32_t *u32 = NULL;
    uint64_t *u64 = NULL;
    double *f64 = NULL;
    try {
        if (cub::DeviceScan::ExclusiveSum(NULL, bytes, u64, u64, count) != cudaSuccess) return 0;
        most = bytes > most ? bytes : most;
        if (cub::DeviceScan::ExclusiveSum(NULL, bytes, f64, f64, count) != cudaSuccess) return 0;
        most = bytes > most ? bytes : most;
        if (cub::DeviceScan::ExclusiveSum(NULL, bytes, u32, u32, count) != cudaSuccess) return 0;
        most = bytes > most ? bytes : most;
    } catch (...) {
        return 0;
    }
    return most;
}

template <typename T>
static csrec_status sums(const T *in, T *out, int64_t count, void *scratch, size_t bytes,
                         void *stream, csrec_error *error) {
    try {
        return csrec_cuda_check(
            cub::DeviceScan::ExclusiveSum(scratch, bytes, in, out, count, (cudaStream_t)stream),
            "prefix sum", error);
    } catch (...) {
        return csrec_fail(error, CSREC_DEVICE, "CUDA: prefix sum: failed; use backend cpu");
    }
}

csrec_status csrec_shim_sums_u32(const uint32_t *in, uint32_t *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error) {
    return sums(in, out, count, scratch, bytes, stream, error);
}

csrec_status csrec_shim_sums_u64(const uint64_t *in, uint64_t *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error) {
    return sums(in, out, count, scratch, bytes, stream, error);
}

csrec_status csrec_shim_sums_f64(const double *in, double *out, int64_t count, void *scratch,
                                 size_t bytes, void *stream, csrec_error *error) {
    return sums(in, out, count, scratch, bytes, stream, error);
}
