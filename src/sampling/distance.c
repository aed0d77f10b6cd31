/* SPDX-License-Identifier: BSD-3-Clause */
/* distance.c - the Euclidean distance transform, one axis after the other.
 *
 * P. Felzenszwalb and D. Huttenlocher, "Distance transforms of sampled functions", 2012: along a
 * line, the distance to the nearest position is the lower envelope of parabolas, one over each
 * entry, raised by the squared distance that the axes before have found. */
#include "sampling/distance.h"

#include <math.h>

#include "base/inline.h"
#include "base/pool.h"

typedef struct {
    double *height; /* [longest] of the line before */
    double *from;   /* [longest] where a parabola of the envelope begins */
    int64_t *foot;  /* [longest] its entry */
} envelope;

/* Where the parabola over b comes to lie under that over a < b. */
static double meeting(const double *height, int64_t a, int64_t b) {
    double rise = height[b] - height[a];
    return 0.5 * ((double)(a + b) + rise / (double)(b - a));
}

/* The number of parabolas of the envelope. */
static int64_t build(int64_t n, const envelope *e) {
    int64_t k = 0;
    for (int64_t q = 0; q < n; q++) {
        if (e->height[q] >= CSREC_FAR) continue;
        double from = -INFINITY;
        while (k && (from = meeting(e->height, e->foot[k - 1], q)) <= e->from[k - 1]) k--;
        e->from[k] = k ? from : -INFINITY;
        e->foot[k++] = q;
    }
    return k;
}

static void transform_line(int64_t n, int64_t stride, uint32_t *line, const envelope *e) {
    for (int64_t i = 0; i < n; i++) e->height[i] = line[i * stride];
    int64_t k = build(n, e);
    if (k == 0) return;
    for (int64_t i = 0, j = 0; i < n; i++) {
        while (j + 1 < k && e->from[j + 1] < (double)i) j++;
        double along = (double)(i - e->foot[j]);
        line[i * stride] = (uint32_t)fmin(e->height[e->foot[j]] + along * along, CSREC_FAR);
    }
}

csrec_status csrec_distance_squared(const int64_t extent[3], uint32_t *squared) {
    csrec_pool pool = {0};
    int64_t entries = extent[0] * extent[1] * extent[2], stride = 1;
    const int64_t longest = csrec_larger(csrec_larger(extent[0], extent[1]), extent[2]);
    envelope e;
    CSREC_TAKE(&pool, e.height, longest);
    CSREC_TAKE(&pool, e.from, longest);
    CSREC_TAKE(&pool, e.foot, longest);
    const csrec_status status = csrec_pool_status(&pool);
    for (int a = 2; !status && a >= 0; stride *= extent[a--])
        for (int64_t first = 0; first < entries && extent[a] > 1; first += stride * extent[a])
            for (int64_t i = first; i < first + stride; i++)
                transform_line(extent[a], stride, squared + i, &e);
    csrec_pool_clear(&pool);
    return status;
}
