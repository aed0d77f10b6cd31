/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.h - pursuits on the pieces of one process, which run ahead of what is known to be right.
 *
 * Each piece makes its own pursuit's picks and keeps those that are not settled yet in a log. The
 * order in which the pursuit of the whole signal makes the picks of all pieces is: always that with
 * the largest key, of equal ones the leftmost piece's. With m = the smallest key of a piece's picks
 * from the first unsettled one on, that is: m falling, then pieces from left to right, then each
 * piece's own order. So the picks with m >= some threshold come before all others, and in a piece
 * they are the first of its log.
 */
#ifndef CSREC_HAAR_PIECES_H
#define CSREC_HAAR_PIECES_H

#include "base/pool.h"
#include "device/device.h"
#include "haar/cut.h"

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
    const csrec_context *context;
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
    /* The atoms of a piece, ascending by column; its y - Psi x [size]. Either may be NULL.
     * CSREC_UNSUPPORTED: no residuals. */
    csrec_status (*result)(const void *state, int32_t own, csrec_atoms *atoms, double *r,
                           csrec_error *error);
} csrec_pieces_type;

extern const csrec_pieces_type csrec_pieces_cpu, csrec_pieces_cuda;

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

#endif
