/* sparse.h - recovery on a basis or frame of the signal by any solver (docs/bases.md). */
#ifndef CSREC_METHOD_SPARSE_SPARSE_H
#define CSREC_METHOD_SPARSE_SPARSE_H

#include "device/backend.h"

struct csrec_whole; /* of tones.h */

/* Whether options->basis asks for it: it is neither NULL nor "haar". */
bool csrec_basis_wanted(const csrec_recover_options *options);

/* Channels one by one; dct with threshold and no block given: the mean of three block sizes.
 * backend: where to do what it offers. For what it does not, the operators compute their products
 * there, or, thresholding under auto, on the CPU. What the backend refuses is a failure.
 * report->backend says which was used. */
csrec_status csrec_recover_basis(const csrec_measurement *measurement,
                                 const struct csrec_whole *whole,
                                 const csrec_recover_options *options, const csrec_backend *backend,
                                 double *signal, csrec_recover_report *report, csrec_error *error);

#endif
