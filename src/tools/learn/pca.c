/* SPDX-License-Identifier: BSD-3-Clause */
/* pca.c - principal components of pictures, patches and rows. */
#include <stdlib.h>

#include "learn.h"
#include "tools/common/progress.h"

typedef struct {
    cli_data_options in;
    const char *output, *plot;
    int64_t components, threads;
    double energy;
    int backend;
    bool no_sync, json, quiet;
} arguments;

static const cli_option options[] = {
    CLI_MODEL_OUTPUT(arguments),
    CLI_DATA_OPTIONS(in),
    {"components", 'k', CLI_INTEGER, "K", "Keep at most K components.", CLI_AT(components),
     .low = 1, .high = 32768, .group = "Model", .brief = "at most so many components"},
    {"energy", 'e', CLI_REAL, "E",
     "Keep the components that hold this share of the variance (default 0.99, or all K).",
     CLI_AT(energy), .low = 1e-6, .high = 1.0, .share = true,
     .brief = "keep this share of the variance (default 0.99)"},
    CLI_THREADS(arguments),
    CLI_BACKEND(arguments),
    CLI_NO_SYNC(arguments),
    {"plot", 0, CLI_WRITE, "FILE",
     "Draw the mean and the components as this picture, {picture or}.", CLI_AT(plot),
     .group = CLI_REPORTS, .brief = "draw the mean and the components"},
    CLI_JSON(arguments),
    CLI_QUIET(arguments),
    CLI_STANDARD};

static void add_paths(const void *given, cli_paths *paths) {
    cli_data_add_paths(&((const arguments *)given)->in, paths);
}

static const cli_tool tool = {
    .name = "cslearn pca",
    .brief = "Learns principal components of aligned pictures, patches or rows.",
    .synopsis = "INPUT... -o MODEL.npz [OPTION...]",
    .details =
        "An INPUT is a picture, a .npy [m, ...] of m pictures or rows, or a folder of both. "
        "Without --patch all pictures must have one size and be aligned, like faces. With it, "
        "patches of all pictures are used, and a .npy may also be one picture. Data are read twice "
        "in pieces, so files may be larger than memory, unless there are fewer rows than pixels. "
        "Values of pictures are scaled to 0 to 255; the model records this for csrecover.\n"
        "With --backend cuda, covariance and eigenvectors (by cuSOLVER) are computed on a GPU; "
        "auto does so if it is faster. The model records the backend.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM (nothing "
        "is written).",
    .examples = "cslearn pca faces/ -o faces.npz --components 200\n"
                "cslearn pca faces.npy -o faces.npz --energy 0.98 --plot faces.png\n"
                "cslearn pca photo.png -o patches.npz --patch 8x8 --stride 2\n"
                "csrecover scan.npz --model faces.npz -o face.png",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, in.inputs),
    .many = true,
    .paths = add_paths};

static double share_of(const csrec_model *model) {
    const csrec_array *variances = csrec_model_array(model, "variances");
    int64_t n = csrec_model_array(model, "mean")->count;
    double kept = 0.0, noise = csrec_array_value(csrec_model_array(model, "noise"), 0);
    for (int64_t i = 0; i < variances->count; i++) kept += csrec_array_value(variances, i);
    return kept / (kept + noise * (double)(n - variances->count));
}

static int report(const arguments *a, const cli_data *d, const csrec_model *model) {
    int64_t k = csrec_model_array(model, "variances")->count;
    if (!a->json) {
        if (!a->quiet)
            cli_note(&tool,
                     "%s: %lld components of %lld entries from %lld rows hold %.4g %% of the "
                     "variance",
                     a->output, (long long)k, (long long)d->data.n, (long long)d->data.m,
                     100.0 * share_of(model));
        return CLI_DONE;
    }
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "output", a->output);
    cli_json_text(&json, "kind", "pca");
    cli_json_text(&json, "backend", csrec_model_text(model, "backend"));
    cli_json_integer(&json, "rows", d->data.m);
    cli_json_integer(&json, "entries", d->data.n);
    cli_json_integer(&json, "components", k);
    cli_json_real(&json, "energy", share_of(model));
    cli_json_real(&json, "noise", csrec_array_value(csrec_model_array(model, "noise"), 0));
    return cli_json_close(&json) ? CLI_DONE : cli_stdout_failed(&tool);
}

static char *fingerprint_of(const arguments *a, const cli_data *d, const csrec_model *model) {
    cli_fingerprint line;
    cli_fingerprint_begin(&line, tool.name);
    cli_data_fingerprint(d, &line);
    cli_fingerprint_integer(&line, "components", a->components);
    cli_fingerprint_real(&line, "energy", a->energy);
    cli_fingerprint_text(&line, "backend", csrec_model_text(model, "backend"));
    return cli_fingerprint_end(&line);
}

static int write_files(const arguments *a, const cli_data *d, csrec_model *model) {
    int code = cli_data_check_unchanged(&tool, d);
    if (code != CLI_CONTINUE) return code;
    csrec_error error;
    char settings[400], *line = fingerprint_of(a, d, model);
    snprintf(settings, sizeof settings, "pca, %s, %lld components", d->settings,
             (long long)csrec_model_array(model, "variances")->count);
    const cli_model_files to = {a->output, a->plot, cli_plot_components, a->no_sync, line,
                                d->source, settings};
    if (cli_model_save(model, &to, &error)) code = cli_failure(&tool, "%s", error.text);
    free(line);
    return code;
}

static int learn(const arguments *a, cli_data *d) {
    cli_progress progress;
    csrec_learn_options o = {.shape = d->shape,
                             .channels = d->channels,
                             .scale = {d->scale[0], d->scale[1]},
                             .components = a->components,
                             .energy = a->energy,
                             .threads = (int)a->threads,
                             .backend = cli_backend_name(a->backend),
                             .progress = cli_progress_report,
                             .context = &progress};
    csrec_model *model = NULL;
    csrec_error error;
    bool stopped;
    cli_progress_start(&progress, a->quiet);
    csrec_status status = csrec_pca_learn(&d->data, &o, &model, &stopped, &error);
    cli_progress_finish(&progress);
    if (status) return cli_failure(&tool, "%s", error.text);
    if (stopped) {
        cli_note(&tool, "interrupted: nothing is written");
        return CLI_INTERRUPTED;
    }
    int code = write_files(a, d, model);
    if (code == CLI_CONTINUE) code = report(a, d, model);
    csrec_model_destroy(model);
    return code;
}

static int learn_pca_run(int argc, char **argv) {
    arguments a = {.in = {.seed = 1}, .backend = -1};
    cli_data data = {.held = -1};
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = cli_model_check(&tool, &a.in.inputs, a.output, a.plot);
    if (code == CLI_CONTINUE) code = cli_data_open(&tool, &a.in, &data);
    if (code == CLI_CONTINUE) code = learn(&a, &data);
    cli_data_close(&data);
    free(a.in.inputs.text);
    return code;
}

const cli_learner cli_learn_pca = {&tool, learn_pca_run};
