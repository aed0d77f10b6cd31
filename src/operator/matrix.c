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
        outer *= (shape->dim[a] + edge[a] - 1) / edge[a];
        inner *= edge[a];
    }
}

static void place_blocks(csrec_pool *pool, const csrec_operator_spec *spec, csrec_matrix *t) {
    const int64_t places = t->blocks * t->each;
    if (t->blocks == 1) return;
    CSREC_TAKE(pool, t->place, places);
    for (int64_t i = 0; i < places && t->place; i++) t->place[i] = -1;
    for (int64_t i = 0, block, within; i < t->entries && t->place; i++) {
        find_block(spec->shape, spec->kernel, i, &block, &within);
        t->place[block * t->each + within] = i;
    }
}

static csrec_status matrix_create(csrec_operator *A, const csrec_operator_spec *spec,
                                  csrec_error *error) {
    int64_t all, entries;
    CSREC_TRY(csrec_rows_of(spec, "matrix", &all, error));
    csrec_shape_count(spec->shape, &entries);
    const int64_t blocks = all / spec->m;
    int64_t each = blocks == 1 ? entries : 1;
    for (int a = 0; a < spec->shape->dims && blocks > 1; a++) each *= spec->kernel[a];
    if (spec->m > INT_MAX || each > INT_MAX || blocks > INT_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator matrix: more than 2^31 - 1 rows, entries or blocks");
    csrec_matrix *t = csrec_operator_data(A, sizeof *t);
    if (!t) return CSREC_MEMORY;
    *t = (csrec_matrix){.entries = entries, .rows = spec->m, .each = each, .blocks = blocks};
    CSREC_TAKE(&A->pool, t->values, t->rows * each);
    place_blocks(&A->pool, spec, t);
    if (csrec_pool_status(&A->pool)) return CSREC_MEMORY;
    memcpy(t->values, spec->matrix, (size_t)(t->rows * each) * sizeof *t->values);
    A->m = all;
    A->n = entries;
    return CSREC_OK;
}

/* [blocks][each] of the signal, zeros beyond it; the signal itself where it is one block. */
static csrec_status gather(const csrec_matrix *t, const double *x, double **room,
                           const double **in) {
    *room = NULL;
    *in = x;
    if (!t->place) return CSREC_OK;
    *room = malloc((size_t)(t->blocks * t->each) * sizeof **room);
    if (!*room) return CSREC_MEMORY;
    for (int64_t i = 0; i < t->blocks * t->each; i++)
        (*room)[i] = t->place[i] < 0 ? 0.0 : x[t->place[i]];
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
    double *room = t->place ? malloc((size_t)(t->blocks * t->each) * sizeof *room) : x;
    const int rows = (int)t->rows, each = (int)t->each, blocks = (int)t->blocks;
    if (!room) return CSREC_MEMORY;
    if (!csrec_blas_begin(1)) {
        if (t->place) free(room);
        return CSREC_MEMORY;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, blocks, each, rows, 1.0, y, rows,
                t->values, each, 0.0, room, each);
    csrec_blas_end(1);
    for (int64_t i = 0; i < t->blocks * t->each && t->place; i++)
        if (t->place[i] >= 0) x[t->place[i]] = room[i];
    if (t->place) free(room);
    return CSREC_OK;
}

static csrec_status matrix_column_norms(const csrec_operator *A, double *norms) {
    const csrec_matrix *t = A->data;
    for (int64_t i = 0; i < t->blocks * t->each; i++) {
        double sum = 0.0;
        if (t->place && t->place[i] < 0) continue;
        for (int64_t r = 0; r < t->rows; r++) {
            double v = t->values[r * t->each + i % t->each];
            sum += v * v;
        }
        norms[t->place ? t->place[i] : i] = sqrt(sum);
    }
    return CSREC_OK;
}

/* Whether places k of two blocks are both in the signal, or both beyond. */
static bool is_alike(const csrec_matrix *t, int64_t a, int64_t b) {
    for (int64_t k = 0; k < t->each; k++)
        if ((t->place[a * t->each + k] < 0) != (t->place[b * t->each + k] < 0)) return false;
    return true;
}

/* The matrix with zeros in the columns that are beyond the signal, times its transpose. */
static void multiply_kind(const csrec_matrix *t, int64_t block, double *kept, double *square) {
    const int rows = (int)t->rows, each = (int)t->each;
    for (int64_t i = 0; i < t->rows * t->each; i++) {
        const bool beyond = t->place && t->place[block * t->each + i % t->each] < 0;
        kept[i] = beyond ? 0.0 : t->values[i];
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, rows, each, 1.0, kept, each, kept,
                each, 0.0, square, rows);
}

static csrec_status matrix_gram(const csrec_operator *A, csrec_pool *pool, csrec_gram *gram) {
    const csrec_matrix *t = A->data;
    const size_t square = (size_t)(t->rows * t->rows);
    int64_t first[1 << CSREC_DIMS_MAX];
    if (t->rows > CSREC_GRAM_MOST) return CSREC_UNSUPPORTED;
    *gram = (csrec_gram){.size = (int)t->rows, .blocks = t->blocks};
    CSREC_TAKE(pool, gram->kind, t->blocks);
    if (pool->lacks) return CSREC_MEMORY;
    /* gram->kind: blocks that have the same entries beyond the signal are of one kind. Blocks of a
     * new kind are few, and each ends at the border along some axes. first: a block of each. */
    for (int64_t b = 0; b < t->blocks; b++) {
        int k = 0;
        while (k < gram->kinds && t->place && !is_alike(t, first[k], b)) k++;
        if (k == gram->kinds) first[gram->kinds++] = b;
        gram->kind[b] = k;
    }
    CSREC_TAKE(pool, gram->values, (size_t)gram->kinds * square);
    double *kept = malloc((size_t)(t->rows * t->each) * sizeof *kept);
    csrec_status status = kept && !pool->lacks && csrec_blas_begin(1) ? CSREC_OK : CSREC_MEMORY;
    for (int k = 0; k < gram->kinds && !status; k++)
        multiply_kind(t, first[k], kept, gram->values + (size_t)k * square);
    if (!status) csrec_blas_end(1);
    free(kept);
    return status;
}

const csrec_operator_type csrec_operator_matrix = {
    .name = "matrix",
    .brief = "any matrix, of the whole signal or of each block",
    .create = matrix_create,
    .forward = matrix_forward,
    .adjoint = matrix_adjoint,
    .column_norms = matrix_column_norms,
    .gram = matrix_gram};
