/* SPDX-License-Identifier: BSD-3-Clause */
/* wavelet.c - separable wavelets of a signal with one to three axes, sampled: x holds the
 * coefficients in the signal's shape, coarse ones first on every axis (Mallat's layout). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operator/wavelet.h"
#include "base/cpu.h"

/* ---- the taps of Haar, CDF 5/3 and CDF 9/7. */

#define CDF97_GAIN 1.230174104914001 /* of s on a constant line, before the scaling */
#define SQRT2      1.4142135623730951

static const csrec_lifting liftings[] = {
    {"haar", 2, {-1.0, 0.0}, {0.0, 0.5}, SQRT2},
    {"cdf53", 2, {-0.5, 0.25}, {-0.5, 0.25}, SQRT2},
    {"cdf97",
     4,
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     {-1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971},
     SQRT2 / CDF97_GAIN},
};

/* The row of the table named kind; NULL: none. */
static const csrec_lifting *lifting_find(const char *kind) {
    for (size_t i = 0; i < sizeof liftings / sizeof *liftings; i++)
        if (kind && strcmp(liftings[i].kind, kind) == 0) return &liftings[i];
    return NULL;
}

enum { LEVELS = CSREC_WAVELET_LEVELS, SQUARES = 16 };

typedef csrec_wavelet wavelet;

/* Levels until every axis has one entry left; fills the regions. */
static int count_levels(wavelet *w) {
    int levels = 0;
    memcpy(w->region[0], w->extent, sizeof w->extent);
    for (int64_t *r = w->region[0]; r[0] > 1 || r[1] > 1 || r[2] > 1; r += 3, levels++)
        for (int a = 0; a < 3; a++) r[3 + a] = (r[a] + 1) / 2;
    return levels;
}

static csrec_status wavelet_create(csrec_operator *A, const csrec_operator_spec *spec,
                                   csrec_error *error) {
    wavelet *w = csrec_operator_data(A, sizeof *w);
    if (!w) return CSREC_MEMORY;
    w->lifting = lifting_find(spec->kind);
    if (!w->lifting)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator wavelet: kind '%s' is none of haar, cdf53, cdf97",
                          spec->kind ? spec->kind : "(none)");
    if (!csrec_mask_extents(spec->shape, w->extent))
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "operator wavelet: needs a shape of 1 to 3 axes");
    CSREC_TRY(csrec_mask_attach(A, spec, &w->mask, error));
    int most = count_levels(w);
    if (spec->levels < 0 || spec->levels > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "operator wavelet: levels = %d; this shape allows 0 (all) to %d",
                          spec->levels, most);
    w->levels = spec->levels ? spec->levels : most;
    A->n = w->mask.entries;
    return CSREC_OK;
}

typedef csrec_lifting_way direction;

/* One level along one axis, all lines of the region: eight at a time if side by side. */
static void transform_axis(const wavelet *w, direction way, int level, int axis, double *v,
                           double *scratch) {
    csrec_lift_fn *lift = CSREC_CPU_CHOOSE(csrec_lift);
    const int64_t *r = w->region[level];
    const int64_t stride[3] = {w->extent[1] * w->extent[2], w->extent[2], 1};
    int p = axis == 0 ? 1 : 0, q = axis == 2 ? 1 : 2; /* the other two axes */
    if (r[axis] < 2) return;
    for (int64_t i = 0; i < r[p]; i++)
        for (int64_t j = 0; j < r[q];) {
            const bool wide = axis != 2 && j + CSREC_LIFTING_WIDE <= r[q];
            lift(w->lifting, way, wide, r[axis], v + i * stride[p] + j * stride[q], stride[axis],
                 scratch);
            j += wide ? CSREC_LIFTING_WIDE : 1;
        }
}

static int64_t longest_of(const wavelet *w) {
    int64_t longest = 1;
    for (int a = 0; a < 3; a++)
        if (w->extent[a] > longest) longest = w->extent[a];
    return longest;
}

/* Entries of scratch: lines side by side are not those of the last axis. */
static int64_t scratch_of(const wavelet *w) {
    int64_t wide = w->extent[0] > w->extent[1] ? w->extent[0] : w->extent[1];
    wide *= CSREC_LIFTING_WIDE;
    return wide > w->extent[2] ? wide : w->extent[2];
}

static csrec_status transform(const wavelet *w, direction way, double *v) {
    double *scratch = malloc((size_t)scratch_of(w) * sizeof *scratch);
    if (!scratch) return CSREC_MEMORY;
    const bool back = way == CSREC_LIFTING_SYNTHESIZE;
    for (int k = 0; k < w->levels; k++)
        for (int a = 0; a < 3; a++)
            transform_axis(w, way, back ? w->levels - 1 - k : k, a, v, scratch);
    free(scratch);
    return CSREC_OK;
}

static csrec_status wavelet_analyze(const csrec_operator *A, const double *signal, double *x) {
    memcpy(x, signal, (size_t)A->n * sizeof *x);
    return transform(A->data, CSREC_LIFTING_ANALYZE, x);
}

static csrec_status wavelet_synthesize(const csrec_operator *A, const double *x, double *signal) {
    memcpy(signal, x, (size_t)A->n * sizeof *x);
    return transform(A->data, CSREC_LIFTING_SYNTHESIZE, signal);
}

static csrec_status wavelet_adjoint(const csrec_operator *A, const double *y, double *x) {
    const wavelet *w = A->data;
    csrec_mask_scatter(&w->mask, y, x);
    return transform(w, CSREC_LIFTING_TRANSPOSE, x);
}

/* ---- column norms
 *
 * A column is a product of one function an axis, so ||a||^2 is the mask summed against the squared
 * functions, axis after axis; each level's functions (s and d alike) are found by synthesis of unit
 * vectors along the axis alone: O(extent^2) an axis and level. */

/* g_j, 0 outside of first .. end - 1. */
typedef struct square {
    const double *g;
    int64_t first, end;
} square;

/* Square of function j of `level` along the axis, in g [extent]. scratch: [extent]. */
static square square_of(const wavelet *w, int axis, int level, int64_t j, double *g,
                        double *scratch) {
    square s = {g, 0, w->extent[axis]};
    memset(g, 0, (size_t)w->extent[axis] * sizeof *g);
    g[j] = 1.0;
    for (int k = level; k >= 0; k--)
        if (w->region[k][axis] > 1) CSREC_CPU_CHOOSE(csrec_lift)
    (w->lifting, CSREC_LIFTING_SYNTHESIZE, false, w->region[k][axis], g, 1, scratch);
    for (int64_t i = 0; i < w->extent[axis]; i++) g[i] *= g[i];
    while (s.first < s.end && g[s.first] == 0.0) s.first++;
    while (s.first < s.end && g[s.end - 1] == 0.0) s.end--;
    return s;
}

/* out[o][j][i] = sum_k g_j[k] in[o][k][i], j < region. A few j at a time: neighbours take the same
 * entries. scratch: [SQUARES + 1][extent]. */
static void sum_axis(const wavelet *w, int axis, int level, const int64_t size[3], const double *in,
                     double *out, double *scratch) {
    int64_t outer = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    int64_t inner = axis == 0 ? size[1] * size[2] : axis == 1 ? size[2] : 1;
    int64_t n = w->extent[axis], rows = w->region[level][axis];
    memset(out, 0, (size_t)(outer * rows * inner) * sizeof *out);
    for (int64_t j = 0; j < rows; j += SQUARES) {
        square s[SQUARES];
        int64_t some = rows - j < SQUARES ? rows - j : SQUARES;
        for (int64_t b = 0; b < some; b++)
            s[b] = square_of(w, axis, level, j + b, scratch + b * n, scratch + SQUARES * n);
        for (int64_t ob = 0; ob < outer * some; ob++) {
            int64_t o = ob / some, b = ob % some;
            double *to = out + (o * rows + j + b) * inner;
            for (int64_t k = s[b].first; k < s[b].end; k++) {
                const double *from = in + (o * n + k) * inner;
                for (int64_t i = 0; i < inner; i++) to[i] += s[b].g[k] * from[i];
            }
        }
    }
}

/* Norms of the coefficients made by one level; its coarse part is overwritten by the next. */
static void level_norms(const wavelet *w, int level, const double *mask, double *a, double *b,
                        double *scratch, double *norms) {
    const int64_t *r = w->region[level], *e = w->extent;
    sum_axis(w, 2, level, (const int64_t[]){e[0], e[1], e[2]}, mask, a, scratch);
    sum_axis(w, 1, level, (const int64_t[]){e[0], e[1], r[2]}, a, b, scratch);
    sum_axis(w, 0, level, (const int64_t[]){e[0], r[1], r[2]}, b, a, scratch);
    for (int64_t i = 0; i < r[0]; i++)
        for (int64_t j = 0; j < r[1]; j++)
            for (int64_t k = 0; k < r[2]; k++)
                norms[(i * e[1] + j) * e[2] + k] = sqrt(a[(i * r[1] + j) * r[2] + k]);
}

static csrec_status wavelet_column_norms(const csrec_operator *A, double *norms) {
    const wavelet *w = A->data;
    double *work = calloc((size_t)(3 * A->n + (SQUARES + 1) * longest_of(w)), sizeof *work);
    if (!work) return CSREC_MEMORY;
    for (int64_t k = 0; k < A->m; k++) work[w->mask.index[k]] = 1.0;
    for (int64_t j = 0; j < A->n; j++) norms[j] = work[j] != 0.0; /* no levels: x is the signal */
    for (int level = 0; level < w->levels; level++)
        level_norms(w, level, work, work + A->n, work + 2 * A->n, work + 3 * A->n, norms);
    csrec_norms_clean(A->n, norms); /* lifting leaves rounding where taps cancel */
    free(work);
    return CSREC_OK;
}

static const csrec_param params[] = {{"kind", 2, 0, 2, "0: haar, 1: cdf53, 2: cdf97"},
                                     {"levels", 0, 0, LEVELS, "levels; 0: as many as fit"},
                                     {0}};

static csrec_operator_need wavelet_need(const csrec_operator_spec *spec) {
    static const double per_step = 5e-9; /* seconds of one thread, an entry */
    int64_t entries = 0;
    csrec_shape_count(spec->shape, &entries);
    double n = (double)entries, lines = (double)spec->shape->dim[spec->shape->dims - 1];
    for (int a = 0; a < spec->shape->dims - 1; a++)
        lines = fmax(lines, CSREC_LIFTING_WIDE * (double)spec->shape->dim[a]);
    return (csrec_operator_need){.n = n,
                                 .product = per_step * n,
                                 .stored = true,
                                 .own = 8.0 * (double)spec->m,
                                 .kept = 8.0 * lines};
}

const csrec_operator_type csrec_operator_wavelet = {
    .name = "wavelet",
    .brief = "lifted wavelets (haar, cdf53, cdf97) of a sampled signal, 1 to 3 axes",
    .params = params,
    .takes = CSREC_TAKES_INDEX,
    .create = wavelet_create,
    .forward = csrec_mask_forward,
    .adjoint = wavelet_adjoint,
    .column_norms = wavelet_column_norms,
    .synthesize = wavelet_synthesize,
    .analyze = wavelet_analyze,
    .need = wavelet_need};
