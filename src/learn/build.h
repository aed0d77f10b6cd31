/* build.h - shared by learners: checks options and assembles a model. */
#ifndef CSREC_LEARN_BUILD_H
#define CSREC_LEARN_BUILD_H

#include "learn/model.h"

/* Arrays; the caller owns them. */
typedef struct csrec_model_parts {
    int n;
    const char *names[CSREC_MODEL_FIELDS];
    csrec_array arrays[CSREC_MODEL_FIELDS];
} csrec_model_parts;

void csrec_model_add(csrec_model_parts *parts, const char *name, csrec_shape shape,
                     const double *values);

csrec_status csrec_model_assemble(const char *kind, const csrec_model_parts *parts,
                                  csrec_model **model, csrec_error *error);

/* shape, channels and scale come from the options; n: entries of a vector. */
csrec_status csrec_model_build(const char *kind, csrec_model_parts *parts,
                               const csrec_learn_options *options, int64_t n, csrec_model **model,
                               csrec_error *error);

csrec_status csrec_learn_check(const csrec_learn_options *options, int64_t n, csrec_error *error);

#endif
