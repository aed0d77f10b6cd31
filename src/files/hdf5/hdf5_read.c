/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_read.c - what a dataset holds: its type, its axes, how its numbers are packed; and a dataset
 * to values. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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

/* "" or why not. */
static const char *read_axes(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *l) {
    hid_t space = H5Dget_space(dataset);
    l->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool simple = l->rank > 0 && H5Sget_simple_extent_dims(space, l->extent, l->most) > 0;
    if (space >= 0) H5Sclose(space);
    if (!simple) return "is a single value or none; save an array";
    /* Of true colour, one pixel's channels after the other's (HDF5 Image and Palette
     * Specification). */
    l->has_channels = l->rank == 3 && l->extent[2] == 3 &&
                      csrec_hdf5_text_is(h5, dataset, "CLASS", "IMAGE") &&
                      csrec_hdf5_text_is(h5, dataset, "INTERLACE_MODE", "INTERLACE_PIXEL");
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

/* To the slab that the input asks for: shape, from and end. CSREC_ARGUMENT: beyond the shape. */
static csrec_status hdf5_layout_narrow(const csrec_input *input, csrec_hdf5_layout *l,
                                       csrec_error *error) {
    csrec_status status = csrec_input_narrow(input, &l->shape, error);
    if (status || input->slab.count == 0) return status;
    l->from[l->first] = (hsize_t)input->slab.first;
    l->end[l->first] = (hsize_t)(input->slab.first + input->slab.count);
    return CSREC_OK;
}

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

/* Bytes that a byte of a compressed chunk can stand for: deflate makes 1032 of one, and a part of
 * the chunks may not have been written. */
enum { RATIO_MOST = 2048 };

static const struct {
    H5Z_filter_t id;
    const char *name;
    bool exact;
} filters[] = {{H5Z_FILTER_SZIP, "szip", true}, {307, "bzip2", true},   {32000, "lzf", true},
               {32001, "blosc", true},          {32004, "lz4", true},   {32008, "bitshuffle", true},
               {32013, "zfp", false},           {32015, "zstd", true},  {32017, "sz", false},
               {32019, "jpeg-xr", false},       {32026, "blosc2", true}};

bool csrec_hdf5_is_exact(H5Z_filter_t id) {
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (filters[i].id == id) return filters[i].exact;
    return id == H5Z_FILTER_DEFLATE || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_FLETCHER32;
}

static csrec_status refuse_filter(const csrec_hdf5 *h5, H5Z_filter_t id, const char *told,
                                  csrec_error *error) {
    char text[CSREC_HDF5_TEXT];
    csrec_hdf5_print(told, text);
    const char *name = *text ? text : "an unknown filter";
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (filters[i].id == id) name = filters[i].name;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: its dataset is compressed by %.60s (filter %d), which libhdf5 does not "
                      "find; pip install hdf5plugin and set HDF5_PLUGIN_PATH to its folder of "
                      "plugins, or write the dataset with gzip",
                      h5->name, name, (int)id);
}

/* others: whether there are some whose ratio is not known. */
static csrec_status check_filters(const csrec_hdf5 *h5, hid_t creation, bool *others,
                                  csrec_error *error) {
    int count = H5Pget_nfilters(creation);
    for (int i = 0; i < count; i++) {
        char name[64] = "";
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t id = H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, sizeof name,
                                         name, &config);
        name[sizeof name - 1] = '\0';
        if (id < 0) return csrec_hdf5_failed(h5, error);
        if (H5Zfilter_avail(id) <= 0) return refuse_filter(h5, id, name, error);
        *others = *others || id >= H5Z_FILTER_SZIP;
    }
    return count < 0 ? csrec_hdf5_failed(h5, error) : CSREC_OK;
}

/* Bytes of a chunk in memory, of the file's type and of ours; 0: not chunked. */
static uint64_t chunk_bytes(hid_t creation, const csrec_hdf5_layout *l) {
    hsize_t chunk[H5S_MAX_RANK];
    uint64_t bytes = 8;
    if (H5Pget_layout(creation) != H5D_CHUNKED) return 0;
    int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
    if (rank != l->rank) return UINT64_MAX;
    for (int a = 0; a < rank; a++) {
        if (chunk[a] == 0 || bytes > UINT64_MAX / chunk[a]) return UINT64_MAX;
        bytes *= chunk[a];
    }
    return bytes;
}

static csrec_status check_sizes(const csrec_hdf5 *h5, hid_t dataset, hid_t creation,
                                const csrec_hdf5_layout *l, bool others, uint64_t *chunk,
                                csrec_error *error) {
    uint64_t stored = H5Dget_storage_size(dataset);
    hid_t type = H5Dget_type(dataset);
    size_t each = type < 0 ? 0 : H5Tget_size(type);
    if (type >= 0) H5Tclose(type);
    if (each == 0) return csrec_hdf5_failed(h5, error);
    if (stored == 0)
        return csrec_fail(error, CSREC_DATA, "%s: its dataset was never written; write its values",
                          h5->name);
    if (stored > h5->size) stored = h5->size;
    *chunk = chunk_bytes(creation, l);
    uint64_t most = *chunk ? stored * RATIO_MOST : stored;
    if (others && *chunk < UINT64_MAX) return CSREC_OK;
    if (stored <= UINT64_MAX / RATIO_MOST && (uint64_t)l->count <= most / each &&
        *chunk <= 8 * most)
        return CSREC_OK;
    return csrec_fail_forged(h5->name, "values", error);
}

static csrec_status check_storage(const csrec_hdf5 *h5, hid_t dataset, const csrec_hdf5_layout *l,
                                  uint64_t *chunk, csrec_error *error) {
    hid_t creation = H5Dget_create_plist(dataset);
    if (creation < 0) return csrec_hdf5_failed(h5, error);
    csrec_status status = CSREC_OK;
    bool others = false;
    if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) != 0)
        status = csrec_fail(error, CSREC_UNSUPPORTED,
                            "%s: the values of its dataset are in other files; copy them into one, "
                            "as h5repack -l CONTI IN OUT does",
                            h5->name);
    if (!status) status = check_filters(h5, creation, &others, error);
    if (!status) status = check_sizes(h5, dataset, creation, l, others, chunk, error);
    H5Pclose(creation);
    return status;
}

static bool read_plain(hid_t dataset, const csrec_hdf5_layout *l, hid_t type, void *values) {
    hsize_t count[H5S_MAX_RANK];
    for (int a = 0; a < l->rank; a++) count[a] = l->end[a] - l->from[a];
    hid_t from = H5Dget_space(dataset), to = H5Screate_simple(l->rank, count, NULL);
    bool good = from >= 0 && to >= 0 &&
                H5Sselect_hyperslab(from, H5S_SELECT_SET, l->from, NULL, count, NULL) >= 0 &&
                H5Dread(dataset, type, to, from, H5P_DEFAULT, values) >= 0;
    if (from >= 0) H5Sclose(from);
    if (to >= 0) H5Sclose(to);
    return good;
}

/* Chunk after chunk is unpacked and converted into the array. With _Unsigned the bits of signed
 * integers are kept. */
static csrec_status read_values(const csrec_hdf5 *h5, hid_t dataset, const csrec_hdf5_layout *l,
                                csrec_image *signal, csrec_error *error) {
    int64_t count = 0;
    uint64_t chunk = 0;
    CSREC_TRY(check_storage(h5, dataset, l, &chunk, error));
    csrec_shape_count(&l->shape, &count);
    uint64_t each = csrec_dtype_size(l->dtype) + 1;
    CSREC_TRY(csrec_memory_check((uint64_t)count * each + chunk, 2, h5->name, error));
    csrec_status status = csrec_array_create(l->dtype, &l->shape, &signal->pixels);
    if (status) return csrec_fail(error, status, "%s: out of memory", h5->name);
    bool same = csrec_dtype_size(l->dtype) == csrec_dtype_size(l->stored) && l->dtype < CSREC_F32;
    hid_t type = csrec_hdf5_type(same ? l->stored : l->dtype);
    bool done = false;
    status = csrec_hdf5_read_chunks(h5, dataset, l, type, signal->pixels.data, &done, error);
    if (!status && !done && !read_plain(dataset, l, type, signal->pixels.data))
        status = csrec_hdf5_failed(h5, error);
    if (status) return status;
    h5->input->facts.flags = H5Aexists(dataset, "flag_values") > 0;
    return csrec_hdf5_unpack(h5, dataset, l, signal, error);
}

/* peek: no values. */
static csrec_status read_file(csrec_input *input, bool peek, csrec_image *signal,
                              csrec_error *error) {
    csrec_hdf5 h5;
    csrec_hdf5_layout l;
    hid_t dataset;
    CSREC_TRY(csrec_hdf5_open(input, &h5, error));
    csrec_status status = csrec_hdf5_find(&h5, &dataset, error);
    if (!status) status = csrec_hdf5_layout_read(&h5, dataset, &l, error);
    if (!status && peek)
        signal->pixels = (csrec_array){.dtype = l.dtype, .shape = l.shape, .count = l.count};
    if (!status && !peek) status = hdf5_layout_narrow(h5.input, &l, error);
    if (!status && !peek) status = read_values(&h5, dataset, &l, signal, error);
    if (!status) signal->has_channels = l.has_channels;
    if (!status) signal->time = csrec_hdf5_time(&h5, dataset) - l.first;
    if (signal->time < 0) signal->time = 0;
    csrec_hdf5_close(&h5);
    return status;
}

static csrec_status read_one(csrec_input *input, bool peek, csrec_image *signal,
                             csrec_error *error) {
    csrec_hdf5_calls calls;
    csrec_image read = {0};
    csrec_hdf5_enter(&calls);
    csrec_status status = read_file(input, peek, &read, error);
    csrec_hdf5_leave(&calls);
    return csrec_image_deliver(status, &read, signal);
}

csrec_status csrec_hdf5_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    return read_one(input, false, signal, error);
}

csrec_status csrec_hdf5_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                             csrec_error *error) {
    *transparent = true; /* NaN, or a value for unknown */
    return read_one(input, true, signal, error);
}
