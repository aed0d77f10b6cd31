/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.h - the row tree of one signal cut into pieces: its maximal blocks of at most some number of
 * samples. The nodes above them are the tops.
 *
 * A step on a column of a piece changes nothing in another piece, and of the tops only the sums of
 * its ancestors. The indicator of a piece's samples, the column of the edge above it, belongs to
 * the piece. Tops and pieces are numbered from left to right, tops before their descendants.
 */
#ifndef CSREC_HAAR_CUT_H
#define CSREC_HAAR_CUT_H

#include "haar/pursuit.h"

/* A sum of r, and bounds low <= 0 <= high of how far it may change while pieces make their steps,
 * in any order. */
typedef struct csrec_sum {
    double now, low, high;
} csrec_sum;

typedef struct csrec_top {
    int64_t first, size, left; /* its samples, of those in the left half */
    uint64_t row;              /* of the first sample */
    int32_t parent;            /* -1: the root */
    int level;
    int edge;     /* level of the indicator of its samples in keys, 63 for column 0; -1: none */
    double scale; /* 1 / sqrt(size) */
    csrec_sum half[2]; /* left, right */
    double x[2];       /* coefficients: of the difference, of the indicator */
} csrec_top;

typedef struct csrec_piece {
    int64_t first, size;
    int32_t parent; /* top; -1: the piece is the whole signal */
    int edge;       /* as of a top */
} csrec_piece;

typedef struct csrec_cut {
    int levels;
    int64_t n;
    csrec_columns columns;
    int32_t tops, pieces;
    csrec_top *top;
    csrec_piece *piece;
} csrec_cut;

/* rows: [n] ascending, n >= 1. A piece has at most `most` samples, most >= 1. CSREC_MEMORY;
 */
csrec_status csrec_cut_create(int levels, int64_t n, const uint64_t *rows, csrec_columns columns,
                              int64_t most, csrec_cut *cut);
void csrec_cut_clear(csrec_cut *cut);

/* A column above the pieces: the top's difference, or the indicator of its samples. */
typedef struct csrec_top_pick {
    int64_t key; /* -1: there is none */
    int32_t top;
    bool indicator;
} csrec_top_pick;

/* The best column of a top, or of all, of equal ones the leftmost. */
csrec_top_pick csrec_cut_best_of(const csrec_cut *cut, int32_t top);
csrec_top_pick csrec_cut_best(const csrec_cut *cut);

/* The largest key that the top's columns have for sums within their bounds. */
int64_t csrec_cut_bound(const csrec_top *top);

/* Sum of r over the column's block, halves with their signs. */
double csrec_cut_sum(const csrec_cut *cut, const csrec_top_pick *pick);

/* The piece's sum may change by low <= 0 to high >= 0, beside what other pieces' may. */
void csrec_cut_widen(csrec_cut *cut, int32_t piece, double low, double high);
/* No piece's sum may change. */
void csrec_cut_narrow(csrec_cut *cut);
/* The piece's sum changes. */
void csrec_cut_move(csrec_cut *cut, int32_t piece, double change);

/* A step d on a top's column: x and the sums of all tops. The samples of the pieces below it change
 * by csrec_cut_shift. */
void csrec_cut_apply(csrec_cut *cut, const csrec_top_pick *pick, double d);

/* How the step changes the samples from `first` on, of a piece or of a top's half. */
CSREC_BOTH double csrec_cut_shift(const csrec_top *top, bool indicator, double d, int64_t first) {
    if (first < top->first || first >= top->first + top->size) return 0.0;
    return indicator || first < top->first + top->left ? -d : d;
}

#endif
