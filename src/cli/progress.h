/* progress.h - a progress bar on a terminal, and signals that keep the best so far. */
#ifndef CSREC_CLI_PROGRESS_H
#define CSREC_CLI_PROGRESS_H

#include "options.h"

typedef struct cli_progress {
    bool bar;       /* draw: stderr is a terminal and nobody asked for quiet */
    bool drawn;     /* a bar is on the screen */
    double last;    /* second of the last drawing */
    double start;   /* second at which the stage began */
    double share;   /* of the stage that is done, never falling */
    double goal;    /* residual at which a pursuit ends, 0: unknown */
    char stage[24]; /* the one that is drawn */
    char label[64]; /* what is worked on, of several inputs */
} cli_progress;

/* Takes over SIGINT, SIGTERM and SIGHUP: the first one makes cli_progress_report ask to stop, a
 * second one kills. */
void cli_progress_start(cli_progress *progress, bool quiet);

/* The next piece of work: its name, empty if there is only one, and its goal. */
void cli_progress_next(cli_progress *progress, const char *label, double goal);

/* A csrec_progress_fn whose context is the cli_progress. At most 10 drawings a second. */
bool cli_progress_report(const csrec_progress *now, void *context);

/* Takes the bar off the screen. */
void cli_progress_finish(cli_progress *progress);

/* Whether one of the signals came. */
bool cli_interrupted(void);

/* What to exit with: for CLI_INTERRUPTED 128 and the number of the signal. */
int cli_exit_code(int code);

/* Seconds of a monotonic clock. */
double cli_seconds(void);

#endif
