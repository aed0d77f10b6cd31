/* SPDX-License-Identifier: BSD-3-Clause */
/* chain.c - sums over grids that travel from rank to rank.
 *
 * Messages: START, grids of a batch, from rank 0 to all. HEAD and the chunks after it, from the
 * rank of a batch to that of the next. FINAL and the chunks after it, to rank 0: from the rank of
 * the last batch, or, after a stop, from the rank whose turn it would be. DONE, from rank 0 to all,
 * once it has the sums. Every rank receives all that is sent to it, so that nothing is left for the
 * next recovery. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "method/grids/chain.h"
#include "base/sort.h"
#include "haar/tree.h"
#include "operator/engine.h"

enum { START = (1 << 20) + 64, HEAD, FINAL, CHUNK, DONE };

enum { VALUES = 1 << 18 }; /* of a chunk, about */

typedef struct head {
    int64_t added, length;
} head;

bool csrec_grids_chain_shared(const csrec_grids_chain *c) {
    return csrec_comm_size(c->comm) > 1;
}

static int64_t batches(const csrec_grids_chain *c) {
    return (c->shifts + c->batch - 1) / c->batch;
}

/* The number of this rank's next batch, and the ranks of those before and after it. */
static int64_t number(const csrec_grids_chain *c) {
    return c->turn * csrec_comm_size(c->comm) + csrec_comm_rank(c->comm);
}

static int before(const csrec_grids_chain *c) {
    int size = csrec_comm_size(c->comm);
    return (csrec_comm_rank(c->comm) + size - 1) % size;
}

static int after(const csrec_grids_chain *c) {
    return number(c) + 1 < batches(c) ? (csrec_comm_rank(c->comm) + 1) % csrec_comm_size(c->comm)
                                      : 0;
}

/* Waits for one of two kinds of messages. */
static csrec_status await(const csrec_grids_chain *c, int first, int second, int *which,
                          csrec_error *error) {
    static const struct timespec nap = {.tv_nsec = 100000};
    for (;;) {
        if (csrec_comm_arrived(c->comm, *which = first)) return CSREC_OK;
        if (csrec_comm_arrived(c->comm, *which = second)) return CSREC_OK;
        CSREC_TRY(csrec_comm_failed(c->comm, error));
        c->waits(c->context);
        nanosleep(&nap, NULL);
    }
}

static csrec_status take(const csrec_grids_chain *c, int *from, int tag, void *to, size_t bytes,
                         csrec_error *error) {
    int which;
    csrec_status status = await(c, tag, tag, &which, error);
    return status ? status : csrec_comm_take(c->comm, from, tag, to, bytes, error);
}

static csrec_status take_head(csrec_grids_chain *c, int *from, int tag, csrec_error *error) {
    head h;
    CSREC_TRY(take(c, from, tag, &h, sizeof h, error));
    c->added = h.added;
    if (csrec_comm_rank(c->comm) > 0) c->length = h.length;
    return CSREC_OK;
}

csrec_status csrec_grids_chain_open(csrec_grids_chain *c, int64_t most, csrec_error *error) {
    int size = csrec_comm_size(c->comm), from = 0;
    int64_t share = (c->shifts + size - 1) / size;
    c->batch = most < share ? most : share;
    csrec_status status = CSREC_OK;
    if (csrec_comm_rank(c->comm) == 0) {
        for (int to = 1; to < size && !status; to++)
            status = csrec_comm_send(c->comm, to, START, &c->batch, sizeof c->batch, error);
        return status;
    }
    return take(c, &from, START, &c->batch, sizeof c->batch, error);
}

bool csrec_grids_chain_next(csrec_grids_chain *c, int64_t *first, int64_t *count) {
    if (c->over || number(c) >= batches(c)) return false;
    *first = number(c) * c->batch;
    *count = c->shifts - *first < c->batch ? c->shifts - *first : c->batch;
    return true;
}

csrec_status csrec_grids_chain_take(csrec_grids_chain *c, csrec_error *error) {
    int which = HEAD, from = before(c);
    if (!csrec_grids_chain_shared(c) || number(c) == 0) return CSREC_OK;
    CSREC_TRY(await(c, HEAD, csrec_comm_rank(c->comm) == 0 ? FINAL : DONE, &which, error));
    c->over = which != HEAD;
    return c->over ? CSREC_OK : take_head(c, &from, HEAD, error);
}

static csrec_status announce(csrec_grids_chain *c, int to, int tag, csrec_error *error) {
    const head h = {c->added, c->length};
    c->ended = to == csrec_comm_rank(c->comm); /* rank 0, of its last batch */
    return c->ended ? CSREC_OK : csrec_comm_send(c->comm, to, tag, &h, sizeof h, error);
}

csrec_status csrec_grids_chain_give(csrec_grids_chain *c, int64_t added, csrec_error *error) {
    c->added = added;
    if (!csrec_grids_chain_shared(c)) return CSREC_OK;
    return announce(c, after(c), number(c) + 1 < batches(c) ? HEAD : FINAL, error);
}

int64_t csrec_grids_chain_chunk(const csrec_grids_chain *c, int64_t at) {
    int64_t entries = VALUES / c->channels, rest = c->length - at;
    int64_t most = c->channels * (entries < 1 ? 1 : entries);
    return rest < most ? rest : most;
}

csrec_status csrec_grids_chain_receive(const csrec_grids_chain *c, int64_t at, double *values,
                                       csrec_error *error) {
    const size_t bytes = (size_t)csrec_grids_chain_chunk(c, at) * sizeof *values;
    int from = before(c);
    if (number(c) > 0) return take(c, &from, CHUNK, values, bytes, error);
    memset(values, 0, bytes); /* the sums over no grids */
    return CSREC_OK;
}

static csrec_status send_to(const csrec_grids_chain *c, int to, int64_t at, const double *values,
                            csrec_error *error) {
    size_t bytes = (size_t)csrec_grids_chain_chunk(c, at) * sizeof *values;
    if (to != csrec_comm_rank(c->comm))
        return csrec_comm_send(c->comm, to, CHUNK, values, bytes, error);
    memcpy(c->sum + at, values, bytes);
    return CSREC_OK;
}

csrec_status csrec_grids_chain_send(const csrec_grids_chain *c, int64_t at, const double *values,
                                    csrec_error *error) {
    return send_to(c, after(c), at, values, error);
}

/* Stopped before its batch: the sums go to rank 0 as they are. */
static csrec_status hand_in(csrec_grids_chain *c, csrec_error *error) {
    csrec_status status = csrec_grids_chain_take(c, error);
    if (status || c->over) return status;
    double *values = malloc((size_t)csrec_grids_chain_chunk(c, 0) * sizeof *values);
    status = values ? announce(c, 0, FINAL, error)
                    : csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    for (int64_t at = 0, count; !status && (count = csrec_grids_chain_chunk(c, at)) > 0;
         at += count) {
        status = csrec_grids_chain_receive(c, at, values, error);
        if (!status) status = send_to(c, 0, at, values, error);
    }
    free(values);
    return status;
}

static csrec_status collect(csrec_grids_chain *c, csrec_error *error) {
    int from = -1;
    CSREC_TRY(take_head(c, &from, FINAL, error));
    for (int64_t at = 0, count; (count = csrec_grids_chain_chunk(c, at)) > 0; at += count)
        CSREC_TRY(take(c, &from, CHUNK, c->sum + at, (size_t)count * sizeof *c->sum, error));
    return CSREC_OK;
}

csrec_status csrec_grids_chain_close(csrec_grids_chain *c, csrec_error *error) {
    int64_t first, count;
    int zero = 0;
    csrec_status status = CSREC_OK;
    if (!csrec_grids_chain_shared(c)) return CSREC_OK;
    if (csrec_grids_chain_next(c, &first, &count)) status = hand_in(c, error);
    if (csrec_comm_rank(c->comm) > 0) return status ? status : take(c, &zero, DONE, NULL, 0, error);
    if (!status && !c->ended) status = collect(c, error);
    for (int to = 1; to < csrec_comm_size(c->comm) && !status; to++)
        status = csrec_comm_send(c->comm, to, DONE, NULL, 0, error);
    return status;
}

/* ---- one grid on the CPU. */

enum { BLOCK = 1 << 14 };

void csrec_grid_run_clear(csrec_grid_run *run, int64_t channels) {
    csrec_operator_destroy(run->A);
    for (int64_t c = 0; run->atoms && c < channels; c++) csrec_atoms_clear(&run->atoms[c]);
    csrec_pool_clear(&run->pool);
    free(run->rows);
    *run = (csrec_grid_run){0};
}

csrec_status csrec_grid_run_create(const csrec_measurement *m, const csrec_recover_options *options,
                                   const csrec_context *context, int64_t number,
                                   csrec_grid_run *run) {
    csrec_status status = csrec_grid_create(&m->shape, options->order, number, options->shifts,
                                            options->seed, &run->grid);
    if (status)
        return csrec_fail(&run->error, status,
                          "the shape needs more than 62 levels; sample a "
                          "smaller shape or use order raster");
    uint64_t *rows = malloc((size_t)m->n * sizeof *rows);
    CSREC_TAKE(&run->pool, run->order, m->n);
    CSREC_ZEROS(&run->pool, run->atoms, m->channels);
    CSREC_ZEROS(&run->pool, run->reports, m->channels);
    status = rows && !run->pool.lacks ? CSREC_OK : CSREC_MEMORY;
    if (!status) status = csrec_grid_rows(&run->grid, m->n, m->index, rows);
    for (int64_t k = 0; !status && k < m->n; k++) run->order[k] = k;
    if (!status) status = csrec_sort_rows(m->n, rows, run->order);
    if (status) {
        csrec_fail(&run->error, status, "out of memory for %lld samples", (long long)m->n);
    } else if (!context) {
        run->rows = rows;
        rows = NULL;
    } else {
        csrec_operator_spec spec = {.name = "haar",
                                    .levels = run->grid.levels,
                                    .m = m->n,
                                    .rows = rows,
                                    .columns = options->columns};
        status = csrec_operator_create_on(context, &spec, &run->A, &run->error);
    }
    free(rows);
    return status;
}

/* Adds the fit of one block of rows, all channels, to sums; squares may be NULL. */
static csrec_status add_block(const csrec_grid_run *run, int64_t channels, uint64_t first,
                              int64_t rows, uint64_t *row, int64_t *entry, double *value,
                              double *sums, double *squares) {
    csrec_status status = csrec_grid_entries(&run->grid, first, rows, row, entry);
    for (int64_t c = 0; c < channels && !status; c++) {
        csrec_atoms_fill(run->grid.levels, &run->atoms[c], first, rows, value);
        for (int64_t k = 0; k < rows; k++)
            if (entry[k] >= 0) sums[entry[k] * channels + c] += value[k];
        for (int64_t k = 0; squares && k < rows; k++)
            if (entry[k] >= 0) squares[entry[k] * channels + c] += value[k] * value[k];
    }
    return status;
}

csrec_status csrec_grid_run_add(const csrec_grid_run *run, int64_t channels, int threads,
                                double *sums, double *squares) {
    int64_t rows = INT64_C(1) << run->grid.levels, blocks = (rows + BLOCK - 1) / BLOCK;
    csrec_status status = CSREC_OK;
#pragma omp parallel num_threads(threads)
    {
        csrec_pool pool = {0};
        uint64_t *row = CSREC_TAKE(&pool, row, BLOCK);
        int64_t *entry = CSREC_TAKE(&pool, entry, BLOCK);
        double *value = CSREC_TAKE(&pool, value, BLOCK);
        csrec_status own = pool.lacks ? CSREC_MEMORY : CSREC_OK;
#pragma omp for schedule(dynamic, 4)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t first = b * BLOCK, count = rows - first < BLOCK ? rows - first : BLOCK;
            if (!own)
                own = add_block(run, channels, (uint64_t)first, count, row, entry, value, sums,
                                squares);
        }
        if (own) {
#pragma omp atomic write
            status = own;
        }
        csrec_pool_clear(&pool);
    }
    return status;
}
