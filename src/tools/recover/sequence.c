/* SPDX-License-Identifier: BSD-3-Clause */
/* sequence.c - --sequence: files that are frames one after another, of which those that wait for
 * later ones are held; and one array, an axis of which is time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch.h"

typedef struct frames {
    cli_batch *b;
    cli_setup setup; /* of the first frame, for all */
    csrec_shape shape;
    int64_t channels;
    csrec_sequence *sequence; /* NULL: before the first frame */
    cli_job **waiting;        /* [n] pushed, in order */
    int64_t n, room;
} frames;

static csrec_status begin(frames *f, const cli_job *job, csrec_error *error) {
    f->setup = job->setup;
    if (f->setup.options.solve.settings == job->setup.settings)
        f->setup.options.solve.settings = f->setup.settings;
    f->shape = job->in.measurement.shape;
    f->channels = job->in.measurement.channels;
    return csrec_sequence_create(&f->setup.options, &f->sequence, error);
}

static csrec_status check_form(const frames *f, const csrec_measurement *m, csrec_error *error) {
    char own[192], first[192];
    if (csrec_shape_equal(&m->shape, &f->shape) && m->channels == f->channels) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "its shape is %s with %lld channels, that of the frames before it is %s with "
                    "%lld; give frames of one shape",
                    cli_shape_text(&m->shape, own), (long long)m->channels,
                    cli_shape_text(&f->shape, first), (long long)f->channels);
}

static csrec_status make_room(frames *f, csrec_error *error) {
    if (f->n < f->room) return CSREC_OK;
    int64_t room = f->room ? 2 * f->room : 8;
    cli_job **more = realloc(f->waiting, (size_t)room * sizeof *more);
    if (!more) return cli_fail(error, CSREC_MEMORY, "out of memory");
    f->waiting = more;
    f->room = room;
    return CSREC_OK;
}

/* The job is among those that wait, or it is the one that ends the sequence. */
static bool push(frames *f, cli_job *job) {
    csrec_error error;
    csrec_status status = f->sequence ? CSREC_OK : begin(f, job, &error);
    if (!status) status = check_form(f, &job->in.measurement, &error);
    if (!status) status = make_room(f, &error);
    if (!status) status = csrec_sequence_push(f->sequence, &job->in.measurement, &error);
    if (!status) {
        f->waiting[f->n++] = job;
        return true;
    }
    f->b->broken_code = cli_job_fail(job, "%s: %s", job->input, error.text);
    f->b->broken = job;
    return false;
}

/* A frame that stays unknown is not written; those behind it are. */
static csrec_status check_known(const cli_job *job, csrec_error *error) {
    const int64_t n = cli_signal_values(&job->in.measurement);
    for (int64_t i = 0; i < n; i++)
        if (!isnan(job->result.signal[i])) return CSREC_OK;
    return cli_fail(error, CSREC_DATA,
                    "nothing is known of it and of the frames around it, so that it cannot be "
                    "recovered; give a frame near it, or leave it out");
}

/* Recovers and writes the frame that waits longest; false: those behind it are lost with it. */
static bool take(frames *f) {
    csrec_error error;
    csrec_recover_report report = {.outcome = CSREC_DONE};
    cli_job *job = f->waiting[0];
    cli_batch_label(f->b, job, 1);
    cli_job_want_errors(job);
    csrec_status status = csrec_sequence_take(f->sequence, job->result.signal,
                                              job->result.uncertainty, &report, &error);
    if (status == CSREC_DATA && job->result.uncertainty) {
        cli_job_lose_errors(job, status, &error);
        status = csrec_sequence_take(f->sequence, job->result.signal, NULL, &report, &error);
    }
    cli_progress_finish(f->b->progress);
    (void)cli_job_take(job, status ? status : check_known(job, &error), &report, &error);
    memmove(f->waiting, f->waiting + 1, (size_t)--f->n * sizeof *f->waiting);
    cli_batch_finish(f->b, job);
    return !status;
}

static bool take_ready(frames *f) {
    bool well = true;
    while (well && f->n && !f->b->interrupted && csrec_sequence_ready(f->sequence)) well = take(f);
    return well;
}

void cli_frames_run(cli_batch *b) {
    frames f = {.b = b};
    bool well = true;
    for (cli_job *job; well && !b->interrupted && (job = cli_batch_load(b));)
        well = push(&f, job) && take_ready(&f);
    b->interrupted = b->interrupted || (cli_interrupted() && !b->follows);
    if (f.sequence) csrec_sequence_end(f.sequence);
    if (well || b->broken) take_ready(&f);
    for (int64_t k = 0; k < f.n; k++) cli_batch_drop(f.waiting[k]);
    free(f.waiting);
    csrec_sequence_destroy(f.sequence);
    if (b->broken) cli_batch_fail(b, b->broken, b->broken_code);
}
