/* fits_read.c - the first image of a FITS to values: BSCALE and BZERO applied, BLANK unknown. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/fits/fits.h"

/* ------------------------------------------------------------------ header -------------------- */

static double number_of(csrec_fits *fits, const char *key, double absent) {
    double value = absent;
    int status = 0;
    fits_read_key(fits->file, TDOUBLE, key, &value, NULL, &status);
    return status ? absent : value;
}

/* FITS has signed integers, and unsigned ones of 8 bits: the others are told by an offset. */
static csrec_dtype type_of(int bitpix, double scale, double zero) {
    bool plain = scale == 1.0 && zero == 0.0, moved = scale == 1.0;
    switch (bitpix) {
    case BYTE_IMG:
        return plain ? CSREC_U8 : moved && zero == -128.0 ? CSREC_I8 : CSREC_F32;
    case SHORT_IMG:
        return plain ? CSREC_I16 : moved && zero == 32768.0 ? CSREC_U16 : CSREC_F32;
    case LONG_IMG:
        return plain ? CSREC_I32 : moved && zero == 2147483648.0 ? CSREC_U32 : CSREC_F64;
    case LONGLONG_IMG:
        return plain ? CSREC_I64 : moved && zero == 0x1p63 ? CSREC_U64 : CSREC_F64;
    case FLOAT_IMG:
        return CSREC_F32;
    default:
        return CSREC_F64;
    }
}

/* Whether the unit has an image with data. */
static bool has_image(csrec_fits *fits, csrec_fits_image *image) {
    int kind = ANY_HDU;
    fits_get_hdu_type(fits->file, &kind, &fits->status);
    if (fits->status || kind != IMAGE_HDU) return false;
    fits_get_img_paramll(fits->file, CSREC_FITS_AXES, &image->bitpix, &image->naxis, image->naxes,
                         &fits->status);
    bool filled = image->naxis > 0;
    for (int a = 0; a < image->naxis && filled; a++) filled = image->naxes[a] > 0;
    return !fits->status && filled;
}

static csrec_status find_shape(const csrec_fits *fits, csrec_fits_image *image,
                               csrec_error *error) {
    int dims = image->naxis;
    while (dims > 1 && image->naxes[dims - 1] == 1) dims--;
    if (dims > 4)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: its image has %d axes; save one of 1 to 4 axes", fits->name, dims);
    image->shape = (csrec_shape){.dims = dims};
    for (int a = 0; a < dims; a++) image->shape.dim[a] = image->naxes[dims - 1 - a];
    return CSREC_OK;
}

/* A group's parameters, PCOUNT values, precede its image. cfitsio reads large images without a look
 * at where memory ends. */
static csrec_status check_length(csrec_fits *fits, const csrec_fits_image *image,
                                 csrec_error *error) {
    LONGLONG data = 0;
    long before = 0;
    int64_t count = 0;
    fits_get_hduaddrll(fits->file, NULL, &data, NULL, &fits->status);
    fits_read_imghdrll(fits->file, 0, NULL, NULL, NULL, NULL, &before, NULL, NULL, &fits->status);
    if (fits->status) return csrec_fits_damaged(fits, error);
    uint64_t bytes = (uint64_t)abs(image->bitpix) / 8, left = 0;
    if (data > 0 && (uint64_t)data < fits->there) left = fits->there - (uint64_t)data;
    uint64_t most = left / bytes;
    if (!csrec_shape_count(&image->shape, &count) && before >= 0 && (uint64_t)before <= most &&
        (uint64_t)count <= most - (uint64_t)before)
        return CSREC_OK;
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: declares more values than its bytes can hold; the file is truncated or "
                      "forged, write or copy it again",
                      fits->name);
}

/* The layout of the image of the current unit. A compressed one is refused: the bytes of each tile
 * would be unpacked without a look at their number. */
static csrec_status take_image(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    LONGLONG blank;
    int absent = 0;
    if (fits_is_compressed_image(fits->file, &fits->status))
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "%s: its image is compressed in tiles, which are not read; unpack it with "
            "funpack",
            fits->name);
    image->dtype =
        type_of(image->bitpix, number_of(fits, "BSCALE", 1.0), number_of(fits, "BZERO", 0.0));
    fits_read_key(fits->file, TLONGLONG, "BLANK", &blank, NULL, &absent);
    image->blank = image->bitpix > 0 && !absent;
    csrec_status status = find_shape(fits, image, error);
    return status ? status : check_length(fits, image, error);
}

csrec_status csrec_fits_find(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    for (int unit = 1; !fits->status; unit++) {
        fits_movabs_hdu(fits->file, unit, NULL, &fits->status);
        if (has_image(fits, image)) return take_image(fits, image, error);
    }
    if (fits->status != END_OF_FILE) return csrec_fits_damaged(fits, error);
    return csrec_fail(error, CSREC_DATA, "%s: has no image with data; save an image, not a table",
                      fits->name);
}

/* ------------------------------------------------------------------ values -------------------- */

int csrec_fits_type(csrec_dtype dtype) {
    switch (dtype) {
    case CSREC_I8:
        return TSBYTE;
    case CSREC_U16:
        return TUSHORT;
    case CSREC_I16:
        return TSHORT;
    case CSREC_U32:
        return TUINT;
    case CSREC_I32:
        return TINT;
    case CSREC_U64:
        return TULONGLONG;
    case CSREC_I64:
        return TLONGLONG;
    case CSREC_F32:
        return TFLOAT;
    case CSREC_F64:
        return TDOUBLE;
    default:
        return TBYTE;
    }
}

static csrec_status allocate(const csrec_fits *fits, const csrec_fits_image *image,
                             csrec_image *signal, csrec_error *error) {
    int64_t count = 0;
    csrec_shape_count(&image->shape, &count);
    uint64_t each = csrec_dtype_size(image->dtype) + image->blank;
    csrec_status status = csrec_memory_check((uint64_t)count * each, 2, fits->name, error);
    if (status) return status;
    status = csrec_array_create(image->dtype, &image->shape, &signal->pixels);
    if (!status && image->blank && !(signal->alpha = calloc((size_t)count, 1)))
        status = CSREC_MEMORY;
    return status ? csrec_fail(error, status, "%s: out of memory", fits->name) : CSREC_OK;
}

/* Without a request for unknown values cfitsio leaves NaN, infinities and subnormals as they are.
 */
static csrec_status read_values(csrec_fits *fits, csrec_image *signal, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    int type = csrec_fits_type(pixels->dtype), any;
    if (signal->alpha)
        fits_read_imgnull(fits->file, type, 1, pixels->count, pixels->data, (char *)signal->alpha,
                          &any, &fits->status);
    else
        fits_read_img(fits->file, type, 1, pixels->count, NULL, pixels->data, &any, &fits->status);
    if (fits->status) return csrec_fits_damaged(fits, error);
    for (int64_t i = 0; signal->alpha && i < pixels->count; i++)
        signal->alpha[i] = !signal->alpha[i];
    return CSREC_OK;
}

csrec_status csrec_fits_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_fits fits;
    csrec_fits_image image;
    csrec_image read = {0};
    csrec_status status = csrec_fits_open(input, &fits, error);
    if (status) return status;
    status = csrec_fits_find(&fits, &image, error);
    if (!status) status = allocate(&fits, &image, &read, error);
    if (!status) status = read_values(&fits, &read, error);
    csrec_fits_close(&fits);
    if (status)
        csrec_image_clear(&read);
    else
        *signal = read;
    return status;
}
