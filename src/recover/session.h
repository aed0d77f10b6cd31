/* SPDX-License-Identifier: BSD-3-Clause */
/* session.h - a session: its samples, and what is recovered from them. */
#pragma once

#include "base/pool.h"
#include "csrec/sequence.h"
#include "csrec/session.h"
#include "recover/recover.h"

/* Frames before one that are kept: those that a sequence looks back to. */
enum { CSREC_SESSION_BEFORE = 3 };

struct csrec_session {
    csrec_pool pool; /* first, and of the arrays that follow */
    csrec_recover_options options;
    csrec_priors *own;      /* priors, if the caller gave none */
    csrec_measurement form; /* shape, channels, sigma, scale and guides; no samples */
    int64_t entries;
    bool rays;
    uint8_t *allowed; /* [entries], or NULL */
    /* Of each position: the mean [entries * channels] of so many measurements, 0: it is free, and
     * the variance of its noise [entries * channels], or NULL. */
    double *mean, *count, *variance;
    int64_t n;              /* positions that are measured */
    bool repeats;           /* some of them several times */
    csrec_measurement seen; /* the samples, while `listed` */
    double *counts;         /* [n] of them, */
    int64_t room;           /* for so many positions */
    bool listed;
    csrec_measurement before[CSREC_SESSION_BEFORE]; /* frames, the last is the latest */
    int64_t frames;                                 /* of them there are so many */
    int made; /* CSREC_MAKES_...: what follows is of the samples */
    double *signal, *density;
    csrec_recover_report report;
};

/* What was not made before of what is wanted. CSREC_STOPPED: a density, stopped. */
csrec_status csrec_session_make(csrec_session *session, int wanted, csrec_error *error);

/* A sequence of the frames, with that of the session if it has samples or `all`. */
csrec_status csrec_session_sequence(csrec_session *session, bool all, csrec_sequence **sequence,
                                    csrec_error *error);

/* Positions of lines that are worth their way (o->move), by s->density, darts without their count;
 * NULL: a raster. */
csrec_status csrec_session_move(csrec_session *session, const csrec_session_next_options *o,
                                const double *density, const csrec_next_options *darts,
                                csrec_sampling *next, csrec_error *error);
