/* SPDX-License-Identifier: BSD-3-Clause */
/* jitter.c - jittered sampling with exactly the count that was asked for.
 *
 * A regular grid of cells fits few counts and few shapes. Here the signal is halved along its
 * longest axis, and each half again, until a box has one sample, which falls anywhere in it. A
 * half that holds the fraction f of its box's entries takes k f of its k samples, rounded up or
 * down at random so that k f is the mean. Hence
 *   - the counts add up: exactly `count` samples, one in each of `count` cells;
 *   - every position is sampled with probability count / entries exactly (the mean of each share is
 *     exact, and a cell's sample is uniform in it);
 *   - where count is the number of equal boxes that halving makes (25 % of a 512 x 512 picture),
 *     the cells are the plain 2 x 2 grid. */
#include "base/random.h"
#include "sampling/sampling.h"

typedef struct {
    int64_t low[CSREC_DIMS_MAX], extent[CSREC_DIMS_MAX];
} box;

typedef struct {
    const csrec_shape *shape;
    uint64_t seed;
    int64_t *next; /* where the next position goes */
} partition;

static int64_t flat_position(const csrec_shape *shape, const int64_t *at) {
    int64_t flat = 0;
    for (int d = 0; d < shape->dims; d++) flat = flat * shape->dim[d] + at[d];
    return flat;
}

static int longest_axis(const csrec_shape *shape, const box *b) {
    int axis = 0;
    for (int d = 1; d < shape->dims; d++)
        if (b->extent[d] > b->extent[axis]) axis = d;
    return axis;
}

/* Boxes of one depth differ in their first position, so (depth, position) names each draw. */
static uint64_t draw(const partition *p, const box *b, int depth) {
    return csrec_random_u64(p->seed, (uint64_t)(CSREC_STREAM_JITTER + depth),
                            (uint64_t)flat_position(p->shape, b->low));
}

static void place_one(partition *p, const box *b, int depth) {
    uint64_t volume = 1;
    for (int d = 0; d < p->shape->dims; d++) volume *= (uint64_t)b->extent[d];
    uint64_t member = csrec_random_below(draw(p, b, depth), volume);
    int64_t at[CSREC_DIMS_MAX];
    for (int d = p->shape->dims - 1; d >= 0; d--) {
        at[d] = b->low[d] + (int64_t)(member % (uint64_t)b->extent[d]);
        member /= (uint64_t)b->extent[d];
    }
    *p->next++ = flat_position(p->shape, at);
}

/* floor(k half / extent + u / extent) with u uniform in 0 .. extent - 1: the share of the lower
 * half. 2 half = extent or extent - 1 lets it be written without a product beyond 64 bits:
 * k half / extent = (k - k / extent) / 2 for odd extents. */
static int64_t share(int64_t k, int64_t extent, uint64_t word) {
    if (extent % 2 == 0) return k / 2 + (k % 2 ? (int64_t)(word >> 63) : 0);
    int64_t whole = k / extent, rest = k % extent, half = extent / 2;
    /* rest half / extent = (rest - rest / extent) / 2: rest / 2 less rest / (2 extent). In units
     * of 1 / (2 extent), floor it after adding a random multiple of 2 below 2 extent. */
    int64_t doubled = rest / 2;
    int64_t fraction = rest % 2 ? extent - rest : -rest; /* of 2 extent */
    if (fraction < 0) {
        doubled--;
        fraction += 2 * extent;
    }
    int64_t u = 2 * (int64_t)csrec_random_below(word, (uint64_t)extent);
    return whole * half + doubled + (fraction + u >= 2 * extent);
}

static void divide(partition *p, box b, int64_t k, int depth) {
    if (k == 0) return;
    if (k == 1) {
        place_one(p, &b, depth);
        return;
    }
    int axis = longest_axis(p->shape, &b);
    int64_t extent = b.extent[axis], half = extent / 2;
    int64_t lower = share(k, extent, draw(p, &b, depth));
    box above = b;
    b.extent[axis] = half;
    above.low[axis] += half;
    above.extent[axis] = extent - half;
    divide(p, b, lower, depth + 1);
    divide(p, above, k - lower, depth + 1);
}

csrec_status csrec_sampling_jitter(const csrec_sampling_plan *plan, csrec_sampling *sampling,
                                   csrec_error *error) {
    (void)error;
    partition p = {plan->shape, plan->seed, sampling->index};
    box all = {{0}, {0}};
    for (int d = 0; d < plan->shape->dims; d++) all.extent[d] = plan->shape->dim[d];
    divide(&p, all, plan->count, 0);
    return CSREC_OK;
}
