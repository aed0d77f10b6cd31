/* engine.c - passes over adaptive grids: axes and filters to a device, the recovery back.
 * Bit-identical to the CPU, except where a mean of errors over the whole picture is rounded to a
 * float and lies within a double's rounding error of the midpoint of two floats. */
#include <stdlib.h>
#include <string.h>

#include "kernels/device/device.h"
#include "kernels/method/adaptive/adaptive.h"
#include "method/adaptive/engine.h"

typedef struct engine {
    csrec_picture *p;
    csrec_cuda_adaptive *there;
} engine;

static void destroy(void *state) {
    engine *e = state;
    if (e) csrec_cuda_adaptive_destroy(e->there);
    free(e);
}

static csrec_status create(const csrec_context *context, csrec_picture *p, float units, int *sums,
                           void **state, csrec_error *error) {
    const csrec_cuda_adaptive_spec spec = {.height = p->height,
                                           .width = p->width,
                                           .samples = p->samples,
                                           .channels = p->channels,
                                           .site = p->site,
                                           .y = p->y,
                                           .threshold = p->threshold,
                                           .units = units,
                                           .noisy = p->sigma != 0.0f,
                                           .cell = p->map.cell,
                                           .high = p->map.h,
                                           .wide = p->map.w,
                                           .reach = p->map.reach,
                                           .kernel = p->map.kernel,
                                           .mass = p->map.mass,
                                           .sums = *sums};
    csrec_status status = csrec_cuda_enter(context, error);
    if (status) return status;
    engine *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->p = p;
    status = csrec_cuda_adaptive_create(&spec, &e->there, sums, error);
    if (status)
        free(e);
    else
        *state = e;
    return status;
}

static csrec_status residual(void *state, float alpha, csrec_error *error) {
    return csrec_cuda_adaptive_residual(((engine *)state)->there, alpha, error);
}

static csrec_status features(void *state, int radius, double width, csrec_error *error) {
    csrec_filters own;
    csrec_cuda_filters filters;
    csrec_filters_create(radius, width, &own);
    filters.radius = own.radius;
    filters.taps = own.taps;
    memcpy(filters.dx, own.dx, sizeof filters.dx);
    memcpy(filters.dy, own.dy, sizeof filters.dy);
    memcpy(filters.tap, own.tap, sizeof filters.tap);
    return csrec_cuda_adaptive_features(((engine *)state)->there, &filters, error);
}

static void lay_axes(const csrec_axes *from, int to, csrec_cuda_axes *axes) {
    axes->count = from->count;
    axes->bits = from->bits;
    axes->to = to;
    for (int a = 0; a < from->count; a++) {
        const csrec_axis *axis = &from->axis[a];
        axes->axis[a] = (csrec_cuda_axis){
            .count = axis->count, .offset = axis->offset, .least = axis->least, .most = axis->most};
        memcpy(axes->axis[a].coefficient, axis->coefficient, sizeof axis->coefficient);
        memcpy(axes->axis[a].place, axis->place, sizeof axis->place);
    }
}

/* The range of the samples is copied back: the rows depend on it. */
static csrec_status add(void *state, csrec_axes *axes, const int *to, int grids, int sums,
                        csrec_error *error) {
    engine *e = state;
    csrec_cuda_axes there[CSREC_CUDA_GRIDS] = {{0}};
    for (int g = 0; g < grids; g++) lay_axes(&axes[g], to[g], &there[g]);
    csrec_status status = csrec_cuda_adaptive_clear(e->there, sums, error);
    if (!status) status = csrec_cuda_adaptive_reach(e->there, there, grids, error);
    if (status) return status;
    for (int g = 0; g < grids; g++) {
        for (int a = 0; a < axes[g].count; a++) {
            axes[g].axis[a].least = there[g].axis[a].least;
            axes[g].axis[a].most = there[g].axis[a].most;
        }
        csrec_axes_place(&axes[g]);
        lay_axes(&axes[g], to[g], &there[g]);
    }
    status = csrec_cuda_adaptive_add(e->there, there, grids, error);
    if (!status) csrec_picture_count(e->p, grids);
    return status;
}

static csrec_status combine(void *state, const int *grids, int count, bool first,
                            csrec_error *error) {
    return csrec_cuda_adaptive_combine(((engine *)state)->there, grids, count, first, error);
}

static csrec_status weighted(void *state, float alpha, csrec_error *error) {
    return csrec_cuda_adaptive_weighted(((engine *)state)->there, alpha, error);
}

static csrec_status mean(void *state, float alpha, int grids, csrec_error *error) {
    return csrec_cuda_adaptive_mean(((engine *)state)->there, alpha, grids, error);
}

static csrec_status get(void *state, bool last, csrec_error *error) {
    engine *e = state;
    return csrec_cuda_adaptive_get(e->there, e->p->u, last ? e->p->weighted : NULL,
                                   last ? &e->p->leaves : NULL, error);
}

const csrec_adaptive_engine csrec_adaptive_cuda = {create,  destroy,  residual, features, add,
                                                   combine, weighted, mean,     get};
