/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c - tiles over the processes of a communicator: each recovers consecutive tiles and owns
 * their cells. It sends what reaches into cells of others to their owners, and in the end its cells
 * to the first process, or only that they are whole where the processes are threads that blend into
 * one signal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recover/parts/parts.h"

/* Tags of messages. */
enum { PART = CSREC_TAG_RANKS, CELL, REPORT, SHARE, ASK };

/* What a message of values begins with: a tile's part of a cell; or the cell, if it is its own. */
typedef struct label {
    int64_t tile, cell;
} label;

int64_t csrec_ranks_first(const csrec_comm *comm, int64_t n, int rank) {
    int size = csrec_comm_size(comm);
    return n / size * rank + (rank < n % size ? rank : n % size);
}

static int owner_of(const csrec_runner *r, int64_t cell) {
    int rank = 0;
    while (csrec_ranks_first(r->comm, r->tiling->tiles, rank + 1) <= cell) rank++;
    return rank;
}

csrec_status csrec_ranks_tell(csrec_comm *comm, int tag, void *data, size_t bytes,
                              csrec_error *error) {
    int rank = csrec_comm_rank(comm), size = csrec_comm_size(comm), from = 0;
    if (rank > 0) return csrec_comm_take(comm, &from, tag, data, bytes, error);
    for (int to = 1; to < size; to++) CSREC_TRY(csrec_comm_send(comm, to, tag, data, bytes, error));
    return CSREC_OK;
}

csrec_status csrec_ranks_exchange(csrec_comm *comm, int64_t n, size_t size, void *all,
                                  csrec_error *error) {
    int rank = csrec_comm_rank(comm), ranks = csrec_comm_size(comm);
    for (int k = 0; k < 2 * ranks; k++) {
        int other = k % ranks;
        int64_t first = csrec_ranks_first(comm, n, k < ranks ? rank : other);
        int64_t end = csrec_ranks_first(comm, n, (k < ranks ? rank : other) + 1);
        char *share = (char *)all + (size_t)first * size;
        size_t bytes = (size_t)(end - first) * size;
        if (other == rank) continue;
        CSREC_TRY(k < ranks ? csrec_comm_send(comm, other, SHARE, share, bytes, error)
                            : csrec_comm_take(comm, &other, SHARE, share, bytes, error));
    }
    return CSREC_OK;
}

/* Where the values are; false: the label is not of this tiling. */
static bool box_of(const csrec_runner *r, const label *l, csrec_box *box) {
    const int64_t tiles = r->tiling->tiles;
    if (l->tile < 0 || l->tile >= tiles || l->cell < 0 || l->cell >= tiles) return false;
    const csrec_tile tile = csrec_tiling_tile(r->tiling, l->tile);
    const csrec_tile cell = csrec_tiling_tile(r->tiling, l->cell);
    return csrec_box_common(&tile.reach, &cell.core, box);
}

static size_t bytes_of(const csrec_runner *r, const csrec_box *box, bool values) {
    const int64_t n = values ? csrec_box_entries(box) * r->channels : 0;
    return sizeof(label) + (size_t)n * sizeof(double);
}

/* from: has the values; NULL: the label alone tells that they are there. */
static csrec_status send_values(csrec_runner *r, int to, int tag, const label *l,
                                const csrec_boxed *from, csrec_error *error) {
    csrec_boxed copy;
    box_of(r, l, &copy.box);
    const size_t bytes = bytes_of(r, &copy.box, from != NULL);
    char *message = malloc(bytes);
    if (!message) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    memcpy(message, l, sizeof *l);
    copy.values = (double *)(void *)(message + sizeof *l);
    if (from) csrec_boxed_copy(from, r->channels, &copy.box, &copy);
    csrec_status status = csrec_comm_send(r->comm, to, tag, message, bytes, error);
    free(message);
    return status;
}

/* Waits for the next message with that tag. A process hears of a failure as of a message. */
static csrec_status wait_for(csrec_runner *r, int tag, csrec_error *error) {
    static const struct timespec nap = {.tv_nsec = 500000};
    while (!csrec_comm_arrived(r->comm, tag)) {
        if (csrec_runner_stops(r, -1.0) && r->strict) return csrec_runner_stopped(error);
        nanosleep(&nap, NULL);
    }
    return CSREC_OK;
}

/* Takes the next part of a tile (PART) or cell (CELL) into the mosaic. */
static csrec_status take_values(csrec_runner *r, int tag, csrec_error *error) {
    const bool has_values = tag == PART || !r->common;
    label l = {-1, -1};
    csrec_boxed values;
    int from = -1;
    size_t bytes;
    void *data;
    csrec_status status = wait_for(r, tag, error);
    if (!status) status = csrec_comm_receive(r->comm, &from, tag, &data, &bytes, error);
    if (status) return status;
    if (bytes >= sizeof l) memcpy(&l, data, sizeof l);
    values.values = (double *)(void *)((char *)data + sizeof l);
    if (!box_of(r, &l, &values.box) || bytes != bytes_of(r, &values.box, has_values))
        status = csrec_fail(error, CSREC_DATA,
                            "process %d recovers other tiles; give all processes the same "
                            "arguments",
                            from);
    else if (tag == PART)
        status = csrec_mosaic_add(r->mosaic, l.tile, l.cell, &values.box, &values, error);
    else if (has_values)
        status = csrec_mosaic_set(r->mosaic, l.cell, &values, error);
    free(data);
    return status;
}

csrec_status csrec_runner_add(csrec_runner *r, int64_t tile, const csrec_boxed *values,
                              csrec_error *error) {
    label l = {tile, -1};
    csrec_box where;
    csrec_status status = CSREC_OK;
    while (!status && (l.cell = csrec_tiling_near(r->tiling, tile, l.cell, &where)) >= 0) {
        int owner = owner_of(r, l.cell);
        status = owner == csrec_comm_rank(r->comm)
                     ? csrec_mosaic_add(r->mosaic, tile, l.cell, &where, values, error)
                     : send_values(r, owner, PART, &l, values, error);
    }
    while (!status && r->comm && csrec_comm_arrived(r->comm, PART))
        status = take_values(r, PART, error);
    return status;
}

static csrec_status complete(csrec_runner *r, int64_t cell, csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (!status && !csrec_mosaic_cell(r->mosaic, cell)) status = take_values(r, PART, error);
    return status;
}

/* To the first process, once it is whole. */
static csrec_status give_cell(csrec_runner *r, int64_t cell, csrec_error *error) {
    CSREC_TRY(complete(r, cell, error));
    const csrec_boxed *values = r->common ? NULL : csrec_mosaic_cell(r->mosaic, cell);
    csrec_status status = send_values(r, 0, CELL, &(label){cell, cell}, values, error);
    csrec_mosaic_drop(r->mosaic, cell);
    return status;
}

csrec_status csrec_runner_collect(csrec_runner *r, csrec_error *error) {
    const bool first = csrec_comm_rank(r->comm) == 0;
    for (int64_t cell = r->first; cell < r->end; cell++)
        CSREC_TRY((first ? complete : give_cell)(r, cell, error));
    for (int64_t k = r->end; first && k < r->tiling->tiles; k++)
        CSREC_TRY(take_values(r, CELL, error));
    return CSREC_OK;
}

csrec_status csrec_runner_fetch(csrec_runner *r, int64_t cell, csrec_error *error) {
    int owner = owner_of(r, cell);
    if (owner == csrec_comm_rank(r->comm)) return complete(r, cell, error);
    csrec_status status = csrec_comm_send(r->comm, owner, ASK, &cell, sizeof cell, error);
    return status ? status : take_values(r, CELL, error);
}

csrec_status csrec_runner_serve(csrec_runner *r, csrec_error *error) {
    int from = 0;
    csrec_status status = CSREC_OK;
    for (int64_t cell = 0; !status;) {
        status = wait_for(r, ASK, error);
        if (!status) status = csrec_comm_take(r->comm, &from, ASK, &cell, sizeof cell, error);
        if (cell < 0) break;
        if (!status) status = give_cell(r, cell, error);
    }
    return status;
}

csrec_status csrec_runner_release(csrec_runner *r, csrec_error *error) {
    int64_t none = -1;
    return csrec_ranks_tell(r->comm, ASK, &none, sizeof none, error);
}

void csrec_report_add(const csrec_recover_report *one, csrec_recover_report *all) {
    all->pursuits += one->pursuits;
    all->iterations += one->iterations;
    all->residual = fmax(all->residual, one->residual);
    all->unexplained = fmax(all->unexplained, one->unexplained);
    all->tiles_resumed += one->tiles_resumed;
    if (one->outcome > all->outcome) all->outcome = one->outcome;
    all->levels = one->levels > all->levels ? one->levels : all->levels;
    if (one->backend) all->backend = one->backend; /* a guess has none */
    all->seconds_tree += one->seconds_tree;
    all->seconds_pursuit += one->seconds_pursuit;
    all->seconds_synthesis += one->seconds_synthesis;
}

csrec_status csrec_runner_report(csrec_runner *r, csrec_recover_report *report,
                                 csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (csrec_comm_rank(r->comm) > 0)
        return csrec_comm_send(r->comm, 0, REPORT, report, sizeof *report, error);
    for (int k = 1; k < csrec_comm_size(r->comm) && !status; k++) {
        int from = -1;
        csrec_recover_report one;
        status = wait_for(r, REPORT, error);
        if (!status) status = csrec_comm_take(r->comm, &from, REPORT, &one, sizeof one, error);
        if (status) break;
        one.backend = NULL; /* a pointer of the other process */
        csrec_report_add(&one, report);
    }
    return status;
}
