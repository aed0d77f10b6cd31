/* SPDX-License-Identifier: BSD-3-Clause */
/* input.c - reads PNG pictures and .npy arrays as signals with channels. */
#include "input.h"

#include <stdlib.h>
#include <string.h>

/* Entries of which all channels are known count. */
static void keep_whole(cli_signal *signal) {
    for (int64_t i = 0; i < signal->entries; i++) {
        const uint8_t *own = signal->alpha + i * signal->channels;
        const bool whole = !memchr(own, 0, (size_t)signal->channels);
        signal->alpha[i] = whole;
    }
}

csrec_status cli_signal_read(const char *path, const csrec_read_options *axes, cli_signal *signal,
                             csrec_error *error) {
    csrec_image image = {0};
    csrec_status status = csrec_signal_read(path, &image, error);
    if (status) return status;
    status = csrec_image_arrange(&image, axes, path, NULL, error);
    cli_signal read = {.values = image.pixels,
                       .alpha = image.alpha,
                       .bits = image.bits,
                       .palette = image.palette,
                       .is_complex = image.is_complex,
                       .partial = image.partial};
    if (!status)
        status = csrec_image_split(&image, axes->channels_last, path, &read.shape, &read.channels,
                                   error);
    if (!status) read.entries = read.values.count / read.channels;
    if (!status && image.by_channel) keep_whole(&read);
    if (!status && read.shape.dims > 4)
        status = cli_fail(error, CSREC_UNSUPPORTED,
                          "%s: signals have 1 to 4 axes; reshape, or use --channels-last", path);
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

const char *cli_place_text(const csrec_shape *shape, int64_t position, char text[192]) {
    int64_t at[CSREC_DIMS_MAX];
    size_t used = 0;
    for (int d = shape->dims - 1; d >= 0; position /= shape->dim[d--])
        at[d] = position % shape->dim[d];
    for (int d = 0; d < shape->dims; d++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%lld", d ? "," : "", (long long)at[d]);
    return text;
}
