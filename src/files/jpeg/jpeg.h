/* SPDX-License-Identifier: BSD-3-Clause */
/* jpeg.h - JPEG pictures by libjpeg-turbo: how it fails, and the texts that begin segments. */
#ifndef CSREC_FILES_JPEG_JPEG_H
#define CSREC_FILES_JPEG_JPEG_H

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "files/input.h"

/* Where libjpeg-turbo goes when it fails; warnings, which are of damaged data, are failures. What
 * must survive the jump lives behind a pointer. */
typedef struct csrec_jpeg_trap {
    struct jpeg_error_mgr manager; /* first, as libjpeg hands it back */
    jmp_buf place;
    const char *name;
    FILE *output; /* NULL: a file is read */
    csrec_error *error;
    csrec_status status;
} csrec_jpeg_trap;

/* To be set as `err` before a file is created. */
struct jpeg_error_mgr *csrec_jpeg_trap_set(csrec_jpeg_trap *trap);

/* The segment of EXIF, APP1, begins so; and its chunk of segments of other kinds: the marker, then
 * the data. */
#define CSREC_JPEG_EXIF    "Exif\0"
#define CSREC_JPEG_SEGMENT "jpeg"
enum { CSREC_JPEG_EXIF_HEAD = 6, CSREC_JPEG_SEGMENT_MOST = 65533 };

/* As of csrec_format_row. */
csrec_status csrec_jpeg_write(csrec_files *files, const char *path, const csrec_image *image,
                              const char *like, csrec_error *error);

#endif
