/* SPDX-License-Identifier: BSD-3-Clause */
/* draw.c - random matrices and sparse signals, each drawn from one key. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const double PI = 3.14159265358979323846;

typedef struct ensemble_row {
    const char *name, *brief;
    /* Entries of a matrix of the rows [m], or of all random entries if `pattern` is none. NULL: of
     * Haar's matrix, for n that are a power of two. */
    void (*fill)(int64_t m, int64_t n, const int64_t *rows, uint64_t key, double *matrix);
    csrec_pattern pattern; /* how m of n rows are chosen */
    bool two_sided;        /* of Haar's matrix: columns of one half are set to 0 */
} ensemble_row;

static void fill_gaussian(int64_t m, int64_t n, const int64_t *rows, uint64_t key, double *matrix) {
    (void)rows;
    double scale = 1.0 / sqrt((double)m);
    for (int64_t i = 0; i < m * n; i++)
        matrix[i] = scale * csrec_random_normal(key, 0, (uint64_t)i);
}

static void fill_bernoulli(int64_t m, int64_t n, const int64_t *rows, uint64_t key,
                           double *matrix) {
    (void)rows;
    double scale = 1.0 / sqrt((double)m);
    for (int64_t i = 0; i < m * n; i++)
        matrix[i] = csrec_random_u64(key, 0, (uint64_t)i / 64) >> (i % 64) & 1 ? scale : -scale;
}

/* Rows of the orthonormal DCT-II, scaled so that columns have about unit length. */
static void fill_dct(int64_t m, int64_t n, const int64_t *rows, uint64_t key, double *matrix) {
    (void)key;
    for (int64_t i = 0; i < m; i++) {
        double scale = sqrt((rows[i] ? 2.0 : 1.0) / (double)m);
        for (int64_t j = 0; j < n; j++) {
            int64_t turn = (2 * j + 1) * rows[i] % (4 * n); /* exact, so large n is as accurate */
            matrix[i * n + j] = scale * cos(PI * (double)turn / (double)(2 * n));
        }
    }
}

/* Haar's matrix (Park 2015): column 2^level + g is 1 on the left and -1 on the right half of group
 * g of span M / 2^level, and column 0 is 1 everywhere. */
static double haar_entry(int levels, uint64_t row, uint64_t column) {
    if (column == 0) return 1.0;
    int level = 0;
    while (column >> (level + 1)) level++;
    uint64_t span = UINT64_C(1) << (levels - level), group = column - (UINT64_C(1) << level);
    if (row / span != group) return 0.0;
    return row % span < span / 2 ? 1.0 : -1.0;
}

/* Entries of a column are n apart; columns have unit length, but for zeros, as are those that have
 * samples in one half only, where two sides are asked for. */
static void haar_column(int levels, int64_t m, int64_t n, const int64_t *rows, uint64_t column,
                        bool two_sided, double *a) {
    int64_t sides[2] = {0, 0};
    for (int64_t i = 0; i < m; i++) {
        a[i * n] = haar_entry(levels, (uint64_t)rows[i], column);
        if (a[i * n] != 0.0) sides[a[i * n] < 0.0]++;
    }
    bool kept =
        sides[0] + sides[1] > 0 && (!two_sided || column == 0 || (sides[0] > 0 && sides[1] > 0));
    double scale = kept ? 1.0 / sqrt((double)(sides[0] + sides[1])) : 0.0;
    for (int64_t i = 0; i < m; i++) a[i * n] *= scale;
}

static void fill_haar(int64_t m, int64_t n, const int64_t *rows, bool two_sided, double *matrix) {
    int levels = 0;
    while (INT64_C(1) << levels < n) levels++;
    for (int64_t j = 0; j < n; j++)
        haar_column(levels, m, n, rows, (uint64_t)j, two_sided, matrix + j);
}

static const ensemble_row ensembles[] = {
    {"gaussian", "independent normal entries", fill_gaussian, CSREC_PATTERN_NONE, false},
    {"bernoulli", "independent signs", fill_bernoulli, CSREC_PATTERN_NONE, false},
    {"dct", "random rows of the cosine transform", fill_dct, CSREC_PATTERN_UNIFORM, false},
    {"haar", "random rows of Haar's matrix, all columns that are not zero (Park 2015)", NULL,
     CSREC_PATTERN_UNIFORM, false},
    {"haar-jitter", "the same of one random row in each of m parts", NULL, CSREC_PATTERN_JITTER,
     false},
    {"haar-two-sided", "haar without columns that have samples in one half only", NULL,
     CSREC_PATTERN_UNIFORM, true}};

enum { ENSEMBLES = sizeof ensembles / sizeof *ensembles };

const char *bench_ensemble_name(int i) {
    return i >= 0 && i < ENSEMBLES ? ensembles[i].name : NULL;
}

const char *bench_ensemble_brief(int i) {
    return i >= 0 && i < ENSEMBLES ? ensembles[i].brief : NULL;
}

const char *bench_ensemble_refusal(int ensemble, int64_t n) {
    return !ensembles[ensemble].fill && (n & (n - 1)) != 0
               ? "Haar's matrix needs a power of two, as 256"
               : NULL;
}

csrec_status bench_matrix_draw(int number, int64_t m, int64_t n, uint64_t key, double *matrix,
                               csrec_error *error) {
    const ensemble_row *e = &ensembles[number];
    csrec_sampling rows = {0};
    csrec_status status = CSREC_OK;
    if (e->pattern != CSREC_PATTERN_NONE)
        status = csrec_sampling_create(&(csrec_shape){1, {n}}, e->pattern, m, key, &rows, error);
    if (status) return status;
    if (e->fill)
        e->fill(m, n, rows.index, key, matrix);
    else
        fill_haar(m, n, rows.index, e->two_sided, matrix);
    csrec_sampling_clear(&rows);
    return CSREC_OK;
}

static double draw_sign(uint64_t key, int64_t i) {
    return csrec_random_u64(key, 2, (uint64_t)i) & 1 ? 1.0 : -1.0;
}

static double draw_gaussian(uint64_t key, int64_t i) {
    return csrec_random_normal(key, 1, (uint64_t)i);
}

static double draw_uniform(uint64_t key, int64_t i) {
    return draw_sign(key, i) * (1.0 + csrec_random_uniform(key, 1, (uint64_t)i));
}

/* Entry i of a compressible signal: sizes fall as a power of their rank (Candes and Tao 2006). */
static double draw_decay(uint64_t key, int64_t i) {
    return draw_sign(key, i) * pow((double)(i + 1), -1.5);
}

static const struct {
    const char *name;
    double (*draw)(uint64_t key, int64_t i);
} amplitudes_table[] = {{"signs", draw_sign},
                        {"gaussian", draw_gaussian},
                        {"uniform", draw_uniform},
                        {"decay", draw_decay}};

const char *bench_amplitudes_name(int i) {
    return i >= 0 && i < (int)(sizeof amplitudes_table / sizeof *amplitudes_table)
               ? amplitudes_table[i].name
               : NULL;
}

/* The columns that are not zero, in `list`; returns their number. */
static int64_t list_columns(int64_t m, int64_t n, const double *matrix, int64_t *list) {
    int64_t count = 0;
    for (int64_t j = 0; j < n; j++) {
        bool some = false;
        for (int64_t i = 0; i < m && !some; i++) some = matrix[i * n + j] != 0.0;
        if (some) list[count++] = j;
    }
    return count;
}

csrec_status bench_signal_draw(int amplitudes, int64_t m, int64_t n, const double *matrix,
                               int64_t k, uint64_t key, double *x) {
    int64_t *list = malloc((size_t)n * sizeof *list);
    if (!list) return CSREC_MEMORY;
    int64_t count = list_columns(m, n, matrix, list);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < k && i < count; i++) { /* Fisher and Yates */
        int64_t left = count - i;
        int64_t at = i + (int64_t)(csrec_random_uniform(key, 0, (uint64_t)i) * (double)left);
        x[list[at]] = amplitudes_table[amplitudes].draw(key, i);
        list[at] = list[i];
    }
    free(list);
    return CSREC_OK;
}

uint64_t bench_key(uint64_t seed, bench_purpose purpose, int64_t m, int64_t k, int64_t number) {
    return csrec_random_u64(seed, (uint64_t)purpose,
                            (uint64_t)m << 40 | (uint64_t)k << 20 | (uint64_t)number);
}
