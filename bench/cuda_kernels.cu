/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_kernels.cu - kernels by their own launchers, arrays on the device: all inner products of the
 * Haar matrix, mean, centring and covariance against the copy bandwidth; convolutions on the shapes
 * of networks and dictionaries; eigenvectors from the host to the host. A JSON object a line, for
 * cuda.py.
 *
 *     bench_cuda_kernels [LOG2N]      the transform of so many samples alone, for a profiler */
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

extern "C" {
#include "kernels/conv/engine.h"
#include "learn/engine.h"
}
#include "kernels/device/device.h"
#include "kernels/haar/transform.h"
#include "kernels/learn/statistics.h"

static void fail(const char *what, const char *text) {
    fprintf(stderr, "bench_cuda_kernels: %s: %s\n", what, text);
    exit(1);
}

static double seconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

static void must(csrec_status status, const csrec_error &error) {
    if (status) fail("device", error.text);
}

static void must(cudaError_t code) {
    if (code) fail("CUDA", cudaGetErrorString(code));
}

/* Median milliseconds of what `work` queues. */
template <typename Work> static double median_ms(Work work, int repeats = 9) {
    cudaEvent_t begun, ended;
    std::vector<float> times(repeats);
    must(cudaEventCreate(&begun));
    must(cudaEventCreate(&ended));
    for (int k = 0; k < 2; k++) work();
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

/* Memory of the device, with what is on the host. */
template <typename T> struct array {
    T *device;
    int64_t count;
    explicit array(int64_t entries) : count(entries) {
        must(cudaMalloc((void **)&device, (size_t)count * sizeof(T)));
    }
    explicit array(const std::vector<T> &host) : array((int64_t)host.size()) {
        must(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyDefault));
    }
    array(const array &) = delete;
    ~array() { cudaFree(device); }
    std::vector<T> host() const {
        std::vector<T> found((size_t)count);
        must(cudaMemcpy(found.data(), device, found.size() * sizeof(T), cudaMemcpyDefault));
        return found;
    }
};

static uint64_t draw() {
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static std::vector<float> drawn(int64_t count) {
    std::vector<float> v((size_t)count);
    for (float &x : v) x = (float)(draw() & 0xFFFFFF) * 0x1p-23f - 1.0f;
    return v;
}

/* Bytes a second, read and written, of a copy on the device. */
static double copy_bandwidth() {
    const int64_t bytes = INT64_C(2) << 30;
    array<char> from(bytes), to(bytes);
    const double ms = median_ms([&] {
        must(cudaMemcpyAsync(to.device, from.device, (size_t)bytes, cudaMemcpyDeviceToDevice));
    });
    return 2.0 * (double)bytes / (ms * 1e-3);
}

/* ---- the transform; bytes: rows and r read once, columns and values written once */

/* Each of about 4 n rows is sampled with probability 1/4; integers for values. */
static void measure_transform(int log_n, csrec_columns columns, double copy) {
    csrec_error error;
    const int64_t n = INT64_C(1) << log_n;
    std::vector<uint64_t> rows((size_t)n);
    std::vector<double> r((size_t)n);
    uint64_t row = 0;
    for (int64_t k = 0; k < n; k++) {
        row += 1 + (uint64_t)(std::log1p(-(double)draw() * 0x1p-31) / std::log(0.75));
        rows[(size_t)k] = row;
        r[(size_t)k] = (double)(draw() & 0xFFFFFF) - 0x1p23;
    }
    int levels = 0;
    while (row >> levels) levels++;
    array<uint64_t> d_rows(rows), d_column(3 * n);
    array<double> d_r(r), d_value(3 * n);
    csrec_cuda_transform *transform;
    must(csrec_cuda_transform_create(levels, n, columns, &transform, &error), error);
    const double ms = median_ms([&] {
        must(csrec_cuda_transform_run(transform, d_rows.device, d_r.device, d_column.device,
                                      d_value.device, NULL, &error),
             error);
    });
    int64_t found;
    must(csrec_cuda_transform_wait(transform, &found, NULL, &error), error);
    const double bytes = 16.0 * (double)(n + found), rate = bytes / (ms * 1e-3);
    printf(
        "{\"part\": \"transform\", \"bench\": \"transform\", \"columns\": \"%s\", \"log2_n\": %d, "
        "\"levels\": %d, \"found\": %lld, \"ms\": %.4f, \"bytes_a_sample\": %.2f, "
        "\"gb_s\": %.1f, \"copy_share\": %.3f}\n",
        csrec_columns_name(columns), log_n, levels, (long long)found, ms, bytes / (double)n,
        rate * 1e-9, rate / copy);
    csrec_cuda_transform_destroy(transform);
}

/* ---- mean, centring, covariance */

/* Smooth pictures of random light, contrast and place, and noise: correlated, around a large mean.
 */
__global__ void draw_rows(int64_t m, int64_t n, float *X) {
    const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= m * n) return;
    auto hash = [](uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return (float)((z ^ (z >> 31)) >> 40) * 0x1p-24f;
    };
    const int64_t i = at / n, j = at % n;
    const float light = hash((uint64_t)(4 * i + 1) * 0x9E3779B97F4A7C15u);
    const float place = hash((uint64_t)(4 * i + 2) * 0x9E3779B97F4A7C15u);
    const float noise = hash((uint64_t)at * 0x9E3779B97F4A7C15u + 7);
    X[at] = 128.0f + 60.0f * (light - 0.5f) + 40.0f * sinf(0.01f * (float)j + 6.0f * place) +
            10.0f * noise;
}

/* Entries (j, k) of the covariance of rows with this mean, in double. */
__global__ void exact_entries(int64_t m, int64_t n, const float *X, const double *mean,
                              const int *pairs, double *entries) {
    __shared__ double sums[256];
    const int j = pairs[2 * blockIdx.x], k = pairs[2 * blockIdx.x + 1];
    double sum = 0.0;
    for (int64_t i = threadIdx.x; i < m; i += 256)
        sum += ((double)X[i * n + j] - mean[j]) * ((double)X[i * n + k] - mean[k]);
    sums[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) entries[blockIdx.x] = sums[0] / (double)m;
}

/* Of entries drawn at random, against sums in double, relative to sqrt(C_jj C_kk). */
static double largest_error(int64_t m, int64_t n, const float *X, const std::vector<double> &mean,
                            const double *device_C) {
    enum { PAIRS = 2048 };
    std::vector<double> C((size_t)(n * n));
    std::vector<int> pairs(2 * PAIRS);
    for (int &j : pairs) j = (int)(draw() % (uint64_t)n);
    for (int p = 0; p < PAIRS; p += 4) pairs[2 * p + 1] = pairs[2 * p]; /* the diagonal, too */
    must(cudaMemcpy(C.data(), device_C, C.size() * sizeof(double), cudaMemcpyDefault));
    array<double> means(mean), entries(PAIRS);
    exact_entries<<<PAIRS, 256>>>(m, n, X, means.device, array<int>(pairs).device, entries.device);
    const std::vector<double> exact = entries.host();
    double worst = 0.0;
    for (int p = 0; p < PAIRS; p++) {
        const int64_t j = pairs[2 * p], k = pairs[2 * p + 1];
        worst = std::max(worst, std::fabs(C[j * n + k] - exact[p]) /
                                    std::sqrt(C[j * n + j] * C[k * n + k]));
    }
    return worst;
}

/* moved: bytes read and written. */
static void row(const char *bench, double ms, double moved, double copy) {
    printf("{\"part\": \"statistics\", \"bench\": \"%s\", \"ms\": %.4f, \"gb_s\": %.1f, "
           "\"of_copy\": %.3f}\n",
           bench, ms, moved / ms * 1e-6, moved / ms * 1e3 / copy);
}

static void measure_statistics(int64_t m, int64_t n, double copy) {
    csrec_error error;
    array<float> X(m * n);
    std::vector<double> mean((size_t)n), zero((size_t)n, 0.0);
    const double bytes = (double)m * (double)n * 4.0;
    double *C = NULL;
    csrec_cuda_statistics *s;
    draw_rows<<<csrec_cuda_blocks(m * n, 256), 256>>>(m, n, X.device);
    must(csrec_cuda_statistics_create(n, m, true, &s, &error), error);
    auto means = [&] {
        must(csrec_cuda_statistics_reset(s, &error), error);
        must(csrec_cuda_statistics_add_mean(s, m, X.device, NULL, &error), error);
        must(csrec_cuda_statistics_mean(s, (double)m, &error), error);
    };
    const double ms = median_ms([&] {
        means();
        must(csrec_cuda_statistics_add_covariance(s, m, X.device, NULL, &error), error);
        must(csrec_cuda_statistics_covariance(s, (double)m, &C, &error), error);
    });
    must(csrec_cuda_statistics_get_mean(s, mean.data(), &error), error);
    printf(
        "{\"part\": \"statistics\", \"bench\": \"covariance\", \"rows\": %lld, \"columns\": %lld, "
        "\"ms\": %.3f, \"tflop_s\": %.1f, \"largest_error\": %.3g}\n",
        (long long)m, (long long)n, ms, (double)m * (double)n * (double)(n + 1) / ms * 1e-9,
        largest_error(m, n, X.device, mean, C));
    row("mean", median_ms(means), bytes, copy);
    must(csrec_cuda_statistics_set_mean(s, zero.data(), &error), error);
    row("center",
        median_ms([&] { must(csrec_cuda_statistics_center(s, m, X.device, &error), error); }),
        2.0 * bytes, copy);
    csrec_cuda_statistics_destroy(s);
}

/* ---- convolutions; a multiplication and an addition for each product of the definition */

/* Square pictures and kernels, stride 1. */
static void measure_conv2d(int64_t batch, int64_t in, int64_t channels_out, int64_t side,
                           int64_t kernel, int64_t padding) {
    csrec_error error;
    csrec_conv2d c = {};
    int64_t out[2];
    c.batch = batch;
    c.channels_in = in;
    c.channels_out = channels_out;
    for (int a = 0; a < 2; a++) {
        c.size[a] = side;
        c.kernel[a] = kernel;
        c.stride[a] = c.dilation[a] = 1;
        c.padding[a] = padding;
        out[a] = side + 2 * padding - kernel + 1;
    }
    const int64_t x = batch * in * side * side, w = channels_out * in * kernel * kernel;
    const int64_t y = batch * channels_out * out[0] * out[1];
    array<float> X(drawn(x)), W(drawn(w)), B(drawn(channels_out)), dY(drawn(y));
    array<float> Y(y), dX(x), dW(w), dB(channels_out);
    csrec_cuda_conv2d_arrays a = {};
    a.X = X.device;
    a.W = W.device;
    a.B = B.device;
    a.dY = dY.device;
    a.Y = Y.device;
    a.dX = dX.device;
    a.dW = dW.device;
    a.dB = dB.device;
    array<char> scratch((int64_t)std::max(csrec_cuda_conv2d_room(&c, out, &a, false),
                                          csrec_cuda_conv2d_room(&c, out, &a, true)));
    a.scratch = scratch.device;
    const double forward =
        median_ms([&] { must(csrec_cuda_conv2d_forward(&c, out, &a, &error), error); });
    const double backward =
        median_ms([&] { must(csrec_cuda_conv2d_backward(&c, out, &a, &error), error); });
    const double flop = 2.0 * (double)y * (double)(in * kernel * kernel);
    printf("{\"part\": \"conv2d\", \"x\": [%d, %d, %d, %d], \"w\": [%d, %d, %d, %d], \"pad\": %d, "
           "\"forward_ms\": %.4f, \"backward_ms\": %.4f, \"forward_tflop_s\": %.2f, "
           "\"backward_tflop_s\": %.2f}\n",
           (int)batch, (int)in, (int)side, (int)side, (int)channels_out, (int)in, (int)kernel,
           (int)kernel, (int)padding, forward, backward, flop / forward * 1e-9,
           2.0 * flop / backward * 1e-9);
}

/* ---- eigenvectors of a covariance, a part of `calls` */

static void measure_eigen(int64_t m, int n) {
    csrec_error error;
    const std::vector<float> X = drawn(m * n);
    std::vector<double> A((size_t)n * n), copy, values((size_t)n), V((size_t)n * n);
    const char *const backend[] = {"cuda", "cpu"}, *used;
    double least[] = {INFINITY, INFINITY};
    must(csrec_covariance_on("cuda", m, n, X.data(), NULL, NULL, 0, A.data(), &error), error);
    for (int k = 0; k < 7; k++) { /* the first one makes the device ready */
        const int b = k > 3;
        copy = A;
        const double begin = seconds();
        must(csrec_eigen_largest_on(backend[b], n, copy.data(), n, values.data(), V.data(), &used,
                                    &error),
             error);
        if (k) least[b] = std::min(least[b], 1e3 * (seconds() - begin));
    }
    printf(
        "{\"part\": \"calls\", \"call\": \"eigenvectors\", \"what\": \"%d x %d\", \"work\": %.3g, "
        "\"cuda_ms\": %.2f, \"cpu_ms\": %.2f, \"cpu_threads\": %d}\n",
        n, n, pow(n, 3.0), least[0], least[1], (int)std::thread::hardware_concurrency());
}

int main(int argc, char **argv) {
    char text[256];
    csrec_error error;
    if (csrec_cuda_use(&error)) {
        printf("SKIPPED: %s\n", error.text);
        return 0;
    }
    if (argc > 1) {
        measure_transform(atoi(argv[1]), CSREC_COLUMNS_PAPER, 1.0);
        return 0;
    }
    csrec_cuda_describe(0, text, sizeof text);
    const double copy = copy_bandwidth();
    printf("{\"part\": \"transform\", \"bench\": \"copy\", \"device\": \"%s\", \"gb_s\": %.1f}\n",
           text, copy * 1e-9);
    const int sizes[] = {20, 24, 26};
    for (int log_n : sizes) {
        measure_transform(log_n, CSREC_COLUMNS_PAPER, copy);
        measure_transform(log_n, CSREC_COLUMNS_TWO_SIDED, copy);
    }
    measure_statistics(202599, 2475, copy);
    measure_conv2d(8, 64, 64, 128, 3, 1);
    measure_conv2d(1, 64, 1, 512, 8, 4);
    measure_conv2d(1, 1, 64, 512, 8, 4);
    for (int n = 256; n <= 2048; n *= 2) measure_eigen(4096, n);
    measure_eigen(40000, 2475);
    return 0;
}
