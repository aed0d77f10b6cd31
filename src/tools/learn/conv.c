/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.c - filters of a convolutional dictionary, from pictures or samples of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn.h"
#include "tools/common/progress.h"

typedef struct {
    cli_learn_sources in;
    const char *output, *plot, *size;
    int64_t filters, iterations, codings, crop, threads;
    double lambda, base;
    uint64_t seed;
    bool no_sync, json, quiet;
} arguments;

static const cli_option options[] = {
    CLI_MODEL_OUTPUT(arguments),
    CLI_LEARN_SOURCES(in, "filters"),
    {"filters", 'k', CLI_INTEGER, "K", "Filters to learn (default 64).", CLI_AT(filters), .low = 1,
     .high = 4096, .group = "Model", .brief = "filters to learn (default 64)"},
    {"size", 'p', CLI_TEXT, "HxW", "Pixels of a filter, 8x8 or 8 (default 8).", CLI_AT(size),
     .brief = "pixels of a filter, 8x8 or 8 (default 8)"},
    {"lambda", 'l', CLI_REAL, "L", "Weight of the codes, black to white being 1 (default 0.005).",
     CLI_AT(lambda), .low = 1e-9, .high = 1e3},
    {"base", 0, CLI_REAL, "S",
     "Width in pixels of the smooth layer that is subtracted before filters are learned (default "
     "8); 0: the mean.",
     CLI_AT(base), .low = 0.0, .high = 64.0},
    {"iterations", 'i', CLI_INTEGER, "N", "Rounds of codes and filters (default 40).",
     CLI_AT(iterations), .low = 1, .high = 1e6,
     .brief = "rounds of codes and filters (default 40)"},
    {"codings", 0, CLI_INTEGER, "N", "Steps on the codes in a round (default 5).", CLI_AT(codings),
     .low = 1, .high = 1e4},
    {"crop", 'c', CLI_INTEGER, "N",
     "Learn from a random part of N x N of larger pictures (default 256).", CLI_AT(crop), .low = 16,
     .high = 65536, .brief = "learn from a part of N x N of larger pictures"},
    {"seed", 0, CLI_SEED, "S", "Seed of all random choices (default 1).", CLI_AT(seed),
     .group = CLI_EXPERT},
    CLI_THREADS(arguments),
    CLI_NO_SYNC(arguments),
    {"plot", 0, CLI_WRITE, "FILE", "Draw the filters as this picture, {picture or}.", CLI_AT(plot),
     .group = CLI_REPORTS, .brief = "draw the filters"},
    CLI_JSON(arguments),
    CLI_QUIET(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "cslearn conv",
    .brief = "Learns convolutional filters from pictures or samples of them.",
    .synopsis = "INPUT... -o MODEL.npz [OPTION...]",
    .details =
        "An INPUT is a picture ({read or}), in which transparent pixels, or with --mask masked "
        "pixels, are unknown; or a measurement ({arrays or}, .csv), of which only the samples are "
        "known. Each colour channel counts as a picture. The array `objective` of the model has "
        "the objective after each round; it never rises. Ctrl-C writes the filters so far; "
        "--resume continues from them.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM, with the "
        "filters so far written.",
    .examples = "cslearn conv photo1.png photo2.png -o filters.npz --plot filters.png\n"
                "cslearn conv scan.npz -o own.npz --filters 48 --size 12 # of its samples\n"
                "cslearn conv photo*.png -o filters.npz --resume filters.npz --iterations 20\n"
                "csrecover scan.npz --basis conv --model filters.npz -o photo.png",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, in.inputs),
    .many = true};

/* The pictures of one run. */
typedef struct {
    arguments a;
    csrec_conv_picture *pictures;
    int64_t n, room;
    double scale[2];
    csrec_model *start, *model;
    int64_t size[2];
    bool stopped;
    char *fingerprint;
} conv_command;

static int check_arguments(conv_command *j) {
    if (j->a.size && !cli_extents_read(j->a.size, 64, j->size))
        return cli_usage(&tool, "--size: '%s' is not HxW of 1 to 64 pixels", j->a.size);
    return cli_model_check(&tool, &j->a.in.inputs, j->a.output, j->a.plot);
}

static bool make_room(conv_command *j) {
    if (j->n < j->room) return true;
    int64_t room = j->room ? 2 * j->room : 16;
    csrec_conv_picture *grown = realloc(j->pictures, (size_t)room * sizeof *grown);
    if (!grown) return false;
    j->pictures = grown;
    j->room = room;
    return true;
}

/* One channel's window at (top, left). */
static bool add_window(conv_command *j, const cli_learn_input *in, int64_t channel,
                       const int64_t at[2], const int64_t size[2]) {
    float *values = calloc((size_t)(size[0] * size[1]), sizeof *values);
    uint8_t *known = calloc((size_t)(size[0] * size[1]), 1);
    if (!values || !known || !make_room(j)) {
        free(values);
        free(known);
        return false;
    }
    j->pictures[j->n++] = (csrec_conv_picture){size[0], size[1], values, known};
    cli_learn_input_window(in, channel, at, size, values, known);
    return true;
}

static int add_pictures(conv_command *j, const char *path, const cli_learn_input *in) {
    int64_t size[2], at[2];
    for (int a = 0; a < 2; a++) {
        size[a] = in->shape.dim[a] < j->a.crop ? in->shape.dim[a] : j->a.crop;
        double u = csrec_random_uniform(j->a.seed, 1, (uint64_t)(2 * j->n + a));
        at[a] = (int64_t)(u * (double)(in->shape.dim[a] - size[a] + 1));
    }
    for (int64_t c = 0; c < in->channels; c++)
        if (!add_window(j, in, c, at, size)) return cli_failure(&tool, "%s: out of memory", path);
    return CLI_CONTINUE;
}

/* All inputs must have the scale of the first. */
static int read_input(conv_command *j, const char *path) {
    cli_learn_input in;
    int code = cli_learn_input_open(&tool, path, j->a.in.mask, &in);
    if (j->n == 0) memcpy(j->scale, in.scale, sizeof j->scale);
    if (code == CLI_CONTINUE && (j->scale[0] != in.scale[0] || j->scale[1] != in.scale[1]))
        code = cli_failure(&tool,
                           "%s: black and white are %g and %g, but %g and %g in the inputs "
                           "before; learn from pictures of one scale",
                           path, in.scale[0], in.scale[1], j->scale[0], j->scale[1]);
    if (code == CLI_CONTINUE) code = add_pictures(j, path, &in);
    cli_learn_input_clear(&in);
    return code;
}

/* The model to continue from has what the options ask for. */
static int read_start(conv_command *j) {
    int code = cli_learn_start_read(&tool, &j->a.in, "conv", "filters", &j->start);
    if (code != CLI_CONTINUE || !j->start) return code;
    const int64_t *dim = csrec_model_array(j->start, "filters")->shape.dim;
    const int64_t asked[3] = {j->a.filters, j->size[0], j->size[1]};
    for (int i = 0; i < 3; i++)
        if (asked[i] && asked[i] != dim[i])
            return cli_failure(&tool,
                               "%s: its %lld filters of %lld x %lld do not match the options; omit "
                               "--filters and --size",
                               j->a.in.resume, (long long)dim[0], (long long)dim[1],
                               (long long)dim[2]);
    return CLI_CONTINUE;
}

static char *fingerprint_of(const conv_command *j) {
    const arguments *a = &j->a;
    cli_fingerprint line;
    cli_learn_fingerprint_begin(&line, &tool, &a->in);
    cli_fingerprint_text(&line, "size", a->size);
    cli_fingerprint_integer(&line, "filters", a->filters);
    cli_fingerprint_real(&line, "lambda", a->lambda);
    cli_fingerprint_real(&line, "base", a->base);
    cli_fingerprint_integer(&line, "iterations", a->iterations);
    cli_fingerprint_integer(&line, "codings", a->codings);
    cli_fingerprint_integer(&line, "crop", a->crop);
    cli_fingerprint_integer(&line, "seed", (int64_t)a->seed);
    return cli_fingerprint_end(&line);
}

static int read_unchanged(conv_command *j) {
    j->fingerprint = fingerprint_of(j);
    int code = read_start(j);
    for (int i = 0; i < j->a.in.inputs.n && code == CLI_CONTINUE; i++)
        code = read_input(j, j->a.in.inputs.text[i]);
    if (code != CLI_CONTINUE) return code;
    return cli_learn_check_unchanged(&tool, &j->a.in, j->fingerprint, fingerprint_of(j));
}

static int learn(conv_command *j) {
    const arguments *a = &j->a;
    cli_progress progress;
    csrec_error error;
    csrec_conv_learn_options o = {.filters = a->filters,
                                  .size = {j->size[0], j->size[1]},
                                  .lambda = a->lambda,
                                  .base = a->base < 0.0    ? 0.0
                                          : a->base == 0.0 ? -1.0
                                                           : a->base,
                                  .scale = {j->scale[0], j->scale[1]},
                                  .iterations = a->iterations,
                                  .codings = a->codings,
                                  .seed = a->seed,
                                  .threads = (int)a->threads,
                                  .start = j->start,
                                  .progress = cli_progress_report,
                                  .context = &progress};
    cli_progress_start(&progress, a->quiet);
    csrec_status status = csrec_conv_learn(j->n, j->pictures, &o, &j->model, &j->stopped, &error);
    cli_progress_finish(&progress);
    return status ? cli_failure(&tool, "%s", error.text) : CLI_CONTINUE;
}

static int write_files(conv_command *j) {
    char settings[200], source[1024] = "";
    const int64_t *dim = csrec_model_array(j->model, "filters")->shape.dim;
    snprintf(settings, sizeof settings, "conv, %lld filters of %lldx%lld, seed %llu%s",
             (long long)dim[0], (long long)dim[1], (long long)dim[2], (unsigned long long)j->a.seed,
             j->start ? ", resumed" : "");
    cli_inputs_list(&j->a.in.inputs, " ", true, source, sizeof source);
    cli_fingerprint_set_whole(j->fingerprint, !j->stopped);
    csrec_error error;
    const cli_model_files to = {j->a.output,    j->a.plot, cli_plot_filters, j->a.no_sync,
                                j->fingerprint, source,    settings};
    return cli_model_save(j->model, &to, &error) ? cli_failure(&tool, "%s", error.text)
                                                 : CLI_CONTINUE;
}

static int report(const conv_command *j) {
    const csrec_array *filters = csrec_model_array(j->model, "filters");
    const csrec_array *objective = csrec_model_array(j->model, "objective");
    int64_t rounds = objective ? objective->count : 0;
    double first = rounds ? csrec_array_value(objective, 0) : NAN;
    double last = rounds ? csrec_array_value(objective, rounds - 1) : NAN;
    int done = j->stopped ? CLI_INTERRUPTED : CLI_DONE;
    if (!j->a.json) {
        if (!j->a.quiet)
            cli_note(&tool,
                     "%s: %lld filters from %lld pictures, objective %.6g to %.6g in %lld rounds%s",
                     j->a.output, (long long)filters->shape.dim[0], (long long)j->n, first, last,
                     (long long)rounds, j->stopped ? ", interrupted" : "");
        return done;
    }
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "output", j->a.output);
    cli_json_text(&json, "kind", "conv");
    cli_json_integer(&json, "pictures", j->n);
    cli_json_integers(&json, "filters", 3, filters->shape.dim);
    cli_json_integer(&json, "rounds", rounds);
    cli_json_reals(&json, "objective", (int)rounds, rounds ? objective->data : NULL);
    cli_json_flag(&json, "interrupted", j->stopped);
    return cli_json_close(&json) ? done : cli_stdout_failed(&tool);
}

static int learn_conv_run(int argc, char **argv) {
    conv_command j = {.a = {.seed = 1, .crop = 256, .base = -1.0}};
    int code = cli_parse(&tool, argc, argv, &j.a);
    if (code == CLI_CONTINUE) code = check_arguments(&j);
    if (code == CLI_CONTINUE) code = read_unchanged(&j);
    if (code == CLI_CONTINUE) code = learn(&j);
    if (code == CLI_CONTINUE) code = write_files(&j);
    if (code == CLI_CONTINUE) code = report(&j);
    for (int64_t p = 0; p < j.n; p++) {
        free((void *)(uintptr_t)j.pictures[p].values);
        free((void *)(uintptr_t)j.pictures[p].known);
    }
    free(j.pictures);
    free(j.a.in.inputs.text);
    free(j.fingerprint);
    csrec_model_destroy(j.start);
    csrec_model_destroy(j.model);
    return code;
}

const cli_learner cli_learn_conv = {&tool, learn_conv_run};
