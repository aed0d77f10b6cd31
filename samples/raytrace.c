/* raytrace.c - a ray tracer that traces only the pixels a Poisson-disc pattern asks for and writes
 * them as a measurement file; with --full it traces them all and writes a PNG. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "csrec.h"
#include "scene.h"

static const char usage[] =
    "raytrace [--width W] [--height H] [--rate R] [--seed S] [--rays K] -o scan.npz\n"
    "raytrace --full [--width W] [--height H] [--rays K] -o truth.png\n"
    "  --rate R   share of the pixels to trace, 0 < R <= 1 (0.25)\n"
    "  --rays K   camera rays a pixel, a square number (36)\n";

typedef struct options {
    int64_t width, height, rays;
    double rate;
    uint64_t seed;
    bool full;
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

static bool parse_option(const char *name, const char *word, options *chosen) {
    int64_t seed;
    if (strcmp(name, "--width") == 0) return parse_count(word, 32768, &chosen->width);
    if (strcmp(name, "--height") == 0) return parse_count(word, 32768, &chosen->height);
    if (strcmp(name, "--rays") == 0) return parse_count(word, 4096, &chosen->rays);
    if (strcmp(name, "--rate") == 0) return parse_number(word, 1e-9, 1, &chosen->rate);
    if (strcmp(name, "-o") == 0) return (chosen->output = word) != NULL;
    if (strcmp(name, "--seed") != 0 || !parse_count(word, 9e15, &seed)) return false;
    chosen->seed = (uint64_t)seed;
    return true;
}

static bool parse(int argc, char **argv, options *chosen) {
    *chosen = (options){.width = 512, .height = 512, .rays = 36, .rate = 0.25, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--full") == 0) {
            chosen->full = true;
        } else if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], chosen)) {
            fprintf(stderr, "raytrace: bad option or value at '%s'\n%s", argv[i], usage);
            return false;
        } else {
            i++;
        }
    }
    if (!chosen->output) fprintf(stderr, "raytrace: no output file, give -o FILE\n%s", usage);
    return chosen->output != NULL;
}

/* Traces n pixels: index[k], or pixel k where index is NULL. Returns the rays it took. */
static int64_t trace(const options *chosen, int64_t n, const int64_t *index, uint8_t *rgb) {
    camera view = camera_make(chosen->width, chosen->height);
    int64_t rays = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : rays)
    for (int64_t k = 0; k < n; k++) {
        int64_t pixel = index ? index[k] : k;
        rays += scene_trace_pixel(&view, pixel / view.width, pixel % view.width, (int)chosen->rays,
                                  1, rgb + 3 * k);
    }
    return rays;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* One line for people and for samples/demo.sh, which reads the numbers by their place. */
static void report(const options *chosen, int64_t n, int64_t rays, double seconds) {
    printf("raytrace: %lld of %lld pixels, %lld rays, %.2f s\n", (long long)n,
           (long long)(chosen->width * chosen->height), (long long)rays, seconds);
}

static csrec_status trace_full(const options *chosen, csrec_error *error) {
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {chosen->height, chosen->width, 3}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &image.pixels);
    if (status != CSREC_OK) return status;
    double start = now();
    int64_t pixels = chosen->width * chosen->height;
    int64_t rays = trace(chosen, pixels, NULL, image.pixels.data);
    report(chosen, pixels, rays, now() - start);
    status = csrec_image_write(chosen->output, &image, error);
    csrec_image_clear(&image);
    return status;
}

static csrec_status trace_samples(const options *chosen, const csrec_sampling *sampling,
                                  csrec_error *error) {
    int64_t n = sampling->n;
    uint8_t *rgb = malloc((size_t)(3 * n));
    csrec_measurement scan = {.shape = {2, {chosen->height, chosen->width}},
                              .n = n,
                              .channels = 3,
                              .index = sampling->index,
                              .y = malloc((size_t)(3 * n) * sizeof(double)),
                              .dtype = CSREC_U8,
                              .scale = {0, 255}};
    csrec_status status = rgb && scan.y ? CSREC_OK : CSREC_MEMORY;
    if (status == CSREC_OK) {
        double start = now();
        int64_t rays = trace(chosen, n, sampling->index, rgb);
        for (int64_t i = 0; i < 3 * n; i++) scan.y[i] = rgb[i];
        report(chosen, n, rays, now() - start);
        status = csrec_measurement_write(chosen->output, &scan, false, error);
    }
    free(scan.y);
    free(rgb);
    return status;
}

static csrec_status trace_partial(const options *chosen, csrec_error *error) {
    csrec_shape shape = {2, {chosen->height, chosen->width}};
    csrec_sampling sampling = {0};
    int64_t count = (int64_t)(chosen->rate * (double)(chosen->height * chosen->width));
    csrec_status status = csrec_sampling_create(
        &shape, CSREC_PATTERN_POISSON, count > 0 ? count : 1, chosen->seed, &sampling, error);
    if (status == CSREC_OK) status = trace_samples(chosen, &sampling, error);
    csrec_sampling_clear(&sampling);
    return status;
}

int main(int argc, char **argv) {
    options chosen;
    csrec_error error = {""};
    if (!parse(argc, argv, &chosen)) return 2;
    csrec_status status =
        chosen.full ? trace_full(&chosen, &error) : trace_partial(&chosen, &error);
    if (status == CSREC_OK) return 0;
    fprintf(stderr, "raytrace: %s\n", *error.text ? error.text : csrec_status_text(status));
    return 1;
}
