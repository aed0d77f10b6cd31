/* SPDX-License-Identifier: BSD-3-Clause */
/* inverse.c - (A A^T + share I)^-1 by the eigenvectors of its blocks, and the share at which a
 * misfit has the length that is asked for. */
#include "method/inverse.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/unit.h"
#include "base/eigen.h"

/* gram.values: rows are eigenvectors. */
struct csrec_inverse {
    csrec_gram gram;
    double *d;         /* [kinds][size] eigenvalues; 0: A cannot reach that direction */
    double *one, *all; /* [A->m] of a channel, [y_values] */
};

/* Of the largest eigenvalue: what is below is rounding. */
static double rounding(const csrec_inverse *t, const double *d) {
    return 8.0 * DBL_EPSILON * t->gram.size * d[0];
}

static csrec_status decompose(csrec_inverse *t, double *V, csrec_error *error) {
    const int n = t->gram.size;
    const size_t square = (size_t)n * (size_t)n;
    csrec_status status = CSREC_OK;
    for (int k = 0; k < t->gram.kinds && !status; k++) {
        double *d = t->d + (size_t)k * (size_t)n, *own = t->gram.values + (size_t)k * square;
        status = csrec_eigen_largest(n, own, n, d, V, error);
        if (status) break;
        memcpy(own, V, square * sizeof *V);
        for (int i = n - 1; i >= 0; i--)
            if (!(d[i] > rounding(t, d))) d[i] = 0.0;
    }
    return status;
}

csrec_status csrec_inverse_create(csrec_measured *m, csrec_error *error) {
    if (m->tight || !m->A->row->gram) return CSREC_OK;
    csrec_pool rooms = {0};
    double *V = NULL;
    csrec_inverse *t;
    CSREC_ZEROS(&m->pool, t, 1);
    csrec_status status = t ? m->A->row->gram(m->A, &m->pool, &t->gram) : CSREC_MEMORY;
    if (status == CSREC_UNSUPPORTED) return CSREC_OK;
    if (!status) {
        const size_t n = (size_t)t->gram.size;
        CSREC_TAKE(&m->pool, t->d, (size_t)t->gram.kinds * n);
        CSREC_TAKE(&m->pool, t->one, m->A->m);
        CSREC_TAKE(&m->pool, t->all, m->y_values);
        CSREC_TAKE(&rooms, V, n * n);
        status = m->pool.lacks || rooms.lacks ? CSREC_MEMORY : decompose(t, V, error);
    }
    csrec_pool_clear(&rooms);
    if (status == CSREC_MEMORY) return csrec_fail(error, status, "operator: out of memory");
    if (!status) m->inverse = t;
    return status;
}

/* Blocks of a channel, from -> to: with eigenvectors as rows, or as columns. */
static void turn_channel(const csrec_gram *g, bool back, const double *from, double *to) {
    const int n = g->size;
    const size_t square = (size_t)n * (size_t)n;
    for (int64_t b = 0, end; b < g->blocks; b = end) { /* those of one kind at once */
        for (end = b + 1; end < g->blocks && g->kind[end] == g->kind[b]; end++) continue;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, back ? CblasNoTrans : CblasTrans, (int)(end - b),
                    n, n, 1.0, from + b * n, n, g->values + (size_t)g->kind[b] * square, n, 0.0,
                    to + b * n, n);
    }
}

/* to = U^T from, or U from; they may be one array. */
static csrec_status turn(const csrec_measured *m, bool back, const double *from, double *to) {
    const csrec_inverse *t = m->inverse;
    const int64_t channels = m->m->channels;
    if (!csrec_blas_begin(1)) return CSREC_MEMORY;
    for (int64_t c = 0; c < channels; c++) {
        csrec_channel_take(m->A->m, channels, c, 1, from, m->to);
        turn_channel(&t->gram, back, m->to, t->one);
        for (int64_t i = 0; i < m->A->m; i++) to[i * channels + c] = t->one[i];
    }
    csrec_blas_end(1);
    return CSREC_OK;
}

/* Of value i of y. */
static double eigenvalue(const csrec_measured *m, int64_t i) {
    const csrec_gram *g = &m->inverse->gram;
    const int64_t row = i / m->m->channels;
    return m->inverse->d[g->kind[row / g->size] * g->size + row % g->size];
}

csrec_status csrec_inverse_apply(const csrec_measured *m, double share, double *r) {
    double *all = m->inverse->all;
    csrec_status status = turn(m, false, r, all);
    for (int64_t i = 0; i < m->y_values && !status; i++) {
        const double d = eigenvalue(m, i);
        all[i] = d > 0.0 ? all[i] / (d + share) : 0.0;
    }
    return status ? status : turn(m, true, all, r);
}

/* Newton's steps at most; from the left they never pass the root, and end in about five. */
enum { NEWTON = 60 };

/* What is left of the misfit with share 1 / t is ||rho / (1 + t d)||, which falls in t. Its inverse
 * is concave and nearly a line, so Newton's method finds where it is 1 / eps (Conn, Gould and Toint
 * 2000, section 7.3.1). Returns the share; 0: none is small enough. */
static double find_share(const csrec_measured *m, const double *rho, double eps) {
    double t = 0.0, beyond = 0.0;
    for (int64_t i = 0; i < m->y_values; i++)
        if (eigenvalue(m, i) == 0.0) beyond += rho[i] * rho[i];
    if (!(eps * eps > beyond)) return 0.0;
    for (int k = 0; k < NEWTON; k++) {
        double square = 0.0, slope = 0.0;
        for (int64_t i = 0; i < m->y_values; i++) {
            const double d = eigenvalue(m, i), left = rho[i] / (1.0 + t * d);
            square += left * left;
            slope += left * left * d / (1.0 + t * d);
        }
        const double length = sqrt(square);
        if (!(length > eps * (1.0 + 1e-10)) || !(slope > 0.0)) break;
        t += (length / eps - 1.0) * square / slope;
    }
    return t > 0.0 ? 1.0 / t : INFINITY;
}

csrec_status csrec_inverse_meet(const csrec_measured *m, double *r) {
    double *rho = m->inverse->all;
    if (m->eps == 0.0) return csrec_inverse_apply(m, 0.0, r);
    csrec_status status = turn(m, false, r, rho);
    const double share = status ? 0.0 : find_share(m, rho, m->eps);
    return status ? status : csrec_inverse_apply(m, share, r);
}
