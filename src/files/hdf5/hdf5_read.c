/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_read.c - a dataset to values. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/hdf5/hdf5.h"

/* Bytes that a byte of a compressed chunk can stand for: deflate makes 1032 of one, and a part of
 * the chunks may not have been written. */
enum { RATIO_MOST = 2048 };

/* ------------------------------------------------------------------ storage ------------------- */

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

/* ------------------------------------------------------------------ values -------------------- */

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
    csrec_status status = check_storage(h5, dataset, l, &chunk, error);
    if (status) return status;
    csrec_shape_count(&l->shape, &count);
    uint64_t each = csrec_dtype_size(l->dtype) + 1;
    status = csrec_memory_check((uint64_t)count * each + chunk, 2, h5->name, error);
    if (status) return status;
    status = csrec_array_create(l->dtype, &l->shape, &signal->pixels);
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

static csrec_status read_slab(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *layout,
                              csrec_image *signal, csrec_error *error) {
    csrec_status status = csrec_hdf5_layout_narrow(h5->input, layout, error);
    return status ? status : read_values(h5, dataset, layout, signal, error);
}

/* peek: no values. */
static csrec_status read_file(csrec_input *input, bool peek, csrec_image *signal,
                              csrec_error *error) {
    csrec_hdf5 h5;
    csrec_hdf5_layout l;
    hid_t dataset;
    csrec_status status = csrec_hdf5_open(input, &h5, error);
    if (status) return status;
    status = csrec_hdf5_find(&h5, &dataset, error);
    if (!status) status = csrec_hdf5_layout_read(&h5, dataset, &l, error);
    if (!status && peek)
        signal->pixels = (csrec_array){.dtype = l.dtype, .shape = l.shape, .count = l.count};
    if (!status && !peek) status = read_slab(&h5, dataset, &l, signal, error);
    if (!status) signal->has_channels = l.has_channels;
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
