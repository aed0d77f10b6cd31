/* SPDX-License-Identifier: BSD-3-Clause */
/* input.h - whole signals from files: the input of cssample, the reference of csrecover. */
#ifndef CSREC_TOOLS_COMMON_INPUT_H
#define CSREC_TOOLS_COMMON_INPUT_H

#include "options.h"

typedef struct cli_signal {
    csrec_array values; /* C order, channels fastest */
    csrec_shape shape;  /* without channels */
    int64_t entries, channels;
    uint8_t *alpha;  /* as csrec_image: NULL, or 0 where a pixel is transparent */
    int64_t partial; /* pixels of partial opacity */
    int bits;        /* of a PNG: 1 .. 16; 0: an array */
    bool palette;
    bool is_complex; /* values are pairs of real and imaginary parts, counted as channels */
} cli_signal;

/* Reads a PNG or .npy, recognised by its first bytes. path "-" is stdin. axes: what is said
 * of those of an array. */
csrec_status cli_signal_read(const char *path, const csrec_read_options *axes, cli_signal *signal,
                             csrec_error *error);
void cli_signal_clear(cli_signal *signal);

/* "height x width" and so on, for messages. */
const char *cli_shape_text(const csrec_shape *shape, char text[192]);

/* A position as coordinates, "row,col". */
const char *cli_place_text(const csrec_shape *shape, int64_t position, char text[192]);

#endif
