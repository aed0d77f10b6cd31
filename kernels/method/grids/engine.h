/* engine.h - the mean over dyadic grids on a CUDA device. */
#ifndef CSREC_KERNELS_METHOD_GRIDS_ENGINE_H
#define CSREC_KERNELS_METHOD_GRIDS_ENGINE_H

#include "base/error.h"

typedef enum csrec_cuda_way {
    CSREC_CUDA_CHOOSE,
    CSREC_CUDA_BATCHES, /* all signals at once, a block each (kernels/method/grids/batch.h) */
    CSREC_CUDA_SINGLY   /* one after another, each on the whole device (kernels/method/grids/loop.h) */
} csrec_cuda_way;

/* As csrec_recover_grids of recover/recover.h, with the same bits. CSREC_UNSUPPORTED: a solver
 * other than mp, or its reference way; CSREC_MEMORY: one grid does not fit. */
csrec_status csrec_cuda_recover_grids(const csrec_measurement *measurement,
                                      const csrec_recover_options *options, double *signal,
                                      csrec_atoms *atoms, csrec_recover_report *report,
                                      csrec_error *error);

/* The same by one way. CSREC_UNSUPPORTED: the way cannot. */
csrec_status csrec_cuda_recover_grids_by(csrec_cuda_way way, const csrec_measurement *measurement,
                                         const csrec_recover_options *options, double *signal,
                                         csrec_atoms *atoms, csrec_recover_report *report,
                                         csrec_error *error);

/* The way for so many signals (grids x channels) of n samples. */
csrec_cuda_way csrec_cuda_choose_way(int64_t signals, int64_t n);

/* Whether a device is sooner done than the CPU's cores. */
bool csrec_cuda_pays(const csrec_measurement *measurement, const csrec_recover_options *options);

#endif
