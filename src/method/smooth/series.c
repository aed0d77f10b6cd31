/* SPDX-License-Identifier: BSD-3-Clause */
/* series.c - interpolation along one axis, and the Gaussian process of exponential covariance. */
#include "method/smooth/series.h"

#include <math.h>
#include <stdlib.h>

/* Entries beyond the outermost samples, and the last of them. */
static void hold_ends(const csrec_series *s, double *x) {
    for (int64_t i = 0; i < s->at[0]; i++) x[i] = s->v[0];
    for (int64_t i = s->at[s->m - 1]; i < s->n; i++) x[i] = s->v[s->m - 1];
}

void csrec_series_linear(const csrec_series *s, double *x) {
    hold_ends(s, x);
    for (int64_t k = 0; k + 1 < s->m; k++) {
        const double from = csrec_series_time(s, s->at[k]);
        const double span = csrec_series_time(s, s->at[k + 1]) - from;
        for (int64_t i = s->at[k]; i < s->at[k + 1]; i++) {
            const double part = (csrec_series_time(s, i) - from) / span;
            x[i] = s->v[k] + part * (s->v[k + 1] - s->v[k]);
        }
    }
}

/* Slope at the first of two intervals of length h0, h1 with slopes d0, d1: of three points, kept
 * within what is monotone (Moler 2004, section 3.6). */
static double end_slope(double h0, double h1, double d0, double d1) {
    double slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
    if (slope * d0 <= 0.0) return 0.0;
    if (d0 * d1 <= 0.0 && fabs(slope) > 3.0 * fabs(d0)) return 3.0 * d0;
    return slope;
}

static double gap(const csrec_series *s, int64_t k) {
    return csrec_series_time(s, s->at[k + 1]) - csrec_series_time(s, s->at[k]);
}

static double secant(const csrec_series *s, int64_t k) {
    return (s->v[k + 1] - s->v[k]) / gap(s, k);
}

/* At an inner sample the weighted harmonic mean of both secants, 0 at an extremum. */
static double slope_at(const csrec_series *s, int64_t k) {
    const int64_t last = s->m - 1;
    if (last == 1) return secant(s, 0);
    if (k == 0) return end_slope(gap(s, 0), gap(s, 1), secant(s, 0), secant(s, 1));
    if (k == last)
        return end_slope(gap(s, k - 1), gap(s, k - 2), secant(s, k - 1), secant(s, k - 2));
    const double a = secant(s, k - 1), b = secant(s, k), h0 = gap(s, k - 1), h1 = gap(s, k);
    if (!(a * b > 0.0)) return 0.0;
    const double w0 = 2.0 * h1 + h0, w1 = h1 + 2.0 * h0;
    return (w0 + w1) / (w0 / a + w1 / b);
}

void csrec_series_cubic(const csrec_series *s, double *x) {
    hold_ends(s, x);
    for (int64_t k = 0; k + 1 < s->m; k++) {
        const double h = gap(s, k), from = csrec_series_time(s, s->at[k]);
        const double d0 = h * slope_at(s, k), d1 = h * slope_at(s, k + 1);
        const double rise = s->v[k + 1] - s->v[k];
        for (int64_t i = s->at[k]; i < s->at[k + 1]; i++) {
            const double p = (csrec_series_time(s, i) - from) / h;
            x[i] =
                s->v[k] + p * (d0 + p * (3.0 * rise - 2.0 * d0 - d1 + p * (d0 + d1 - 2.0 * rise)));
        }
    }
}

/* Second derivatives M [m], by elimination; work [m]. The first and the last inner sample are no
 * knots (de Boor 1978): M_0 and M_(m - 1) go on straight. */
static void curvatures(const csrec_series *s, double *M, double *work) {
    const int64_t last = s->m - 1;
    const double near = gap(s, 0) / gap(s, 1), end = gap(s, last - 1) / gap(s, last - 2);
    M[0] = work[0] = 0.0;
    for (int64_t k = 1; k < last; k++) {
        double low = gap(s, k - 1), high = gap(s, k), middle = 2.0 * (low + high);
        if (k == 1) middle += low * (1.0 + near), high -= low * near, low = 0.0;
        if (k == last - 1) middle += high * (1.0 + end), low -= high * end, high = 0.0;
        middle -= low * work[k - 1];
        work[k] = high / middle;
        M[k] = (6.0 * (secant(s, k) - secant(s, k - 1)) - low * M[k - 1]) / middle;
    }
    for (int64_t k = last - 2; k > 0; k--) M[k] -= work[k] * M[k + 1];
    M[0] = (1.0 + near) * M[1] - near * M[2];
    M[last] = (1.0 + end) * M[last - 1] - end * M[last - 2];
}

csrec_status csrec_series_spline(const csrec_series *s, double *x) {
    if (s->m < 4) return csrec_series_linear(s, x), CSREC_OK;
    double *M = malloc(2 * (size_t)s->m * sizeof *M);
    if (!M) return CSREC_MEMORY;
    curvatures(s, M, M + s->m);
    for (int64_t i = 0, k = 0; i < s->n; i++) {
        while (k + 2 < s->m && i >= s->at[k + 1]) k++;
        const double h = gap(s, k), from = csrec_series_time(s, s->at[k]);
        const double p = fmax(-1.0, fmin((csrec_series_time(s, i) - from) / h, 2.0)), q = 1.0 - p;
        x[i] = q * s->v[k] + p * s->v[k + 1] +
               h * h / 6.0 * ((q * q * q - q) * M[k] + (p * p * p - p) * M[k + 1]);
    }
    free(M);
    return CSREC_OK;
}

static double mean_of(const csrec_series *s) {
    double sum = 0.0;
    for (int64_t k = 0; k < s->m; k++) sum += s->v[k];
    return sum / (double)s->m;
}

enum { LENGTHS = 12, NOISES = 8, SAMPLES = 4096 };

/* -2 log likelihood of samples `first` to `last`, up to a constant, at the best s, which it sets: a
 * Kalman filter of unit variance. */
static double misfit(const csrec_series *s, int64_t first, int64_t last, double mean,
                     csrec_series_process *p) {
    double state = 0.0, variance = 1.0, sum = 0.0, logs = 0.0;
    const double count = (double)(last - first);
    for (int64_t k = first; k < last; k++) {
        if (k > first) {
            const double a = exp(-gap(s, k - 1) / p->length);
            state *= a;
            variance = a * a * variance + 1.0 - a * a;
        }
        const double expected = variance + p->noise + 1e-9, off = s->v[k] - mean - state;
        sum += off * off / expected;
        logs += log(expected);
        state += variance / expected * off;
        variance -= variance * variance / expected;
    }
    p->s = sum / count;
    return count * log(p->s + 1e-300) + logs;
}

/* The median of up to SAMPLES gaps. */
static double usual_gap(const csrec_series *s, int64_t first, int64_t last) {
    double gaps[SAMPLES];
    int64_t count = 0;
    for (int64_t k = first; k + 1 < last; k++) gaps[count++] = gap(s, k);
    if (count == 0) return 1.0;
    qsort(gaps, (size_t)count, sizeof *gaps, csrec_ascend);
    return gaps[count / 2];
}

csrec_series_process csrec_series_process_fit(const csrec_series *s) {
    static const double noises[NOISES] = {1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0};
    const int64_t first = s->m > SAMPLES ? (s->m - SAMPLES) / 2 : 0;
    const int64_t last = s->m > SAMPLES ? first + SAMPLES : s->m;
    const double unit = usual_gap(s, first, last), mean = mean_of(s);
    csrec_series_process best = {unit, 1e-6, 0.0};
    double least = INFINITY;
    for (int i = 0; i < LENGTHS; i++)
        for (int j = 0; j < NOISES; j++) {
            csrec_series_process p = {ldexp(unit, i), noises[j], 0.0};
            const double now = misfit(s, first, last, mean, &p);
            if (!(now < least)) continue;
            least = now;
            best = p;
        }
    return best;
}

csrec_status csrec_series_process_fill(const csrec_series *s, const csrec_series_process *p,
                                       double *x) {
    double *state = malloc(3 * (size_t)s->n * sizeof *state);
    if (!state) return CSREC_MEMORY;
    double *variance = state + s->n, *decay = variance + s->n;
    const double mean = mean_of(s);
    double m = 0.0, v = 1.0;
    for (int64_t i = 0, k = 0; i < s->n; i++) {
        const double step = i > 0 ? csrec_series_time(s, i) - csrec_series_time(s, i - 1) : 0.0;
        decay[i] = exp(-step / p->length);
        m *= decay[i];
        v = decay[i] * decay[i] * v + 1.0 - decay[i] * decay[i];
        if (k < s->m && s->at[k] == i) {
            const double expected = v + p->noise + 1e-9;
            m += v / expected * (s->v[k++] - mean - m);
            v -= v * v / expected;
        }
        state[i] = m;
        variance[i] = v;
    }
    double next = m;
    for (int64_t i = s->n - 1; i >= 0; i--) {
        const double a = i + 1 < s->n ? decay[i + 1] : 1.0;
        const double ahead = a * a * variance[i] + 1.0 - a * a;
        const double gain = ahead > 0.0 ? a * variance[i] / ahead : 0.0;
        next = state[i] + gain * (next - a * state[i]);
        x[i] = mean + next;
    }
    free(state);
    return CSREC_OK;
}
