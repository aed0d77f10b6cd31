/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff.h - TIFF files by libtiff: opened over an input or an output, pages, metadata. */
#pragma once

#include <tiffio.h>

#include "files/input.h"

/* An open file. libtiff's messages go to `text`, the first of them is kept. */
typedef struct csrec_tiff {
    TIFF *file;
    const char *name; /* for messages */
    csrec_input *input;
    FILE *output;
    uint64_t at; /* position in input->bytes */
    /* csrec_tiff_next went past the mask of a page, or a reduced copy. */
    bool masked, reduced;
    char text[160];
} csrec_tiff;

/* On failure nothing is open. The input must outlive the file. */
csrec_status csrec_tiff_open(csrec_input *input, csrec_tiff *tiff, csrec_error *error);
/* big: offsets of 64 bits, for files of more than 4 GiB. */
csrec_status csrec_tiff_create(FILE *output, const char *name, bool big, csrec_tiff *tiff,
                               csrec_error *error);
void csrec_tiff_close(csrec_tiff *tiff);
/* "NAME: damaged TIFF (what libtiff said)". */
csrec_status csrec_tiff_damaged(csrec_tiff *tiff, csrec_error *error);

/* What all pages of a file have in common. */
typedef struct csrec_tiff_layout {
    uint32_t height, width;
    uint16_t stored;   /* samples a pixel in the file */
    uint16_t channels; /* without alpha, a palette expanded */
    bool alpha;        /* the last sample stored says what is known */
    bool associated;   /* and colours are multiplied by it */
    csrec_dtype dtype; /* of the file; with a palette the result is U8 */
    uint16_t photometric, compression;
    bool packed;  /* a mask of 1 bit */
    bool masked;  /* there are masks among the pages */
    bool reduced; /* or reduced copies */
    bool nodata;  /* `unknown` is GDAL's nodata tag */
    double unknown;
    int64_t pages;         /* of the result */
    int64_t split, stride; /* channels that are pages of the file, 1 if none are, and how many pages
                              one is from the next */
} csrec_tiff_layout;

/* The pages that are pictures of their own, not reduced copies or masks of others. Goes to the
 * next, or to the first; false at the end. */
bool csrec_tiff_first(csrec_tiff *tiff);
bool csrec_tiff_next(csrec_tiff *tiff);
/* The page is one of those; or is a mask of the one before it. */
bool csrec_tiff_is_picture(const csrec_tiff *tiff);
bool csrec_tiff_is_mask(const csrec_tiff *tiff);
/* Reads and checks the layout of the page, and of all pages. */
csrec_status csrec_tiff_page_layout(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                    csrec_error *error);
csrec_status csrec_tiff_layout_read(csrec_tiff *tiff, csrec_tiff_layout *layout,
                                    csrec_error *error);

/* What the description of the first page says of all; channels 1: pages are no channels. */
typedef struct csrec_tiff_axes {
    const char *program; /* whose description it is, or NULL */
    int64_t pages, channels, stride;
} csrec_tiff_axes;

/* samples: of a pixel. */
csrec_tiff_axes csrec_tiff_axes_find(TIFF *file, uint16_t samples);
/* Page of the result, and channel, of a page of the file. */
int64_t csrec_tiff_page_of(const csrec_tiff_layout *layout, int64_t number, int64_t *channel);

/* The tag of GDAL whose text is the value of unknown entries. */
enum { CSREC_TIFF_NODATA = 42113 };
/* Names it in the page that is written; NaN as "nan". */
void csrec_tiff_set_nodata(TIFF *file, double value);
/* A pixel of colours is unknown where all channels are: dark ones have the value in some. */
bool csrec_tiff_is_colour(const csrec_tiff_layout *layout);
/* Clears alpha where values are unknown: each in its channel, or of colours and beside an alpha
 * channel where all have the value. CSREC_DATA: values beside it are as large, another number. */
csrec_status csrec_tiff_drop_nodata(const csrec_tiff *tiff, const csrec_tiff_layout *layout,
                                    csrec_image *signal, csrec_error *error);
/* The slab of the input; without one, all. */
csrec_status csrec_tiff_signal(csrec_input *input, csrec_image *signal, csrec_error *error);
csrec_status csrec_tiff_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                             csrec_error *error);
csrec_status csrec_tiff_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error);
csrec_status csrec_tiff_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                    csrec_slab_fn take, void *context, const char *like,
                                    csrec_error *error);
