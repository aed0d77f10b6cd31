/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.c - an operator with its columns divided by weights. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "solver/support.h"

struct csrec_weighted {
    csrec_operator A; /* first */
    csrec_operator_type type;
    csrec_column_access access;
    const csrec_operator *base;
    void *state;              /* of the base's access */
    double *weight, *scratch; /* [n] of the columns, the weights in their unit */
    const double *weights;    /* of the entries, as given */
};

/* The weight of a column that stays 0. */
#define HEAVY 0x1p1000

static csrec_weighted *of(const csrec_operator *A) {
    return A->data;
}

/* v / w in scratch. */
static const double *divide(const csrec_operator *A, const double *v) {
    csrec_weighted *o = of(A);
    for (int64_t j = 0; j < A->n; j++) o->scratch[j] = v[j] / o->weight[j];
    return o->scratch;
}

static csrec_status weighted_forward(const csrec_operator *A, const double *x, double *y) {
    return of(A)->base->type->forward(of(A)->base, divide(A, x), y);
}

static csrec_status weighted_adjoint(const csrec_operator *A, const double *y, double *x) {
    csrec_status status = of(A)->base->type->adjoint(of(A)->base, y, x);
    for (int64_t j = 0; j < A->n && !status; j++) x[j] /= of(A)->weight[j];
    return status;
}

static csrec_status weighted_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                        const double *y, double *x) {
    csrec_status status = of(A)->base->type->adjoint_on(of(A)->base, count, chosen, y, x);
    for (int64_t i = 0; i < count * A->n && !status; i++) x[i] /= of(A)->weight[i % A->n];
    return status;
}

static csrec_status weighted_norms(const csrec_operator *A, double *norms) {
    csrec_status status = csrec_operator_column_norms(of(A)->base, norms);
    for (int64_t j = 0; j < A->n && !status; j++) norms[j] /= of(A)->weight[j];
    return status;
}

static csrec_status weighted_fit(const csrec_operator *A, const bool *chosen, const double *y,
                                 double *x, double *r) {
    csrec_status status = of(A)->base->type->fit(of(A)->base, chosen, y, x, r);
    for (int64_t j = 0; j < A->n && !status; j++) x[j] *= of(A)->weight[j];
    return status;
}

static bool weighted_explain(const csrec_operator *A, csrec_error *error) {
    return csrec_operator_explain(of(A)->base, error);
}

/* The state is the weighted operator itself: it serves one run. */
static csrec_status access_create(const csrec_operator *A, void **state) {
    *state = of(A);
    return of(A)->state ? CSREC_OK : of(A)->base->type->access->create(of(A)->base, &of(A)->state);
}

static void access_destroy(void *state) {
    csrec_weighted *o = state;
    if (o->state) o->base->type->access->destroy(o->state);
    o->state = NULL;
}

static void access_bounds(void *state, const double *r, double *upper) {
    const csrec_weighted *o = state;
    o->base->type->access->bounds(o->state, r, upper);
    for (int64_t j = 0; j < o->A.n; j++) upper[j] = upper[j] / o->weight[j] * (1.0 + 0x1p-50);
}

static double access_product(const void *state, int64_t j, const double *r) {
    const csrec_weighted *o = state;
    return o->base->type->access->product(o->state, j, r) / o->weight[j];
}

static void access_gram(const void *state, int64_t first, int64_t size, const int64_t *list,
                        int64_t stride, double *G) {
    const csrec_weighted *o = state;
    o->base->type->access->gram(o->state, first, size, list, stride, G);
    for (int64_t i = first; i < size; i++)
        for (int64_t k = 0; k <= i; k++)
            G[i * stride + k] = G[k * stride + i] =
                G[i * stride + k] / o->weight[list[i]] / o->weight[list[k]];
}

static void access_subtract(const void *state, int64_t size, const int64_t *list, const double *w,
                            double *r) {
    const csrec_weighted *o = state;
    for (int64_t k = 0; k < size; k++) o->scratch[k] = w[k] / o->weight[list[k]];
    o->base->type->access->subtract(o->state, size, list, o->scratch, r);
}

/* The functions that the base has. */
static void set_type(csrec_weighted *o) {
    const csrec_operator_type *base = o->base->type;
    o->access = (csrec_column_access){access_create,  access_destroy, access_bounds,
                                      access_product, access_gram,    access_subtract};
    o->type =
        (csrec_operator_type){.name = base->name,
                              .brief = base->brief,
                              .forward = weighted_forward,
                              .adjoint = weighted_adjoint,
                              .adjoint_on = base->adjoint_on ? weighted_adjoint_on : NULL,
                              .column_norms = o->base->row->column_norms ? weighted_norms : NULL,
                              .fit = base->fit ? weighted_fit : NULL,
                              .explain = weighted_explain,
                              .access = base->access ? &o->access : NULL};
}

/* The unit of the least, so that no column grows. */
static double unit_of_weights(int64_t n, const double *weights) {
    double least = weights[0];
    for (int64_t j = 1; j < n; j++) least = fmin(least, weights[j]);
    return csrec_unit_of(least);
}

csrec_status csrec_weighted_create(const csrec_operator *A, const double *weights,
                                   csrec_weighted **weighted) {
    csrec_weighted *o = calloc(1, sizeof *o);
    *weighted = o;
    if (!o) return CSREC_MEMORY;
    o->A = *A;
    o->A.pool = (csrec_pool){0};
    CSREC_TAKE(&o->A.pool, o->weight, A->n);
    CSREC_TAKE(&o->A.pool, o->scratch, A->n);
    if (csrec_pool_status(&o->A.pool)) return CSREC_MEMORY;
    const double unit = unit_of_weights(A->n / A->parts, weights);
    for (int64_t j = 0; j < A->n; j++) o->weight[j] = fmin(weights[j / A->parts] / unit, HEAVY);
    o->base = A;
    o->weights = weights;
    set_type(o);
    o->A.type = o->A.row = &o->type;
    o->A.owned = false;
    o->A.state = NULL;
    o->A.norm = 0.0;
    o->A.exponent -= ilogb(unit);
    o->A.data = o;
    return CSREC_OK;
}

void csrec_weighted_destroy(csrec_weighted *weighted) {
    if (!weighted) return;
    csrec_pool_clear(&weighted->A.pool);
    free(weighted);
}

const csrec_operator *csrec_weighted_operator(const csrec_weighted *weighted) {
    return &weighted->A;
}

void csrec_weighted_apply(const csrec_weighted *weighted, csrec_atoms *atoms) {
    const int64_t n = weighted->A.n, parts = weighted->A.parts;
    for (int64_t i = 0; i < atoms->n; i++) {
        if (atoms->column[i] >= (uint64_t)n) continue;
        const double z =
            atoms->coefficient[i] * weighted->weights[(int64_t)atoms->column[i] / parts];
        atoms->coefficient[i] = fmax(-DBL_MAX, fmin(DBL_MAX, z));
    }
}

bool csrec_weighted_undo(const csrec_weighted *weighted, csrec_atoms *atoms) {
    bool finite = true;
    for (int64_t i = 0; i < atoms->n; i++) {
        atoms->coefficient[i] /= weighted->weights[(int64_t)atoms->column[i] / weighted->A.parts];
        finite = finite && isfinite(atoms->coefficient[i]);
    }
    return finite;
}

csrec_status csrec_weights_check(const csrec_solver_type *type, const csrec_operator *A,
                                 const double *weights, csrec_error *error) {
    if (!weights) return CSREC_OK;
    if (!type->weighted)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "weights: solver %s minimises no l1 norm; use fista or bpdn", type->name);
    for (int64_t j = 0; j < A->n / A->parts; j++)
        if (!(weights[j] > 0.0) || !isfinite(weights[j]))
            return csrec_fail(error, CSREC_ARGUMENT, "weights[%lld] = %g; must be above 0",
                              (long long)j, weights[j]);
    return CSREC_OK;
}

/* ---- lengths of columns, exact or estimated, and the pick of the best column by them. */

/* Entries up to which all lengths are measured; probes for estimates that are compared, at first
 * and at most, and for others. */
enum { FEW = 1024, PROBES = 128, PROBES_MOST = 512, PROBES_ROUGH = 12, PROBES_ROUNDING = 6 };

/* chi^2_T exceeds T times the square of this with a probability of 10^-12 (Wilson and Hilferty
 * 1931): 1.47 for 128. */
static double slack_of(int probes) {
    const double share = 2.0 / (9.0 * probes);
    return pow(1.0 - share + 7.034 * sqrt(share), 1.5);
}

/* Columns that are shorter, as a share of the longest, may be rounding even of floats. */
#define LENGTHS_SHORT 0x1p-12

static bool stops(const csrec_lengths *l) {
    return l->run && csrec_run_stops(l->run);
}

static void set_norm(csrec_lengths *l, int64_t j, double norm) {
    for (int64_t p = 0; p < l->A->parts; p++) l->norms[j + p] = norm;
}

/* As csrec_operator_column_norms, but it can be stopped. */
static csrec_status measure_all(csrec_lengths *l) {
    for (int64_t j = 0; j < l->A->n; j += l->A->parts) {
        CSREC_TRY(stops(l) ? CSREC_STOPPED : csrec_operator_column(l->A, j, l->column));
        set_norm(l, j, sqrt(csrec_squares(l->A->m, l->column)));
    }
    return CSREC_OK;
}

/* So many more probes, where lengths are not known; norms become the mean of all so far. */
static csrec_status probe(csrec_lengths *l, int probes) {
    const int64_t n = l->A->n, parts = l->A->parts;
    const double share = (double)l->probes / (l->probes + probes), own = 1.0 / (l->probes + probes);
    double *image = malloc((size_t)n * sizeof *image), *sum = calloc((size_t)n, sizeof *sum);
    csrec_status status = image && sum ? CSREC_OK : CSREC_MEMORY;
    for (int t = l->probes; t < l->probes + probes && !status; t++) {
        csrec_random_normals((uint64_t)t, l->A->m, l->column);
        status = stops(l) ? CSREC_STOPPED : l->A->type->adjoint(l->A, l->column, image);
        for (int64_t j = 0; j < n && !status; j++) sum[j] += image[j] * image[j];
    }
    for (int64_t j = 0; j < n && !status; j += parts)
        if (!l->known || !l->known[j])
            set_norm(l, j,
                     sqrt(share * l->norms[j] * l->norms[j] +
                          own * (sum[j] + sum[j + parts - 1]) / 2.0));
    l->probes += status ? 0 : probes;
    free(image);
    free(sum);
    return status;
}

/* noise[j] += the squares by which products of v and of 3 v differ, which only rounding does. */
static csrec_status add_noise(csrec_lengths *l, uint64_t probe, double *images, double *noise) {
    const int64_t n = l->A->n, m = l->A->m;
    csrec_random_normals(PROBES_MOST + probe, m, l->column);
    csrec_status status = stops(l) ? CSREC_STOPPED : l->A->type->adjoint(l->A, l->column, images);
    for (int64_t i = 0; i < m; i++) l->column[i] *= 3.0;
    if (!status) status = l->A->type->adjoint(l->A, l->column, images + n);
    for (int64_t j = 0; j < n && !status; j++) {
        const double off = images[n + j] / 3.0 - images[j];
        noise[j - j % l->A->parts] += off * off / (PROBES_ROUNDING * l->A->parts);
    }
    return status;
}

/* Columns have the length 0 of which rounding leaves less than a third of the digits that those of
 * the longest have: noise_j > ||a_j|| (noise / ||a||)^(1/3). A fit would divide by them. Columns
 * that are short but exact, as those of a matrix, stay. */
static csrec_status drop_hidden(csrec_lengths *l, double most) {
    const int64_t n = l->A->n, parts = l->A->parts;
    double *noise = calloc((size_t)n, sizeof *noise),
           *images = malloc(2 * (size_t)n * sizeof *images);
    csrec_status status = noise && images ? CSREC_OK : CSREC_MEMORY;
    for (int t = 0; t < PROBES_ROUNDING && !status; t++)
        status = add_noise(l, (uint64_t)t, images, noise);
    double loudest = 0.0;
    for (int64_t j = 0; j < n && !status; j += parts) loudest = fmax(loudest, noise[j]);
    const double share = cbrt(sqrt(loudest) / most);
    for (int64_t j = 0; j < n && !status; j += parts)
        if (sqrt(noise[j]) > share * l->norms[j]) set_norm(l, j, 0.0);
    free(noise);
    free(images);
    return status;
}

/* Columns of rounding, as details that a blur removes, have the length 0. */
static csrec_status drop_rounding(csrec_lengths *l) {
    double most = 0.0, least = INFINITY;
    csrec_norms_clean(l->A->n, l->norms);
    for (int64_t j = 0; j < l->A->n; j++) {
        most = fmax(most, l->norms[j]);
        if (l->norms[j] > 0.0) least = fmin(least, l->norms[j]);
    }
    csrec_status status = least < LENGTHS_SHORT * most ? drop_hidden(l, most) : CSREC_OK;
    for (int64_t j = 0; j < l->A->n; j++) {
        l->least = fmax(l->least, 0x1p-44 * l->norms[j]);
        if (l->known) l->known[j] = l->norms[j] == 0.0;
    }
    return status;
}

static csrec_status find(csrec_lengths *l, bool compared, csrec_pool *pool) {
    const csrec_operator *A = l->A;
    /* The row's: a device computes norms that the operator does not know by n products. */
    if (A->row->column_norms) return stops(l) ? CSREC_OK : csrec_operator_column_norms(A, l->norms);
    const bool few = compared && A->n <= FEW * A->parts;
    CSREC_TAKE(pool, l->column, A->m);
    if (compared && !few) CSREC_ZEROS(pool, l->known, A->n);
    if (csrec_pool_status(pool)) return CSREC_MEMORY;
    csrec_status status = few ? measure_all(l) : probe(l, compared ? PROBES : PROBES_ROUGH);
    if (compared && !status) status = drop_rounding(l);
    return status == CSREC_STOPPED ? CSREC_OK : status;
}

csrec_status csrec_lengths_create(const csrec_operator *A, bool compared, csrec_run *run,
                                  csrec_pool *pool, csrec_lengths *lengths) {
    *lengths = (csrec_lengths){.A = A, .run = run};
    return CSREC_ZEROS(pool, lengths->norms, A->n) ? find(lengths, compared, pool) : CSREC_MEMORY;
}

double csrec_lengths_products(bool compared, double n) {
    return !compared ? PROBES_ROUGH : n <= FEW ? n : PROBES;
}

static csrec_status measure(csrec_lengths *l, int64_t j, double *c) {
    CSREC_TRY(stops(l) ? CSREC_STOPPED : csrec_operator_column(l->A, j, l->column));
    const double guessed = l->norms[j];
    double norm = sqrt(csrec_squares(l->A->m, l->column));
    if (norm < l->least) norm = 0.0;
    set_norm(l, j, norm);
    for (int64_t p = 0; p < l->A->parts; p++)
        c[j + p] = norm > 0.0 ? c[j + p] * guessed / norm : 0.0;
    l->known[j] = true;
    l->measured++;
    return CSREC_OK;
}

/* As many probes again where twice as many lengths have been measured: fewer are then. */
static csrec_status sharpen(csrec_lengths *l, double *c) {
    if (2 * l->probes > l->measured || l->probes >= PROBES_MOST) return CSREC_OK;
    for (int64_t j = 0; j < l->A->n; j++) c[j] *= l->norms[j];
    csrec_status status = probe(l, l->probes);
    for (int64_t j = 0; j < l->A->n; j++) c[j] = l->norms[j] > 0.0 ? c[j] / l->norms[j] : 0.0;
    return status;
}

csrec_status csrec_lengths_pick(csrec_lengths *l, const bool *skip, double *c, int64_t *pick,
                                double *size) {
    for (;;) {
        int64_t guess = -1;
        double most = 0.0;
        *pick = -1;
        *size = 0.0;
        for (int64_t j = 0; j < l->A->n; j += l->A->parts) {
            if (skip && skip[j]) continue;
            const double here = csrec_entry_size(l->A->parts, c + j);
            if (!l->known || l->known[j]) {
                if (*pick >= 0 && !(here > *size)) continue;
                *pick = j;
                *size = here;
            } else if (guess < 0 || here > most) {
                guess = j;
                most = here;
            }
        }
        if (guess < 0 || (*pick >= 0 && slack_of(l->probes) * most <= *size)) return CSREC_OK;
        csrec_status status = measure(l, guess, c);
        if (!status) status = sharpen(l, c);
        if (status) return status;
    }
}
