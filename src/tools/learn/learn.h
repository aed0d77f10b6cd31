/* SPDX-License-Identifier: BSD-3-Clause */
/* learn.h - learners: one file each, and a row of the table in cslearn.c; what they share; their
 * input, pictures and arrays as rows of a data matrix. */
#pragma once

#include "tools/common/fingerprint.h"
#include "tools/common/output.h"

typedef struct cli_learner {
    const cli_tool *tool; /* named "cslearn NAME" */
    /* argv[0] is the learner's name; returns the exit code. */
    int (*run)(int argc, char **argv);
} cli_learner;

/* An option of every learner. */
#define CLI_MODEL_OUTPUT(struct_)                                                                  \
    CLI_ROW('o', "output", CLI_WRITE, "FILE", "Model file to write, {arrays or}.",                 \
            .offset = offsetof(struct_, output), .group = CLI_OUTPUT,                              \
            .brief = "model file to write")

/* Checks that both files can be created; plot may be NULL. CLI_CONTINUE, or an exit code. */
int cli_model_check(const cli_tool *tool, const cli_operands *inputs, const char *output,
                    const char *plot);

/* "8x12", or "8" for both, each from 1 to `most`. */
bool cli_extents_read(const char *text, int64_t most, int64_t extents[2]);

/* The inputs as a model names them: paths, or names without folders; as many as have room. */
void cli_inputs_list(const cli_operands *inputs, const char *between, bool names, char *text,
                     size_t room);

/* Where a model goes. */
typedef struct cli_model_files {
    const char *output, *plot; /* plot NULL: none */
    csrec_status (*draw)(csrec_files *files, const char *path, const csrec_model *model,
                         csrec_error *error); /* adds the plot */
    bool no_sync;
    const char *fingerprint;       /* of the inputs and settings; NULL: out of memory */
    const char *source, *settings; /* texts of the model */
} cli_model_files;

/* Sets the texts of the model and writes the model and its plot, as cli_products_write. */
csrec_status cli_model_save(csrec_model *model, const cli_model_files *to, csrec_error *error);

/* Draws the mean and the first components of a pca model of 2-D vectors with 1 or 3 channels, row
 * by row; 0 in a component is gray. */
csrec_status cli_plot_components(csrec_files *files, const char *path, const csrec_model *model,
                                 csrec_error *error);

extern const cli_learner cli_learn_info, cli_learn_pca;

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
    CLI_ROW('p', "patch", CLI_TEXT, "HxW",                                                         \
            "Learn from all patches of this size, e.g. 8x8 or 8. Without it, learn from whole "    \
            "pictures or rows.",                                                                   \
            CLI_AT(member.patch), .group = CLI_INPUT,                                              \
            .brief = "learn from patches of this size, 8x8 or 8"),                                 \
        CLI_ROW('s', "stride", CLI_INTEGER, "S",                                                   \
                "Pixels between patches (default a quarter of the patch).", CLI_AT(member.stride), \
                .low = 1, .high = 1e6, .brief = "pixels between patches"),                         \
        CLI_ROW('n', "most", CLI_INTEGER, "N",                                                     \
                "Use this many patches or pictures, chosen at random, if there are more.",         \
                CLI_AT(member.most), .low = 1, .high = 1e12, .brief = "use so many at most"),      \
        CLI_ROW(0, "seed", CLI_SEED, "S", "Seed of all random choices (default 1).",               \
                CLI_AT(member.seed), .brief = "seed of all random choices (default 1)"),           \
        CLI_ROW('g', "gray", CLI_FLAG, NULL, "Learn from the luminance of colour pictures.",       \
                CLI_AT(member.gray), .brief = "learn from the luminance of colours"),              \
        CLI_ROW('c', "channels-last", CLI_FLAG, NULL, "The last axis of an array is channels.",    \
                CLI_AT(member.channels_last))

/* A file that learners read pictures from. */
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

void cli_data_file_close(cli_data_file *file);

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
/* After the work: CLI_CONTINUE if the files have not changed, else an exit code and a message. */
int cli_data_check_unchanged(const cli_tool *tool, const cli_data *data);
/* Adds the settings on which the rows depend. */
void cli_data_fingerprint(const cli_data *data, cli_fingerprint *line);
