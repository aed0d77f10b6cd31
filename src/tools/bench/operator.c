/* operator.c - operators of files and of Haar's matrix, with their matrices. */
#include "operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_operator_clear(bench_operator *o) {
    csrec_operator_destroy(o->A);
    free(o->matrix);
    free(o->number);
    *o = (bench_operator){.A = NULL};
}

static csrec_status allocate(bench_operator *o, csrec_error *error) {
    if (o->n > BENCH_COLUMNS_MOST || o->m * o->n > 1 << 26)
        return cli_fail(error, CSREC_DATA,
                        "%s: %lld x %lld is too large to be written out; at most %d columns and "
                        "2^26 entries",
                        o->what, (long long)o->m, (long long)o->n, BENCH_COLUMNS_MOST);
    o->matrix = calloc((size_t)(o->m * o->n), sizeof *o->matrix);
    return o->matrix ? CSREC_OK : cli_fail(error, CSREC_MEMORY, "%s: out of memory", o->what);
}

/* ------------------------------------------------------------------ Haar's matrix ------------- */

static bool are_equal_up_to_sign(int64_t m, const double *a, const double *b) {
    bool same = true, opposite = true;
    for (int64_t i = 0; i < m && (same || opposite); i++) {
        same = same && a[i] == b[i];
        opposite = opposite && a[i] == -b[i];
    }
    return same || opposite;
}

/* The distinct columns one after another; returns their number. room: of `most` columns. */
static int64_t collect(int levels, int64_t m, const uint64_t *rows, bool two_sided, int64_t most,
                       double *columns, uint64_t *number) {
    int64_t n = 0;
    for (uint64_t c = 0; c >> levels == 0 && n < most; c++) {
        double *a = columns + n * m;
        bool known = !bench_haar_column(levels, m, rows, c, two_sided, 1, a);
        for (int64_t j = 0; j < n && !known; j++)
            known = are_equal_up_to_sign(m, columns + j * m, a);
        if (!known) number[n++] = c;
    }
    return n;
}

static csrec_status fill_haar(int levels, const uint64_t *rows, bool two_sided, bench_operator *o,
                              csrec_error *error) {
    int64_t most = o->n + 1; /* one more shows that there are too many */
    double *columns = malloc((size_t)(o->m * (most + 1)) * sizeof *columns);
    o->number = malloc((size_t)(most + 1) * sizeof *o->number);
    csrec_status status = columns && o->number ? CSREC_OK : CSREC_MEMORY;
    int64_t n = status ? 0 : collect(levels, o->m, rows, two_sided, most, columns, o->number);
    for (int64_t j = 0; j < n && j < o->n; j++)
        for (int64_t i = 0; i < o->m; i++) o->matrix[i * o->n + j] = columns[j * o->m + i];
    free(columns);
    if (status) return cli_fail(error, status, "%s: out of memory", o->what);
    if (n == o->n) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "%s: the operator has %lld columns, but the definition gives %s%lld", o->what,
                    (long long)o->n, n > o->n ? "at least " : "", (long long)n);
}

csrec_status bench_operator_haar(int levels, int64_t m, const uint64_t *rows, csrec_columns columns,
                                 bench_operator *o, csrec_error *error) {
    csrec_operator_spec spec = {
        .name = "haar", .levels = levels, .m = m, .rows = rows, .columns = columns};
    *o = (bench_operator){.m = m};
    snprintf(o->what, sizeof o->what, "haar of %lld rows of 2^%d, %s columns", (long long)m, levels,
             csrec_columns_name(columns));
    if (levels > 20)
        return cli_fail(error, CSREC_DATA, "%s: at most 2^20 can be written out", o->what);
    csrec_status status = csrec_operator_create(&spec, &o->A, error);
    if (status) return status;
    csrec_operator_size(o->A, &o->m, &o->n);
    status = allocate(o, error);
    if (!status) status = fill_haar(levels, rows, columns == CSREC_COLUMNS_TWO_SIDED, o, error);
    return status;
}

/* ------------------------------------------------------------------ files --------------------- */

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static csrec_status read_points(const csrec_measurement *m, csrec_columns columns,
                                bench_operator *o, csrec_error *error) {
    int levels = 0;
    uint64_t *rows = malloc((size_t)m->n * sizeof *rows);
    csrec_status status = rows ? CSREC_OK : CSREC_MEMORY;
    if (!status) status = csrec_rows_levels(&m->shape, CSREC_ORDER_MORTON, &levels);
    if (!status)
        status = csrec_rows_from_index(&m->shape, CSREC_ORDER_MORTON, m->n, m->index, rows);
    bench_in_words(status, error);
    if (!status) qsort(rows, (size_t)m->n, sizeof *rows, ascending);
    if (!status) status = bench_operator_haar(levels, m->n, rows, columns, o, error);
    free(rows);
    return status;
}

static csrec_status fill_products(bench_operator *o, csrec_error *error) {
    double *unit = calloc((size_t)o->n, sizeof *unit), *a = malloc((size_t)o->m * sizeof *a);
    csrec_status status = unit && a ? CSREC_OK : CSREC_MEMORY;
    for (int64_t j = 0; j < o->n && !status; j++) {
        unit[j] = 1.0;
        status = csrec_operator_forward(o->A, unit, a);
        unit[j] = 0.0;
        for (int64_t i = 0; i < o->m && !status; i++) o->matrix[i * o->n + j] = a[i];
    }
    free(unit);
    free(a);
    return bench_in_words(status, error);
}

csrec_status bench_operator_read(const char *path, csrec_columns columns, bench_operator *o,
                                 csrec_error *error) {
    csrec_measurement m;
    csrec_error why;
    csrec_status status = csrec_measurement_read(path, NULL, &m, error);
    if (status) return status;
    if (!m.through) {
        status = read_points(&m, columns, o, &why);
    } else {
        status = csrec_measurement_operator(&m, NULL, &o->A, &why);
        snprintf(o->what, sizeof o->what, "operator %s", m.through->name);
        if (!status) csrec_operator_size(o->A, &o->m, &o->n);
        if (!status) status = allocate(o, &why);
        if (!status) status = fill_products(o, &why);
    }
    csrec_measurement_clear(&m);
    return status ? cli_fail(error, status, "%.100s: %.390s", path, why.text) : CSREC_OK;
}
