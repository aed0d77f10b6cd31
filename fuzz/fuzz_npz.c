/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_npz.c - any bytes as a .npy array, as rows to learn from, as the mask of a picture, and as a
 * measurement, which for zip bytes is a .npz. */
#include "fuzz.h"
#include "files/npy/npy.h"

enum { ENTRIES_MAX = 1 << 18 };

static void try_array(const uint8_t *data, size_t size) {
    csrec_error error = {""};
    csrec_array array;
    csrec_status status = csrec_array_parse(data, size, "fuzz", &array, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return;
    }
    int64_t count = 1;
    if (array.shape.dims && csrec_shape_count(&array.shape, &count) != CSREC_OK) abort();
    if (count != array.count) abort();
    volatile double last = csrec_array_value(&array, array.count - 1);
    (void)last;
    csrec_array_clear(&array);
}

static void try_rows(const char *path) {
    csrec_error error = {""};
    csrec_rows *rows;
    csrec_data data;
    csrec_shape row;
    csrec_status status = csrec_rows_open(path, &rows, &data, &row, &error);
    if (status) {
        fuzz_check_refusal(status, &error);
        return;
    }
    float *X = malloc((size_t)(data.m * data.n) * sizeof *X);
    if (!X) abort();
    int64_t first = data.m / 2;
    status = data.read(data.context, 0, data.m, X, &error);
    if (!status) status = data.read(data.context, first, data.m - first, X, &error);
    if (status) fuzz_check_refusal(status, &error);
    free(X);
    csrec_rows_close(rows);
}

/* Over a picture of 3 x 5 pixels. */
static void try_mask(const char *mask) {
    uint8_t pixels[15] = {0}, *bytes;
    size_t size;
    csrec_error error = {""};
    csrec_measurement m;
    csrec_image image = {.pixels = {CSREC_U8, {2, {3, 5}}, 15, pixels}, .bits = 8};
    if (csrec_image_encode(&image, &bytes, &size, NULL)) abort();
    csrec_status status = csrec_measurement_read(fuzz_path(bytes, size), mask, &m, &error);
    if (status)
        fuzz_check_refusal(status, &error);
    else
        csrec_measurement_clear(&m);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_path(data, size);
    try_array(data, size);
    try_rows(path);
    try_mask(path);
    if (!fuzz_shape_exceeds(path, ENTRIES_MAX)) fuzz_measurement(data, size);
    return 0;
}
