/* cuda_gaussian.c - recoveries by Gaussian groups (solver gaussian) with backend cuda and on the
 * CPU in the same run, both efforts, sampled at 25 %: pictures of one channel, a picture of three
 * colours, without noise and with, and a volume. A JSON object a line.
 *
 *     bench_cuda_gaussian [SIDE [CHANNELS]]
 *
 * SIDE: pictures of this edge alone, on the device alone.
 *
 * ms: all of csrec_recover, the least of some calls after a first one, which makes the device
 * ready; of these start_ms before the rounds, rounds_ms from the picture on the device to the
 * delivery. A volume starts on
 * the CPU. psnr: over all channels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "method/gaussian/gaussian.h"
#include "problem.h"

typedef struct scene {
    csrec_measurement m;
    double *truth, *signal;
    int64_t side, entries; /* side: of a slice */
} scene;

/* A picture, in a volume moving from slice to slice. Colours are its gray value and, weaker, the
 * picture turned by a quarter. */
static double value_at(const scene *s, int64_t entry, int64_t channel) {
    int64_t x = entry % s->side, y = entry / s->side % s->side, z = entry / s->side / s->side;
    double u = fmod(((double)x + 0.5 + 0.4 * (double)z) / (double)s->side, 1.0);
    double v = fmod(((double)y + 0.5 + 1.3 * (double)z) / (double)s->side, 1.0);
    double gray = bench_picture_value(u, v, s->side);
    return channel == 0 ? gray : 0.75 * gray + 0.25 * bench_picture_value(v, u, s->side * channel);
}

/* depth 1: a picture; otherwise side^2 depth is a square, of whose pixels the samples are those of
 * the volume. */
static scene scene_create(int64_t depth, int64_t side, int64_t channels, double sigma) {
    scene s = {.side = side, .entries = depth * side * side};
    s.m = bench_sampled((int64_t)rint(sqrt((double)s.entries)), channels, CSREC_F64);
    s.m.scale[1] = 255.0;
    s.m.sigma = sigma;
    if (depth > 1) s.m.shape = (csrec_shape){3, {depth, side, side}};
    s.truth = malloc((size_t)(s.entries * channels) * sizeof *s.truth);
    s.signal = malloc((size_t)(s.entries * channels) * sizeof *s.signal);
    for (int64_t k = 0; k < s.entries * channels; k++)
        s.truth[k] = value_at(&s, k / channels, k % channels);
    for (int64_t k = 0; k < s.m.n * channels; k++)
        s.m.y[k] = s.truth[s.m.index[k / channels] * channels + k % channels] +
                   sigma * csrec_random_normal(1, 0, (uint64_t)k);
    return s;
}

static void scene_clear(scene *s) {
    csrec_measurement_clear(&s->m);
    free(s->truth);
    free(s->signal);
}

static double psnr(const scene *s) {
    double sum = 0.0, n = (double)(s->entries * s->m.channels);
    for (int64_t i = 0; i < s->entries * s->m.channels; i++) {
        double e = s->signal[i] - s->truth[i];
        sum += e * e;
    }
    return 10.0 * log10(255.0 * 255.0 * n / sum);
}

/* When the stages began. */
typedef struct stages {
    double begin, rounds, end;
} stages;

static bool note(const csrec_progress *progress, void *context) {
    stages *s = context;
    if (s->rounds == 0.0 && strcmp(progress->stage, CSREC_STAGE_GROUPS) == 0)
        s->rounds = bench_seconds();
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

static void measure(scene *s, double effort, const char *backend, int repeats) {
    stages t = run(s, backend, effort, repeats);
    printf("{\"side\": %lld, \"depth\": %lld, \"channels\": %lld, \"sigma\": %g, \"effort\": %g, "
           "\"backend\": \"%s\", \"cpu_threads\": %d, \"ms\": %.2f, \"start_ms\": %.2f, "
           "\"rounds_ms\": %.2f, \"psnr\": %.3f}\n",
           (long long)s->side, (long long)(s->entries / s->side / s->side),
           (long long)s->m.channels, s->m.sigma, effort, backend, bench_cores(),
           1e3 * (t.end - t.begin), 1e3 * (t.rounds - t.begin), 1e3 * (t.end - t.rounds), psnr(s));
    fflush(stdout);
}

static void measure_scene(int64_t depth, int64_t side, int64_t channels, double sigma, int repeats,
                          bool beside) {
    scene s = scene_create(depth, side, channels, sigma);
    for (int effort = 0; effort < 2; effort++) {
        measure(&s, effort, "cuda", repeats);
        if (beside) measure(&s, effort, "cpu", 1);
    }
    scene_clear(&s);
}

int main(int argc, char **argv) {
    if (bench_no_device()) return 0;
    if (argc > 1) {
        measure_scene(1, atoll(argv[1]), argc > 2 ? atoll(argv[2]) : 1, 0.0, 5, false);
        return 0;
    }
    measure_scene(1, 256, 1, 0.0, 5, true);
    measure_scene(1, 512, 1, 0.0, 5, true);
    measure_scene(1, 1024, 1, 0.0, 2, false);
    measure_scene(1, 256, 3, 0.0, 5, true);
    measure_scene(1, 512, 3, 0.0, 5, true);
    measure_scene(1, 512, 3, 10.0, 3, true);
    measure_scene(64, 64, 1, 0.0, 3, true);
    return 0;
}
