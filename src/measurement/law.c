/* SPDX-License-Identifier: BSD-3-Clause */
/* law.c - noise that grows with the light: what a text says of it, the line of variances by means,
 * and values in which it is white. */
#include "measurement/law.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/unit.h"

/* Numbers behind a name, as in "name:1,2"; false: the text is another. */
static bool take_numbers(const char *text, const char *name, int most, double *number, int *n) {
    const size_t length = strlen(name);
    if (strncmp(text, name, length) != 0) return false;
    for (*n = 0, text += length; *text; ++*n) {
        char *end;
        if (*n == most || *text != (*n ? ',' : ':')) return false;
        number[*n] = strtod(text + 1, &end);
        if (end == text + 1 || !isfinite(number[*n])) return false;
        text = end;
    }
    return true;
}

csrec_status csrec_noise_parse(const char *text, double *sigma, csrec_noise_law *law,
                               csrec_error *error) {
    double v[3] = {NAN, 0.0, 0.0};
    int n = 0;
    char *end;
    *law = (csrec_noise_law){.log = 0.0};
    *sigma = strcmp(text, "auto") == 0 ? NAN : strtod(text, &end);
    if (isnan(*sigma) && strcmp(text, "auto") == 0) return CSREC_OK;
    if (end != text && !*end && *sigma >= 0.0 && *sigma <= 1e300) return CSREC_OK;
    *sigma = 0.0;
    if (take_numbers(text, "poisson", 3, v, &n) && (n == 0 || v[0] > 0.0) && v[2] >= 0.0) {
        *law = (csrec_noise_law){v[0], n ? v[2] * v[2] - v[0] * v[1] : NAN, 0.0};
        return CSREC_OK;
    }
    if (take_numbers(text, "light", 1, v, &n) && (n == 0 || v[0] > 0.0)) {
        law->log = v[0];
        return CSREC_OK;
    }
    return csrec_fail(error, CSREC_ARGUMENT,
                      "'%.80s' is neither a number from 0 on nor auto, "
                      "poisson[:GAIN[,OFFSET[,SIGMA]]] or light[:LOG], GAIN and LOG above 0",
                      text);
}

bool csrec_noise_text(const csrec_noise_law *law, char text[CSREC_NOISE_TEXT]) {
    *text = '\0';
    if (law->gain > 0.0)
        snprintf(text, CSREC_NOISE_TEXT, "poisson:%.4g,%.4g", law->gain,
                 0.0 - law->base / law->gain);
    else if (law->log > 0.0)
        snprintf(text, CSREC_NOISE_TEXT, "light:%.4g", law->log);
    return csrec_law_is_on(law);
}

csrec_status csrec_law_check(const csrec_noise_law *law, csrec_error *error) {
    const bool finite = isfinite(law->gain) && isfinite(law->base) && isfinite(law->log);
    if (finite && law->gain >= 0.0 && law->log >= 0.0 && (law->gain > 0.0) != (law->log > 0.0))
        return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "law: gain %g, base %g, log %g; give a gain or log above 0, and the other "
                      "0; what is NAN csrec_noise_find finds",
                      law->gain, law->base, law->log);
}

/* v(x) = a + b f(x) of means x, f their power. Of the least sum of relative errors, by weighted
 * squares, as texture makes some variances too large. Returns the mean of those errors. */
typedef struct noise_line {
    int power;
    bool through; /* a is 0 */
    double a, b;
} noise_line;

static double fit(const csrec_noise_bin *bin, noise_line *l) {
    double error = 0.0, weight = 0.0, mean = 0.0;
    for (int k = 0; k < CSREC_NOISE_BINS; k++) {
        weight += bin[k].weight;
        mean += bin[k].weight * bin[k].variance;
    }
    *l = (noise_line){l->power, l->through, mean / weight, 0.0};
    for (int round = 0; round < 40; round++) {
        double w = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
        error = 0.0;
        for (int k = 0; k < CSREC_NOISE_BINS; k++) {
            const double f = pow(bin[k].mean, l->power), v = bin[k].variance;
            const double model = fmax(l->a + l->b * f, 1e-3 * mean / weight);
            const double off = bin[k].weight * fabs(v - l->a - l->b * f) / model;
            const double own = bin[k].weight / (model * model) /
                               (round ? fmax(off / fmax(bin[k].weight, 1.0), 0.03) : 1.0);
            w += own, x += own * f, y += own * v, xx += own * f * f, xy += own * f * v;
            error += off / weight;
        }
        l->b = l->through ? xy / xx : (w * xy - x * y) / (w * xx - x * x);
        l->a = l->through ? 0.0 : (y - l->b * x) / w;
    }
    return error;
}

/* Without an offset where that is hardly worse. */
static csrec_status fit_poisson(const csrec_noise_bin *bin, csrec_noise_law *law,
                                csrec_error *error) {
    noise_line free = {.power = 1}, origin = {.power = 1, .through = true};
    int known = 0;
    for (int k = 0; k < CSREC_NOISE_BINS; k++) known += bin[k].weight > 0.0;
    if (known < CSREC_NOISE_BINS / 2)
        return csrec_fail(error, CSREC_DATA,
                          "too few samples with noise to find a gain; give it, as in poisson:1");
    const bool simple = fit(bin, &origin) < 1.5 * fit(bin, &free) && bin[0].mean >= 0.0;
    const noise_line *l = simple || !(free.b > 0.0) ? &origin : &free;
    if (!(l->b > 0.0) || !isfinite(l->a) || (l == &origin && !simple))
        return csrec_fail(error, CSREC_DATA,
                          "the noise does not grow with the samples, so they tell no gain; give "
                          "it, as in poisson:1, or sigma");
    law->gain = l->b;
    law->base = l->a;
    return CSREC_OK;
}

/* Those above 0, ascending; NULL: no memory. */
static double *sorted_of(int64_t n, const double *values, int64_t *kept) {
    union {
        uint64_t *bits; /* of values above 0 in the same order */
        double *value;
    } v = {.value = malloc(((size_t)n + !n) * sizeof *values)};
    *kept = 0;
    for (int64_t i = 0; i < n && v.value; i++)
        if (values[i] > 0.0) v.value[(*kept)++] = values[i];
    if (v.value && !csrec_sort_rows(*kept, v.bits, NULL)) return v.value;
    free(v.value);
    return NULL;
}

csrec_status csrec_values_floor(int64_t n, const double *values, double *floor,
                                csrec_error *error) {
    int64_t kept;
    double *v = sorted_of(n, values, &kept);
    if (!v) return csrec_memory_fail(error, NULL);
    *floor = kept ? fmax(v[kept / 100], 0x1p-23 * v[kept - 1]) : 0.0;
    free(v);
    return CSREC_OK;
}

csrec_status csrec_values_step(int64_t n, const double *values, double *step, csrec_error *error) {
    int64_t kept;
    double *v = sorted_of(n, values, &kept), last = 0.0, gap = INFINITY;
    if (!v) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < kept; last = v[i++])
        if (v[i] > last) gap = fmin(gap, v[i] - last);
    *step = last / round(last / gap); /* of float32 samples a gap is less exact */
    for (int64_t i = 0; i < kept; i++)
        if (!(fabs(v[i] / *step - round(v[i] / *step)) < 0.01)) *step = 0.0;
    free(v);
    return CSREC_OK;
}

/* The noise of the logarithms. */
static csrec_status find_log(const csrec_measurement *m, double *log, csrec_error *error) {
    const int64_t values = m->n * m->channels;
    const csrec_noise_law one = {.log = 1.0};
    csrec_measurement changed = *m;
    double floor;
    CSREC_TRY(csrec_values_floor(values, m->y, &floor, error));
    changed.y = malloc((size_t)values * sizeof *changed.y);
    if (!changed.y) return csrec_memory_fail(error, NULL);
    for (int64_t i = 0; i < values; i++)
        changed.y[i] = csrec_law_into(&one, CSREC_LAW_FLOOR * floor, m->y[i]);
    csrec_noise_bin
        bin[CSREC_NOISE_BINS]; /* differs: of the brightest, floor tells nothing there */
    csrec_status status = csrec_noise_look(&changed, bin, log, error);
    if (!status && isnan(*log)) *log = sqrt(bin[CSREC_NOISE_BINS - 1].variance);
    free(changed.y);
    *log *= 1.0 + 0.12 * *log * *log; /* of gamma noise, by its long tail, less is found */
    if (!status && !(*log > 0.0))
        status = csrec_fail(error, CSREC_DATA,
                            "the samples' logarithms show no noise; leave law light out");
    return status;
}

/* Whether variances grow with the means, nearly as a law says, tenfold or more, or where one sigma
 * misfits: also where no quarters differ enough, or the flattest parts have no light. Measured:
 * docs/noise.md. */
static bool grows(const csrec_noise_bin *bin, double of_one, double misfit) {
    double least = INFINITY, most = 0.0;
    for (int k = 0; k < CSREC_NOISE_BINS; k++) {
        if (!(bin[k].weight > 0.0)) continue;
        least = fmin(least, bin[k].variance);
        most = fmax(most, bin[k].variance);
    }
    return (most > 10.0 * least && misfit < 0.2) || (misfit < 0.1 && of_one > 3.0 * misfit);
}

/* Whether variances are step times the means or, by texture, more, which is no coincidence in
 * values that are multiples of it; off these by the mean of relative errors `most` at most. */
static bool is_counts(const csrec_noise_bin *bin, double step, double most) {
    double weight = 0.0, below = 0.0, near = 0.0, off = 0.0;
    for (int k = 0; k < CSREC_NOISE_BINS; k++) {
        if (!(bin[k].weight > 0.0)) continue;
        const double share = bin[k].variance / (step * bin[k].mean);
        weight += bin[k].weight;
        below += share < 0.75 ? bin[k].weight : 0.0;
        near += share < 1.25 ? bin[k].weight : 0.0;
        off += bin[k].weight * fabs(share - 1.0);
    }
    return 4.0 * below < weight && 4.0 * near > weight && off < most * weight;
}

csrec_status csrec_noise_find(const csrec_measurement *m, double *sigma, csrec_noise_law *law,
                              csrec_error *error) {
    csrec_noise_bin bin[CSREC_NOISE_BINS] = {{0}};
    const int64_t values = m->n * m->channels;
    double found = 0.0, least = 0.0, step = 0.0;
    csrec_status status = CSREC_OK;
    const bool open = isnan(*sigma), line = isnan(law->gain) || isnan(law->base);
    for (int64_t i = 0; i < values; i++) least = fmin(least, m->y[i]);
    if (least < 0.0 && (isnan(law->log) || law->log > 0.0))
        return csrec_fail(error, CSREC_DATA,
                          "samples below 0, as %g, are not of law light; give another sigma",
                          least);
    if (open || line) status = csrec_noise_look(m, bin, &found, error);
    if (!status && (open || line) && least == 0.0)
        status = csrec_values_step(values, m->y, &step, error);
    noise_line squares = {.power = 2, .through = true}, free = {.power = 1},
               one = {.through = true};
    const double of_light = least < 0.0 ? INFINITY : fit(bin, &squares), of_line = fit(bin, &free);
    const double of_one = fit(bin, &one), some = found == 0.0 ? INFINITY : of_one;
    if (!status && is_counts(bin, step, fmin(6.0 * of_line, open ? fmin(some, 0.3) : INFINITY))) {
        *law = (csrec_noise_law){.gain = step};
        *sigma = 0.0;
        return status;
    }
    const bool differs =
        !status && open && (isnan(found) || grows(bin, of_one, fmin(of_light, of_line)));
    const bool light = differs && of_light < of_line;
    if (!status && (line || (differs && !light))) status = fit_poisson(bin, law, error);
    if (!status && (light || isnan(law->log))) status = find_log(m, &law->log, error);
    if (open && status == CSREC_DATA && differs) /* then sigma, or why there is none */
        return csrec_noise_estimate(m, sigma, error);
    if (!status && open) *sigma = differs ? 0.0 : found;
    return status;
}

double csrec_law_into(const csrec_noise_law *law, double floor, double y) {
    const double g = law->gain;
    if (isnan(y)) return y;
    if (law->log > 0.0) return log1p(fmax(y, 0.0) / floor) / law->log;
    return 2.0 * sqrt(fmax(y / g + 0.375 + law->base / g / g, 0.0));
}

double csrec_law_back(const csrec_noise_law *law, double floor, double factor, double u) {
    static const double LEAST = 1.2247448713915890; /* of u, where 0 counts are expected */
    if (isnan(u)) return u;
    if (law->log > 0.0) return fmax(factor * floor * exp(law->log * u) - floor, 0.0);
    const double d = fmax(u, LEAST), r = 1.0 / d;
    const double counts =
        0.25 * d * d - 0.125 + r * (0.25 * LEAST + r * (r * 0.625 * LEAST - 1.375));
    return law->gain * counts - law->base / law->gain;
}

double csrec_law_error(const csrec_noise_law *law, double floor, bool sampled, double y,
                       double error) {
    const double own = law->log * error, s = fmin(own, 0.7); /* larger ones are not normal */
    /* the noise is gamma of k, whose own^2 is about 1 / k + 1 / (2 k^2) */
    if (law->log > 0.0 && sampled) return (y + floor) * sqrt(sqrt(1.0 + 2.0 * own * own) - 1.0);
    if (law->log > 0.0)
        return (y + floor) * sqrt(fmax(exp(2.0 * s * s) - 2.0 * exp(0.5 * s * s) + 1.0, 0.0));
    return error * sqrt(fmax(law->base + law->gain * y, 0.0) + 0.375 * law->gain * law->gain);
}

double csrec_law_half(const csrec_noise_law *law, double floor, double y, double half) {
    if (law->log > 0.0) return (y + floor) * expm1(law->log * half);
    const double u = csrec_law_into(law, floor, y);
    return half > 0.0
               ? csrec_law_back(law, floor, 1.0, u + half) - csrec_law_back(law, floor, 1.0, u)
               : half;
}
