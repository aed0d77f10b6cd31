/* SPDX-License-Identifier: BSD-3-Clause */
/* panels.c - compares a recovery with the truth: prints PSNR and SSIM, and writes one PNG with the
 * samples, their density, the recovery, the truth and the difference of these two (its size, times
 * 4) side by side. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrec.h"
#include "density.h"

enum { PANELS = 5, GAP = 8, ERROR_GAIN = 4 };

static const char usage[] = "panels scan.npz recovered.png truth.png -o panels.png\n";

typedef struct comparison {
    csrec_measurement scan;
    csrec_image recovered, truth;
    csrec_image panels;
} comparison;

static csrec_status fail(csrec_error *error, const char *path, const char *text) {
    snprintf(error->text, sizeof error->text, "%s: %s", path, text);
    return CSREC_DATA;
}

static csrec_status read_all(char **path, comparison *work, csrec_error *error) {
    csrec_status status = csrec_measurement_read(path[0], NULL, &work->scan, error);
    if (status == CSREC_OK) status = csrec_image_read(path[1], &work->recovered, error);
    if (status == CSREC_OK) status = csrec_image_read(path[2], &work->truth, error);
    if (status != CSREC_OK) return status;
    const csrec_shape *a = &work->recovered.pixels.shape, *b = &work->truth.pixels.shape;
    if (work->recovered.bits != 8 || work->truth.bits != 8 || b->dim[2] != 3)
        return fail(error, path[2], "an 8-bit RGB picture is needed, and one like it to compare");
    if (memcmp(a->dim, b->dim, 3 * sizeof a->dim[0]) != 0)
        return fail(error, path[1], "its size differs from the truth's; recover the same scene");
    if (work->scan.shape.dims != 2 || work->scan.channels != 3 ||
        work->scan.shape.dim[0] != b->dim[0] || work->scan.shape.dim[1] != b->dim[1])
        return fail(error, path[0], "its shape differs from the truth's; trace the same scene");
    return CSREC_OK;
}

/* A picture traced in part must be that part of the whole: else the comparison means nothing. */
static csrec_status check_samples(const comparison *work, const char *path, csrec_error *error) {
    const csrec_measurement *scan = &work->scan;
    for (int64_t k = 0; k < scan->n; k++)
        for (int c = 0; c < 3; c++)
            if (scan->y[3 * k + c] !=
                csrec_array_value(&work->truth.pixels, 3 * scan->index[k] + c))
                return fail(error, path, "a sample differs from the truth; trace the same scene");
    return CSREC_OK;
}

/* The mean over the channels of their structural similarities. */
static csrec_status similarity(const comparison *work, double *ssim) {
    const csrec_shape *shape = &work->truth.pixels.shape;
    int64_t n = shape->dim[0] * shape->dim[1];
    double *a = malloc((size_t)n * 2 * sizeof *a), *b = a ? a + n : NULL, sum = 0;
    csrec_status status = a ? CSREC_OK : CSREC_MEMORY;
    for (int c = 0; c < 3 && status == CSREC_OK; c++) {
        double one = 0;
        for (int64_t i = 0; i < n; i++) {
            a[i] = csrec_array_value(&work->recovered.pixels, 3 * i + c);
            b[i] = csrec_array_value(&work->truth.pixels, 3 * i + c);
        }
        status = csrec_ssim(shape->dim[0], shape->dim[1], a, b, 255, &one);
        sum += one / 3;
    }
    free(a);
    if (status == CSREC_OK) *ssim = sum;
    return status;
}

static csrec_status print_quality(const comparison *work) {
    int64_t n = work->truth.pixels.count;
    double *a = malloc((size_t)n * 2 * sizeof *a), *b = a ? a + n : NULL, ssim;
    if (!a) return CSREC_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        a[i] = csrec_array_value(&work->recovered.pixels, i);
        b[i] = csrec_array_value(&work->truth.pixels, i);
    }
    double psnr = csrec_psnr(n, a, b, 255);
    free(a);
    csrec_status status = similarity(work, &ssim);
    if (status == CSREC_OK) printf("quality: PSNR %.2f dB, SSIM %.4f\n", psnr, ssim);
    return status;
}

/* Where pixel (row, column) of a panel starts in the picture of all of them. */
static uint8_t *panel_pixel(const comparison *work, int panel, int64_t row, int64_t column) {
    const int64_t *size = work->panels.pixels.shape.dim;
    int64_t width = work->truth.pixels.shape.dim[1];
    return (uint8_t *)work->panels.pixels.data +
           3 * (row * size[1] + panel * (width + GAP) + column);
}

static void draw_samples(const comparison *work) {
    int64_t width = work->scan.shape.dim[1], height = work->scan.shape.dim[0];
    for (int64_t row = 0; row < height; row++)
        memset(panel_pixel(work, 0, row, 0), 0, (size_t)(3 * width));
    for (int64_t k = 0; k < work->scan.n; k++) {
        int64_t index = work->scan.index[k];
        uint8_t *to = panel_pixel(work, 0, index / width, index % width);
        for (int c = 0; c < 3; c++) to[c] = (uint8_t)work->scan.y[3 * k + c];
    }
}

static void paste(const comparison *work, int panel, const uint8_t *rgb) {
    int64_t height = work->truth.pixels.shape.dim[0], width = work->truth.pixels.shape.dim[1];
    for (int64_t row = 0; row < height; row++)
        memcpy(panel_pixel(work, panel, row, 0), rgb + 3 * row * width, (size_t)(3 * width));
}

static csrec_status draw_density(const comparison *work) {
    uint8_t *rgb = malloc((size_t)work->truth.pixels.count);
    csrec_status status = rgb ? density_draw(&work->scan, rgb) : CSREC_MEMORY;
    if (status == CSREC_OK) paste(work, 1, rgb);
    free(rgb);
    return status;
}

/* The error's size: over the channels, so that it is gray. */
static void draw_errors(const comparison *work) {
    int64_t height = work->truth.pixels.shape.dim[0], width = work->truth.pixels.shape.dim[1];
    const uint8_t *a = work->recovered.pixels.data, *b = work->truth.pixels.data;
    for (int64_t i = 0; i < height * width; i++) {
        double square = 0;
        for (int64_t k = 3 * i; k < 3 * i + 3; k++)
            square += ((double)a[k] - b[k]) * ((double)a[k] - b[k]) / 3;
        double value = ERROR_GAIN * sqrt(square);
        memset(panel_pixel(work, 4, i / width, i % width), (int)(value > 255 ? 255 : value + 0.5),
               3);
    }
}

static csrec_status draw(comparison *work) {
    int64_t height = work->truth.pixels.shape.dim[0], width = work->truth.pixels.shape.dim[1];
    csrec_shape shape = {3, {height, PANELS * width + (PANELS - 1) * GAP, 3}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &work->panels.pixels);
    if (status != CSREC_OK) return status;
    work->panels.bits = 8;
    memset(work->panels.pixels.data, 255, (size_t)work->panels.pixels.count);
    draw_samples(work);
    paste(work, 2, work->recovered.pixels.data);
    paste(work, 3, work->truth.pixels.data);
    draw_errors(work);
    return draw_density(work);
}

int main(int argc, char **argv) {
    comparison work = {0};
    csrec_error error = {""};
    if (argc != 6 || strcmp(argv[4], "-o") != 0) {
        fputs(usage, stderr);
        return 2;
    }
    csrec_status status = read_all(argv + 1, &work, &error);
    if (status == CSREC_OK) status = check_samples(&work, argv[1], &error);
    if (status == CSREC_OK) status = print_quality(&work);
    if (status == CSREC_OK) status = draw(&work);
    if (status == CSREC_OK) status = csrec_image_write(argv[5], &work.panels, &error);
    csrec_measurement_clear(&work.scan);
    csrec_image_clear(&work.recovered);
    csrec_image_clear(&work.truth);
    csrec_image_clear(&work.panels);
    if (status == CSREC_OK) return 0;
    fprintf(stderr, "panels: %s\n", *error.text ? error.text : csrec_status_text(status));
    return 1;
}
