/* learn.h - learners: what cslearn does, one file each and a row of its table. */
#ifndef CSREC_CLI_LEARN_H
#define CSREC_CLI_LEARN_H

#include "options.h"

typedef struct cli_learner {
    const cli_tool *tool; /* named "cslearn NAME" */
    /* argv[0] is the learner's name; returns the exit code. */
    int (*run)(int argc, char **argv);
} cli_learner;

/* Of every learner: the model it writes. */
#define CLI_MODEL_OUTPUT(struct_)                                                                  \
    {                                                                                              \
        .name = "output", .letter = 'o', .type = CLI_TEXT, .argument = "FILE",                     \
        .help = "Model file to write, .npz.", .offset = offsetof(struct_, output)                  \
    }

/* Whether both files can be made; plot may be NULL. CLI_CONTINUE, or the exit code after a line. */
int cli_model_check(const cli_tool *tool, const char *output, const char *plot);

/* Draws the plot, if one is asked for, and writes the model: both, or neither. As above. */
int cli_model_deliver(const cli_tool *tool, const csrec_model *model, const char *output,
                      const char *plot,
                      csrec_status (*draw)(const char *path, const csrec_model *model,
                                           csrec_error *error));

extern const cli_learner cli_learn_conv, cli_learn_gmm, cli_learn_info, cli_learn_pca;

#endif
