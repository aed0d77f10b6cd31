/* SPDX-License-Identifier: BSD-3-Clause */
/* graph.c - checks a list of layers, and places its results in memory. */
#include "net/net.h"

static csrec_status check_layer(const csrec_net_graph *g, int i, const csrec_net_layer *layer,
                                csrec_error *error) {
    if (layer->kind < CSREC_NET_CONV || layer->kind > CSREC_NET_UP)
        return csrec_fail(error, CSREC_ARGUMENT, "layer %d: kind %d; there are 0 to 2", i,
                          (int)layer->kind);
    if (layer->channels < 1 || layer->channels > 4096)
        return csrec_fail(error, CSREC_ARGUMENT, "layer %d: %lld channels; must be 1 to 4096", i,
                          (long long)layer->channels);
    if (g->depth[i + 1] < 0 || g->depth[i + 1] > 16)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "layer %d: the size is halved %d times; must be 0 to 16", i,
                          g->depth[i + 1]);
    if (layer->add == -1) return CSREC_OK;
    if (layer->add < 0 || layer->add >= i)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "layer %d: adds result %lld; must be -1, or 0 to %d", i,
                          (long long)layer->add, i - 1);
    int add = (int)layer->add;
    if (g->depth[add] != g->depth[i + 1] || csrec_net_channels(g, add) != layer->channels)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "layer %d: adds result %d, which has another shape", i, add);
    if (g->added_by[add] >= 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "layer %d: adds result %d, as layer %d does; each is added at most once",
                          i, add, g->added_by[add]);
    return CSREC_OK;
}

/* How far from a result's pixel the pixels lie that it depends on, layer by layer from the end. */
static int64_t find_reach(const csrec_net_graph *g) {
    int64_t reach[CSREC_NET_LAYERS + 1] = {0};
    for (int i = g->n - 1; i >= 0; i--) {
        int64_t r = reach[i + 1], add = g->node[i].add;
        if (add >= 0 && r > reach[add]) reach[add] = r;
        switch (g->node[i].kind) {
        case CSREC_NET_CONV:
            r++;
            break;
        case CSREC_NET_DOWN:
            r = 2 * r + 1;
            break;
        case CSREC_NET_UP:
            r = (r + 1) / 2;
            break;
        }
        if (r > reach[i]) reach[i] = r;
    }
    return reach[0];
}

csrec_status csrec_net_graph_of(int64_t channels, int n, const csrec_net_layer *layers,
                                csrec_net_graph *g, csrec_error *error) {
    if (n < 1 || n > CSREC_NET_LAYERS || channels < 1 || channels > 4096)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "a network of %d layers and %lld channels; must be 1 to %d and 1 to 4096",
                          n, (long long)channels, CSREC_NET_LAYERS);
    *g = (csrec_net_graph){.n = n, .multiple = 1};
    for (int i = 0; i <= n; i++) g->added_by[i] = -1;
    for (int i = 0; i < n; i++) {
        const csrec_net_layer *layer = &layers[i];
        int64_t in = i ? g->node[i - 1].out : channels;
        int64_t taps = layer->kind == CSREC_NET_CONV ? 9 : 4;
        g->node[i] = (csrec_net_node){.kind = layer->kind,
                                      .in = in,
                                      .out = layer->channels,
                                      .relu = layer->relu,
                                      .add = layer->add,
                                      .weight = g->weights};
        g->depth[i + 1] =
            g->depth[i] + (layer->kind == CSREC_NET_DOWN) - (layer->kind == CSREC_NET_UP);
        CSREC_TRY(check_layer(g, i, layer, error));
        g->node[i].bias = g->weights + in * layer->channels * taps;
        g->weights = g->node[i].bias + layer->channels;
        g->last_use[i] = i;
        if (layer->add >= 0) {
            g->last_use[layer->add] = i;
            g->added_by[layer->add] = i;
        }
        if (g->multiple < INT64_C(1) << g->depth[i + 1])
            g->multiple = INT64_C(1) << g->depth[i + 1];
    }
    g->last_use[n] = n;
    if (g->node[n - 1].relu)
        return csrec_fail(error, CSREC_ARGUMENT, "layer %d: the last layer has no relu", n - 1);
    if (g->depth[n] != 0)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "layer %d: the last result has another size than the input", n - 1);
    g->reach = find_reach(g);
    return CSREC_OK;
}

csrec_net_extent csrec_net_extent_of(const csrec_net_graph *graph, const csrec_net_extent *input,
                                     int i) {
    return (csrec_net_extent){input->batch, input->height >> graph->depth[i],
                              input->width >> graph->depth[i]};
}

int64_t csrec_net_channels(const csrec_net_graph *graph, int i) {
    return i ? graph->node[i - 1].out : graph->node[0].in;
}

/* Places in use, by ascending place. */
typedef struct arena {
    int n;
    int64_t from[2 * CSREC_NET_LAYERS + 2], end[2 * CSREC_NET_LAYERS + 2];
    int64_t floats; /* the most */
} arena;

/* The first gap that is large enough. */
static int64_t take(arena *a, int64_t floats) {
    int64_t at = 0;
    int i = 0;
    for (; i < a->n && a->from[i] < at + floats; i++) at = a->end[i];
    for (int k = a->n++; k > i; k--) {
        a->from[k] = a->from[k - 1];
        a->end[k] = a->end[k - 1];
    }
    a->from[i] = at;
    a->end[i] = at + floats;
    if (a->floats < at + floats) a->floats = at + floats;
    return at;
}

static void give(arena *a, int64_t at) {
    int i = 0;
    while (i < a->n && a->from[i] != at) i++;
    if (i == a->n) return;
    a->n--;
    for (; i < a->n; i++) {
        a->from[i] = a->from[i + 1];
        a->end[i] = a->end[i + 1];
    }
}

static int64_t floats_of(const csrec_net_graph *g, const csrec_net_engine *engine,
                         const csrec_net_extent *input, int i) {
    csrec_net_extent extent = csrec_net_extent_of(g, input, i);
    return engine->floats(&extent, csrec_net_channels(g, i));
}

/* A result that is added for the last time has the place of the sum. The input, which has fewer
 * channels than any, lies after the first result: where it was, the second has room. */
static void place_results(const csrec_net_graph *g, const csrec_net_engine *engine,
                          const csrec_net_extent *input, bool keep, arena *a, csrec_net_places *p) {
    const int64_t first = take(a, floats_of(g, engine, input, 1));
    p->result[0] = take(a, floats_of(g, engine, input, 0));
    for (int i = 0; i < g->n; i++) {
        int64_t add = g->node[i].add;
        bool same = !keep && add >= 0 && g->last_use[add] == i;
        p->result[i + 1] = i == 0 ? first
                           : same ? p->result[add]
                                  : take(a, floats_of(g, engine, input, i + 1));
        for (int k = 0; k <= i && !keep; k++)
            if (g->last_use[k] == i && !(same && k == add)) give(a, p->result[k]);
    }
}

/* The gradient of a result that a layer adds has the place of that layer's own: see backward. */
static void place_gradients(const csrec_net_graph *g, const csrec_net_engine *engine,
                            const csrec_net_extent *input, arena *a, csrec_net_places *p) {
    for (int i = 0; i <= g->n; i++) p->gradient[i] = -1;
    p->gradient[g->n] = take(a, floats_of(g, engine, input, g->n));
    for (int i = g->n - 1; i >= 0; i--) {
        int64_t add = g->node[i].add;
        if (add >= 0) p->gradient[add] = p->gradient[i + 1];
        if (p->gradient[i] < 0) p->gradient[i] = take(a, floats_of(g, engine, input, i));
        if (add < 0) give(a, p->gradient[i + 1]);
    }
}

void csrec_net_place(const csrec_net_graph *graph, const csrec_net_engine *engine,
                     const csrec_net_extent *input, bool keep, csrec_net_places *places) {
    arena a = {.n = 0};
    place_results(graph, engine, input, keep, &a, places);
    if (keep) place_gradients(graph, engine, input, &a, places);
    places->floats = a.floats;
}
