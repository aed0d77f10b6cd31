/* SPDX-License-Identifier: BSD-3-Clause */
/* threshold_plain.c - u -> synthesize(threshold(analyze(u))) in double, coefficients stored. */
#include "solver/threshold.h"

#include <math.h>
#include <string.h>

#include "operator/mask.h"

typedef struct state {
    csrec_pool pool; /* first */
    const csrec_operator *A;
    const double *y;
    double *x, *u, *v; /* [n], [entries], [entries] */
} state;

void csrec_threshold_apply(int64_t n, double threshold, bool soft, double *x) {
    for (int64_t j = 0; j < n; j++) {
        bool stays = fabs(x[j]) > threshold;
        x[j] = !stays ? 0.0 : soft ? x[j] - copysign(threshold, x[j]) : x[j];
    }
}

static csrec_status plain_create(const csrec_operator *A, const double *y, const double *start,
                                 void **data) {
    if (!A->mask) return CSREC_UNSUPPORTED;
    state *s = csrec_pool_create(sizeof *s);
    if (!s) return CSREC_MEMORY;
    size_t entries = (size_t)A->mask->entries;
    s->A = A;
    s->y = y;
    CSREC_TAKE(&s->pool, s->x, A->n);
    CSREC_TAKE(&s->pool, s->u, entries);
    CSREC_ZEROS(&s->pool, s->v, entries);
    if (csrec_pool_status(&s->pool)) {
        csrec_pool_destroy(s);
        return CSREC_MEMORY;
    }
    memcpy(s->u, start, entries * sizeof *s->u);
    *data = s;
    return CSREC_OK;
}

static csrec_status take_step(void *data, const csrec_shrink_step *step) {
    state *s = data;
    const csrec_mask *mask = s->A->mask;
    csrec_status status = s->A->type->analyze(s->A, s->u, s->x);
    if (status) return status;
    csrec_threshold_apply(s->A->n, step->threshold, step->soft, s->x);
    status = s->A->type->synthesize(s->A, s->x, s->v);
    if (status) return status;
    for (int64_t i = 0; i < mask->entries; i++)
        s->u[i] = s->v[i] + step->relax * (s->v[i] - s->u[i]);
    for (int64_t k = 0; k < mask->m; k++) {
        double v = s->v[mask->index[k]];
        s->u[mask->index[k]] = v + step->impose * (s->y[k] - v);
    }
    return CSREC_OK;
}

static double plain_energy(const void *data) {
    const state *s = data;
    const csrec_mask *mask = s->A->mask;
    double sum = 0.0;
    for (int64_t k = 0; k < mask->m; k++) {
        double error = s->y[k] - s->v[mask->index[k]];
        sum += error * error;
    }
    return sum;
}

static void plain_signal(const void *data, double *out) {
    const state *s = data;
    memcpy(out, s->u, (size_t)s->A->mask->entries * sizeof *out);
}

const csrec_shrink_type csrec_threshold_plain = {plain_create, csrec_pool_destroy, take_step,
                                                 plain_energy, plain_signal};
