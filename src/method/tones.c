/* SPDX-License-Identifier: BSD-3-Clause */
/* tones.c - black and white of a measurement. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/method.h"
#include "base/threads.h"
#include "learn/model.h"
#include "measurement/each.h"

static csrec_status allocate(int64_t channels, csrec_whole *whole, csrec_error *error) {
    whole->least = malloc(2 * (size_t)channels * sizeof *whole->least);
    if (!whole->least) return csrec_memory_fail(error, NULL);
    whole->most = whole->least + channels;
    return CSREC_OK;
}

csrec_status csrec_whole_of(const csrec_measurement *m, csrec_whole *whole, csrec_error *error) {
    *whole = (csrec_whole){.n = m->n};
    csrec_shape_count(&m->shape, &whole->entries);
    CSREC_TRY(allocate(m->channels, whole, error));
    if (m->through) { /* y has other values than the signal */
        memset(whole->least, 0, 2 * (size_t)m->channels * sizeof *whole->least);
        return CSREC_OK;
    }
    for (int64_t c = 0; c < m->channels; c++) whole->least[c] = whole->most[c] = NAN;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t c = 0; c < m->channels; c++) { /* NaN: not measured, which is left out */
            const double v = m->y[i * m->channels + c];
            if (!(whole->least[c] <= v) && !isnan(v)) whole->least[c] = v;
            if (!(whole->most[c] >= v) && !isnan(v)) whole->most[c] = v;
        }
    return CSREC_OK;
}

bool csrec_whole_constant(const csrec_whole *whole, int64_t channels) {
    bool same = true;
    for (int64_t c = 0; c < channels; c++) same = same && whole->least[c] == whole->most[c];
    return same;
}

csrec_status csrec_whole_copy(const csrec_whole *from, int64_t channels, csrec_whole *to,
                              csrec_error *error) {
    *to = *from;
    to->least = NULL;
    CSREC_TRY(allocate(channels, to, error));
    memcpy(to->least, from->least, (size_t)channels * sizeof *to->least);
    memcpy(to->most, from->most, (size_t)channels * sizeof *to->most);
    return CSREC_OK;
}

void csrec_whole_clear(csrec_whole *whole) {
    free(whole->least);
    whole->least = NULL;
}

/* Halves first, so that differences of large values do not overflow. */
double csrec_tones_unit(const csrec_measurement *m, const csrec_whole *whole, double *middle) {
    double half = 0.0, farthest = 0.0;
    for (int64_t c = 0; c < m->channels; c++) {
        double own = whole->least[c] / 2 + whole->most[c] / 2;
        half = fmax(half, whole->most[c] / 2 - whole->least[c] / 2);
        farthest = fmax(farthest, fabs(own));
        if (middle) middle[c] = own;
    }
    /* Half of white less black: by the scale, unless values, of half range `half`, exceed it. */
    double given = fabs(m->scale[1] / 2 - m->scale[0] / 2);
    double unit = (isfinite(given) && given >= half / 8 ? given : half) / 127.5;
    /* Equal samples may be any number of tones from black; the number must be finite in a float. */
    unit = fmax(unit, farthest * 0x1p-60);
    return unit > 0.0 ? unit : 1.0;
}

float csrec_tones_sigma(const csrec_measurement *m, double unit) {
    return m->sigma > 0.0 ? (float)fmin(m->sigma / unit, CSREC_TONES_NOISE) : 0.0f;
}

/* Tones may fall where values rise. */
csrec_status csrec_recover_in_tones(const csrec_recovery *recovery, csrec_recover_options *options,
                                    double sigma,
                                    double (*tones)(const void *job, int64_t channel, double value),
                                    const void *job, csrec_error *error) {
    csrec_measurement m = *recovery->measurement;
    csrec_recovery own = *recovery;
    const double *y = m.y;
    csrec_whole whole;
    m.y = malloc((size_t)(m.n * m.channels) * sizeof *m.y);
    if (!m.y) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < m.n * m.channels; i++) m.y[i] = tones(job, i % m.channels, y[i]);
    m.sigma = sigma;
    m.scale[0] = 0.0;
    m.scale[1] = 255.0;
    csrec_status status = csrec_whole_copy(recovery->whole, m.channels, &whole, error);
    for (int64_t c = 0; c < m.channels && !status; c++) {
        const double a = tones(job, c, whole.least[c]), b = tones(job, c, whole.most[c]);
        whole.least[c] = fmin(a, b);
        whole.most[c] = fmax(a, b);
    }
    own.measurement = &m;
    own.whole = &whole;
    own.unit = 1.0;
    if (!status) status = csrec_recover_start(&own, options, error);
    csrec_whole_clear(&whole);
    free(m.y);
    return status;
}

/* ---- converts measurements to another unit of y. */

csrec_status csrec_normal_create(const csrec_measurement *measurement,
                                 const csrec_recover_options *options, double unit,
                                 csrec_normal *normal, csrec_error *error) {
    *normal = (csrec_normal){.m = *measurement, .options = *options, .unit = unit};
    csrec_measurement *m = &normal->m;
    csrec_status status = csrec_scaled_create(&options->solve, unit, 0, &normal->scaled);
    if (status) return csrec_fail(error, status, "out of memory");
    normal->options.solve = normal->scaled.solve;
    m->sigma = csrec_in_unit(m->sigma, unit);
    for (int i = 0; i < 2; i++) m->scale[i] = csrec_in_unit(m->scale[i], unit);
    if (unit == 1.0) return CSREC_OK;
    const size_t values = (size_t)csrec_measurement_values(m);
    const size_t arrays = m->deviation ? 2 : 1;
    normal->y = malloc(arrays * values * sizeof *normal->y);
    if (!normal->y) return csrec_fail(error, CSREC_MEMORY, "out of memory for %zu samples", values);
    for (size_t i = 0; i < values; i++) normal->y[i] = measurement->y[i] / unit;
    m->y = normal->y;
    if (!m->deviation) return CSREC_OK;
    m->deviation = normal->y + values;
    for (size_t i = 0; i < values; i++) m->deviation[i] = measurement->deviation[i] / unit;
    return CSREC_OK;
}

void csrec_normal_clear(csrec_normal *normal) {
    csrec_scaled_clear(&normal->scaled);
    free(normal->y);
}

static csrec_status fail(const char *what, int64_t at, csrec_error *error) {
    return csrec_fail(error, CSREC_DATA,
                      "%s %lld of the recovery is beyond the range of a double; scale the samples "
                      "down, or look for very large numbers in the model",
                      what, (long long)at);
}

/* Of a sequence of which frames stay unknown. */
static csrec_status deliver_known(int64_t values, double unit, double *signal, csrec_error *error) {
    for (int64_t i = 0; i < values; i++)
        if (!isnan(signal[i]) && csrec_scale_back(1, unit, signal + i) >= 0)
            return fail("value", i, error);
    return CSREC_OK;
}

csrec_status csrec_normal_deliver(const csrec_normal *normal, double *signal, csrec_atoms *atoms,
                                  csrec_error *error) {
    const csrec_measurement *m = &normal->m;
    int64_t fault = -1;
    const int64_t values = csrec_measurement_signal_values(m);
    for (int64_t i = 0; signal && m->sequence && i < values; i++)
        if (isnan(signal[i])) return deliver_known(values, normal->unit, signal, error);
    if (signal) fault = csrec_scale_back(values, normal->unit, signal);
    if (fault >= 0) return fail("value", fault, error);
    for (int64_t c = 0; atoms && c < m->channels && fault < 0; c++)
        fault = csrec_scale_back(atoms[c].n, normal->unit, atoms[c].coefficient);
    return fault >= 0 ? fail("coefficient", fault, error) : CSREC_OK;
}

/* ---- shared by recoveries with a learned model. */

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
    if (measurement->sigma > 0.0 && !measurement->deviation) return;
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(measurement->n, 0))
    for (int64_t i = 0; i < measurement->n; i++)
        for (int64_t c = 0; c < C; c++) {
            double y = measurement->y[i * C + c];
            if (!isnan(y) && csrec_value_is_exact(measurement, i * C + c))
                signal[measurement->index[i] * C + c] = y;
        }
}

static double off_sample(const csrec_measurement *m, const double *signal, int64_t i) {
    const int64_t C = m->channels;
    return m->y[i] - signal[C == 1 ? m->index[i] : m->index[i / C] * C + i % C];
}

/* Samples and differences are each divided by their largest value, so that squares do not overflow:
 * a model may be far from the samples. */
double csrec_samples_residual(const csrec_measurement *measurement, const double *signal) {
    int64_t count = measurement->n * measurement->channels;
    double most = 0.0, farthest = 0.0, r = 0.0, y = 0.0;
    const int threads = csrec_threads_for(measurement->n, 0);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : most, farthest)
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(measurement->y[i]), off = fabs(off_sample(measurement, signal, i));
        if (size > most) most = size;
        if (off > farthest) farthest = off;
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
