/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian.h - recovery of pictures and volumes by Gaussians of groups of similar patches
 * (docs/gaussian.md). */
#pragma once

#include "method/gaussian/whiten.h"
#include "method/method.h"

/* One round: every group of patches matched on the estimate, fitted, conditioned, aggregated.
 * Constants are for values with a range of 255. */
typedef struct csrec_gaussian_round {
    int patch, step;   /* edge of a patch, distance of reference patches, in pixels */
    int group;         /* patches of a group, K */
    int radius;        /* of the window of the matches, in pixels */
    float diagonal;    /* added to a group's covariance */
    float trust;       /* the same, times the mean posterior variance of the round before */
    float noise;       /* least variance of a sample's noise */
    int em;            /* steps of expectation maximisation */
    float em_diagonal; /* added to the covariance after each */
    float evenness;    /* aggregation weights are 1 / (posterior variance + evenness) */
    int margin;        /* patches are compared with as many pixels around them */
    int every;         /* posterior covariances are averaged over every so many patches; 0: all */
    bool again;        /* reuse candidates of the round before, which had equal patches and steps */
    float floor;       /* added to the channels' variances where they are pooled */
    /* Along the first axis of a volume; 0: as along the others. */
    int deep, deep_step, deep_radius;
} csrec_gaussian_round;

/* What the rounds improve: pictures [height * width], volumes [depth * height * width], with a
 * range of 255. */
typedef struct csrec_gaussian_picture {
    int depth, height, width, channels; /* depth 1: a picture */
    const unsigned char *mask;          /* 1 at samples */
    float **y;                          /* [channels] samples in place, anything elsewhere */
    float **u;        /* [channels] the estimate; samples in place where sigma = 0 */
    float *guide;     /* [guides] images for matching patches */
    float **variance; /* [channels] posterior, of the round before */
    float sigma;
    bool pooled; /* the channels of a group share one covariance of its pixels */
    int guides;  /* 0: one */
} csrec_gaussian_picture;

/* The best candidates of every reference patch, kept from one round for the next. */
typedef struct csrec_gaussian_matches {
    int rows, columns, radius; /* references, rows of all slices; window */
    int *count;                /* [rows * columns] */
    uint16_t *shift;           /* [rows * columns][CSREC_GAUSSIAN_KEPT] places in the window */
    csrec_pool pool;           /* of both */
} csrec_gaussian_matches;

enum { CSREC_GAUSSIAN_KEPT = 128, CSREC_GAUSSIAN_RADIUS = 127 };

/* A round's reference patches by their corners: slices, rows and columns, each `step` apart, moved
 * by less than that at random, and both ends. The sizes fit into the picture. */
typedef struct csrec_gaussian_lines {
    int patch[3], step[3], count[3];
    const int *at[3]; /* [count] */
    int deep;         /* of the search window: +-deep slices */
} csrec_gaussian_lines;

/* extent: depth, height, width; at: room for their sum. */
csrec_gaussian_lines csrec_gaussian_lay(const int extent[3], const csrec_gaussian_round *round,
                                        uint64_t seed, int *at);

void csrec_gaussian_matches_clear(csrec_gaussian_matches *matches);

/* Replaces u and variance by those of the next round, unless the call is stopped; reports to the
 * call round `number`, from 0, of `count`. `seed` shifts the reference patches. matches: zeroed
 * before the first round; a round `again` needs the seed of the one before. The result does not
 * depend on the number of threads. */
csrec_status csrec_gaussian_run(csrec_gaussian_picture *picture, const csrec_gaussian_round *round,
                                uint64_t seed, int threads, csrec_gaussian_matches *matches,
                                csrec_call *call, int number, int count);

/* Bytes that such a round uses besides the picture. */
double csrec_gaussian_round_bytes(const csrec_gaussian_picture *picture,
                                  const csrec_gaussian_round *round, int threads);

/* The rounds for a picture or volume, on the method's own start or a given one. The margin with
 * which sparse patches are matched. */
const csrec_gaussian_round *csrec_gaussian_rounds(bool volume, bool pooled, bool quick, bool given,
                                                  int *count);
int csrec_gaussian_margin(double n, double entries, bool volume);

/* Memory and time of a recovery. */
csrec_need csrec_gaussian_need(const csrec_task *task);

static inline int64_t csrec_gaussian_entries(const csrec_gaussian_picture *picture) {
    return (int64_t)picture->depth * picture->height * picture->width;
}

#define CSREC_STAGE_GROUPS "Gaussian groups"

struct csrec_recovery;

/* The rounds of the method on a given start, recovery->signal, in place of its own; for methods
 * that have a better one. The options are those of the method. */
csrec_status csrec_gaussian_refine(const struct csrec_recovery *recovery, csrec_error *error);

/* Memory and time of that. */
csrec_need csrec_gaussian_refine_need(const csrec_task *task);

/* ---- the hot loops of a Gaussian round, one table per instruction set. */

enum {
    CSREC_GROUP_PIXELS = 192, /* most pixels of a patch, times channels */
    CSREC_GROUP_EDGE = 16,    /* most pixels of a patch's edge */
    CSREC_GROUP_TILE = 32,    /* approximate pixels of a tile's edge */
    CSREC_GROUP_MOST = 128,   /* most patches of a group */
    CSREC_GROUP_CHANNELS = CSREC_GAUSSIAN_POOLED,
    CSREC_GROUP_LANES = 16, /* rows of matrices are padded to a multiple of it */
    CSREC_GROUP_ROWS = 64   /* rows of V buffered before V^T V is added: in the first cache */
};

/* A box of the picture with sums over the estimates of patches inside. */
typedef struct csrec_group_sums {
    int front, top, left, depth, height, width;
    float *weight, *value, *variance; /* [depth * height * width]: sums of w, w x, w v */
} csrec_group_sums;

/* Work arrays of one thread; d pixels per patch, rows of `stride` floats. */
typedef struct csrec_group_work {
    int patch_height, patch_width, d, stride;
    int rows;                        /* of a patch: its depth times its height */
    int32_t row[CSREC_GROUP_PIXELS]; /* their offsets in the picture from the patch's corner */
    int size;                        /* patches of the group */
    int32_t front[CSREC_GROUP_MOST]; /* their corners */
    int32_t top[CSREC_GROUP_MOST];
    int32_t left[CSREC_GROUP_MOST];
    int channels;             /* pooled channels, else 1 */
    float *mean, *C, *gram;   /* [channels * stride], [stride * stride] twice */
    float *X;                 /* [channels][CSREC_GROUP_MOST * stride] patches */
    float *V;                 /* [(CSREC_GROUP_ROWS + CSREC_GROUP_PIXELS) * stride] */
    float *prior, *posterior; /* [stride] variances: the diagonal of C, and those of a patch */
    float *column;            /* as in the search */
} csrec_group_work;

/* Distances between patches: references at slices z[], rows y[], columns x[] of the tile. */
typedef struct csrec_group_search {
    /* [guides][depth * height * width]; radius + CSREC_GROUP_LANES floats before the first and
     * after the last are read, too. */
    const float *guide;
    int guides, depth, height, width, patch_depth, patch_height, patch_width;
    int deep, radius; /* of the window: +-deep slices, +-radius rows and columns */
    const int *z, *y, *x;
    int slices, rows, columns;
    float *distance; /* [slices * rows * columns][shifts], infinite outside of the picture */
    float *column; /* [2 rows + 1][CSREC_GROUP_LANES][columns], from the first reference to the end
                    * of the last */
} csrec_group_search;

/* Places of the window, (2 deep + 1) (2 radius + 1)^2, in C order. */
static inline int csrec_group_shifts(const csrec_group_search *s) {
    return (2 * s->deep + 1) * (2 * s->radius + 1) * (2 * s->radius + 1);
}
static inline void csrec_group_shift(const csrec_group_search *s, int shift, int by[3]) {
    int side = 2 * s->radius + 1;
    by[0] = shift / side / side - s->deep;
    by[1] = shift / side % side - s->radius;
    by[2] = shift % side - s->radius;
}

typedef struct csrec_group_simd {
    void (*search)(const csrec_group_search *search);
    /* out[i] = the distance of the patch with corner `at` from that at shift[i] of its window. */
    void (*rank)(const csrec_group_search *search, const int at[3], int n, const uint16_t *shift,
                 float *out);
    /* Indices of the `wanted` least finite distances of n in index order, among equal ones the
     * first; returns their count. key, chosen: [n]. */
    int (*pick)(const float *distance, int n, int wanted, uint32_t *key, int32_t *chosen);
    /* Of work->channels channels from `channel` on; sums [channels]. */
    void (*estimate)(const csrec_gaussian_picture *picture, int channel,
                     const csrec_gaussian_round *round, csrec_group_work *work,
                     csrec_group_sums *sums);
} csrec_group_simd;

/* Work arrays of one thread for matching. */
typedef struct csrec_group_finder {
    float *distance; /* as in the search */
    float *column;
    float *ranked; /* [shifts or CSREC_GAUSSIAN_KEPT] */
    uint32_t *key;
    int32_t *chosen;
} csrec_group_finder;

/* column: floats. */
csrec_group_finder csrec_group_finder_of(int references, int shifts, int column, csrec_pool *pool);

/* Allocates matches for so many references; keeps those of the round before if `again`.
 * CSREC_ARGUMENT: they are not of such references. */
csrec_status csrec_group_matches_prepare(csrec_gaussian_matches *matches, int rows, int columns,
                                         int radius, bool again);

/* Finds the `wanted` nearest patches of reference `number` with corner `at`, by `distance` over its
 * window or, if NULL, among the candidates in `matches`: corners into work. */
void csrec_group_choose(const csrec_group_simd *simd, const csrec_group_search *search,
                        const int at[3], int64_t number, const float *distance, int wanted,
                        csrec_gaussian_matches *matches, csrec_group_finder *finder,
                        csrec_group_work *work);

/* For patches of so many slices, rows and columns of the picture. */
csrec_group_work csrec_group_work_of(const csrec_gaussian_picture *picture, const int patch[3],
                                     csrec_pool *pool);

extern const csrec_group_simd csrec_group_generic, csrec_group_avx2, csrec_group_avx512;

/* ---- a device's interface for rounds of Gaussian groups. */

/* The rounds of a recovery. */
typedef struct csrec_gaussian_plan {
    const csrec_gaussian_round *rounds;
    int count;
    uint64_t seed; /* shifts the reference patches */
    int threads;   /* of the CPU */
    csrec_call *call;
} csrec_gaussian_plan;

/* The engine keeps the picture, whose mask stays the caller's, and the candidates of each patch
 * from create to destroy, which accepts NULL. */
typedef struct csrec_gaussian_engine {
    /* Allocates for the rounds of the plan and takes the picture. CSREC_UNSUPPORTED: pictures not
     * handled. */
    csrec_status (*create)(const csrec_context *context, csrec_gaussian_picture *picture,
                           const csrec_gaussian_plan *plan, void **state, csrec_error *error);
    void (*destroy)(void *state);
    /* Runs round `number` of the plan: updates the engine's picture unless the call is stopped;
     * reports progress to the call. May be queued. */
    csrec_status (*run)(void *state, const csrec_gaussian_round *round, int number,
                        csrec_error *error);
    /* Copy u and variance from the engine to the picture of create, and back. The CPU updates the
     * picture itself. */
    csrec_status (*get)(void *state, csrec_gaussian_picture *picture, csrec_error *error);
    csrec_status (*set)(void *state, const csrec_gaussian_picture *picture, csrec_error *error);
} csrec_gaussian_engine;

extern const csrec_gaussian_engine csrec_gaussian_cpu, csrec_gaussian_cuda;

/* ---- channels of noisy pictures along the principal colours of their samples. */

typedef struct csrec_gaussian_axes {
    int channels;                                              /* 0: unchanged */
    double axis[CSREC_GAUSSIAN_POOLED][CSREC_GAUSSIAN_POOLED]; /* orthonormal rows */
} csrec_gaussian_axes;

/* Sums over samples, less the first of them: in any units in which values have an ordinary size. */
typedef struct csrec_gaussian_colours {
    int channels; /* at most CSREC_GAUSSIAN_POOLED; 0: of more there are no sums */
    int64_t n;
    double first[CSREC_GAUSSIAN_POOLED], sum[CSREC_GAUSSIAN_POOLED];
    double products[CSREC_GAUSSIAN_POOLED * CSREC_GAUSSIAN_POOLED];
} csrec_gaussian_colours;

csrec_gaussian_colours csrec_gaussian_colours_of(int64_t channels);
/* values: [channels] of a sample, divided by `unit`. */
void csrec_gaussian_colours_add(csrec_gaussian_colours *colours, const double *values, double unit);
/* Adds the sums over other samples, in the same units. */
void csrec_gaussian_colours_join(csrec_gaussian_colours *colours,
                                 const csrec_gaussian_colours *others);
/* The sums in units that are `factor`, a power of two, of the present ones. */
void csrec_gaussian_colours_scale(csrec_gaussian_colours *colours, double factor);

/* The principal axes of the samples; unchanged if there are no finite ones. */
void csrec_gaussian_axes_of(const csrec_gaussian_colours *colours, csrec_gaussian_axes *axes);

/* Those of the samples of a picture. */
void csrec_gaussian_axes_find(const csrec_gaussian_picture *picture, csrec_gaussian_axes *axes);

/* Rotates y and u to the axes. Noise of equal variance in all channels keeps that variance. */
void csrec_gaussian_axes_turn(const csrec_gaussian_axes *axes, csrec_gaussian_picture *picture);

/* The value of original channel c at an entry. */
double csrec_gaussian_axes_back(const csrec_gaussian_axes *axes, float *const *u, int64_t c,
                                int64_t entry);

/* Its variance, of independent ones along the axes. */
double csrec_gaussian_axes_variance(const csrec_gaussian_axes *axes, float *const *variance,
                                    int64_t c, int64_t entry);
