/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_cpu.c - rounds of Gaussian groups on the CPU, the reference for every device. The picture
 * is updated in place. */
#include "method/gaussian/engine.h"

#include <stdlib.h>
#include <string.h>

typedef struct engine {
    csrec_gaussian_picture *picture;
    csrec_gaussian_plan plan;
    csrec_gaussian_matches matches;
    float *guide; /* NULL: one channel, whose estimate is the guide */
} engine;

static void destroy(void *state) {
    engine *e = state;
    if (!e) return;
    csrec_gaussian_matches_clear(&e->matches);
    free(e->guide);
    free(e);
}

static csrec_status create(const csrec_context *context, csrec_gaussian_picture *picture,
                           const csrec_gaussian_plan *plan, void **state, csrec_error *error) {
    (void)context;
    engine *e = calloc(1, sizeof *e);
    if (!e) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    e->picture = picture;
    e->plan = *plan;
    size_t guides = picture->guides > 0 ? (size_t)picture->guides : 1;
    size_t bytes = guides * (size_t)csrec_gaussian_entries(picture) * sizeof *e->guide;
    e->guide = picture->channels > 1 ? malloc(bytes) : NULL;
    if (picture->channels > 1 && !e->guide) {
        destroy(e);
        return csrec_fail(error, CSREC_MEMORY, "out of memory");
    }
    picture->guide = e->guide ? e->guide : picture->u[0];
    *state = e;
    return CSREC_OK;
}

/* Patches are compared over all channels: on their mean, or on each. */
static void set_guide(const engine *e) {
    const csrec_gaussian_picture *p = e->picture;
    int64_t entries = csrec_gaussian_entries(p);
    for (int64_t c = 0; p->guides > 0 && c < p->channels; c++)
        memcpy(e->guide + c * entries, p->u[c], (size_t)entries * sizeof *e->guide);
    if (p->guides > 0 || p->channels == 1) return;
    for (int64_t i = 0; i < entries; i++) {
        float sum = 0.0f;
        for (int64_t c = 0; c < p->channels; c++) sum += p->u[c][i];
        e->guide[i] = sum / (float)p->channels;
    }
}

static csrec_status run(void *state, const csrec_gaussian_round *round, int number,
                        csrec_error *error) {
    engine *e = state;
    const csrec_gaussian_plan *plan = &e->plan;
    set_guide(e);
    csrec_status status = csrec_gaussian_run(e->picture, round, plan->seed, plan->threads,
                                             &e->matches, plan->call, number, plan->count);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

static csrec_status get(void *state, csrec_gaussian_picture *picture, csrec_error *error) {
    (void)state;
    (void)picture;
    (void)error;
    return CSREC_OK;
}

static csrec_status set(void *state, const csrec_gaussian_picture *picture, csrec_error *error) {
    (void)state;
    (void)picture;
    (void)error;
    return CSREC_OK;
}

const csrec_gaussian_engine csrec_gaussian_cpu = {create, destroy, run, get, set};
