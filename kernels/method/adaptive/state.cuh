/* state.cuh - arguments of the kernels of an adaptive recovery. Only for kernels/. */
#ifndef CSREC_KERNELS_METHOD_ADAPTIVE_STATE_CUH
#define CSREC_KERNELS_METHOD_ADAPTIVE_STATE_CUH

#include "kernels/method/adaptive/adaptive.h"
#include "kernels/device/device.h"

/* A block of rows in which both halves have samples, as csrec_fit_node: the split between sorted
 * rows `id` and id + 1. Leaves follow, id = samples + the first sorted row of the leaf. */
typedef struct csrec_adaptive_node {
    uint64_t prefix; /* of the block, then a 1 at the bit that tells the halves apart, then 0 */
    int child[2];
} csrec_adaptive_node;

/* Arrays of a grid follow each other: [grids][samples], or [grids][2 samples] a node and leaf. */
typedef struct csrec_adaptive_device {
    int height, width, sites, samples, channels;
    int cell, high, wide, reach; /* of the map */
    float threshold, units, kernel[2 * CSREC_CUDA_MAP_REACH + 1];
    bool noisy;
    int *site;
    float *y, *z, *u, *before; /* [samples * channels] twice, [sites * channels] twice */
    float *bases;              /* [CSREC_CUDA_BASES][sites] */
    float *plain;              /* [sites] the picture whose features are taken */
    float *weighted, *weights; /* [sites * channels], [sites] */
    float *mass, *reference;   /* [cells] */
    float *cells, *lines;      /* [sums][cells] */
    float *means;              /* [sums] of squared errors */
    int *sum;                  /* [sums][sites * channels] */
    csrec_cuda_axes *axes;
    unsigned *range; /* [grids][CSREC_CUDA_AXES][2] in the order of the floats */
    uint64_t *key;   /* rows, sorted */
    unsigned *order; /* samples of the sorted rows */
    csrec_adaptive_node *node;
    int *met;       /* [samples] the far end of the half completed first, or -1 */
    int *up;        /* [2 samples] 2 parent + side */
    int *root;      /* [grids] */
    float *mean;    /* [2 samples * channels] */
    int *value;     /* same shape: final values, in units */
    float *settled; /* [samples * channels] of the leaves, where there is a threshold */
    float *plain_mean, *weight, *size; /* [2 samples * channels], so too; size: of channel 0 */
    unsigned long long *leaves;
} csrec_adaptive_device;

csrec_status csrec_adaptive_reach(const csrec_adaptive_device *d, int count, csrec_error *error);
/* Rows of the samples of grids first .., each with the grid's number from `first` on above `bits`.
 */
csrec_status csrec_adaptive_rows(const csrec_adaptive_device *d, int first, int count, int bits,
                                 uint64_t *key, unsigned *order, csrec_error *error);
/* Trees of the sorted rows, and their values at all sites. */
csrec_status csrec_adaptive_fit(const csrec_adaptive_device *d, int first, int count, int bits,
                                csrec_error *error);
csrec_status csrec_adaptive_combine(const csrec_adaptive_device *d, const int *grids, int count,
                                    bool first, csrec_error *error);

#endif
