/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h - the arrays of a learned model; a kind of model is a row of the table. */
#pragma once

#include "csrec/learn.h"
#include "base/error.h"

enum { CSREC_MODEL_FIELDS = 12, CSREC_MODEL_TEXTS = 5, CSREC_MODEL_TEXT_ROOM = 1024 };

/* With this bound, products of two entries and their squares are finite. Entries learned from
 * float32, whose squares are below 1.2e77, are far below it. */
#define CSREC_MODEL_MOST 1e100

/* An array of a kind. axes: a character an axis; a letter is the same extent in every array of the
 * model, a digit is that extent; "" is a scalar. */
typedef struct csrec_model_field {
    const char *name, *axes;
    csrec_dtype dtype;   /* CSREC_F64 or CSREC_I64, and files may have any type that converts; or
                            CSREC_F32, numbers of 16 bits, which files that are written have */
    bool optional, sign; /* sign: no entry below 0 */
} csrec_model_field;

typedef struct csrec_model_type {
    const char *name;
    csrec_model_field fields[CSREC_MODEL_FIELDS]; /* ends with a row without a name */
    /* Optional: checks across arrays. `name` starts the error line. */
    csrec_status (*check)(const csrec_model *model, const char *name, csrec_error *error);
} csrec_model_type;

struct csrec_model {
    const csrec_model_type *type;
    csrec_array arrays[CSREC_MODEL_FIELDS]; /* by field; without data if missing */
    char *texts[CSREC_MODEL_TEXTS];         /* by csrec_model_text_names */
};

extern const char *const csrec_model_text_names[CSREC_MODEL_TEXTS];

/* Row i; NULL past the end. */
const csrec_model_type *csrec_model_type_at(int i);

/* CSREC_ARGUMENT and a line that names the field, if a row lacks something: a kind has a name, and
 * at least one array, each with a name of its own, axes and a type that models are kept in. */
csrec_status csrec_model_check_type(const csrec_model_type *row, csrec_error *error);

/* NULL: no such kind. */
const csrec_model_type *csrec_model_type_find(const char *kind);

/* The check of kind net, in learn/net/prior.c: layers that fit its channels and its weights. */
csrec_status csrec_prior_check(const csrec_model *model, const char *name, csrec_error *error);
csrec_status csrec_beside_check(const csrec_model *model, const char *name, csrec_error *error);
csrec_status csrec_rendered_check(const csrec_model *model, const char *name, csrec_error *error);
/* "pca, net, beside or rendered", for messages. */
const char *csrec_model_kinds(char text[128]);

/* -1: the kind has no such array. */
int csrec_model_field_find(const csrec_model_type *type, const char *name);

/* Checks that no array is missing and that shapes agree; arrays need no data yet. */
csrec_status csrec_model_check_shapes(const csrec_model *model, const char *name,
                                      csrec_error *error);

/* Checks shapes, every entry, and the kind's own rules. */
csrec_status csrec_model_check(const csrec_model *model, const char *name, csrec_error *error);

/* Values of type F32 that share a scale where a file has them in 8 bits. */
enum { CSREC_MODEL_BLOCK = 64 };

/* Error lines that an array or text is invalid end with this remedy. */
csrec_status csrec_model_fail(const char *name, const char *array, csrec_error *error,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The shape given by `shape` and `channels`, and its entries times channels; 0 dims if the model
 * has none. */
csrec_shape csrec_model_shape(const csrec_model *model, int64_t *channels);

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
