/* SPDX-License-Identifier: BSD-3-Clause */
/* need.h - estimates of memory and time. Each method counts its own allocations;
 * bench/estimate.py measures the rates of work. */
#ifndef CSREC_METHOD_NEED_H
#define CSREC_METHOD_NEED_H

#include "csrec/recover.h"
#include "base/error.h"
#include "solver/settings.h"

/* The tolerance of a pursuit on one grid, and of sparse solvers. */
#define CSREC_EPSILON_DEFAULT 1e-3

/* The task from which memory and time are estimated. */
typedef struct csrec_task {
    csrec_shape shape;
    int64_t entries, n, channels;
    double rate;      /* samples per entry of the whole signal, of which this may be a tile */
    int threads;      /* at least 1 */
    bool noisy;       /* a standard deviation of the noise is known */
    bool through;     /* measured through an operator; n is its rows */
    bool atoms_alone; /* nobody asks for the signal */
    const csrec_recover_options *options;
} csrec_task;

/* bytes: the most touched at a time, including the caller's signal once written, excluding the
 * measurement. seconds: with task->threads. stage: their stages in the order in which they report;
 * none: a single one. */
typedef struct csrec_need {
    double bytes, seconds;
    int n_stages;
    csrec_stage stage[CSREC_STAGES_MOST];
} csrec_need;

static inline void csrec_need_stage(csrec_need *need, const char *name, double seconds) {
    if (need->n_stages < CSREC_STAGES_MOST)
        need->stage[need->n_stages++] = (csrec_stage){name, seconds};
}

/* The same task with other options. */
static inline csrec_task csrec_task_with(const csrec_task *task,
                                         const csrec_recover_options *options) {
    csrec_task other = *task;
    other.options = options;
    return other;
}

/* Converts seconds of one thread to seconds on the task's threads, for work in at most `lanes`
 * equal parts. */
double csrec_task_share(const csrec_task *task, double seconds, int64_t lanes);

static inline double csrec_signal_bytes(const csrec_task *task) {
    return 8.0 * (double)task->entries * (double)task->channels;
}

/* The value that the settings of the options give a parameter, else `otherwise`. */
double csrec_task_setting(const csrec_task *task, csrec_owner_kind kind, const char *name,
                          double otherwise);

/* The same for a parameter; its default if the setting is out of range, which methods refuse.
 */
double csrec_task_param(const csrec_task *task, const csrec_param *param);

/* Always true. */
bool csrec_task_always(const csrec_task *task);

csrec_task csrec_task_of(const csrec_measurement *measurement,
                         const csrec_recover_options *options);

#endif
