/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/noise.h - what samples tell of their noise, and which are gross errors. */
#ifndef CSREC_NOISE_H
#define CSREC_NOISE_H

#include "measurement.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Noise that grows with the light. Variance base + gain x of a sample whose mean is x: with gain g,
 * offset o and white noise s of a camera, g n + o + noise, n Poisson counts, gain is g, and base
 * s^2 - g o. Or a relative error: log is the standard deviation of the sample's logarithm, as of
 * radiance or speckle, of samples >= 0. All 0: neither; NAN: csrec_noise_find finds it. */
typedef struct csrec_noise_law {
    double gain, base, log;
} csrec_noise_law;

/* The standard deviation of white Gaussian noise on the samples, in units of y, the same for all
 * channels: from the parts of the signal that are nearly planes, so 0 where some are constant. Fine
 * texture everywhere, as of grass, counts as noise (docs/measured.md has errors). CSREC_DATA: fewer
 * than 32 (2 dims + 4) samples, or noise that differs between dark and bright places by more than a
 * factor of 2, as that of light, which csrec_noise_each tells by rays. O(n log n), one thread. */
CSREC_API csrec_status csrec_noise_estimate(const csrec_measurement *measurement, double *sigma,
                                            csrec_error *error);

/* What a text says of noise: a number, its sigma, or the law "poisson[:GAIN[,OFFSET[,SIGMA]]]",
 * OFFSET and SIGMA 0 with a gain, or "light[:LOG]", NAN what is left out; "auto": *sigma NAN.
 * CSREC_ARGUMENT: another text, a gain or LOG that is not above 0. */
CSREC_API csrec_status csrec_noise_parse(const char *text, double *sigma, csrec_noise_law *law,
                                         csrec_error *error);

/* That text of a law, with four digits; false, and "", if it is none. */
enum { CSREC_NOISE_TEXT = 80 };
CSREC_API bool csrec_noise_text(const csrec_noise_law *law, char text[CSREC_NOISE_TEXT]);

/* Finds what is NAN of both. Of the law poisson gain and base are the line of variances by means,
 * of eighths of the samples by their light, each variance that of its flattest parts as in
 * csrec_noise_estimate (Foi, Trimeche, Katkovnik and Egiazarian 2008), base 0 where that fits
 * almost as well, and gain what all samples are multiples of where that is the line; log is the
 * estimate of the logarithms of samples, log(1 + y / c) with c their 1 % quantile above 0.
 * sigma NAN: the estimate; where that is refused since noise differs between dark and bright
 * places, or variances misfit it, a law: light where samples are >= 0 and variances are nearer to
 * proportion to squares of means than to a line, else poisson; sigma is 0 then. CSREC_DATA: as of
 * csrec_noise_estimate, noise in less than half of the eighths, of 256 samples of a picture each,
 * variances that do not grow, and samples below 0 with light. */
CSREC_API csrec_status csrec_noise_find(const csrec_measurement *measurement, double *sigma,
                                        csrec_noise_law *law, csrec_error *error);

/* The same estimate where noise is likely: above 1/35 of the samples' range, in enough flat parts,
 * and not alike in adjacent samples; else 0, also for too few samples, or noise that differs. */
CSREC_API csrec_status csrec_noise_likely(const csrec_measurement *measurement, double *sigma,
                                          csrec_error *error);

/* Marks samples that are gross errors: salt and pepper, dead pixels, cosmic rays. A sample is an
 * outlier if, in any channel, it lies outside of the values of its 8 nearest neighbours by more
 * than a quarter of their range and 0.12 of that of all samples. If more than 2 in 5 of those do
 * not lie outside of 12 neighbours by more than their whole range and 0.2 of all, the signal has
 * such points itself: then outliers are those that do, or none if they are more than 1 in 2,000.
 * Salt and pepper, a thousandth of the samples (12 at least) that have the least or the largest
 * value of a channel by chance, so that few have half of their 8 nearest neighbours alike, and half
 * are 0.2 of the range from all others of these, is told by that, unless the others do not resemble
 * their neighbours. Of samples >= 0 whose largest is above four times their
 * mean fireflies are outliers, too, as of one ray each, unless they are more than one in 500.
 * Of samples with rays, which have no range, outliers are fireflies: by the mean of the channels,
 * divided by albedo where that is a guide, above m (1 + 60 sqrt(kappa / rays)) and above twice the
 * second largest of the 24 nearest, m the mean of these without the largest, kappa as of
 * csrec_noise_each.
 * outlier: [n], 1 or 0; *found of them. threads: 0: all cores; the result does not depend on it.
 * O(n log n). */
CSREC_API csrec_status csrec_outliers_find(const csrec_measurement *measurement, int threads,
                                           uint8_t *outlier, int64_t *found, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
