/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_layout.c - what a TIFF declares of its pages: size, channels, types; which pages are
 * channels of one picture, as ImageJ and OME say in the description of the first page; the value
 * that GDAL's tag names for unknown entries. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/tiff/tiff.h"

/* Of an axis; more are of no file. */
static const long long EXTENT_MOST = 1 << 20;

/* The number after the name, before `end`; 1 without one. */
static int64_t extent_of(const char *text, const char *name, const char *end) {
    const char *at = strstr(text, name);
    const long long extent = at && at < end ? strtoll(at + strlen(name), NULL, 10) : 1;
    return extent >= 1 && extent <= EXTENT_MOST ? extent : 1;
}

/* Channels vary fastest in ImageJ's pages. */
static csrec_tiff_axes of_imagej(const char *text) {
    const char *end = text + strlen(text);
    csrec_tiff_axes axes = {.program = "ImageJ", .stride = 1};
    axes.channels = extent_of(text, "channels=", end);
    axes.pages = axes.channels * extent_of(text, "slices=", end) * extent_of(text, "frames=", end);
    const int64_t images = extent_of(text, "images=", end);
    if (images > axes.pages) axes.pages = images;
    return axes;
}

/* Samples of a pixel are channels in OME, too. */
static csrec_tiff_axes of_ome(const char *text, uint16_t samples) {
    const char *pixels = strstr(text, "Pixels "), *end = pixels ? strchr(pixels, '>') : NULL;
    const char *order = pixels ? strstr(pixels, "DimensionOrder=\"XY") : NULL;
    csrec_tiff_axes axes = {.program = "OME", .stride = 1, .channels = 1, .pages = 1};
    if (!end || !order || order > end) return (csrec_tiff_axes){.program = NULL};
    order += strlen("DimensionOrder=\"XY");
    for (int i = 0; i < 3 && order[i]; i++) {
        const char name[] = {'S', 'i', 'z', 'e', order[i], '=', '"', '\0'};
        int64_t extent = extent_of(pixels, name, end);
        if (order[i] == 'C') {
            extent = extent % samples == 0 ? extent / samples : extent;
            axes.channels = extent;
            axes.stride = axes.pages;
        }
        axes.pages *= extent;
    }
    return axes;
}

csrec_tiff_axes csrec_tiff_axes_find(TIFF *file, uint16_t samples) {
    const char *text = NULL;
    if (TIFFGetField(file, TIFFTAG_IMAGEDESCRIPTION, &text) && text) {
        if (strncmp(text, "ImageJ=", 7) == 0) return of_imagej(text);
        if (strstr(text, "DimensionOrder=")) return of_ome(text, samples);
    }
    return (csrec_tiff_axes){.program = NULL};
}

/* CSREC_UNSUPPORTED: the pages are not those. */
static csrec_status tiff_axes_apply(const csrec_tiff *tiff, const csrec_tiff_axes *axes,
                                    csrec_tiff_layout *layout, csrec_error *error) {
    const int64_t pages = layout->pages;
    const bool lost = axes->program && pages == 1 && axes->pages > 1; /* they follow, untold */
    if (!axes->program || (axes->channels == 1 && !lost)) return CSREC_OK;
    if (axes->pages != pages || layout->channels != 1 || layout->alpha ||
        axes->channels > UINT16_MAX)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: by its description for %s it has %lld pages, of %lld channels, but "
                          "has %lld of %d; save it with a page for each channel and slice, or "
                          "without the description",
                          tiff->name, axes->program, (long long)axes->pages,
                          (long long)axes->channels, (long long)pages, layout->channels);
    layout->split = axes->channels;
    layout->stride = axes->stride;
    layout->pages = pages / axes->channels;
    layout->channels = (uint16_t)axes->channels;
    return CSREC_OK;
}

int64_t csrec_tiff_page_of(const csrec_tiff_layout *layout, int64_t number, int64_t *channel) {
    const int64_t outer = number / layout->stride;
    *channel = outer % layout->split;
    return outer / layout->split * layout->stride + number % layout->stride;
}

static void tiff_find_nodata(TIFF *file, csrec_tiff_layout *layout) {
    uint32_t count = 0;
    const void *text = NULL;
    char copy[64], *end = copy;
    if (!TIFFFindField(file, CSREC_TIFF_NODATA, TIFF_ANY) ||
        !TIFFGetField(file, CSREC_TIFF_NODATA, &count, &text) || !text || count == 0)
        return;
    size_t length = count < sizeof copy ? count : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    layout->unknown = strtod(copy, &end);
    layout->nodata = end > copy;
    if (layout->dtype == CSREC_F32) layout->unknown = (double)(float)layout->unknown;
}

/* GDAL reads the shortest text that is the same number. */
void csrec_tiff_set_nodata(TIFF *file, double value) {
    static const TIFFFieldInfo field = {
        CSREC_TIFF_NODATA, -1, -1, TIFF_ASCII,
        FIELD_CUSTOM,      1,  0,  (char *)(uintptr_t) "GDAL_NODATA"};
    char text[32];
    if (!TIFFFindField(file, CSREC_TIFF_NODATA, TIFF_ANY)) TIFFMergeFieldInfo(file, &field, 1);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (isnan(value) || strtod(text, NULL) == value) break;
    }
    TIFFSetField(file, CSREC_TIFF_NODATA, isnan(value) ? "nan" : text);
}

/* Dark colours have the value of nodata in a channel or two. */
bool csrec_tiff_is_colour(const csrec_tiff_layout *l) {
    const bool rgb = l->photometric == PHOTOMETRIC_RGB || l->photometric == PHOTOMETRIC_YCBCR;
    return l->photometric == PHOTOMETRIC_PALETTE ||
           (rgb && (l->dtype == CSREC_U8 || l->dtype == CSREC_U16));
}

/* As GDAL compares: within two units of the last place. */
static bool is_nodata(const csrec_tiff_layout *l, double value) {
    const double unit = l->dtype == CSREC_F32   ? FLT_EPSILON
                        : l->dtype == CSREC_F64 ? DBL_EPSILON
                                                : 0.0;
    return value == l->unknown || (isnan(value) && isnan(l->unknown)) ||
           fabs(value - l->unknown) < 2.0 * unit * fabs(value + l->unknown);
}

/* Values of nodata are not known: each in its band, or, of colours, where all channels have it. */
static void drop_nodata(const csrec_tiff_layout *l, const csrec_image *signal) {
    const int64_t C = signal->by_channel ? 1 : l->channels;
    for (int64_t i = 0; i < signal->pixels.count / C; i++) {
        bool all = true;
        for (int64_t c = 0; c < C && all; c++)
            all = is_nodata(l, csrec_array_value(&signal->pixels, i * C + c));
        if (all) signal->alpha[i] = 0;
    }
}

/* Nodata is -3.4e38 in some files whose values are the least float, or the like: such values are
 * no data, and what they are must be said. */
static csrec_status check_nodata(const csrec_tiff *tiff, const csrec_tiff_layout *l,
                                 const csrec_image *signal, csrec_error *error) {
    static const double HUGE_NODATA = 1e30;
    const int64_t each = signal->by_channel ? 1 : l->channels;
    const bool loose = fabs(l->unknown) > HUGE_NODATA;
    for (int64_t i = 0; i < signal->pixels.count && loose && !tiff->input->unknown; i++) {
        const double value = csrec_array_value(&signal->pixels, i);
        if (signal->alpha[i / each] && isfinite(value) && fabs(value) > HUGE_NODATA)
            return csrec_fail(error, CSREC_DATA,
                              "%s: tag GDAL_NODATA is %.9g, but values are %.9g; correct the tag "
                              "(gdal_edit.py -a_nodata %.17g), or give the unknown value %.17g",
                              tiff->name, l->unknown, value, value, value);
    }
    return CSREC_OK;
}

csrec_status csrec_tiff_drop_nodata(const csrec_tiff *tiff, const csrec_tiff_layout *layout,
                                    csrec_image *signal, csrec_error *error) {
    drop_nodata(layout, signal);
    return check_nodata(tiff, layout, signal, error);
}

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
    layout->associated = layout->alpha && kinds[extra - 1] == EXTRASAMPLE_ASSOCALPHA;
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
    if (typed) tiff_find_nodata(file, layout);
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
    return status ? status : tiff_axes_apply(tiff, &axes, layout, error);
}
