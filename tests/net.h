/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h - a network by direct sums in double, and random networks. */
#pragma once

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
    float *a = check_keep((size_t)count * sizeof *a);
    for (int64_t i = 0; i < count; i++) a[i] = (float)(scale * check_normal(seed));
    return a;
}

/* Numbers for the layers, weights of size `scale`. */
static inline void net_complete(uint64_t *seed, drawn_net *d, double scale) {
    for (int i = 0; i < d->n; i++)
        d->weights += net_channels(d, i) * net_channels(d, i + 1) *
                          (d->layer[i].kind == CSREC_NET_CONV ? 9 : 4) +
                      net_channels(d, i + 1);
    d->W = net_floats(seed, d->weights, scale);
    d->x = d->batch * d->channels * d->height * d->width;
    d->y = d->batch * net_channels(d, d->n) * d->height * d->width;
    d->X = net_floats(seed, d->x, 1.0);
    d->Y = net_floats(seed, d->y, 1.0);
    d->dY = net_floats(seed, d->y, 1.0);
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
    net_complete(seed, &d, 0.2);
    return d;
}

/* Channels of several parts and several tiles of rows, pictures of several tiles. */
static inline drawn_net net_draw_wide(uint64_t *seed) {
    drawn_net d = {.channels = 1 + check_below(seed, 40), .batch = 1 + check_below(seed, 2)};
    int64_t a = 30 + check_below(seed, 12), b = 60 + check_below(seed, 16);
    csrec_net_layer layers[] = {{CSREC_NET_CONV, a, -1, false}, {CSREC_NET_CONV, a, -1, true},
                                {CSREC_NET_CONV, a, 1, false},  {CSREC_NET_DOWN, b, -1, true},
                                {CSREC_NET_CONV, b, -1, true},  {CSREC_NET_CONV, b, 4, false},
                                {CSREC_NET_DOWN, 70, -1, true}, {CSREC_NET_UP, b, 6, true},
                                {CSREC_NET_UP, a, 3, false},    {CSREC_NET_CONV, 2, -1, false}};
    d.n = (int)(sizeof layers / sizeof *layers);
    memcpy(d.layer, layers, sizeof layers);
    d.height = 4 * (1 + check_below(seed, 8));
    d.width = 4 * (1 + check_below(seed, 12));
    net_complete(seed, &d, 0.1);
    return d;
}

/* A relu whose sum is all rounding may have another gradient in floats than in double: gradients
 * are compared where `nearest` is more. */
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

static inline double *net_doubles(int64_t count, const float *from) {
    double *a = check_keep_zeros((size_t)count, sizeof *a);
    for (int64_t i = 0; from && i < count; i++) a[i] = (double)from[i];
    return a;
}

typedef struct net_reference {
    double *W, *Y, *dX, *dW;
    double nearest; /* see net_clear */
} net_reference;

/* Of one picture. */
typedef struct net_trace {
    int64_t height[NET_LAYERS + 1], width[NET_LAYERS + 1], weight[NET_LAYERS];
    double *result[NET_LAYERS + 1], *gradient[NET_LAYERS + 1];
} net_trace;

static inline int64_t net_trace_size(const drawn_net *d, const net_trace *t, int i) {
    return net_channels(d, i) * t->height[i] * t->width[i];
}

static inline net_trace net_trace_begin(const drawn_net *d, const float *X) {
    net_trace t = {.height = {d->height}, .width = {d->width}};
    int64_t at = 0;
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layer[i];
        bool down = l->kind == CSREC_NET_DOWN, up = l->kind == CSREC_NET_UP;
        t.height[i + 1] = down ? t.height[i] / 2 : up ? 2 * t.height[i] : t.height[i];
        t.width[i + 1] = down ? t.width[i] / 2 : up ? 2 * t.width[i] : t.width[i];
        t.weight[i] = at;
        at += net_channels(d, i) * l->channels * (down || up ? 4 : 9) + l->channels;
    }
    t.result[0] = net_doubles(net_trace_size(d, &t, 0), X);
    for (int i = 1; i <= d->n; i++) t.result[i] = net_doubles(net_trace_size(d, &t, i), NULL);
    for (int i = 0; i <= d->n; i++) t.gradient[i] = net_doubles(net_trace_size(d, &t, i), NULL);
    return t;
}

static inline void net_trace_forward(const drawn_net *d, net_trace *t, net_reference *r) {
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layer[i];
        double nearest =
            net_layer(l, net_channels(d, i), r->W + t->weight[i], t->height[i], t->width[i],
                      t->result[i], l->add >= 0 ? t->result[l->add] : NULL, t->result[i + 1]);
        r->nearest = fmin(r->nearest, nearest);
    }
}

/* What one result of layer i adds to the gradients. */
static inline void net_spread(const drawn_net *d, net_trace *t, net_reference *r, int layer,
                              int64_t at, double v) {
    const csrec_net_kind kind = d->layer[layer].kind;
    int64_t h = t->height[layer], w = t->width[layer], in = net_channels(d, layer);
    int64_t out = d->layer[layer].channels, ow = t->width[layer + 1];
    int64_t k = at / ow / t->height[layer + 1], i = at / ow % t->height[layer + 1], j = at % ow;
    int taps = kind == CSREC_NET_CONV ? 9 : kind == CSREC_NET_DOWN ? 4 : 1;
    double *dW = r->dW + t->weight[layer], *W = r->W + t->weight[layer];
    dW[in * out * (kind == CSREC_NET_CONV ? 9 : 4) + k] += v;
    for (int64_t c = 0; c < in; c++)
        for (int n = 0; n < taps; n++) {
            int64_t y = i / 2, x = j / 2, weight = (c * out + k) * 4 + i % 2 * 2 + j % 2;
            if (kind == CSREC_NET_DOWN)
                y = 2 * i + n / 2, x = 2 * j + n % 2, weight = (k * in + c) * 4 + n;
            if (kind == CSREC_NET_CONV)
                y = i + n / 3 - 1, x = j + n % 3 - 1, weight = (k * in + c) * 9 + n;
            if (y < 0 || x < 0 || y >= h || x >= w) continue;
            dW[weight] += v * t->result[layer][(c * h + y) * w + x];
            t->gradient[layer][(c * h + y) * w + x] += v * W[weight];
        }
}

static inline void net_trace_backward(const drawn_net *d, net_trace *t, net_reference *r) {
    for (int i = d->n - 1; i >= 0; i--)
        for (int64_t k = 0; k < net_trace_size(d, t, i + 1); k++) {
            double v = t->gradient[i + 1][k];
            if (d->layer[i].relu && !(t->result[i + 1][k] > 0.0)) continue;
            net_spread(d, t, r, i, k, v);
            if (d->layer[i].add >= 0) t->gradient[d->layer[i].add][k] += v;
        }
}

static inline net_reference net_reference_of(const drawn_net *d) {
    net_reference r = {.W = net_doubles(d->weights, d->W),
                       .Y = net_doubles(d->y, NULL),
                       .dX = net_doubles(d->x, NULL),
                       .dW = net_doubles(d->weights, NULL),
                       .nearest = INFINITY};
    int64_t x = d->x / d->batch, y = d->y / d->batch;
    for (int64_t n = 0; n < d->batch; n++) {
        net_trace t = net_trace_begin(d, d->X + n * x);
        net_trace_forward(d, &t, &r);
        for (int64_t k = 0; k < y; k++) t.gradient[d->n][k] = (double)d->dY[n * y + k];
        net_trace_backward(d, &t, &r);
        memcpy(r.Y + n * y, t.result[d->n], (size_t)y * sizeof(double));
        memcpy(r.dX + n * x, t.gradient[0], (size_t)x * sizeof(double));
    }
    return r;
}
