/* SPDX-License-Identifier: BSD-3-Clause */
/* model_types.c - the table of the kinds of models and their arrays; a new kind is a row. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/rows.h"
#include "learn/model.h"

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
