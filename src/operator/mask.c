/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.c - the operator that samples a signal: m of its n entries; and what operators that measure
 * signals check alike. */
#include "operator/mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measurement/through.h"

/* One bit an entry finds repeats. */
static csrec_status check_index(const csrec_operator_spec *spec, const char *name, int64_t entries,
                                csrec_error *error) {
    unsigned char *seen = calloc((size_t)entries / 8 + 1, 1);
    if (!seen) return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", name);
    csrec_status status = CSREC_OK;
    for (int64_t k = 0; k < spec->m && !status; k++) {
        int64_t at = spec->index[k];
        bool inside = at >= 0 && at < entries;
        if (!inside || (seen[at >> 3] >> (at & 7) & 1))
            status = csrec_fail(error, CSREC_DATA, "operator %s: index[%lld] = %lld %s", name,
                                (long long)k, (long long)at,
                                inside ? "comes twice" : "is outside of the shape");
        else
            seen[at >> 3] |= (unsigned char)(1u << (at & 7));
    }
    free(seen);
    return status;
}

csrec_status csrec_rows_chosen(const csrec_operator_spec *spec, const char *name, int64_t rows,
                               int64_t *m, csrec_error *error) {
    *m = spec->index ? spec->m : rows;
    if (*m < 1 || *m > rows)
        return csrec_fail(error, CSREC_ARGUMENT, "operator %s: %lld samples of %lld entries", name,
                          (long long)*m, (long long)rows);
    return spec->index ? check_index(spec, name, rows, error) : CSREC_OK;
}

csrec_status csrec_rows_of(const csrec_operator_spec *spec, const char *name, int64_t *rows,
                           csrec_error *error) {
    char what[64];
    snprintf(what, sizeof what, "operator %s", name);
    if (!spec->shape || csrec_shape_count(spec->shape, rows))
        return csrec_fail(error, CSREC_ARGUMENT, "%s: needs a shape", what);
    return csrec_through_find(name)->rows(spec, spec->shape, what, rows, error);
}

csrec_status csrec_mask_create(const csrec_operator_spec *spec, const char *name, csrec_mask *mask,
                               csrec_error *error) {
    int64_t entries, m;
    if (!spec->shape || csrec_shape_count(spec->shape, &entries) || entries > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator %s: needs a shape of 1 to 2147483647 entries", name);
    CSREC_TRY(csrec_rows_chosen(spec, name, entries, &m, error));
    int64_t *index = malloc((size_t)m * sizeof *index);
    if (!index) return csrec_fail(error, CSREC_MEMORY, "operator %s: out of memory", name);
    for (int64_t k = 0; k < m; k++) index[k] = spec->index ? spec->index[k] : k;
    *mask = (csrec_mask){*spec->shape, entries, m, index};
    return CSREC_OK;
}

void csrec_mask_clear(csrec_mask *mask) {
    free(mask->index);
    *mask = (csrec_mask){0};
}

csrec_status csrec_mask_attach(csrec_operator *A, const csrec_operator_spec *spec, csrec_mask *mask,
                               csrec_error *error) {
    CSREC_TRY(csrec_mask_create(spec, A->row->name, mask, error));
    csrec_pool_keep(&A->pool, mask->index);
    A->m = mask->m;
    A->mask = A->row->synthesize ? mask : NULL;
    return csrec_pool_status(&A->pool);
}

void csrec_mask_gather(const csrec_mask *mask, const double *signal, double *y) {
    for (int64_t k = 0; k < mask->m; k++) y[k] = signal[mask->index[k]];
}

void csrec_mask_scatter(const csrec_mask *mask, const double *y, double *signal) {
    memset(signal, 0, (size_t)mask->entries * sizeof *signal);
    for (int64_t k = 0; k < mask->m; k++) signal[mask->index[k]] = y[k];
}

csrec_status csrec_mask_forward(const csrec_operator *A, const double *x, double *y) {
    double *signal = csrec_operator_borrow(A, A->mask->entries);
    csrec_status status = signal ? A->row->synthesize(A, x, signal) : CSREC_MEMORY;
    if (!status) csrec_mask_gather(A->mask, signal, y);
    csrec_operator_give_back(A, signal);
    return status;
}

bool csrec_mask_extents(const csrec_shape *shape, int64_t extent[3]) {
    if (!shape || shape->dims < 1 || shape->dims > 3) return false;
    csrec_mask_axes(shape, shape->dim, extent);
    return true;
}

void csrec_mask_axes(const csrec_shape *shape, const int64_t *of, int64_t three[3]) {
    const int missing = 3 - shape->dims;
    for (int a = 0; a < 3; a++) three[a] = a < missing ? 1 : of[a - missing];
}

static csrec_status mask_create(csrec_operator *A, const csrec_operator_spec *spec,
                                csrec_error *error) {
    csrec_mask *mask = csrec_operator_data(A, sizeof *mask);
    csrec_status status = mask ? csrec_mask_attach(A, spec, mask, error) : CSREC_MEMORY;
    if (!status) A->n = mask->entries;
    return status;
}

static csrec_status mask_forward(const csrec_operator *A, const double *x, double *y) {
    csrec_mask_gather(A->data, x, y);
    return CSREC_OK;
}

/* Columns are unit vectors or zero: also the correlation. */
static csrec_status mask_adjoint(const csrec_operator *A, const double *y, double *x) {
    csrec_mask_scatter(A->data, y, x);
    return CSREC_OK;
}

static csrec_status mask_column_norms(const csrec_operator *A, double *norms) {
    const csrec_mask *mask = A->data;
    memset(norms, 0, (size_t)A->n * sizeof *norms);
    for (int64_t k = 0; k < mask->m; k++) norms[mask->index[k]] = 1.0;
    return CSREC_OK;
}

static csrec_status copy(const csrec_operator *A, const double *from, double *to) {
    memcpy(to, from, (size_t)A->n * sizeof *to);
    return CSREC_OK;
}

static const csrec_param params[] = {{0}}; /* none, but it is a basis */

static csrec_operator_need identity_need(const csrec_operator_spec *spec) {
    static const double per_entry = 2e-9; /* seconds of one thread */
    int64_t entries = 0;
    csrec_shape_count(spec->shape, &entries);
    double n = (double)entries;
    return (csrec_operator_need){
        .n = n, .product = per_entry * n, .stored = true, .own = 8.0 * (double)spec->m};
}

/* As a basis, whose coefficients are the entries of the signal, and as an operator by itself. */
#define MASK_CALLS                                                                                 \
    .takes = CSREC_TAKES_INDEX, .create = mask_create, .forward = mask_forward,                    \
    .adjoint = mask_adjoint, .column_norms = mask_column_norms, .correlate = mask_adjoint,         \
    .synthesize = copy, .analyze = copy

const csrec_operator_type csrec_operator_identity = {
    .name = "identity",
    .brief = "the signal itself is sparse: its entries are the coefficients",
    .params = params,
    .need = identity_need,
    MASK_CALLS};

const csrec_operator_type csrec_operator_mask = {
    .name = "mask", .brief = "the sampled entries of a signal", MASK_CALLS};
