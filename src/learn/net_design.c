/* net_design.c - a U-shaped network of residual blocks. */
#include "learn/net_design.h"
#include "csrec/sampling.h"

#include <math.h>
#include <string.h>

typedef struct design {
    csrec_net_layer *layers;
    int n;
} design;

/* Returns the number of the layer's result. */
static int64_t add_layer(design *d, csrec_net_kind kind, int64_t channels, int64_t add, bool relu) {
    if (d->n < CSREC_NET_LAYERS) d->layers[d->n] = (csrec_net_layer){kind, channels, add, relu};
    return ++d->n;
}

static int64_t add_blocks(design *d, int64_t count, int64_t channels, int64_t result) {
    for (int64_t i = 0; i < count; i++) {
        add_layer(d, CSREC_NET_CONV, channels, -1, true);
        result = add_layer(d, CSREC_NET_CONV, channels, result, false);
    }
    return result;
}

int csrec_net_design(int channels, int64_t width, const int64_t blocks[CSREC_DESIGN_SCALES],
                     csrec_net_layer *layers) {
    enum { LAST = CSREC_DESIGN_SCALES - 1 };
    design d = {layers, 0};
    int64_t skip[LAST], result = add_layer(&d, CSREC_NET_CONV, width, -1, false);
    for (int s = 0; s < LAST; s++) {
        skip[s] = add_blocks(&d, blocks[s], width << s, result);
        result = add_layer(&d, CSREC_NET_DOWN, width << (s + 1), -1, false);
    }
    add_blocks(&d, blocks[LAST], width << LAST, result);
    for (int s = LAST - 1; s >= 0; s--) {
        result = add_layer(&d, CSREC_NET_UP, width << s, skip[s], false);
        add_blocks(&d, blocks[s], width << s, result);
    }
    add_layer(&d, CSREC_NET_CONV, 2 * channels, -1, false);
    return d.n <= CSREC_NET_LAYERS ? d.n : 0;
}

void csrec_net_first_weights(int channels, int n, const csrec_net_layer *layers, uint64_t seed,
                             float *weights) {
    int64_t in = 2 * channels + 2, at = 0;
    for (int i = 0; i < n; i++) {
        const csrec_net_layer *l = &layers[i];
        int64_t taps = l->kind == CSREC_NET_CONV ? 9 : 4, count = in * l->channels * taps;
        double bound = 1.0 / sqrt((double)(in * (l->kind == CSREC_NET_UP ? 1 : taps)));
        bool zero = i == n - 1 || (l->kind == CSREC_NET_CONV && l->add >= 0);
        for (int64_t k = 0; k < count; k++)
            weights[at + k] =
                zero ? 0.0f
                     : (float)(bound *
                               (2.0 * csrec_random_uniform(seed, (uint64_t)(1 << 22) + (uint64_t)i,
                                                           (uint64_t)k) -
                                1.0));
        at += count;
        for (int64_t k = 0; k < l->channels; k++)
            weights[at + k] = i == n - 1 && k >= channels ? -2.0f : 0.0f;
        at += l->channels;
        in = l->channels;
    }
}

void csrec_net_widen_weights(int channels, int n, const csrec_net_layer *layers, const float *gray,
                             float *weights) {
    enum { TAPS = 9 };
    const int64_t first = layers[0].channels, in = layers[n - 2].channels;
    int64_t between = 0, from = layers[0].channels;
    for (int i = 1; i < n - 1; i++) {
        between += from * layers[i].channels * (layers[i].kind == CSREC_NET_CONV ? TAPS : 4) +
                   layers[i].channels;
        from = layers[i].channels;
    }
    for (int64_t k = 0; k < first * (2 * channels + 2) * TAPS; k++) { /* F, M z, M, sigma */
        int64_t plane = k / TAPS % (2 * channels + 2), row = k / TAPS / (2 * channels + 2);
        bool shared = plane >= 2 * channels;
        int64_t source = shared ? 2 + plane - 2 * channels : plane / channels;
        *weights++ = gray[(row * 4 + source) * TAPS + k % TAPS] / (shared ? 1.0f : (float)channels);
    }
    gray += first * 4 * TAPS;
    memcpy(weights, gray, (size_t)(first + between) * sizeof *weights);
    weights += first + between;
    gray += first + between;
    for (int64_t k = 0; k < 2 * channels * in * TAPS; k++) /* D, s */
        *weights++ = gray[k / (in * TAPS) / channels * in * TAPS + k % (in * TAPS)];
    gray += 2 * in * TAPS;
    for (int64_t k = 0; k < 2 * channels; k++) *weights++ = gray[k / channels];
}
