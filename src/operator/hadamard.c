/* hadamard.c - the operator of Hadamard's rows, and the fast transform. */
#include "operator/hadamard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/permutation.h"
#include "base/through.h"
#include "operator/mask.h"

/* ------------------------------------------------------------------ transform ----------------- */

/* Doubles of a block that stays in the first-level cache; rows and columns of a strip that stays in
 * the second. */
enum { BLOCK = 1 << 11, ROWS = 1 << 9, COLUMNS = 4 }; /* 16 KiB of a stack */

/* One level on [2][half]. */
static void one_level(int64_t half, double *a, double *b) {
    for (int64_t i = 0; i < half; i++) {
        double u = a[i], v = b[i];
        a[i] = u + v;
        b[i] = u - v;
    }
}

/* Two levels on [4][quarter]. */
static void two_levels(int64_t quarter, double *x) {
    double *a = x, *b = x + quarter, *c = x + 2 * quarter, *d = x + 3 * quarter;
    for (int64_t i = 0; i < quarter; i++) {
        double s = a[i] + b[i], t = a[i] - b[i], u = c[i] + d[i], v = c[i] - d[i];
        a[i] = s + u;
        b[i] = t + v;
        c[i] = s - u;
        d[i] = t - v;
    }
}

/* The levels of [rows][columns] along its first axis: two at a time, then one if their number is
 * odd. */
static void transform_rows(int64_t rows, int64_t columns, double *x) {
    int64_t width = 1;
    for (; 4 * width <= rows; width *= 4)
        for (int64_t at = 0; at < rows; at += 4 * width)
            two_levels(width * columns, x + at * columns);
    if (2 * width <= rows) one_level(width * columns, x, x + width * columns);
}

/* Rows that are a power of two apart share places of a cache, so a strip is copied. */
static void transform_strip(int64_t rows, int64_t stride, double *x) {
    double part[ROWS * COLUMNS];
    for (int64_t r = 0; r < rows; r++)
        memcpy(part + r * COLUMNS, x + r * stride, COLUMNS * sizeof *part);
    transform_rows(rows, COLUMNS, part);
    for (int64_t r = 0; r < rows; r++)
        memcpy(x + r * stride, part + r * COLUMNS, COLUMNS * sizeof *part);
}

void csrec_hadamard_transform(int64_t n, double *x) {
    const int64_t block = n < BLOCK ? n : BLOCK;
    for (int64_t at = 0; at < n; at += block) transform_rows(block, 1, x + at);
    for (int64_t stride = block, rows; stride < n; stride *= rows) {
        rows = n / stride < ROWS ? n / stride : ROWS;
        for (int64_t top = 0; top < n; top += rows * stride)
            for (int64_t at = 0; at < stride; at += COLUMNS)
                transform_strip(rows, stride, x + top + at);
    }
}

/* ------------------------------------------------------------------ orderings ----------------- */

static int bits_of(int64_t n) {
    int bits = 0;
    while (INT64_C(1) << bits < n) bits++;
    return bits;
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
        natural = natural * extent[a] + csrec_hadamard_sequency(bits_of(extent[a]), s[a]);
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
        for (int64_t k = 0; k < n; k++) rows[k] = (int32_t)csrec_hadamard_sequency(bits_of(n), k);
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

/* ------------------------------------------------------------------ creation ------------------ */

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

static void hadamard_destroy(csrec_operator *A) {
    csrec_hadamard *h = A->data;
    if (!h) return;
    free(h->row);
    free(h->place);
    free(h);
}

static csrec_status hadamard_check(const csrec_operator_spec *spec, int64_t *rows, int64_t *m,
                                   csrec_error *error) {
    csrec_status status = csrec_rows_of(spec, "hadamard", rows, error);
    if (status) return status;
    if (*rows > INT32_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator hadamard: %lld padded entries; at most 2^31 - 1 are possible",
                          (long long)*rows);
    return csrec_rows_chosen(spec, "hadamard", *rows, m, error);
}

static csrec_status hadamard_create(csrec_operator *A, const csrec_operator_spec *spec,
                                    csrec_error *error) {
    int64_t rows, m;
    csrec_status status = hadamard_check(spec, &rows, &m, error);
    if (status) return status;
    csrec_hadamard *h = calloc(1, sizeof *h);
    if (!h) return csrec_fail(error, CSREC_MEMORY, "operator hadamard: out of memory");
    A->data = h;
    h->padded = rows;
    h->m = m;
    csrec_shape_count(spec->shape, &h->entries);
    h->row = malloc((size_t)h->m * sizeof *h->row);
    h->place = malloc((size_t)h->entries * sizeof *h->place);
    status = h->row && h->place ? choose_rows(spec, h) : CSREC_MEMORY;
    if (status) {
        hadamard_destroy(A);
        return csrec_fail(error, status, "operator hadamard: out of memory");
    }
    place_entries(spec, h);
    A->m = h->m;
    A->n = h->entries;
    A->norm = sqrt((double)rows);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ products ------------------ */

static csrec_status hadamard_forward(const csrec_operator *A, const double *x, double *y) {
    const csrec_hadamard *h = A->data;
    double *grid = calloc((size_t)h->padded, sizeof *grid);
    if (!grid) return CSREC_MEMORY;
    for (int64_t i = 0; i < h->entries; i++) grid[h->place[i]] = x[i];
    csrec_hadamard_transform(h->padded, grid);
    for (int64_t k = 0; k < h->m; k++) y[k] = grid[h->row[k]];
    free(grid);
    return CSREC_OK;
}

/* H is symmetric. */
static csrec_status hadamard_adjoint(const csrec_operator *A, const double *y, double *x) {
    const csrec_hadamard *h = A->data;
    double *grid = calloc((size_t)h->padded, sizeof *grid);
    if (!grid) return CSREC_MEMORY;
    for (int64_t k = 0; k < h->m; k++) grid[h->row[k]] = y[k];
    csrec_hadamard_transform(h->padded, grid);
    for (int64_t i = 0; i < h->entries; i++) x[i] = grid[h->place[i]];
    free(grid);
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
    .destroy = hadamard_destroy,
    .forward = hadamard_forward,
    .adjoint = hadamard_adjoint,
    .column_norms = hadamard_column_norms,
    .column = hadamard_column};
