/* SPDX-License-Identifier: BSD-3-Clause */
/* learn.h - learners: one file each, and a row of the table in cslearn.c; what they share. */
#ifndef CSREC_TOOLS_LEARN_LEARN_H
#define CSREC_TOOLS_LEARN_LEARN_H

#include "tools/common/fingerprint.h"
#include "tools/common/input.h"

typedef struct cli_learner {
    const cli_tool *tool; /* named "cslearn NAME" */
    /* argv[0] is the learner's name; returns the exit code. */
    int (*run)(int argc, char **argv);
} cli_learner;

/* An option of every learner. */
#define CLI_MODEL_OUTPUT(struct_)                                                                  \
    {                                                                                              \
        CLI_ROW('o', "output", CLI_WRITE, "FILE", "Model file to write, {arrays or}."),            \
            .offset = offsetof(struct_, output)                                                    \
    }

/* Checks that both files can be created; plot may be NULL. CLI_CONTINUE, or the exit code after a
 * message. */
int cli_model_check(const cli_tool *tool, const char *output, const char *plot);

/* "8x12", or "8" for both, each from 1 to `most`. */
bool cli_extents_read(const char *text, int64_t most, int64_t extents[2]);

/* The inputs as a model names them: paths, or names without folders; as many as there is room for.
 */
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

/* Draws the filters of a conv model, row by row; 0 is gray. */
csrec_status cli_plot_filters(csrec_files *files, const char *path, const csrec_model *model,
                              csrec_error *error);

/* What a learner of pictures, whole or sampled, learns from: pictures, a mask of them, and a model
 * to continue from; the fields of CLI_LEARN_SOURCES. */
typedef struct cli_learn_sources {
    cli_operands inputs;
    const char *mask, *resume; /* NULL: none */
} cli_learn_sources;

/* part: what --resume takes from a model. */
#define CLI_LEARN_SOURCES(member, part)                                                            \
    {CLI_ROW('m', "mask", CLI_READ, "FILE",                                                        \
             "For every INPUT, only pixels that are not zero in this one are known."),             \
     CLI_AT(member.mask)},                                                                         \
    {                                                                                              \
        CLI_ROW('r', "resume", CLI_READ, "FILE",                                                   \
                "Continue from the " part " of this model, which --output may replace."),          \
            CLI_AT(member.resume), .may_alias = "output"                                           \
    }

/* Begins the line of a run with the contents of its files. */
void cli_learn_fingerprint_begin(cli_fingerprint *line, const cli_tool *tool,
                                 const cli_learn_sources *sources);

/* Fingerprints before and after the files were read; NULL: out of memory. CLI_CONTINUE if they are
 * the same, else the exit code after a message. Frees `after`. */
int cli_learn_check_unchanged(const cli_tool *tool, const cli_learn_sources *sources,
                              const char *before, char *after);

/* Reads the model to continue from, if there is one, else leaves *start. It must be of this kind,
 * the only one that has `part`. CLI_CONTINUE, or the exit code after a message. */
int cli_learn_start_read(const cli_tool *tool, const cli_learn_sources *sources, const char *kind,
                         const char *part, csrec_model **start);

typedef struct cli_learn_input {
    csrec_shape shape; /* of two axes */
    int64_t channels;
    double scale[2];           /* of black and white; equal: not known */
    csrec_measurement samples; /* n 0: the picture */
    cli_signal picture;
} cli_learn_input;

/* Reads the pixels of a picture that are not transparent or, with a mask (else NULL), not masked;
 * or the samples of a measurement. CLI_CONTINUE, or the exit code after a message. Clear it after
 * either. */
int cli_learn_input_open(const cli_tool *tool, const char *path, const char *mask,
                         cli_learn_input *in);
void cli_learn_input_clear(cli_learn_input *in);

/* The known pixels of one channel's window at (top, left); values and known [height][width] are
 * zeros before. */
void cli_learn_input_window(const cli_learn_input *in, int64_t channel, const int64_t at[2],
                            const int64_t size[2], float *values, uint8_t *known);

extern const cli_learner cli_learn_conv, cli_learn_gmm, cli_learn_info, cli_learn_net,
    cli_learn_pca;

#endif
