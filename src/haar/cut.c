/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.c - the cut of a row tree, from the rows alone, and the sums of the nodes above it. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "haar/shared.h"

/* ------------------------------------------------------------------ the cut ------------------- */

/* A block that is still to be cut. */
typedef struct span {
    int64_t first, size;
    int32_t parent;
    int parent_level; /* 64: the root's */
} span;

/* First sample of the block's right half: rows agree above bit level - 1. */
static int64_t middle_of(const uint64_t *rows, const span *b, int level) {
    const uint64_t first = (rows[b->first] >> (level - 1) | 1) << (level - 1);
    return csrec_bound(rows, b->first, b->first + b->size, first);
}

/* Level, in keys, of the indicator of the block's samples. */
static int edge_of(csrec_columns columns, int parent, int level) {
    if (parent == 64) return CSREC_LISTING_COLUMN_0;
    int edge = columns == CSREC_COLUMNS_PAPER ? csrec_tree_edge(parent, level) : 0;
    return edge ? edge : -1;
}

static int level_of(const uint64_t *rows, const span *b) {
    return b->size > 1 ? csrec_bit_length(rows[b->first] ^ rows[b->first + b->size - 1]) : 0;
}

static void put_top(csrec_cut *cut, const uint64_t *rows, const span *b, int64_t middle) {
    int level = level_of(rows, b);
    if (cut->top)
        cut->top[cut->tops] = (csrec_top){.first = b->first,
                                          .size = b->size,
                                          .left = middle - b->first,
                                          .row = rows[b->first],
                                          .parent = b->parent,
                                          .level = level,
                                          .edge = edge_of(cut->columns, b->parent_level, level),
                                          .scale = csrec_haar_scale(b->size)};
    cut->tops++;
}

static void put_piece(csrec_cut *cut, const uint64_t *rows, const span *b) {
    int edge = edge_of(cut->columns, b->parent_level, level_of(rows, b));
    if (cut->piece) cut->piece[cut->pieces] = (csrec_piece){b->first, b->size, b->parent, edge};
    cut->pieces++;
}

/* Counts tops and pieces, and lists them if there is memory for them. Left halves first. */
static void cut_blocks(csrec_cut *cut, const uint64_t *rows, int64_t most) {
    span open[65];
    int depth = 1;
    open[0] = (span){0, cut->n, -1, 64};
    cut->tops = cut->pieces = 0;
    while (depth > 0) {
        span b = open[--depth];
        if (b.size <= most) {
            put_piece(cut, rows, &b);
            continue;
        }
        int level = level_of(rows, &b);
        int64_t middle = middle_of(rows, &b, level);
        open[depth++] = (span){middle, b.first + b.size - middle, cut->tops, level};
        open[depth++] = (span){b.first, middle - b.first, cut->tops, level};
        put_top(cut, rows, &b, middle);
    }
}

csrec_status csrec_cut_create(int levels, int64_t n, const uint64_t *rows, csrec_columns columns,
                              int64_t most, csrec_cut *cut) {
    *cut = (csrec_cut){.levels = levels, .n = n, .columns = columns};
    cut_blocks(cut, rows, most);
    cut->top = calloc((size_t)cut->tops + 1, sizeof *cut->top);
    cut->piece = calloc((size_t)cut->pieces, sizeof *cut->piece);
    if (!cut->top || !cut->piece) {
        csrec_cut_clear(cut);
        return CSREC_MEMORY;
    }
    cut_blocks(cut, rows, most);
    return CSREC_OK;
}

void csrec_cut_clear(csrec_cut *cut) {
    free(cut->top);
    free(cut->piece);
    *cut = (csrec_cut){0};
}

/* ------------------------------------------------------------------ columns ------------------- */

static double sum_of(const csrec_top *top, bool indicator) {
    double left = top->half[0].now, right = top->half[1].now;
    return indicator ? left + right : left - right;
}

double csrec_cut_sum(const csrec_cut *cut, const csrec_top_pick *pick) {
    return sum_of(&cut->top[pick->top], pick->indicator);
}

static int64_t key_of(const csrec_top *top, bool indicator, double sum) {
    int level = indicator ? top->edge : top->level;
    return level < 0 ? -1 : csrec_pursuit_key(sum, top->scale, level);
}

/* The best column of a top, of equal ones the leftmost. */
static csrec_top_pick best_of(const csrec_cut *cut, int32_t t) {
    const csrec_top *top = &cut->top[t];
    int64_t difference = key_of(top, false, sum_of(top, false));
    int64_t indicator = key_of(top, true, sum_of(top, true));
    return indicator > difference ? (csrec_top_pick){indicator, t, true}
                                  : (csrec_top_pick){difference, t, false};
}

/* Columns of equal keys are of one level, and their blocks disjoint: tops come from left to right.
 */
csrec_top_pick csrec_cut_best(const csrec_cut *cut) {
    csrec_top_pick best = {-1, -1, false};
    for (int32_t t = 0; t < cut->tops; t++) {
        csrec_top_pick own = best_of(cut, t);
        if (own.key > best.key) best = own;
    }
    return best;
}

/* Bounds of sums need not be exact, only bounds: a little is added for rounding. */
int64_t csrec_cut_bound(const csrec_top *top) {
    const double slack = 1.0 + 0x1p-40;
    const csrec_sum *left = &top->half[0], *right = &top->half[1];
    double sum = left->now + right->now, difference = left->now - right->now;
    double more = left->high + right->high, less = left->low + right->low;
    double sum_most = fmax(fabs(sum + more), fabs(sum + less));
    double difference_most = fmax(fabs(difference + left->high - right->low),
                                  fabs(difference + left->low - right->high));
    int64_t a = key_of(top, true, sum_most * slack);
    int64_t b = key_of(top, false, difference_most * slack);
    return a > b ? a : b;
}

/* ------------------------------------------------------------------ changes ------------------- */

static csrec_sum *half_of(csrec_top *top, int64_t first) {
    return &top->half[first >= top->first + top->left];
}

void csrec_cut_widen(csrec_cut *cut, int32_t piece, double low, double high) {
    const csrec_piece *p = &cut->piece[piece];
    for (int32_t t = p->parent; t >= 0; t = cut->top[t].parent) {
        csrec_sum *half = half_of(&cut->top[t], p->first);
        half->low += low;
        half->high += high;
    }
}

void csrec_cut_narrow(csrec_cut *cut) {
    for (int32_t t = 0; t < cut->tops; t++)
        for (int h = 0; h < 2; h++) cut->top[t].half[h].low = cut->top[t].half[h].high = 0.0;
}

void csrec_cut_move(csrec_cut *cut, int32_t piece, double change) {
    const csrec_piece *p = &cut->piece[piece];
    for (int32_t t = p->parent; t >= 0; t = cut->top[t].parent)
        half_of(&cut->top[t], p->first)->now += change;
}

void csrec_cut_apply(csrec_cut *cut, const csrec_top_pick *pick, double d) {
    csrec_top *own = &cut->top[pick->top];
    double change = 0.0, left = (double)own->left, right = (double)(own->size - own->left);
    own->x[pick->indicator] += d;
    for (int32_t t = pick->top; t < cut->tops && cut->top[t].first < own->first + own->size; t++) {
        csrec_top *top = &cut->top[t];
        int64_t middle = top->first + top->left;
        double a = csrec_cut_shift(own, pick->indicator, d, top->first);
        double b = csrec_cut_shift(own, pick->indicator, d, middle);
        top->half[0].now += a * (double)top->left;
        top->half[1].now += b * (double)(top->size - top->left);
    }
    change = pick->indicator ? -d * (left + right) : d * (right - left);
    for (int32_t t = own->parent; t >= 0; t = cut->top[t].parent)
        half_of(&cut->top[t], own->first)->now += change;
}

/* ---- the last few picks of pieces, put into the order in which the pursuit makes them. */

/* ---- blocks double at each step: from the ranks above, to those below. */

/* Of messages; src/recover/parts/ranks.c has others. */
enum { TAG = 1 << 21 };

static csrec_status append(csrec_gather *g, int block, const void *data, size_t bytes) {
    size_t begin = block > 0 ? g->end[block - 1] : 0;
    if (begin + bytes > g->room) {
        size_t room = 2 * (begin + bytes);
        char *more = realloc(g->data, room);
        if (!more) return CSREC_MEMORY;
        g->data = more;
        g->room = room;
    }
    if (bytes > 0) memcpy(g->data + begin, data, bytes);
    g->end[block] = begin + bytes;
    return CSREC_OK;
}

/* The first blocks: where they end, then they. */
static csrec_status give(csrec_gather *g, int to, int blocks, csrec_error *error) {
    size_t head = (size_t)blocks * sizeof *g->end, bytes = head + g->end[blocks - 1];
    char *message = malloc(bytes);
    if (!message) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    memcpy(message, g->end, head);
    memcpy(message + head, g->data, bytes - head);
    csrec_status status = csrec_comm_send(g->comm, to, TAG, message, bytes, error);
    free(message);
    g->sent++;
    g->sent_bytes += (int64_t)bytes;
    return status;
}

static csrec_status take(csrec_gather *g, int from, int have, int blocks, csrec_error *error) {
    void *data;
    size_t bytes, begin = 0;
    csrec_status status = csrec_comm_receive(g->comm, &from, TAG, &data, &bytes, error);
    if (status) return status;
    const size_t *end = data, head = (size_t)blocks * sizeof *end;
    bool whole = bytes >= head && end[blocks - 1] == bytes - head;
    for (int k = 0; k < blocks && whole && !status; k++) {
        whole = begin <= end[k] && end[k] <= bytes - head;
        if (whole) status = append(g, have + k, (const char *)data + head + begin, end[k] - begin);
        begin = end[k];
    }
    free(data);
    if (!whole)
        return csrec_fail(error, CSREC_DATA,
                          "process %d is in another pursuit; give all processes the same arguments",
                          from);
    return status ? csrec_fail(error, status, "out of memory for a message") : CSREC_OK;
}

csrec_status csrec_gather_all(csrec_gather *g, const void *own, size_t bytes, csrec_error *error) {
    int size = csrec_comm_size(g->comm), rank = csrec_comm_rank(g->comm);
    if (!g->end) g->end = calloc((size_t)size, sizeof *g->end);
    csrec_status status = g->end ? append(g, 0, own, bytes) : CSREC_MEMORY;
    if (status) return csrec_fail(error, status, "out of memory for a message");
    for (int have = 1; have < size && !status; have *= 2) {
        int blocks = size - have < have ? size - have : have;
        status = give(g, (rank + size - have) % size, blocks, error);
        if (!status) status = take(g, (rank + have) % size, have, blocks, error);
    }
    return status;
}

const void *csrec_gather_of(const csrec_gather *g, int rank, size_t *bytes) {
    int size = csrec_comm_size(g->comm);
    int block = (rank - csrec_comm_rank(g->comm) + size) % size;
    size_t begin = block > 0 ? g->end[block - 1] : 0;
    *bytes = g->end[block] - begin;
    return g->data + begin;
}

void csrec_gather_clear(csrec_gather *g) {
    free(g->data);
    free(g->end);
    *g = (csrec_gather){0};
}

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
        csrec_top_pick own = best_of(&r->cut, r->suspect[k]);
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
