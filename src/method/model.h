/* model.h - what recoveries with a learned model have in common. */
#ifndef CSREC_METHOD_MODEL_H
#define CSREC_METHOD_MODEL_H

#include "base/error.h"

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

/* CSREC_DATA: samples in units of the model are beyond what its entries may be. */
csrec_status csrec_model_check_scales(const csrec_measurement *measurement,
                                      const csrec_model *model, csrec_error *error);

#endif
