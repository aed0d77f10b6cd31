/* gaussian_colour.c - principal colours: all channels are sampled at the same pixels, so that a
 * turn of the samples is a turn of the picture. */
#include "recover/gaussian_colour.h"

#include "model/eigen.h"

enum { MOST = CSREC_GAUSSIAN_POOLED };

static int64_t entries_of(const csrec_gaussian_picture *p) {
    return (int64_t)p->depth * p->height * p->width;
}

/* Sums over the samples, in their order: of channels, then of products of them. */
static int64_t add_samples(const csrec_gaussian_picture *p, const double *mean, double *sum,
                           double *products) {
    int64_t n = 0;
    int channels = p->channels;
    for (int64_t i = 0; i < entries_of(p); i++) {
        if (!p->mask[i]) continue;
        n++;
        for (int c = 0; c < channels; c++) {
            double v = (double)p->y[c][i] - mean[c];
            sum[c] += v;
            for (int e = 0; e < channels; e++)
                products[c * channels + e] += v * ((double)p->y[e][i] - mean[e]);
        }
    }
    return n;
}

void csrec_gaussian_axes_find(const csrec_gaussian_picture *p, csrec_gaussian_axes *axes) {
    double mean[MOST] = {0}, sum[MOST] = {0}, products[MOST * MOST] = {0};
    double values[MOST], V[MOST * MOST], work[4 * MOST];
    *axes = (csrec_gaussian_axes){.channels = 0};
    if (p->channels < 1 || p->channels > MOST) return;
    int64_t n = add_samples(p, mean, sum, products);
    for (int c = 0; c < p->channels; c++) mean[c] = n > 0 ? sum[c] / (double)n : 0.0;
    for (int i = 0; i < MOST * MOST; i++) products[i] = 0.0;
    add_samples(p, mean, sum, products);
    if (!csrec_eigen_all(p->channels, products, values, V, work)) return;
    axes->channels = p->channels;
    for (int i = 0; i < p->channels * p->channels; i++)
        axes->axis[i / p->channels][i % p->channels] = V[i];
}

static void turn(const csrec_gaussian_axes *axes, float *const *u, int64_t i) {
    double to[MOST] = {0};
    for (int c = 0; c < axes->channels; c++)
        for (int e = 0; e < axes->channels; e++) to[c] += axes->axis[c][e] * (double)u[e][i];
    for (int c = 0; c < axes->channels; c++) u[c][i] = (float)to[c];
}

void csrec_gaussian_axes_turn(const csrec_gaussian_axes *axes, csrec_gaussian_picture *p) {
    for (int64_t i = 0; i < entries_of(p); i++) {
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
