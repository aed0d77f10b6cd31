/* cuda_operators.c - products of every operator on the device and on the CPU in the same run: the
 * results are compared first, then timed, vectors there and back included. A JSON object a line.
 *
 *     bench_cuda_operators [--small]
 *
 * transfer_ms: a vector of n up and one of m down alone, as each forward product needs them;
 * largest: of |cuda - cpu| over the largest |cpu|. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "kernels/device/pipe.h"
#include "problem.h"

static double uniform(uint64_t *counter) {
    return 2.0 * csrec_random_uniform(1, 7, (*counter)++) - 1.0;
}

static double *draw(int64_t n, uint64_t *counter) {
    double *v = bench_allocate(n, sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = uniform(counter);
    return v;
}

static csrec_operator *create(csrec_operator_spec spec, const char *backend) {
    csrec_operator *A;
    csrec_error error;
    spec.backend = backend;
    if (csrec_operator_create(&spec, &A, &error)) bench_fail(spec.name, error.text);
    return A;
}

typedef csrec_status (*product)(const csrec_operator *A, const double *in, double *out);

/* Milliseconds of a call, the shortest of at least three in about 0.3 s. */
static double time_ms(product call, const csrec_operator *A, const double *in, double *out) {
    double least = INFINITY, begin = bench_seconds();
    for (int k = 0; k < 3 || (k < 200 && bench_seconds() - begin < 0.3); k++) {
        double start = bench_seconds();
        bench_check(call(A, in, out), "product");
        least = fmin(least, bench_seconds() - start);
    }
    return 1e3 * least;
}

static double transfer_ms(int64_t n, int64_t m, const double *up, double *down) {
    csrec_cuda_pipe pipe;
    csrec_cuda_block block = {0};
    int64_t most = n > m ? n : m;
    csrec_cuda_block_take(&block, most, 8);
    bench_check(csrec_cuda_block_create(&block, "a transfer", NULL), "memory");
    csrec_cuda_pipe_open((size_t)most * 8, &pipe);
    double least = INFINITY;
    for (int k = 0; k < 10; k++) {
        double start = bench_seconds();
        bench_check(csrec_cuda_pipe_send(&pipe, block.base, up, (size_t)n * 8, NULL), "up");
        bench_check(csrec_cuda_pipe_receive(&pipe, down, block.base, (size_t)m * 8, NULL), "down");
        least = fmin(least, bench_seconds() - start);
    }
    csrec_cuda_pipe_destroy(&pipe);
    csrec_cuda_block_destroy(&block);
    return 1e3 * least;
}

static double largest_difference(int64_t n, const double *a, const double *b) {
    double difference = 0.0, size = 0.0;
    for (int64_t i = 0; i < n; i++) {
        difference = fmax(difference, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return size > 0.0 ? difference / size : difference;
}

/* One product on both; the results are compared before either is timed. */
static void measure(const csrec_operator_spec *spec, const char *what, const csrec_operator *A[2],
                    product call, bool forward) {
    int64_t m, n;
    uint64_t counter = 0;
    csrec_operator_size(A[0], &m, &n);
    int64_t in = forward ? n : m, out = forward ? m : n;
    double *v = draw(in, &counter), *to[2] = {draw(out, &counter), draw(out, &counter)};
    for (int k = 0; k < 2; k++) bench_check(call(A[k], v, to[k]), what);
    double difference = largest_difference(out, to[1], to[0]);
    bool same = memcmp(to[0], to[1], (size_t)out * sizeof **to) == 0;
    double cpu = time_ms(call, A[0], v, to[0]), cuda = time_ms(call, A[1], v, to[1]);
    printf("{\"operator\": \"%s\", \"what\": \"%s\", \"m\": %lld, \"n\": %lld, \"cuda_ms\": %.4f, "
           "\"cpu_ms\": %.3f, \"transfer_ms\": %.4f, \"cpu_threads\": %d, \"largest\": %.3g, "
           "\"same_bits\": %s}\n",
           spec->name, what, (long long)m, (long long)n, cuda, cpu, transfer_ms(in, out, v, to[0]),
           bench_cores(), difference, same ? "true" : "false");
    fflush(stdout);
    if (difference > 1e-10) bench_fail(spec->name, "the device differs from the CPU");
    free(v);
    free(to[0]);
    free(to[1]);
}

/* The CPU finds the norms of wavelets anew for every correlation, in seconds. */
static void measure_all(csrec_operator_spec spec) {
    csrec_operator *A[2] = {create(spec, "cpu"), create(spec, "cuda")};
    const csrec_operator *both[2] = {A[0], A[1]};
    measure(&spec, "forward", both, csrec_operator_forward, true);
    measure(&spec, "adjoint", both, csrec_operator_adjoint, false);
    if (strcmp(spec.name, "wavelet") != 0)
        measure(&spec, "correlate", both, csrec_operator_correlate, false);
    csrec_operator_destroy(A[1]);
    csrec_operator_destroy(A[0]);
}

static void measure_frames(int64_t side) {
    csrec_measurement m = bench_sampled(side, 1, CSREC_F64);
    csrec_operator_spec spec = {.shape = &m.shape, .m = m.n, .index = m.index};
    spec.name = "mask";
    measure_all(spec);
    spec.name = "wavelet";
    spec.kind = "cdf97";
    measure_all(spec);
    spec.name = "dct";
    for (spec.block = 8; spec.block <= 32; spec.block *= 2) {
        spec.step = spec.block / 2;
        measure_all(spec);
    }
    csrec_measurement_clear(&m);
}

static void measure_dense(int64_t m, int64_t n) {
    uint64_t counter = 0;
    double *matrix = draw(m * n, &counter);
    measure_all((csrec_operator_spec){.name = "dense", .m = m, .n = n, .matrix = matrix});
    free(matrix);
}

/* 32 filters of 8 x 8 at every place of a picture. */
static void measure_conv(int64_t side) {
    enum { FILTERS = 32, EDGE = 8 };
    const int64_t kernel[] = {EDGE, EDGE};
    csrec_measurement m = bench_sampled(side, 1, CSREC_F64);
    uint64_t counter = 0;
    double *filters = draw(FILTERS * EDGE * EDGE, &counter);
    measure_all((csrec_operator_spec){.name = "conv",
                                      .shape = &m.shape,
                                      .m = m.n,
                                      .index = m.index,
                                      .filters = filters,
                                      .n_filters = FILTERS,
                                      .kernel = kernel,
                                      .threads = bench_cores()});
    free(filters);
    csrec_measurement_clear(&m);
}

static void measure_haar(int levels) {
    bench_problem p = bench_problem_create(BENCH_NOISE, levels, (INT64_C(1) << levels) / 4, 1);
    measure_all((csrec_operator_spec){.name = "haar",
                                      .m = p.n,
                                      .levels = p.levels,
                                      .rows = p.rows,
                                      .columns = CSREC_COLUMNS_PAPER});
    bench_problem_destroy(&p);
}

/* Of a picture: half of Hadamard's rows, of the frequencies for four coils, a blur by 9 x 9, a
 * matrix of 64 rows for each block of 16 x 16. */
static void measure_measuring(int64_t side) {
    enum { COILS = 4, EDGE = 9, BLOCK = 16, ROWS = 64 };
    static const int64_t kernel[] = {EDGE, EDGE}, block[] = {BLOCK, BLOCK};
    const csrec_shape shape = {2, {side, side}};
    const int64_t n = side * side;
    uint64_t counter = 0;
    int64_t *index = bench_allocate(n / 2, sizeof *index);
    double *coils = draw(2 * COILS * n, &counter), *h = draw(EDGE * EDGE, &counter);
    double *matrix = draw(ROWS * BLOCK * BLOCK, &counter);
    for (int64_t k = 0; k < n / 2; k++) index[k] = 2 * k;
    measure_all((csrec_operator_spec){
        .name = "hadamard", .shape = &shape, .m = n / 2, .index = index, .scrambled = true});
    measure_all((csrec_operator_spec){.name = "fourier",
                                      .shape = &shape,
                                      .m = n / 2,
                                      .index = index,
                                      .complex_signal = true,
                                      .coils = coils,
                                      .n_coils = COILS});
    measure_all((csrec_operator_spec){
        .name = "matrix", .shape = &shape, .m = ROWS, .matrix = matrix, .kernel = block});
    /* norms of a blur take a product a column */
    const csrec_operator_spec blur = {
        .name = "blur", .shape = &shape, .filters = h, .kernel = kernel, .m = n};
    csrec_operator *A[2] = {create(blur, "cpu"), create(blur, "cuda")};
    const csrec_operator *both[2] = {A[0], A[1]};
    measure(&blur, "forward", both, csrec_operator_forward, true);
    measure(&blur, "adjoint", both, csrec_operator_adjoint, false);
    for (int k = 0; k < 2; k++) csrec_operator_destroy(A[k]);
    free(index);
    free(coils);
    free(h);
    free(matrix);
}

int main(int argc, char **argv) {
    bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    if (bench_no_device()) return 0;
    measure_dense(256, 1024);
    if (!small) measure_dense(4096, 16384);
    measure_frames(small ? 64 : 512);
    if (!small) measure_frames(1024);
    measure_measuring(small ? 64 : 512);
    if (!small) measure_measuring(1024);
    measure_conv(small ? 64 : 512);
    measure_haar(small ? 12 : 20);
    if (!small) measure_haar(23);
    return 0;
}
