/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_layout.c - what a TIFF declares of its pages: size, channels, types, the value of unknown
 * entries. */
#include <string.h>

#include "base/error.h"
#include "files/tiff/tiff.h"

static bool find_type(TIFF *file, uint16_t *bits, csrec_dtype *dtype) {
    uint16_t kind = SAMPLEFORMAT_UINT;
    TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &kind);
    bool number = kind == SAMPLEFORMAT_IEEEFP, negative = kind == SAMPLEFORMAT_INT;
    if (!number && !negative && kind != SAMPLEFORMAT_UINT && kind != SAMPLEFORMAT_VOID)
        return false;
    if (number && *bits != 32 && *bits != 64) return false;
    static const csrec_dtype types[][3] = {{CSREC_U8, CSREC_I8, CSREC_U8},
                                           {CSREC_U16, CSREC_I16, CSREC_U16},
                                           {CSREC_U32, CSREC_I32, CSREC_F32},
                                           {CSREC_U64, CSREC_I64, CSREC_F64}};
    for (int i = 0; i < 4; i++)
        if (*bits == 8 << i) *dtype = types[i][number ? 2 : negative];
    return *bits == 8 || *bits == 16 || *bits == 32 || *bits == 64;
}

static void find_channels(TIFF *file, csrec_tiff_layout *layout) {
    uint16_t extra = 0, *kinds = NULL;
    TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &layout->stored);
    TIFFGetFieldDefaulted(file, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
    layout->alpha =
        extra > 0 && layout->stored > 1 &&
        (kinds[extra - 1] == EXTRASAMPLE_ASSOCALPHA || kinds[extra - 1] == EXTRASAMPLE_UNASSALPHA);
    layout->channels = (uint16_t)(layout->stored - layout->alpha);
    if (layout->photometric == PHOTOMETRIC_PALETTE) layout->channels = 3;
}

/* What makes the samples something else than numbers to recover, or cannot be unpacked. */
static csrec_status check_page(csrec_tiff *tiff, const csrec_tiff_layout *layout, bool typed,
                               uint16_t bits, csrec_error *error) {
    bool jpeg = layout->compression == COMPRESSION_JPEG;
    if (!typed)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has values of %d bits of a kind that is not read; save it with 8 to "
                          "64 bit integers or 32 or 64 bit floats",
                          tiff->name, bits);
    if (!TIFFIsCODECConfigured(layout->compression))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is compressed by method %d, which this libtiff cannot unpack; save "
                          "it with deflate or LZW, or without compression",
                          tiff->name, layout->compression);
    if (layout->photometric == PHOTOMETRIC_LOGL || layout->photometric == PHOTOMETRIC_LOGLUV ||
        (layout->photometric == PHOTOMETRIC_YCBCR && !jpeg) ||
        (layout->photometric == PHOTOMETRIC_PALETTE && (bits != 8 || layout->stored != 1)))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has pixels coded in a way that is not read (photometric "
                          "interpretation %d); save it as gray or RGB",
                          tiff->name, layout->photometric);
    return CSREC_OK;
}

/* For label maps its indices are as gray. */
static csrec_status read_palette(csrec_tiff *tiff, csrec_tiff_layout *layout, csrec_error *error) {
    csrec_palette *to = &tiff->input->facts.palette;
    uint16_t *color[3];
    if (layout->photometric != PHOTOMETRIC_PALETTE || layout->dtype != CSREC_U8) return CSREC_OK;
    if (!TIFFGetField(tiff->file, TIFFTAG_COLORMAP, &color[0], &color[1], &color[2]))
        return csrec_tiff_damaged(tiff, error);
    to->n = 256;
    for (int c = 0; c < 3; c++) memcpy(to->color[c], color[c], sizeof to->color[c]);
    if (!tiff->input->labels) return CSREC_OK;
    layout->photometric = PHOTOMETRIC_MINISBLACK;
    layout->channels = 1;
    return CSREC_OK;
}

csrec_status csrec_tiff_page_layout(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                    csrec_error *error) {
    uint16_t bits = 1;
    TIFF *file = tiff->file;
    *layout = (csrec_tiff_layout){.photometric = PHOTOMETRIC_MINISBLACK, .split = 1, .stride = 1};
    TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &layout->photometric);
    TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &layout->compression);
    if (!TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &layout->width) ||
        !TIFFGetField(file, TIFFTAG_IMAGELENGTH, &layout->height) || layout->width == 0 ||
        layout->height == 0 || layout->width > INT32_MAX || layout->height > INT32_MAX)
        return csrec_tiff_damaged(tiff, error);
    bool typed = find_type(file, &bits, &layout->dtype);
    find_channels(file, layout);
    if (typed) csrec_tiff_find_nodata(file, layout);
    layout->packed = bits == 1 && layout->stored == 1 && csrec_tiff_is_mask(tiff);
    if (layout->packed) layout->dtype = CSREC_U8;
    typed = typed || layout->packed;
    csrec_status status = check_page(tiff, layout, typed, bits, error);
    return status ? status : read_palette(tiff, layout, error);
}

static bool same_layout(const csrec_tiff_layout *a, const csrec_tiff_layout *b) {
    return a->height == b->height && a->width == b->width && a->stored == b->stored &&
           a->channels == b->channels && a->alpha == b->alpha && a->dtype == b->dtype;
}

csrec_status csrec_tiff_layout_read(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                    csrec_error *error) {
    if (!csrec_tiff_first(tiff)) return csrec_tiff_damaged(tiff, error);
    uint16_t copies = 0;
    const void *at = NULL;
    csrec_status status = csrec_tiff_page_layout(tiff, layout, error);
    if (status) return status;
    if (TIFFGetField(tiff->file, TIFFTAG_SUBIFD, &copies, &at)) tiff->reduced = copies > 0;
    const csrec_tiff_axes axes = csrec_tiff_axes_find(tiff->file, layout->stored);
    for (layout->pages = 1; !status && csrec_tiff_next(tiff); layout->pages++) {
        csrec_tiff_layout page;
        status = csrec_tiff_page_layout(tiff, &page, error);
        if (!status && !same_layout(layout, &page))
            status = csrec_fail(error, CSREC_DATA,
                                "%s: its pages differ in size, channels or type; save those of one "
                                "volume, or a single page",
                                tiff->name);
    }
    layout->masked = tiff->masked;
    layout->reduced = tiff->reduced;
    return status ? status : csrec_tiff_axes_apply(tiff, &axes, layout, error);
}
