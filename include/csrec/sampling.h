/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/sampling.h - where to measure: patterns, rows of an operator, what is next, paths. */
#ifndef CSREC_SAMPLING_H
#define CSREC_SAMPLING_H

#include "measurement.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ positions ----------------- */

/* Positions of a sampling pattern: distinct flat C-order positions, ascending, the same on every
 * platform and for any number of threads. */
typedef struct csrec_sampling {
    int64_t n;
    int64_t *index;      /* [n], ascending */
    double min_distance; /* POISSON, csrec_where_next: guaranteed Euclidean distance in pixels, else
                            0 */
    int64_t *rays;       /* csrec_rays_next: [n] for each position, else NULL */
} csrec_sampling;

/* uniform: exactly `count` positions, O(count) memory, any shape up to 2^62 entries.
 * jitter: `count` cells that partition the flat or N-d signal; exactly `count` positions.
 * poisson: 2-D and 3-D only; exactly `count` positions; the radius shrinks until they fit, and
 * min_distance is one that holds for all. CSREC_ARGUMENT: count < 1 or > entries;
 * CSREC_UNSUPPORTED: poisson on other dimensions. */
CSREC_API csrec_status csrec_sampling_create(const csrec_shape *shape, csrec_pattern pattern,
                                             int64_t count, uint64_t seed, csrec_sampling *sampling,
                                             csrec_error *error);
CSREC_API void csrec_sampling_clear(csrec_sampling *sampling);

/* The same with progress. Poisson-disc positions are drawn by one thread, in 0.2 us to some us an
 * entry of the whole signal, however few they are: minutes for 2^28 entries. progress may be NULL;
 * if it asks to stop, the call returns CSREC_STOPPED without a result. */
CSREC_API csrec_status csrec_sampling_create_watched(const csrec_shape *shape,
                                                     csrec_pattern pattern, int64_t count,
                                                     uint64_t seed, csrec_progress_fn progress,
                                                     void *context, csrec_sampling *sampling,
                                                     csrec_error *error);

/* ------------------------------------------------------------------ rows of an operator ------- */

/* Ways to choose rows to measure. */
typedef enum csrec_row_choice {
    CSREC_ROWS_UNIFORM,  /* at random, all with equal probability; row 0 always */
    CSREC_ROWS_FIRST,    /* the first of the ordering; fourier: the lowest frequencies */
    CSREC_ROWS_VARIABLE, /* fourier: a third of them the lowest frequencies, the others at random,
                            weighted by (1 - r)^2, r being the root of the mean over the axes of
                            (frequency / highest)^2 */
    CSREC_ROWS_LINES     /* fourier: the same of whole lines along the last axis */
} csrec_row_choice;
CSREC_API const char *csrec_row_choice_name(csrec_row_choice rows);

/* Numbers of `count` rows of the measurement's operator, ascending, of which shape and through
 * count; of lines as many whole ones as fit, at least one. The same on every platform but for
 * libm's rounding. CSREC_ARGUMENT: more than there are, or a way that the operator lacks;
 * CSREC_DATA: its parameters; CSREC_MEMORY. On failure *sampling is unchanged. */
CSREC_API csrec_status csrec_sampling_rows(const csrec_measurement *measurement,
                                           csrec_row_choice rows, int64_t count, uint64_t seed,
                                           csrec_sampling *sampling, csrec_error *error);

/* ------------------------------------------------------------------ random numbers ------------ */

/* Counter-based random numbers: the value depends on (seed, stream, counter) alone.
 * Philox-4x32-10 (Salmon et al. 2011). */
CSREC_API uint64_t csrec_random_u64(uint64_t seed, uint64_t stream, uint64_t counter);
CSREC_API double csrec_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter); /* [0,1) */
CSREC_API double csrec_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);

/* ------------------------------------------------------------------ where to measure next ----- */

/* Zero-initialised fields other than count mean the defaults. */
typedef struct csrec_next_options {
    int64_t count; /* K >= 1 positions, at most those that are free */
    uint64_t seed;
    const uint8_t *allowed; /* [entries], 0: never chosen, as what cannot be reached; NULL: all */
    csrec_progress_fn progress; /* or NULL */
    void *context;
    int64_t most; /* csrec_rays_next: rays of a position, known ones included; 0: any number */
} csrec_next_options;

/* The K positions to measure next: not measured yet, allowed (together: free), distinct, more of
 * them where the error is thought to be large, and spread evenly.
 *
 * Darts are thrown at the free positions in random order, weighted by the density e: ascending
 * -log(u) / e, u uniform in (0, 1). One is taken if no position that is measured or taken is nearer
 * than
 *     r = min(c (e / mean e)^(-1/D), R),  R = min(1.5 (free positions / K)^(1/D), 65535),
 * D being the number of axes of extent > 1, hence c / sqrt(e / mean e) in a picture; the mean is
 * that of the free positions where e > 0. R is twice the distance of random darts spread evenly, so
 * that no place counts for less than about a quarter of the mean. c is found by bisection: within
 * 2 %, the largest that gives K. (Weighted order: Efraimidis and Spirakis 2006; darts: Cook 1986.)
 * next->min_distance is the smallest r of the positions that were taken, at least 1.
 *
 * density: [entries], finite, >= 0: where the error is thought to be large, in any unit. NULL or
 * the same everywhere, also 0: even spacing, blue noise among what is measured. Where it is 0 in
 * some places, these are chosen, evenly, only if nothing else is free.
 *
 * shape (1 to 3 axes), n and index of the measurement are read, nothing else; n = 0: nothing is
 * measured yet. The same positions, ascending, on every platform and for any number of threads.
 * O(entries log entries) time; up to 64 bytes an entry. Thread safe. Free the result with
 * csrec_sampling_clear.
 *
 * CSREC_ARGUMENT: count < 1 or more than the free positions. CSREC_DATA: shape, positions, density.
 * CSREC_UNSUPPORTED: more than 3 axes or 2^31 entries. CSREC_MEMORY. CSREC_STOPPED: progress asked
 * to stop. On failure *next is unchanged. */
CSREC_API csrec_status csrec_where_next(const csrec_measurement *measurement, const double *density,
                                        const csrec_next_options *options, csrec_sampling *next,
                                        csrec_error *error);

/* Where to send the next options->count rays: positions, new ones and such that have rays, and a
 * number r >= 1 for each, next->rays, which sum to count. csrec_measurement_merge adds what they
 * find to what is known.
 *
 * A recovery shares rays among neighbours: its expected squared error e^2 falls about as 1 / n, n
 * being the rays of a position in the mean around. Then the sum of e^2 becomes least where a
 * position has
 *     t = c q,  q = e sqrt(n),  n = (1 + known rays) / positions, of the 33 around,
 * rays in all; q is kept between a quarter of its mean and four times it, since e is a guess.
 * "Around" is along a Hilbert curve through the positions that are allowed. Along it numbers become
 * whole, too: each position leaves to the next what it has too little or too much,
 *     r = max(0, floor(t + left + 1/2 - known rays)),  left = t + left - known rays - r,
 * from -1 to 1, so that rays keep apart from each other and from known ones where t < 1. c is found
 * by bisection, until at most a thousandth of the rays is too many, which are taken away evenly.
 *
 * density: [entries], e, finite, >= 0, in any unit (csrec_uncertainty_density); NULL or 0
 * everywhere: q = 1, so that all rays, with those known, are spread evenly. options->seed draws
 * what the first position is left.
 *
 * shape (1 to 3 axes), n, index and rays of the measurement are read, nothing else. Positions
 * ascend; the same on every platform and for any number of threads. O(entries log entries) time; 56
 * bytes an entry. Thread safe. Free the result with csrec_sampling_clear.
 *
 * CSREC_ARGUMENT: samples without rays; count < 1 or above 2^31, or more than options->most leaves
 * room for. CSREC_DATA: shape, positions, rays, density. CSREC_UNSUPPORTED: through an operator;
 * more than 3 axes or 2^31 entries. CSREC_MEMORY. CSREC_STOPPED: progress asked to stop. On failure
 * *next is unchanged. */
CSREC_API csrec_status csrec_rays_next(const csrec_measurement *measurement, const double *density,
                                       const csrec_next_options *options, csrec_sampling *next,
                                       csrec_error *error);

/* Orders n positions as a short path of an instrument: index becomes a permutation of itself. Its
 * length is the sum of the Euclidean distances, in pixels, of positions that follow each other; the
 * path does not return. From the order of a Hilbert curve, 2-opt and Or-opt moves between near
 * positions (Bentley 1992) until none makes it shorter or moves have shifted 256 n of its entries:
 * 5 to 10 % above the shortest. The order given is kept if it is shorter. length, or NULL: before
 * and after.
 *
 * 1 to 3 axes, n >= 0, repeats allowed; the same on every platform. 2 to 4 us a position, 130
 * bytes. Thread safe. Errors as of csrec_where_next; then index is unchanged. progress may be NULL.
 */
CSREC_API csrec_status csrec_path_order(const csrec_shape *shape, int64_t n, int64_t *index,
                                        csrec_progress_fn progress, void *context, double length[2],
                                        csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
