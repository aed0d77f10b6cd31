/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.c - phase transitions (Donoho and Tanner 2009): the share of signals recovered over
 * delta = m / n and rho = k / m. */
#include <math.h>
#include <stdlib.h>

#include "study.h"

#define AT(member) .offset = offsetof(bench_study_options, member)

static const cli_option options[] = {
    CLI_ROW('g', "grid", CLI_INTEGER, "G", "Values of m / n, and of k / m (default 16).", AT(grid),
            .low = 2, .high = 256, .group = "Sizes",
            .brief = "values of m / n, and of k / m (default 16)"),
    CLI_ROW('o', "output", CLI_WRITE, "FILE",
            "Results to write, {arrays or}. A stopped run goes on from it.", AT(output),
            .group = CLI_OUTPUT, .brief = "results to write; a stopped run goes on from it"),
    CLI_ROW(0, "plot", CLI_WRITE, "FILE", "Draw the results, .svg or {picture or}.", AT(plot),
            .brief = "draw the results, .svg or a picture"),
    CLI_ROW('s', "solver", CLI_TEXTS, "NAME",
            "Solver; may be repeated (default: all that take a matrix).", AT(solvers),
            .group = "Problems and solvers", .brief = "solver, may be repeated (default: all)"),
    CLI_ROW('n', "columns", CLI_INTEGER, "N", "Entries of a signal (default 256).", AT(n), .low = 2,
            .high = BENCH_SIZE_MOST, .brief = "entries of a signal (default 256)"),
    CLI_ROW('e', "ensemble", CLI_CHOICE, "NAME", "Random matrices (default gaussian).",
            AT(ensemble), .choice = bench_ensemble_name,
            .brief = "random matrices (default gaussian)"),
    CLI_ROW('a', "amplitudes", CLI_CHOICE, "NAME",
            "Entries that are not 0 (default signs, the hardest).", AT(amplitudes),
            .choice = bench_amplitudes_name),
    CLI_ROW('T', "trials", CLI_INTEGER, "T", "Signals of each size (default 20).", AT(count),
            .low = 1, .high = 1e6, .brief = "signals of each size (default 20)"),
    CLI_ROW('Q', "matrices", CLI_INTEGER, "Q",
            "Matrices of each size, which share the signals (default T / 4); 1 suits a GPU.",
            AT(matrices), .low = 1, .high = 1e6),
    CLI_ROW(0, "tolerance", CLI_REAL, "E",
            "A signal is recovered if the error's length is at most this share of its own "
            "(default 0.01).",
            AT(tolerance), .low = 1e-6, .high = 1.0, .share = true, .group = "Success"),
    CLI_ROW(0, "seed", CLI_SEED, "S", "Seed of all draws (default 1).", AT(seed),
            .group = CLI_EXPERT),
    CLI_ROW(0, "fresh", CLI_FLAG, NULL,
            "Begin anew if the output has other settings or is complete.", AT(fresh)),
    CLI_THREADS(bench_study_options),
    CLI_BACKEND(bench_study_options),
    CLI_ROW(0, "no-sync", CLI_FLAG, NULL, "Do not wait until files are on the disk (fsync).",
            AT(no_sync)),
    CLI_JSON(bench_study_options),
    CLI_QUIET(bench_study_options),
    CLI_ROW('l', "list", CLI_LISTING, NULL, "List ensembles, amplitudes and solvers, then exit.",
            AT(output), .group = CLI_ABOUT, .brief = "solvers and matrices"),
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
        "The file is written every "
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
    .operand = offsetof(bench_study_options, operand),
    .optional = true};

static double middle(const bench_study *study, int64_t i) {
    return ((double)i + 0.5) / (double)study->grid;
}

/* Where half of the signals come back. */
static double half_of(const bench_study *study, int solver, int64_t column) {
    double sum = 0.0;
    for (int64_t r = 0; r < study->grid; r++) sum += bench_study_share(study, solver, column, r);
    return sum / (double)study->grid;
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

bool bench_phase_print(const bench_study *study) {
    const bench_trials *t = &study->trials;
    printf("k/m at which half of %lld signals are recovered; n = %lld, %s, %s\n   m/n      l1",
           (long long)t->count, (long long)t->n, bench_ensemble_name(t->ensemble),
           bench_amplitudes_name(t->amplitudes));
    for (int s = 0; s < t->n_solvers; s++) printf("%8s", t->solver[s]);
    for (int64_t c = 0; c < study->grid; c++) {
        printf("\n%6.3f%8.3f", middle(study, c), l1_threshold(middle(study, c)));
        for (int s = 0; s < t->n_solvers; s++) printf("%8.3f", half_of(study, s, c));
    }
    printf("\n");
    return fflush(stdout) == 0;
}

/* What a solver does in it: the context of functions for cli_json_numbers. */
typedef struct curve {
    const bench_study *study;
    int solver;
} curve;

static double number_middle(int64_t c, const void *context) {
    return middle(((const curve *)context)->study, c);
}

static double number_l1(int64_t c, const void *context) {
    return l1_threshold(number_middle(c, context));
}

static double number_half(int64_t c, const void *context) {
    const curve *of = context;
    return half_of(of->study, of->solver, c);
}

static double number_success(int64_t i, const void *context) {
    const curve *of = context;
    return of->study->successes[of->solver * of->study->grid * of->study->grid + i];
}

void bench_phase_json(const bench_study *study, cli_json *json) {
    const curve all = {study, 0};
    cli_json_numbers(json, "m_over_n", study->grid, number_middle, &all);
    cli_json_numbers(json, "l1", study->grid, number_l1, &all);
    cli_json_begin_list(json, "solvers");
    for (curve of = {study, 0}; of.solver < study->trials.n_solvers; of.solver++) {
        cli_json_begin_item(json);
        cli_json_text(json, "solver", study->trials.solver[of.solver]);
        cli_json_numbers(json, "half", study->grid, number_half, &of);
        cli_json_numbers(json, "successes", study->grid * study->grid, number_success, &of);
        cli_json_end(json);
    }
    cli_json_end_list(json);
}

/* solver -1: the threshold of l1. */
static bool add_curve(const bench_study *study, int solver, cli_chart *chart) {
    cli_series *series = &chart->series[chart->n_series++];
    snprintf(series->name, sizeof series->name, "%s",
             solver < 0 ? "l1, n large" : study->trials.solver[solver]);
    series->plain = solver < 0;
    if (!cli_series_create(series, study->grid)) return false;
    for (int64_t c = 0; c < study->grid; c++) {
        series->x[c] = middle(study, c);
        series->y[c] = solver < 0 ? l1_threshold(series->x[c]) : half_of(study, solver, c);
    }
    series->n = study->grid;
    return true;
}

static void label(cli_chart *chart) {
    chart->unit = true;
    snprintf(chart->x_label, sizeof chart->x_label, "m / n");
    snprintf(chart->y_label, sizeof chart->y_label, "k / m");
}

static bool draw_map(const bench_study *study, int solver, cli_chart *chart) {
    int64_t cells = study->grid * study->grid;
    label(chart);
    snprintf(chart->title, sizeof chart->title, "%s: dark is recovered, the curve half of them",
             study->trials.solver[solver]);
    chart->map = malloc((size_t)cells * sizeof *chart->map);
    if (!chart->map) return false;
    chart->map_columns = study->grid;
    chart->map_rows = study->grid;
    for (int64_t i = 0; i < cells; i++)
        chart->map[i] = bench_study_share(study, solver, i / study->grid, i % study->grid);
    if (!add_curve(study, solver, chart)) return false;
    chart->series[0].plain = true;
    return true;
}

bool bench_phase_draw(const bench_study *study, cli_chart charts[BENCH_CHARTS_MOST], int *n) {
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

void bench_phase_sizes(bench_study *study) {
    for (int64_t c = 0; c < study->grid; c++) {
        study->m[c] = (int64_t)fmax(1.0, round(middle(study, c) * (double)study->trials.n));
        for (int64_t r = 0; r < study->grid; r++)
            study->k[c * study->grid + r] =
                (int64_t)fmax(1.0, round(middle(study, r) * (double)study->m[c]));
    }
}

static int phase_run(int argc, char **argv) {
    bench_study_options o = {
        .n = 256, .grid = 16, .count = 20, .seed = 1, .tolerance = 0.01, .backend = -1};
    int code = cli_parse(&tool, argc, argv, &o);
    return code == CLI_CONTINUE ? bench_study_run(&tool, &o) : code;
}

const bench_command bench_phase = {&tool, phase_run};
