/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c - the last few picks of pieces, put into the order in which the pursuit makes them. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "haar/rounds.h"

/* A piece's picks that are still to be made. */
typedef struct row {
    const csrec_move *at, *end;
} row;

static csrec_status make_room(csrec_rounds *r, size_t bytes, csrec_error *error) {
    if (bytes <= r->room) return CSREC_OK;
    char *more = realloc(r->message, bytes);
    if (!more) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    r->message = more;
    r->room = bytes;
    return CSREC_OK;
}

static csrec_status exchange(csrec_rounds *r, int64_t threshold, csrec_error *error) {
    int64_t count = csrec_steps_list(&r->pieces, r->steps, threshold, NULL);
    csrec_status status = make_room(r, (size_t)count * sizeof(csrec_move), error);
    if (status) return status;
    csrec_move *move = (csrec_move *)(void *)r->message;
    csrec_steps_list(&r->pieces, r->steps, threshold, move);
    double start = csrec_seconds();
    status = csrec_gather_all(&r->gather, move, (size_t)count * sizeof *move, error);
    r->report->waited += csrec_seconds() - start;
    r->report->rounds++;
    return status;
}

static int by_piece(const void *a, const void *b) {
    int32_t p = ((const row *)a)->at->piece, q = ((const row *)b)->at->piece;
    return (p > q) - (p < q);
}

/* One row for each piece that has picks; row NULL: counts them. */
static int64_t find_rows(const csrec_rounds *r, row *rows) {
    int64_t n = 0;
    for (int rank = 0; rank < csrec_comm_size(r->job->comm); rank++) {
        size_t bytes;
        const csrec_move *move = csrec_gather_of(&r->gather, rank, &bytes);
        const csrec_move *end = move + bytes / sizeof *move;
        for (const csrec_move *next; move < end; move = next, n++) {
            for (next = move + 1; next < end && next->piece == move->piece;) next++;
            if (rows) rows[n] = (row){move, next};
        }
    }
    return n;
}

/* The row whose next pick has the largest key, of equal ones the leftmost; NULL: none is left. */
static row *first_row(row *rows, int64_t n) {
    row *best = NULL;
    for (int64_t k = 0; k < n; k++)
        if (rows[k].at < rows[k].end && (!best || rows[k].at->key > best->at->key)) best = &rows[k];
    return best;
}

/* Whether a column above the pieces comes before a pick: a larger key, or the same one further to
 * the left. Only suspects can. */
static bool comes_first(const csrec_rounds *r, const csrec_move *move, csrec_top_pick *pick) {
    csrec_top_pick best = {-1, -1, false};
    for (int32_t k = 0; k < r->suspects; k++) {
        csrec_top_pick own = csrec_cut_best_of(&r->cut, r->suspect[k]);
        if (own.key > best.key) best = own;
    }
    *pick = best;
    if (best.key != move->key) return best.key > move->key;
    return r->cut.top[best.top].first < r->cut.piece[move->piece].first;
}

static void make(csrec_rounds *r, const csrec_move *move) {
    csrec_cut_move(&r->cut, move->piece, move->change);
    r->energy -= move->gain;
    r->iterations++;
    r->report->merged++;
    int32_t own = r->place[move->piece];
    if (own >= 0) r->settled[own]++;
}

/* Makes picks until something else is next; true: that is *pick. */
static bool make_picks(csrec_rounds *r, row *rows, int64_t n, csrec_top_pick *pick) {
    for (row *next; (next = first_row(rows, n)) && !csrec_rounds_over(r); next->at++) {
        if (comes_first(r, next->at, pick)) return true;
        if (next->at->halt == CSREC_HALT_SMALL) csrec_rounds_end(r, CSREC_SMALL);
        if (next->at->halt == CSREC_HALT_STALL) csrec_rounds_end(r, CSREC_EXHAUSTED);
        if (next->at->halt) break;
        make(r, next->at);
    }
    return false;
}

csrec_status csrec_rounds_merge(csrec_rounds *r, int64_t threshold, csrec_error *error) {
    csrec_top_pick pick;
    csrec_status status = exchange(r, threshold, error);
    if (status) return status;
    int64_t n = find_rows(r, NULL);
    row *rows = malloc(((size_t)n + 1) * sizeof *rows);
    if (!rows) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    find_rows(r, rows);
    qsort(rows, (size_t)n, sizeof *rows, by_piece);
    memset(r->settled, 0, (size_t)r->pieces.count * sizeof *r->settled);
    bool above = make_picks(r, rows, n, &pick);
    for (int32_t k = 0; k < r->pieces.count; k++) csrec_steps_settle(&r->steps[k], r->settled[k]);
    if (above) csrec_rounds_pick(r, &pick);
    r->low = r->high = 0;
    free(rows);
    return CSREC_OK;
}
