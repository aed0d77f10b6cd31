/* SPDX-License-Identifier: BSD-3-Clause */
/* inputs.c - the files that commands of the handbook and the tools' help begin with, small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "csrec.h"

enum { HEIGHT = 32, WIDTH = 40, DEPTH = 80, FACES = 6 };

static void need(csrec_status status, const csrec_error *error) {
    if (status == CSREC_OK) return;
    fprintf(stderr, "inputs: %s\n", error->text);
    exit(1);
}

static double value(double u, double v, int channel) {
    return 0.3 + 0.2 * sin(5 * u + channel) + 0.2 * (v > 0.4 && u > 0.3) + 0.2 * v;
}

/* Pictures of other `which` look alike. known: the rest is transparent. */
static void write_sized(const char *name, int height, int width, int which,
                        const csrec_sampling *known) {
    csrec_error error;
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {height, width, 3}};
    need(csrec_array_create(CSREC_U8, &shape, &image.pixels), &error);
    uint8_t *pixel = image.pixels.data;
    for (int i = 0; i < height * width * 3; i++)
        pixel[i] = (uint8_t)(255 * value((double)(i / 3 % width) / width,
                                         (double)(i / 3 / width) / height, which + i % 3));
    if (known) image.alpha = calloc((size_t)(height * width), 1);
    for (int64_t k = 0; image.alpha && k < known->n; k++) image.alpha[known->index[k]] = 1;
    need(csrec_image_write(name, &image, &error), &error);
    csrec_image_clear(&image);
}

static void write_picture(const char *name, int which, const csrec_sampling *known) {
    write_sized(name, HEIGHT, WIDTH, which, known);
}

/* What write_scan samples. */
static void write_truth(const char *name) {
    csrec_error error;
    csrec_image image = {.bits = 8};
    need(csrec_array_create(CSREC_U8, &(csrec_shape){2, {HEIGHT, WIDTH}}, &image.pixels), &error);
    uint8_t *pixel = image.pixels.data;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        pixel[i] =
            (uint8_t)(255 * value((double)(i % WIDTH) / WIDTH, (double)(i / WIDTH) / HEIGHT, 0));
    need(csrec_image_write(name, &image, &error), &error);
    csrec_image_clear(&image);
}

static void write_mask(const char *name, const csrec_sampling *known) {
    csrec_error error;
    csrec_image image = {.bits = 8};
    need(csrec_array_create(CSREC_U8, &(csrec_shape){2, {HEIGHT, WIDTH}}, &image.pixels), &error);
    uint8_t *pixel = image.pixels.data;
    for (int64_t k = 0; k < known->n; k++) pixel[known->index[k]] = 255;
    need(csrec_image_write(name, &image, &error), &error);
    csrec_image_clear(&image);
}

static void write_volume(const char *name, int depth) {
    csrec_error error;
    csrec_array array;
    need(csrec_array_create(CSREC_F32, &(csrec_shape){3, {depth, HEIGHT, WIDTH}}, &array), &error);
    float *entry = array.data;
    for (int i = 0; i < depth * HEIGHT * WIDTH; i++)
        entry[i] = (float)value((double)(i % WIDTH) / WIDTH, (double)(i / WIDTH % HEIGHT) / HEIGHT,
                                i / (HEIGHT * WIDTH));
    need(csrec_array_write(name, &array, &error), &error);
    csrec_array_clear(&array);
}

/* What write_scan samples, and `unknown` elsewhere. */
static void write_gaps(const char *name, const csrec_sampling *known, float unknown) {
    csrec_error error;
    csrec_array array;
    need(csrec_array_create(CSREC_F32, &(csrec_shape){2, {HEIGHT, WIDTH}}, &array), &error);
    float *entry = array.data;
    for (int i = 0; i < HEIGHT * WIDTH; i++) entry[i] = unknown;
    for (int64_t k = 0; k < known->n; k++)
        entry[known->index[k]] = (float)value((double)(known->index[k] % WIDTH) / WIDTH,
                                              (double)(known->index[k] / WIDTH) / HEIGHT, 0);
    const csrec_image signal = {.pixels = array};
    csrec_files *files = NULL;
    need(csrec_files_create(NULL, &files, &error), &error);
    need(csrec_files_add_signal(files, name, csrec_format_of(name), &signal, NULL, &error), &error);
    need(csrec_files_commit(files, &error), &error);
    csrec_files_destroy(files);
    csrec_array_clear(&array);
}

/* Samples of what photo.png shows, in one channel. */
static void write_scan(const char *name, const csrec_sampling *known) {
    csrec_error error;
    csrec_measurement scan = {.shape = {2, {HEIGHT, WIDTH}},
                              .n = known->n,
                              .channels = 1,
                              .index = known->index,
                              .dtype = CSREC_U8,
                              .scale = {0, 255}};
    scan.y = malloc((size_t)known->n * sizeof *scan.y);
    for (int64_t k = 0; scan.y && k < known->n; k++)
        scan.y[k] = floor(255 * value((double)(known->index[k] % WIDTH) / WIDTH,
                                      (double)(known->index[k] / WIDTH) / HEIGHT, 0));
    need(csrec_measurement_write(name, &scan, false, &error), &error);
    free(scan.y);
}

static void write_folders(const csrec_sampling *known) {
    char name[32];
    mkdir("faces", 0777);
    mkdir("photos", 0777);
    mkdir("scans", 0777);
    for (int i = 0; i < FACES; i++) {
        snprintf(name, sizeof name, "faces/%d.png", i);
        write_picture(name, i, NULL);
    }
    write_picture("photos/a.png", 1, NULL);
    write_picture("photos/b.png", 4, NULL);
    write_scan("scans/a.npz", known);
    write_scan("scans/b.npz", known);
}

/* Heights at places that lie on no grid. */
static void write_points(const char *name) {
    FILE *file = fopen(name, "w");
    if (!file) exit(1);
    fputs("x,y,height\n", file);
    for (int i = 0; i < 40; i++) {
        double x = csrec_random_uniform(1, 0, 2 * i), y = csrec_random_uniform(1, 0, 2 * i + 1);
        fprintf(file, "%.3f,%.3f,%.4f\n", 5 * x, 3 * y, value(x, y, 0));
    }
    fclose(file);
}

int main(void) {
    csrec_error error;
    csrec_sampling known;
    need(csrec_sampling_create(&(csrec_shape){2, {HEIGHT, WIDTH}}, CSREC_PATTERN_POISSON,
                               HEIGHT * WIDTH / 4, 1, &known, &error),
         &error);
    write_picture("photo.png", 0, NULL);
    write_sized("photo1.png", HEIGHT / 2, WIDTH / 2, 1, NULL); /* filters are learned from these */
    write_sized("photo2.png", HEIGHT / 2, WIDTH / 2, 2, NULL);
    write_truth("truth.png");
    write_truth("error.png"); /* a density of places to measure next */
    write_picture("holes.png", 0, &known);
    write_mask("mask.png", &known);
    write_gaps("gaps.npy", &known, NAN);
    if (csrec_format_of("terrain.tif")->uses) write_gaps("terrain.tif", &known, NAN);
    if (csrec_format_of("sky.fits")->uses) write_gaps("sky.fits", &known, NAN);
    if (csrec_format_of("render.exr")->uses) write_gaps("render.exr", &known, NAN);
    if (csrec_format_of("field.h5")->uses) write_gaps("field.h5:/entry/data", &known, NAN);
    if (csrec_format_of("ocean.nc")->uses) write_gaps("ocean.nc:sst", &known, NAN);
    write_gaps("depth.npy", &known, 0.0f);
    write_points("points.csv");
    write_volume("volume.npy", DEPTH);
    write_volume("faces.npy", FACES);
    write_volume("coils.npy", 2);
    write_scan("scan.npz", &known);
    write_scan("frame_1.npz", &known);
    write_scan("frame_2.npz", &known);
    write_folders(&known);
    csrec_sampling_clear(&known);
    return 0;
}
