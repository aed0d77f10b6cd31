/* fuzz_hdf5.c - any bytes as HDF5: read, checked, and written again with its attributes and scales.
 */
#include "fuzz.h"
#include "io/hdf5/hdf5.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csrec_input input = csrec_input_memory(data, size, "fuzz");
    if (!is_large(&input)) fuzz_signal(&csrec_hdf5_format, data, size);
    return 0;
}
