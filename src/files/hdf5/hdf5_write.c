/* hdf5_write.c - signals to HDF5. Without chunks the values are in one piece, for which libhdf5
 * only makes room: the file is written as a frame around them. Chunks, and files that have no name
 * until they are complete (pipes), are left to libhdf5. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/fingerprint.h"
#include "files/format.h"
#include "files/hdf5/hdf5_writer.h"
#include "files/output.h"

/* ------------------------------------------------------------------ a frame ------------------- */

static csrec_status copy_frame(int fd, int64_t offset, uint64_t values, const char *name,
                               csrec_frame *frame, csrec_error *error) {
    struct stat info;
    const off_t end = (off_t)offset + (off_t)values;
    errno = 0;
    if (offset < 0 || fstat(fd, &info) != 0 || info.st_size < end)
        return csrec_output_failed(name, error);
    size_t tail = (size_t)(info.st_size - end);
    csrec_status status = csrec_frame_create((size_t)offset, tail, name, frame, error);
    if (status) return status;
    if (pread(fd, frame->head, (size_t)offset, 0) == (ssize_t)offset &&
        pread(fd, frame->tail, tail, end) == (ssize_t)tail)
        return CSREC_OK;
    csrec_frame_clear(frame);
    return csrec_output_failed(name, error);
}

/* libhdf5 writes the frame into a file of its own, where nothing is written between (so that it is
 * small where file systems have holes). */
static csrec_status make_frame(csrec_hdf5_writer *w, const csrec_output *output, int fd,
                               const char *name, csrec_frame *frame) {
    const csrec_array *pixels = &w->signal->pixels;
    if (csrec_hdf5_create(output->name, name, 0, &w->h5, w->error)) return CSREC_UNSUPPORTED;
    if (!csrec_hdf5_writer_create(w)) return csrec_hdf5_failed(&w->h5, w->error);
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
    return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", output->name);
}

csrec_status csrec_hdf5_frame(const csrec_output *output, const char *path,
                              const csrec_image *signal, const char *like, uint32_t crc,
                              csrec_frame *frame, csrec_error *error) {
    csrec_hdf5_writer w = {.error = error, .signal = signal};
    char *name = NULL;
    (void)crc;
    if (!output->temporary)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", output->name);
    int fd = csrec_temporary_open(output->target, &name);
    if (fd < 0) return csrec_output_failed(output->name, error);
    csrec_status status = csrec_hdf5_writer_begin(&w, path, like);
    if (!status) status = make_frame(&w, output, fd, name, frame);
    csrec_hdf5_writer_end(&w);
    remove(name);
    free(name);
    close(fd);
    return status ? status : add_fingerprint(output, frame, error);
}

/* ------------------------------------------------------------------ values by libhdf5 --------- */

enum { SLAB = 1 << 22 }; /* bytes, about */

static csrec_status failed(csrec_hdf5_writer *w) {
    bool disk = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO;
    return disk ? csrec_output_failed(w->h5.name, w->error) : csrec_hdf5_failed(&w->h5, w->error);
}

static bool put(const csrec_hdf5_writer *w, csrec_slab slab, const void *values) {
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
static csrec_status put_slabs(csrec_hdf5_writer *w) {
    const csrec_array *pixels = &w->signal->pixels;
    const int64_t rows = pixels->shape.dim[0];
    const size_t row = (size_t)(pixels->count / rows) * csrec_dtype_size(pixels->dtype);
    int64_t chunk = w->chunked ? (int64_t)w->chunk[w->rank - pixels->shape.dims] : 1;
    if (chunk > rows) chunk = rows;
    int64_t count = SLAB / (chunk * (int64_t)row) * chunk;
    if (count < chunk) count = chunk;
    if (count > rows) count = rows;
    void *part = w->take ? malloc((size_t)count * row) : NULL;
    if (w->take && !part)
        return csrec_fail(w->error, CSREC_MEMORY, "%s: out of memory", w->h5.name);
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
static csrec_status write_image(csrec_hdf5_writer *w, csrec_output *output) {
    void **bytes = NULL;
    bool good = H5Fflush(w->h5.file, H5F_SCOPE_GLOBAL) >= 0;
    ssize_t size = good ? H5Fget_file_image(w->h5.file, NULL, 0) : -1;
    good = size > 0 && H5Fget_vfd_handle(w->h5.file, H5P_DEFAULT, (void **)&bytes) >= 0;
    if (!good) return csrec_hdf5_failed(&w->h5, w->error);
    return csrec_output_write(output, *bytes, (uint64_t)size, w->error);
}

/* Into the temporary file itself, or else memory. */
static csrec_status create_file(csrec_hdf5_writer *w, const csrec_output *output, bool *memory) {
    const csrec_array *pixels = &w->signal->pixels;
    uint64_t bytes = (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype);
    *memory = !output->temporary ||
              csrec_hdf5_create(output->name, output->temporary, 0, &w->h5, w->error);
    if (!*memory) return CSREC_OK;
    csrec_status status = csrec_memory_check(bytes, 1, output->name, w->error);
    return status ? status
                  : csrec_hdf5_create(output->name, NULL, bytes / 8 + (1 << 16), &w->h5, w->error);
}

static csrec_status write_values(csrec_hdf5_writer *w, csrec_output *output) {
    bool memory = false;
    csrec_status status = create_file(w, output, &memory);
    errno = 0;
    if (!status && !csrec_hdf5_writer_create(w)) status = failed(w);
    if (!status) status = put_slabs(w);
    if (w->dataset >= 0) H5Dclose(w->dataset);
    if (!status && memory) status = write_image(w, output);
    errno = 0;
    if (!csrec_hdf5_close(&w->h5) && !status) status = failed(w);
    return status ? status : csrec_output_append_fingerprint(output, w->error);
}

/* ------------------------------------------------------------------ the file ------------------ */

static csrec_status write_file(csrec_hdf5_writer *w, csrec_output *output, const char *path,
                               const char *like) {
    csrec_status status = csrec_framed_write(output, &csrec_hdf5_format.framing, path, w->signal,
                                             w->take, w->context, like, w->error);
    if (status != CSREC_UNSUPPORTED || ftello(output->file) > 0) return status;
    w->dataset = -1;
    status = csrec_hdf5_writer_begin(w, path, like);
    if (!status) status = write_values(w, output);
    csrec_hdf5_writer_end(w);
    return status;
}

csrec_status csrec_hdf5_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                    csrec_slab_fn take, void *context, const char *like,
                                    csrec_error *error) {
    csrec_hdf5_writer w = {.error = error, .signal = signal, .take = take, .context = context};
    csrec_output output;
    char file[CSREC_PATH_ROOM];
    csrec_status status = csrec_hdf5_writer_measure(&w, path);
    if (!status && !take && !signal->pixels.data)
        status = csrec_fail(error, CSREC_ARGUMENT, "%s: has no values to write", path);
    if (status) return status;
    status =
        csrec_output_open(files, csrec_path_file(path, file), CSREC_OUTPUT_STREAM, &output, error);
    if (status) return status;
    return csrec_output_close(&output, write_file(&w, &output, path, like), error);
}

csrec_status csrec_hdf5_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error) {
    return csrec_hdf5_write_slabs(files, path, signal, NULL, NULL, like, error);
}
