/* SPDX-License-Identifier: BSD-3-Clause */
/* data.h - the input of learners: pictures and arrays as rows of a data matrix. */
#ifndef CSREC_TOOLS_LEARN_DATA_H
#define CSREC_TOOLS_LEARN_DATA_H

#include "tools/common/fingerprint.h"

/* How to cut the inputs into rows; the fields of CLI_DATA_OPTIONS. */
typedef struct cli_data_options {
    cli_operands inputs;
    const char *patch; /* "8x8"; NULL: whole pictures or rows */
    int64_t stride;    /* 0: a quarter of the patch */
    int64_t most;      /* rows to take at random; 0: all */
    uint64_t seed;
    bool gray, channels_last;
} cli_data_options;

#define CLI_DATA_OPTIONS(member)                                                                   \
    {CLI_ROW('p', "patch", CLI_TEXT, "HxW",                                                        \
             "Learn from all patches of this size, e.g. 8x8 or 8. Without it, learn from whole "   \
             "pictures or rows."),                                                                 \
     CLI_AT(member.patch)},                                                                        \
        {CLI_ROW('s', "stride", CLI_INTEGER, "S",                                                  \
                 "Pixels between patches (default a quarter of the patch)."),                      \
         CLI_AT(member.stride), .low = 1, .high = 1e6},                                            \
        {CLI_ROW('n', "most", CLI_INTEGER, "N",                                                    \
                 "Use this many patches or pictures, chosen at random, if there are more."),       \
         CLI_AT(member.most), .low = 1, .high = 1e12},                                             \
        {CLI_ROW(0, "seed", CLI_SEED, "S", "Seed of all random choices (default 1)."),             \
         CLI_AT(member.seed)},                                                                     \
        {CLI_ROW('g', "gray", CLI_FLAG, NULL, "Learn from the luminance of colour pictures."),     \
         CLI_AT(member.gray)},                                                                     \
    {                                                                                              \
        CLI_ROW('c', "channels-last", CLI_FLAG, NULL, "The last axis of an array is channels."),   \
            CLI_AT(member.channels_last)                                                           \
    }

/* A file that learners read pictures from (files.c). */
typedef struct cli_data_file {
    char *path;
    csrec_shape shape;     /* of a picture or row, without channels */
    int64_t height, width; /* of a picture, where it is cut into patches */
    int64_t channels;      /* that rows have */
    int64_t stored;        /* channels in the file */
    int64_t entries;       /* of a picture as stored, with channels */
    int64_t pictures;      /* in the file */
    double scale[2];
    csrec_rows *rows_file; /* .npy; NULL: a PNG */
    csrec_data rows_data;
    int64_t rows_each; /* rows of the .npy that make a picture */
    int64_t patches, across, rows, first_row, first_picture; /* by data.c */
} cli_data_file;

/* The inputs, with folders replaced by their .png and .npy files, sorted by name. */
csrec_status cli_data_files_list(const cli_data_options *options, cli_data_file **files, int *count,
                                 csrec_error *error);

csrec_status cli_data_file_open(cli_data_file *file, const cli_data_options *options,
                                csrec_error *error);
void cli_data_file_close(cli_data_file *file);

/* Reads picture `number` of the file, channels fastest, into to [file->entries]. */
csrec_status cli_data_file_picture(const cli_data_file *file, int64_t number, bool gray, float *to,
                                   csrec_error *error);

typedef struct cli_data {
    csrec_data data;
    csrec_shape shape;                   /* of a row, without channels */
    int64_t channels, pictures, patches; /* patches: before --most */
    double scale[2];
    char source[1024], settings[256];
    char contents[CLI_CONTENTS_ROOM]; /* of the files, before they were opened */
    cli_data_file *files;
    int n_files;
    const cli_data_options *options;
    csrec_sampling picked; /* rows taken at random */
    float *picture;        /* the one that rows are cut from */
    int64_t held;          /* its number among all, -1: none */
    int64_t patch[2], stride;
} cli_data;

/* Adds to paths the files in the folders among the inputs. */
void cli_data_add_paths(const cli_data_options *options, cli_paths *paths);

/* Opens every input: PNG, .npy, and folders of them. CLI_CONTINUE, or the exit code after a
 * message. Call cli_data_close after either. */
int cli_data_open(const cli_tool *tool, const cli_data_options *options, cli_data *data);
void cli_data_close(cli_data *data);

/* After the work: CLI_CONTINUE if the files have not changed, else the exit code after a message.
 */
int cli_data_check_unchanged(const cli_tool *tool, const cli_data *data);

/* Adds the settings on which the rows depend. */
void cli_data_fingerprint(const cli_data *data, cli_fingerprint *line);

#endif
