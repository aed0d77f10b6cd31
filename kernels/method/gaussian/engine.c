/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - rounds of Gaussian groups: reference positions, and the picture to a device
 * and back. */
#include "base/pool.h"
#include "kernels/device/device.h"
#include "kernels/method/gaussian/gaussian.h"
#include "method/gaussian/gaussian.h"

typedef struct state {
    csrec_pool pool;
    csrec_gaussian_plan plan;
    csrec_cuda_gaussian *gaussian;
    int depth, height, width, *at; /* [depth + height + width] */
    float noise;                   /* variance */
} state;

static void destroy(void *data) {
    state *s = data;
    if (s) csrec_cuda_gaussian_destroy(s->gaussian);
    csrec_pool_destroy(s);
}

static void lay_round(const state *s, const csrec_gaussian_round *r, uint64_t seed,
                      csrec_cuda_gaussian_round *round) {
    const int extent[] = {s->depth, s->height, s->width};
    const csrec_gaussian_lines l = csrec_gaussian_lay(extent, r, seed, s->at);
    *round = (csrec_cuda_gaussian_round){
        .slices = l.count[0],
        .rows = l.count[1],
        .columns = l.count[2],
        .slice = l.at[0],
        .row = l.at[1],
        .column = l.at[2],
        .patch_depth = l.patch[0],
        .patch_height = l.patch[1],
        .patch_width = l.patch[2],
        .group = r->group < CSREC_CUDA_GAUSSIAN_GROUP ? r->group : CSREC_CUDA_GAUSSIAN_GROUP,
        .deep = l.deep,
        .radius = r->radius,
        .em = r->em,
        .margin = r->margin,
        .every = r->every,
        .again = r->again,
        .diagonal = r->diagonal,
        .trust = r->trust,
        .noise = r->noise > s->noise ? r->noise : s->noise,
        .em_diagonal = r->em_diagonal,
        .evenness = r->evenness,
        .floor = r->floor};
}

/* Memory for the largest of the rounds. */
static csrec_status make(const csrec_gaussian_picture *p, state *s, csrec_error *error) {
    csrec_cuda_gaussian_spec spec = {.depth = p->depth,
                                     .height = p->height,
                                     .width = p->width,
                                     .channels = p->channels,
                                     .apart = p->guides > 0,
                                     .pooled = p->pooled,
                                     .keep = !(p->sigma > 0.0f),
                                     .mask = p->mask,
                                     .y = p->y};
    for (int k = 0; k < s->plan.count; k++) {
        csrec_cuda_gaussian_round round;
        lay_round(s, &s->plan.rounds[k], s->plan.seed, &round);
        int64_t references = (int64_t)round.slices * round.rows * round.columns;
        if (references > spec.references) spec.references = references;
        if (round.group > spec.group) spec.group = round.group;
    }
    csrec_status status = csrec_cuda_gaussian_create(&spec, &s->gaussian, error);
    return status ? status : csrec_cuda_gaussian_set(s->gaussian, p->u, p->variance, error);
}

static csrec_status create(const csrec_context *context, csrec_gaussian_picture *p,
                           const csrec_gaussian_plan *plan, void **made, csrec_error *error) {
    CSREC_TRY(csrec_cuda_enter(context, error));
    state *s = csrec_pool_create(sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->plan = *plan;
    s->depth = p->depth;
    s->height = p->height;
    s->width = p->width;
    s->noise = p->sigma * p->sigma;
    CSREC_TAKE(&s->pool, s->at, (int64_t)p->depth + p->height + p->width);
    csrec_status status =
        s->at ? make(p, s, error) : csrec_fail(error, CSREC_MEMORY, "out of memory");
    return CSREC_SETTLE(status, destroy(s), *made = s);
}

static csrec_status run(void *data, const csrec_gaussian_round *r, int number, csrec_error *error) {
    state *s = data;
    csrec_cuda_gaussian_round round;
    csrec_progress progress = {CSREC_STAGE_GROUPS, number, s->plan.count, -1.0};
    if (csrec_call_report(s->plan.call, &progress)) return CSREC_OK;
    lay_round(s, r, s->plan.seed, &round);
    return csrec_cuda_gaussian_run(s->gaussian, &round, error);
}

static csrec_status get(void *data, csrec_gaussian_picture *p, csrec_error *error) {
    return csrec_cuda_gaussian_get(((state *)data)->gaussian, p->u, p->variance, error);
}

static csrec_status set(void *data, const csrec_gaussian_picture *p, csrec_error *error) {
    return csrec_cuda_gaussian_set(((state *)data)->gaussian, p->u, p->variance, error);
}

/* As on the CPU up to rounding: where two patches are nearly equidistant, another may be chosen.
 * Deterministic. CSREC_UNSUPPORTED: beyond the limits of kernels/method/gaussian/gaussian.h. */
const csrec_gaussian_engine csrec_gaussian_cuda = {create, destroy, run, get, set};
