/* coefficients.h - csrecover --coefficients. */
#ifndef CSREC_TOOLS_RECOVER_COEFFICIENTS_H
#define CSREC_TOOLS_RECOVER_COEFFICIENTS_H

#include "csrec.h"

/* Writes the atoms of all channels as .npz: column (uint64), coefficient (float64), count (int64),
 * channel (int64, if there is more than one), and the scalar levels. A channel's atoms ascend by
 * column and follow the channel before. */
csrec_status cli_coefficients_write(csrec_files *files, const char *path, int levels,
                                    int64_t channels, const csrec_atoms *atoms, csrec_error *error);

#endif
