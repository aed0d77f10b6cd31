/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.c - white noise that is cut where the range of the samples ends. */
#include "measurement/cut.h"

#include <math.h>

#include "base/threads.h"
#include "measurement/measurement.h"

/* end: of so many values the least and the largest, which at [2] of them have. */
static void choose(const csrec_measurement *m, double values, const double at[2], double end[2]) {
    const double MANY = 0.01, FEW = 5.0; /* the least of so few samples is one by chance */
    const bool one = end[0] == end[1];
    for (int e = 0; e < 2; e++) {
        const bool limit = m->scale[0] < m->scale[1] && end[e] == m->scale[e];
        if (one || !(limit || at[e] > FEW + MANY * values)) end[e] = e ? INFINITY : -INFINITY;
    }
}

void csrec_cut_ends(const csrec_measurement *m, double end[2]) {
    const int64_t values = m->n * m->channels;
    double at[2] = {0.0, 0.0};
    end[0] = INFINITY, end[1] = -INFINITY;
    for (int64_t i = 0; i < values; i++) {
        end[0] = fmin(end[0], m->y[i]);
        end[1] = fmax(end[1], m->y[i]);
    }
    for (int64_t i = 0; i < values; i++)
        for (int e = 0; e < 2; e++) at[e] += m->y[i] == end[e];
    choose(m, (double)values, at, end);
}

static csrec_cut cut_at(const csrec_measurement *m, const double end[2]) {
    const bool one = !(m->uncut || m->through || m->is_complex || m->rays || m->deviation);
    const bool none = isinf(end[0]) && isinf(end[1]);
    return (csrec_cut){one && !none ? m->sigma : 0.0, {end[0], end[1]}};
}

csrec_cut csrec_cut_of(const csrec_measurement *m) {
    double end[2] = {-INFINITY, INFINITY};
    if (m->sigma > 0.0 && !m->through && !m->is_complex) csrec_cut_ends(m, end);
    return cut_at(m, end);
}

csrec_cut csrec_cut_between(const csrec_measurement *form, double values, const double at[2],
                            double end[2]) {
    choose(form, values, at, end);
    return cut_at(form, end);
}

/* With the normal distribution Phi and its density phi, of a standard noise z that is cut t below
 * and u above: E z = phi(t) - t Phi(-t) - phi(u) + u Phi(-u), and E z^2 = Phi(t) - t phi(t) +
 * t^2 Phi(-t) - Phi(-u) - u phi(u) + u^2 Phi(-u). */
csrec_cut_seen csrec_cut_see(const csrec_cut *cut, double v) {
    const double DENSITY = 0.3989422804014327, FAR = 9.0;
    double first = 0.0, second = 1.0, inside = 1.0;
    for (int e = 0; e < 2; e++) {
        const double t = (e ? cut->end[1] - v : v - cut->end[0]) / cut->sigma;
        if (!(t < FAR)) continue;
        const double beyond = 0.5 * erfc(t * sqrt(0.5)), phi = DENSITY * exp(-0.5 * t * t);
        first += (e ? -1.0 : 1.0) * (phi - t * beyond);
        second += (t * t - 1.0) * beyond - t * phi;
        inside -= beyond;
    }
    return (csrec_cut_seen){v + cut->sigma * first,
                            cut->sigma * cut->sigma * fmax(second - first * first, 0.0), inside};
}

/* The mean rises with v, so that Newton's steps are kept between bounds. */
static double back(const csrec_cut *cut, double mean) {
    double v = fmin(fmax(mean, cut->end[0]), cut->end[1]);
    double low = isinf(cut->end[0]) ? v - cut->sigma : cut->end[0];
    double high = isinf(cut->end[1]) ? v + cut->sigma : cut->end[1];
    for (int step = 0; step < 60; step++) {
        const csrec_cut_seen seen = csrec_cut_see(cut, v);
        const double off = seen.mean - mean;
        *(off > 0.0 ? &high : &low) = v;
        double next = v - off / fmax(seen.slope, 1e-300);
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        if (fabs(next - v) <= 1e-7 * cut->sigma) return next;
        v = next;
    }
    return v;
}

void csrec_cut_back(const csrec_cut *cut, int64_t values, double *signal, double *variance) {
    const double FAR = 5.0 * cut->sigma;
    if (!(cut->sigma > 0.0)) return;
#pragma omp parallel for schedule(static, 4096) num_threads(csrec_threads_for(values, 0))
    for (int64_t i = 0; i < values; i++) {
        const double m = signal[i];
        if (isnan(m) || (m > cut->end[0] + FAR && m < cut->end[1] - FAR)) continue;
        signal[i] = back(cut, signal[i]);
        if (variance) variance[i] /= pow(csrec_cut_see(cut, signal[i]).slope, 2.0);
    }
}
