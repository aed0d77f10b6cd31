/* SPDX-License-Identifier: BSD-3-Clause */
/* raytrace.c - a ray tracer that traces only some pixels and writes them as a measurement file:
 * those that a Poisson-disc pattern asks for, or, with --adaptive, those where csrec_adaptive
 * expects the largest errors. With --full it traces them all and writes a PNG. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "csrec.h"
#include "scene.h"

static const char usage[] =
    "Usage: raytrace -o scan.npz [OPTION...]\n"
    "       raytrace --full -o truth.png [OPTION...]\n"
    "  -o, --output FILE  measurement file to write, .npz; with --full a PNG\n"
    "  -a, --adaptive     trace in rounds: a fifth of the pixels evenly, then where a recovery of\n"
    "                     what is traced expects errors (default: a Poisson-disc pattern)\n"
    "  -f, --full         trace all pixels\n"
    "  -g, --guides       add albedo, normal and depth of all pixels, which need no light\n"
    "  -r, --rate R       share of the pixels to trace, 0 < R <= 1 (0.25)\n"
    "  -k, --rays K       camera rays a pixel, a square number (36)\n"
    "  -W, --width W      of the picture (512)\n"
    "  -H, --height H     of the picture (512)\n"
    "  -s, --seed S       of the pixels to trace (1)\n"
    "  -h, --help         show this text and exit\n";

typedef struct options {
    int64_t width, height, rays;
    double rate;
    uint64_t seed;
    bool full, adaptive, guides;
    const char *output;
} options;

/* Reads a whole word as a number in [low, high]. */
static bool parse_number(const char *word, double low, double high, double *value) {
    char *end;
    errno = 0;
    *value = strtod(word, &end);
    return end != word && !*end && !errno && *value >= low && *value <= high;
}

static bool parse_count(const char *word, double high, int64_t *value) {
    double number;
    if (!parse_number(word, 1, high, &number) || number != floor(number)) return false;
    *value = (int64_t)number;
    return true;
}

static bool is(const char *word, const char *brief, const char *name) {
    return strcmp(word, brief) == 0 || strcmp(word, name) == 0;
}

static bool parse_switch(const char *name, options *chosen) {
    if (is(name, "-a", "--adaptive")) return chosen->adaptive = true;
    if (is(name, "-g", "--guides")) return chosen->guides = true;
    return is(name, "-f", "--full") && (chosen->full = true);
}

static bool parse_option(const char *name, const char *word, options *chosen) {
    int64_t seed;
    if (is(name, "-W", "--width")) return parse_count(word, 32768, &chosen->width);
    if (is(name, "-H", "--height")) return parse_count(word, 32768, &chosen->height);
    if (is(name, "-k", "--rays")) return parse_count(word, 4096, &chosen->rays);
    if (is(name, "-r", "--rate")) return parse_number(word, 1e-9, 1, &chosen->rate);
    if (is(name, "-o", "--output")) return (chosen->output = word) != NULL;
    if (!is(name, "-s", "--seed") || !parse_count(word, 9e15, &seed)) return false;
    chosen->seed = (uint64_t)seed;
    return true;
}

static bool parse(int argc, char **argv, options *chosen) {
    *chosen = (options){.width = 512, .height = 512, .rays = 36, .rate = 0.25, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (parse_switch(argv[i], chosen)) continue;
        if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], chosen)) {
            fprintf(stderr, "raytrace: bad option or value at '%s'\n%s", argv[i], usage);
            return false;
        }
        i++;
    }
    const char *wrong = !chosen->output                    ? "no output file, give -o FILE"
                        : chosen->full && chosen->adaptive ? "--full leaves nothing to choose"
                                                           : NULL;
    if (wrong) fprintf(stderr, "raytrace: %s\n%s", wrong, usage);
    return !wrong;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The instrument, and what it did. */
typedef struct tracer {
    const options *chosen;
    int64_t pixels, rays;
    double tracing, choosing; /* seconds */
} tracer;

/* Traces n pixels: index[k], or pixel k where index is NULL. */
static void trace(tracer *t, int64_t n, const int64_t *index, uint8_t *rgb) {
    camera view = camera_make(t->chosen->width, t->chosen->height);
    double start = now();
    int64_t rays = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : rays)
    for (int64_t k = 0; k < n; k++) {
        int64_t pixel = index ? index[k] : k;
        rays += scene_trace_pixel(&view, pixel / view.width, pixel % view.width,
                                  (int)t->chosen->rays, 1, rgb + 3 * k);
    }
    t->pixels += n;
    t->rays += rays;
    t->tracing += now() - start;
}

/* A csrec_measure_fn. */
static csrec_status measure(int64_t n, const int64_t *index, double *y, void *context) {
    uint8_t *rgb = malloc((size_t)(3 * n));
    if (!rgb) return CSREC_MEMORY;
    trace(context, n, index, rgb);
    for (int64_t i = 0; i < 3 * n; i++) y[i] = rgb[i];
    free(rgb);
    return CSREC_OK;
}

static csrec_status trace_full(tracer *t, csrec_error *error) {
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {t->chosen->height, t->chosen->width, 3}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &image.pixels);
    if (status != CSREC_OK) return status;
    trace(t, t->chosen->height * t->chosen->width, NULL, image.pixels.data);
    status = csrec_image_write(t->chosen->output, &image, error);
    csrec_image_clear(&image);
    return status;
}

/* A line on the terminal after each round. */
static bool show(const csrec_progress *progress, void *context) {
    int64_t *shown = context;
    if (*shown == progress->done) return false;
    *shown = progress->done;
    fprintf(stderr, "\r\033[Kraytrace: %lld of %lld pixels", (long long)progress->done,
            (long long)progress->total);
    return false;
}

static csrec_status trace_rounds(tracer *t, int64_t count, csrec_measurement *scan,
                                 csrec_error *error) {
    bool terminal = isatty(STDERR_FILENO);
    int64_t shown = -1;
    csrec_adaptive_options rounds = {.budget = count,
                                     .seed = t->chosen->seed,
                                     .progress = terminal ? show : NULL,
                                     .context = &shown};
    csrec_status status = csrec_adaptive(&rounds, measure, t, scan, NULL, error);
    if (terminal) fputs("\r\033[K", stderr);
    return status;
}

static csrec_status trace_pattern(tracer *t, int64_t count, csrec_measurement *scan,
                                  csrec_error *error) {
    csrec_sampling sampling = {0};
    csrec_status status = csrec_sampling_create(&scan->shape, CSREC_PATTERN_POISSON, count,
                                                t->chosen->seed, &sampling, error);
    if (status != CSREC_OK) return status;
    scan->n = sampling.n;
    scan->index = sampling.index; /* which the measurement frees */
    scan->y = malloc((size_t)(3 * scan->n) * sizeof *scan->y);
    return scan->y ? measure(scan->n, scan->index, scan->y, t) : CSREC_MEMORY;
}

static csrec_status add_guides(const tracer *t, csrec_measurement *scan, csrec_error *error) {
    const camera view = camera_make(t->chosen->width, t->chosen->height);
    const int64_t n = view.width * view.height;
    double *albedo = malloc((size_t)(7 * n) * sizeof *albedo);
    if (!albedo) return CSREC_MEMORY;
    double *normal = albedo + 3 * n, *depth = albedo + 6 * n;
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t k = 0; k < n; k++) {
        const surface_of at = scene_look(&view, k / view.width, k % view.width, 9);
        const double values[6] = {at.albedo.x, at.albedo.y, at.albedo.z,
                                  at.normal.x, at.normal.y, at.normal.z};
        memcpy(albedo + 3 * k, values, 3 * sizeof *values);
        memcpy(normal + 3 * k, values + 3, 3 * sizeof *values);
        depth[k] = at.depth;
    }
    csrec_status status = csrec_guides_add(scan, "albedo", 3, albedo, error);
    if (status == CSREC_OK) status = csrec_guides_add(scan, "normal", 3, normal, error);
    if (status == CSREC_OK) status = csrec_guides_add(scan, "depth", 1, depth, error);
    free(albedo);
    return status;
}

static csrec_status trace_part(tracer *t, csrec_error *error) {
    const options *chosen = t->chosen;
    csrec_measurement scan = {.shape = {2, {chosen->height, chosen->width}},
                              .channels = 3,
                              .dtype = CSREC_U8,
                              .scale = {0, 255}};
    int64_t count = (int64_t)(chosen->rate * (double)(chosen->height * chosen->width));
    if (count < 1) count = 1;
    double start = now();
    csrec_status status = chosen->adaptive ? trace_rounds(t, count, &scan, error)
                                           : trace_pattern(t, count, &scan, error);
    t->choosing = now() - start - t->tracing;
    if (status == CSREC_OK && chosen->guides) status = add_guides(t, &scan, error);
    if (status == CSREC_OK) status = csrec_measurement_write(chosen->output, &scan, false, error);
    csrec_measurement_clear(&scan);
    return status;
}

/* One line for people and for samples/demo.sh, which reads the numbers by their place. */
static void report(const tracer *t) {
    printf("raytrace: %lld of %lld pixels, %lld rays, %.2f s tracing, %.2f s choosing pixels\n",
           (long long)t->pixels, (long long)(t->chosen->width * t->chosen->height),
           (long long)t->rays, t->tracing, t->choosing);
}

int main(int argc, char **argv) {
    options chosen;
    csrec_error error = {""};
    if (argc == 2 && is(argv[1], "-h", "--help")) return fputs(usage, stdout) < 0;
    if (!parse(argc, argv, &chosen)) return 2;
    tracer t = {.chosen = &chosen};
    csrec_status status = chosen.full ? trace_full(&t, &error) : trace_part(&t, &error);
    if (status == CSREC_OK) {
        report(&t);
        return 0;
    }
    fprintf(stderr, "raytrace: %s\n", *error.text ? error.text : csrec_status_text(status));
    return 1;
}
