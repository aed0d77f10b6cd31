/* SPDX-License-Identifier: BSD-3-Clause */
/* doubts.c - what about samples lets their recovery fail: holes, regular grids, constant samples,
 * gross errors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/net/prior.h"
#include "measurement/channels.h"
#include "measurement/measurement.h"
#include "sampling/sampling.h"
#include "base/unravel.h"
#include "recover/recover.h"

/* Fewer random samples than this lie on some grid by chance: at most 7 in 2^31 such signals. */
enum { LEAST_ON_GRID = 32 };

/* No more than this are made for each sample in a search for holes. */
enum { CELLS_OF_SAMPLE = 64 };

/* Edge of the patches of which methods know; holes of less are bridged whatever the rate. */
static const double LEAST_REACH = 8.0;

/* Samples that a random pattern would have put into what is out of reach. Empty parts beyond reach
 * are more likely at the ends of axes: with this, less than once in 10^6 patterns. */
static const double LEAST_MISSING = 8.0;

static const double LEAST_OUTLIERS = 0.005;

/* ||r|| / ||y|| of a pursuit that ends above its tolerance. */
static const double MOST_RESIDUAL = 0.25;

static bool is_constant(const csrec_measurement *m) {
    for (int64_t i = 1; i < m->n; i++)
        if (memcmp(m->y, m->y + i * m->channels, (size_t)m->channels * sizeof *m->y) != 0)
            return false;
    return true;
}

/* Looks at so many samples at most, of the middle: a doubt should cost nothing. */
static csrec_status find_outliers(const csrec_measurement *m, int threads, double *share,
                                  csrec_error *error) {
    const int64_t most = 1 << 12;
    csrec_measurement part = *m;
    int64_t found = 0;
    if (m->n > most) {
        part.n = most;
        part.index += (m->n - most) / 2;
        part.y += (m->n - most) / 2 * m->channels;
    }
    uint8_t *outlier = malloc((size_t)part.n);
    csrec_status status = outlier ? csrec_outliers_find(&part, threads, outlier, &found, error)
                                  : csrec_memory_fail(error, NULL);
    free(outlier);
    double of_all = (double)found / (double)part.n;
    *share = of_all > LEAST_OUTLIERS ? of_all : 0.0;
    return status;
}

/* Rows span the differences of places: 0 left of the diagonal (Hermite normal form). */
typedef struct lattice {
    int dims;
    bool too_large; /* for integers of 64 bits: nothing is known of it */
    int64_t row[CSREC_DIMS_MAX][CSREC_DIMS_MAX];
} lattice;

static void subtract(lattice *l, int64_t times, const int64_t *b, int64_t *v) {
    for (int k = 0; k < l->dims && !l->too_large; k++) {
        l->too_large = fabs((double)v[k]) + fabs((double)times * (double)b[k]) >= 0x1p62;
        if (!l->too_large) v[k] -= times * b[k];
    }
}

/* Euclid's algorithm on one axis after the other. v is used up. */
static void lattice_add(lattice *l, int64_t *v) {
    for (int a = 0; a < l->dims; a++) {
        int64_t *b = l->row[a];
        while (v[a] && !l->too_large) {
            subtract(l, b[a] / v[a], v, b);
            for (int k = 0; k < l->dims; k++) {
                int64_t swap = b[k];
                b[k] = v[k];
                v[k] = swap;
            }
        }
    }
    /* Entries right of the diagonal stay small. */
    for (int a = l->dims - 1; a >= 0; a--)
        for (int k = a + 1; k < l->dims; k++)
            if (l->row[k][k]) subtract(l, l->row[a][k] / l->row[k][k], l->row[k], l->row[a]);
}

/* Entries for each place of the lattice; 0: it does not fill the shape, or none of 2^62 entries. */
static int64_t lattice_step(const lattice *l, const csrec_shape *shape) {
    int64_t step = 1;
    for (int a = 0; a < l->dims; a++) {
        if (shape->dim[a] == 1) continue;
        if ((double)step * fabs((double)l->row[a][a]) >= 0x1p62) return 0;
        step *= llabs(l->row[a][a]);
    }
    return step;
}

static int64_t find_grid(const csrec_measurement *m) {
    int64_t first[CSREC_DIMS_MAX], v[CSREC_DIMS_MAX], step = 0;
    lattice l = {.dims = m->shape.dims};
    if (m->n < LEAST_ON_GRID) return 1;
    csrec_unravel_index(&m->shape, m->index[0], first);
    for (int64_t i = 1; i < m->n && step != 1 && !l.too_large; i++) {
        csrec_unravel_index(&m->shape, m->index[i], v);
        subtract(&l, 1, first, v);
        lattice_add(&l, v);
        step = lattice_step(&l, &m->shape);
    }
    return step && !l.too_large ? step : 1;
}

/* As far from all samples no entry of a random pattern is, but for one in 10^6 patterns: a ball of
 * volume V is empty with probability exp(-rate V). Of short axes a ball holds no more than all. */
static double reach_of(const csrec_shape *shape, double rate, double entries) {
    static const double unit_ball[] = {1.0, 2.0, 3.141592653589793, 4.18879020478639};
    double reach = LEAST_REACH, rest = log(1e6 * entries) / rate, dim[3] = {1.0, 1.0, 1.0};
    for (int a = 0; a < shape->dims; a++) dim[a] = (double)shape->dim[a];
    for (int axes = 3; axes > 0; axes--) {
        int least = dim[0] <= dim[1] ? 0 : 1;
        if (dim[2] < dim[least]) least = 2;
        if (dim[least] > 1.0) reach = fmax(reach, pow(rest / unit_ball[axes], 1.0 / axes));
        rest /= dim[least];
        dim[least] = INFINITY;
    }
    return reach;
}

/* The signal in cells of so many entries along each axis; missing axes are the first. */
typedef struct cells {
    int64_t edge, dim[3], extent[3], count;
    uint32_t *squared; /* distance to the nearest cell with a sample, in cells */
} cells;

static void divide(cells *c, int64_t edge) {
    c->edge = edge;
    c->count = 1;
    for (int a = 0; a < 3; a++) {
        c->extent[a] = (c->dim[a] - 1) / edge + 1;
        c->count *= c->extent[a];
    }
}

/* A long strip has fewer samples than balls along it: cells are then larger, for holes that are. */
static cells cells_of(const csrec_measurement *m, double reach) {
    const csrec_shape *shape = &m->shape;
    cells c = {.dim = {1, 1, 1}};
    for (int a = 0; a < shape->dims; a++) c.dim[3 - shape->dims + a] = shape->dim[a];
    divide(&c, (int64_t)fmin(reach / 4.0, 0x1p62));
    while (c.count / CELLS_OF_SAMPLE > m->n + 1) divide(&c, 2 * c.edge);
    return c;
}

static void mark_samples(const csrec_measurement *m, cells *c) {
    for (int64_t i = 0; i < c->count; i++) c->squared[i] = CSREC_FAR;
    for (int64_t i = 0; i < m->n; i++) {
        int64_t at = m->index[i], k = at % c->dim[2] / c->edge;
        int64_t j = at / c->dim[2] % c->dim[1] / c->edge;
        c->squared[(at / c->dim[2] / c->dim[1] / c->edge * c->extent[1] + j) * c->extent[2] + k] =
            0;
    }
}

/* Entries along an axis of cell i. */
static int64_t width_of(const cells *c, int a, int64_t i) {
    int64_t rest = c->dim[a] - i * c->edge;
    return rest < c->edge ? rest : c->edge;
}

/* Entries of cells all of which is out of reach: two entries are nearer to each other than their
 * cells' centres by at most a diagonal. */
static int64_t count_unreached(const cells *c, int axes, double reach) {
    double limit = reach / (double)c->edge + sqrt(axes);
    int64_t entries = 0, at = 0;
    for (int64_t i = 0; i < c->extent[0]; i++)
        for (int64_t j = 0; j < c->extent[1]; j++)
            for (int64_t k = 0; k < c->extent[2]; k++, at++)
                if ((double)c->squared[at] > limit * limit)
                    entries += width_of(c, 0, i) * width_of(c, 1, j) * width_of(c, 2, k);
    return entries;
}

static csrec_status find_holes(const csrec_measurement *m, csrec_doubts *doubts,
                               csrec_error *error) {
    int64_t entries = 0;
    int axes = 0;
    for (int a = 0; a < m->shape.dims; a++) axes += m->shape.dim[a] > 1;
    csrec_shape_count(&m->shape, &entries);
    if (m->shape.dims > 3 || axes == 0) return CSREC_OK;
    double rate = (double)m->n / (double)entries;
    doubts->reach = reach_of(&m->shape, rate, (double)entries);
    cells c = cells_of(m, doubts->reach);
    c.squared = malloc((size_t)c.count * sizeof *c.squared);
    if (!c.squared) return csrec_memory_fail(error, NULL);
    mark_samples(m, &c);
    csrec_status status = csrec_distance_squared(c.extent, 0, c.squared);
    double found = status ? 0.0 : (double)count_unreached(&c, axes, doubts->reach);
    free(c.squared);
    if (rate * found >= LEAST_MISSING) doubts->unreached = found / (double)entries;
    return status ? csrec_fail(error, status, "out of memory") : CSREC_OK;
}

typedef struct doubts_job {
    csrec_doubts *found;
    int threads;
} doubts_job;

csrec_status csrec_doubts_places(const csrec_measurement *part, csrec_doubts *doubts,
                                 csrec_error *error) {
    doubts->grid = find_grid(part);
    return find_holes(part, doubts, error);
}

/* A csrec_group_fn: the worst of all groups counts. */
static csrec_status find_group(void *context, const csrec_groups *groups, int64_t k,
                               const csrec_measurement *part, const int64_t *sample,
                               csrec_error *error) {
    const doubts_job *j = context;
    csrec_doubts own = {.constant = is_constant(part)}, *all = j->found;
    (void)groups, (void)k, (void)sample;
    csrec_status status = csrec_doubts_places(part, &own, error);
    if (!status && !own.constant) status = find_outliers(part, j->threads, &own.outliers, error);
    all->constant = all->constant && own.constant;
    all->grid = own.grid > all->grid ? own.grid : all->grid;
    all->outliers = fmax(all->outliers, own.outliers);
    if (own.unreached < all->unreached || (own.unreached == 0.0 && all->reach > 0.0)) return status;
    all->unreached = own.unreached;
    all->reach = own.reach;
    return status;
}

csrec_status csrec_doubts_find(const csrec_measurement *measurement, int threads,
                               csrec_doubts *doubts, csrec_error *error) {
    csrec_doubts found = {.samples = measurement->n, .constant = true};
    doubts_job j = {&found, threads};
    csrec_status status = csrec_measurement_check_points(measurement, "measurement", error);
    if (!status) status = csrec_groups_each(measurement, find_group, &j, error);
    if (!status) *doubts = found;
    return status;
}

bool csrec_doubts_text(const csrec_doubts *d, int i, char text[CSREC_DOUBT_SIZE]) {
    enum { KINDS = 5 };
    const bool there[KINDS] = {d->samples == 1, d->samples > 1 && d->constant, d->unreached > 0.0,
                               d->grid > 1, d->outliers > 0.0};
    int kind = -1;
    while (i >= 0 && ++kind < KINDS) i -= there[kind];
    const char *const one = "There is only one sample; the result is its value everywhere.",
                      *const constant = "All samples have the same value, and so has the result.";
    if (kind == 0 || kind == 1)
        snprintf(text, CSREC_DOUBT_SIZE, "%s", kind ? constant : one);
    else if (kind == 2)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "%.2g %% of the entries are farther than %.3g entries from every sample; what is "
                 "there can only be guessed.",
                 100.0 * d->unreached, d->reach);
    else if (kind == 3)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "The samples lie on a regular grid, one in %lld entries, where fine detail looks "
                 "like coarse (aliasing); sample at random positions.",
                 (long long)d->grid);
    else if (kind == 4)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "%.2g %% of the samples are far from all of their neighbours; robust "
                 "recovery drops such outliers.",
                 100.0 * d->outliers);
    return kind < KINDS;
}

bool csrec_doubt_result(const csrec_recover_report *report, char text[CSREC_DOUBT_SIZE]) {
    const csrec_outcome o = report->outcome;
    bool is_above = o == CSREC_EXHAUSTED || o == CSREC_UNMET || o == CSREC_STAGNANT ||
                    (o == CSREC_CONVERGED && !report->bounded);
    bool is_none = is_above && report->unexplained > MOST_RESIDUAL;
    if (is_none)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "The solver ended (%s) with %.2g %% of the samples unexplained: this is no "
                 "recovery; try another solver.",
                 csrec_outcome_text(o), 100.0 * report->unexplained);
    return is_none;
}

bool csrec_doubt_basis(const csrec_measurement *measurement, const csrec_recover_options *options,
                       char text[CSREC_DOUBT_SIZE]) {
    const char *solver = options->solve.solver;
    bool is_guess = measurement->through && solver && csrec_solver_find(solver) && !options->basis;
    if (is_guess)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "No basis is given, so the signal is taken as sparse in basis %s; give that to be "
                 "sure, or identity if the signal itself is sparse.",
                 csrec_operator_wavelet.name);
    return is_guess;
}

/* Of random masks as many as this keep some part of a picture that is worth recovering. */
static const double LEAST_KEPT = 0.02;

bool csrec_doubt_mask(const csrec_measurement *m, char text[CSREC_DOUBT_SIZE]) {
    int64_t entries = 1;
    csrec_shape_count(&m->shape, &entries);
    const double share = (double)m->n / (double)entries;
    const bool few = !m->through && m->n > 0 && share < LEAST_KEPT;
    if (few)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "The mask is true for %.2g %% of the entries, which are taken as known; if it "
                 "marks what is missing, invert it.",
                 100.0 * share);
    return few;
}

bool csrec_doubt_prior(const csrec_measurement *measurement, const csrec_recover_options *options,
                       char text[CSREC_DOUBT_SIZE]) {
    csrec_recover_options o = *options;
    const csrec_method_type *method = NULL;
    const csrec_status status = csrec_method_resolve(measurement, &o, false, false, &method, NULL);
    if (!status && !method && o.labels) csrec_labels_default(measurement, false, &o);
    if (!status && !method && !o.labels) (void)csrec_preset_default(measurement, &o);
    const bool lacks = o.substitute && o.method && !o.model && strcmp(o.method, o.substitute) == 0;
    const char *named = csrec_prior_named();
    if (lacks && named)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "No learned prior is in %.60s, which " CSREC_PRIORS " names, so method %s takes "
                 "its place, up to 2 dB worse; name the folder that has it, or none.",
                 named, o.method);
    else if (lacks)
        snprintf(text, CSREC_DOUBT_SIZE,
                 "No learned prior is installed, so method %s takes its place, up to 2 dB "
                 "worse; name the prior's folder in the environment variable " CSREC_PRIORS ".",
                 o.method);
    return lacks;
}
