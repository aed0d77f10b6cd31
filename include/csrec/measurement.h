/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/measurement.h - samples of a signal, or measurements through an operator. */
#ifndef CSREC_MEASUREMENT_H
#define CSREC_MEASUREMENT_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum csrec_pattern {
    CSREC_PATTERN_NONE,    /* explicit positions */
    CSREC_PATTERN_UNIFORM, /* without replacement, by a keyed permutation */
    CSREC_PATTERN_POISSON, /* Poisson-disc, guaranteed minimum distance (Bridson 2007), 2-D, 3-D */
    CSREC_PATTERN_JITTER   /* one random position in each cell of a regular grid */
} csrec_pattern;

CSREC_API const char *csrec_pattern_name(csrec_pattern pattern);
/* false if no pattern has the name. */
CSREC_API bool csrec_pattern_parse(const char *name, csrec_pattern *pattern);

/* ------------------------------------------------------------------ guides -------------------- */

/* What is known beside the samples on the same grid: albedo, normals and depth of a rendering, the
 * photograph of a depth map, other bands of a raster. Units are free. Planes whose name begins with
 * albedo, or is that of another colour of surfaces (csrec_guide_is_albedo), serve the channel of
 * their number, where there are as many of that name as channels; all others serve all channels. */
enum { CSREC_GUIDES_MOST = 64, CSREC_GUIDE_NAME = 32 };

typedef struct csrec_guides {
    int64_t n;                                      /* planes, 1 to CSREC_GUIDES_MOST */
    char name[CSREC_GUIDES_MOST][CSREC_GUIDE_NAME]; /* "albedo"; planes may share one; or "" */
    float *values;                                  /* [n][entries]; NaN: not known there */
} csrec_guides;

/* ------------------------------------------------------------------ measurements -------------- */

/* Samples of a signal, or measurements through an operator: the contents of a measurement file. */
typedef struct csrec_measurement {
    csrec_shape shape; /* axes of the signal, without channels */
    int64_t n;         /* sampled positions, or measured rows of the operator */
    int64_t channels;  /* C >= 1 values a position */
    int64_t *index;    /* [n] distinct flat C-order positions, or rows, any order */
    double *y;         /* [n * channels], channels fastest; csrec_measurement_values doubles. NaN:
                          an entry's channel that is not measured; one is of every position */
    csrec_dtype dtype; /* element type of y in the file */
    double sigma;      /* standard deviation of the noise in units of y; 0 if unknown or none */
    double scale[2];   /* values of black and white for picture output; equal: not given */
    csrec_pattern pattern; /* how positions were drawn, if known */
    uint64_t seed;
    int64_t count;   /* `count` of csrec_sampling_create; 0: n */
    bool is_complex; /* each value of y is a pair, real part, imaginary part; so is each value of
                        the signal, unless the operator takes real signals */
    struct csrec_operator_spec *through; /* NULL: y are entries of the signal; else see below */
    csrec_guides *guides; /* NULL: none. csrec_measurement_clear frees them, and their values */
    double *rays; /* NULL, or [n] > 0: measurements, as rays of a renderer, that a sample is the
                     mean of; sigma is then that of one. Of entries alone, as is deviation */
    double *deviation; /* NULL, or [n * channels] >= 0: standard deviation of the noise of each
                          value, in place of sigma; 0: none, of less than 32 rays not known; NaN:
                          not known, by sigma and rays */
    bool sequence;     /* of three axes the first is time: frames, each with samples of its own.
                          Not through an operator */
    bool bands_apart;  /* else complete channels are guides of those with gaps */
    bool uncut;        /* else noise of sigma is cut where y ends: at values of scale, or those that
                          more than 1 % of y and 5 have */
} csrec_measurement;

/* Adds planes of values [entries * planes], planes fastest, which are copied, to the guides of a
 * measurement whose shape is set. CSREC_ARGUMENT: planes < 1, or more than CSREC_GUIDES_MOST in
 * all, or a name of CSREC_GUIDE_NAME bytes or more; CSREC_UNSUPPORTED: through an operator;
 * CSREC_DATA: values that are infinite or beyond the range of a float, or none that is known;
 * CSREC_MEMORY. On failure nothing is added. */
CSREC_API csrec_status csrec_guides_add(csrec_measurement *measurement, const char *name,
                                        int64_t planes, const double *values, csrec_error *error);

/* The standard deviation of each value, to [n * channels]: that of the measurement; else sigma, or
 * sigma / sqrt(rays). Where that is unknown, but rays are given, the noise of a ray is taken to be
 * in proportion to the light: s^2 = kappa mean^2 / rays, mean that of the 8 samples around (of
 * colours of surfaces, where an albedo is a guide, divided by them), kappa by the differences of
 * neighbours, for each channel. 0 without any of these. CSREC_UNSUPPORTED: through an operator;
 * CSREC_DATA: a measurement that csrec_measurement_check refuses; CSREC_MEMORY. */
CSREC_API csrec_status csrec_noise_each(const csrec_measurement *measurement, double *deviation,
                                        csrec_error *error);

/* Whether a name tells of the colour of surfaces, which light multiplies: albedo, diffuse color. */
CSREC_API bool csrec_guide_is_albedo(const char *name);

/* ------------------------------------------------------------------ through an operator ------- */

/* With `through` every channel of y is A x: A is the operator of this specification (operator.h)
 * and of the measurement's shape, with the rows `index`.
 *   - hadamard: rows of +1 and -1, the first of the ordering being number 0
 *   - fourier: frequencies in the flat order of numpy.fft.fftn, or of its fftshift if `centred`; y
 *     is complex. With coils, y is [n][n_coils], and there is one channel
 *   - nufft: points of the trajectory; the same
 *   - matrix: all rows, `m` for each block: index is 0 .. n - 1
 *   - blur: positions of the blurred signal
 *   - downsample: all boxes: index is 0 .. n - 1
 * Of the specification name, m (of a matrix), ordering, scrambled, seed, complex_signal, coils,
 * n_coils, centred, norm, matrix, filters, kernel, factor, trajectory and points count.
 * csrec_measurement_clear frees it and these arrays; name, ordering and norm are not copied.
 * Functions that need entries of the signal refuse such measurements: CSREC_UNSUPPORTED. */

/* Doubles of y; of the signal [entries * channels], two for each complex value. Of a measurement
 * that csrec_measurement_check accepts. */
CSREC_API int64_t csrec_measurement_values(const csrec_measurement *measurement);
CSREC_API int64_t csrec_measurement_signal_values(const csrec_measurement *measurement);

/* Rows that index may name: entries of the signal, or rows of the operator. CSREC_ARGUMENT: an
 * unknown operator; CSREC_DATA: its parameters do not fit the shape; error: the array and the
 * remedy. */
CSREC_API csrec_status csrec_measurement_rows(const csrec_measurement *measurement, int64_t *rows,
                                              csrec_error *error);

/* Operators that a measurement may be made through: name i, NULL past the end. */
CSREC_API const char *csrec_through_info(int i);
/* Whether index chooses among its rows; else all are measured. */
CSREC_API bool csrec_through_chooses(int i);
/* Orderings of Hadamard's rows; norms of frequencies. */
CSREC_API const char *csrec_ordering_info(int i);
CSREC_API const char *csrec_norm_info(int i);

/* What y tells of frequencies of which it is not said whether they are centred, as those of a file
 * without array `centred`. Sets *centred to whether they are beyond doubt: at least half of the
 * energy, and four times its share, is within 1/32 of the extents of the middle, of several axes.
 * remark: a sentence if they are, or may be; else "". Of complex samples of entries: the remark
 * that these are no frequencies, where y looks like such. The measurement passes
 * csrec_measurement_check. */
CSREC_API void csrec_doubt_centred(const csrec_measurement *measurement, bool *centred,
                                   csrec_error *remark);

/* ------------------------------------------------------------------ coils --------------------- */

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_coils_options {
    int64_t kernel;      /* entries of a window of k-space along an axis: 6, of volumes 5 */
    int64_t calibration; /* lines of the middle that are used, at most: 24, of volumes 16 */
    double threshold;    /* of eigenvalues of windows, of the largest: 0.001. Below it is noise */
    double crop;         /* maps are 0 where their eigenvalue is below: 0.8, 1 where all fits */
    int threads;
} csrec_coils_options;

/* Sensitivities of coils [channels][shape][2] from the largest box around frequency 0 of which all
 * is measured, by ESPIRiT (Uecker et al. 2014, Magnetic Resonance in Medicine 71). The measurement
 * is through fourier without coils, and y has a channel for each; or through nufft: the middle is
 * then brought to the grid by least squares, and what they leave tells sigma. The squares of an
 * entry's sensitivities sum to 1, or 0 where nothing was seen; the phase is that of the strongest
 * combination of coils. sigma: NULL, or receives the standard deviation of the noise of each part
 * of y, by the eigenvalues of windows below those of signal; 0: they do not tell. coils may be NULL
 * then. The measurement gets them as through->coils and n_coils, with channels = 1.
 * CSREC_ARGUMENT; CSREC_DATA: fewer than 6 lines of an axis are complete in the middle, or what
 * csrec_measurement_check refuses; CSREC_UNSUPPORTED: too large a kernel; CSREC_MEMORY. */
CSREC_API csrec_status csrec_coils_estimate(const csrec_measurement *measurement,
                                            const csrec_coils_options *options, double *coils,
                                            double *sigma, csrec_error *error);

/* Makes noise white of which the covariance between coils is known, [coils][coils][2], the mean of
 * n n^H: y and, if it has them, the coils are multiplied by the inverse of its Cholesky factor, and
 * sigma becomes sqrt(1/2), that of each part of a number. Coils are estimated afterwards.
 * CSREC_ARGUMENT: y is not complex, or of entries; CSREC_DATA: no covariance; CSREC_MEMORY. */
CSREC_API csrec_status csrec_coils_whiten(csrec_measurement *measurement, const double *covariance,
                                          csrec_error *error);

/* The checks of csrec_measurement_read, for measurements built in memory. `name` names the data in
 * the error text. */
CSREC_API csrec_status csrec_measurement_check(const csrec_measurement *measurement,
                                               const char *name, csrec_error *error);
CSREC_API void csrec_measurement_clear(csrec_measurement *measurement);

/* Joins n >= 1 measurements of the same shape and channels. A position that several of them have
 * gets the mean of its values, weighted by rays if all parts have them, else by 1 / sigma^2 where
 * each of these samples has a sigma > 0, of its own or of the part, else plain; rays are added, and
 * deviations are those of the means. Positions of the result ascend; its sigma is that of the parts
 * if all have the same, else the root of the mean, over the samples, of the variance of a sample: 1
 * / sum(1 / sigma^2) of a weighted mean, sum(sigma^2) / m^2 of a plain one of m values; scale is
 * the one that the parts give; dtype is that of the parts if all have the same and it can hold the
 * means, else CSREC_F32 where that is enough for all parts, else CSREC_F64. Values of a position
 * contradict each other if two of them differ, in a channel, by more than 6 standard deviations of
 * their difference, or, where one has no sigma, by more than 5 % of the scale (not given: of the
 * range of all values); not where they are of rays. contradictions, or NULL: the number of such
 * positions, and the first of them (-1: none). Time O(N log N) in all samples N. Thread safe.
 * CSREC_ARGUMENT: n < 1. CSREC_DATA: a part that csrec_measurement_check refuses, or with another
 * shape, other channels, or another scale than a part before it; the text starts with "part K: ", K
 * counted from 1. CSREC_MEMORY. On failure *merged is unchanged. */
CSREC_API csrec_status csrec_measurement_merge(int64_t n, const csrec_measurement *const parts[],
                                               csrec_measurement *merged, int64_t contradictions[2],
                                               csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
