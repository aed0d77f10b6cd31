/* SPDX-License-Identifier: BSD-3-Clause */
/* pca.c - recovery by a model of principal components: coefficients from the samples alone.
 *
 * x = mean + Phi_all^T z + e with z ~ N(0, Lambda), e ~ N(0, s2) (Tipping and Bishop 1999). With
 * the sampled columns Phi [N, k] the posterior mean of z solves (Phi^T Phi + s2 Lambda^-1) z =
 * Phi^T (y - mean). With z = Lambda^(1/2) u and Lambda^(1/2) Phi^T Phi Lambda^(1/2) = Q D Q^T,
 * u = Q c / (D + s2), so trying a value of s2 is cheap: s2 maximises the likelihood of the
 * samples. */
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/blas.h"
#include "learn/engine.h"
#include "learn/model.h"
#include "method/method.h"

enum { ROWS = 1024, TRUST = 10 };

typedef struct job {
    const csrec_measurement *m;
    csrec_model_units units;
    int64_t n, k, samples; /* entries of a vector; components; measured values, */
    int64_t *taken;        /* [samples] which are these of y */
    const double *mean, *components, *variances;
    double noise, energy;   /* energy: ||y - mean||^2 */
    double s2, rest_square; /* variance of a sample's noise; of what no component has */
    double *B, *Q, *D, *c;  /* [k][k], [k][k] rows, [k], [k] */
    double *b, *z, *root;   /* [k]; root: square roots of the variances */
    double *Phi, *rest;     /* [ROWS][k], [ROWS] */
    csrec_pool pool;        /* of all arrays */
    csrec_call call;
} job;

static csrec_status check(const csrec_measurement *m, const csrec_model *model,
                          csrec_error *error) {
    int64_t channels;
    csrec_shape shape = csrec_model_shape(model, &channels);
    bool same = shape.dims == m->shape.dims && channels == m->channels;
    for (int d = 0; same && d < shape.dims; d++) same = shape.dim[d] == m->shape.dim[d];
    if (same) return CSREC_OK;
    char has[128] = "", needs[128] = "";
    for (int d = 0; d < shape.dims && d < 4; d++)
        snprintf(has + strlen(has), sizeof has - strlen(has), "%lld x ", (long long)shape.dim[d]);
    for (int d = 0; d < m->shape.dims && d < 4; d++)
        snprintf(needs + strlen(needs), sizeof needs - strlen(needs), "%lld x ",
                 (long long)m->shape.dim[d]);
    return csrec_fail(error, CSREC_DATA,
                      "model: array 'shape': is for %s%lld channels but the samples have %s%lld; "
                      "learn from aligned pictures of that size",
                      has, (long long)channels, needs, (long long)m->channels);
}

static csrec_status allocate(job *j) {
    double **const vectors[] = {&j->b, &j->z, &j->D, &j->c, &j->root};
    CSREC_TAKE(&j->pool, j->B, j->k * j->k);
    CSREC_TAKE(&j->pool, j->Q, j->k * j->k);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        CSREC_TAKE(&j->pool, *vectors[i], j->k);
    CSREC_TAKE(&j->pool, j->Phi, ROWS * j->k);
    CSREC_TAKE(&j->pool, j->rest, ROWS);
    CSREC_TAKE(&j->pool, j->taken, j->m->n * j->m->channels);
    if (j->pool.lacks) return CSREC_MEMORY;
    for (int64_t i = 0; i < j->m->n * j->m->channels; i++)
        if (!isnan(j->m->y[i])) j->taken[j->samples++] = i;
    for (int64_t a = 0; a < j->k; a++) j->root[a] = sqrt(j->variances[a]);
    return CSREC_OK;
}

/* Rows of Phi and of y - mean for the measured values first .. first + count - 1. */
static void gather(job *j, int64_t first, int64_t count) {
    int64_t channels = j->m->channels;
    for (int64_t i = 0; i < count; i++) {
        int64_t sample = j->taken[first + i];
        int64_t at = j->m->index[sample / channels] * channels + sample % channels;
        double y = j->units.gain * j->m->y[sample] + j->units.offset;
        j->rest[i] = y - j->mean[at];
        for (int64_t a = 0; a < j->k; a++)
            j->Phi[i * j->k + a] = j->root[a] * j->components[a * j->n + at];
    }
}

/* B = Lambda^(1/2) Phi^T Phi Lambda^(1/2), b = Lambda^(1/2) Phi^T (y - mean). */
static void sum_samples(job *j) {
    int k = (int)j->k;
    memset(j->B, 0, (size_t)(j->k * j->k) * sizeof *j->B);
    memset(j->b, 0, (size_t)j->k * sizeof *j->b);
    for (int64_t first = 0; first < j->samples; first += ROWS) {
        int count = (int)(j->samples - first < ROWS ? j->samples - first : ROWS);
        csrec_progress progress = {"principal components", first, j->samples, -1.0};
        if (csrec_call_report(&j->call, &progress)) return;
        gather(j, first, count);
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, k, count, 1.0, j->Phi, k, 1.0, j->B, k);
        cblas_dgemv(CblasRowMajor, CblasTrans, count, k, 1.0, j->Phi, k, j->rest, 1, 1.0, j->b, 1);
        for (int i = 0; i < count; i++) j->energy += j->rest[i] * j->rest[i];
    }
}

static csrec_status diagonalise(job *j, csrec_error *error) {
    CSREC_TRY(csrec_eigen_largest((int)j->k, j->B, (int)j->k, j->D, j->Q, error));
    for (int64_t a = 0; a < j->k; a++) {
        j->D[a] = fmax(j->D[a], 0.0);
        j->c[a] = cblas_ddot((int)j->k, j->Q + a * j->k, 1, j->b, 1);
    }
    return CSREC_OK;
}

/* -2 log likelihood of the samples for noise of variance s2; the model's own noise counts as TRUST
 * further samples, because few samples do not determine it. */
static double cost(const job *j, double s2, double own) {
    double sum = (double)j->samples * log(s2) + TRUST * (log(s2) + own / s2), fit = j->energy;
    for (int64_t a = 0; a < j->k; a++) {
        sum += log1p(j->D[a] / s2);
        fit -= j->c[a] * j->c[a] / (j->D[a] + s2);
    }
    return sum + fmax(fit, 0.0) / s2;
}

static double search_noise(const job *j) {
    double mean = 0.0, best = INFINITY, at = 0.0;
    for (int64_t a = 0; a < j->k; a++) mean += j->variances[a] / (double)j->n;
    double own = fmax(j->noise, 1e-6 * mean), low = log(1e-3 * own);
    double high = log(fmax(1e3 * own, j->energy / (double)j->samples));
    enum { STEPS = 48 };
    for (int round = 0; round < 3; round++) {
        double step = (high - low) / STEPS;
        best = INFINITY;
        for (int i = 0; i <= STEPS; i++) {
            double value = cost(j, exp(low + i * step), own);
            if (value >= best) continue;
            best = value;
            at = low + i * step;
        }
        low = at - step;
        high = at + step;
    }
    return exp(at);
}

static void solve(job *j) {
    double sigma = fabs(j->units.gain) * j->m->sigma;
    j->s2 = sigma > 0.0 ? sigma * sigma + j->noise : search_noise(j);
    j->rest_square = sigma > 0.0 ? j->noise : j->s2;
    memset(j->z, 0, (size_t)j->k * sizeof *j->z);
    for (int64_t a = 0; a < j->k; a++)
        cblas_daxpy((int)j->k, j->c[a] / (j->D[a] + j->s2), j->Q + a * j->k, 1, j->z, 1);
    for (int64_t a = 0; a < j->k; a++) j->z[a] *= j->root[a];
}

/* If stopped, the remaining components are omitted: the first are the largest. */
static void deliver(job *j, double *signal) {
    memcpy(signal, j->mean, (size_t)j->n * sizeof *signal);
    for (int64_t a = 0; a < j->k && !csrec_call_poll(&j->call); a++)
        cblas_daxpy((int)j->n, j->z[a], j->components + a * j->n, 1, signal, 1);
    for (int64_t i = 0; i < j->n; i++) signal[i] = (signal[i] - j->units.offset) / j->units.gain;
    csrec_samples_restore(j->m, signal);
}

/* Of x = mean + Phi^T Lambda^(1/2) u + e: u has the posterior covariance Q s2 / (D + s2) Q^T. */
static csrec_status deliver_variance(job *j, double *variance, csrec_error *error) {
    int k = (int)j->k;
    double *T, gain = j->units.gain;
    if (!CSREC_TAKE(&j->pool, T, ROWS * j->k))
        return csrec_fail(error, CSREC_MEMORY, "out of memory for %d components", k);
    for (int64_t first = 0; first < j->n; first += ROWS) {
        int count = (int)(j->n - first < ROWS ? j->n - first : ROWS);
        for (int64_t i = 0; i < count; i++)
            for (int64_t a = 0; a < j->k; a++)
                j->Phi[i * j->k + a] = j->root[a] * j->components[a * j->n + first + i];
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, k, k, 1.0, j->Phi, k, j->Q, k,
                    0.0, T, k);
        for (int64_t i = 0; i < count; i++) {
            double sum = j->rest_square;
            for (int64_t a = 0; a < j->k; a++)
                sum += T[i * j->k + a] * T[i * j->k + a] * (j->s2 / (j->D[a] + j->s2));
            variance[first + i] = sum / (gain * gain);
        }
    }
    return CSREC_OK;
}

static csrec_status recover(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *measurement = r->measurement;
    const csrec_recover_options *options = r->options;
    const csrec_model *model = options->model;
    csrec_recover_report *report = r->report;
    CSREC_TRY(check(measurement, model, error));
    const csrec_array *components = csrec_model_array(model, "components");
    job j = {.m = measurement,
             .units = csrec_model_units_of(model, measurement, r->unit),
             .n = components->shape.dim[1],
             .k = components->shape.dim[0],
             .mean = csrec_model_array(model, "mean")->data,
             .components = components->data,
             .variances = csrec_model_array(model, "variances")->data,
             .noise = csrec_array_value(csrec_model_array(model, "noise"), 0)};
    csrec_status status = allocate(&j);
    csrec_call_begin(&j.call, options->solve.progress, options->solve.context,
                     (csrec_progress){"principal components", 0, j.samples, -1.0});
    bool begun = !status && csrec_blas_begin(1);
    if (!status && !begun) status = CSREC_MEMORY;
    if (status) {
        csrec_fail(error, status, "out of memory for %lld components", (long long)j.k);
    } else {
        sum_samples(&j);
        if (!csrec_call_stopped(&j.call)) status = diagonalise(&j, error);
    }
    if (!status) {
        if (!csrec_call_stopped(&j.call)) solve(&j);
        deliver(&j, r->signal);
        if (r->variance && !csrec_call_stopped(&j.call))
            status = deliver_variance(&j, r->variance, error);
        report->outcome = csrec_call_stopped(&j.call) ? CSREC_INTERRUPTED : CSREC_DONE;
        report->pursuits = report->iterations = 1;
    }
    if (begun) csrec_blas_end(1);
    csrec_call_end(&j.call);
    csrec_pool_clear(&j.pool);
    return status;
}

/* The samples' Gram matrix, its eigenvectors, and the coefficients of all entries. */
static csrec_need need_of(const csrec_task *task) {
    static const double per_product = 1.5e-10, per_eigen = 2.5e-9; /* seconds */
    double k = (double)csrec_model_array(task->options->model, "components")->shape.dim[0];
    double samples = (double)(task->n * task->channels);
    double values = (double)(task->entries * task->channels);
    return (csrec_need){
        .bytes = csrec_signal_bytes(task) + 8.0 * (4.0 * k * k + ROWS * (k + 1.0) + samples),
        .seconds =
            per_product * (samples * k * (k + 8.0) + 4.0 * values * k) + per_eigen * k * k * k};
}

const csrec_method_type csrec_method_pca = {
    .info = {.name = "pca",
             .topic = "learned models",
             .brief = "principal components of a model, for aligned signals of its shape",
             .source = "Tipping and Bishop 1999; docs/learning.md",
             .model = "pca",
             .accepts = CSREC_ACCEPTS(MODEL)},
    .needs_model = true,
    .uneven = true,
    .need = need_of,
    .run = recover};
