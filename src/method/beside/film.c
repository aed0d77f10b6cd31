/* SPDX-License-Identifier: BSD-3-Clause */
/* film.c - frames one after another, each recovered from those around it. */
#include <math.h>
#include <string.h>

#include "learn/net/pyramid.h"
#include "measurement/channels.h"
#include "method/beside/beside.h"

enum { REACH = 3 }; /* without a network */

/* Samples of a frame, of the most in its window, with which what it is by itself errs as much as
 * frames that are not moved. */
static const double THIN = 0.25;

static int setting(const csrec_recovery *r, const char *name) {
    const csrec_param *param = csrec_param_find(csrec_method_beside.params, name);
    return (int)csrec_setting_value(&r->options->solve, CSREC_OF_METHOD, name, param->value);
}

/* Without a prior for single pictures there is neither a vote nor motion. */
static csrec_status open_alone(csrec_film *f, const csrec_measurement *m, bool network,
                               const csrec_net_options *options, csrec_error *error) {
    const int64_t n = f->height * f->width, C = f->channels;
    csrec_status status = CSREC_OK;
    if (network && !csrec_prior_installed(1, 0, NULL)) f->votes = f->moves = false;
    if (!f->votes && !f->moves) return CSREC_OK;
    if (network)
        status = csrec_prior_pass_create(&(csrec_prior_from){NULL, f->r.options->priors}, C,
                                         csrec_measurement_even(m) ? C : 1, f->r.context, options,
                                         f->height, f->width, &f->prior, error);
    const int64_t planes = network && !status ? f->prior.channels : 0;
    CSREC_TAKE(&f->pool, f->plane, planes * n);
    CSREC_TAKE(&f->pool, f->sum, planes * n);
    for (int t = 0; t < (f->moves ? 2 * f->reach + 1 : 1); t++)
        CSREC_TAKE(&f->pool, f->by_itself[t], n * C);
    for (int t = 0; t < 2 * f->reach + 1; t++)
        csrec_holes_create(f->height, f->width, &f->holes[t], &f->pool);
    CSREC_TAKE(&f->pool, f->share, n);
    CSREC_ZEROS(&f->pool, f->left_out, 4 * C);
    CSREC_ZEROS(&f->pool, f->scale, C);
    CSREC_ZEROS(&f->pool, f->beyond, C);
    if (f->moves) csrec_motion_create(f);
    return status;
}

csrec_status csrec_film_create(const csrec_recovery *r, bool guides, csrec_film *f,
                               csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    const csrec_net_options options = {.threads = r->options->threads,
                                       .fast = setting(r, "steps") > 0};
    const int axis = m->shape.dims - 2;
    const bool network = setting(r, "network") != 0;
    *f = (csrec_film){.r = *r,
                      .turns = setting(r, "turns"),
                      .votes = setting(r, "vote") != 0,
                      .channels = m->channels};
    f->height = m->shape.dim[axis];
    f->width = m->shape.dim[axis + 1];
    f->r.measurement = NULL;
    f->steps = csrec_film_steps(setting(r, "steps"), m->shape.dims == 3);
    if (f->steps > 0 && !network)
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "steps = %d: fit the network, and network = 0 does without; leave out one",
            setting(r, "steps"));
    f->seconds = r->options->seconds;
    CSREC_TRY(csrec_fit_check(f->steps, f->seconds, error));
    const csrec_prior_from from = {r->options->model, r->options->priors};
    CSREC_TRY(csrec_beside_create(&from, network, guides ? CSREC_GUIDED_MOST : 0, r->context,
                                  &options, f->height, f->width, &f->net, error));
    const int64_t n = f->height * f->width;
    f->moves = m->shape.dims == 3 && setting(r, "motion") != 0;
    if (m->shape.dims == 3) f->reach = network ? f->net.frames / 2 : f->moves ? REACH : 0;
    f->moves = f->moves && f->reach > 0;
    for (int t = 0; t < 2 * f->reach + 1; t++) {
        CSREC_TAKE(&f->pool, f->values[t], n);
        CSREC_TAKE(&f->pool, f->known[t], n);
    }
    CSREC_ZEROS(&f->pool, f->weight, 3 * f->channels); /* and ranges */
    CSREC_TAKE(&f->pool, f->guide, n * (f->net.guides + 1));
    CSREC_TAKE(&f->pool, f->result, n);
    CSREC_TAKE(&f->pool, f->squares, n);
    CSREC_TAKE(&f->pool, f->fit_to, n);
    csrec_status status = open_alone(f, m, network, &options, error);
    if (status || !f->pool.lacks) return status;
    return csrec_fail(error, CSREC_MEMORY, "out of memory for frames of %lld x %lld",
                      (long long)f->height, (long long)f->width);
}

static void drop(csrec_film_frame *frame) {
    if (frame->owned) csrec_measurement_clear(&frame->m);
    *frame = (csrec_film_frame){.owned = false};
}

void csrec_film_clear(csrec_film *f) {
    for (int k = 0; k < CSREC_BESIDE_FRAMES; k++) drop(&f->frame[k]);
    csrec_beside_clear(&f->net);
    csrec_prior_pass_clear(&f->prior);
    if (f->other_clear) f->other_clear(f->own);
    csrec_pool_clear(&f->pool);
}

csrec_film_frame *csrec_film_at(csrec_film *f, int64_t t) {
    return &f->frame[csrec_film_slot(f, t)];
}

void csrec_film_push(csrec_film *f, const csrec_measurement *frame, bool owned) {
    const int64_t slot = csrec_film_slot(f, f->pushed++);
    csrec_film_frame *to = &f->frame[slot];
    drop(to);
    f->motion.of = -1; /* which had fewer frames around it */
    *to = (csrec_film_frame){.m = *frame, .owned = owned};
    if (f->votes || f->moves) csrec_holes_find(frame, &f->holes[slot]);
}

bool csrec_film_ready(const csrec_film *f) {
    return f->taken < f->pushed && (f->ended || f->pushed - f->taken > f->reach);
}

void csrec_film_window(const csrec_film *f, int64_t t, int64_t window[2]) {
    window[0] = t < f->reach ? 0 : t - f->reach;
    window[1] = t + f->reach < f->pushed ? t + f->reach + 1 : f->pushed;
}

bool csrec_film_thin(csrec_film *f, int64_t t) {
    int64_t most = 1;
    for (int k = 0; k < 2 * f->reach + 1; k++)
        most = f->frame[k].m.n > most ? f->frame[k].m.n : most;
    return (double)csrec_film_at(f, t)->m.n < THIN * (double)most;
}

void csrec_film_range(csrec_film *f, int64_t t, int64_t c, bool seen, double range[2]) {
    int64_t window[2];
    range[0] = range[1] = NAN;
    csrec_film_window(f, t, window);
    for (int64_t k = window[0]; k < window[1]; k++) {
        const csrec_measurement *m = &csrec_film_at(f, k)->m;
        if (seen && csrec_film_at(f, k)->foreign) continue;
        for (int64_t i = 0; i < m->n; i++) { /* fmin leaves out NaN, what is not measured */
            const double own = m->y[i * m->channels + c];
            const double y = seen ? csrec_film_seen(f, k, c, own) : own;
            range[0] = fmin(y, range[0]);
            range[1] = fmax(y, range[1]);
        }
    }
}

void csrec_film_weigh(csrec_film *f, int64_t t) {
    const int64_t C = f->channels;
    const csrec_whole whole = {.least = f->weight + C, .most = f->weight + 2 * C};
    for (int64_t c = 0; c < C && C > 1; c++) {
        double range[2];
        csrec_film_range(f, t, c, false, range);
        whole.least[c] = range[0];
        whole.most[c] = range[1];
    }
    csrec_units_of(&csrec_film_at(f, t)->m, &whole, f->weight);
    for (int64_t c = 0; c < C; c++) f->weight[c] = 1.0 / f->weight[c];
}

static csrec_beside_window look(csrec_film *f, int64_t t, int64_t c, double middle, double unit) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    /* without a network only the frame itself */
    const int reach = f->net.net ? f->reach : 0;
    csrec_beside_window w = {.frames = f->net.frames,
                             .guides = f->n_guides,
                             .guide = f->guide,
                             .sigma = csrec_tones_sigma(m, unit),
                             .tone = 1.0f,
                             .threads = f->r.options->threads};
    for (int i = 0, at = w.frames / 2 - reach; i <= 2 * reach; i++, at++) {
        const int64_t k = t + i - reach;
        if (k < 0 || k >= f->pushed ||
            !csrec_film_samples(f, k, c, middle, unit, f->values[i], f->known[i]))
            continue;
        w.values[at] = f->values[i];
        w.known[at] = f->known[i];
    }
    return w;
}

static void deliver(const csrec_film *f, int64_t c, double middle, double unit, double passes,
                    bool expected, double *signal, double *variance) {
    const int64_t n = f->height * f->width;
    for (int64_t i = 0; i < n; i++) {
        signal[i * f->channels + c] = middle + unit * (double)f->result[i] / passes;
        if (variance && expected)
            variance[i * f->channels + c] = unit * unit * (double)f->squares[i] / passes;
    }
}

static bool is_complete(const csrec_film *f, const csrec_measurement *m, int64_t c) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->n; i++) n += !isnan(m->y[i * m->channels + c]);
    return n == f->height * f->width && m->sigma == 0.0;
}

static csrec_status copy_channel(const csrec_film *f, const csrec_measurement *m, int64_t c,
                                 double *signal, double *variance) {
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t to = m->index[i] * f->channels + c;
        signal[to] = m->y[i * m->channels + c];
        if (variance) variance[to] = 0.0;
    }
    return CSREC_OK;
}

static csrec_status recover_channel(csrec_film *f, int64_t t, int64_t c, double *signal,
                                    double *variance, csrec_call *call, csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    const int64_t n = f->height * f->width;
    const int threads = f->r.options->threads;
    double range[2];
    csrec_film_range(f, t, c, true, range);
    if (!(range[0] < range[1])) { /* nothing is known, or one value */
        for (int64_t i = 0; i < n; i++) signal[i * f->channels + c] = range[0];
        return CSREC_OK;
    }
    csrec_whole whole = {.least = &range[0], .most = &range[1]};
    csrec_measurement one = {.channels = 1, .scale = {m->scale[0], m->scale[1]}};
    double middle;
    const double unit = csrec_tones_unit(&one, &whole, &middle);
    if (is_complete(f, m, c)) return copy_channel(f, m, c, signal, variance);
    f->n_guides = csrec_film_guides(m, c, f->net.guides, threads, f->net.work, f->guide);
    if (f->n_guides < 0) return csrec_fail(error, CSREC_MEMORY, "out of memory for guides");
    const csrec_beside_window w = look(f, t, c, middle, unit);
    const int64_t before = f->fitted;
    csrec_status status = f->fits ? csrec_film_fit(f, t, c, &w, call, error) : CSREC_OK;
    csrec_beside_look(&f->net, &w);
    memset(f->result, 0, (size_t)n * sizeof *f->result);
    memset(f->squares, 0, (size_t)n * sizeof *f->squares);
    int passes = 0;
    for (; passes < f->turns && !status; passes++) {
        const bool stop = csrec_call_poll(call);
        if (stop && passes > 0) break;
        /* what was fitted before the stop deserves a pass */
        status =
            csrec_beside_add(&f->net, passes, threads, stop && f->fitted > before ? NULL : call,
                             f->result, f->squares, error);
    }
    const bool expected = f->net.net && !csrec_call_stopped(call);
    if (!status) deliver(f, c, middle, unit, passes, expected, signal, variance);
    return status;
}

/* Without a network: the frame with the samples that are carried to it, by itself, or by its guides
 * if it has no others. */
static csrec_status recover_gathered(csrec_film *f, int64_t t, double *signal, csrec_call *call,
                                     csrec_error *error) {
    csrec_film_frame *frame = csrec_film_at(f, t);
    const csrec_measurement own = frame->m;
    csrec_measurement all;
    csrec_pool pool = {0};
    csrec_status status = csrec_film_gather(f, t, &all, &pool, error);
    for (int64_t i = 0; i < f->height * f->width * f->channels && !status && all.n == 0; i++)
        signal[i] = NAN; /* nothing is known of it */
    const bool known = !status && all.n > 0;
    frame->m = known ? all : own;
    if (known && !own.guides) status = csrec_film_itself(f, &all, call, signal, error);
    for (int64_t c = 0; c < f->channels && known && own.guides && !status; c++)
        status = recover_channel(f, t, c, signal, NULL, call, error);
    frame->m = own;
    csrec_pool_clear(&pool);
    return status;
}

static csrec_status recover_frame(csrec_film *f, int64_t t, double *signal, double *variance,
                                  csrec_call *call, csrec_error *error) {
    const csrec_measurement *m = &csrec_film_at(f, t)->m;
    /* carried samples are not guided: motion is that of frames without guides */
    const bool carries = f->moves && !f->net.net;
    csrec_status status = f->moves ? csrec_film_follow(f, t, call, error) : CSREC_OK;
    if (carries && (!m->guides || m->n == 0) && !status && !csrec_call_stopped(call))
        return recover_gathered(f, t, signal, call, error);
    for (int64_t c = 0; c < f->channels && !status; c++)
        status = recover_channel(f, t, c, signal, variance, call, error);
    return status;
}

csrec_status csrec_film_recover(csrec_film *f, int64_t t, double *signal, double *variance,
                                csrec_call *call, csrec_error *error) {
    csrec_film_frame *frame = csrec_film_at(f, t);
    csrec_guides *guides = frame->m.guides;
    if (f->unguided && !csrec_film_thin(f, t)) frame->m.guides = NULL;
    const csrec_status status = recover_frame(f, t, signal, variance, call, error);
    frame->m.guides = guides;
    return status;
}

static csrec_status take_own(csrec_film *f, int64_t t, double *signal, double *variance,
                             csrec_call *call, csrec_error *error) {
    if (t % CSREC_FILM_EVERY == 0) f->fills = -1;
    csrec_film_weigh(f, t);
    f->fits = f->steps > 0; /* but not while the vote recovers from fewer samples */
    csrec_status status = csrec_film_recover(f, t, signal, variance, call, error);
    f->fits = false;
    const bool unguided = f->unguided;
    if (!status && f->votes) status = csrec_film_decide(f, t, call, error);
    if (!status && f->unguided != unguided)
        status = csrec_film_recover(f, t, signal, variance, call, error);
    if (!status && f->votes) status = csrec_film_vote(f, t, signal, call, error);
    if (!status && variance) csrec_film_expect(f, variance);
    return status;
}

csrec_status csrec_film_take(csrec_film *f, double *signal, double *variance, csrec_call *call,
                             csrec_error *error) {
    const int64_t t = f->taken;
    const csrec_film_frame_fn take = f->other ? f->other : take_own;
    CSREC_TRY(take(f, t, signal, variance, call, error));
    csrec_samples_restore(&csrec_film_at(f, t)->m, signal);
    f->taken++;
    return CSREC_OK;
}
