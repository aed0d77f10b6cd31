/* net.h - a network by direct sums in double, and random networks. */
#ifndef CSREC_TESTS_NET_H
#define CSREC_TESTS_NET_H

#include <string.h>

#include "check.h"

enum { NET_LAYERS = 16 };

typedef struct drawn_net {
    int n;
    csrec_net_layer layer[NET_LAYERS];
    int64_t channels, batch, height, width, weights;
    float *W, *X, *Y, *dY;
    int64_t x, y; /* floats of X and of Y */
} drawn_net;

static inline int64_t net_channels(const drawn_net *d, int result) {
    return result ? d->layer[result - 1].channels : d->channels;
}

static inline float *net_floats(uint64_t *seed, int64_t count, double scale) {
    float *a = malloc((size_t)count * sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = (float)(scale * check_normal(seed));
    return a;
}

/* A U of one or two scales with residual blocks. */
static inline drawn_net net_draw(uint64_t *seed) {
    drawn_net d = {.channels = 1 + check_below(seed, 5), .batch = 1 + check_below(seed, 2)};
    int64_t a = 1 + check_below(seed, 20), b = 1 + check_below(seed, 40);
    int64_t out = 1 + check_below(seed, 3);
    csrec_net_layer layers[] = {{CSREC_NET_CONV, a, -1, false},
                                {CSREC_NET_CONV, a, -1, true},
                                {CSREC_NET_CONV, a, 1, check_below(seed, 2)},
                                {CSREC_NET_DOWN, b, -1, check_below(seed, 2)},
                                {CSREC_NET_CONV, b, -1, true},
                                {CSREC_NET_CONV, b, 4, false},
                                {CSREC_NET_UP, a, 3, false},
                                {CSREC_NET_CONV, a, -1, true},
                                {CSREC_NET_CONV, a, 7, false},
                                {CSREC_NET_CONV, out, -1, false}};
    d.n = (int)(sizeof layers / sizeof *layers);
    memcpy(d.layer, layers, sizeof layers);
    d.height = 2 * (1 + check_below(seed, 12));
    d.width = 2 * (1 + check_below(seed, 12));
    for (int i = 0; i < d.n; i++)
        d.weights += net_channels(&d, i) * net_channels(&d, i + 1) *
                         (d.layer[i].kind == CSREC_NET_CONV ? 9 : 4) +
                     net_channels(&d, i + 1);
    d.W = net_floats(seed, d.weights, 0.2);
    d.x = d.batch * d.channels * d.height * d.width;
    d.y = d.batch * out * d.height * d.width;
    d.X = net_floats(seed, d.x, 1.0);
    d.Y = net_floats(seed, d.y, 1.0);
    d.dY = net_floats(seed, d.y, 1.0);
    return d;
}

static inline void net_drop(drawn_net *d) {
    free(d->W);
    free(d->X);
    free(d->Y);
    free(d->dY);
}

/* A relu whose sum is all rounding may have another gradient in floats than in double: gradients
 * are compared where net_reference returns more. */
static const double net_clear = 5e-6;

/* One layer of one picture by its definition; in and out are [channels][height][width]. Returns
 * the least |sum| before a relu, in parts of the largest; without a relu infinity. */
static inline double net_layer(const csrec_net_layer *l, int64_t in, const double *w, int64_t h,
                               int64_t wd, const double *x, const double *add, double *y) {
    int64_t out = l->channels, oh = h, ow = wd;
    if (l->kind == CSREC_NET_DOWN) oh = h / 2, ow = wd / 2;
    if (l->kind == CSREC_NET_UP) oh = 2 * h, ow = 2 * wd;
    const double *bias = w + in * out * (l->kind == CSREC_NET_CONV ? 9 : 4);
    double least = INFINITY, largest = 0.0;
    for (int64_t k = 0; k < out; k++)
        for (int64_t i = 0; i < oh; i++)
            for (int64_t j = 0; j < ow; j++) {
                double sum = bias[k];
                for (int64_t c = 0; c < in; c++) {
                    const double *p = x + c * h * wd;
                    if (l->kind == CSREC_NET_UP) {
                        sum += w[(c * out + k) * 4 + i % 2 * 2 + j % 2] * p[i / 2 * wd + j / 2];
                    } else if (l->kind == CSREC_NET_DOWN) {
                        for (int t = 0; t < 4; t++)
                            sum +=
                                w[(k * in + c) * 4 + t] * p[(2 * i + t / 2) * wd + 2 * j + t % 2];
                    } else {
                        for (int t = 0; t < 9; t++) {
                            int64_t r = i + t / 3 - 1, s = j + t % 3 - 1;
                            if (r >= 0 && s >= 0 && r < h && s < wd)
                                sum += w[(k * in + c) * 9 + t] * p[r * wd + s];
                        }
                    }
                }
                int64_t at = (k * oh + i) * ow + j;
                if (add) sum += add[at];
                least = fmin(least, fabs(sum));
                largest = fmax(largest, fabs(sum));
                y[at] = l->relu && sum < 0.0 ? 0.0 : sum;
            }
    return l->relu ? least / largest : INFINITY;
}

/* Y of all pictures, in double. Returns the least of what net_layer returns. */
static inline double net_reference(const drawn_net *d, const double *W, const double *X,
                                   double *Y) {
    int64_t last = net_channels(d, d->n);
    double nearest = INFINITY;
    for (int64_t n = 0; n < d->batch; n++) {
        double *result[NET_LAYERS + 1];
        int64_t h = d->height, w = d->width, at = 0;
        result[0] = malloc((size_t)(d->channels * h * w) * sizeof(double));
        memcpy(result[0], X + n * d->channels * h * w,
               (size_t)(d->channels * h * w) * sizeof(double));
        for (int i = 0; i < d->n; i++) {
            const csrec_net_layer *l = &d->layer[i];
            int64_t in = net_channels(d, i);
            result[i + 1] = malloc((size_t)(4 * l->channels * h * w) * sizeof(double));
            const double *add = l->add >= 0 ? result[l->add] : NULL;
            nearest = fmin(nearest, net_layer(l, in, W + at, h, w, result[i], add, result[i + 1]));
            at += in * l->channels * (l->kind == CSREC_NET_CONV ? 9 : 4) + l->channels;
            if (l->kind == CSREC_NET_DOWN) h /= 2, w /= 2;
            if (l->kind == CSREC_NET_UP) h *= 2, w *= 2;
        }
        memcpy(Y + n * last * h * w, result[d->n], (size_t)(last * h * w) * sizeof(double));
        for (int i = 0; i <= d->n; i++) free(result[i]);
    }
    return nearest;
}

static inline double *net_doubles(int64_t count, const float *from) {
    double *a = calloc((size_t)count, sizeof *a);
    for (int64_t i = 0; from && i < count; i++) a[i] = (double)from[i];
    return a;
}

#endif
