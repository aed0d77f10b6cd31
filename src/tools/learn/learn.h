/* learn.h - learners: one file each, and a row of the table in cslearn.c. */
#ifndef CSREC_TOOLS_LEARN_LEARN_H
#define CSREC_TOOLS_LEARN_LEARN_H

#include "tools/common/options.h"

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

extern const cli_learner cli_learn_conv, cli_learn_gmm, cli_learn_info, cli_learn_net,
    cli_learn_pca;

#endif
