/* SPDX-License-Identifier: BSD-3-Clause */
/* next.c - cssample --next: the positions to measure next. */
#include <stdlib.h>
#include <string.h>

#include "sample.h"

typedef struct {
    const cli_tool *tool;
    const cli_sample_arguments *a;
    csrec_measurement measurement;
    double *density; /* [entries], or NULL */
    csrec_sampling next;
    double length[2]; /* of the path, before and after */
    cli_progress progress;
} job;

int cli_next_check(const cli_tool *tool, const cli_sample_arguments *a) {
    char list[64];
    const char *other = a->rate > 0.0     ? "--rate"
                        : a->count > 0    ? "--count"
                        : a->pattern >= 0 ? "--pattern"
                        : a->noise_given  ? "--noise"
                        : a->mask_out     ? "--mask-out"
                        : a->procedural   ? "--procedural"
                        : a->guides.n > 0 ? "--guide"
                                          : NULL;
    if (other) return cli_usage(tool, "%s does not go with --next; omit it", other);
    if (a->sequence && (a->density || a->even))
        return cli_usage(tool, "%s does not go with --sequence, whose frames tell; omit it",
                         a->density ? "--density" : "--even");
    if (a->even && a->density)
        return cli_usage(tool, "--density and --even exclude each other; omit one");
    if (!a->output) return cli_usage(tool, "nothing to write: give -o NEXT.csv");
    if (a->json && cli_is_dash(a->output))
        return cli_usage(tool, "--json and -o - both write to stdout; write to a file");
    const csrec_format *format = csrec_format_of(a->output);
    const char *dot = strrchr(a->output, '.');
    bool table = cli_is_dash(a->output) || (dot && strcmp(dot, ".csv") == 0);
    if (!table && !cli_format_has(format, CSREC_USE_ARRAYS))
        return cli_usage(tool, "--output %s: positions are .csv or %s; or - for stdout (.csv)",
                         a->output,
                         csrec_format_list(CSREC_USE_ARRAYS, false, "or", list, sizeof list));
    if (cli_is_dash(a->input) && cli_is_dash(a->density))
        return cli_usage(tool, "the input and --density cannot both be stdin");
    return cli_output_check(tool, a->output);
}

static int fail(job *j, csrec_status status, const char *path, const csrec_error *error) {
    if (path)
        cli_failure(j->tool, "%s: %s", path, error->text);
    else
        cli_failure(j->tool, "%s", error->text);
    return status == CSREC_STOPPED ? CLI_INTERRUPTED : CLI_FAILURE;
}

/* The density in the file, one value a position. */
static int read_density(job *j, const char *path) {
    csrec_error error;
    cli_signal signal = {0};
    char have[192], want[192];
    int code = CLI_CONTINUE;
    if (cli_signal_read(path, &(csrec_read_options){.volume = true}, &signal, &error))
        return fail(j, CSREC_FILE, NULL, &error);
    if (!csrec_shape_equal(&signal.shape, &j->measurement.shape))
        code = cli_failure(j->tool,
                           "%s: density of shape %s for a measurement of %s; save it in "
                           "the measurement's shape",
                           path, cli_shape_text(&signal.shape, have),
                           cli_shape_text(&j->measurement.shape, want));
    else if (signal.channels > 1)
        code = cli_failure(j->tool, "%s: density has %lld channels; save it in gray", path,
                           (long long)signal.channels);
    else if (!(j->density = malloc((size_t)signal.entries * sizeof *j->density)))
        code = cli_failure(j->tool, "%s: out of memory", path);
    for (int64_t i = 0; code == CLI_CONTINUE && i < signal.entries; i++)
        j->density[i] = csrec_array_value(&signal.values, i);
    cli_signal_clear(&signal);
    return code;
}

/* The errors that the default recovery expects, over all channels. */
static int expect_errors(job *j) {
    const csrec_measurement *m = &j->measurement;
    csrec_recover_options options;
    csrec_error error;
    int64_t entries = 0;
    csrec_recover_defaults(&options);
    options.solve.progress = cli_progress_report;
    options.solve.context = &j->progress;
    csrec_shape_count(&m->shape, &entries);
    j->density = malloc((size_t)entries * sizeof *j->density);
    if (!j->density) return cli_failure(j->tool, "%s: out of memory", j->a->input);
    csrec_status status = csrec_uncertainty_density(m, &options, j->density, &error);
    return status ? fail(j, status, j->a->input, &error) : CLI_CONTINUE;
}

/* Those before them are beyond the frames that a frame is recovered from. */
enum { FRAMES_MOST = 4 };

/* In the order of their numbers? Shells sort names as words. */
static void tell_order(const job *j) {
    const cli_operands *in = &j->a->inputs;
    const int i = j->a->quiet ? 0 : cli_names_turn(in);
    if (i > 0)
        cli_note(j->tool, "note: %s comes before %s, as they are given, and %s is the last",
                 in->text[i - 1], in->text[i], j->a->input);
}

static csrec_status push_frame(job *j, const char *path, csrec_sequence *sequence,
                               csrec_error *error) {
    const csrec_read_options options = {.channels_last = j->a->channels_last,
                                        .channels_first = j->a->channels_first,
                                        .empty = true};
    csrec_measurement m = {0};
    csrec_error why;
    csrec_status status = csrec_measurement_read_with(path, &options, &m, error);
    if (!status) {
        int64_t entries = 0;
        status = csrec_shape_count(&m.shape, &entries);
        double *signal = malloc((size_t)(entries * m.channels) * sizeof *signal);
        if (!signal) status = CSREC_MEMORY, cli_fail(&why, status, "out of memory");
        while (!status && csrec_sequence_ready(sequence)) /* of a method without a window */
            status = csrec_sequence_take(sequence, signal, NULL, NULL, &why);
        if (!status) status = csrec_sequence_push(sequence, &m, &why);
        if (status) cli_fail(error, status, "%s: %s", path, why.text);
        free(signal);
    }
    j->measurement = (csrec_measurement){.shape = m.shape};
    csrec_measurement_clear(&m);
    return status;
}

/* Of the frame to come nothing is measured. */
static int find_in_next_frame(job *j) {
    const cli_operands *in = &j->a->inputs;
    const csrec_next_options options = {.count = j->a->next,
                                        .seed = j->a->seed,
                                        .progress = cli_progress_report,
                                        .context = &j->progress};
    csrec_error error, why;
    csrec_sequence *sequence = NULL;
    csrec_status status = csrec_sequence_create(NULL, &sequence, &error);
    for (int i = in->n > FRAMES_MOST ? in->n - FRAMES_MOST : 0; i < in->n && !status; i++)
        status = push_frame(j, in->text[i], sequence, &error);
    if (status) {
        csrec_sequence_destroy(sequence);
        return fail(j, status, NULL, &error);
    }
    status = csrec_sequence_next(sequence, &options, &j->next, &why);
    if (!status) tell_order(j);
    csrec_sequence_destroy(sequence);
    if (!status && j->a->path)
        status = csrec_path_order(&j->measurement.shape, j->next.n, j->next.index,
                                  cli_progress_report, &j->progress, j->length, &why);
    return status ? fail(j, status, j->a->input, &why) : CLI_CONTINUE;
}

/* Where the error is thought to be large: j->density, NULL for everywhere. */
static int density_of(job *j) {
    if (j->a->even) return CLI_CONTINUE;
    return j->a->density ? read_density(j, j->a->density) : expect_errors(j);
}

static int find(job *j) {
    const cli_sample_arguments *a = j->a;
    csrec_error error;
    csrec_next_options options = {.count = a->next,
                                  .seed = a->seed,
                                  .progress = cli_progress_report,
                                  .context = &j->progress};
    csrec_status status = (j->measurement.rays ? csrec_rays_next : csrec_where_next)(
        &j->measurement, j->density, &options, &j->next, &error);
    if (!status && a->path)
        status = csrec_path_order(&j->measurement.shape, j->next.n, j->next.index,
                                  cli_progress_report, &j->progress, j->length, &error);
    bool density = status == CSREC_DATA && a->density;
    return status ? fail(j, status, density ? a->density : a->input, &error) : CLI_CONTINUE;
}

/* Coordinates as in a measurement's .csv, to which values can be added. */
static void print_table(const job *j, FILE *file) {
    static const char *const header[] = {"i", "row,col", "z,y,x"};
    const int64_t *rays = j->next.rays;
    char place[192];
    const csrec_shape *shape = &j->measurement.shape;
    fprintf(file, "# shape: ");
    for (int d = 0; d < shape->dims; d++)
        fprintf(file, "%s%lld", d ? "," : "", (long long)shape->dim[d]);
    fprintf(file, "\n%s%s\n", header[shape->dims - 1], rays ? ",rays" : "");
    for (int64_t k = 0; k < j->next.n; k++) {
        fputs(cli_place_text(shape, j->next.index[k], place), file);
        if (rays) fprintf(file, ",%lld", (long long)rays[k]);
        fputc('\n', file);
    }
}

static csrec_status add_table(const job *j, csrec_files *files, csrec_error *error) {
    cli_text text;
    cli_fail(error, CSREC_MEMORY, "%s: out of memory", j->a->output);
    if (!cli_text_open(&text)) return CSREC_MEMORY;
    print_table(j, text.file);
    if (!cli_text_close(&text)) return CSREC_MEMORY;
    csrec_status status = csrec_files_add_bytes(files, j->a->output, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}

static csrec_status add_arrays(const job *j, csrec_files *files, csrec_error *error) {
    static const char *const names[] = {"index", "shape", "rays"};
    csrec_shape extents = j->measurement.shape;
    csrec_array index = {CSREC_I64, {1, {j->next.n}}, j->next.n, j->next.index};
    csrec_array shape = {CSREC_I64, {1, {extents.dims}}, extents.dims, extents.dim};
    csrec_array rays = {CSREC_I64, {1, {j->next.n}}, j->next.n, j->next.rays};
    const csrec_array *const arrays[] = {&index, &shape, &rays};
    return csrec_files_add_npz(files, j->a->output, j->next.rays ? 3 : 2, names, arrays, error);
}

static int write_next(const job *j) {
    csrec_error error;
    csrec_files *files = NULL;
    bool arrays = cli_format_has(csrec_format_of(j->a->output), CSREC_USE_ARRAYS);
    csrec_status status =
        csrec_files_create(&(csrec_files_options){.no_sync = j->a->no_sync}, &files, &error);
    if (!status) status = (arrays ? add_arrays : add_table)(j, files, &error);
    bool stopped = cli_interrupted();
    if (!status && !stopped) status = csrec_files_commit(files, &error);
    csrec_files_destroy(files);
    if (!status && stopped) return CLI_INTERRUPTED;
    return status ? cli_failure(j->tool, "%s", error.text) : CLI_CONTINUE;
}

static int report(const job *j) {
    const cli_sample_arguments *a = j->a;
    const csrec_measurement *m = &j->measurement;
    cli_json json;
    if (a->path && !a->quiet && !a->json)
        cli_note(j->tool, "%s: path of %.0f pixels, %.0f in raster order", a->output, j->length[1],
                 j->length[0]);
    const bool told = a->verbose || (!a->quiet && !a->json);
    const char *to = cli_is_dash(a->output) ? "stdout" : a->output;
    if (told && j->next.rays)
        cli_note(j->tool, "%s -> %s: %lld rays at %lld positions, seed %llu", a->input, to,
                 (long long)a->next, (long long)j->next.n, (unsigned long long)a->seed);
    else if (told)
        cli_note(j->tool,
                 "%s -> %s: %lld positions beside %lld that are measured, seed %llu, at least %.4g "
                 "apart",
                 a->input, to, (long long)j->next.n, (long long)m->n, (unsigned long long)a->seed,
                 j->next.min_distance);
    if (!a->json) return CLI_DONE;
    cli_json_open(&json, stdout);
    cli_json_text(&json, "input", a->input);
    cli_json_text(&json, "output", a->output);
    cli_json_text(&json, "density", a->density);
    cli_json_integers(&json, "shape", m->shape.dims, m->shape.dim);
    cli_json_integer(&json, "measured", m->n);
    cli_json_integer(&json, "next", j->next.n);
    if (j->next.rays) cli_json_integer(&json, "rays", a->next);
    cli_json_unsigned(&json, "seed", a->seed);
    cli_json_real(&json, "min_distance", j->next.min_distance);
    if (a->path) cli_json_real(&json, "raster_length", j->length[0]);
    if (a->path) cli_json_real(&json, "path_length", j->length[1]);
    return cli_json_close(&json) ? CLI_DONE : cli_stdout_failed(j->tool);
}

/* Adds the samples of a file to those of the files before it. */
static csrec_status add_samples(job *j, const char *path, csrec_error *error) {
    const csrec_read_options options = {.channels_last = j->a->channels_last,
                                        .channels_first = j->a->channels_first,
                                        .volume = j->a->volume,
                                        .progress = cli_progress_report,
                                        .context = &j->progress};
    csrec_measurement part = {0}, joined;
    const csrec_measurement *const parts[] = {&j->measurement, &part};
    csrec_error why;
    if (j->measurement.n == 0)
        return csrec_measurement_read_with(path, &options, &j->measurement, error);
    csrec_status status = csrec_measurement_read_with(path, &options, &part, error);
    if (!status && (status = csrec_measurement_merge(2, parts, &joined, NULL, &why)))
        cli_fail(error, status, "%s: %s", path, why.text);
    csrec_measurement_clear(&part);
    if (status) return status;
    csrec_measurement_clear(&j->measurement);
    j->measurement = joined;
    return CSREC_OK;
}

static int search(job *j) {
    csrec_error error;
    csrec_status status = CSREC_OK;
    if (j->a->sequence) return find_in_next_frame(j);
    for (int i = 0; i < j->a->inputs.n && !status; i++)
        status = add_samples(j, j->a->inputs.text[i], &error);
    if (status) return fail(j, status, NULL, &error);
    if (j->measurement.rays && j->a->path)
        return cli_failure(j->tool, "%s: has rays, which --path does not order; omit it",
                           j->a->input);
    const int code = density_of(j);
    return code == CLI_CONTINUE ? find(j) : code;
}

int cli_next_run(const cli_tool *tool, const cli_sample_arguments *a) {
    job j = {.tool = tool, .a = a};
    cli_progress_start(&j.progress, a->quiet);
    int code = search(&j);
    cli_progress_finish(&j.progress);
    if (code == CLI_CONTINUE) code = write_next(&j);
    if (code == CLI_CONTINUE) code = report(&j);
    csrec_measurement_clear(&j.measurement);
    csrec_sampling_clear(&j.next);
    free(j.density);
    return code;
}
