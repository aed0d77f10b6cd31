/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c - shared by recoveries with a learned model. */
#include "method/model.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "learn/model.h"

csrec_model_units csrec_model_units_of(const csrec_model *model,
                                       const csrec_measurement *measurement, double unit) {
    const csrec_array *scale = csrec_model_array(model, "scale");
    const double *from = measurement->scale, *to = scale ? scale->data : NULL;
    if (!to || from[0] == from[1]) return (csrec_model_units){unit, 0.0};
    double gain = (to[1] - to[0]) / (from[1] - from[0]);
    return (csrec_model_units){gain, to[0] - gain * from[0]};
}

void csrec_samples_restore(const csrec_measurement *measurement, double *signal) {
    const int64_t C = measurement->channels;
    if (measurement->sigma > 0.0) return;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(measurement->n, 0))
    for (int64_t i = 0; i < measurement->n; i++)
        for (int64_t c = 0; c < C; c++) {
            double y = measurement->y[i * C + c];
            if (!isnan(y)) signal[measurement->index[i] * C + c] = y;
        }
}

static double off_sample(const csrec_measurement *m, const double *signal, int64_t i) {
    return m->y[i] - signal[m->index[i / m->channels] * m->channels + i % m->channels];
}

/* Samples and differences are each divided by their largest value, so that squares do not overflow:
 * a model may be far from the samples.
 */
double csrec_samples_residual(const csrec_measurement *measurement, const double *signal) {
    int64_t count = measurement->n * measurement->channels;
    double most = 0.0, farthest = 0.0, r = 0.0, y = 0.0;
    const int threads = csrec_threads_for(measurement->n, 0);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : most, farthest)
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(measurement->y[i]));
        farthest = fmax(farthest, fabs(off_sample(measurement, signal, i)));
    }
    for (int64_t i = 0; i < count && most > 0.0 && farthest > 0.0; i++) {
        if (isnan(measurement->y[i])) continue; /* not measured */
        double value = measurement->y[i] / most;
        double off = off_sample(measurement, signal, i) / farthest;
        r += off * off;
        y += value * value;
    }
    return y > 0.0 ? fmin(sqrt(r / y) * (farthest / most), DBL_MAX) : 0.0;
}

csrec_status csrec_model_check_scales(const csrec_measurement *measurement,
                                      const csrec_model *model, csrec_error *error) {
    const csrec_array *scale = csrec_model_array(model, "scale");
    const double *from = measurement->scale, *to = scale ? scale->data : NULL;
    if (!to || from[0] == from[1]) return CSREC_OK;
    csrec_model_units units = csrec_model_units_of(model, measurement, 1.0);
    bool within = units.gain != 0.0;
    for (int64_t i = 0; i < measurement->n * measurement->channels && within; i++)
        within = isnan(measurement->y[i]) ||
                 fabs(units.gain * measurement->y[i] + units.offset) <= CSREC_MODEL_MOST;
    if (within) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "samples in units of the model are beyond %g: black and white are %g and %g "
                      "in the model's array 'scale', %g and %g in the measurement's; mend one of "
                      "both",
                      CSREC_MODEL_MOST, to[0], to[1], from[0], from[1]);
}
