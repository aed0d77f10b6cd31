/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c - learned models in memory: creation, checks, access. */
#include "learn/model.h"

#include "base/half.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

csrec_status csrec_model_fail(const char *name, const char *array, csrec_error *error,
                              const char *format, ...) {
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return csrec_fail(error, CSREC_DATA, "%s: array '%s': %s; learn the model again", name, array,
                      text);
}

const char *csrec_model_kind(const csrec_model *model) {
    return model->type->name;
}

const csrec_array *csrec_model_array(const csrec_model *model, const char *name) {
    int field = csrec_model_field_find(model->type, name);
    return field >= 0 && model->arrays[field].data ? &model->arrays[field] : NULL;
}

bool csrec_model_info(const csrec_model *model, int i, const char **name,
                      const csrec_array **array) {
    for (int f = 0; f < CSREC_MODEL_FIELDS && model->type->fields[f].name; f++) {
        if (!model->arrays[f].data || i-- > 0) continue;
        *name = model->type->fields[f].name;
        *array = &model->arrays[f];
        return true;
    }
    return false;
}

static int text_find(const char *name) {
    for (int i = 0; i < CSREC_MODEL_TEXTS; i++)
        if (strcmp(csrec_model_text_names[i], name) == 0) return i;
    return -1;
}

const char *csrec_model_text(const csrec_model *model, const char *name) {
    int text = text_find(name);
    return text >= 0 ? model->texts[text] : NULL;
}

csrec_status csrec_model_set_text(csrec_model *model, const char *name, const char *value) {
    int text = text_find(name);
    if (text < 0) return CSREC_ARGUMENT;
    size_t length = strlen(value);
    if (length > CSREC_MODEL_TEXT_ROOM - 1) length = CSREC_MODEL_TEXT_ROOM - 1;
    char *copy = malloc(length + 1);
    if (!copy) return CSREC_MEMORY;
    for (size_t i = 0; i < length; i++)
        copy[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
    copy[length] = '\0';
    free(model->texts[text]);
    model->texts[text] = copy;
    return CSREC_OK;
}

csrec_shape csrec_model_shape(const csrec_model *model, int64_t *channels) {
    const csrec_array *shape = csrec_model_array(model, "shape");
    const csrec_array *count = csrec_model_array(model, "channels");
    csrec_shape result = {0};
    *channels = count ? *(const int64_t *)count->data : 1;
    for (int64_t d = 0; shape && d < shape->count && d < CSREC_DIMS_MAX; d++)
        result.dim[result.dims++] = ((const int64_t *)shape->data)[d];
    return result;
}

/* The extent that a letter stands for, and the array that defined it. */
typedef struct extents {
    int64_t size[128];
    const char *from[128];
} extents;

static csrec_status check_axes(const csrec_model_field *field, const csrec_array *array, extents *e,
                               const char *name, csrec_error *error) {
    int dims = field->axes ? (int)strlen(field->axes) : 0;
    if (array->shape.dims != dims)
        return csrec_model_fail(name, field->name, error, "has %d axes and must have %d",
                                array->shape.dims, dims);
    for (int d = 0; d < dims; d++) {
        unsigned char letter = (unsigned char)field->axes[d];
        int64_t size = array->shape.dim[d];
        if (isdigit(letter) && size != letter - '0')
            return csrec_model_fail(name, field->name, error, "has %lld entries and must have %c",
                                    (long long)size, letter);
        if (!e->from[letter]) {
            e->from[letter] = field->name;
            e->size[letter] = size;
        }
        if (e->size[letter] != size)
            return csrec_model_fail(name, field->name, error,
                                    "axis %d has the extent %lld, but array '%s' has %lld", d,
                                    (long long)size, e->from[letter], (long long)e->size[letter]);
    }
    return CSREC_OK;
}

/* Whether all are finite, and not beyond 16 bits, in one look at each. */
static bool fit_halves(const csrec_array *array) {
    const float *v = array->data;
    int beyond = 0;
    for (int64_t i = 0; i < array->count; i++) beyond |= !(fabsf(v[i]) < (float)CSREC_HALF_MOST);
    return !beyond;
}

static csrec_status check_entries(const csrec_model_field *field, const csrec_array *array,
                                  const char *name, csrec_error *error) {
    if (array->dtype == CSREC_F32 && !field->sign && fit_halves(array)) return CSREC_OK;
    for (int64_t i = 0; i < array->count; i++) {
        double value = csrec_array_value(array, i);
        if (!isfinite(value))
            return csrec_model_fail(name, field->name, error, "entry %lld is not finite",
                                    (long long)i);
        if (fabs(value) > CSREC_MODEL_MOST)
            return csrec_model_fail(name, field->name, error, "entry %lld is %g; must be within %g",
                                    (long long)i, value, CSREC_MODEL_MOST);
        if (field->dtype == CSREC_F32 && fabs(value) >= CSREC_HALF_MOST)
            return csrec_model_fail(name, field->name, error,
                                    "entry %lld is %g; numbers of 16 bits are below %g",
                                    (long long)i, value, CSREC_HALF_MOST);
        if (field->sign && value < 0.0)
            return csrec_model_fail(name, field->name, error, "entry %lld is %g; must be >= 0",
                                    (long long)i, value);
    }
    return CSREC_OK;
}

csrec_status csrec_model_check_shapes(const csrec_model *model, const char *name,
                                      csrec_error *error) {
    extents e = {{0}, {0}};
    csrec_status status = CSREC_OK;
    for (int f = 0; f < CSREC_MODEL_FIELDS && model->type->fields[f].name && !status; f++) {
        const csrec_model_field *field = &model->type->fields[f];
        if (model->arrays[f].count > 0)
            status = check_axes(field, &model->arrays[f], &e, name, error);
        else if (!field->optional)
            status = csrec_model_fail(name, field->name, error, "is missing in a model of kind %s",
                                      model->type->name);
    }
    return status;
}

static csrec_status check_scale(const csrec_model *model, const char *name, csrec_error *error) {
    const csrec_array *scale = csrec_model_array(model, "scale");
    const double *ends = scale ? scale->data : (double[]){0.0, 1.0};
    if (fabs(ends[1] - ends[0]) >= 1.0 / CSREC_MODEL_MOST) return CSREC_OK;
    return csrec_model_fail(name, "scale", error,
                            "black and white are %g and %g; must differ by at least %g", ends[0],
                            ends[1], 1.0 / CSREC_MODEL_MOST);
}

csrec_status csrec_model_check(const csrec_model *model, const char *name, csrec_error *error) {
    csrec_status status = csrec_model_check_shapes(model, name, error);
    for (int f = 0; f < CSREC_MODEL_FIELDS && model->type->fields[f].name && !status; f++)
        status = check_entries(&model->type->fields[f], &model->arrays[f], name, error);
    if (!status) status = check_scale(model, name, error);
    return status || !model->type->check ? status : model->type->check(model, name, error);
}

void csrec_model_destroy(csrec_model *model) {
    if (!model) return;
    for (int i = 0; i < CSREC_MODEL_FIELDS; i++) csrec_array_clear(&model->arrays[i]);
    for (int i = 0; i < CSREC_MODEL_TEXTS; i++) free(model->texts[i]);
    free(model);
}

/* To 16 bits; what is too large for them stays, for the check. */
static float rounded(double value) {
    float single = (float)value;
    return fabsf(single) < (float)CSREC_HALF_MOST ? csrec_half_rounded(single) : single;
}

static csrec_status take_array(csrec_model *model, const char *name, const csrec_array *from,
                               csrec_error *error) {
    int f = csrec_model_field_find(model->type, name);
    if (f < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "array '%s': a model of kind %s has no such array",
                          name, model->type->name);
    csrec_array *to = &model->arrays[f];
    csrec_array_clear(to);
    csrec_status status = csrec_array_create(model->type->fields[f].dtype, &from->shape, to);
    if (status) return csrec_fail(error, status, "array '%s': %s", name, csrec_status_text(status));
    for (int64_t i = 0; i < to->count; i++) {
        double value = csrec_array_value(from, i);
        if (to->dtype == CSREC_F64)
            ((double *)to->data)[i] = value;
        else if (to->dtype == CSREC_F32)
            ((float *)to->data)[i] = rounded(value);
        else
            ((int64_t *)to->data)[i] = value > -0x1p62 && value < 0x1p62 ? (int64_t)value : 0;
    }
    return CSREC_OK;
}

csrec_status csrec_model_create(const char *kind, int count, const char *const *names,
                                const csrec_array *const *arrays, csrec_model **model,
                                csrec_error *error) {
    char kinds[128];
    const csrec_model_type *type = csrec_model_type_find(kind);
    if (!type)
        return csrec_fail(error, CSREC_ARGUMENT, "no models of kind '%.60s'; there are %s",
                          kind ? kind : "", csrec_model_kinds(kinds));
    csrec_model *m = calloc(1, sizeof *m);
    if (!m) return csrec_fail(error, CSREC_MEMORY, "model: out of memory");
    m->type = type;
    csrec_status status = CSREC_OK;
    for (int i = 0; i < count && !status; i++) status = take_array(m, names[i], arrays[i], error);
    if (!status) status = csrec_model_check(m, "model", error);
    if (!status && csrec_model_set_text(m, "version", csrec_version()))
        status = csrec_fail(error, CSREC_MEMORY, "model: out of memory");
    return CSREC_SETTLE(status, csrec_model_destroy(m), *model = m);
}

void csrec_model_add(csrec_model_parts *parts, const char *name, csrec_shape shape,
                     const double *values) {
    csrec_array *array = &parts->arrays[parts->n];
    *array = (csrec_array){CSREC_F64, shape, 1, (void *)(uintptr_t)values};
    for (int d = 0; d < shape.dims; d++) array->count *= shape.dim[d];
    parts->names[parts->n++] = name;
}

static csrec_shape shape_of(const csrec_learn_options *options, int64_t n) {
    return options->shape.dims ? options->shape : (csrec_shape){1, {n}};
}

static int64_t channels_of(const csrec_learn_options *options) {
    return options->channels > 0 ? options->channels : 1;
}

csrec_status csrec_learn_check(const csrec_learn_options *options, int64_t n, csrec_error *error) {
    csrec_shape shape = shape_of(options, n);
    int64_t count = 0;
    if (csrec_shape_count(&shape, &count) || count > n || channels_of(options) > n ||
        count * channels_of(options) != n)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "shape and channels: their product is not the %lld columns of the data",
                          (long long)n);
    if (options->components < 0)
        return csrec_fail(error, CSREC_ARGUMENT, "components = %lld; must be at least 0",
                          (long long)options->components);
    if (!(options->energy >= 0.0 && options->energy <= 1.0))
        return csrec_fail(error, CSREC_ARGUMENT, "energy = %g; must be 0 to 1", options->energy);
    if (!isfinite(options->scale[0]) || !isfinite(options->scale[1]))
        return csrec_fail(error, CSREC_ARGUMENT, "scale: not finite");
    return CSREC_OK;
}

csrec_status csrec_model_assemble(const char *kind, const csrec_model_parts *parts,
                                  csrec_model **model, csrec_error *error) {
    const csrec_array *arrays[CSREC_MODEL_FIELDS];
    for (int i = 0; i < parts->n; i++) arrays[i] = &parts->arrays[i];
    return csrec_model_create(kind, parts->n, parts->names, arrays, model, error);
}

csrec_status csrec_model_build(const char *kind, csrec_model_parts *parts,
                               const csrec_learn_options *options, int64_t n, csrec_model **model,
                               csrec_error *error) {
    csrec_shape shape = shape_of(options, n);
    double sizes[CSREC_DIMS_MAX], channels = (double)channels_of(options);
    for (int d = 0; d < shape.dims; d++) sizes[d] = (double)shape.dim[d];
    csrec_model_add(parts, "shape", (csrec_shape){1, {shape.dims}}, sizes);
    csrec_model_add(parts, "channels", (csrec_shape){0}, &channels);
    if (options->scale[0] != options->scale[1])
        csrec_model_add(parts, "scale", (csrec_shape){1, {2}}, options->scale);
    return csrec_model_assemble(kind, parts, model, error);
}
