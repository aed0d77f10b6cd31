/* SPDX-License-Identifier: BSD-3-Clause */
/* fit.c - rounds of a mixture over the patches of a picture, by the engine of a device. */
#include "method/mixture/engine.h"

#include <stdlib.h>
#include <string.h>

static const csrec_fit_engine *const engines[CSREC_DEVICE_KINDS] =
    CSREC_ENGINES(&csrec_fit_cpu, &csrec_fit_cuda);

void csrec_fit_cut(const csrec_fit_picture *p, int64_t i, float *to) {
    const csrec_patches *g = &p->patches;
    int channel;
    int64_t corner = csrec_patches_corner(g, i, &channel);
    for (int y = 0; y < g->patch_height; y++)
        for (int x = 0; x < g->patch_width; x++)
            for (int c = 0; c < g->joint; c++)
                *to++ = p->u[(corner + (int64_t)y * g->width + x) * g->channels + channel + c];
}

void csrec_fit_floats(const csrec_mixture *m, float tone, int stride, float *C, float *mean) {
    float diagonal = CSREC_FIT_DIAGONAL * tone * tone;
    for (int k = 0; k < m->K; k++)
        for (int i = 0; i < m->d; i++) {
            int64_t row = (int64_t)k * m->d + i;
            mean[(int64_t)k * stride + i] = (float)m->means[row];
            for (int j = 0; j < m->d; j++)
                C[row * stride + j] = (float)m->C[row * m->d + j] + (i == j ? diagonal : 0.0f);
        }
}

/* The estimate is smoother than the picture, so components are widened for the assignment. */
static csrec_status widen(const csrec_fit_picture *p, const csrec_mixture *m, csrec_mixture *wide,
                          csrec_error *error) {
    size_t d = (size_t)m->d, squares = d * d;
    float more = CSREC_FIT_CHOICE * p->tone * p->tone + (p->keep ? 0.0f : 0.25f * p->noise);
    memcpy(wide->weights, m->weights, (size_t)m->K * sizeof *m->weights);
    memcpy(wide->means, m->means, (size_t)m->K * d * sizeof *m->means);
    memcpy(wide->C, m->C, (size_t)m->K * squares * sizeof *m->C);
    for (int k = 0; k < m->K; k++)
        for (size_t i = 0; i < d; i++) wide->C[(size_t)k * squares + i * (d + 1)] += more;
    return csrec_mixture_prepare(wide, 0.5 * more, p->threads, p->call, error);
}

/* C = covariance of the estimates + mean of the posterior covariances C_old - V^T V, where C_old
 * counts as d further patches. */
static csrec_status update(const csrec_fit_engine *engine, void *state, csrec_mixture *m, int k) {
    int64_t n = engine->count(state, k), d = m->d;
    double *C = m->C + k * d * d, drawn = (double)n / (double)(n + d);
    double *S = malloc((size_t)(2 * d * d) * sizeof *S), *G = S ? S + d * d : NULL;
    if (!S) return CSREC_MEMORY;
    csrec_status status = engine->moments(state, k, m->means + k * d, S, G, NULL);
    for (int64_t i = 0; i < d && !status; i++)
        for (int64_t j = i; j < d; j++) {
            double value = C[i * d + j] + drawn * (S[i * d + j] - G[i * d + j] / (double)n);
            C[i * d + j] = C[j * d + i] = value;
        }
    free(S);
    return status;
}

static csrec_status adapt_mixture(const csrec_fit_engine *engine, void *state,
                                  const csrec_fit_picture *p, csrec_mixture *m,
                                  csrec_error *error) {
    int64_t patches = csrec_patches_count(&p->patches);
    csrec_status worst = CSREC_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
    for (int k = 0; k < m->K; k++) {
        int64_t n = engine->count(state, k);
        if (csrec_call_poll(p->call)) continue;
        csrec_status status = n > 0 ? update(engine, state, m, k) : CSREC_OK;
        m->weights[k] = ((double)n + 1.0) / (double)(patches + m->K);
        if (status) {
#pragma omp atomic write
            worst = status;
        }
    }
    return worst ? csrec_fail(error, worst,
                              "method mixture: the covariance of the patches is "
                              "not positive definite")
                 : CSREC_OK;
}

/* One round; *done: it was not stopped. */
static csrec_status run_round(const csrec_fit_engine *engine, void *state, csrec_fit_picture *p,
                              csrec_mixture *mixture, csrec_mixture *wide, int round, bool *done,
                              csrec_error *error) {
    csrec_status status = widen(p, mixture, wide, error);
    if (!status) status = engine->run(state, mixture, wide, round, error);
    *done = !status && !csrec_call_stopped(p->call);
    if (!*done || !p->round_done) return status;
    double energy;
    status = engine->get(state, &energy, error);
    if (!status) p->round_done(round + 1, energy, p->context);
    return status;
}

csrec_status csrec_fit_run(const csrec_context *context, csrec_fit_picture *picture,
                           csrec_mixture *mixture, int rounds, bool adapt, csrec_error *error) {
    const csrec_fit_engine *engine = engines[context->kind];
    const csrec_fit_plan plan = {rounds, adapt && rounds > 1};
    csrec_mixture wide = {0};
    void *state = NULL;
    bool done = true;
    csrec_status status = csrec_mixture_create(mixture->K, mixture->d, &wide, error);
    if (!status) status = engine->create(context, picture, mixture->K, &plan, &state, error);
    for (int round = 0; round < rounds && done && !status; round++) {
        status = run_round(engine, state, picture, mixture, &wide, round, &done, error);
        if (!status && done && adapt && round + 1 < rounds)
            status = adapt_mixture(engine, state, picture, mixture, error);
    }
    if (!status) status = engine->get(state, NULL, error);
    csrec_mixture_clear(&wide);
    engine->destroy(state);
    return status;
}
