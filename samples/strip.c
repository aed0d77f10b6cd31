/* SPDX-License-Identifier: BSD-3-Clause */
/* strip.c - puts pictures of equal size side by side, in several rows if asked: PNGs, and
 * measurement files, shown as their samples on gray, or as the density of these. Below each
 * picture: a part of it, enlarged
 * (--zoom), its label, and its PSNR against the truth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/chart.h"
#include "csrec.h"
#include "density.h"

enum { GAP = 6, UNKNOWN = 48, MOST = 32, LINE = 10 /* dots of the font */ };

static const char usage[] =
    "strip [--rows R] [--truth truth.png] [--zoom TIMES,X,Y] [--dot PIXELS] -o strip.png\n"
    "      [LABEL=]picture.png|scan.npz|density:scan.npz ...\n"
    "  --zoom TIMES,X,Y  below each picture, enlarged: the part whose corner is column X, row Y;\n"
    "                    of a density its samples\n"
    "  --dot PIXELS      of the labels' font (2)\n";

typedef struct {
    int count, rows, dot;
    int64_t zoom, x, y; /* zoom: 0 without */
    const char *path[MOST], *output, *truth;
    char label[MOST][32];
    bool labelled;
} arguments;

/* All of 8-bit RGB. density: empty where it is not shown. truth: empty without --truth. */
typedef struct {
    csrec_image picture[MOST], density[MOST], truth, strip;
} images;

/* 8-bit RGB: gray is repeated, 16 bits lose the lower half. */
static csrec_status read_picture(const char *path, csrec_image *out, csrec_error *error) {
    csrec_image in;
    csrec_status status = csrec_image_read(path, &in, error);
    if (status != CSREC_OK) return status;
    int64_t channels = in.pixels.shape.dim[2], pixels = in.pixels.count / channels;
    csrec_shape shape = {3, {in.pixels.shape.dim[0], in.pixels.shape.dim[1], 3}};
    double white = (double)((1 << in.bits) - 1);
    status = csrec_array_create(CSREC_U8, &shape, &out->pixels);
    for (int64_t i = 0; status == CSREC_OK && i < 3 * pixels; i++) {
        double value = csrec_array_value(&in.pixels, i / 3 * channels + i % 3 % channels);
        ((uint8_t *)out->pixels.data)[i] = (uint8_t)(255 * value / white + 0.5);
    }
    csrec_image_clear(&in);
    return status;
}

/* density: NULL, or where to draw it. */
static csrec_status read_samples(const char *path, csrec_image *out, csrec_image *density,
                                 csrec_error *error) {
    csrec_measurement scan;
    csrec_status status = csrec_measurement_read(path, NULL, &scan, error);
    if (status != CSREC_OK) return status;
    csrec_shape shape = {3, {scan.shape.dim[0], scan.shape.dim[1], 3}};
    double low = scan.scale[0], range = scan.scale[1] - low;
    status = csrec_array_create(CSREC_U8, &shape, &out->pixels);
    uint8_t *pixel = out->pixels.data;
    if (status == CSREC_OK) memset(pixel, UNKNOWN, (size_t)out->pixels.count);
    for (int64_t i = 0; status == CSREC_OK && i < 3 * scan.n; i++) {
        double value = scan.y[i / 3 * scan.channels + i % 3 % scan.channels];
        pixel[3 * scan.index[i / 3] + i % 3] = (uint8_t)(255 * (value - low) / range + 0.5);
    }
    if (status == CSREC_OK && density)
        status = csrec_array_create(CSREC_U8, &shape, &density->pixels);
    if (status == CSREC_OK && density) status = density_draw(&scan, density->pixels.data);
    csrec_measurement_clear(&scan);
    return status;
}

static uint8_t *pixel_of(const csrec_image *image, int64_t y, int64_t x) {
    return (uint8_t *)image->pixels.data + 3 * (y * image->pixels.shape.dim[1] + x);
}

static void paste(const csrec_image *picture, int64_t top, int64_t left, csrec_image *strip) {
    int64_t height = picture->pixels.shape.dim[0], width = picture->pixels.shape.dim[1];
    for (int64_t y = 0; y < height; y++)
        memcpy(pixel_of(strip, top + y, left), pixel_of(picture, y, 0), (size_t)(3 * width));
}

/* In the middle of `width` pixels from `left`; what does not fit is left out. */
static void write_line(const char *text, int size, int64_t top, int64_t left, int64_t width,
                       csrec_image *strip) {
    int64_t most = (width / size + 1) / 6, length = (int64_t)strlen(text);
    if (length > most) length = most;
    left += (width - size * (6 * length - 1)) / 2;
    for (int64_t k = 0; k < length; k++)
        for (int dot = 0; dot < 35; dot++) {
            if (!(cli_font_row(text[k], dot / 5) >> (4 - dot % 5) & 1)) continue;
            int64_t y = top + size * (dot / 5 + cli_font_drop(text[k]));
            for (int i = 0; i < size * size; i++)
                memset(pixel_of(strip, y + i / size, left + size * (6 * k + dot % 5) + i % size),
                       26, 3);
        }
}

/* The part of --zoom at the top left, enlarged to at most the picture's size; the rest is white. */
static void enlarge(const arguments *a, const csrec_image *picture, int64_t top, int64_t left,
                    csrec_image *strip) {
    const int64_t *dim = picture->pixels.shape.dim;
    for (int64_t y = 0; y < dim[0]; y++)
        for (int64_t x = 0; x < dim[1]; x++) {
            int64_t from_y = a->y + y / a->zoom, from_x = a->x + x / a->zoom;
            if (from_y < dim[0] && from_x < dim[1])
                memcpy(pixel_of(strip, top + y, left + x), pixel_of(picture, from_y, from_x), 3);
        }
}

/* A white frame around the part that is enlarged. */
static void frame(const arguments *a, const int64_t *dim, int64_t top, int64_t left,
                  csrec_image *strip) {
    int64_t height = dim[0] / a->zoom, width = dim[1] / a->zoom;
    for (int64_t y = a->y; y <= a->y + height && y < dim[0]; y++)
        for (int64_t x = a->x; x <= a->x + width && x < dim[1]; x++)
            if (y == a->y || y == a->y + height || x == a->x || x == a->x + width)
                memset(pixel_of(strip, top + y, left + x), 255, 3);
}

/* Of the values in the files, whole numbers; infinite of the truth itself. */
static double quality(const csrec_image *picture, const csrec_image *truth) {
    int64_t n = truth->pixels.count;
    double squares = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double e = csrec_array_value(&picture->pixels, i) - csrec_array_value(&truth->pixels, i);
        squares += e * e;
    }
    return 10.0 * log10(255.0 * 255.0 * (double)n / squares);
}

static void caption(const arguments *a, int i, images *all, int64_t top, int64_t left) {
    int64_t width = all->picture[i].pixels.shape.dim[1];
    char text[32];
    write_line(a->label[i], a->dot, top + a->dot, left, width, &all->strip);
    if (!a->truth || strstr(a->path[i], ".npz")) return;
    double psnr = quality(&all->picture[i], &all->truth);
    snprintf(text, sizeof text, "%.2f dB", psnr);
    if (isfinite(psnr))
        write_line(text, a->dot, top + (LINE + 1) * a->dot, left, width, &all->strip);
}

/* first: of the size that all must have. */
static csrec_status read_one(const char *path, const csrec_image *first, csrec_image *picture,
                             csrec_image *density, csrec_error *error) {
    static const char prefix[] = "density:";
    bool dense = density && strncmp(path, prefix, strlen(prefix)) == 0;
    if (dense) path += strlen(prefix);
    csrec_status status = strstr(path, ".npz")
                              ? read_samples(path, picture, dense ? density : NULL, error)
                              : read_picture(path, picture, error);
    if (status != CSREC_OK) return status;
    if (memcmp(first->pixels.shape.dim, picture->pixels.shape.dim, 2 * sizeof(int64_t)) == 0)
        return CSREC_OK;
    snprintf(error->text, sizeof error->text, "%s: of another size", path);
    return CSREC_DATA;
}

static csrec_status read_all(const arguments *a, images *all, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int i = 0; i < a->count && status == CSREC_OK; i++)
        status = read_one(a->path[i], &all->picture[0], &all->picture[i], &all->density[i], error);
    if (status == CSREC_OK && a->truth)
        status = read_one(a->truth, &all->picture[0], &all->truth, NULL, error);
    return status;
}

static void place(const arguments *a, int i, images *all, int64_t top, int64_t left) {
    const csrec_image *picture = &all->picture[i], *density = &all->density[i];
    const int64_t *dim = picture->pixels.shape.dim;
    paste(density->pixels.data ? density : picture, top, left, &all->strip);
    if (a->zoom) {
        frame(a, dim, top, left, &all->strip);
        top += dim[0] + GAP;
        enlarge(a, picture, top, left, &all->strip);
    }
    if (a->labelled) caption(a, i, all, top + dim[0], left);
}

static csrec_status make(const arguments *a, images *all, csrec_error *error) {
    int columns = (a->count + a->rows - 1) / a->rows;
    csrec_status status = read_all(a, all, error);
    if (status != CSREC_OK) return status;
    const int64_t *dim = all->picture[0].pixels.shape.dim;
    int64_t below = a->labelled ? 2 * LINE * a->dot : 0, across = dim[1] + GAP;
    int64_t down = (a->zoom ? 2 : 1) * (dim[0] + GAP) + below;
    csrec_shape shape = {3, {a->rows * down - GAP, columns * across - GAP, 3}};
    status = csrec_array_create(CSREC_U8, &shape, &all->strip.pixels);
    if (status != CSREC_OK) return status;
    memset(all->strip.pixels.data, 255, (size_t)all->strip.pixels.count);
    for (int i = 0; i < a->count; i++) place(a, i, all, i / columns * down, i % columns * across);
    all->strip.bits = 8;
    return csrec_image_write(a->output, &all->strip, error);
}

static void clear(images *all) {
    for (int i = 0; i < MOST; i++) {
        csrec_image_clear(&all->picture[i]);
        csrec_image_clear(&all->density[i]);
    }
    csrec_image_clear(&all->truth);
    csrec_image_clear(&all->strip);
}

/* LABEL=FILE, or FILE. */
static void add(const char *word, arguments *a) {
    const char *sign = strchr(word, '=');
    if (a->count == MOST) return;
    a->path[a->count] = sign ? sign + 1 : word;
    if (sign) {
        a->labelled = true;
        snprintf(a->label[a->count], sizeof a->label[0], "%.*s", (int)(sign - word), word);
    }
    a->count++;
}

/* TIMES, with X and Y in a; -1 if the text is none of that. */
static int64_t read_zoom(const char *text, arguments *a) {
    int zoom = -1, x = -1, y = -1;
    if (sscanf(text, "%d,%d,%d", &zoom, &x, &y) != 3 || zoom < 1 || x < 0 || y < 0) return -1;
    a->x = x;
    a->y = y;
    return zoom;
}

static bool parse(int argc, char **argv, arguments *a) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            a->output = argv[++i];
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            a->rows = atoi(argv[++i]);
        else if (strcmp(argv[i], "--truth") == 0 && i + 1 < argc)
            a->truth = argv[++i];
        else if (strcmp(argv[i], "--dot") == 0 && i + 1 < argc)
            a->dot = atoi(argv[++i]);
        else if (strcmp(argv[i], "--zoom") == 0 && i + 1 < argc)
            a->zoom = read_zoom(argv[++i], a);
        else
            add(argv[i], a);
    }
    return a->output && a->count > 0 && a->rows > 0 && a->dot > 0 && a->zoom >= 0;
}

int main(int argc, char **argv) {
    arguments a = {.rows = 1, .dot = 2};
    csrec_error error = {"out of memory"};
    images all = {0};
    if (!parse(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    csrec_status status = make(&a, &all, &error);
    if (status != CSREC_OK) fprintf(stderr, "strip: %s\n", error.text);
    clear(&all);
    return status != CSREC_OK;
}
