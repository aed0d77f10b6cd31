/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/array.h - shapes, element types and arrays that own their memory. */
#ifndef CSREC_ARRAY_H
#define CSREC_ARRAY_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CSREC_DIMS_MAX = 8 };

/* Extents of an N-d array in C order; 1 <= dims <= CSREC_DIMS_MAX, every dim >= 1. */
typedef struct csrec_shape {
    int dims;
    int64_t dim[CSREC_DIMS_MAX];
} csrec_shape;

/* count = product of the extents. CSREC_DATA if it overflows 2^62 or an extent is < 1. */
CSREC_API csrec_status csrec_shape_count(const csrec_shape *shape, int64_t *count);
CSREC_API bool csrec_shape_equal(const csrec_shape *a, const csrec_shape *b);

/* X(NAME, C type, NumPy code without byte order, bytes): element types. */
#define CSREC_DTYPE_LIST(X)                                                                        \
    X(BOOL, uint8_t, "b1", 1)                                                                      \
    X(U8, uint8_t, "u1", 1)                                                                        \
    X(I8, int8_t, "i1", 1)                                                                         \
    X(U16, uint16_t, "u2", 2)                                                                      \
    X(I16, int16_t, "i2", 2)                                                                       \
    X(U32, uint32_t, "u4", 4)                                                                      \
    X(I32, int32_t, "i4", 4)                                                                       \
    X(U64, uint64_t, "u8", 8)                                                                      \
    X(I64, int64_t, "i8", 8)                                                                       \
    X(F32, float, "f4", 4)                                                                         \
    X(F64, double, "f8", 8)

typedef enum csrec_dtype {
#define CSREC_DTYPE_ENUM(name, type, code, bytes) CSREC_##name,
    CSREC_DTYPE_LIST(CSREC_DTYPE_ENUM)
#undef CSREC_DTYPE_ENUM
} csrec_dtype;

/* Bytes of one element; 0 for an invalid csrec_dtype. */
CSREC_API size_t csrec_dtype_size(csrec_dtype dtype);

/* An N-d array that owns its memory. dims = 0 is a scalar of one element (from .npy files). */
typedef struct csrec_array {
    csrec_dtype dtype;
    csrec_shape shape;
    int64_t count; /* elements */
    void *data;    /* count elements, C order, host byte order */
} csrec_array;

/* Allocates a zeroed array. CSREC_MEMORY, CSREC_DATA (shape). Free with csrec_array_clear. */
CSREC_API csrec_status csrec_array_create(csrec_dtype dtype, const csrec_shape *shape,
                                          csrec_array *array);
CSREC_API void csrec_array_clear(csrec_array *array);

/* Element i as a double (64-bit integers beyond 2^53 are rounded). 0 <= i < count. */
CSREC_API double csrec_array_value(const csrec_array *array, int64_t i);

/* Sets element i to a value that is not NaN: in integers to the nearest one of their range. */
CSREC_API void csrec_array_set(csrec_array *array, int64_t i, double value);

#ifdef __cplusplus
}
#endif
#endif
