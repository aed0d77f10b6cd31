/* input.c - reads PNG pictures and .npy arrays as signals with channels. */
#include "input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csrec_status fail(csrec_error *error, csrec_status status, const char *path,
                         const char *what) {
    snprintf(error->text, sizeof error->text, "%s: %s", path, what);
    return status;
}

static csrec_status fail_open(csrec_error *error, const char *path, int cause) {
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (cause == EISDIR) return fail(error, CSREC_FILE, name, "is a folder; name a file");
    snprintf(error->text, sizeof error->text, "%s: cannot be read (%s); check the name", name,
             strerror(cause));
    return CSREC_FILE;
}

/* What a first byte that no signal starts with says. */
static csrec_status refuse_format(csrec_error *error, const char *path, int byte) {
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (byte == EOF) return fail(error, CSREC_FORMAT, name, "is empty; write the file again");
    if (byte == 'P')
        return fail(error, CSREC_FORMAT, name,
                    "may be an .npz archive, and holds no single signal; save the array as .npy");
    return fail(error, CSREC_FORMAT, name,
                "neither a PNG picture nor a NumPy .npy array; convert it to one of these");
}

/* The first byte, left in place for the reader that comes next; EOF if there is none. */
static csrec_status first_byte(const char *path, int *byte, csrec_error *error) {
    bool from_stdin = strcmp(path, "-") == 0;
    FILE *file = from_stdin ? stdin : fopen(path, "rb");
    if (!file) return fail_open(error, path, errno);
    errno = 0;
    *byte = getc(file);
    int cause = ferror(file) ? errno : 0;
    if (from_stdin)
        ungetc(*byte, file);
    else
        fclose(file);
    return cause ? fail_open(error, path, cause) : CSREC_OK;
}

static csrec_status read_picture(const char *path, cli_signal *signal, csrec_error *error) {
    csrec_image image = {0};
    csrec_status status = csrec_image_read(path, &image, error);
    if (status) return status;
    *signal = (cli_signal){.values = image.pixels,
                           .alpha = image.alpha,
                           .bits = image.bits,
                           .palette = image.palette,
                           .partial = image.partial};
    return CSREC_OK;
}

/* Separates the channels' axis. Pictures always have one. */
static csrec_status split_shape(const char *path, bool channels_last, cli_signal *signal,
                                csrec_error *error) {
    csrec_shape shape = signal->values.shape;
    if (shape.dims == 0 || signal->values.count == 0)
        return fail(error, CSREC_DATA, path,
                    "a scalar or empty array has nothing to sample; save 1 to 4 axes");
    if (channels_last && shape.dims < 2)
        return fail(error, CSREC_DATA, path,
                    "a 1-D array has no axis for channels; leave out --channels-last");
    signal->channels = channels_last ? shape.dim[--shape.dims] : 1;
    signal->shape = shape;
    signal->entries = signal->values.count / signal->channels;
    if (shape.dims > 4)
        return fail(error, CSREC_UNSUPPORTED, path,
                    "signals have 1 to 4 axes; reshape, or use --channels-last");
    return CSREC_OK;
}

csrec_status cli_signal_read(const char *path, bool channels_last, cli_signal *signal,
                             csrec_error *error) {
    cli_signal read = {0};
    int byte = EOF;
    csrec_status status = first_byte(path, &byte, error);
    if (status) return status;
    bool picture = byte == 0x89; /* \x89PNG against \x93NUMPY */
    if (picture)
        status = read_picture(path, &read, error);
    else if (byte == 0x93)
        status = csrec_array_read(path, &read.values, error);
    else
        return refuse_format(error, path, byte);
    if (!status) status = split_shape(path, picture || channels_last, &read, error);
    if (status)
        cli_signal_clear(&read);
    else
        *signal = read;
    return status;
}

void cli_signal_clear(cli_signal *signal) {
    csrec_array_clear(&signal->values);
    free(signal->alpha);
    *signal = (cli_signal){0};
}

const char *cli_shape_text(const csrec_shape *shape, char text[192]) {
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < shape->dims; d++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%lld", d ? " x " : "",
                                 (long long)shape->dim[d]);
    return text;
}
