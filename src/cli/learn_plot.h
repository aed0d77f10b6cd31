/* learn_plot.h - pictures of what was learned. */
#ifndef CSREC_CLI_LEARN_PLOT_H
#define CSREC_CLI_LEARN_PLOT_H

#include "csrec.h"

/* The mean and the first components of a pca model of 2-D vectors with 1 or 3 channels, in rows
 * from the left; a component is gray where it is 0. */
csrec_status cli_plot_components(csrec_files *files, const char *path, const csrec_model *model,
                                 csrec_error *error);

/* The filters of a conv model, in rows from the left; gray where one is 0. */
csrec_status cli_plot_filters(csrec_files *files, const char *path, const csrec_model *model,
                              csrec_error *error);

#endif
