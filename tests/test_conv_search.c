/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching Pursuit on convolutional dictionaries: the local update picks the atoms that the plain
 * search and the reference pick; other solvers; invalid input is refused. */

#include "operators.h"
#include "solver/mp.h"

SEED(seed);

typedef struct run {
    int64_t steps;
    double *height, *energy, *r;
    csrec_atoms atoms;
} run;

/* A search by hand: at most `steps` picks. way: the operator's search. */
static run pursue(const csrec_operator *A, const csrec_atom_search *way, bool reference,
                  const double *y, int64_t steps) {
    run found = {.height = check_keep_zeros((size_t)steps, sizeof *found.height),
                 .energy = check_keep_zeros((size_t)steps, sizeof *found.energy),
                 .r = check_keep((size_t)A->m * sizeof *found.r)};
    void *state;
    assert_ok(way->create(A, reference, y, &state));
    for (; found.steps < steps; found.steps++) {
        found.height[found.steps] = way->select(state);
        if (!way->update(state)) break;
        found.energy[found.steps] = way->energy(state);
    }
    assert_ok(way->result(state, &found.atoms, found.r));
    way->destroy(state);
    return found;
}

static void drop_run(run *r) {
    csrec_atoms_clear(&r->atoms);
}

/* Numbers are of order 1 and steps few: rounding stays far below 1e-9. Atoms that the mask makes
 * equal up to sign have equal heights and leave equal residuals, whichever is picked. */
static void expect_same(const drawn *d, const run *a, const run *b) {
    if (a->steps != b->steps)
        fail_msg("%s: %d steps, not %d", d->text, (int)a->steps, (int)b->steps);
    for (int64_t i = 0; i < a->steps; i++)
        if (fabs(a->height[i] - b->height[i]) > 1e-9 || fabs(a->energy[i] - b->energy[i]) > 1e-9)
            fail_msg("%s: step %d: %.17g left %.17g, not %.17g and %.17g", d->text, (int)i,
                     a->height[i], a->energy[i], b->height[i], b->energy[i]);
    for (int64_t k = 0; k < d->m; k++) assert_true(fabs(a->r[k] - b->r[k]) < 1e-9);
}

/* r = y - A x of the atoms, and its squares the energy. */
static void expect_consistent(const drawn *d, const csrec_operator *A, const double *y,
                              const run *a) {
    OWNED double *x = calloc((size_t)d->n, sizeof *x), *Ax = malloc((size_t)d->m * sizeof *Ax);
    double squares = 0.0;
    for (int64_t i = 0; i < a->atoms.n; i++) x[a->atoms.column[i]] = a->atoms.coefficient[i];
    assert_ok(csrec_operator_forward(A, x, Ax));
    for (int64_t k = 0; k < d->m; k++) {
        assert_true(fabs(y[k] - Ax[k] - a->r[k]) < 1e-9);
        squares += a->r[k] * a->r[k];
    }
    if (a->steps) assert_true(fabs(squares - a->energy[a->steps - 1]) < 1e-9);
}

/* Whether column j could be picked as well as the best one and would change more than the sign: the
 * neighbours on both sides of an atom just picked are such a pair where both were picked before. */
static bool rivals(const csrec_operator *A, const double *c, int64_t best, double *a, double *b) {
    bool rival = false;
    for (int64_t j = 0; j < A->n && !rival; j++) {
        if (j == best || fabs(c[j]) < fabs(c[best]) - 1e-9) continue;
        double aa = 0.0, ab = 0.0, bb = 0.0;
        assert_ok(csrec_operator_column(A, best, a));
        assert_ok(csrec_operator_column(A, j, b));
        for (int64_t k = 0; k < A->m; k++) {
            aa += a[k] * a[k];
            ab += a[k] * b[k];
            bb += b[k] * b[k];
        }
        rival = fabs(ab) < (1.0 - 1e-9) * sqrt(aa * bb);
    }
    return rival;
}

/* Steps before the residual is all rounding, or rounding would choose between two columns. */
static int64_t meaningful(const csrec_operator *A, const double *y, int64_t most) {
    size_t m = (size_t)A->m, n = (size_t)A->n;
    OWNED double *r = malloc(m * sizeof *r), *a = malloc(m * sizeof *a), *b = malloc(m * sizeof *b);
    OWNED double *c = malloc(n * sizeof *c);
    double whole = 0.0, left = 0.0;
    int64_t steps = 0;
    memcpy(r, y, m * sizeof *r);
    for (size_t k = 0; k < m; k++) whole += y[k] * y[k];
    for (left = whole; steps < most && left > 1e-6 * whole; steps++) {
        int64_t best = 0;
        double square = 0.0, product = 0.0;
        assert_ok(csrec_operator_correlate(A, r, c));
        for (int64_t j = 1; j < A->n; j++)
            if (fabs(c[j]) > fabs(c[best])) best = j;
        if (rivals(A, c, best, a, b)) break;
        assert_ok(csrec_operator_column(A, best, a));
        for (size_t k = 0; k < m; k++) square += a[k] * a[k];
        for (size_t k = 0; k < m; k++) product += a[k] * r[k];
        left = 0.0;
        for (size_t k = 0; k < m; k++) {
            r[k] -= product / square * a[k];
            left += r[k] * r[k];
        }
    }
    return steps;
}

static void expect_equal_searches(const drawn *d, const csrec_operator *A, const double *y,
                                  bool picks) {
    int64_t steps = meaningful(A, y, 40);
    if (steps == 0) return;
    ENDS_BY(drop_run) run plain = pursue(A, &csrec_search_any, false, y, steps);
    ENDS_BY(drop_run) run local = pursue(A, A->type->search, false, y, steps);
    ENDS_BY(drop_run) run reference = pursue(A, A->type->search, true, y, steps);
    expect_same(d, &local, &plain);
    expect_same(d, &reference, &plain);
    expect_consistent(d, A, y, &local);
    for (int64_t i = 0; i < plain.atoms.n && picks; i++)
        if (local.atoms.column[i] != plain.atoms.column[i] || local.atoms.n != plain.atoms.n)
            fail_msg("%s: atom %d is column %d, not %d", d->text, (int)i,
                     (int)local.atoms.column[i], (int)plain.atoms.column[i]);
}

TEST(local_update_is_the_plain_search) {
    for (int round = 0; round < 50; round++) {
        ENDS_BY(drop_drawn) drawn d = draw_operator(&seed, "conv", "cpu");
        d.spec.shape = &d.shape;
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&d.spec);
        expect_equal_searches(&d, A, kept_normals(&seed, d.m), false);
    }
}

/* Atoms inside of a wholly sampled picture all differ: the columns themselves are the same. */
TEST(picks_of_planted_atoms_are_equal) {
    for (int round = 0; round < 20; round++) {
        drawn d = {.shape = {2, {20 + check_below(&seed, 10), 20 + check_below(&seed, 10)}}};
        int64_t kernel[] = {2 + check_below(&seed, 4), 2 + check_below(&seed, 4)};
        int64_t K = 1 + check_below(&seed, 9), across = d.shape.dim[1] + kernel[1] - 1;
        int64_t places = (d.shape.dim[0] + kernel[0] - 1) * across;
        const double *taps = kept_normals(&seed, 9 * 25);
        csrec_operator_spec spec = {
            .name = "conv", .shape = &d.shape, .filters = taps, .n_filters = K, .kernel = kernel};
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        csrec_operator_size(A, &d.m, &d.n);
        OWNED double *x = calloc((size_t)d.n, sizeof *x), *y = malloc((size_t)d.m * sizeof *y);
        for (int i = 0; i < 8; i++) {
            int64_t row = 8 + check_below(&seed, 8), column = 8 + check_below(&seed, 8);
            x[check_below(&seed, K) * places + row * across + column] = 1.0 + check_uniform(&seed);
        }
        assert_ok(csrec_operator_forward(A, x, y));
        expect_equal_searches(&d, A, y, true);
    }
}

/* Far apart, atoms come back as they were planted, by their coefficients. */
TEST(planted_atoms_come_back) {
    csrec_shape shape = {2, {40, 40}};
    int64_t kernel[] = {4, 4}, index[1600], m = 0;
    double *x = check_keep_zeros(3 * 43 * 43, sizeof *x), y[1600];
    const double *taps = kept_normals(&seed, 3 * 16);
    for (int64_t i = 0; i < 1600; i++)
        if (check_below(&seed, 8)) index[m++] = i;
    csrec_operator_spec spec = {.name = "conv",
                                .m = m,
                                .shape = &shape,
                                .index = index,
                                .filters = taps,
                                .n_filters = 3,
                                .kernel = kernel};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            x[((i + j) % 3 * 43 + 8 + 12 * i) * 43 + 8 + 12 * j] =
                1.0 + (double)i + 3.0 * (double)j;
    assert_ok(csrec_operator_forward(A, x, y));
    CLEARED(csrec_atoms) atoms = {0};
    csrec_solve_report report;
    csrec_solve_options options = {.solver = "mp", .stop.epsilon = 1e-9, .stop.atoms = 400};
    assert_ok(csrec_solve(A, y, &options, &atoms, NULL, &report, NULL));
    double off = 0.0;
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] -= atoms.coefficient[i];
    for (int64_t j = 0; j < 3 * 43 * 43; j++) off = fmax(off, fabs(x[j]));
    assert_int_equal(report.outcome, CSREC_CONVERGED);
    assert_true(off < 1e-6);
}

TEST(wrong_specs_are_refused) {
    csrec_shape shape = {2, {6, 5}}, four = {4, {2, 2, 2, 2}};
    int64_t kernel[] = {2, 2, 2, 2}, none[] = {2, 0}, twice[] = {3, 3};
    double taps[] = {1, 2, 3, 4}, wild[] = {1, 2, NAN, 4};
    csrec_operator_spec spec = {
        .name = "conv", .shape = &shape, .kernel = kernel, .n_filters = 1, .filters = taps};
    csrec_operator_spec unset = spec, unfit = spec, empty = spec, deep = spec, again = spec;
    unset.filters = NULL;
    expect_refusal(&unset, CSREC_ARGUMENT, "cslearn");
    unfit.filters = wild;
    expect_refusal(&unfit, CSREC_DATA, "filters[2]");
    empty.kernel = none;
    expect_refusal(&empty, CSREC_ARGUMENT, "kernel[1]");
    deep.shape = &four;
    expect_refusal(&deep, CSREC_UNSUPPORTED, "axes");
    again.m = 2;
    again.index = twice;
    expect_refusal(&again, CSREC_DATA, "twice");
    /* It has no analysis that synthesis undoes, which thresholding needs. */
    double y[30] = {1.0};
    csrec_solve_options options = {.solver = "threshold"};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_int_equal(csrec_solve(A, y, &options, NULL, NULL, NULL, NULL), CSREC_UNSUPPORTED);
}
