/* SPDX-License-Identifier: BSD-3-Clause */
/* matrix.c - the operator of a matrix, by one product for all blocks. */
#include "operator/devices.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"

/* Entry `at` of the signal is in block *block, as its entry *within. */
static void find_block(const csrec_shape *shape, const int64_t *edge, int64_t at, int64_t *block,
                       int64_t *within) {
    int64_t outer = 1, inner = 1;
    *block = *within = 0;
    for (int a = shape->dims - 1; a >= 0; a--) {
        int64_t v = at % shape->dim[a];
        at /= shape->dim[a];
        *block += v / edge[a] * outer;
        *within += v % edge[a] * inner;
        outer *= shape->dim[a] / edge[a];
        inner *= edge[a];
    }
}

static void place_blocks(csrec_pool *pool, const csrec_operator_spec *spec, csrec_matrix *t) {
    if (t->blocks == 1) return;
    const int64_t entries = t->blocks * t->each;
    CSREC_TAKE(pool, t->place, entries);
    for (int64_t i = 0, block, within; i < entries && t->place; i++) {
        find_block(spec->shape, spec->kernel, i, &block, &within);
        t->place[block * t->each + within] = i;
    }
}

static csrec_status matrix_create(csrec_operator *A, const csrec_operator_spec *spec,
                                  csrec_error *error) {
    int64_t all, entries;
    csrec_status status = csrec_rows_of(spec, "matrix", &all, error);
    if (status) return status;
    csrec_shape_count(spec->shape, &entries);
    const int64_t blocks = all / spec->m, each = entries / blocks;
    if (spec->m > INT_MAX || each > INT_MAX || blocks > INT_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator matrix: more than 2^31 - 1 rows, entries or blocks");
    csrec_matrix *t = csrec_operator_data(A, sizeof *t);
    if (!t) return CSREC_MEMORY;
    *t = (csrec_matrix){.rows = spec->m, .each = each, .blocks = blocks};
    CSREC_TAKE(&A->pool, t->values, t->rows * each);
    place_blocks(&A->pool, spec, t);
    if (csrec_pool_status(&A->pool)) return CSREC_MEMORY;
    memcpy(t->values, spec->matrix, (size_t)(t->rows * each) * sizeof *t->values);
    A->m = all;
    A->n = entries;
    return CSREC_OK;
}

/* [blocks][each] of the signal; the signal itself where it is one block. */
static csrec_status gather(const csrec_matrix *t, const double *x, double **room,
                           const double **in) {
    *room = NULL;
    *in = x;
    if (!t->place) return CSREC_OK;
    *room = malloc((size_t)(t->blocks * t->each) * sizeof **room);
    if (!*room) return CSREC_MEMORY;
    for (int64_t i = 0; i < t->blocks * t->each; i++) (*room)[i] = x[t->place[i]];
    *in = *room;
    return CSREC_OK;
}

static csrec_status matrix_forward(const csrec_operator *A, const double *x, double *y) {
    const csrec_matrix *t = A->data;
    double *room;
    const double *in;
    csrec_status status = gather(t, x, &room, &in);
    if (!status && !csrec_blas_begin(1)) status = CSREC_MEMORY;
    if (status) {
        free(room);
        return status;
    }
    const int rows = (int)t->rows, each = (int)t->each, blocks = (int)t->blocks;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, blocks, rows, each, 1.0, in, each,
                t->values, each, 0.0, y, rows);
    csrec_blas_end(1);
    free(room);
    return CSREC_OK;
}

static csrec_status matrix_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_matrix *t = A->data;
    double *room = t->place ? malloc((size_t)A->n * sizeof *room) : x;
    const int rows = (int)t->rows, each = (int)t->each, blocks = (int)t->blocks;
    if (!room) return CSREC_MEMORY;
    if (!csrec_blas_begin(1)) {
        if (t->place) free(room);
        return CSREC_MEMORY;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blocks, each, rows, 1.0, y, rows,
                t->values, each, 0.0, room, each);
    csrec_blas_end(1);
    for (int64_t i = 0; i < A->n && t->place; i++) x[t->place[i]] = room[i];
    if (t->place) free(room);
    return CSREC_OK;
}

static csrec_status matrix_column_norms(const csrec_operator *A, double *norms) {
    const csrec_matrix *t = A->data;
    for (int64_t i = 0; i < A->n; i++) {
        double sum = 0.0;
        for (int64_t r = 0; r < t->rows; r++) {
            double v = t->values[r * t->each + i % t->each];
            sum += v * v;
        }
        norms[t->place ? t->place[i] : i] = sqrt(sum);
    }
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_matrix = {
    .name = "matrix",
    .brief = "any matrix, of the whole signal or of each block",
    .create = matrix_create,
    .forward = matrix_forward,
    .adjoint = matrix_adjoint,
    .column_norms = matrix_column_norms};
