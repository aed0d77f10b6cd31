/* SPDX-License-Identifier: BSD-3-Clause */
/* dense.c - an operator against its matrix: products, picks and coefficients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/common/report.h"

typedef struct {
    const char *input;
    cli_texts solvers;
    int columns;
    int64_t n, m, k;
    uint64_t seed;
    double tolerance;
    bool json;
} arguments;

static const cli_option options[] = {
    {"solver", 's', CLI_TEXTS, "NAME",
     "Solver; may be repeated (default: all that take a matrix and need no k).", CLI_AT(solvers),
     .group = "Problem", .brief = "solver, may be repeated"},
    {"rows", 'n', CLI_INTEGER, "M", "Rows of Haar's matrix, a power of two (default 64).",
     CLI_AT(n), .low = 2, .high = 1 << 14, .brief = "rows of the matrix (default 64)"},
    {"samples", 'm', CLI_INTEGER, "N", "Of which are sampled (default M / 4).", CLI_AT(m), .low = 1,
     .high = 4096, .brief = "of which are sampled (default M / 4)"},
    {"atoms", 'k', CLI_INTEGER, "K", "Entries of the signal (default N / 4).", CLI_AT(k), .low = 1,
     .high = 4096, .brief = "entries of the signal (default N / 4)"},
    {"haar", 0, CLI_CHOICE, "NAME", "Haar's columns (default two-sided).", CLI_AT(columns),
     .choice = bench_columns_name},
    {"tolerance", 0, CLI_REAL, "E", "Largest difference, as a share of the values (default 1e-6).",
     CLI_AT(tolerance), .low = 1e-15, .high = 1.0, .share = true},
    {"seed", 0, CLI_SEED, "S", "Seed of all draws (default 1).", CLI_AT(seed)},
    CLI_JSON(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench dense",
    .brief = "Checks an operator, and solvers on it, against its dense matrix.",
    .synopsis = "[SCAN.npz] [OPTION...]",
    .details =
        "Without an input, N rows of Haar's matrix are drawn, and the matrix is written out by the "
        "definition of Park 2015. SCAN.npz is a measurement: its points become rows in Morton "
        "order; of an operator that it was made through, the matrix is the products with unit "
        "vectors; - is stdin. At most 8192 columns.\n"
        "Compared are products with random vectors, lengths of columns, correlations, and from the "
        "samples of a random signal of K entries the columns and coefficients that each solver "
        "finds on the operator and on the matrix. Where two columns are correlated equally with "
        "the residual mp and omp may pick either, and where the l1 norm has several minima fista "
        "and bpdn may find either: this is checked, and counts as agreeing. Solvers with a "
        "parameter k have such choices, too, and are left out unless --solver names them.\n"
        "Exit code: 0 they agree, 1 they differ, or failure, 2 wrong usage.",
    .examples = "csbench dense -n 64 -m 16\n"
                "csbench dense scan.npz -s mp -s omp -k 20 --haar paper",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, input),
    .optional = true};

enum { PRODUCTS = 4, CHECKS = PRODUCTS + BENCH_SOLVERS_MOST };

typedef struct checks {
    bench_agreement list[CHECKS];
    int n;
    csrec_operator *dense;
    double *x, *y, *one, *two, *before, *r; /* [n], [m], [the larger] four times */
    double *norms;                          /* [n] of the matrix, by its entries */
} checks;

static double *values(int64_t n) {
    return calloc((size_t)n, sizeof(double));
}

static void add(checks *c, const char *name, const double *got, const double *expected, int64_t n) {
    c->list[c->n++] = (bench_agreement){
        .name = name, .difference = bench_difference(n, got, expected), .columns = -1};
}

static void multiply(const bench_operator *o, const double *x, double *y) {
    for (int64_t i = 0; i < o->m; i++) {
        y[i] = 0.0;
        for (int64_t j = 0; j < o->n; j++) y[i] += o->matrix[i * o->n + j] * x[j];
    }
}

static void multiply_transposed(const bench_operator *o, const double *y, double *x) {
    memset(x, 0, (size_t)o->n * sizeof *x);
    for (int64_t i = 0; i < o->m; i++)
        for (int64_t j = 0; j < o->n; j++) x[j] += o->matrix[i * o->n + j] * y[i];
}

static void measure_norms(const bench_operator *o, double *norms) {
    for (int64_t j = 0; j < o->n; j++) {
        norms[j] = 0.0;
        for (int64_t i = 0; i < o->m; i++) norms[j] = hypot(norms[j], o->matrix[i * o->n + j]);
    }
}

static csrec_status compare_products(const bench_operator *o, uint64_t seed, checks *c) {
    for (int64_t j = 0; j < o->n; j++) c->x[j] = csrec_random_normal(seed, 1, (uint64_t)j);
    for (int64_t i = 0; i < o->m; i++) c->y[i] = csrec_random_normal(seed, 2, (uint64_t)i);
    csrec_status status = csrec_operator_forward(o->A, c->x, c->one);
    multiply(o, c->x, c->two);
    add(c, "A x", c->one, c->two, o->m);
    if (!status) status = csrec_operator_adjoint(o->A, c->y, c->one);
    multiply_transposed(o, c->y, c->two);
    add(c, "A^T y", c->one, c->two, o->n);
    if (!status) status = csrec_operator_column_norms(o->A, c->one);
    add(c, "norms", c->one, c->norms, o->n);
    if (!status) status = csrec_operator_correlate(o->A, c->y, c->one);
    for (int64_t j = 0; j < o->n; j++)
        c->two[j] = c->norms[j] > 0.0 ? c->two[j] / c->norms[j] : 0.0;
    add(c, "correlate", c->one, c->two, o->n);
    return status;
}

/* Solvers that keep the k largest entries; of equal ones rounding decides. */
static void drop_thresholds(bench_trials *trials) {
    int kept = 0;
    for (int s = 0; s < trials->n_solvers; s++)
        if (!bench_solver_has(trials->solver[s], "k")) trials->solver[kept++] = trials->solver[s];
    trials->n_solvers = kept;
}

static csrec_status compare(const arguments *a, const bench_operator *o, checks *c,
                            csrec_error *error) {
    bench_trials trials;
    int64_t more = o->m > o->n ? o->m : o->n, k = a->k ? a->k : (o->m + 3) / 4;
    csrec_operator_spec spec = {.name = "dense", .m = o->m, .n = o->n, .matrix = o->matrix};
    c->x = values(o->n);
    c->y = values(o->m);
    c->one = values(more);
    c->two = values(more);
    c->before = values(more);
    c->r = values(more);
    c->norms = values(o->n);
    if (!c->x || !c->y || !c->one || !c->two || !c->before || !c->r || !c->norms)
        return bench_in_words(CSREC_MEMORY, error);
    csrec_status status = bench_solvers_take(&a->solvers, &trials, error);
    if (!status && a->solvers.n == 0) drop_thresholds(&trials);
    if (!status) status = csrec_operator_create(&spec, &c->dense, error);
    measure_norms(o, c->norms);
    if (!status) status = bench_in_words(compare_products(o, a->seed, c), error);
    if (!status)
        status =
            bench_in_words(bench_signal_draw(2, o->m, o->n, o->matrix, k, a->seed, c->x), error);
    multiply(o, c->x, c->y);
    const bench_pair pair = {o,      c->dense, c->y,      c->norms, a->tolerance,
                             c->one, c->two,   c->before, c->r};
    for (int s = 0; s < trials.n_solvers && !status; s++)
        status = bench_pair_compare(&pair, trials.solver[s], k, &c->list[c->n++], error);
    return status;
}

/* Products have no columns. */
static bool agrees(const arguments *a, const bench_agreement *one) {
    return one->equal || (one->difference <= a->tolerance && one->others == 0);
}

static bool agree_all(const arguments *a, const checks *c) {
    bool all = true;
    for (int i = 0; i < c->n; i++) all = all && agrees(a, &c->list[i]);
    return all;
}

static bool print_text(const arguments *a, const bench_operator *o, const checks *c) {
    printf("%s: %lld x %lld, operator against matrix\n", o->what, (long long)o->m, (long long)o->n);
    for (int i = 0; i < c->n; i++) {
        const bench_agreement *one = &c->list[i];
        printf("  %-10s difference %.2g", one->name, one->difference);
        if (one->columns >= 0)
            printf(", %lld columns, %lld different", (long long)one->columns,
                   (long long)one->others);
        printf("%s%s\n",
               one->equal       ? ": "
               : agrees(a, one) ? ""
                                : "  DIFFERS",
               one->equal ? one->equal : "");
    }
    return fflush(stdout) == 0;
}

static bool print_json(const arguments *a, const bench_operator *o, const checks *c) {
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "operator", o->what);
    cli_json_integer(&json, "m", o->m);
    cli_json_integer(&json, "n", o->n);
    cli_json_flag(&json, "agrees", agree_all(a, c));
    cli_json_begin_list(&json, "checks");
    for (int i = 0; i < c->n; i++) {
        const bench_agreement *one = &c->list[i];
        cli_json_begin_item(&json);
        cli_json_text(&json, "name", one->name);
        cli_json_real(&json, "difference", one->difference);
        cli_json_flag(&json, "agrees", agrees(a, one));
        if (one->columns >= 0) cli_json_integer(&json, "columns", one->columns);
        if (one->columns >= 0) cli_json_integer(&json, "different", one->others);
        if (one->equal) cli_json_text(&json, "note", one->equal);
        cli_json_end(&json);
    }
    cli_json_end_list(&json);
    return cli_json_close(&json);
}

static csrec_status draw_haar(const arguments *a, csrec_columns columns, bench_operator *o,
                              csrec_error *error) {
    csrec_sampling drawn;
    int levels = 0;
    while (INT64_C(1) << levels < a->n) levels++;
    csrec_status status = csrec_sampling_create(&(csrec_shape){1, {a->n}}, CSREC_PATTERN_UNIFORM,
                                                a->m, a->seed, &drawn, error);
    if (status) return status;
    uint64_t *rows = malloc((size_t)a->m * sizeof *rows);
    for (int64_t i = 0; i < a->m && rows; i++) rows[i] = (uint64_t)drawn.index[i];
    status = rows ? bench_operator_haar(levels, a->m, rows, columns, o, error)
                  : bench_in_words(CSREC_MEMORY, error);
    free(rows);
    csrec_sampling_clear(&drawn);
    return status;
}

static csrec_status open_operator(const arguments *a, bench_operator *o, csrec_error *error) {
    csrec_columns columns = bench_columns(a->columns);
    return a->input ? bench_operator_read(a->input, columns, o, error)
                    : draw_haar(a, columns, o, error);
}

static int check_arguments(arguments *a) {
    bench_trials trials;
    int code = bench_solvers_check(&tool, &a->solvers, &trials);
    if (code != CLI_CONTINUE) return code;
    if (a->m == 0) a->m = (a->n + 3) / 4;
    if ((a->n & (a->n - 1)) != 0)
        return cli_usage(&tool, "--rows %lld: Haar's matrix needs a power of two, as 64",
                         (long long)a->n);
    if (a->m > a->n || (!a->input && a->k > a->m))
        return cli_usage(&tool, "--%s: at most %lld", a->m > a->n ? "samples" : "atoms",
                         (long long)(a->m > a->n ? a->n : a->m));
    return CLI_CONTINUE;
}

static int dense_run(int argc, char **argv) {
    arguments a = {.n = 64, .seed = 1, .tolerance = 1e-6, .columns = 1};
    bench_operator o = {.A = NULL};
    checks c = {.n = 0};
    csrec_error error;
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = check_arguments(&a);
    if (code != CLI_CONTINUE) return code;
    csrec_status status = open_operator(&a, &o, &error);
    if (!status) status = compare(&a, &o, &c, &error);
    if (status) {
        code = cli_failure(&tool, "%s", error.text);
    } else {
        bool written = a.json ? print_json(&a, &o, &c) : print_text(&a, &o, &c);
        code = !written ? cli_stdout_failed(&tool) : agree_all(&a, &c) ? CLI_DONE : CLI_FAILURE;
    }
    csrec_operator_destroy(c.dense);
    double *owned[] = {c.x, c.y, c.one, c.two, c.before, c.r, c.norms};
    for (int i = 0; i < 7; i++) free(owned[i]);
    bench_operator_clear(&o);
    return code;
}

const bench_command bench_dense = {&tool, dense_run};
