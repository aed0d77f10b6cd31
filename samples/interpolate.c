/* SPDX-License-Identifier: BSD-3-Clause */
/* interpolate.c - what a recovery competes with: every pixel from its nearest sample, or linear
 * interpolation on the Delaunay triangulation of the samples (beyond their hull the nearest).
 *
 * The triangulation is incremental (Bowyer 1981; Watson 1981): the triangles whose circumcircle
 * holds the next point give way to a fan around it. Positions are whole numbers below 2^11, so all
 * signs are exact in 64 bits. All triangles are tried for each point: seconds for 10^4 samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrec.h"

enum { LARGEST = 2000, FAR = 3 * LARGEST /* of the corners around all */, EDGES = 4096 };

static const char usage[] = "interpolate nearest|linear scan.npz picture.png\n";

typedef struct {
    int64_t y, x;
} point;

typedef struct {
    int64_t corner[3]; /* anticlockwise: positive area */
} triangle;

typedef struct {
    const csrec_measurement *scan;
    int64_t height, width, count;
    point *at;           /* [n + 3], the last three around all */
    triangle *triangles; /* [2 n + 8] */
    double *picture;     /* [height][width][channels] */
    bool *done;          /* [height][width] */
} job;

/* Twice the area, positive if a, b, c turn anticlockwise. */
static int64_t area(point a, point b, point c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static bool circle_holds(const point *at, const triangle *t, point p) {
    int64_t x[3], y[3], s[3];
    for (int i = 0; i < 3; i++) {
        x[i] = at[t->corner[i]].x - p.x;
        y[i] = at[t->corner[i]].y - p.y;
        s[i] = x[i] * x[i] + y[i] * y[i];
    }
    return s[0] * (x[1] * y[2] - x[2] * y[1]) + s[1] * (x[2] * y[0] - x[0] * y[2]) +
               s[2] * (x[0] * y[1] - x[1] * y[0]) >
           0;
}

/* Removes the triangles whose circle holds point k; edges of the hole remain: those that no
 * neighbour has the other way round. Returns their number, or -1 if there are too many. */
static int dig(job *j, int64_t k, int64_t edge[][2]) {
    int edges = 0;
    for (int64_t t = 0; t < j->count;) {
        if (!circle_holds(j->at, &j->triangles[t], j->at[k])) {
            t++;
            continue;
        }
        for (int i = 0; i < 3; i++) {
            int64_t a = j->triangles[t].corner[i], b = j->triangles[t].corner[(i + 1) % 3];
            int same = 0;
            while (same < edges && !(edge[same][0] == b && edge[same][1] == a)) same++;
            if (same < edges) {
                memcpy(edge[same], edge[--edges], sizeof edge[0]);
            } else {
                if (edges == EDGES) return -1;
                edge[edges][0] = a;
                edge[edges++][1] = b;
            }
        }
        j->triangles[t] = j->triangles[--j->count];
    }
    return edges;
}

static bool triangulate(job *j) {
    static int64_t edge[EDGES][2];
    int64_t n = j->scan->n;
    for (int64_t k = 0; k < n; k++)
        j->at[k] = (point){j->scan->index[k] / j->width, j->scan->index[k] % j->width};
    j->at[n] = (point){-FAR, -FAR};
    j->at[n + 1] = (point){-FAR, 3 * FAR};
    j->at[n + 2] = (point){3 * FAR, -FAR};
    j->triangles[0] = (triangle){{n, n + 1, n + 2}};
    j->count = 1;
    for (int64_t k = 0; k < n; k++) {
        int edges = dig(j, k, edge);
        if (edges < 0) return false;
        for (int i = 0; i < edges; i++)
            j->triangles[j->count++] = (triangle){{edge[i][0], edge[i][1], k}};
    }
    return true;
}

/* Every pixel of a triangle: the corners' values by the areas opposite them. */
static void fill(job *j, const triangle *t) {
    const int64_t *c = t->corner, n = j->scan->n, channels = j->scan->channels;
    if (c[0] >= n || c[1] >= n || c[2] >= n) return;
    point a[3] = {j->at[c[0]], j->at[c[1]], j->at[c[2]]}, low = a[0], high = a[0];
    for (int i = 1; i < 3; i++) {
        low = (point){a[i].y < low.y ? a[i].y : low.y, a[i].x < low.x ? a[i].x : low.x};
        high = (point){a[i].y > high.y ? a[i].y : high.y, a[i].x > high.x ? a[i].x : high.x};
    }
    for (int64_t y = low.y; y <= high.y; y++)
        for (int64_t x = low.x; x <= high.x; x++) {
            int64_t w[3], pixel = y * j->width + x;
            point p = {y, x};
            for (int i = 0; i < 3; i++) w[i] = area(a[(i + 1) % 3], a[(i + 2) % 3], p);
            if (w[0] < 0 || w[1] < 0 || w[2] < 0) continue;
            double all = (double)(w[0] + w[1] + w[2]);
            for (int64_t k = 0; k < channels; k++) {
                double sum = 0.0;
                for (int i = 0; i < 3; i++) sum += (double)w[i] * j->scan->y[c[i] * channels + k];
                j->picture[pixel * channels + k] = sum / all;
            }
            j->done[pixel] = true;
        }
}

static void take_nearest(job *j, int64_t pixel) {
    int64_t best = INT64_MAX, from = 0, channels = j->scan->channels;
    for (int64_t k = 0; k < j->scan->n; k++) {
        int64_t y = j->scan->index[k] / j->width - pixel / j->width;
        int64_t x = j->scan->index[k] % j->width - pixel % j->width;
        if (y * y + x * x >= best) continue;
        best = y * y + x * x;
        from = k;
    }
    memcpy(j->picture + pixel * channels, j->scan->y + from * channels,
           (size_t)channels * sizeof *j->picture);
}

static csrec_status interpolate(job *j, bool linear) {
    size_t pixels = (size_t)(j->height * j->width), n = (size_t)j->scan->n;
    j->at = malloc((n + 3) * sizeof *j->at);
    j->triangles = malloc((2 * n + 8) * sizeof *j->triangles);
    j->picture = malloc(pixels * (size_t)j->scan->channels * sizeof *j->picture);
    j->done = calloc(pixels, sizeof *j->done);
    if (!j->at || !j->triangles || !j->picture || !j->done) return CSREC_MEMORY;
    if (linear && !triangulate(j)) return CSREC_UNSUPPORTED;
    for (int64_t t = 0; linear && t < j->count; t++) fill(j, &j->triangles[t]);
    for (int64_t i = 0; i < j->height * j->width; i++)
        if (!j->done[i]) take_nearest(j, i);
    return CSREC_OK;
}

static csrec_status write(const job *j, const char *path, csrec_error *error) {
    const csrec_measurement *scan = j->scan;
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {j->height, j->width, scan->channels}};
    csrec_status status = csrec_array_create(CSREC_U8, &shape, &image.pixels);
    double low = scan->scale[0], range = scan->scale[1] - low;
    for (int64_t i = 0; status == CSREC_OK && i < image.pixels.count; i++)
        ((uint8_t *)image.pixels.data)[i] = (uint8_t)lround(255 * (j->picture[i] - low) / range);
    if (status == CSREC_OK) status = csrec_image_write(path, &image, error);
    csrec_image_clear(&image);
    return status;
}

static csrec_status run(char **argv, csrec_measurement *scan, job *j, csrec_error *error) {
    csrec_status status = csrec_measurement_read(argv[2], NULL, scan, error);
    if (status != CSREC_OK) return status;
    *j = (job){.scan = scan, .height = scan->shape.dim[0], .width = scan->shape.dim[1]};
    if (scan->shape.dims != 2 || j->height > LARGEST || j->width > LARGEST ||
        !(scan->scale[1] > scan->scale[0])) {
        snprintf(error->text, sizeof error->text,
                 "%s: samples of a picture with its scale are needed, at most %d x %d", argv[2],
                 LARGEST, LARGEST);
        return CSREC_DATA;
    }
    status = interpolate(j, strcmp(argv[1], "linear") == 0);
    return status == CSREC_OK ? write(j, argv[3], error) : status;
}

int main(int argc, char **argv) {
    csrec_measurement scan = {0};
    csrec_error error = {""};
    job j = {0};
    if (argc != 4 || (strcmp(argv[1], "nearest") != 0 && strcmp(argv[1], "linear") != 0)) {
        fputs(usage, stderr);
        return 2;
    }
    csrec_status status = run(argv, &scan, &j, &error);
    if (status != CSREC_OK)
        fprintf(stderr, "interpolate: %s\n", *error.text ? error.text : csrec_status_text(status));
    csrec_measurement_clear(&scan);
    free(j.at);
    free(j.triangles);
    free(j.picture);
    free(j.done);
    return status != CSREC_OK;
}
