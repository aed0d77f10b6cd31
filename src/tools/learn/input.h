/* input.h - the input of learners of pictures, whole or sampled: pictures, a mask of them,
 * and a model to continue from. */
#ifndef CSREC_TOOLS_LEARN_INPUT_H
#define CSREC_TOOLS_LEARN_INPUT_H

#include "tools/common/fingerprint.h"
#include "tools/common/input.h"
#include "tools/common/options.h"

/* What to learn from; the fields of CLI_LEARN_SOURCES. */
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

#endif
