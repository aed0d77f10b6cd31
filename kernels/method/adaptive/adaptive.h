/* adaptive.h - the passes of an adaptive recovery on a device. method/adaptive/adaptive.c is the
 * recipe; adaptive_fit.c and adaptive_features.c are the bit-exact reference.
 *
 * The grids of a pass are fitted side by side: rows of the samples, one sort of them all, the trees
 * of the rows from their leaves up, and a search of each site in each tree. */
#ifndef CSREC_KERNELS_METHOD_ADAPTIVE_ADAPTIVE_H
#define CSREC_KERNELS_METHOD_ADAPTIVE_ADAPTIVE_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

enum {
    CSREC_CUDA_AXES = 7,
    CSREC_CUDA_AXIS_BITS = 16,
    CSREC_CUDA_AXIS_NONE = 255,
    CSREC_CUDA_FEATURES = 6,
    CSREC_CUDA_BASES = 2 + CSREC_CUDA_FEATURES,
    CSREC_CUDA_TAPS = 48,
    CSREC_CUDA_BORDER = 3, /* largest distance of a tap in pixels */
    CSREC_CUDA_MAP_REACH = 15,
    CSREC_CUDA_GRIDS = 64, /* most grids per call */
    CSREC_CUDA_SUMS = 32
};

/* As csrec_axis: over position (2 coefficients) or over the features (all). */
typedef struct csrec_cuda_axis {
    int count;
    float coefficient[CSREC_CUDA_FEATURES], offset, least, most;
    unsigned char place[CSREC_CUDA_AXIS_BITS];
} csrec_cuda_axis;

typedef struct csrec_cuda_axes {
    int count, bits;
    int to; /* number of the sum */
    csrec_cuda_axis axis[CSREC_CUDA_AXES];
} csrec_cuda_axes;

typedef struct csrec_cuda_filters {
    int radius, taps;
    int dx[CSREC_CUDA_TAPS], dy[CSREC_CUDA_TAPS];
    float tap[CSREC_CUDA_FEATURES][CSREC_CUDA_TAPS];
} csrec_cuda_filters;

typedef struct csrec_cuda_adaptive csrec_cuda_adaptive;

/* Arrays in host memory. Sites are the pixels, the samples first. */
typedef struct csrec_cuda_adaptive_spec {
    int32_t height, width, samples, channels;
    const int32_t *site; /* [height * width] of the pixels */
    const float *y;      /* [samples * channels] */
    float threshold, units;
    bool noisy;                  /* features come from the recovery, not from the samples */
    int cell, high, wide, reach; /* of the map of errors */
    const float *kernel, *mass;  /* [2 reach + 1], [high * wide] */
    int sums;                    /* most sums wanted concurrently */
} csrec_cuda_adaptive_spec;

/* *sums: as many as there is memory for. CSREC_MEMORY names the bytes. */
csrec_status csrec_cuda_adaptive_create(const csrec_cuda_adaptive_spec *spec,
                                        csrec_cuda_adaptive **adaptive, int *sums,
                                        csrec_error *error);
void csrec_cuda_adaptive_destroy(csrec_cuda_adaptive *adaptive);

/* The functions below are asynchronous, except reach and get, which wait. */

/* z = y - alpha u at the samples. */
csrec_status csrec_cuda_adaptive_residual(csrec_cuda_adaptive *adaptive, float alpha,
                                          csrec_error *error);
csrec_status csrec_cuda_adaptive_features(csrec_cuda_adaptive *adaptive,
                                          const csrec_cuda_filters *filters, csrec_error *error);

/* minimum and maximum of each axis over the samples, without offset. count <= CSREC_CUDA_GRIDS. */
csrec_status csrec_cuda_adaptive_reach(csrec_cuda_adaptive *adaptive, csrec_cuda_axes *axes,
                                       int count, csrec_error *error);

/* Sums 0 .. count - 1 become 0. */
csrec_status csrec_cuda_adaptive_clear(csrec_cuda_adaptive *adaptive, int count,
                                       csrec_error *error);

/* Fits z on each of `count` grids and adds the fit's values at the sites to sum number axes->to. */
csrec_status csrec_cuda_adaptive_add(csrec_cuda_adaptive *adaptive, const csrec_cuda_axes *axes,
                                     int count, csrec_error *error);

/* Weighs sums, of grids[k] grids each, by their errors at the samples; `first`: the first call of a
   pass. */
csrec_status csrec_cuda_adaptive_combine(csrec_cuda_adaptive *adaptive, const int *grids, int count,
                                         bool first, csrec_error *error);

/* u = alpha u + the weighted mean of the combined sums, + the mean of sum 0 over its grids. The
 * latter keeps the recovery before. */
csrec_status csrec_cuda_adaptive_weighted(csrec_cuda_adaptive *adaptive, float alpha,
                                          csrec_error *error);
csrec_status csrec_cuda_adaptive_mean(csrec_cuda_adaptive *adaptive, float alpha, int grids,
                                      csrec_error *error);

/* u, and before it was last changed by a mean; [sites * channels]. leaves: of all grids so far. */
csrec_status csrec_cuda_adaptive_get(const csrec_cuda_adaptive *adaptive, float *u, float *before,
                                     int64_t *leaves, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
