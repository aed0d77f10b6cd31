/* study_file.c - the file of a study: counts of what is known so far, from which a run goes
 * on. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "study.h"
#include "tools/common/fingerprint.h"
#include "tools/common/output.h"

static int64_t cells_of(const bench_study *study) {
    return study->trials.n_solvers * study->columns * study->rows;
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

int bench_study_resume(bench_study *study) {
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
    int64_t cells = study->columns * study->rows;
    const csrec_array arrays[] = {{CSREC_I32,
                                   {3, {t->n_solvers, study->columns, study->rows}},
                                   cells_of(study),
                                   study->successes},
                                  {CSREC_I64, {0, {0}}, 1, &count},
                                  {CSREC_I64, {0, {0}}, 1, &n},
                                  {CSREC_I64, {1, {study->columns}}, study->columns, study->m},
                                  {CSREC_I64, {2, {study->columns, study->rows}}, cells, study->k},
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
    csrec_status status = study->draw(study, charts, &n) ? CSREC_OK : CSREC_MEMORY;
    if (!status)
        status = cli_charts_add(files, study->options->plot, charts, n, 3, study->tool->name,
                                study->fingerprint, error);
    while (n > 0) cli_chart_clear(&charts[--n]);
    return status;
}

csrec_status bench_study_save(bench_study *study, csrec_error *error) {
    cli_fingerprint_set_whole(study->fingerprint, study->complete);
    const csrec_files_options options = {.no_sync = study->options->no_sync,
                                         .fingerprint = study->fingerprint};
    cli_product products[] = {{study->options->output, add_arrays, false},
                              {study->complete ? study->options->plot : NULL, add_plot, false}};
    return cli_products_write(&options, 0, 2, products, study, error);
}
