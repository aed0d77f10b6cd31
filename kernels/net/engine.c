/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - a network's products on a device: arrays are [batch][channels][height][width], as on
 * the host, and all work is queued, but for copies between host and device. */
#include "net/engine.h"

#include <math.h>
#include <stdlib.h>

#include "csrec/conv.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/engine.h"
#include "kernels/device/device.h"
#include "kernels/device/pipe.h"
#include "kernels/net/net.h"

enum { LARGEST = 1 << 24 }; /* bytes of a typical batch */

typedef struct packed_layer {
    float *side[2]; /* forward, adjoint; NULL until packed */
} packed_layer;

typedef struct cuda {
    csrec_context context;
    int n;
    bool fast;
    const csrec_net_node *nodes;
    const float *weights; /* of the last pack, for B */
    float *scratch;
    size_t bytes;          /* of scratch */
    csrec_cuda_pipe pipe;  /* of batches; opened for the first backward pass, plain before */
    packed_layer packed[]; /* [n] */
} cuda;

static csrec_status take(size_t bytes, float **memory, csrec_error *error) {
    csrec_cuda_block block = {0};
    csrec_cuda_block_take(&block, (int64_t)bytes, 1);
    csrec_status status = csrec_cuda_block_create(&block, "a network", error);
    if (!status) *memory = (void *)block.base;
    return status;
}

static void drop(float *memory) {
    csrec_cuda_block_destroy(&(csrec_cuda_block){.base = (char *)memory});
}

static csrec_status cuda_allocate(void *state, int64_t floats, float **memory, csrec_error *error) {
    const cuda *c = state;
    float *made = NULL;
    CSREC_TRY(csrec_cuda_enter(&c->context, error));
    CSREC_TRY(take((size_t)floats * sizeof *made, &made, error));
    csrec_status status = csrec_cuda_clear(made, (size_t)floats * sizeof *made, NULL, error);
    return CSREC_SETTLE(status, drop(made), *memory = made);
}

static void cuda_release(void *state, float *memory) {
    const cuda *c = state;
    csrec_error error;
    if (memory && !csrec_cuda_enter(&c->context, &error)) drop(memory);
}

static void cuda_destroy(void *state) {
    cuda *c = state;
    csrec_cuda_enter(&c->context, NULL); /* whatever device the calling thread used last */
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < 2; k++) cuda_release(c, c->packed[i].side[k]);
    cuda_release(c, c->scratch);
    csrec_cuda_pipe_destroy(&c->pipe);
    free(c);
}

static csrec_status cuda_create(const csrec_context *context, const csrec_net_options *options,
                                int n, const csrec_net_node *nodes, void **state,
                                csrec_error *error) {
    cuda *c = calloc(1, sizeof *c + (size_t)n * sizeof *c->packed);
    if (!c) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    c->context = *context;
    c->n = n;
    c->fast = options->fast;
    c->nodes = nodes;
    *state = c;
    return CSREC_OK;
}

/* Whole units of 256 bytes, to which kernels want arrays aligned. */
static int64_t cuda_floats(const csrec_net_extent *extent, int64_t channels) {
    return (extent->batch * channels * extent->height * extent->width + 63) / 64 * 64;
}

static csrec_status reserve(cuda *c, size_t bytes, csrec_error *error) {
    if (bytes <= c->bytes) return CSREC_OK;
    drop(c->scratch);
    c->scratch = NULL;
    c->bytes = 0;
    csrec_status status = take(bytes, &c->scratch, error);
    if (!status) c->bytes = bytes;
    return status;
}

/* ------------------------------------------------------------------ geometry
 *
 * Layers as products of kernels/conv. A 2 x 2 kernel of stride 2 between a small picture and a
 * large one is a product with one tap, of the small one's channels and the large one's entries of 2
 * x 2 squares. */

static csrec_cuda_conv_sum conv_sum(const csrec_net_node *node, bool adjoint,
                                    const csrec_net_extent *extent) {
    csrec_cuda_conv_sum s = {.batch = extent->batch,
                             .rows = adjoint ? node->in : node->out,
                             .channels = adjoint ? node->out : node->in,
                             .row_step = adjoint ? 9 : 9 * node->in,
                             .channel_step = adjoint ? 9 * node->in : 9,
                             .kernel_width = 3};
    for (int a = 0; a < 2; a++) {
        const int64_t size = a ? extent->width : extent->height;
        s.axis[a] = (csrec_conv_axis){.in = size,
                                      .out = size,
                                      .count = size,
                                      .apart = 1,
                                      .taps = 3,
                                      .kernel_step = 1,
                                      .step = 1,
                                      .base = adjoint ? 1 : -1,
                                      .advance = adjoint ? -1 : 1};
    }
    return s;
}

/* W is [small channels][large channels][2][2] either way. to_small: the product goes from the large
 * picture to the small one, whose extents are given. */
static csrec_cuda_conv_sum quad_sum(bool to_small, int64_t small, int64_t large, int64_t batch,
                                    const int64_t size[2]) {
    csrec_cuda_conv_sum s = {.batch = batch,
                             .rows = to_small ? small : 4 * large,
                             .channels = to_small ? 4 * large : small,
                             .row_step = to_small ? 4 * large : 1,
                             .channel_step = to_small ? 1 : 4 * large,
                             .kernel_width = 1,
                             .in_quads = to_small,
                             .out_quads = !to_small};
    for (int a = 0; a < 2; a++)
        s.axis[a] = (csrec_conv_axis){.in = to_small ? 2 * size[a] : size[a],
                                      .out = to_small ? size[a] : 2 * size[a],
                                      .count = size[a],
                                      .apart = to_small ? 1 : 2,
                                      .taps = 1,
                                      .kernel_step = 1,
                                      .step = to_small ? 2 : 1,
                                      .advance = 1};
    return s;
}

/* The layer's product, or its adjoint; extent: that of the layer's input. Channels alone determine
 * how weights are packed. */
static csrec_cuda_conv_sum layer_sum(const csrec_net_node *node, bool adjoint,
                                     const csrec_net_extent *extent) {
    const bool down = node->kind == CSREC_NET_DOWN;
    const int64_t part = down ? 2 : 1, size[2] = {extent->height / part, extent->width / part};
    if (node->kind == CSREC_NET_CONV) return conv_sum(node, adjoint, extent);
    return quad_sum(down != adjoint, down ? node->out : node->in, down ? node->in : node->out,
                    extent->batch, size);
}

/* The convolution whose gradient of weights is the layer's, and its results' extents; for up, it is
 * the adjoint, whose input is dy and whose gradient x. */
static csrec_conv2d layer_convolution(const csrec_net_node *node, const csrec_net_extent *extent,
                                      int64_t out[2]) {
    const bool conv = node->kind == CSREC_NET_CONV, up = node->kind == CSREC_NET_UP;
    csrec_conv2d g = {.batch = extent->batch,
                      .channels_in = up ? node->out : node->in,
                      .channels_out = up ? node->in : node->out};
    for (int a = 0; a < 2; a++) {
        const int64_t size = a ? extent->width : extent->height;
        g.size[a] = up ? 2 * size : size;
        g.kernel[a] = conv ? 3 : 2;
        g.stride[a] = conv ? 1 : 2;
        g.dilation[a] = 1;
        g.padding[a] = conv ? 1 : 0;
        out[a] = conv ? size : g.size[a] / 2;
    }
    return g;
}

static csrec_cuda_conv2d_arrays gradient_arrays(const cuda *c, const csrec_net_node *node,
                                                const float *x, const float *dy, float *gradient) {
    const bool up = node->kind == CSREC_NET_UP;
    return (csrec_cuda_conv2d_arrays){.X = up ? dy : x,
                                      .dY = up ? x : dy,
                                      .dW = gradient + node->weight,
                                      .dB = up ? NULL : gradient + node->bias,
                                      .scratch = c->scratch,
                                      .fast = c->fast};
}

static size_t gradient_room(const cuda *c, const csrec_net_node *node,
                            const csrec_net_extent *extent) {
    int64_t out[2];
    float any; /* only asked for, not read */
    const csrec_conv2d geometry = layer_convolution(node, extent, out);
    const csrec_cuda_conv2d_arrays a = {.dW = &any, .dB = &any, .fast = c->fast};
    return csrec_cuda_larger(csrec_cuda_conv2d_room(&geometry, out, &a, true),
                             csrec_cuda_conv_bias_room(node->out));
}

static csrec_status cuda_prepare(void *state, int layer, const csrec_net_extent *extent,
                                 bool backward, csrec_error *error) {
    cuda *c = state;
    const csrec_net_node *node = &c->nodes[layer];
    csrec_status status = csrec_cuda_enter(&c->context, error);
    size_t bytes = backward ? gradient_room(c, node, extent) : 0;
    for (int k = 0; k < (backward ? 2 : 1) && !status; k++) {
        const csrec_cuda_conv_sum sum = layer_sum(node, k == 1, extent);
        status = csrec_cuda_conv_packed_check(&sum, error);
        if (!status) bytes = csrec_cuda_larger(bytes, csrec_cuda_conv_packed_room(&sum));
    }
    if (!status && backward && !c->pipe.bytes) csrec_cuda_pipe_open(LARGEST, &c->pipe);
    return status ? status : reserve(c, bytes, error);
}

static csrec_status cuda_put(void *state, const csrec_net_extent *extent, int64_t channels,
                             const float *host, int64_t line, int64_t plane, float *array,
                             csrec_error *error) {
    cuda *c = state;
    const int64_t height = extent->height, width = extent->width, planes = extent->batch * channels;
    CSREC_TRY(csrec_cuda_enter(&c->context, error));
    if (line == width && plane == height * width)
        return csrec_cuda_pipe_send(&c->pipe, array, host, (size_t)(planes * plane) * sizeof *array,
                                    error);
    return csrec_cuda_net_put(planes, height, width, host, line, plane, array, error);
}

static csrec_status cuda_copy(void *state, int64_t count, const float *from, float *to,
                              csrec_error *error) {
    const cuda *c = state;
    csrec_status status = csrec_cuda_enter(&c->context, error);
    return status ? status : csrec_cuda_copy(to, from, (size_t)count * sizeof *to, error);
}

static csrec_status cuda_get(void *state, const csrec_net_extent *extent, int64_t channels,
                             const float *array, float *host, csrec_error *error) {
    cuda *c = state;
    const int64_t count = extent->batch * channels * extent->height * extent->width;
    CSREC_TRY(csrec_cuda_enter(&c->context, error));
    return csrec_cuda_pipe_receive(&c->pipe, host, array, (size_t)count * sizeof *host, error);
}

static csrec_status pack_side(cuda *c, int layer, bool adjoint, csrec_error *error) {
    const csrec_net_extent any = {1, 2, 2}; /* packed weights fit all extents */
    const csrec_cuda_conv_sum sum = layer_sum(&c->nodes[layer], adjoint, &any);
    float **packed = &c->packed[layer].side[adjoint];
    CSREC_TRY(csrec_cuda_conv_check(&sum, error));
    if (!*packed)
        CSREC_TRY(take((size_t)csrec_cuda_conv_packed_floats(&sum, c->fast) * sizeof **packed,
                       packed, error));
    return csrec_cuda_conv_pack(&sum, c->fast, c->weights + c->nodes[layer].weight, *packed, error);
}

static csrec_status cuda_pack(void *state, const float *weights, bool backward,
                              csrec_error *error) {
    cuda *c = state;
    csrec_status status = csrec_cuda_enter(&c->context, error);
    c->weights = weights;
    for (int i = 0; i < c->n && !status; i++) {
        status = pack_side(c, i, false, error);
        if (!status && backward) status = pack_side(c, i, true, error);
    }
    return status;
}

/* The call is not asked: a layer takes no longer than its launch. */
static csrec_status cuda_product(void *state, int layer, bool adjoint,
                                 const csrec_net_extent *extent, const float *x,
                                 const csrec_net_finish *finish, float *y, csrec_call *call,
                                 csrec_error *error) {
    cuda *c = state;
    const csrec_net_node *node = &c->nodes[layer];
    const csrec_cuda_conv_sum sum = layer_sum(node, adjoint, extent);
    const csrec_cuda_conv_finish own = {finish->bias ? c->weights + node->bias : NULL, finish->add,
                                        finish->gate, finish->relu};
    csrec_status status = csrec_cuda_enter(&c->context, error);
    (void)call;
    if (status) return status;
    return csrec_cuda_conv_packed_multiply(&sum, c->fast, c->packed[layer].side[adjoint], x, &own,
                                           y, c->scratch, error);
}

static csrec_status cuda_gradient(void *state, int layer, const csrec_net_extent *extent,
                                  const float *x, const float *dy, float *gradient,
                                  csrec_error *error) {
    cuda *c = state;
    int64_t out[2];
    const csrec_net_node *node = &c->nodes[layer];
    const csrec_conv2d geometry = layer_convolution(node, extent, out);
    const csrec_cuda_conv2d_arrays arrays = gradient_arrays(c, node, x, dy, gradient);
    csrec_status status = csrec_cuda_enter(&c->context, error);
    if (!status) status = csrec_cuda_conv2d_backward(&geometry, out, &arrays, error);
    if (status || arrays.dB) return status;
    return csrec_cuda_conv_bias(extent->batch, node->out, geometry.size[0] * geometry.size[1], dy,
                                gradient + node->bias, c->scratch, error);
}

static csrec_status cuda_energy(void *state, int64_t count, const float *array, double *sum,
                                csrec_error *error) {
    cuda *c = state;
    csrec_status status = csrec_cuda_enter(&c->context, error);
    if (!status) status = reserve(c, csrec_cuda_net_energy_room(), error);
    return status ? status : csrec_cuda_net_energy(count, array, c->scratch, sum, error);
}

static csrec_status cuda_update(void *state, int64_t count, const csrec_net_update *u,
                                const float *gradient, float *weights, float *first, float *second,
                                float *mean, csrec_error *error) {
    const cuda *c = state;
    const csrec_cuda_net_factors factors = {
        .beta1 = (float)u->adam.beta1,
        .beta2 = (float)u->adam.beta2,
        .scale = (float)u->scale,
        .rate = (float)(u->adam.rate / u->correct1),
        .root = (float)(1.0 / sqrt(u->correct2)),
        .shrink = (float)(1.0 - u->adam.rate * u->adam.decay),
        .change = (float)(1.0 - u->keep),
    };
    CSREC_TRY(csrec_cuda_enter(&c->context, error));
    return csrec_cuda_net_step(count, &factors, gradient, weights, first, second, mean, error);
}

const csrec_net_engine csrec_net_cuda = {.create = cuda_create,
                                         .destroy = cuda_destroy,
                                         .floats = cuda_floats,
                                         .allocate = cuda_allocate,
                                         .release = cuda_release,
                                         .prepare = cuda_prepare,
                                         .put = cuda_put,
                                         .get = cuda_get,
                                         .copy = cuda_copy,
                                         .pack = cuda_pack,
                                         .product = cuda_product,
                                         .gradient = cuda_gradient,
                                         .energy = cuda_energy,
                                         .update = cuda_update};
