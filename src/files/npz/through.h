/* through.h - the arrays of a .npz that describe the operator of a measurement. */
#ifndef CSREC_FILES_NPZ_THROUGH_H
#define CSREC_FILES_NPZ_THROUGH_H

#include "files/npz/npz.h"

/* Reads `operator` and what belongs to it into measurement->through, which stays NULL for points.
 * The shape is known, and n and channels as y has them; they are corrected for coils, and for the
 * two values of each row of `split`. */
csrec_status csrec_through_read(const csrec_npz *npz, csrec_measurement *measurement,
                                csrec_error *error);

/* Adds the arrays of measurement->through to the `count` fields, of at most
 * CSREC_THROUGH_FIELDS. texts: memory for them. */
enum { CSREC_THROUGH_FIELDS = 6 };
typedef struct csrec_through_texts {
    uint32_t letters[2][16];
    char descr[2][16];
    uint8_t flag;
} csrec_through_texts;
void csrec_through_add(const csrec_measurement *measurement, csrec_through_texts *texts,
                       csrec_npz_field *fields, int *count);

/* One 'U' element of ASCII letters, at most 16. */
csrec_npz_field csrec_npz_text(const char *name, const char *text, uint32_t letters[16],
                               char descr[16]);

#endif
