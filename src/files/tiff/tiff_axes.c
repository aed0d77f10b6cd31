/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff_axes.c - which pages are channels of one picture, as ImageJ and OME say in the description
 * of the first page. */
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

csrec_status csrec_tiff_axes_apply(const csrec_tiff *tiff, const csrec_tiff_axes *axes,
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
