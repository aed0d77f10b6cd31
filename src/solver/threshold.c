/* SPDX-License-Identifier: BSD-3-Clause */
/* threshold.c - iterative thresholding with a falling threshold; samples are put back in each step.
 */
#include "solver/threshold.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operator/mask.h"
#include "solver/solver.h"

typedef struct threshold {
    const csrec_shrink_type *way;
    void *state;
    csrec_threshold_schedule schedule;
    int64_t done;
    double reached; /* ||r||^2 of x, once that is delivered; else negative */
} threshold;

static void threshold_destroy(csrec_run *run) {
    threshold *t = run->state;
    if (t && t->state) t->way->destroy(t->state);
}

void csrec_threshold_plan(const csrec_run *run, csrec_threshold_schedule *t) {
    double least = run->y[0], most = run->y[0], sigma = run->options->stop.sigma;
    for (int64_t k = 1; k < run->A->m; k++) {
        least = fmin(least, run->y[k]);
        most = fmax(most, run->y[k]);
    }
    double range = csrec_run_param(run, "range");
    if (range == 0.0) range = most > least ? most - least : fabs(most);
    if (range == 0.0) range = 1.0; /* if all samples are 0, so is the result */
    t->first = csrec_run_param(run, "first");
    t->last = csrec_run_param(run, "last");
    if (t->first == 0.0) t->first = 60.0 / 255.0 * range;
    if (t->last == 0.0) t->last = fmax(3.0 / 255.0 * range, sigma);
    t->first = fmax(t->first, t->last);
    t->steps = (int64_t)csrec_run_param(run, "steps");
    t->relax = csrec_run_param(run, "relax");
    t->soft = csrec_run_param(run, "soft") != 0.0;
    t->noise = csrec_run_param(run, "blend") * sigma;
}

csrec_shrink_step csrec_threshold_step(const csrec_threshold_schedule *t, int64_t done) {
    bool last = done + 1 >= t->steps;
    double way = t->steps > 1 ? (double)done / (double)(t->steps - 1) : 1.0;
    double T = t->first * pow(t->last / t->first, way);
    return (csrec_shrink_step){.threshold = T,
                               .relax = last ? 0.0 : t->relax,
                               .impose = T * T / (T * T + t->noise * t->noise),
                               .soft = t->soft,
                               .draw = done};
}

/* The start: the given signal or coefficients, else a guess. */
static csrec_status make_start(const csrec_run *run, double *signal, csrec_error *error) {
    const csrec_operator *A = run->A;
    if (!run->options->start) return csrec_threshold_start(A->mask, run->y, signal);
    double *x = malloc((size_t)A->n * sizeof *x);
    csrec_status status = x ? csrec_run_start(run, x, error) : CSREC_MEMORY;
    if (!status) status = A->type->synthesize(A, x, signal);
    free(x);
    return status;
}

static csrec_status start_way(csrec_run *run, threshold *t, csrec_error *error) {
    const csrec_operator *A = run->A;
    double *start = malloc((size_t)A->mask->entries * sizeof *start);
    csrec_status status = start ? make_start(run, start, error) : CSREC_MEMORY;
    t->way = A->type->shrink;
    if (!status) status = t->way ? t->way->create(A, run->y, start, &t->state) : CSREC_UNSUPPORTED;
    if (status == CSREC_UNSUPPORTED) {
        t->way = &csrec_threshold_plain;
        status = t->way->create(A, run->y, start, &t->state);
    }
    free(start);
    return status;
}

static csrec_status threshold_create(csrec_run *run, csrec_error *error) {
    if (!run->A->mask || !run->A->type->analyze)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "solver threshold: operator %s is not a basis of a sampled signal; use "
                          "dct or wavelet",
                          run->A->type->name);
    threshold *t = csrec_run_state(run, sizeof *t);
    if (t) t->reached = -1.0;
    csrec_status status = t ? CSREC_OK : CSREC_MEMORY;
    if (!status) csrec_threshold_plan(run, &t->schedule);
    if (!status) status = start_way(run, t, error);
    csrec_run_stops(run); /* its guess is the result then */
    if (status == CSREC_MEMORY)
        csrec_fail(error, status, "solver threshold: out of memory for %lld coefficients",
                   (long long)run->A->n);
    return status;
}

static int64_t threshold_planned(const csrec_run *run) {
    return ((const threshold *)run->state)->schedule.steps;
}

static bool threshold_update(csrec_run *run) {
    threshold *t = run->state;
    csrec_shrink_step step = csrec_threshold_step(&t->schedule, t->done);
    run->fault = t->way->step(t->state, &step);
    t->done++;
    return !run->fault;
}

static double threshold_energy(const csrec_run *run) {
    const threshold *t = run->state;
    return t->reached >= 0.0 ? t->reached : t->way->energy(t->state);
}

static csrec_status threshold_signal(const csrec_run *run, double *out) {
    const threshold *t = run->state;
    t->way->signal(t->state, out);
    return CSREC_OK;
}

/* x: the coefficients of the signal that pass the last threshold. */
static csrec_status threshold_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    threshold *t = run->state;
    const csrec_operator *A = run->A;
    double *u = malloc((size_t)A->mask->entries * sizeof *u);
    double *x = malloc((size_t)A->n * sizeof *x), *left = malloc((size_t)A->m * sizeof *left);
    csrec_status status = u && x && left ? threshold_signal(run, u) : CSREC_MEMORY;
    if (!status) status = A->type->analyze(A, u, x);
    if (!status) csrec_threshold_apply(A->n, t->schedule.last, t->schedule.soft, x);
    if (!status) status = A->type->forward(A, x, left);
    for (int64_t k = 0; k < A->m && !status; k++) left[k] = run->y[k] - left[k];
    if (!status) t->reached = csrec_squares(A->m, left);
    if (!status && r) memcpy(r, left, (size_t)A->m * sizeof *r);
    if (!status && atoms) status = csrec_run_atoms(run, x, atoms);
    free(u);
    free(x);
    free(left);
    return status;
}

static const csrec_param params[] = {
    {"first", 0, 0, DBL_MAX, "first threshold, in units of y; 0: 60/255 of the range"},
    {"last", 0, 0, DBL_MAX, "last threshold; 0: 3/255 of the range, at least sigma"},
    {"steps", 60, 1, 1e6, "iterations, over which the threshold falls exponentially"},
    {"relax", 1, 0, 1.5, "over-relaxation: 1 moves twice as far as the thresholded signal"},
    {"blend", 1.2, 0, 100,
     "noisy samples are put back as T^2 / (T^2 + (blend sigma)^2) at threshold T"},
    {"soft", 0, 0, 1, "1: soft thresholding: kept coefficients shrink by the threshold"},
    {"range", 0, 0, DBL_MAX,
     "range of which thresholds are shares, in units of y; 0: the range of "
     "the samples"},
    {0}};

static const char *const lengths[] = {"first", "last", "range", NULL};
static const char *const reals[] = {"first", "last", "range", "relax", "blend", NULL};

const csrec_solver_type csrec_solver_threshold = {
    .name = "threshold",
    .brief = "iterative thresholding on a frame, with a falling threshold",
    .source = "Guleryuz 2006, algorithm of section III; Elad, Starck, Querre and Donoho 2005",
    .params = params,
    .lengths = lengths,
    .reals = reals,
    .tones = true,
    .create = threshold_create,
    .destroy = threshold_destroy,
    .update = threshold_update,
    .energy = threshold_energy,
    .result = threshold_result,
    .planned = threshold_planned,
    .signal = threshold_signal};
