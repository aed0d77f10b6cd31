/* SPDX-License-Identifier: BSD-3-Clause */
/* study.c - runs a study: checks, progress, the report, and the file of what is known so far, from
 * which a run goes on. */
#include "study.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/fingerprint.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"

/* Seconds between two writes of the file. */
static const double SAVE_EVERY = 10.0;

double bench_study_share(const bench_study *study, int solver, int64_t column, int64_t row) {
    int64_t at = (solver * study->grid + column) * study->grid + row;
    return (double)study->successes[at] / (double)study->trials.count;
}

void bench_study_list(FILE *out) {
    const char *name, *brief, *source;
    fprintf(out, "Ensembles (--ensemble NAME):\n");
    for (int i = 0; bench_ensemble_name(i); i++)
        fprintf(out, "  %-15s %s\n", bench_ensemble_name(i), bench_ensemble_brief(i));
    fprintf(out, "Amplitudes (--amplitudes NAME):\n  ");
    for (int i = 0; bench_amplitudes_name(i); i++)
        fprintf(out, "%s%s", i ? ", " : "", bench_amplitudes_name(i));
    fprintf(out, "\nSolvers (--solver NAME):\n");
    bench_trials trials;
    csrec_error error;
    bench_solvers_take(&(cli_texts){.n = 0}, &trials, &error);
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++)
        for (int s = 0; s < trials.n_solvers; s++)
            if (strcmp(name, trials.solver[s]) == 0) fprintf(out, "  %-15s %s\n", name, brief);
}

static int64_t sizes_of(const bench_study *study) {
    return study->grid * study->grid;
}

static int64_t cells_of(const bench_study *study) {
    return study->trials.n_solvers * sizes_of(study);
}

static bool create(bench_study *study) {
    study->grid = study->options->grid;
    study->m = calloc((size_t)study->grid, sizeof *study->m);
    study->k = calloc((size_t)sizes_of(study), sizeof *study->k);
    study->successes = malloc((size_t)cells_of(study) * sizeof(int32_t));
    if (!study->m || !study->k || !study->successes) return false;
    for (int64_t i = 0; i < cells_of(study); i++) study->successes[i] = -1;
    bench_phase_sizes(study);
    return true;
}

static int check_files(const bench_study *study) {
    const bench_study_options *o = study->options;
    char list[64];
    if (!o->output) return cli_usage(study->tool, "nothing to write: give -o FILE.npz");
    if (cli_is_dash(o->output) || !cli_format_has(csrec_format_of(o->output), CSREC_USE_ARRAYS))
        return cli_usage(study->tool, "--output %s: results are a file, %s", o->output,
                         csrec_format_list(CSREC_USE_ARRAYS, false, "or", list, sizeof list));
    int code = cli_output_check(study->tool, o->output);
    return code == CLI_CONTINUE ? bench_plot_check(study->tool, o->plot) : code;
}

static void set_trials(bench_study *study) {
    const bench_study_options *o = study->options;
    bench_trials *t = &study->trials;
    t->ensemble = o->ensemble;
    t->amplitudes = o->amplitudes;
    t->n = o->n;
    t->count = o->count;
    t->matrices = o->matrices ? o->matrices : (o->count + 3) / 4;
    t->seed = o->seed;
    t->tolerance = o->tolerance;
    t->threads = (int)o->threads;
    t->backend = cli_backend_name(o->backend);
}

static int check(bench_study *study) {
    const bench_study_options *o = study->options;
    csrec_error error;
    if (o->operand)
        return cli_usage(study->tool, "takes options only, not '%s'; see %s --help", o->operand,
                         study->tool->name);
    const char *refusal = bench_ensemble_refusal(o->ensemble, o->n);
    if (refusal)
        return cli_usage(study->tool, "--columns %lld with --ensemble %s: %s", (long long)o->n,
                         bench_ensemble_name(o->ensemble), refusal);
    if (o->matrices > o->count)
        return cli_usage(study->tool, "--matrices %lld: at most --trials, %lld",
                         (long long)o->matrices, (long long)o->count);
    set_trials(study);
    csrec_status status = bench_solvers_take(&o->solvers, &study->trials, &error);
    if (status == CSREC_MEMORY) return cli_failure(study->tool, "%s", error.text);
    return status ? cli_usage(study->tool, "%s", error.text) : check_files(study);
}

/* Everything that the counts depend on. */
static char *fingerprint_of(const bench_study *study) {
    const bench_trials *t = &study->trials;
    cli_fingerprint line;
    cli_fingerprint_begin(&line, study->tool->name);
    for (int s = 0; s < t->n_solvers; s++) cli_fingerprint_text(&line, "solver", t->solver[s]);
    cli_fingerprint_text(&line, "ensemble", bench_ensemble_name(t->ensemble));
    cli_fingerprint_text(&line, "amplitudes", bench_amplitudes_name(t->amplitudes));
    cli_fingerprint_text(&line, "backend", t->backend ? t->backend : "cpu");
    cli_fingerprint_integer(&line, "n", t->n);
    cli_fingerprint_integer(&line, "trials", t->count);
    cli_fingerprint_integer(&line, "matrices", t->matrices);
    cli_fingerprint_integer(&line, "seed", (int64_t)t->seed);
    cli_fingerprint_real(&line, "tolerance", t->tolerance);
    cli_fingerprint_integer(&line, "columns", study->grid);
    cli_fingerprint_integer(&line, "rows", study->grid);
    cli_fingerprint_integer(&line, "m", study->m[0]);
    cli_fingerprint_integer(&line, "k", study->k[sizes_of(study) - 1]);
    return cli_fingerprint_end(&line);
}

/* Takes the counts, if the array is one that this study wrote. */
static bool take_counts(bench_study *study, const csrec_array *found) {
    bool fits = found->dtype == CSREC_I32 && found->count == cells_of(study);
    const int32_t *counts = found->data;
    for (int64_t i = 0; fits && i < found->count; i++)
        fits = counts[i] >= -1 && counts[i] <= study->trials.count;
    if (fits) memcpy(study->successes, counts, (size_t)found->count * sizeof *counts);
    return fits;
}

static int resume(bench_study *study) {
    const char *path = study->options->output;
    char text[4096];
    csrec_error error;
    csrec_array found;
    if (study->options->fresh || access(path, F_OK) != 0) return CLI_CONTINUE;
    if (csrec_fingerprint_read(path, text, sizeof text, &error))
        return cli_failure(study->tool, "%s", error.text);
    cli_fingerprint_set_whole(study->fingerprint, strncmp(text, CLI_WHOLE, 7) == 0);
    if (strcmp(text, study->fingerprint) != 0)
        return cli_failure(study->tool,
                           "%s: has results of other settings; name another file, or give --fresh "
                           "to replace it",
                           path);
    if (csrec_npz_read(path, "successes", &found, &error))
        return cli_failure(study->tool, "%s", error.text);
    bool fits = take_counts(study, &found);
    csrec_array_clear(&found);
    return fits ? CLI_CONTINUE
                : cli_failure(study->tool,
                              "%s: successes: not the counts of these settings; give --fresh to "
                              "replace the file",
                              path);
}

/* Names one after another, each up to a zero, as NumPy's array of bytes. */
static size_t join_solvers(const bench_trials *trials, char *names, size_t room) {
    size_t used = 0;
    for (int s = 0; s < trials->n_solvers; s++)
        used +=
            (size_t)snprintf(names + used, room - used, "%s%s", s ? " " : "", trials->solver[s]);
    return used;
}

static csrec_status add_arrays(void *context, csrec_files *files, csrec_error *error) {
    const bench_study *study = context;
    static const char *const names[] = {"successes", "trials", "n", "m", "k", "solvers"};
    char solvers[512];
    const bench_trials *t = &study->trials;
    int64_t length = (int64_t)join_solvers(t, solvers, sizeof solvers), n = t->n, count = t->count;
    const int64_t grid = study->grid;
    const csrec_array arrays[] = {
        {CSREC_I32, {3, {t->n_solvers, grid, grid}}, cells_of(study), study->successes},
        {CSREC_I64, {0, {0}}, 1, &count},
        {CSREC_I64, {0, {0}}, 1, &n},
        {CSREC_I64, {1, {grid}}, grid, study->m},
        {CSREC_I64, {2, {grid, grid}}, grid * grid, study->k},
        {CSREC_U8, {1, {length}}, length, solvers}};
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    const csrec_array *list[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) list[i] = &arrays[i];
    return csrec_files_add_npz(files, study->options->output, ARRAYS, names, list, error);
}

static csrec_status add_plot(void *context, csrec_files *files, csrec_error *error) {
    const bench_study *study = context;
    cli_chart charts[BENCH_CHARTS_MOST] = {{.n_series = 0}};
    int n = 0;
    cli_fail(error, CSREC_MEMORY, "%s: out of memory", study->options->plot);
    csrec_status status = bench_phase_draw(study, charts, &n) ? CSREC_OK : CSREC_MEMORY;
    if (!status)
        status = cli_charts_add(files, study->options->plot, charts, n, 3, study->tool->name,
                                study->fingerprint, error);
    while (n > 0) cli_chart_clear(&charts[--n]);
    return status;
}

static csrec_status save(bench_study *study, csrec_error *error) {
    cli_fingerprint_set_whole(study->fingerprint, study->complete);
    const csrec_files_options options = {.no_sync = study->options->no_sync,
                                         .fingerprint = study->fingerprint};
    cli_product products[] = {{study->options->output, add_arrays, false},
                              {study->complete ? study->options->plot : NULL, add_plot, false}};
    return cli_products_write(&options, 0, 2, products, study, error);
}

typedef struct runner {
    bench_study *study;
    cli_progress progress;
    int64_t done, total; /* sizes */
    double saved;        /* second of the last write */
    bool stopped;
} runner;

static bool report_size(const csrec_progress *now, void *context) {
    runner *r = context;
    const bench_trials *t = &r->study->trials;
    int64_t each = t->n_solvers * t->count;
    csrec_progress all = {"signals", r->done * each + now->done, r->total * each, -1.0};
    return cli_progress_report(&all, &r->progress);
}

static bool is_known(const bench_study *study, int64_t cell) {
    return study->successes[cell] >= 0;
}

static csrec_status solve_size(runner *r, int64_t cell, csrec_error *error) {
    bench_study *study = r->study;
    int32_t counts[BENCH_SOLVERS_MOST];
    if (is_known(study, cell)) return CSREC_OK;
    CLI_TRY(bench_cell_solve(&study->trials, study->m[cell / study->grid], study->k[cell],
                             report_size, r, counts, error));
    for (int s = 0; s < study->trials.n_solvers; s++)
        study->successes[s * sizes_of(study) + cell] = counts[s];
    r->done++;
    study->solved++;
    if (cli_seconds() - r->saved < SAVE_EVERY) return CSREC_OK;
    r->saved = cli_seconds();
    return save(study, error);
}

static csrec_status solve_all(runner *r, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t cell = 0; cell < r->total && !status; cell++) status = solve_size(r, cell, error);
    r->study->complete = status == CSREC_OK;
    return status;
}

/* What is known is written after an error, too. */
static int run_and_save(bench_study *study) {
    runner r = {.study = study, .total = sizes_of(study), .saved = cli_seconds()};
    csrec_error error, lost;
    for (int64_t cell = 0; cell < r.total; cell++) r.done += is_known(study, cell);
    cli_progress_start(&r.progress, study->options->quiet);
    double began = cli_seconds();
    csrec_status status = solve_all(&r, &error);
    study->seconds = cli_seconds() - began;
    cli_progress_finish(&r.progress);
    csrec_status saved = r.done > 0 ? save(study, &lost) : CSREC_OK;
    if (status && status != CSREC_STOPPED) return cli_failure(study->tool, "%s", error.text);
    if (saved) return cli_failure(study->tool, "%s", lost.text);
    if (!status) return CLI_CONTINUE;
    cli_note(study->tool, "interrupted: %lld of %lld sizes are known; the same command goes on",
             (long long)r.done, (long long)r.total);
    return CLI_INTERRUPTED;
}

static bool print_json(const bench_study *study) {
    const bench_trials *t = &study->trials;
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "output", study->options->output);
    cli_json_text(&json, "ensemble", bench_ensemble_name(t->ensemble));
    cli_json_text(&json, "amplitudes", bench_amplitudes_name(t->amplitudes));
    cli_json_text(&json, "backend", t->backend ? t->backend : "cpu");
    cli_json_integer(&json, "n", t->n);
    cli_json_integer(&json, "trials", t->count);
    cli_json_integer(&json, "matrices", t->matrices);
    cli_json_real(&json, "tolerance", t->tolerance);
    cli_json_unsigned(&json, "seed", t->seed);
    cli_json_integers(&json, "m", (int)study->grid, study->m);
    cli_json_integer(&json, "sizes_solved", study->solved);
    cli_json_real(&json, "seconds", study->seconds);
    bench_phase_json(study, &json);
    return cli_json_close(&json);
}

static int run_locked(bench_study *study) {
    int code = resume(study);
    if (code == CLI_CONTINUE) code = run_and_save(study);
    if (code != CLI_CONTINUE) return code;
    bool written = study->options->json ? print_json(study) : bench_phase_print(study);
    return written ? CLI_DONE : cli_stdout_failed(study->tool);
}

static int run(bench_study *study) {
    csrec_file_lock *lock;
    csrec_error error;
    study->fingerprint = fingerprint_of(study);
    if (!study->fingerprint) return cli_failure(study->tool, "out of memory");
    if (csrec_file_lock_take(study->options->output, &lock, &error))
        return cli_failure(study->tool, "%s", error.text);
    int code = run_locked(study);
    csrec_file_lock_drop(lock);
    return code;
}

int bench_study_run(const cli_tool *tool, const bench_study_options *options) {
    bench_study study = {.tool = tool, .options = options};
    int code = check(&study);
    if (code == CLI_CONTINUE)
        code = create(&study) ? run(&study) : cli_failure(tool, "out of memory");
    free(study.m);
    free(study.k);
    free(study.successes);
    free(study.fingerprint);
    return code;
}
