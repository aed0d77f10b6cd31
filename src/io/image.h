/* image.h - PNG pictures from an open input. */
#ifndef CSREC_IO_IMAGE_H
#define CSREC_IO_IMAGE_H

#include "io/input.h"

csrec_status csrec_image_decode(csrec_input *input, csrec_image *image, csrec_error *error);

#endif
