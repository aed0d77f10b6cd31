/* SPDX-License-Identifier: BSD-3-Clause */
/* array.c - element types and arrays in memory. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "csrec/array.h"

size_t csrec_dtype_size(csrec_dtype dtype) {
    switch (dtype) {
#define CSREC_DTYPE_SIZE(name, type, code, bytes)                                                  \
    case CSREC_##name:                                                                             \
        return bytes;
        CSREC_DTYPE_LIST(CSREC_DTYPE_SIZE)
#undef CSREC_DTYPE_SIZE
    }
    return 0;
}

csrec_status csrec_array_create(csrec_dtype dtype, const csrec_shape *shape, csrec_array *array) {
    size_t bytes = csrec_dtype_size(dtype);
    int64_t count = 1;
    if (bytes == 0) return CSREC_ARGUMENT;
    if (shape->dims != 0) {
        csrec_status status = csrec_shape_count(shape, &count);
        if (status != CSREC_OK) return status;
    }
    if ((uint64_t)count > SIZE_MAX / bytes) return CSREC_MEMORY;
    void *data = calloc((size_t)count, bytes);
    if (!data) return CSREC_MEMORY;
    *array = (csrec_array){.dtype = dtype, .shape = *shape, .count = count, .data = data};
    return CSREC_OK;
}

void csrec_array_clear(csrec_array *array) {
    if (!array) return;
    free(array->data);
    *array = (csrec_array){0};
}

double csrec_array_value(const csrec_array *array, int64_t i) {
    switch (array->dtype) {
#define CSREC_DTYPE_VALUE(name, type, code, bytes)                                                 \
    case CSREC_##name:                                                                             \
        return (double)((const type *)array->data)[i];
        CSREC_DTYPE_LIST(CSREC_DTYPE_VALUE)
#undef CSREC_DTYPE_VALUE
    }
    return 0;
}

/* The largest double of an integer type, and of a float the largest number. */
static double largest(csrec_dtype dtype) {
    switch (dtype) {
    case CSREC_BOOL:
        return 1.0;
    case CSREC_U8:
        return UINT8_MAX;
    case CSREC_I8:
        return INT8_MAX;
    case CSREC_U16:
        return UINT16_MAX;
    case CSREC_I16:
        return INT16_MAX;
    case CSREC_U32:
        return UINT32_MAX;
    case CSREC_I32:
        return INT32_MAX;
    case CSREC_U64:
        return 0x1.fffffffffffffp63;
    case CSREC_I64:
        return 0x1.fffffffffffffp62;
    case CSREC_F32:
        return FLT_MAX;
    case CSREC_F64:
        return DBL_MAX;
    }
    return 0.0;
}

static double least(csrec_dtype dtype) {
    switch (dtype) {
    case CSREC_I8:
        return INT8_MIN;
    case CSREC_I16:
        return INT16_MIN;
    case CSREC_I32:
        return INT32_MIN;
    case CSREC_I64:
        return -0x1p63;
    case CSREC_F32:
        return -FLT_MAX;
    case CSREC_F64:
        return -DBL_MAX;
    default:
        return 0.0;
    }
}

void csrec_array_set(csrec_array *array, int64_t i, double value) {
    bool real = array->dtype == CSREC_F32 || array->dtype == CSREC_F64;
    const double low = least(array->dtype), high = largest(array->dtype);
    double near = real ? value : round(value);
    near = near > low ? near : low; /* the least of NaN */
    near = near < high ? near : high;
    if (real && !isfinite(value)) near = value;
    switch (array->dtype) {
#define CSREC_DTYPE_SET(name, type, code, bytes)                                                   \
    case CSREC_##name:                                                                             \
        ((type *)array->data)[i] = (type)near;                                                     \
        break;
        CSREC_DTYPE_LIST(CSREC_DTYPE_SET)
#undef CSREC_DTYPE_SET
    }
}
