/* csrec/sampling.h - sampled positions of a signal, and the measured values. */
#ifndef CSREC_SAMPLING_H
#define CSREC_SAMPLING_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ positions ----------------- */

typedef enum csrec_pattern {
    CSREC_PATTERN_NONE,    /* explicit positions */
    CSREC_PATTERN_UNIFORM, /* without replacement, by a keyed permutation */
    CSREC_PATTERN_POISSON, /* Poisson-disc, guaranteed minimum distance (Bridson 2007), 2-D, 3-D */
    CSREC_PATTERN_JITTER   /* one random position in each cell of a regular grid */
} csrec_pattern;

CSREC_API const char *csrec_pattern_name(csrec_pattern pattern);
/* false if no pattern has the name. */
CSREC_API bool csrec_pattern_parse(const char *name, csrec_pattern *pattern);

/* Positions of a sampling pattern: distinct flat C-order positions, ascending, the same on every
 * platform and for any number of threads. */
typedef struct csrec_sampling {
    int64_t n;
    int64_t *index;      /* [n], ascending */
    double min_distance; /* POISSON: guaranteed Euclidean distance in pixels, else 0 */
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

/* ------------------------------------------------------------------ random numbers ------------ */

/* Counter-based random numbers: the value depends on (seed, stream, counter) alone.
 * Philox-4x32-10 (Salmon et al. 2011). */
CSREC_API uint64_t csrec_random_u64(uint64_t seed, uint64_t stream, uint64_t counter);
CSREC_API double csrec_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter); /* [0,1) */
CSREC_API double csrec_random_normal(uint64_t seed, uint64_t stream, uint64_t counter);

/* ------------------------------------------------------------------ measurements -------------- */

/* Samples of a signal: the contents of a measurement file. */
typedef struct csrec_measurement {
    csrec_shape shape;     /* axes of the signal, without channels */
    int64_t n;             /* sampled positions */
    int64_t channels;      /* C >= 1 values a position */
    int64_t *index;        /* [n] distinct flat C-order positions, any order */
    double *y;             /* [n * channels], channels fastest */
    csrec_dtype dtype;     /* element type of y in the file */
    double sigma;          /* standard deviation of the noise in units of y; 0 if unknown or none */
    double scale[2];       /* values of black and white for picture output; equal: not given */
    csrec_pattern pattern; /* how positions were drawn, if known */
    uint64_t seed;
    int64_t count; /* `count` of csrec_sampling_create; 0: n */
} csrec_measurement;

/* The checks of csrec_measurement_read, for measurements built in memory. `name` names the data in
 * the error text. */
CSREC_API csrec_status csrec_measurement_check(const csrec_measurement *measurement,
                                               const char *name, csrec_error *error);
CSREC_API void csrec_measurement_clear(csrec_measurement *measurement);

#ifdef __cplusplus
}
#endif
#endif
