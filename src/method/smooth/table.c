/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - tables: whether a signal of two axes is one, and what fills it. */
#include "method/smooth/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/random.h"
#include "csrec/sampling.h"

enum { SERIES_MOST = 512, ENTRIES_MOST = 1 << 22, PAIRS_LEAST = 8, NARROW = 8 };

/* Bounds of the ratios across to along, of the quartile and the median of the pairs of series, and
 * of the squares across over those of independent series. Of 22,800 parts of 38 pictures, whole and
 * sampled, from 16 x 2 up, none of more than 8 columns reaches them, and 790 of 800 tables do. Of
 * up to 8 series, 16 times as long, like ones are too: across there is little to learn from. */
static const double QUARTILE = 2.0, MEDIAN = 10.0, UNLIKE = 1.0;

/* Share of a series' variance that counts as a difference anyway: of series that stand still. */
static const double STILL = 1e-3;

typedef struct column {
    double sum, squares, along; /* of values; of differences to the next */
    int64_t n, steps;
} column;

static double variance(const column *c) {
    const double mean = c->sum / (double)c->n;
    return fmax(c->squares / (double)c->n - mean * mean, 0.0);
}

/* Series j of grid [series][n], NAN where it is not known. */
static column column_of(int64_t n, const double *grid, double origin) {
    column c = {0};
    for (int64_t i = 0; i < n; i++) {
        const double v = grid[i] - origin;
        if (isnan(v)) continue;
        c.sum += v;
        c.squares += v * v;
        c.n++;
        if (i + 1 == n || isnan(grid[i + 1])) continue;
        c.along += (grid[i + 1] - grid[i]) * (grid[i + 1] - grid[i]);
        c.steps++;
    }
    return c;
}

/* Neighbouring series: their squares across over those along, and over independent ones'. */
static bool compare(int64_t n, const double *a, const double *b, double *ratio, double *unlike) {
    double origin = 0.0, across = 0.0;
    int64_t pairs = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(a[i] + b[i])) {
            origin = a[i];
            across += (a[i] - b[i]) * (a[i] - b[i]);
            pairs++;
        }
    if (pairs < PAIRS_LEAST) return false;
    const column c = column_of(n, a, origin), d = column_of(n, b, origin);
    if (c.steps < PAIRS_LEAST || d.steps < PAIRS_LEAST) return false;
    const double v = variance(&c), w = variance(&d), still = STILL * 0.5 * (v + w);
    if (!(v > 0.0 && w > 0.0)) return false;
    const double along = 0.5 * (c.along / (double)c.steps + d.along / (double)d.steps);
    *ratio = (across / (double)pairs + still) / (along + still);
    *unlike = across / (double)pairs / (2.0 * sqrt(v) * sqrt(w));
    return true;
}

/* Of at least half of the neighbours it has to be known. work [2 series]. */
static bool runs_along(int64_t n, int64_t series, const double *grid, double *work) {
    int64_t found = 0, low = 0;
    for (int64_t j = 0; j + 1 < series && low <= (series - 1) / 4; j++) {
        const double *a = grid + j * n;
        if (!compare(n, a, a + n, work + found, work + series + found)) continue;
        low += work[found++] < QUARTILE; /* more than a quarter of all: the rest decides nothing */
    }
    if (low > (series - 1) / 4) return false;
    if (found == 0 || 2 * found < series - 1) return false;
    qsort(work, (size_t)found, sizeof *work, csrec_ascend);
    qsort(work + series, (size_t)found, sizeof *work, csrec_ascend);
    const bool narrow = series <= NARROW && n >= 2 * PAIRS_LEAST * series;
    return work[found / 4] >= QUARTILE && work[found / 2] >= MEDIAN &&
           (narrow || work[series + found / 2] >= UNLIKE);
}

static bool is_along(const csrec_measurement *m, int axis) {
    const int64_t series = m->shape.dim[1 - axis], width = m->shape.dim[1];
    int64_t n = m->shape.dim[axis];
    if (series > SERIES_MOST || n < 2 * PAIRS_LEAST) return false;
    if (series == 1) return true;
    if (n > ENTRIES_MOST / series) n = ENTRIES_MOST / series;
    double *grid = malloc((size_t)(n * series + 2 * series) * sizeof *grid);
    if (!grid) return false;
    for (int64_t i = 0; i < n * series; i++) grid[i] = NAN;
    for (int64_t k = 0, row = 0; k < m->n; k++) {
        if ((uint64_t)(m->index[k] - row * width) >= (uint64_t)width) row = m->index[k] / width;
        const int64_t place[2] = {row, m->index[k] - row * width};
        if (place[axis] < n) grid[place[1 - axis] * n + place[axis]] = m->y[k];
    }
    const bool is = runs_along(n, series, grid, grid + n * series);
    free(grid);
    return is;
}

int csrec_table_axis(const csrec_measurement *m) {
    if (m->shape.dims != 2 || m->channels != 1 || !m->index || !m->y) return -1;
    return is_along(m, 0) ? 0 : is_along(m, 1) ? 1 : -1;
}

enum { FOLDS = 3, LEFT_LEAST = 8, OTHERS_MOST = 32, QUICK = 3 };

/* Of the samples: what the ridge adds to the squares of standardised series. */
static const double RIDGE = 0.01;

typedef struct table {
    csrec_pool pool;
    int64_t n, series;
    const double *y;
    uint64_t seed;
    int64_t *at;
    double *v, *z, *G, *b, *rest; /* [n], [series][n], [series + 1]^2, [series + 1], [n] */
} table;

/* Series of `known` entries of y as a line; without any, its x stays. */
static csrec_status fill_line(table *t, const uint8_t *known, const double *y, int ways,
                              double *x) {
    csrec_series s = {.n = t->n, .at = t->at, .v = t->v};
    for (int64_t i = 0; i < t->n; i++)
        if (known[i]) {
            t->at[s.m] = i;
            t->v[s.m++] = y[i];
        }
    return s.m ? csrec_series_vote(&s, ways, t->seed, x, NULL) : CSREC_OK;
}

static csrec_status fill_lines(table *t, const uint8_t *known, int ways, double *x) {
    for (int64_t c = 0; c < t->series; c++)
        CSREC_TRY(fill_line(t, known + c * t->n, t->y + c * t->n, ways, x + c * t->n));
    return CSREC_OK;
}

/* z: the filled series with mean 0 and variance 1, or 0 where they are constant. */
static void standardise(const table *t, const double *x) {
    for (int64_t c = 0; c < t->series; c++) {
        const double *from = x + c * t->n;
        double mean = 0.0, squares = 0.0;
        for (int64_t i = 0; i < t->n; i++) mean += from[i] / (double)t->n;
        for (int64_t i = 0; i < t->n; i++) squares += (from[i] - mean) * (from[i] - mean);
        const double scale = squares > 0.0 ? sqrt((double)t->n / squares) : 0.0;
        for (int64_t i = 0; i < t->n; i++) t->z[c * t->n + i] = scale * (from[i] - mean);
    }
}

/* G = L L^T, rows of p, its lower triangle replaced by L; false: not positive definite. */
static bool cholesky(int64_t p, double *G) {
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = G[i * p + j];
            for (int64_t k = 0; k < j; k++) sum -= G[i * p + k] * G[j * p + k];
            if (i == j && !(sum > 0.0)) return false;
            G[i * p + j] = i == j ? sqrt(sum) : sum / G[j * p + j];
        }
    return true;
}

/* b = (Z^T Z + ridge)^-1 Z^T y of the known entries of series c; the others' series and a constant
 * in the place of its own. */
static bool regress(const table *t, const uint8_t *known, int64_t c) {
    const int64_t p = t->series;
    const double *y = t->y + c * t->n;
    double m = 0.0;
    memset(t->G, 0, (size_t)(p * p) * sizeof *t->G);
    memset(t->b, 0, (size_t)p * sizeof *t->b);
    for (int64_t i = 0; i < t->n; i++) {
        if (!known[i]) continue;
        m += 1.0;
        for (int64_t a = 0; a < p; a++) {
            const double za = a == c ? 1.0 : t->z[a * t->n + i];
            t->b[a] += za * y[i];
            for (int64_t d = 0; d <= a; d++)
                t->G[a * p + d] += za * (d == c ? 1.0 : t->z[d * t->n + i]);
        }
    }
    for (int64_t a = 0; a < p; a++) t->G[a * p + a] += (a == c ? 1e-9 : RIDGE) * m;
    if (m < 3.0 * (double)p || !cholesky(p, t->G)) return false;
    for (int64_t a = 0; a < p; a++) { /* L, then L^T */
        for (int64_t d = 0; d < a; d++) t->b[a] -= t->G[a * p + d] * t->b[d];
        t->b[a] /= t->G[a * p + a];
    }
    for (int64_t a = p - 1; a >= 0; a--) {
        for (int64_t d = a + 1; d < p; d++) t->b[a] -= t->G[d * p + a] * t->b[d];
        t->b[a] /= t->G[a * p + a];
    }
    return true;
}

/* out [n]: series c by the others in z, and what they leave as a line; x where they cannot tell. */
static csrec_status fill_by_others(table *t, const uint8_t *known, int64_t c, const double *x,
                                   double *out) {
    memcpy(out, x, (size_t)t->n * sizeof *out);
    if (!regress(t, known, c)) return CSREC_OK;
    for (int64_t i = 0; i < t->n; i++) {
        double sum = t->b[c];
        for (int64_t a = 0; a < t->series; a++)
            if (a != c) sum += t->b[a] * t->z[a * t->n + i];
        out[i] = sum;
        t->rest[i] = t->y[c * t->n + i] - sum;
    }
    double *line = t->rest + t->n;
    csrec_status status = fill_line(t, known, t->rest, QUICK, line);
    for (int64_t i = 0; i < t->n && !status; i++) out[i] += line[i];
    return status;
}

/* The samples that lie in the holes, moved along the series; of few samples a part of them, by
 * whole rows. */
static void leave_out(const table *t, const uint8_t *known, int fold, double share, uint8_t *kept) {
    const uint64_t draw = csrec_random_u64(t->seed, CSREC_STREAM_NEXT, (uint64_t)fold);
    const int64_t by = 1 + (int64_t)csrec_random_below(draw, (uint64_t)t->n - 1);
    for (int64_t i = 0; i < t->n; i++) {
        const uint64_t word = csrec_random_u64(t->seed, CSREC_STREAM_NEXT, (uint64_t)(FOLDS + i));
        const bool out = (double)(word >> 11) * 0x1p-53 < share;
        for (int64_t c = 0; c < t->series; c++) {
            const uint8_t *of = known + c * t->n;
            kept[c * t->n + i] = of[i] && (of[(i + by) % t->n] || !out);
        }
    }
}

/* error [2 series]: sums of the absolute errors of both ways at the samples left out; left
 * [series]. */
static csrec_status try_fold(table *t, const uint8_t *known, const uint8_t *kept, double *x,
                             double *out, double *error, int64_t *left) {
    csrec_status status = fill_lines(t, kept, QUICK, x);
    if (!status) standardise(t, x);
    for (int64_t c = 0; c < t->series && !status; c++) {
        const int64_t at = c * t->n;
        status = fill_by_others(t, kept + at, c, x + at, out);
        for (int64_t i = 0; i < t->n && !status; i++) {
            if (!known[at + i] || kept[at + i]) continue;
            error[2 * c] += fabs(x[at + i] - t->y[at + i]);
            error[2 * c + 1] += fabs(out[i] - t->y[at + i]);
            left[c]++;
        }
    }
    return status;
}

static csrec_status blend(table *t, const uint8_t *known, const double *error, const int64_t *left,
                          double *x, double *out) {
    csrec_status status = CSREC_OK;
    standardise(t, x);
    for (int64_t c = 0; c < t->series && !status; c++) {
        const double line = error[2 * c], others = error[2 * c + 1];
        if (left[c] < LEFT_LEAST || !(others < 1.5 * line)) continue;
        /* A tenth for the plainer way. */
        const double share = 1.0 / (1.0 + pow(1.1 * others / line, 12.0));
        status = fill_by_others(t, known + c * t->n, c, x + c * t->n, out);
        for (int64_t i = 0; i < t->n && !status; i++)
            x[c * t->n + i] += share * (out[i] - x[c * t->n + i]);
    }
    return status;
}

csrec_status csrec_table_fill(int64_t n, int64_t series, const uint8_t *known, const double *y,
                              int ways, uint64_t seed, double *x) {
    table t = {.n = n, .series = series, .y = y, .seed = seed};
    double *error, *out, *tried;
    int64_t *left, samples = 0;
    uint8_t *kept;
    const int64_t size = n * series, p = series <= OTHERS_MOST ? series : 0;
    for (int64_t i = 0; i < size; i++) samples += known[i];
    const double missing = 1.0 - (double)samples / (double)size;
    CSREC_TAKE(&t.pool, t.at, n);
    CSREC_TAKE(&t.pool, t.v, n);
    CSREC_TAKE(&t.pool, t.z, p * n + 1);
    CSREC_TAKE(&t.pool, t.G, p * p + 1);
    CSREC_TAKE(&t.pool, t.b, p + 1);
    CSREC_TAKE(&t.pool, t.rest, 2 * n);
    CSREC_TAKE(&t.pool, out, n);
    CSREC_TAKE(&t.pool, tried, p * n + 1);
    CSREC_TAKE(&t.pool, kept, p * n + 1);
    CSREC_ZEROS(&t.pool, error, 2 * series);
    CSREC_ZEROS(&t.pool, left, series);
    csrec_status status = t.pool.lacks ? CSREC_MEMORY : fill_lines(&t, known, ways, x);
    const bool asks = p > 1 && n > 1 && samples < size;
    for (int f = 0; f < FOLDS && asks && !status; f++) {
        leave_out(&t, known, f, fmin(1.0, 0.3 / missing), kept);
        memcpy(tried, x, (size_t)size * sizeof *tried);
        status = try_fold(&t, known, kept, tried, out, error, left);
    }
    if (asks && !status) status = blend(&t, known, error, left, x, out);
    csrec_pool_clear(&t.pool);
    return status;
}
