/* SPDX-License-Identifier: BSD-3-Clause */
/* exr.h - OpenEXR files by OpenEXRCore: opening them over an input or an output, their attributes.
 */
#ifndef CSREC_FILES_EXR_EXR_H
#define CSREC_FILES_EXR_EXR_H

#include <openexr.h>
#include <stdio.h>

#include "files/input.h"

/* An open file. The library's messages go to `text`, the first of them is kept. */
typedef struct csrec_exr {
    exr_context_t file;
    const char *name; /* for messages */
    csrec_input *input;
    FILE *output;
    uint64_t at; /* position in output */
    char text[160];
} csrec_exr;

/* The first part is read and written, others are not looked at. */
enum { CSREC_EXR_PART = 0 };

/* On failure nothing is open. The input must outlive the file. */
csrec_status csrec_exr_open(csrec_input *input, csrec_exr *exr, csrec_error *error);
csrec_status csrec_exr_create(FILE *output, const char *name, csrec_exr *exr, csrec_error *error);
/* Of an output: writes what is left. */
exr_result_t csrec_exr_close(csrec_exr *exr);

/* "NAME: damaged OpenEXR (what the library said)", or that the output cannot be written. */
csrec_status csrec_exr_failed(csrec_exr *exr, exr_result_t result, csrec_error *error);

/* What is read of a file: R, G and B, or Y, or its only channel besides A. */
typedef struct csrec_exr_layout {
    exr_attr_box2i_t window; /* of the data: its extents are the signal's */
    int32_t height, width;
    int channels, channel[3]; /* in the file's list */
    int alpha;                /* the channel A there, -1: none */
    csrec_dtype dtype;        /* U32 if all channels are, else F32 */
    bool half;                /* one of them has 16 bits */
    bool tiled;
    exr_compression_t compression;
    double stored; /* bytes of all channels in the file, unpacked */
} csrec_exr_layout;

csrec_status csrec_exr_layout_read(csrec_exr *exr, csrec_exr_layout *layout, csrec_error *error);

/* Copies what describes the picture, not how it is stored: windows, camera, colours, texts, and
 * what is unknown to OpenEXR. Not the preview, which shows the picture with its holes. */
void csrec_exr_copy_attributes(exr_const_context_t from, exr_context_t to);

csrec_status csrec_exr_signal(csrec_input *input, csrec_image *signal, csrec_error *error);
csrec_status csrec_exr_write(csrec_files *files, const char *path, const csrec_image *signal,
                             const char *like, csrec_error *error);

#endif
