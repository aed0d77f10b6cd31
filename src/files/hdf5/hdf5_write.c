/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_write.c - signals to HDF5. Without chunks the values are in one piece, for which libhdf5
 * only makes room: the file is written as a frame around them. Chunks, and files that have no name
 * until they are complete (pipes), are left to libhdf5. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/hdf5/hdf5.h"

/* The file that is written, and the one that it is like. */
typedef struct writer {
    csrec_hdf5 h5, like;
    csrec_input input;   /* that of `like` */
    hid_t from, dataset; /* from: -1, or of the same shape */
    csrec_hdf5_layout layout;
    csrec_error *error;
    const csrec_image *signal;
    csrec_slab_fn take; /* of its values, or NULL: it has data */
    void *context;
    csrec_hdf5_calls calls; /* while it has begun */
    char *name;             /* of the dataset */
    bool renamed, chunked;
    hsize_t chunk[H5S_MAX_RANK];
    int rank;
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK];
} writer;

/* The axes; CSREC_ARGUMENT: no dataset can have them. */
static csrec_status measure(writer *w, const char *path) {
    const csrec_image *signal = w->signal;
    csrec_shape whole = signal->pixels.shape;
    bool split = whole.dims > 1 && (signal->has_channels || signal->bits > 0);
    int64_t channels = split ? whole.dim[--whole.dims] : 1;
    const char *reason = csrec_format_refusal(&csrec_hdf5_format.format, &whole, channels);
    if (reason || signal->alpha)
        return csrec_fail(w->error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "an HDF5 file is written without transparency");
    w->rank = signal->pixels.shape.dims;
    for (int a = 0; a < w->rank; a++)
        w->extent[a] = w->most[a] = (hsize_t)signal->pixels.shape.dim[a];
    return CSREC_OK;
}

/* A dataset of the same shape gives its axes, too: those of extent 1, and which can grow. */
static void compare(writer *w) {
    csrec_error ignored;
    csrec_hdf5_layout *l = &w->layout;
    if (w->like.file < 0) return;
    if (csrec_hdf5_find(&w->like, &w->from, &ignored) ||
        csrec_hdf5_layout_read(&w->like, w->from, l, &ignored) ||
        !csrec_shape_equal(&l->shape, &w->signal->pixels.shape)) {
        w->from = -1;
        return;
    }
    w->rank = l->rank;
    memcpy(w->extent, l->extent, sizeof l->extent);
    memcpy(w->most, l->most, sizeof l->most);
}

/* As the path says, or as the input has it. */
static void choose_name(writer *w, const char *path) {
    const char *member = csrec_path_member(path);
    char *own = w->from >= 0 ? csrec_hdf5_path(w->from) : NULL;
    if (member && member[strspn(member, "/")])
        w->name = strdup(member);
    else
        w->name = strdup(own ? own : "/data");
    w->renamed = w->name && own && strcmp(w->name + strspn(w->name, "/"), own + 1) != 0;
    free(own);
}

/* Filters without loss that this libhdf5 can apply. */
static void copy_filter(hid_t from, unsigned i, hid_t to) {
    unsigned flags, config = 0, values[32] = {0};
    size_t count = sizeof values / sizeof *values;
    H5Z_filter_t id = H5Pget_filter2(from, i, &flags, &count, values, 0, NULL, NULL);
    if (id == H5Z_FILTER_DEFLATE && values[0] > 9) values[0] = 6;
    if (csrec_hdf5_is_exact(id) && count <= sizeof values / sizeof *values &&
        H5Zget_filter_info(id, &config) >= 0 && config & H5Z_FILTER_CONFIG_ENCODE_ENABLED)
        H5Pset_filter(to, id, flags, count, values);
}

/* Axes can grow in chunks only. Times would make every file another one. */
static hid_t creation_list(writer *w) {
    hid_t to = H5Pcreate(H5P_DATASET_CREATE);
    hid_t from = w->from >= 0 ? H5Dget_create_plist(w->from) : -1;
    w->chunked = from >= 0 && H5Pget_layout(from) == H5D_CHUNKED &&
                 H5Pget_chunk(from, H5S_MAX_RANK, w->chunk) == w->rank;
    H5Pset_obj_track_times(to, false);
    H5Pset_attr_creation_order(to, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    if (w->chunked) {
        H5Pset_chunk(to, w->rank, w->chunk);
    } else {
        memcpy(w->most, w->extent, sizeof w->most);
        H5Pset_alloc_time(to, H5D_ALLOC_TIME_EARLY);
    }
    int filters = w->chunked ? H5Pget_nfilters(from) : 0;
    for (int i = 0; i < filters; i++) copy_filter(from, (unsigned)i, to);
    if (from >= 0) H5Pclose(from);
    return to;
}

static bool create_dataset(writer *w) {
    hid_t creation = creation_list(w), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t type = csrec_hdf5_type(w->signal->pixels.dtype);
    hid_t space = H5Screate_simple(w->rank, w->extent, w->most);
    H5Pset_create_intermediate_group(links, 1);
    w->dataset = H5Dcreate2(w->h5.file, w->name, type, space, links, creation, H5P_DEFAULT);
    if (space >= 0) H5Sclose(space);
    H5Pclose(links);
    H5Pclose(creation);
    return w->dataset >= 0;
}

/* Of how values are stored or which are known, and what the scales bring along. */
static const char *const of_storage[] = {
    "_FillValue",  "missing_value", "scale_factor", "add_offset",
    "valid_range", "valid_min",     "valid_max",    "actual_range",
    "_Unsigned",   "_Netcdf4Dimid", "_ChunkSizes",  "_Netcdf4Coordinates",
    NULL};
static const char *const of_netcdf[] = {"_NCProperties", NULL};
static const char *const of_names[] = {"_NCProperties", "default", "signal", "axes", NULL};

static void copy_group(const writer *w, const char *path) {
    hid_t from = csrec_hdf5_object(w->like.file, path);
    hid_t to = H5Oopen(w->h5.file, path, H5P_DEFAULT);
    if (from >= 0 && to >= 0 && H5Iget_type(from) == H5I_GROUP)
        csrec_hdf5_copy_attributes(&w->like, from, to, w->renamed ? of_names : of_netcdf);
    if (from >= 0) H5Oclose(from);
    if (to >= 0) H5Oclose(to);
}

/* Attributes of the file and of the groups around the dataset: units, titles, NeXus classes. */
static void copy_groups(const writer *w) {
    char *path = strdup(w->name);
    copy_group(w, "/");
    for (char *at = path ? strchr(path + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = '\0';
        copy_group(w, path);
        *at = '/';
    }
    free(path);
}

static void copy_metadata(const writer *w) {
    if (w->from < 0) return;
    csrec_hdf5_copy_attributes(&w->like, w->from, w->dataset, of_storage);
    csrec_hdf5_copy_beside(&w->like, w->from, w->dataset, w->h5.file);
    copy_groups(w);
}

/* Which number stands for unknown ones, among those that are written. */
static void name_fill(const writer *w) {
    uint64_t bits = 0;
    const csrec_dtype dtype = w->signal->pixels.dtype;
    csrec_array value = {.dtype = dtype, .count = 1, .data = &bits};
    if (!w->signal->has_nodata) return;
    csrec_array_set(&value, 0, w->signal->nodata);
    hid_t type = csrec_hdf5_type(dtype), space = H5Screate_simple(1, &(hsize_t){1}, NULL);
    hid_t fill = H5Acreate2(w->dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (fill >= 0) H5Awrite(fill, type, &bits);
    if (fill >= 0) H5Aclose(fill);
    H5Sclose(space);
}

/* In h5, which is open: all but the values, for which there is room unless they are in chunks. Then
 * the file that it is like is closed, so that others may open it. */
static bool create(writer *w) {
    if (!create_dataset(w)) return false;
    copy_metadata(w);
    name_fill(w);
    csrec_hdf5_close(&w->like);
    return true;
}

/* Measures, locks libhdf5, opens what the file is like and chooses the dataset's name. End it in
 * any case. */
static csrec_status begin(writer *w, const char *path, const char *like) {
    csrec_error ignored;
    csrec_status status = measure(w, path);
    w->h5.file = w->like.file = w->from = -1;
    csrec_hdf5_enter(&w->calls);
    if (!status && csrec_format_open_like(&csrec_hdf5_format, like, &w->input) &&
        csrec_hdf5_open(&w->input, &w->like, &ignored))
        w->like.file = -1;
    if (status) return status;
    compare(w);
    choose_name(w, path);
    return w->name ? CSREC_OK : csrec_memory_fail(w->error, path);
}

static void end(writer *w) {
    csrec_hdf5_close(&w->h5);
    csrec_hdf5_close(&w->like);
    csrec_hdf5_leave(&w->calls);
    csrec_input_close(&w->input);
    free(w->name);
}

static csrec_status copy_frame(int fd, int64_t offset, uint64_t values, const char *name,
                               csrec_frame *frame, csrec_error *error) {
    struct stat info;
    const off_t end = (off_t)offset + (off_t)values;
    errno = 0;
    if (offset < 0 || fstat(fd, &info) != 0 || info.st_size < end)
        return csrec_output_failed(name, error);
    size_t tail = (size_t)(info.st_size - end);
    CSREC_TRY(csrec_frame_create((size_t)offset, tail, name, frame, error));
    if (pread(fd, frame->head, (size_t)offset, 0) == (ssize_t)offset &&
        pread(fd, frame->tail, tail, end) == (ssize_t)tail)
        return CSREC_OK;
    csrec_frame_clear(frame);
    return csrec_output_failed(name, error);
}

/* libhdf5 writes the frame into a file of its own, where nothing is written between (so that it is
 * small where file systems have holes). */
static csrec_status make_frame(writer *w, const csrec_output *output, int fd, const char *name,
                               csrec_frame *frame) {
    const csrec_array *pixels = &w->signal->pixels;
    if (csrec_hdf5_create(output->name, name, 0, &w->h5, w->error)) return CSREC_UNSUPPORTED;
    if (!create(w)) return csrec_hdf5_failed(&w->h5, w->error);
    haddr_t offset = H5Dget_offset(w->dataset);
    H5Dclose(w->dataset);
    if (w->chunked)
        return csrec_fail(w->error, CSREC_UNSUPPORTED, "%s: chunks are written by one process",
                          output->name);
    errno = 0;
    if (!csrec_hdf5_close(&w->h5)) return csrec_output_failed(output->name, w->error);
    return copy_frame(fd, offset == HADDR_UNDEF ? -1 : (int64_t)offset,
                      (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype), output->name,
                      frame, w->error);
}

static csrec_status add_fingerprint(const csrec_output *output, csrec_frame *frame,
                                    csrec_error *error) {
    const char *text = csrec_output_fingerprint(output);
    char *line = text ? csrec_fingerprint_line(text, 1) : NULL;
    if (!text) return CSREC_OK;
    void *tail = line ? realloc(frame->tail, frame->tail_bytes + strlen(line) + 1) : NULL;
    if (tail) {
        memcpy((char *)tail + frame->tail_bytes, line, strlen(line));
        frame->tail = tail;
        frame->tail_bytes += strlen(line);
    }
    free(line);
    if (tail) return CSREC_OK;
    csrec_frame_clear(frame);
    return csrec_memory_fail(error, output->name);
}

csrec_status csrec_hdf5_frame(const csrec_output *output, const char *path,
                              const csrec_image *signal, const char *like, uint32_t crc,
                              csrec_frame *frame, csrec_error *error) {
    writer w = {.error = error, .signal = signal};
    char *name = NULL;
    (void)crc;
    if (!output->temporary)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", output->name);
    int fd = csrec_temporary_open(output->target, &name);
    if (fd < 0) return csrec_output_failed(output->name, error);
    csrec_status status = begin(&w, path, like);
    if (!status) status = make_frame(&w, output, fd, name, frame);
    end(&w);
    remove(name);
    free(name);
    close(fd);
    return status ? status : add_fingerprint(output, frame, error);
}

enum { SLAB = 1 << 22 }; /* bytes, about */

static csrec_status failed(writer *w) {
    bool disk = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO;
    return disk ? csrec_output_failed(w->h5.name, w->error) : csrec_hdf5_failed(&w->h5, w->error);
}

static bool put(const writer *w, csrec_slab slab, const void *values) {
    const int first = w->rank - w->signal->pixels.shape.dims;
    const hid_t type = csrec_hdf5_type(w->signal->pixels.dtype);
    hsize_t from[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
    memcpy(count, w->extent, sizeof count);
    from[first] = (hsize_t)slab.first;
    count[first] = (hsize_t)slab.count;
    hid_t here = H5Screate_simple(w->rank, count, NULL), there = H5Dget_space(w->dataset);
    bool good = here >= 0 && there >= 0 &&
                H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, count, NULL) >= 0 &&
                H5Dwrite(w->dataset, type, here, there, H5P_DEFAULT, values) >= 0;
    if (here >= 0) H5Sclose(here);
    if (there >= 0) H5Sclose(there);
    return good;
}

/* Whole chunks, so that each is packed once. Others may use libhdf5 while values are taken. */
static csrec_status put_slabs(writer *w) {
    const csrec_array *pixels = &w->signal->pixels;
    const int64_t rows = pixels->shape.dim[0];
    const size_t row = (size_t)(pixels->count / rows) * csrec_dtype_size(pixels->dtype);
    int64_t chunk = w->chunked ? (int64_t)w->chunk[w->rank - pixels->shape.dims] : 1;
    if (chunk > rows) chunk = rows;
    int64_t count = SLAB / (chunk * (int64_t)row) * chunk;
    if (count < chunk) count = chunk;
    if (count > rows) count = rows;
    void *part = w->take ? malloc((size_t)count * row) : NULL;
    if (w->take && !part) return csrec_memory_fail(w->error, w->h5.name);
    csrec_status status = CSREC_OK;
    for (int64_t first = 0; first < rows && !status; first += count) {
        csrec_slab slab = {first, rows - first < count ? rows - first : count};
        csrec_hdf5_leave(&w->calls);
        if (w->take) status = w->take(w->context, slab, part, w->error);
        csrec_hdf5_enter(&w->calls);
        errno = 0;
        const void *values = part ? part : (const char *)pixels->data + (size_t)first * row;
        if (!status && !put(w, slab, values)) status = failed(w);
    }
    free(part);
    return status;
}

/* The bytes are written from where libhdf5 has them. */
static csrec_status write_image(writer *w, csrec_output *output) {
    void **bytes = NULL;
    bool good = H5Fflush(w->h5.file, H5F_SCOPE_GLOBAL) >= 0;
    ssize_t size = good ? H5Fget_file_image(w->h5.file, NULL, 0) : -1;
    good = size > 0 && H5Fget_vfd_handle(w->h5.file, H5P_DEFAULT, (void **)&bytes) >= 0;
    if (!good) return csrec_hdf5_failed(&w->h5, w->error);
    return csrec_output_write(output, *bytes, (uint64_t)size, w->error);
}

/* Into the temporary file itself, or else memory. */
static csrec_status create_file(writer *w, const csrec_output *output, bool *memory) {
    const csrec_array *pixels = &w->signal->pixels;
    uint64_t bytes = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype);
    *memory = !output->temporary ||
              csrec_hdf5_create(output->name, output->temporary, 0, &w->h5, w->error);
    if (!*memory) return CSREC_OK;
    CSREC_TRY(csrec_memory_check(bytes, 1, output->name, w->error));
    return csrec_hdf5_create(output->name, NULL, bytes / 8 + (1 << 16), &w->h5, w->error);
}

static csrec_status write_values(writer *w, csrec_output *output) {
    bool memory = false;
    csrec_status status = create_file(w, output, &memory);
    errno = 0;
    if (!status && !create(w)) status = failed(w);
    if (!status) status = put_slabs(w);
    if (w->dataset >= 0) H5Dclose(w->dataset);
    if (!status && memory) status = write_image(w, output);
    errno = 0;
    if (!csrec_hdf5_close(&w->h5) && !status) status = failed(w);
    return status ? status : csrec_output_append_fingerprint(output, w->error);
}

static csrec_status write_file(writer *w, csrec_output *output, const char *path,
                               const char *like) {
    csrec_status status = csrec_framed_write(output, &csrec_hdf5_format.framing, path, w->signal,
                                             w->take, w->context, like, w->error);
    if (status != CSREC_UNSUPPORTED || ftello(output->file) > 0) return status;
    w->dataset = -1;
    status = begin(w, path, like);
    if (!status) status = write_values(w, output);
    end(w);
    return status;
}

csrec_status csrec_hdf5_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                    csrec_slab_fn take, void *context, const char *like,
                                    csrec_error *error) {
    writer w = {.error = error, .signal = signal, .take = take, .context = context};
    csrec_output output;
    char file[CSREC_PATH_ROOM];
    CSREC_TRY(measure(&w, path));
    if (!take && !signal->pixels.data)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: has no values to write", path);
    CSREC_TRY(
        csrec_output_open(files, csrec_path_file(path, file), CSREC_OUTPUT_STREAM, &output, error));
    return csrec_output_close(&output, write_file(&w, &output, path, like), error);
}

csrec_status csrec_hdf5_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error) {
    return csrec_hdf5_write_slabs(files, path, signal, NULL, NULL, like, error);
}
