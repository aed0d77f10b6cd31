/* SPDX-License-Identifier: BSD-3-Clause */
/* models.h - models of given numbers, as learners would deliver them. */
#pragma once

#include "check.h"
#include "learn/model.h"
#include "method/method.h"

static inline csrec_model *assemble_model(const char *kind, const csrec_model_parts *parts) {
    csrec_model *model = NULL;
    assert_well(csrec_model_assemble(kind, parts, &model, &told));
    return model;
}

/* What the model's signals are; scale: NULL, or black and white. numbers: parts refer to them. */
static inline void add_form(csrec_model_parts *parts, csrec_shape shape, int64_t channels,
                            const double *scale, double numbers[CSREC_DIMS_MAX + 1]) {
    for (int d = 0; d < shape.dims; d++) numbers[d] = (double)shape.dim[d];
    numbers[CSREC_DIMS_MAX] = (double)channels;
    csrec_model_add(parts, "shape", (csrec_shape){1, {shape.dims}}, numbers);
    csrec_model_add(parts, "channels", (csrec_shape){0}, numbers + CSREC_DIMS_MAX);
    if (scale) csrec_model_add(parts, "scale", (csrec_shape){1, {2}}, scale);
}

/* Components V [k][values of a signal], orthonormal, and their variances [k]. */
typedef struct components {
    csrec_shape shape;
    int64_t channels, k;
    const double *mean, *V, *variances, *scale;
    double noise;
} components;

static inline csrec_model *model_of_components(const components *c) {
    csrec_model_parts parts = {0};
    double form[CSREC_DIMS_MAX + 1];
    const int64_t n = entries_in(&c->shape) * c->channels;
    csrec_model_add(&parts, "mean", (csrec_shape){1, {n}}, c->mean);
    csrec_model_add(&parts, "components", (csrec_shape){2, {c->k, n}}, c->V);
    csrec_model_add(&parts, "variances", (csrec_shape){1, {c->k}}, c->variances);
    csrec_model_add(&parts, "noise", (csrec_shape){0}, &c->noise);
    add_form(&parts, c->shape, c->channels, c->scale, form);
    return assemble_model("pca", &parts);
}

/* The least model for signals of a shape that a method can work with; NULL: it needs none. */
static inline csrec_model *least_model(const csrec_method_type *method, csrec_shape shape,
                                       int64_t channels) {
    const double one = 1.0;
    if (!method->needs_model) return NULL;
    assert_string_equal(method->info.model, "pca");
    const int64_t n = entries_in(&shape) * channels;
    OWNED double *unit = malloc((size_t)n * sizeof *unit);
    for (int64_t i = 0; i < n; i++) unit[i] = 1.0 / sqrt((double)n);
    return model_of_components(&(components){.shape = shape,
                                             .channels = channels,
                                             .k = 1,
                                             .mean = unit,
                                             .V = unit,
                                             .variances = &one,
                                             .noise = 1.0});
}
