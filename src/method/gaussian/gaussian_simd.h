/* gaussian_simd.h - distances between patches, and mean, covariance and conditioning of a group: a
 * template over instruction sets (cmake/simd.cmake). */
#include <math.h>
#include <string.h>

#include "method/gaussian/group.h"

enum { LANES = SIMD_BYTES / 4 }; /* floats of a register */

typedef float vec __attribute__((vector_size(SIMD_BYTES), aligned(4)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *from) {
    return *(const vec *)from;
}
INLINE void store(float *to, vec v) {
    *(vec *)to = v;
}
INLINE vec spread(float v) {
    return v - (vec){0}; /* plus 0 would not be free: -0 */
}

/* ------------------------------------------------------------------ distances */

/* column[x] = sum over the rows of a patch at a, in all guides, of (a[x] - a[x + shift])^2, n of
 * them. The last register ends at the end and may repeat what the one before it has done. */
static void square_columns(const csrec_group_search *s, const float *a, int64_t shift, int n) {
    const float *b = a + shift;
    int64_t slice = (int64_t)s->height * s->width, whole = s->depth * slice;
    for (int x = 0; n >= LANES && x < n; x += LANES) {
        int at = x + LANES <= n ? x : n - LANES;
        vec sum = {0};
        for (int64_t g = 0; g < s->guides * whole; g += whole)
            for (int k = 0; k < s->patch_depth; k++)
                for (int i = 0; i < s->patch_height; i++) {
                    int64_t row = g + k * slice + (int64_t)i * s->width + at;
                    vec e = load(a + row) - load(b + row);
                    sum += e * e;
                }
        store(s->column + at, sum);
    }
    for (int x = 0; n < LANES && x < n; x++) {
        float sum = 0.0f;
        for (int64_t g = 0; g < s->guides * whole; g += whole)
            for (int k = 0; k < s->patch_depth; k++)
                for (int i = 0; i < s->patch_height; i++) {
                    int64_t at = g + k * slice + (int64_t)i * s->width + x;
                    float e = a[at] - b[at];
                    sum += e * e;
                }
        s->column[x] = sum;
    }
}

/* sum[x] = column[x] + .. + column[x + patch_width - 1] for all x below n - patch_width + 1, from
 * sums of 1, 2, 4, .. entries, which overwrite `column`. */
static void sum_windows(float *column, int n, int width, float *sum) {
    for (int x = 0; x < n; x++) sum[x] = 0.0f;
    for (int power = 1, offset = 0; power <= width; power *= 2) {
        if (width & power) {
            for (int x = 0; x + offset < n; x++) sum[x] += column[x + offset];
            offset += power;
        }
        for (int x = 0; x + power < n; x++) column[x] += column[x + power];
    }
}

static void search_shift(const csrec_group_search *s, int dz, int dy, int dx, int64_t shift,
                         int64_t shifts) {
    int from = s->x[0] > -dx ? s->x[0] : -dx;
    int end = s->x[s->columns - 1] + s->patch_width;
    int to = end < s->width - dx ? end : s->width - dx;
    float *sum = s->column + (end - s->x[0]);
    for (int r = 0; r < s->slices * s->rows; r++) {
        int z = s->z[r / s->rows], y = s->y[r % s->rows];
        bool inside = z + dz >= 0 && z + dz + s->patch_depth <= s->depth && y + dy >= 0 &&
                      y + dy + s->patch_height <= s->height && from < to;
        if (inside) {
            const float *a = s->guide + ((int64_t)z * s->height + y) * s->width + from;
            square_columns(s, a, ((int64_t)dz * s->height + dy) * s->width + dx, to - from);
            sum_windows(s->column, to - from, s->patch_width, sum);
        }
        float *distance = s->distance + (int64_t)r * s->columns * shifts + shift;
        for (int c = 0; c < s->columns; c++) {
            bool whole = inside && s->x[c] >= from && s->x[c] + s->patch_width <= to;
            distance[c * shifts] = whole ? sum[s->x[c] - from] : INFINITY;
        }
    }
}

static void search(const csrec_group_search *s) {
    int64_t shifts = csrec_group_shifts(s), shift = 0;
    for (int dz = -s->deep; dz <= s->deep; dz++)
        for (int dy = -s->radius; dy <= s->radius; dy++)
            for (int dx = -s->radius; dx <= s->radius; dx++)
                search_shift(s, dz, dy, dx, shift++, shifts);
}

static void rank(const csrec_group_search *s, const int at[3], int n, const uint16_t *shift,
                 float *out) {
    int rows = s->patch_depth * s->patch_height;
    const float *a = s->guide + ((int64_t)at[0] * s->height + at[1]) * s->width + at[2];
    for (int k = 0; k < n; k++) {
        int by[3];
        csrec_group_shift(s, shift[k], by);
        const float *b = a + ((int64_t)by[0] * s->height + by[1]) * s->width + by[2];
        float sum[16] = {0}, whole = 0.0f;
        for (int i = 0; i < s->guides * rows; i++) {
            int64_t slice = (int64_t)(i / rows) * s->depth + i % rows / s->patch_height;
            int64_t row = slice * s->height + i % s->patch_height;
            const float *p = a + row * s->width, *q = b + row * s->width;
            int j = 0;
            for (; j + 8 <= s->patch_width; j += 8)
                for (int l = 0; l < 8; l++) sum[l] += (p[j + l] - q[j + l]) * (p[j + l] - q[j + l]);
            for (; j < s->patch_width; j++) sum[8 + j % 8] += (p[j] - q[j]) * (p[j] - q[j]);
        }
        for (int l = 0; l < 16; l++) whole += sum[l];
        out[k] = whole;
    }
}

/* ------------------------------------------------------------------ covariance */

enum { TILE = 8, WIDE = 2 * LANES };

/* gram += sign rows^T rows in one tile of TILE rows and `vecs` registers. */
INLINE void gram_tile(const float *rows, int n, int stride, int i, int c, int vecs, float sign,
                      float *gram) {
    vec sum[TILE][2] = {{{0}}};
    for (int k = 0; k < n; k++) {
        const float *row = rows + (int64_t)k * stride;
        vec b0 = load(row + c), b1 = vecs > 1 ? load(row + c + LANES) : b0;
#pragma GCC unroll 8
        for (int t = 0; t < TILE; t++) {
            vec a = spread(row[i + t]);
            sum[t][0] += a * b0;
            if (vecs > 1) sum[t][1] += a * b1;
        }
    }
    for (int t = 0; t < TILE; t++) {
        float *to = gram + (int64_t)(i + t) * stride + c;
        store(to, load(to) + sign * sum[t][0]);
        if (vecs > 1) store(to + LANES, load(to + LANES) + sign * sum[t][1]);
    }
}

/* The tiles that meet the upper triangle. */
static void add_gram(const float *rows, int n, int stride, float sign, float *gram) {
    for (int c = 0; c < stride; c += WIDE) {
        bool full = c + WIDE <= stride;
        int end = full ? c + WIDE : stride;
        for (int i = 0; i < end; i += TILE) {
            if (full)
                gram_tile(rows, n, stride, i, c, 2, sign, gram);
            else
                gram_tile(rows, n, stride, i, c, 1, sign, gram);
        }
    }
}

static void mirror(float *C, int stride) {
    for (int i = 0; i < stride; i++)
        for (int j = 0; j < i; j++) C[(int64_t)i * stride + j] = C[(int64_t)j * stride + i];
}

/* The mean of the rows of X, which is taken from them. */
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

/* ------------------------------------------------------------------ conditioning */

/* V[n] over `vecs` registers from column c: row `pixel` of C less what the n observations before
 * explain of it. */
INLINE void reduce_row(const float *C, float *V, int n, int stride, int pixel, int c, int vecs) {
    vec r[8];
    for (int t = 0; t < vecs; t++) r[t] = load(C + (int64_t)pixel * stride + c + t * LANES);
    for (int j = 0; j < n; j++) {
        const float *row = V + (int64_t)j * stride;
        vec l = spread(row[pixel]);
        for (int t = 0; t < vecs; t++) r[t] -= l * load(row + c + t * LANES);
    }
    for (int t = 0; t < vecs; t++) store(V + (int64_t)n * stride + c + t * LANES, r[t]);
}

static void reduce(const float *C, float *V, int n, int stride, int pixel) {
    for (int c = 0; c < stride; c += 8 * LANES) {
        switch ((stride - c) / LANES) {
        case 1:
            reduce_row(C, V, n, stride, pixel, c, 1);
            break;
        case 2:
            reduce_row(C, V, n, stride, pixel, c, 2);
            break;
        case 3:
            reduce_row(C, V, n, stride, pixel, c, 3);
            break;
        case 4:
            reduce_row(C, V, n, stride, pixel, c, 4);
            break;
        case 5:
            reduce_row(C, V, n, stride, pixel, c, 5);
            break;
        case 6:
            reduce_row(C, V, n, stride, pixel, c, 6);
            break;
        case 7:
            reduce_row(C, V, n, stride, pixel, c, 7);
            break;
        default:
            reduce_row(C, V, n, stride, pixel, c, 8);
            break;
        }
    }
}

static int64_t corner_of(const csrec_gaussian_picture *p, const csrec_group_work *w, int k) {
    return ((int64_t)w->front[k] * p->height + w->top[k]) * p->width + w->left[k];
}

/* Conditions the Gaussian on one sample after another: V = L^-1 C_o with L L^T = C_oo + noise I,
 * because the rows of V before the i-th hold L's i-th row in the column of the i-th sample.
 * x [stride] becomes the posterior mean less the prior's. Returns the number of samples. */
static int condition(const csrec_gaussian_picture *p, int channel, const csrec_group_work *w, int k,
                     float noise, float *V, float *x) {
    float z[CSREC_GROUP_PIXELS];
    int n = 0;
    int64_t corner = corner_of(p, w, k);
    memset(x, 0, (size_t)w->stride * sizeof *x);
    for (int i = 0; i < w->rows; i++)
        for (int j = 0; j < w->patch_width; j++) {
            int64_t at = corner + w->row[i] + j;
            if (!p->mask[at]) continue;
            int pixel = i * w->patch_width + j;
            float innovation = p->y[channel][at] - w->mean[pixel];
            reduce(w->C, V, n, w->stride, pixel);
            for (int s = 0; s < n; s++) innovation -= V[(int64_t)s * w->stride + pixel] * z[s];
            float *row = V + (int64_t)n * w->stride;
            float scale = 1.0f / sqrtf((row[pixel] > 0.0f ? row[pixel] : 0.0f) + noise);
            z[n] = innovation * scale;
            for (int c = 0; c < w->stride; c += LANES) {
                vec v = load(row + c) * scale;
                store(row + c, v);
                store(x + c, load(x + c) + z[n] * v);
            }
            n++;
        }
    return n;
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
    float sum = 0.0f;
    for (int k = 0; k < w->size; k++) {
        const float *from = p->variance[channel] + corner_of(p, w, k);
        for (int i = 0; i < w->rows; i++)
            for (int j = 0; j < w->patch_width; j++) sum += from[w->row[i] + j];
    }
    return sum / (float)(w->size * w->d);
}

/* C was summed up below its diagonal. */
static void close_covariance(csrec_group_work *w, float diagonal) {
    mirror(w->C, w->stride);
    for (int i = 0; i < w->d; i++) w->C[(int64_t)i * (w->stride + 1)] += diagonal;
}

static void fit(const csrec_gaussian_picture *p, int channel, const csrec_gaussian_round *round,
                csrec_group_work *w) {
    size_t squares = (size_t)w->stride * (size_t)w->stride;
    gather(p, channel, w);
    float diagonal = round->diagonal;
    if (round->trust > 0.0f) diagonal += round->trust * mean_variance(p, channel, w);
    centre(w);
    memset(w->C, 0, squares * sizeof *w->C);
    add_gram(w->X, w->size, w->stride, 1.0f / (float)w->size, w->C);
    close_covariance(w, diagonal);
}

/* Every how many patches' posterior covariances are averaged. */
static int every_of(const csrec_gaussian_round *round) {
    return round->every > 0 ? round->every : 1;
}

/* Adds the `kept` rows of V to their mean product once they fill it, or after the last patch;
 * returns how many still wait. */
static int average_rows(csrec_group_work *w, const csrec_gaussian_round *round, int kept,
                        bool last) {
    int every = every_of(round), averaged = (w->size + every - 1) / every;
    if (kept < CSREC_GROUP_ROWS && !last) return kept;
    add_gram(w->V, kept, w->stride, 1.0f / (float)averaged, w->gram);
    return 0;
}

/* C becomes the covariance less what was summed up against it. */
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
                          w->X + (int64_t)k * w->stride);
        if (k % every_of(round) == 0) kept += n;
        kept = average_rows(w, round, kept, k + 1 == w->size);
    }
    memcpy(prior, w->mean, (size_t)w->stride * sizeof *prior);
    centre(w);
    for (int c = 0; c < w->stride; c++) w->mean[c] += prior[c];
    add_gram(w->X, w->size, w->stride, -1.0f / (float)w->size, w->gram);
    take_off_gram(w, round->em_diagonal);
}

/* ------------------------------------------------------------------ aggregation */

static void add_patch(const csrec_group_work *w, int k, const float *x, float evenness,
                      csrec_group_sums *sums) {
    int left = w->left[k] - sums->left;
    for (int i = 0; i < w->rows; i++) {
        int z = w->front[k] - sums->front + i / w->patch_height;
        int y = w->top[k] - sums->top + i % w->patch_height;
        int64_t at = ((int64_t)z * sums->height + y) * sums->width + left;
        const float *value = x + i * w->patch_width, *mean = w->mean + i * w->patch_width;
        const float *variance = w->posterior + i * w->patch_width;
        for (int j = 0; j < w->patch_width; j++) {
            float weight = 1.0f / (variance[j] + evenness);
            sums->weight[at + j] += weight;
            sums->value[at + j] += weight * (value[j] + mean[j]);
            sums->variance[at + j] += weight * variance[j];
        }
    }
}

static void posterior_variances(csrec_group_work *w, int n) {
    for (int i = 0; i < w->d; i++) w->posterior[i] = w->C[(int64_t)i * (w->stride + 1)];
    for (int j = 0; j < n; j++)
        for (int c = 0; c < w->stride; c += LANES) {
            vec v = load(w->V + (int64_t)j * w->stride + c);
            store(w->posterior + c, load(w->posterior + c) - v * v);
        }
    for (int i = 0; i < w->d; i++)
        if (!(w->posterior[i] > 0.0f)) w->posterior[i] = 0.0f;
}

static void estimate(const csrec_gaussian_picture *p, int channel,
                     const csrec_gaussian_round *round, csrec_group_work *w,
                     csrec_group_sums *sums) {
    float x[CSREC_GROUP_PIXELS], noise = fmaxf(round->noise, p->sigma * p->sigma);
    fit(p, channel, round, w);
    for (int t = 0; t < round->em; t++) step_em(p, channel, round, noise, w);
    for (int k = 0; k < w->size; k++) {
        int n = condition(p, channel, w, k, noise, w->V, x);
        posterior_variances(w, n);
        add_patch(w, k, x, round->evenness, sums);
    }
}

#include "method/gaussian/pooled_simd.h"

const csrec_group_simd SIMD_TABLE = {search, rank, estimate, estimate_pooled};
