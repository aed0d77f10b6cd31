/* prior_files.h - the priors that are installed with the library. */
#ifndef CSREC_LEARN_NET_PRIOR_FILES_H
#define CSREC_LEARN_NET_PRIOR_FILES_H

#include "learn/model.h"

/* Reads the prior that csrec_prior_installed finds. CSREC_FILE: there is none, with the remedy. */
csrec_status csrec_prior_find(int64_t channels, csrec_model **model, csrec_error *error);

#endif
