/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.h - the NumPy .npy format: header, values, conversions while reading. */
#pragma once

#include "files/input.h"

#define CSREC_NPY_MAGIC "\x93NUMPY"

typedef struct csrec_npy_header {
    char kind;         /* NumPy kind: 'b', 'i', 'u', 'f' numbers; 'U', 'S' text */
    uint64_t bytes;    /* of one element */
    csrec_dtype dtype; /* numbers only */
    bool half;         /* stored as 16 bits; dtype is CSREC_F32 */
    bool is_complex;   /* shape ends in an axis of 2: real and imaginary parts; kind is 'f' */
    bool swap;         /* byte order is not the host's */
    bool fortran;      /* first axis fastest */
    csrec_shape shape; /* dims = 0: a scalar */
    int64_t count;     /* elements, >= 1 */
} csrec_npy_header;

/* In all of these `name` starts the error line: "scan.npz: array 'y'". */

/* Reads the header, and checks that the elements it declares are exactly the bytes left: after it,
 * allocating for them is safe. */
csrec_status csrec_npy_header_read(csrec_reader *reader, const char *name, csrec_npy_header *header,
                                   csrec_error *error);
/* All elements, C order, host byte order, as header->dtype. */
csrec_status csrec_npy_values(csrec_reader *reader, const csrec_npy_header *header,
                              const char *name, void *data, csrec_error *error);
/* The same converted to float or double, or (integer types) to int64_t, in one pass. */
csrec_status csrec_npy_values_f32(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, float *data, csrec_error *error);
csrec_status csrec_npy_values_f64(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, double *data, csrec_error *error);
csrec_status csrec_npy_values_i64(csrec_reader *reader, const csrec_npy_header *header,
                                  const char *name, int64_t *data, csrec_error *error);
/* One 'U' or 'S' element as ASCII; '?' for other characters; CSREC_DATA if it exceeds room - 1. */
csrec_status csrec_npy_text(csrec_reader *reader, const csrec_npy_header *header, const char *name,
                            char *text, size_t room, csrec_error *error);
/* The header of C-order data in host byte order; `descr` without byte order mark, such as "f4".
 * Returns its bytes, a multiple of 64, at most CSREC_NPY_HEADER_MAX. */
enum { CSREC_NPY_HEADER_MAX = 512 };
size_t csrec_npy_header_write(const char *descr, const csrec_shape *shape,
                              char text[CSREC_NPY_HEADER_MAX]);
/* The header of a signal, complex or not. */
size_t csrec_npy_header_of(const csrec_image *signal, char text[CSREC_NPY_HEADER_MAX]);
const char *csrec_dtype_code(csrec_dtype dtype);
/* The code of complex numbers whose parts have this type, F32 or F64. */
const char *csrec_complex_code(csrec_dtype parts);
