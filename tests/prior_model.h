/* SPDX-License-Identifier: BSD-3-Clause */
/* prior_model.h - models of kind net, small and random, and the parts that they are made of. */
#ifndef CSREC_TESTS_PRIOR_MODEL_H
#define CSREC_TESTS_PRIOR_MODEL_H

#include "check.h"
#include "net_design.h"

SEED(seed);

typedef struct parts {
    csrec_array layers, weights, channels;
} parts;

/* A small network with random weights. */
static inline parts make(int channels, double size) {
    design d = design_of(channels, 8);
    const csrec_net_layer *layers = d.layers;
    parts p;
    memset(&p, 0, sizeof p);
    assert_ok(csrec_array_create(CSREC_I64, &(csrec_shape){2, {d.n, 4}}, &p.layers));
    for (int i = 0; i < d.n; i++) {
        const int64_t row[4] = {layers[i].kind, layers[i].channels, layers[i].add, layers[i].relu};
        memcpy((int64_t *)p.layers.data + 4 * i, row, sizeof row);
    }
    int64_t weights = first_weights(&d, channels, &seed, NULL);
    assert_ok(csrec_array_create(CSREC_F64, &(csrec_shape){1, {weights}}, &p.weights));
    for (int64_t i = 0; i < weights; i++)
        ((double *)p.weights.data)[i] = size * check_normal(&seed);
    assert_ok(csrec_array_create(CSREC_I64, &(csrec_shape){0}, &p.channels));
    *(int64_t *)p.channels.data = channels;
    return p;
}

static inline void parts_drop(parts *p) {
    csrec_array_clear(&p->layers);
    csrec_array_clear(&p->weights);
    csrec_array_clear(&p->channels);
}

static inline csrec_status assemble(const parts *p, csrec_model **model, csrec_error *error) {
    const char *names[] = {"layers", "weights", "channels"};
    const csrec_array *arrays[] = {&p->layers, &p->weights, &p->channels};
    return csrec_model_create("net", 3, names, arrays, model, error);
}

static inline csrec_model *draw_model(int channels) {
    csrec_model *model = NULL;
    parts p = make(channels, 0.05);
    assert_ok(assemble(&p, &model, NULL));
    parts_drop(&p);
    return model;
}

#endif
