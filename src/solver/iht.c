/* SPDX-License-Identifier: BSD-3-Clause */
/* iht.c - Normalised Iterative Hard Thresholding: a gradient step whose length depends on the
 * support, then the k largest entries are kept; and HTP, which fits on the support it finds and
 * needs no step length. */
#include <math.h>
#include <string.h>

#include "solver/support.h"

typedef struct iht {
    csrec_support s; /* first */
    double *z;       /* [n] the next x */
    double *r;       /* [m] y - A x before a step */
    bool *before;    /* [n] its predecessor's support, */
    bool rough;      /* and whether it was a rough fit */
} iht;

static csrec_status iht_create(csrec_run *run, csrec_error *error) {
    CSREC_TRY(csrec_sparse_begin(run, sizeof(iht), error));
    iht *o = run->state;
    CSREC_TAKE(&run->pool, o->z, run->A->n);
    CSREC_TAKE(&run->pool, o->r, run->A->m);
    CSREC_TAKE(&run->pool, o->before, run->A->n);
    return csrec_pool_status(&run->pool);
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
    int64_t kept = csrec_support_largest(&o->s, v, o->s.k);
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

static bool iht_update(csrec_run *run) {
    iht *o = run->state;
    csrec_support *s = &o->s;
    double before = s->energy;
    if (!take_step(run, o)) return false;
    memcpy(o->r, s->r, (size_t)run->A->m * sizeof *s->r);
    change_places(o);
    run->fault = csrec_support_residual(s);
    if (!run->fault && s->energy < before) return true;
    change_places(o);
    memcpy(s->r, o->r, (size_t)run->A->m * sizeof *s->r);
    s->energy = before;
    return false;
}

/* x and r as they were before a fit, which is scratch now, and the gradient. */
static csrec_status take_back(iht *o, double energy) {
    csrec_support *s = &o->s;
    change_places(o);
    memcpy(s->r, o->r, (size_t)s->A->m * sizeof *s->r);
    memcpy(s->chosen, o->before, (size_t)s->A->n * sizeof *s->chosen);
    s->energy = energy;
    s->rough = o->rough;
    return csrec_support_correlate(s);
}

/* What came of a step of HTP: the support stays, r would not get shorter, or it is taken. */
typedef enum attempt { SUPPORT_STAYS, NOT_SHORTER, TAKEN } attempt;

/* x fitted on the support of x + mu g; else x, r and the gradient stay. */
static attempt try_step(csrec_run *run, iht *o, double mu) {
    csrec_support *s = &o->s;
    double before = s->energy;
    threshold(o, mu);
    if (!support_changed(o)) return SUPPORT_STAYS;
    change_places(o);
    if (csrec_support_shortens(s, before)) return TAKEN;
    csrec_status status = take_back(o, before);
    if (!run->fault) run->fault = status;
    return NOT_SHORTER;
}

/* A fit leaves no gradient on the support, so the step length of iht is none here. <a_j, r> /
 * ||a_j|| is what column j alone would gain: mu = 1 compares the columns outside with those inside
 * by that. Where r would not get shorter mu is halved, and where the support stays it is doubled
 * once, which leaves many of the supports at which mu = 1 ends. */
static bool htp_update(csrec_run *run) {
    iht *o = run->state;
    csrec_support *s = &o->s;
    run->fault = csrec_support_correlate(s);
    if (run->fault) return false;
    memcpy(o->before, s->chosen, (size_t)run->A->n * sizeof *o->before);
    memcpy(o->r, s->r, (size_t)run->A->m * sizeof *o->r);
    o->rough = s->rough;
    attempt came = try_step(run, o, 1.0);
    if (came == SUPPORT_STAYS)
        came = try_step(run, o, 2.0);
    else
        for (double mu = 0.5; came == NOT_SHORTER && !run->fault && mu > 0x1p-60; mu *= 0.5)
            came = try_step(run, o, mu);
    return came == TAKEN || csrec_support_settle(s);
}

static const csrec_param params[] = {CSREC_SPARSE_PARAM, {0}};

static csrec_solver_need iht_need(const csrec_solver_size *size) {
    return (csrec_solver_need){csrec_support_bytes(size) + 16.0 * size->n + 8.0 * size->m, 300.0,
                               0.0};
}

const csrec_solver_type csrec_solver_iht = {
    .name = "iht",
    .brief = "Normalised Iterative Hard Thresholding: gradient step, keeps the k largest",
    .source = "Blumensath and Davies 2010, algorithm of section III",
    .params = params,
    .norms = true,
    .products_alone = true,
    .steps = 100000,
    .pursues = true,
    .create = iht_create,
    .need = iht_need,
    .update = iht_update,
    .energy = csrec_support_energy,
    .result = csrec_support_result};

const csrec_solver_type csrec_solver_htp = {
    .name = "htp",
    .brief = "Hard Thresholding Pursuit: iht with a least squares fit on its support",
    .source = "Foucart 2011, algorithm HTP; the step is halved where ||r|| would rise",
    .params = params,
    .norms = true,
    .fits = true,
    .pursues = true,
    .create = iht_create,
    .need = iht_need,
    .update = htp_update,
    .energy = csrec_support_energy,
    .result = csrec_support_fitted,
    .settles = csrec_support_settles};
