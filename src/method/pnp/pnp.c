/* SPDX-License-Identifier: BSD-3-Clause */
/* pnp.c - plug-and-play recovery, a denoiser as the prior: parameters, the choice of the way, and
 * the row. */
#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "method/inverse.h"
#include "method/pnp/pnp.h"
#include "method/spectrum.h"
#include "csrec/sampling.h"

/* ---- the denoisers of plug-and-play recovery. */

/* Of a probe in the noise: large enough for the network's floats. */
static const double PROBE = 0.1;

static csrec_status create_network(csrec_denoiser *d, csrec_error *error) {
    const csrec_recovery *r = d->recovery;
    const csrec_net_options options = {.threads = r->options->threads};
    const csrec_shape *shape = &d->data->m->shape;
    const size_t values = (size_t)d->data->values, n = (size_t)d->data->entries;
    CSREC_TRY(csrec_prior_pass_create(&(csrec_prior_from){r->options->model, r->options->priors},
                                      d->channels, CSREC_PRIOR_NOISE, r->context, &options,
                                      shape->dim[0], shape->dim[1], &d->pass, error));
    CSREC_TAKE(&d->pool, d->values, values);
    CSREC_TAKE(&d->pool, d->result, values);
    CSREC_TAKE(&d->pool, d->known, n);
    if (d->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "denoiser: out of memory");
    memset(d->known, 1, n);
    return CSREC_OK;
}

static csrec_status create_groups(csrec_denoiser *d, csrec_error *error) {
    csrec_measurement *all = &d->all;
    *all = *d->data->m;
    all->through = NULL;
    all->is_complex = false;
    all->n = d->data->entries;
    all->channels = d->channels;
    CSREC_TAKE(&d->pool, all->index, all->n);
    CSREC_TAKE(&d->pool, all->y, d->data->values);
    if (d->pool.lacks) return csrec_fail(error, CSREC_MEMORY, "denoiser: out of memory");
    for (int64_t i = 0; i < all->n; i++) all->index[i] = i;
    return CSREC_OK;
}

csrec_status csrec_denoiser_create(const csrec_recovery *recovery, const csrec_measured *data,
                                   double tone, bool groups, csrec_denoiser *d,
                                   csrec_error *error) {
    *d = (csrec_denoiser){.recovery = recovery,
                          .data = data,
                          .tone = tone,
                          .groups = groups,
                          .seconds = recovery->options->seconds};
    d->channels = data->values / data->entries;
    return groups ? create_groups(d, error) : create_network(d, error);
}

void csrec_denoiser_clear(csrec_denoiser *d) {
    csrec_prior_pass_clear(&d->pass);
    csrec_pool_clear(&d->pool);
}

void csrec_denoiser_take(csrec_denoiser *d, const double *x) {
    const int64_t n = d->data->entries;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d->channels; c++)
            d->values[c * n + i] = (float)(x[i * d->channels + c] / d->tone);
}

static csrec_status by_network(csrec_denoiser *d, const double *x, double sigma, int turns,
                               csrec_call *call, double *z, csrec_error *error) {
    const int64_t n = d->data->entries, channels = d->channels, own = d->pass.channels;
    csrec_status status = CSREC_OK;
    csrec_denoiser_take(d, x);
    memset(d->result, 0, (size_t)d->data->values * sizeof *d->result);
    for (int64_t c = 0; c < channels && !status; c += own) {
        const csrec_prior_samples s = {.channels = (int)own,
                                       .height = d->pass.height,
                                       .width = d->pass.width,
                                       .values = d->values + c * n,
                                       .known = d->known,
                                       .sigma = (float)(sigma / d->tone),
                                       .tone = 1.0f,
                                       .threads = d->recovery->options->threads};
        for (int t = 0; t < turns && !status; t++)
            status = csrec_prior_pass_add(&d->pass, &s, (int)((d->calls + t) % 8), call,
                                          d->result + c * n, NULL, error);
    }
    for (int64_t i = 0; i < n && !status; i++)
        for (int64_t c = 0; c < channels; c++)
            z[i * channels + c] = d->tone * (double)d->result[c * n + i] / turns;
    d->calls += turns;
    return status;
}

/* Groups begin with thresholded blocks of the noisy signal. */
static csrec_status by_groups(csrec_denoiser *d, const double *x, double sigma, csrec_call *call,
                              double *z, csrec_error *error) {
    const csrec_recovery *r = d->recovery;
    csrec_recover_options options = csrec_options_within(r->options, call);
    csrec_recover_report report = {0};
    csrec_recovery own = *r;
    csrec_whole whole;
    d->all.sigma = sigma;
    memcpy(d->all.y, x, (size_t)d->data->values * sizeof *x);
    csrec_status status = csrec_whole_of(&d->all, &whole, error);
    options.method = csrec_method_gaussian.info.name;
    own.measurement = &d->all;
    own.whole = &whole;
    own.signal = z;
    own.report = &report;
    if (!status) status = csrec_recover_start(&own, &options, error);
    csrec_whole_clear(&whole);
    return status;
}

csrec_status csrec_denoise(csrec_denoiser *d, const double *x, double sigma, int turns,
                           csrec_call *call, double *z, csrec_error *error) {
    return d->groups ? by_groups(d, x, sigma, call, z, error)
                     : by_network(d, x, sigma, turns, call, z, error);
}

csrec_status csrec_denoiser_slope(csrec_denoiser *d, const double *x, const double *z, double sigma,
                                  int turns, csrec_call *call, double *probe, double *moved,
                                  double *slope, csrec_error *error) {
    const int64_t n = d->data->values;
    const uint64_t stream = (uint64_t)d->calls, seed = d->recovery->options->seed;
    const double step = PROBE * sigma;
    double sum = 0.0;
    const int threads = csrec_threads_for(n, d->recovery->options->threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        probe[i] = x[i] + step * csrec_random_normal(seed, stream, (uint64_t)i);
    d->calls -= turns; /* as the picture was turned for z */
    csrec_status status = csrec_denoise(d, probe, sigma, turns, call, moved, error);
    for (int64_t i = 0; i < n; i++) sum += (probe[i] - x[i]) * (moved[i] - z[i]);
    *slope = step > 0.0 ? sum / (step * step * (double)n) : 0.0;
    return status;
}

enum { ITERATIONS, TURNS = 4, STEPS, ROUNDS, GROUPS };

static const csrec_param params[] = {
    {"iterations", 20, 1, 1000, "denoisings at most"},
    {"first", 60, 1, 255, "noise that the first denoising removes, in 1/255 of white less black"},
    {"last", 3, 1, 255, "and the last, unless the measurements have more"},
    {"relax", 150, 100, 200, "percent of each step towards the measurements that is made"},
    {"turns", 1, 1, 8, "flips and turns of the picture that each denoising averages"},
    {"steps", 0, 0, 1000000, "steps that fit the network further to this picture; 0: none"},
    {"rounds", 1, 1, 100, "of such fits, each with so many steps, and denoisings after it"},
    {"groups", 0, 0, 1, "1: Gaussian groups denoise; 0: the learned prior's network"},
    {"splitting", 0, 0, 3,
     "1: message passing, for rows that mix all entries; 2: half-quadratic splitting; 3: "
     "alternating directions (ADMM); 0: 1 where the rows are of that kind, else 3"},
    {0}};

/* Of the last denoising in the mean. */
static const double LAST = 0.5;

double csrec_pnp_setting(const csrec_pnp *p, const char *name) {
    return csrec_setting_value(&p->recovery->options->solve, CSREC_OF_METHOD, name,
                               csrec_param_find(params, name)->value);
}

csrec_status csrec_pnp_open(csrec_pnp *p, csrec_error *error) {
    const bool groups = csrec_pnp_setting(p, "groups") != 0.0;
    return csrec_denoiser_create(p->recovery, &p->data, p->tone, groups, &p->denoiser, error);
}

int64_t csrec_pnp_fits(const csrec_pnp *p) {
    const bool fits = csrec_pnp_setting(p, "steps") > 0.0 && !p->denoiser.groups;
    return fits ? (int64_t)csrec_pnp_setting(p, "rounds") : 0;
}

csrec_status csrec_pnp_adapt(csrec_pnp *p, const double *x, double sigma, bool clean,
                             csrec_error *error) {
    int64_t done;
    return csrec_denoiser_fit(&p->denoiser, x, sigma, clean, (int64_t)csrec_pnp_setting(p, "steps"),
                              &p->call, &done, error);
}

void csrec_pnp_keep(csrec_pnp *p) {
    for (int64_t i = 0; i < p->data.values; i++) p->mean[i] += LAST * (p->z[i] - p->mean[i]);
}

/* ------------------------------------------------------------------ the data step
 *
 * Towards the measurements. Where A A^T = c I it is a division, where it has small blocks a product
 * with its inverse; else conjugate gradients. */

/* Of a data step, and of the last, at most. */
enum { GRADIENTS = 20, LAST_GRADIENTS = 60, NEAR = 3, LAST_NEAR = 10 };

/* x, from z on, towards the least ||A x - y||^2 + share ||x - z||^2, by conjugate gradients on its
 * normal equations: they hold where y is no product of A, too. r = y - A z. Until the energy of
 * y - A x is `goal` (share 0), or that of the gradient 1e-10 of its first. */
static csrec_status descend(csrec_pnp *p, const double *z, double share, int steps, double goal) {
    const csrec_measured *d = &p->data;
    const int64_t n = d->values;
    double left = csrec_squares(d->y_values, p->r), before = INFINITY, least = 0.0;
    csrec_status status = csrec_measured_adjoint(d, p->r, p->back);
    memcpy(p->x, z, (size_t)n * sizeof *p->x);
    memset(p->along, 0, (size_t)n * sizeof *p->along);
    for (int64_t k = 0; d->spectrum && k < d->entries; k++)
        p->response[k] = 1.0 / (d->spectrum->c[k] + share);
    for (int k = 0; k < steps && left > goal && !status; k++) {
        if (d->spectrum)
            status = csrec_spectrum_filter(d, p->response, p->back, p->step);
        else
            memcpy(p->step, p->back, (size_t)n * sizeof *p->step);
        const double energy = csrec_dot(n, p->back, p->step);
        if (k == 0) least = 1e-10 * energy;
        if (status || !(energy > least)) break;
        for (int64_t i = 0; i < n; i++) p->along[i] = p->step[i] + energy / before * p->along[i];
        status = csrec_measured_normal(d, p->along, p->step);
        for (int64_t i = 0; i < n; i++) p->step[i] += share * p->along[i];
        const double curved = csrec_dot(n, p->along, p->step);
        if (status || !(curved > 0.0)) break;
        for (int64_t i = 0; i < n; i++) {
            p->x[i] += energy / curved * p->along[i];
            p->back[i] -= energy / curved * p->step[i];
        }
        left -= energy / curved * energy;
        before = energy;
    }
    return status;
}

/* r = y - A z */
static csrec_status misfit(csrec_pnp *p, const double *z) {
    csrec_status status = csrec_measured_residual(&p->data, z, p->r);
    for (int64_t i = 0; i < p->data.y_values; i++) p->r[i] = -p->r[i];
    return status;
}

/* x = z + part A^T r: both steps, where A A^T = c I. */
static csrec_status add(csrec_pnp *p, const double *z, double part) {
    csrec_status status = csrec_measured_adjoint(&p->data, p->r, p->back);
    for (int64_t i = 0; i < p->data.values; i++) p->x[i] = z[i] + part * p->back[i];
    return status;
}

csrec_status csrec_pnp_fit(csrec_pnp *p, const double *z, double share) {
    const csrec_measured *d = &p->data;
    csrec_status status = misfit(p, z);
    if (status) return status;
    if (!d->tight && !d->inverse) return descend(p, z, share, d->spectrum ? NEAR : GRADIENTS, 0.0);
    if (d->inverse) status = csrec_inverse_apply(d, share, p->r);
    return status ? status : add(p, z, d->tight ? 1.0 / (d->norm * d->norm + share) : 1.0);
}

csrec_status csrec_pnp_meet(csrec_pnp *p, const double *z) {
    const csrec_measured *d = &p->data;
    csrec_status status = misfit(p, z);
    const double length = sqrt(csrec_squares(d->y_values, p->r));
    const bool off = length > d->eps;
    if (status) return status;
    if (!d->tight && !d->inverse)
        return descend(p, z, 0.0, d->spectrum ? LAST_NEAR : LAST_GRADIENTS,
                       fmax(d->eps * d->eps, 1e-8 * length * length));
    if (d->inverse && off) status = csrec_inverse_meet(d, p->r);
    const double part = d->inverse ? 1.0 : (1.0 - d->eps / length) / (d->norm * d->norm);
    return status ? status : add(p, z, off ? part : 0.0);
}

static csrec_status allocate(csrec_pnp *p, csrec_error *error) {
    double **const signals[] = {&p->x, &p->z, &p->w, &p->mean, &p->back, &p->along, &p->step};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        CSREC_TAKE(&p->pool, *signals[i], p->data.values);
    CSREC_TAKE(&p->pool, p->r, p->data.y_values);
    CSREC_TAKE(&p->pool, p->response, p->data.entries);
    return p->pool.lacks ? csrec_fail(error, CSREC_MEMORY, "plug-and-play: out of memory")
                         : CSREC_OK;
}

static csrec_status choose(csrec_pnp *p, int *way, csrec_error *error) {
    bool mixes;
    *way = (int)csrec_pnp_setting(p, "splitting");
    if (*way != CSREC_PNP_AUTO && *way != CSREC_PNP_MESSAGES) return CSREC_OK;
    csrec_status status = csrec_pnp_mixes(p, &mixes);
    if (status) return csrec_fail(error, status, "plug-and-play: %s", csrec_status_text(status));
    if (!mixes && *way == CSREC_PNP_MESSAGES)
        return csrec_fail(
            error, CSREC_UNSUPPORTED,
            "splitting=1 is for orthogonal rows that mix all entries, such as those of scrambled "
            "hadamard, of pictures with sides of 8 or more; use 0, 2 or 3 for this operator");
    *way = mixes ? CSREC_PNP_MESSAGES : CSREC_PNP_ADMM;
    return CSREC_OK;
}

/* By messages; where they are lost, by alternating directions. */
static csrec_status solve(csrec_pnp *p, int way, int64_t *done, csrec_error *error) {
    int64_t before = 0;
    bool lost = way != CSREC_PNP_MESSAGES;
    csrec_status status = CSREC_OK;
    if (!lost) {
        status = csrec_pnp_messages(p, &before, &lost, error);
        if (!lost) *done = before;
        if (status || !lost) return status;
        csrec_denoiser_clear(&p->denoiser);
        p->denoiser = (csrec_denoiser){0};
        p->recovery->report->remark =
            "Message passing diverged: errors do not spread evenly over all entries. This is the "
            "result of alternating directions (splitting=3).";
    }
    status = csrec_pnp_split(p, way != CSREC_PNP_QUADRATIC, done, error);
    *done += before;
    return status;
}

static csrec_status recover(csrec_pnp *p, csrec_error *error) {
    const csrec_recovery *r = p->recovery;
    const csrec_stop *stop = &r->options->solve.stop;
    int64_t done = 0;
    int way;
    csrec_status status = allocate(p, error);
    p->sigma = stop->sigma > 0.0 ? stop->sigma : p->data.m->sigma;
    if (!status)
        status =
            csrec_fit_check((int64_t)csrec_pnp_setting(p, "steps"), r->options->seconds, error);
    if (!status) status = choose(p, &way, error);
    if (!status) status = solve(p, way, &done, error);
    if (status) return status;
    memcpy(r->signal, p->x, (size_t)p->data.values * sizeof *p->x);
    return csrec_products_report(r, &p->data, done, csrec_call_stopped(&p->call));
}

static csrec_status run(const csrec_recovery *r, csrec_error *error) {
    csrec_pnp p = {.recovery = r};
    csrec_call_begin(
        &p.call, r->options->solve.progress, r->options->solve.context,
        (csrec_progress){"plug-and-play", 0, (int64_t)csrec_pnp_setting(&p, "iterations"), -1.0});
    csrec_status status = csrec_products_create(r, &p.data, error);
    if (!status) status = recover(&p, error);
    csrec_call_end(&p.call);
    csrec_denoiser_clear(&p.denoiser);
    csrec_products_clear(&p.data);
    csrec_pool_clear(&p.pool);
    return status;
}

static bool suits(const csrec_measurement *m) {
    return m->shape.dims == 2 && csrec_products_suits(m);
}

/* The start's share of the seconds of total variation at most; of any frequencies it is all. */
static const double START = 0.1;

static csrec_need need_of(const csrec_task *task) {
    csrec_recover_options plain = csrec_options_within(task->options, NULL);
    const csrec_task inner = csrec_task_with(task, &plain);
    const bool groups = csrec_task_param(task, &params[GROUPS]) != 0.0;
    const double steps = csrec_task_param(task, &params[ITERATIONS]),
                 turns = csrec_task_param(task, &params[TURNS]);
    const double pixels = (double)task->entries,
                 fits = groups ? 0.0
                               : csrec_task_param(task, &params[STEPS]) *
                                     csrec_task_param(task, &params[ROUNDS]);
    csrec_need one = (groups ? &csrec_method_gaussian : &csrec_method_net)->need(&inner);
    csrec_need first = csrec_method_tv.need(&inner);
    const double each = groups ? one.seconds : (one.seconds - CSREC_PRIOR_LOAD) * turns;
    const double products = task->any ? NEAR * steps + LAST_NEAR : 0.0;
    const double fits_y =
        2.0 * products * (double)task->channels * csrec_products_need(task).seconds;
    double fitting = csrec_task_share(task, fits * csrec_fit_seconds(pixels, 1.0), 1 << 20);
    if (task->options->seconds > 0.0) fitting = fmin(fitting, task->options->seconds);
    if (fits > 0.0) one.bytes += csrec_fit_bytes(pixels, 1.0);
    return (csrec_need){.bytes = fmax(one.bytes, first.bytes) + 6.0 * csrec_signal_bytes(task),
                        .seconds = (groups ? 0.0 : CSREC_PRIOR_LOAD) +
                                   (task->any ? 1.0 : START) * first.seconds + fits_y +
                                   steps * each + fitting};
}

static bool device_faster(const csrec_task *task) {
    return need_of(task).seconds > 1.0;
}

const csrec_method_type csrec_method_pnp = {
    .info =
        {.name = "pnp",
         .topic = "measurements through operators",
         .brief = "plug-and-play: a denoiser as the prior, in turn with the measurements",
         .source =
             "Venkatakrishnan et al. 2013; Rangan, Schniter and Fletcher 2019; docs/operators.md",
         .model = "net",
         .accepts = CSREC_ACCEPTS(MODEL) | CSREC_ACCEPTS(EPSILON) | CSREC_ACCEPTS(SIGMA) |
                    CSREC_ACCEPTS(SECONDS),
         .iterates = true,
         .device = "the network, and products with the operator"},
    .params = params,
    .suits = suits,
    .wants = "a picture (two axes)",
    .through = true,
    .complete = csrec_products_complete,
    .need = need_of,
    .on_device = csrec_task_always,
    .device_faster = device_faster,
    .run = run};
