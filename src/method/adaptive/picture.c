/* picture.c - the state of an adaptive recovery. */
#include "method/adaptive/picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "method/history.h"
#include "method/tones.h"

/* ------------------------------------------------------------------ memory */

void csrec_picture_clear(csrec_picture *p) {
    free(p->middle);
    free(p->pixel);
    free(p->site);
    free(p->y);
    free(p->u);
    free(p->weighted);
    free(p->variance);
    csrec_error_map_clear(&p->map);
    *p = (csrec_picture){0};
}

static csrec_status allocate(csrec_picture *p, bool expects) {
    size_t sites = (size_t)p->sites, samples = (size_t)p->samples, channels = (size_t)p->channels;
    p->middle = malloc(channels * sizeof *p->middle);
    p->pixel = malloc(sites * sizeof *p->pixel);
    p->site = malloc(sites * sizeof *p->site);
    p->y = malloc(samples * channels * sizeof *p->y);
    p->u = calloc(sites * channels, sizeof *p->u);
    p->weighted = malloc(sites * channels * sizeof *p->weighted);
    if (expects) p->variance = calloc(sites * channels, sizeof *p->variance);
    bool ok = (p->variance || !expects) && p->middle && p->pixel && p->site && p->y && p->u &&
              p->weighted;
    return ok ? CSREC_OK : CSREC_MEMORY;
}

csrec_status csrec_picture_no_memory(const csrec_picture *p, csrec_error *error) {
    return csrec_fail(error, CSREC_MEMORY,
                      "out of memory for a picture of %d x %d; use fewer threads", (int)p->height,
                      (int)p->width);
}

/* ------------------------------------------------------------------ setting up */

/* Samples, then the other pixels, both in C order whatever the measurement's order. */
static void number_sites(csrec_picture *p, const csrec_measurement *m) {
    memset(p->site, 0, (size_t)p->sites * sizeof *p->site);
    for (int64_t i = 0; i < m->n; i++) p->site[m->index[i]] = 1;
    int32_t sample = 0, other = p->samples;
    for (int32_t k = 0; k < p->sites; k++) {
        int32_t site = p->site[k] ? sample++ : other++;
        p->site[k] = site;
        p->pixel[site] = k;
    }
}

static void scale_values(csrec_picture *p, const csrec_measurement *m, const csrec_whole *whole) {
    p->unit = csrec_tones_unit(m, whole, p->middle);
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t c = 0; c < m->channels; c++) {
            double v = m->y[i * m->channels + c];
            int64_t site = p->site[m->index[i]];
            p->y[site * m->channels + c] = (float)((v - p->middle[c]) / p->unit);
        }
    p->sigma = csrec_tones_sigma(m, p->unit);
    p->threshold = 3.0f * p->sigma;
}

csrec_status csrec_picture_create(const csrec_measurement *m, const csrec_whole *whole,
                                  const csrec_recover_options *options, int threads, bool expects,
                                  csrec_picture *p, csrec_error *error) {
    *p = (csrec_picture){.options = options,
                         .height = (int32_t)m->shape.dim[0],
                         .width = (int32_t)m->shape.dim[1],
                         .samples = (int32_t)m->n,
                         .channels = (int32_t)m->channels,
                         .threads = threads};
    p->sites = p->height * p->width;
    csrec_status status = allocate(p, expects);
    if (!status) {
        number_sites(p, m);
        scale_values(p, m, whole);
        status = csrec_error_map_create(p->height, p->width, p->samples, p->pixel, &p->map);
    }
    if (!status) return CSREC_OK;
    csrec_picture_no_memory(p, error);
    csrec_picture_clear(p);
    return status;
}

/* ------------------------------------------------------------------ between passes */

void csrec_picture_count(csrec_picture *p, int grids) {
    int64_t done;
#pragma omp atomic
    p->grids_fitted += grids;
#pragma omp atomic capture
    done = p->grids_done += grids;
    csrec_progress progress = {
        .stage = p->stage, .done = done, .total = p->grids, .residual = -1.0};
    csrec_team_report(&p->team, &progress);
}

/* Weight of the samples in the result at the samples: 1 without noise, else sample and fit are
 * weighted by their variances, the fit's without the noise's part. */
static double sample_share(const csrec_picture *p, const float *u) {
    int64_t values = (int64_t)p->samples * p->channels;
    double square = 0.0, noise = (double)p->sigma * p->sigma;
    for (int64_t k = 0; k < values; k++) square += (double)(p->y[k] - u[k]) * (p->y[k] - u[k]);
    double fit = fmax(square / (double)values - noise, 1.0);
    return fit / (fit + noise);
}

void csrec_picture_deliver(const csrec_picture *p, const csrec_measurement *m, const float *u,
                           double *signal) {
    for (int64_t k = 0; k < p->sites; k++)
        for (int64_t c = 0; c < p->channels; c++)
            signal[(int64_t)p->pixel[k] * p->channels + c] =
                p->middle[c] + p->unit * (double)u[k * p->channels + c];
    double share = sample_share(p, u);
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t c = 0; c < p->channels; c++) {
            double *at = signal + m->index[i] * p->channels + c, y = m->y[i * p->channels + c];
            *at = share < 1.0 ? *at + share * (y - *at) : y;
        }
}

void csrec_picture_deliver_variance(const csrec_picture *p, double *variance) {
    for (int64_t k = 0; k < p->sites; k++)
        for (int64_t c = 0; c < p->channels; c++)
            variance[(int64_t)p->pixel[k] * p->channels + c] =
                p->unit * p->unit * (double)p->variance[k * p->channels + c];
}

csrec_status csrec_picture_note(csrec_picture *p) {
    const csrec_measurement *m = p->measurement;
    p->passes++;
    if (!p->record) return CSREC_OK;
    double *signal = malloc((size_t)p->sites * (size_t)p->channels * sizeof *signal);
    if (!signal) return CSREC_MEMORY;
    double energy = 0.0, whole = 0.0;
    for (int64_t k = 0; k < (int64_t)p->samples * p->channels; k++) {
        double r = p->unit * ((double)p->y[k] - (double)p->u[k]);
        energy += r * r;
        whole += m->y[k] * m->y[k];
    }
    csrec_picture_deliver(p, m, p->u, signal);
    csrec_record_add(p->record, p->passes, energy, whole, csrec_record_error(p->record, signal));
    free(signal);
    return CSREC_OK;
}
