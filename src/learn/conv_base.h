/* conv_base.h - the smooth layer that is subtracted before filters are learned. */
#ifndef CSREC_LEARN_CONV_BASE_H
#define CSREC_LEARN_CONV_BASE_H

#include "base/error.h"
#include "base/call.h"

/* base [height][width] = (G y + e mean) / (G 1 + e), G a Gaussian of standard deviation sigma
 * pixels over the m samples y at index, e so small that the mean matters only far from all samples:
 * normalised convolution (Knutsson and Westin 1993). sigma 0, or the team (may be NULL) is stopped:
 * the mean. CSREC_MEMORY. */
csrec_status csrec_conv_base(int64_t height, int64_t width, int64_t m, const int64_t *index,
                             const double *y, double sigma, csrec_call *team, double *base);

#endif
