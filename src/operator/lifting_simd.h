/* SPDX-License-Identifier: BSD-3-Clause */
/* lifting_simd.h - predict and update along one line, or along eight lines side by side (entry i of
 * line l is v[8 i + l]), a template over instruction sets (cmake/simd.cmake). Every entry has the
 * same operations in the same order in both, and in all sets: they give the same bits. */
#include "operator/wavelet.h"

#define INLINE static inline __attribute__((always_inline))

/* to += factor from, of entry i of each line; a step of two entries rounds their sum first. */
INLINE void add(int64_t wide, double *restrict to, double factor, const double *restrict from) {
    for (int64_t l = 0; l < wide; l++) to[l] += factor * from[l];
}

INLINE void add_both(int64_t wide, double *restrict to, double left, const double *a, double right,
                     const double *b) {
    for (int64_t l = 0; l < wide; l++) to[l] += left * a[l] + right * b[l];
}

INLINE void add_each(int64_t wide, double *restrict to, double first, const double *a,
                     double second, const double *b) {
    for (int64_t l = 0; l < wide; l++) to[l] = (to[l] + first * a[l]) + second * b[l];
}

/* d += (left s_i + right s_i+1); beyond the end s_i stands for s_i+1. */
INLINE void predict(int64_t w, double left, double right, int64_t ns, int64_t nd,
                    const double *restrict s, double *restrict d) {
    for (int64_t i = 0; i < ns - 1; i++)
        add_both(w, d + i * w, left, s + i * w, right, s + i * w + w);
    if (nd == ns) add_both(w, d + (nd - 1) * w, left, s + (ns - 1) * w, right, s + (ns - 1) * w);
}

/* s_i += left d_i-1, then right d_i. */
INLINE void update(int64_t w, double left, double right, int64_t ns, int64_t nd, double *restrict s,
                   const double *restrict d) {
    add_each(w, s, left, d, right, d);
    for (int64_t i = 1; i < nd; i++) add_each(w, s + i * w, left, d + i * w - w, right, d + i * w);
    if (nd == ns) return;
    add(w, s + nd * w, left, d + (nd - 1) * w);
    if (csrec_lifting_mirrors(left)) add(w, s + nd * w, right, d + (nd - 1) * w);
}

/* The transpose of predict, entry after entry of s. */
INLINE void predict_transposed(int64_t w, double left, double right, int64_t ns, int64_t nd,
                               double *restrict s, const double *restrict d) {
    add(w, s, left, d);
    for (int64_t i = 1; i < nd; i++) add_each(w, s + i * w, right, d + i * w - w, left, d + i * w);
    add(w, s + (ns - 1) * w, right, d + (nd - 1) * w);
}

/* The transpose of update, entry after entry of d. */
INLINE void update_transposed(int64_t w, double left, double right, int64_t ns, int64_t nd,
                              const double *restrict s, double *restrict d) {
    add(w, d, left, s);
    for (int64_t j = 0; j < ns - 1; j++)
        add_each(w, d + j * w, right, s + j * w, left, s + j * w + w);
    double *last = d + (nd - 1) * w;
    if (nd == ns || csrec_lifting_mirrors(left)) add(w, last, right, s + (ns - 1) * w);
}

INLINE void split(int64_t w, int64_t ns, int64_t nd, const double *v, int64_t stride,
                  double *restrict s, double *restrict d) {
    for (int64_t i = 0; i < ns; i++)
        for (int64_t l = 0; l < w; l++) s[i * w + l] = v[2 * i * stride + l];
    for (int64_t i = 0; i < nd; i++)
        for (int64_t l = 0; l < w; l++) d[i * w + l] = v[(2 * i + 1) * stride + l];
}

/* s and d one after the other, as they are taken for the inverse, or given. */
INLINE void take(int64_t w, int64_t n, const double *v, int64_t stride, double *restrict s) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < w; l++) s[i * w + l] = v[i * stride + l];
}

INLINE void give(int64_t w, double factor, int64_t ns, int64_t nd, const double *restrict s,
                 const double *restrict d, double *v, int64_t stride) {
    for (int64_t i = 0; i < ns; i++)
        for (int64_t l = 0; l < w; l++) v[i * stride + l] = s[i * w + l] * factor;
    for (int64_t i = 0; i < nd; i++)
        for (int64_t l = 0; l < w; l++) v[(ns + i) * stride + l] = d[i * w + l] / factor;
}

/* Step k, times `sign`; or its transpose. */
INLINE void step(const csrec_lifting *o, bool transposed, int k, double sign, int64_t w, int64_t ns,
                 int64_t nd, double *restrict s, double *restrict d) {
    const double left = sign * o->left[k], right = sign * o->right[k];
    if (k % 2 == 0 && !transposed)
        predict(w, left, right, ns, nd, s, d);
    else if (k % 2 == 0)
        predict_transposed(w, left, right, ns, nd, s, d);
    else if (!transposed)
        update(w, left, right, ns, nd, s, d);
    else
        update_transposed(w, left, right, ns, nd, s, d);
}

/* Analysis, or the transpose of synthesis. */
INLINE void analyze(const csrec_lifting *o, bool transposed, int64_t w, int64_t n, double *v,
                    int64_t stride, double *scratch) {
    int64_t ns = (n + 1) / 2, nd = n / 2;
    double *s = scratch, *d = scratch + ns * w;
    split(w, ns, nd, v, stride, s, d);
    for (int k = 0; k < o->steps; k++)
        step(o, transposed, k, transposed ? -1.0 : 1.0, w, ns, nd, s, d);
    give(w, transposed ? 1.0 / o->scale : o->scale, ns, nd, s, d, v, stride);
}

INLINE void synthesize(const csrec_lifting *o, int64_t w, int64_t n, double *v, int64_t stride,
                       double *scratch) {
    int64_t ns = (n + 1) / 2, nd = n / 2;
    double *s = scratch, *d = scratch + ns * w, factor = 1.0 / o->scale;
    take(w, n, v, stride, s);
    for (int64_t i = 0; i < ns * w; i++) s[i] *= factor;
    for (int64_t i = 0; i < nd * w; i++) d[i] /= factor;
    for (int k = o->steps - 1; k >= 0; k--) step(o, false, k, -1.0, w, ns, nd, s, d);
    for (int64_t i = 0; i < ns; i++)
        for (int64_t l = 0; l < w; l++) v[2 * i * stride + l] = s[i * w + l];
    for (int64_t i = 0; i < nd; i++)
        for (int64_t l = 0; l < w; l++) v[(2 * i + 1) * stride + l] = d[i * w + l];
}

INLINE void lift(const csrec_lifting *o, csrec_lifting_way way, int64_t wide, int64_t n, double *v,
                 int64_t stride, double *scratch) {
    if (way == CSREC_LIFTING_ANALYZE)
        analyze(o, false, wide, n, v, stride, scratch);
    else if (way == CSREC_LIFTING_SYNTHESIZE)
        synthesize(o, wide, n, v, stride, scratch);
    else
        analyze(o, true, wide, n, v, stride, scratch);
}

void SIMD_TABLE(const csrec_lifting *o, csrec_lifting_way way, bool wide, int64_t n, double *v,
                int64_t stride, double *scratch) {
    if (wide)
        lift(o, way, CSREC_LIFTING_WIDE, n, v, stride, scratch);
    else
        lift(o, way, 1, n, v, stride, scratch);
}
