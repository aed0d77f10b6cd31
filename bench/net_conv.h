/* net_conv.h - ways to the 3 x 3 convolutions of a network: what net_conv.c measures, a row each.
 */
#ifndef CSREC_BENCH_NET_CONV_H
#define CSREC_BENCH_NET_CONV_H

#include <stdint.h>

/* Batch 1, as many channels out as in, side x side, padding 1. */
typedef struct net_shape {
    int64_t channels, side;
} net_shape;

typedef enum net_pass { NET_FORWARD, NET_BACKWARD_DATA, NET_BACKWARD_WEIGHTS, NET_PASSES } net_pass;

/* Plain arrays: planes [channels][side][side], weights [out][in][3][3]. y is what goes backward. */
typedef struct net_arrays {
    const float *x, *w, *y;
} net_arrays;

/* create: plans a pass and brings the arrays into the layout that suits it, outside the timing;
 * NULL if this way has no such pass. run: the pass alone. result: the pass's result in plain
 * layout: planes, or weights for NET_BACKWARD_WEIGHTS. */
typedef struct net_way {
    const char *name, *version;
    void *(*create)(const net_shape *shape, net_pass pass, const net_arrays *arrays, int threads);
    void (*run)(void *state);
    void (*result)(void *state, float *plain);
    void (*destroy)(void *state);
} net_way;

extern const net_way net_way_dnnl_direct, net_way_dnnl_winograd, net_way_block, net_way_conv2d;

#endif
