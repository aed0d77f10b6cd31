/* SPDX-License-Identifier: BSD-3-Clause */
/* io_measurement.h - measurement files built by hand, and what reading them must give. */
#pragma once

#include "io_npy.h"
#include "io_zip.h"

SEED(seed);

static io_zip zip;

static inline void add(const char *name, io_bytes member) {
    io_zip_add(&zip, check_print("%s.npy", name), member,
               (io_zip_how){.deflate = check_next(&seed) & 1});
}

static inline void add_f8(const char *name, int64_t n, const double *values) {
    add(name, io_npy_f8(n, values));
}

static inline void add_i8(const char *name, int64_t n, const int64_t *values) {
    add(name, io_npy_i8(check_print(n ? "(%d,)" : "()", (int)n), n ? n : 1, values));
}

#define Y(...)              add_f8("y", sizeof((double[]){__VA_ARGS__}) / 8, (double[]){__VA_ARGS__})
#define INTS(name, ...)     add_i8(name, sizeof((int64_t[]){__VA_ARGS__}) / 8, (int64_t[]){__VA_ARGS__})
#define SCALAR(name, value) add_i8(name, 0, &(int64_t){value})

static inline const char *finish(void) {
    return io_keep("m.npz", io_zip_finish(&zip, false));
}

static inline csrec_measurement accept(const char *path, const char *mask) {
    csrec_measurement m;
    assert_well(csrec_measurement_read(path, mask, &m, &told));
    return m;
}

static inline void refuse_file(const char *path, const char *mask, const char *part) {
    csrec_measurement m;
    csrec_error error = {""};
    assert_int_not_equal(csrec_measurement_read(path, mask, &m, &error), CSREC_OK);
    io_assert_line(&error, mask && strstr(error.text, mask) ? mask : path, part);
}

static inline void refuse(const char *part) {
    refuse_file(finish(), NULL, part);
}

static inline void expect(csrec_measurement m, int64_t n, int64_t channels, const int64_t *index,
                          const double *y) {
    assert_int_equal(m.n, n);
    assert_int_equal(m.channels, channels);
    assert_memory_equal(m.index, index, (size_t)n * 8);
    assert_memory_equal(m.y, y, (size_t)(n * channels) * 8);
    csrec_measurement_clear(&m);
    assert_null(m.y);
    csrec_measurement_clear(&m);
    csrec_measurement_clear(NULL);
}
