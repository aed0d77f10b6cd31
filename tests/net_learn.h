/* SPDX-License-Identifier: BSD-3-Clause */
/* net_learn.h - what the tests of csrec_net_learn share: small pictures, and a training of a tiny
 * network. */
#pragma once

#include "net_design.h"

/* Side of the parts to train on. */
enum { SIDE = 16 };

/* [H][W] of slope 10 down and 3 across, each by channel; every third pixel unknown and NaN. */
static inline csrec_net_picture slope_picture(int64_t height, int64_t width, int64_t channels,
                                              bool sampled) {
    int64_t n = height * width;
    float *values = malloc((size_t)(channels * n) * sizeof *values);
    uint8_t *known = sampled ? malloc((size_t)n) : NULL;
    for (int64_t i = 0; i < n && sampled; i++) known[i] = i % 3 != 1;
    for (int64_t i = 0; i < channels * n; i++)
        values[i] = known && !known[i % n]
                        ? NAN
                        : (float)(10 * (i % n / width) + 3 * (i % width) + 7 * (i / n));
    return (csrec_net_picture){height, width, values, known};
}

static inline void drop_picture(csrec_net_picture *p) {
    free((void *)(uintptr_t)p->values);
    free((void *)(uintptr_t)p->known);
}

/* Stripes of 6 pixels, of which a sample tells a lot. */
static inline csrec_net_picture stripes_picture(int64_t height, int64_t width) {
    float *values = malloc((size_t)(height * width) * sizeof *values);
    for (int64_t i = 0; i < height * width; i++) values[i] = i % width / 3 % 2 ? 200.0f : 50.0f;
    return (csrec_net_picture){height, width, values, NULL};
}

/* From a small network that has learned nothing. */
static inline csrec_net_learn_options tiny(uint64_t *seed, const csrec_model *from, int64_t steps) {
    return (csrec_net_learn_options){.from = from,
                                     .steps = steps,
                                     .batch = 4,
                                     .patch = SIDE,
                                     .rate = 0.02,
                                     .seed = check_next(seed),
                                     .threads = 1,
                                     .backend = "cpu"};
}
