/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.c - choices and checks of several commands; operators of files with their matrices. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/common/output.h"

/* The status, with its own words: of functions that have none. */
static csrec_status in_words(csrec_status status, csrec_error *error) {
    return status ? cli_fail(error, status, "%s", csrec_status_text(status)) : CSREC_OK;
}

int bench_plot_check(const cli_tool *tool, const char *plot) {
    const char *dot = plot ? strrchr(plot, '.') : NULL;
    char list[128];
    if (!plot) return CLI_CONTINUE;
    if (!(dot && strcmp(dot, ".svg") == 0) &&
        !cli_format_has(csrec_format_of(plot), CSREC_USE_PICTURE))
        return cli_usage(tool, "--plot %s: name a .svg or %s", plot,
                         csrec_format_list(CSREC_USE_PICTURE, false, "or", list, sizeof list));
    return cli_output_check(tool, plot);
}

static const csrec_columns choices[] = {CSREC_COLUMNS_PAPER, CSREC_COLUMNS_TWO_SIDED};

const char *bench_columns_name(int i) {
    return i >= 0 && i < 2 ? csrec_columns_name(choices[i]) : NULL;
}

csrec_columns bench_columns(int i) {
    return choices[i];
}

void bench_operator_clear(bench_operator *o) {
    csrec_operator_destroy(o->A);
    free(o->matrix);
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
    in_words(status, error);
    if (!status) qsort(rows, (size_t)m->n, sizeof *rows, ascending);
    const csrec_operator_spec spec = {
        .name = "haar", .levels = levels, .m = m->n, .rows = rows, .columns = columns};
    snprintf(o->what, sizeof o->what, "haar of %lld rows of 2^%d, %s columns", (long long)m->n,
             levels, csrec_columns_name(columns));
    if (!status) status = csrec_operator_create(&spec, &o->A, error);
    free(rows);
    return status;
}

static csrec_status fill_products(bench_operator *o, csrec_error *error) {
    csrec_operator_size(o->A, &o->m, &o->n);
    CLI_TRY(allocate(o, error));
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
    return in_words(status, error);
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
    }
    if (!status) status = fill_products(o, &why);
    csrec_measurement_clear(&m);
    return status ? cli_fail(error, status, "%.100s: %.390s", path, why.text) : CSREC_OK;
}
