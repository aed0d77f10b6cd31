/* SPDX-License-Identifier: BSD-3-Clause */
/* sampling.c - sampling patterns: the table of them, and uniform sampling without replacement. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling.h"
#include "base/sort.h"
#include "base/threads.h"
#include "csrec/sampling.h"
#include "measurement/through.h"

/* The first `count` outputs of a random permutation: distinct without storing any, each a function
 * of its number alone, so threads share the work and the result does not depend on them. */
static csrec_status sample_uniform(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error) {
    (void)error;
    csrec_permutation permutation;
    csrec_permutation_init(&permutation, (uint64_t)plan->entries, plan->seed);
    int64_t *index = sampling->index;
    const int threads = csrec_threads_for(16 * plan->count, 0);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < plan->count; i++)
        index[i] = (int64_t)csrec_permutation_at(&permutation, (uint64_t)i);
    return CSREC_OK;
}

typedef csrec_status (*sample_function)(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                        csrec_error *error);

static sample_function function_of(csrec_pattern pattern) {
    switch (pattern) {
    case CSREC_PATTERN_UNIFORM:
        return sample_uniform;
    case CSREC_PATTERN_POISSON:
        return csrec_sampling_poisson;
    case CSREC_PATTERN_JITTER:
        return csrec_sampling_jitter;
    case CSREC_PATTERN_NONE:
        break;
    }
    return NULL;
}

static csrec_status check_plan(csrec_sampling_plan *plan, csrec_error *error) {
    csrec_status status = csrec_shape_count(plan->shape, &plan->entries);
    if (status)
        return csrec_fail(error, status,
                          "shape: an extent is below 1 or the product overflows; "
                          "use extents whose product is at most 2^62");
    if (plan->count < 1 || plan->count > plan->entries)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "count %lld is not in 1 .. %lld, the entries of the signal; ask for fewer",
            (long long)plan->count, (long long)plan->entries);
    return CSREC_OK;
}

csrec_status csrec_sampling_create(const csrec_shape *shape, csrec_pattern pattern, int64_t count,
                                   uint64_t seed, csrec_sampling *sampling, csrec_error *error) {
    return csrec_sampling_create_watched(shape, pattern, count, seed, NULL, NULL, sampling, error);
}

csrec_status csrec_sampling_create_watched(const csrec_shape *shape, csrec_pattern pattern,
                                           int64_t count, uint64_t seed, csrec_progress_fn progress,
                                           void *context, csrec_sampling *sampling,
                                           csrec_error *error) {
    csrec_sampling_plan plan = {shape, 0, count, seed, progress, context};
    sample_function sample = function_of(pattern);
    if (!sample)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "no such sampling pattern; use uniform, poisson or jitter");
    CSREC_TRY(check_plan(&plan, error));
    csrec_sampling made = {.n = count};
    if ((uint64_t)count <= SIZE_MAX / sizeof *made.index)
        made.index = malloc((size_t)count * sizeof *made.index);
    if (!made.index)
        return csrec_fail(error, CSREC_MEMORY, "no memory for %lld positions; sample fewer",
                          (long long)count);
    csrec_status status = sample(&plan, &made, error);
    if (!status && csrec_sort_rows(made.n, (uint64_t *)made.index, NULL))
        status = csrec_fail(error, CSREC_MEMORY, "no memory to sort %lld positions; sample fewer",
                            (long long)count);
    return CSREC_SETTLE(status, csrec_sampling_clear(&made), *sampling = made);
}

void csrec_sampling_clear(csrec_sampling *sampling) {
    if (!sampling) return;
    free(sampling->index);
    free(sampling->rays);
    *sampling = (csrec_sampling){.index = NULL};
}

/* ---- chooses the rows of an operator to measure. */

static const char *const names[] = {"uniform", "first", "variable", "lines"};

const char *csrec_row_choice_name(csrec_row_choice rows) {
    return (int)rows >= 0 && rows < (int)(sizeof names / sizeof *names) ? names[rows] : NULL;
}

/* Of the lines, or frequencies, that are drawn by density, this share are the lowest ones. */
static const double CENTRE = 1.0 / 3.0;

/* Distance of unit `at` from frequency 0: the root of the mean over the axes of the squares of
 * |frequency| / highest; a unit is a frequency of the first `axes` axes. */
static double radius(const csrec_shape *shape, int axes, int64_t at) {
    double sum = 0.0;
    int used = 0;
    for (int a = axes - 1; a >= 0; a--) {
        int64_t extent = shape->dim[a], k = at % extent;
        at /= extent;
        if (extent < 2) continue;
        double f = 2.0 * (double)(2 * k > extent ? extent - k : k) / (double)extent;
        sum += f * f;
        used++;
    }
    return used ? sqrt(sum / used) : 0.0;
}

/* A key whose order as an integer is that of the value, which is not negative. */
static uint64_t key_of(double value) {
    uint64_t key;
    memcpy(&key, &value, sizeof key);
    return key;
}

/* The lowest units, then others in a random order weighted by (1 - radius)^2 (Efraimidis and
 * Spirakis 2006). low: how many are taken as the lowest. */
static csrec_status order_units(const csrec_shape *shape, int axes, int64_t n, int64_t low,
                                uint64_t seed, int64_t *units) {
    uint64_t *keys = malloc((size_t)n * sizeof *keys);
    if (!keys) return CSREC_MEMORY;
    for (int64_t i = 0; i < n; i++) keys[i] = key_of(radius(shape, axes, i)), units[i] = i;
    csrec_status status = csrec_sort_rows(n, keys, units);
    for (int64_t k = low; k < n && !status; k++) {
        double weight = 1.0 - radius(shape, axes, units[k]);
        double u = csrec_random_uniform(seed, 0, (uint64_t)units[k]);
        keys[k] = key_of(-log1p(-u) / (weight * weight + 1e-6));
    }
    if (!status && low < n) status = csrec_sort_rows(n - low, keys + low, units + low);
    free(keys);
    return status;
}

/* Units of `line` rows that follow each other. */
static csrec_status draw_units(const csrec_shape *shape, int axes, int64_t line, int64_t count,
                               bool random, uint64_t seed, csrec_sampling *sampling) {
    int64_t n = 1, taken = count / line > 0 ? count / line : 1;
    for (int a = 0; a < axes; a++) n *= shape->dim[a];
    if (taken > n) taken = n;
    int64_t low = random ? (int64_t)ceil(CENTRE * (double)taken) : n;
    int64_t *units = malloc((size_t)n * sizeof *units);
    int64_t *index = malloc((size_t)(taken * line) * sizeof *index);
    csrec_status status =
        units && index ? order_units(shape, axes, n, low, seed, units) : CSREC_MEMORY;
    if (!status) status = csrec_sort_rows(taken, (uint64_t *)units, NULL);
    for (int64_t k = 0; k < taken && !status; k++)
        for (int64_t i = 0; i < line; i++) index[k * line + i] = units[k] * line + i;
    free(units);
    return CSREC_SETTLE(status, free(index),
                        (*sampling = (csrec_sampling){.n = taken * line, .index = index}));
}

/* Row 0, the sum of the signal, is always one of them. */
static csrec_status draw_uniform(int64_t rows, int64_t count, uint64_t seed,
                                 csrec_sampling *sampling, csrec_error *error) {
    const csrec_shape line = {1, {rows}};
    CSREC_TRY(csrec_sampling_create(&line, CSREC_PATTERN_UNIFORM, count, seed, sampling, error));
    sampling->index[0] = 0; /* the first of those that ascend */
    return CSREC_OK;
}

static csrec_status take_first(int64_t count, csrec_sampling *sampling) {
    int64_t *index = malloc((size_t)count * sizeof *index);
    if (!index) return CSREC_MEMORY;
    for (int64_t k = 0; k < count; k++) index[k] = k;
    *sampling = (csrec_sampling){.n = count, .index = index};
    return CSREC_OK;
}

static csrec_status check(const csrec_measurement *m, csrec_row_choice rows, bool frequencies,
                          csrec_error *error) {
    if (!csrec_row_choice_name(rows))
        return csrec_fail(error, CSREC_ARGUMENT, "rows: unknown way to choose them");
    if (!frequencies && (rows == CSREC_ROWS_VARIABLE || rows == CSREC_ROWS_LINES))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "rows: '%s' chooses frequencies; use uniform or first with operator %s",
                          csrec_row_choice_name(rows), m->through ? m->through->name : "points");
    if (rows == CSREC_ROWS_LINES && m->shape.dims < 2)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "rows: lines of frequencies need 2 or 3 axes; use variable");
    return CSREC_OK;
}

/* Frequencies of fftn are put where centred ones are. */
static csrec_status centre(const csrec_measurement *m, csrec_sampling *sampling) {
    if (!m->through || !m->through->centred) return CSREC_OK;
    for (int64_t k = 0; k < sampling->n; k++) csrec_uncentre(&m->shape, true, &sampling->index[k]);
    return csrec_sort_rows(sampling->n, (uint64_t *)sampling->index, NULL);
}

csrec_status csrec_sampling_rows(const csrec_measurement *m, csrec_row_choice rows, int64_t count,
                                 uint64_t seed, csrec_sampling *sampling, csrec_error *error) {
    int64_t all;
    const csrec_through_type *type = m->through ? csrec_through_find(m->through->name) : NULL;
    const bool frequencies = type && type->complex_y;
    csrec_status status = csrec_measurement_rows(m, &all, error);
    if (!status) status = check(m, rows, frequencies, error);
    if (status) return status;
    if (count < 1 || count > all)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "rows: %lld of %lld; measure at least 1, each once", (long long)count,
                          (long long)all);
    const int dims = m->shape.dims, axes = rows == CSREC_ROWS_LINES ? dims - 1 : dims;
    const int64_t line = rows == CSREC_ROWS_LINES ? m->shape.dim[dims - 1] : 1;
    if (rows == CSREC_ROWS_UNIFORM) {
        status = draw_uniform(all, count, seed, sampling, error);
        return status ? status : centre(m, sampling);
    }
    status = frequencies ? draw_units(&m->shape, axes, line, count, rows != CSREC_ROWS_FIRST, seed,
                                      sampling)
                         : take_first(count, sampling);
    if (!status) status = centre(m, sampling);
    return status ? csrec_fail(error, status, "rows: %s", csrec_status_text(status)) : CSREC_OK;
}
