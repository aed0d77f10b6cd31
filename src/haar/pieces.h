/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.h - pursuits on the pieces of one process, which run ahead of what is known to be right.
 *
 * Each piece makes its own pursuit's picks and keeps those that are not settled yet in a log. The
 * order in which the pursuit of the whole signal makes the picks of all pieces is: always that with
 * the largest key, of equal ones the leftmost piece's. With m = the smallest key of a piece's picks
 * from the first unsettled one on, that is: m falling, then pieces from left to right, then each
 * piece's own order. So the picks with m >= some threshold come before all others, and in a piece
 * they are the first of its log. */
#pragma once

#include "device/device.h"
#include "haar/pursuit.h"

/* ---- the row tree of one signal cut into pieces: its maximal blocks of at most some number of
 * samples. The nodes above them are the tops.
 *
 * A step on a column of a piece changes nothing in another piece, and of the tops only the sums of
 * its ancestors. The indicator of a piece's samples, the column of the edge above it, belongs to
 * the piece. Tops and pieces are numbered from left to right, tops before their descendants. */

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

/* rows: [n] ascending, n >= 1. A piece has at most `most` samples, most >= 1. CSREC_MEMORY; */
csrec_status csrec_cut_create(int levels, int64_t n, const uint64_t *rows, csrec_columns columns,
                              int64_t most, csrec_cut *cut);
void csrec_cut_clear(csrec_cut *cut);

/* A column above the pieces: the top's difference, or the indicator of its samples. */
typedef struct csrec_top_pick {
    int64_t key; /* -1: there is none */
    int32_t top;
    bool indicator;
} csrec_top_pick;

/* The best column, of equal ones the leftmost. */
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

/* Why a piece does not go on at its best column. */
typedef enum csrec_halt {
    CSREC_HALT_NONE,  /* its key is below the threshold */
    CSREC_HALT_SMALL, /* its coefficient is too small */
    CSREC_HALT_STALL, /* its step takes nothing from the energy */
    CSREC_HALT_FULL   /* the log is full */
} csrec_halt;

/* Thresholds fall; interval i holds the picks with threshold[i] <= m < threshold[i - 1], interval 0
 * all above. */
enum { CSREC_INTERVALS = 16 };

/* An interval, over all pieces. */
typedef struct csrec_interval {
    int64_t picks, largest; /* their number, and their largest m, halts included; -1: none */
    int64_t halts;
    csrec_wide gain; /* what they take from the energy */
} csrec_interval;

/* A piece's picks in one interval: how its sum changes, and between which bounds meanwhile. */
typedef struct csrec_stretch {
    int32_t piece, interval;
    double low, high, change;
} csrec_stretch;

/* One pick. */
typedef struct csrec_move {
    int64_t key;
    csrec_wide gain;
    double change; /* of the piece's sum */
    int32_t piece;
    int32_t halt; /* csrec_halt: not a pick, but the end of the piece's */
} csrec_move;

/* What one process's pieces have in common. */
typedef struct csrec_pieces_job {
    const csrec_cut *cut;
    const uint64_t *rows; /* [n] */
    const double *y;      /* [n] */
    double units;
    double small; /* a pick's coefficient, in units of y, is at least this */
    int32_t count;
    const int32_t *piece; /* [count] this process's, ascending */
    int64_t log;          /* picks that a piece can keep; a power of two */
    int threads;
} csrec_pieces_job;

/* One of a piece's own picks, which can be taken back. */
typedef struct csrec_step {
    int64_t key;
    int64_t code;     /* which column: the engine's */
    double d, change; /* step; what the piece's sum changes by */
    csrec_wide gain;
} csrec_step;

/* A piece's unsettled picks: a ring. */
typedef struct csrec_steps {
    csrec_step *step;     /* [room] */
    int64_t begin, count; /* begin .. begin + count - 1, modulo room */
    int64_t room;         /* a power of two */
    csrec_halt halt;      /* of the last run */
    int64_t head;         /* its best key */
} csrec_steps;

static inline csrec_step *csrec_steps_at(const csrec_steps *steps, int64_t i) {
    return &steps->step[(steps->begin + i) & (steps->room - 1)];
}

/* An engine: where pieces are kept and run. Pieces are numbered as in the cut, and `own` is the
 * place among the process's. The job outlives the state. all: [count] the pieces' picks. */
typedef struct csrec_pieces_type {
    csrec_status (*create)(const csrec_pieces_job *job, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Sums of r of the pieces [count], and their common energy, as before the first pick. */
    void (*start)(const void *state, double *sum, csrec_wide *energy);
    /* Runs every piece as long as its best key is at least theta. Also fails for what failed in
     * undo and shift. */
    csrec_status (*run)(void *state, int64_t theta, csrec_steps *all, csrec_error *error);
    /* Takes back, and drops, all unsettled picks of a piece. */
    void (*undo)(void *state, int32_t own, csrec_steps *steps);
    /* All samples of a piece change by t; no pick of it is unsettled. */
    void (*shift)(void *state, int32_t own, double t);
    /* The atoms of a piece, ascending by column. */
    csrec_status (*result)(const void *state, int32_t own, csrec_atoms *atoms, csrec_error *error);
} csrec_pieces_type;

extern const csrec_pieces_type csrec_pieces_cpu;

/* Of the pool. CSREC_MEMORY. */
csrec_status csrec_steps_create(const csrec_pieces_job *job, csrec_pool *pool, csrec_steps **all);

/* Sums up unsettled picks: interval: [intervals], added to; stretch: [count * intervals]. Returns
 * the number of stretches; *next: the largest m beyond the last interval, -1: none. */
int64_t csrec_steps_survey(const csrec_pieces_job *job, const csrec_steps *all, int intervals,
                           const int64_t *threshold, csrec_interval *interval,
                           csrec_stretch *stretch, int64_t *next);
/* Lists unsettled picks with m >= threshold, piece by piece; move NULL: counts them. */
int64_t csrec_steps_list(const csrec_pieces_job *job, const csrec_steps *all, int64_t threshold,
                         csrec_move *move);
/* Settles the picks with m >= threshold; or the first `settled` of one piece. */
void csrec_steps_settle_above(const csrec_pieces_job *job, csrec_steps *all, int64_t threshold);
void csrec_steps_settle(csrec_steps *steps, int64_t settled);
