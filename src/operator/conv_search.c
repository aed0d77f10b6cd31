/* SPDX-License-Identifier: BSD-3-Clause */
/* conv_search.c - Matching Pursuit on a convolutional dictionary: an atom changes the correlations
 * of its neighbours only, and the largest is kept in a tree over the places (as MPTK does for
 * time-frequency atoms: Krstulovic and Gribonval 2006).
 *
 * The atom (k, p) taken out by t changes r at the samples under it, e_i = -t d_k[i - corner], and
 * with that <a, r> of every atom a that meets one of them, by a's entry there times e_i. The
 * correlations of a place are adjacent, filter fastest, so a sample adds e_i times the entries of
 * all filters at once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "haar/tree.h"
#include "operator/devices.h"

/* Changes of r under the picked atom: entry of the signal and amount. */
typedef struct change {
    int64_t at[3];
    double by;
} change;

typedef struct search {
    csrec_pool pool; /* first */
    const csrec_operator *A;
    const csrec_conv_dictionary *d;
    const csrec_conv_simd *simd;
    bool reference;
    bool *sampled;        /* [entries] */
    double *r;            /* [entries], 0 where not sampled */
    double *filters;      /* [size][K] */
    double *c, *weight;   /* [places][K] correlations; 1 / norm, 0 for no column */
    double *best;         /* [places] largest |c| weight */
    int64_t leaves;       /* a power of two */
    int64_t *tree;        /* [2 leaves] place of the largest below; -1: none */
    double *x;            /* [n], as A has it */
    change *changes;      /* [size] */
    double *dense;        /* [n] reference: correlations as A has them */
    double energy, exact; /* ||r||^2, and when it was last summed exactly */
    int64_t taken;
} search;

static csrec_status conv_search_allocate(search *s) {
    const int64_t n = s->A->n, size = s->d->size, entries = s->d->mask.entries;
    for (s->leaves = 1; s->leaves < s->d->places;) s->leaves *= 2;
    CSREC_ZEROS(&s->pool, s->sampled, entries);
    CSREC_TAKE(&s->pool, s->r, entries);
    CSREC_TAKE(&s->pool, s->filters, size * s->d->conv.channels_out);
    CSREC_TAKE(&s->pool, s->c, n);
    CSREC_TAKE(&s->pool, s->weight, n);
    CSREC_TAKE(&s->pool, s->best, s->d->places);
    CSREC_TAKE(&s->pool, s->tree, 2 * s->leaves);
    CSREC_ZEROS(&s->pool, s->x, n);
    CSREC_TAKE(&s->pool, s->changes, size);
    CSREC_TAKE(&s->pool, s->dense, n);
    return csrec_pool_status(&s->pool);
}

/* to[b][a] = from[a][b]. */
static void transpose(int64_t rows, int64_t columns, const double *from, double *to) {
    for (int64_t b = 0; b < columns; b++)
        for (int64_t a = 0; a < rows; a++) to[b * rows + a] = from[a * columns + b];
}

/* ---- the tree: the larger value, or the lower place if equal */

static int64_t larger(const search *s, int64_t a, int64_t b) {
    if (b < 0) return a;
    return a < 0 || s->best[b] > s->best[a] ? b : a;
}

static void raise(search *s, int64_t node) {
    s->tree[node] = larger(s, s->tree[2 * node], s->tree[2 * node + 1]);
}

static void weigh_place(search *s, int64_t p) {
    int64_t K = s->d->conv.channels_out;
    s->best[p] = s->simd->peak_f64(K, s->c + p * K, s->weight + p * K);
}

static void build(search *s) {
    for (int64_t p = 0; p < s->leaves; p++) {
        if (p < s->d->places) weigh_place(s, p);
        s->tree[s->leaves + p] = p < s->d->places ? p : -1;
    }
    for (int64_t node = s->leaves - 1; node > 0; node--) raise(s, node);
}

/* All correlations of r. */
static csrec_status conv_search_correlate(search *s, const double *y) {
    csrec_status status = s->A->type->adjoint(s->A, y, s->dense);
    if (!status) transpose(s->d->conv.channels_out, s->d->places, s->dense, s->c);
    return status;
}

static csrec_status conv_search_start(search *s, const double *y) {
    const csrec_mask *mask = &s->d->mask;
    csrec_mask_scatter(mask, y, s->r);
    for (int64_t k = 0; k < mask->m; k++) {
        s->sampled[mask->index[k]] = true;
        s->energy += y[k] * y[k];
    }
    s->exact = s->energy;
    transpose(s->d->conv.channels_out, s->d->size, s->d->filters, s->filters);
    transpose(s->d->conv.channels_out, s->d->places, s->d->norms, s->weight);
    for (int64_t j = 0; j < s->A->n; j++)
        s->weight[j] = s->weight[j] > 0.0 ? 1.0 / s->weight[j] : 0.0;
    csrec_status status = conv_search_correlate(s, y);
    if (!status) build(s);
    return status;
}

static csrec_status conv_search_create(const csrec_operator *A, bool reference, const double *y,
                                       void **state) {
    search *s = csrec_pool_create(sizeof *s);
    if (!s) return CSREC_MEMORY;
    s->A = A;
    s->d = csrec_conv_dictionary_of(A);
    s->simd = csrec_conv_simd_choose();
    s->reference = reference;
    csrec_status status = conv_search_allocate(s);
    if (!status) status = conv_search_start(s, y);
    return CSREC_SETTLE(status, csrec_pool_destroy(s), *state = s);
}

static double select_atom(void *state) {
    const search *s = state;
    return s->best[s->tree[1]];
}

/* The first filter if several are equal. */
static int64_t filter_of(const search *s, int64_t p) {
    int64_t K = s->d->conv.channels_out, best = 0;
    const double *c = s->c + p * K, *w = s->weight + p * K;
    for (int64_t k = 1; k < K; k++)
        if (fabs(c[k]) * w[k] > fabs(c[best]) * w[best]) best = k;
    return best;
}

/* Changes of r if the atom is subtracted `step` times; *gain is their effect on ||r||^2. */
static int64_t list_changes(search *s, int64_t k, const int64_t corner[3], double step,
                            double *gain) {
    const csrec_conv *conv = &s->d->conv;
    const double *filter = s->d->filters + k * s->d->size;
    int64_t count = 0;
    *gain = 0.0;
    for (int64_t u = 0; u < s->d->size; u++) {
        change e = {{corner[0] + u / conv->kernel[2] / conv->kernel[1],
                     corner[1] + u / conv->kernel[2] % conv->kernel[1],
                     corner[2] + u % conv->kernel[2]},
                    -step * filter[u]};
        bool inside = true;
        for (int a = 0; a < 3; a++) inside = inside && e.at[a] >= 0 && e.at[a] < conv->size[a];
        int64_t i = (e.at[0] * conv->size[1] + e.at[1]) * conv->size[2] + e.at[2];
        if (!inside || !s->sampled[i]) continue;
        double next = s->r[i] + e.by;
        *gain += s->r[i] * s->r[i] - next * next;
        s->changes[count++] = e;
    }
    return count;
}

static void change_residual(search *s, int64_t count) {
    const int64_t *size = s->d->conv.size;
    for (int64_t i = 0; i < count; i++) {
        const change *e = &s->changes[i];
        s->r[(e->at[0] * size[1] + e->at[1]) * size[2] + e->at[2]] += e->by;
    }
}

/* Place q = entry - u + h - 1 of the atoms that have entry u of their filter at a change. */
static void change_place(search *s, const int64_t q[3], int64_t count) {
    const csrec_conv *conv = &s->d->conv;
    int64_t K = conv->channels_out, place = (q[0] * conv->out[1] + q[1]) * conv->out[2] + q[2];
    for (int64_t i = 0; i < count; i++) {
        const change *e = &s->changes[i];
        int64_t u[3];
        bool meets = true;
        for (int a = 0; a < 3; a++) {
            u[a] = e->at[a] - q[a] + conv->kernel[a] - 1;
            meets = meets && u[a] >= 0 && u[a] < conv->kernel[a];
        }
        if (!meets) continue;
        int64_t entry = (u[0] * conv->kernel[1] + u[1]) * conv->kernel[2] + u[2];
        s->simd->axpy_f64(K, e->by, s->filters + entry * K, s->c + place * K);
    }
    weigh_place(s, place);
}

/* Nodes above leaves low .. high, level by level. */
static void raise_all(search *s, int64_t low, int64_t high) {
    for (low = (low + s->leaves) / 2, high = (high + s->leaves) / 2; low > 0; low /= 2, high /= 2)
        for (int64_t node = low; node <= high; node++) raise(s, node);
}

/* The places whose atoms overlap an atom with this corner: h - 1 before and after on each axis. */
static void change_neighbours(search *s, const int64_t corner[3], int64_t count) {
    const csrec_conv *conv = &s->d->conv;
    int64_t low[3], high[3], q[3];
    for (int a = 0; a < 3; a++) {
        low[a] = corner[a] > 0 ? corner[a] : 0;
        high[a] = corner[a] + 2 * (conv->kernel[a] - 1);
        if (high[a] > conv->out[a] - 1) high[a] = conv->out[a] - 1;
    }
    for (q[0] = low[0]; q[0] <= high[0]; q[0]++)
        for (q[1] = low[1]; q[1] <= high[1]; q[1]++) {
            for (q[2] = low[2]; q[2] <= high[2]; q[2]++) change_place(s, q, count);
            int64_t line = (q[0] * conv->out[1] + q[1]) * conv->out[2];
            raise_all(s, line + low[2], line + high[2]);
        }
}

/* The reference recomputes all correlations from r. */
static void recompute(search *s) {
    double *y = malloc((size_t)s->A->m * sizeof *y);
    if (!y) return;
    csrec_mask_gather(&s->d->mask, s->r, y);
    if (!conv_search_correlate(s, y)) build(s);
    free(y);
}

/* Rounding accumulates in the energy, to about 1e-16 of its first value, so it is summed again
 * before that matters. */
static void note_energy(search *s, double gain) {
    s->energy -= gain;
    if (++s->taken % 1024 != 0 && s->energy > 1e-4 * s->exact) return;
    s->energy = 0.0;
    for (int64_t k = 0; k < s->d->mask.m; k++) {
        double r = s->r[s->d->mask.index[k]];
        s->energy += r * r;
    }
    s->exact = s->energy;
}

static bool conv_search_update(void *state) {
    search *s = state;
    int64_t K = s->d->conv.channels_out, p = s->tree[1], k = filter_of(s, p), corner[3];
    double weight = s->weight[p * K + k], step = s->c[p * K + k] * weight * weight, gain;
    csrec_conv_corner(s->d, p, corner);
    int64_t count = list_changes(s, k, corner, step, &gain);
    if (!(gain > 0.0)) return false;
    change_residual(s, count);
    note_energy(s, gain);
    s->x[k * s->d->places + p] += step;
    if (s->reference)
        recompute(s);
    else
        change_neighbours(s, corner, count);
    return true;
}

static double conv_search_energy(const void *state) {
    const search *s = state;
    return s->energy > 0.0 ? s->energy : 0.0;
}

static csrec_status conv_search_result(const void *state, csrec_atoms *atoms, double *r) {
    const search *s = state;
    if (r) csrec_mask_gather(&s->d->mask, s->r, r);
    return atoms ? csrec_atoms_from_dense(s->A->n, s->x, atoms) : CSREC_OK;
}

const csrec_atom_search csrec_conv_search = {conv_search_create, csrec_pool_destroy,
                                             select_atom,        conv_search_update,
                                             conv_search_energy, conv_search_result};
