/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.c - a measurement from the arrays of a .npz, every variant of the positions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "base/memory.h"
#include "files/measurement.h"
#include "files/npz/npz.h"
#include "measurement/each.h"

#define MISSING                                                                                    \
    "%s: array 'mask': missing, as are 'index' and 'pattern'; save positions, as in "              \
    "numpy.savez(..., y=x[mask], mask=mask)"

/* Poisson-disc sampling delivers fewer positions than asked; a file that asks for more than this
 * many times its samples cannot come from it, and would only cost time. */
enum { PATTERN_SURPLUS = 16 };

/* Opens an array of at most `room` elements; *count receives its number of elements. */
static csrec_status begin_small(const csrec_npz *npz, const char *field, int room,
                                csrec_npz_member *member, int64_t *count, csrec_error *error) {
    CSREC_TRY(csrec_npz_begin(npz, field, member, error));
    *count = member->header.count;
    if (*count <= room) return CSREC_OK;
    csrec_status status = csrec_fail(error, CSREC_DATA, "%s: has %lld elements; save at most %d",
                                     member->name, (long long)*count, room);
    return csrec_npz_end(member, status, error);
}

static csrec_status read_numbers(const csrec_npz *npz, const char *field, int room, double *values,
                                 int64_t *count, csrec_error *error) {
    csrec_npz_member member;
    CSREC_TRY(begin_small(npz, field, room, &member, count, error));
    csrec_status status =
        csrec_npy_values_f64(&member.reader, &member.header, member.name, values, error);
    return csrec_npz_end(&member, status, error);
}

csrec_status csrec_npz_integers(const csrec_npz *npz, const char *field, int room, bool wrap,
                                int64_t *values, int64_t *count, csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = begin_small(npz, field, room, &member, count, error);
    if (status) return status;
    if (wrap && member.header.kind == 'u' && member.header.dtype == CSREC_U64)
        status = csrec_npy_values(&member.reader, &member.header, member.name, values, error);
    else
        status = csrec_npy_values_i64(&member.reader, &member.header, member.name, values, error);
    if (!status && wrap && member.header.kind != 'u' && values[0] < 0)
        status = csrec_fail(error, CSREC_DATA, "%s: %lld is negative; save a number >= 0",
                            member.name, (long long)values[0]);
    return csrec_npz_end(&member, status, error);
}

csrec_status csrec_npz_begin_y(const csrec_npz *npz, csrec_measurement *m, csrec_npz_member *member,
                               csrec_error *error) {
    CSREC_TRY(csrec_npz_begin(npz, "y", member, error));
    const csrec_shape *shape = &member->header.shape;
    m->is_complex = member->header.is_complex;
    const int dims = shape->dims - m->is_complex;
    m->n = dims >= 1 ? shape->dim[0] : 1;
    m->channels = dims == 2 ? shape->dim[1] : 1;
    m->dtype = member->header.dtype;
    if (dims >= 1 && dims <= 2) return CSREC_OK;
    csrec_status status =
        csrec_fail(error, CSREC_DATA, "%s: has %d axes; save samples as [N] or [N, channels]",
                   member->name, dims);
    return csrec_npz_end(member, status, error);
}

/* The same of y that is not read then. */
static csrec_status measure(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin_y(npz, m, &member, error);
    if (!status) csrec_npz_leave(&member);
    return status;
}

/* y of a pattern less that of its complement: a row of +1 and -1, with twice the variance. */
static void subtract_pairs(csrec_measurement *m) {
    const int64_t each = csrec_measurement_values(m) / m->n;
    for (int64_t k = 0; k < m->n; k++)
        for (int64_t c = 0; c < each; c++)
            m->y[k * each + c] = m->y[2 * k * each + c] - m->y[(2 * k + 1) * each + c];
    m->sigma *= sqrt(2.0);
}

static csrec_status read_y(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_npz_member member;
    csrec_measurement again = {0};
    csrec_status status = csrec_npz_begin_y(npz, &again, &member, error);
    if (status) return status;
    const int64_t values = csrec_measurement_values(m);
    const bool split = m->through && member.header.count == 2 * values;
    double *room = split ? realloc(m->y, 2 * (size_t)values * sizeof *room) : m->y;
    if (room) m->y = room;
    /* m->y was allocated for the size read first. */
    if (!room)
        status = csrec_memory_fail(error, member.name);
    else if (!split && member.header.count != values)
        status = csrec_npz_changed(&member, error);
    else
        status = csrec_npy_values_f64(&member.reader, &member.header, member.name, m->y, error);
    status = csrec_npz_end(&member, status, error);
    if (!status && split) subtract_pairs(m);
    return status;
}

/* Room for the samples, which can be no more than the signal has entries. */
static csrec_status make_room(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    int64_t entries = 0;
    csrec_measurement sized = *m;
    sized.n += npz->empty && !m->through && m->n == 0;
    csrec_status status = csrec_measurement_check_frame(&sized, npz->name, &entries, error);
    return status == CSREC_OK ? csrec_measurement_allocate(m, npz->name, error) : status;
}

csrec_status csrec_npz_shape(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    int64_t dims, entries;
    CSREC_TRY(csrec_npz_integers(npz, "shape", CSREC_DIMS_MAX, false, m->shape.dim, &dims, error));
    m->shape.dims = (int)dims;
    if (csrec_shape_count(&m->shape, &entries) != CSREC_OK)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: array 'shape': extents must be >= 1 with at most 2^62 entries in all; "
            "save the shape of the signal",
            npz->name);
    return CSREC_OK;
}

enum { PIECE = CSREC_NPZ_PIECE };

/* A position outside the signal, or equal to that of the sample before, is found at once. Other
 * repetitions are found when all are known (csrec_measurement_check). */
static csrec_status read_places(const csrec_npz *npz, csrec_npz_member *member,
                                csrec_measurement *m, csrec_error *error) {
    csrec_npy_header part = member->header;
    for (int64_t at = 0; at < m->n; at += part.count) {
        part.count = m->n - at < PIECE ? m->n - at : PIECE;
        CSREC_TRY(csrec_npy_values_i64(&member->reader, &part, member->name, m->index + at, error));
        CSREC_TRY(csrec_measurement_check_next(m, at, part.count, npz->name, error));
    }
    return CSREC_OK;
}

csrec_status csrec_npz_check_index(const csrec_npz_member *member, int64_t n, csrec_error *error) {
    if (member->header.shape.dims > 1)
        return csrec_fail(error, CSREC_DATA,
                          "%s: has %d axes; save flat positions (numpy.ravel_multi_index)",
                          member->name, member->header.shape.dims);
    if (member->header.kind == 'b')
        return csrec_fail(error, CSREC_DATA, "%s: holds bool; save it as 'mask'", member->name);
    if (member->header.count == n) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: %lld positions for %lld samples in 'y'; save one for each sample",
                      member->name, (long long)member->header.count, (long long)n);
}

static csrec_status read_index(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_npz_member member;
    CSREC_TRY(csrec_npz_shape(npz, m, error));
    CSREC_TRY(csrec_through_read(npz, m, error));
    CSREC_TRY(csrec_npz_begin(npz, "index", &member, error));
    csrec_status status = csrec_npz_check_index(&member, m->n, error);
    if (!status) status = make_room(npz, m, error);
    if (!status) status = read_places(npz, &member, m, error);
    return csrec_npz_end(&member, status, error);
}

/* A shape given besides the mask must equal the mask's. */
static csrec_status agree_shape(const csrec_npz *npz, const csrec_measurement *m,
                                csrec_error *error) {
    csrec_measurement other = {0};
    if (!csrec_npz_has(npz, "shape")) return CSREC_OK;
    CSREC_TRY(csrec_npz_shape(npz, &other, error));
    if (csrec_shape_equal(&other.shape, &m->shape)) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'shape': differs from the shape of 'mask'; leave 'shape' out",
                      npz->name);
}

/* index = the mask's true entries, which must be as many as the samples. The mask is read into
 * `piece` by pieces, or whole if its axes are in Fortran order. */
static csrec_status collect_mask(csrec_npz_member *member, int64_t size, uint8_t *piece,
                                 csrec_measurement *m, csrec_error *error) {
    csrec_npy_header part = member->header;
    int64_t found = 0, entries = member->header.count;
    for (int64_t at = 0; at < entries; at += part.count) {
        part.count = entries - at < size ? entries - at : size;
        CSREC_TRY(csrec_npy_values(&member->reader, &part, member->name, piece, error));
        for (int64_t i = 0; i < part.count; i++) {
            if (!piece[i]) continue;
            if (found < m->n) m->index[found] = at + i;
            found++;
        }
    }
    return csrec_npz_check_count(member, found, m->n, error);
}

csrec_status csrec_npz_check_count(const csrec_npz_member *member, int64_t found, int64_t n,
                                   csrec_error *error) {
    if (found == n) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      found ? "%s: %lld true entries for %lld samples in 'y'; save y = signal[mask]"
                            : "%s: no entry is true (%lld for %lld samples in 'y'); save y = "
                              "signal[mask]",
                      member->name, (long long)found, (long long)n);
}

csrec_status csrec_npz_check_mask(const csrec_npz *npz, const csrec_npz_member *member,
                                  csrec_measurement *m, csrec_error *error) {
    bool bytes = member->header.kind == 'b' || member->header.kind == 'u';
    m->shape = member->header.shape;
    if (!bytes || member->header.bytes != 1)
        return csrec_fail(error, CSREC_DATA,
                          "%s: is neither bool nor uint8; save mask.astype(bool)", member->name);
    if (m->shape.dims < 1)
        return csrec_fail(error, CSREC_DATA, "%s: is a single value; save it in the signal's shape",
                          member->name);
    return agree_shape(npz, m, error);
}

static csrec_status read_mask(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_npz_member member;
    uint8_t *piece = NULL;
    CSREC_TRY(csrec_npz_begin(npz, "mask", &member, error));
    int64_t size = member.header.fortran ? member.header.count : PIECE;
    csrec_status status = csrec_npz_check_mask(npz, &member, m, error);
    if (!status) status = csrec_through_read(npz, m, error);
    if (!status) status = make_room(npz, m, error);
    if (!status && !(piece = malloc((size_t)size))) status = csrec_memory_fail(error, member.name);
    if (!status) status = collect_mask(&member, size, piece, m, error);
    free(piece);
    return csrec_npz_end(&member, status, error);
}

/* A name ('U' or 'S') or the enumeration's number. */
static csrec_status read_pattern(const csrec_npz *npz, csrec_pattern *pattern, csrec_error *error) {
    csrec_npz_member member;
    char text[32] = "";
    csrec_status status = csrec_npz_begin(npz, "pattern", &member, error);
    if (status) return status;
    int64_t number = -1;
    bool named = member.header.kind == 'U' || member.header.kind == 'S';
    if (named)
        status =
            csrec_npy_text(&member.reader, &member.header, member.name, text, sizeof text, error);
    else if (member.header.count != 1)
        status = csrec_fail(error, CSREC_DATA, "%s: has %lld elements; save one name", member.name,
                            (long long)member.header.count);
    else
        status = csrec_npy_values_i64(&member.reader, &member.header, member.name, &number, error);
    CSREC_TRY(csrec_npz_end(&member, status, error));
    bool known =
        named ? csrec_pattern_parse(text, pattern) : number >= 0 && number <= CSREC_PATTERN_JITTER;
    if (known && !named) *pattern = (csrec_pattern)number;
    if (known && *pattern != CSREC_PATTERN_NONE) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: is no pattern; save 'uniform', 'poisson' or 'jitter'",
                      member.name);
}

/* Poisson-disc sampling needs one byte an entry of the signal, however few its samples. */
static csrec_status check_poisson(const csrec_npz *npz, const csrec_measurement *m,
                                  csrec_error *error) {
    int64_t entries;
    csrec_status status = csrec_shape_count(&m->shape, &entries);
    if (status || m->pattern != CSREC_PATTERN_POISSON) return status;
    return csrec_memory_check((uint64_t)entries, 2, npz->name, error);
}

static csrec_status regenerate(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_sampling sampling = {0};
    csrec_error reason = {""};
    if (m->count < m->n || m->count / PATTERN_SURPLUS > m->n)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: array 'count': %lld positions for %lld samples in 'y'; save the count "
            "that the pattern was drawn with",
            npz->name, (long long)m->count, (long long)m->n);
    CSREC_TRY(check_poisson(npz, m, error));
    csrec_status status = csrec_sampling_create_watched(
        &m->shape, m->pattern, m->count, m->seed, npz->progress, npz->context, &sampling, &reason);
    if (status == CSREC_STOPPED)
        return csrec_fail(error, status, "%s: stopped while its pattern was drawn again",
                          npz->name);
    if (status)
        return csrec_fail(error, status, "%s: array 'pattern': %s; save 'index' instead", npz->name,
                          *reason.text ? reason.text : csrec_status_text(status));
    if (sampling.n == m->n)
        memcpy(m->index, sampling.index, (size_t)m->n * sizeof *m->index);
    else
        status =
            csrec_fail(error, CSREC_DATA,
                       "%s: array 'pattern': gives %lld positions for %lld samples in 'y'; save "
                       "'index' instead",
                       npz->name, (long long)sampling.n, (long long)m->n);
    csrec_sampling_clear(&sampling);
    return status;
}

static csrec_status read_procedural(const csrec_npz *npz, csrec_measurement *m,
                                    csrec_error *error) {
    int64_t seed = 0, count;
    csrec_status status = csrec_npz_shape(npz, m, error);
    if (!status) status = read_pattern(npz, &m->pattern, error);
    if (!status) status = csrec_npz_integers(npz, "seed", 1, true, &seed, &count, error);
    if (!status) status = csrec_npz_integers(npz, "count", 1, false, &m->count, &count, error);
    m->seed = (uint64_t)seed;
    if (!status) status = make_room(npz, m, error);
    return status == CSREC_OK ? regenerate(npz, m, error) : status;
}

/* All rows of an operator, in their order. */
static csrec_status read_all_rows(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    csrec_status status = csrec_npz_shape(npz, m, error);
    if (!status) status = csrec_through_read(npz, m, error);
    if (!status && !m->through && csrec_npz_has(npz, "pattern"))
        return read_procedural(npz, m, error);
    if (!status && !m->through) return csrec_fail(error, CSREC_FORMAT, MISSING, npz->name);
    if (!status) status = make_room(npz, m, error);
    for (int64_t k = 0; !status && k < m->n; k++) m->index[k] = k;
    return status;
}

static csrec_status read_positions(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    bool index = csrec_npz_has(npz, "index"), mask = csrec_npz_has(npz, "mask");
    if (index && mask)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'mask': stands beside 'index'; save one of them", npz->name);
    if (index) return read_index(npz, m, error);
    if (mask) return read_mask(npz, m, error);
    if (csrec_npz_has(npz, "operator")) return read_all_rows(npz, m, error);
    if (csrec_npz_has(npz, "pattern")) return read_procedural(npz, m, error);
    return csrec_fail(error, CSREC_FORMAT, MISSING, npz->name);
}

csrec_status csrec_npz_tones(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    int64_t count;
    csrec_status status = CSREC_OK;
    if (csrec_npz_has(npz, "sigma") && !csrec_npz_is_each(npz))
        status = read_numbers(npz, "sigma", 1, &m->sigma, &count, error);
    if (status || !csrec_npz_has(npz, "scale")) return status;
    status = read_numbers(npz, "scale", 2, m->scale, &count, error);
    if (!status && count != 2)
        status = csrec_fail(
            error, CSREC_DATA,
            "%s: array 'scale': has one element; save the values of black and white", npz->name);
    return status;
}

static csrec_status read_measurement(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error) {
    csrec_npz npz;
    csrec_measurement m = {0};
    if (csrec_npz_is_foreign(input))
        return csrec_measurement_from_signal(input, options, measurement, error);
    CSREC_TRY(csrec_read_options_check(options, false, false, input->name, error));
    CSREC_TRY(csrec_npz_open(input, &npz, error));
    npz.progress = input->progress;
    npz.context = input->context;
    npz.empty = options->empty;
    /* y last: a file refused for a small array has not unpacked it. */
    csrec_status status = measure(&npz, &m, error);
    if (!status) status = csrec_npz_tones(&npz, &m, error);
    if (!status) status = read_positions(&npz, &m, error);
    if (!status) status = csrec_npz_guides_read(&npz, !options->no_guides, &m, error);
    if (!status) status = csrec_npz_each_read(&npz, &m, error);
    if (!status) status = read_y(&npz, &m, error);
    if (!status) status = csrec_through_noise(&npz, input, error);
    if (!status) input->facts.lost = csrec_each_leave_lost(&m);
    if (!status) csrec_through_look(&npz, &m, &input->facts.remark);
    csrec_npz_close(&npz);
    return csrec_measurement_deliver(status, &m, measurement);
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    return csrec_format_refusal(&csrec_npy_format.format, shape, channels);
}

/* "PK" begins every zip archive, including one without members. */
const csrec_format_row csrec_npz_format = {
    .format = {"npz", ".npz", ".npz", "a zip archive",
               CSREC_USE_SAMPLES | CSREC_USE_ARRAYS | CSREC_USE_NAMED, NULL},
    .magic = {{"PK", 2}},
    .members = CSREC_USE_READ,
    .signal = csrec_npz_signal,
    .measurement = read_measurement,
    .open_slabs = csrec_npz_open_slabs,
    .refusal = refusal,
    .write = csrec_npz_write_signal,
    .write_slabs = csrec_npz_write_slabs,
    .framing = {.make = csrec_npz_make_frame, .has_crc = true},
};
