/* patch_simd.h - conditioning of a patch on its samples, a template over instruction sets
 * (cmake/simd.cmake). */
#include "method/condition_simd.h"
#include "method/mixture/patch.h"

static void condition(csrec_patch *p) {
    int stride = p->stride;
    for (int c = 0; c < stride; c++) {
        p->x[c] = p->mean[c];
        p->variance[c] = c < p->d ? p->C[c * stride + c] : 0.0f;
    }
    for (int i = 0; i < p->n; i++) {
        float *V = p->V + (int64_t)i * stride;
        int pixel = p->at[i];
        float scale = reduce_sample(p->C, p->V, i, stride, pixel, p->noise);
        float value = p->y[i] - p->mean[pixel];
        p->u[i] = innovation(p->V, i, stride, pixel, value, p->u) * scale;
        scale_and_add(V, stride, scale, p->u[i], p->x);
        for (int c = 0; c < stride; c++) p->variance[c] -= V[c] * V[c];
    }
    for (int c = 0; c < stride; c++) p->variance[c] = fmaxf(p->variance[c], 0.0f);
}

static void gram(int n, int stride, const float *V, float *G) {
    add_gram(V, n, stride, 1.0f, G);
}

const csrec_patch_simd SIMD_TABLE = {condition, gram};
