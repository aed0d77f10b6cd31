/* slab_rows.h - delivers the rows of an image in slabs, in their order, and may fail on the way. */
#ifndef CSREC_TESTS_SLAB_ROWS_H
#define CSREC_TESTS_SLAB_ROWS_H

#include <string.h>

#include "check.h"
#include "csrec.h"

typedef struct slab_rows {
    const csrec_image *image;
    int64_t next, fails_at; /* -1: never */
    const char *opens;      /* NULL, or a file that is read between slabs, as samples are */
} slab_rows;

static inline csrec_status take_rows(void *context, csrec_slab slab, void *values,
                                     csrec_error *error) {
    slab_rows *r = context;
    const csrec_array *pixels = &r->image->pixels;
    size_t row = (size_t)(pixels->count / pixels->shape.dim[0]) * csrec_dtype_size(pixels->dtype);
    csrec_image look;
    assert_int_equal(slab.first, r->next);
    if (r->opens && csrec_signal_look(r->opens, &look, error)) fail_msg("%s", error->text);
    r->next += slab.count;
    memcpy(values, (const char *)pixels->data + (size_t)slab.first * row, (size_t)slab.count * row);
    if (r->fails_at < 0 || r->next <= r->fails_at) return CSREC_OK;
    strcpy(error->text, "as the test wants it");
    return CSREC_DATA;
}

#endif
