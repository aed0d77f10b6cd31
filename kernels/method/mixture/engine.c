/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - rounds of a mixture: the mixtures of a round to a device, pictures and moments back.
 */
#include <math.h>

#include "base/pool.h"
#include "kernels/device/device.h"
#include "kernels/method/mixture/mixture.h"
#include "method/mixture/engine.h"
#include "method/mixture/patch.h"

typedef struct state {
    csrec_pool pool;
    csrec_context context;
    csrec_fit_picture *picture;
    csrec_fit_plan plan;
    csrec_cuda_mixture *mixture;
    int d, stride;
    int64_t *first; /* [K + 1] */
    float *C, *mean;
} state;

static void destroy(void *data) {
    state *s = data;
    if (s) csrec_cuda_mixture_destroy(s->mixture);
    csrec_pool_destroy(s);
}

static csrec_status make(state *s, int K, csrec_error *error) {
    const csrec_fit_picture *p = s->picture;
    size_t components = (size_t)K, d = (size_t)s->d, stride = (size_t)s->stride;
    csrec_cuda_mixture_spec spec = {.patches = p->patches,
                                    .K = K,
                                    .stride = s->stride,
                                    .mask = p->mask,
                                    .y = p->y,
                                    .u = p->u,
                                    .keep = p->keep,
                                    .adapt = s->plan.adapt,
                                    .variance = p->variance != NULL,
                                    .noise = p->noise,
                                    .evenness = CSREC_FIT_EVENNESS * p->tone * p->tone};
    csrec_status status = csrec_cuda_mixture_create(&spec, &s->mixture, error);
    if (status) return status;
    CSREC_ZEROS(&s->pool, s->first, components + 1);
    CSREC_ZEROS(&s->pool, s->C, components * d * stride);
    CSREC_ZEROS(&s->pool, s->mean, components * stride);
    status = csrec_pool_status(&s->pool);
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

static csrec_status create(const csrec_context *context, csrec_fit_picture *picture, int K,
                           const csrec_fit_plan *plan, void **made, csrec_error *error) {
    csrec_status status = csrec_cuda_enter(context, error);
    if (status) return status;
    state *s = csrec_pool_create(sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    s->context = *context;
    s->picture = picture;
    s->plan = *plan;
    s->d = csrec_patches_size(&picture->patches);
    s->stride = csrec_patch_stride(s->d);
    status = make(s, K, error);
    return CSREC_SETTLE(status, destroy(s), *made = s);
}

static csrec_status run(void *data, const csrec_mixture *mixture, const csrec_mixture *wide,
                        int number, csrec_error *error) {
    state *s = data;
    const csrec_progress progress = {"mixture", number, s->plan.rounds, -1.0};
    if (csrec_call_report(s->picture->call, &progress)) return CSREC_OK;
    csrec_fit_floats(mixture, s->picture->tone, s->stride, s->C, s->mean);
    const csrec_cuda_mixture_round round = {.whiten = wide->whiten,
                                            .offset = wide->offset,
                                            .means = wide->means,
                                            .C = s->C,
                                            .mean = s->mean};
    return csrec_cuda_mixture_run(s->mixture, &round, s->first, error);
}

static int64_t count(const void *data, int k) {
    const state *s = data;
    return s->first[k + 1] - s->first[k];
}

/* The device is a thread's own. Squares that overflow are reported as by csrec_covariance. */
static csrec_status moments(void *data, int k, double *mean, double *S, double *G,
                            csrec_error *error) {
    const state *s = data;
    csrec_status status = csrec_cuda_enter(&s->context, error);
    if (!status) status = csrec_cuda_mixture_moments(s->mixture, k, mean, S, G, error);
    for (int i = 0; i < s->d && !status; i++)
        if (!isfinite(S[(size_t)i * (size_t)(s->d + 1)]))
            status = csrec_fail(error, CSREC_DATA, "patches: entry %d overflows", i);
    return status;
}

static csrec_status get(void *data, double *energy, csrec_error *error) {
    const state *s = data;
    return csrec_cuda_mixture_get(s->mixture, s->picture->u, s->picture->variance, energy, error);
}

/* u and variance as on a CPU with fused multiply-add, to the bit, for equal mixtures; moments up to
 * rounding, so the mixtures of later rounds differ in their last bits. Deterministic.
 * CSREC_UNSUPPORTED: beyond the limits of kernels/method/mixture/mixture.h. */
const csrec_fit_engine csrec_fit_cuda = {create, destroy, run, count, moments, get};
