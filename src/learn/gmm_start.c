/* SPDX-License-Identifier: BSD-3-Clause */
/* gmm_start.c - starting mixtures: clusters of the data, or edges and cosines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "learn/gmm.h"

static const double PI = 3.14159265358979323846;

enum { PICKS = 16384, LLOYD = 10, DRAWS = 64 };

/* Random stream of the start: the letters "kmeans". */
static const uint64_t STREAM = UINT64_C(0x6b6d65616e73);

typedef struct sample {
    int64_t d, n, next; /* next: of the remaining picks */
    csrec_sampling rows;
    float *X;         /* [n][d] */
    double *distance; /* [n] squared, to the nearest centre */
    int *nearest;     /* [n] */
    double *pooled;   /* [d][d] to work in */
    csrec_pool pool;  /* of these arrays */
    int threads;
    csrec_call *call;
} sample;

static csrec_status pick(void *context, int64_t first, int64_t count, const float *X,
                         csrec_error *error) {
    sample *s = context;
    (void)error;
    for (; s->next < s->n && s->rows.index[s->next] < first + count; s->next++)
        memcpy(s->X + s->next * s->d, X + (s->rows.index[s->next] - first) * s->d,
               (size_t)s->d * sizeof *X);
    return CSREC_OK;
}

static csrec_status pick_rows(const csrec_data *data, uint64_t seed, int K, sample *s,
                              bool *stopped, csrec_error *error) {
    csrec_data_pass own = {"learning, start", csrec_call_hear, s->call, pick, s, 0, 0};
    csrec_shape line = {1, {data->m}};
    int64_t wanted = PICKS > 64 * (int64_t)K ? PICKS : 64 * (int64_t)K;
    s->d = data->n;
    s->n = data->m < wanted ? data->m : wanted;
    csrec_status status =
        csrec_sampling_create(&line, CSREC_PATTERN_UNIFORM, s->n, seed, &s->rows, error);
    if (status) return status;
    CSREC_TAKE(&s->pool, s->X, s->n * s->d);
    CSREC_TAKE(&s->pool, s->distance, s->n);
    CSREC_ZEROS(&s->pool, s->nearest, s->n);
    CSREC_TAKE(&s->pool, s->pooled, s->d * s->d);
    if (s->pool.lacks)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for the start of a mixture");
    return csrec_data_each(data, &own, stopped, error);
}

static double squared(int64_t d, const float *x, const double *centre) {
    double sum = 0.0;
    for (int64_t j = 0; j < d; j++) {
        double e = (double)x[j] - centre[j];
        sum += e * e;
    }
    return sum;
}

/* Updates the nearest centres with centres first .. end - 1. */
static void assign(sample *s, const double *centres, int first, int end) {
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t i = 0; i < s->n; i++)
        for (int k = first; k < end; k++) {
            double distance = squared(s->d, s->X + i * s->d, centres + k * s->d);
            if (k > 0 && distance >= s->distance[i]) continue;
            s->distance[i] = distance;
            s->nearest[i] = k;
        }
}

/* Picks a row with a probability proportional to its distance. */
static int64_t draw_row(const sample *s, double uniform) {
    double sum = 0.0, at = 0.0;
    for (int64_t i = 0; i < s->n; i++) sum += s->distance[i];
    for (int64_t i = 0; i < s->n; i++) {
        at += s->distance[i];
        if (at > uniform * sum) return i;
    }
    return (int64_t)(uniform * (double)s->n);
}

static void seed_centres(sample *s, uint64_t seed, int K, double *centres) {
    for (int k = 0; k < K && !csrec_call_poll(s->call); k++) {
        double uniform = csrec_random_uniform(seed, STREAM, (uint64_t)k);
        int64_t row = k ? draw_row(s, uniform) : (int64_t)(uniform * (double)s->n);
        for (int64_t j = 0; j < s->d; j++) centres[k * s->d + j] = s->X[row * s->d + j];
        assign(s, centres, k, k + 1);
    }
}

static void move_centres(const sample *s, int K, double *weights, double *centres) {
    memset(weights, 0, (size_t)K * sizeof *weights);
    for (int64_t i = 0; i < s->n; i++) weights[s->nearest[i]] += 1.0;
    for (int k = 0; k < K; k++) /* a centre without rows does not move */
        if (weights[k] > 0.0) memset(centres + k * s->d, 0, (size_t)s->d * sizeof *centres);
    for (int64_t i = 0; i < s->n; i++) {
        double *to = centres + s->nearest[i] * s->d;
        for (int64_t j = 0; j < s->d; j++) to[j] += s->X[i * s->d + j];
    }
    for (int k = 0; k < K; k++)
        for (int64_t j = 0; j < s->d && weights[k] > 0.0; j++) centres[k * s->d + j] /= weights[k];
}

/* Sums of (x - centre)(x - centre)^T of the rows of cluster k. */
static void sum_cluster(const sample *s, int k, const double *centre, double *C) {
    int64_t d = s->d;
    memset(C, 0, (size_t)(d * d) * sizeof *C);
    for (int64_t i = 0; i < s->n; i++) {
        if (s->nearest[i] != k) continue;
        const float *x = s->X + i * d;
        for (int64_t a = 0; a < d; a++) {
            double e = (double)x[a] - centre[a];
            for (int64_t b = 0; b < d; b++) C[a * d + b] += e * ((double)x[b] - centre[b]);
        }
    }
}

/* Covariances of clusters. The covariance of all clusters together counts as d further rows,
 * because small clusters do not determine their own. */
static void set_mixture(const sample *s, csrec_mixture *m) {
    size_t squares = (size_t)(s->d * s->d);
    double *pooled = s->pooled;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->threads)
    for (int k = 0; k < m->K; k++)
        if (!csrec_call_poll(s->call))
            sum_cluster(s, k, m->means + k * s->d, m->C + (size_t)k * squares);
    for (size_t i = 0; i < squares; i++) {
        pooled[i] = 0.0;
        for (int k = 0; k < m->K; k++) pooled[i] += m->C[(size_t)k * squares + i] / (double)s->n;
        for (int k = 0; k < m->K; k++) {
            double *C = m->C + (size_t)k * squares + i;
            *C = (*C + (double)s->d * pooled[i]) / (m->weights[k] + (double)s->d);
        }
    }
    for (int k = 0; k < m->K; k++) m->weights[k] = (m->weights[k] + 1.0) / (double)(s->n + m->K);
}

csrec_status csrec_gmm_start_kmeans(const csrec_data *data, csrec_call *call, uint64_t seed,
                                    int threads, csrec_mixture *mixture, bool *stopped,
                                    csrec_error *error) {
    sample s = {.threads = threads, .call = call};
    csrec_status status = pick_rows(data, seed, mixture->K, &s, stopped, error);
    if (!status && !*stopped) {
        seed_centres(&s, seed, mixture->K, mixture->means);
        for (int step = 0; step < LLOYD && !csrec_call_poll(call); step++) {
            move_centres(&s, mixture->K, mixture->weights, mixture->means);
            assign(&s, mixture->means, 0, mixture->K);
        }
        move_centres(&s, mixture->K, mixture->weights, mixture->means);
        set_mixture(&s, mixture);
        *stopped = csrec_call_stopped(call);
    }
    csrec_sampling_clear(&s.rows);
    csrec_pool_clear(&s.pool);
    return status;
}

/* C += of soft steps across `angle` at DRAWS places, each of two widths, each about its mean. */
static void add_edges(int height, int width, double angle, double *patch, double *C) {
    int d = height * width;
    double reach = 0.5 * sqrt((double)(height * height + width * width));
    for (int draw = 0; draw < 2 * DRAWS; draw++) {
        double place = reach * (2.0 * ((double)(draw / 2) + 0.5) / DRAWS - 1.0), mean = 0.0;
        double soft = draw % 2 ? 1.5 : 0.5;
        for (int i = 0; i < d; i++) {
            double y = i / width - 0.5 * (height - 1), x = i % width - 0.5 * (width - 1);
            patch[i] = tanh((x * cos(angle) + y * sin(angle) - place) / soft);
            mean += patch[i] / d;
        }
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) C[i * d + j] += (patch[i] - mean) * (patch[j] - mean);
    }
}

/* C += of cosines with variances 1 / (1 + u^2 + v^2). */
static void add_cosines(int height, int width, double *patch, double *C) {
    int d = height * width;
    for (int f = 1; f < d; f++) {
        double u = f / width, v = f % width, power = 1.0 / (1.0 + u * u + v * v), squares = 0.0;
        for (int i = 0; i < d; i++) {
            patch[i] =
                cos(PI * (i / width + 0.5) * u / height) * cos(PI * (i % width + 0.5) * v / width);
            squares += patch[i] * patch[i];
        }
        for (int i = 0; i < d; i++)
            for (int j = 0; j < d; j++) C[i * d + j] += power / squares * patch[i] * patch[j];
    }
}

/* Half of the variance is brightness, half is pattern; a small multiple of the identity keeps every
 * direction possible. */
static void scale_covariance(int d, double variance, double *C) {
    double trace = 0.0;
    for (int i = 0; i < d; i++) trace += C[i * (d + 1)];
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            double pattern = trace > 0.0 ? C[i * d + j] * d / trace : 0.0;
            C[i * d + j] = variance * (0.5 + 0.49 * pattern + (i == j ? 0.01 : 0.0));
        }
}

csrec_status csrec_gmm_start_edges(int height, int width, double mean, double variance,
                                   csrec_mixture *mixture, csrec_error *error) {
    int K = mixture->K, d = height * width;
    double *patch = malloc((size_t)d * sizeof *patch);
    if (!patch) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    for (int i = 0; i < K * d; i++) mixture->means[i] = mean;
    for (int k = 0; k < K; k++) {
        double *C = mixture->C + (size_t)k * (size_t)d * (size_t)d;
        mixture->weights[k] = 1.0 / K;
        memset(C, 0, (size_t)d * (size_t)d * sizeof *C);
        if (k + 1 < K)
            add_edges(height, width, PI * k / (K - 1), patch, C);
        else
            add_cosines(height, width, patch, C);
        scale_covariance(d, variance, C);
    }
    free(patch);
    return CSREC_OK;
}
