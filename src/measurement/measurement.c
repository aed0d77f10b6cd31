/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.c - checks of a measurement, finite values at distinct positions, and its memory. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "measurement/through.h"
#include "base/sort.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "measurement/measurement.h"

/* The first k whose position an earlier sample has, or -1; uses one bit an entry. */
static csrec_status find_by_bitmap(int64_t n, const int64_t *index, int64_t entries,
                                   int64_t *fault) {
    uint64_t *seen = calloc((size_t)(entries / 64) + 1, sizeof *seen);
    if (!seen) return CSREC_MEMORY;
    *fault = -1;
    for (int64_t k = 0; k < n && *fault < 0; k++) {
        uint64_t *word = &seen[index[k] / 64], bit = UINT64_C(1) << (index[k] % 64);
        if (*word & bit) *fault = k;
        *word |= bit;
    }
    free(seen);
    return CSREC_OK;
}

/* Sorting with sample numbers as payload is stable, so in a run of equal positions the second has
 * the number of that position's first repetition. */
static csrec_status find_by_sorting(int64_t n, const int64_t *index, int64_t *fault) {
    csrec_pool pool = {0};
    uint64_t *rows = CSREC_TAKE(&pool, rows, n);
    int64_t *sample = CSREC_TAKE(&pool, sample, n);
    csrec_status status = pool.lacks ? CSREC_MEMORY : CSREC_OK;
    *fault = -1;
    if (status == CSREC_OK) {
        for (int64_t k = 0; k < n; k++) rows[k] = (uint64_t)index[k], sample[k] = k;
        status = csrec_sort_rows(n, rows, sample);
    }
    if (status == CSREC_OK)
        for (int64_t k = 1; k < n; k++)
            if (rows[k] == rows[k - 1] && (*fault < 0 || sample[k] < *fault)) *fault = sample[k];
    csrec_pool_clear(&pool);
    return status;
}

csrec_status csrec_positions_check(int64_t n, const int64_t *index, int64_t entries,
                                   int64_t *fault) {
    bool ascending = true;
    for (int64_t k = 0; k < n; k++) {
        if (index[k] < 0 || index[k] >= entries) {
            *fault = k;
            return CSREC_DATA;
        }
        ascending = ascending && (k == 0 || index[k - 1] < index[k]);
    }
    if (ascending) return CSREC_OK;
    /* Up to 64 entries a sample the bitmap takes no more than the positions themselves. */
    csrec_status status = entries / 64 <= n ? find_by_bitmap(n, index, entries, fault)
                                            : find_by_sorting(n, index, fault);
    return status == CSREC_OK && *fault >= 0 ? CSREC_DATA : status;
}

static csrec_status check_tones(const csrec_measurement *m, const char *name, csrec_error *error) {
    if (!isfinite(m->sigma) || m->sigma < 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'sigma': %g is no standard deviation; save a number >= 0",
                          name, m->sigma);
    if (!isfinite(m->scale[0]) || !isfinite(m->scale[1]))
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'scale': %g, %g are not finite; save the values of black and "
                          "white",
                          name, m->scale[0], m->scale[1]);
    return CSREC_OK;
}

/* What a measurement through an operator needs beside a specification that fits its shape. */
static csrec_status check_through(const csrec_measurement *m, const char *name, int64_t rows,
                                  csrec_error *error) {
    const csrec_through_type *type = csrec_through_find(m->through->name);
    if (type->complex_y && !m->is_complex)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'y': is real, but what operator %s gives is complex; save it "
                          "with .astype(numpy.complex64)",
                          name, type->name);
    if (m->through->coils && m->channels != 1)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'y': %lld channels with coils; save y as [N, coils]", name,
                          (long long)m->channels);
    if (m->n > rows || (!type->chosen && m->n != rows))
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'y': %lld rows, but operator %s has %lld for this shape; save "
                          "%s",
                          name, (long long)m->n, type->name, (long long)rows,
                          type->chosen         ? "each once"
                          : m->through->kernel ? "all of them, of blocks padded with zeros, or the "
                                                 "shape of whole blocks"
                                               : "all of them");
    return CSREC_OK;
}

csrec_status csrec_measurement_check_frame(const csrec_measurement *m, const char *name,
                                           int64_t *entries, csrec_error *error) {
    if (m->shape.dims < 1 || m->shape.dims > CSREC_DIMS_MAX ||
        csrec_shape_count(&m->shape, entries) != CSREC_OK)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'shape': needs 1 to 8 extents >= 1 of at most 2^62 entries in "
                          "all; save the shape of the signal",
                          name);
    csrec_status status = csrec_through_rows(m, name, entries, error);
    if (status) return status;
    if (m->n < 1 || m->channels < 1)
        return csrec_fail(error, CSREC_DATA, "%s: array 'y': holds no samples; save at least one",
                          name);
    if (m->through && (status = check_through(m, name, *entries, error))) return status;
    if (m->n > *entries)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: array 'y': %lld samples of a signal with %lld entries; each entry can "
            "be sampled once",
            name, (long long)m->n, (long long)*entries);
    if (m->n > INT64_MAX / 16 / m->channels / csrec_through_coils(m->through))
        return csrec_fail(error, CSREC_DATA, "%s: array 'y': too many values; save fewer", name);
    return check_tones(m, name, error);
}

/* The error line for element k, which is outside the signal or repeats a position. */
static csrec_status fail_position(const csrec_measurement *m, int64_t k, int64_t position,
                                  int64_t entries, const char *name, csrec_error *error) {
    if (position < 0 || position >= entries)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'index': element %lld is %lld, outside 0 to %lld; save %s",
                          name, (long long)k, (long long)position, (long long)entries - 1,
                          m->through ? "numbers of the operator's rows"
                                     : "flat C-order positions (numpy.ravel_multi_index)");
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'index': element %lld repeats position %lld; keep one sample of "
                      "each position (numpy.unique)",
                      name, (long long)k, (long long)position);
}

csrec_status csrec_positions_check_piece(const csrec_measurement *m, int64_t from, int64_t count,
                                         const int64_t *index, const char *name,
                                         csrec_error *error) {
    int64_t entries = 0;
    csrec_status status = csrec_through_rows(m, name, &entries, error);
    for (int64_t k = 0; k < count && status == CSREC_OK; k++)
        if (index[k] < 0 || index[k] >= entries || (k && index[k] == index[k - 1]))
            status = fail_position(m, from + k, index[k], entries, name, error);
    return status;
}

csrec_status csrec_measurement_check_next(const csrec_measurement *m, int64_t from, int64_t count,
                                          const char *name, csrec_error *error) {
    const int64_t before = from > 0;
    return csrec_positions_check_piece(m, from - before, count + before, m->index + from - before,
                                       name, error);
}

static csrec_status check_positions(const csrec_measurement *m, const char *name, int64_t entries,
                                    csrec_error *error) {
    int64_t k;
    csrec_status status = csrec_positions_check(m->n, m->index, entries, &k);
    if (status == CSREC_OK && m->through && !csrec_through_find(m->through->name)->chosen)
        for (k = 0; k < m->n; k++)
            if (m->index[k] != k)
                return csrec_fail(
                    error, CSREC_DATA,
                    "%s: array 'index': operator %s measures all rows in their order; "
                    "leave it out",
                    name, m->through->name);
    if (status == CSREC_MEMORY) return csrec_fail(error, status, "%s: out of memory", name);
    return status == CSREC_OK ? status : fail_position(m, k, m->index[k], entries, name, error);
}

/* Values of entries may be NaN in some channels, which are not measured there. */
csrec_status csrec_values_check_piece(const csrec_measurement *m, int64_t from, int64_t n,
                                      const double *y, const char *name, csrec_error *error) {
    const int64_t each = csrec_measurement_values(m) / m->n;
    for (int64_t i = 0, known = 0; i < n * each; i++) {
        known = (i % each ? known : 0) + !isnan(y[i]);
        if (isfinite(y[i]) || (isnan(y[i]) && !m->through && (known || i % each < each - 1)))
            continue;
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'y': sample %lld is %s; leave out samples that are not finite "
                          "(numpy.isfinite)",
                          name, (long long)(from + i / each),
                          isnan(y[i]) ? "nan"
                          : y[i] > 0  ? "infinite"
                                      : "-infinite");
    }
    return CSREC_OK;
}

csrec_status csrec_measurement_check(const csrec_measurement *measurement, const char *name,
                                     csrec_error *error) {
    int64_t entries = 0;
    csrec_measurement sized = *measurement;
    if (!sized.index || !sized.y) sized.n = 0;
    csrec_status status = csrec_measurement_check_frame(&sized, name, &entries, error);
    if (status == CSREC_OK)
        status =
            csrec_values_check_piece(measurement, 0, measurement->n, measurement->y, name, error);
    if (status == CSREC_OK) status = check_positions(measurement, name, entries, error);
    if (status == CSREC_OK) status = csrec_guides_check(measurement, name, error);
    if (status == CSREC_OK) status = csrec_each_check(measurement, name, error);
    return status;
}

csrec_status csrec_measurement_check_points(const csrec_measurement *m, const char *name,
                                            csrec_error *error) {
    if (m->through)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is measured through an operator (%s); this works with entries of a "
                          "signal",
                          name, m->through->name ? m->through->name : "");
    if (m->is_complex)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has complex values; give their parts as channels", name);
    return csrec_measurement_check(m, name, error);
}

bool csrec_dtype_fits_f32(csrec_dtype dtype) {
    return csrec_dtype_size(dtype) <= 2 || dtype == CSREC_F32;
}

void csrec_measurement_retype(csrec_dtype dtype, csrec_dtype from, csrec_measurement *m) {
    const bool small = from == CSREC_U8 || from == CSREC_U16;
    m->dtype = dtype;
    if (dtype != from && m->scale[0] == m->scale[1] && small)
        m->scale[1] = from == CSREC_U8 ? 255.0 : 65535.0;
}

csrec_status csrec_measurement_allocate(csrec_measurement *m, const char *name,
                                        csrec_error *error) {
    const uint64_t values =
        (uint64_t)m->channels * (m->is_complex ? 2 : 1) * (uint64_t)csrec_through_coils(m->through);
    uint64_t each = 8 * values + 8;
    csrec_status status = (uint64_t)m->n > UINT64_MAX / each
                              ? csrec_fail(error, CSREC_MEMORY, "%s: too many samples", name)
                              : csrec_memory_check((uint64_t)m->n * each, 1, name, error);
    if (status != CSREC_OK) return status;
    const size_t room = m->n ? (size_t)m->n : 1;
    m->index = malloc(room * sizeof *m->index);
    m->y = malloc(room * (size_t)values * sizeof *m->y);
    if (m->index && m->y) return CSREC_OK;
    csrec_measurement_clear(m);
    return csrec_memory_fail(error, name);
}

void csrec_measurement_clear(csrec_measurement *measurement) {
    if (!measurement) return;
    free(measurement->index);
    free(measurement->y);
    free(measurement->rays);
    free(measurement->deviation);
    csrec_through_destroy(measurement->through);
    csrec_guides_destroy(measurement->guides);
    *measurement = (csrec_measurement){0};
}
