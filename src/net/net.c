/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c - networks: creation, weights, forward, backward, steps. The schedule is the same on every
 * device. */
#include "net/net.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const csrec_net_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_net_cpu, &csrec_net_cuda);

void csrec_net_destroy(csrec_net *net) {
    if (!net) return;
    if (net->state) {
        float *all[] = {net->own,        net->gradient, net->moments[0],
                        net->moments[1], net->mean,     net->memory};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            net->engine->release(net->state, all[i]);
        net->engine->destroy(net->state);
    }
    if (net->owns) csrec_context_destroy(&net->context);
    free(net);
}

csrec_status csrec_net_open(const csrec_context *context, int64_t channels, int n,
                            const csrec_net_layer *layers, const csrec_net_options *options,
                            csrec_net **net, csrec_error *error) {
    csrec_net *made = calloc(1, sizeof *made);
    if (!made) return csrec_memory_fail(error, NULL);
    made->context = *context;
    made->engine = engines[context->kind];
    csrec_status status = csrec_net_graph_of(channels, n, layers, &made->graph, error);
    if (!status && !made->engine) status = csrec_device_lacks(context, "a network", NULL, error);
    if (!status)
        status = made->engine->create(context, options, n, made->graph.node, &made->state, error);
    return CSREC_SETTLE(status, csrec_net_destroy(made), *net = made);
}

/* Zeros where it has none. */
static csrec_status make_own(csrec_net *net, csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (!net->own) status = net->engine->allocate(net->state, net->graph.weights, &net->own, error);
    if (!status && net->weights && net->weights != net->own)
        status = net->engine->copy(net->state, net->graph.weights, net->weights, net->own, error);
    if (!status) net->weights = net->own;
    return status;
}

csrec_status csrec_net_create(int64_t channels, int n, const csrec_net_layer *layers,
                              const csrec_net_options *options, csrec_net **net,
                              csrec_error *error) {
    csrec_net_options plain = options ? *options : (csrec_net_options){0};
    const char *backend = csrec_device_automatic(plain.backend) ? "cpu" : plain.backend;
    csrec_context context;
    CSREC_TRY(csrec_context_create(backend, &context, error));
    csrec_net *made = NULL;
    csrec_status status = csrec_net_open(&context, channels, n, layers, &plain, &made, error);
    if (status)
        csrec_context_destroy(&context);
    else
        made->owns = true;
    if (!status) status = make_own(made, error);
    return CSREC_SETTLE(status, csrec_net_destroy(made), *net = made);
}

const char *csrec_net_info(const csrec_net *net, int64_t *weights, int64_t *multiple,
                           int64_t *reach) {
    if (weights) *weights = net->graph.weights;
    if (multiple) *multiple = net->graph.multiple;
    if (reach) *reach = net->graph.reach;
    return csrec_device_name(net->context.kind);
}

/* Results of other weights cannot be gone back through. */
static void changed(csrec_net *net) {
    net->packed = 0;
    net->kept.batch = 0;
}

csrec_status csrec_net_set_weights(csrec_net *net, const float *weights, csrec_error *error) {
    int beyond = 0;
    for (int64_t i = 0; i < net->graph.weights; i++) beyond |= !(fabsf(weights[i]) <= FLT_MAX);
    for (int64_t i = 0; i < net->graph.weights && beyond; i++)
        if (!isfinite(weights[i]))
            return csrec_fail(error, CSREC_DATA, "weights of a network: entry %lld is not finite",
                              (long long)i);
    net->weights = NULL;
    CSREC_TRY(make_own(net, error));
    changed(net);
    return net->engine->copy(net->state, net->graph.weights, weights, net->own, error);
}

csrec_status csrec_net_lend_weights(csrec_net *net, const float *weights, csrec_error *error) {
    if (!net->engine->on_host) return csrec_net_set_weights(net, weights, error);
    net->weights = weights;
    changed(net);
    return CSREC_OK;
}

csrec_status csrec_net_weights(csrec_net *net, bool average, float *weights, csrec_error *error) {
    if (average && !net->mean)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "weights of a network: no step made a mean of them");
    return net->engine->copy(net->state, net->graph.weights, average ? net->mean : net->weights,
                             weights, error);
}

static csrec_status pack(csrec_net *net, bool backward, csrec_error *error) {
    int wanted = backward ? 2 : 1;
    if (net->packed >= wanted) return CSREC_OK;
    csrec_status status = net->engine->pack(net->state, net->weights, backward, error);
    if (!status) net->packed = wanted;
    return status;
}

static csrec_status check(const csrec_net *net, int64_t batch, int64_t height, int64_t width,
                          csrec_error *error) {
    const int64_t most = INT64_C(1) << 31, m = net->graph.multiple;
    if (batch < 1 || height < 1 || width < 1 || batch > most || height > most || width > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "a network's input of %lld x %lld x %lld; must be 1 to 2^31",
                          (long long)batch, (long long)height, (long long)width);
    if (height % m == 0 && width % m == 0) return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "a network's input of %lld x %lld; must be multiples of %lld",
                      (long long)height, (long long)width, (long long)m);
}

static csrec_status reserve(csrec_net *net, int64_t floats, csrec_error *error) {
    if (floats <= net->floats) return CSREC_OK;
    net->engine->release(net->state, net->memory);
    net->memory = NULL;
    net->floats = 0;
    csrec_status status = net->engine->allocate(net->state, floats, &net->memory, error);
    if (!status) net->floats = floats;
    return status;
}

/* Packs weights and places results; keep: for backward, too. */
static csrec_status begin_pass(csrec_net *net, const csrec_net_extent *input, bool keep,
                               csrec_error *error) {
    net->kept.batch = 0;
    csrec_net_place(&net->graph, net->engine, input, keep, &net->places);
    csrec_status status = reserve(net, net->places.floats, error);
    if (!status) status = pack(net, keep, error);
    for (int i = 0; i < net->graph.n && !status; i++) {
        csrec_net_extent extent = csrec_net_extent_of(&net->graph, input, i);
        status = net->engine->prepare(net->state, i, &extent, keep, error);
    }
    return status;
}

/* All layers on result 0, which is in its place. */
static csrec_status run_layers(csrec_net *net, const csrec_net_extent *input, csrec_call *call,
                               csrec_error *error) {
    const csrec_net_graph *g = &net->graph;
    csrec_status status = CSREC_OK;
    for (int i = 0; i < g->n && !status && !csrec_call_poll(call); i++) {
        const csrec_net_node *node = &g->node[i];
        csrec_net_extent extent = csrec_net_extent_of(g, input, i);
        csrec_net_finish finish = {.bias = true, .relu = node->relu};
        if (node->add >= 0) finish.add = net->memory + net->places.result[node->add];
        status =
            net->engine->product(net->state, i, false, &extent, net->memory + net->places.result[i],
                                 &finish, net->memory + net->places.result[i + 1], call, error);
    }
    return status;
}

csrec_status csrec_net_forward(csrec_net *net, int64_t batch, int64_t height, int64_t width,
                               const float *X, float *Y, csrec_error *error) {
    const csrec_net_graph *g = &net->graph;
    csrec_net_extent input = {batch, height, width};
    CSREC_TRY(check(net, batch, height, width, error));
    CSREC_TRY(begin_pass(net, &input, true, error));
    CSREC_TRY(net->engine->put(net->state, &input, csrec_net_channels(g, 0), X, width,
                               height * width, net->memory + net->places.result[0], error));
    CSREC_TRY(run_layers(net, &input, NULL, error));
    CSREC_TRY(net->engine->get(net->state, &input, csrec_net_channels(g, g->n),
                               net->memory + net->places.result[g->n], Y, error));
    net->kept = input;
    return CSREC_OK;
}

/* The gradient of result i + 1 is complete when layer i has its turn: its last part is the adjoint
 * product of layer i + 1, which also applies the relu of layer i. A layer that adds a result leaves
 * its own gradient behind as the first part of that result's. */
static csrec_status run_back(csrec_net *net, bool to_input, csrec_error *error) {
    const csrec_net_graph *g = &net->graph;
    const csrec_net_places *p = &net->places;
    csrec_status status = CSREC_OK;
    for (int i = g->n - 1; i >= 0 && !status; i--) {
        csrec_net_extent extent = csrec_net_extent_of(g, &net->kept, i);
        const float *dy = net->memory + p->gradient[i + 1], *x = net->memory + p->result[i];
        float *dx = net->memory + p->gradient[i];
        status = net->engine->gradient(net->state, i, &extent, x, dy, net->gradient, error);
        if (status || (i == 0 && !to_input)) continue;
        csrec_net_finish finish = {.add = g->added_by[i] >= 0 ? dx : NULL,
                                   .gate = i > 0 && g->node[i - 1].relu ? x : NULL};
        status = net->engine->product(net->state, i, true, &extent, dy, &finish, dx, NULL, error);
    }
    return status;
}

csrec_status csrec_net_backward(csrec_net *net, const float *dY, float *dX, float *dW,
                                csrec_error *error) {
    const csrec_net_graph *g = &net->graph;
    const csrec_net_extent *e = &net->kept;
    if (e->batch == 0)
        return csrec_fail(error, CSREC_ARGUMENT, "no forward pass to go back through");
    csrec_status status = CSREC_OK;
    if (!net->gradient)
        status = net->engine->allocate(net->state, g->weights, &net->gradient, error);
    if (!status)
        status =
            net->engine->put(net->state, e, csrec_net_channels(g, g->n), dY, e->width,
                             e->height * e->width, net->memory + net->places.gradient[g->n], error);
    if (!status) status = run_back(net, dX != NULL, error);
    if (!status && dX)
        status = net->engine->get(net->state, e, csrec_net_channels(g, 0),
                                  net->memory + net->places.gradient[0], dX, error);
    if (!status && dW) status = net->engine->copy(net->state, g->weights, net->gradient, dW, error);
    return status;
}

/* Moments of zeros, and a mean that starts from the weights. */
static csrec_status begin_steps(csrec_net *net, bool mean, csrec_error *error) {
    int64_t n = net->graph.weights;
    csrec_status status = make_own(net, error);
    for (int i = 0; i < 2 && !status; i++)
        if (!net->moments[i])
            status = net->engine->allocate(net->state, n, &net->moments[i], error);
    if (status || !mean || net->mean) return status;
    status = net->engine->allocate(net->state, n, &net->mean, error);
    return status ? status : net->engine->copy(net->state, n, net->weights, net->mean, error);
}

csrec_status csrec_net_step(csrec_net *net, const csrec_net_adam *adam, csrec_error *error) {
    if (!(adam->rate >= 0.0) || !(adam->clip >= 0.0) || !(adam->decay >= 0.0) ||
        !(adam->average >= 0.0 && adam->average < 1.0) ||
        !(adam->beta1 >= 0.0 && adam->beta1 < 1.0) || !(adam->beta2 >= 0.0 && adam->beta2 < 1.0))
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "a step of Adam: rate, clip and decay must be at least 0; beta1, beta2 and "
            "average from 0 to below 1");
    if (!net->gradient) return csrec_fail(error, CSREC_ARGUMENT, "no gradient to step by");
    csrec_net_update update = {.adam = *adam, .scale = 1.0, .keep = 1.0};
    if (update.adam.beta1 == 0.0) update.adam.beta1 = 0.9;
    if (update.adam.beta2 == 0.0) update.adam.beta2 = 0.999;
    double energy = 0.0;
    CSREC_TRY(begin_steps(net, adam->average > 0.0, error));
    CSREC_TRY(net->engine->energy(net->state, net->graph.weights, net->gradient, &energy, error));
    if (!isfinite(energy))
        return csrec_fail(error, CSREC_DATA, "the gradient of a network is not finite");
    if (adam->clip > 0.0 && sqrt(energy) > adam->clip) update.scale = adam->clip / sqrt(energy);
    double step = (double)++net->steps;
    update.correct1 = 1.0 - pow(update.adam.beta1, step);
    update.correct2 = 1.0 - pow(update.adam.beta2, step);
    if (adam->average > 0.0) update.keep = fmin(adam->average, 1.0 - 1.0 / (step + 1.0));
    changed(net);
    return net->engine->update(net->state, net->graph.weights, &update, net->gradient, net->own,
                               net->moments[0], net->moments[1],
                               adam->average > 0.0 ? net->mean : NULL, error);
}

/* ------------------------------------------------------------------ one pass
 *
 * Over a picture of any size, in tiles that overlap by the network's reach. Tiles begin at
 * multiples of 4 pixels of the smallest results, so that the 4 x 4 tiles of Winograd's products are
 * the same as in the whole picture: then so are the bits (net/block.h). */

enum { GRAIN = 4 };

/* Tiles of one axis: their cores follow one another; each has `margin` pixels more on both sides,
 * where there are any. */
typedef struct cut {
    int64_t length, core, margin;
} cut;

static int64_t whole(int64_t count, int64_t of) {
    return (count + of - 1) / of * of;
}

static void span_of(const cut *c, int64_t first, int64_t *from, int64_t *to) {
    *from = first > c->margin ? first - c->margin : 0;
    *to = first + c->core + c->margin < c->length ? first + c->core + c->margin : c->length;
}

/* Of the largest tile. */
static int64_t side_of(const cut *c) {
    int64_t side = c->core + 2 * c->margin;
    return side < c->length ? side : c->length;
}

uint64_t csrec_net_memory(const csrec_net *net, int64_t batch, int64_t height, int64_t width) {
    csrec_net_places places;
    csrec_net_extent input = {batch ? batch : 1, height, width};
    csrec_net_place(&net->graph, net->engine, &input, batch > 0, &places);
    return (uint64_t)places.floats * sizeof(float);
}

/* The whole, or halves of its longer side, until a tile fits; at least as large as its margins. */
static void choose(const csrec_net *net, int64_t height, int64_t width, uint64_t memory,
                   cut cuts[2]) {
    int64_t grain = GRAIN * net->graph.multiple, margin = whole(net->graph.reach, grain);
    uint64_t most = memory ? memory : UINT64_C(1) << 30;
    cuts[0] = (cut){height, height, 0};
    cuts[1] = (cut){width, width, 0};
    for (;;) {
        cut *longer = &cuts[cuts[1].core > cuts[0].core];
        if (csrec_net_memory(net, 0, side_of(&cuts[0]), side_of(&cuts[1])) <= most ||
            longer->core <= 2 * margin)
            return;
        longer->core = whole((longer->core + 1) / 2, grain);
        longer->margin = margin;
    }
}

typedef struct pass {
    csrec_net *net;
    cut cuts[2];
    const float *X;
    float *Y, *tile; /* tile: results of the largest; Y if there is one only */
} pass;

/* The tile whose core begins at (y, x). */
static csrec_status run_tile(pass *p, int64_t y, int64_t x, csrec_call *call, csrec_error *error) {
    csrec_net *net = p->net;
    int64_t y0, y1, x0, x1, height = p->cuts[0].length, width = p->cuts[1].length;
    span_of(&p->cuts[0], y, &y0, &y1);
    span_of(&p->cuts[1], x, &x0, &x1);
    csrec_net_extent input = {1, y1 - y0, x1 - x0};
    csrec_status status = begin_pass(net, &input, false, error);
    if (!status)
        status = net->engine->put(net->state, &input, csrec_net_channels(&net->graph, 0),
                                  p->X + y0 * width + x0, width, height * width,
                                  net->memory + net->places.result[0], error);
    if (!status) status = run_layers(net, &input, call, error);
    int n = net->graph.n;
    int64_t channels = csrec_net_channels(&net->graph, n);
    if (!status)
        status = net->engine->get(net->state, &input, channels, net->memory + net->places.result[n],
                                  p->tile, error);
    if (status || p->tile == p->Y) return status;
    int64_t rows = height - y < p->cuts[0].core ? height - y : p->cuts[0].core;
    int64_t columns = width - x < p->cuts[1].core ? width - x : p->cuts[1].core;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < rows; r++)
            memcpy(p->Y + (c * height + y + r) * width + x,
                   p->tile + (c * input.height + y - y0 + r) * input.width + x - x0,
                   (size_t)columns * sizeof(float));
    return CSREC_OK;
}

csrec_status csrec_net_run(csrec_net *net, int64_t height, int64_t width, const float *X, float *Y,
                           uint64_t memory, csrec_call *call, csrec_error *error) {
    pass p = {.net = net, .X = X, .Y = Y};
    csrec_status status = check(net, 1, height, width, error);
    if (status) return status;
    choose(net, height, width, memory, p.cuts);
    size_t pixels = (size_t)(side_of(&p.cuts[0]) * side_of(&p.cuts[1]));
    size_t channels = (size_t)csrec_net_channels(&net->graph, net->graph.n);
    const bool single = p.cuts[0].core == height && p.cuts[1].core == width;
    p.tile = single ? Y : malloc(channels * pixels * sizeof *p.tile);
    if (!p.tile) return csrec_fail(error, CSREC_MEMORY, "out of memory for a network's tile");
    for (int64_t y = 0; y < height && !status; y += p.cuts[0].core)
        for (int64_t x = 0; x < width && !status && !csrec_call_stopped(call); x += p.cuts[1].core)
            status = run_tile(&p, y, x, call, error);
    if (!single) free(p.tile);
    return status;
}

csrec_status csrec_net_apply(csrec_net *net, int64_t height, int64_t width, const float *X,
                             float *Y, uint64_t memory, csrec_progress_fn progress, void *context,
                             csrec_error *error) {
    csrec_call call;
    csrec_call_begin(&call, progress, context, (csrec_progress){"network", 0, -1, -1.0});
    csrec_status status = csrec_net_run(net, height, width, X, Y, memory, &call, error);
    csrec_call_end(&call);
    return status;
}
