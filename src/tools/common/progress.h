/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h - a progress bar on a terminal, and signals that stop the work and keep the best
 * result so far. */
#pragma once

#include "options.h"

/* A run: all inputs, of which this one is a part. */
typedef struct cli_run {
    double before, part; /* shares of the run: of the inputs that are done, and of this one */
    double began;        /* second */
    double expected;     /* seconds of the whole run, 0: not estimated */
    csrec_estimate input;
} cli_run;

typedef struct cli_progress {
    bool bar;       /* draw: stderr is a terminal, and --quiet is not given */
    bool drawn;     /* a bar is on the screen */
    double last;    /* second of the last drawing */
    double start;   /* second at which this stage began */
    double share;   /* share of the run that is done, or of the stage; it never falls */
    double goal;    /* residual at which a pursuit ends, 0: unknown */
    char stage[40]; /* the one that is drawn */
    char label[64]; /* the current one of several inputs */
    cli_run run;
    csrec_comm *comm; /* of the ranks; NULL: one process */
    double all;       /* share of the run that all ranks have done, on rank 0 */
    double sent;      /* second of the last word to it */
    bool patient;     /* work goes on after a first signal */
    bool lost;        /* another rank has failed */
    csrec_error why;
} cli_progress;

/* Share of a recovery that is done when `share` of a stage is: stages count by their estimated
 * seconds. -1: it has no such stage. */
double cli_share_of_stages(const csrec_estimate *estimate, const char *stage, double share);

/* Seconds until a run ends of which `share` is done after `elapsed` seconds, and for which
 * `expected` were estimated, 0: none were. What is left of the estimate is scaled by how much
 * longer than estimated the work took so far; a twentieth of the estimate counts as work that took
 * as long as estimated, so that the first seconds decide little. -1: it cannot be told. */
double cli_seconds_left(double share, double elapsed, double expected);

/* Handles SIGINT, SIGTERM and SIGHUP: after the first, cli_progress_report asks to stop; a second
 * one ends the process. */
void cli_progress_start(cli_progress *progress, bool quiet);
/* Of several ranks the first draws a bar for all. */
void cli_progress_share(cli_progress *progress, csrec_comm *comm);
/* The next piece of work: its name, empty if there is only one, and its goal. */
void cli_progress_next(cli_progress *progress, const char *label, double goal);
/* It is a part of this run: share and time left are the run's, not the stage's. */
void cli_progress_within(cli_progress *progress, const cli_run *run);
/* A csrec_progress_fn whose context is the cli_progress. At most 10 drawings a second. */
bool cli_progress_report(const csrec_progress *now, void *context);
/* Removes the bar from the screen. */
void cli_progress_finish(cli_progress *progress);
/* Another rank has failed: the work ends as by a signal. */
void cli_progress_lose(cli_progress *progress, const char *why);

/* Whether one of the signals arrived, or another rank has failed. */
bool cli_interrupted(void);

/* Whether it was by SIGTERM, which launchers send to all ranks when one is killed. */
bool cli_terminated(void);

/* The exit code: for CLI_INTERRUPTED, 128 plus the number of the signal. */
int cli_exit_code(int code);

/* 12 s, 4 min, 2.5 h. */
void cli_time_text(double seconds, char text[32]);

/* Seconds of a monotonic clock. */
double cli_seconds(void);
