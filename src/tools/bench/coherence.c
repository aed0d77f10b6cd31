/* SPDX-License-Identifier: BSD-3-Clause */
/* coherence.c - how alike the columns of a matrix are: mutual coherence, its histogram,
 * Welch's bound, and the cumulative coherence (Tropp 2004). */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "tools/common/chart.h"
#include "tools/common/output.h"
#include "tools/common/report.h"

enum { BINS = 50, MOST = 64 };

typedef struct {
    const char *input, *plot;
    int ensemble, columns;
    int64_t n, m;
    uint64_t seed;
    bool json, no_sync;
} arguments;

static const cli_option options[] = {
    {"ensemble", 'e', CLI_CHOICE, "NAME", "Random matrix, without an input (default gaussian).",
     CLI_AT(ensemble), .choice = bench_ensemble_name, .group = "Matrix",
     .brief = "random matrix, without an input"},
    {"columns", 'n', CLI_INTEGER, "N", "Its columns (default 256).", CLI_AT(n), .low = 2,
     .high = BENCH_COLUMNS_MOST, .brief = "its columns (default 256)"},
    {"samples", 'm', CLI_INTEGER, "M", "Its rows (default n / 4).", CLI_AT(m), .low = 1,
     .high = BENCH_COLUMNS_MOST, .brief = "its rows (default n / 4)"},
    {"seed", 0, CLI_SEED, "S", "Seed of the draw (default 1).", CLI_AT(seed)},
    {"haar", 0, CLI_CHOICE, "NAME", "Haar's columns, for an input of points (default paper).",
     CLI_AT(columns), .choice = bench_columns_name},
    {"plot", 0, CLI_WRITE, "FILE", "Draw histogram and cumulative coherence, .svg or {picture or}.",
     CLI_AT(plot), .group = CLI_REPORTS,
     .brief = "draw the histogram and the cumulative coherence"},
    CLI_NO_SYNC(arguments),
    CLI_JSON(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench coherence",
    .brief = "How alike the columns of an operator or a random matrix are.",
    .synopsis = "[SCAN.npz] [OPTION...]",
    .details =
        "SCAN.npz is a measurement: the operator that it was made through, or, of points, the "
        "columns of Haar's matrix at their rows in Morton order; - is stdin. Without it a random "
        "matrix is drawn. Columns are compared as if they had length 1; columns of zeros are "
        "counted, and left out.\n"
        "coherence is the largest |<a_i, a_j>|. Welch's bound is the least that m rows and as many "
        "columns can have. Signals of k entries are found by omp, and by the least l1 norm, from "
        "any k columns if k < (1 + 1 / coherence) / 2 (Donoho and Elad 2003; Tropp 2004), or if "
        "mu(k - 1) + mu(k) < 1, mu(k) being the cumulative coherence: the largest sum of k "
        "|<a_i, a_j>| of one column (Tropp 2004, theorem 3.5). Most signals are found with many "
        "more: see csbench phase.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage.",
    .examples = "csbench coherence -e dct -n 64 -m 32\n"
                "csbench coherence scan.npz --json --plot coherence.svg",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, input),
    .optional = true};

typedef struct coherence {
    char what[160];
    int64_t m, n, zeros, equal; /* equal: pairs of columns that are equal up to sign */
    double most, mean, root_mean_square, welch;
    double histogram[BINS]; /* share of pairs with |<a_i, a_j>| in bin i of 0 .. 1 */
    double cumulative[MOST];
    int64_t n_cumulative;
    int64_t sure_mutual, sure_cumulative; /* k for which recovery is certain */
} coherence;

/* Columns one after another, of length 1, without those of zeros. NULL: out of memory. */
static double *unit_columns(const double *matrix, coherence *c) {
    double *columns = malloc((size_t)(c->m * c->n) * sizeof *columns);
    int64_t kept = 0;
    for (int64_t j = 0; j < c->n && columns; j++) {
        double *a = columns + kept * c->m, length = 0.0;
        for (int64_t i = 0; i < c->m; i++) {
            a[i] = matrix[i * c->n + j];
            length = hypot(length, a[i]);
        }
        for (int64_t i = 0; i < c->m && length > 0.0; i++) a[i] /= length;
        kept += length > 0.0;
    }
    c->zeros = c->n - kept;
    return columns;
}

/* Keeps the largest values, falling. */
static void insert(double value, int64_t room, double *largest) {
    if (room < 1 || value <= largest[room - 1]) return;
    int64_t at = room - 1;
    for (; at > 0 && largest[at - 1] < value; at--) largest[at] = largest[at - 1];
    largest[at] = value;
}

static void compare_column(const double *columns, int64_t j, int64_t count, coherence *c) {
    double largest[MOST] = {0.0}, sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double product = 0.0;
        for (int64_t r = 0; r < c->m && i != j; r++)
            product += columns[i * c->m + r] * columns[j * c->m + r];
        if (i == j) continue;
        product = fabs(product);
        insert(product, c->n_cumulative, largest);
        if (i > j) continue; /* a pair counts once */
        c->most = fmax(c->most, product);
        c->mean += product;
        c->root_mean_square += product * product;
        c->equal += product > 1.0 - 1e-12;
        c->histogram[(int)fmin(product * BINS, BINS - 1)] += 1.0;
    }
    for (int64_t s = 0; s < c->n_cumulative; s++)
        c->cumulative[s] = fmax(c->cumulative[s], sum += largest[s]);
}

static void find_sure(coherence *c) {
    double mutual = 0.5 * (1.0 + 1.0 / c->most); /* infinite of orthogonal columns */
    c->sure_mutual = (int64_t)fmin(ceil(mutual - 1e-9) - 1.0, (double)c->m); /* less rounding */
    while (c->sure_cumulative < c->n_cumulative) {
        int64_t k = c->sure_cumulative + 1; /* mu(k) is cumulative[k - 1] */
        double before = k > 1 ? c->cumulative[k - 2] : 0.0;
        if (before + c->cumulative[k - 1] >= 1.0) break;
        c->sure_cumulative = k;
    }
}

static csrec_status measure(const double *matrix, coherence *c) {
    double *columns = unit_columns(matrix, c);
    if (!columns) return CSREC_MEMORY;
    int64_t count = c->n - c->zeros;
    double pairs = 0.5 * (double)count * (double)(count - 1);
    c->n_cumulative = count - 1 < MOST ? count - 1 : MOST;
    for (int64_t j = 0; j < count; j++) compare_column(columns, j, count, c);
    free(columns);
    for (int i = 0; i < BINS && pairs > 0.0; i++) c->histogram[i] /= pairs;
    c->mean = pairs > 0.0 ? c->mean / pairs : 0.0;
    c->root_mean_square = pairs > 0.0 ? sqrt(c->root_mean_square / pairs) : 0.0;
    if (count > c->m)
        c->welch = sqrt((double)(count - c->m) / ((double)c->m * (double)(count - 1)));
    find_sure(c);
    return CSREC_OK;
}

static bool print_text(const coherence *c) {
    printf("%s: %lld x %lld, %lld columns of zeros\n", c->what, (long long)c->m, (long long)c->n,
           (long long)c->zeros);
    printf("coherence        %.6f (Welch's bound %.6f)\n", c->most, c->welch);
    printf("mean             %.6f, root mean square %.6f\n", c->mean, c->root_mean_square);
    printf("equal columns    %lld pairs, up to sign\n", (long long)c->equal);
    printf("certain recovery k <= %lld by the coherence, %lld by the cumulative one\n",
           (long long)c->sure_mutual, (long long)c->sure_cumulative);
    printf("cumulative      ");
    for (int64_t s = 1; s <= c->n_cumulative; s *= 2)
        printf(" mu(%lld) %.3f", (long long)s, c->cumulative[s - 1]);
    printf("\n");
    return fflush(stdout) == 0;
}

static bool print_json(const coherence *c) {
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "matrix", c->what);
    cli_json_integer(&json, "m", c->m);
    cli_json_integer(&json, "n", c->n);
    cli_json_integer(&json, "zeros", c->zeros);
    cli_json_integer(&json, "equal_pairs", c->equal);
    cli_json_real(&json, "coherence", c->most);
    cli_json_real(&json, "mean", c->mean);
    cli_json_real(&json, "root_mean_square", c->root_mean_square);
    cli_json_real(&json, "welch", c->welch);
    cli_json_integer(&json, "sure_mutual", c->sure_mutual);
    cli_json_integer(&json, "sure_cumulative", c->sure_cumulative);
    cli_json_reals(&json, "cumulative", (int)c->n_cumulative, c->cumulative);
    cli_json_reals(&json, "histogram", BINS, c->histogram);
    return cli_json_close(&json);
}

/* Bins without pairs have no place on the logarithmic axis. */
static bool fill_chart(const coherence *c, bool histogram, cli_chart *chart) {
    *chart = (cli_chart){.n_series = 1, .from_zero = true, .log_y = histogram};
    cli_series *series = &chart->series[0];
    int64_t n = histogram ? BINS : c->n_cumulative;
    snprintf(chart->title, sizeof chart->title, "%.40s, %lld x %lld", c->what, (long long)c->m,
             (long long)c->n);
    snprintf(chart->x_label, sizeof chart->x_label,
             histogram ? "correlation of two columns, percent" : "k");
    snprintf(chart->y_label, sizeof chart->y_label,
             histogram ? "percent of the pairs of columns, log scale"
                       : "cumulative coherence mu(k)");
    if (!cli_series_create(series, n)) return false;
    for (int64_t i = 0; i < n; i++) {
        if (histogram && c->histogram[i] == 0.0) continue;
        series->x[series->n] = histogram ? 100.0 * ((double)i + 0.5) / BINS : (double)i + 1.0;
        series->y[series->n++] = histogram ? 100.0 * c->histogram[i] : c->cumulative[i];
    }
    series->dots = histogram;
    series->plain = !histogram;
    return true;
}

static csrec_status write_plot(const arguments *a, const coherence *c, csrec_error *error) {
    cli_chart charts[2] = {{.n_series = 0}, {.n_series = 0}};
    csrec_files *files = NULL;
    const csrec_files_options o = {.no_sync = a->no_sync};
    csrec_status status = cli_fail(error, CSREC_MEMORY, "%s: out of memory", a->plot);
    if (fill_chart(c, true, &charts[0]) && fill_chart(c, false, &charts[1]))
        status = csrec_files_create(&o, &files, error);
    if (!status) status = cli_charts_add(files, a->plot, charts, 2, 2, c->what, NULL, error);
    if (!status) status = csrec_files_commit(files, error);
    csrec_files_destroy(files);
    for (int i = 0; i < 2; i++) cli_chart_clear(&charts[i]);
    return status;
}

static csrec_status measure_drawn(const arguments *a, coherence *c, csrec_error *error) {
    c->n = a->n;
    c->m = a->m;
    snprintf(c->what, sizeof c->what, "%s", bench_ensemble_name(a->ensemble));
    double *matrix = malloc((size_t)(c->m * c->n) * sizeof *matrix);
    csrec_status status = matrix ? CSREC_OK : CSREC_MEMORY;
    cli_fail(error, CSREC_MEMORY, "out of memory");
    uint64_t key = bench_key(a->seed, BENCH_MATRIX, c->m, 0, 0);
    if (!status) status = bench_matrix_draw(a->ensemble, c->m, c->n, key, matrix, error);
    if (!status) status = measure(matrix, c);
    free(matrix);
    return status;
}

static csrec_status measure_read(const arguments *a, coherence *c, csrec_error *error) {
    bench_operator o = {.A = NULL};
    csrec_columns columns = bench_columns(a->columns);
    csrec_status status = bench_operator_read(a->input, columns, &o, error);
    if (!status) {
        c->m = o.m;
        c->n = o.n;
        snprintf(c->what, sizeof c->what, "%s", o.what);
        status = measure(o.matrix, c);
        cli_fail(error, CSREC_MEMORY, "%s: out of memory", a->input);
    }
    bench_operator_clear(&o);
    return status;
}

static int check(arguments *a) {
    const char *refusal = bench_ensemble_refusal(a->ensemble, a->n);
    if (a->m == 0) a->m = (a->n + 3) / 4;
    if (a->m > a->n)
        return cli_usage(&tool, "--samples %lld: at most --columns, %lld", (long long)a->m,
                         (long long)a->n);
    if (refusal)
        return cli_usage(&tool, "--columns %lld with --ensemble %s: %s", (long long)a->n,
                         bench_ensemble_name(a->ensemble), refusal);
    return bench_plot_check(&tool, a->plot);
}

static int coherence_run(int argc, char **argv) {
    arguments a = {.n = 256, .seed = 1};
    coherence c = {.m = 0};
    csrec_error error;
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = check(&a);
    if (code != CLI_CONTINUE) return code;
    if (a.input ? measure_read(&a, &c, &error) : measure_drawn(&a, &c, &error))
        return cli_failure(&tool, "%s", error.text);
    if (a.plot && write_plot(&a, &c, &error)) return cli_failure(&tool, "%s", error.text);
    return (a.json ? print_json(&c) : print_text(&c)) ? CLI_DONE : cli_stdout_failed(&tool);
}

const bench_command bench_coherence = {&tool, coherence_run};
