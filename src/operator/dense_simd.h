/* SPDX-License-Identifier: BSD-3-Clause */
/* dense_simd.h - loops over long arrays, a template over instruction sets (cmake/simd.cmake).
 *
 * Vectors have 64 bytes; an instruction set with shorter registers uses several for one. */
#include <math.h>
#include <string.h>

#include "operator/dense.h"

typedef double wide __attribute__((vector_size(64), aligned(8), may_alias));
typedef float wide_float __attribute__((vector_size(64), aligned(4), may_alias));
typedef int64_t bits __attribute__((may_alias));
typedef int32_t bits_float __attribute__((may_alias));

static double dot(int64_t m, const double *a, const double *b) {
    wide s[4] = {{0}};
    int64_t i = 0;
    for (; i + 32 <= m; i += 32)
        for (int k = 0; k < 4; k++)
            s[k] += *(const wide *)(a + i + 8 * k) * *(const wide *)(b + i + 8 * k);
    for (; i + 8 <= m; i += 8) s[0] += *(const wide *)(a + i) * *(const wide *)(b + i);
    wide whole = (s[0] + s[1]) + (s[2] + s[3]);
    double sum = ((whole[0] + whole[4]) + (whole[1] + whole[5])) +
                 ((whole[2] + whole[6]) + (whole[3] + whole[7]));
    for (; i < m; i++) sum += a[i] * b[i];
    return sum;
}

/* Four columns a pass over v. */
static void subtract(int64_t m, int64_t count, const double *a, int64_t stride, const double *w,
                     double *v) {
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const double *a0 = a + k * stride, *a1 = a0 + stride, *a2 = a1 + stride, *a3 = a2 + stride;
        double w0 = w[k], w1 = w[k + 1], w2 = w[k + 2], w3 = w[k + 3];
        int64_t i = 0;
        for (; i + 8 <= m; i += 8) {
            wide sum = (*(const wide *)(a0 + i) * w0 + *(const wide *)(a1 + i) * w1) +
                       (*(const wide *)(a2 + i) * w2 + *(const wide *)(a3 + i) * w3);
            *(wide *)(v + i) -= sum;
        }
        for (; i < m; i++) v[i] -= (a0[i] * w0 + a1[i] * w1) + (a2[i] * w2 + a3[i] * w3);
    }
    for (; k < count; k++) {
        const double *a0 = a + k * stride;
        for (int64_t i = 0; i < m; i++) v[i] -= w[k] * a0[i];
    }
}

/* Six loads for eight products, and as many sums as registers hold. */
static void products(int64_t m, const double *const *a, const double *const *b, double *sum) {
    wide s[8] = {{0}};
    int64_t i = 0;
    for (; i + 8 <= m; i += 8) {
        wide a0 = *(const wide *)(a[0] + i), a1 = *(const wide *)(a[1] + i);
        for (int k = 0; k < 4; k++) {
            wide other = *(const wide *)(b[k] + i);
            s[k] += a0 * other;
            s[4 + k] += a1 * other;
        }
    }
    for (int k = 0; k < 8; k++)
        sum[k] = ((s[k][0] + s[k][4]) + (s[k][1] + s[k][5])) +
                 ((s[k][2] + s[k][6]) + (s[k][3] + s[k][7]));
    for (; i < m; i++)
        for (int k = 0; k < 8; k++) sum[k] += a[k / 4][i] * b[k % 4][i];
}

/* Doubles without signs have the order of their bit patterns as integers. */
static double largest_entry(int64_t m, const double *a) {
    const bits *as_bits = (const bits *)a;
    int64_t top = 0;
    for (int64_t i = 0; i < m; i++) {
        int64_t size = as_bits[i] & INT64_MAX;
        top = size > top ? size : top;
    }
    double value;
    memcpy(&value, &top, sizeof value);
    return value;
}

/* The error is measured, not bounded, so it includes the rounding of the code. */
static double quantise(int64_t m, const double *a, double unit, uint8_t *coded, double *error) {
    enum { BLOCK = 512 };
    double left[BLOCK], scale = largest_entry(m, a) * unit / 127.0, to_code = unit / scale;
    *error = 0.0;
    for (int64_t start = 0; start < m; start += BLOCK) {
        int size = m - start < BLOCK ? (int)(m - start) : BLOCK;
        for (int i = 0; i < size; i++) {
            double v = a[start + i] * to_code;
            int code = (int)(v + (v < 0.0 ? -0.5 : 0.5));
            coded[start + i] = (uint8_t)(code + 128);
            left[i] = a[start + i] * unit - scale * (double)code;
        }
        *error += dot(size, left, left);
    }
    return scale;
}

/* Two columns times four p share their loads: as many sums as there are registers. */
static void dots_of_four(int64_t m, const uint8_t *coded, const int8_t *p, int64_t *sum) {
    const int8_t *p0 = p, *p1 = p + m, *p2 = p1 + m, *p3 = p2 + m;
    const uint8_t *next = coded + m;
    for (int64_t start = 0; start < m; start += CSREC_SCREEN_BLOCK) {
        int64_t end = start + CSREC_SCREEN_BLOCK < m ? start + CSREC_SCREEN_BLOCK : m;
        int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
        for (int64_t i = start; i < end; i++) {
            uint8_t a = coded[i], b = next[i];
            s0 += a * p0[i];
            s1 += a * p1[i];
            s2 += a * p2[i];
            s3 += a * p3[i];
            t0 += b * p0[i];
            t1 += b * p1[i];
            t2 += b * p2[i];
            t3 += b * p3[i];
        }
        int32_t part[] = {s0, s1, s2, s3, t0, t1, t2, t3};
        for (int k = 0; k < 4; k++) sum[k] += part[k];
        for (int k = 0; k < 4; k++) sum[CSREC_SCREEN_COUNT + k] += part[4 + k];
    }
}

static void coded_dots(int64_t m, int count, const uint8_t *coded, const int8_t *p, int64_t *sum) {
    /* Prefetches the next pair while this one is multiplied. */
    for (int64_t i = 0; i < 2 * m; i += 64) __builtin_prefetch(coded + 2 * m + i);
    for (int k = 0; k < 2 * CSREC_SCREEN_COUNT; k++) sum[k] = 0;
    for (int k = 0; k < count; k += 4) dots_of_four(m, coded, p + k * m, sum + k);
}

static void combine(int64_t n, int64_t count, const float *const *row, const float *w,
                    const float *base, float *out) {
    for (int64_t j = 0; j < n; j += 64) {
        wide_float s[4];
        for (int b = 0; b < 4; b++) s[b] = *(const wide_float *)(base + j + 16 * b);
        for (int64_t k = 0; k < count; k++)
            for (int b = 0; b < 4; b++) s[b] -= *(const wide_float *)(row[k] + j + 16 * b) * w[k];
        for (int b = 0; b < 4; b++) *(wide_float *)(out + j + 16 * b) = s[b];
    }
}

static float largest(int64_t n, const float *c) {
    const bits_float *as_bits = (const bits_float *)c;
    int32_t top = 0;
    for (int64_t j = 0; j < n; j++) {
        int32_t size = as_bits[j] & INT32_MAX;
        top = size > top ? size : top;
    }
    float value;
    memcpy(&value, &top, sizeof value);
    return value;
}

/* Most groups of 64 have none; one reduction tests that. */
static int64_t reaching(int64_t n, const float *c, float least, int64_t *list) {
    int64_t found = 0;
    for (int64_t start = 0; start < n; start += 64) {
        int any = 0;
        for (int64_t j = start; j < start + 64; j++) any |= fabsf(c[j]) >= least;
        for (int64_t j = start; any && j < start + 64; j++)
            if (fabsf(c[j]) >= least) list[found++] = j;
    }
    return found;
}

const csrec_dense_simd SIMD_TABLE = {dot,        subtract, products, quantise,
                                     coded_dots, combine,  largest,  reaching};
