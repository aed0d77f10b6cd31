/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - cuts pictures and arrays into the rows of a data matrix. Only one picture is in
 * memory at a time, so the inputs may be larger than memory. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn.h"

/* ------------------------------------------------------------------ reading rows */

static int64_t patches_along(int64_t size, int64_t patch, int64_t stride) {
    return size < patch ? 0 : (size - patch) / stride + 1;
}

static csrec_status hold_picture(cli_data *d, const cli_data_file *file, int64_t number,
                                 csrec_error *error) {
    if (d->held == file->first_picture + number) return CSREC_OK;
    d->held = -1;
    csrec_status status = cli_data_file_picture(file, number, d->options->gray, d->picture, error);
    int64_t count = file->entries / file->stored * file->channels;
    for (int64_t i = 0; i < count && !status; i++)
        if (!isfinite(d->picture[i]))
            status =
                cli_fail(error, CSREC_DATA,
                         "%s: entry %lld of row or picture %lld is not finite or too large for "
                         "float32; leave it out (numpy.isfinite)",
                         file->path, (long long)i, (long long)number);
    if (!status) d->held = file->first_picture + number;
    return status;
}

static void cut_patch(const cli_data *d, const cli_data_file *file, int64_t patch, float *to) {
    int64_t channels = d->channels, across = file->across;
    int64_t y = patch / across * d->stride, x = patch % across * d->stride;
    for (int64_t i = 0; i < d->patch[0]; i++)
        memcpy(to + i * d->patch[1] * channels, d->picture + ((y + i) * file->width + x) * channels,
               (size_t)(d->patch[1] * channels) * sizeof *to);
}

/* Reads patch `row` of all inputs; callers ask for mostly ascending rows. */
static csrec_status read_row(cli_data *d, int64_t row, int *at, float *to, csrec_error *error) {
    while (row < d->files[*at].first_row) --*at;
    while (row >= d->files[*at].first_row + d->files[*at].rows) ++*at;
    const cli_data_file *file = &d->files[*at];
    int64_t inside = row - file->first_row;
    csrec_status status = hold_picture(d, file, inside / file->patches, error);
    if (status) return status;
    if (d->patch[0])
        cut_patch(d, file, inside % file->patches, to);
    else
        memcpy(to, d->picture, (size_t)d->data.n * sizeof *to);
    return CSREC_OK;
}

static csrec_status read_rows(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    cli_data *d = context;
    int at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = d->picked.n ? d->picked.index[first + i] : first + i;
        csrec_status status = read_row(d, row, &at, X + i * d->data.n, error);
        if (status) return status;
    }
    return CSREC_OK;
}

/* ------------------------------------------------------------------ opening */

static int parse_patch(const cli_tool *tool, const cli_data_options *o, cli_data *d) {
    if (!o->patch) return CLI_CONTINUE;
    if (!cli_extents_read(o->patch, 65535, d->patch))
        return cli_usage(tool, "--patch: '%s' is not HEIGHTxWIDTH, such as 8x8", o->patch);
    const int64_t least = d->patch[0] < d->patch[1] ? d->patch[0] : d->patch[1];
    d->stride = o->stride ? o->stride : (least + 3) / 4;
    return CLI_CONTINUE;
}

/* All rows must have the same shape (whole pictures), number of channels and scale. */
static csrec_status check_alike(const cli_data *d, const cli_data_file *file, csrec_error *error) {
    const cli_data_file *one = d->files;
    if (file->channels != one->channels)
        return cli_fail(error, CSREC_DATA, "%s: has %lld channels where %s has %lld; give --gray",
                        file->path, (long long)file->channels, one->path, (long long)one->channels);
    if (file->scale[1] != one->scale[1])
        return cli_fail(error, CSREC_DATA,
                        "%s: its values have another range than those of %s; learn from files of "
                        "one range",
                        file->path, one->path);
    for (int a = 0; !d->patch[0] && a < CSREC_DIMS_MAX; a++)
        if (file->shape.dims != one->shape.dims || file->shape.dim[a] != one->shape.dim[a])
            return cli_fail(error, CSREC_DATA,
                            "%s: its size differs from that of %s; give --patch HxW, or pictures "
                            "of one size",
                            file->path, one->path);
    if (d->patch[0] && file->patches == 0)
        return cli_fail(error, CSREC_DATA, "%s: is smaller than the patch; give a smaller --patch",
                        file->path);
    return CSREC_OK;
}

static csrec_status open_file(cli_data *d, int i, csrec_error *error) {
    cli_data_file *file = &d->files[i];
    csrec_status status = cli_data_file_open(file, d->options, error);
    if (status) return status;
    file->patches = 1;
    if (d->patch[0]) {
        file->across = patches_along(file->width, d->patch[1], d->stride);
        file->patches = patches_along(file->height, d->patch[0], d->stride) * file->across;
    }
    file->rows = file->pictures * file->patches;
    file->first_row = d->patches;
    file->first_picture = d->pictures;
    d->patches += file->rows;
    d->pictures += file->pictures;
    return check_alike(d, file, error);
}

static csrec_status allocate(cli_data *d, csrec_error *error) {
    int64_t largest = 0;
    for (int i = 0; i < d->n_files; i++)
        if (d->files[i].entries > largest) largest = d->files[i].entries;
    d->picture = malloc((size_t)largest * sizeof *d->picture);
    if (!d->picture) return cli_fail(error, CSREC_MEMORY, "out of memory for a picture");
    if (d->options->most == 0 || d->options->most >= d->patches) return CSREC_OK;
    csrec_shape line = {1, {d->patches}};
    csrec_status status = csrec_sampling_create(&line, CSREC_PATTERN_UNIFORM, d->options->most,
                                                d->options->seed, &d->picked, error);
    if (!status) d->data.m = d->picked.n;
    return status;
}

/* "" if they are unknown. */
static void take_contents(const cli_data *d, char text[CLI_CONTENTS_ROOM]) {
    const char **paths = malloc(((size_t)d->n_files + 1) * sizeof *paths);
    text[0] = '\0';
    for (int i = 0; paths && i < d->n_files; i++) paths[i] = d->files[i].path;
    if (paths) cli_contents_of(d->n_files, paths, text, NULL);
    free(paths);
}

int cli_data_check_unchanged(const cli_tool *tool, const cli_data *data) {
    char now[CLI_CONTENTS_ROOM];
    csrec_error error;
    take_contents(data, now);
    if (strcmp(now, data->contents) == 0) return CLI_CONTINUE;
    for (int i = 0; i < data->n_files; i++) {
        const char *path = data->files[i].path;
        if (cli_files_lost(1, &path, &error)) return cli_failure(tool, "%s", error.text);
    }
    return cli_failure(tool, "%s: changed while it was read; run again when it is complete",
                       data->source);
}

void cli_data_fingerprint(const cli_data *data, cli_fingerprint *line) {
    cli_fingerprint_contents(line, "inputs", data->contents);
    cli_fingerprint_text(line, "data", data->settings);
    if (data->options->channels_last) cli_fingerprint_text(line, "channels", "last");
}

static csrec_status open_all(cli_data *d, csrec_error *error) {
    csrec_status status = cli_data_files_list(d->options, &d->files, &d->n_files, error);
    if (!status) take_contents(d, d->contents);
    for (int i = 0; i < d->n_files && !status; i++) status = open_file(d, i, error);
    if (status) return status;
    d->channels = d->files->channels;
    memcpy(d->scale, d->files->scale, sizeof d->scale);
    d->shape = d->files->shape;
    if (d->patch[0]) d->shape = (csrec_shape){2, {d->patch[0], d->patch[1]}};
    d->data = (csrec_data){.m = d->patches, .n = d->channels, .read = read_rows, .context = d};
    for (int a = 0; a < d->shape.dims; a++) d->data.n *= d->shape.dim[a];
    return allocate(d, error);
}

static void describe(cli_data *d) {
    size_t used = 0, room = sizeof d->settings;
    cli_inputs_list(&d->options->inputs, ", ", false, d->source, sizeof d->source);
    if (d->patch[0])
        used =
            (size_t)snprintf(d->settings, room, "patch %lldx%lld, stride %lld, ",
                             (long long)d->patch[0], (long long)d->patch[1], (long long)d->stride);
    snprintf(d->settings + used, room - used, "%lld of %lld rows from %lld pictures%s, seed %llu",
             (long long)d->data.m, (long long)d->patches, (long long)d->pictures,
             d->options->gray ? ", luminance" : "", (unsigned long long)d->options->seed);
}

int cli_data_open(const cli_tool *tool, const cli_data_options *options, cli_data *data) {
    csrec_error error = {{0}};
    *data = (cli_data){.options = options, .held = -1};
    int code = parse_patch(tool, options, data);
    if (code != CLI_CONTINUE) return code;
    if (open_all(data, &error)) return cli_failure(tool, "%s", error.text);
    describe(data);
    return CLI_CONTINUE;
}

void cli_data_close(cli_data *data) {
    for (int i = 0; i < data->n_files; i++) cli_data_file_close(&data->files[i]);
    free(data->files);
    free(data->picture);
    csrec_sampling_clear(&data->picked);
    *data = (cli_data){.held = -1};
}
