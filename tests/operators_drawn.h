/* SPDX-License-Identifier: BSD-3-Clause */
/* operators_drawn.h - a random operator with its matrix, and what drawing one needs. */
#pragma once

#include "check.h"
#include "dense.h"

typedef struct drawn {
    csrec_operator_spec spec;
    csrec_shape shape;
    int64_t entries, m, n; /* size that the operator must have */
    int64_t *index, *offset;
    uint64_t *rows;
    double *matrix; /* [m][n], or NULL: see analysis */
    /* wavelet: x = analysis signal, [n][n]; A analysis = the sampled rows of 1 */
    double *analysis;
    csrec_operator *part[3]; /* destroyed in this order */
    double *trajectory;
    double *filters; /* blur; sparse: its entries; dense and callback: complex */
    int64_t *kernel;
    struct drawn_matrix *given; /* callback */
    char text[160];
} drawn;

static inline void drop_drawn(drawn *d) {
    free(d->index);
    free(d->offset);
    free(d->rows);
    free(d->matrix);
    free(d->analysis);
    free(d->filters);
    free(d->trajectory);
    free(d->kernel);
    free(d->given);
    for (int k = 0; k < 3; k++) csrec_operator_destroy(d->part[k]);
}

/* Numbers from -1 to 1. */
static inline void draw_filters(uint64_t *seed, int64_t count, drawn *d) {
    d->filters = malloc((size_t)count * sizeof *d->filters);
    for (int64_t i = 0; i < count; i++) d->filters[i] = 2.0 * check_uniform(seed) - 1.0;
}

/* Some of the numbers below n in random order. */
static inline int64_t *draw_some(uint64_t *seed, int64_t n, int64_t *count) {
    *count = 1 + check_below(seed, n);
    return check_order(seed, n);
}

/* A shape of one to three axes and some of its entries in random order. */
static inline void draw_signal(uint64_t *seed, const int64_t *most, drawn *d) {
    d->shape.dims = (int)(1 + check_below(seed, 3));
    d->entries = 1;
    for (int a = 0; a < d->shape.dims; a++) {
        d->shape.dim[a] = 1 + check_below(seed, most[d->shape.dims - 1]);
        d->entries *= d->shape.dim[a];
    }
    d->index = draw_some(seed, d->entries, &d->m);
    bool all = check_below(seed, 4) == 0;
    if (all) d->m = d->entries;
    for (int64_t k = 0; all && k < d->entries; k++) d->index[k] = k;
    d->spec.m = d->m;
    d->spec.index = all ? NULL : d->index;
}

/* Coordinates of a flat position. */
static inline void coordinates(const csrec_shape *shape, int64_t at, int64_t *c) {
    for (int a = shape->dims - 1; a >= 0; a--) {
        c[a] = at % shape->dim[a];
        at /= shape->dim[a];
    }
}

static inline void draw_dense_matrix(uint64_t *seed, drawn *d) {
    d->m = 1 + check_below(seed, 20);
    d->n = 1 + check_below(seed, 20);
    d->matrix = malloc((size_t)(d->m * d->n) * sizeof *d->matrix);
    for (int64_t k = 0; k < d->m * d->n; k++) d->matrix[k] = 2.0 * check_uniform(seed) - 1.0;
    d->spec.m = d->m;
    d->spec.n = d->n;
    d->spec.matrix = d->matrix;
}

/* Makes the drawn real matrix complex: its imaginary parts, and the real map of pairs. */
static inline void make_complex(uint64_t *seed, drawn *d) {
    const int64_t m = d->m, n = d->n;
    OWNED double *re = d->matrix;
    d->filters = malloc((size_t)(2 * m * n) * sizeof *d->filters);
    d->matrix = malloc((size_t)(4 * m * n) * sizeof *d->matrix);
    for (int64_t k = 0; k < m * n; k++) {
        double *z = d->filters + 2 * k, *at = d->matrix + 4 * (k / n) * n + 2 * (k % n);
        z[0] = at[0] = at[2 * n + 1] = re[k];
        z[1] = at[2 * n] = 2.0 * check_uniform(seed) - 1.0;
        at[1] = -z[1];
    }
    d->spec.complex_signal = true;
    d->spec.matrix = d->filters;
    d->m = 2 * m;
    d->n = 2 * n;
}

/* The products of an operator, the context, for one of the caller's functions. */
static inline csrec_status forward_of_operator(const double *x, double *y, void *context) {
    return csrec_operator_forward(context, x, y);
}

static inline csrec_status adjoint_of_operator(const double *y, double *x, void *context) {
    return csrec_operator_adjoint(context, y, x);
}
