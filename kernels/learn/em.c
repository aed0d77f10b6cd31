/* SPDX-License-Identifier: BSD-3-Clause */
/* em.c - the expectation step of a mixture on a CUDA device. */
#include "learn/gmm.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/device/device.h"
#include "kernels/learn/em.h"

typedef struct state {
    csrec_context context;
    const csrec_mixture *mixture;
    csrec_call *call;
    csrec_cuda_em *em;
} state;

static void destroy(void *data) {
    state *s = data;
    if (!s) return;
    csrec_cuda_em_destroy(s->em);
    free(s);
}

static csrec_status create(const csrec_context *context, const csrec_mixture *mixture,
                           const csrec_em_plan *plan, void **made, csrec_error *error) {
    csrec_status status = csrec_cuda_enter(context, error);
    if (status) return status;
    state *s = calloc(1, sizeof *s);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    *s = (state){*context, mixture, plan->call, NULL};
    status = csrec_cuda_em_create(mixture->K, mixture->d, plan->rows, plan->piece, &s->em, error);
    return CSREC_SETTLE(status, destroy(s), *made = s);
}

static csrec_status begin(void *data, csrec_error *error) {
    state *s = data;
    const csrec_mixture *m = s->mixture;
    csrec_status status = csrec_cuda_enter(&s->context, error);
    return status ? status : csrec_cuda_em_begin(s->em, m->whiten, m->offset, m->means, error);
}

static csrec_status take(void *data, int64_t first, int64_t count, const float *X,
                         double *likelihood, csrec_error *error) {
    state *s = data;
    if (csrec_call_poll(s->call)) return CSREC_OK;
    return csrec_cuda_em_take(s->em, first, count, X, likelihood, error);
}

static csrec_status moments(void *data, int k, double *weight, double *shift, double *C,
                            csrec_error *error) {
    const state *s = data;
    csrec_status status = csrec_cuda_em_moments(s->em, k, weight, shift, C, error);
    for (int i = 0; i<s->mixture->d && * weight> 0.0 && !status; i++)
        if (!isfinite(C[(size_t)i * (size_t)(s->mixture->d + 1)]))
            status = csrec_fail(error, CSREC_DATA, "data: squares of column %d overflow", i);
    return status;
}

/* As the CPU up to the rounding of its sums, which are in double here and in float there. The same
 * bits every time. CSREC_UNSUPPORTED: rows of some 880 entries and more. */
const csrec_em_engine csrec_em_cuda = {create, destroy, begin, take, moments};
