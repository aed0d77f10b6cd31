/* cuda_transform.cu - all inner products on the device against its copy bandwidth. One JSON object
 * a line.
 *
 * Bytes counted: rows and r read once, columns and values written once. */
#include <cmath>
#include <vector>

#include "device_timing.cuh"
#include "kernels/haar/transform.h"

/* Bytes a second, read and written, of a copy on the device. */
static double copy_bandwidth() {
    const size_t bytes = size_t(2) << 30;
    void *from, *to;
    must(cudaMalloc(&from, bytes));
    must(cudaMalloc(&to, bytes));
    must(cudaMemset(from, 1, bytes));
    double ms =
        median_ms([&] { must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); });
    must(cudaFree(from));
    must(cudaFree(to));
    return 2.0 * (double)bytes / (ms * 1e-3);
}

static uint64_t random_state = 88172645463325252u;

static double uniform() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

/* Each of about 4 n rows is sampled with probability 1/4; integers for values. */
static int sample(int64_t n, std::vector<uint64_t> *rows, std::vector<double> *r) {
    uint64_t row = 0;
    for (int64_t k = 0; k < n; k++) {
        row += 1 + (uint64_t)(std::log(1.0 - uniform()) / std::log(0.75));
        (*rows)[(size_t)k] = row;
        (*r)[(size_t)k] = std::floor((uniform() - 0.5) * 0x1p24);
    }
    int levels = 0;
    while (row >> levels) levels++;
    return levels;
}

static void bench_transform(int log_n, csrec_columns columns, double copy) {
    csrec_error error;
    const int64_t n = int64_t(1) << log_n;
    std::vector<uint64_t> rows((size_t)n);
    std::vector<double> r((size_t)n);
    int levels = sample(n, &rows, &r);
    uint64_t *d_rows, *d_column;
    double *d_r, *d_value;
    must(cudaMalloc(&d_rows, (size_t)n * 8));
    must(cudaMalloc(&d_r, (size_t)n * 8));
    must(cudaMalloc(&d_column, (size_t)n * 24));
    must(cudaMalloc(&d_value, (size_t)n * 24));
    must(cudaMemcpy(d_rows, rows.data(), (size_t)n * 8, cudaMemcpyHostToDevice));
    must(cudaMemcpy(d_r, r.data(), (size_t)n * 8, cudaMemcpyHostToDevice));
    csrec_cuda_transform *transform;
    must(csrec_cuda_transform_create(levels, n, columns, &transform, &error), error);
    double ms = median_ms([&] {
        must(csrec_cuda_transform_run(transform, d_rows, d_r, d_column, d_value, NULL, &error),
             error);
    });
    int64_t found;
    must(csrec_cuda_transform_wait(transform, &found, NULL, &error), error);
    double bytes = 16.0 * (double)(n + found), rate = bytes / (ms * 1e-3);
    printf("{\"bench\": \"transform\", \"columns\": \"%s\", \"log2_n\": %d, \"levels\": %d, "
           "\"found\": %lld, \"ms\": %.4f, \"bytes_a_sample\": %.2f, \"gb_s\": %.1f, "
           "\"copy_share\": %.3f}\n",
           csrec_columns_name(columns), log_n, levels, (long long)found, ms, bytes / (double)n,
           rate * 1e-9, rate / copy);
    fflush(stdout);
    csrec_cuda_transform_destroy(transform);
    cudaFree(d_rows);
    cudaFree(d_r);
    cudaFree(d_column);
    cudaFree(d_value);
}

/* With an argument: the transform of 2^argument samples alone, for a profiler. */
int main(int argc, char **argv) {
    csrec_error error;
    char text[256];
    must(csrec_cuda_use(&error), error);
    csrec_cuda_describe(0, text, sizeof text);
    if (argc > 1) {
        bench_transform(atoi(argv[1]), CSREC_COLUMNS_PAPER, 1.0);
        return 0;
    }
    double copy = copy_bandwidth();
    printf("{\"bench\": \"copy\", \"device\": \"%s\", \"gb_s\": %.1f}\n", text, copy * 1e-9);
    const int sizes[] = {20, 24, 26};
    for (int log_n : sizes) {
        bench_transform(log_n, CSREC_COLUMNS_PAPER, copy);
        bench_transform(log_n, CSREC_COLUMNS_TWO_SIDED, copy);
    }
    return 0;
}
