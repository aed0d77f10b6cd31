/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.c - the cut of a row tree, from the rows alone, and the sums of the nodes above it. */
#include "haar/cut.h"

#include <stdlib.h>

#include "haar/levels.h"
#include "haar/column_order.h"

/* ------------------------------------------------------------------ the cut ------------------- */

/* A block that is still to be cut. */
typedef struct block {
    int64_t first, size;
    int32_t parent;
    int parent_level; /* 64: the root's */
} block;

/* First sample of the block's right half: rows agree above bit level - 1. */
static int64_t middle_of(const uint64_t *rows, const block *b, int level) {
    int64_t low = b->first, high = b->first + b->size - 1; /* left, right */
    while (high - low > 1) {
        int64_t k = low + (high - low) / 2;
        if (rows[k] >> (level - 1) & 1)
            high = k;
        else
            low = k;
    }
    return high;
}

/* Level, in keys, of the indicator of the block's samples. */
static int edge_of(csrec_columns columns, int parent, int level) {
    if (parent == 64) return CSREC_LISTING_COLUMN_0;
    int edge = columns == CSREC_COLUMNS_PAPER ? csrec_tree_edge(parent, level) : 0;
    return edge ? edge : -1;
}

static int level_of(const uint64_t *rows, const block *b) {
    return b->size > 1 ? csrec_bit_length(rows[b->first] ^ rows[b->first + b->size - 1]) : 0;
}

static void put_top(csrec_cut *cut, const uint64_t *rows, const block *b, int64_t middle) {
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

static void put_piece(csrec_cut *cut, const uint64_t *rows, const block *b) {
    int edge = edge_of(cut->columns, b->parent_level, level_of(rows, b));
    if (cut->piece) cut->piece[cut->pieces] = (csrec_piece){b->first, b->size, b->parent, edge};
    cut->pieces++;
}

/* Counts tops and pieces, and lists them if there is memory for them. Left halves first. */
static void cut_blocks(csrec_cut *cut, const uint64_t *rows, int64_t most) {
    block open[65];
    int depth = 1;
    open[0] = (block){0, cut->n, -1, 64};
    cut->tops = cut->pieces = 0;
    while (depth > 0) {
        block b = open[--depth];
        if (b.size <= most) {
            put_piece(cut, rows, &b);
            continue;
        }
        int level = level_of(rows, &b);
        int64_t middle = middle_of(rows, &b, level);
        open[depth++] = (block){middle, b.first + b.size - middle, cut->tops, level};
        open[depth++] = (block){b.first, middle - b.first, cut->tops, level};
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

csrec_top_pick csrec_cut_best_of(const csrec_cut *cut, int32_t t) {
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
        csrec_top_pick own = csrec_cut_best_of(cut, t);
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
