/* cuda_gaussian.c - recoveries by Gaussian groups (solver gaussian) with backend cuda and on the
 * CPU in the same run, both efforts, on a picture sampled at 25 %. A JSON object a line.
 *
 *     bench_cuda_gaussian [SIDE]
 *
 * SIDE: pictures of this edge alone, on the device alone.
 *
 * ms: all of csrec_recover, the least of some calls after a first one, which makes the device
 * ready; of these grids_ms before the thresholding (effort 1: adaptive grids), threshold_ms for the
 * rest of the start, rounds_ms from the picture on the device to the delivery. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "problem.h"

typedef struct scene {
    csrec_measurement m;
    double *truth, *signal;
    int64_t area;
} scene;

static scene scene_create(int64_t side) {
    scene s = {.m = bench_sampled(side, 1, CSREC_F64), .area = side * side};
    s.m.scale[1] = 255.0;
    s.truth = malloc((size_t)s.area * sizeof *s.truth);
    s.signal = malloc((size_t)s.area * sizeof *s.signal);
    for (int64_t i = 0; i < s.area; i++)
        s.truth[i] = bench_picture_value(((double)(i % side) + 0.5) / (double)side,
                                         ((double)(i / side) + 0.5) / (double)side, side);
    for (int64_t k = 0; k < s.m.n; k++) s.m.y[k] = s.truth[s.m.index[k]];
    return s;
}

static double psnr(const scene *s) {
    double sum = 0.0;
    for (int64_t i = 0; i < s->area; i++) {
        double e = s->signal[i] - s->truth[i];
        sum += e * e;
    }
    return 10.0 * log10(255.0 * 255.0 * (double)s->area / sum);
}

/* When the stages began. */
typedef struct stages {
    double begin, threshold, rounds, end;
} stages;

static bool note(const csrec_progress *progress, void *context) {
    stages *s = context;
    double now = bench_seconds();
    if (s->threshold == 0.0 && strcmp(progress->stage, "threshold") == 0) s->threshold = now;
    if (s->rounds == 0.0 && strcmp(progress->stage, "gaussian") == 0) s->rounds = now;
    return false;
}

static stages run(scene *s, const char *backend, double effort, int repeats) {
    csrec_setting set = {"effort", effort};
    stages least = {.end = INFINITY};
    for (int repeat = 0; repeat < repeats; repeat++) {
        stages now = {.begin = bench_seconds()};
        csrec_recover_options options;
        csrec_recover_defaults(&options);
        options.solve.solver = "gaussian";
        options.solve.settings = &set;
        options.solve.n_settings = 1;
        options.solve.progress = note;
        options.solve.context = &now;
        options.backend = backend;
        bench_check(csrec_recover(&s->m, &options, s->signal, NULL, NULL, NULL), "recovery");
        now.end = bench_seconds();
        if (repeat > 0 || repeats == 1)
            if (now.end - now.begin < least.end - least.begin) least = now;
    }
    return least;
}

static void measure(scene *s, int64_t side, double effort, const char *backend, int repeats) {
    stages t = run(s, backend, effort, repeats);
    printf("{\"side\": %lld, \"effort\": %g, \"backend\": \"%s\", \"cpu_threads\": %d, "
           "\"ms\": %.2f, \"grids_ms\": %.2f, \"threshold_ms\": %.2f, \"rounds_ms\": %.2f, "
           "\"psnr\": %.3f}\n",
           (long long)side, effort, backend, bench_cores(), 1e3 * (t.end - t.begin),
           1e3 * (t.threshold - t.begin), 1e3 * (t.rounds - t.threshold), 1e3 * (t.end - t.rounds),
           psnr(s));
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (bench_no_device()) return 0;
    int64_t sides[] = {256, 512, 1024}, only = argc > 1 ? atoll(argv[1]) : 0;
    if (only > 0) sides[0] = only;
    for (int k = 0; k < (only > 0 ? 1 : 3); k++) {
        scene s = scene_create(sides[k]);
        for (int effort = 0; effort < 2; effort++) {
            measure(&s, sides[k], effort, "cuda", k < 2 ? 5 : 2);
            if (k < 2 && only == 0) measure(&s, sides[k], effort, "cpu", 1);
        }
        csrec_measurement_clear(&s.m);
        free(s.truth);
        free(s.signal);
    }
    return 0;
}
