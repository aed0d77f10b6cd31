/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_chunks.c - chunks of a dataset, unpacked here where they have the usual filters.
 * libhdf5 1.10 trusts the sizes in the index of chunks and those that filters end with, which
 * crashes on damaged files: so it is only asked for the bytes of each chunk. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "files/hdf5/hdf5.h"

enum { FILTERS_MOST = 8, CHECKSUM = 4 };

bool csrec_hdf5_grid_open(hid_t creation, const csrec_hdf5_layout *l, csrec_hdf5_grid *g) {
    *g = (csrec_hdf5_grid){.rank = l->rank, .values = 1, .count = 1};
    if (H5Pget_layout(creation) != H5D_CHUNKED ||
        H5Pget_chunk(creation, H5S_MAX_RANK, g->chunk) != l->rank)
        return false;
    for (int a = 0; a < l->rank; a++) {
        if (g->chunk[a] == 0 || g->values > UINT32_MAX / g->chunk[a]) return false;
        g->from[a] = l->from[a];
        g->end[a] = l->end[a];
        g->start[a] = g->from[a] / g->chunk[a] * g->chunk[a];
        g->values *= g->chunk[a];
        g->count *= (l->extent[a] - 1) / g->chunk[a] + 1;
    }
    return true;
}

bool csrec_hdf5_grid_next(csrec_hdf5_grid *g) {
    int a = g->rank - 1;
    for (; a >= 0 && (g->start[a] += g->chunk[a]) >= g->end[a]; a--)
        g->start[a] = g->from[a] / g->chunk[a] * g->chunk[a];
    return a >= 0;
}

void csrec_hdf5_grid_rows(const csrec_hdf5_grid *g, csrec_hdf5_row row, void *context) {
    hsize_t at[H5S_MAX_RANK], first[H5S_MAX_RANK], end[H5S_MAX_RANK];
    const int axes = g->rank, last = axes - 1;
    for (int a = 0; a < axes; a++) {
        hsize_t left = g->end[a] - g->start[a];
        at[a] = first[a] = g->start[a] < g->from[a] ? g->from[a] : g->start[a];
        end[a] = g->start[a] + (g->chunk[a] < left ? g->chunk[a] : left);
    }
    for (int a = 0; a >= 0;) {
        hsize_t whole = 0, part = 0;
        for (int k = 0; k < axes; k++) {
            whole = whole * (g->end[k] - g->from[k]) + at[k] - g->from[k];
            part = part * g->chunk[k] + at[k] - g->start[k];
        }
        row(context, whole, part, end[last] - first[last]);
        for (a = last - 1; a >= 0 && ++at[a] == end[a]; a--) at[a] = first[a];
    }
}

hsize_t csrec_hdf5_chunks_written(hid_t dataset) {
    hid_t space = H5Dget_space(dataset);
    hsize_t count = 0;
    bool good = space >= 0 && H5Dget_num_chunks(dataset, space, &count) >= 0;
    if (space >= 0) H5Sclose(space);
    return good ? count : UINT64_MAX;
}

hsize_t csrec_hdf5_chunk_bytes(hid_t dataset, const csrec_hdf5_grid *g) {
    hsize_t bytes = 0;
    return H5Dget_chunk_storage_size(dataset, g->start, &bytes) < 0 ? 0 : bytes;
}

typedef struct filter {
    H5Z_filter_t id;
    unsigned size; /* of the values that are shuffled */
} filter;

/* Bytes that pass through the filters; both have room for a chunk of values and its checksums. */
typedef struct buffers {
    uint8_t *from, *to;
    size_t size, room;
} buffers;

static void swap(buffers *b, size_t size) {
    uint8_t *from = b->from;
    b->from = b->to;
    b->to = from;
    b->size = size;
}

static bool inflate_bytes(buffers *b) {
    uLongf size = b->room;
    if (uncompress(b->to, &size, b->from, b->size) != Z_OK) return false;
    swap(b, size);
    return true;
}

/* The first bytes of all values came first, then the second ones. */
static bool unshuffle(buffers *b, unsigned size) {
    if (size == 0) return false;
    size_t count = b->size / size;
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < count; i++) b->to[i * size + k] = b->from[k * count + i];
    memcpy(b->to + count * size, b->from + count * size, b->size - count * size);
    swap(b, b->size);
    return true;
}

/* Fletcher's sums of 16 bit numbers, of which the first byte is the higher one. */
static bool check_sums(buffers *b) {
    uint64_t one = 0, two = 0;
    if (b->size < CHECKSUM) return false;
    b->size -= CHECKSUM;
    for (size_t i = 0; i < b->size; i += 2) {
        one = (one + (b->from[i] << 8) + (i + 1 < b->size ? b->from[i + 1] : 0)) % 65535;
        two = (two + one) % 65535;
    }
    const uint8_t *told = b->from + b->size;
    uint64_t found = (uint64_t)told[2] | (uint64_t)told[3] << 8;
    uint64_t other = (uint64_t)told[0] | (uint64_t)told[1] << 8;
    return found % 65535 == two && other % 65535 == one;
}

static bool apply(const filter *f, buffers *b) {
    switch (f->id) {
    case H5Z_FILTER_DEFLATE:
        return inflate_bytes(b);
    case H5Z_FILTER_SHUFFLE:
        return unshuffle(b, f->size);
    default:
        return check_sums(b);
    }
}

/* How many, -1: others than those of here, or a way of storing that is left to libhdf5. */
static int read_filters(hid_t creation, filter filters[FILTERS_MOST]) {
    unsigned options = 0;
    int count = H5Pget_nfilters(creation);
    if (count > FILTERS_MOST || H5Pget_chunk_opts(creation, &options) < 0 || options) return -1;
    for (int i = 0; i < count; i++) {
        unsigned flags, config, values[8] = {0};
        size_t known = sizeof values / sizeof *values;
        filters[i].id =
            H5Pget_filter2(creation, (unsigned)i, &flags, &known, values, 0, NULL, &config);
        filters[i].size = values[0];
        if (filters[i].id != H5Z_FILTER_DEFLATE && filters[i].id != H5Z_FILTER_SHUFFLE &&
            filters[i].id != H5Z_FILTER_FLETCHER32)
            return -1;
    }
    return count;
}

typedef struct chunks {
    hid_t dataset, from, to; /* the types of the file and of the values */
    size_t stored, wanted;   /* their bytes */
    csrec_hdf5_grid grid;
    filter filters[FILTERS_MOST];
    int count;
    buffers work;
    uint8_t *fill, *values; /* of a chunk that was never written; of the whole dataset */
    hsize_t storage, found; /* bytes of all chunks in the file; chunks that were read */
} chunks;

/* Without filters libhdf5 reads as many bytes of a chunk as the index says, whatever it told
 * before, but no more than those of all chunks. What is not read takes no memory. */
static bool make_room(chunks *c) {
    const size_t size = c->stored * c->grid.values, most = c->wanted * c->grid.values;
    size_t room = compressBound(size) + (size_t)FILTERS_MOST * CHECKSUM;
    if (room < most) room = most;
    c->work.room = room;
    if (c->count == 0 && c->storage > room)
        room = c->storage < UINT32_MAX ? c->storage : UINT32_MAX;
    c->work.from = calloc(1, room);
    c->work.to = malloc(c->work.room);
    c->fill = calloc(1, c->wanted);
    return c->work.from && c->work.to && c->fill;
}

/* The values of a chunk as they are in the file. */
static bool unpack(chunks *c, hsize_t bytes) {
    uint32_t skipped = 0;
    const size_t size = c->stored * c->grid.values;
    if (bytes > c->work.room || (c->count == 0 && bytes != size)) return false;
    c->work.size = bytes;
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, c->grid.start, &skipped, c->work.from) < 0)
        return false;
    for (int i = c->count - 1; i >= 0; i--)
        if (!(skipped >> i & 1) && !apply(&c->filters[i], &c->work)) return false;
    return c->work.size == size &&
           H5Tconvert(c->from, c->to, c->grid.values, c->work.from, NULL, H5P_DEFAULT) >= 0;
}

static void copy_row(void *context, hsize_t whole, hsize_t part, hsize_t length) {
    const chunks *c = context;
    memcpy(c->values + whole * c->wanted, c->work.from + part * c->wanted, length * c->wanted);
}

static void fill_row(void *context, hsize_t whole, hsize_t part, hsize_t length) {
    const chunks *c = context;
    (void)part;
    for (hsize_t i = 0; i < length; i++)
        memcpy(c->values + (whole + i) * c->wanted, c->fill, c->wanted);
}

static bool read_chunk(chunks *c) {
    hsize_t bytes = csrec_hdf5_chunk_bytes(c->dataset, &c->grid);
    if (bytes > 0 && !unpack(c, bytes)) return false;
    csrec_hdf5_grid_rows(&c->grid, bytes > 0 ? copy_row : fill_row, c);
    c->found += bytes > 0;
    return true;
}

/* The chunks that begin behind the end of the slab. */
static hsize_t written_behind(const chunks *c, const csrec_hdf5_layout *l) {
    const hsize_t chunk = c->grid.chunk[l->first], end = c->grid.end[l->first];
    csrec_hdf5_grid behind = c->grid;
    hsize_t count = 0;
    behind.from[l->first] = behind.start[l->first] = ((end - 1) / chunk + 1) * chunk;
    behind.end[l->first] = l->extent[l->first];
    if (behind.from[l->first] >= l->extent[l->first]) return 0;
    do count += csrec_hdf5_chunk_bytes(c->dataset, &behind) > 0;
    while (csrec_hdf5_grid_next(&behind));
    return count;
}

/* A chunk that cannot be found looks like one that was never written. */
static bool read_all(chunks *c, const csrec_hdf5_layout *l, hid_t creation) {
    hsize_t written = csrec_hdf5_chunks_written(c->dataset);
    if (c->count == 0 && c->storage != written * c->stored * c->grid.values) return false;
    H5Pget_fill_value(creation, c->to, c->fill);
    do
        if (!read_chunk(c)) return false;
    while (csrec_hdf5_grid_next(&c->grid));
    return l->from[l->first] > 0 ? c->found <= written : c->found + written_behind(c, l) == written;
}

csrec_status csrec_hdf5_read_chunks(const csrec_hdf5 *h5, hid_t dataset,
                                    const csrec_hdf5_layout *layout, hid_t type, void *values,
                                    bool *done, csrec_error *error) {
    chunks c = {.dataset = dataset, .to = type, .values = values};
    hid_t creation = H5Dget_create_plist(dataset);
    *done = creation >= 0 && csrec_hdf5_grid_open(creation, layout, &c.grid) &&
            (c.count = read_filters(creation, c.filters)) >= 0;
    csrec_status status = CSREC_OK;
    if (*done) {
        c.from = H5Dget_type(dataset);
        c.stored = H5Tget_size(c.from);
        c.wanted = H5Tget_size(c.to);
        c.storage = H5Dget_storage_size(dataset);
        if (!make_room(&c))
            status = csrec_memory_fail(error, h5->name);
        else if (!read_all(&c, layout, creation))
            status = csrec_fail(error, CSREC_FORMAT,
                                "%s: damaged HDF5 (its chunks cannot be unpacked); write or copy "
                                "the file again",
                                h5->name);
        H5Tclose(c.from);
    }
    free(c.work.from);
    free(c.work.to);
    free(c.fill);
    if (creation >= 0) H5Pclose(creation);
    return status;
}
