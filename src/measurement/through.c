/* SPDX-License-Identifier: BSD-3-Clause */
/* through.c - operators through which whole signals are measured: the table, parameters, sizes. */
#include "measurement/through.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of n elements of so many parts. */
static csrec_status check_finite(const char *name, const char *array, int64_t n, int parts,
                                 const double *v, csrec_error *error) {
    for (int64_t i = 0; i < n * parts; i++)
        if (!isfinite(v[i]))
            return csrec_fail(error, CSREC_DATA,
                              "%s: array '%s': element %lld is not finite; save finite numbers",
                              name, array, (long long)(i / parts));
    return CSREC_OK;
}

static csrec_status check_axes(const char *name, const char *what, const csrec_shape *shape,
                               csrec_error *error) {
    if (shape->dims <= 3) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: array 'shape': has %d axes; operator %s takes 1 to 3", name, shape->dims,
                      what);
}

int64_t csrec_through_padded(int64_t extent) {
    int64_t padded = 1;
    while (padded < extent) padded *= 2;
    return padded;
}

static const char *const orderings[] = {"natural", "sequency", "cake-cutting", "zig-zag"};
static const char *const norms[] = {"backward", "ortho", "forward"};

const char *csrec_ordering_info(int i) {
    return i >= 0 && i < (int)(sizeof orderings / sizeof *orderings) ? orderings[i] : NULL;
}

const char *csrec_norm_info(int i) {
    return i >= 0 && i < (int)(sizeof norms / sizeof *norms) ? norms[i] : NULL;
}

csrec_status csrec_ordering_find(const char *text, const char *name, const char **ordering,
                                 csrec_error *error) {
    for (int i = 0; (*ordering = csrec_ordering_info(i)); i++)
        if (strcmp(text, *ordering) == 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'ordering': '%s' is unknown; save natural, sequency, "
                      "cake-cutting or zig-zag",
                      name, text);
}

csrec_status csrec_norm_find(const char *text, const char *name, const char **norm,
                             csrec_error *error) {
    for (int i = 0; (*norm = csrec_norm_info(i)); i++)
        if (strcmp(text, *norm) == 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'norm': '%s' is unknown; save backward, ortho or forward", name,
                      text);
}

static csrec_status hadamard_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                                  const char *name, int64_t *rows, csrec_error *error) {
    const int64_t most = INT64_C(1) << 62;
    const char *ordering;
    csrec_status status = CSREC_OK;
    if (spec->ordering) status = csrec_ordering_find(spec->ordering, name, &ordering, error);
    if (!status) status = check_axes(name, spec->name, shape, error);
    *rows = 1;
    for (int a = 0; a < shape->dims && !status; a++) {
        int64_t padded = csrec_through_padded(shape->dim[a]);
        if (padded > most / *rows)
            return csrec_fail(error, CSREC_DATA, "%s: array 'shape': too many entries", name);
        *rows *= padded;
    }
    return status;
}

static csrec_status check_coils(const csrec_operator_spec *spec, const csrec_shape *shape,
                                const char *name, csrec_error *error) {
    int64_t entries;
    csrec_status status = csrec_shape_count(shape, &entries);
    if (status || !spec->coils) return status;
    if (spec->n_coils < 1 || spec->n_coils > 4096)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'coils': %lld coils; save 1 to 4096 as [coils, shape]", name,
                          (long long)spec->n_coils);
    return check_finite(name, "coils", spec->n_coils * entries, 2, spec->coils, error);
}

static csrec_status fourier_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                                 const char *name, int64_t *rows, csrec_error *error) {
    const char *norm;
    csrec_status status = check_axes(name, spec->name, shape, error);
    if (!status && spec->norm) status = csrec_norm_find(spec->norm, name, &norm, error);
    if (!status) status = csrec_shape_count(shape, rows);
    return status ? status : check_coils(spec, shape, name, error);
}

/* Half a step beyond the grid, as trajectories round. */
static csrec_status nufft_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                               const char *name, int64_t *rows, csrec_error *error) {
    CSREC_TRY(fourier_rows(spec, shape, name, rows, error));
    if (!spec->trajectory || spec->points < 1 || spec->points > INT64_C(1) << 40)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'trajectory': missing or empty; save one of [points, %d]",
                          name, shape->dims);
    for (int64_t i = 0; i < spec->points * shape->dims; i++) {
        const double k = spec->trajectory[i];
        const int64_t n = shape->dim[i % shape->dims];
        if (!(fabs(k) <= ((double)n + 1.0) / 2.0))
            return csrec_fail(error, CSREC_DATA,
                              "%s: array 'trajectory': point %lld has %g along axis %d; save "
                              "cycles per field of view, from %g to %g there",
                              name, (long long)(i / shape->dims), k, (int)(i % shape->dims),
                              -0.5 * (double)n, 0.5 * (double)n);
    }
    *rows = spec->points;
    return CSREC_OK;
}

/* Entries of a block, and blocks of the signal; the last along an axis may reach beyond it. */
static csrec_status count_blocks(const csrec_operator_spec *spec, const csrec_shape *shape,
                                 const char *name, int64_t *each, int64_t *blocks,
                                 csrec_error *error) {
    *each = *blocks = 1;
    for (int a = 0; a < shape->dims; a++) {
        int64_t edge = spec->kernel ? spec->kernel[a] : shape->dim[a];
        if (edge < 1 || edge > shape->dim[a])
            return csrec_fail(
                error, CSREC_DATA,
                "%s: array 'block': extent %lld along axis %d; save 1 to the signal's "
                "%lld",
                name, (long long)edge, a, (long long)shape->dim[a]);
        *each *= edge;
        *blocks *= (shape->dim[a] + edge - 1) / edge;
    }
    return CSREC_OK;
}

static csrec_status matrix_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                                const char *name, int64_t *rows, csrec_error *error) {
    int64_t each, blocks;
    CSREC_TRY(count_blocks(spec, shape, name, &each, &blocks, error));
    if (!spec->matrix || spec->m < 1)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'matrix': missing or empty; save one of [rows, %lld]", name,
                          (long long)each);
    *rows = spec->m * blocks;
    return check_finite(name, "matrix", spec->m * each, 1, spec->matrix, error);
}

static csrec_status blur_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                              const char *name, int64_t *rows, csrec_error *error) {
    int64_t each = 1;
    CSREC_TRY(check_axes(name, spec->name, shape, error));
    if (!spec->filters || !spec->kernel)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'kernel': missing; save the %d-D weights of the blur", name,
                          shape->dims);
    for (int a = 0; a < shape->dims; a++) {
        if (spec->kernel[a] < 1 || spec->kernel[a] > shape->dim[a])
            return csrec_fail(error, CSREC_DATA,
                              "%s: array 'kernel': extent %lld of axis %d; save 1 to the signal's "
                              "%lld",
                              name, (long long)spec->kernel[a], a, (long long)shape->dim[a]);
        each *= spec->kernel[a];
    }
    csrec_status status = csrec_shape_count(shape, rows);
    return status ? status : check_finite(name, "kernel", each, 1, spec->filters, error);
}

static csrec_status downsample_rows(const csrec_operator_spec *spec, const csrec_shape *shape,
                                    const char *name, int64_t *rows, csrec_error *error) {
    csrec_status status = check_axes(name, spec->name, shape, error);
    *rows = 1;
    for (int a = 0; a < shape->dims && !status; a++) {
        int64_t factor = spec->factor ? spec->factor[a] : 0;
        if (factor < 1 || factor > shape->dim[a])
            return csrec_fail(error, CSREC_DATA,
                              "%s: array 'factor': %lld along axis %d; save 1 to the signal's %lld",
                              name, (long long)factor, a, (long long)shape->dim[a]);
        *rows *= (shape->dim[a] + factor - 1) / factor;
    }
    return status;
}

static const csrec_through_type types[] = {
#define CSREC_THROUGH_LISTED(name, chosen, complex_y, rows) {#name, chosen, complex_y, rows},
    CSREC_THROUGHS(CSREC_THROUGH_LISTED)
#undef CSREC_THROUGH_LISTED
};

enum { TYPES = sizeof types / sizeof *types };

const char *csrec_through_info(int i) {
    return i >= 0 && i < TYPES ? types[i].name : NULL;
}

bool csrec_through_chooses(int i) {
    return i >= 0 && i < TYPES && types[i].chosen;
}

const char *csrec_through_list(char text[CSREC_THROUGH_LIST]) {
    snprintf(text, CSREC_THROUGH_LIST, "points");
    for (int i = 0; i < TYPES; i++) {
        size_t used = strlen(text);
        snprintf(text + used, CSREC_THROUGH_LIST - used, "%s%s", i + 1 < TYPES ? ", " : " or ",
                 types[i].name);
    }
    return text;
}

const csrec_through_type *csrec_through_find(const char *name) {
    for (int i = 0; i < TYPES && name; i++)
        if (strcmp(types[i].name, name) == 0) return &types[i];
    return NULL;
}

bool csrec_through_kspace(const csrec_operator_spec *spec) {
    return spec && spec->name &&
           (strcmp(spec->name, "fourier") == 0 || strcmp(spec->name, "nufft") == 0);
}

csrec_status csrec_through_rows(const csrec_measurement *m, const char *name, int64_t *rows,
                                csrec_error *error) {
    if (!m->through) return csrec_shape_count(&m->shape, rows);
    const csrec_through_type *type = csrec_through_find(m->through->name);
    if (type && !type->rows) return csrec_shape_count(&m->shape, rows);
    if (type) return type->rows(m->through, &m->shape, name, rows, error);
    char list[CSREC_THROUGH_LIST];
    return csrec_fail(error, CSREC_ARGUMENT,
                      "%s: array 'operator': '%s' measures no signals; use %s", name,
                      m->through->name ? m->through->name : "", csrec_through_list(list));
}

csrec_status csrec_measurement_rows(const csrec_measurement *m, int64_t *rows, csrec_error *error) {
    return csrec_through_rows(m, "measurement", rows, error);
}

int64_t csrec_measurement_values(const csrec_measurement *m) {
    return m->n * m->channels * csrec_through_coils(m->through) * (m->is_complex ? 2 : 1);
}

int64_t csrec_measurement_signal_values(const csrec_measurement *m) {
    int64_t entries = 0;
    csrec_shape_count(&m->shape, &entries);
    return entries * m->channels * (csrec_measurement_signal_complex(m) ? 2 : 1);
}

csrec_measurement csrec_measurement_real(const csrec_measurement *measurement) {
    csrec_measurement m = *measurement;
    const csrec_through_type *type = m.through ? csrec_through_find(m.through->name) : NULL;
    if (!m.is_complex || (type && type->complex_y)) return m;
    m.channels *= 2;
    m.is_complex = false;
    return m;
}

void csrec_through_destroy(csrec_operator_spec *spec) {
    if (!spec) return;
    free((void *)(uintptr_t)spec->coils);
    free((void *)(uintptr_t)spec->matrix);
    free((void *)(uintptr_t)spec->filters);
    free((void *)(uintptr_t)spec->kernel);
    free((void *)(uintptr_t)spec->factor);
    free((void *)(uintptr_t)spec->trajectory);
    free(spec);
}
