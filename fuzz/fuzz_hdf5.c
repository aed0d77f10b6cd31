/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_hdf5.c - any bytes as HDF5: read, checked, and written again with its attributes and scales;
 * read as k-space.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "files/hdf5/hdf5.h"

static const double VALUES_MOST = 1 << 22;

/* libhdf5 forgets parts of damaged files that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libhdf5";
}

/* It asks for as many bytes as a file says that something has, and takes no for an answer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static double entries(const csrec_shape *shape) {
    double count = 1.0;
    for (int a = 0; a < shape->dims; a++) count *= (double)shape->dim[a];
    return count;
}

/* Chunks that compress well may declare what a fuzzer has no use for. */
static bool is_large(csrec_input *input) {
    csrec_hdf5_calls calls;
    csrec_hdf5 h5;
    csrec_hdf5_layout l;
    hid_t dataset;
    double values = 0.0;
    csrec_hdf5_enter(&calls);
    H5PLset_loading_state(0);
    if (!csrec_hdf5_open(input, &h5, NULL)) {
        if (!csrec_hdf5_find(&h5, &dataset, NULL) &&
            !csrec_hdf5_layout_read(&h5, dataset, &l, NULL))
            values = entries(&l.shape);
        csrec_hdf5_close(&h5);
    }
    csrec_hdf5_leave(&calls);
    return values > VALUES_MOST;
}

/* A slab has the bytes that the whole has there. */
static void compare_slab(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    csrec_image whole = {0}, part = {0};
    if (csrec_hdf5_signal(&input, &whole, NULL)) return;
    const int64_t rows = whole.pixels.shape.dim[0], first = (int64_t)size % rows;
    const size_t row = (size_t)(whole.pixels.count / rows) * csrec_dtype_size(whole.pixels.dtype);
    input.slab = (csrec_slab){first, (rows - first + 1) / 2};
    if (!csrec_hdf5_signal(&input, &part, NULL) &&
        memcmp(part.pixels.data, (const uint8_t *)whole.pixels.data + (size_t)first * row,
               (size_t)input.slab.count * row) != 0)
        abort();
    csrec_image_clear(&whole);
    csrec_image_clear(&part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (is_large(&input)) return 0;
    fuzz_signal(&csrec_hdf5_format, data, size);
    compare_slab(data, size);
    fuzz_measurement(data, size);
    return 0;
}
