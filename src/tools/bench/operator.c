/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.c - choices and checks of several commands; operators of files and of Haar's matrix,
 * with their matrices; what a solver finds on both, which tells ties from mistakes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/common/output.h"

csrec_status bench_in_words(csrec_status status, csrec_error *error) {
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

int bench_solvers_check(const cli_tool *tool, const cli_texts *names, bench_trials *trials) {
    csrec_error error;
    csrec_status status = bench_solvers_take(names, trials, &error);
    if (!status) return CLI_CONTINUE;
    return status == CSREC_MEMORY ? cli_failure(tool, "%s", error.text)
                                  : cli_usage(tool, "%s", error.text);
}

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

/* Smaller entries than this share of the largest are rounding. */
static const double ROUNDING = 1e-9;

double bench_difference(int64_t n, const double *a, const double *b) {
    double most = 0.0, whole = 0.0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        whole = fmax(whole, fabs(b[i]));
    }
    return most > 0.0 ? most / fmax(whole, 1e-300) : 0.0;
}

/* x of the atoms; mp on haar names columns by their numbers in Haar's matrix. */
static csrec_status spread(const bench_operator *o, const csrec_atoms *atoms, bool numbered,
                           double *x) {
    memset(x, 0, (size_t)o->n * sizeof *x);
    for (int64_t a = 0; a < atoms->n; a++) {
        int64_t j = numbered ? 0 : (int64_t)atoms->column[a];
        while (numbered && j < o->n && o->number[j] != atoms->column[a]) j++;
        if (j >= o->n) return CSREC_DATA;
        x[j] = atoms->coefficient[a];
    }
    return CSREC_OK;
}

static csrec_status solve(const bench_pair *p, bool dense, const csrec_solve_options *how,
                          double *x, csrec_error *error) {
    csrec_atoms atoms;
    csrec_status status =
        csrec_solve(dense ? p->dense : p->o->A, p->y, how, &atoms, NULL, NULL, error);
    if (status) return status;
    bool numbered = !dense && p->o->number && atoms.n > 0 && atoms.count[0] > 0;
    status = spread(p->o, &atoms, numbered, x);
    if (status) cli_fail(error, status, "solver %s: found a column that is not there", how->solver);
    csrec_atoms_clear(&atoms);
    return status;
}

static csrec_status solve_both(const bench_pair *p, const csrec_solve_options *how,
                               csrec_error *error) {
    csrec_status status = solve(p, false, how, p->one, error);
    return status ? status : solve(p, true, how, p->two, error);
}

static void count_columns(const bench_pair *p, bench_agreement *to) {
    double most = 0.0;
    for (int64_t j = 0; j < p->o->n; j++) most = fmax(most, fabs(p->two[j]));
    for (int64_t j = 0; j < p->o->n; j++) {
        bool one = fabs(p->one[j]) > ROUNDING * most, two = fabs(p->two[j]) > ROUNDING * most;
        to->columns += two;
        to->others += one != two;
    }
}

static bool are_same(const bench_pair *p, const bench_agreement *found) {
    return found->difference <= p->tolerance && found->others == 0;
}

/* The column of a step from `before` to x: the new one, else the one that changed most. */
static int64_t pick_of(const bench_pair *p, const double *x) {
    int64_t pick = 0;
    for (int64_t j = 0; j < p->o->n; j++) {
        if (p->before[j] == 0.0 && x[j] != 0.0) return j;
        if (fabs(x[j] - p->before[j]) > fabs(x[pick] - p->before[pick])) pick = j;
    }
    return pick;
}

/* |<a_j, r>| / ||a_j|| with r = y - A before. */
static double correlation(const bench_pair *p, int64_t j) {
    double c = 0.0;
    for (int64_t i = 0; i < p->o->m; i++) c += p->o->matrix[i * p->o->n + j] * p->r[i];
    return p->norms[j] > 0.0 ? fabs(c) / p->norms[j] : 0.0;
}

static void set_residual(const bench_pair *p, double *length) {
    *length = 0.0;
    for (int64_t i = 0; i < p->o->m; i++) {
        p->r[i] = p->y[i];
        for (int64_t j = 0; j < p->o->n; j++)
            p->r[i] -= p->o->matrix[i * p->o->n + j] * p->before[j];
        *length = hypot(*length, p->y[i]);
    }
}

/* Of a solver that picks a column an iteration: whether the first picks that differ have equal
 * correlations, the largest there are. */
static csrec_status find_tie(const bench_pair *p, csrec_solve_options how, bool *tie,
                             csrec_error *error) {
    const int64_t most = how.stop.atoms;
    csrec_status status = CSREC_OK;
    memset(p->before, 0, (size_t)p->o->n * sizeof *p->before);
    for (int64_t t = 1; t <= most && !status; t++) {
        how.stop.atoms = t;
        status = solve_both(p, &how, error);
        if (status || bench_difference(p->o->n, p->one, p->two) > ROUNDING) break;
        memcpy(p->before, p->two, (size_t)p->o->n * sizeof *p->before);
    }
    if (status) return status;
    double length, best = 0.0;
    set_residual(p, &length);
    for (int64_t j = 0; j < p->o->n; j++) best = fmax(best, correlation(p, j));
    double worse = fmin(correlation(p, pick_of(p, p->one)), correlation(p, pick_of(p, p->two)));
    *tie = worse >= best - ROUNDING * length;
    return CSREC_OK;
}

/* Of a solver that minimises sum |x_j| for the residual, or with a weight: the same norm, and the
 * same A x, which is unique. */
static bool is_other_minimum(const bench_pair *p) {
    double one = 0.0, two = 0.0, length, wrong = 0.0;
    for (int64_t j = 0; j < p->o->n; j++) {
        one += fabs(p->one[j]);
        two += fabs(p->two[j]);
        p->before[j] = p->one[j] - p->two[j];
    }
    set_residual(p, &length);
    for (int64_t i = 0; i < p->o->m; i++) wrong = hypot(wrong, p->r[i] - p->y[i]);
    return fabs(one - two) <= p->tolerance * two && wrong <= p->tolerance * length;
}

csrec_status bench_pair_compare(const bench_pair *p, const char *solver, int64_t k,
                                bench_agreement *to, csrec_error *error) {
    csrec_setting set[BENCH_SETTINGS];
    csrec_solve_options how = bench_solver_options(solver, p->o->m, k, set);
    const bool greedy = strcmp(solver, "mp") == 0 || strcmp(solver, "omp") == 0;
    bool tie = false;
    if (strcmp(solver, "mp") == 0) how.stop.atoms = 4 * k;
    if (bench_solver_has(solver, "debias")) { /* the minimum itself, to its last digits */
        how.n_settings--;
        how.stop = (csrec_stop){.atoms = 1000000};
    }
    *to = (bench_agreement){.name = solver};
    csrec_status status = solve_both(p, &how, error);
    if (status) return status;
    to->difference = bench_difference(p->o->n, p->one, p->two);
    count_columns(p, to);
    if (are_same(p, to) || bench_solver_has(solver, "k")) return CSREC_OK;
    if (greedy) status = find_tie(p, how, &tie, error);
    if (tie) to->equal = "columns of equal correlation";
    if (!greedy && is_other_minimum(p)) to->equal = "another minimum";
    return status;
}
