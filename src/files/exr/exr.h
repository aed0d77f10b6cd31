/* SPDX-License-Identifier: BSD-3-Clause */
/* exr.h - OpenEXR files by OpenEXRCore: opened over an input or an output, their attributes. */
#pragma once

#include <openexr.h>

#include "files/input.h"

/* An open file. The library's messages go to `text`, the first of them is kept. */
typedef struct csrec_exr {
    exr_context_t file;
    const char *name; /* for messages */
    csrec_input *input;
    int part; /* of an input, that is read: csrec_exr_layout_read finds it */
    FILE *output;
    uint64_t at; /* position in output */
    char text[160];
} csrec_exr;

/* The part that is written, the only one. */
enum { CSREC_EXR_PART = 0 };

/* On failure nothing is open. The input must outlive the file. */
csrec_status csrec_exr_open(csrec_input *input, csrec_exr *exr, csrec_error *error);
csrec_status csrec_exr_create(FILE *output, const char *name, csrec_exr *exr, csrec_error *error);
/* Of an output: writes what is left. */
exr_result_t csrec_exr_close(csrec_exr *exr);
/* "NAME: damaged OpenEXR (what the library said)", or that the output cannot be written. */
csrec_status csrec_exr_failed(csrec_exr *exr, exr_result_t result, csrec_error *error);

/* Channels that are read at a time: planes of guides, and their alphas. */
enum { CSREC_EXR_CHANNELS = 2 * CSREC_GUIDES_MOST + 1, CSREC_EXR_NAME = 256 };

/* What is read of a file. */
typedef struct csrec_exr_layout {
    exr_attr_box2i_t window; /* of the data: its extents are the signal's */
    int32_t height, width;
    int channels, channel[CSREC_EXR_CHANNELS]; /* in the file's list */
    int alpha;                                 /* the channel A there, -1: none */
    bool linear;                               /* R, G and B, or Y: light */
    bool chroma;                               /* Y has RY or BY beside it */
    csrec_dtype dtype;                         /* U32 if all channels are, else F32 */
    bool half;                                 /* one of them has 16 bits */
    bool tiled;
    exr_compression_t compression;
    double stored; /* bytes of all channels in the file, unpacked */
} csrec_exr_layout;

/* Finds the part, the channels and alpha: R, G and B, or X, Y and Z, or Y, or the only channel
 * besides A; of the layer or part that input->member names, or else of the first part. */
csrec_status csrec_exr_choose(csrec_exr *exr, csrec_exr_layout *layout, csrec_error *error);
/* Tells input->facts of what is read, what is not, and what its compression lost. */
void csrec_exr_tell(csrec_exr *exr, const csrec_exr_layout *layout);
/* What a lossy compression is called; NULL: it has no loss, or is unknown. */
const char *csrec_exr_lossy(exr_compression_t compression);

csrec_status csrec_exr_layout_read(csrec_exr *exr, csrec_exr_layout *layout, csrec_error *error);
/* The rest of a layout whose part and channels are chosen; and its pixels. */
csrec_status csrec_exr_layout_fill(csrec_exr *exr, csrec_exr_layout *layout, csrec_error *error);
csrec_status csrec_exr_pixels(csrec_exr *exr, const csrec_exr_layout *layout, csrec_image *signal,
                              csrec_error *error);

/* The length of the name of the channel's layer, 0: none; "R" of no layer, or of one; -1: none. */
size_t csrec_exr_layer_of(const char *channel);
int csrec_exr_find(const exr_attr_chlist_t *list, const char *layer, const char *name);
const char *csrec_exr_part_name(const csrec_exr *exr, int part);

/* The layer of a channel; of "Z" its own name, but that of the part of "R", "G" and "B", or "X",
 * "Y" and "Z" that are all there. */
const char *csrec_exr_layer_name(const csrec_exr *exr, int part, const char *channel,
                                 char text[CSREC_EXR_NAME]);
/* Channels of a part that belong together. */
enum { CSREC_EXR_PLANES = 4 };
typedef struct csrec_exr_layer {
    int part, channels, channel[CSREC_EXR_PLANES], alpha; /* -1: of the part, or none */
    const char *kind;
    char name[CSREC_EXR_NAME];
} csrec_exr_layer;

/* Layers of a kind, of pictures of the same pixels. */
typedef struct csrec_exr_layers {
    csrec_exr *exr;
    csrec_exr_layout main; /* what is read as the picture; channels 0: nothing */
    int main_part, n;
    const char *(*kind)(const char *layer); /* csrec_guide_kind, csrec_each_kind */
    bool any;                               /* also those of no kind, but sets of names */
    csrec_exr_layer one[CSREC_GUIDES_MOST];
} csrec_exr_layers;

/* Finds at most so many channels. */
csrec_status csrec_exr_layers_find(csrec_exr_layers *layers, int64_t room, csrec_error *error);

/* R of "albedo.R". */
const char *csrec_exr_component_of(const char *channel);

/* What layers tell of single samples (exr_each.c): rays [entries], variance of the mean [entries *
 * channels]; NULL: nothing. */
typedef struct csrec_exr_each {
    float *rays;
    double *variance;
    char note[240];
} csrec_exr_each;

/* A file that cannot be read tells nothing. CSREC_MEMORY: each is empty. */
csrec_status csrec_exr_each_read(csrec_input *input, csrec_exr_each *each, csrec_error *error);
void csrec_exr_each_clear(csrec_exr_each *each);

/* Layers that are known beside the samples (exr_guides.c): all of the file, for
 * csrec_guides_read; and the measurement with those of its own file. */
csrec_status csrec_exr_guides(csrec_input *input, csrec_measurement *measurement,
                              csrec_error *error);
csrec_status csrec_exr_measurement(csrec_input *input, const csrec_read_options *options,
                                   csrec_measurement *measurement, csrec_error *error);

/* Copies what describes the picture, not how it is stored: windows, camera, colours, texts, and
 * what is unknown to OpenEXR. Not the preview, which shows the picture with its holes. */
void csrec_exr_copy_attributes(const csrec_exr *from, exr_context_t to);

csrec_status csrec_exr_signal(csrec_input *input, csrec_image *signal, csrec_error *error);
csrec_status csrec_exr_write(csrec_files *files, const char *path, const csrec_image *signal,
                             const char *like, csrec_error *error);
