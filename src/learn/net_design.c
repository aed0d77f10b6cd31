/* net_design.c - a U-shaped network of residual blocks. */
#include "learn/net_design.h"

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
