/* SPDX-License-Identifier: BSD-3-Clause */
/* raytrace.c - a ray tracer that traces only some pixels and writes them as a measurement file:
 * those that a Poisson-disc pattern asks for, or, with --adaptive, those where csrec_adaptive
 * expects the largest errors. With --full it traces them all and writes a PNG. With --noisy a pixel
 * has a few random rays, as of a path tracer, and the file their numbers and deviations; with
 * --next pixels and numbers are those that cssample --next says. */
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
    "  -o, --output FILE  measurement file to write, .npz; with --full a PNG, or an .npy of light\n"
    "  -a, --adaptive     trace in rounds: a fifth of the pixels evenly, then where a recovery of\n"
    "                     what is traced expects errors (default: a Poisson-disc pattern)\n"
    "  -f, --full         trace all pixels\n"
    "  -l, --linear       write light, without bounds, and not what a display shows of it\n"
    "  -n, --noisy        light by random rays, as of a path tracer; with arrays of the number of "
    "rays\n"
    "                     of each pixel, and of the deviation of their mean (NaN where they do not "
    "tell)\n"
    "  -g, --guides       add albedo, normal and depth of all pixels, which need no light\n"
    "  -m, --motion       add where each pixel was in the frame before: rows and columns from "
    "here\n"
    "  -t, --time T       of a short animation, in frames (0)\n"
    "  -N, --next FILE    --noisy: trace the pixels and rays that cssample --next wrote, a .npz; "
    "with\n"
    "                     another --seed than before\n"
    "  -r, --rate R       share of the pixels to trace, 0 < R <= 1 (0.25)\n"
    "  -k, --rays K       camera rays a pixel, a square number (36); with --noisy any, or from A "
    "to B,\n"
    "                     A-B, at random (1)\n"
    "  -W, --width W      of the picture (512)\n"
    "  -H, --height H     of the picture (512)\n"
    "  -s, --seed S       of the pixels to trace, and of --noisy (1)\n"
    "  -h, --help         show this text and exit\n";

typedef struct options {
    int64_t width, height, rays, most; /* rays to most */
    double rate, time;
    uint64_t seed;
    bool full, adaptive, guides, linear, noisy, motion;
    const char *output, *next;
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

/* K, or A-B. */
static bool parse_rays(const char *word, options *chosen) {
    const char *dash = strchr(word, '-');
    char low[16] = "";
    if (!dash) return parse_count(word, 65536, &chosen->rays) && (chosen->most = chosen->rays) > 0;
    if (dash - word >= (ptrdiff_t)sizeof low) return false;
    memcpy(low, word, (size_t)(dash - word));
    return parse_count(low, 65536, &chosen->rays) && parse_count(dash + 1, 65536, &chosen->most) &&
           chosen->most >= chosen->rays;
}

static bool is(const char *word, const char *brief, const char *name) {
    return strcmp(word, brief) == 0 || strcmp(word, name) == 0;
}

static bool parse_switch(const char *name, options *chosen) {
    if (is(name, "-a", "--adaptive")) return chosen->adaptive = true;
    if (is(name, "-g", "--guides")) return chosen->guides = true;
    if (is(name, "-m", "--motion")) return chosen->motion = true;
    if (is(name, "-l", "--linear")) return chosen->linear = true;
    if (is(name, "-n", "--noisy")) return chosen->noisy = chosen->linear = true;
    return is(name, "-f", "--full") && (chosen->full = true);
}

static bool parse_option(const char *name, const char *word, options *chosen) {
    int64_t seed;
    if (is(name, "-W", "--width")) return parse_count(word, 32768, &chosen->width);
    if (is(name, "-H", "--height")) return parse_count(word, 32768, &chosen->height);
    if (is(name, "-k", "--rays")) return parse_rays(word, chosen);
    if (is(name, "-t", "--time")) return parse_number(word, -1e6, 1e6, &chosen->time);
    if (is(name, "-r", "--rate")) return parse_number(word, 1e-9, 1, &chosen->rate);
    if (is(name, "-o", "--output")) return (chosen->output = word) != NULL;
    if (is(name, "-N", "--next")) return (chosen->next = word) != NULL;
    if (!is(name, "-s", "--seed") || !parse_count(word, 9e15, &seed)) return false;
    chosen->seed = (uint64_t)seed;
    return true;
}

static bool ends(const char *path, const char *ending) {
    const size_t n = strlen(path), tail = strlen(ending);
    return n >= tail && strcmp(path + n - tail, ending) == 0;
}

static const char *contradiction(const options *chosen) {
    if (!chosen->output) return "no output file, give -o FILE";
    if (chosen->full && chosen->adaptive) return "--full leaves nothing to choose";
    if (chosen->full && chosen->linear != ends(chosen->output, ".npy"))
        return "--full writes a PNG, and with --linear or --noisy an .npy";
    if (chosen->adaptive && chosen->linear) return "--adaptive chooses by what a display shows";
    if (chosen->full && (chosen->guides || chosen->motion)) return "--full writes light alone";
    if (chosen->next && (!chosen->noisy || chosen->full)) return "--next is for --noisy alone";
    if (!chosen->noisy && chosen->most > chosen->rays) return "--rays A-B is for --noisy";
    return NULL;
}

static bool parse(int argc, char **argv, options *chosen) {
    *chosen = (options){.width = 512, .height = 512, .rate = 0.25, .seed = 1};
    for (int i = 1; i < argc; i++) {
        if (parse_switch(argv[i], chosen)) continue;
        if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], chosen)) {
            fprintf(stderr, "raytrace: bad option or value at '%s'\n%s", argv[i], usage);
            return false;
        }
        i++;
    }
    if (!chosen->rays) chosen->rays = chosen->most = chosen->noisy ? 1 : 36;
    const char *wrong = contradiction(chosen);
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

/* What is found of pixels: 3 values each, and of noisy ones rays and 3 deviations, else NULL. */
typedef struct findings {
    double *y, *rays, *deviation;
} findings;

static void put(vec value, double *to) {
    to[0] = value.x, to[1] = value.y, to[2] = value.z;
}

/* Deviation of the mean of `count` rays, by sums of them and of their squares. Of a single one, and
 * of rays that are all the same, as in a shadow, nothing is known. */
static double deviation_of(double count, double sum, double squares) {
    double variance = (squares - sum * sum / count) / (count - 1);
    return count > 1 && variance > 1e-12 * squares ? sqrt(variance / count) : NAN;
}

/* The mean of random rays, of the number that is found already, or a random one; returns rays as
 * scene_trace does. */
static int64_t trace_noisy(const options *chosen, const camera *view, int64_t pixel, int64_t k,
                           findings *found) {
    const double u = csrec_random_uniform(chosen->seed, (uint64_t)pixel, UINT64_MAX);
    const int64_t count =
        chosen->next ? (int64_t)found->rays[k]
                     : chosen->rays + (int64_t)(u * (double)(chosen->most - chosen->rays + 1));
    vec sum = {0, 0, 0}, squares = sum, light;
    int64_t rays = 0;
    for (int64_t i = 0; i < count; i++) {
        rays += scene_trace_random(view, pixel / view->width, pixel % view->width, i, chosen->seed,
                                   &light);
        sum = vec_add(sum, light);
        squares = vec_add(squares, vec_mul(light, light));
    }
    put(vec_scale(1 / (double)count, sum), found->y + 3 * k);
    if (!found->rays) return rays;
    double *d = found->deviation + 3 * k, n = found->rays[k] = (double)count;
    d[0] = deviation_of(n, sum.x, squares.x);
    d[1] = deviation_of(n, sum.y, squares.y);
    d[2] = deviation_of(n, sum.z, squares.z);
    return rays;
}

/* Light, or the values of 8 bits that a display shows. */
static int64_t trace_smooth(const options *chosen, const camera *view, int64_t pixel, double *y) {
    const int64_t row = pixel / view->width, column = pixel % view->width;
    uint8_t rgb[3] = {0};
    vec light;
    int64_t rays;
    if (chosen->linear) {
        rays = scene_trace(view, row, column, (int)chosen->rays, 1, &light);
        put(light, y);
        return rays;
    }
    rays = scene_trace_pixel(view, row, column, (int)chosen->rays, 1, rgb);
    for (int c = 0; c < 3; c++) y[c] = rgb[c];
    return rays;
}

static camera camera_of(const options *chosen, double time) {
    return camera_make(chosen->width, chosen->height, time);
}

/* Traces n pixels: index[k], or pixel k where index is NULL. */
static void trace(tracer *t, int64_t n, const int64_t *index, findings found) {
    camera view = camera_of(t->chosen, t->chosen->time);
    double start = now();
    int64_t rays = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : rays)
    for (int64_t k = 0; k < n; k++) {
        int64_t pixel = index ? index[k] : k;
        rays += t->chosen->noisy ? trace_noisy(t->chosen, &view, pixel, k, &found)
                                 : trace_smooth(t->chosen, &view, pixel, found.y + 3 * k);
    }
    t->pixels += n;
    t->rays += rays;
    t->tracing += now() - start;
}

/* A csrec_measure_fn. */
static csrec_status measure(int64_t n, const int64_t *index, double *y, void *context) {
    trace(context, n, index, (findings){.y = y});
    return CSREC_OK;
}

/* A picture of 8 bits, or, of light, an array of floats. */
static csrec_status write_full(const options *chosen, const double *y, csrec_error *error) {
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {chosen->height, chosen->width, 3}};
    csrec_status status =
        csrec_array_create(chosen->linear ? CSREC_F32 : CSREC_U8, &shape, &image.pixels);
    if (status != CSREC_OK) return status;
    float *light = image.pixels.data;
    uint8_t *shown = image.pixels.data;
    for (int64_t i = 0; i < 3 * chosen->height * chosen->width; i++)
        if (chosen->linear)
            light[i] = (float)y[i];
        else
            shown[i] = (uint8_t)y[i];
    status = chosen->linear ? csrec_array_write(chosen->output, &image.pixels, error)
                            : csrec_image_write(chosen->output, &image, error);
    csrec_image_clear(&image);
    return status;
}

static csrec_status trace_full(tracer *t, csrec_error *error) {
    const int64_t n = t->chosen->height * t->chosen->width;
    double *y = malloc((size_t)(3 * n) * sizeof *y);
    if (!y) return CSREC_MEMORY;
    trace(t, n, NULL, (findings){.y = y});
    csrec_status status = write_full(t->chosen, y, error);
    free(y);
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

/* For what is found of n pixels. */
static csrec_status take_room(const tracer *t, csrec_measurement *scan) {
    const size_t values = (size_t)(3 * scan->n);
    scan->y = malloc(values * sizeof *scan->y);
    if (t->chosen->noisy) {
        scan->rays = malloc((size_t)scan->n * sizeof *scan->rays);
        scan->deviation = malloc(values * sizeof *scan->deviation);
    }
    return scan->y && (!t->chosen->noisy || (scan->rays && scan->deviation)) ? CSREC_OK
                                                                             : CSREC_MEMORY;
}

static csrec_status list_pattern(const tracer *t, int64_t count, csrec_measurement *scan,
                                 csrec_error *error) {
    csrec_sampling sampling = {0};
    csrec_status status = csrec_sampling_create(&scan->shape, CSREC_PATTERN_POISSON, count,
                                                t->chosen->seed, &sampling, error);
    if (status != CSREC_OK) return status;
    scan->n = sampling.n;
    scan->index = sampling.index; /* which the measurement frees */
    return take_room(t, scan);
}

/* What cssample --next wrote: array `name`, one number for each pixel. */
static csrec_status read_next(const options *chosen, const char *name, csrec_array *numbers,
                              csrec_error *error) {
    csrec_status status = csrec_npz_read(chosen->next, name, numbers, error);
    if (status == CSREC_OK && numbers->dtype != CSREC_I64) {
        snprintf(error->text, sizeof error->text, "%s: array '%s': is not of int64", chosen->next,
                 name);
        status = CSREC_DATA;
    }
    return status;
}

static csrec_status list_next(const tracer *t, csrec_measurement *scan, csrec_error *error) {
    csrec_array index = {0}, rays = {0};
    csrec_status status = read_next(t->chosen, "index", &index, error);
    if (status == CSREC_OK) status = read_next(t->chosen, "rays", &rays, error);
    if (status == CSREC_OK && index.count != rays.count) status = CSREC_DATA;
    if (status == CSREC_OK) {
        scan->n = index.count;
        scan->index = index.data; /* which the measurement frees */
        index.data = NULL;
        status = take_room(t, scan);
    }
    for (int64_t k = 0; status == CSREC_OK && k < scan->n; k++) {
        scan->rays[k] = (double)((int64_t *)rays.data)[k];
        if (scan->rays[k] < 1 || scan->index[k] < 0 ||
            scan->index[k] >= t->chosen->width * t->chosen->height) {
            snprintf(error->text, sizeof error->text, "%s: pixel %lld is not of this picture",
                     t->chosen->next, (long long)scan->index[k]);
            status = CSREC_DATA;
        }
    }
    csrec_array_clear(&index);
    csrec_array_clear(&rays);
    return status;
}

static csrec_status add_guides(const tracer *t, csrec_measurement *scan, csrec_error *error) {
    const camera view = camera_of(t->chosen, t->chosen->time);
    const int64_t n = view.width * view.height;
    double *albedo = malloc((size_t)(7 * n) * sizeof *albedo);
    if (!albedo) return CSREC_MEMORY;
    double *normal = albedo + 3 * n, *depth = albedo + 6 * n;
#pragma omp parallel for schedule(dynamic, 64)
    for (int64_t k = 0; k < n; k++) {
        const surface_of at = scene_look(&view, k / view.width, k % view.width, 9);
        put(at.albedo, albedo + 3 * k);
        put(at.normal, normal + 3 * k);
        depth[k] = at.depth;
    }
    csrec_status status = csrec_guides_add(scan, "albedo", 3, albedo, error);
    if (status == CSREC_OK) status = csrec_guides_add(scan, "normal", 3, normal, error);
    if (status == CSREC_OK) status = csrec_guides_add(scan, "depth", 1, depth, error);
    free(albedo);
    return status;
}

static csrec_status add_motion(const tracer *t, csrec_measurement *scan, csrec_error *error) {
    const camera view = camera_of(t->chosen, t->chosen->time),
                 before = camera_of(t->chosen, t->chosen->time - 1);
    const int64_t n = view.width * view.height;
    double *motion = malloc((size_t)(2 * n) * sizeof *motion);
    if (!motion) return CSREC_MEMORY;
    for (int64_t k = 0; k < n; k++)
        scene_motion(&view, &before, k / view.width, k % view.width, motion + 2 * k);
    csrec_status status = csrec_guides_add(scan, "motion", 2, motion, error);
    free(motion);
    return status;
}

static csrec_status trace_part(tracer *t, csrec_error *error) {
    const options *chosen = t->chosen;
    csrec_measurement scan = {.shape = {2, {chosen->height, chosen->width}},
                              .channels = 3,
                              .dtype = chosen->linear ? CSREC_F32 : CSREC_U8,
                              .scale = {0, chosen->linear ? 0 : 255}};
    int64_t count = (int64_t)(chosen->rate * (double)(chosen->height * chosen->width));
    if (count < 1) count = 1;
    double start = now();
    csrec_status status = chosen->adaptive ? trace_rounds(t, count, &scan, error)
                          : chosen->next   ? list_next(t, &scan, error)
                                           : list_pattern(t, count, &scan, error);
    if (status == CSREC_OK && !chosen->adaptive)
        trace(t, scan.n, scan.index, (findings){scan.y, scan.rays, scan.deviation});
    t->choosing = now() - start - t->tracing;
    if (status == CSREC_OK && chosen->guides) status = add_guides(t, &scan, error);
    if (status == CSREC_OK && chosen->motion) status = add_motion(t, &scan, error);
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
