/* cuda_net.c - a U-Net of 32, 64, 128, 256 channels, two residual blocks a scale on both ways, on
 * the device: one pass over a picture, and a step of training on 64 patches. A JSON object a line.
 *
 *     bench_cuda_net [--layers]
 *
 * ms: whole calls from arrays of the host to arrays of the host, the shortest of some after a first
 * one. layers_ms: the products alone, on arrays that are on the device. gmac: multiplications of
 * the definition in 1e9. --layers: also each layer's product, of a picture of 256 x 256. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "net/net.h"

enum { SCALES = 4, BLOCKS = 2, PLANES = 3, PATCHES = 64, SIDE = 128, QUEUED = 20 };

/* ---- the network */

typedef struct list {
    csrec_net_layer layer[CSREC_NET_LAYERS];
    int n;
} list;

static void append(list *l, csrec_net_kind kind, int64_t channels, int add, bool relu) {
    l->layer[l->n++] = (csrec_net_layer){kind, channels, add, relu};
}

static void append_blocks(list *l, int64_t channels) {
    for (int k = 0; k < BLOCKS; k++) {
        int from = l->n;
        append(l, CSREC_NET_CONV, channels, -1, true);
        append(l, CSREC_NET_CONV, channels, from, false);
    }
}

static list network(void) {
    list l = {.n = 0};
    int skip[SCALES];
    append(&l, CSREC_NET_CONV, 32, -1, false);
    for (int s = 0; s < SCALES; s++) {
        append_blocks(&l, 32 << s);
        skip[s] = l.n;
        if (s + 1 < SCALES) append(&l, CSREC_NET_DOWN, 32 << (s + 1), -1, false);
    }
    for (int s = SCALES - 2; s >= 0; s--) {
        append(&l, CSREC_NET_UP, 32 << s, skip[s], false);
        append_blocks(&l, 32 << s);
    }
    append(&l, CSREC_NET_CONV, 1, -1, false);
    return l;
}

static double layer_gmac(const csrec_net *net, int i, const csrec_net_extent *input) {
    const csrec_net_node *node = &net->graph.node[i];
    csrec_net_extent e = csrec_net_extent_of(&net->graph, input, i);
    double taps = node->kind == CSREC_NET_CONV ? 9 : node->kind == CSREC_NET_UP ? 4 : 1;
    return 1e-9 * (double)(e.batch * e.height * e.width) * taps * (double)(node->in * node->out);
}

static double gmac(const csrec_net *net, const csrec_net_extent *input) {
    double sum = 0.0;
    for (int i = 0; i < net->graph.n; i++) sum += layer_gmac(net, i, input);
    return sum;
}

/* ---- data */

static float *numbers(int64_t count, double scale, uint64_t seed) {
    float *x = bench_allocate(count, sizeof *x);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(scale * csrec_random_normal(seed, 0, (uint64_t)i));
    return x;
}

static csrec_net *create(bool fast) {
    const list l = network();
    csrec_net_options options = {.backend = "cuda", .fast = fast};
    csrec_net *net;
    int64_t weights;
    csrec_error error = {""};
    if (csrec_net_create(PLANES, l.n, l.layer, &options, &net, &error))
        bench_fail("network", error.text);
    csrec_net_info(net, &weights, NULL, NULL);
    float *W = numbers(weights, 0.02, 1);
    bench_check(csrec_net_set_weights(net, W, NULL), "weights");
    free(W);
    return net;
}

/* ---- measurements */

/* Waits for the device. */
static void wait(csrec_net *net) {
    float any;
    bench_check(net->engine->copy(net->state, 1, net->weights, &any, NULL), "wait");
}

static double layers_ms(csrec_net *net, const csrec_net_extent *input) {
    bench_check(csrec_net_begin(net, input, false, NULL), "begin");
    bench_check(csrec_net_layers(net, input, NULL, NULL), "layers");
    wait(net);
    double begin = bench_seconds();
    for (int k = 0; k < QUEUED; k++)
        bench_check(csrec_net_layers(net, input, NULL, NULL), "layers");
    wait(net);
    return 1e3 * (bench_seconds() - begin) / QUEUED;
}

static void measure_apply(int64_t side, bool fast) {
    csrec_net *net = create(fast);
    csrec_net_extent input = {1, side, side};
    float *X = numbers(PLANES * side * side, 1.0, 2), *Y = numbers(side * side, 1.0, 3);
    double least = INFINITY, spent = 0.0;
    for (int k = 0; k < 4 || (k < 200 && spent < 1.0); k++) {
        double begin = bench_seconds();
        bench_check(csrec_net_apply(net, side, side, X, Y, 0, NULL, NULL, NULL), "apply");
        double took = bench_seconds() - begin;
        spent += took;
        if (k > 0) least = fmin(least, took);
    }
    printf("{\"what\": \"apply\", \"side\": %d, \"fast\": %s, \"ms\": %.4f, \"layers_ms\": %.4f, "
           "\"gmac\": %.2f}\n",
           (int)side, fast ? "true" : "false", 1e3 * least, layers_ms(net, &input),
           gmac(net, &input));
    fflush(stdout);
    free(X);
    free(Y);
    csrec_net_destroy(net);
}

static void measure_layers(bool fast) {
    csrec_net *net = create(fast);
    csrec_net_extent input = {1, 256, 256};
    bench_check(csrec_net_begin(net, &input, true, NULL), "begin");
    for (int i = 0; i < net->graph.n; i++) {
        const csrec_net_node *node = &net->graph.node[i];
        csrec_net_extent e = csrec_net_extent_of(&net->graph, &input, i);
        const float *x = net->memory + net->places.result[i];
        csrec_net_finish finish = {.bias = true, .relu = node->relu};
        if (node->add >= 0) finish.add = net->memory + net->places.result[node->add];
        double begin = 0.0;
        for (int k = 0; k <= QUEUED; k++) {
            bench_check(net->engine->product(net->state, i, false, &e, x, &finish,
                                             net->memory + net->places.result[i + 1], NULL, NULL),
                        "product");
            if (k > 0) continue;
            wait(net);
            begin = bench_seconds();
        }
        wait(net);
        printf("{\"what\": \"layer\", \"fast\": %s, \"kind\": %d, \"in\": %d, \"out\": %d, "
               "\"side\": %d, \"ms\": %.4f, \"gmac\": %.4f}\n",
               fast ? "true" : "false", (int)node->kind, (int)node->in, (int)node->out,
               (int)e.height, 1e3 * (bench_seconds() - begin) / QUEUED, layer_gmac(net, i, &input));
    }
    csrec_net_destroy(net);
}

/* The shortest of some steps, and of its parts. */
static void measure_training(bool fast) {
    csrec_net *net = create(fast);
    csrec_net_extent input = {PATCHES, SIDE, SIDE};
    int64_t pixels = (int64_t)PATCHES * SIDE * SIDE;
    float *X = numbers(PLANES * pixels, 1.0, 2), *Y = numbers(pixels, 1.0, 3);
    float *dY = numbers(pixels, 1e-6, 4);
    const csrec_net_adam adam = {.rate = 1e-6, .clip = 1.0, .average = 0.999};
    double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (int k = 0; k < 8; k++) {
        double at[4] = {bench_seconds()};
        bench_check(csrec_net_forward(net, PATCHES, SIDE, SIDE, X, Y, NULL), "forward");
        at[1] = bench_seconds();
        bench_check(csrec_net_backward(net, dY, NULL, NULL, NULL), "backward");
        wait(net);
        at[2] = bench_seconds();
        bench_check(csrec_net_step(net, &adam, NULL), "step");
        wait(net);
        at[3] = bench_seconds();
        for (int i = 0; i < 3 && k > 0; i++) least[i] = fmin(least[i], at[i + 1] - at[i]);
        if (k > 0) least[3] = fmin(least[3], at[3] - at[0]);
    }
    printf("{\"what\": \"training\", \"patches\": %d, \"side\": %d, \"fast\": %s, \"ms\": %.3f, "
           "\"forward_ms\": %.3f, \"backward_ms\": %.3f, \"step_ms\": %.3f, \"gmac\": %.1f, "
           "\"memory_mb\": %.0f}\n",
           PATCHES, SIDE, fast ? "true" : "false", 1e3 * least[3], 1e3 * least[0], 1e3 * least[1],
           1e3 * least[2], 3.0 * gmac(net, &input),
           1e-6 * (double)csrec_net_memory(net, PATCHES, SIDE, SIDE));
    fflush(stdout);
    free(X);
    free(Y);
    free(dY);
    csrec_net_destroy(net);
}

int main(int argc, char **argv) {
    if (argc > 2 || (argc == 2 && strcmp(argv[1], "--layers") != 0))
        bench_fail("net", "usage: bench_cuda_net [--layers]");
    if (bench_no_device()) return 0;
    for (int fast = 0; fast < 2; fast++) {
        measure_apply(256, fast);
        measure_apply(512, fast);
        measure_training(fast);
        if (argc == 2) measure_layers(fast);
    }
    return 0;
}
