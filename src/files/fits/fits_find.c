/* SPDX-License-Identifier: BSD-3-Clause */
/* fits_find.c - which image of a FITS is meant, and its layout. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "files/fits/fits.h"

/* ------------------------------------------------------------------ layout -------------------- */

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
    if (packed && image->bitpix == LONGLONG_IMG)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has tiles of 64-bit integers, which cfitsio does not read; save it "
                          "without compression",
                          fits->name);
    csrec_status status = find_shape(fits, image, error);
    if (!status) status = check_length(fits, image, packed, error);
    return status || !packed ? status : check_sums(fits, error);
}

/* ------------------------------------------------------------------ choice -------------------- */

enum { LISTED = 6 };

/* Fills text with the images that have data, "[1] SCI,2", and returns their number; a fingerprint
 * of ours is none. Goes to the last unit. */
static int list_images(csrec_fits *fits, char *text, size_t room) {
    csrec_fits_image image;
    int count = 0, moved = 0;
    size_t used = 0;
    fits->status = 0;
    for (int unit = 0; !fits_movabs_hdu(fits->file, unit + 1, NULL, &moved); unit++) {
        if (!has_image(fits, &image) || strcmp(image.name, "FINGERPRINT") == 0) continue;
        char version[24] = "";
        if (has_key(fits, "EXTVER"))
            snprintf(version, sizeof version, ",%.6g", number_of(fits, "EXTVER", 1.0));
        if (count++ < LISTED && used < room)
            used += (size_t)snprintf(text + used, room - used, "%s[%d]%s%.40s%s", used ? ", " : "",
                                     unit, image.name[0] ? " " : "", image.name,
                                     image.name[0] ? version : "");
        if (count == LISTED + 1 && used < room) snprintf(text + used, room - used, ", ...");
    }
    for (char *at = text; *at; at++)
        if (*at < 32 || *at > 126) *at = '?';
    fits->status = 0;
    return count;
}

static csrec_status refuse_name(csrec_fits *fits, csrec_error *error) {
    char list[300] = "";
    if (list_images(fits, list, sizeof list) == 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: has no image with data; save an image, not a table", fits->name);
    return csrec_fail(error, CSREC_DATA, "%s: has no such image with data; it has %s", fits->name,
                      list);
}

/* Moves to the unit that is named; false: there is none. */
static bool go_to(csrec_fits *fits, const char *member) {
    char name[FLEN_VALUE], *end;
    int version = 0;
    size_t length = strcspn(member + 1, *member == '[' ? "]" : "");
    if (length == 0 || length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, member + 1);
    long number = strtol(name, &end, 10);
    if (!*end && number >= 0 && number < INT32_MAX)
        return !fits_movabs_hdu(fits->file, (int)number + 1, NULL, &fits->status);
    char *comma = strchr(name, ',');
    if (comma) {
        *comma = '\0';
        version = (int)strtol(comma + 1, &end, 10);
        if (*end || version < 1) return false;
    }
    if (strcasecmp(name, "PRIMARY") == 0)
        return !fits_movabs_hdu(fits->file, 1, NULL, &fits->status);
    return !fits_movnam_hdu(fits->file, IMAGE_HDU, name, version, &fits->status);
}

/* Which of several images was not asked for should be said. */
static csrec_status take_first(csrec_fits *fits, int unit, csrec_fits_image *image,
                               csrec_error *error) {
    char list[200] = "";
    if (fits->input && list_images(fits, list, sizeof list) > 1)
        csrec_input_note(fits->input, "its first image is read, of %s; FILE[NAME] reads another",
                         list);
    fits_movabs_hdu(fits->file, unit, NULL, &fits->status);
    has_image(fits, image);
    return fits->status ? csrec_fits_damaged(fits, error) : take_image(fits, image, error);
}

csrec_status csrec_fits_find(csrec_fits *fits, csrec_fits_image *image, csrec_error *error) {
    const char *member = fits->input ? fits->input->member : NULL;
    if (member) {
        bool there = go_to(fits, member) && has_image(fits, image);
        return there ? take_image(fits, image, error) : refuse_name(fits, error);
    }
    for (int unit = 1; !fits->status; unit++) {
        fits_movabs_hdu(fits->file, unit, NULL, &fits->status);
        if (has_image(fits, image)) return take_first(fits, unit, image, error);
    }
    return fits->status == END_OF_FILE ? refuse_name(fits, error) : csrec_fits_damaged(fits, error);
}
