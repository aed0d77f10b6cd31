/* SPDX-License-Identifier: BSD-3-Clause */
/* pipe.cu - large arrays between pageable host memory and the device, through two pinned buffers.
 */
#include "kernels/device/pipe.h"

#include "kernels/device/device.h"

extern "C" {
#include "base/copy.h"
}

/* On an H200's host pinning the buffers takes 7 to 11 ms once; plain copies make 10 GB/s up, 18
 * down and 1.9 into memory never touched before, these 45, 45 and 14. Transfers below SMALLEST
 * bytes do not recover that cost. */
static const size_t SMALLEST = size_t(32) << 20, BUFFER = size_t(16) << 20;
static const size_t SMALL_BUFFER = size_t(1) << 18, BRIEF = size_t(1) << 14;

static void pin(size_t bytes, size_t least, csrec_cuda_pipe *pipe) {
    cudaError_t code = cudaSuccess;
    *pipe = csrec_cuda_pipe{};
    pipe->least = least;
    for (int k = 0; k < 2 && code == cudaSuccess; k++) {
        code = cudaHostAlloc((void **)&pipe->buffer[k], bytes, cudaHostAllocDefault);
        if (code == cudaSuccess)
            code = cudaEventCreateWithFlags((cudaEvent_t *)&pipe->event[k], cudaEventDisableTiming);
    }
    if (code == cudaSuccess)
        pipe->bytes = bytes;
    else
        csrec_cuda_pipe_destroy(pipe);
    cudaGetLastError();
}

void csrec_cuda_pipe_create(size_t largest, csrec_cuda_pipe *pipe) {
    *pipe = csrec_cuda_pipe{};
    if (largest >= SMALLEST) pin(BUFFER, SMALLEST, pipe);
}

/* Four pieces keep both buffers busy. */
void csrec_cuda_pipe_open(size_t largest, csrec_cuda_pipe *pipe) {
    size_t bytes = SMALL_BUFFER;
    while (bytes < BUFFER && bytes * 4 < largest) bytes *= 2;
    pin(bytes, BRIEF, pipe);
}

void csrec_cuda_pipe_destroy(csrec_cuda_pipe *pipe) {
    for (int k = 0; k < 2; k++) {
        if (pipe->buffer[k]) cudaFreeHost(pipe->buffer[k]);
        if (pipe->event[k]) cudaEventDestroy((cudaEvent_t)pipe->event[k]);
    }
    *pipe = csrec_cuda_pipe{};
}

/* Bytes of piece k. */
static size_t piece(const csrec_cuda_pipe *pipe, size_t bytes, size_t k) {
    size_t rest = bytes - k * pipe->bytes;
    return rest < pipe->bytes ? rest : pipe->bytes;
}

static cudaError_t wait_for(csrec_cuda_pipe *pipe, size_t k) {
    return cudaEventSynchronize((cudaEvent_t)pipe->event[k % 2]);
}

/* Queues the transfer of a piece between its buffer and the device. */
static cudaError_t queue(csrec_cuda_pipe *pipe, void *to, const void *from, size_t bytes,
                         size_t k) {
    cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, 0);
    return code == cudaSuccess ? cudaEventRecord((cudaEvent_t)pipe->event[k % 2], 0) : code;
}

csrec_status csrec_cuda_pipe_send(csrec_cuda_pipe *pipe, void *device, const void *host,
                                  size_t bytes, csrec_error *error) {
    if (bytes < pipe->least || !pipe->bytes) return csrec_cuda_copy(device, host, bytes, error);
    cudaError_t code = cudaSuccess;
    for (size_t k = 0; k * pipe->bytes < bytes && code == cudaSuccess; k++) {
        size_t at = k * pipe->bytes, size = piece(pipe, bytes, k);
        code = wait_for(pipe, k); /* an event that was never recorded counts as complete */
        if (code != cudaSuccess) break;
        csrec_copy(pipe->buffer[k % 2], (const char *)host + at, size);
        code = queue(pipe, (char *)device + at, pipe->buffer[k % 2], size, k);
    }
    return csrec_cuda_check(code, "upload", error);
}

csrec_status csrec_cuda_pipe_receive(csrec_cuda_pipe *pipe, void *host, const void *device,
                                     size_t bytes, csrec_error *error) {
    if (bytes < pipe->least || !pipe->bytes) return csrec_cuda_copy(host, device, bytes, error);
    cudaError_t code = cudaSuccess;
    size_t pieces = (bytes + pipe->bytes - 1) / pipe->bytes;
    for (size_t k = 0; k <= pieces && code == cudaSuccess; k++) {
        if (k < pieces)
            code = queue(pipe, pipe->buffer[k % 2], (const char *)device + k * pipe->bytes,
                         piece(pipe, bytes, k), k);
        if (k == 0 || code != cudaSuccess) continue;
        code = wait_for(pipe, k - 1);
        if (code == cudaSuccess)
            csrec_copy((char *)host + (k - 1) * pipe->bytes, pipe->buffer[(k - 1) % 2],
                       piece(pipe, bytes, k - 1));
    }
    return csrec_cuda_check(code, "download", error);
}
