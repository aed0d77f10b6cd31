/* prior_files.h - the priors that are installed with the library. */
#ifndef CSREC_LEARN_PRIOR_FILES_H
#define CSREC_LEARN_PRIOR_FILES_H

#include "learn/model.h"

/* Reads the prior for pictures of so many channels: prior-colour.npz for 3, or prior-gray.npz, from
 * the first folder that has it: share/csrecover beside the library, as it is installed, packaged or
 * built. CSREC_FILE: there is none, with the remedy. */
csrec_status csrec_prior_find(int64_t channels, csrec_model **model, csrec_error *error);

#endif
