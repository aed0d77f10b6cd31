/* model.h - what a learned model is made of; a kind of model is a row of the table. */
#ifndef CSREC_LEARN_MODEL_H
#define CSREC_LEARN_MODEL_H

#include "base/error.h"

enum { CSREC_MODEL_FIELDS = 12, CSREC_MODEL_TEXTS = 5, CSREC_MODEL_TEXT_ROOM = 1024 };

/* Products of two entries and their squares are finite. Learned from float32, whose squares are
 * below 1.2e77, no entry comes near. */
#define CSREC_MODEL_MOST 1e100

/* An array of a kind. axes: a character an axis; a letter is the same extent in every array of the
 * model, a digit is that extent; "" is a scalar. */
typedef struct csrec_model_field {
    const char *name, *axes;
    csrec_dtype dtype;   /* CSREC_F64 or CSREC_I64; files may have any that converts */
    bool optional, sign; /* sign: no entry below 0 */
} csrec_model_field;

typedef struct csrec_model_type {
    const char *name;
    csrec_model_field fields[CSREC_MODEL_FIELDS]; /* ends with a row without a name */
    /* Optional: what one array alone cannot tell. `name` starts the error line. */
    csrec_status (*check)(const csrec_model *model, const char *name, csrec_error *error);
} csrec_model_type;

struct csrec_model {
    const csrec_model_type *type;
    csrec_array arrays[CSREC_MODEL_FIELDS]; /* by field; no data where it has none */
    char *texts[CSREC_MODEL_TEXTS];         /* by csrec_model_text_names */
};

extern const char *const csrec_model_text_names[CSREC_MODEL_TEXTS];

/* NULL: no such kind. */
const csrec_model_type *csrec_model_type_find(const char *kind);
/* "pca, gmm or conv", for messages. */
const char *csrec_model_kinds(char text[128]);

/* -1: the kind has no such array. */
int csrec_model_field_find(const csrec_model_type *type, const char *name);

/* That no array is missing, and shapes against each other; arrays need no data yet. */
csrec_status csrec_model_check_shapes(const csrec_model *model, const char *name,
                                      csrec_error *error);

/* Shapes, every entry, and the kind's own check. */
csrec_status csrec_model_check(const csrec_model *model, const char *name, csrec_error *error);

/* The line that arrays or texts do not suit what the model is used for ends in the remedy. */
csrec_status csrec_model_fail(const char *name, const char *array, csrec_error *error,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The shape that `shape` and `channels` speak of, and its entries times channels; 0 dims where the
 * model has none. */
csrec_shape csrec_model_shape(const csrec_model *model, int64_t *channels);

#endif
