/* array.c - element types and arrays in memory. */
#include <stdlib.h>

#include "csrec.h"

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
