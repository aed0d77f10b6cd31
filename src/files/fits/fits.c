/* SPDX-License-Identifier: BSD-3-Clause */
/* fits.c - cfitsio over memory; the first image of a file to values, BSCALE and BZERO applied,
 * BLANK unknown; the row of the format. */
#include "files/fits/fits.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/measurement.h"

/* ------------------------------------------------------------------ open and close ------------ */

csrec_status csrec_fits_damaged(csrec_fits *fits, csrec_error *error) {
    char text[FLEN_STATUS] = "";
    fits_get_errstatus(fits->status, text);
    if (fits->status == MEMORY_ALLOCATION)
        return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", fits->name);
    return csrec_fail(error, CSREC_FORMAT, "%s: damaged FITS (%s); write or copy the file again",
                      fits->name, text);
}

/* cfitsio reads whole blocks, also past the end of memory: the last one is made whole. */
static csrec_status pad(csrec_fits *fits, const csrec_input *input, csrec_error *error) {
    size_t size = (size_t)input->size, rest = size % CSREC_FITS_BLOCK;
    fits->bytes = (void *)(uintptr_t)input->bytes;
    fits->there = fits->size = size;
    if (rest == 0) return CSREC_OK;
    csrec_status status = csrec_memory_check(input->size, 1, fits->name, error);
    if (status) return status;
    fits->size = size - rest + CSREC_FITS_BLOCK;
    fits->bytes = fits->padded = malloc(fits->size);
    if (!fits->padded) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", fits->name);
    memcpy(fits->padded, input->bytes, size);
    memset((char *)fits->padded + size, 0, fits->size - size);
    return CSREC_OK;
}

csrec_status csrec_fits_open(csrec_input *input, csrec_fits *fits, csrec_error *error) {
    *fits = (csrec_fits){.name = input->name};
    csrec_status status = csrec_input_load(input, error);
    if (!status) status = pad(fits, input, error);
    if (status) return status;
    fits_write_errmark();
    fits_open_memfile(&fits->file, "memory", READONLY, &fits->bytes, &fits->size, 0, NULL,
                      &fits->status);
    if (!fits->status) return CSREC_OK;
    status = csrec_fits_damaged(fits, error);
    fits->file = NULL;
    free(fits->padded);
    fits_clear_errmark();
    return status;
}

csrec_status csrec_fits_create(const char *name, size_t bytes, csrec_fits *fits,
                               csrec_error *error) {
    *fits = (csrec_fits){.name = name, .size = bytes};
    csrec_status status = csrec_memory_check(bytes, 1, name, error);
    if (status) return status;
    fits->bytes = calloc(bytes, 1);
    if (!fits->bytes) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    fits_write_errmark();
    fits_create_memfile(&fits->file, &fits->bytes, &fits->size, 1 << 16, realloc, &fits->status);
    if (!fits->status) return CSREC_OK;
    status = csrec_fits_damaged(fits, error);
    fits->file = NULL;
    fits_clear_errmark();
    free(fits->bytes);
    return status;
}

bool csrec_fits_close(csrec_fits *fits) {
    int closing = 0;
    if (!fits->file) return false;
    fits_close_file(fits->file, &closing);
    fits_clear_errmark();
    fits->file = NULL;
    free(fits->padded);
    if (!fits->status) fits->status = closing;
    return fits->status == 0;
}

/* ------------------------------------------------------------------ header -------------------- */

static double number_of(csrec_fits *fits, const char *key, double absent) {
    double value = absent;
    int status = 0;
    fits_read_key(fits->file, TDOUBLE, key, &value, NULL, &status);
    return status ? absent : value;
}

/* FITS has signed integers, and unsigned ones of 8 bits: the others are told by an offset. */
static csrec_dtype type_of(int bitpix, double scale, double zero) {
    static const struct {
        int bitpix;
        double zero; /* of the other sign */
        csrec_dtype plain, moved, scaled;
    } types[] = {{BYTE_IMG, -128.0, CSREC_U8, CSREC_I8, CSREC_F32},
                 {SHORT_IMG, 32768.0, CSREC_I16, CSREC_U16, CSREC_F32},
                 {LONG_IMG, 2147483648.0, CSREC_I32, CSREC_U32, CSREC_F64},
                 {LONGLONG_IMG, 0x1p63, CSREC_I64, CSREC_U64, CSREC_F64}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (bitpix != types[i].bitpix) continue;
        if (scale == 1.0 && zero == 0.0) return types[i].plain;
        return scale == 1.0 && zero == types[i].zero ? types[i].moved : types[i].scaled;
    }
    return bitpix == FLOAT_IMG ? CSREC_F32 : CSREC_F64;
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
    return csrec_fail_forged(fits->name, "values", error);
}

/* The layout of the image of the current unit. A compressed one is refused: the bytes of each tile
 * would be unpacked without a look at their number. */
static csrec_status take_image(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    LONGLONG blank;
    int absent = 0;
    if (fits_is_compressed_image(fits->file, &fits->status))
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "%s: its image is compressed in tiles, which are not read; unpack it with funpack",
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

csrec_fits_types csrec_fits_types_of(csrec_dtype dtype) {
    static const csrec_fits_types types[] = {
        [CSREC_BOOL] = {TBYTE, BYTE_IMG},        [CSREC_U8] = {TBYTE, BYTE_IMG},
        [CSREC_I8] = {TSBYTE, SBYTE_IMG},        [CSREC_U16] = {TUSHORT, USHORT_IMG},
        [CSREC_I16] = {TSHORT, SHORT_IMG},       [CSREC_U32] = {TUINT, ULONG_IMG},
        [CSREC_I32] = {TINT, LONG_IMG},          [CSREC_U64] = {TULONGLONG, ULONGLONG_IMG},
        [CSREC_I64] = {TLONGLONG, LONGLONG_IMG}, [CSREC_F32] = {TFLOAT, FLOAT_IMG},
        [CSREC_F64] = {TDOUBLE, DOUBLE_IMG}};
    return types[dtype];
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
    int type = csrec_fits_types_of(pixels->dtype).memory, any;
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

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_fits fits;
    csrec_fits_image image;
    csrec_image read = {0};
    csrec_status status = csrec_fits_open(input, &fits, error);
    if (status) return status;
    status = csrec_fits_find(&fits, &image, error);
    if (!status) status = allocate(&fits, &image, &read, error);
    if (!status) status = read_values(&fits, &read, error);
    csrec_fits_close(&fits);
    return csrec_image_deliver(status, &read, signal);
}

/* ------------------------------------------------------------------ the row ------------------- */

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = shape->dims + (channels > 1) <= 4;
    return fits ? NULL : "a FITS image has at most 4 axes, channels being one of them; write .npy";
}

const csrec_format_row csrec_fits_format = {
    .format = {"fits", ".fits .fit .fts", "FITS", "a FITS image",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TYPES,
               CSREC_FITS_NEEDS},
    .magic = {{CSREC_FITS_MAGIC, sizeof CSREC_FITS_MAGIC - 1}},
    .signal = read_signal,
    .refusal = refusal,
    .write = csrec_fits_write,
};
