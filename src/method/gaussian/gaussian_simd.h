/* SPDX-License-Identifier: BSD-3-Clause */
/* gaussian_simd.h - mean, covariance and conditioning of a group: a template over instruction sets
 * (cmake/simd.cmake). */
#include <string.h>

#include "method/gaussian/condition_simd.h"
#include "method/gaussian/gaussian.h"
#include "method/gaussian/search_simd.h"

static void mirror(float *C, int stride) {
    for (int i = 0; i < stride; i++)
        for (int j = 0; j < i; j++) C[(int64_t)i * stride + j] = C[(int64_t)j * stride + i];
}

/* The mean of the rows of X; subtracts it from them. */
static void centre(csrec_group_work *w) {
    for (int c = 0; c < w->stride; c += LANES) {
        vec sum = {0};
        for (int k = 0; k < w->size; k++) sum += load(w->X + (int64_t)k * w->stride + c);
        sum *= 1.0f / (float)w->size;
        store(w->mean + c, sum);
        for (int k = 0; k < w->size; k++) {
            float *x = w->X + (int64_t)k * w->stride + c;
            store(x, load(x) - sum);
        }
    }
}

static int64_t corner_of(const csrec_gaussian_picture *p, const csrec_group_work *w, int k) {
    return ((int64_t)w->front[k] * p->height + w->top[k]) * p->width + w->left[k];
}

/* The samples of a patch: their pixels, and places in the picture. Without branches, which nobody
 * could foresee. */
INLINE int list_samples(const csrec_gaussian_picture *p, const csrec_group_work *w, int k,
                        int *pixel, int64_t *at) {
    const int64_t corner = corner_of(p, w, k);
    int n = 0;
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->patch_width; j++) {
            pixel[n] = i * w->patch_width + j;
            at[n] = corner + w->row[i] + j;
            n += p->mask[at[n]] != 0;
        }
    return n;
}

INLINE int condition_on(const csrec_gaussian_picture *p, int channel, int channels,
                        csrec_group_work *w, int k, float noise, float *V, float *x,
                        int64_t apart) {
    int pixel[CSREC_GROUP_PIXELS + 1];
    int64_t at[CSREC_GROUP_PIXELS + 1];
    const int n = list_samples(p, w, k, pixel, at);
    for (int c = 0; c < channels; c++) memset(x + c * apart, 0, (size_t)w->stride * sizeof *x);
    memcpy(w->posterior, w->prior, (size_t)w->stride * sizeof *x);
    observation o = {
        .channels = channels, .V = V, .x = x, .variance = w->posterior, .apart = apart};
    for (; o.n < n; o.n++) {
        o.pixel = pixel[o.n];
        const float pivot = w->posterior[o.pixel]; /* that rounding may have made negative */
        o.scale = 1.0f / sqrtf((pivot > 0.0f ? pivot : 0.0f) + noise);
        for (int c = 0; c < channels; c++)
            o.z[c] = (p->y[channel + c][at[o.n]] - w->mean[c * w->stride + o.pixel] -
                      x[c * apart + o.pixel]) *
                     o.scale;
        reduce(w->C, &o, w->stride);
    }
    return n;
}

/* Conditions the Gaussian on one sample after another. All channels are known at the same pixels,
 * so they share V. x [channels] rows `apart` floats from each other become the posterior
 * means less the prior's, w->posterior their variances. Returns the number of samples. */
static int condition(const csrec_gaussian_picture *p, int channel, csrec_group_work *w, int k,
                     float noise, float *V, float *x, int64_t apart) {
    return w->channels == 1 ? condition_on(p, channel, 1, w, k, noise, V, x, apart)
                            : condition_on(p, channel, w->channels, w, k, noise, V, x, apart);
}

static void gather(const csrec_gaussian_picture *p, int channel, csrec_group_work *w) {
    for (int k = 0; k < w->size; k++) {
        float *x = w->X + (int64_t)k * w->stride;
        const float *from = p->u[channel] + corner_of(p, w, k);
        for (int i = 0; i < w->rows; i++)
            for (int j = 0; j < w->patch_width; j++)
                x[i * w->patch_width + j] = from[w->row[i] + j];
        for (int i = w->d; i < w->stride; i++) x[i] = 0.0f;
    }
}

static float mean_variance(const csrec_gaussian_picture *p, int channel,
                           const csrec_group_work *w) {
    float sum[CSREC_GROUP_EDGE] = {0}, whole = 0.0f;
    for (int k = 0; k < w->size; k++) {
        const float *from = p->variance[channel] + corner_of(p, w, k);
        for (int i = 0; i < w->rows; i++)
            for (int j = 0; j < w->patch_width; j++) sum[j] += from[w->row[i] + j];
    }
    for (int j = 0; j < w->patch_width; j++) whole += sum[j];
    return whole / (float)(w->size * w->d);
}

/* C was summed only below its diagonal. */
static void close_covariance(csrec_group_work *w, float diagonal) {
    mirror(w->C, w->stride);
    for (int i = 0; i < w->d; i++) w->C[(int64_t)i * (w->stride + 1)] += diagonal;
    for (int i = 0; i < w->stride; i++) w->prior[i] = w->C[(int64_t)i * (w->stride + 1)];
}

/* ---- one covariance for all channels of a group.
 *
 * The patches of a group are modelled as draws of a Gaussian with covariance S (x) C: S between
 * the channels, C between the pixels. All channels are known at the same pixels, so S affects the
 * posterior means only through the noise, and C is estimated from all channels. */

/* The group's data of channel c. */
static csrec_group_work channel_of(const csrec_group_work *w, int c) {
    csrec_group_work one = *w;
    one.X += (int64_t)c * CSREC_GROUP_MOST * w->stride;
    one.mean += (int64_t)c * w->stride;
    return one;
}

/* The mean product of two channels' centred rows, summed in one order on all instruction sets. */
static float covariance_of(const csrec_group_work *a, const csrec_group_work *b) {
    float column[CSREC_GROUP_PIXELS], whole = 0.0f;
    for (int c = 0; c < a->stride; c += LANES) {
        vec sum = {0};
        for (int k = 0; k < a->size; k++) {
            int64_t at = (int64_t)k * a->stride + c;
            sum += load(a->X + at) * load(b->X + at);
        }
        store(column + c, sum);
    }
    for (int i = 0; i < a->d; i++) whole += column[i];
    return whole / (float)(a->size * a->d);
}

/* Decorrelates the channels of the centred rows. */
static void whiten(csrec_group_work *w, float floor) {
    float L[CSREC_GROUP_CHANNELS][CSREC_GROUP_CHANNELS];
    for (int c = 0; c < w->channels; c++)
        for (int e = 0; e <= c; e++) {
            csrec_group_work a = channel_of(w, c), b = channel_of(w, e);
            L[c][e] = covariance_of(&a, &b);
        }
    float scale = csrec_gaussian_whitening(w->channels, floor, L);
    int64_t rows = CSREC_GROUP_MOST * (int64_t)w->stride;
    for (int64_t at = 0; at < (int64_t)w->size * w->stride; at += LANES) {
        vec x[CSREC_GROUP_CHANNELS];
        for (int c = 0; c < w->channels; c++) {
            x[c] = load(w->X + c * rows + at);
            for (int e = 0; e < c; e++) x[c] -= L[c][e] * x[e];
            x[c] *= 1.0f / L[c][c];
        }
        for (int c = 0; c < w->channels; c++) store(w->X + c * rows + at, x[c] * scale);
    }
}

/* to += sign * the covariance of the pixels, from centred rows; overwrites the rows of several
 * channels. */
static void add_covariance(csrec_group_work *w, float floor, float sign, float *to) {
    if (w->channels > 1) whiten(w, floor);
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        add_gram(one.X, w->size, w->stride, sign / (float)w->size, to);
    }
}

static void fit(const csrec_gaussian_picture *p, int channel, const csrec_gaussian_round *round,
                csrec_group_work *w) {
    float trusted = 0.0f, diagonal = round->diagonal;
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        gather(p, channel + c, &one);
        if (round->trust > 0.0f) trusted += mean_variance(p, channel + c, &one);
        centre(&one);
    }
    /* For one channel, product and sum are rounded once (FMA). */
    if (w->channels == 1)
        diagonal += round->trust * trusted;
    else
        diagonal += round->trust * trusted / (float)w->channels;
    memset(w->C, 0, (size_t)w->stride * (size_t)w->stride * sizeof *w->C);
    add_covariance(w, round->floor, 1.0f, w->C);
    close_covariance(w, diagonal);
}

/* Every how many patches' posterior covariances are averaged. */
static int every_of(const csrec_gaussian_round *round) {
    return round->every > 0 ? round->every : 1;
}

/* Adds the `kept` rows of V to their mean product once they fill it, or after the last patch;
 * returns the number of rows still buffered. */
static int average_rows(csrec_group_work *w, const csrec_gaussian_round *round, int kept,
                        bool last) {
    int every = every_of(round), averaged = (w->size + every - 1) / every;
    if (kept < CSREC_GROUP_ROWS && !last) return kept;
    add_gram(w->V, kept, w->stride, 1.0f / (float)averaged, w->gram);
    return 0;
}

/* C -= gram, then the diagonal is added and C completed. */
static void take_off_gram(csrec_group_work *w, float diagonal) {
    for (int64_t i = 0; i < (int64_t)w->stride * w->stride; i++) w->C[i] -= w->gram[i];
    close_covariance(w, diagonal);
}

/* C becomes the covariance of the posterior means and the mean of the posterior covariances. */
static void step_em(const csrec_gaussian_picture *p, int channel, const csrec_gaussian_round *round,
                    float noise, csrec_group_work *w) {
    float prior[CSREC_GROUP_PIXELS];
    int kept = 0;
    memset(w->gram, 0, (size_t)w->stride * (size_t)w->stride * sizeof *w->gram);
    for (int k = 0; k < w->size; k++) {
        int n = condition(p, channel, w, k, noise, w->V + (int64_t)kept * w->stride,
                          w->X + (int64_t)k * w->stride, CSREC_GROUP_MOST * (int64_t)w->stride);
        if (k % every_of(round) == 0) kept += n;
        kept = average_rows(w, round, kept, k + 1 == w->size);
    }
    for (int c = 0; c < w->channels; c++) {
        csrec_group_work one = channel_of(w, c);
        memcpy(prior, one.mean, (size_t)w->stride * sizeof *prior);
        centre(&one);
        for (int i = 0; i < w->stride; i++) one.mean[i] += prior[i];
    }
    add_covariance(w, round->floor, -1.0f, w->gram);
    take_off_gram(w, round->em_diagonal);
}

/* to += row, which is in the cache. */
INLINE void add_pixels(const float *row, int n, float *to) {
    int j = 0;
    for (; j + 8 <= n; j += 8)
        for (int l = 0; l < 8; l++) to[j + l] += row[j + l];
    for (; j < n; j++) to[j] += row[j];
}

/* Of patch k: x, less the mean, and the posterior variances. */
static void add_patch(const csrec_group_work *w, int k, const float *mean, const float *x,
                      float evenness, csrec_group_sums *sums) {
    float weight[CSREC_GROUP_PIXELS], value[CSREC_GROUP_PIXELS], variance[CSREC_GROUP_PIXELS];
    for (int c = 0; c < w->stride; c += LANES) {
        const vec v = load(w->posterior + c), own = 1.0f / (v + evenness);
        store(weight + c, own);
        store(value + c, own * (load(x + c) + load(mean + c)));
        store(variance + c, own * v);
    }
    int left = w->left[k] - sums->left;
    for (int i = 0; i < w->rows; i++) {
        int z = w->front[k] - sums->front + i / w->patch_height;
        int y = w->top[k] - sums->top + i % w->patch_height;
        int64_t at = ((int64_t)z * sums->height + y) * sums->width + left;
        add_pixels(weight + i * w->patch_width, w->patch_width, sums->weight + at);
        add_pixels(value + i * w->patch_width, w->patch_width, sums->value + at);
        add_pixels(variance + i * w->patch_width, w->patch_width, sums->variance + at);
    }
}

static void estimate(const csrec_gaussian_picture *p, int channel,
                     const csrec_gaussian_round *round, csrec_group_work *w,
                     csrec_group_sums *sums) {
    float x[CSREC_GROUP_CHANNELS * CSREC_GROUP_PIXELS];
    float noise = fmaxf(round->noise, p->sigma * p->sigma);
    fit(p, channel, round, w);
    for (int t = 0; t < round->em; t++) step_em(p, channel, round, noise, w);
    for (int k = 0; k < w->size; k++) {
        (void)condition(p, channel, w, k, noise, w->V, x, w->stride);
        for (int i = 0; i < w->stride; i++)
            w->posterior[i] = w->posterior[i] > 0.0f ? w->posterior[i] : 0.0f;
        for (int c = 0; c < w->channels; c++)
            add_patch(w, k, w->mean + c * w->stride, x + c * w->stride, round->evenness, &sums[c]);
    }
}

const csrec_group_simd SIMD_TABLE = {search, rank, pick, estimate};
