/* iht.c - Normalised Iterative Hard Thresholding: a gradient step whose length depends on the
 * support, then the k largest entries are kept; and HTP, which fits on the support it finds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/sparse.h"

typedef struct iht {
    csrec_support s; /* first */
    int64_t k;
    double *z;    /* [n] the next x */
    bool *before; /* [n] its predecessor's support */
} iht;

static void iht_destroy(csrec_run *run) {
    iht *o = run->state;
    if (o) {
        free(o->z);
        free(o->before);
    }
    csrec_sparse_destroy(run);
}

static csrec_status iht_create(csrec_run *run, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, sizeof(iht), error);
    iht *o = run->state;
    if (!status) status = csrec_sparse_target(run, 1, &o->k, error);
    if (status) return status;
    o->z = malloc((size_t)run->A->n * sizeof *o->z);
    o->before = malloc((size_t)run->A->n * sizeof *o->before);
    return o->z && o->before
               ? CSREC_OK
               : csrec_fail(error, CSREC_MEMORY, "solver %s: out of memory", run->type->name);
}

/* The best step length on the chosen columns: ||g_S||^2 / ||A g_S||^2, for columns of unit length.
 * c is the gradient; g, q are scratch. 0: the gradient is zero there. */
static double step_length(csrec_support *s, csrec_status *status) {
    double length = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) {
        double g = s->chosen[j] ? s->c[j] : 0.0;
        length += g * g;
        s->g[j] = g != 0.0 ? g / s->norms[j] : 0.0;
    }
    *status = csrec_support_forward(s, s->g, s->q);
    double image = csrec_squares(s->A->m, s->q);
    return image > 0.0 ? length / image : 0.0;
}

static void choose_largest(iht *o, const double *v) {
    int64_t kept = csrec_support_largest(&o->s, v, o->k);
    memset(o->s.chosen, 0, (size_t)o->s.A->n * sizeof *o->s.chosen);
    for (int64_t i = 0; i < kept; i++) o->s.chosen[o->s.largest[i]] = true;
    o->s.size = kept;
}

/* z = H_k(x + mu g), in columns of unit length; chosen = its support. */
static void threshold(iht *o, double mu) {
    csrec_support *s = &o->s;
    for (int64_t j = 0; j < s->A->n; j++) s->g[j] = s->x[j] * s->norms[j] + mu * s->c[j];
    choose_largest(o, s->g);
    for (int64_t j = 0; j < s->A->n; j++)
        o->z[j] = s->chosen[j] && s->norms[j] > 0.0 ? s->g[j] / s->norms[j] : 0.0;
}

static bool support_changed(const iht *o) {
    return memcmp(o->before, o->s.chosen, (size_t)o->s.A->n * sizeof *o->before) != 0;
}

/* ||z - x||^2 / ||A (z - x)||^2: if the support changes, a longer step could increase ||r||. */
static double longest_step(iht *o, csrec_status *status) {
    csrec_support *s = &o->s;
    double moved = 0.0;
    for (int64_t j = 0; j < s->A->n; j++) {
        s->g[j] = o->z[j] - s->x[j];
        moved += s->g[j] * s->g[j] * s->norms[j] * s->norms[j];
    }
    *status = csrec_support_forward(s, s->g, s->q);
    double image = csrec_squares(s->A->m, s->q);
    return image > 0.0 ? moved / image : INFINITY;
}

/* Computes the gradient, an initial support, and the step with its safeguard; z is the next x. */
static bool take_step(csrec_run *run, iht *o) {
    csrec_support *s = &o->s;
    run->fault = csrec_support_correlate(s);
    if (run->fault) return false;
    if (s->size == 0) choose_largest(o, s->c);
    memcpy(o->before, s->chosen, (size_t)run->A->n * sizeof *o->before);
    double mu = step_length(s, &run->fault);
    if (mu == 0.0 || run->fault) return false;
    threshold(o, mu);
    for (int tries = 0; tries < 60 && support_changed(o) && !run->fault; tries++) {
        double longest = longest_step(o, &run->fault);
        if (mu <= 0.99 * longest) break;
        mu *= 0.5;
        threshold(o, mu);
    }
    return !run->fault;
}

static void change_places(iht *o) {
    double *held = o->s.x;
    o->s.x = o->z;
    o->z = held;
}

/* Sets x = z and its r, by csrec_support_residual or csrec_support_fit; on a fault x and r are
 * unchanged. */
static bool update(csrec_run *run, csrec_status (*follow)(csrec_support *s)) {
    iht *o = run->state;
    double before = o->s.energy;
    if (!take_step(run, o)) return false;
    change_places(o);
    run->fault = follow(&o->s);
    if (run->fault) change_places(o);
    return !run->fault && o->s.energy < before;
}

static bool iht_update(csrec_run *run) {
    return update(run, csrec_support_residual);
}

static bool htp_update(csrec_run *run) {
    return update(run, csrec_support_fit);
}

static const csrec_param params[] = {CSREC_SPARSE_PARAM, {0}};

static csrec_solver_need iht_need(const csrec_solver_size *size) {
    return (csrec_solver_need){csrec_support_bytes(size) + 16.0 * size->n, 300.0, 0.0};
}

const csrec_solver_type csrec_solver_iht = {
    .name = "iht",
    .brief = "Normalised Iterative Hard Thresholding: gradient step, keeps the k largest",
    .source = "Blumensath and Davies 2010, algorithm of section III",
    .params = params,
    .products_alone = true,
    .create = iht_create,
    .need = iht_need,
    .destroy = iht_destroy,
    .update = iht_update,
    .energy = csrec_support_energy,
    .result = csrec_support_result};

const csrec_solver_type csrec_solver_htp = {
    .name = "htp",
    .brief = "Hard Thresholding Pursuit: iht with a least squares fit on its support",
    .source = "Foucart 2011, algorithm HTP with the step of normalised IHT",
    .params = params,
    .create = iht_create,
    .destroy = iht_destroy,
    .need = iht_need,
    .update = htp_update,
    .energy = csrec_support_energy,
    .result = csrec_support_result};
