/* SPDX-License-Identifier: BSD-3-Clause */
/* axes.c - which axis of an array has channels: the last one, the first, or none. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "csrec/io.h"

/* [rows, columns] items of some bytes, or NULL, become [columns, rows]; false: no memory. */
static bool transpose(void **data, int64_t rows, int64_t columns, size_t bytes) {
    const char *from = *data;
    char *to = from ? malloc((size_t)(rows * columns) * bytes) : NULL;
    for (int64_t k = 0; to && k < rows * columns; k++)
        memcpy(to + (size_t)k * bytes, from + (size_t)(k % rows * columns + k / rows) * bytes,
               bytes);
    if (from && !to) return false;
    free(*data);
    *data = to;
    return true;
}

/* Parts of complex numbers stay together, behind. */
csrec_status csrec_image_turn(csrec_image *image, bool first, const char *name,
                              csrec_error *error) {
    csrec_shape *shape = &image->pixels.shape;
    const int last = shape->dims - 1 - image->is_complex;
    if (last < 1)
        return csrec_fail(error, CSREC_DATA, "%s: has one axis, and none for channels beside it",
                          name);
    const int64_t parts = image->is_complex ? 2 : 1, channels = shape->dim[first ? last : 0];
    const int64_t rest = channels ? image->pixels.count / parts / channels : 0;
    const int64_t rows = first ? rest : channels, columns = first ? channels : rest;
    const size_t bytes = (size_t)parts * csrec_dtype_size(image->pixels.dtype);
    void *known = image->alpha;
    const bool done =
        transpose(&image->pixels.data, rows, columns, bytes) && transpose(&known, rows, columns, 1);
    image->alpha = known;
    if (!done) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    memmove(shape->dim + first, shape->dim + !first, (size_t)last * sizeof *shape->dim);
    shape->dim[first ? 0 : last] = channels;
    image->by_channel = image->alpha != NULL;
    image->has_channels = !first;
    return CSREC_OK;
}

/* Whether one axis of three may be one of channels. */
static bool is_few(const csrec_shape *shape, int axis) {
    const int64_t *dim = shape->dim, few = dim[axis];
    return shape->dims == 3 && few >= 2 && few <= 4 && dim[1] > 4 && dim[2 - axis] > 4;
}

csrec_status csrec_image_arrange(csrec_image *image, const csrec_read_options *options,
                                 const char *name, csrec_error *remark, csrec_error *error) {
    const csrec_shape *shape = &image->pixels.shape;
    if (remark) *remark->text = '\0';
    if (image->bits || image->has_channels || options->channels_last || options->volume)
        return CSREC_OK;
    if (options->channels_first) return csrec_image_turn(image, false, name, error);
    if (image->is_complex) return CSREC_OK;
    if (is_few(shape, 2))
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "%s: shape %lld x %lld x %lld: colours or a volume? give channels-last or "
            "volume",
            name, (long long)shape->dim[0], (long long)shape->dim[1], (long long)shape->dim[2]);
    if (remark && is_few(shape, 0))
        csrec_fail(remark, CSREC_OK,
                   "it is taken as a volume of %lld slices; channels-first makes them channels",
                   (long long)shape->dim[0]);
    return CSREC_OK;
}
