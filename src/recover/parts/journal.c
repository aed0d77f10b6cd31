/* SPDX-License-Identifier: BSD-3-Clause */
/* journal.c - recovered tiles in a file: a head, and for each tile a record of fixed size. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "csrec/sampling.h"
#include "recover/parts/parts.h"

static const char MAGIC[8] = {'c', 's', 'r', 'e', 'c', 'j', 'r', '2'};

enum { PAGE = 4096 };

/* What decides whether a file is used. Followed by the key. */
typedef struct head {
    char magic[8];
    uint64_t id; /* of this file, drawn when it was begun */
    csrec_tiling tiling;
    int64_t channels, key_bytes;
    double unit;
} head;

/* Followed by the values of the tile's box. */
typedef struct record {
    uint64_t checksum; /* of all that follows; more than 32 bits: 0 is no checksum */
    int64_t tile;
    int64_t pursuits, iterations, levels, outcome;
    double residual, unexplained;
} record;

struct csrec_journal {
    int fd;
    const csrec_tiling *tiling;
    int64_t channels, begin, step; /* bytes: of the first record, and from one to the next */
};

static int64_t whole_pages(int64_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Reads, or writes with `out`. */
static bool transfer(int fd, bool out, void *data, size_t bytes, int64_t at) {
    char *next = data;
    while (bytes > 0) {
        ssize_t n = out ? pwrite(fd, next, bytes, (off_t)at) : pread(fd, next, bytes, (off_t)at);
        if (n == 0 || (n < 0 && errno != EINTR)) return false;
        if (n < 0) continue;
        next += n;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* The head as it has to be, all its bytes defined; id 0. */
static head *head_of(const char *key, const csrec_tiling *tiling, int64_t channels, double unit) {
    size_t bytes = strlen(key);
    head *h = calloc(1, sizeof *h + bytes + 1);
    if (!h) return NULL;
    memcpy(h->magic, MAGIC, sizeof MAGIC);
    memcpy(&h->tiling, tiling, offsetof(csrec_tiling, shape));
    h->channels = channels;
    h->unit = unit;
    h->key_bytes = (int64_t)bytes;
    memcpy(h + 1, key, bytes);
    return h;
}

static size_t size_of(const head *h) {
    return sizeof *h + (size_t)h->key_bytes;
}

/* Whether the file has that head; wanted->id becomes its own. */
static bool has_head(int fd, head *wanted) {
    head *found = calloc(1, size_of(wanted));
    bool same = found && transfer(fd, false, found, size_of(wanted), 0);
    if (same) wanted->id = found->id;
    same = same && memcmp(found, wanted, size_of(wanted)) == 0;
    free(found);
    return same;
}

static uint64_t draw_id(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return csrec_random_u64((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid());
}

static csrec_status failed(const char *path, csrec_error *error) {
    const int reason = errno ? errno : EIO;
    const char *remedy = csrec_errno_remedy(reason, "check the folder and the disk");
    return csrec_fail(error, CSREC_FILE,
                      "%s: the file for finished tiles cannot be written (%s); %s", path,
                      strerror(reason), remedy);
}

static bool has_magic(int fd) {
    char magic[sizeof MAGIC];
    return transfer(fd, false, magic, sizeof magic, 0) && memcmp(magic, MAGIC, sizeof magic) == 0;
}

void csrec_journal_remove(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (has_magic(fd)) remove(path);
    close(fd);
}

/* On the first process. */
static csrec_status begin(const char *path, head *h, int *fd, csrec_error *error) {
    errno = 0;
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) return failed(path, error);
    if (lseek(*fd, 0, SEEK_END) > 0 && !has_magic(*fd))
        return csrec_fail(error, CSREC_FILE,
                          "%s: is where finished tiles are kept, but is another file; move it",
                          path);
    if (has_head(*fd, h)) return CSREC_OK;
    h->id = draw_id();
    if (ftruncate(*fd, 0) != 0 || !transfer(*fd, true, h, size_of(h), 0) || fsync(*fd) != 0)
        return failed(path, error);
    return CSREC_OK;
}

/* The others use the first one's file if they see it. */
static csrec_status open_file(const char *path, head *h, csrec_comm *comm, int *fd,
                              csrec_error *error) {
    const bool first = csrec_comm_rank(comm) == 0;
    csrec_status status = first ? begin(path, h, fd, error) : CSREC_OK;
    uint64_t id = h->id;
    if (!status) status = csrec_ranks_tell(comm, CSREC_TAG_JOURNAL, &id, sizeof id, error);
    if (status || first) return status;
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd >= 0 && has_head(*fd, h) && h->id == id) return CSREC_OK;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return CSREC_OK;
}

csrec_status csrec_journal_open(const char *path, const char *key, const csrec_tiling *tiling,
                                int64_t channels, double unit, csrec_comm *comm,
                                csrec_journal **journal, csrec_error *error) {
    *journal = NULL;
    if (!path) return CSREC_OK;
    csrec_journal *j = malloc(sizeof *j);
    head *h = head_of(key ? key : "", tiling, channels, unit);
    csrec_status status = j && h ? CSREC_OK : csrec_memory_fail(error, NULL);
    int fd = -1;
    if (!status) status = open_file(path, h, comm, &fd, error);
    if (!status && fd >= 0) {
        *j = (csrec_journal){.fd = fd, .tiling = tiling, .channels = channels};
        j->begin = whole_pages((int64_t)size_of(h));
        j->step = channels * (int64_t)sizeof(double);
        for (int a = 0; a < CSREC_TILE_AXES; a++) {
            int64_t reach = tiling->stride[a] + tiling->pad;
            j->step *= reach < tiling->extent[a] ? reach : tiling->extent[a];
        }
        j->step = whole_pages((int64_t)sizeof(record) + j->step);
        *journal = j;
    } else {
        if (fd >= 0) close(fd);
        free(j);
    }
    free(h);
    return status;
}

void csrec_journal_close(csrec_journal *j) {
    if (!j) return;
    close(j->fd);
    free(j);
}

static uint64_t checksum(const record *r, const double *values, size_t bytes) {
    const Bytef *at = (const Bytef *)values;
    uLong sum = crc32(0, (const Bytef *)&r->tile, sizeof *r - offsetof(record, tile));
    for (size_t n; bytes > 0; at += n, bytes -= n) {
        n = bytes < (1u << 30) ? bytes : 1u << 30;
        sum = crc32(sum, at, (uInt)n);
    }
    return (uint64_t)sum | UINT64_C(1) << 32;
}

static size_t bytes_of(const csrec_journal *j, const csrec_box *box) {
    return (size_t)(csrec_box_entries(box) * j->channels) * sizeof(double);
}

bool csrec_journal_take(const csrec_journal *j, int64_t tile, csrec_boxed *values,
                        csrec_recover_report *report) {
    record r;
    if (!j) return false;
    const csrec_tile place = csrec_tiling_tile(j->tiling, tile);
    const int64_t at = j->begin + tile * j->step;
    const size_t bytes = bytes_of(j, &place.reach);
    if (!transfer(j->fd, false, &r, sizeof r, at) || r.tile != tile || r.checksum == 0 ||
        !transfer(j->fd, false, values->values, bytes, at + (int64_t)sizeof r) ||
        checksum(&r, values->values, bytes) != r.checksum)
        return false;
    values->box = place.reach;
    *report = (csrec_recover_report){.outcome = (csrec_outcome)r.outcome,
                                     .pursuits = r.pursuits,
                                     .iterations = r.iterations,
                                     .residual = r.residual,
                                     .unexplained = r.unexplained,
                                     .levels = (int)r.levels,
                                     .tiles_resumed = 1};
    return true;
}

void csrec_journal_keep(const csrec_journal *j, int64_t tile, const csrec_boxed *values,
                        const csrec_recover_report *report) {
    if (!j) return;
    const csrec_tile place = csrec_tiling_tile(j->tiling, tile);
    const int64_t at = j->begin + tile * j->step;
    const size_t bytes = bytes_of(j, &place.reach);
    csrec_boxed kept = {place.reach, malloc(bytes)};
    record r = {.tile = tile,
                .pursuits = report->pursuits,
                .iterations = report->iterations,
                .levels = report->levels,
                .outcome = (int64_t)report->outcome,
                .residual = report->residual,
                .unexplained = report->unexplained};
    if (!kept.values) return;
    csrec_boxed_copy(values, j->channels, &place.reach, &kept);
    r.checksum = checksum(&r, kept.values, bytes);
    if (transfer(j->fd, true, kept.values, bytes, at + (int64_t)sizeof r))
        (void)transfer(j->fd, true, &r, sizeof r, at);
    free(kept.values);
}
