/* net.h - a network inside the library: with a team that can stop it. */
#ifndef CSREC_NET_NET_H
#define CSREC_NET_NET_H

#include "net/graph.h"

struct csrec_net {
    csrec_net_graph graph;
    const csrec_net_engine *engine;
    csrec_context context;
    bool owns; /* the context */
    void *state;
    float *weights, *gradient; /* in the engine's memory; gradient NULL until it is needed */
    float *moments[2], *mean;  /* of Adam, or NULL */
    int64_t steps;
    int packed;              /* weights are packed: 1 forward, 2 also backward; 0: not */
    float *memory;           /* of results and gradients */
    int64_t floats;          /* of memory */
    csrec_net_extent kept;   /* of the last forward; batch 0: none */
    csrec_net_places places; /* of `kept` */
};

/* csrec_net_create on a context, which the network copies; options->backend is ignored. */
csrec_status csrec_net_open(const csrec_context *context, int64_t channels, int n,
                            const csrec_net_layer *layers, const csrec_net_options *options,
                            csrec_net **net, csrec_error *error);

/* Steps of a pass: checks a size; packs weights and places results (keep: for backward, too); runs
 * all layers on result 0, which is in its place. */
csrec_status csrec_net_check(const csrec_net *net, int64_t batch, int64_t height, int64_t width,
                             csrec_error *error);
csrec_status csrec_net_begin(csrec_net *net, const csrec_net_extent *input, bool keep,
                             csrec_error *error);
csrec_status csrec_net_layers(csrec_net *net, const csrec_net_extent *input, csrec_call *team,
                              csrec_error *error);

/* csrec_net_apply whose stop is the team's; lines of X and Y are `width` floats. */
csrec_status csrec_net_run(csrec_net *net, int64_t height, int64_t width, const float *X, float *Y,
                           uint64_t memory, csrec_call *team, csrec_error *error);

#endif
