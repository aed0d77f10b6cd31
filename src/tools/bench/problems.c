/* SPDX-License-Identifier: BSD-3-Clause */
/* problems.c - standard problems, in the manner of Sparco (van den Berg et al. 2009) and of
 * the solver papers: a matrix, a sparse signal, and what is measured of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

typedef struct {
    const char *name, *output, *truth;
    cli_texts solvers;
    int64_t n, m, k;
    double sigma;
    uint64_t seed;
    bool sigma_given, no_sync, json;
} arguments;

static const cli_option options[] = {
    {"output", 'o', CLI_WRITE, "FILE", "Measurement to write, {arrays or}, with the matrix.",
     CLI_AT(output), .group = CLI_OUTPUT, .brief = "measurement to write, with the matrix"},
    {"truth", 'x', CLI_WRITE, "FILE", "The signal to write, .npy.", CLI_AT(truth),
     .brief = "the signal to write, .npy"},
    CLI_NO_SYNC(arguments),
    {"solver", 's', CLI_TEXTS, "NAME",
     "Solver to run if nothing is written; may be repeated (default: all that take a matrix).",
     CLI_AT(solvers), .group = "Problem", .brief = "solver to run if nothing is written"},
    {"columns", 'n', CLI_INTEGER, "N", "Entries of the signal, instead of the problem's.",
     CLI_AT(n), .low = 4, .high = 8192},
    {"samples", 'm', CLI_INTEGER, "M", "Rows of the matrix.", CLI_AT(m), .low = 1, .high = 8192,
     .brief = "rows of the matrix"},
    {"nonzeros", 'k', CLI_INTEGER, "K", "Entries that are not 0.", CLI_AT(k), .low = 1,
     .high = 8192},
    {"sigma", 0, CLI_REAL, "S", "Standard deviation of the noise of each value of y.",
     CLI_AT(sigma), .given = offsetof(arguments, sigma_given), .low = 0.0, .high = 1e300,
     .brief = "noise of each value of y"},
    {"seed", 0, CLI_SEED, "S", "Seed of all draws (default 1).", CLI_AT(seed)},
    CLI_JSON(arguments),
    {"list", 'l', CLI_LISTING, .help = "List the problems, then exit.", .group = CLI_ABOUT,
     .brief = "problems"},
    CLI_STANDARD};

/* Ensemble and amplitudes by their names in the tables of draw.c. */
typedef struct problem_row {
    const char *name, *brief, *ensemble, *amplitudes; /* amplitudes NULL: the picture */
    int64_t n, m, k; /* k 0: none is 0, and solvers look for m / 4 */
    double sigma;
} problem_row;

static const problem_row problems[] = {
    {"gaussian", "signs, normal matrix (Donoho and Tanner 2009)", "gaussian", "signs", 256, 128, 24,
     0.0},
    {"bernoulli", "normal entries, matrix of signs (Candes and Tao 2006)", "bernoulli", "gaussian",
     256, 128, 32, 0.0},
    {"dct", "normal entries, random rows of the cosine transform (Candes, Romberg and Tao 2006)",
     "dct", "gaussian", 256, 128, 32, 0.0},
    {"haar", "normal entries, random rows of Haar's matrix, all columns (Park 2015)", "haar",
     "gaussian", 256, 128, 16, 0.0},
    {"haar-two-sided", "the same without columns of one half", "haar-two-sided", "gaussian", 256,
     128, 16, 0.0},
    {"spikes", "signs in noise, normal matrix; a quarter of the size of Figueiredo et al. 2007",
     "gaussian", "signs", 1024, 256, 40, 0.01},
    {"compressible", "sizes fall as rank^-1.5, none is 0 (Candes and Tao 2006)", "gaussian",
     "decay", 512, 256, 0, 0.0},
    {"picture", "Haar coefficients of a synthetic picture of 32 x 32, normal matrix", "gaussian",
     NULL, 1024, 512, 0, 0.0}};

enum { PROBLEMS = sizeof problems / sizeof *problems };

static void list_problems(FILE *out) {
    for (int i = 0; i < PROBLEMS; i++) {
        const problem_row *p = &problems[i];
        fprintf(out, "%-15s %lld x %lld", p->name, (long long)p->m, (long long)p->n);
        if (p->k) fprintf(out, ", k = %lld", (long long)p->k);
        if (p->sigma > 0.0) fprintf(out, ", sigma = %g", p->sigma);
        fprintf(out, ": %s\n", p->brief);
    }
}

static const cli_tool tool = {
    .name = "csbench problems",
    .brief = "Standard problems: lists, writes or solves them.",
    .synopsis = "[NAME] [OPTION...]",
    .details =
        "Without a name lists the problems. With -o writes one: a measurement through the operator "
        "matrix, with y [M], matrix [M, N], shape and sigma, as docs/files.md has it; --truth "
        "writes x. Without -o solves it, and reports error and time of each solver, as csbench "
        "phase runs them; with noise, solvers end at sigma, or are told it.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM.",
    .examples = "csbench problems\n"
                "csbench problems gaussian -s omp -s fista\n"
                "csbench problems haar -n 64 -m 32 -k 4 -o haar.npz --truth x.npy",
    CLI_OPTIONS(options),
    .listing = list_problems,
    .operand = offsetof(arguments, name),
    .optional = true};

typedef struct problem {
    const problem_row *row;
    int64_t n, m, k;
    double sigma;
    double *matrix, *x, *y;
} problem;

/* Three ellipses and a bar, 0 to 1, at u, v of the unit square. */
static double picture_value(double u, double v) {
    double disc = hypot((u - 0.5) / 0.42, (v - 0.5) / 0.32) < 1.0 ? 0.6 : 0.0;
    double hole = hypot((u - 0.4) / 0.12, (v - 0.42) / 0.2) < 1.0 ? -0.4 : 0.0;
    double spot = hypot((u - 0.65) / 0.1, (v - 0.6) / 0.1) < 1.0 ? 0.4 : 0.0;
    return disc + hole + spot + (v > 0.9 ? 0.3 : 0.0);
}

/* Orthonormal Haar coefficients, in the order of Haar's columns, in place; n = 2^L. */
static void to_haar(int64_t n, double *x, double *work) {
    for (int64_t half = n / 2; half >= 1; half /= 2) {
        for (int64_t g = 0; g < half; g++) {
            work[g] = (x[2 * g] + x[2 * g + 1]) * sqrt(0.5);
            work[half + g] = (x[2 * g] - x[2 * g + 1]) * sqrt(0.5);
        }
        memcpy(x, work, (size_t)(2 * half) * sizeof *x);
    }
}

/* The picture along its Morton order, so that blocks of rows are squares. */
static csrec_status draw_picture(int64_t n, double *x) {
    int64_t edge = (int64_t)lround(sqrt((double)n));
    csrec_shape shape = {2, {edge, edge}};
    double *work = malloc((size_t)n * sizeof *work);
    int64_t *index = malloc((size_t)n * sizeof *index);
    uint64_t *rows = malloc((size_t)n * sizeof *rows);
    csrec_status status = work && index && rows ? CSREC_OK : CSREC_MEMORY;
    for (int64_t i = 0; i < n && !status; i++) index[i] = i;
    if (!status) status = csrec_rows_from_index(&shape, CSREC_ORDER_MORTON, n, index, rows);
    for (int64_t i = 0; i < n && !status; i++)
        x[rows[i]] = picture_value(((double)(i % edge) + 0.5) / (double)edge,
                                   ((double)(i / edge) + 0.5) / (double)edge);
    if (!status) to_haar(n, x, work);
    free(work);
    free(index);
    free(rows);
    return status;
}

static int number_of(const char *(*name)(int i), const char *wanted) {
    for (int i = 0; name(i); i++)
        if (strcmp(name(i), wanted) == 0) return i;
    return 0;
}

static void measure(problem *p, uint64_t key) {
    for (int64_t i = 0; i < p->m; i++) {
        p->y[i] = p->sigma * csrec_random_normal(key, 0, (uint64_t)i);
        for (int64_t j = 0; j < p->n; j++) p->y[i] += p->matrix[i * p->n + j] * p->x[j];
    }
}

static csrec_status draw(const arguments *a, problem *p, csrec_error *error) {
    const problem_row *row = p->row;
    int ensemble = number_of(bench_ensemble_name, row->ensemble);
    p->matrix = malloc((size_t)(p->m * p->n) * sizeof *p->matrix);
    p->x = calloc((size_t)p->n, sizeof *p->x);
    p->y = calloc((size_t)p->m, sizeof *p->y);
    cli_fail(error, CSREC_MEMORY, "problem %s: out of memory", row->name);
    if (!p->matrix || !p->x || !p->y) return CSREC_MEMORY;
    uint64_t key = bench_key(a->seed, BENCH_MATRIX, p->m, p->k, 0);
    csrec_status status = bench_matrix_draw(ensemble, p->m, p->n, key, p->matrix, error);
    key = bench_key(a->seed, BENCH_SIGNAL, p->m, p->k, 0);
    if (!status)
        status = row->amplitudes
                     ? bench_signal_draw(number_of(bench_amplitudes_name, row->amplitudes), p->m,
                                         p->n, p->matrix, row->k ? p->k : p->n, key, p->x)
                     : draw_picture(p->n, p->x);
    if (!status) measure(p, bench_key(a->seed, BENCH_NOISE, p->m, p->k, 0));
    return status;
}

static void problem_clear(problem *p) {
    free(p->matrix);
    free(p->x);
    free(p->y);
}

static csrec_status add_measurement(const arguments *a, const problem *p, csrec_files *files,
                                    csrec_error *error) {
    int64_t *index = malloc((size_t)p->m * sizeof *index);
    csrec_operator_spec spec = {.name = "matrix", .m = p->m, .matrix = p->matrix};
    csrec_measurement m = {.shape = {1, {p->n}},
                           .n = p->m,
                           .channels = 1,
                           .index = index,
                           .y = p->y,
                           .dtype = CSREC_F64,
                           .sigma = p->sigma,
                           .through = &spec};
    if (!index) return CSREC_MEMORY;
    for (int64_t i = 0; i < p->m; i++) index[i] = i;
    csrec_status status = csrec_files_add_measurement(files, a->output, &m, false, error);
    free(index);
    return status;
}

static int write_files(const arguments *a, const problem *p) {
    csrec_error error = {"out of memory"};
    csrec_files *files = NULL;
    const csrec_files_options o = {.no_sync = a->no_sync};
    const csrec_array truth = {CSREC_F64, {1, {p->n}}, p->n, p->x};
    csrec_status status = csrec_files_create(&o, &files, &error);
    if (!status && a->output) status = add_measurement(a, p, files, &error);
    if (!status && a->truth) status = csrec_files_add_array(files, a->truth, &truth, &error);
    if (!status) status = csrec_files_commit(files, &error);
    csrec_files_destroy(files);
    return status ? cli_failure(&tool, "%s", error.text) : CLI_DONE;
}

typedef struct result {
    const char *solver;
    double error, residual, seconds;
    int64_t columns;
} result;

static csrec_status solve(const problem *p, const csrec_operator *A, result *to,
                          cli_progress *progress, csrec_error *error) {
    csrec_setting set[BENCH_SETTINGS];
    csrec_atoms found;
    csrec_solve_report report;
    csrec_solve_options how = bench_solver_options(to->solver, p->m, p->k, set);
    how.stop.sigma = p->sigma;
    how.progress = cli_progress_report;
    how.context = progress;
    double began = cli_seconds(), wrong = 0.0, whole = 0.0;
    csrec_status status = csrec_solve(A, p->y, &how, &found, NULL, &report, error);
    if (status) return status;
    to->seconds = cli_seconds() - began;
    to->residual = report.residual;
    to->columns = found.n;
    for (int64_t j = 0, i = 0; j < p->n; j++) { /* columns ascend */
        bool hit = i < found.n && (int64_t)found.column[i] == j;
        double off = p->x[j] - (hit ? found.coefficient[i] : 0.0);
        i += hit;
        wrong += off * off;
        whole += p->x[j] * p->x[j];
    }
    to->error = sqrt(wrong / whole);
    csrec_atoms_clear(&found);
    return report.outcome == CSREC_INTERRUPTED ? CSREC_STOPPED : CSREC_OK;
}

static bool print(const arguments *a, const problem *p, int n, const result *results) {
    if (!a->json) {
        printf("%s: %lld x %lld, k = %lld, sigma = %g\n%-10s%12s%12s%10s%12s\n", p->row->name,
               (long long)p->m, (long long)p->n, (long long)p->k, p->sigma, "solver", "error",
               "residual", "columns", "seconds");
        for (int i = 0; i < n; i++)
            printf("%-10s%12.3g%12.3g%10lld%12.4f\n", results[i].solver, results[i].error,
                   results[i].residual, (long long)results[i].columns, results[i].seconds);
        return fflush(stdout) == 0;
    }
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "problem", p->row->name);
    cli_json_integer(&json, "m", p->m);
    cli_json_integer(&json, "n", p->n);
    cli_json_integer(&json, "k", p->k);
    cli_json_real(&json, "sigma", p->sigma);
    cli_json_begin_list(&json, "solvers");
    for (int i = 0; i < n; i++) {
        cli_json_begin_item(&json);
        cli_json_text(&json, "solver", results[i].solver);
        cli_json_real(&json, "error", results[i].error);
        cli_json_real(&json, "residual", results[i].residual);
        cli_json_integer(&json, "columns", results[i].columns);
        cli_json_real(&json, "seconds", results[i].seconds);
        cli_json_end(&json);
    }
    cli_json_end_list(&json);
    return cli_json_close(&json);
}

static int solve_all(const arguments *a, const problem *p, const bench_trials *trials) {
    csrec_operator_spec spec = {.name = "dense", .m = p->m, .n = p->n, .matrix = p->matrix};
    csrec_operator *A = NULL;
    csrec_error error;
    cli_progress progress;
    result results[BENCH_SOLVERS_MOST];
    cli_progress_start(&progress, a->json);
    csrec_status status = csrec_operator_create(&spec, &A, &error);
    for (int s = 0; s < trials->n_solvers && !status; s++) {
        results[s].solver = trials->solver[s];
        status = solve(p, A, &results[s], &progress, &error);
    }
    cli_progress_finish(&progress);
    csrec_operator_destroy(A);
    if (status == CSREC_STOPPED) return CLI_INTERRUPTED;
    if (status) return cli_failure(&tool, "%s", error.text);
    return print(a, p, trials->n_solvers, results) ? CLI_DONE : cli_stdout_failed(&tool);
}

static int check_files(const arguments *a) {
    char list[64];
    if (a->output && !cli_format_has(csrec_format_of(a->output), CSREC_USE_ARRAYS) &&
        !cli_is_dash(a->output))
        return cli_usage(&tool, "--output %s: measurements are %s", a->output,
                         csrec_format_list(CSREC_USE_ARRAYS, false, "or", list, sizeof list));
    const csrec_format *format = a->truth ? csrec_format_of(a->truth) : NULL;
    if (a->truth && !(format && strcmp(format->name, "npy") == 0))
        return cli_usage(&tool, "--truth %s: name a .npy", a->truth);
    if (a->solvers.n > 0 && (a->output || a->truth))
        return cli_usage(&tool, "--solver solves, and --%s writes: give one of them",
                         a->output ? "output" : "truth");
    int code = a->output ? cli_output_check(&tool, a->output) : CLI_CONTINUE;
    return code == CLI_CONTINUE && a->truth ? cli_output_check(&tool, a->truth) : code;
}

/* Sizes that are not given are the row's, or follow from the others. */
static int set_sizes(const arguments *a, problem *p) {
    const problem_row *row = p->row;
    p->n = a->n ? a->n : row->n;
    p->m = a->m ? a->m : a->n ? (p->n * row->m + row->n - 1) / row->n : row->m;
    p->k = a->k ? a->k : row->k ? (p->m * row->k + row->m - 1) / row->m : p->m / 4;
    p->sigma = a->sigma_given ? a->sigma : row->sigma;
    if (!row->amplitudes || row->k == 0) p->k = p->m / 4 > 0 ? p->m / 4 : 1;
    const char *refusal =
        bench_ensemble_refusal(number_of(bench_ensemble_name, row->ensemble), p->n);
    int64_t edge = (int64_t)lround(sqrt((double)p->n));
    if (!row->amplitudes && (edge * edge != p->n || (edge & (edge - 1)) != 0))
        refusal = "the picture is square, with edges of a power of two; name 256, 1024 or 4096";
    if (refusal) return cli_usage(&tool, "--columns %lld: %s", (long long)p->n, refusal);
    if (p->m > p->n || p->k > p->m)
        return cli_usage(&tool, "--%s: at most %lld", p->m > p->n ? "samples" : "nonzeros",
                         (long long)(p->m > p->n ? p->n : p->m));
    return CLI_CONTINUE;
}

static int find(const arguments *a, problem *p) {
    char names[256] = "";
    for (int i = 0; i < PROBLEMS; i++) {
        if (strcmp(problems[i].name, a->name) == 0) p->row = &problems[i];
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, " %s", problems[i].name);
    }
    return p->row ? CLI_CONTINUE : cli_usage(&tool, "'%s' is not one of%s", a->name, names);
}

static int problems_run(int argc, char **argv) {
    arguments a = {.seed = 1};
    problem p = {.row = NULL};
    bench_trials trials;
    csrec_error error;
    int code = cli_parse(&tool, argc, argv, &a);
    if (code != CLI_CONTINUE) return code;
    if (!a.name) {
        list_problems(stdout);
        return cli_stdout_flush(&tool);
    }
    code = find(&a, &p);
    if (code == CLI_CONTINUE) code = set_sizes(&a, &p);
    if (code == CLI_CONTINUE) code = check_files(&a);
    if (code == CLI_CONTINUE) code = bench_solvers_check(&tool, &a.solvers, &trials);
    if (code != CLI_CONTINUE) return code;
    if (draw(&a, &p, &error))
        code = cli_failure(&tool, "%s", error.text);
    else
        code = a.output || a.truth ? write_files(&a, &p) : solve_all(&a, &p, &trials);
    problem_clear(&p);
    return code;
}

const bench_command bench_problems = {&tool, problems_run};
