/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - lists folders, opens picture and array files, and cuts their pictures into the rows of a
 * data matrix. Only one picture is in memory at a time, so the inputs may be larger than memory. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn.h"

typedef struct list {
    cli_data_file *file;
    int n, room;
} list;

static bool add(list *l, const char *folder, const char *name) {
    if (l->n == l->room) {
        int room = l->room ? 2 * l->room : 64;
        cli_data_file *grown = realloc(l->file, (size_t)room * sizeof *grown);
        if (!grown) return false;
        l->file = grown;
        l->room = room;
    }
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) return false;
    snprintf(path, size, "%s%s%s", folder, *folder ? "/" : "", name);
    l->file[l->n++] = (cli_data_file){.path = path};
    return true;
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const cli_data_file *)a)->path, ((const cli_data_file *)b)->path);
}

static csrec_status add_folder(list *l, const char *folder, csrec_error *error) {
    DIR *dir = opendir(folder);
    if (!dir)
        return cli_fail(error, CSREC_FILE, "%.300s: cannot be read (%s); %s", folder,
                        strerror(errno), csrec_errno_remedy(errno, "check the name"));
    int first = l->n;
    bool room = true;
    char endings[64];
    for (struct dirent *entry; room && (entry = readdir(dir));) {
        const csrec_format *format = csrec_format_of(entry->d_name);
        if (cli_format_has(format, CSREC_USE_READ) && !cli_format_has(format, CSREC_USE_TEXT))
            room = add(l, folder, entry->d_name);
    }
    closedir(dir);
    if (!room) return cli_fail(error, CSREC_MEMORY, "%.300s: out of memory", folder);
    if (l->n == first)
        return cli_fail(error, CSREC_DATA, "%.300s: has no %s files; name another folder", folder,
                        csrec_format_list(CSREC_USE_READ, false, "or", endings, sizeof endings));
    qsort(l->file + first, (size_t)(l->n - first), sizeof *l->file, by_path);
    return CSREC_OK;
}

/* The inputs, with folders replaced by their .png and .npy files, sorted by name. */
static csrec_status list_files(const cli_data_options *options, cli_data_file **files, int *count,
                               csrec_error *error) {
    list l = {NULL, 0, 0};
    csrec_status status = CSREC_OK;
    for (int i = 0; i < options->inputs.n && !status; i++) {
        struct stat info;
        const char *path = options->inputs.text[i];
        if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
            status = add_folder(&l, path, error);
        else if (!add(&l, "", path))
            status = cli_fail(error, CSREC_MEMORY, "%.300s: out of memory", path);
    }
    *files = l.file;
    *count = l.n;
    return status;
}

/* If a folder cannot be listed, opening it reports the reason. */
void cli_data_add_paths(const cli_data_options *options, cli_paths *paths) {
    csrec_error error;
    cli_data_file *files = NULL;
    int n = 0;
    (void)list_files(options, &files, &n, &error);
    for (int i = 0; i < n; i++) {
        cli_paths_add(paths, &(cli_path){.path = files[i].path}); /* a file may be named twice */
        free(files[i].path);
    }
    free(files);
}

static csrec_status read_image(const char *path, csrec_image *image, csrec_error *error) {
    csrec_status status = csrec_signal_read(path, image, error);
    if (status || image->bits) return status;
    csrec_image_clear(image);
    return cli_fail(error, CSREC_FORMAT,
                    "%.300s: is an array, not a picture; save it as .npy, whose name says so",
                    path);
}

static csrec_status open_picture(cli_data_file *file, csrec_error *error) {
    csrec_image image = {0};
    csrec_status status = read_image(file->path, &image, error);
    if (status) return status;
    if (image.alpha)
        status = cli_fail(error, CSREC_DATA,
                          "%.300s: has transparent pixels; learn from whole pictures", file->path);
    file->shape = (csrec_shape){2, {image.pixels.shape.dim[0], image.pixels.shape.dim[1]}};
    file->stored = image.pixels.shape.dim[2];
    file->entries = image.pixels.count;
    file->pictures = 1;
    file->scale[1] = 255.0; /* any number of bits: values are scaled to 0 .. 255 */
    csrec_image_clear(&image);
    return status;
}

/* A row of the file is a picture, or a line if the file is one picture [height, width]. */
static csrec_status open_array(cli_data_file *file, const cli_data_options *o, csrec_error *error) {
    csrec_shape row;
    csrec_status status =
        csrec_rows_open(file->path, &file->rows_file, &file->rows_data, &row, error);
    if (status) return status;
    int axes = row.dims - (o->channels_last ? 1 : 0);
    bool single = o->patch && axes == 1;
    if (axes < 0 || (o->patch && axes != 2 && !single))
        return cli_fail(
            error, CSREC_DATA,
            "%.300s: patches need an array [height, width] or [pictures, height, width], with "
            "a further axis for channels under --channels-last",
            file->path);
    file->stored = o->channels_last ? row.dim[axes] : 1;
    file->rows_each = single ? file->rows_data.m : 1;
    file->pictures = file->rows_data.m / file->rows_each;
    file->entries = file->rows_data.n * file->rows_each;
    file->shape = (csrec_shape){axes, {0}};
    for (int d = 0; d < axes; d++) file->shape.dim[d] = row.dim[d];
    if (single) file->shape = (csrec_shape){2, {file->rows_data.m, row.dim[0]}};
    if (axes == 0) file->shape = (csrec_shape){1, {1}};
    return CSREC_OK;
}

static csrec_status data_file_open(cli_data_file *file, const cli_data_options *options,
                                   csrec_error *error) {
    bool array = cli_format_has(csrec_format_of(file->path), CSREC_USE_ROWS);
    CLI_TRY(array ? open_array(file, options, error) : open_picture(file, error));
    if (options->gray && file->stored != 1 && file->stored != 3)
        return cli_fail(error, CSREC_DATA, "%.300s: --gray needs 3 channels", file->path);
    file->channels = options->gray ? 1 : file->stored;
    file->height = file->shape.dim[0];
    file->width = file->shape.dims > 1 ? file->shape.dim[1] : 1;
    return CSREC_OK;
}

void cli_data_file_close(cli_data_file *file) {
    csrec_rows_close(file->rows_file);
    free(file->path);
    *file = (cli_data_file){0};
}

static csrec_status read_picture(const cli_data_file *file, float *to, csrec_error *error) {
    csrec_image image = {0};
    csrec_status status = read_image(file->path, &image, error);
    if (status) return status;
    double unit = 255.0 / (double)((1 << image.bits) - 1);
    if (image.pixels.count != file->entries)
        status = cli_fail(error, CSREC_FILE, "%.300s: changed while it was read", file->path);
    for (int64_t i = 0; i < image.pixels.count && !status; i++)
        to[i] = (float)(unit * csrec_array_value(&image.pixels, i));
    csrec_image_clear(&image);
    return status;
}

/* Reads picture `number` of the file, channels fastest, into to [file->entries]. */
static csrec_status data_file_picture(const cli_data_file *file, int64_t number, bool gray,
                                      float *to, csrec_error *error) {
    csrec_status status =
        file->rows_file ? file->rows_data.read(file->rows_data.context, number * file->rows_each,
                                               file->rows_each, to, error)
                        : read_picture(file, to, error);
    /* Luminance of ITU-R BT.601. */
    for (int64_t i = 0; i < file->entries / 3 && !status && gray && file->stored == 3; i++)
        to[i] = 0.299f * to[3 * i] + 0.587f * to[3 * i + 1] + 0.114f * to[3 * i + 2];
    return status;
}

static int64_t patches_along(int64_t size, int64_t patch, int64_t stride) {
    return size < patch ? 0 : (size - patch) / stride + 1;
}

static csrec_status hold_picture(cli_data *d, const cli_data_file *file, int64_t number,
                                 csrec_error *error) {
    if (d->held == file->first_picture + number) return CSREC_OK;
    d->held = -1;
    csrec_status status = data_file_picture(file, number, d->options->gray, d->picture, error);
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
    CLI_TRY(hold_picture(d, file, inside / file->patches, error));
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
        CLI_TRY(read_row(d, row, &at, X + i * d->data.n, error));
    }
    return CSREC_OK;
}

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
    CLI_TRY(data_file_open(file, d->options, error));
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
    csrec_status status = list_files(d->options, &d->files, &d->n_files, error);
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
