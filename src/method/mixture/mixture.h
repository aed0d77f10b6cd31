/* mixture.h - recovery of pictures by one mixture of Gaussians over all patches (docs/learning.md). */
#ifndef CSREC_METHOD_MIXTURE_MIXTURE_H
#define CSREC_METHOD_MIXTURE_MIXTURE_H

#include "base/error.h"

struct csrec_whole; /* of tones.h */

bool csrec_gmm_wanted(const csrec_recover_options *options);

/* With options->model a learned mixture, else one that is fitted to the samples. unit: as of
 * csrec_recover_model. */
csrec_status csrec_recover_gmm(const csrec_measurement *measurement,
                               const struct csrec_whole *whole,
                               const csrec_recover_options *options, double unit, double *signal,
                               csrec_recover_report *report, csrec_error *error);

#endif
