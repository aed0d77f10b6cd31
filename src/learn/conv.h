/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.h - the state of learning filters: pictures with their codes, and filters.
 *
 * With s_p the picture less its smooth layer, M_p its mask, and S(d) x = sum_k d_k * x_k,
 *     F(d, x) = sum_p 1/2 ||M_p (S(d) x_p - s_p)||^2 + lambda sum_p ||x_p||_1,   ||d_k|| = a_k.
 * The amplitudes a_k are fixed at the start: a filter of length a_k is a unit filter whose
 * coefficients are expected to have size a_k, with the penalty lambda / a_k. */
#pragma once

#include "conv/conv.h"
#include "base/pool.h"
#include "base/error.h"

typedef struct csrec_coded {
    csrec_conv conv; /* analysis of this picture: one channel to K */
    int64_t entries, codes;
    float *s, *mask;                 /* [entries]; mask 0 or 1 */
    float *x, *before;               /* [codes] current and previous */
    float *picture, *picture_before; /* [entries] S x of both */
    double momentum, objective;      /* t of the next step; F_p */
} csrec_coded;

typedef struct csrec_learning {
    int64_t count, filters, size; /* size: entries of a filter */
    csrec_coded *coded;           /* [count] */
    float *d, *d_next, *gradient; /* [filters][size] */
    double *amplitude, *square;   /* [filters] a_k; sum of x_k^2 */
    float *packed[2];
    csrec_conv_work work; /* memory for every product of every picture, and the call */
    float *codes, *r;     /* [most codes], [most entries] */
    double *part;         /* sums of blocks */
    csrec_pool pool;      /* of all these arrays but the aligned ones: packed, work.memory */
    double lambda, L, step;
} csrec_learning;

enum { CSREC_LEARN_BLOCK = 1 << 16 };

/* packed from d. */
void csrec_learn_pack(csrec_learning *l, const float *d);

/* picture = S x. */
void csrec_learn_synthesize(const csrec_learning *l, const csrec_coded *c, const float *x,
                            float *picture);

/* 1/2 ||M (picture - s)||^2 */
double csrec_learn_misfit(const csrec_coded *c, const float *picture);

/* F of one picture at its x and picture. */
double csrec_learn_objective(const csrec_learning *l, const csrec_coded *c);

/* One accelerated proximal gradient step on x; never raises F. No step if stopped. */
void csrec_learn_code(csrec_learning *l, csrec_coded *c);

/* ||S||^2, from below, by power iteration on a picture. */
double csrec_learn_norm(csrec_learning *l, csrec_coded *c);

/* One projected gradient step on the filters; never raises F. false: no step lowers it, or the call
 * is stopped. */
bool csrec_learn_filters(csrec_learning *l);

/* The smooth layer that is subtracted before: base [height][width] = (G y + e mean) / (G 1 + e), G
 * a Gaussian of standard deviation sigma pixels over the m samples y at index, e so small that the
 * mean matters only far from all samples: normalised convolution (Knutsson and Westin 1993). sigma
 * 0, or the call (may be NULL) is stopped: the mean. CSREC_MEMORY. */
csrec_status csrec_conv_base(int64_t height, int64_t width, int64_t m, const int64_t *index,
                             const double *y, double sigma, csrec_call *call, double *base);
