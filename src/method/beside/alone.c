/* SPDX-License-Identifier: BSD-3-Clause */
/* alone.c - a frame by itself, without guides and other frames. */
#include <string.h>

#include "measurement/channels.h"
#include "method/beside/beside.h"
#include "method/smooth/holes.h"

/* By the prior for single pictures; channels from `first` on. One for colours sees the last of less
 * than three once more. */
static csrec_status add_channels(csrec_film *f, const csrec_measurement *m, const double *middle,
                                 double unit, int64_t first, csrec_call *call, double *signal,
                                 csrec_error *error) {
    const int64_t n = f->height * f->width, C = m->channels;
    const int own = f->prior.channels;
    csrec_prior_samples s = {.channels = own, .height = f->height, .width = f->width};
    s.values = f->plane;
    s.known = f->known[0];
    s.sigma = csrec_tones_sigma(m, unit);
    s.tone = 1.0f;
    s.threads = f->r.options->threads;
    csrec_status status = CSREC_OK;
    memset(f->known[0], 0, (size_t)n);
    memset(f->sum, 0, (size_t)(own * n) * sizeof *f->sum);
    for (int64_t i = 0; i < m->n; i++) {
        f->known[0][m->index[i]] = 1;
        for (int c = 0; c < own; c++) {
            const int64_t from = first + c < C ? first + c : C - 1;
            f->plane[c * n + m->index[i]] = (float)((m->y[i * C + from] - middle[from]) / unit);
        }
    }
    int passes = 0;
    for (; passes < f->turns && !status; passes++) {
        if (csrec_call_poll(call) && passes > 0) break;
        status = csrec_prior_pass_add(&f->prior, &s, passes, call, f->sum, NULL, error);
    }
    for (int64_t i = 0; i < n && !status; i++)
        for (int c = 0; c < own && first + c < C; c++)
            signal[i * C + first + c] =
                middle[first + c] + unit * (double)f->sum[c * n + i] / passes;
    return status;
}

/* What frames by themselves are recovered with. */
typedef struct itself {
    csrec_film *film;
    csrec_call *call;
    csrec_recover_options *options;
} itself;

static csrec_status by_network(csrec_film *f, const csrec_recovery *own, csrec_call *call,
                               csrec_error *error) {
    const csrec_measurement *m = own->measurement;
    csrec_pool pool = {0};
    const int64_t C = m->channels;
    double *middle = CSREC_TAKE(&pool, middle, C);
    csrec_status status = pool.lacks ? csrec_memory_fail(error, NULL) : CSREC_OK;
    const double unit = status ? 1.0 : csrec_tones_unit(m, own->whole, middle);
    const bool constant = csrec_whole_constant(own->whole, C);
    for (int64_t i = 0; i < f->height * f->width * C && !status && constant; i++)
        own->signal[i] = middle[i % C];
    for (int64_t c = 0; c < C && !status && !constant; c += f->prior.channels)
        status = add_channels(f, m, middle, unit, c, call, own->signal, error);
    csrec_pool_clear(&pool);
    return status;
}

/* A csrec_recover_fn. */
static csrec_status recover_plain(const csrec_recovery *own, void *context, csrec_error *error) {
    const itself *with = context;
    const bool network = with->film->net.net != NULL;
    csrec_recover_options options = *with->options;
    csrec_status status = network ? by_network(with->film, own, with->call, error)
                                  : csrec_recover_start(own, &options, error);
    if (!status && !csrec_call_stopped(with->call))
        status = csrec_holes_fill(network ? &csrec_method_net : &csrec_method_frames, own,
                                  &with->film->fills, error);
    return status;
}

/* As csrec_recover recovers pictures with quality balanced, or fast. */
static csrec_status run(csrec_film *f, const csrec_measurement *m, csrec_whole *whole,
                        csrec_call *call, double *signal, csrec_error *error) {
    static const csrec_setting small[] = {{"block", 8}};
    const csrec_setting turns[] = {{"turns", f->turns}};
    const bool network = f->net.net != NULL;
    const csrec_method_type *method = network ? &csrec_method_net : &csrec_method_frames;
    csrec_recover_options options = csrec_options_within(f->r.options, call);
    csrec_recover_report report = {0};
    itself with = {f, call, &options};
    csrec_recovery own = f->r;
    options.method = method->info.name;
    options.by_samples = f->r.options->by_samples;
    options.solve.settings = network ? turns : small;
    options.solve.n_settings = 1;
    own.measurement = m;
    own.options = &options;
    own.whole = whole;
    own.signal = signal;
    own.variance = own.common = NULL;
    own.atoms = NULL;
    own.report = &report;
    return csrec_units_run(method, &own, recover_plain, &with, error);
}

/* What channels that are measured at positions of their own are recovered with, each by itself. */
typedef struct apart {
    csrec_film *film;
    csrec_call *call;
    double *signal, *part; /* of all, of a group */
} apart;

/* A csrec_group_fn. */
static csrec_status recover_group(void *context, const csrec_groups *g, int64_t k,
                                  const csrec_measurement *part, const int64_t *sample,
                                  csrec_error *error) {
    const apart *a = context;
    csrec_whole whole;
    (void)sample;
    csrec_status status = csrec_whole_of(part, &whole, error);
    if (!status) status = run(a->film, part, &whole, a->call, a->part, error);
    csrec_whole_clear(&whole);
    if (!status)
        csrec_groups_copy(g, k, a->film->height * a->film->width, a->part, false, a->signal);
    return status;
}

csrec_status csrec_film_itself(csrec_film *f, const csrec_measurement *m, csrec_call *call,
                               double *signal, csrec_error *error) {
    const int64_t values = f->height * f->width * f->channels;
    csrec_pool pool = {0};
    csrec_measurement plain = *m;
    apart a = {f, call, signal, CSREC_TAKE(&pool, a.part, values)};
    plain.guides = NULL;
    plain.bands_apart = true;
    for (int64_t i = 0; i < values; i++) signal[i] = NAN; /* of what is measured nowhere */
    csrec_status status = a.part ? csrec_groups_each(&plain, recover_group, &a, error)
                                 : csrec_memory_fail(error, NULL);
    csrec_pool_clear(&pool);
    return status;
}

double *csrec_film_kept(csrec_film *f, int64_t t) {
    return f->by_itself[f->moves ? csrec_film_slot(f, t) : 0];
}

csrec_status csrec_film_alone(csrec_film *f, int64_t t, csrec_call *call, csrec_error *error) {
    csrec_film_frame *frame = csrec_film_at(f, t);
    if (frame->alone || frame->m.n == 0) return CSREC_OK;
    csrec_status status = csrec_film_itself(f, &frame->m, call, csrec_film_kept(f, t), error);
    frame->alone = f->moves && !status && !csrec_call_stopped(call); /* a part is not kept */
    return status;
}
