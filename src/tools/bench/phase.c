/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.c - phase transitions (Donoho and Tanner 2009): the share of signals recovered over
 * delta = m / n and rho = k / m. */
#include <math.h>
#include <stdlib.h>

#include "study.h"

typedef struct {
    bench_study_options study;
    int64_t grid;
} arguments;

static const cli_option options[] = {{"grid", 'g', CLI_INTEGER, "G",
                                      "Values of m / n, and of k / m (default 16).", CLI_AT(grid),
                                      .low = 2, .high = 256, .group = "Sizes",
                                      .brief = "values of m / n, and of k / m (default 16)"},
                                     BENCH_STUDY_OPTIONS,
                                     CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench phase",
    .brief = "Phase transitions: signals recovered, over m / n and k / m.",
    .synopsis = "-o FILE.npz [OPTION...]",
    .details =
        "Draws matrices of m x n and signals with k entries that are not 0, solves y = A x, and "
        "counts the signals that come back; m / n and k / m are the middles of a grid. Solvers "
        "with a parameter k are told it, omp picks k columns, the others end at a residual of "
        "1e-6. All solvers get the same problems.\n"
        "First a few sizes are timed, and the time of all is estimated. The file is written every "
        "10 seconds; the same command goes on from it after a stop, and its bytes are those of a "
        "run without one. It has successes [solvers, G, G], m [G], k [G, G], trials, n and the "
        "names of the solvers.\n"
        "The report and the plot have, for each m / n, the k / m at which half of the signals come "
        "back: the sum of the shares over k / m (Spearman and Kaerber). l1 is where it lies for l1 "
        "minimisation, Gaussian matrices and large n (Donoho, Maleki and Montanari 2009, equation "
        "5).\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM (the file "
        "has what is known).",
    .examples = "csbench phase -o phase.npz -s omp -s iht -n 32 -g 4 -T 4 --plot phase.svg\n"
                "csbench phase -o haar.npz -e haar -s omp -n 32 -g 4 -T 4 --json",
    CLI_OPTIONS(options),
    .listing = bench_study_list,
    .operand = offsetof(arguments, study.operand),
    .optional = true};

static double middle(const bench_study *study, int64_t i) {
    return ((double)i + 0.5) / (double)study->columns;
}

/* Where half of the signals come back. */
static double half_of(const bench_study *study, int solver, int64_t column) {
    double sum = 0.0;
    for (int64_t r = 0; r < study->rows; r++) sum += bench_study_share(study, solver, column, r);
    return sum / (double)study->rows;
}

/* rho = max_z (delta - 2 b(z)) / (delta (1 + z^2 - 2 b(z))), b = (1 + z^2) Phi(-z) - z phi(z). */
static double l1_threshold(double delta) {
    double best = 0.0;
    for (double z = 0.0; z < 8.0; z += 1e-3) {
        double tail = 0.5 * erfc(z / sqrt(2.0));
        double density = exp(-0.5 * z * z) / 2.5066282746310002;
        double b = (1.0 + z * z) * tail - z * density;
        best = fmax(best, (1.0 - 2.0 / delta * b) / (1.0 + z * z - 2.0 * b));
    }
    return best;
}

static bool print(const bench_study *study) {
    const bench_trials *t = &study->trials;
    printf("k/m at which half of %lld signals are recovered; n = %lld, %s, %s\n   m/n      l1",
           (long long)t->count, (long long)t->n, bench_ensemble_name(t->ensemble),
           bench_amplitudes_name(t->amplitudes));
    for (int s = 0; s < t->n_solvers; s++) printf("%8s", t->solver[s]);
    for (int64_t c = 0; c < study->columns; c++) {
        printf("\n%6.3f%8.3f", middle(study, c), l1_threshold(middle(study, c)));
        for (int s = 0; s < t->n_solvers; s++) printf("%8.3f", half_of(study, s, c));
    }
    printf("\n");
    return fflush(stdout) == 0;
}

static double number_middle(int64_t c, const void *context) {
    return middle(((const bench_curve *)context)->study, c);
}

static double number_l1(int64_t c, const void *context) {
    return l1_threshold(number_middle(c, context));
}

static double number_half(int64_t c, const void *context) {
    const bench_curve *of = context;
    return half_of(of->study, of->solver, c);
}

static double number_success(int64_t i, const void *context) {
    const bench_curve *of = context;
    return of->study->successes[of->solver * of->study->columns * of->study->rows + i];
}

static void add_json(const bench_study *study, cli_json *json) {
    const bench_curve all = {study, 0};
    cli_json_numbers(json, "m_over_n", study->columns, number_middle, &all);
    cli_json_numbers(json, "l1", study->columns, number_l1, &all);
}

static void add_solver(const bench_curve *of, cli_json *json) {
    const bench_study *study = of->study;
    cli_json_numbers(json, "half", study->columns, number_half, of);
    cli_json_numbers(json, "successes", study->columns * study->rows, number_success, of);
}

/* solver -1: the threshold of l1. */
static bool add_curve(const bench_study *study, int solver, cli_chart *chart) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s",
             solver < 0 ? "l1, n large" : study->trials.solver[solver]);
    series->plain = solver < 0;
    if (!cli_series_create(series, study->columns)) return false;
    for (int64_t c = 0; c < study->columns; c++) {
        series->x[c] = middle(study, c);
        series->y[c] = solver < 0 ? l1_threshold(series->x[c]) : half_of(study, solver, c);
    }
    series->n = study->columns;
    return true;
}

static void label(cli_chart *chart) {
    chart->unit = true;
    snprintf(chart->x_label, sizeof chart->x_label, "m / n");
    snprintf(chart->y_label, sizeof chart->y_label, "k / m");
}

static bool draw_map(const bench_study *study, int solver, cli_chart *chart) {
    int64_t cells = study->columns * study->rows;
    label(chart);
    snprintf(chart->title, sizeof chart->title, "%s: dark is recovered, the curve half of them",
             study->trials.solver[solver]);
    chart->map = malloc((size_t)cells * sizeof *chart->map);
    if (!chart->map) return false;
    chart->map_columns = study->columns;
    chart->map_rows = study->rows;
    for (int64_t i = 0; i < cells; i++)
        chart->map[i] = bench_study_share(study, solver, i / study->rows, i % study->rows);
    if (!add_curve(study, solver, chart)) return false;
    chart->series[0].plain = true;
    return true;
}

static bool draw(const bench_study *study, cli_chart charts[BENCH_CHARTS_MOST], int *n) {
    const bench_trials *t = &study->trials;
    cli_chart *all = &charts[(*n)++];
    label(all);
    snprintf(all->title, sizeof all->title, "Half of the signals recovered: %s, n = %lld",
             bench_ensemble_name(t->ensemble), (long long)t->n);
    for (int s = 0; s < t->n_solvers && s + 1 < CLI_SERIES_MOST; s++)
        if (!add_curve(study, s, all)) return false;
    if (!add_curve(study, -1, all)) return false;
    for (int s = 0; s < t->n_solvers; s++)
        if (!draw_map(study, s, &charts[(*n)++])) return false;
    return true;
}

static void set_sizes(bench_study *study, const void *given) {
    (void)given;
    for (int64_t c = 0; c < study->columns; c++) {
        study->m[c] = (int64_t)fmax(1.0, round(middle(study, c) * (double)study->trials.n));
        for (int64_t r = 0; r < study->rows; r++)
            study->k[c * study->rows + r] =
                (int64_t)fmax(1.0, round(middle(study, r) * (double)study->m[c]));
    }
}

static int phase_run(int argc, char **argv) {
    arguments a = {.study = BENCH_STUDY_DEFAULTS, .grid = 16};
    bench_study study = {&tool,
                         &a.study,
                         .draw = draw,
                         .print = print,
                         .add_json = add_json,
                         .add_solver = add_solver,
                         .set_sizes = set_sizes};
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = bench_study_check(&study);
    return code == CLI_CONTINUE ? bench_study_run(&study, a.grid, a.grid, &a) : code;
}

const bench_command bench_phase = {&tool, phase_run};
