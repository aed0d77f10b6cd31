/* SPDX-License-Identifier: BSD-3-Clause */
/* sparsity.c - the share of signals recovered against their number k of nonzeros, at one m. */
#include "study.h"

typedef struct {
    bench_study_options study;
    int64_t samples, most, step;
} arguments;

static const cli_option options[] = {
    {"samples", 'm', CLI_INTEGER, "M", "Rows of the matrices (default n / 4).",
     offsetof(arguments, samples), .low = 1, .high = BENCH_SIZE_MOST, .group = "Sizes",
     .brief = "rows of the matrices (default n / 4)"},
    {"most", 'k', CLI_INTEGER, "K", "Largest k (default m / 2).", offsetof(arguments, most),
     .low = 1, .high = BENCH_SIZE_MOST, .brief = "largest k (default m / 2)"},
    {"step", 0, CLI_INTEGER, "D", "Difference between values of k (default about K / 16).",
     offsetof(arguments, step), .low = 1, .high = BENCH_SIZE_MOST},
    BENCH_STUDY_OPTIONS,
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench sparsity",
    .brief = "Success against sparsity: signals recovered, over k.",
    .synopsis = "-o FILE.npz [OPTION...]",
    .details = "As csbench phase, at one m: k is step, 2 step, ... up to the largest. The file has "
               "successes [solvers, 1, K], m [1], k [1, K], trials, n and the names of the "
               "solvers.\n"
               "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM (the "
               "file has what is known).",
    .examples = "csbench sparsity -o k.npz -n 64 -m 24 -s omp -s htp -T 4 --plot k.svg",
    CLI_OPTIONS(options),
    .listing = bench_study_list,
    .operand = offsetof(arguments, study.operand),
    .optional = true};

static bool print(const bench_study *study) {
    const bench_trials *t = &study->trials;
    printf("share of %lld signals recovered; m = %lld, n = %lld, %s, %s\n     k",
           (long long)t->count, (long long)study->m[0], (long long)t->n,
           bench_ensemble_name(t->ensemble), bench_amplitudes_name(t->amplitudes));
    for (int s = 0; s < t->n_solvers; s++) printf("%8s", t->solver[s]);
    for (int64_t r = 0; r < study->rows; r++) {
        printf("\n%6lld", (long long)study->k[r]);
        for (int s = 0; s < t->n_solvers; s++) printf("%8.3f", bench_study_share(study, s, 0, r));
    }
    printf("\n");
    return fflush(stdout) == 0;
}

static double number_share(int64_t r, const void *context) {
    const bench_curve *of = context;
    return bench_study_share(of->study, of->solver, 0, r);
}

static void add_json(const bench_study *study, cli_json *json) {
    cli_json_integers(json, "k", (int)study->rows, study->k);
}

static void add_solver(const bench_curve *of, cli_json *json) {
    cli_json_numbers(json, "share", of->study->rows, number_share, of);
}

static bool draw(const bench_study *study, cli_chart charts[BENCH_CHARTS_MOST], int *n) {
    const bench_trials *t = &study->trials;
    cli_chart *chart = &charts[(*n)++];
    chart->from_zero = true;
    snprintf(chart->title, sizeof chart->title, "%s: m = %lld, n = %lld",
             bench_ensemble_name(t->ensemble), (long long)study->m[0], (long long)t->n);
    snprintf(chart->x_label, sizeof chart->x_label, "k");
    snprintf(chart->y_label, sizeof chart->y_label, "share of signals recovered");
    for (int s = 0; s < t->n_solvers && s < CLI_SERIES_MOST; s++) {
        cli_series *series = &chart->series[chart->n_series++];
        snprintf(series->name, sizeof series->name, "%s", t->solver[s]);
        if (!cli_series_create(series, study->rows)) return false;
        for (series->n = 0; series->n < study->rows; series->n++) {
            series->x[series->n] = (double)study->k[series->n];
            series->y[series->n] = bench_study_share(study, s, 0, series->n);
        }
    }
    return true;
}

static int check_sizes(arguments *a) {
    if (a->samples == 0) a->samples = (a->study.n + 3) / 4;
    if (a->most == 0) a->most = (a->samples + 1) / 2;
    if (a->step == 0) a->step = (a->most + 15) / 16;
    if (a->samples > a->study.n)
        return cli_usage(&tool, "--samples %lld: at most --columns, %lld", (long long)a->samples,
                         (long long)a->study.n);
    if (a->most > a->samples)
        return cli_usage(&tool, "--most %lld: at most --samples, %lld", (long long)a->most,
                         (long long)a->samples);
    return a->step > a->most ? cli_usage(&tool, "--step %lld: at most --most, %lld",
                                         (long long)a->step, (long long)a->most)
                             : CLI_CONTINUE;
}

static void set_sizes(bench_study *study, const void *given) {
    const arguments *a = given;
    study->m[0] = a->samples;
    for (int64_t r = 0; r < study->rows; r++) study->k[r] = (r + 1) * a->step;
}

static int sparsity_run(int argc, char **argv) {
    arguments a = {.study = BENCH_STUDY_DEFAULTS};
    bench_study study = {&tool,
                         &a.study,
                         .draw = draw,
                         .print = print,
                         .add_json = add_json,
                         .add_solver = add_solver,
                         .set_sizes = set_sizes};
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = check_sizes(&a);
    if (code == CLI_CONTINUE) code = bench_study_check(&study);
    return code == CLI_CONTINUE ? bench_study_run(&study, 1, a.most / a.step, &a) : code;
}

const bench_command bench_sparsity = {&tool, sparsity_run};
