/* measurement_picture.c - a picture whose opaque or masked pixels are the samples. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/format.h"
#include "io/measurement.h"

/* A mask array [H, W] or [H, W, C]: a pixel counts where any of its channels is not 0. */
static csrec_status check_mask(const csrec_array *pixels, const char *name, int64_t height,
                               int64_t width, csrec_error *error) {
    const csrec_shape *shape = &pixels->shape;
    if (pixels->dtype == CSREC_F32 || pixels->dtype == CSREC_F64)
        return csrec_fail(error, CSREC_DATA, "%s: a mask of floats; save mask.astype(bool)", name);
    if (shape->dims >= 2 && shape->dims <= 3 && shape->dim[0] == height && shape->dim[1] == width)
        return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: the mask's shape is not that of the %lld x %lld picture (height x "
                      "width); give one of the same size",
                      name, (long long)height, (long long)width);
}

static csrec_status flatten(const csrec_array *pixels, const char *name, int64_t size,
                            uint8_t **mask, csrec_error *error) {
    int64_t channels = pixels->shape.dims == 3 ? pixels->shape.dim[2] : 1;
    *mask = calloc((size_t)size, 1);
    if (!*mask) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    for (int64_t i = 0; i < size; i++)
        for (int64_t c = 0; c < channels; c++)
            (*mask)[i] |= csrec_array_value(pixels, i * channels + c) != 0;
    if (memchr(*mask, 1, (size_t)size)) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: the mask marks no pixel; mark at least one", name);
}

/* The size of a picture is checked before its pixels are unpacked. */
static csrec_status decode_mask(csrec_input *input, int64_t height, int64_t width,
                                csrec_image *image, csrec_error *error) {
    csrec_image seen;
    bool transparent;
    char list[64];
    const csrec_format_row *row = csrec_input_format(input);
    if (!row || !(row->format.uses & CSREC_USE_READ))
        return csrec_fail(
            error, CSREC_FORMAT, "%s: is no mask; give a %s whose non-zero pixels are samples",
            input->name, csrec_format_list(CSREC_USE_READ, true, "or", list, sizeof list));
    csrec_status status = row->peek ? row->peek(input, &seen, &transparent, error) : CSREC_OK;
    if (status == CSREC_OK && row->peek)
        status = check_mask(&seen.pixels, input->name, height, width, error);
    return status == CSREC_OK ? row->signal(input, image, error) : status;
}

static csrec_status read_mask(const char *path, int64_t height, int64_t width, uint8_t **mask,
                              csrec_error *error) {
    csrec_input input;
    csrec_image image = {0};
    csrec_status status = csrec_input_open(path, &input, error);
    if (status != CSREC_OK) return status;
    status = decode_mask(&input, height, width, &image, error);
    if (status == CSREC_OK) status = check_mask(&image.pixels, input.name, height, width, error);
    if (status == CSREC_OK)
        status = flatten(&image.pixels, input.name, height * width, mask, error);
    csrec_image_clear(&image);
    csrec_input_close(&input);
    return status;
}

static csrec_status take_samples(const csrec_image *image, const uint8_t *mask, const char *name,
                                 csrec_measurement *m, csrec_error *error) {
    const csrec_shape *shape = &image->pixels.shape;
    int64_t size = shape->dim[0] * shape->dim[1], channels = shape->dim[2], k = 0;
    for (int64_t i = 0; i < size; i++) m->n += mask[i];
    if (m->n == 0)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: no pixel is a sample (all transparent or masked out); mark at least one", name);
    m->channels = channels;
    m->dtype = image->pixels.dtype;
    m->shape = (csrec_shape){2, {shape->dim[0], shape->dim[1]}};
    m->scale[1] = (double)((1 << image->bits) - 1);
    csrec_status status = csrec_measurement_allocate(m, name, error);
    if (status != CSREC_OK) return status;
    for (int64_t i = 0; i < size; i++) {
        if (!mask[i]) continue;
        m->index[k] = i;
        for (int64_t c = 0; c < channels; c++)
            m->y[k * channels + c] = csrec_array_value(&image->pixels, i * channels + c);
        k++;
    }
    return CSREC_OK;
}

/* The sizes of the picture and its mask are checked before any pixel is unpacked. */
static csrec_status begin(csrec_input *input, const csrec_format_row *row, const char *mask_path,
                          csrec_image *seen, uint8_t **mask, csrec_error *error) {
    bool transparent;
    csrec_status status = row->peek(input, seen, &transparent, error);
    const int64_t *size = seen->pixels.shape.dim;
    if (status != CSREC_OK) return status;
    if (mask_path) return read_mask(mask_path, size[0], size[1], mask, error);
    if (transparent) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: has no transparent pixels to tell samples by; give a mask, or sample "
                      "it with cssample",
                      input->name);
}

csrec_status csrec_measurement_from_picture(csrec_input *input, const char *mask_path,
                                            csrec_measurement *measurement, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_image seen, image = {0};
    csrec_measurement m = {0};
    uint8_t *mask = NULL;
    csrec_status status = begin(input, row, mask_path, &seen, &mask, error);
    if (status == CSREC_OK) status = row->signal(input, &image, error);
    const uint8_t *known = mask ? mask : image.alpha;
    bool same = memcmp(&image.pixels.shape, &seen.pixels.shape, sizeof seen.pixels.shape) == 0;
    /* The mask is as large as the picture was. */
    if (status == CSREC_OK && (!known || !same))
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: changed while it was read; read the file again", input->name);
    if (status == CSREC_OK) status = take_samples(&image, known, input->name, &m, error);
    free(mask);
    csrec_image_clear(&image);
    if (status == CSREC_OK) *measurement = m;
    return status;
}
