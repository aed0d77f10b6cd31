/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_layout.c - what a dataset holds: its type, its axes, and how its numbers are packed. */
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "files/hdf5/hdf5.h"

enum { AXES_MOST = 4 };

/* "NAME: /DATASET WHAT" */
static csrec_status refuse(const csrec_hdf5 *h5, hid_t dataset, csrec_status status,
                           const char *what, csrec_error *error) {
    char text[CSREC_HDF5_TEXT];
    char *path = error ? csrec_hdf5_path(dataset) : NULL;
    csrec_hdf5_print(path ? path : "its dataset", text);
    free(path);
    return csrec_fail(error, status, "%s: %s %s", h5->name, text, what);
}

/* ------------------------------------------------------------------ type ---------------------- */

static bool is_member(hid_t type, unsigned i, const char *one, const char *other) {
    char *name = H5Tget_member_name(type, i);
    bool same = name && (strcmp(name, one) == 0 || strcmp(name, other) == 0);
    H5free_memory(name);
    return same;
}

/* What is no number that is read; "": a number. */
static const char *what_is(hid_t type) {
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return H5Tget_size(type) <= 8 ? "" : "has integers of more than 64 bits; save float64";
    case H5T_FLOAT:
        return H5Tget_size(type) <= 8 ? "" : "has floats of more than 64 bits; save float64";
    case H5T_ENUM: /* booleans of h5py */
        return H5Tget_nmembers(type) == 2 && is_member(type, 0, "FALSE", "FALSE") &&
                       is_member(type, 1, "TRUE", "TRUE")
                   ? ""
                   : "has values of an enumeration; save them as integers";
    case H5T_COMPOUND:
        if (H5Tget_nmembers(type) == 2 && is_member(type, 0, "r", "real") &&
            is_member(type, 1, "i", "imag"))
            return H5Tget_size(type) <= 8
                       ? "is complex64 (a compound of r and i), which is not supported yet; save "
                         "its real and imaginary parts as two datasets"
                       : "is complex128 (a compound of r and i), which is not supported yet; save "
                         "its real and imaginary parts as two datasets";
        return "has compounds of several fields; save one field as a dataset";
    case H5T_STRING:
        return "has strings, not numbers; name another dataset";
    case H5T_REFERENCE:
        return "has references, not numbers; name another dataset";
    case H5T_OPAQUE:
        return "has opaque bytes, not numbers; name another dataset";
    default:
        return "has values that are no numbers; name another dataset";
    }
}

static csrec_dtype stored_type(hid_t type) {
    size_t size = H5Tget_size(type);
    bool sign = H5Tget_sign(type) == H5T_SGN_2;
    if (H5Tget_class(type) == H5T_FLOAT) return size <= 4 ? CSREC_F32 : CSREC_F64;
    if (H5Tget_class(type) == H5T_ENUM) return CSREC_U8;
    if (size == 1) return sign ? CSREC_I8 : CSREC_U8;
    if (size == 2) return sign ? CSREC_I16 : CSREC_U16;
    if (size <= 4) return sign ? CSREC_I32 : CSREC_U32;
    return sign ? CSREC_I64 : CSREC_U64;
}

/* ------------------------------------------------------------------ axes ---------------------- */

/* Of true colour, one pixel's channels after the other's (HDF5 Image and Palette Specification). */
static bool is_interlaced(const csrec_hdf5 *h5, hid_t dataset, const csrec_hdf5_layout *l) {
    return l->rank == 3 && l->extent[2] == 3 && csrec_hdf5_text_is(h5, dataset, "CLASS", "IMAGE") &&
           csrec_hdf5_text_is(h5, dataset, "INTERLACE_MODE", "INTERLACE_PIXEL");
}

/* "" or why not. */
static const char *read_axes(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *l) {
    hid_t space = H5Dget_space(dataset);
    l->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool simple = l->rank > 0 && H5Sget_simple_extent_dims(space, l->extent, l->most) > 0;
    if (space >= 0) H5Sclose(space);
    if (!simple) return "is a single value or none; save an array";
    l->has_channels = is_interlaced(h5, dataset, l);
    int first = 0;
    while (first < l->rank - 1 && l->extent[first] == 1 && !l->has_channels) first++;
    if (l->rank - first > AXES_MOST) return "has more than 4 axes; save 1 to 4 of them";
    l->shape = (csrec_shape){.dims = l->rank - first};
    for (int a = 0; a < l->shape.dims; a++)
        l->shape.dim[a] = l->extent[first + a] <= INT64_MAX ? (int64_t)l->extent[first + a] : 0;
    l->first = first;
    memset(l->from, 0, sizeof l->from);
    memcpy(l->end, l->extent, sizeof l->end);
    return csrec_shape_count(&l->shape, &l->count) ? "has no values, or too many; save an array"
                                                   : "";
}

csrec_status csrec_hdf5_layout_narrow(const csrec_input *input, csrec_hdf5_layout *l,
                                      csrec_error *error) {
    csrec_status status = csrec_input_narrow(input, &l->shape, error);
    if (status || input->slab.count == 0) return status;
    l->from[l->first] = (hsize_t)input->slab.first;
    l->end[l->first] = (hsize_t)(input->slab.first + input->slab.count);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ packing ------------------- */

/* As of FITS: single precision has enough digits for 16 bits. */
static void read_packing(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *l) {
    bool integer = l->stored != CSREC_F32 && l->stored != CSREC_F64;
    bool sign = l->stored == CSREC_I8 || l->stored == CSREC_I16 || l->stored == CSREC_I32 ||
                l->stored == CSREC_I64;
    l->scale = 1.0;
    l->offset = 0.0;
    csrec_hdf5_numbers(dataset, "scale_factor", H5T_NATIVE_DOUBLE, 1, &l->scale, NULL);
    csrec_hdf5_numbers(dataset, "add_offset", H5T_NATIVE_DOUBLE, 1, &l->offset, NULL);
    l->wraps = sign && (csrec_hdf5_text_is(h5, dataset, "_Unsigned", "true") ||
                        csrec_hdf5_text_is(h5, dataset, "_Unsigned", "True"));
    l->dtype = l->wraps ? (csrec_dtype)(l->stored - 1) : l->stored; /* U8, I8, U16, I16 ... */
    if (integer && (l->scale != 1.0 || l->offset != 0.0))
        l->dtype = csrec_dtype_size(l->stored) > 2 ? CSREC_F64 : CSREC_F32;
}

csrec_status csrec_hdf5_layout_read(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *layout,
                                    csrec_error *error) {
    hid_t type = H5Dget_type(dataset);
    if (type < 0) return csrec_hdf5_failed(h5, error);
    const char *reason = what_is(type);
    if (!*reason) layout->stored = stored_type(type);
    H5Tclose(type);
    if (*reason) return refuse(h5, dataset, CSREC_UNSUPPORTED, reason, error);
    reason = read_axes(h5, dataset, layout);
    if (*reason)
        return refuse(h5, dataset, layout->rank > 0 ? CSREC_UNSUPPORTED : CSREC_DATA, reason,
                      error);
    read_packing(h5, dataset, layout);
    return CSREC_OK;
}
