/* picture.c - the state of an adaptive recovery. */
#include "method/adaptive/picture.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "method/history.h"
#include "method/tones.h"

/* ------------------------------------------------------------------ memory */

static void clear_thread(csrec_adaptive_thread *thread) {
    csrec_fit_clear(&thread->fit);
    free(thread->axes);
    free(thread->sum);
    free(thread->cells);
    free(thread->square);
    free(thread->line);
}

void csrec_picture_clear(csrec_picture *p) {
    for (int t = 0; p->thread && t < p->threads; t++) clear_thread(&p->thread[t]);
    free(p->thread);
    free(p->middle);
    free(p->pixel);
    free(p->site);
    free(p->y);
    free(p->z);
    free(p->u);
    free(p->bases);
    free(p->padded);
    free(p->weighted);
    free(p->weights);
    free(p->reference);
    csrec_error_map_clear(&p->map);
    *p = (csrec_picture){0};
}

static csrec_status create_thread(const csrec_picture *p, csrec_adaptive_thread *thread) {
    size_t cells = (size_t)p->map.h * (size_t)p->map.w;
    thread->axes = malloc(sizeof *thread->axes);
    thread->sum = malloc((size_t)p->sites * (size_t)p->channels * sizeof *thread->sum);
    thread->cells = malloc(3 * cells * sizeof *thread->cells);
    thread->square = malloc((size_t)p->samples * sizeof *thread->square);
    thread->line = malloc(3 * (size_t)p->width * sizeof *thread->line);
    if (!thread->axes || !thread->sum || !thread->cells || !thread->square || !thread->line)
        return CSREC_MEMORY;
    return csrec_fit_create(p->samples, p->channels, p->threshold > 0.0f, &thread->fit);
}

static csrec_status allocate(csrec_picture *p) {
    size_t sites = (size_t)p->sites, samples = (size_t)p->samples, channels = (size_t)p->channels;
    size_t border = 2 * CSREC_PATCH_RADIUS_MAX;
    p->middle = malloc(channels * sizeof *p->middle);
    p->pixel = malloc(sites * sizeof *p->pixel);
    p->site = malloc(sites * sizeof *p->site);
    p->y = malloc(samples * channels * sizeof *p->y);
    p->z = malloc(samples * channels * sizeof *p->z);
    p->u = calloc(sites * channels, sizeof *p->u);
    p->bases = malloc(CSREC_BASES * sites * sizeof *p->bases);
    p->padded =
        malloc(((size_t)p->height + border) * ((size_t)p->width + border) * sizeof *p->padded);
    p->weighted = malloc(sites * channels * sizeof *p->weighted);
    p->weights = malloc(sites * sizeof *p->weights);
    p->thread = calloc((size_t)p->threads + 1, sizeof *p->thread);
    bool ok = p->middle && p->pixel && p->site && p->y && p->z && p->u && p->bases && p->padded &&
              p->weighted && p->weights && p->thread;
    return ok ? CSREC_OK : CSREC_MEMORY;
}

double csrec_picture_bytes(double sites, double n, double channels, bool threshold, int threads) {
    double site = 2 * sizeof(int32_t) /* pixel, site */
                  + (CSREC_BASES + 2) * sizeof(float) /* bases, padded, weights */
                  + 2 * channels * sizeof(float);     /* u, weighted */
    double cells = n < sites ? n : sites;             /* of the map of errors: csrec_error_map */
    double thread = sites * channels * sizeof(int32_t) + (3 * cells + n) * sizeof(float) +
                    csrec_fit_bytes(n, channels, threshold);
    return sites * site + 2 * n * channels * sizeof(float) + 2 * cells * sizeof(float) +
           threads * thread;
}

/* ------------------------------------------------------------------ setting up */

/* Samples and then the other pixels, both in C order, whatever the order of the measurement. */
static void number_sites(csrec_picture *p, const csrec_measurement *m) {
    memset(p->site, 0, (size_t)p->sites * sizeof *p->site);
    for (int64_t i = 0; i < m->n; i++) p->site[m->index[i]] = 1;
    int32_t sample = 0, other = p->samples;
    for (int32_t k = 0; k < p->sites; k++) {
        int32_t site = p->site[k] ? sample++ : other++;
        p->site[k] = site;
        p->pixel[site] = k;
        p->bases[site] = (float)(k % p->width);
        p->bases[(int64_t)p->sites + site] = (float)(k / p->width);
    }
    for (int b = 0; b < CSREC_BASES; b++) p->base.at[b] = p->bases + (int64_t)b * p->sites;
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
                                  const csrec_recover_options *options, int threads,
                                  csrec_picture *p, csrec_error *error) {
    *p = (csrec_picture){.options = options,
                         .height = (int32_t)m->shape.dim[0],
                         .width = (int32_t)m->shape.dim[1],
                         .samples = (int32_t)m->n,
                         .channels = (int32_t)m->channels,
                         .threads = threads};
    p->sites = p->height * p->width;
    csrec_status status = allocate(p);
    if (!status) {
        number_sites(p, m);
        scale_values(p, m, whole);
        status = csrec_error_map_create(p->height, p->width, p->samples, p->pixel, &p->map);
    }
    if (!status) {
        p->reference = malloc((size_t)p->map.h * (size_t)p->map.w * sizeof *p->reference);
        status = p->reference ? CSREC_OK : CSREC_MEMORY;
    }
    for (int t = 0; t < threads && !status; t++) status = create_thread(p, &p->thread[t]);
    if (!status) return CSREC_OK;
    csrec_picture_clear(p);
    return csrec_fail(error, status,
                      "out of memory for a picture of %lld x %lld; use fewer threads",
                      (long long)m->shape.dim[0], (long long)m->shape.dim[1]);
}

/* ------------------------------------------------------------------ between passes */

void csrec_picture_residual(csrec_picture *p, float alpha) {
    int64_t values = (int64_t)p->samples * p->channels;
    for (int64_t k = 0; k < values; k++) p->z[k] = p->y[k] - alpha * p->u[k];
}

/* Mean of the channels; with noise the samples are no better than the recovery. */
static float pixel_value(const csrec_picture *p, int64_t pixel) {
    int64_t site = p->site[pixel];
    const float *from = site < p->samples && p->sigma == 0.0f ? p->y : p->u;
    double sum = 0.0;
    for (int32_t c = 0; c < p->channels; c++) sum += from[site * p->channels + c];
    return (float)(sum / p->channels);
}

void csrec_picture_features(csrec_picture *p, int radius, double width) {
    csrec_filters filters;
    csrec_filters_create(radius, width, &filters);
    int64_t stride = (int64_t)p->width + 2 * radius;
    float *feature[CSREC_FEATURES];
    for (int f = 0; f < CSREC_FEATURES; f++) feature[f] = p->bases + (int64_t)(2 + f) * p->sites;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t y = 0; y < p->height + 2 * radius; y++) {
        int64_t line = csrec_reflect(y - radius, p->height) * p->width;
        for (int64_t x = 0; x < stride; x++)
            p->padded[y * stride + x] = pixel_value(p, line + csrec_reflect(x - radius, p->width));
    }
#pragma omp parallel num_threads(p->threads)
    {
        float *line = p->thread[omp_get_thread_num()].line;
#pragma omp for schedule(static)
        for (int64_t y = 0; y < p->height; y++)
            csrec_filters_line(&filters, p->padded + y * stride, stride, p->width,
                               p->site + y * p->width, line, feature);
    }
}

/* Share of the samples in what is delivered there: all without noise, else sample and fit are
 * weighed by their variances, the fit's without the noise's part. */
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

csrec_status csrec_picture_take_down(csrec_picture *p) {
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
