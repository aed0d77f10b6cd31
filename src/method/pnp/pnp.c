/* pnp.c - plug-and-play recovery: a denoiser as the prior (Venkatakrishnan, Bouman and Wohlberg
 * 2013), by half-quadratic splitting with falling noise (Zhang et al. 2021, algorithm 1):
 *
 *     x <- z + A^T (A A^T + (s / s_k)^2 I)^-1 (y - A z),    s: of the noise on y
 *     z <- denoise(x, s_k)
 *
 * with s_k falling from s_1 to s_K in a geometric series. Where A A^T = c I the first step is a
 * division; else conjugate gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "method/pnp/denoise.h"
#include "solver/solver.h"

static const csrec_param params[] = {
    {"iterations", 20, 1, 1000, "denoisings"},
    {"first", 12, 1, 255, "noise that the first denoising removes, in 1/255 of white less black"},
    {"last", 1, 1, 255, "and the last, unless the measurements have more"},
    {"turns", 1, 1, 8, "flips and turns of the picture that each denoising averages"},
    {"groups", 0, 0, 1, "1: Gaussian groups denoise; 0: the learned prior's network"},
    {0}};

enum { GRADIENTS = 20 }; /* of a data step, at most */

static double setting(const csrec_recovery *r, const char *name) {
    return csrec_setting_value(&r->options->solve, name, csrec_param_find(params, name)->value);
}

typedef struct job {
    csrec_sensed data;
    csrec_denoiser denoiser;
    csrec_team team;
    double sigma;          /* of the noise on y */
    double *x, *z;         /* [values] */
    double *r, *u, *p, *q; /* [y_values] of the data step */
    double *back;          /* [values] */
} job;

/* ------------------------------------------------------------------ data step ----------------- */

/* q = (A A^T + share I) v */
static csrec_status apply(job *j, double share, const double *v, double *q) {
    csrec_status status = csrec_sensed_adjoint(&j->data, v, j->back);
    if (!status) status = csrec_sensed_residual(&j->data, j->back, q);
    for (int64_t i = 0; i < j->data.y_values; i++) q[i] += j->data.m->y[i] + share * v[i];
    return status;
}

static double product(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* u with (A A^T + share I) u = r, by conjugate gradients; r is used up. */
static csrec_status solve(job *j, double share) {
    const int64_t n = j->data.y_values;
    double energy = csrec_squares(n, j->r), goal = 1e-8 * energy;
    csrec_status status = CSREC_OK;
    memset(j->u, 0, (size_t)n * sizeof *j->u);
    memcpy(j->p, j->r, (size_t)n * sizeof *j->p);
    for (int k = 0; k < GRADIENTS && energy > goal && !status; k++) {
        status = apply(j, share, j->p, j->q);
        double curved = product(n, j->p, j->q);
        if (status || !(curved > 0.0)) break;
        double step = energy / curved;
        for (int64_t i = 0; i < n; i++) {
            j->u[i] += step * j->p[i];
            j->r[i] -= step * j->q[i];
        }
        double next = csrec_squares(n, j->r);
        for (int64_t i = 0; i < n; i++) j->p[i] = j->r[i] + next / energy * j->p[i];
        energy = next;
    }
    return status;
}

/* x from z: nearer to the measurements. */
static csrec_status fit(job *j, double sigma) {
    const csrec_sensed *d = &j->data;
    const double share = j->sigma * j->sigma / (sigma * sigma);
    csrec_status status = csrec_sensed_residual(&j->data, j->z, j->r);
    for (int64_t i = 0; i < d->y_values; i++) j->r[i] = -j->r[i];
    if (!status && !d->tight) status = solve(j, share);
    for (int64_t i = 0; i < d->y_values && d->tight; i++)
        j->u[i] = j->r[i] / (d->norm * d->norm + share);
    if (!status) status = csrec_sensed_adjoint(&j->data, j->u, j->x);
    for (int64_t i = 0; i < d->values; i++) j->x[i] += j->z[i];
    return status;
}

/* ------------------------------------------------------------------ the start ----------------- */

/* The start: total variation. */
static csrec_status start(job *j, csrec_error *error) {
    static const csrec_setting few[] = {{"iterations", 300}};
    const csrec_recovery *r = j->data.r;
    csrec_recover_options options = csrec_options_within(r->options);
    csrec_recovery own = *r;
    options.method = csrec_method_tv.shown.name;
    options.solve.settings = few;
    options.solve.n_settings = 1;
    own.signal = j->z;
    return csrec_recover_within(&own, &options, error);
}

/* 1/255 of white less black: of the measurement's scale, else of the start. */
static double tone_of(const job *j) {
    const csrec_measurement *m = j->data.m;
    double given = fabs(m->scale[1] - m->scale[0]), least = j->z[0], most = j->z[0];
    if (given > 0.0) return given / 255.0;
    for (int64_t i = 0; i < j->data.values; i++) {
        least = fmin(least, j->z[i]);
        most = fmax(most, j->z[i]);
    }
    return most > least ? (most - least) / 255.0 : 1.0;
}

static csrec_status allocate(job *j, csrec_error *error) {
    const size_t values = (size_t)j->data.values, rows = (size_t)j->data.y_values;
    j->x = malloc(values * sizeof *j->x);
    j->z = malloc(values * sizeof *j->z);
    j->back = malloc(values * sizeof *j->back);
    j->r = malloc(rows * sizeof *j->r);
    j->u = malloc(rows * sizeof *j->u);
    j->p = malloc(rows * sizeof *j->p);
    j->q = malloc(rows * sizeof *j->q);
    return j->x && j->z && j->back && j->r && j->u && j->p && j->q
               ? CSREC_OK
               : csrec_fail(error, CSREC_MEMORY, "plug-and-play: out of memory");
}

static void clear(job *j) {
    csrec_denoiser_clear(&j->denoiser);
    csrec_sensed_clear(&j->data);
    free(j->x);
    free(j->z);
    free(j->back);
    free(j->r);
    free(j->u);
    free(j->p);
    free(j->q);
}

/* ------------------------------------------------------------------ iterations ---------------- */

/* The noise of step k of K. */
static double noise_at(const job *j, int64_t k, int64_t K, double tone) {
    const csrec_recovery *r = j->data.r;
    double first = setting(r, "first") * tone;
    /* What noise on y is in x, if its energy spreads over all entries. */
    double own = j->sigma / j->data.norm * sqrt((double)j->data.y_values / (double)j->data.values);
    double last = fmax(setting(r, "last") * tone, own);
    double share = K > 1 ? (double)k / (double)(K - 1) : 1.0;
    return last < first ? first * pow(last / first, share) : last;
}

static csrec_status iterate(job *j, double tone, int64_t *done, csrec_error *error) {
    const csrec_recovery *r = j->data.r;
    const int64_t K = (int64_t)setting(r, "iterations");
    const int turns = (int)setting(r, "turns");
    csrec_status status = CSREC_OK;
    for (*done = 0; *done < K && !status; ++*done) {
        const csrec_progress now = {"plug-and-play", *done, K, -1.0};
        const double sigma = noise_at(j, *done, K, tone);
        if (csrec_team_report(&j->team, &now)) break;
        status = fit(j, sigma);
        if (!status)
            status = csrec_denoise(&j->denoiser, j->x, sigma, turns, &j->team, j->z, error);
    }
    return status;
}

static csrec_status recover(job *j, csrec_error *error) {
    const csrec_recovery *r = j->data.r;
    const csrec_stop *stop = &r->options->solve.stop;
    int64_t done = 0;
    csrec_status status = allocate(j, error);
    j->sigma = stop->sigma > 0.0 ? stop->sigma : j->data.m->sigma;
    if (!status) status = start(j, error);
    const double tone = status ? 1.0 : tone_of(j);
    if (!status)
        status =
            csrec_denoiser_create(&j->data, tone, setting(r, "groups") != 0.0, &j->denoiser, error);
    if (!status) status = iterate(j, tone, &done, error);
    if (!status) status = fit(j, noise_at(j, 1, 1, tone));
    if (status) return status;
    memcpy(r->signal, j->x, (size_t)j->data.values * sizeof *j->x);
    return csrec_sensed_report(&j->data, r->signal, done, csrec_team_stopped(&j->team));
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    job j = {.sigma = 0.0};
    double began = csrec_seconds();
    csrec_status status = csrec_method_check_settings(&csrec_method_pnp, r->options, error);
    if (status) return status;
    csrec_team_begin(&j.team, r->options->solve.progress, r->options->solve.context,
                     (csrec_progress){"plug-and-play", 0, (int64_t)setting(r, "iterations"), -1.0});
    status = csrec_sensed_create(r, &j.data, error);
    if (!status) status = recover(&j, error);
    csrec_team_end(&j.team);
    r->report->seconds_pursuit = csrec_seconds() - began;
    clear(&j);
    return status;
}

/* ------------------------------------------------------------------ the table row ------------- */

static bool suits(const csrec_measurement *m) {
    return m->shape.dims == 2 && csrec_sensed_suits(m);
}

static void complete(const csrec_measurement *measurement, bool atoms,
                     csrec_recover_options *options) {
    csrec_method_tv.complete(measurement, atoms, options);
}

static csrec_need need_of(const csrec_task *task) {
    csrec_recover_options plain = csrec_options_within(task->options);
    const csrec_task inner = csrec_task_with(task, &plain);
    const bool groups = csrec_task_param(task, &params[4]) != 0.0;
    const double steps = csrec_task_param(task, &params[0]),
                 turns = csrec_task_param(task, &params[3]);
    csrec_need one = (groups ? &csrec_method_gaussian : &csrec_method_net)->need(&inner);
    csrec_need first = csrec_method_tv.need(&inner);
    return (csrec_need){fmax(one.bytes, first.bytes) + 5.0 * csrec_signal_bytes(task),
                        first.seconds + steps * one.seconds * (groups ? 1.0 : turns)};
}

static bool pays(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

const csrec_method_type csrec_method_pnp = {
    .shown = {.name = "pnp",
              .brief = "plug-and-play: a denoiser as the prior, in turn with the measurements",
              .source = "Zhang et al. 2021, algorithm 1; docs/operators.md",
              .model = "net",
              .takes = CSREC_TAKES(MODEL) | CSREC_TAKES(EPSILON) | CSREC_TAKES(SIGMA),
              .iterates = true,
              .device = "the network, and products with the operator"},
    .params = params,
    .suits = suits,
    .wants = "a picture (two axes)",
    .through = true,
    .complete = complete,
    .need = need_of,
    .on_device = csrec_task_always,
    .pays = pays,
    .run = run};
