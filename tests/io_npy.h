/* SPDX-License-Identifier: BSD-3-Clause */
/* io_npy.h - .npy bytes built by hand, from the format's description. */
#pragma once

#include "io_file.h"

/* The header with any text as dictionary. */
static inline void io_npy_raw(io_bytes *b, int version, const char *dictionary) {
    size_t length = strlen(dictionary);
    io_put(b, "\x93NUMPY", 6);
    io_put_le(b, (uint64_t)version, 1);
    io_put_le(b, 0, 1);
    io_put_le(b, length, version == 1 ? 2 : 4);
    io_put(b, dictionary, length);
}

static inline void io_npy_header(io_bytes *b, int version, const char *descr, bool fortran,
                                 const char *shape) {
    io_npy_raw(b, version,
               check_print("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
                           fortran ? "True" : "False", shape));
}

/* float64, little-endian, of the given shape text. */
static inline io_bytes io_npy_shaped(const char *shape, int64_t n, const double *values) {
    io_bytes b = {0};
    io_npy_header(&b, 1, "<f8", false, shape);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], 8);
        io_put_le(&b, bits, 8);
    }
    return b;
}

/* A 1-D array. */
static inline io_bytes io_npy_f8(int64_t n, const double *values) {
    return io_npy_shaped(check_print("(%lld,)", (long long)n), n, values);
}

/* An int64 array of the given shape text. */
static inline io_bytes io_npy_i8(const char *shape, int64_t n, const int64_t *values) {
    io_bytes b = {0};
    io_npy_header(&b, 1, "<i8", false, shape);
    for (int64_t i = 0; i < n; i++) io_put_le(&b, (uint64_t)values[i], 8);
    return b;
}

static inline io_bytes io_npy_u1(const char *descr, const char *shape, int64_t n,
                                 const uint8_t *values) {
    io_bytes b = {0};
    io_npy_header(&b, 1, descr, false, shape);
    io_put(&b, values, (size_t)n);
    return b;
}
