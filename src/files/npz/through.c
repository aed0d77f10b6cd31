/* SPDX-License-Identifier: BSD-3-Clause */
/* through.c - the arrays that describe the operator through which a signal was
 * measured: operator; ordering, scramble; coils, complex, centred, norm; matrix, block; kernel;
 * factor; trajectory. */

#include <stdlib.h>
#include <string.h>

#include "measurement/through.h"
#include "files/npz/npz.h"

static csrec_status read_name(const csrec_npz *npz, const char *field, char text[32],
                              csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin(npz, field, &member, error);
    if (status) return status;
    if (member.header.kind == 'U' || member.header.kind == 'S')
        status = csrec_npy_text(&member.reader, &member.header, member.name, text, 32, error);
    else
        status = csrec_fail(error, CSREC_DATA, "%s: is no text; save a name", member.name);
    return csrec_npz_end(&member, status, error);
}

/* All elements as doubles; *shape receives the extents. */
static csrec_status read_array(const csrec_npz *npz, const char *field, bool want_complex,
                               double **values, csrec_shape *shape, csrec_error *error) {
    csrec_npz_member member;
    csrec_status status = csrec_npz_begin(npz, field, &member, error);
    if (status) return status;
    const csrec_npy_header *header = &member.header;
    const int64_t each = want_complex && !header->is_complex ? 2 : 1;
    double *made = NULL;
    if (header->is_complex && !want_complex)
        status = csrec_fail(error, CSREC_DATA, "%s: is complex; save real numbers", member.name);
    if (!status && !(made = calloc((size_t)header->count * (size_t)each, sizeof *made)))
        status = csrec_memory_fail(error, member.name);
    if (!status) status = csrec_npy_values_f64(&member.reader, header, member.name, made, error);
    /* Real values become pairs in place, from the last. */
    for (int64_t i = header->count; each == 2 && !status && i-- > 0;) {
        made[2 * i] = made[i];
        made[2 * i + 1] = 0.0;
    }
    *shape = header->shape;
    if (header->is_complex) shape->dims--;
    status = csrec_npz_end(&member, status, error);
    return CSREC_SETTLE(status, free(made), *values = made);
}

/* One extent for each axis of the signal; a single one counts for all. */
static csrec_status read_extents(const csrec_npz *npz, const char *field, int dims,
                                 const int64_t **extents, csrec_error *error) {
    csrec_shape shape;
    double *values = NULL;
    csrec_status status = read_array(npz, field, false, &values, &shape, error);
    if (status) return status;
    int64_t n = 1, *made = malloc((size_t)dims * sizeof *made);
    if (shape.dims > 0) csrec_shape_count(&shape, &n);
    if (!made) status = csrec_memory_fail(error, npz->name);
    if (!status && n != 1 && n != dims)
        status =
            csrec_fail(error, CSREC_DATA,
                       "%s: array '%s': has %lld elements; save one, or one for each of the %d "
                       "axes",
                       npz->name, field, (long long)n, dims);
    for (int a = 0; a < dims && !status; a++) {
        double v = values[n == 1 ? 0 : a];
        if (!(v >= 1 && v <= 0x1p62) || v != (double)(int64_t)v)
            status = csrec_fail(error, CSREC_DATA,
                                "%s: array '%s': %g is no extent; save whole numbers from 1",
                                npz->name, field, v);
        else
            made[a] = (int64_t)v;
    }
    free(values);
    return CSREC_SETTLE(status, free(made), *extents = made);
}

static csrec_status read_flag(const csrec_npz *npz, const char *field, double *value,
                              csrec_error *error) {
    csrec_shape shape;
    double *values = NULL;
    *value = 0.0;
    if (!csrec_npz_has(npz, field)) return CSREC_OK;
    csrec_status status = read_array(npz, field, false, &values, &shape, error);
    if (status) return status;
    *value = values[0];
    if (shape.dims > 1 || (shape.dims == 1 && shape.dim[0] != 1))
        status = csrec_fail(error, CSREC_DATA, "%s: array '%s': has several elements; save one",
                            npz->name, field);
    free(values);
    return status;
}

static csrec_status read_hadamard(const csrec_npz *npz, csrec_operator_spec *spec,
                                  csrec_error *error) {
    char text[32] = "";
    int64_t seed = 0, count;
    csrec_status status = CSREC_OK;
    if (csrec_npz_has(npz, "ordering")) status = read_name(npz, "ordering", text, error);
    if (!status && *text) status = csrec_ordering_find(text, npz->name, &spec->ordering, error);
    spec->scrambled = csrec_npz_has(npz, "scramble");
    if (!status && spec->scrambled)
        status = csrec_npz_integers(npz, "scramble", 1, true, &seed, &count, error);
    spec->seed = (uint64_t)seed;
    return status;
}

static csrec_status read_norm(const csrec_npz *npz, csrec_operator_spec *spec, csrec_error *error) {
    char text[32] = "";
    double flag;
    csrec_status status = read_flag(npz, "centred", &flag, error);
    spec->centred = flag != 0.0;
    if (!status && csrec_npz_has(npz, "norm")) status = read_name(npz, "norm", text, error);
    return status || !*text ? status : csrec_norm_find(text, npz->name, &spec->norm, error);
}

/* coils: [coils, shape], complex or real. */
static csrec_status read_fourier(const csrec_npz *npz, const csrec_shape *shape,
                                 csrec_operator_spec *spec, csrec_error *error) {
    csrec_shape seen;
    double flag, *coils = NULL;
    csrec_status status = read_flag(npz, "complex", &flag, error);
    spec->complex_signal = flag != 0.0;
    if (!status && csrec_npz_has(npz, "trajectory")) {
        double *k = NULL;
        status = read_array(npz, "trajectory", false, &k, &seen, error);
        spec->trajectory = k;
        spec->points = status ? 0 : seen.dim[0];
        if (!status && (seen.dims != 2 || seen.dim[1] != shape->dims))
            status = csrec_fail(error, CSREC_DATA,
                                "%s: array 'trajectory': is not of %d axes; save [points, %d]",
                                npz->name, shape->dims, shape->dims);
    }
    if (!status) status = read_norm(npz, spec, error);
    if (status || !csrec_npz_has(npz, "coils")) return status;
    CSREC_TRY(read_array(npz, "coils", true, &coils, &seen, error));
    spec->coils = coils;
    spec->n_coils = seen.dim[0];
    bool same = seen.dims == shape->dims + 1;
    for (int a = 0; a < shape->dims && same; a++) same = seen.dim[a + 1] == shape->dim[a];
    return same ? CSREC_OK
                : csrec_fail(error, CSREC_DATA,
                             "%s: array 'coils': its axes are not coils and those of the signal; "
                             "save [coils, shape]",
                             npz->name);
}

static csrec_status read_matrix(const csrec_npz *npz, const csrec_shape *shape,
                                csrec_operator_spec *spec, csrec_error *error) {
    csrec_shape seen;
    double *matrix = NULL;
    int64_t each = 0;
    csrec_status status = read_array(npz, "matrix", false, &matrix, &seen, error);
    if (status) return status;
    spec->matrix = matrix;
    if (csrec_npz_has(npz, "block"))
        status = read_extents(npz, "block", shape->dims, &spec->kernel, error);
    if (status) return status;
    csrec_shape part = *shape;
    for (int a = 0; a < shape->dims && spec->kernel; a++) part.dim[a] = spec->kernel[a];
    if (csrec_shape_count(&part, &each)) each = 0; /* too many for any matrix */
    if (seen.dims != 2 || seen.dim[1] != each)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: array 'matrix': does not fit a %s of %lld entries; save it as [rows, %lld]",
            npz->name, spec->kernel ? "block" : "signal", (long long)each, (long long)each);
    spec->m = seen.dim[0];
    return CSREC_OK;
}

static csrec_status read_blur(const csrec_npz *npz, const csrec_shape *shape,
                              csrec_operator_spec *spec, csrec_error *error) {
    csrec_shape seen;
    double *weights = NULL;
    CSREC_TRY(read_array(npz, "kernel", false, &weights, &seen, error));
    spec->filters = weights;
    if (seen.dims != shape->dims)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'kernel': has %d axes, the signal has %d; save one of as many",
                          npz->name, seen.dims, shape->dims);
    int64_t *extents = malloc((size_t)seen.dims * sizeof *extents);
    if (!extents) return csrec_memory_fail(error, npz->name);
    memcpy(extents, seen.dim, (size_t)seen.dims * sizeof *extents);
    spec->kernel = extents;
    return CSREC_OK;
}

/* The arrays of the operator `spec->name`. */
static csrec_status read_parameters(const csrec_npz *npz, const csrec_shape *shape,
                                    csrec_operator_spec *spec, csrec_error *error) {
    if (strcmp(spec->name, "hadamard") == 0) return read_hadamard(npz, spec, error);
    if (csrec_through_kspace(spec)) return read_fourier(npz, shape, spec, error);
    if (strcmp(spec->name, "matrix") == 0) return read_matrix(npz, shape, spec, error);
    if (strcmp(spec->name, "blur") == 0) return read_blur(npz, shape, spec, error);
    if (strcmp(spec->name, "downsample") == 0)
        return read_extents(npz, "factor", shape->dims, &spec->factor, error);
    return CSREC_OK;
}

/* Values of a row are those of the coils; a split row has two. */
static csrec_status correct_sizes(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    const csrec_operator_spec *spec = m->through;
    if (spec->coils && m->channels != spec->n_coils)
        return csrec_fail(error, CSREC_DATA,
                          "%s: array 'coils': %lld coils, but 'y' has %lld in each row; save y as "
                          "[N, coils]",
                          npz->name, (long long)spec->n_coils, (long long)m->channels);
    if (spec->coils) m->channels = 1;
    if (!csrec_npz_has(npz, "split")) return CSREC_OK;
    if (strcmp(spec->name, "hadamard") != 0 || m->n % 2)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: array 'split': needs operator hadamard and an even number of rows in "
            "'y'; leave it out",
            npz->name);
    m->n /= 2;
    return CSREC_OK;
}

csrec_status csrec_through_read(const csrec_npz *npz, csrec_measurement *m, csrec_error *error) {
    char text[32] = "", list[CSREC_THROUGH_LIST];
    if (!csrec_npz_has(npz, "operator")) return CSREC_OK;
    csrec_status status = read_name(npz, "operator", text, error);
    if (status || strcmp(text, "points") == 0) return status;
    const csrec_through_type *type = csrec_through_find(text);
    if (!type)
        return csrec_fail(error, CSREC_DATA, "%s: array 'operator': '%s' is unknown; save %s",
                          npz->name, text, csrec_through_list(list));
    m->through = calloc(1, sizeof *m->through);
    if (!m->through) return csrec_memory_fail(error, npz->name);
    m->through->name = type->name;
    status = read_parameters(npz, &m->shape, m->through, error);
    return status ? status : correct_sizes(npz, m, error);
}

csrec_status csrec_through_noise(const csrec_npz *npz, csrec_input *input, csrec_error *error) {
    csrec_shape shape;
    if (!csrec_npz_has(npz, "noise_covariance")) return CSREC_OK;
    csrec_status status = read_array(npz, "noise_covariance", true, &input->noise, &shape, error);
    input->noise_coils = status ? 0 : shape.dim[0];
    if (status || (shape.dims == 2 && shape.dim[0] == shape.dim[1])) return status;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'noise_covariance': is not square; save [coils, coils]",
                      npz->name);
}

/* Repeated positions are found later (csrec_measurement_check); here they do no harm. */
void csrec_through_look(const csrec_npz *npz, csrec_measurement *m, csrec_error *remark) {
    csrec_error seen;
    bool centred;
    if (csrec_npz_has(npz, m->through ? "centred" : "operator")) return;
    if (m->through && m->through->trajectory) return;
    csrec_doubt_centred(m, &centred, &seen);
    if (m->through) m->through->centred = m->through->centred || centred;
    if (!m->through && m->is_complex) csrec_fail(&seen, CSREC_OK, CSREC_REMARK_ENTRIES);
    if (remark) *remark = seen;
}

csrec_npz_field csrec_npz_text(const char *name, const char *text, uint32_t letters[16],
                               char descr[16]) {
    size_t length = strlen(text);
    for (size_t i = 0; i < length && i < 16; i++) letters[i] = (uint8_t)text[i];
    snprintf(descr, 16, "U%d", (int)length);
    return (csrec_npz_field){.name = name, .descr = descr, .data = letters, .bytes = length * 4};
}

static void add(csrec_npz_field *fields, int *count, const char *name, const char *descr,
                csrec_shape shape, const void *data) {
    int64_t n = 1;
    if (shape.dims > 0) csrec_shape_count(&shape, &n);
    const uint64_t each = strcmp(descr, "b1") == 0 ? 1 : strcmp(descr, "c16") == 0 ? 16 : 8;
    fields[(*count)++] = (csrec_npz_field){name, descr, shape, data, (uint64_t)n * each};
}

void csrec_through_add(const csrec_measurement *m, csrec_through_texts *texts,
                       csrec_npz_field *fields, int *count) {
    const csrec_operator_spec *spec = m->through;
    const csrec_shape extents = {1, {m->shape.dims}}, scalar = {0};
    csrec_shape shape = {1, {0}};
    int64_t each = 1;
    fields[(*count)++] = csrec_npz_text("operator", spec->name, texts->letters[0], texts->descr[0]);
    if (spec->ordering)
        fields[(*count)++] =
            csrec_npz_text("ordering", spec->ordering, texts->letters[1], texts->descr[1]);
    if (spec->scrambled) add(fields, count, "scramble", "u8", scalar, &spec->seed);
    texts->flag = spec->complex_signal;
    if (texts->flag) add(fields, count, "complex", "b1", scalar, &texts->flag);
    texts->centred = spec->centred;
    if (csrec_through_find(spec->name)->complex_y && !spec->trajectory)
        add(fields, count, "centred", "b1", scalar, &texts->centred);
    if (spec->norm)
        fields[(*count)++] = csrec_npz_text("norm", spec->norm, texts->letters[1], texts->descr[1]);
    if (spec->coils) {
        shape = (csrec_shape){m->shape.dims + 1, {spec->n_coils}};
        memcpy(shape.dim + 1, m->shape.dim, (size_t)m->shape.dims * sizeof *shape.dim);
        add(fields, count, "coils", "c16", shape, spec->coils);
    }
    if (spec->matrix) {
        for (int a = 0; a < m->shape.dims; a++)
            each *= spec->kernel ? spec->kernel[a] : m->shape.dim[a];
        add(fields, count, "matrix", "f8", (csrec_shape){2, {spec->m, each}}, spec->matrix);
        if (spec->kernel) add(fields, count, "block", "i8", extents, spec->kernel);
    }
    if (spec->filters) {
        shape.dims = m->shape.dims;
        memcpy(shape.dim, spec->kernel, (size_t)shape.dims * sizeof *shape.dim);
        add(fields, count, "kernel", "f8", shape, spec->filters);
    }
    if (spec->trajectory)
        add(fields, count, "trajectory", "f8", (csrec_shape){2, {spec->points, m->shape.dims}},
            spec->trajectory);
    if (spec->factor) add(fields, count, "factor", "i8", extents, spec->factor);
}
