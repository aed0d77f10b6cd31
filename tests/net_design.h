/* SPDX-License-Identifier: BSD-3-Clause */
/* net_design.h - a small network as training/ makes them: a U of 4 sizes, and weights with which it
 * is the identity. */
#pragma once

#include "check.h"
#include "learn/net/prior.h"

/* Of kind net, for so many channels; where these are 0, of kind beside; or of kind rendered. */
typedef struct design {
    const char *kind;
    csrec_net_layer layers[CSREC_NET_LAYERS];
    int n, channels, frames, guides;
    int64_t takes,
        logs; /* planes; of those that are made, the last ones, logarithms of variances */
} design;

static inline int64_t add_layer(design *d, csrec_net_kind kind, int64_t channels, int64_t add,
                                bool relu) {
    d->layers[d->n] = (csrec_net_layer){kind, channels, add, relu};
    return ++d->n;
}

/* x + conv(relu(conv(x))) */
static inline int64_t add_block(design *d, int64_t channels, int64_t result) {
    add_layer(d, CSREC_NET_CONV, channels, -1, true);
    return add_layer(d, CSREC_NET_CONV, channels, result, false);
}

static inline void add_layers(design *d, int64_t width, int64_t makes) {
    int64_t skip[3], result = add_layer(d, CSREC_NET_CONV, width, -1, false);
    for (int s = 0; s < 3; s++) {
        skip[s] = add_block(d, width << s, result);
        result = add_layer(d, CSREC_NET_DOWN, width << (s + 1), -1, false);
    }
    add_block(d, width << 3, result);
    for (int s = 2; s >= 0; s--)
        add_block(d, width << s, add_layer(d, CSREC_NET_UP, width << s, skip[s], false));
    add_layer(d, CSREC_NET_CONV, makes, -1, false);
}

static inline design design_of(int channels, int frames, int guides, int64_t width) {
    design d = {.kind = channels ? "net" : "beside",
                .channels = channels,
                .frames = frames,
                .guides = guides,
                .takes = channels ? 2 * channels + 2 : 3 * frames + 2 + guides,
                .logs = channels ? channels : 1};
    add_layers(&d, width, 2 * d.logs);
    return d;
}

static inline design design_for_renderings(int64_t width) {
    design d = {.kind = "rendered", .channels = 3, .takes = 20, .logs = 1};
    add_layers(&d, width, 8);
    return d;
}

/* Uniform within 1 / sqrt(inputs of a sum), but 0 for the second convolution of a block and the
 * last layer, whose variances begin at exp(-2). Returns their number; weights may be NULL. */
static inline int64_t first_weights(const design *d, uint64_t *seed, double *weights) {
    int64_t in = d->takes, at = 0;
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layers[i];
        int64_t taps = l->kind == CSREC_NET_CONV ? 9 : 4, count = in * l->channels * taps;
        double bound = 1.0 / sqrt((double)(in * (l->kind == CSREC_NET_UP ? 1 : taps)));
        bool last = i == d->n - 1, zero = last || (l->kind == CSREC_NET_CONV && l->add >= 0);
        for (int64_t k = 0; k < count && weights; k++)
            weights[at + k] = zero ? 0.0 : bound * (2.0 * check_uniform(seed) - 1.0);
        for (int64_t k = 0; k < l->channels && weights; k++)
            weights[at + count + k] = last && k >= l->channels - d->logs ? -2.0 : 0.0;
        at += count + l->channels;
        in = l->channels;
    }
    return at;
}

/* Normal weights of this size, or 0: the first ones; until the test's end. */
static inline csrec_model_parts parts_of(const design *d, double size, uint64_t *seed) {
    const int64_t count = first_weights(d, seed, NULL);
    double *rows = check_room(4 * d->n + 3), *own = rows + 4 * d->n, *weights = check_room(count);
    csrec_model_parts parts = {0};
    const double numbers[3] = {d->channels, d->frames, d->guides};
    memcpy(own, numbers, sizeof numbers);
    for (int i = 0; i < d->n; i++) {
        const csrec_net_layer *l = &d->layers[i];
        const double row[4] = {l->kind, (double)l->channels, (double)l->add, l->relu};
        memcpy(rows + 4 * i, row, sizeof row);
    }
    for (int64_t i = 0; i < count && size > 0.0; i++) weights[i] = size * check_normal(seed);
    if (!(size > 0.0)) first_weights(d, seed, weights);
    csrec_model_add(&parts, "layers", (csrec_shape){2, {d->n, 4}}, rows);
    csrec_model_add(&parts, "weights", (csrec_shape){1, {count}}, weights);
    const char *const words[] = {"channels", "frames", "guides"};
    for (int k = d->channels ? 0 : 1; k < (d->channels ? 1 : 3); k++)
        csrec_model_add(&parts, words[k], (csrec_shape){0}, own + k);
    return parts;
}

static inline csrec_model *model_of(const design *d, double size, uint64_t *seed) {
    csrec_model *model = NULL;
    const csrec_model_parts parts = parts_of(d, size, seed);
    assert_well(csrec_model_assemble(d->kind, &parts, &model, &told));
    return model;
}

/* A network that has learned nothing yet. */
static inline csrec_model *fresh_model(int channels, int64_t width, uint64_t *seed) {
    const design d = design_of(channels, 0, 0, width);
    return model_of(&d, 0.0, seed);
}
