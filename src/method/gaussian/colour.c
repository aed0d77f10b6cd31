/* colour.c - principal colours: all channels are sampled at the same pixels, so rotating the
 * samples' channels rotates those of the picture. */
#include "method/gaussian/colour.h"

#include "learn/eigen.h"

enum { MOST = CSREC_GAUSSIAN_POOLED };

static int64_t entries_of(const csrec_gaussian_picture *p) {
    return (int64_t)p->depth * p->height * p->width;
}

/* Values of entry i; false: not a sample. */
typedef bool (*reader)(const void *from, int64_t i, double *values);

typedef struct samples {
    reader read;
    const void *from;
    int64_t count;
    int channels;
} samples;

typedef struct scaled {
    const csrec_measurement *m;
    double unit;
} scaled;

static bool read_picture(const void *from, int64_t i, double *values) {
    const csrec_gaussian_picture *p = from;
    for (int c = 0; c < p->channels; c++) values[c] = (double)p->y[c][i];
    return p->mask[i];
}

static bool read_measurement(const void *from, int64_t i, double *values) {
    const scaled *s = from;
    for (int64_t c = 0; c < s->m->channels; c++)
        values[c] = s->m->y[i * s->m->channels + c] / s->unit;
    return true;
}

/* Sums over the samples, in their order: of channels, then of products of them. */
static int64_t add_samples(const samples *s, const double *mean, double *sum, double *products) {
    int64_t n = 0;
    double values[MOST];
    for (int64_t i = 0; i < s->count; i++) {
        if (!s->read(s->from, i, values)) continue;
        n++;
        for (int c = 0; c < s->channels; c++) {
            double v = values[c] - mean[c];
            sum[c] += v;
            for (int e = 0; e < s->channels; e++)
                products[c * s->channels + e] += v * (values[e] - mean[e]);
        }
    }
    return n;
}

static void find(const samples *s, csrec_gaussian_axes *axes) {
    double mean[MOST] = {0}, sum[MOST] = {0}, products[MOST * MOST] = {0};
    double values[MOST], V[MOST * MOST], work[4 * MOST];
    *axes = (csrec_gaussian_axes){.channels = 0};
    if (s->channels < 1 || s->channels > MOST) return;
    int64_t n = add_samples(s, mean, sum, products);
    for (int c = 0; c < s->channels; c++) mean[c] = n > 0 ? sum[c] / (double)n : 0.0;
    for (int i = 0; i < MOST * MOST; i++) products[i] = 0.0;
    add_samples(s, mean, sum, products);
    if (!csrec_eigen_all(s->channels, products, values, V, work)) return;
    axes->channels = s->channels;
    for (int i = 0; i < s->channels * s->channels; i++)
        axes->axis[i / s->channels][i % s->channels] = V[i];
}

void csrec_gaussian_axes_find(const csrec_gaussian_picture *p, csrec_gaussian_axes *axes) {
    find(&(samples){read_picture, p, entries_of(p), p->channels}, axes);
}

void csrec_gaussian_axes_of(const csrec_measurement *m, double unit, csrec_gaussian_axes *axes) {
    const scaled from = {m, unit};
    int channels = m->channels <= MOST ? (int)m->channels : 0;
    find(&(samples){read_measurement, &from, m->n, channels}, axes);
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

double csrec_gaussian_axes_variance(const csrec_gaussian_axes *axes, float *const *variance,
                                    int64_t c, int64_t entry) {
    if (axes->channels == 0) return (double)variance[c][entry];
    double sum = 0.0;
    for (int k = 0; k < axes->channels; k++)
        sum += axes->axis[k][c] * axes->axis[k][c] * (double)variance[k][entry];
    return sum;
}
