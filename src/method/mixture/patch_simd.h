/* SPDX-License-Identifier: BSD-3-Clause */
/* patch_simd.h - conditioning of a patch on its samples, a template over instruction sets
 * (cmake/simd.cmake). */
#include "method/condition_simd.h"
#include "method/mixture/patch.h"

/* Row V of a sample, times scale: takes it out of what is left, rest = z / scale at the sample. */
static void take_sample(csrec_patch *p, float *V, float scale, float z) {
    for (int c = 0; c < p->stride; c += LANES) {
        vec v = load(V + c) * scale;
        store(V + c, v);
        store(p->x + c, load(p->x + c) + z * v);
        store(p->rest + c, load(p->rest + c) - z * v);
        store(p->variance + c, load(p->variance + c) - v * v);
    }
}

static void condition(csrec_patch *p) {
    int stride = p->stride;
    for (int c = 0; c < stride; c++) {
        p->x[c] = p->mean[c];
        p->variance[c] = c < p->d ? p->C[c * stride + c] : 0.0f;
        p->rest[c] = 0.0f;
    }
    for (int i = 0; i < p->n; i++) p->rest[p->at[i]] = p->y[i] - p->mean[p->at[i]];
    for (int i = 0; i < p->n; i++) {
        int pixel = p->at[i];
        float scale = reduce_sample(p->C, p->V, i, stride, pixel, p->noise);
        take_sample(p, p->V + (int64_t)i * stride, scale, p->rest[pixel] * scale);
    }
    for (int c = 0; c < stride; c++) p->variance[c] = fmaxf(p->variance[c], 0.0f);
}

static void gram(int n, int stride, const float *V, float *G) {
    add_gram(V, n, stride, 1.0f, G);
}

const csrec_patch_simd SIMD_TABLE = {condition, gram};
