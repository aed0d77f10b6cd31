/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - a network's products on the CPU: arrays as net/block.h has them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/inline.h"
#include "base/memory.h"
#include "base/threads.h"
#include "net/block.h"
#include "net/engine.h"

typedef struct packed_layer {
    float *forward, *back, *bias; /* bias: padded */
} packed_layer;

typedef struct cpu {
    int n, threads;
    const csrec_net_node *nodes;
    const csrec_block_simd *simd;
    const float *weights; /* that were packed last: where they are not, they are used themselves */
    float *scratch;
    size_t bytes;          /* of scratch */
    packed_layer packed[]; /* [n] */
} cpu;

static csrec_status take(int64_t floats, float **memory, csrec_error *error) {
    size_t bytes = ((size_t)floats * sizeof(float) + 63) / 64 * 64 + 64;
    *memory = csrec_memory_allocate(bytes);
    return *memory ? CSREC_OK
                   : csrec_fail(error, CSREC_MEMORY, "out of memory for %.1f MiB of a network",
                                (double)bytes / 1048576);
}

/* A page is slow to be had: the threads share them. */
static csrec_status cpu_allocate(void *state, int64_t floats, float **memory, csrec_error *error) {
    enum { PIECE = 1 << 19 };
    const cpu *c = state;
    CSREC_TRY(take(floats, memory, error));
    float *all = *memory;
#pragma omp parallel for schedule(dynamic, 1) num_threads(c->threads) if (floats > PIECE)
    for (int64_t i = 0; i < floats; i += PIECE)
        memset(all + i, 0, (size_t)csrec_smaller(PIECE, floats - i) * sizeof *all);
    return CSREC_OK;
}

static void cpu_release(void *state, float *memory) {
    (void)state;
    free(memory);
}

static void cpu_destroy(void *state) {
    cpu *c = state;
    for (int i = 0; i < c->n; i++) {
        free(c->packed[i].forward);
        free(c->packed[i].back);
        free(c->packed[i].bias);
    }
    free(c->scratch);
    free(c);
}

static csrec_status cpu_create(const csrec_context *context, const csrec_net_options *options,
                               int n, const csrec_net_node *nodes, void **state,
                               csrec_error *error) {
    (void)context;
    cpu *c = calloc(1, sizeof *c + (size_t)n * sizeof *c->packed);
    if (!c) return csrec_memory_fail(error, NULL);
    c->n = n;
    c->threads = csrec_threads(options->threads);
    c->nodes = nodes;
    c->simd = csrec_block_simd_choose();
    *state = c;
    return CSREC_OK;
}

static int64_t cpu_floats(const csrec_net_extent *extent, int64_t channels) {
    return extent->batch * extent->height * extent->width * csrec_block_padded(channels);
}

/* The product's shape: of up, and of down's adjoint, pixels are the smaller picture's. */
static csrec_block_shape shape_of(const csrec_net_node *node, bool adjoint,
                                  const csrec_net_extent *extent) {
    csrec_block_shape s = {extent->batch, extent->height, extent->width,
                           csrec_block_padded(adjoint ? node->out : node->in),
                           csrec_block_padded(adjoint ? node->in : node->out)};
    if (node->kind == CSREC_NET_DOWN) {
        s.height /= 2;
        s.width /= 2;
    }
    return s;
}

static csrec_status cpu_prepare(void *state, int layer, const csrec_net_extent *extent,
                                bool backward, csrec_error *error) {
    cpu *c = state;
    const csrec_net_node *node = &c->nodes[layer];
    const bool packed = csrec_block_packs3(node->in, node->out);
    csrec_block_shape shape = shape_of(node, false, extent);
    size_t bytes = csrec_block_room(c->simd, &shape, c->threads, packed, backward);
    shape = shape_of(node, true, extent);
    size_t other = backward ? csrec_block_room(c->simd, &shape, c->threads, packed, true) : 0;
    if (bytes < other) bytes = other;
    if (bytes <= c->bytes) return CSREC_OK;
    free(c->scratch);
    c->scratch = NULL;
    c->bytes = 0;
    csrec_status status = take((int64_t)(bytes / sizeof(float)), &c->scratch, error);
    if (!status) c->bytes = bytes;
    return status;
}

static csrec_status cpu_put(void *state, const csrec_net_extent *extent, int64_t channels,
                            const float *host, int64_t line, int64_t plane, float *array,
                            csrec_error *error) {
    cpu *c = state;
    int64_t padded = csrec_block_padded(channels), rows = extent->batch * extent->height;
    (void)error;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t r = 0; r < rows; r++) {
        const float *from =
            host + r / extent->height * channels * plane + r % extent->height * line;
        float *to = array + r * extent->width * padded;
        memset(to, 0, (size_t)(extent->width * padded) * sizeof *to);
        for (int64_t k = 0; k < channels; k++)
            for (int64_t x = 0; x < extent->width; x++) to[x * padded + k] = from[k * plane + x];
    }
    return CSREC_OK;
}

static csrec_status cpu_get(void *state, const csrec_net_extent *extent, int64_t channels,
                            const float *array, float *host, csrec_error *error) {
    cpu *c = state;
    int64_t padded = csrec_block_padded(channels), rows = extent->batch * extent->height;
    int64_t plane = extent->height * extent->width;
    (void)error;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t r = 0; r < rows; r++) {
        const float *from = array + r * extent->width * padded;
        float *to =
            host + r / extent->height * channels * plane + r % extent->height * extent->width;
        for (int64_t k = 0; k < channels; k++)
            for (int64_t x = 0; x < extent->width; x++) to[k * plane + x] = from[x * padded + k];
    }
    return CSREC_OK;
}

static csrec_status cpu_copy(void *state, int64_t count, const float *from, float *to,
                             csrec_error *error) {
    (void)state, (void)error;
    memcpy(to, from, (size_t)count * sizeof *to);
    return CSREC_OK;
}

/* Whether a product of the layer is csrec_block_up. */
static bool goes_up(const csrec_net_node *node, bool adjoint) {
    return (node->kind == CSREC_NET_UP) != adjoint;
}

static csrec_status pack_side(const cpu *c, const csrec_net_node *node, bool adjoint,
                              const float *W, float **packed, csrec_error *error) {
    bool conv = node->kind == CSREC_NET_CONV;
    csrec_status status = CSREC_OK;
    if (conv && !csrec_block_packs3(node->in, node->out)) return CSREC_OK;
    if (!*packed)
        status = take(conv ? csrec_block_packed3(node->in, node->out)
                           : csrec_block_packed2(node->in, node->out),
                      packed, error);
    if (status) return status;
    bool up = node->kind == CSREC_NET_UP;
    const csrec_block_kernels kernels = {W, node->in, node->out, adjoint, NULL};
    if (conv)
        csrec_block_pack3(c->simd, c->threads, &kernels, *packed);
    else
        csrec_block_pack2(c->simd, c->threads, up ? node->in : node->out, up ? node->out : node->in,
                          W, goes_up(node, adjoint), *packed);
    return CSREC_OK;
}

static csrec_status cpu_pack(void *state, const float *weights, bool backward, csrec_error *error) {
    cpu *c = state;
    csrec_status status = CSREC_OK;
    c->weights = weights;
    for (int i = 0; i < c->n && !status; i++) {
        const csrec_net_node *node = &c->nodes[i];
        packed_layer *p = &c->packed[i];
        if (!p->bias) status = cpu_allocate(state, csrec_block_padded(node->out), &p->bias, error);
        if (status) break;
        memcpy(p->bias, weights + node->bias, (size_t)node->out * sizeof(float));
        status = pack_side(c, node, false, weights + node->weight, &p->forward, error);
        if (!status && backward)
            status = pack_side(c, node, true, weights + node->weight, &p->back, error);
    }
    return status;
}

static csrec_status cpu_product(void *state, int layer, bool adjoint,
                                const csrec_net_extent *extent, const float *x,
                                const csrec_net_finish *finish, float *y, csrec_call *call,
                                csrec_error *error) {
    cpu *c = state;
    const csrec_net_node *node = &c->nodes[layer];
    const packed_layer *p = &c->packed[layer];
    csrec_block_work work = {c->simd, c->threads, c->scratch, call};
    csrec_block_shape shape = shape_of(node, adjoint, extent);
    csrec_block_finish own = {finish->bias ? p->bias : NULL, finish->add, finish->gate,
                              finish->relu};
    (void)error;
    const float *packed = adjoint ? p->back : p->forward;
    const csrec_block_kernels kernels = {c->weights + node->weight, node->in, node->out, adjoint,
                                         packed};
    if (node->kind == CSREC_NET_CONV)
        csrec_block_conv3(&work, &shape, &kernels, x, &own, y);
    else if (goes_up(node, adjoint))
        csrec_block_up(&work, &shape, packed, x, &own, y);
    else
        csrec_block_down(&work, &shape, packed, x, &own, y);
    return CSREC_OK;
}

static csrec_status cpu_gradient(void *state, int layer, const csrec_net_extent *extent,
                                 const float *x, const float *dy, float *gradient,
                                 csrec_error *error) {
    cpu *c = state;
    const csrec_net_node *node = &c->nodes[layer];
    csrec_block_work work = {c->simd, c->threads, c->scratch, NULL};
    bool up = node->kind == CSREC_NET_UP;
    csrec_block_shape shape = shape_of(node, up, extent);
    float *dW = gradient + node->weight;
    (void)error;
    if (node->kind == CSREC_NET_CONV)
        csrec_block_gradient3(&work, &shape, node->in, node->out, x, dy, dW);
    else if (up) /* shape: in is the larger picture's channels, as of its adjoint */
        csrec_block_gradient2(&work, &shape, node->in, node->out, x, dy, dW);
    else
        csrec_block_gradient2(&work, &shape, node->out, node->in, dy, x, dW);
    int64_t pixels = shape.batch * shape.height * shape.width * (up ? 4 : 1);
    csrec_block_bias(&work, pixels, csrec_block_padded(node->out), node->out, dy,
                     gradient + node->bias);
    return CSREC_OK;
}

enum { CHUNK = 4096 };

static csrec_status cpu_energy(void *state, int64_t count, const float *array, double *sum,
                               csrec_error *error) {
    (void)state, (void)error;
    double all = 0.0;
    for (int64_t i = 0; i < count; i++) all += (double)array[i] * (double)array[i];
    *sum = all;
    return CSREC_OK;
}

static csrec_status cpu_update(void *state, int64_t count, const csrec_net_update *u,
                               const float *gradient, float *weights, float *first, float *second,
                               float *mean, csrec_error *error) {
    cpu *c = state;
    float beta1 = (float)u->adam.beta1, beta2 = (float)u->adam.beta2, scale = (float)u->scale;
    float rate = (float)(u->adam.rate / u->correct1), root = (float)(1.0 / sqrt(u->correct2));
    float shrink = (float)(1.0 - u->adam.rate * u->adam.decay), change = (float)(1.0 - u->keep);
    (void)error;
#pragma omp parallel for schedule(static, CHUNK) num_threads(c->threads)
    for (int64_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        first[i] = beta1 * first[i] + (1.0f - beta1) * g;
        second[i] = beta2 * second[i] + (1.0f - beta2) * g * g;
        weights[i] = weights[i] * shrink - rate * first[i] / (sqrtf(second[i]) * root + 1e-8f);
        if (mean) mean[i] += change * (weights[i] - mean[i]);
    }
    return CSREC_OK;
}

const csrec_net_engine csrec_net_cpu = {.on_host = true,
                                        .create = cpu_create,
                                        .destroy = cpu_destroy,
                                        .floats = cpu_floats,
                                        .allocate = cpu_allocate,
                                        .release = cpu_release,
                                        .prepare = cpu_prepare,
                                        .put = cpu_put,
                                        .get = cpu_get,
                                        .copy = cpu_copy,
                                        .pack = cpu_pack,
                                        .product = cpu_product,
                                        .gradient = cpu_gradient,
                                        .energy = cpu_energy,
                                        .update = cpu_update};
