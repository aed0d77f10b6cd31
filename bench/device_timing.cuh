/* device_timing.cuh - what the CUDA benches share: checked calls, and the time of queued work. */
#ifndef CSREC_BENCH_DEVICE_TIMING_CUH
#define CSREC_BENCH_DEVICE_TIMING_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/device/device.h"

static void must(csrec_status status, const csrec_error &error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error.text);
    exit(1);
}

static void must(cudaError_t code) {
    if (!code) return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(code));
    exit(1);
}

/* Median milliseconds of what `work` queues. repeats = 1: no warming up. */
template <typename Work> static double median_ms(Work work, int repeats = 9) {
    cudaEvent_t begun, ended;
    std::vector<float> times(repeats);
    must(cudaEventCreate(&begun));
    must(cudaEventCreate(&ended));
    for (int k = 0; k < 2 && repeats > 1; k++) work();
    for (float &ms : times) {
        must(cudaEventRecord(begun));
        work();
        must(cudaEventRecord(ended));
        must(cudaEventSynchronize(ended));
        must(cudaEventElapsedTime(&ms, begun, ended));
    }
    must(cudaGetLastError());
    must(cudaEventDestroy(begun));
    must(cudaEventDestroy(ended));
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[repeats / 2];
}

#endif
