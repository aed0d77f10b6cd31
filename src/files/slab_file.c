/* slab_file.c - a file whose samples are read in slabs: of a format that reads slabs of pictures
 * and arrays, or of one that finds samples by their positions. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "files/format.h"

struct csrec_slab_file {
    csrec_read_options options;
    csrec_slab_source source; /* of samples with positions; else: */
    char path[];
};

static bool is_regular(const char *path) {
    char file[CSREC_PATH_ROOM];
    struct stat info;
    return strcmp(path, "-") != 0 && stat(csrec_path_file(path, file), &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* A picture or an array, and its mask. */
static csrec_status look_at_signal(const char *path, const csrec_read_options *options,
                                   csrec_measurement *form, csrec_error *error) {
    csrec_image look, mask;
    csrec_status status = csrec_signal_look(path, &look, error);
    if (!status)
        status = csrec_image_split(&look, options->channels_last, path, &form->shape,
                                   &form->channels, error);
    if (status) return status;
    if (look.is_complex)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: complex values are read as a whole", path);
    form->dtype = look.pixels.dtype;
    if (look.bits) form->scale[1] = (double)((1 << look.bits) - 1);
    if (!options->mask) return CSREC_OK;
    if (!is_regular(options->mask))
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", options->mask);
    return csrec_signal_look(options->mask, &mask, error);
}

static csrec_status open_file(csrec_slab_file *file, csrec_measurement *form, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(file->path, &input, error);
    if (status) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    if (row && row->open_slabs)
        status = row->open_slabs(&input, &file->options, form, &file->source, error);
    csrec_input_close(&input);
    if (row && row->open_slabs) return status;
    return look_at_signal(file->path, &file->options, form, error);
}

csrec_status csrec_slab_file_open(const char *path, const csrec_read_options *options,
                                  csrec_measurement *form, csrec_slab_file **file,
                                  csrec_error *error) {
    const size_t length = strlen(path) + 1;
    *form = (csrec_measurement){0};
    if (!is_regular(path))
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", path);
    csrec_slab_file *made = calloc(1, sizeof *made + length);
    if (!made) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    memcpy(made->path, path, length);
    if (options) made->options = *options;
    made->options.slab = (csrec_slab){0, 0};
    csrec_status status = open_file(made, form, error);
    if (status)
        free(made);
    else
        *file = made;
    return status;
}

csrec_status csrec_slab_file_read(void *context, csrec_slab slab, csrec_measurement *part,
                                  csrec_error *error) {
    const csrec_slab_file *file = context;
    csrec_read_options options = file->options;
    if (slab.count < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: a slab of %lld entries", file->path,
                          (long long)slab.count);
    if (file->source.read) return file->source.read(file->source.state, slab, part, error);
    options.slab = slab;
    return csrec_measurement_read_with(file->path, &options, part, error);
}

void csrec_slab_file_close(csrec_slab_file *file) {
    if (!file) return;
    if (file->source.close) file->source.close(file->source.state);
    free(file);
}
