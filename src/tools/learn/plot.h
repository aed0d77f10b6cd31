/* plot.h - pictures of learned components and filters. */
#ifndef CSREC_TOOLS_LEARN_PLOT_H
#define CSREC_TOOLS_LEARN_PLOT_H

#include "csrec.h"

/* Draws the mean and the first components of a pca model of 2-D vectors with 1 or 3 channels, row
 * by row; 0 in a component is gray. */
csrec_status cli_plot_components(csrec_files *files, const char *path, const csrec_model *model,
                                 csrec_error *error);

/* Draws the filters of a conv model, row by row; 0 is gray. */
csrec_status cli_plot_filters(csrec_files *files, const char *path, const csrec_model *model,
                              csrec_error *error);

#endif
