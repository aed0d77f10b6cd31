/* cuda_threshold.c - `--quality balanced` on the device and on the CPU in the same run, pictures
 * sampled at 25 %: milliseconds, PSNR of both and how far they differ. A JSON object a line.
 *
 *     bench_cuda_threshold */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "kernels/device/device.h"
#include "kernels/method/frames/shrink.h"
#include "operator/dct_shrink.h"
#include "problem.h"

static csrec_measurement picture(int64_t side, double *truth) {
    csrec_measurement m = bench_sampled(side, 1, CSREC_F64);
    for (int64_t i = 0; i < side * side; i++)
        truth[i] = bench_picture_value(((double)(i % side) + 0.5) / (double)side,
                                       ((double)(i / side) + 0.5) / (double)side, side);
    for (int64_t k = 0; k < m.n; k++) m.y[k] = truth[m.index[k]];
    return m;
}

/* Milliseconds of the 60 iterations alone, the shortest of a few. */
static double loop_ms(const csrec_measurement *m, int64_t side, const double *start) {
    enum { ROUNDS = 60 };
    csrec_cuda_shrink_spec spec = {side, side, 3, {8, 16, 32}, {4, 8, 16}, m->n, m->index};
    csrec_cuda_shrink *shrink;
    bench_check(csrec_cuda_shrink_create(&spec, &shrink, NULL), "shrink");
    double least = INFINITY;
    for (int repeat = 0; repeat < 5; repeat++) {
        bench_check(csrec_cuda_shrink_start(shrink, start, m->y, NULL), "start");
        bench_check(csrec_cuda_shrink_wait(shrink, NULL), "wait");
        double begin = bench_seconds();
        for (int k = 0; k < ROUNDS; k++) {
            csrec_cuda_shrink_round round = {
                .threshold = 60.0 * pow(0.05, k / (ROUNDS - 1.0)), .relax = 1.0, .impose = 1.0};
            for (int f = 0; f < 3; f++)
                csrec_dct_offset(spec.step[f], k, &round.down[f], &round.right[f]);
            bench_check(csrec_cuda_shrink_step(shrink, &round, NULL), "step");
        }
        bench_check(csrec_cuda_shrink_wait(shrink, NULL), "wait");
        least = fmin(least, bench_seconds() - begin);
    }
    csrec_cuda_shrink_destroy(shrink);
    return 1e3 * least;
}

static double recover_ms(const csrec_measurement *m, const char *backend, double *signal) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.basis = "dct";
    options.backend = backend;
    double least = INFINITY;
    for (int repeat = 0; repeat < 3; repeat++) {
        csrec_error error;
        double begin = bench_seconds();
        if (csrec_recover(m, &options, signal, NULL, NULL, &error)) bench_fail(backend, error.text);
        least = fmin(least, bench_seconds() - begin);
    }
    return 1e3 * least;
}

static double psnr(int64_t n, const double *a, const double *truth) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - truth[i]) * (a[i] - truth[i]);
    return 10.0 * log10(255.0 * 255.0 * (double)n / sum);
}

static void measure(int64_t side) {
    int64_t n = side * side;
    double *truth = malloc((size_t)n * sizeof *truth), *cpu = malloc((size_t)n * sizeof *cpu);
    double *cuda = malloc((size_t)n * sizeof *cuda), most = 0.0, squares = 0.0;
    csrec_measurement m = picture(side, truth);
    double cuda_ms = recover_ms(&m, "cuda", cuda), cpu_ms = recover_ms(&m, "cpu", cpu);
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(cuda[i] - cpu[i]));
        squares += (cuda[i] - cpu[i]) * (cuda[i] - cpu[i]);
    }
    printf(
        "{\"side\": %lld, \"loop_ms\": %.3f, \"cuda_ms\": %.2f, \"cpu_ms\": %.2f, "
        "\"cpu_threads\": %d, \"psnr_cuda\": %.3f, \"psnr_cpu\": %.3f, \"max_difference\": %.4g, "
        "\"rms_difference\": %.3g}\n",
        (long long)side, loop_ms(&m, side, cpu), cuda_ms, cpu_ms, bench_cores(),
        psnr(n, cuda, truth), psnr(n, cpu, truth), most, sqrt(squares / (double)n));
    fflush(stdout);
    csrec_measurement_clear(&m);
    free(truth);
    free(cpu);
    free(cuda);
}

int main(void) {
    csrec_error error;
    if (csrec_cuda_use(&error)) bench_fail("cuda", error.text);
    for (int64_t side = 256; side <= 1024; side *= 2) measure(side);
    return 0;
}
