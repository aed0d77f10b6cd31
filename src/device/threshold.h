/* threshold.h - the iteration of solver threshold on one picture, as backends are asked for it. */
#ifndef CSREC_DEVICE_THRESHOLD_H
#define CSREC_DEVICE_THRESHOLD_H

#include "base/error.h"
#include "operator/operator.h"

/* mean [pixels]: the start in, the mean of all frames' pictures out. energy [frames]: ||y - v||^2
 * of the last thresholded pictures. */
typedef struct csrec_threshold_job {
    const csrec_shape *shape; /* two axes */
    int frames;
    int block[3], step[3];
    int64_t m;
    const int64_t *index; /* [m] */
    const double *y;      /* [m] */
    int64_t rounds;
    const csrec_shrink_step *round; /* [rounds] */
} csrec_threshold_job;

#endif
