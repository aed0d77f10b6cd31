/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_file.h - HDF5 files by libhdf5 itself, of random arrangements. */
#pragma once

#include "io_signal.h"
#include "files/hdf5/hdf5.h"

SEED(seed);

static inline bool toss(void) {
    return check_below(&seed, 2) > 0;
}

/* For CLEARED: whatever the handle is of. */
static inline void close_id(hid_t *id) {
    H5Idec_ref(*id);
}

enum { KINDS = 21, HALF = 20 };

/* Each type of the file, little- and big-endian, then floats of 16 bits. */
static inline hid_t file_type(int kind) {
    const hid_t types[HALF] = {H5T_STD_U8LE,   H5T_STD_U8BE,   H5T_STD_I8LE,   H5T_STD_I8BE,
                               H5T_STD_U16LE,  H5T_STD_U16BE,  H5T_STD_I16LE,  H5T_STD_I16BE,
                               H5T_STD_U32LE,  H5T_STD_U32BE,  H5T_STD_I32LE,  H5T_STD_I32BE,
                               H5T_STD_U64LE,  H5T_STD_U64BE,  H5T_STD_I64LE,  H5T_STD_I64BE,
                               H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
    if (kind < HALF) return H5Tcopy(types[kind]);
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    return half;
}

static inline csrec_dtype memory_type(int kind) {
    return kind == HALF ? CSREC_F32 : (csrec_dtype)(CSREC_U8 + kind / 2);
}

typedef struct {
    csrec_array values; /* as the file has them */
    hid_t type;
    int rank, ones; /* axes of extent 1 come first */
    hsize_t extent[6], chunk[6];
    bool chunked, filled, defaults, packed, limited,
        wraps;    /* defaults: filled, by NetCDF's value */
    int64_t fill; /* which of the values stands for unknown */
    double scale, offset, low, high;
} drawn;

static inline bool is_integer(csrec_dtype dtype) {
    return dtype < CSREC_F32;
}

static inline void draw_values(csrec_array *values, bool half) {
    size_t size = csrec_dtype_size(values->dtype);
    uint8_t *bytes = values->data;
    for (size_t i = 0; is_integer(values->dtype) && i < (size_t)values->count * size; i++)
        bytes[i] = (uint8_t)check_next(&seed);
    for (int64_t i = 0; !is_integer(values->dtype) && i < values->count; i++) {
        double value = half ? (double)check_below(&seed, 2000) / 8.0 - 100.0 : check_normal(&seed);
        if (check_below(&seed, 10) == 0) value = NAN;
        csrec_array_set(values, i, value);
    }
}

/* NetCDF's value for what was not written (netcdf.h). */
static inline void set_default(csrec_array *values, int64_t i) {
    const size_t size = csrec_dtype_size(values->dtype);
    const int64_t least = size == 2 ? -32767 : size == 4 ? -2147483647 : -9223372036854775806;
    const bool sign = (values->dtype - CSREC_U8) % 2;
    if (!is_integer(values->dtype))
        csrec_array_set(values, i, 9.9692099683868690e+36);
    else if (sign)
        memcpy((uint8_t *)values->data + (size_t)i * size, &least, size);
    else
        memset((uint8_t *)values->data + (size_t)i * size, 255, size);
}

static inline void draw_rules(drawn *d, int kind) {
    const size_t size = csrec_dtype_size(d->values.dtype);
    bool sign = kind < 16 && kind / 2 % 2;
    d->filled = toss();
    d->fill = check_below(&seed, d->values.count);
    d->defaults = d->filled && size > 1 && kind < HALF && toss();
    if (d->defaults) set_default(&d->values, d->fill);
    d->packed = check_below(&seed, 3) == 0;
    d->scale = d->packed ? 0.25 + check_uniform(&seed) : 1.0;
    d->offset = d->packed ? 9.0 * check_uniform(&seed) : 0.0;
    d->wraps = sign && check_below(&seed, 3) == 0;
    d->limited = size <= 4 && !d->wraps && check_below(&seed, 3) == 0;
    d->low = csrec_array_value(&d->values, check_below(&seed, d->values.count));
    d->high = csrec_array_value(&d->values, check_below(&seed, d->values.count));
    if (isnan(d->low) || isnan(d->high)) d->limited = false;
}

static inline drawn draw(int kind) {
    drawn d = {.type = file_type(kind), .ones = (int)check_below(&seed, 3)};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 4)};
    for (int a = 0; a < shape.dims; a++) shape.dim[a] = 2 + check_below(&seed, a ? 5 : 30);
    assert_ok(csrec_array_create(memory_type(kind), &shape, &d.values));
    draw_values(&d.values, kind == HALF);
    d.rank = d.ones + shape.dims;
    d.chunked = check_below(&seed, 3) > 0;
    for (int a = 0; a < d.rank; a++) {
        d.extent[a] = a < d.ones ? 1 : (hsize_t)shape.dim[a - d.ones];
        d.chunk[a] = 1 + (hsize_t)check_below(&seed, (int64_t)d.extent[a]);
    }
    draw_rules(&d, kind);
    return d;
}

static inline void free_drawn(drawn *d) {
    csrec_array_clear(&d->values);
    H5Tclose(d->type);
}

static inline void put_numbers(hid_t object, const char *name, hid_t type, int count, hid_t memory,
                               const void *values) {
    hsize_t n = (hsize_t)count;
    ENDS_BY(close_id)
    hid_t space = count > 1 ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR),
          attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, memory, values) >= 0);
}

static inline void put_text(hid_t object, const char *name, const char *text, bool variable) {
    ENDS_BY(close_id) hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    put_numbers(object, name, type, 1, type, variable ? (const void *)&text : text);
}

static inline const void *fill_of(const drawn *d) {
    return (const uint8_t *)d->values.data + (size_t)d->fill * csrec_dtype_size(d->values.dtype);
}

static inline void put_rules(const drawn *d, hid_t dataset) {
    const hid_t memory = csrec_hdf5_type(d->values.dtype);
    const double limits[2] = {d->low, d->high};
    if (d->filled && !d->defaults)
        put_numbers(dataset, toss() ? "_FillValue" : "missing_value", d->type, 1, memory,
                    fill_of(d));
    if (d->packed)
        put_numbers(dataset, "scale_factor", H5T_IEEE_F64BE, 1, H5T_NATIVE_DOUBLE, &d->scale);
    if (d->packed)
        put_numbers(dataset, "add_offset", H5T_IEEE_F64LE, 1, H5T_NATIVE_DOUBLE, &d->offset);
    if (d->wraps) put_text(dataset, "_Unsigned", "true", toss());
    if (d->limited && toss()) {
        put_numbers(dataset, "valid_range", d->type, 2, H5T_NATIVE_DOUBLE, limits);
    } else if (d->limited) {
        put_numbers(dataset, "valid_min", d->type, 1, H5T_NATIVE_DOUBLE, &d->low);
        put_numbers(dataset, "valid_max", d->type, 1, H5T_NATIVE_DOUBLE, &d->high);
    }
}

static inline hid_t storage(const drawn *d) {
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (!d->chunked && toss()) H5Pset_layout(creation, H5D_COMPACT);
    if (d->chunked) H5Pset_chunk(creation, d->rank, d->chunk);
    if (d->defaults) H5Pset_fill_value(creation, csrec_hdf5_type(d->values.dtype), fill_of(d));
    if (d->chunked && toss()) H5Pset_shuffle(creation);
    if (d->chunked && toss()) H5Pset_deflate(creation, 6);
    if (d->chunked && toss()) H5Pset_fletcher32(creation);
    return creation;
}

static inline hid_t put_dataset(hid_t file, const char *name, const drawn *d, hid_t creation) {
    ENDS_BY(close_id)
    hid_t space = H5Screate_simple(d->rank, d->extent, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t dataset = H5Dcreate2(file, name, d->type, space, links, creation, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Dwrite(dataset, csrec_hdf5_type(d->values.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                         d->values.data) >= 0);
    return dataset;
}

static inline hid_t new_file(const char *path) {
    ENDS_BY(close_id)
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    if (toss()) H5Pset_userblock(creation, 512);
    if (toss()) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    assert_true(file >= 0);
    return file;
}

static inline void save_drawn(const char *path, const drawn *d) {
    ENDS_BY(close_id) hid_t file = new_file(path), creation = storage(d);
    put_rules(d, put_dataset(file, "/entry/data", d, creation));
}
