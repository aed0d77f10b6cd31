/* spread.c - tiles over processes. */
#include "recover/parts/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Tags of messages. */
enum { TILING = 1 << 20, PART, CELL, REPORT, SHARE, ASK };

/* What a message of values begins with. */
typedef struct label {
    int64_t tile, cell;
    csrec_box where;
} label;

/* ------------------------------------------------------------------ who does what ------------- */

int64_t csrec_spread_first(const csrec_comm *comm, int64_t n, int rank) {
    int size = csrec_comm_size(comm);
    return n / size * rank + (rank < n % size ? rank : n % size);
}

static int owner_of(const csrec_spread *s, int64_t cell) {
    int rank = 0;
    while (csrec_spread_first(s->comm, s->tiling->tiles, rank + 1) <= cell) rank++;
    return rank;
}

csrec_status csrec_spread_agree(csrec_comm *comm, csrec_tiling *tiling, csrec_error *error) {
    int size = csrec_comm_size(comm), rank = csrec_comm_rank(comm), from = 0;
    csrec_status status = CSREC_OK;
    for (int to = 1; rank == 0 && to < size && !status; to++)
        status = csrec_comm_send(comm, to, TILING, tiling, sizeof *tiling, error);
    if (rank > 0) status = csrec_comm_take(comm, &from, TILING, tiling, sizeof *tiling, error);
    return status;
}

csrec_status csrec_spread_exchange(csrec_comm *comm, int64_t n, size_t size, void *all,
                                   csrec_error *error) {
    int rank = csrec_comm_rank(comm), ranks = csrec_comm_size(comm);
    csrec_status status = CSREC_OK;
    for (int k = 0; k < 2 * ranks && !status; k++) {
        int other = k % ranks;
        int64_t first = csrec_spread_first(comm, n, k < ranks ? rank : other);
        int64_t end = csrec_spread_first(comm, n, (k < ranks ? rank : other) + 1);
        char *share = (char *)all + (size_t)first * size;
        size_t bytes = (size_t)(end - first) * size;
        if (other == rank) continue;
        status = k < ranks ? csrec_comm_send(comm, other, SHARE, share, bytes, error)
                           : csrec_comm_take(comm, &other, SHARE, share, bytes, error);
    }
    return status;
}

/* ------------------------------------------------------------------ messages of values -------- */

static csrec_status send_values(const csrec_spread *s, int to, int tag, const label *l,
                                const csrec_part *from, csrec_error *error) {
    size_t bytes =
        sizeof *l + (size_t)(csrec_box_entries(&l->where) * s->channels) * sizeof(double);
    char *message = malloc(bytes);
    if (!message) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    memcpy(message, l, sizeof *l);
    csrec_part_copy(from, s->channels, &l->where, (double *)(void *)(message + sizeof *l));
    csrec_status status = csrec_comm_send(s->comm, to, tag, message, bytes, error);
    free(message);
    return status;
}

/* Whether the message has the values that its label tells of: of cells of this tiling. */
static bool is_whole(const csrec_spread *s, const void *data, size_t bytes, bool values, label *l) {
    int64_t tiles = s->tiling->tiles;
    if (bytes < sizeof *l) return false;
    memcpy(l, data, sizeof *l);
    bool inside = l->tile >= 0 && l->tile < tiles && l->cell >= 0 && l->cell < tiles;
    for (int a = 0; a < CSREC_TILE_AXES; a++)
        inside = inside && l->where.at[a][0] >= 0 && l->where.at[a][0] <= l->where.at[a][1] &&
                 l->where.at[a][1] <= s->tiling->extent[a];
    if (!inside) return false;
    int64_t n = values ? csrec_box_entries(&l->where) * s->channels : 0;
    return bytes == sizeof *l + (size_t)n * sizeof(double);
}

/* Takes the next message with that tag: its values, to be freed by free(*data). */
static csrec_status receive_values(const csrec_spread *s, int tag, label *l, csrec_part *values,
                                   void **data, csrec_error *error) {
    int from = -1;
    size_t bytes;
    csrec_status status = csrec_comm_receive(s->comm, &from, tag, data, &bytes, error);
    if (status) return status;
    if (!is_whole(s, *data, bytes, tag == PART || !s->common, l)) {
        free(*data);
        return csrec_fail(error, CSREC_DATA,
                          "process %d recovers other tiles; give all processes the same arguments",
                          from);
    }
    *values = (csrec_part){l->where, (double *)(void *)((char *)*data + sizeof *l)};
    return CSREC_OK;
}

static csrec_status take_part(const csrec_spread *s, csrec_error *error) {
    label l;
    csrec_part values;
    void *data;
    csrec_status status = receive_values(s, PART, &l, &values, &data, error);
    if (status) return status;
    status = csrec_mosaic_add(s->mosaic, l.tile, l.cell, &l.where, &values, error);
    free(data);
    return status;
}

csrec_status csrec_spread_add(const csrec_spread *s, int64_t tile, const csrec_part *values,
                              csrec_error *error) {
    label l = {.tile = tile, .cell = -1};
    csrec_status status = CSREC_OK;
    while (!status && (l.cell = csrec_mosaic_reaches(s->mosaic, tile, l.cell, &l.where)) >= 0) {
        int owner = owner_of(s, l.cell);
        status = owner == csrec_comm_rank(s->comm)
                     ? csrec_mosaic_add(s->mosaic, tile, l.cell, &l.where, values, error)
                     : send_values(s, owner, PART, &l, values, error);
    }
    while (!status && s->comm && csrec_comm_arrived(s->comm, PART)) status = take_part(s, error);
    return status;
}

/* ------------------------------------------------------------------ the end ------------------- */

static csrec_status wait_for(const csrec_spread *s, int tag, csrec_error *error) {
    static const struct timespec nap = {.tv_nsec = 500000};
    while (s->stops && !csrec_comm_arrived(s->comm, tag)) {
        if (s->stops(s->context))
            return csrec_fail(error, CSREC_STOPPED, "stopped before the whole was recovered");
        nanosleep(&nap, NULL);
    }
    return CSREC_OK;
}

static csrec_status complete(const csrec_spread *s, int64_t cell, csrec_error *error) {
    csrec_status status = CSREC_OK;
    while (!status && !csrec_mosaic_cell(s->mosaic, cell)) {
        status = wait_for(s, PART, error);
        if (!status) status = take_part(s, error);
    }
    return status;
}

static csrec_status give_cell(const csrec_spread *s, int64_t cell, csrec_error *error) {
    const csrec_part *part = csrec_mosaic_cell(s->mosaic, cell);
    label l = {.cell = cell, .where = part->box};
    csrec_status status = s->common ? csrec_comm_send(s->comm, 0, CELL, &l, sizeof l, error)
                                    : send_values(s, 0, CELL, &l, part, error);
    csrec_mosaic_drop(s->mosaic, cell);
    return status;
}

static csrec_status take_cell(const csrec_spread *s, csrec_error *error) {
    label l;
    csrec_part values;
    void *data;
    csrec_status status = wait_for(s, CELL, error);
    if (!status) status = receive_values(s, CELL, &l, &values, &data, error);
    if (status) return status;
    if (!s->common) status = csrec_mosaic_set(s->mosaic, l.cell, &values, error);
    free(data);
    return status;
}

csrec_status csrec_spread_collect(const csrec_spread *s, csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t cell = s->first; cell < s->end && !status; cell++) {
        status = complete(s, cell, error);
        if (!status && csrec_comm_rank(s->comm) > 0) status = give_cell(s, cell, error);
    }
    if (csrec_comm_rank(s->comm) == 0)
        for (int64_t k = s->end; k < s->tiling->tiles && !status; k++) status = take_cell(s, error);
    return status;
}

/* ------------------------------------------------------------------ one cell after another ---- */

csrec_status csrec_spread_fetch(const csrec_spread *s, int64_t cell, csrec_error *error) {
    int owner = owner_of(s, cell);
    if (owner == csrec_comm_rank(s->comm)) return complete(s, cell, error);
    csrec_status status = csrec_comm_send(s->comm, owner, ASK, &cell, sizeof cell, error);
    return status ? status : take_cell(s, error);
}

csrec_status csrec_spread_serve(const csrec_spread *s, csrec_error *error) {
    int from = 0;
    int64_t cell = 0;
    csrec_status status = CSREC_OK;
    while (!status) {
        status = wait_for(s, ASK, error);
        if (!status) status = csrec_comm_take(s->comm, &from, ASK, &cell, sizeof cell, error);
        if (status || cell < 0) break;
        status = complete(s, cell, error);
        if (!status) status = give_cell(s, cell, error);
    }
    return status;
}

csrec_status csrec_spread_release(const csrec_spread *s, csrec_error *error) {
    const int64_t none = -1;
    csrec_status status = CSREC_OK;
    for (int to = 1; to < csrec_comm_size(s->comm) && !status; to++)
        status = csrec_comm_send(s->comm, to, ASK, &none, sizeof none, error);
    return status;
}

csrec_status csrec_spread_report(const csrec_spread *s, csrec_recover_report *report,
                                 csrec_error *error) {
    csrec_status status = CSREC_OK;
    if (csrec_comm_rank(s->comm) > 0)
        return csrec_comm_send(s->comm, 0, REPORT, report, sizeof *report, error);
    for (int k = 1; k < csrec_comm_size(s->comm) && !status; k++) {
        int from = -1;
        csrec_recover_report one;
        status = wait_for(s, REPORT, error);
        if (!status) status = csrec_comm_take(s->comm, &from, REPORT, &one, sizeof one, error);
        if (status) break;
        one.backend = NULL; /* a pointer of the other process */
        csrec_report_add(&one, report);
    }
    return status;
}
