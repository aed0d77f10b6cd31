/* SPDX-License-Identifier: BSD-3-Clause */
/* threshold.h - thresholding on a frame with stored coefficients, for frames without `shrink`. */
#pragma once

#include "solver/solver.h"

/* For any operator with synthesize and analyze. */
extern const csrec_shrink_type csrec_threshold_plain;

/* A first guess of the whole signal: means over cells, larger where samples are sparse. signal:
 * [entries]. */
csrec_status csrec_threshold_start(const csrec_mask *mask, const double *y, double *signal);

typedef struct csrec_threshold_schedule {
    double first, last, relax, noise;
    int64_t steps;
    bool soft;
} csrec_threshold_schedule;

/* From the run's parameters: by default thresholds are shares of the samples' range; the last one
 * is at least the known noise. */
void csrec_threshold_plan(const csrec_run *run, csrec_threshold_schedule *schedule);

/* Iteration `done`, from 0: the threshold falls exponentially; the last one does not overshoot. */
csrec_shrink_step csrec_threshold_step(const csrec_threshold_schedule *schedule, int64_t done);
