/* SPDX-License-Identifier: BSD-3-Clause */
/* fits.c - cfitsio over memory; an image of a file to values, BSCALE and BZERO applied, BLANK
 * unknown; the row of the format. */
#include "files/fits/fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "files/format.h"

csrec_status csrec_fits_damaged(csrec_fits *fits, csrec_error *error) {
    char text[FLEN_STATUS] = "";
    fits_get_errstatus(fits->status, text);
    if (fits->status == MEMORY_ALLOCATION) return csrec_memory_fail(error, fits->name);
    return csrec_fail(error, CSREC_FORMAT, "%s: damaged FITS (%s); write or copy the file again",
                      fits->name, text);
}

/* cfitsio reads whole blocks, also past the end of memory: the last one is made whole. */
static csrec_status pad(csrec_fits *fits, const csrec_input *input, csrec_error *error) {
    size_t size = (size_t)input->size, rest = size % CSREC_FITS_BLOCK;
    fits->bytes = (void *)(uintptr_t)input->bytes;
    fits->there = fits->size = size;
    if (rest == 0) return CSREC_OK;
    CSREC_TRY(csrec_memory_check(input->size, 1, fits->name, error));
    fits->size = size - rest + CSREC_FITS_BLOCK;
    fits->bytes = fits->padded = malloc(fits->size);
    if (!fits->padded) return csrec_memory_fail(error, fits->name);
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
    CSREC_TRY(csrec_memory_check(bytes, 1, name, error));
    fits->bytes = calloc(bytes, 1);
    if (!fits->bytes) return csrec_memory_fail(error, name);
    fits_write_errmark();
    fits_create_memfile(&fits->file, &fits->bytes, &fits->size, 1 << 16, realloc, &fits->status);
    if (!fits->status) return CSREC_OK;
    csrec_status status = csrec_fits_damaged(fits, error);
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

/* Whether the unit has an image with data; one that is compressed in tiles counts. */
static bool has_image(csrec_fits *fits, csrec_fits_image *image) {
    int kind = ANY_HDU, absent = 0;
    fits_get_hdu_type(fits->file, &kind, &fits->status);
    if (fits->status || kind != IMAGE_HDU) return false;
    fits_get_img_paramll(fits->file, CSREC_FITS_AXES, &image->bitpix, &image->naxis, image->naxes,
                         &fits->status);
    bool filled = image->naxis > 0;
    for (int a = 0; a < image->naxis && filled; a++) filled = image->naxes[a] > 0;
    image->name[0] = '\0';
    fits_read_key(fits->file, TSTRING, "EXTNAME", image->name, NULL, &absent);
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
 * at where memory ends. Of tiles all there is to see is where their table ends. */
static csrec_status check_length(csrec_fits *fits, const csrec_fits_image *image, bool packed,
                                 csrec_error *error) {
    LONGLONG data = 0, end = 0;
    long before = 0;
    int64_t count = 0;
    fits_get_hduaddrll(fits->file, NULL, &data, &end, &fits->status);
    if (!packed)
        fits_read_imghdrll(fits->file, 0, NULL, NULL, NULL, NULL, &before, NULL, NULL,
                           &fits->status);
    if (fits->status) return csrec_fits_damaged(fits, error);
    uint64_t bytes = (uint64_t)abs(image->bitpix) / 8, left = 0;
    if (data > 0 && (uint64_t)data < fits->there) left = fits->there - (uint64_t)data;
    uint64_t most = packed ? INT64_MAX : left / bytes;
    if (!csrec_shape_count(&image->shape, &count) && before >= 0 && (uint64_t)before <= most &&
        (uint64_t)count <= most - (uint64_t)before && (!packed || (uint64_t)end <= fits->size))
        return CSREC_OK;
    return csrec_fail_forged(fits->name, "values", error);
}

static bool has_key(csrec_fits *fits, const char *key) {
    int absent = 0;
    char card[FLEN_CARD];
    fits_read_card(fits->file, key, card, &absent);
    return !absent;
}

/* Tiles are unpacked without a look at what they hold; damage shows by their sums, if there are. */
static csrec_status check_sums(csrec_fits *fits, csrec_error *error) {
    int data = 0, whole = 0;
    fits_verify_chksum(fits->file, &data, &whole, &fits->status);
    if (!fits->status && (data < 0 || whole < 0)) fits->status = DATA_DECOMPRESSION_ERR;
    return fits->status ? csrec_fits_damaged(fits, error) : CSREC_OK;
}

/* The layout of the image of the current unit. */
static csrec_status take_image(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    const bool packed = fits_is_compressed_image(fits->file, &fits->status) != 0;
    image->dtype =
        type_of(image->bitpix, number_of(fits, "BSCALE", 1.0), number_of(fits, "BZERO", 0.0));
    image->blank = image->bitpix > 0 && has_key(fits, "BLANK");
    image->holes = packed && image->bitpix < 0;
    if (packed && image->bitpix > 0 && has_key(fits, "ZBLANK")) image->blank = true;
    image->nodata = number_of(fits, has_key(fits, "BLANK") ? "BLANK" : "ZBLANK", 0.0) +
                    number_of(fits, "BZERO", 0.0);
    csrec_status status = find_shape(fits, image, error);
    if (!status) status = check_length(fits, image, packed, error);
    return status || !packed ? status : check_sums(fits, error);
}

/* Fills text with the first images that have data, "[1] SCI,2", and returns their number; a
 * fingerprint of ours is none. Goes to the last unit. */
static int list_images(csrec_fits *fits, char text[300]) {
    csrec_fits_image image;
    int count = 0, ended = 0;
    size_t used = 0;
    text[0] = '\0';
    fits->status = 0;
    for (int unit = 0; !fits_movabs_hdu(fits->file, unit + 1, NULL, &ended); unit++) {
        if (!has_image(fits, &image) || strcmp(image.name, "FINGERPRINT") == 0) continue;
        if (count++ < 6 && used < 300)
            used += (size_t)snprintf(text + used, 300 - used, "%s[%d]", used ? ", " : "", unit);
        if (count <= 6 && image.name[0] && used < 300)
            used += (size_t)snprintf(text + used, 300 - used, " %.32s,%.6g", image.name,
                                     number_of(fits, "EXTVER", 1.0));
    }
    if (count > 6 && used < 300) snprintf(text + used, 300 - used, ", ...");
    csrec_text_clean(text);
    fits->status = 0;
    return count;
}

static csrec_status refuse_name(csrec_fits *fits, csrec_error *error) {
    char list[300];
    if (list_images(fits, list) > 0)
        return csrec_fail(error, CSREC_DATA, "%s: has no such image with data; it has %s",
                          fits->name, list);
    return csrec_fail(error, CSREC_DATA, "%s: has no image with data; save an image, not a table",
                      fits->name);
}

/* To the unit that cfitsio would take for FILE[NAME]. */
static void go_to(csrec_fits *fits, const char *member) {
    char spec[FLEN_VALUE], name[FLEN_VALUE], column[FLEN_FILENAME], row[FLEN_FILENAME];
    int number, version, kind;
    snprintf(spec, sizeof spec, "%.*s", (int)strcspn(member + 1, "];"), member + 1);
    fits_parse_extspec(spec, &number, name, &version, &kind, column, row, &fits->status);
    if (name[0])
        fits_movnam_hdu(fits->file, IMAGE_HDU, name, version, &fits->status);
    else
        fits_movabs_hdu(fits->file, number + 1, NULL, &fits->status);
}

csrec_status csrec_fits_find(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    char list[300];
    int unit = 1;
    const char *member = fits->input->member;
    if (member) {
        go_to(fits, member);
        return has_image(fits, image) ? take_image(fits, image, error) : refuse_name(fits, error);
    }
    while (!fits_movabs_hdu(fits->file, unit, NULL, &fits->status) && !has_image(fits, image))
        unit++;
    if (fits->status == END_OF_FILE) return refuse_name(fits, error);
    if (fits->status) return csrec_fits_damaged(fits, error);
    if (list_images(fits, list) > 1)
        csrec_input_note(fits->input, "its first image is read, of %s; FILE[NAME] reads another",
                         list);
    fits_movabs_hdu(fits->file, unit, NULL, &fits->status);
    has_image(fits, image);
    return take_image(fits, image, error);
}

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
    CSREC_TRY(csrec_memory_check((uint64_t)count * each, 2, fits->name, error));
    csrec_status status = csrec_array_create(image->dtype, &image->shape, &signal->pixels);
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
    CSREC_TRY(csrec_fits_open(input, &fits, error));
    csrec_status status = csrec_fits_find(&fits, &image, error);
    if (!status) status = allocate(&fits, &image, &read, error);
    if (!status) status = read_values(&fits, &image, &read, error);
    if (!status && input->is_mask) turn_flags(&image, &read);
    csrec_fits_close(&fits);
    read.has_nodata = read.alpha && image.dtype < CSREC_F32;
    read.nodata = image.nodata;
    return csrec_image_deliver(status, &read, signal);
}

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
