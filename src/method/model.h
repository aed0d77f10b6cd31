/* model.h - recovery that rests on a learned model: the kinds and what they have in common. */
#ifndef CSREC_METHOD_MODEL_H
#define CSREC_METHOD_MODEL_H

#include "base/error.h"

struct csrec_whole; /* of tones.h */

/* value of the model = gain * value of the measurement + offset. Both name black and white, or they
 * count alike, the measurement in `unit` of what the model counts in. */
typedef struct csrec_model_units {
    double gain, offset;
} csrec_model_units;

csrec_model_units csrec_model_units_of(const csrec_model *model,
                                       const csrec_measurement *measurement, double unit);

/* Puts samples without noise back into a recovered signal. */
void csrec_samples_restore(const csrec_measurement *measurement, double *signal);

/* ||y - signal at the samples|| / ||y||. */
double csrec_samples_residual(const csrec_measurement *measurement, const double *signal);

/* By the kind of options->model. unit: of y, in the units that measurements of no scale share with
 * the model. */
csrec_status csrec_recover_model(const csrec_measurement *measurement,
                                 const struct csrec_whole *whole,
                                 const csrec_recover_options *options, double unit, double *signal,
                                 csrec_recover_report *report, csrec_error *error);

/* Sparse in the model's filters, by any solver; basis "conv" or none. */
csrec_status csrec_recover_conv(const csrec_measurement *measurement,
                                const struct csrec_whole *whole,
                                const csrec_recover_options *options, double unit, double *signal,
                                csrec_recover_report *report, csrec_error *error);

csrec_status csrec_recover_pca(const csrec_measurement *measurement,
                               const struct csrec_whole *whole,
                               const csrec_recover_options *options, double unit, double *signal,
                               csrec_recover_report *report, csrec_error *error);

#endif
