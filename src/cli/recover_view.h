/* recover_view.h - pictures of a recovery for its report. */
#ifndef CSREC_CLI_RECOVER_VIEW_H
#define CSREC_CLI_RECOVER_VIEW_H

#include "recover.h"

typedef enum cli_view_kind {
    CLI_VIEW_SAMPLES, /* the rest is transparent */
    CLI_VIEW_RECOVERY,
    CLI_VIEW_REFERENCE,
    CLI_VIEW_ERROR /* mean over channels, in false colours */
} cli_view_kind;

/* Which part of the signal is shown, and how. */
typedef struct cli_view {
    int64_t height, width; /* of the plane */
    int64_t base;          /* its first entry */
    int64_t shown;         /* channels: 1 or 3 */
    int64_t factor;        /* pixels of the plane, along each axis, that become one */
    double black, white;
    double error_most; /* the largest of the error map, after it was made */
} cli_view;

/* A plane of a signal of 2 axes or more: all of it, or the middle one. false: 1-D. */
bool cli_view_of(const cli_job *job, cli_view *view);

/* The picture as PNG bytes; free them. */
csrec_status cli_view_encode(const cli_job *job, cli_view *view, cli_view_kind kind,
                             uint8_t **bytes, size_t *n, csrec_error *error);

/* Colour of an error, share 0 .. 1 of the largest. */
void cli_error_color(double share, uint8_t rgb[3]);

#endif
