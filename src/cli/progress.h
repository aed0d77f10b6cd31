/* progress.h - a progress bar on a terminal, and signals that stop the work and keep the best
 * result so far. */
#ifndef CSREC_CLI_PROGRESS_H
#define CSREC_CLI_PROGRESS_H

#include "options.h"

typedef struct cli_progress {
    bool bar;       /* draw: stderr is a terminal, and --quiet is not given */
    bool drawn;     /* a bar is on the screen */
    double last;    /* second of the last drawing */
    double start;   /* second at which this piece of work began */
    double share;   /* share that is done; it never falls */
    double goal;    /* residual at which a pursuit ends, 0: unknown */
    char stage[24]; /* the one that is drawn */
    char label[64]; /* the current one of several inputs */
} cli_progress;

/* Handles SIGINT, SIGTERM and SIGHUP: after the first, cli_progress_report asks to stop; a second
 * one ends the process. */
void cli_progress_start(cli_progress *progress, bool quiet);

/* The next piece of work: its name, empty if there is only one, and its goal. */
void cli_progress_next(cli_progress *progress, const char *label, double goal);

/* A csrec_progress_fn whose context is the cli_progress. At most 10 drawings a second. */
bool cli_progress_report(const csrec_progress *now, void *context);

/* Removes the bar from the screen. */
void cli_progress_finish(cli_progress *progress);

/* Whether one of the signals arrived. */
bool cli_interrupted(void);

/* The exit code: for CLI_INTERRUPTED, 128 plus the number of the signal. */
int cli_exit_code(int code);

/* Seconds of a monotonic clock. */
double cli_seconds(void);

#endif
