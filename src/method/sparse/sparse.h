/* SPDX-License-Identifier: BSD-3-Clause */
/* sparse.h - recovery in a basis or frame of the signal by any solver: each channel on each frame,
 * then the mean of the frames (docs/bases.md). */
#pragma once

#include "method/method.h"
#include "operator/engine.h"

enum { CSREC_SPARSE_FRAMES = 3, CSREC_SPARSE_SETTINGS = 32 };

/* The state of a recovery; options are resolved. */
typedef struct csrec_sparse_job {
    const csrec_measurement *measurement;
    const csrec_whole *whole;
    const csrec_recover_options *options;
    const csrec_solver_type *solver;
    csrec_solve_options solve;
    csrec_setting settings[CSREC_SPARSE_SETTINGS]; /* the solver's only */
    const csrec_operator_spec *spec;               /* [frames] */
    csrec_operator *A[CSREC_SPARSE_FRAMES];
    /* Through an operator: A = measured basis, or measured pairs of a complex signal; measured
     * itself, without a basis, where that is the identity. */
    csrec_measured measured;
    csrec_operator *basis[CSREC_SPARSE_FRAMES], *pairs[CSREC_SPARSE_FRAMES];
    int wide, each; /* doubles of an entry of a channel, and of a row */
    int frames;
    int64_t entries, tasks, done;
    double *result;              /* [tasks][entries][wide], task = channel * frames + frame */
    double *own;                 /* the same, unless that of a single task is the signal */
    csrec_solve_report *reports; /* [tasks] */
    csrec_call call;
    bool joined; /* the first frame's result is the mean of all */
} csrec_sparse_job;

/* Runs all tasks: results and reports. */
typedef csrec_status (*csrec_sparse_engine)(csrec_sparse_job *job, const csrec_context *context,
                                            csrec_error *error);

/* The operator's spec from the options' settings, on the measurement's samples, or on the whole
 * signal with index NULL; parameters out of range count as not given. */
csrec_operator_spec csrec_sparse_spec(const csrec_recover_options *options,
                                      const csrec_shape *shape, int64_t n, const int64_t *index);

/* Recovers with these operators. engine: NULL if the solver runs on the CPU, with products on the
 * recovery's device. */
csrec_status csrec_sparse_run(const csrec_recovery *recovery, int frames,
                              csrec_operator_spec *specs, csrec_sparse_engine engine,
                              csrec_error *error);

/* Progress of every task; a request to stop reaches all tasks. */
bool csrec_sparse_progress(const csrec_progress *progress, void *job);

/* The options of a task: thresholds are fractions of the channel's range in the whole signal. */
csrec_solve_options csrec_sparse_options(const csrec_sparse_job *job, int64_t channel,
                                         csrec_setting settings[CSREC_SPARSE_SETTINGS + 1]);

/* Memory and time with these operators. */
csrec_need csrec_sparse_need(const csrec_task *task, int frames, const csrec_operator_spec *specs);

/* The name of a solver's stage. */
const char *csrec_sparse_stage(const csrec_solver_type *solver);
