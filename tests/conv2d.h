/* SPDX-License-Identifier: BSD-3-Clause */
/* conv2d.h - random convolutions, and their products by seven loops in double. */
#pragma once

#include <float.h>
#include "check.h"
#include "conv/conv.h"

typedef struct drawn {
    csrec_conv2d conv;
    int64_t out[2], x_count, w_count, y_count;
    float *X, *W, *B, *dY, *Y;
    char *workspace;
    size_t forward, backward;
    char text[240];
} drawn;

/* Until the test's end. */
static inline float *random_floats(uint64_t *seed, int64_t n) {
    float *v = check_keep((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(2.0 * check_uniform(seed) - 1.0);
    return v;
}

static inline void complete(uint64_t *seed, drawn *d) {
    csrec_conv2d *c = &d->conv;
    assert_ok(csrec_conv2d_output(c, d->out, NULL));
    d->x_count = c->batch * c->channels_in * c->size[0] * c->size[1];
    d->w_count = c->channels_out * c->channels_in * c->kernel[0] * c->kernel[1];
    d->y_count = c->batch * c->channels_out * d->out[0] * d->out[1];
    d->X = random_floats(seed, d->x_count);
    d->W = random_floats(seed, d->w_count);
    d->B = random_floats(seed, c->channels_out);
    d->Y = random_floats(seed, d->y_count);
    d->dY = random_floats(seed, d->y_count);
    assert_ok(csrec_conv2d_workspace(c, &d->forward, &d->backward, NULL));
    d->workspace = check_keep(d->forward > d->backward ? d->forward : d->backward);
    snprintf(d->text, sizeof d->text,
             "batch %d channels %d to %d size %dx%d kernel %dx%d stride %dx%d padding %dx%d "
             "dilation %dx%d threads %d",
             (int)c->batch, (int)c->channels_in, (int)c->channels_out, (int)c->size[0],
             (int)c->size[1], (int)c->kernel[0], (int)c->kernel[1], (int)c->stride[0],
             (int)c->stride[1], (int)c->padding[0], (int)c->padding[1], (int)c->dilation[0],
             (int)c->dilation[1], c->threads);
}

/* Small ones most of the time; now and then channels or lines beyond one tile. */
static inline void draw_small(uint64_t *seed, csrec_conv2d *c) {
    bool wide = check_below(seed, 12) == 0, deep = !wide && check_below(seed, 8) == 0;
    c->channels_in = 1 + check_below(seed, deep ? 24 : 5);
    c->channels_out = 1 + check_below(seed, deep ? 12 : 9);
    for (int a = 0; a < 2; a++) {
        c->size[a] = 1 + check_below(seed, a == 1 && wide ? 500 : 12);
        c->kernel[a] = 1 + check_below(seed, 5);
        c->stride[a] = check_below(seed, 4);
        c->dilation[a] = check_below(seed, 4);
        c->padding[a] = check_below(seed, 5);
    }
}

static inline drawn draw_by(uint64_t *seed, const char *backend,
                            void (*shape)(uint64_t *seed, csrec_conv2d *c)) {
    drawn d = {0};
    do {
        d.conv = (csrec_conv2d){.batch = 1 + check_below(seed, 3),
                                .threads = (int)check_below(seed, 4),
                                .backend = backend};
        shape(seed, &d.conv);
    } while (csrec_conv2d_output(&d.conv, d.out, NULL));
    complete(seed, &d);
    return d;
}

static inline drawn draw(uint64_t *seed) {
    return draw_by(seed, NULL, draw_small);
}

static inline int64_t or_one(int64_t v) {
    return v ? v : 1;
}

/* visit(x index, w index, y index) for every product of the definition: seven loops. */
#define FOR_EVERY_PRODUCT(c, out, x, w, y)                                                         \
    for (int64_t n_ = 0; n_ < (c)->batch; n_++)                                                    \
        for (int64_t co_ = 0; co_ < (c)->channels_out; co_++)                                      \
            for (int64_t ho_ = 0; ho_ < (out)[0]; ho_++)                                           \
                for (int64_t wo_ = 0; wo_ < (out)[1]; wo_++)                                       \
                    for (int64_t ci_ = 0; ci_ < (c)->channels_in; ci_++)                           \
                        for (int64_t kh_ = 0; kh_ < (c)->kernel[0]; kh_++)                         \
                            for (int64_t                                                           \
                                     kw_ = 0,                                                      \
                                     h_ = ho_ * or_one((c)->stride[0]) - (c)->padding[0] +         \
                                          kh_ * or_one((c)->dilation[0]),                          \
                                     v_, x, w, y;                                                  \
                                 v_ = wo_ * or_one((c)->stride[1]) - (c)->padding[1] +             \
                                      kw_ * or_one((c)->dilation[1]),                              \
                                     x = ((n_ * (c)->channels_in + ci_) * (c)->size[0] + h_) *     \
                                             (c)->size[1] +                                        \
                                         v_,                                                       \
                                     w = ((co_ * (c)->channels_in + ci_) * (c)->kernel[0] + kh_) * \
                                             (c)->kernel[1] +                                      \
                                         kw_,                                                      \
                                     y = ((n_ * (c)->channels_out + co_) * (out)[0] + ho_) *       \
                                             (out)[1] +                                            \
                                         wo_,                                                      \
                                     kw_ < (c)->kernel[1];                                         \
                                 kw_++)                                                            \
                                if (h_ >= 0 && h_ < (c)->size[0] && v_ >= 0 && v_ < (c)->size[1])

/* A float sum of n products of size s has an error of at most n eps times the sum of sizes. */
static inline void expect(const drawn *d, const char *what, int64_t i, double found, double wanted,
                          double sizes, int64_t terms) {
    double bound = ((double)terms + 4.0) * FLT_EPSILON * sizes + 1e-30;
    if (fabs(found - wanted) <= bound) return;
    print_message("%s: %s[%d] is %.9g, not %.9g (+- %.3g)\n", d->text, what, (int)i, found, wanted,
                  bound);
    fail();
}

static inline int64_t terms_of_y(const csrec_conv2d *c) {
    return c->channels_in * c->kernel[0] * c->kernel[1];
}
