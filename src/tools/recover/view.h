/* view.h - planes of a recovery as pictures for its report. */
#ifndef CSREC_TOOLS_RECOVER_VIEW_H
#define CSREC_TOOLS_RECOVER_VIEW_H

#include "recover.h"

/* Which part of the signal is shown, and how. */
typedef struct cli_view {
    int64_t height, width; /* of the plane */
    int64_t base;          /* its first entry */
    int64_t shown;         /* channels: 1 or 3 */
    int64_t factor;        /* pixels of the plane, along each axis, that become one */
    double black, white;
} cli_view;

/* A plane of a signal of 2 axes or more: all of it, or the middle one. false: 1-D. */
bool cli_view_of(const cli_job *job, cli_view *view);

/* The pixels shown. */
typedef struct cli_plane {
    int64_t height, width, channels;
    double *value;  /* [height][width][channels], means */
    int64_t *count; /* [height][width], positions behind each; 0: not known */
} cli_plane;

/* CSREC_MEMORY. Clear all of them with cli_plane_clear. Errors: root mean squares of a - b, or of
 * a alone if b is NULL, over all channels. */
csrec_status cli_plane_samples(const csrec_measurement *m, const cli_view *view, cli_plane *plane);
csrec_status cli_plane_signal(const csrec_measurement *m, const cli_view *view,
                              const double *signal, cli_plane *plane);
csrec_status cli_plane_errors(const csrec_measurement *m, const cli_view *view, const double *a,
                              const double *b, cli_plane *plane);
csrec_status cli_plane_create(int64_t height, int64_t width, int64_t channels, cli_plane *plane);
void cli_plane_clear(cli_plane *plane);

/* Fills what is not known from its surroundings (blend.c). CSREC_MEMORY. */
csrec_status cli_plane_blend(cli_plane *plane);

/* The 99th percentile of the values, between ranks as NumPy's, and the largest. CSREC_MEMORY. */
csrec_status cli_plane_range(const cli_plane *plane, double *percentile, double *largest);

/* Pictures: with transparent pixels where nothing is known; in false colours from 0 to `most`. */
csrec_status cli_plane_tones(const cli_plane *plane, const cli_view *view, csrec_image *image);
csrec_status cli_plane_colors(const cli_plane *plane, double most, csrec_image *image);

#endif
