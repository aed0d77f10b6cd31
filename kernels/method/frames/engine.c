/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - a schedule of thresholds on the device. */
#include <string.h>

#include "kernels/device/device.h"
#include "kernels/method/frames/shrink.h"
#include "method/frames/engine.h"
#include "operator/dct.h"

static csrec_status run_rounds(csrec_cuda_shrink *shrink, const csrec_frames_job *job,
                               csrec_error *error) {
    for (int64_t k = 0; k < job->rounds; k++) {
        const csrec_shrink_step *step = &job->round[k];
        csrec_cuda_shrink_round round = {.threshold = step->threshold,
                                         .relax = step->relax,
                                         .impose = step->impose,
                                         .soft = step->soft,
                                         .last = k + 1 == job->rounds};
        for (int f = 0; f < job->frames; f++)
            csrec_dct_offset(job->step[f], step->draw, &round.down[f], &round.right[f]);
        CSREC_TRY(csrec_cuda_shrink_step(shrink, &round, error));
    }
    return CSREC_OK;
}

static csrec_status threshold(const csrec_context *context, const csrec_frames_job *job,
                              double *mean, double *energy, csrec_error *error) {
    csrec_cuda_shrink_spec spec = {.height = job->shape->dim[0],
                                   .width = job->shape->dim[1],
                                   .frames = job->frames,
                                   .m = job->m,
                                   .index = job->index};
    memcpy(spec.block, job->block, sizeof spec.block);
    memcpy(spec.step, job->step, sizeof spec.step);
    csrec_cuda_shrink *shrink = NULL;
    csrec_status status = csrec_cuda_enter(context, error);
    if (!status) status = csrec_cuda_shrink_create(&spec, &shrink, error);
    if (!status) status = csrec_cuda_shrink_start(shrink, mean, job->y, error);
    if (!status) status = run_rounds(shrink, job, error);
    if (!status) status = csrec_cuda_shrink_result(shrink, mean, energy, error);
    csrec_cuda_shrink_destroy(shrink);
    return status;
}

/* The CPU's picture up to the order in which overlapping blocks are summed: a coefficient within
 * rounding of a threshold may fall on its other side. Deterministic. CSREC_UNSUPPORTED: block or
 * step is not one of kernels/method/frames/shrink.h. */
const csrec_frames_engine csrec_frames_cuda = {threshold};
