/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h - files of the tools: signals that are read, the input of cssample, the reference of
 * csrecover; formats by name, early checks, pictures from recovered values. */
#pragma once

#include <sys/stat.h>

#include "options.h"

typedef struct cli_signal {
    csrec_array values; /* C order, channels fastest */
    csrec_shape shape;  /* without channels */
    int64_t entries, channels;
    uint8_t *alpha;  /* as csrec_image: NULL, or 0 where a pixel is transparent */
    int64_t partial; /* pixels of partial opacity */
    int bits;        /* of a PNG: 1 .. 16; 0: an array */
    bool palette;
    int time;        /* 1 + its axis of time; 0: none */
    bool is_complex; /* values are pairs of real and imaginary parts, counted as channels */
} cli_signal;

/* Reads a PNG or .npy, by its first bytes; path "-" is stdin. axes: what is said of an array's. */
csrec_status cli_signal_read(const char *path, const csrec_read_options *axes, cli_signal *signal,
                             csrec_error *error);
void cli_signal_clear(cli_signal *signal);

/* "height x width" and so on, for messages. */
const char *cli_shape_text(const csrec_shape *shape, char text[192]);

/* A position as coordinates, "row,col". */
const char *cli_place_text(const csrec_shape *shape, int64_t position, char text[192]);

/* Whether the format has the use (CSREC_USE_...); NULL has none. */
bool cli_format_has(const csrec_format *format, int use);
/* Format i of those with the use; NULL past the end. */
const csrec_format *cli_format_with(int use, int i);

/* The ending that new files of the format get. */
typedef struct cli_ending {
    char text[16];
} cli_ending;
cli_ending cli_ending_of(const csrec_format *format);
/* "--output x.gif: name a .png or .npy": fails with the endings of the use, then `also`. */
int cli_ending_refuse(const cli_tool *tool, const char *option, const char *path, int use,
                      const char *also);

/* Whether path is "-"; false for NULL. */
bool cli_is_dash(const char *path);
/* A name that ends in / is a folder, even if it does not exist yet. */
bool cli_is_folder(const char *path);

/* stat of the file that the path names, perhaps with an array in it (csrec_path_file). */
bool cli_stat(const char *path, struct stat *info);

/* CLI_CONTINUE if a file can be created at path ("-": always), else CLI_FAILURE after a message.
 * Called before any work; removes temporary files of killed runs from its folder. */
int cli_output_check(const cli_tool *tool, const char *path);

/* CLI_CONTINUE, or CLI_USAGE after a line: stdout is a terminal, which binary data disturb. */
int cli_stdout_check(const cli_tool *tool);

/* How values become a picture: black and white, and bits a sample. */
typedef struct cli_tones {
    double scale[2]; /* equal: not known */
    int bits;        /* 8 or 16 */
    bool light;      /* values are linear light: pictures have them in the encoding of sRGB */
} cli_tones;

/* Light 0 .. 1 in the encoding of sRGB (IEC 61966-2-1), 0 .. 1. */
double cli_srgb(double light);

/* The measurement's scale, else the range of its integer type; 16 bits if that has more than 256
 * steps or the samples have 16 bits. */
cli_tones cli_tones_of(const csrec_measurement *measurement);

/* NULL if signals of the measurement can be written in the format, else reason and remedy. */
const char *cli_signal_refusal(const csrec_format *format, const csrec_measurement *measurement,
                               const cli_tones *tones);

/* Colours that stand for numbers. */
typedef struct cli_colormap cli_colormap;

/* Map i, the first is that of errors; NULL past the end. */
const cli_colormap *cli_colormap_info(int i);
const char *cli_colormap_name(int i);
/* The colour of a share 0 .. 1 of the scale; what is outside has that of the nearer end. */
void cli_colormap_color(const cli_colormap *map, double share, uint8_t rgb[3]);

/* How a signal is written. */
typedef struct cli_form {
    cli_tones tones;              /* of a picture */
    int dtype;                    /* csrec_dtype of an array, or -1: see below */
    const cli_colormap *colors;   /* of a picture of one channel, in 8 bits; or NULL */
    bool exact;                   /* values that do not fit are an error */
    const csrec_palette *palette; /* of values that are indices, or NULL */
    bool is_complex;     /* the signal is pairs of real and imaginary parts, written as .npy */
    bool stack;          /* of slices, which the shape has first */
    double unknown;      /* of integers, and where the file can name it, stands for values that are
                            NaN, of a channel that is measured nowhere; NaN: none does */
    bool leaves;         /* others may be NaN: of a picture transparent where any channel is */
    bool avoids;         /* no other value becomes it by rounding */
    bool channels_first; /* of arrays that do not say where they are */
    const char *like;    /* the file whose metadata it gets, as csrec_files_add_signal; or NULL */
    const csrec_placement *placement; /* of csrec_image */
} cli_form;

/* The type of the values in an array, of which `values` are the largest. */
csrec_dtype cli_array_type(const csrec_format *format, const cli_form *form, csrec_dtype samples,
                           int64_t n, const double *values);
/* Sets a number that is not `unknown`. */
void cli_array_set_known(csrec_array *values, int64_t i, double value, double unknown);

/* Writes the recovered signal [entries * channels] to a format that does not refuse it.
 * Values outside the scale are clamped in a picture; an array holds them in the samples' type, if
 * the format keeps it (CSREC_USE_TYPES); else as they are, in float32 if the samples were float32
 * or of at most 16 bits and all values are in its range. */
csrec_status cli_signal_write(csrec_files *files, const char *path, const csrec_format *format,
                              const cli_form *form, const csrec_measurement *measurement,
                              const double *signal, csrec_error *error);

/* One of the files that a call writes. */
typedef struct cli_product {
    const char *path; /* NULL: not asked for */
    csrec_status (*add)(void *context, csrec_files *files, csrec_error *error);
    bool written; /* under its name */
} cli_product;

/* Writes files of one piece of work: the first is its result, the others tell about it. One of them
 * that fails is left as it was, and does not keep the rest from being written; if the result fails,
 * nothing is written. The error is that of the first to fail, followed by the names of the others
 * that are not written and of those that are. date, if not 0: that of the result if another file
 * fails, so that make repeats the call. */
csrec_status cli_products_write(const csrec_files_options *options, int64_t date, int n,
                                cli_product *products, void *context, csrec_error *error);
