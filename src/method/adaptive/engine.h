/* engine.h - the passes over adaptive grids as a device does them; passes.c is their schedule. */
#ifndef CSREC_METHOD_ADAPTIVE_ENGINE_H
#define CSREC_METHOD_ADAPTIVE_ENGINE_H

#include "device/device.h"
#include "method/adaptive/picture.h"

/* The recovery so far, what the axes are made from and sums of grids stay with the engine from
 * create to destroy, which takes NULL. Work may be queued. */
typedef struct csrec_adaptive_engine {
    /* The picture outlives the state. Values are summed as integers, round(value * units). sums:
     * most classes whose grids are wanted beside each other; set to what the engine takes at a
     * time. */
    csrec_status (*create)(const csrec_context *context, csrec_picture *picture, float units,
                           int *sums, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* What the next grids fit: y - alpha u at the samples. */
    csrec_status (*residual)(void *state, float alpha, csrec_error *error);
    /* The bases after x and y, from u with the samples in place. */
    csrec_status (*features)(void *state, int radius, double width, csrec_error *error);
    /* Sums 0 .. sums - 1, from 0: grid g, axes[g] drawn, is fitted and added to sum number to[g],
     * which never falls. At most CSREC_CLASS_GRIDS grids; each is counted (csrec_picture_count).
     * Once the team is stopped, sums and axes mean nothing. */
    csrec_status (*add)(void *state, csrec_axes *axes, const int *to, int grids, int sums,
                        csrec_error *error);
    /* Sums of classes with so many grids are weighed by their errors and added up; `first`: of a
     * pass. */
    csrec_status (*combine)(void *state, const int *grids, int count, bool first,
                            csrec_error *error);
    /* The recovery becomes alpha times itself plus what is combined; plus the mean of sum 0. */
    csrec_status (*weighted)(void *state, float alpha, csrec_error *error);
    csrec_status (*mean)(void *state, float alpha, int grids, csrec_error *error);
    /* u of the picture becomes the recovery; `last`: weighted that before the last mean, and leaves
     * those of all grids. */
    csrec_status (*get)(void *state, bool last, csrec_error *error);
} csrec_adaptive_engine;

extern const csrec_adaptive_engine csrec_adaptive_cpu, csrec_adaptive_cuda;

/* All passes: u of the picture is the recovery. Stopped in the first pass, what there is counts;
 * later, the pass does not. */
csrec_status csrec_adaptive_passes(const csrec_context *context, csrec_picture *picture,
                                   csrec_error *error);

#endif
