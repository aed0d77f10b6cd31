/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c - a file that the processes of a communicator write together. The first makes it under
 * its temporary name and marks it; the others open it by that name, and the mark tells whether it
 * is the same file. Clients of NFS write whole pages of which they know all bytes, also those of
 * others. So each process writes its values through a descriptor that cannot read, the mark is in a
 * page of its own, and head and tail are written when all values are on the server. Before them:
 * files that are a head, values in C order, and a tail. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "csrec/comm.h"
#include "csrec/sampling.h"
#include "files/format.h"

/* Bytes of a slab, about. */
enum { SLAB = 1 << 22 };

void csrec_frame_clear(csrec_frame *frame) {
    free(frame->head);
    free(frame->tail);
    *frame = (csrec_frame){0};
}

csrec_status csrec_frame_create(size_t head_bytes, size_t tail_bytes, const char *name,
                                csrec_frame *frame, csrec_error *error) {
    *frame = (csrec_frame){malloc(head_bytes + 1), malloc(tail_bytes + 1), head_bytes, tail_bytes};
    if (frame->head && frame->tail) return CSREC_OK;
    csrec_frame_clear(frame);
    return csrec_memory_fail(error, name);
}

/* crc: NULL, or that of the bytes so far. */
static csrec_status write_values(csrec_output *output, const void *values, uint64_t bytes,
                                 uint32_t *crc, csrec_error *error) {
    if (crc) *crc = (uint32_t)crc32_z(*crc, values, (size_t)bytes);
    return csrec_output_write(output, values, bytes, error);
}

static csrec_status write_slabs(csrec_output *output, const csrec_array *pixels, csrec_slab_fn take,
                                void *context, uint32_t *crc, csrec_error *error) {
    int64_t rows = pixels->shape.dim[0];
    size_t row = (size_t)(pixels->count / rows) * csrec_dtype_size(pixels->dtype);
    int64_t count = row < SLAB ? (int64_t)(SLAB / row) : 1;
    void *part = malloc((size_t)(count < rows ? count : rows) * row);
    if (!part) return csrec_memory_fail(error, output->name);
    csrec_status status = CSREC_OK;
    for (int64_t first = 0; first < rows && !status; first += count) {
        csrec_slab slab = {first, rows - first < count ? rows - first : count};
        status = take(context, slab, part, error);
        if (!status) status = write_values(output, part, (uint64_t)slab.count * row, crc, error);
    }
    free(part);
    return status;
}

static csrec_status write_head(csrec_output *output, const csrec_frame *frame, csrec_error *error) {
    return csrec_output_write(output, frame->head, frame->head_bytes, error);
}

/* Writes the head again, now that the checksum is known, and the tail. */
static csrec_status frame_finish(csrec_output *output, const csrec_framing *framing,
                                 const char *path, const csrec_image *signal, const char *like,
                                 uint32_t crc, csrec_frame *frame, csrec_error *error) {
    csrec_frame_clear(frame);
    CSREC_TRY(framing->make(output, path, signal, like, crc, frame, error));
    if (fseeko(output->file, 0, SEEK_SET) != 0) return csrec_output_failed(output->name, error);
    CSREC_TRY(write_head(output, frame, error));
    if (fseeko(output->file, 0, SEEK_END) != 0) return csrec_output_failed(output->name, error);
    return csrec_output_write(output, frame->tail, frame->tail_bytes, error);
}

csrec_status csrec_framed_write(csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, csrec_slab_fn take,
                                void *context, const char *like, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    csrec_frame frame = {0};
    uint32_t crc = (uint32_t)crc32(0, NULL, 0), *wanted = framing->has_crc ? &crc : NULL;
    csrec_status status = framing->make(output, path, signal, like, 0, &frame, error);
    if (!status) status = write_head(output, &frame, error);
    if (!status)
        status = take ? write_slabs(output, pixels, take, context, wanted, error)
                      : write_values(output, pixels->data,
                                     (uint64_t)pixels->count * csrec_dtype_size(pixels->dtype),
                                     wanted, error);
    if (!status)
        status = wanted ? frame_finish(output, framing, path, signal, like, crc, &frame, error)
                        : csrec_output_write(output, frame.tail, frame.tail_bytes, error);
    csrec_frame_clear(&frame);
    return status;
}

struct csrec_parts {
    const char *name; /* for messages */
    int fd;
    int64_t offset; /* of the first value */
    int64_t count;  /* values of the whole */
    size_t size;    /* of a value */
    bool has_crc;
    uint32_t crc; /* of the values put so far, as if all others were missing */
};

enum { HELLO = 1 << 21, SEEN, ALL, CRC }; /* tags of messages */

enum { PAGE = 1 << 16 };

/* What the first process tells the others; name "": there is no such file. */
typedef struct hello {
    uint64_t mark;
    int64_t offset; /* of the first value */
    bool no_sync;
    char name[CSREC_PATH_ROOM];
} hello;

static int64_t end_of(const csrec_parts *p) {
    return p->offset + p->count * (int64_t)p->size;
}

static int64_t mark_of(const csrec_parts *p) {
    return (end_of(p) / PAGE + 2) * PAGE;
}

/* What all processes write, and on the first one the frame around the values. */
typedef struct whole {
    const char *path, *like;
    const csrec_image *signal;
    const csrec_framing *framing;
    csrec_output output;
    csrec_frame frame;
} whole;

static csrec_status make(csrec_files *files, whole *w, csrec_parts *p, hello *h,
                         csrec_error *error) {
    struct timespec now;
    char file[CSREC_PATH_ROOM];
    const char *path = w->path;
    csrec_output *output = &w->output;
    *h = (hello){.no_sync = csrec_files_asked(files)->no_sync};
    csrec_status status =
        csrec_output_open(files, csrec_path_file(path, file), CSREC_OUTPUT_STREAM, output, error);
    output->name = path; /* which lasts */
    if (status || !output->temporary || strlen(output->temporary) >= sizeof h->name) return status;
    CSREC_TRY(w->framing->make(output, path, w->signal, w->like, 0, &w->frame, error));
    p->offset = h->offset = (int64_t)w->frame.head_bytes;
    clock_gettime(CLOCK_REALTIME, &now);
    h->mark = csrec_random_u64((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid());
    int fd = fileno(output->file);
    if (ftruncate(fd, end_of(p)) != 0 ||
        pwrite(fd, &h->mark, sizeof h->mark, mark_of(p)) != sizeof h->mark || fsync(fd) != 0)
        return csrec_output_failed(path, error);
    memcpy(h->name, output->temporary, strlen(output->temporary) + 1);
    return CSREC_OK;
}

static bool is_same(const csrec_parts *p, const hello *h) {
    uint64_t mark = 0;
    int fd = open(h->name, O_RDONLY | O_CLOEXEC);
    bool same =
        fd >= 0 && pread(fd, &mark, sizeof mark, mark_of(p)) == sizeof mark && mark == h->mark;
    if (fd >= 0) close(fd);
    return same;
}

/* All get what the first has. */
static csrec_status tell(csrec_comm *comm, int tag, void *data, size_t bytes, csrec_error *error) {
    int from = 0;
    if (csrec_comm_rank(comm) > 0) return csrec_comm_take(comm, &from, tag, data, bytes, error);
    for (int to = 1; to < csrec_comm_size(comm); to++)
        CSREC_TRY(csrec_comm_send(comm, to, tag, data, bytes, error));
    return CSREC_OK;
}

/* The first gets the bits of all, with those that two have or without them. */
static csrec_status gather(csrec_comm *comm, int tag, bool either, uint32_t *bits,
                           csrec_error *error) {
    if (csrec_comm_rank(comm) > 0) return csrec_comm_send(comm, 0, tag, bits, sizeof *bits, error);
    for (int from = 1; from < csrec_comm_size(comm); from++) {
        uint32_t theirs = 0;
        CSREC_TRY(csrec_comm_take(comm, &from, tag, &theirs, sizeof theirs, error));
        *bits = either ? *bits | theirs : *bits ^ theirs;
    }
    return CSREC_OK;
}

/* Whether all processes have opened the file of the first. */
static csrec_status agree(csrec_comm *comm, csrec_parts *p, hello *h, bool *all,
                          csrec_error *error) {
    CSREC_TRY(tell(comm, HELLO, h, sizeof *h, error));
    p->offset = h->offset;
    if (*h->name && (csrec_comm_rank(comm) == 0 || is_same(p, h)))
        p->fd = open(h->name, O_WRONLY | O_CLOEXEC);
    uint32_t missing = p->fd < 0;
    csrec_status status = gather(comm, SEEN, true, &missing, error);
    if (!status) status = tell(comm, ALL, &missing, sizeof missing, error);
    *all = !missing;
    return status;
}

/* CRCs are linear: that of a concatenation is the sum, in bits without carry, of those of its
 * pieces, each shifted by the bytes behind it. So each process adds up its own ones in any order,
 * and the first one those of all. */
static void add_crc(csrec_parts *p, int64_t first, int64_t count, const void *values) {
    const int64_t behind = (p->count - first - count) * (int64_t)p->size;
    const uLong crc = crc32_z(0, values, (size_t)count * p->size);
    p->crc ^= (uint32_t)crc32_combine(crc, 0, (z_off_t)behind);
}

csrec_status csrec_parts_put(csrec_parts *p, int64_t first, int64_t count, const void *values,
                             csrec_error *error) {
    const char *from = values;
    off_t at = (off_t)(p->offset + first * (int64_t)p->size);
    if (first < 0 || count < 0 || first > p->count || count > p->count - first)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: %lld values from %lld on; there are %lld",
                          p->name, (long long)count, (long long)first, (long long)p->count);
    if (p->has_crc && count > 0) add_crc(p, first, count, values);
    for (size_t left = (size_t)count * p->size; left > 0;) {
        errno = 0;
        ssize_t n = pwrite(p->fd, from, left, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return csrec_output_failed(p->name, error);
        from += n;
        at += n;
        left -= (size_t)n;
    }
    return CSREC_OK;
}

/* On the server, before the others are told. */
static csrec_status settle(csrec_parts *p, bool no_sync, csrec_error *error) {
    errno = 0;
    bool good = no_sync || fsync(p->fd) == 0;
    good = close(p->fd) == 0 && good;
    p->fd = -1;
    return good ? CSREC_OK : csrec_output_failed(p->name, error);
}

/* On the first process, when all values are written. */
static csrec_status complete(whole *w, const csrec_parts *p, csrec_error *error) {
    errno = 0;
    if (ftruncate(fileno(w->output.file), end_of(p)) != 0)
        return csrec_output_failed(p->name, error);
    return frame_finish(&w->output, w->framing, w->path, w->signal, w->like, p->crc, &w->frame,
                        error);
}

static csrec_status write_parts(csrec_comm *comm, csrec_parts *p, hello *h, csrec_fill_fn fill,
                                void *context, csrec_error *error) {
    bool all = false;
    csrec_status status = agree(comm, p, h, &all, error);
    if (!status && !all)
        status =
            csrec_fail(error, CSREC_UNSUPPORTED,
                       "%s: not all processes see its folder, or it is no regular file", p->name);
    if (!status) status = fill(context, p, error);
    if (!status) status = settle(p, h->no_sync, error);
    if (!status && p->has_crc) status = gather(comm, CRC, false, &p->crc, error);
    if (!status) status = csrec_comm_wait(comm, error);
    if (p->fd >= 0) close(p->fd);
    return status;
}

csrec_status csrec_files_add_parts(csrec_files *files, const char *path, const csrec_format *format,
                                   const csrec_image *signal, csrec_comm *comm, csrec_fill_fn fill,
                                   void *context, const char *like, csrec_error *error) {
    const csrec_format_row *row = csrec_format_row_of(format);
    hello h;
    if (!row || !row->framing.make || strcmp(path, "-") == 0)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is written by one process", path);
    csrec_parts p = {.name = path,
                     .fd = -1,
                     .count = signal->pixels.count,
                     .size = csrec_dtype_size(signal->pixels.dtype),
                     .has_crc = row->framing.has_crc};
    if (csrec_comm_rank(comm) > 0) return write_parts(comm, &p, &h, fill, context, error);
    csrec_error why;
    whole w = {.path = path, .like = like, .signal = signal, .framing = &row->framing};
    csrec_status made = make(files, &w, &p, &h, &why);
    csrec_status status = write_parts(comm, &p, &h, fill, context, error);
    if (made) status = csrec_fail(error, made, "%s", why.text);
    if (!status) status = complete(&w, &p, error);
    csrec_frame_clear(&w.frame);
    return csrec_output_close(&w.output, status, error);
}
