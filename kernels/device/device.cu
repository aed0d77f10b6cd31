/* SPDX-License-Identifier: BSD-3-Clause */
/* device.cu - CUDA devices, CUDA errors as statuses, and device memory sized before it is
 * allocated. */
#include <stdio.h>

#include "kernels/device/device.h"

enum { LOWEST_MAJOR = 8, ALIGNMENT = 256 };

static double gibibytes(size_t bytes) {
    return (double)bytes / (double)(1 << 30);
}

csrec_status csrec_cuda_check(cudaError_t code, const char *what, csrec_error *error) {
    if (code == cudaSuccess) return CSREC_OK;
    cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        return csrec_fail(error, CSREC_MEMORY, "CUDA: %s: out of device memory; use backend cpu",
                          what);
    return csrec_fail(error, CSREC_DEVICE, "CUDA: %s: %s; use backend cpu", what,
                      cudaGetErrorString(code));
}

csrec_status csrec_cuda_allow_shared(const void *kernel, const char *what, int *most,
                                     csrec_error *error) {
    cudaFuncAttributes own = {};
    int device = 0, bytes = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (!code)
        code = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (!code) code = cudaFuncGetAttributes(&own, kernel);
    bytes -= (int)own.sharedSizeBytes;
    if (!code)
        code = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (most) *most = bytes;
    return csrec_cuda_check(code, what, error);
}

int csrec_cuda_devices(csrec_error *error) {
    int count = 0, driver = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0) return count;
    cudaGetLastError();
    const char *reason = code == cudaSuccess ? "no CUDA device" : cudaGetErrorString(code);
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) reason = "no CUDA driver";
    csrec_fail(error, CSREC_DEVICE, "%s", reason);
    return 0;
}

/* NULL: it is new enough. */
static const char *too_old(int major) {
    return major < LOWEST_MAJOR ? "compute capability below 8.0" : NULL;
}

bool csrec_cuda_describe(int i, char *text, size_t size) {
    csrec_error reason;
    int count = csrec_cuda_devices(&reason);
    if (count == 0 && i == 0) snprintf(text, size, "not usable: %s", reason.text);
    if (count == 0 || i >= count) return count == 0 && i == 0;
    cudaDeviceProp device;
    cudaError_t code = cudaGetDeviceProperties(&device, i);
    if (code != cudaSuccess) {
        cudaGetLastError();
        snprintf(text, size, "device %d not usable: %s", i, cudaGetErrorString(code));
        return true;
    }
    const char *reason_text = too_old(device.major);
    snprintf(text, size, "%s, %.1f GiB, %d multiprocessors, compute capability %d.%d%s%s",
             device.name, gibibytes(device.totalGlobalMem), device.multiProcessorCount,
             device.major, device.minor, reason_text ? "; not usable: " : "",
             reason_text ? reason_text : "");
    return true;
}

/* By one attribute: all properties of a device take milliseconds. */
static const char *refusal(int i) {
    int major = 0;
    cudaError_t code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i);
    cudaGetLastError();
    return code != cudaSuccess ? cudaGetErrorString(code) : too_old(major);
}

csrec_status csrec_cuda_usable(int i, csrec_error *error) {
    int count = csrec_cuda_devices(error);
    if (count == 0) return CSREC_DEVICE;
    if (i >= count)
        return csrec_fail(error, CSREC_DEVICE, "device %d: there are %d, from 0", i, count);
    const char *text = refusal(i);
    return text ? csrec_fail(error, CSREC_DEVICE, "device %d: %s", i, text) : CSREC_OK;
}

static csrec_status try_device(int i, csrec_error *error) {
    CSREC_TRY(csrec_cuda_usable(i, error));
    cudaError_t code = cudaSetDevice(i);
    if (code == cudaSuccess) code = cudaFree(NULL); /* makes the driver's context */
    if (code == cudaSuccess) return CSREC_OK;
    cudaGetLastError();
    return csrec_fail(error, CSREC_DEVICE, "device %d: %s", i, cudaGetErrorString(code));
}

csrec_status csrec_cuda_open(csrec_context *context, csrec_error *error) {
    csrec_error reason;
    int count = csrec_cuda_devices(&reason);
    int first = context->ordinal < 0 ? 0 : context->ordinal;
    int end = context->ordinal < 0 ? count : first + 1;
    for (int i = first; i < end; i++) {
        if (try_device(i, &reason)) continue;
        context->ordinal = i;
        return CSREC_OK;
    }
    return csrec_fail(error, CSREC_DEVICE, "backend cuda: %s; use backend cpu", reason.text);
}

csrec_status csrec_cuda_use(csrec_error *error) {
    csrec_context context = {CSREC_DEVICE_CUDA, -1, NULL};
    return csrec_cuda_open(&context, error);
}

csrec_status csrec_cuda_enter(const csrec_context *context, csrec_error *error) {
    return csrec_cuda_check(cudaSetDevice(context->ordinal), "the device", error);
}

csrec_status csrec_cuda_measure(csrec_cuda_size *size, csrec_error *error) {
    csrec_cuda_size own = {0, 0, 0, 0, 0, 0};
    int device = 0, l2 = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess) code = cudaMemGetInfo(&own.free, &own.total);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&own.multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&own.shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&own.major, cudaDevAttrComputeCapabilityMajor, device);
    if (code == cudaSuccess) code = cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device);
    own.l2 = (size_t)l2;
    csrec_status status = csrec_cuda_check(code, "device attributes", error);
    if (!status) *size = own;
    return status;
}

void *csrec_cuda_block_take(csrec_cuda_block *block, int64_t count, size_t size) {
    size_t bytes = (size_t)(count > 0 ? count : 1) * size;
    void *array = block->base ? block->base + block->used : NULL;
    block->used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return array;
}

csrec_status csrec_cuda_block_create(csrec_cuda_block *block, const char *what,
                                     csrec_error *error) {
    size_t needed = block->used, had = 0, total = 0;
    block->used = 0;
    CSREC_TRY(csrec_cuda_check(cudaMemGetInfo(&had, &total), "free memory", error));
    void *base = NULL;
    cudaError_t code = needed <= had ? cudaMalloc(&base, needed) : cudaErrorMemoryAllocation;
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return csrec_fail(error, CSREC_MEMORY,
                          "device memory: %s needs %.3f GiB (%zu bytes), %.3f GiB (%zu bytes) are "
                          "free; use backend cpu",
                          what, gibibytes(needed), needed, gibibytes(had), had);
    }
    csrec_status status = csrec_cuda_check(code, "cudaMalloc", error);
    if (!status) block->base = (char *)base;
    return status;
}

void csrec_cuda_block_destroy(csrec_cuda_block *block) {
    if (!block || !block->base) return;
    cudaFree(block->base);
    block->base = NULL;
    block->used = 0;
}

csrec_status csrec_cuda_copy(void *to, const void *from, size_t bytes, csrec_error *error) {
    return csrec_cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copy", error);
}

csrec_status csrec_cuda_upload(void *device, const void *host, size_t bytes, void *stream,
                               csrec_error *error) {
    return csrec_cuda_check(
        cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream),
        "upload", error);
}

csrec_status csrec_cuda_download(void *host, const void *device, size_t bytes, void *stream,
                                 csrec_error *error) {
    CSREC_TRY(csrec_cuda_check(
        cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream),
        "download", error));
    return csrec_cuda_check(cudaStreamSynchronize((cudaStream_t)stream), "download", error);
}

csrec_status csrec_cuda_clear(void *device, size_t bytes, void *stream, csrec_error *error) {
    return csrec_cuda_check(cudaMemsetAsync(device, 0, bytes, (cudaStream_t)stream), "memset",
                            error);
}

csrec_status csrec_cuda_wait(void *stream, csrec_error *error) {
    return csrec_cuda_check(cudaStreamSynchronize((cudaStream_t)stream), "kernels", error);
}
