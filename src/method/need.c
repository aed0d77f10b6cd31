/* SPDX-License-Identifier: BSD-3-Clause */
/* need.c - the task from which memory and time are estimated. */
#include "method/method.h"
#include "measurement/each.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "measurement/through.h"

double csrec_task_share(const csrec_task *task, double seconds, int64_t lanes) {
    int64_t threads = task->threads < lanes ? task->threads : lanes;
    int64_t turns = (lanes + threads - 1) / threads;
    return seconds * (double)turns / (double)lanes;
}

double csrec_task_setting(const csrec_task *task, csrec_owner_kind kind, const char *name,
                          double otherwise) {
    return csrec_setting_value(&task->options->solve, kind, name, otherwise);
}

double csrec_task_param(const csrec_task *task, const csrec_param *param) {
    double value = csrec_task_setting(task, CSREC_OF_METHOD, param->name, param->value);
    return value >= param->least && value <= param->most ? value : param->value;
}

bool csrec_task_always(const csrec_task *task) {
    (void)task;
    return true;
}

csrec_task csrec_task_of(const csrec_measurement *measurement,
                         const csrec_recover_options *options) {
    csrec_task task = {.shape = measurement->shape,
                       .entries = 0,
                       .n = measurement->n,
                       .channels = measurement->channels *
                                   (csrec_measurement_signal_complex(measurement) ? 2 : 1),
                       .threads = csrec_threads(options->threads),
                       .noisy = csrec_measurement_is_noisy(measurement),
                       .tones = fabs(measurement->scale[1] - measurement->scale[0]) == 255.0,
                       .through = measurement->through != NULL,
                       .coils = 1.0,
                       .options = options};
    if (task.through && measurement->through->coils)
        task.coils = (double)measurement->through->n_coils;
    task.any = task.through && strcmp(measurement->through->name, "nufft") == 0;
    csrec_shape_count(&measurement->shape, &task.entries);
    task.rate = (double)task.n / (double)task.entries;
    return task;
}
