/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_unpack.c - the conventions of NetCDF: values for unknown, valid ranges, packed numbers; and
 * chunks that were never written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "files/hdf5/hdf5.h"

enum { FILLS_MOST = 16 };

/* What tells that a value is unknown. Integers of 64 bits are compared as bits. */
typedef struct rules {
    int fills;
    struct {
        double value;
        uint8_t bits[8];
    } fill[FILLS_MOST];
    double low, high;
    bool limited, unpacked; /* low and high are in units of the unpacked values */
} rules;

static bool is_integer(csrec_dtype dtype) {
    return dtype < CSREC_F32;
}

/* With _Unsigned, the number that a negative one stands for. */
static double unwrap(const csrec_hdf5_layout *l, double value) {
    return l->wraps && value < 0.0 ? value + ldexp(1.0, 8 * (int)csrec_dtype_size(l->stored))
                                   : value;
}

/* Numbers that the type does not have are never among the values. */
static void add_integers(hid_t dataset, const char *name, csrec_dtype type, rules *r) {
    double number[FILLS_MOST];
    uint64_t bits[FILLS_MOST];
    const csrec_array view = {.dtype = type, .data = bits};
    int count = csrec_hdf5_numbers(dataset, name, H5T_NATIVE_DOUBLE, FILLS_MOST, number, NULL);
    if (csrec_hdf5_numbers(dataset, name, csrec_hdf5_type(type), FILLS_MOST, bits, NULL) != count)
        return;
    size_t size = csrec_dtype_size(type);
    for (int k = 0; k < count && r->fills < FILLS_MOST; k++)
        if (csrec_array_value(&view, k) == number[k])
            memcpy(r->fill[r->fills++].bits, (const uint8_t *)bits + (size_t)k * size, size);
}

static void add_fills(hid_t dataset, const char *name, const csrec_hdf5_layout *l, rules *r) {
    double number[FILLS_MOST];
    if (is_integer(l->dtype)) {
        add_integers(dataset, name, l->stored, r);
        if (l->wraps) add_integers(dataset, name, l->dtype, r);
        return;
    }
    int count = csrec_hdf5_numbers(dataset, name, H5T_NATIVE_DOUBLE, FILLS_MOST, number, NULL);
    for (int k = 0; k < count && r->fills < FILLS_MOST; k++) {
        double value = unwrap(l, number[k]);
        r->fill[r->fills++].value = l->dtype == CSREC_F32 ? (double)(float)value : value;
    }
}

/* Limits of another kind than packed integers are of the unpacked values, which are rounded. */
static void take_limit(hid_t dataset, const char *name, const csrec_hdf5_layout *l, double *low,
                       double *high, rules *r) {
    double range[2];
    H5T_class_t class = H5T_INTEGER;
    int most = low && high ? 2 : 1;
    if (csrec_hdf5_numbers(dataset, name, H5T_NATIVE_DOUBLE, most, range, &class) != most) return;
    for (int k = 0; k < most && l->stored == CSREC_F32; k++) range[k] = (float)range[k];
    r->unpacked = class == H5T_FLOAT && is_integer(l->stored) && !is_integer(l->dtype);
    const double near = 1e-3 * fabs(l->scale);
    if (low) *low = r->unpacked ? range[0] - near : unwrap(l, range[0]);
    if (high) *high = r->unpacked ? range[most - 1] + near : unwrap(l, range[most - 1]);
    r->limited = true;
}

/* NetCDF's value for what was not written, which its library sets as that of the dataset; not of
 * bytes, all of which may be values. */
static void add_default(hid_t dataset, const csrec_hdf5_layout *l, rules *r) {
    static const double defaults[] = {
        [CSREC_U16] = 65535.0,       [CSREC_I16] = -32767.0, [CSREC_U32] = 4294967295.0,
        [CSREC_I32] = -2147483647.0, [CSREC_U64] = 0x1p64,   [CSREC_I64] = -0x1p63,
        [CSREC_F32] = 0x1.ep122,     [CSREC_F64] = 0x1.ep122};
    uint64_t bits = 0;
    H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
    hid_t creation = H5Dget_create_plist(dataset);
    bool set = creation >= 0 && H5Pfill_value_defined(creation, &state) >= 0 &&
               state == H5D_FILL_VALUE_USER_DEFINED &&
               H5Pget_fill_value(creation, csrec_hdf5_type(l->stored), &bits) >= 0;
    if (creation >= 0) H5Pclose(creation);
    double value = csrec_array_value(&(csrec_array){.dtype = l->stored, .data = &bits}, 0);
    if (!set || csrec_dtype_size(l->stored) == 1 || value != defaults[l->stored]) return;
    memcpy(r->fill[r->fills].bits, &bits, sizeof bits);
    r->fill[r->fills++].value = unwrap(l, value);
}

static void read_rules(hid_t dataset, const csrec_hdf5_layout *l, rules *r) {
    *r = (rules){.low = -INFINITY, .high = INFINITY};
    if (H5Aexists(dataset, "_FillValue") <= 0) add_default(dataset, l, r);
    add_fills(dataset, "_FillValue", l, r);
    add_fills(dataset, "missing_value", l, r);
    take_limit(dataset, "valid_min", l, &r->low, NULL, r);
    take_limit(dataset, "valid_max", l, NULL, &r->high, r);
    take_limit(dataset, "valid_range", l, &r->low, &r->high, r);
}

static bool is_fill(const rules *r, const csrec_array *values, int64_t i) {
    size_t size = csrec_dtype_size(values->dtype);
    const uint8_t *bits = (const uint8_t *)values->data + (size_t)i * size;
    bool integer = is_integer(values->dtype);
    for (int k = 0; k < r->fills; k++)
        if (integer ? memcmp(bits, r->fill[k].bits, size) == 0
                    : csrec_array_value(values, i) == r->fill[k].value)
            return true;
    return false;
}

static void mark(const rules *r, bool fills, bool limits, csrec_image *signal) {
    for (int64_t i = 0; i < signal->pixels.count; i++) {
        double value = csrec_array_value(&signal->pixels, i);
        signal->alpha[i] &= !(fills && is_fill(r, &signal->pixels, i)) &&
                            !(limits && (value < r->low || value > r->high));
    }
}

static double packed_value(const csrec_array *values, int64_t i, const csrec_hdf5_layout *l) {
    double value = csrec_array_value(values, i);
    return is_integer(l->stored) ? unwrap(l, value) : value;
}

/* Values are changed by both in double precision, whatever their type. */
static void change(csrec_array *values, const csrec_hdf5_layout *l, double scale, double offset) {
    for (int64_t i = 0; i < values->count; i++) {
        double value = packed_value(values, i, l) * scale + offset;
        if (values->dtype == CSREC_F32)
            ((float *)values->data)[i] = (float)value;
        else
            ((double *)values->data)[i] = value;
    }
}

/* Whether chunks may be missing whose place then has a value that stands for nothing. */
static bool open_grid(hid_t dataset, const csrec_hdf5_layout *l, csrec_hdf5_grid *g) {
    hid_t creation = H5Dget_create_plist(dataset);
    H5D_fill_value_t fill = H5D_FILL_VALUE_DEFAULT;
    bool chunked = creation >= 0 && csrec_hdf5_grid_open(creation, l, g) &&
                   H5Pfill_value_defined(creation, &fill) >= 0;
    if (creation >= 0) H5Pclose(creation);
    return chunked && fill == H5D_FILL_VALUE_USER_DEFINED &&
           csrec_hdf5_chunks_written(dataset) < g->count;
}

static void clear_row(void *alpha, hsize_t whole, hsize_t part, hsize_t length) {
    (void)part;
    memset((uint8_t *)alpha + whole, 0, length);
}

static void mark_unwritten(hid_t dataset, csrec_hdf5_grid *g, uint8_t *alpha) {
    do
        if (csrec_hdf5_chunk_bytes(dataset, g) == 0) csrec_hdf5_grid_rows(g, clear_row, alpha);
    while (csrec_hdf5_grid_next(g));
}

csrec_status csrec_hdf5_unpack(const csrec_hdf5 *h5, hid_t dataset, const csrec_hdf5_layout *l,
                               csrec_image *signal, csrec_error *error) {
    csrec_array *values = &signal->pixels;
    rules r;
    csrec_hdf5_grid g;
    read_rules(dataset, l, &r);
    bool missing = H5Aexists(dataset, "_FillValue") <= 0 && open_grid(dataset, l, &g);
    if (r.fills || r.limited || missing) {
        signal->by_channel = l->has_channels;
        signal->alpha = malloc((size_t)values->count);
        if (!signal->alpha) return csrec_memory_fail(error, h5->name);
        memset(signal->alpha, 1, (size_t)values->count);
    }
    if (l->wraps && !is_integer(l->dtype)) change(values, l, 1.0, 0.0);
    if (r.fills || (r.limited && !r.unpacked)) mark(&r, true, !r.unpacked, signal);
    if (l->scale != 1.0 || l->offset != 0.0) change(values, l, l->scale, l->offset);
    if (r.limited && r.unpacked) mark(&r, false, true, signal);
    signal->has_nodata = r.fills && l->scale == 1.0 && l->offset == 0.0;
    if (signal->has_nodata && is_integer(values->dtype))
        signal->nodata =
            csrec_array_value(&(csrec_array){.dtype = values->dtype, .data = r.fill[0].bits}, 0);
    else if (signal->has_nodata)
        signal->nodata = r.fill[0].value;
    if (missing) mark_unwritten(dataset, &g, signal->alpha);
    return CSREC_OK;
}
