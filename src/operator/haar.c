/* SPDX-License-Identifier: BSD-3-Clause */
/* haar.c - the sampled Haar matrix as an operator: its distinct columns, ascending. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "operator/haar.h"

typedef csrec_haar haar;

static void haar_destroy(csrec_operator *A) {
    haar *h = A->data;
    csrec_tree_clear(&h->tree);
    csrec_pool_destroy(h->map);
}

static csrec_status check_rows(const csrec_operator_spec *spec, csrec_error *error) {
    if (spec->levels < 0 || spec->levels > 62)
        return csrec_fail(error, CSREC_ARGUMENT, "operator haar: levels = %d; must be 0 to 62",
                          spec->levels);
    if (spec->m < 1 || spec->m > INT32_MAX)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator haar: %lld samples; must be 1 to 2147483647",
                          (long long)spec->m);
    for (int64_t j = 1; j < spec->m; j++)
        if (spec->rows[j] <= spec->rows[j - 1])
            return csrec_fail(error, CSREC_DATA,
                              "operator haar: row %lld is not above the row before it; sort the "
                              "rows and drop repeats",
                              (long long)j);
    if (spec->rows[spec->m - 1] >> spec->levels)
        return csrec_fail(error, CSREC_DATA, "operator haar: row %llu is beyond 2^%d - 1",
                          (unsigned long long)spec->rows[spec->m - 1], spec->levels);
    return CSREC_OK;
}

static csrec_status haar_create(csrec_operator *A, const csrec_operator_spec *spec,
                                csrec_error *error) {
    CSREC_TRY(check_rows(spec, error));
    haar *h = csrec_operator_data(A, sizeof *h);
    if (!h || !CSREC_TAKE(&A->pool, h->rows, spec->m)) return CSREC_MEMORY;
    memcpy(h->rows, spec->rows, (size_t)spec->m * sizeof *h->rows);
    csrec_status status =
        csrec_tree_create(spec->levels, spec->m, h->rows, spec->columns, &h->tree);
    if (status)
        return csrec_fail(error, status, "operator haar: out of memory for %lld samples",
                          (long long)spec->m);
    A->m = spec->m;
    A->n = csrec_tree_places(&h->tree, NULL);
    return CSREC_OK;
}

/* The columns of the matrix with their counts, and their products with y. */
static csrec_status products(const csrec_operator *A, const double *y, csrec_product *product) {
    const haar *h = A->data;
    double *sums = malloc((size_t)A->m * sizeof *sums);
    csrec_status status = sums ? csrec_tree_sums(&h->tree, y, sums) : CSREC_MEMORY;
    if (!status) csrec_tree_products(&h->tree, y, sums, false, product);
    free(sums);
    return status;
}

/* The places of the columns, made at the first use: a pursuit does not need them. */
static csrec_status map_of(const csrec_operator *A, const csrec_tree_map **map) {
    haar *h = A->data;
    csrec_tree_map *made = h->map, *none = NULL;
    if (!made) {
        CSREC_TRY(csrec_tree_map_create(&h->tree, &made));
        /* If another thread was faster, its map is used. */
        if (!atomic_compare_exchange_strong(&h->map, &none, made)) {
            csrec_pool_destroy(made);
            made = none;
        }
    }
    *map = made;
    return CSREC_OK;
}

static csrec_status haar_adjoint(const csrec_operator *A, const double *y, double *x) {
    const haar *h = A->data;
    const csrec_tree_map *map;
    csrec_status status = map_of(A, &map);
    return status ? status : csrec_tree_adjoint(&h->tree, map, y, x);
}

static csrec_status haar_forward(const csrec_operator *A, const double *x, double *y) {
    const haar *h = A->data;
    const csrec_tree_map *map;
    csrec_status status = map_of(A, &map);
    return status ? status : csrec_tree_forward(&h->tree, map, x, y);
}

csrec_status csrec_haar_number(const csrec_operator *A, csrec_atoms *atoms) {
    csrec_product *product = malloc((size_t)A->n * sizeof *product);
    double *zero = calloc((size_t)A->m, sizeof *zero);
    csrec_status status = product && zero ? products(A, zero, product) : CSREC_MEMORY;
    for (int64_t i = 0; !status && i < atoms->n; i++) {
        const csrec_product *column = &product[atoms->column[i]];
        atoms->column[i] = column->column;
        atoms->count[i] = column->count;
    }
    free(product);
    free(zero);
    return status;
}

/* ---- the pursuit of the row tree, as the operator's search */

typedef struct search {
    const csrec_pursuit_type *type;
    void *pursuit;
    const double *y;
} search;

static csrec_status make_search(const csrec_operator *A, const csrec_pursuit_type *type,
                                const double *y, void **state) {
    const haar *h = A->data;
    search *s = malloc(sizeof *s);
    if (!s) return CSREC_MEMORY;
    s->type = type;
    s->y = y;
    csrec_status status = type->create(&h->tree, y, &s->pursuit);
    return CSREC_SETTLE(status, free(s), *state = s);
}

static csrec_status search_create(const csrec_operator *A, bool reference, const double *y,
                                  void **state) {
    return make_search(A, reference ? &csrec_pursuit_reference : &csrec_pursuit_eager, y, state);
}

static csrec_status orthogonal_create(const csrec_operator *A, bool reference, const double *y,
                                      void **state) {
    (void)reference;
    return make_search(A, &csrec_pursuit_orthogonal, y, state);
}

static void search_destroy(void *state) {
    search *s = state;
    if (!s) return;
    s->type->destroy(s->pursuit);
    free(s);
}

static double search_select(void *state) {
    search *s = state;
    return s->type->select(s->pursuit);
}

static bool search_update(void *state) {
    search *s = state;
    return s->type->update(s->pursuit);
}

static double search_energy(const void *state) {
    const search *s = state;
    return s->type->energy(s->pursuit);
}

static csrec_status search_result(const void *state, csrec_atoms *atoms, double *r) {
    const search *s = state;
    return s->type->result(s->pursuit, s->y, atoms, r);
}

static const csrec_atom_search haar_search = {search_create, search_destroy, search_select,
                                              search_update, search_energy,  search_result};

static const csrec_atom_search haar_orthogonal = {orthogonal_create, search_destroy, search_select,
                                                  search_update,     search_energy,  search_result};

static csrec_status haar_fit(const csrec_operator *A, const bool *chosen, const double *y,
                             double *x, double *r) {
    const haar *h = A->data;
    const csrec_tree_map *map;
    csrec_status status = map_of(A, &map);
    return status ? status : csrec_tree_project(&h->tree, A->n, map->place, chosen, y, x, r);
}

/* Columns have unit length: the adjoint is the correlation. */
static csrec_status haar_column_norms(const csrec_operator *A, double *norms) {
    for (int64_t i = 0; i < A->n; i++) norms[i] = 1.0;
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_haar = {
    .name = "haar",
    .brief = "sampled Haar matrix, procedural: never stored, any M up to 2^62",
    .create = haar_create,
    .destroy = haar_destroy,
    .forward = haar_forward,
    .adjoint = haar_adjoint,
    .search = &haar_search,
    .orthogonal = &haar_orthogonal,
    .fit = haar_fit,
    .column_norms = haar_column_norms,
    .correlate = haar_adjoint};
