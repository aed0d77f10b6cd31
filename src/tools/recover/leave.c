/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.c - unknown values that stay so, by --within and --fill. */
#include <math.h>

#include "recover.h"

bool cli_job_leaves(const cli_job *job) {
    return job->a->within > 0.0 || job->a->fill;
}

/* NULL, or why the output has nothing for unknown values. */
static const char *refusal(const cli_job *job) {
    const cli_form form = {.dtype = (int)job->a->dtype};
    const csrec_format *format = job->out.format;
    if (!cli_job_has_points(job)) return "only real samples of entries leave some unknown";
    if (cli_format_has(format, CSREC_USE_LOSSY))
        return "its format cannot say which pixels stay unknown; write a .png";
    if (cli_format_has(format, CSREC_USE_PICTURE) || !isnan(cli_job_unknown(job)) ||
        cli_array_type(format, &form, job->in.measurement.dtype, 0, NULL) >= CSREC_F32)
        return NULL;
    return "integers have no number for values that stay unknown; give --unknown, or --dtype "
           "float32";
}

int cli_job_read_fill(cli_job *job) {
    csrec_error error;
    csrec_fill *fill = &job->in.fill;
    const csrec_measurement *m = &job->in.measurement;
    const char *why = cli_job_leaves(job) ? refusal(job) : NULL;
    if (why)
        return cli_job_fail(job, "%s: %s", job->out.output ? job->out.output : job->input, why);
    fill->within = job->a->within;
    return job->a->fill && csrec_mask_read(job->a->fill, job->a->channels_first, &m->shape,
                                           m->channels, &fill->at, &fill->by_channel, &error)
               ? cli_job_fail(job, "%s", error.text)
               : CLI_CONTINUE;
}

csrec_status cli_job_leave(cli_job *job, csrec_error *error) {
    if (!cli_job_leaves(job) || !job->result.signal) return CSREC_OK;
    return csrec_signal_leave(&job->in.measurement, &job->in.fill, job->result.signal,
                              &job->result.left, error);
}
