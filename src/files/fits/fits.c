/* SPDX-License-Identifier: BSD-3-Clause */
/* fits.c - cfitsio over memory; an image of a file to values, BSCALE and BZERO applied, BLANK
 * unknown; the row of the format. */
#include "files/fits/fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    *fits = (csrec_fits){.name = input->name, .input = input};
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
 * Of floats in tiles its flags of unknown ones are wrong (those of another tile, up to 4.6), NaN in
 * their place is not. */
static csrec_status read_values(csrec_fits *fits, const csrec_fits_image *image,
                                csrec_image *signal, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    int type = csrec_fits_types_of(pixels->dtype).memory, any;
    float single = NAN;
    double number = NAN;
    void *unknown = !image->holes ? NULL : type == TFLOAT ? (void *)&single : &number;
    if (signal->alpha)
        fits_read_imgnull(fits->file, type, 1, pixels->count, pixels->data, (char *)signal->alpha,
                          &any, &fits->status);
    else
        fits_read_img(fits->file, type, 1, pixels->count, unknown, pixels->data, &any,
                      &fits->status);
    if (fits->status) return csrec_fits_damaged(fits, error);
    for (int64_t i = 0; signal->alpha && i < pixels->count; i++)
        signal->alpha[i] = !signal->alpha[i];
    return CSREC_OK;
}

/* A plane of data quality, or of bad pixels, has 0 where a mask must not. */
static void turn_flags(const csrec_fits_image *image, csrec_image *signal) {
    if (strcasecmp(image->name, "DQ") != 0 && strcasecmp(image->name, "BPM") != 0) return;
    for (int64_t i = 0; i < signal->pixels.count; i++)
        csrec_array_set(&signal->pixels, i, csrec_array_value(&signal->pixels, i) == 0.0);
}

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_fits fits;
    csrec_fits_image image;
    csrec_image read = {0};
    csrec_status status = csrec_fits_open(input, &fits, error);
    if (status) return status;
    status = csrec_fits_find(&fits, &image, error);
    if (!status) status = allocate(&fits, &image, &read, error);
    if (!status) status = read_values(&fits, &image, &read, error);
    if (!status && input->is_mask) turn_flags(&image, &read);
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
    .members = CSREC_USE_READ,
    .signal = read_signal,
    .refusal = refusal,
    .write = csrec_fits_write,
};
