/* SPDX-License-Identifier: BSD-3-Clause */
/* support.c - the dense x, its residual, the largest entries, least squares on a support. */
#include <math.h>
#include <string.h>

#include "solver/support.h"
#include "base/stop.h"

csrec_status csrec_support_subtract(csrec_support *s) {
    CSREC_TRY(s->A->type->forward(s->A, s->x, s->r));
    for (int64_t i = 0; i < s->A->m; i++) s->r[i] = s->y[i] - s->r[i];
    s->energy = csrec_squares(s->A->m, s->r);
    return CSREC_OK;
}

void csrec_support_zero(csrec_support *s) {
    memset(s->x, 0, (size_t)s->A->n * sizeof *s->x);
    memcpy(s->r, s->y, (size_t)s->A->m * sizeof *s->r);
    s->energy = csrec_squares(s->A->m, s->r);
}

/* The initial x and its r. */
static csrec_status set_out(csrec_run *run, csrec_support *s, csrec_error *error) {
    csrec_support_zero(s);
    csrec_status status = csrec_run_start(run, s->x, error);
    return status || !run->options->start ? status : csrec_support_subtract(s);
}

csrec_status csrec_support_create(csrec_run *run, csrec_support *s, csrec_error *error) {
    const csrec_operator *A = run->A;
    *s = (csrec_support){.run = run, .A = A, .y = run->y};
    double **columns[] = {&s->x, &s->c, &s->g, &s->p}, **rows[] = {&s->r, &s->q};
    for (int i = 0; i < 4; i++) CSREC_ZEROS(&run->pool, *columns[i], A->n);
    for (int i = 0; i < 2; i++) CSREC_ZEROS(&run->pool, *rows[i], A->m);
    CSREC_ZEROS(&run->pool, s->chosen, A->n);
    CSREC_TAKE(&run->pool, s->largest, A->n);
    if (A->parts > 1) CSREC_TAKE(&run->pool, s->sizes, A->n / A->parts);
    csrec_status status = csrec_pool_status(&run->pool);
    if (!status) status = csrec_lengths_create(A, run->type->norms, run, &run->pool, &s->lengths);
    s->norms = s->lengths.norms;
    if (!status) status = set_out(run, s, error);
    if (status && status != CSREC_ARGUMENT)
        csrec_fail(error, status, "solver %s: %s for %lld columns", run->type->name,
                   csrec_status_text(status), (long long)A->n);
    return status;
}

csrec_status csrec_support_forward(const csrec_support *s, const double *x, double *y) {
    return csrec_run_stops(s->run) ? CSREC_STOPPED : s->A->type->forward(s->A, x, y);
}

csrec_status csrec_support_adjoint(const csrec_support *s, const double *y, double *x) {
    return csrec_run_stops(s->run) ? CSREC_STOPPED : s->A->type->adjoint(s->A, y, x);
}

csrec_status csrec_support_correlate(csrec_support *s) {
    csrec_status status = csrec_support_adjoint(s, s->r, s->c);
    for (int64_t j = 0; j < s->A->n && !status; j++)
        s->c[j] = s->norms[j] > 0.0 ? s->c[j] / s->norms[j] : 0.0;
    return status;
}

csrec_status csrec_support_residual(csrec_support *s) {
    return csrec_run_stops(s->run) ? CSREC_STOPPED : csrec_support_subtract(s);
}

/* Larger first, then the smaller index. */
static bool before(const double *v, int64_t a, int64_t b) {
    double x = fabs(v[a]), y = fabs(v[b]);
    return x > y || (x == y && a < b);
}

static void swap(int64_t *a, int64_t *b) {
    int64_t held = *a;
    *a = *b;
    *b = held;
}

/* Hoare's selection: the k first of list [n] in the order of `before` come to its front. */
static void select_first(const double *v, int64_t *list, int64_t n, int64_t k) {
    int64_t low = 0, high = n;
    while (high - low > 1 && k > low && k < high) {
        int64_t middle = low + (high - low) / 2, wall = low;
        if (before(v, list[middle], list[low])) swap(list + middle, list + low);
        if (before(v, list[high - 1], list[low])) swap(list + high - 1, list + low);
        if (before(v, list[middle], list[high - 1])) swap(list + middle, list + high - 1);
        int64_t pivot = list[high - 1]; /* the median of three */
        for (int64_t i = low; i < high - 1; i++)
            if (before(v, list[i], pivot)) swap(list + i, list + wall++);
        swap(list + wall, list + high - 1);
        if (wall < k)
            low = wall + 1;
        else
            high = wall;
    }
}

/* The k largest of v [n], in list [n]. */
static int64_t find_largest(int64_t n, const double *v, int64_t k, int64_t *list) {
    int64_t found = 0;
    for (int64_t j = 0; j < n; j++)
        if (fabs(v[j]) > 0.0) list[found++] = j; /* NaN counts as 0 */
    if (found <= k) return found;
    if (k < 1) return 0;
    select_first(v, list, found, k);
    int64_t last = list[0];
    for (int64_t i = 1; i < k; i++)
        if (before(v, last, list[i])) last = list[i];
    /* One pass over all is less work than sorting the k. */
    found = 0;
    for (int64_t j = 0; j < n; j++)
        if (fabs(v[j]) > 0.0 && !before(v, last, j)) list[found++] = j;
    return found;
}

int64_t csrec_support_largest(csrec_support *s, const double *v, int64_t k) {
    int64_t n = s->A->n, parts = s->A->parts;
    if (csrec_run_stops(s->run)) return 0;
    if (!s->sizes) return find_largest(n, v, k, s->largest);
    for (int64_t j = 0; j < n / parts; j++) s->sizes[j] = csrec_entry_size(parts, v + parts * j);
    int64_t found = find_largest(n / parts, s->sizes, k, s->largest);
    for (int64_t i = found; i-- > 0;) /* from entries to columns, in place */
        for (int64_t p = parts; p-- > 0;) s->largest[parts * i + p] = parts * s->largest[i] + p;
    return parts * found;
}

void csrec_support_prune(csrec_support *s, int64_t k) {
    for (int64_t j = 0; j < s->A->n; j++) s->c[j] = s->x[j] * s->norms[j];
    s->size = csrec_support_largest(s, s->c, k);
    memset(s->chosen, 0, (size_t)s->A->n * sizeof *s->chosen);
    for (int64_t i = 0; i < s->size; i++) s->chosen[s->largest[i]] = true;
    for (int64_t j = 0; j < s->A->n; j++)
        if (!s->chosen[j]) s->x[j] = 0.0;
}

void csrec_support_choose_used(csrec_support *s) {
    int64_t parts = s->A->parts;
    s->size = 0;
    for (int64_t j = 0; j < s->A->n; j += parts) {
        bool used = s->norms[j] > 0.0 && csrec_entry_size(parts, s->x + j) > 0.0;
        for (int64_t p = 0; p < parts; p++) s->chosen[j + p] = used;
        if (used) s->size += parts;
    }
}

/* Where a fit ends: steps, and ||g|| as a share of ||r||. */
static const struct fit_end {
    int64_t steps;
    double share;
} fit_ends[] = {[CSREC_FIT_EXACT] = {1000, 0.0},
                [CSREC_FIT_CLOSE] = {1000, 1e-12},
                [CSREC_FIT_ROUGH] = {200, 1e-6}};

/* The chosen columns, whose entries of g and p come first, and of c, where others are 0. */
static int64_t list_chosen(csrec_support *s) {
    int64_t size = 0;
    for (int64_t j = 0; j < s->A->n; j++) {
        s->c[j] = 0.0;
        if (s->chosen[j] && s->norms[j] > 0.0) s->largest[size++] = j;
    }
    return size;
}

/* The gradient A^T r on the chosen columns, each scaled to unit length: the normal equations are
 * then as well conditioned as the columns allow. */
static csrec_status gradient(csrec_support *s, int64_t size) {
    csrec_status status = csrec_support_adjoint(s, s->r, s->g);
    for (int64_t i = 0; i < size && !status; i++)
        s->g[i] = s->g[s->largest[i]] / s->norms[s->largest[i]];
    return status;
}

/* q = A D p with D the inverse norms; c is D p. */
static csrec_status apply_scaled(csrec_support *s, int64_t size) {
    for (int64_t i = 0; i < size; i++) s->c[s->largest[i]] = s->p[i] / s->norms[s->largest[i]];
    return csrec_support_forward(s, s->c, s->q);
}

static void move_along(csrec_support *s, int64_t size, double alpha) {
    for (int64_t i = 0; i < size; i++) s->x[s->largest[i]] += alpha * s->c[s->largest[i]];
    for (int64_t i = 0; i < s->A->m; i++) s->r[i] -= alpha * s->q[i];
    s->energy = csrec_squares(s->A->m, s->r);
}

/* One step along p; gamma = ||g||^2 before. false: no length is, or r gets longer, where rounding
 * of short columns has made p one that leads nowhere; that step is undone. */
static bool step_along(csrec_support *s, int64_t size, double gamma) {
    const double alpha = gamma / csrec_squares(s->A->m, s->q), before = s->energy;
    if (!isfinite(alpha)) return false;
    move_along(s, size, alpha);
    if (s->energy <= before * (1.0 + 0x1p-30)) return true;
    move_along(s, size, -alpha);
    return false;
}

static csrec_status conjugate_gradients(csrec_support *s, csrec_fit fit) {
    CSREC_TRY(csrec_support_residual(s));
    const int64_t size = list_chosen(s);
    csrec_status status = gradient(s, size);
    memcpy(s->p, s->g, (size_t)size * sizeof *s->p);
    double gamma = csrec_squares(size, s->g), start = csrec_squares(s->A->m, s->y);
    /* Exact arithmetic needs `size` steps; rounding adds some. */
    int64_t most = fit_ends[fit].steps;
    if (most > 4 * s->size + 10) most = 4 * s->size + 10;
    for (int64_t step = 0; step < most && !status; step++) {
        if (gamma <= 0x1p-104 * start) break; /* ||A_S^T r|| below rounding of ||y|| */
        s->rough = fit == CSREC_FIT_ROUGH;
        if (gamma <= fit_ends[fit].share * fit_ends[fit].share * s->energy) break;
        status = apply_scaled(s, size);
        if (status || !step_along(s, size, gamma)) break;
        status = gradient(s, size);
        double now = csrec_squares(size, s->g), beta = now / gamma;
        for (int64_t i = 0; i < size; i++) s->p[i] = s->g[i] + beta * s->p[i];
        gamma = now;
    }
    if (gamma <= 0x1p-104 * start) s->rough = false;
    /* Of large x, as on short columns, r has the rounding of all steps. */
    if (!status && !s->rough) status = csrec_support_residual(s);
    return status == CSREC_STOPPED ? CSREC_OK : status; /* x and r are those of the last step */
}

/* An entry whose share of A x is rounding beside y is 0. */
static void drop_rounding(csrec_support *s) {
    int64_t parts = s->A->parts;
    double least =
        csrec_stop_rounding(&s->run->options->stop, s->A->m) * sqrt(csrec_squares(s->A->m, s->y));
    for (int64_t j = 0; j < s->A->n; j += parts)
        if (csrec_entry_size(parts, s->x + j) * s->norms[j] <= least)
            for (int64_t p = 0; p < parts; p++) s->x[j + p] = 0.0;
}

csrec_status csrec_support_fit(csrec_support *s, csrec_fit fit) {
    for (int64_t j = 0; j < s->A->n; j++)
        if (!s->chosen[j]) s->x[j] = 0.0;
    s->rough = false;
    csrec_status status = s->A->type->fit ? s->A->type->fit(s->A, s->chosen, s->y, s->x, s->r)
                                          : conjugate_gradients(s, fit);
    if (s->A->type->fit) s->energy = csrec_squares(s->A->m, s->r);
    if (!status) drop_rounding(s);
    return status;
}

bool csrec_support_shortens(csrec_support *s, double energy) {
    csrec_status *fault = &s->run->fault;
    *fault = csrec_support_fit(s, CSREC_FIT_ROUGH);
    if (!*fault && s->rough && !(s->energy < energy))
        *fault = csrec_support_fit(s, CSREC_FIT_EXACT);
    return !*fault && s->energy < energy;
}

bool csrec_support_settle(csrec_support *s) {
    const double before = s->energy;
    if (!s->rough || s->run->fault) return false;
    s->run->fault = csrec_support_fit(s, CSREC_FIT_EXACT);
    return !s->run->fault && s->energy < before;
}

double csrec_support_energy(const csrec_run *run) {
    return ((const csrec_support *)run->state)->energy;
}

csrec_status csrec_support_result(const csrec_run *run, csrec_atoms *atoms, double *r) {
    const csrec_support *s = run->state;
    if (r) memcpy(r, s->r, (size_t)s->A->m * sizeof *r);
    return atoms ? csrec_run_atoms(run, s->x, atoms) : CSREC_OK;
}

bool csrec_support_settles(const csrec_run *run) {
    return ((const csrec_support *)run->state)->rough;
}

csrec_status csrec_support_fitted(const csrec_run *run, csrec_atoms *atoms, double *r) {
    csrec_support *s = run->state;
    csrec_status status = CSREC_OK;
    if (s->rough && !run->looking && !run->stopped) status = csrec_support_fit(s, CSREC_FIT_EXACT);
    if (status == CSREC_STOPPED) status = csrec_support_subtract(s);
    return status ? status : csrec_support_result(run, atoms, r);
}

/* ---- shared by solvers with a target sparsity. */

static csrec_status find_target(const csrec_run *run, int64_t *k, csrec_error *error) {
    int64_t parts = run->A->parts;
    int64_t m = run->A->m / parts, n = run->A->n / parts, most = m < n ? m : n;
    int64_t wanted = (int64_t)csrec_run_param(run, "k");
    if (wanted == 0) wanted = m / 4 < most ? m / 4 : most;
    if (wanted == 0) wanted = 1;
    if (wanted > most)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "k = %lld; solver %s fits at most %lld columns to %lld samples of %lld",
                          (long long)wanted, run->type->name, (long long)most, (long long)m,
                          (long long)n);
    *k = wanted;
    return CSREC_OK;
}

csrec_status csrec_sparse_create(csrec_run *run, size_t size, csrec_error *error) {
    void *state = csrec_run_state(run, size);
    return state ? csrec_support_create(run, state, error) : CSREC_MEMORY;
}

csrec_status csrec_sparse_begin(csrec_run *run, size_t size, csrec_error *error) {
    csrec_status status = csrec_sparse_create(run, size, error);
    csrec_support *s = run->state;
    if (!status) status = find_target(run, &s->k, error);
    if (status || !run->options->start) return status;
    csrec_support_prune(s, s->k);
    status = run->type->fits ? csrec_support_fit(s, CSREC_FIT_EXACT) : CSREC_STOPPED;
    return status == CSREC_STOPPED ? csrec_support_subtract(s) : status;
}
