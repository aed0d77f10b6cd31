/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement_write.c - a measurement as .npz. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "files/measurement.h"
#include "base/memory.h"
#include "measurement/channels.h"
#include "measurement/through.h"
#include "files/npz/npz.h"

/* Returns the first value that the type cannot hold, or -1. Integers must be held exactly: rounding
 * silently would change samples. F32 rounds, as the type promises, but must stay finite. */
static int64_t convert(csrec_dtype dtype, const double *from, int64_t count, void *to) {
    csrec_array made = {.dtype = dtype, .count = count, .data = to};
    if (dtype == CSREC_F64) memcpy(to, from, (size_t)count * sizeof *from);
    for (int64_t i = 0; i < count && dtype != CSREC_F64; i++) {
        csrec_array_set(&made, i, from[i]);
        /* 2^128 - 2^103: from here on, rounding to nearest gives infinity. */
        if (dtype == CSREC_F32 ? fabs(from[i]) >= 0x1.ffffffp127
                               : csrec_array_value(&made, i) != from[i])
            return i; /* NaN: not measured, and never of an integer type */
    }
    return -1;
}

static csrec_status convert_y(const csrec_measurement *m, const char *path, void **y,
                              csrec_error *error) {
    int64_t count = csrec_measurement_values(m);
    size_t bytes = csrec_dtype_size(m->dtype);
    if (bytes == 0 || (m->is_complex && m->dtype != CSREC_F32 && m->dtype != CSREC_F64))
        return csrec_fail(error, CSREC_ARGUMENT, "%s: array 'y': dtype is not valid", path);
    *y = malloc((size_t)count * bytes);
    if (!*y) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", path);
    int64_t fault = convert(m->dtype, m->y, count, *y);
    if (fault < 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'y': sample %lld is %.9g, which %s cannot hold; write it as %s",
                      path, (long long)(fault / (count / m->n)), m->y[fault],
                      csrec_dtype_code(m->dtype), m->dtype == CSREC_F32 ? "f8" : "f4");
}

/* Omitting the positions is safe only if the pattern gives exactly these. */
static csrec_status verify_pattern(const csrec_measurement *m, int64_t count, const char *path,
                                   csrec_error *error) {
    csrec_sampling sampling = {0};
    csrec_error reason = {""};
    csrec_status status =
        csrec_sampling_create(&m->shape, m->pattern, count, m->seed, &sampling, &reason);
    if (status) return csrec_fail(error, status, "%s: array 'pattern': %.300s", path, reason.text);
    if (sampling.n != m->n ||
        memcmp(sampling.index, m->index, (size_t)m->n * sizeof *m->index) != 0)
        status = csrec_fail(error, CSREC_DATA,
                            "%s: array 'pattern': does not give the measurement's positions; store "
                            "them instead",
                            path);
    csrec_sampling_clear(&sampling);
    return status;
}

typedef struct {
    csrec_npz_field field[8 + CSREC_THROUGH_FIELDS];
    int count;
} field_list;

static void add(field_list *list, const char *name, const char *descr, csrec_shape shape,
                const void *data, uint64_t bytes) {
    list->field[list->count++] = (csrec_npz_field){name, descr, shape, data, bytes};
}

static csrec_status write_fields(csrec_files *files, const char *path, const csrec_measurement *m,
                                 const void *y, bool procedural, csrec_error *error) {
    field_list list = {.count = 0};
    csrec_shape scalar = {0}, pair = {1, {2}};
    char text_type[2][16];
    uint32_t letters[2][16] = {0};
    csrec_through_texts texts = {0};
    int64_t asked = m->count ? m->count : m->n;
    const bool coils = m->through && m->through->coils;
    csrec_shape y_shape = {coils || m->channels > 1 ? 2 : 1,
                           {m->n, m->channels * csrec_through_coils(m->through)}};
    add(&list, "y", m->is_complex ? csrec_complex_code(m->dtype) : csrec_dtype_code(m->dtype),
        y_shape, y, (uint64_t)csrec_measurement_values(m) * csrec_dtype_size(m->dtype));
    add(&list, "shape", "i8", (csrec_shape){1, {m->shape.dims}}, m->shape.dim,
        (uint64_t)m->shape.dims * 8);
    if (procedural) {
        const char *name = csrec_pattern_name(m->pattern);
        list.field[list.count++] = csrec_npz_text("pattern", name, letters[0], text_type[0]);
        add(&list, "seed", "u8", scalar, &m->seed, 8);
        add(&list, "count", "i8", scalar, &asked, 8);
    } else if (!m->through || csrec_through_find(m->through->name)->chosen) {
        add(&list, "index", "i8", (csrec_shape){1, {m->n}}, m->index, (uint64_t)m->n * 8);
    }
    if (m->is_complex && !m->through)
        list.field[list.count++] = csrec_npz_text("operator", "points", letters[1], text_type[1]);
    if (m->through) csrec_through_add(m, &texts, list.field, &list.count);
    if (m->sigma > 0) add(&list, "sigma", "f8", scalar, &m->sigma, 8);
    if (m->scale[0] != m->scale[1]) add(&list, "scale", "f8", pair, m->scale, 16);
    return csrec_npz_add(files, path, list.count, list.field, false, error);
}

csrec_status csrec_files_add_measurement(csrec_files *files, const char *path,
                                         const csrec_measurement *measurement, bool procedural,
                                         csrec_error *error) {
    csrec_measurement m = *measurement;
    void *y = NULL;
    procedural = procedural && m.pattern != CSREC_PATTERN_NONE && !m.through;
    csrec_status status = csrec_measurement_check(&m, path, error);
    if (!status && procedural) status = verify_pattern(&m, m.count ? m.count : m.n, path, error);
    if (!status && m.dtype != CSREC_F64 && !csrec_measurement_even(&m)) /* with NaN */
        csrec_measurement_retype(csrec_dtype_fits_f32(m.dtype) ? CSREC_F32 : CSREC_F64, m.dtype,
                                 &m);
    if (!status) status = convert_y(&m, path, &y, error);
    if (!status) status = write_fields(files, path, &m, y, procedural, error);
    free(y);
    return status;
}

csrec_status csrec_measurement_write(const char *path, const csrec_measurement *measurement,
                                     bool procedural, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_measurement(files, path, measurement, procedural, error);
    return csrec_files_finish(files, status, error);
}
