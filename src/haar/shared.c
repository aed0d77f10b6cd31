/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.c - a shared pursuit's beginning and end: who has which pieces, and the results. */
#include "haar/shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* Of messages with results. */
enum { TAG = (1 << 21) + 1 };

typedef struct share {
    int64_t size;
    int32_t piece;
} share;

static int by_size(const void *a, const void *b) {
    const share *p = a, *q = b;
    if (p->size != q->size) return p->size < q->size ? 1 : -1;
    return (p->piece > q->piece) - (p->piece < q->piece);
}

/* Pieces, the largest first, each to the process with the fewest samples so far. */
static void deal(csrec_rounds *r, share *shares, int64_t *load) {
    int size = csrec_comm_size(r->job->comm);
    for (int32_t k = 0; k < r->cut.pieces; k++) shares[k] = (share){r->cut.piece[k].size, k};
    qsort(shares, (size_t)r->cut.pieces, sizeof *shares, by_size);
    for (int32_t k = 0; k < r->cut.pieces; k++) {
        int least = 0;
        for (int rank = 1; rank < size; rank++)
            if (load[rank] < load[least]) least = rank;
        load[least] += shares[k].size;
        r->owner[shares[k].piece] = least;
    }
}

static csrec_status share_out(csrec_rounds *r) {
    csrec_pool scratch = {0};
    share *shares = CSREC_TAKE(&scratch, shares, r->cut.pieces);
    int64_t *load = CSREC_ZEROS(&scratch, load, csrec_comm_size(r->job->comm));
    CSREC_TAKE(&r->pool, r->owner, r->cut.pieces);
    CSREC_TAKE(&r->pool, r->own, r->cut.pieces);
    CSREC_TAKE(&r->pool, r->place, r->cut.pieces);
    CSREC_TAKE(&r->pool, r->settled, r->cut.pieces);
    CSREC_TAKE(&r->pool, r->suspect, (int64_t)r->cut.tops + 1);
    const bool complete = !csrec_pool_status(&scratch) && !csrec_pool_status(&r->pool);
    if (complete) deal(r, shares, load);
    for (int32_t k = 0; complete && k < r->cut.pieces; k++) {
        bool is_own = r->owner[k] == csrec_comm_rank(r->job->comm);
        r->place[k] = is_own ? r->pieces.count : -1;
        if (is_own) r->own[r->pieces.count++] = k;
    }
    csrec_pool_clear(&scratch);
    return complete ? CSREC_OK : CSREC_MEMORY;
}

static int64_t or_else(int64_t given, int64_t otherwise) {
    return given > 0 ? given : otherwise;
}

/* Several pieces a thread, so that busy parts of the signal are everyone's; but each top takes some
 * rounds, so that many threads have fewer. */
static int64_t samples_of_piece(const csrec_shared_job *job, int64_t threads) {
    enum { PIECES = 8, MANY = 64, OF_MANY = 2, LEAST = 1 << 12 };
    int64_t pieces = PIECES * threads;
    if (pieces > MANY) pieces = OF_MANY * threads > MANY ? OF_MANY * threads : MANY;
    int64_t most = job->n / pieces;
    if (most < LEAST) most = LEAST;
    if (most >= job->n && job->n > 1) most = job->n - 1; /* devices need a top */
    return or_else(job->most, most);
}

/* Machines may have different numbers of them. */
static csrec_status add_threads(csrec_rounds *r, int64_t *threads, csrec_error *error) {
    int64_t own = r->pieces.threads;
    size_t bytes;
    csrec_status status = csrec_gather_all(&r->gather, &own, sizeof own, error);
    *threads = 0;
    for (int rank = 0; rank < csrec_comm_size(r->job->comm) && !status; rank++)
        *threads += *(const int64_t *)csrec_gather_of(&r->gather, rank, &bytes);
    return status;
}

static csrec_status create(csrec_rounds *r, csrec_error *error) {
    const csrec_shared_job *job = r->job;
    r->pieces.threads = job->threads;
    int64_t threads = 0;
    csrec_status status = add_threads(r, &threads, error);
    if (!status)
        status = csrec_cut_create(job->levels, job->n, job->rows, job->columns,
                                  samples_of_piece(job, threads), &r->cut);
    if (!status) status = share_out(r);
    if (status) return status;
    r->pieces.cut = &r->cut;
    r->pieces.rows = job->rows;
    r->pieces.y = job->y;
    r->pieces.units = r->units;
    r->pieces.small = job->small;
    r->pieces.piece = r->own;
    r->pieces.log = or_else(job->log, 1 << 14);
    r->few = or_else(job->few, 512);
    r->batch = or_else(job->batch, job->n / 128 + 64);
    size_t stretches = (size_t)(r->pieces.count + 1) * CSREC_INTERVALS;
    r->room = sizeof(csrec_rounds_head) + CSREC_INTERVALS * sizeof(csrec_interval) +
              stretches * sizeof(csrec_stretch);
    r->message = malloc(r->room);
    CSREC_TAKE(&r->pool, r->stretch, (int64_t)r->cut.pieces * CSREC_INTERVALS);
    if (!r->message || !r->stretch || csrec_steps_create(&r->pieces, &r->pool, &r->steps))
        return CSREC_MEMORY;
    return r->type->create(&r->pieces, &r->engine, error);
}

static void clear(csrec_rounds *r) {
    r->type->destroy(r->engine);
    csrec_gather_clear(&r->gather);
    csrec_cut_clear(&r->cut);
    csrec_pool_clear(&r->pool);
    free(r->message);
}

/* Parts of a list of atoms, ascending each. */
typedef struct collection {
    csrec_atoms *part; /* one a piece, then that of the tops */
    int32_t parts;
} collection;

static void put_atom(const csrec_rounds *r, csrec_atoms *atoms, uint64_t column, double x,
                     int64_t count) {
    if (x == 0.0) return;
    int64_t at = atoms->n++;
    atoms->column[at] = column;
    atoms->coefficient[at] = x * sqrt((double)count) / r->units;
    atoms->count[at] = count;
}

/* The tops' atoms, in any order. */
static csrec_status list_tops(const csrec_rounds *r, csrec_atoms *atoms) {
    csrec_status status = csrec_atoms_create(2 * (int64_t)r->cut.tops, atoms);
    if (status) return status;
    atoms->n = 0;
    for (int32_t t = 0; t < r->cut.tops; t++) {
        const csrec_top *top = &r->cut.top[t];
        uint64_t own = csrec_tree_column(r->cut.levels, top->row, top->level);
        put_atom(r, atoms, own, top->x[0], top->size);
        if (top->edge == CSREC_LISTING_COLUMN_0)
            put_atom(r, atoms, 0, top->x[1], top->size);
        else if (top->edge >= 0)
            put_atom(r, atoms, csrec_tree_column(r->cut.levels, top->row, top->edge),
                     csrec_tree_side(top->row, top->edge) * top->x[1], top->size);
    }
    return CSREC_OK;
}

static csrec_status join(const collection *c, csrec_atoms *atoms) {
    int64_t total = 0, at = 0;
    for (int32_t k = 0; k < c->parts; k++) total += c->part[k].n;
    uint64_t *column = malloc(((size_t)total + 1) * sizeof *column);
    int64_t *order = malloc(((size_t)total + 1) * sizeof *order);
    csrec_atoms all = {0}, sorted = {0};
    csrec_status status = column && order ? csrec_atoms_create(total, &all) : CSREC_MEMORY;
    for (int32_t k = 0; k < c->parts && !status; k++) {
        size_t n = (size_t)c->part[k].n;
        if (n == 0) continue;
        memcpy(column + at, c->part[k].column, n * sizeof *column);
        memcpy(all.coefficient + at, c->part[k].coefficient, n * sizeof *all.coefficient);
        memcpy(all.count + at, c->part[k].count, n * sizeof *all.count);
        at += c->part[k].n;
    }
    for (int64_t i = 0; i < total && !status; i++) order[i] = i;
    if (!status) status = csrec_sort_rows(total, column, order);
    if (!status) status = csrec_atoms_create(total, &sorted);
    for (int64_t i = 0; i < total && !status; i++) {
        sorted.column[i] = column[i];
        sorted.coefficient[i] = all.coefficient[order[i]];
        sorted.count[i] = all.count[order[i]];
    }
    if (!status) *atoms = sorted;
    csrec_atoms_clear(&all);
    free(column);
    free(order);
    return status;
}

/* A piece's atoms to the first process: their number, columns, coefficients, counts. */
static csrec_status send_piece(const csrec_rounds *r, const csrec_atoms *atoms,
                               csrec_error *error) {
    size_t n = (size_t)atoms->n;
    uint64_t *message = malloc((1 + 3 * n) * sizeof *message);
    if (!message) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    message[0] = n;
    if (n > 0) {
        memcpy(message + 1, atoms->column, n * sizeof *message);
        memcpy(message + 1 + n, atoms->coefficient, n * sizeof *message);
        memcpy(message + 1 + 2 * n, atoms->count, n * sizeof *message);
    }
    csrec_status status =
        csrec_comm_send(r->job->comm, 0, TAG, message, (1 + 3 * n) * sizeof *message, error);
    free(message);
    return status;
}

static csrec_status take_piece(const csrec_rounds *r, int from, csrec_atoms *atoms,
                               csrec_error *error) {
    void *data;
    size_t bytes;
    csrec_status status = csrec_comm_receive(r->job->comm, &from, TAG, &data, &bytes, error);
    if (status) return status;
    const uint64_t *message = data;
    size_t n = bytes >= sizeof *message ? (size_t)message[0] : 0;
    if (n > bytes / sizeof *message || bytes != (1 + 3 * n) * sizeof *message) {
        free(data);
        return csrec_fail(error, CSREC_DATA,
                          "process %d has other atoms; give all processes the same arguments",
                          from);
    }
    status = csrec_atoms_create((int64_t)n, atoms);
    if (!status) {
        memcpy(atoms->column, message + 1, n * sizeof *message);
        memcpy(atoms->coefficient, message + 1 + n, n * sizeof *message);
        memcpy(atoms->count, message + 1 + 2 * n, n * sizeof *message);
    }
    free(data);
    return status ? csrec_fail(error, status, "out of memory for the atoms") : CSREC_OK;
}

/* Of piece k, wherever it is. */
static csrec_status collect_piece(const csrec_rounds *r, int32_t k, csrec_atoms *atoms,
                                  csrec_error *error) {
    bool first = csrec_comm_rank(r->job->comm) == 0;
    if (r->place[k] < 0) return first ? take_piece(r, r->owner[k], atoms, error) : CSREC_OK;
    csrec_status status = r->type->result(r->engine, r->place[k], atoms, error);
    return status || first ? status : send_piece(r, atoms, error);
}

static csrec_status collect(const csrec_rounds *r, csrec_atoms *atoms, csrec_error *error) {
    bool first = csrec_comm_rank(r->job->comm) == 0;
    int32_t pieces = r->cut.pieces;
    collection c = {calloc((size_t)pieces + 1, sizeof *c.part), pieces + 1};
    csrec_status status =
        c.part ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory for the atoms");
    for (int32_t k = 0; k < pieces && !status; k++) status = collect_piece(r, k, &c.part[k], error);
    if (!status && atoms && first) {
        status = list_tops(r, &c.part[pieces]);
        if (!status) status = join(&c, atoms);
        if (status) csrec_fail(error, status, "out of memory for the atoms");
    }
    for (int32_t k = 0; c.part && k <= pieces; k++) csrec_atoms_clear(&c.part[k]);
    free(c.part);
    return status;
}

csrec_status csrec_shared_pursuit(const csrec_shared_job *job, csrec_atoms *atoms,
                                  csrec_shared_report *report, csrec_error *error) {
    csrec_shared_report own;
    if (!report) report = &own;
    *report = (csrec_shared_report){0};
    csrec_rounds rounds = {.job = job,
                           .report = report,
                           .type = job->type ? job->type : &csrec_pieces_cpu,
                           .gather.comm = job->comm,
                           .units = csrec_pursuit_units(job->n, job->y)};
    csrec_error why = {{0}};
    csrec_status status = create(&rounds, &why);
    status = csrec_rounds_begin(&rounds, status, &why, error);
    if (!status) status = csrec_rounds_run(&rounds, error);
    if (!status) status = collect(&rounds, atoms, error);
    report->outcome = rounds.outcome;
    report->iterations = rounds.iterations;
    report->energy = csrec_wide_double(rounds.energy) / rounds.units / rounds.units;
    report->messages = rounds.gather.sent;
    report->bytes = rounds.gather.sent_bytes;
    clear(&rounds);
    return status;
}
