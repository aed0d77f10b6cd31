/* SPDX-License-Identifier: BSD-3-Clause */
/* tones.c - black and white of a measurement. */
#include "method/tones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static csrec_status allocate(int64_t channels, csrec_whole *whole, csrec_error *error) {
    whole->least = malloc(2 * (size_t)channels * sizeof *whole->least);
    if (!whole->least) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    whole->most = whole->least + channels;
    return CSREC_OK;
}

csrec_status csrec_whole_of(const csrec_measurement *m, csrec_whole *whole, csrec_error *error) {
    *whole = (csrec_whole){.n = m->n};
    csrec_shape_count(&m->shape, &whole->entries);
    csrec_status status = allocate(m->channels, whole, error);
    if (status) return status;
    if (m->through) { /* y has other values than the signal */
        memset(whole->least, 0, 2 * (size_t)m->channels * sizeof *whole->least);
        return CSREC_OK;
    }
    for (int64_t c = 0; c < m->channels; c++) whole->least[c] = whole->most[c] = NAN;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t c = 0; c < m->channels; c++) { /* NaN: not measured, which fmin leaves out */
            double v = m->y[i * m->channels + c];
            whole->least[c] = fmin(v, whole->least[c]);
            whole->most[c] = fmax(v, whole->most[c]);
        }
    return CSREC_OK;
}

csrec_status csrec_whole_copy(const csrec_whole *from, int64_t channels, csrec_whole *to,
                              csrec_error *error) {
    *to = *from;
    to->least = NULL;
    csrec_status status = allocate(channels, to, error);
    if (status) return status;
    memcpy(to->least, from->least, (size_t)channels * sizeof *to->least);
    memcpy(to->most, from->most, (size_t)channels * sizeof *to->most);
    return CSREC_OK;
}

void csrec_whole_clear(csrec_whole *whole) {
    free(whole->least);
    whole->least = NULL;
}

double csrec_tones_half(const csrec_measurement *m, double half) {
    double given = fabs(m->scale[1] / 2 - m->scale[0] / 2);
    return isfinite(given) && given >= half / 8 ? given : half;
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
    double unit = csrec_tones_half(m, half) / 127.5;
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
    if (!m.y) return csrec_fail(error, CSREC_MEMORY, "out of memory");
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
