/* SPDX-License-Identifier: BSD-3-Clause */
/* model_types.c - the table of the kinds of models and their arrays; a new kind is a row. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rows.h"
#include "learn/model.h"

static const double *reals(const csrec_model *model, const char *array) {
    return csrec_model_array(model, array)->data;
}

/* `shape` times `channels` must be the length of the model's vectors. */
static csrec_status check_entries(const csrec_model *model, int64_t entries, const char *name,
                                  csrec_error *error) {
    int64_t channels, count = 0;
    csrec_shape shape = csrec_model_shape(model, &channels);
    for (int d = 0; d < shape.dims; d++)
        if (shape.dim[d] < 1)
            return csrec_model_fail(name, "shape", error,
                                    "entry %d is %lld; extents are at least 1", d,
                                    (long long)shape.dim[d]);
    if (channels < 1 || channels > entries)
        return csrec_model_fail(name, "channels", error, "is %lld; must be 1 to %lld",
                                (long long)channels, (long long)entries);
    if (csrec_shape_count(&shape, &count) || count > entries || count * channels != entries)
        return csrec_model_fail(name, "shape", error,
                                "is for %lld entries of %lld channels, but 'mean' has %lld",
                                (long long)count, (long long)channels, (long long)entries);
    return CSREC_OK;
}

static csrec_status check_pca(const csrec_model *model, const char *name, csrec_error *error) {
    return check_entries(model, csrec_model_array(model, "mean")->count, name, error);
}

static csrec_status check_covariance(int64_t k, int64_t d, const double *C, const char *name,
                                     csrec_error *error) {
    for (int64_t i = 0; i < d; i++) {
        if (C[i * d + i] < 0.0)
            return csrec_model_fail(name, "covariances", error,
                                    "component %lld has the variance %g in its diagonal",
                                    (long long)k, C[i * d + i]);
        for (int64_t j = 0; j < i; j++) {
            double size = sqrt(C[i * d + i]) * sqrt(C[j * d + j]), off = 1e-6 * size;
            if (fabs(C[i * d + j] - C[j * d + i]) > off || fabs(C[i * d + j]) > size + off)
                return csrec_model_fail(
                    name, "covariances", error,
                    "component %lld is not a valid covariance matrix at (%lld, %lld)", (long long)k,
                    (long long)i, (long long)j);
        }
    }
    return CSREC_OK;
}

static csrec_status check_gmm(const csrec_model *model, const char *name, csrec_error *error) {
    const csrec_array *means = csrec_model_array(model, "means");
    int64_t K = means->shape.dim[0], d = means->shape.dim[1];
    const double *weights = reals(model, "weights");
    double sum = 0.0;
    for (int64_t k = 0; k < K; k++) sum += weights[k];
    if (!(fabs(sum - 1.0) <= 1e-6))
        return csrec_model_fail(name, "weights", error, "sums to %g; must be 1", sum);
    csrec_status status = check_entries(model, d, name, error);
    for (int64_t k = 0; k < K && !status; k++)
        status = check_covariance(k, d, reals(model, "covariances") + k * d * d, name, error);
    return status;
}

/* Meaning of the vectors of a model: shape without channels, and the values of black and white. */
#define VECTORS                                                                                    \
    {.name = "shape", .axes = "D", .dtype = CSREC_I64}, {.name = "channels", .dtype = CSREC_I64},  \
    {                                                                                              \
        .name = "scale", .axes = "2", .dtype = CSREC_F64, .optional = true                         \
    }

static const csrec_model_type types[] = {
    {.name = "pca",
     .fields = {{.name = "mean", .axes = "n", .dtype = CSREC_F64},
                {.name = "components", .axes = "kn", .dtype = CSREC_F64},
                {.name = "variances", .axes = "k", .dtype = CSREC_F64, .sign = true},
                {.name = "noise", .dtype = CSREC_F64, .sign = true},
                VECTORS},
     .check = check_pca},
    {.name = "gmm",
     .fields = {{.name = "weights", .axes = "K", .dtype = CSREC_F64, .sign = true},
                {.name = "means", .axes = "Kd", .dtype = CSREC_F64},
                {.name = "covariances", .axes = "Kdd", .dtype = CSREC_F64},
                {.name = "log_likelihood", .axes = "r", .dtype = CSREC_F64, .optional = true},
                VECTORS},
     .check = check_gmm},
    {.name = "net",
     .fields = {{.name = "layers", .axes = "L4", .dtype = CSREC_I64},
                {.name = "weights", .axes = "n", .dtype = CSREC_F32},
                {.name = "channels", .dtype = CSREC_I64},
                {.name = "loss", .axes = "r", .dtype = CSREC_F64, .optional = true},
                {.name = "psnr", .axes = "r", .dtype = CSREC_F64, .optional = true}},
     .check = csrec_prior_check},
    {.name = "beside",
     .fields = {{.name = "layers", .axes = "L4", .dtype = CSREC_I64},
                {.name = "weights", .axes = "n", .dtype = CSREC_F32},
                {.name = "frames", .dtype = CSREC_I64},
                {.name = "guides", .dtype = CSREC_I64},
                {.name = "loss", .axes = "r", .dtype = CSREC_F64, .optional = true},
                {.name = "psnr", .axes = "r", .dtype = CSREC_F64, .optional = true}},
     .check = csrec_beside_check},
    {.name = "rendered",
     .fields = {{.name = "layers", .axes = "L4", .dtype = CSREC_I64},
                {.name = "weights", .axes = "n", .dtype = CSREC_F32},
                {.name = "channels", .dtype = CSREC_I64},
                {.name = "loss", .axes = "r", .dtype = CSREC_F64, .optional = true},
                {.name = "psnr", .axes = "r", .dtype = CSREC_F64, .optional = true}},
     .check = csrec_rendered_check},
};

enum { TYPES = sizeof types / sizeof *types };

const char *const csrec_model_text_names[CSREC_MODEL_TEXTS] = {"source", "settings", "backend",
                                                               "version", "note"};

const csrec_model_type *csrec_model_type_find(const char *kind) {
    for (int i = 0; kind && i < TYPES; i++)
        if (strcmp(types[i].name, kind) == 0) return &types[i];
    return NULL;
}

const csrec_model_type *csrec_model_type_at(int i) {
    return i >= 0 && i < TYPES ? &types[i] : NULL;
}

/* Up to the first without a name, with room for that one. */
static bool has_fields(const csrec_model_type *row) {
    int n = 0;
    for (; n < CSREC_MODEL_FIELDS && row->fields[n].name; n++) {
        const csrec_model_field *f = &row->fields[n];
        const bool typed = f->dtype == CSREC_F64 || f->dtype == CSREC_I64 || f->dtype == CSREC_F32;
        if (!csrec_is_name(f->name) || csrec_model_field_find(row, f->name) != n || !typed)
            return false;
        for (const char *c = f->axes; c && *c; c++)
            if (!isalnum((unsigned char)*c)) return false;
    }
    return n > 0 && n < CSREC_MODEL_FIELDS;
}

csrec_status csrec_model_check_type(const csrec_model_type *row, csrec_error *error) {
    const csrec_rule rules[] = {
        {csrec_is_name(row->name) && csrec_is_own(csrec_model_type_find(row->name), row), "name",
         CSREC_MUST_NAME},
        {has_fields(row), "fields",
         "one to eleven arrays of F64, I64 or F32, each with a name of its own and letters or "
         "digits as axes"}};
    return csrec_rules_check("kind of model", row->name, CSREC_RULES(rules), error);
}

const char *csrec_model_kinds(char text[128]) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < TYPES; i++)
        used += (size_t)snprintf(text + used, 128 - used, "%s%s",
                                 i == 0          ? ""
                                 : i < TYPES - 1 ? ", "
                                                 : " or ",
                                 types[i].name);
    return text;
}

int csrec_model_field_find(const csrec_model_type *type, const char *name) {
    for (int i = 0; i < CSREC_MODEL_FIELDS && type->fields[i].name; i++)
        if (strcmp(type->fields[i].name, name) == 0) return i;
    return -1;
}
