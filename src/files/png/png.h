/* SPDX-License-Identifier: BSD-3-Clause */
/* png.h - PNG pictures from an open input. */
#pragma once

#include "files/input.h"

csrec_status csrec_image_decode(csrec_input *input, csrec_image *image, csrec_error *error);

/* Of a picture as csrec_files_add_image; like: as csrec_files_add_signal. */
csrec_status csrec_png_write(csrec_files *files, const char *path, const csrec_image *image,
                             const char *like, csrec_error *error);
