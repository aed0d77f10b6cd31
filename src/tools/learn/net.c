/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c - priors: networks that complete pictures, adapted to given ones. */
#include <stdlib.h>
#include <string.h>

#include "learn.h"
#include "tools/common/progress.h"

typedef struct {
    cli_learn_sources in;
    const char *output;
    int64_t steps, batch, patch, threads;
    int channels, backend;
    double minutes, rate;
    uint64_t seed;
    bool exact, no_sync, json, quiet;
} arguments;

static const char *channels_name(int i) {
    static const char *const names[] = {"1", "3"};
    return i >= 0 && i < 2 ? names[i] : NULL;
}

static const cli_option options[] = {
    CLI_MODEL_OUTPUT(arguments),
    CLI_LEARN_SOURCES(in, "weights"),
    {"channels", 'c', CLI_CHOICE, "1|3",
     "Channels of the pictures (default 1, or those of --resume).", CLI_AT(channels),
     .choice = channels_name, .group = "Training", .brief = "1: gray (default), 3: colour"},
    {"minutes", 'T', CLI_REAL, "M", "Time to train (default 10).", CLI_AT(minutes), .low = 1e-3,
     .high = 1e5, .brief = "time to train (default 10)"},
    {"steps", 'n', CLI_INTEGER, "N",
     "Train for so many steps; without --minutes, the same steps give the same model.",
     CLI_AT(steps), .low = 1, .high = 1e9, .brief = "train for so many steps instead"},
    {"rate", 'R', CLI_REAL, "R", "Rate of Adam at its peak (default 1e-4).", CLI_AT(rate),
     .low = 1e-9, .high = 1.0},
    {"batch", 'B', CLI_INTEGER, "N", "Pictures in a step (default 64).", CLI_AT(batch), .low = 1,
     .high = 4096, .brief = "pictures in a step (default 64)"},
    {"patch", 'p', CLI_INTEGER, "N", "Their side in pixels, a multiple of 8 (default 128).",
     CLI_AT(patch), .low = 16, .high = 1024, .brief = "their side in pixels (default 128)"},
    {"exact", 'e', CLI_FLAG, NULL,
     "On a device, multiply as accurately as floats instead of in tf32, in about twice the time.",
     CLI_AT(exact), .group = CLI_EXPERT},
    {"seed", 0, CLI_SEED, "S", "Seed of all random choices (default 1).", CLI_AT(seed)},
    CLI_BACKEND(arguments),
    CLI_THREADS(arguments),
    CLI_NO_SYNC(arguments),
    CLI_JSON(arguments),
    CLI_QUIET(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "cslearn net",
    .brief = "Adapts the network that completes pictures to your own.",
    .synopsis = "INPUT... -o PRIOR.npz [OPTION...]",
    .details =
        "An INPUT is a picture ({read or}), or a folder of them, in which transparent pixels, or "
        "with --mask masked pixels, are unknown; or a measurement ({arrays or}, .csv). The "
        "installed prior, for gray or with --channels 3 for colour, or that of --resume, is "
        "trained further on parts of them. A GPU takes a minute for what takes a CPU two hours: "
        "there --minutes 5. "
        "The arrays `loss` and `psnr` of the model show the progress, PSNR on other parts, which "
        "may overlap, at 10 and 25 % known. Ctrl-C writes the weights so far; --resume continues "
        "from them. Without pictures, priors are trained from nothing by training/ of the source.\n"
        "Exit code: 0 done, 1 failure, 2 wrong usage, 130 interrupted, 143 by SIGTERM, with the "
        "weights so far written.",
    .examples = "cslearn net photo.png -o own.npz --steps 2 --batch 2 --patch 32 # to try\n"
                "csrecover scan.npz --model own.npz -o photo.png",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, in.inputs),
    .many = true,
    .optional = true};

typedef struct {
    arguments a;
    csrec_net_picture *pictures;
    int64_t n, channels;
    cli_data_file *files;
    int n_files;
    cli_learn_sources from; /* those of a, with folders replaced by their files */
    csrec_model *start, *model;
    bool stopped;
    char *fingerprint;
} net_command;

static int check_arguments(net_command *j) {
    arguments *a = &j->a;
    if (a->patch % 8)
        return cli_usage(&tool, "--patch: %lld is not a multiple of 8", (long long)a->patch);
    int code = cli_model_check(&tool, &a->in.inputs, a->output, NULL);
    if (code != CLI_CONTINUE || a->in.inputs.n) return code;
    return cli_usage(&tool, "no INPUT to adapt the prior to; name pictures, or train a prior from "
                            "nothing with training/ of the source");
}

/* Channels of the network from those of a picture: all, or their mean. */
static void take_values(const net_command *j, const cli_learn_input *in, float *own,
                        csrec_net_picture *to) {
    const int64_t origin[2] = {0, 0}, n = to->height * to->width;
    float *values = (float *)(uintptr_t)to->values;
    uint8_t *known = (uint8_t *)(uintptr_t)to->known;
    double black = in->scale[0], range = in->scale[1] - in->scale[0];
    for (int64_t c = 0; c < in->channels; c++) {
        int64_t target = in->channels == j->channels ? c : 0;
        double share = in->channels == j->channels ? 1.0 : 1.0 / (double)in->channels;
        memset(own, 0, (size_t)n * sizeof *own);
        cli_learn_input_window(in, c, origin, in->shape.dim, own, known);
        for (int64_t i = 0; i < n; i++)
            if (known[i])
                values[target * n + i] += (float)(share * 255.0 * ((double)own[i] - black) / range);
    }
}

/* Black and white of the file or, where it does not say, its least and largest value. */
static void find_scale(cli_learn_input *in) {
    if (in->scale[0] != in->scale[1]) return;
    const csrec_measurement *m = &in->samples;
    int64_t count = m->n ? m->n * m->channels : in->picture.values.count;
    double least = 0.0, most = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double v = m->n ? m->y[i] : csrec_array_value(&in->picture.values, i);
        if (i == 0 || v < least) least = v;
        if (i == 0 || v > most) most = v;
    }
    in->scale[0] = least;
    in->scale[1] = most > least ? most : least + 1.0;
}

static int add_picture(net_command *j, const char *path, cli_learn_input *in) {
    size_t n = (size_t)(in->shape.dim[0] * in->shape.dim[1]);
    float *values = calloc((size_t)j->channels * n, sizeof *values);
    float *own = malloc(n * sizeof *own);
    uint8_t *known = calloc(n, 1);
    if (!values || !own || !known) {
        free(values);
        free(own);
        free(known);
        return cli_failure(&tool, "%s: out of memory", path);
    }
    csrec_net_picture *to = &j->pictures[j->n++];
    *to = (csrec_net_picture){in->shape.dim[0], in->shape.dim[1], values, known};
    find_scale(in);
    take_values(j, in, own, to);
    free(own);
    return CLI_CONTINUE;
}

static int read_input(net_command *j, const char *path) {
    cli_learn_input in;
    int code = cli_learn_input_open(&tool, path, j->a.in.mask, &in);
    if (code == CLI_CONTINUE && j->channels != 1 && in.channels != j->channels)
        code = cli_failure(&tool, "%s: has %lld channels, not %lld; %s", path,
                           (long long)in.channels, (long long)j->channels,
                           j->start ? "name a colour picture, or --resume a model of 1 channel"
                                    : "omit --channels 3");
    if (code == CLI_CONTINUE) code = add_picture(j, path, &in);
    cli_learn_input_clear(&in);
    return code;
}

/* Sets the channels: those asked for, those of the model to continue from, or 1. */
static int read_start(net_command *j) {
    const char *asked = channels_name(j->a.channels);
    int code = cli_learn_start_read(&tool, &j->a.in, "net", "network", &j->start);
    if (code != CLI_CONTINUE) return code;
    int64_t own =
        j->start ? (int64_t)csrec_array_value(csrec_model_array(j->start, "channels"), 0) : 1;
    j->channels = asked ? *asked - '0' : own;
    if (j->channels == own || !j->start) return CLI_CONTINUE;
    return cli_failure(&tool, "%s: array 'channels': is %lld; omit --channels %s", j->a.in.resume,
                       (long long)own, asked);
}

static int list_files(net_command *j) {
    const cli_data_options data = {.inputs = j->a.in.inputs};
    csrec_error error;
    j->from = (cli_learn_sources){.mask = j->a.in.mask, .resume = j->a.in.resume};
    if (cli_data_files_list(&data, &j->files, &j->n_files, &error))
        return cli_failure(&tool, "%s", error.text);
    j->from.inputs = (cli_operands){calloc((size_t)j->n_files + 1, sizeof(char *)), j->n_files};
    j->pictures = calloc((size_t)j->n_files + 1, sizeof *j->pictures);
    if (!j->from.inputs.text || !j->pictures) return cli_failure(&tool, "out of memory");
    for (int i = 0; i < j->n_files; i++) j->from.inputs.text[i] = j->files[i].path;
    return CLI_CONTINUE;
}

static char *fingerprint_of(const net_command *j) {
    const arguments *a = &j->a;
    cli_fingerprint line;
    cli_learn_fingerprint_begin(&line, &tool, &j->from);
    cli_fingerprint_text(&line, "channels", channels_name(a->channels));
    cli_fingerprint_integer(&line, "steps", a->steps);
    cli_fingerprint_integer(&line, "batch", a->batch);
    cli_fingerprint_integer(&line, "patch", a->patch);
    cli_fingerprint_real(&line, "minutes", a->minutes);
    cli_fingerprint_real(&line, "rate", a->rate);
    if (a->exact) cli_fingerprint_integer(&line, "exact", 1);
    cli_fingerprint_text(&line, "backend", cli_backend_name(a->backend));
    cli_fingerprint_integer(&line, "seed", (int64_t)a->seed);
    return cli_fingerprint_end(&line);
}

static int read_unchanged(net_command *j) {
    int code = list_files(j);
    if (code != CLI_CONTINUE) return code;
    j->fingerprint = fingerprint_of(j);
    code = read_start(j);
    for (int i = 0; i < j->n_files && code == CLI_CONTINUE; i++)
        code = read_input(j, j->files[i].path);
    if (code != CLI_CONTINUE) return code;
    return cli_learn_check_unchanged(&tool, &j->from, j->fingerprint, fingerprint_of(j));
}

static int learn(net_command *j) {
    const arguments *a = &j->a;
    cli_progress progress;
    csrec_error error;
    csrec_net_learn_options o = {.channels = j->channels,
                                 .minutes = a->minutes,
                                 .steps = a->steps,
                                 .batch = a->batch,
                                 .patch = a->patch,
                                 .rate = a->rate,
                                 .from = j->start,
                                 .seed = a->seed,
                                 .threads = (int)a->threads,
                                 .backend = a->backend >= 0 ? cli_backend_name(a->backend) : NULL,
                                 .exact = a->exact,
                                 .progress = cli_progress_report,
                                 .context = &progress};
    cli_progress_start(&progress, a->quiet);
    cli_progress_next(&progress, a->output, 0.0);
    csrec_status status = csrec_net_learn(j->n, j->pictures, &o, &j->model, &j->stopped, &error);
    cli_progress_finish(&progress);
    return status ? cli_failure(&tool, "%s", error.text) : CLI_CONTINUE;
}

/* The options that the weights depend on. */
static void describe_settings(const net_command *j, size_t size, char *text) {
    const arguments *a = &j->a;
    int used = snprintf(text, size, "--channels %lld", (long long)j->channels);
    used += snprintf(text + used, size - (size_t)used, " --seed %llu", (unsigned long long)a->seed);
    if (a->rate > 0.0) used += snprintf(text + used, size - (size_t)used, " --rate %g", a->rate);
    if (a->minutes > 0.0)
        used += snprintf(text + used, size - (size_t)used, " --minutes %g", a->minutes);
    if (a->steps)
        used += snprintf(text + used, size - (size_t)used, " --steps %lld", (long long)a->steps);
    if (a->in.resume) snprintf(text + used, size - (size_t)used, " --resume %.100s", a->in.resume);
}

static int write_files(net_command *j) {
    const arguments *a = &j->a;
    char source[1024], settings[256];
    csrec_error error;
    cli_inputs_list(&a->in.inputs, ", ", true, source, sizeof source);
    describe_settings(j, sizeof settings, settings);
    cli_fingerprint_set_whole(j->fingerprint, !j->stopped);
    const cli_model_files to = {.output = a->output,
                                .no_sync = a->no_sync,
                                .fingerprint = j->fingerprint,
                                .source = source,
                                .settings = settings};
    return cli_model_save(j->model, &to, &error) ? cli_failure(&tool, "%s", error.text)
                                                 : CLI_CONTINUE;
}

static int report(const net_command *j) {
    const csrec_array *loss = csrec_model_array(j->model, "loss");
    const csrec_array *psnr = csrec_model_array(j->model, "psnr");
    int64_t n = loss ? loss->count : 0;
    int done = j->stopped ? CLI_INTERRUPTED : CLI_DONE;
    if (!j->a.json) {
        if (!j->a.quiet)
            cli_note(&tool, "%s: %lld weights, loss %.3f, %.2f dB on parts, on %s%s", j->a.output,
                     (long long)csrec_model_array(j->model, "weights")->count,
                     n ? csrec_array_value(loss, n - 1) : 0.0,
                     n ? csrec_array_value(psnr, n - 1) : 0.0,
                     csrec_model_text(j->model, "backend"), j->stopped ? ", interrupted" : "");
        return done;
    }
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "output", j->a.output);
    cli_json_text(&json, "kind", "net");
    cli_json_text(&json, "backend", csrec_model_text(j->model, "backend"));
    cli_json_integer(&json, "pictures", j->n);
    cli_json_integer(&json, "weights", csrec_model_array(j->model, "weights")->count);
    cli_json_reals(&json, "loss", (int)n, n ? loss->data : NULL);
    cli_json_reals(&json, "psnr", (int)n, n ? psnr->data : NULL);
    cli_json_flag(&json, "interrupted", j->stopped);
    return cli_json_close(&json) ? done : cli_stdout_failed(&tool);
}

static int learn_net_run(int argc, char **argv) {
    net_command j = {.a = {.seed = 1, .channels = -1, .backend = -1}};
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
    for (int i = 0; i < j.n_files; i++) cli_data_file_close(&j.files[i]);
    free(j.files);
    free(j.from.inputs.text);
    free(j.a.in.inputs.text);
    free(j.fingerprint);
    csrec_model_destroy(j.start);
    csrec_model_destroy(j.model);
    return code;
}

const cli_learner cli_learn_net = {&tool, learn_net_run};
