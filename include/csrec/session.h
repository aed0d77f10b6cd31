/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/session.h - a signal while it is measured: samples are added, pictures and the next
 * positions asked for, without files or starts of processes between (docs/session.md). */
#ifndef CSREC_SESSION_H
#define CSREC_SESSION_H

#include "recover.h"
#include "sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples of a signal of up to 3 axes, as they come. What is recovered from them is kept until more
 * are added, as are learned priors and networks on their device (csrec_priors). Only one thread at
 * a time may use an object; any number of objects may be used at once. After a failure a session is
 * as before. Memory: 16 + 16 channels bytes an entry, 8 (2 + 3 channels) with deviations, that of
 * csrec_recover while it runs, and that of csrec_priors. */
typedef struct csrec_session csrec_session;

/* Zero-initialised fields other than shape mean the defaults. All but options is copied. */
typedef struct csrec_session_options {
    csrec_shape shape;
    int64_t channels;           /* 0: 1 */
    double sigma;               /* as of csrec_measurement: of one measurement, or ray */
    double scale[2];            /* likewise */
    bool rays;                  /* samples are means of rays, and csrec_session_next sends rays */
    const uint8_t *allowed;     /* [entries], 0: cannot be measured; NULL: all can */
    const csrec_guides *guides; /* NULL: none */
    const csrec_recover_options *recover; /* NULL: the defaults. What they point to must last; a
                                             history, processes, a journal and labels are
                                             CSREC_ARGUMENT. With `priors` several sessions share
                                             these; else the session has its own */
} csrec_session_options;

/* CSREC_ARGUMENT, CSREC_DATA: a field is out of range; CSREC_UNSUPPORTED: more axes; CSREC_MEMORY.
 */
CSREC_API csrec_status csrec_session_create(const csrec_session_options *options,
                                            csrec_session **session, csrec_error *error);
CSREC_API void csrec_session_destroy(csrec_session *session);

/* n measurements: flat C-order positions index [n], in any order, values y [n * channels];
 * deviation: NULL, or [n * channels], standard deviations >= 0; rays: NULL (1 each), or [n] > 0, of
 * a session with rays. Of a position that is measured again the mean counts: by rays; without rays
 * by 1 / deviation^2, sigma being that of values without; and if neither is known, of all its
 * measurements alike. With rays a deviation may be NaN, not known, as of a single ray; then the
 * variance of a mean is that of its rays about it, by their sums of squares. left: NULL, or
 * receives how many were left out, as a value, a deviation or a number of rays is not finite, or
 * rays are 0 or below. CSREC_DATA: a position outside, or that is not allowed, a deviation below 0;
 * a deviation after values without one, or the other way, where there is neither sigma nor rays;
 * CSREC_ARGUMENT: rays of a session without. */
CSREC_API csrec_status csrec_session_add(csrec_session *session, int64_t n, const int64_t *index,
                                         const double *y, const double *deviation,
                                         const double *rays, int64_t *left, csrec_error *error);

/* What is measured, of the frame: positions ascend. Repeated measurements of a session without rays
 * are told by deviations, sigma / sqrt(number), if sigma is known. It lives until the next call;
 * csrec_recover and the tools get the same results from it. n = 0: nothing. NULL: CSREC_MEMORY. */
CSREC_API const csrec_measurement *csrec_session_samples(csrec_session *session);

/* csrec_recover of the samples: signal [entries * channels]; of a frame behind others that of
 * csrec_sequence_last, by at most 3 before it. report may be NULL. CSREC_DATA: nothing is measured.
 * An interrupted result is not kept. */
CSREC_API csrec_status csrec_session_picture(csrec_session *session, double *signal,
                                             csrec_recover_report *report, csrec_error *error);

/* csrec_uncertainty of that picture: map [entries * channels], or NULL; rms, or NULL. Of a frame
 * behind others its uncertainty in the sequence, and the root of the mean of its squares. */
CSREC_API csrec_status csrec_session_expected(csrec_session *session, double *map, double *rms,
                                              csrec_error *error);

/* Zero-initialised fields other than count mean the defaults. */
typedef struct csrec_session_next_options {
    int64_t count; /* positions; rays, of a session with rays or with `again`; time, with `move` */
    uint64_t seed;
    int64_t most;     /* measurements of a position, known ones included; 0: any number */
    bool again;       /* known positions, too, of a session without rays whose samples have noise */
    bool even;        /* evenly, without a recovery */
    bool path;        /* in the order of a short path (csrec_path_order), else ascending */
    csrec_shape tile; /* whole tiles of these extents from 0 on, as lines of a scanner that moves
                         along them (1 x width), or what a renderer renders at a time; dims 0:
                         single positions. As many tiles as hold `count`, at least one: of each all
                         positions that are free, or, of rays, allowed. With path, tiles are in such
                         an order, and positions ascend in each */
    double move[2];   /* what moving costs a scanner, in times of one measurement: for each move but
                         that ahead along a line (the last axis), and for each position that is
                         passed, ahead, or in the Euclidean distance of another move. Then `count`
                         is a time, in the same: positions are in the order in which to measure
                         them, and take no more, the way to the first aside, unless it is too short
                         for one. Not with again, even, path, tile or rays. Both 0: no cost */
} csrec_session_next_options;

/* Where to measure next: csrec_where_next, or csrec_rays_next, which also names known positions,
 * with the number of measurements of each (next->rays), by csrec_uncertainty_density of the
 * samples; evenly where nothing is measured, and csrec_sequence_next where nothing is of a frame
 * behind others. Of tiles the same is done with the means over each. If moving costs time, e is the
 * density, p a price, and of twice as many positions as are paid for, of csrec_where_next, those
 * with e > p are measured, of each line the stretch where the sum of e - p less p times the time of
 * passing others is largest, if it is above p times that of the way to the line; p is found by
 * bisection. Where nothing is measured, a raster of as small a step as the time is enough for. Free
 * the result with
 * csrec_sampling_clear. CSREC_ARGUMENT: a field out of range; CSREC_STOPPED: the recovery was
 * stopped; else their errors. */
CSREC_API csrec_status csrec_session_next(csrec_session *session,
                                          const csrec_session_next_options *options,
                                          csrec_sampling *next, csrec_error *error);

/* The next frame of a sequence of pictures, of which nothing is measured yet, and its guides (NULL:
 * those before). Frames without samples count. CSREC_UNSUPPORTED: other than two axes. */
CSREC_API csrec_status csrec_session_frame(csrec_session *session, const csrec_guides *guides,
                                           csrec_error *error);

/* What is measured of the frame, as a file that csrec_measurement_read reads, with the numbers of
 * measurements as rays where a position has several. csrec_session_load adds such a file's samples
 * to a session of the same shape and channels, made with the same options: then results have the
 * same bits. Frames before, and guides, are not in the file. The errors of csrec_measurement_write
 * and csrec_measurement_read; CSREC_DATA: a file of another shape. */
CSREC_API csrec_status csrec_session_save(csrec_session *session, const char *path,
                                          csrec_error *error);
CSREC_API csrec_status csrec_session_load(csrec_session *session, const char *path,
                                          csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
