/* SPDX-License-Identifier: BSD-3-Clause */
/* Eager against reference pursuit in lock-step, on every instruction set that runs here; residuals
 * against the dense matrix. */
#include "dense.h"
#include "problem.h"
#include "simd.h"

#include "haar/eager.h"
#include "haar/project.h"

SEED(seed);

/* The same scores and energies after every step, to the bit, and the same result: without a limit,
 * after every step too. */
static int64_t run_together(const problem *p, const csrec_tree *tree, const csrec_eager_simd *simd,
                            int64_t limit) {
    void *eager, *reference;
    assert_ok(csrec_pursuit_eager.create(tree, p->y, &eager));
    assert_ok(csrec_pursuit_reference.create(tree, p->y, &reference));
    ((csrec_eager *)eager)->simd = simd;
    int64_t steps = 0;
    for (; steps < limit; steps++) {
        double a = csrec_pursuit_eager.select(eager);
        double b = csrec_pursuit_reference.select(reference);
        assert_true(fabs(a - b) <= 0x1p-50 * b); /* one rounding of v / sqrt(n) each */
        bool more = csrec_pursuit_eager.update(eager);
        assert_int_equal(more, csrec_pursuit_reference.update(reference));
        double energy = csrec_pursuit_eager.energy(eager);
        assert_true(energy == csrec_pursuit_reference.energy(reference));
        if (!more) break;
        if (limit == INT64_MAX)
            assert_same_results(p, &csrec_pursuit_eager, eager, &csrec_pursuit_reference,
                                reference);
    }
    assert_same_results(p, &csrec_pursuit_eager, eager, &csrec_pursuit_reference, reference);
    csrec_pursuit_eager.destroy(eager);
    csrec_pursuit_reference.destroy(reference);
    return steps;
}

static void lock_step(const csrec_eager_simd *simd, int cases, int64_t largest_n, int levels) {
    int64_t steps = 0;
    for (int k = 0; k < cases; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, largest_n, levels);
        CLEARED(csrec_tree) tree;
        assert_ok(csrec_tree_create(p.levels, p.n, p.rows, p.columns, &tree));
        steps += run_together(&p, &tree, simd, 3 * p.n + 10);
    }
    print_message("%lld steps in lock-step\n", (long long)steps);
}

TEST(eager_equals_reference) {
    const csrec_eager_simd *sets[3];
    const int count = SIMD_SETS(sets, &csrec_eager_generic, &csrec_eager_avx2, &csrec_eager_avx512);
    for (int s = 0; s < count; s++) {
        lock_step(sets[s], SANITIZED_SHARE(1500), 60, 62);
        lock_step(sets[s], 10, 500, 62);
    }
}

/* Several thousand samples reach three levels of maxima. */
TEST(eager_equals_reference_when_large) {
    for (int k = 0; k < 2; k++) {
        ENDS_BY(problem_drop)
        problem p =
            problem_create(&seed, 15, 3000, k ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED,
                           k ? PROBLEM_TIES : PROBLEM_WAVES, 0);
        CLEARED(csrec_tree) tree;
        assert_ok(csrec_tree_create(p.levels, p.n, p.rows, p.columns, &tree));
        run_together(&p, &tree, csrec_eager_simd_choose(), 600);
    }
}

/* What is found after every single step, not only in the end: picks of equal scores may change
 * places without a trace in scores, energies and the final sum. */
TEST(every_pick_equals_the_reference) {
    for (int k = 0; k < SANITIZED_SHARE(150); k++) {
        int levels = 2 + (int)check_below(&seed, 9);
        int64_t n = 1 + check_below(&seed, levels < 5 ? INT64_C(1) << levels : 30);
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, levels, n, CSREC_COLUMNS_PAPER, PROBLEM_TIES, 0);
        CLEARED(csrec_tree) tree;
        assert_ok(csrec_tree_create(p.levels, p.n, p.rows, p.columns, &tree));
        run_together(&p, &tree, csrec_eager_simd_choose(), INT64_MAX);
    }
}

/* A node of span 2^g, the root's left child: four samples of one block of four rows on the left,
 * one on the right. The right leaf's column ties with one of the left child's, the largest of all:
 * with its sum, 4 v / sqrt(4) = 2 v, or with its difference. Zeros in the root's right half keep
 * column 0 and the root below: at most 6 v / sqrt(13). */
static problem tie_problem(bool difference, int *level) {
    int levels = 6 + (int)check_below(&seed, 57);
    int g = difference ? 3 : 5 + (int)check_below(&seed, levels - 5);
    int64_t zeros = 8 + (difference ? 0 : check_below(&seed, 20));
    problem p = {.levels = levels, .n = 5 + zeros, .columns = CSREC_COLUMNS_PAPER};
    p.rows = malloc((size_t)p.n * sizeof *p.rows);
    p.y = calloc((size_t)p.n, sizeof *p.y);
    uint64_t half = UINT64_C(1) << (g - 1), four = check_next(&seed) % half & ~UINT64_C(3);
    double v = (double)(1 + check_below(&seed, 1000)) * (check_below(&seed, 2) ? 1.0 : -1.0);
    for (int j = 0; j < 4; j++) {
        p.rows[j] = four + (uint64_t)j;
        p.y[j] = difference && j >= 2 ? -v : v;
    }
    p.rows[4] = half + check_next(&seed) % half;
    p.y[4] = 2.0 * v;
    for (int64_t j = 0; j < zeros; j++) p.rows[5 + j] = 2 * half + (uint64_t)j;
    *level = g - 1;
    return p;
}

static void assert_first_column(const csrec_pursuit_type *type, const problem *p,
                                const csrec_tree *tree, uint64_t column) {
    void *pursuit;
    CLEARED(csrec_atoms) atoms;
    assert_ok(type->create(tree, p->y, &pursuit));
    assert_true(type->select(pursuit) == fabs(p->y[4]));
    assert_true(type->update(pursuit));
    assert_ok(type->result(pursuit, p->y, &atoms, NULL));
    assert_int_equal(atoms.n, 1);
    assert_int_equal(atoms.column[0], column);
    type->destroy(pursuit);
}

TEST(a_left_child_wins_over_an_equal_right_leaf) {
    for (int k = 0; k < SANITIZED_SHARE(200); k++) {
        int level;
        ENDS_BY(problem_drop) problem p = tie_problem(k % 2, &level);
        CLEARED(csrec_tree) tree;
        assert_ok(csrec_tree_create(p.levels, p.n, p.rows, p.columns, &tree));
        uint64_t column = csrec_tree_column(p.levels, p.rows[0], level);
        assert_first_column(&csrec_pursuit_reference, &p, &tree, column);
        assert_first_column(&csrec_pursuit_eager, &p, &tree, column);
    }
}

/* No coefficient is kept for an edge without a column. */
TEST(one_coefficient_for_each_one_sided_column) {
    for (int k = 0; k < SANITIZED_SHARE(200); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 100, 62);
        CLEARED(csrec_tree) tree;
        assert_ok(csrec_tree_create(p.levels, p.n, p.rows, CSREC_COLUMNS_PAPER, &tree));
        int64_t kept = 0, listed = csrec_tree_places(&tree, NULL);
        OWNED csrec_place *place = malloc((size_t)listed * sizeof *place);
        csrec_tree_places(&tree, place);
        for (int32_t i = 0; i + 1 < tree.n; i++) kept += csrec_eager_sides(&tree, i);
        for (int64_t i = 0; i < listed; i++)
            kept -= place[i].kind == CSREC_PLACE_SUM || place[i].kind == CSREC_PLACE_LEAF;
        assert_int_equal(kept, 0);
    }
}

/* Every pick has the largest inner product of the dense matrix's columns, and r = y - Psi x. */
TEST(picks_are_the_largest) {
    for (int k = 0; k < SANITIZED_SHARE(200); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 40, 8);
        p.columns = CSREC_COLUMNS_PAPER;
        csrec_operator_spec spec = {
            .name = "haar", .levels = p.levels, .m = p.n, .rows = p.rows, .columns = p.columns};
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
        csrec_solve_options options = {.stop = {.atoms = 1 + check_below(&seed, 20)}};
        CLEARED(csrec_atoms) atoms, one;
        OWNED double *r = malloc((size_t)p.n * sizeof *r), *psi = malloc((size_t)p.n * sizeof *psi);
        csrec_solve_report report;
        assert_ok(csrec_solve(A, p.y, &options, &atoms, r, &report, NULL));
        double y2 = 0.0, r2 = 0.0, fit, largest = 0.0;
        for (int64_t j = 0; j < p.n; j++) {
            fit = 0.0;
            for (int64_t i = 0; i < atoms.n; i++) {
                int64_t count;
                dense_column(p.levels, p.n, p.rows, atoms.column[i], psi, &count);
                assert_int_equal(count, atoms.count[i]);
                fit += atoms.coefficient[i] * psi[j];
            }
            y2 += p.y[j] * p.y[j];
            r2 += r[j] * r[j];
            /* At most 20 terms below ||y|| each, a few roundings each; the grid is 2^-46 max|y|. */
            largest = fmax(largest, fabs(p.y[j] - fit - r[j]));
        }
        assert_true(largest <= 0x1p-42 * sqrt(y2));
        assert_true(fabs(sqrt(r2) - report.residual * sqrt(y2)) <= 0x1p-40 * sqrt(y2));
        /* The next pick from this residual, as a pursuit of one atom, against all columns. */
        options.stop.atoms = 1;
        assert_ok(csrec_solve(A, r, &options, &one, NULL, &report, NULL));
        double best = 0.0;
        for (uint64_t c = 0; c < UINT64_C(1) << p.levels; c++) {
            int64_t count;
            dense_column(p.levels, p.n, p.rows, c, psi, &count);
            double product = 0.0;
            for (int64_t j = 0; j < p.n; j++) product += psi[j] * r[j];
            best = fmax(best, fabs(product));
        }
        if (one.n) assert_true(fabs(fabs(one.coefficient[0]) - best) <= 0x1p-42 * sqrt(y2));
    }
}
