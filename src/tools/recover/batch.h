/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.h - the state of a run over all inputs, of batch.c and sequence.c. */
#pragma once

#include "recover.h"

/* Of --follow: a folder, and the file that may still grow. */
typedef struct cli_follow {
    cli_request request; /* whose inputs are those that have come */
    const char *folder;
    char *path;   /* looked at last */
    int64_t size; /* of it, */
    double since; /* which it has since this second */
} cli_follow;

typedef struct cli_batch {
    const cli_request *request;
    csrec_noise_law law; /* of all jobs */
    cli_progress *progress;
    cli_json json;
    int next, end; /* the inputs to load next */
    int code;      /* the last exit code, which is that of a single input */
    int done, skipped;
    double began; /* second */
    int *failed;  /* their numbers */
    int n_failed;
    bool interrupted, stdout_lost;
    cli_job *waiting; /* loaded, but part of the next group */
    cli_text item;    /* what rank 0 prints of an input */
    cli_job *broken;  /* the frame that ends a sequence, as it could not be loaded */
    int broken_code;
    bool follows, lost_folder;
    cli_follow follow;
} cli_batch;

/* The next input to recover that can be read, or NULL. */
cli_job *cli_batch_load(cli_batch *b);
/* The bar's label of n inputs, of which this is the first. */
void cli_batch_label(const cli_batch *b, const cli_job *job, int n);
/* Counts and reports the job, written if it was recovered, and frees it. */
void cli_batch_fail(cli_batch *b, cli_job *job, int code);
void cli_batch_finish(cli_batch *b, cli_job *job);
void cli_batch_drop(cli_job *job);

/* Recovers the inputs as frames of one sequence. */
void cli_frames_run(cli_batch *b);

/* With --follow: before and after a run; waits for the next frame; false: there is none. */
void cli_follow_begin(cli_batch *b);
void cli_follow_end(cli_batch *b);
bool cli_follow_next(cli_batch *b);
