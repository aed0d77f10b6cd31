/* SPDX-License-Identifier: BSD-3-Clause */
/* lifting.cuh - operator/wavelet.h's steps along a line, one output at a time: a value after step k
 * is computed from those after step k - 1 that it needs, down to the line itself (9 entries for the
 * longest filter). Operations and their order are the CPU's. */
#pragma once

#include "operator/wavelet.h"

typedef enum lifting_kind { LIFTING_ANALYZE, LIFTING_SYNTHESIZE, LIFTING_TRANSPOSE } lifting_kind;

/* A line of n = ns + nd entries, `stride` apart. */
struct lifting_line {
    const double *v;
    int64_t stride, ns, nd;
    double left[4], right[4], scale;
};

/* Entry i of s or d before the first step. Analysis and transpose split the line, synthesis reads
 * it split and undoes the scaling. */
template <int WAY, bool LOW>
static __device__ double lifting_entry(const lifting_line &l, int64_t i) {
    if (WAY != LIFTING_SYNTHESIZE) return l.v[(LOW ? 2 * i : 2 * i + 1) * l.stride];
    double factor = 1.0 / l.scale, v = l.v[(LOW ? i : l.ns + i) * l.stride];
    return LOW ? v * factor : v / factor;
}

template <int WAY, int STEPS, int K, bool LOW>
static __device__ double lifting_value(const lifting_line &l, int64_t i);

/* d += left s_i + right s_i+1, beyond the end s_i. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_predicted(const lifting_line &l, double left, double right,
                                           int64_t i) {
    int64_t next = i + 1 < l.ns ? i + 1 : i;
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    return d + (left * lifting_value<WAY, STEPS, K - 1, true>(l, i) +
                right * lifting_value<WAY, STEPS, K - 1, true>(l, next));
}

/* s += left d_i-1 + right d_i. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_updated(const lifting_line &l, double left, double right,
                                         int64_t i) {
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    s += left * lifting_value<WAY, STEPS, K - 1, false>(l, i > 0 ? i - 1 : 0);
    if (i < l.nd || csrec_lifting_mirrors(left))
        s += right * lifting_value<WAY, STEPS, K - 1, false>(l, i < l.nd ? i : l.nd - 1);
    return s;
}

/* Transposed prediction: s_i receives from d_i-1 and d_i, to which it contributed, and, as the
 * last, from d_i again. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_unpredicted(const lifting_line &l, double left, double right,
                                             int64_t i) {
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    if (i > 0 && i - 1 < l.nd) s += right * lifting_value<WAY, STEPS, K - 1, false>(l, i - 1);
    if (i >= l.nd) return s;
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    s += left * d;
    return i + 1 < l.ns ? s : s + right * d;
}

/* Transposed update: d_i receives from s_i and s_i+1, to which it contributed, and, at the ends,
 * once more. */
template <int WAY, int STEPS, int K>
static __device__ double lifting_undone(const lifting_line &l, double left, double right,
                                        int64_t i) {
    double d = lifting_value<WAY, STEPS, K - 1, false>(l, i);
    double s = lifting_value<WAY, STEPS, K - 1, true>(l, i);
    if (i == 0) d += left * s;
    d += right * s;
    if (i + 1 >= l.ns) return d;
    double next = lifting_value<WAY, STEPS, K - 1, true>(l, i + 1);
    d += left * next;
    return i + 1 == l.nd && csrec_lifting_mirrors(left) ? d + right * next : d;
}

/* s_i (LOW) or d_i after K of the steps. Even steps change d, odd ones s, transposed the other;
 * synthesis runs backwards; it and the transpose use opposite signs. */
template <int WAY, int STEPS, int K, bool LOW>
static __device__ double lifting_value(const lifting_line &l, int64_t i) {
    if constexpr (K == 0) {
        return lifting_entry<WAY, LOW>(l, i);
    } else {
        constexpr int step = WAY == LIFTING_SYNTHESIZE ? STEPS - K : K - 1;
        constexpr bool changes_low = (step % 2 == 1) != (WAY == LIFTING_TRANSPOSE);
        double left = l.left[step], right = l.right[step];
        if (WAY != LIFTING_ANALYZE) {
            left = -left;
            right = -right;
        }
        if constexpr (changes_low != LOW)
            return lifting_value<WAY, STEPS, K - 1, LOW>(l, i);
        else if constexpr (WAY == LIFTING_TRANSPOSE)
            return LOW ? lifting_unpredicted<WAY, STEPS, K>(l, left, right, i)
                       : lifting_undone<WAY, STEPS, K>(l, left, right, i);
        else
            return LOW ? lifting_updated<WAY, STEPS, K>(l, left, right, i)
                       : lifting_predicted<WAY, STEPS, K>(l, left, right, i);
    }
}

/* Writes pair i of the line's transform to out, with the line's stride. */
template <int WAY, int STEPS>
static __device__ void lifting_pair(const lifting_line &l, int64_t i, double *out) {
    double s = lifting_value<WAY, STEPS, STEPS, true>(l, i), d = 0.0;
    if (i < l.nd) d = lifting_value<WAY, STEPS, STEPS, false>(l, i);
    if (WAY == LIFTING_ANALYZE) {
        s *= l.scale;
        d /= l.scale;
    } else if (WAY == LIFTING_TRANSPOSE) {
        double factor = 1.0 / l.scale;
        s *= factor;
        d /= factor;
    }
    bool joined = WAY == LIFTING_SYNTHESIZE;
    out[(joined ? 2 * i : i) * l.stride] = s;
    if (i < l.nd) out[(joined ? 2 * i + 1 : l.ns + i) * l.stride] = d;
}
