/* prior_model.h - models of kind net, small and random, and the parts that they are made of. */
#ifndef CSREC_TESTS_PRIOR_MODEL_H
#define CSREC_TESTS_PRIOR_MODEL_H

#include <string.h>

#include "check.h"
#include "learn/net_design.h"
#include "learn/prior.h"

static uint64_t seed;

typedef struct parts {
    csrec_array layers, weights, channels;
} parts;

/* A small network with random weights. */
static inline parts make(int channels, double size) {
    csrec_net_layer layers[CSREC_NET_LAYERS];
    const int64_t blocks[4] = {1, 1, 1, 1};
    int n = csrec_net_design(channels, 8, blocks, layers);
    parts p;
    memset(&p, 0, sizeof p);
    assert_ok(csrec_array_create(CSREC_I64, &(csrec_shape){2, {n, 4}}, &p.layers));
    int64_t weights = 0, in = 2 * channels + 2;
    for (int i = 0; i < n; i++) {
        const int64_t row[4] = {layers[i].kind, layers[i].channels, layers[i].add, layers[i].relu};
        memcpy((int64_t *)p.layers.data + 4 * i, row, sizeof row);
        weights += in * layers[i].channels * (layers[i].kind == CSREC_NET_CONV ? 9 : 4) +
                   layers[i].channels;
        in = layers[i].channels;
    }
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
