/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h - the products of a network on a device. net.c has checked all arguments, plans memory
 * and calls them in order; arrays have the engine's own layout and are in its memory. */
#pragma once

#include "csrec/net.h"
#include "base/call.h"
#include "device/device.h"

/* A layer and its place among the weights. */
typedef struct csrec_net_node {
    csrec_net_kind kind;
    int64_t in, out;      /* channels */
    int64_t weight, bias; /* first float of W and of B */
    bool relu;
    int64_t add; /* -1: none */
} csrec_net_node;

/* Extents of a product: those of the layer's input. */
typedef struct csrec_net_extent {
    int64_t batch, height, width;
} csrec_net_extent;

/* y = gated(max(product + B + add, 0 if relu)), gated(v) = gate > 0 ? v : 0. Arrays may be NULL;
 * add and gate have the shape of y, and add may be y. */
typedef struct csrec_net_finish {
    const float *add, *gate;
    bool bias, relu;
} csrec_net_finish;

typedef struct csrec_net_update {
    csrec_net_adam adam;
    double correct1, correct2; /* 1 - beta^step */
    double keep;               /* of the mean of weights; 1: none */
    double scale;              /* of the gradient */
} csrec_net_update;

typedef struct csrec_net_engine {
    /* state: the engine's own. nodes live as long. */
    csrec_status (*create)(const csrec_context *context, const csrec_net_options *options, int n,
                           const csrec_net_node *nodes, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Floats of an array of the extent, and memory for such arrays, zeroed. */
    int64_t (*floats)(const csrec_net_extent *extent, int64_t channels);
    csrec_status (*allocate)(void *state, int64_t floats, float **memory, csrec_error *error);
    void (*release)(void *state, float *memory); /* accepts NULL */
    bool on_host;                                /* its memory is the host's */
    /* Allocates what the layer's products take, of an input of this extent. */
    csrec_status (*prepare)(void *state, int layer, const csrec_net_extent *extent, bool backward,
                            csrec_error *error);
    /* [batch][channels][height][width] on the host to an array and back; line: floats between the
     * host's lines, plane: between its planes. */
    csrec_status (*put)(void *state, const csrec_net_extent *extent, int64_t channels,
                        const float *host, int64_t line, int64_t plane, float *array,
                        csrec_error *error);
    csrec_status (*get)(void *state, const csrec_net_extent *extent, int64_t channels,
                        const float *array, float *host, csrec_error *error);
    /* Plain floats, such as weights, from the host or the engine's memory to either. */
    csrec_status (*copy)(void *state, int64_t count, const float *from, float *to,
                         csrec_error *error);
    /* After weights have changed. backward: also for adjoint products. */
    csrec_status (*pack)(void *state, const float *weights, bool backward, csrec_error *error);
    /* The layer's product of x, or its adjoint, which takes results to inputs; extent: that of the
     * layer's input either way. call: NULL, or stopped while it runs, with y undefined. */
    csrec_status (*product)(void *state, int layer, bool adjoint, const csrec_net_extent *extent,
                            const float *x, const csrec_net_finish *finish, float *y,
                            csrec_call *call, csrec_error *error);
    /* gradient: of all weights; sets the layer's part. */
    csrec_status (*gradient)(void *state, int layer, const csrec_net_extent *extent, const float *x,
                             const float *dy, float *gradient, csrec_error *error);
    /* sum of squares, in double, in an order that the count determines. */
    csrec_status (*energy)(void *state, int64_t count, const float *array, double *sum,
                           csrec_error *error);
    /* weights, first and second moment, mean of weights (or NULL): [count]. */
    csrec_status (*update)(void *state, int64_t count, const csrec_net_update *update,
                           const float *gradient, float *weights, float *first, float *second,
                           float *mean, csrec_error *error);
} csrec_net_engine;

extern const csrec_net_engine csrec_net_cpu, csrec_net_cuda;
