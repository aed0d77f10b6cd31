/* SPDX-License-Identifier: BSD-3-Clause */
/* history.h - records the steps of a recovery. Every function accepts NULL and then does nothing,
 * so recoveries without a history have no overhead. */
#pragma once

#include "csrec/haar.h"
#include "csrec/recover.h"
#include "solver/solver.h"

/* ---- one dyadic grid laid over an N-d signal: which row of the Haar matrix an entry becomes.
 *
 * The plain grid starts at entry 0. In a random grid each axis is split into units, a power of two
 * long, after a random shift; the units are spread evenly over the domain's slots of a unit each,
 * slot = (unit * slots + phase) / units rounded down, with a random phase. So nothing wraps around,
 * blocks of up to a unit have random positions, and the halves of larger ones hold equally many
 * units, +-1: with very uneven halves, columns are far from orthogonal and a pursuit moves large
 * blocks back and forth. The axes are permuted, which changes the order of their bits. Only the
 * rows change: the matrix and the pursuit stay the same. */

/* Coordinate c becomes c + shift, then its unit, of 2^bits, is mapped to its slot. */
typedef struct csrec_grid_axis {
    int axis;                    /* of the signal */
    int bits;                    /* plain grid: large enough for a single unit */
    int64_t shift;               /* below 2^bits */
    int64_t units, slots, phase; /* units <= slots <= 2 CSREC_GRID_UNITS, phase < slots */
} csrec_grid_axis;

enum { CSREC_GRID_UNITS = 64, CSREC_GRID_CELL = 256 };

typedef struct csrec_grid {
    csrec_shape shape;  /* of the signal */
    csrec_shape domain; /* axes permuted and padded; equal to shape for the plain grid */
    csrec_order order;
    csrec_grid_axis axis[CSREC_DIMS_MAX]; /* by axis of the domain */
    int levels;
} csrec_grid;

/* A single grid, number 0, is plain; several are all random, drawn from (seed, number).
 * CSREC_DATA: more than 62 levels. */
csrec_status csrec_grid_create(const csrec_shape *shape, csrec_order order, int64_t number,
                               int64_t grids, uint64_t seed, csrec_grid *grid);

csrec_status csrec_grid_rows(const csrec_grid *grid, int64_t n, const int64_t *index,
                             uint64_t *rows);

/* index[k]: signal entry of row first + k, or -1. */
csrec_status csrec_grid_entries(const csrec_grid *grid, uint64_t first, int64_t n, uint64_t *rows,
                                int64_t *index);

/* The steps of one channel (or of all at once) in one track. One thread at a time adds. */
typedef struct csrec_record csrec_record;

/* Clears the history for a recovery of this measurement, whose values have `unit` in units of the
 * truth. */
void csrec_history_begin(csrec_history *history, const csrec_measurement *measurement, double unit);

/* Later records have values in this unit, relative to the measurement's; 1: the same unit. */
void csrec_history_unit(csrec_history *history, double unit);

/* A new record. track: order of the tracks; channel: -1 for one of all channels. name and unit are
 * copied. NULL if memory is short: the history will have no track. Thread-safe. */
csrec_record *csrec_history_record(csrec_history *history, int track, const char *name,
                                   const char *unit, int64_t channel);

/* Whether to record this iteration. */
bool csrec_record_wants(const csrec_record *record, int64_t iteration);

/* energy = ||r||^2 and whole = ||y||^2 of the record's channels; error: their sum of
 * squared differences to the truth, NaN if unknown. */
void csrec_record_add(csrec_record *record, int64_t iteration, double energy, double whole,
                      double error);

/* Notes that memory was short for an error: the history will have no track. */
void csrec_record_fail(const csrec_record *record);

/* The same for a whole signal [entries * channels]; the residual is that at the samples. */
void csrec_record_signal(csrec_record *record, int64_t iteration, const double *signal);

/* Entries of the signal; the truth at an entry of the record's channel; has_truth: there is one. */
int64_t csrec_record_entries(const csrec_record *record);
bool csrec_record_has_truth(const csrec_record *record);
double csrec_record_truth(const csrec_record *record, int64_t entry);

/* Counts atoms by level. Not thread-safe. */
void csrec_history_atoms(csrec_history *history, int levels, const csrec_atoms *atoms);

/* Combines channels and adds the recovered signal (NULL if there is none) as the last track.
 * No track if memory was short: a history does not cost the recovery. */
void csrec_history_end(csrec_history *history, const double *signal,
                       const csrec_recover_report *report);

/* Observers (csrec_watch) that record to `context`: a csrec_record, for an operator with
 * synthesize; a csrec_grid_record, for a pursuit on the Haar matrix of a grid. */
typedef struct csrec_grid_record {
    csrec_record *record;
    const csrec_grid *grid;
} csrec_grid_record;

void csrec_follow_signal(const csrec_run *run, int64_t iteration, bool last, double energy,
                         double whole, void *context);
void csrec_follow_grid(const csrec_run *run, int64_t iteration, bool last, double energy,
                       double whole, void *context);
