/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/slabs.h - recovery of signals that are larger than memory. */
#ifndef CSREC_SLABS_H
#define CSREC_SLABS_H

#include "io.h"
#include "method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The recovery of a signal of which no more is in memory than a line of tiles along the first axis,
 * with the same values as csrec_recover in these tiles. `form` describes the whole: shape,
 * channels, dtype, scale, sigma. Create reads all samples once and plans; then slabs are taken in
 * their order, each once; what has to be recovered for it is recovered then. Its samples are read
 * again, twice where tiles overlap.
 *
 * options: as for csrec_recover, whose errors these functions have, without history.
 * CSREC_UNSUPPORTED: a method that needs the whole. CSREC_DATA: no entry is known.
 * CSREC_STOPPED: progress asked to stop. One thread at a time may use an object. */
typedef struct csrec_slabs csrec_slabs;

/* Whether a recovery in one piece, with the file's values, the samples and the result, would take
 * more than options->memory, or without it three quarters of what is available. form->n: the number
 * of samples in a file of such; 0: of a picture or array, which has a value for each entry. */
CSREC_API bool csrec_slabs_pay(const csrec_measurement *form, const csrec_recover_options *options);

CSREC_API csrec_status csrec_slabs_create(const csrec_measurement *form, csrec_slab_samples_fn read,
                                          void *context, const csrec_recover_options *options,
                                          csrec_slabs **slabs, csrec_error *error);

/* The plan, the number of samples, and of each channel the smallest and the largest. */
CSREC_API const csrec_plan *csrec_slabs_plan(const csrec_slabs *slabs);
CSREC_API int64_t csrec_slabs_samples(const csrec_slabs *slabs);
CSREC_API void csrec_slabs_range(const csrec_slabs *slabs, int64_t channel, double *least,
                                 double *most);

/* Values of the next slab: [count][other axes][channels]. CSREC_ARGUMENT: it is not the next. */
CSREC_API csrec_status csrec_slabs_take(csrec_slabs *slabs, csrec_slab slab, double *values,
                                        csrec_error *error);

/* With options->comm all its processes create the object, and each reads and recovers its tiles,
 * which are those of csrec_recover if csrec_slabs_pay is false. CSREC_UNSUPPORTED: there is a
 * single tile, which csrec_recover recovers as a whole. The first one takes slabs; the others call
 * this, which returns when it has taken the last. */
CSREC_API csrec_status csrec_slabs_serve(csrec_slabs *slabs, csrec_error *error);

/* Instead of take and serve, on all processes, each of which then has no more than its lines of
 * tiles in memory: recovers this process's tiles and hands over the values of the whole that are
 * its own, in C order from value `first` on, in pieces in any order. */
typedef csrec_status (*csrec_slab_put_fn)(void *context, int64_t first, int64_t count,
                                          const double *values, csrec_error *error);
CSREC_API csrec_status csrec_slabs_put(csrec_slabs *slabs, csrec_slab_put_fn put, void *context,
                                       csrec_error *error);

/* Of what has been recovered so far; residual: the largest of a tile. */
CSREC_API void csrec_slabs_report(const csrec_slabs *slabs, csrec_recover_report *report);
CSREC_API void csrec_slabs_destroy(csrec_slabs *slabs);

#ifdef __cplusplus
}
#endif
#endif
