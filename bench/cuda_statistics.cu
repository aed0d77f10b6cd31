/* cuda_statistics.cu - mean, centring and covariance on the device against its copy bandwidth and
 * the kernels of the source documents. One JSON object a line.
 *
 *     bench_cuda_statistics [ROWS COLUMNS]
 *
 * 202,599 x 2,475 unless given. Errors are those of entries drawn at random, against sums in
 * double, relative to sqrt(C_jj C_kk). */
#include <algorithm>
#include <cmath>
#include <vector>

#include "device.h"
#include "device_timing.cuh"
#include "document.cuh"
#include "kernels/learn/statistics.h"

static float *device_floats(int64_t count) {
    float *p;
    must(cudaMalloc((void **)&p, (size_t)count * sizeof *p));
    return p;
}

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

static double largest_error(int64_t m, int64_t n, const float *X, const std::vector<double> &mean,
                            const double *device_C) {
    enum { PAIRS = 2048 };
    std::vector<double> C((size_t)(n * n)), exact(PAIRS);
    std::vector<int> pairs(2 * PAIRS);
    double *means, *entries, worst = 0.0;
    int *device_pairs;
    uint64_t seed = 1;
    for (int p = 0; p < PAIRS; p++)
        for (int e = 0; e < 2; e++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            pairs[2 * p + e] = e && p % 4 == 0 ? pairs[2 * p] : (int)((seed >> 33) % (uint64_t)n);
        }
    must(cudaMalloc((void **)&means, (size_t)n * 8));
    must(cudaMalloc((void **)&entries, PAIRS * 8));
    must(cudaMalloc((void **)&device_pairs, 2 * PAIRS * sizeof(int)));
    must(cudaMemcpy(means, mean.data(), (size_t)n * 8, cudaMemcpyDefault));
    must(cudaMemcpy(device_pairs, pairs.data(), 2 * PAIRS * sizeof(int), cudaMemcpyDefault));
    must(cudaMemcpy(C.data(), device_C, C.size() * 8, cudaMemcpyDefault));
    exact_entries<<<PAIRS, 256>>>(m, n, X, means, device_pairs, entries);
    must(cudaMemcpy(exact.data(), entries, PAIRS * 8, cudaMemcpyDefault));
    for (int p = 0; p < PAIRS; p++) {
        const int64_t j = pairs[2 * p], k = pairs[2 * p + 1];
        worst = std::max(worst, std::fabs(C[j * n + k] - exact[p]) /
                                    std::sqrt(C[j * n + j] * C[k * n + k]));
    }
    must(cudaFree(means));
    must(cudaFree(entries));
    must(cudaFree(device_pairs));
    return worst;
}

/* moved: bytes read and written. */
static void row(const char *bench, double ms, double moved, double copy, const char *more = "") {
    printf("{\"bench\": \"%s\", \"ms\": %.4f, \"gb_s\": %.1f, \"of_copy\": %.3f%s}\n", bench, ms,
           moved / ms * 1e-6, moved / ms * 1e3 / copy, more);
    fflush(stdout);
}

static void measure_rows(int64_t m, int64_t n, float *X, csrec_cuda_statistics *s, double copy) {
    csrec_error error;
    const double bytes = (double)m * (double)n * 4.0;
    float *mean = device_floats(n);
    const unsigned columns = csrec_cuda_blocks(n, 32), images = csrec_cuda_blocks(m, 32);
    row("mean", median_ms([&] {
            must(csrec_cuda_statistics_reset(s, &error), error);
            must(csrec_cuda_statistics_add_mean(s, m, X, NULL, &error), error);
            must(csrec_cuda_statistics_mean(s, (double)m, &error), error);
        }),
        bytes, copy);
    row("mean, the document's", median_ms([&] { document::mean<<<columns, 32>>>(X, mean, m, n); }),
        bytes, copy);
    std::vector<double> zero((size_t)n, 0.0);
    must(cudaMemset(mean, 0, (size_t)n * 4));
    must(csrec_cuda_statistics_set_mean(s, zero.data(), &error), error);
    row("center", median_ms([&] { must(csrec_cuda_statistics_center(s, m, X, &error), error); }),
        2.0 * bytes, copy);
    row("center, a thread a pixel, the document's",
        median_ms([&] { document::center_by_pixel<<<columns, 32>>>(X, mean, m, n); }), 2.0 * bytes,
        copy);
    row("center, a thread an image, the document's",
        median_ms([&] { document::center_by_image<<<images, 32>>>(X, mean, m, n); }), 2.0 * bytes,
        copy);
    must(cudaFree(mean));
}

static void measure_covariance(int64_t m, int64_t n, float *X, csrec_cuda_statistics *s) {
    csrec_error error;
    double *C = NULL;
    std::vector<double> mean((size_t)n);
    const double flop = (double)m * (double)n * (double)(n + 1);
    auto product = [&](bool again) {
        must(csrec_cuda_statistics_reset(s, &error), error);
        if (again) {
            must(csrec_cuda_statistics_add_mean(s, m, X, NULL, &error), error);
            must(csrec_cuda_statistics_mean(s, (double)m, &error), error);
        } else {
            must(csrec_cuda_statistics_set_mean(s, mean.data(), &error), error);
        }
        must(csrec_cuda_statistics_add_covariance(s, m, X, NULL, &error), error);
        must(csrec_cuda_statistics_covariance(s, (double)m, &C, &error), error);
    };
    const double whole = median_ms([&] { product(true); });
    must(csrec_cuda_statistics_get_mean(s, mean.data(), &error), error);
    const double worst = largest_error(m, n, X, mean, C);
    const double known = median_ms([&] { product(false); });
    printf("{\"bench\": \"covariance\", \"rows\": %lld, \"columns\": %lld, \"ms\": %.3f, "
           "\"ms_known_mean\": %.3f, \"tflop_s\": %.1f, \"largest_error\": %.3g}\n",
           (long long)m, (long long)n, whole, known, flop / whole * 1e-9, worst);
    fflush(stdout);
}

template <int CHUNK> static void measure_tiled(int64_t m, int64_t n, const float *X, float *C) {
    const unsigned blocks = csrec_cuda_blocks(n, CHUNK);
    const double ms = median_ms(
        [&] {
            document::covariance_tiled<CHUNK>
                <<<dim3(blocks, blocks), dim3(CHUNK, CHUNK)>>>(X, C, m, n);
        },
        3);
    printf("{\"bench\": \"covariance, tiled, the document's\", \"rows\": %lld, \"chunk\": %d, "
           "\"flop_a_byte\": %.2f, \"ms\": %.2f, \"tflop_s\": %.3f}\n",
           (long long)m, CHUNK, CHUNK / 8.0, ms, (double)m * n * (n + 1) / ms * 1e-9);
    fflush(stdout);
}

/* Of fewer rows: the naive one would take a second and more of all. */
static void measure_documents(int64_t m, int64_t n, const float *X) {
    float *C = device_floats(n * n);
    const unsigned blocks = csrec_cuda_blocks(n, 8);
    const dim3 grid(blocks, blocks), threads(8, 8);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        const double ms = median_ms(
            [&] {
                if (symmetric)
                    document::covariance<true><<<grid, threads>>>(X, C, m, n);
                else
                    document::covariance<false><<<grid, threads>>>(X, C, m, n);
            },
            3);
        printf("{\"bench\": \"covariance, %s, the document's\", \"rows\": %lld, \"ms\": %.2f, "
               "\"tflop_s\": %.3f}\n",
               symmetric ? "symmetric" : "naive", (long long)m, ms,
               (symmetric ? 1.0 : 2.0) * (double)m * n * n / ms * 1e-9);
        fflush(stdout);
    }
    measure_tiled<2>(m, n, X, C);
    measure_tiled<4>(m, n, X, C);
    measure_tiled<8>(m, n, X, C);
    measure_tiled<16>(m, n, X, C);
    measure_tiled<32>(m, n, X, C);
    must(cudaFree(C));
}

int main(int argc, char **argv) {
    csrec_error error;
    if (bench_no_device()) return 0;
    const int64_t m = argc > 2 ? atoll(argv[1]) : 202599, n = argc > 2 ? atoll(argv[2]) : 2475;
    const size_t bytes = (size_t)(m * n) * sizeof(float);
    float *X = device_floats(m * n), *other = device_floats(m * n);
    draw_rows<<<csrec_cuda_blocks(m * n, 256), 256>>>(m, n, X);
    const double copy_ms =
        median_ms([&] { must(cudaMemcpyAsync(other, X, bytes, cudaMemcpyDeviceToDevice)); });
    const double copy = 2.0 * (double)bytes / copy_ms * 1e3;
    must(cudaFree(other));
    row("copy", copy_ms, 2.0 * (double)bytes, copy);
    csrec_cuda_statistics *s;
    must(csrec_cuda_statistics_create(n, m, true, &s, &error), error);
    measure_covariance(m, n, X, s);
    measure_rows(m, n, X, s, copy);
    measure_documents(m / 16, n, X);
    csrec_cuda_statistics_destroy(s);
    must(cudaFree(X));
    return 0;
}
