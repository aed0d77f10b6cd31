/* input.c - reads PNG pictures and .npy arrays as signals with channels. */
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static csrec_status fail(csrec_error *error, csrec_status status, const char *path,
                         const char *what) {
    snprintf(error->text, sizeof error->text, "%s: %s", path, what);
    return status;
}

/* Splits off the axis of the channels, which pictures always have. */
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
    csrec_image image = {0};
    csrec_status status = csrec_signal_read(path, &image, error);
    if (status) return status;
    cli_signal read = {.values = image.pixels,
                       .alpha = image.alpha,
                       .bits = image.bits,
                       .palette = image.palette,
                       .partial = image.partial};
    status = split_shape(path, image.bits > 0 || channels_last, &read, error);
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
