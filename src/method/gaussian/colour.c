/* SPDX-License-Identifier: BSD-3-Clause */
/* colour.c - principal colours: all channels are sampled at the same pixels, so rotating the
 * samples' channels rotates those of the picture. */
#include "method/gaussian/gaussian.h"

#include "learn/engine.h"

enum { MOST = CSREC_GAUSSIAN_POOLED };

csrec_gaussian_colours csrec_gaussian_colours_of(int64_t channels) {
    return (csrec_gaussian_colours){.channels = channels <= MOST ? (int)channels : 0};
}

void csrec_gaussian_colours_add(csrec_gaussian_colours *g, const double *values, double unit) {
    double v[MOST];
    for (int c = 0; c < g->channels; c++) {
        if (g->n == 0) g->first[c] = values[c] / unit;
        v[c] = values[c] / unit - g->first[c];
        g->sum[c] += v[c];
        for (int e = 0; e <= c; e++) g->products[c * g->channels + e] += v[c] * v[e];
    }
    g->n++;
}

/* The others' sums are less their own first sample: with d = first_others - first,
 * sum (v + d) = sum v + n d, and likewise for the products. */
void csrec_gaussian_colours_join(csrec_gaussian_colours *g, const csrec_gaussian_colours *o) {
    int C = g->channels;
    double d[MOST], n = (double)o->n;
    if (g->n == 0 || o->n == 0) {
        if (o->n > 0) *g = *o;
        return;
    }
    for (int c = 0; c < C; c++) {
        d[c] = o->first[c] - g->first[c];
        for (int e = 0; e <= c; e++)
            g->products[c * C + e] +=
                o->products[c * C + e] + d[c] * o->sum[e] + d[e] * o->sum[c] + n * d[c] * d[e];
    }
    for (int c = 0; c < C; c++) g->sum[c] += o->sum[c] + n * d[c];
    g->n += o->n;
}

void csrec_gaussian_colours_scale(csrec_gaussian_colours *g, double factor) {
    for (int c = 0; c < g->channels; c++) {
        g->first[c] *= factor;
        g->sum[c] *= factor;
        for (int e = 0; e <= c; e++) g->products[c * g->channels + e] *= factor * factor;
    }
}

void csrec_gaussian_axes_of(const csrec_gaussian_colours *g, csrec_gaussian_axes *axes) {
    double covariance[MOST * MOST], values[MOST], V[MOST * MOST], work[4 * MOST];
    int C = g->channels;
    *axes = (csrec_gaussian_axes){.channels = 0};
    if (C < 1 || g->n < 1) return;
    for (int c = 0; c < C; c++)
        for (int e = 0; e <= c; e++)
            covariance[c * C + e] = covariance[e * C + c] =
                g->products[c * C + e] - g->sum[c] * g->sum[e] / (double)g->n;
    if (!csrec_eigen_all(C, covariance, values, V, work)) return;
    axes->channels = C;
    for (int i = 0; i < C * C; i++) axes->axis[i / C][i % C] = V[i];
}

void csrec_gaussian_axes_find(const csrec_gaussian_picture *p, csrec_gaussian_axes *axes) {
    csrec_gaussian_colours colours = csrec_gaussian_colours_of(p->channels);
    double values[MOST];
    for (int64_t i = 0; i < csrec_gaussian_entries(p); i++) {
        if (!p->mask[i]) continue;
        for (int c = 0; c < colours.channels; c++) values[c] = (double)p->y[c][i];
        csrec_gaussian_colours_add(&colours, values, 1.0);
    }
    csrec_gaussian_axes_of(&colours, axes);
}

static void turn(const csrec_gaussian_axes *axes, float *const *u, int64_t i) {
    double to[MOST] = {0};
    for (int c = 0; c < axes->channels; c++)
        for (int e = 0; e < axes->channels; e++) to[c] += axes->axis[c][e] * (double)u[e][i];
    for (int c = 0; c < axes->channels; c++) u[c][i] = (float)to[c];
}

void csrec_gaussian_axes_turn(const csrec_gaussian_axes *axes, csrec_gaussian_picture *p) {
    for (int64_t i = 0; i < csrec_gaussian_entries(p); i++) {
        turn(axes, p->y, i);
        turn(axes, p->u, i);
    }
}

double csrec_gaussian_axes_back(const csrec_gaussian_axes *axes, float *const *u, int64_t c,
                                int64_t entry) {
    if (axes->channels == 0) return (double)u[c][entry];
    double value = 0.0;
    for (int k = 0; k < axes->channels; k++) value += axes->axis[k][c] * (double)u[k][entry];
    return value;
}

double csrec_gaussian_axes_variance(const csrec_gaussian_axes *axes, float *const *variance,
                                    int64_t c, int64_t entry) {
    if (axes->channels == 0) return (double)variance[c][entry];
    double sum = 0.0;
    for (int k = 0; k < axes->channels; k++)
        sum += axes->axis[k][c] * axes->axis[k][c] * (double)variance[k][entry];
    return sum;
}
