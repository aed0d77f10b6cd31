/* SPDX-License-Identifier: BSD-3-Clause */
/* hadamard.c - the operator of Hadamard's rows. */
#include "operator/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "sampling/sampling.h"
#include "measurement/through.h"

void csrec_hadamard_transform(int64_t n, double *x) {
    CSREC_CPU_CHOOSE(csrec_hadamard)(n, x);
}

/* Row k of the Walsh ordering is the natural row of the Gray code of k, bits reversed. */
int64_t csrec_hadamard_sequency(int bits, int64_t k) {
    int64_t gray = k ^ k >> 1, natural = 0;
    for (int b = 0; b < bits; b++) natural |= (gray >> b & 1) << (bits - 1 - b);
    return natural;
}

/* A row by its sign changes along each axis. */
typedef struct sorted_row {
    int64_t key, tie;
    int32_t natural;
} sorted_row;

static int compare(const void *a, const void *b) {
    const sorted_row *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->tie > y->tie) - (x->tie < y->tie);
}

/* JPEG goes up odd diagonals and down even ones: along a diagonal s_0 rises on odd ones. */
static int64_t diagonal_tie(int axes, const int64_t s[3], int64_t sum, int64_t flat) {
    if (axes != 2) return flat;
    return sum % 2 ? s[0] : s[1];
}

static void place_row(const char *ordering, int axes, const int64_t extent[], int64_t flat,
                      sorted_row *row) {
    int64_t s[3] = {0}, rest = flat, pieces = 1, sum = 0, natural = 0;
    for (int a = axes - 1; a >= 0; a--) {
        s[a] = rest % extent[a];
        rest /= extent[a];
    }
    for (int a = 0; a < axes; a++) {
        natural = natural * extent[a] + csrec_hadamard_sequency(csrec_bits_for(extent[a]), s[a]);
        pieces *= s[a] + 1;
        sum += s[a];
    }
    bool diagonals = strcmp(ordering, "zig-zag") == 0;
    *row = (sorted_row){.key = diagonals ? sum : pieces,
                        .tie = diagonals ? diagonal_tie(axes, s, sum, flat) : flat,
                        .natural = (int32_t)natural};
}

csrec_status csrec_hadamard_rows(const char *ordering, int axes, const int64_t extent[],
                                 int32_t *rows) {
    int64_t n = 1;
    for (int a = 0; a < axes; a++) n *= extent[a];
    if (!ordering || strcmp(ordering, "natural") == 0) {
        for (int64_t k = 0; k < n; k++) rows[k] = (int32_t)k;
        return CSREC_OK;
    }
    if (strcmp(ordering, "sequency") == 0) {
        for (int64_t k = 0; k < n; k++)
            rows[k] = (int32_t)csrec_hadamard_sequency(csrec_bits_for(n), k);
        return CSREC_OK;
    }
    sorted_row *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) return CSREC_MEMORY;
    for (int64_t k = 0; k < n; k++) place_row(ordering, axes, extent, k, &sorted[k]);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    for (int64_t k = 0; k < n; k++) rows[k] = sorted[k].natural;
    free(sorted);
    return CSREC_OK;
}

static csrec_status choose_rows(const csrec_operator_spec *spec, csrec_hadamard *h) {
    int64_t extent[3];
    int32_t *all = malloc((size_t)h->padded * sizeof *all);
    for (int a = 0; a < spec->shape->dims; a++)
        extent[a] = csrec_through_padded(spec->shape->dim[a]);
    csrec_status status =
        all ? csrec_hadamard_rows(spec->ordering, spec->shape->dims, extent, all) : CSREC_MEMORY;
    for (int64_t k = 0; k < h->m && !status; k++) h->row[k] = all[spec->index ? spec->index[k] : k];
    free(all);
    return status;
}

/* Where entries are in the padded grid, and where a permutation puts them. */
static void place_entries(const csrec_operator_spec *spec, csrec_hadamard *h) {
    const csrec_shape *shape = spec->shape;
    csrec_permutation permutation;
    csrec_permutation_init(&permutation, (uint64_t)h->padded, spec->seed);
    for (int64_t i = 0; i < h->entries; i++) {
        int64_t rest = i, at = 0, stride = 1;
        for (int a = shape->dims - 1; a >= 0; a--) {
            at += rest % shape->dim[a] * stride;
            rest /= shape->dim[a];
            stride *= csrec_through_padded(shape->dim[a]);
        }
        if (spec->scrambled) at = (int64_t)csrec_permutation_at(&permutation, (uint64_t)at);
        h->place[i] = (int32_t)at;
    }
}

static csrec_status hadamard_check(const csrec_operator_spec *spec, int64_t *rows, int64_t *m,
                                   csrec_error *error) {
    CSREC_TRY(csrec_rows_of(spec, "hadamard", rows, error));
    if (*rows > INT32_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator hadamard: %lld padded entries; at most 2^31 - 1 are possible",
                          (long long)*rows);
    return csrec_rows_chosen(spec, "hadamard", *rows, m, error);
}

static csrec_status hadamard_create(csrec_operator *A, const csrec_operator_spec *spec,
                                    csrec_error *error) {
    int64_t rows, m;
    CSREC_TRY(hadamard_check(spec, &rows, &m, error));
    csrec_hadamard *h = csrec_operator_data(A, sizeof *h);
    if (!h) return CSREC_MEMORY;
    h->padded = rows;
    h->m = m;
    csrec_shape_count(spec->shape, &h->entries);
    CSREC_TAKE(&A->pool, h->row, h->m);
    CSREC_TAKE(&A->pool, h->place, h->entries);
    CSREC_TRY(csrec_pool_status(&A->pool));
    CSREC_TRY(choose_rows(spec, h));
    place_entries(spec, h);
    A->m = h->m;
    A->n = h->entries;
    A->norm = sqrt((double)rows);
    return CSREC_OK;
}

static csrec_status hadamard_forward(const csrec_operator *A, const double *x, double *y) {
    const csrec_hadamard *h = A->data;
    double *grid = csrec_operator_borrow(A, h->padded);
    if (!grid) return CSREC_MEMORY;
    if (h->entries < h->padded) memset(grid, 0, (size_t)h->padded * sizeof *grid);
    for (int64_t i = 0; i < h->entries; i++) grid[h->place[i]] = x[i];
    csrec_hadamard_transform(h->padded, grid);
    for (int64_t k = 0; k < h->m; k++) y[k] = grid[h->row[k]];
    csrec_operator_give_back(A, grid);
    return CSREC_OK;
}

/* H is symmetric. */
static csrec_status hadamard_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_hadamard *h = A->data;
    double *grid = csrec_operator_borrow(A, h->padded);
    if (!grid) return CSREC_MEMORY;
    memset(grid, 0, (size_t)h->padded * sizeof *grid);
    for (int64_t k = 0; k < h->m; k++) grid[h->row[k]] = y[k];
    csrec_hadamard_transform(h->padded, grid);
    for (int64_t i = 0; i < h->entries; i++) x[i] = grid[h->place[i]];
    csrec_operator_give_back(A, grid);
    return CSREC_OK;
}

static csrec_status hadamard_column_norms(const csrec_operator *A, double *norms) {
    for (int64_t j = 0; j < A->n; j++) norms[j] = sqrt((double)A->m);
    return CSREC_OK;
}

static csrec_status hadamard_column(const csrec_operator *A, int64_t j, double *a) {
    const csrec_hadamard *h = A->data;
    for (int64_t k = 0; k < h->m; k++)
        a[k] = __builtin_parity((unsigned)(h->row[k] & h->place[j])) ? -1.0 : 1.0;
    return CSREC_OK;
}

const csrec_operator_type csrec_operator_hadamard = {
    .name = "hadamard",
    .brief = "rows of Hadamard's matrix, +1 and -1, in several orders",
    .takes = CSREC_TAKES_INDEX,
    .create = hadamard_create,
    .forward = hadamard_forward,
    .adjoint = hadamard_adjoint,
    .column_norms = hadamard_column_norms,
    .column = hadamard_column};
