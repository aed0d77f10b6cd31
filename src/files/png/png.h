/* png.h - PNG pictures from an open input. */
#ifndef CSREC_FILES_PNG_PNG_H
#define CSREC_FILES_PNG_PNG_H

#include "files/input.h"

csrec_status csrec_image_decode(csrec_input *input, csrec_image *image, csrec_error *error);

/* Reads what precedes the pixels: pixels->dtype and shape, bits, palette, and whether it has
 * transparency. No data, nothing to free; the input can be decoded afterwards. */
csrec_status csrec_image_peek(csrec_input *input, csrec_image *image, bool *transparent,
                              csrec_error *error);

#endif
