/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h - a network inside the library: with a call that can stop it; its results: shapes, the
 * memory that they share, and their reach. */
#pragma once

#include "net/engine.h"

typedef struct csrec_net_graph {
    int n; /* layers; results 0 .. n */
    csrec_net_node node[CSREC_NET_LAYERS];
    int depth[CSREC_NET_LAYERS + 1];    /* of result i: its size is the input's / 2^depth */
    int last_use[CSREC_NET_LAYERS + 1]; /* the last layer that reads result i */
    int added_by[CSREC_NET_LAYERS + 1]; /* the layer that adds result i, or -1 */
    int64_t weights, multiple, reach;
} csrec_net_graph;

/* CSREC_ARGUMENT names the layer. */
csrec_status csrec_net_graph_of(int64_t channels, int n, const csrec_net_layer *layers,
                                csrec_net_graph *graph, csrec_error *error);

/* Extent of result i for an input of this extent; its channels. */
csrec_net_extent csrec_net_extent_of(const csrec_net_graph *graph, const csrec_net_extent *input,
                                     int i);
int64_t csrec_net_channels(const csrec_net_graph *graph, int i);

/* Places in one memory, in floats. -1: none. */
typedef struct csrec_net_places {
    int64_t result[CSREC_NET_LAYERS + 1], gradient[CSREC_NET_LAYERS + 1];
    int64_t floats;
} csrec_net_places;

/* keep: all results stay, and gradients have places, too. Otherwise a result's place is used again
 * after its last use. */
void csrec_net_place(const csrec_net_graph *graph, const csrec_net_engine *engine,
                     const csrec_net_extent *input, bool keep, csrec_net_places *places);

struct csrec_net {
    csrec_net_graph graph;
    const csrec_net_engine *engine;
    csrec_context context;
    bool owns; /* the context */
    void *state;
    const float *weights;     /* its own, or those that are lent; NULL: none yet */
    float *own, *gradient;    /* in the engine's memory; NULL until they are needed */
    float *moments[2], *mean; /* of Adam, or NULL */
    int64_t steps;
    int packed;              /* weights are packed: 1 forward, 2 also backward; 0: not */
    float *memory;           /* of results and gradients */
    int64_t floats;          /* of memory */
    csrec_net_extent kept;   /* of the last forward; batch 0: none */
    csrec_net_places places; /* of `kept` */
};

/* csrec_net_create on a context, which the network copies, without weights; options->backend is
 * ignored. */
csrec_status csrec_net_open(const csrec_context *context, int64_t channels, int n,
                            const csrec_net_layer *layers, const csrec_net_options *options,
                            csrec_net **net, csrec_error *error);

/* csrec_net_set_weights of numbers that are finite and outlive the network, which copies them only
 * where its engine cannot read them, or a step changes them. */
csrec_status csrec_net_lend_weights(csrec_net *net, const float *weights, csrec_error *error);

/* csrec_net_apply whose stop is the call's; lines of X and Y are `width` floats. */
csrec_status csrec_net_run(csrec_net *net, int64_t height, int64_t width, const float *X, float *Y,
                           uint64_t memory, csrec_call *call, csrec_error *error);
