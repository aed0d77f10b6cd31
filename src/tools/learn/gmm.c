/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm.c - mixtures of Gaussians of patches, pictures and rows. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn.h"
#include "tools/common/progress.h"

typedef struct {
    cli_data_options in;
    const char *output;
    int64_t components, rounds, threads;
    int start;
    double tolerance, least;
    bool fresh, no_sync, json, verbose, quiet;
} arguments;

static const char *start_name(int i) {
    static const char *const names[] = {"kmeans", "edges"};
    return i >= 0 && i < 2 ? names[i] : NULL;
}

static const cli_option options[] = {
    CLI_MODEL_OUTPUT(arguments),
    CLI_DATA_OPTIONS(in),
    {"components", 'k', CLI_INTEGER, "K", "Gaussians in the mixture (default 20).",
     CLI_AT(components), .low = 1, .high = 4096, .group = "Model",
     .brief = "Gaussians in the mixture (default 20)"},
    {"start", 0, CLI_CHOICE, "NAME",
     "Start of the rounds: clusters of the data (default), or, for gray patches, edges of K - 1 "
     "directions and cosines.",
     CLI_AT(start), .choice = start_name},
    {"rounds", 'r', CLI_INTEGER, "R", "Maximum number of rounds (default 50).", CLI_AT(rounds),
     .low = 1, .high = 100000, .brief = "at most so many rounds (default 50)"},
    {"tolerance", 'e', CLI_REAL, "E",
     "Stop when a round raises the mean log-likelihood by less than this (default 0.005).",
     CLI_AT(tolerance), .low = 1e-12, .high = 1e9},
    {"least", 0, CLI_REAL, "V",
     "Least variance of a Gaussian in any direction (default 1e-4 of the data's mean variance).",
     CLI_AT(least), .low = 1e-300, .high = 1e300},
    {"fresh", 'f', CLI_FLAG, NULL, "Start over, even if an interrupted run can be continued.",
     CLI_AT(fresh), .group = CLI_EXPERT, .brief = "start over, not from an interrupted run"},
    CLI_THREADS(arguments),
    CLI_NO_SYNC(arguments),
    CLI_JSON(arguments),
    {"verbose", 'v', CLI_FLAG, NULL, "Report the log-likelihood of each round on stderr.",
     CLI_AT(verbose), .brief = "report each round"},
    CLI_QUIET(arguments),
    CLI_STANDARD};

/* NULL: out of memory. */
static char *state_name(const char *output) {
    size_t room = strlen(output) + sizeof ".state";
    char *name = malloc(room);
    if (name) snprintf(name, room, "%s.state", output);
    return name;
}

static void add_paths(const void *given, cli_paths *paths) {
    const arguments *a = given;
    char *state = a->output ? state_name(a->output) : NULL;
    paths->failed = paths->failed || (a->output && !state);
    cli_paths_add(paths, &(cli_path){.option = "output", .path = state, .written = true});
    free(state);
    cli_data_add_paths(&a->in, paths);
}

static const cli_tool tool = {
    .name = "cslearn gmm",
    .brief = "Learns a mixture of Gaussians of patches, pictures, or rows.",
    .synopsis = "INPUT... -o MODEL.npz --patch 8x8 [OPTION...]",
    .details =
        "An INPUT is a picture, a .npy [m, ...] of m pictures or rows, or a folder of both. At "
        "most 200000 patches, chosen at random, are used; --most changes that.\n"
        "Each round is a step of expectation maximisation over all patches; the log-likelihood "
        "never falls. After each round the mixture is saved in MODEL.npz.state. After an "
        "interruption the same command continues from there and gives the same model.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM (the state "
        "is kept).",
    .examples = "cslearn gmm photos/ -o photos.npz --patch 8x8 --gray\n"
                "cslearn gmm photo.png -o photo.npz -p 8 --stride 1 -k 40 --seed 7 --verbose\n"
                "csrecover scan.npz --model photos.npz -o photo.png",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, in.inputs),
    .many = true,
    .paths = add_paths};

/* A run: what every step needs. */
typedef struct {
    const arguments *a;
    const cli_data *data;
    cli_progress progress;
    char *state, *fingerprint, settings[400];
    bool known; /* the contents of the inputs */
} gmm_command;

static csrec_status save(const gmm_command *j, csrec_model *model, const char *path,
                         csrec_error *error) {
    const cli_model_files to = {.output = path,
                                .no_sync = j->a->no_sync,
                                .fingerprint = j->fingerprint,
                                .source = j->data->source,
                                .settings = j->settings};
    return cli_model_save(model, &to, error);
}

static csrec_status keep_round(const csrec_model *model, void *context, csrec_error *error) {
    gmm_command *j = context;
    const csrec_array *history = csrec_model_array(model, "log_likelihood");
    csrec_model *copy;
    const char *names[12];
    const csrec_array *arrays[12];
    int n = 0;
    while (n < 12 && csrec_model_info(model, n, &names[n], &arrays[n])) n++;
    csrec_status status = csrec_model_create("gmm", n, names, arrays, &copy, error);
    if (status) return status;
    status = save(j, copy, j->state, error);
    csrec_model_destroy(copy);
    if (j->a->verbose) {
        cli_progress_finish(&j->progress);
        cli_note(&tool, "round %lld: log-likelihood %.6f", (long long)history->count,
                 csrec_array_value(history, history->count - 1));
    }
    return status;
}

/* The settings that a round depends on; --rounds and --tolerance only decide which is the last. */
static char *fingerprint_of(const arguments *a, const cli_data *data, bool *known) {
    cli_fingerprint line;
    cli_fingerprint_begin(&line, tool.name);
    cli_data_fingerprint(data, &line);
    cli_fingerprint_integer(&line, "components", a->components);
    cli_fingerprint_text(&line, "start", start_name(a->start));
    cli_fingerprint_real(&line, "least", a->least);
    *known = line.known;
    char *text = cli_fingerprint_end(&line);
    cli_fingerprint_set_whole(text, false);
    return text;
}

/* Reads the state of an interrupted run, if its inputs and settings are those of this run. */
static int find_state(const gmm_command *j, csrec_model **from) {
    csrec_error error;
    *from = NULL;
    if (j->a->fresh || access(j->state, F_OK) != 0) return CLI_CONTINUE;
    if (csrec_model_read(j->state, from, &error))
        return cli_failure(&tool, "%s; start over with --fresh", error.text);
    if (j->known && cli_fingerprint_is(j->state, j->fingerprint)) {
        if (!j->a->quiet)
            cli_note(&tool, "%s: continues after round %lld", j->state,
                     (long long)csrec_model_array(*from, "log_likelihood")->count);
        return CLI_CONTINUE;
    }
    return cli_failure(&tool, "%s: has other inputs or settings; start over with --fresh",
                       j->state);
}

static int report(const gmm_command *j, const csrec_model *model) {
    const csrec_array *history = csrec_model_array(model, "log_likelihood");
    const csrec_array *means = csrec_model_array(model, "means");
    if (!j->a->json) {
        if (!j->a->quiet)
            cli_note(&tool,
                     "%s: %lld Gaussians of %lld entries from %lld rows, %lld rounds, "
                     "log-likelihood %.4f",
                     j->a->output, (long long)means->shape.dim[0], (long long)means->shape.dim[1],
                     (long long)j->data->data.m, (long long)history->count,
                     csrec_array_value(history, history->count - 1));
        return CLI_DONE;
    }
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "output", j->a->output);
    cli_json_text(&json, "kind", "gmm");
    cli_json_integer(&json, "rows", j->data->data.m);
    cli_json_integer(&json, "entries", means->shape.dim[1]);
    cli_json_integer(&json, "components", means->shape.dim[0]);
    cli_json_integer(&json, "rounds", history->count);
    cli_json_reals(&json, "log_likelihood", (int)history->count, history->data);
    return cli_json_close(&json) ? CLI_DONE : cli_stdout_failed(&tool);
}

static int learn_gmm_deliver(const gmm_command *j, csrec_model *model) {
    csrec_error error;
    int code = cli_data_check_unchanged(&tool, j->data);
    if (code != CLI_CONTINUE) return code;
    cli_fingerprint_set_whole(j->fingerprint, true);
    if (save(j, model, j->a->output, &error)) return cli_failure(&tool, "%s", error.text);
    remove(j->state);
    return report(j, model);
}

static int learn(gmm_command *j, const csrec_model *from) {
    const arguments *a = j->a;
    const cli_data *d = j->data;
    csrec_learn_options o = {.shape = d->shape,
                             .channels = d->channels,
                             .scale = {d->scale[0], d->scale[1]},
                             .components = a->components,
                             .seed = a->in.seed,
                             .threads = (int)a->threads,
                             .progress = cli_progress_report,
                             .context = &j->progress,
                             .start = start_name(a->start),
                             .rounds = a->rounds,
                             .tolerance = a->tolerance,
                             .least = a->least,
                             .from = from,
                             .round_done = keep_round,
                             .round_context = j};
    csrec_model *model = NULL;
    csrec_error error;
    bool stopped;
    cli_progress_start(&j->progress, a->quiet);
    csrec_status status = csrec_gmm_learn(&d->data, &o, &model, &stopped, &error);
    cli_progress_finish(&j->progress);
    if (status) return cli_failure(&tool, "%s", error.text);
    if (stopped) {
        cli_note(&tool, "interrupted: the same command continues after the last complete round");
        return CLI_INTERRUPTED;
    }
    int code = learn_gmm_deliver(j, model);
    csrec_model_destroy(model);
    return code;
}

static int run_job(const arguments *a, const cli_data *data) {
    gmm_command *j = calloc(1, sizeof *j);
    csrec_model *from = NULL;
    if (!j) return cli_failure(&tool, "out of memory");
    j->a = a;
    j->data = data;
    j->state = state_name(a->output);
    snprintf(j->settings, sizeof j->settings, "gmm, %s, %lld components, start %s, least %g",
             data->settings, (long long)a->components, start_name(a->start), a->least);
    j->fingerprint = fingerprint_of(a, data, &j->known);
    int code =
        j->state && j->fingerprint ? find_state(j, &from) : cli_failure(&tool, "out of memory");
    if (code == CLI_CONTINUE) code = learn(j, from);
    csrec_model_destroy(from);
    free(j->state);
    free(j->fingerprint);
    free(j);
    return code;
}

static int learn_gmm_run(int argc, char **argv) {
    arguments a = {.in = {.seed = 1, .most = 200000}, .components = 20};
    cli_data data = {.held = -1};
    int code = cli_parse(&tool, argc, argv, &a);
    if (code == CLI_CONTINUE) code = cli_model_check(&tool, &a.in.inputs, a.output, NULL);
    if (code == CLI_CONTINUE) code = cli_data_open(&tool, &a.in, &data);
    if (code == CLI_CONTINUE) code = run_job(&a, &data);
    cli_data_close(&data);
    free(a.in.inputs.text);
    return code;
}

const cli_learner cli_learn_gmm = {&tool, learn_gmm_run};
