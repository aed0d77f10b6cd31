/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h - shared by recoveries with a learned model. */
#ifndef CSREC_METHOD_MODEL_H
#define CSREC_METHOD_MODEL_H

#include "csrec/learn.h"
#include "csrec/measurement.h"
#include "base/error.h"

/* value of the model = gain * value of the measurement + offset, from black and white of both;
 * otherwise the measurement's values have `unit` in units of the model. */
typedef struct csrec_model_units {
    double gain, offset;
} csrec_model_units;

csrec_model_units csrec_model_units_of(const csrec_model *model,
                                       const csrec_measurement *measurement, double unit);

/* Puts samples without noise back into a recovered signal. */
void csrec_samples_restore(const csrec_measurement *measurement, double *signal);

/* ||y - signal at the samples|| / ||y||. */
double csrec_samples_residual(const csrec_measurement *measurement, const double *signal);

/* CSREC_DATA: samples in units of the model exceed the limit of its entries. */
csrec_status csrec_model_check_scales(const csrec_measurement *measurement,
                                      const csrec_model *model, csrec_error *error);

#endif
