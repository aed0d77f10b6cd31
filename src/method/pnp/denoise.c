/* SPDX-License-Identifier: BSD-3-Clause */
/* denoise.c - the denoisers of plug-and-play recovery. */
#include "method/pnp/denoise.h"
#include "csrec/sampling.h"

#include <string.h>

/* Of a probe in the noise: large enough for the network's floats. */
static const double PROBE = 0.1;

static csrec_status create_network(csrec_denoiser *d, csrec_error *error) {
    const csrec_recovery *r = d->recovery;
    const csrec_net_options options = {.threads = r->options->threads};
    const csrec_shape *shape = &d->data->m->shape;
    const size_t values = (size_t)d->data->values, n = (size_t)d->data->entries;
    csrec_status status =
        csrec_prior_pass_create(r->options->model, d->channels, false, r->context, &options,
                                shape->dim[0], shape->dim[1], &d->pass, error);
    if (status) return status;
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
    *d = (csrec_denoiser){.recovery = recovery, .data = data, .tone = tone, .groups = groups};
    d->channels = data->values / data->entries;
    return groups ? create_groups(d, error) : create_network(d, error);
}

void csrec_denoiser_clear(csrec_denoiser *d) {
    csrec_prior_pass_clear(&d->pass);
    csrec_pool_clear(&d->pool);
}

static csrec_status by_network(csrec_denoiser *d, const double *x, double sigma, int turns,
                               csrec_call *call, double *z, csrec_error *error) {
    const int64_t n = d->data->entries, channels = d->channels, own = d->pass.channels;
    csrec_status status = CSREC_OK;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < channels; c++)
            d->values[c * n + i] = (float)(x[i * channels + c] / d->tone);
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
    for (int64_t i = 0; i < n; i++)
        probe[i] = x[i] + step * csrec_random_normal(seed, stream, (uint64_t)i);
    d->calls -= turns; /* as the picture was turned for z */
    csrec_status status = csrec_denoise(d, probe, sigma, turns, call, moved, error);
    for (int64_t i = 0; i < n; i++) sum += (probe[i] - x[i]) * (moved[i] - z[i]);
    *slope = step > 0.0 ? sum / (step * step * (double)n) : 0.0;
    return status;
}
