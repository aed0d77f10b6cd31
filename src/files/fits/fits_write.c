/* SPDX-License-Identifier: BSD-3-Clause */
/* fits_write.c - signals to FITS: one image, with the header of the file that it is like. */
#include <stdlib.h>
#include <string.h>

#include "files/fits/fits.h"
#include "files/format.h"

enum { CARD = 80 }; /* bytes */

/* The file that is written, and the one that its header is from. */
typedef struct writer {
    csrec_fits fits, like; /* like.file NULL: none */
    csrec_error *error;
    const csrec_image *signal;
    int64_t channels; /* to become the slowest axis; 1: as the array has it */
    int naxis;
    LONGLONG naxes[CSREC_FITS_AXES]; /* fastest first */
} writer;

static csrec_status measure(writer *w, const char *path) {
    const csrec_image *signal = w->signal;
    csrec_shape whole = signal->pixels.shape;
    bool split = whole.dims > 1 && (signal->has_channels || (signal->bits > 0 && whole.dims > 2));
    w->channels = split ? whole.dim[--whole.dims] : 1;
    const char *reason = csrec_format_refusal(&csrec_fits_format.format, &whole, w->channels);
    if (reason || !signal->pixels.data || signal->alpha)
        return csrec_fail(w->error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "a FITS is written without transparency");
    w->naxis = whole.dims;
    for (int a = 0; a < whole.dims; a++) w->naxes[a] = whole.dim[whole.dims - 1 - a];
    if (w->channels > 1) w->naxes[w->naxis++] = w->channels;
    return CSREC_OK;
}

/* A file whose image has the array's shape gives its axes, too: those of extent 1 that the shape
 * lacks, and channels where it has them. */
static void compare(writer *w) {
    csrec_fits_image image;
    csrec_error ignored;
    const csrec_shape *shape = &w->signal->pixels.shape;
    if (!w->like.file) return;
    bool same = !csrec_fits_find(&w->like, &image, &ignored);
    int dims = shape->dims;
    while (same && dims > image.shape.dims && shape->dim[dims - 1] == 1) dims--;
    same = same && image.shape.dims == dims;
    for (int a = 0; same && a < dims; a++) same = image.shape.dim[a] == shape->dim[a];
    if (!same) {
        csrec_fits_close(&w->like);
        return;
    }
    w->channels = 1;
    w->naxis = image.naxis;
    memcpy(w->naxes, image.naxes, (size_t)image.naxis * sizeof *image.naxes);
}

/* Of how the values are stored, or of the values that were. */
static bool is_storage(const char *card) {
    switch (fits_get_keyclass((char *)(uintptr_t)card)) {
    case TYP_STRUC_KEY:
    case TYP_CMPRS_KEY:
    case TYP_SCAL_KEY:
    case TYP_NULL_KEY:
    case TYP_RANG_KEY:
    case TYP_CKSUM_KEY:
        return true;
    default:
        return strncmp(card, "INHERIT ", 8) == 0 || strncmp(card, "NEXTEND ", 8) == 0 ||
               strncmp(card, "ZHECKSUM", 8) == 0 || strncmp(card, "ZDATASUM", 8) == 0;
    }
}

/* The cards of the unit but for those of storage and, of a primary header that is inherited, its
 * name. A card that is not as the standard wants it is left out; later ones count. */
static void copy_cards(writer *w, bool inherited) {
    int count = 0, more, length, status = 0;
    char card[FLEN_CARD], key[FLEN_KEYWORD];
    fits_get_hdrspace(w->like.file, &count, &more, &status);
    for (int i = 1; i <= count && !w->fits.status; i++) {
        int none = status = 0;
        if (fits_read_record(w->like.file, i, card, &status) || is_storage(card)) continue;
        const int class = fits_get_keyclass(card);
        if (inherited && class == TYP_HDUID_KEY) continue;
        if (class != TYP_COMM_KEY && class != TYP_CONT_KEY &&
            !fits_get_keyname(card, key, &length, &none))
            fits_delete_key(w->fits.file, key, &none);
        fits_write_record(w->fits.file, card, &status);
    }
}

/* An extension with INHERIT has the cards of the primary header that it lacks. */
static void copy_header(writer *w) {
    int unit = 1, inherits = 0, status = 0, absent = 0;
    fits_get_hdu_num(w->like.file, &unit);
    fits_read_key(w->like.file, TLOGICAL, "INHERIT", &inherits, NULL, &absent);
    if (inherits && unit > 1 && !fits_movabs_hdu(w->like.file, 1, NULL, &status))
        copy_cards(w, true);
    status = 0;
    if (!fits_movabs_hdu(w->like.file, unit, NULL, &status)) copy_cards(w, false);
}

/* BLANK is as stored: of types without a code of their own, beside an offset. */
static void name_blank(writer *w) {
    static const double offsets[CSREC_F64 + 1] = {
        [CSREC_I8] = -128.0, [CSREC_U16] = 0x1p15, [CSREC_U32] = 0x1p31, [CSREC_U64] = 0x1p63};
    const csrec_dtype dtype = w->signal->pixels.dtype;
    if (!w->signal->has_nodata || dtype >= CSREC_F32) return;
    const double stored = w->signal->nodata - offsets[dtype];
    LONGLONG blank = stored < 0x1p63 ? (LONGLONG)stored : INT64_MAX;
    fits_write_key(w->fits.file, TLONGLONG, "BLANK", &blank, "unknown", &w->fits.status);
}

static void write_header(writer *w) {
    char line[64];
    csrec_fits *fits = &w->fits;
    fits_create_imgll(fits->file, csrec_fits_types_of(w->signal->pixels.dtype).image, w->naxis,
                      w->naxes, &fits->status);
    if (w->like.file) copy_header(w);
    name_blank(w);
    snprintf(line, sizeof line, "recovered by csrecover %s", csrec_version());
    fits_write_history(fits->file, line, &fits->status);
}

/* The values, or in memory to be freed with the channels first. */
static uint8_t *in_planes(const writer *w) {
    const csrec_array *pixels = &w->signal->pixels;
    size_t size = csrec_dtype_size(pixels->dtype), channels = (size_t)w->channels;
    size_t entries = (size_t)pixels->count / channels;
    uint8_t *planes = malloc((size_t)pixels->count * size);
    for (size_t c = 0; planes && c < channels; c++)
        for (size_t i = 0; i < entries; i++)
            memcpy(planes + (c * entries + i) * size,
                   (const uint8_t *)pixels->data + (i * channels + c) * size, size);
    return planes;
}

static void write_values(writer *w) {
    const csrec_array *pixels = &w->signal->pixels;
    csrec_fits *fits = &w->fits;
    uint8_t *planes = w->channels > 1 ? in_planes(w) : NULL;
    if (w->channels > 1 && !planes && !fits->status) fits->status = MEMORY_ALLOCATION;
    fits_write_img(fits->file, csrec_fits_types_of(pixels->dtype).memory, 1, pixels->count,
                   planes ? planes : pixels->data, &fits->status);
    free(planes);
}

/* The bytes of a second image: readers warn of bytes after the last one, and in the header of the
 * first the line might be far from the file's end. */
static csrec_status write_fingerprint(writer *w, const char *text) {
    csrec_fits *fits = &w->fits;
    char *line = text ? csrec_fingerprint_line(text, 1) : NULL;
    if (!line) return text ? csrec_memory_fail(w->error, fits->name) : CSREC_OK;
    LONGLONG length = (LONGLONG)strlen(line);
    fits_create_imgll(fits->file, BYTE_IMG, 1, &length, &fits->status);
    fits_write_key(fits->file, TSTRING, "EXTNAME", "FINGERPRINT", NULL, &fits->status);
    fits_write_img(fits->file, TBYTE, 1, length, line, &fits->status);
    free(line);
    return CSREC_OK;
}

static csrec_status make(writer *w, const char *fingerprint, csrec_output *output) {
    const csrec_array *pixels = &w->signal->pixels;
    int cards = 0, more, ignored = 0;
    LONGLONG end = 0;
    if (w->like.file) fits_get_hdrspace(w->like.file, &cards, &more, &ignored);
    uint64_t bytes = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype) +
                     (uint64_t)cards * CARD + (fingerprint ? strlen(fingerprint) : 0) +
                     8 * CSREC_FITS_BLOCK;
    CSREC_TRY(csrec_fits_create(output->name, (size_t)bytes, &w->fits, w->error));
    write_header(w);
    write_values(w);
    csrec_status status = write_fingerprint(w, fingerprint);
    fits_get_hduaddrll(w->fits.file, NULL, NULL, &end, &w->fits.status);
    if (!csrec_fits_close(&w->fits) && !status) status = csrec_fits_damaged(&w->fits, w->error);
    if (!status) status = csrec_output_write(output, w->fits.bytes, (uint64_t)end, w->error);
    free(w->fits.bytes);
    return status;
}

csrec_status csrec_fits_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error) {
    writer w = {.error = error, .signal = signal};
    csrec_input input = {0};
    csrec_output output;
    CSREC_TRY(measure(&w, path));
    if (csrec_format_open_like(&csrec_fits_format, like, &input))
        csrec_fits_open(&input, &w.like, NULL);
    compare(&w);
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error);
    if (!status) {
        status = make(&w, csrec_output_fingerprint(&output), &output);
        status = csrec_output_close(&output, status, error);
    }
    csrec_fits_close(&w.like);
    csrec_input_close(&input);
    return status;
}
