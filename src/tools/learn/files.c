/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - lists folders, opens picture and array files, reads their pictures. */
#include "data.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/input.h"
#include "tools/common/output.h"

/* ------------------------------------------------------------------ folders */

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

csrec_status cli_data_files_list(const cli_data_options *options, cli_data_file **files, int *count,
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
    (void)cli_data_files_list(options, &files, &n, &error);
    for (int i = 0; i < n; i++) {
        cli_paths_add(paths, &(cli_path){.path = files[i].path}); /* a file may be named twice */
        free(files[i].path);
    }
    free(files);
}

/* ------------------------------------------------------------------ opening */

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

csrec_status cli_data_file_open(cli_data_file *file, const cli_data_options *options,
                                csrec_error *error) {
    bool array = cli_format_has(csrec_format_of(file->path), CSREC_USE_ROWS);
    csrec_status status = array ? open_array(file, options, error) : open_picture(file, error);
    if (status) return status;
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

/* ------------------------------------------------------------------ pictures */

/* Luminance of ITU-R BT.601. */
static void make_gray(int64_t entries, float *values) {
    for (int64_t i = 0; i < entries / 3; i++)
        values[i] =
            0.299f * values[3 * i] + 0.587f * values[3 * i + 1] + 0.114f * values[3 * i + 2];
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

csrec_status cli_data_file_picture(const cli_data_file *file, int64_t number, bool gray, float *to,
                                   csrec_error *error) {
    csrec_status status =
        file->rows_file ? file->rows_data.read(file->rows_data.context, number * file->rows_each,
                                               file->rows_each, to, error)
                        : read_picture(file, to, error);
    if (!status && gray && file->stored == 3) make_gray(file->entries, to);
    return status;
}
