/* SPDX-License-Identifier: BSD-3-Clause */
/* lengths.c - lengths of columns, exact or estimated, and the pick of the best column by them. */
#include "solver/lengths.h"
#include "base/random.h"

#include <stdlib.h>

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
    csrec_status status = CSREC_OK;
    for (int64_t j = 0; j < l->A->n && !status; j += l->A->parts) {
        status = stops(l) ? CSREC_STOPPED : csrec_operator_column(l->A, j, l->column);
        if (!status) set_norm(l, j, sqrt(csrec_squares(l->A->m, l->column)));
    }
    return status;
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
    csrec_status status = stops(l) ? CSREC_STOPPED : csrec_operator_column(l->A, j, l->column);
    if (status) return status;
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
