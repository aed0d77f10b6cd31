/* fit.c - rounds of a mixture over the patches of a picture. Patches are sorted by their components
 * and processed in batches of a fixed size, whose sums are added in order.
 */
#include "method/mixture/fit.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "learn/whiten.h"
#include "method/mixture/patch.h"

enum { BATCH = 128, ROWS = CSREC_WHITEN_ROWS };

/* In units of tone^2: added to covariances, to those for assignment, and to posterior variances. */
static const float DIAGONAL = 1.0f, CHOICE = 4.0f, EVENNESS = 5.0f;

typedef struct fit {
    csrec_fit_picture *p;
    csrec_mixture *mixture;
    const csrec_patch_simd *simd;
    int down, across, d, stride, planes; /* patches along the axes; planes: groups of channels */
    int64_t count, batches;              /* patches; batches of this round */
    int64_t *first, *order;              /* [K + 1] of a component in order; [count] patches */
    int *choice, *begin;                 /* [count]; [batches] component of a batch, and where */
    int64_t *from;                       /* [batches + 1] */
    float *x, *variance;                 /* [count][d] in the order of `order` */
    float *C, *mean;                     /* [K][d][stride], [K][stride] */
    float *G;                            /* [batches][stride][stride] */
    double *work;                        /* [threads] */
    float *room;                         /* [threads][room_size] */
    size_t work_size, room_size;
    bool adapt;
    int round, rounds;
} fit;

static const csrec_patch_simd *choose_simd(void) {
    return CSREC_CPU_CHOOSE(csrec_patch);
}

/* ------------------------------------------------------------------ memory */

static void clear(fit *f) {
    free(f->first);
    free(f->order);
    free(f->choice);
    free(f->begin);
    free(f->from);
    free(f->x);
    free(f->variance);
    free(f->C);
    free(f->mean);
    free(f->G);
    free(f->work);
    free(f->room);
}

static bool allocate(fit *f) {
    size_t K = (size_t)f->mixture->K, d = (size_t)f->d, stride = (size_t)f->stride;
    size_t count = (size_t)f->count, batches = (size_t)f->batches, threads = (size_t)f->p->threads;
    f->work_size = csrec_mixture_work(f->mixture) + ROWS * K;
    f->room_size = (d + CSREC_PATCH_ROWS + 3) * stride + 2 * d + ROWS * d;
    f->first = malloc((K + 1) * sizeof *f->first);
    f->order = malloc(count * sizeof *f->order);
    f->choice = malloc(count * sizeof *f->choice);
    f->begin = malloc(batches * sizeof *f->begin);
    f->from = malloc((batches + 1) * sizeof *f->from);
    f->x = malloc(count * d * sizeof *f->x);
    f->variance = malloc(count * d * sizeof *f->variance);
    f->C = calloc(K * d * stride, sizeof *f->C);
    f->mean = calloc(K * stride, sizeof *f->mean);
    f->G = malloc(batches * stride * stride * sizeof *f->G);
    f->work = malloc(threads * f->work_size * sizeof *f->work);
    f->room = malloc(threads * f->room_size * sizeof *f->room);
    return f->first && f->order && f->choice && f->begin && f->from && f->x && f->variance &&
           f->C && f->mean && f->G && f->work && f->room;
}

/* The sizes of allocate(), and of `place` in average(). */
double csrec_fit_run_bytes(double count, double K, double d, int threads) {
    double stride = ceil(d / CSREC_PATCH_LANES) * CSREC_PATCH_LANES;
    double patch = 2 * sizeof(int64_t) + sizeof(int) + 2 * d * sizeof(float);
    double batches = count / BATCH + K;
    double thread = ((d + CSREC_PATCH_ROWS + 3) * stride + 2 * d + ROWS * d) * sizeof(float) +
                    ROWS * K * sizeof(double);
    return count * patch + batches * stride * stride * sizeof(float) +
           K * d * (stride * sizeof(float) + 3 * d * sizeof(double)) + threads * thread;
}

static csrec_status create(fit *f, csrec_error *error) {
    const csrec_fit_picture *p = f->p;
    f->simd = choose_simd();
    f->d = f->mixture->d;
    f->stride = (f->d + CSREC_PATCH_LANES - 1) / CSREC_PATCH_LANES * CSREC_PATCH_LANES;
    f->planes = p->channels / p->joint;
    f->down = csrec_fit_along(p->height, p->patch_height, p->step);
    f->across = csrec_fit_along(p->width, p->patch_width, p->step);
    f->count = csrec_fit_count(p);
    f->batches = f->count / BATCH + f->mixture->K;
    return allocate(f) ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
}

/* ------------------------------------------------------------------ assignment to components */

/* The estimate is smoother than the picture, so components are widened for the assignment. */
static csrec_status widen(const fit *f, csrec_mixture *wide, csrec_error *error) {
    const csrec_mixture *m = f->mixture;
    size_t squares = (size_t)f->d * (size_t)f->d;
    float more = CHOICE * f->p->tone * f->p->tone + (f->p->keep ? 0.0f : 0.25f * f->p->noise);
    memcpy(wide->weights, m->weights, (size_t)m->K * sizeof *m->weights);
    memcpy(wide->means, m->means, (size_t)m->K * (size_t)f->d * sizeof *m->means);
    memcpy(wide->C, m->C, (size_t)m->K * squares * sizeof *m->C);
    for (int k = 0; k < m->K; k++)
        for (int i = 0; i < f->d; i++)
            wide->C[(size_t)k * squares + (size_t)i * ((size_t)f->d + 1)] += more;
    return csrec_mixture_prepare(wide, 0.5 * more, f->p->threads, f->p->team, error);
}

static int largest(int K, const double *r) {
    int at = 0;
    for (int k = 1; k < K; k++)
        if (r[k] > r[at]) at = k;
    return at;
}

/* Of patches first .. first + ROWS - 1. */
static void choose_rows(fit *f, const csrec_mixture *wide, int64_t first) {
    int rows = (int)(f->count - first < ROWS ? f->count - first : ROWS);
    double *work = f->work + (size_t)omp_get_thread_num() * f->work_size, *r = work;
    float *X = f->room + (size_t)omp_get_thread_num() * f->room_size;
    work += ROWS * wide->K;
    for (int i = 0; i < rows; i++) csrec_fit_cut(f->p, first + i, X + i * f->d);
    csrec_mixture_posteriors(wide, rows, X, work, r);
    for (int i = 0; i < rows; i++) f->choice[first + i] = largest(wide->K, r + i * wide->K);
}

static void choose(fit *f, const csrec_mixture *wide) {
#pragma omp parallel num_threads(f->p->threads)
    {
#pragma omp for schedule(static) nowait
        for (int64_t first = 0; first < f->count; first += ROWS)
            if (!csrec_team_poll(f->p->team)) choose_rows(f, wide, first);
        csrec_team_gather(f->p->team);
    }
}

/* Sorts patches by component, into batches of one component each. */
static void sort(fit *f) {
    int K = f->mixture->K;
    memset(f->first, 0, (size_t)(K + 1) * sizeof *f->first);
    for (int64_t i = 0; i < f->count; i++) f->first[f->choice[i] + 1]++;
    for (int k = 0; k < K; k++) f->first[k + 1] += f->first[k];
    for (int64_t i = 0; i < f->count; i++) f->order[f->first[f->choice[i]]++] = i;
    for (int k = K; k > 0; k--) f->first[k] = f->first[k - 1];
    f->first[0] = 0;
    f->batches = 0;
    for (int k = 0; k < K; k++)
        for (int64_t at = f->first[k]; at < f->first[k + 1]; at += BATCH) {
            f->begin[f->batches] = k;
            f->from[f->batches++] = at;
        }
    f->from[f->batches] = f->count;
}

/* ------------------------------------------------------------------ conditioning */

static void set_floats(fit *f) {
    const csrec_mixture *m = f->mixture;
    float diagonal = DIAGONAL * f->p->tone * f->p->tone;
    for (int k = 0; k < m->K; k++)
        for (int i = 0; i < f->d; i++) {
            f->mean[k * f->stride + i] = (float)m->means[k * f->d + i];
            float *row = f->C + ((int64_t)k * f->d + i) * f->stride;
            for (int j = 0; j < f->d; j++)
                row[j] =
                    (float)m->C[((int64_t)k * f->d + i) * f->d + j] + (i == j ? diagonal : 0.0f);
        }
}

static int find_samples(const fit *f, int64_t i, int *at, float *y) {
    const csrec_fit_picture *p = f->p;
    int channel, n = 0, entry = 0;
    int64_t corner_at = csrec_fit_corner(p, i, &channel);
    for (int r = 0; r < p->patch_height; r++)
        for (int x = 0; x < p->patch_width; x++, entry += p->joint) {
            int64_t pixel = corner_at + (int64_t)r * p->width + x;
            for (int c = 0; c < p->joint && p->mask[pixel]; c++) {
                at[n] = entry + c;
                y[n++] = p->y[pixel * p->channels + channel + c];
            }
        }
    return n;
}

static void run_batch(fit *f, int64_t b) {
    float *room = f->room + (size_t)omp_get_thread_num() * f->room_size;
    int64_t squares = (int64_t)f->stride * f->stride;
    int k = f->begin[b], held = 0, d = f->d;
    csrec_patch p = {.d = d, .stride = f->stride, .noise = f->p->noise};
    p.C = f->C + (int64_t)k * d * f->stride;
    p.mean = f->mean + (int64_t)k * f->stride;
    p.x = room;
    p.variance = room + f->stride;
    p.u = room + 2 * f->stride;
    float *V = room + 3 * f->stride, *y = V + (d + CSREC_PATCH_ROWS) * f->stride;
    int at[CSREC_MIXTURE_MOST];
    p.at = at;
    p.y = y;
    memset(f->G + b * squares, 0, (size_t)squares * sizeof *f->G);
    for (int64_t i = f->from[b]; i < f->from[b + 1]; i++) {
        p.n = find_samples(f, f->order[i], at, y);
        p.V = V + held * f->stride;
        f->simd->condition(&p);
        memcpy(f->x + i * d, p.x, (size_t)d * sizeof *p.x);
        memcpy(f->variance + i * d, p.variance, (size_t)d * sizeof *p.x);
        held += p.n;
        if (held < CSREC_PATCH_ROWS && i + 1 < f->from[b + 1]) continue;
        if (f->adapt) f->simd->gram(held, f->stride, V, f->G + b * squares);
        held = 0;
    }
}

static bool is_stopped(const fit *f, int64_t batch) {
    csrec_progress progress = {"mixture", f->round * f->batches + batch, f->rounds * f->batches,
                               -1.0};
    return csrec_team_report(f->p->team, &progress);
}

static void condition(fit *f) {
    set_floats(f);
#pragma omp parallel num_threads(f->p->threads)
    {
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t b = 0; b < f->batches; b++)
            if (!is_stopped(f, b)) run_batch(f, b);
        csrec_team_gather(f->p->team);
    }
}

/* ------------------------------------------------------------------ the next estimate */

/* Adds the patch rows that cover row y of the picture: `place` is the inverse of `order`. variance:
 * NULL, or sums of w v. */
static void add_row(const fit *f, const int64_t *place, int y, int plane, float *weight,
                    float *value, float *variance) {
    const csrec_fit_picture *p = f->p;
    int joint = p->joint, line = p->patch_width * joint;
    float even = EVENNESS * p->tone * p->tone;
    for (int r = 0; r < f->down; r++) {
        int top =
            r * p->step < p->height - p->patch_height ? r * p->step : p->height - p->patch_height;
        if (y < top || y >= top + p->patch_height) continue;
        for (int c = 0; c < f->across; c++) {
            int64_t i = place[((int64_t)r * f->across + c) * f->planes + plane];
            int left =
                c * p->step < p->width - p->patch_width ? c * p->step : p->width - p->patch_width;
            const float *x = f->x + i * f->d + (y - top) * line;
            const float *v = f->variance + i * f->d + (y - top) * line;
            for (int j = 0; j < line; j++) {
                float w = 1.0f / (v[j] + even);
                weight[left * joint + j] += w;
                value[left * joint + j] += w * x[j];
                if (variance) variance[left * joint + j] += w * v[j];
            }
        }
    }
}

/* Squared distance of the means to the row's samples. */
static double average_row(fit *f, const int64_t *place, int y, float *sums) {
    csrec_fit_picture *p = f->p;
    int line = p->width * p->joint;
    double energy = 0.0;
    for (int plane = 0; plane < f->planes; plane++) {
        memset(sums, 0, 3 * (size_t)line * sizeof *sums);
        add_row(f, place, y, plane, sums, sums + line, p->variance ? sums + 2 * line : NULL);
        for (int j = 0; j < line; j++) {
            int64_t pixel = (int64_t)y * p->width + j / p->joint;
            int64_t at = pixel * p->channels + plane * p->joint + j % p->joint;
            float mean = sums[line + j] / sums[j];
            double off = p->mask[pixel] ? (double)mean - (double)p->y[at] : 0.0;
            energy += off * off;
            bool kept = p->keep && p->mask[pixel];
            p->u[at] = kept ? p->y[at] : mean;
            if (p->variance) p->variance[at] = kept ? 0.0f : sums[2 * line + j] / sums[j];
        }
    }
    return energy;
}

static csrec_status average(fit *f, double *energy, csrec_error *error) {
    csrec_fit_picture *p = f->p;
    size_t line = 3 * (size_t)p->width * (size_t)p->joint;
    int64_t *place = malloc((size_t)f->count * sizeof *place);
    float *sums = malloc((size_t)p->threads * line * sizeof *sums);
    double *rows = malloc((size_t)p->height * sizeof *rows);
    bool room = place && sums && rows;
    for (int64_t i = 0; room && i < f->count; i++) place[f->order[i]] = i;
    if (room) {
#pragma omp parallel for schedule(static) num_threads(p->threads)
        for (int y = 0; y < p->height; y++)
            rows[y] = average_row(f, place, y, sums + (size_t)omp_get_thread_num() * line);
    }
    *energy = 0.0;
    for (int y = 0; room && y < p->height; y++) *energy += rows[y];
    free(place);
    free(sums);
    free(rows);
    return room ? CSREC_OK : csrec_fail(error, CSREC_MEMORY, "out of memory");
}

/* ------------------------------------------------------------------ the next mixture */

/* C = covariance of the estimates + mean of the posterior covariances C_old - V^T V, where C_old
 * counts as d further patches. */
static csrec_status update(fit *f, int k) {
    csrec_mixture *m = f->mixture;
    int64_t n = f->first[k + 1] - f->first[k], d = f->d, squares = (int64_t)f->stride * f->stride;
    double *C = m->C + k * d * d, drawn = (double)n / (double)(n + d);
    double *S = calloc((size_t)(2 * d * d), sizeof *S), *G = S ? S + d * d : NULL;
    if (!S) return CSREC_MEMORY;
    const float *X = f->x + f->first[k] * d;
    csrec_status status = csrec_mean(n, d, X, NULL, 1, m->means + k * d, NULL);
    if (!status) status = csrec_covariance(n, d, X, NULL, m->means + k * d, 1, S, NULL);
    for (int64_t b = 0; b < f->batches; b++)
        for (int64_t i = 0; i < d && f->begin[b] == k; i++)
            for (int64_t j = i; j < d; j++)
                G[i * d + j] += (double)f->G[b * squares + i * f->stride + j];
    for (int64_t i = 0; i < d && !status; i++)
        for (int64_t j = i; j < d; j++) {
            double value = C[i * d + j] + drawn * (S[i * d + j] - G[i * d + j] / (double)n);
            C[i * d + j] = C[j * d + i] = value;
        }
    free(S);
    return status;
}

static csrec_status adapt_mixture(fit *f, csrec_error *error) {
    csrec_mixture *m = f->mixture;
    csrec_status worst = CSREC_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(f->p->threads)
    for (int k = 0; k < m->K; k++) {
        int64_t n = f->first[k + 1] - f->first[k];
        if (csrec_team_poll(f->p->team)) continue;
        csrec_status status = n > 0 ? update(f, k) : CSREC_OK;
        m->weights[k] = ((double)n + 1.0) / (double)(f->count + m->K);
        if (status) {
#pragma omp atomic write
            worst = status;
        }
    }
    return worst ? csrec_fail(error, worst,
                              "method mixture: the covariance of the patches is "
                              "not positive definite")
                 : CSREC_OK;
}

/* ------------------------------------------------------------------ */

csrec_status csrec_fit_run(csrec_fit_picture *picture, csrec_mixture *mixture, int rounds,
                           bool adapt, csrec_error *error) {
    fit f = {.p = picture, .mixture = mixture, .rounds = rounds, .adapt = adapt};
    csrec_mixture wide = {0};
    csrec_status status = create(&f, error);
    if (!status) status = csrec_mixture_create(mixture->K, mixture->d, &wide, error);
    for (f.round = 0; f.round < rounds && !status; f.round++) {
        status = widen(&f, &wide, error);
        if (status) break;
        choose(&f, &wide);
        if (csrec_team_stopped(picture->team)) break;
        sort(&f);
        condition(&f);
        if (csrec_team_stopped(picture->team)) break;
        double energy;
        status = average(&f, &energy, error);
        if (!status && picture->round_done)
            picture->round_done(f.round + 1, energy, picture->context);
        if (!status && adapt && f.round + 1 < rounds) status = adapt_mixture(&f, error);
    }
    csrec_mixture_clear(&wide);
    clear(&f);
    return status;
}
