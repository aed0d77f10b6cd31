/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h - CUDA devices, CUDA errors as statuses, and device memory sized before it is allocated.
 *
 * The C part lists devices and chooses one. The part for .cu files serves every kernel's host code:
 * one check after each call and launch, and one block of memory, laid out twice by the same
 * statements, first to count the bytes and then to assign them. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

#include "device/device.h"

/* Number of CUDA devices the driver shows. 0 with the reason in error if there is none. */
int csrec_cuda_devices(csrec_error *error);

/* One line about device i: name, memory, multiprocessors, or why it cannot be used. false past the
 * last device; with no device at all, entry 0 is the reason. */
bool csrec_cuda_describe(int i, char *text, size_t size);

/* As csrec_device's open and usable. */
csrec_status csrec_cuda_open(csrec_context *context, csrec_error *error);
csrec_status csrec_cuda_usable(int i, csrec_error *error);

/* Makes the first usable device the calling thread's. CSREC_DEVICE with the reason. */
csrec_status csrec_cuda_use(csrec_error *error);

/* Makes the context's device the calling thread's: every engine calls it first. */
csrec_status csrec_cuda_enter(const csrec_context *context, csrec_error *error);

/* Bytes of device memory free and in all, multiprocessors, of the calling thread's device. */
typedef struct csrec_cuda_size {
    size_t free, total, l2;
    int major; /* of the compute capability */
    int multiprocessors;
    int shared; /* bytes of shared memory a block can have */
} csrec_cuda_size;

csrec_status csrec_cuda_measure(csrec_cuda_size *size, csrec_error *error);

/* Device memory in one piece, cut into arrays aligned to 256 bytes. With base NULL the arrays are
 * only counted:
 *
 *     csrec_cuda_block block = {0};
 *     lay_out(&block, n, &arrays);                  // counts
 *     status = csrec_cuda_block_create(&block, "the transform of 8 samples", error);
 *     if (!status) lay_out(&block, n, &arrays);     // takes
 */
typedef struct csrec_cuda_block {
    char *base;
    size_t used; /* so far */
} csrec_cuda_block;

/* NULL while counting. */
void *csrec_cuda_block_take(csrec_cuda_block *block, int64_t count, size_t size);

/* Allocates block->used bytes and resets used to 0. CSREC_MEMORY names the bytes needed and had. */
csrec_status csrec_cuda_block_create(csrec_cuda_block *block, const char *what, csrec_error *error);
void csrec_cuda_block_destroy(csrec_cuda_block *block);

/* The larger of two numbers of bytes. */
static inline size_t csrec_cuda_larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Copies between host and device or within either, after all queued work. */
csrec_status csrec_cuda_copy(void *to, const void *from, size_t bytes, csrec_error *error);

/* Copies between host and device, in the order of the stream; those to the host wait. */
csrec_status csrec_cuda_upload(void *device, const void *host, size_t bytes, void *stream,
                               csrec_error *error);
csrec_status csrec_cuda_download(void *host, const void *device, size_t bytes, void *stream,
                                 csrec_error *error);

/* Zeroes. */
csrec_status csrec_cuda_clear(void *device, size_t bytes, void *stream, csrec_error *error);
/* Waits for the stream. */
csrec_status csrec_cuda_wait(void *stream, csrec_error *error);

CSREC_C_END

#ifdef __CUDACC__
#include <cuda_runtime.h>

/* CSREC_OK for cudaSuccess; else CSREC_MEMORY or CSREC_DEVICE and a line naming what failed. Clears
 * the runtime's last error, so that no later call reports it again. */
csrec_status csrec_cuda_check(cudaError_t code, const char *what, csrec_error *error);

/* Lets a kernel have all dynamic shared memory that the device has beside its own; most: NULL, or
 * how much that is. The limit is one of the kernel, which threads share: set to what one launch
 * needs, it would fail that of another. */
csrec_status csrec_cuda_allow_shared(const void *kernel, const char *what, int *most,
                                     csrec_error *error);

/* After each launch: errors of its configuration. Errors inside a kernel are reported by the next
 * synchronising call. */
static inline csrec_status csrec_cuda_launched(const char *kernel, csrec_error *error) {
    return csrec_cuda_check(cudaGetLastError(), kernel, error);
}

/* Blocks of `size` that cover count items. */
static inline unsigned csrec_cuda_blocks(int64_t count, int64_t size) {
    return (unsigned)((count + size - 1) / size);
}

/* The thread's number in the grid. */
static __device__ inline int64_t csrec_cuda_thread() {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* Launches a kernel on so many blocks, or with a thread for each of count items: its status. */
#define CSREC_CUDA_RUN(kernel, blocks, threads, error, ...)                                        \
    (kernel<<<blocks, threads>>>(__VA_ARGS__), csrec_cuda_launched(#kernel, error))
#define CSREC_CUDA_EACH(kernel, count, threads, error, ...)                                        \
    CSREC_CUDA_RUN(kernel, csrec_cuda_blocks(count, threads), threads, error, __VA_ARGS__)

/* Of each array, in this order, *array = csrec_cuda_block_take of so many of its elements. */
template <class... T>
static inline void csrec_cuda_take(csrec_cuda_block *block, int64_t count, T **...array) {
    ((*array = (T *)csrec_cuda_block_take(block, count, sizeof(T))), ...);
}

/* Calls lay_out to count the bytes of a block, makes it, and calls lay_out to take the arrays. */
template <class F>
static inline csrec_status csrec_cuda_lay(csrec_cuda_block *block, const char *what,
                                          csrec_error *error, F lay_out) {
    lay_out();
    csrec_status status = csrec_cuda_block_create(block, what, error);
    if (!status) lay_out();
    return status;
}
#endif
