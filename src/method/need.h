/* need.h - estimates of memory and time. Each method counts its own allocations beside them;
 * bench/estimate.py measures the rates of work. */
#ifndef CSREC_METHOD_NEED_H
#define CSREC_METHOD_NEED_H

#include "base/error.h"

/* The tolerance of a pursuit on one grid, and of sparse solvers. */
#define CSREC_EPSILON_DEFAULT 1e-3

/* The task from which memory and time are estimated. */
typedef struct csrec_task {
    csrec_shape shape;
    int64_t entries, n, channels;
    double rate; /* samples an entry of the whole signal, of which this may be a tile */
    int threads; /* at least 1 */
    bool noisy;  /* a standard deviation of the noise is known */
    const csrec_recover_options *options;
} csrec_task;

/* bytes: touched at the peak, with the caller's signal once it is written, without the
 * measurement. seconds: with task->threads. */
typedef struct csrec_need {
    double bytes, seconds;
} csrec_need;

/* Stages of the seconds, in the order in which they report. */
typedef struct csrec_stages {
    int n;
    csrec_stage stage[CSREC_STAGES_MOST];
} csrec_stages;

static inline void csrec_stages_add(csrec_stages *stages, const char *name, double seconds) {
    if (stages->n < CSREC_STAGES_MOST)
        stages->stage[stages->n++] = (csrec_stage){name, seconds};
}

/* The same task with other options. */
static inline csrec_task csrec_task_with(const csrec_task *task,
                                         const csrec_recover_options *options) {
    csrec_task other = *task;
    other.options = options;
    return other;
}

/* Work of `lanes` parts at most, each as long, on the task's threads: seconds of one thread become
 * seconds. */
double csrec_task_share(const csrec_task *task, double seconds, int64_t lanes);

static inline double csrec_signal_bytes(const csrec_task *task) {
    return 8.0 * (double)task->entries * (double)task->channels;
}

/* The value that the settings of the options give a parameter, else `otherwise`. */
double csrec_task_setting(const csrec_task *task, const char *name, double otherwise);

/* The same of a parameter, its default where the setting is out of its range: methods refuse those.
 */
double csrec_task_param(const csrec_task *task, const csrec_param *param);

/* True. */
bool csrec_task_always(const csrec_task *task);

csrec_task csrec_task_of(const csrec_measurement *measurement,
                         const csrec_recover_options *options);

#endif
