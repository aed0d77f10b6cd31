/* state.cuh - arguments of the kernels of a round of Gaussian groups. Only for kernels/.
 */
#ifndef CSREC_KERNELS_METHOD_GAUSSIAN_STATE_CUH
#define CSREC_KERNELS_METHOD_GAUSSIAN_STATE_CUH

#include "kernels/device/device.h"
#include "kernels/method/gaussian/gaussian.h"

typedef struct csrec_gaussian_device {
    int height, width, channels, patch_height, patch_width, group;
    int64_t area;
    bool keep;
    unsigned char *mask;
    float *y, *u, *variance, *guide; /* [channels][area], guide [area]; y: NaN but at samples */
    unsigned long long *sums;        /* [3][channels][area]: w, w x, w v in units of 2^-32 */
    int *row, *column;               /* of the references */
    int2 *match;                     /* [references][group] corners: x down, y right */
    int *size;                       /* [references] */
    int *count;                      /* [references] candidates, and their places in the window */
    unsigned short *shift;           /* [references][CSREC_CUDA_GAUSSIAN_KEPT] */
} csrec_gaussian_device;

csrec_status csrec_gaussian_match(const csrec_gaussian_device *g,
                                  const csrec_cuda_gaussian_round *round, int shared,
                                  csrec_error *error);
/* most: samples that a patch has. */
csrec_status csrec_gaussian_estimate(const csrec_gaussian_device *g,
                                     const csrec_cuda_gaussian_round *round, int most, int shared,
                                     csrec_error *error);

#endif
