/* build.c - options of learners, and models from arrays. */
#include "learn/build.h"

#include <math.h>

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
    double extents[CSREC_DIMS_MAX], channels = (double)channels_of(options);
    for (int d = 0; d < shape.dims; d++) extents[d] = (double)shape.dim[d];
    csrec_model_add(parts, "shape", (csrec_shape){1, {shape.dims}}, extents);
    csrec_model_add(parts, "channels", (csrec_shape){0}, &channels);
    if (options->scale[0] != options->scale[1])
        csrec_model_add(parts, "scale", (csrec_shape){1, {2}}, options->scale);
    return csrec_model_assemble(kind, parts, model, error);
}
