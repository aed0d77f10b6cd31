/* survey.h - what a recovery in parts must know of all samples: their number, ranges, mean and
 * principal colours. Bands of the signal's first axis are surveyed apart, each with its samples in
 * their order and in pieces of any size, and then joined in their order, so that it does not matter
 * which process surveys a band. */
#ifndef CSREC_RECOVER_SURVEY_H
#define CSREC_RECOVER_SURVEY_H

#include "method/gaussian/colour.h"
#include "method/tones.h"

typedef struct csrec_survey {
    int64_t channels, n;
    double *least, *most; /* [channels], in the units of y */
    double unit;          /* of the sums: csrec_unit_of the samples so far */
    double *sum;          /* [channels] */
    csrec_gaussian_colours colours;
} csrec_survey;

/* CSREC_MEMORY; clear it even then. */
csrec_status csrec_survey_create(int64_t channels, csrec_survey *survey, csrec_error *error);
void csrec_survey_add(csrec_survey *survey, int64_t n, const double *y);
void csrec_survey_clear(csrec_survey *survey);
void csrec_survey_empty(csrec_survey *survey);

/* Entries of the first axis that make a band: about 2^22 values. */
int64_t csrec_survey_band(const csrec_shape *shape, int64_t channels);

/* Adds the next band, and empties it. */
void csrec_survey_join(csrec_survey *survey, csrec_survey *band);

/* A survey as bytes for other processes, and back into one that is created. */
size_t csrec_survey_packed(int64_t channels);
void csrec_survey_pack(const csrec_survey *survey, void *bytes);
void csrec_survey_unpack(const void *bytes, csrec_survey *survey);

/* All samples of a measurement. */
csrec_status csrec_survey_of(const csrec_measurement *measurement, csrec_survey *survey,
                             csrec_error *error);

/* The mean of each channel's samples, in units of `unit`; it replaces the sums. */
const double *csrec_survey_mean(csrec_survey *survey, double unit);

/* The properties of a whole of that many entries, in units of `unit`; axes are the caller's. */
csrec_status csrec_survey_whole(const csrec_survey *survey, int64_t entries, double unit,
                                csrec_gaussian_axes *axes, csrec_whole *whole, csrec_error *error);

#endif
