/* engine.h - a device's interface for passes over adaptive grids; passes.c schedules them. */
#ifndef CSREC_METHOD_ADAPTIVE_ENGINE_H
#define CSREC_METHOD_ADAPTIVE_ENGINE_H

#include "device/device.h"
#include "method/adaptive/picture.h"

/* The engine keeps the recovery so far, the bases of the axes and the sums of grids from create
 * to destroy, which accepts NULL. Work may be queued. */
typedef struct csrec_adaptive_engine {
    /* The picture outlives the state. Values are summed as integers, round(value * units). sums:
     * in, the most classes to be summed at the same time; out, the number that the engine
     * handles at a time. */
    csrec_status (*create)(const csrec_context *context, csrec_picture *picture, float units,
                           int *sums, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* The next grids fit y - alpha u at the samples. */
    csrec_status (*residual)(void *state, float alpha, csrec_error *error);
    /* Computes the bases after x and y from u with the samples in place. */
    csrec_status (*features)(void *state, int radius, double width, csrec_error *error);
    /* Clears sums 0 .. sums - 1, then fits grid g with the drawn axes[g] and adds it to sum to[g],
     * to ascending. At most CSREC_CLASS_GRIDS grids; each is counted (csrec_picture_count).
     * Once the team is stopped, sums and axes are undefined. */
    csrec_status (*add)(void *state, csrec_axes *axes, const int *to, int grids, int sums,
                        csrec_error *error);
    /* Weights the sums of classes of so many grids by their errors and adds them up; `first`: the
     * first of a pass. */
    csrec_status (*combine)(void *state, const int *grids, int count, bool first,
                            csrec_error *error);
    /* The recovery becomes alpha times itself plus the combined classes; plus the mean of sum 0. */
    csrec_status (*weighted)(void *state, float alpha, csrec_error *error);
    csrec_status (*mean)(void *state, float alpha, int grids, csrec_error *error);
    /* Copies the recovery to u of the picture; `last`: also the one before the last mean to
     * weighted, and the number of leaves of all grids to leaves. */
    csrec_status (*get)(void *state, bool last, csrec_error *error);
} csrec_adaptive_engine;

extern const csrec_adaptive_engine csrec_adaptive_cpu, csrec_adaptive_cuda;

/* Runs all passes; u of the picture becomes the recovery. If stopped in the first pass, its
 * partial result counts; a later stopped pass is discarded. */
csrec_status csrec_adaptive_passes(const csrec_context *context, csrec_picture *picture,
                                   csrec_error *error);

#endif
