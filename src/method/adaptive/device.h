/* device.h - the passes of an adaptive recovery (adaptive.c) on a device. */
#ifndef CSREC_METHOD_ADAPTIVE_DEVICE_H
#define CSREC_METHOD_ADAPTIVE_DEVICE_H

#include "method/adaptive/picture.h"

/* The recovery so far, what the axes are made from and sums of grids stay there from create to
 * destroy, which takes NULL. Work is queued. */
typedef struct csrec_adaptive_device {
    /* sums: most classes whose grids are wanted beside each other; set to what it has memory for.
     */
    csrec_status (*create)(const csrec_picture *picture, float units, int *sums, void **state,
                           csrec_error *error);
    void (*destroy)(void *state);
    /* As csrec_picture_residual and csrec_picture_features. */
    csrec_status (*residual)(void *state, float alpha, csrec_error *error);
    csrec_status (*features)(void *state, int radius, double width, csrec_error *error);
    /* Sums 0 .. sums - 1, from 0: grid g, axes[g] drawn, is fitted and added to sum number to[g].
     * At most CSREC_CLASS_GRIDS grids. */
    csrec_status (*add)(void *state, csrec_axes *axes, const int *to, int grids, int sums,
                        csrec_error *error);
    /* Sums of classes with so many grids are weighed and added up; `first`: of a pass. */
    csrec_status (*combine)(void *state, const int *grids, int count, bool first,
                            csrec_error *error);
    /* The recovery becomes alpha times itself plus what is combined; plus the mean of sum 0. */
    csrec_status (*weighted)(void *state, float alpha, csrec_error *error);
    csrec_status (*mean)(void *state, float alpha, int grids, csrec_error *error);
    /* The recovery; NULL or the one before the last mean; NULL or the leaves of all grids. */
    csrec_status (*get)(const void *state, float *u, float *before, int64_t *leaves,
                        csrec_error *error);
} csrec_adaptive_device;

/* All passes there: u and weighted, the recovery before the last pass, of the picture. passes: of
 * features, done. Stopped, as on the CPU, but for the grids of classes side by side. */
csrec_status csrec_adaptive_run(const csrec_adaptive_device *device, csrec_picture *picture,
                                float units, int *passes, csrec_error *error);

#endif
