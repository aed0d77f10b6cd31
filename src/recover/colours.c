/* SPDX-License-Identifier: BSD-3-Clause */
/* colours.c - whether one network should see red, green and blue together (docs/prior.md). */
#include <math.h>

#include "base/unit.h"
#include "measurement/each.h"
#include "recover/recover.h"

/* Of colours of photographs at least LEAST; with noise of a share NOISE of the samples' standard
 * deviation one network gains: noise differs between channels. From LARGE entries on it loses
 * little, and takes a third of the time. All three by trial (docs/notebook/prior.md). */
static const double LEAST = 0.6, NOISE = 0.08;

enum { LARGE = 1 << 18, SAMPLES = 1 << 16 };

/* Sums over some of the samples whose three values are known, in a unit in which their squares
 * are finite. */
typedef struct sums {
    double n, value[3], product[3][3], noise;
} sums;

static sums sums_of(const csrec_measurement *m) {
    const double unit = csrec_unit_of(csrec_largest(3 * m->n, m->y));
    const int64_t step = 1 + m->n / SAMPLES;
    sums s = {0};
    for (int64_t i = 0; i < m->n; i += step) {
        const double *y = m->y + 3 * i;
        if (isnan(y[0] + y[1] + y[2])) continue;
        s.n++;
        for (int a = 0; a < 3; a++) {
            const double sigma = (m->deviation ? m->deviation[3 * i + a] : m->sigma) / unit;
            s.value[a] += y[a] / unit;
            s.noise += isfinite(sigma) ? sigma * sigma / 3.0 : 0.0;
            for (int b = 0; b <= a; b++) s.product[a][b] += y[a] / unit * (y[b] / unit);
        }
    }
    return s;
}

/* Noise is in the variances, not between channels. */
static bool follow_one_another(const sums *s, double *noise) {
    double C[3][3], total = 0.0;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b <= a; b++)
            C[a][b] = s->product[a][b] / s->n - s->value[a] / s->n * (s->value[b] / s->n);
    for (int a = 0; a < 3; a++) {
        total += C[a][a] / 3.0;
        C[a][a] = fmax(0.0, C[a][a] - s->noise / s->n);
    }
    *noise = sqrt(s->noise / s->n / total);
    for (int a = 1; a < 3; a++)
        for (int b = 0; b < a; b++)
            if (!(C[a][b] > LEAST * sqrt(C[a][a] * C[b][b]))) return false;
    return true;
}

bool csrec_colours_together(const csrec_measurement *m, bool large) {
    if (!m || m->through || m->is_complex || m->channels != 3 || m->shape.dims != 2) return false;
    large = large && m->shape.dim[0] * m->shape.dim[1] >= LARGE;
    if (!m->y || m->n < 1 || (!large && !csrec_measurement_is_noisy(m))) return false;
    double noise;
    const sums s = sums_of(m);
    if (s.n < 2.0 || !follow_one_another(&s, &noise)) return false;
    return large || noise >= NOISE;
}
