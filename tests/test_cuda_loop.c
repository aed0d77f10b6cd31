/* The pursuits on the device against the eager pursuit: every pick, the result to the bit, and the
 * stopping rules of csrec_solve. */
#include "device.h"
#include "problem.h"

#include <string.h>

#include "haar/eager.h"
#include "kernels/method/grids/loop.h"

static uint64_t seed;

/* The picks of the eager pursuit, named as the device names them. */
static int64_t eager_picks(const problem *p, int64_t limit, csrec_loop_pick *log) {
    csrec_tree tree;
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    int32_t *gap = calloc((size_t)p->n, sizeof *gap);
    csrec_tree_walk walk = csrec_tree_walk_start(&tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);)
        if (block.node >= 0) gap[block.node] = block.first + tree.left[block.node] - 1;
    void *state;
    assert_ok(csrec_pursuit_eager.create(&tree, p->y, &state));
    const csrec_eager *e = state;
    int64_t picks = 0;
    while (picks < limit) {
        csrec_pursuit_eager.select(state);
        int64_t code = -1;
        if (e->pick.kind == CSREC_PICK_LEFT_LEAF) code = 4 * (int64_t)gap[e->pick.at];
        if (e->pick.kind == CSREC_PICK_RIGHT_LEAF) code = 4 * ((int64_t)gap[e->pick.at] + 1);
        if (e->pick.kind == CSREC_PICK_DIFFERENCE) code = 4 * (int64_t)gap[e->pick.at] + 1;
        if (e->pick.kind == CSREC_PICK_SUM) code = 4 * (int64_t)gap[e->pick.at] + 2;
        if (!csrec_pursuit_eager.update(state)) break;
        log[picks++].code = code;
    }
    csrec_pursuit_eager.destroy(state);
    csrec_tree_clear(&tree);
    free(gap);
    return picks;
}

static csrec_loop_problem loop_problem(const problem *p) {
    csrec_loop_problem q = {p->levels, p->n, p->rows, p->y, p->columns};
    return q;
}

/* Atoms, residual and report of csrec_solve. */
static void same_result(const problem *p, const csrec_loop_options *options) {
    csrec_operator_spec spec = {
        .name = "haar", .levels = p->levels, .m = p->n, .rows = p->rows, .columns = p->columns};
    csrec_operator *A;
    assert_ok(csrec_operator_create(&spec, &A, NULL));
    csrec_solve_options solve = {.stop = options->stop};
    csrec_atoms a = {0}, b = {0};
    double *ra = malloc((size_t)p->n * sizeof *ra), *rb = malloc((size_t)p->n * sizeof *rb);
    csrec_solve_report expected;
    csrec_loop_report report;
    csrec_error error = {{0}};
    assert_ok(csrec_solve(A, p->y, &solve, &a, ra, &expected, NULL));
    csrec_loop_problem q = loop_problem(p);
    csrec_status status = csrec_loop_solve(&q, options, &b, rb, &report, &error);
    if (status) print_message("%s\n", error.text);
    assert_ok(status);
    assert_int_equal(expected.iterations, report.solve.iterations);
    assert_int_equal(expected.outcome, report.solve.outcome);
    assert_true(expected.residual == report.solve.residual);
    assert_same_atoms(&a, &b);
    assert_memory_equal(ra, rb, (size_t)p->n * sizeof *ra);
    csrec_atoms_clear(&a);
    csrec_atoms_clear(&b);
    csrec_operator_destroy(A);
    free(ra);
    free(rb);
}

/* The log names every pick. */
static int64_t same_picks(const problem *p, csrec_loop_options *options, int64_t limit) {
    csrec_loop_pick *expected = malloc((size_t)limit * sizeof *expected);
    csrec_loop_pick *found = malloc((size_t)limit * sizeof *found);
    int64_t picks = eager_picks(p, limit, expected);
    options->stop = (csrec_stop){.atoms = limit};
    options->log = found;
    options->log_capacity = limit;
    csrec_loop_report report;
    csrec_loop_problem q = loop_problem(p);
    assert_ok(csrec_loop_solve(&q, options, NULL, NULL, &report, NULL));
    assert_int_equal(picks, report.solve.iterations);
    for (int64_t k = 0; k < picks; k++) assert_int_equal(expected[k].code, found[k].code);
    free(expected);
    free(found);
    return picks;
}

static csrec_stop random_stop(int64_t n) {
    csrec_stop stop = {0};
    switch (check_below(&seed, 4)) {
    case 0:
        stop.atoms = 1 + check_below(&seed, 2 * n);
        break;
    case 1:
        stop.epsilon = 0.9 * check_uniform(&seed);
        break;
    case 2:
        stop.min_coefficient = 2.0 * check_uniform(&seed);
        break;
    default:
        break; /* until nothing is left to gain */
    }
    return stop;
}

static void many_cases(csrec_loop_way way, int cases, int64_t largest_n) {
    int64_t picks = 0;
    for (int k = 0; k < cases; k++) {
        problem p = problem_draw(&seed, largest_n, 62);
        csrec_loop_options options = {.way = way};
        options.memory = check_below(&seed, 2) != 0;
        options.blocks = (int)check_below(&seed, 4) * 11; /* 0: as many as are best */
        options.subtree = 1 + (int32_t)check_below(&seed, 1 + check_below(&seed, 2 * largest_n));
        if (way == CSREC_LOOP_GRID) picks += same_picks(&p, &options, 3 * p.n + 10);
        options.log_capacity = 0;
        options.stop = random_stop(p.n);
        same_result(&p, &options);
        problem_drop(&p);
    }
    print_message("%d cases, %lld picks one by one\n", cases, (long long)picks);
}

/* Under a checker of memory or races every step takes a thousand times as long. */
static bool brief(void) {
    return getenv("CSREC_TEST_BRIEF") != NULL;
}

static void grid_equals_eager(void **state) {
    (void)state;
    if (no_device()) skip();
    many_cases(CSREC_LOOP_GRID, brief() ? 10 : 600, 60);
    many_cases(CSREC_LOOP_GRID, brief() ? 1 : 60, brief() ? 300 : 3000);
}

static void speculation_equals_eager(void **state) {
    (void)state;
    if (no_device()) skip();
    many_cases(CSREC_LOOP_SPECULATE, brief() ? 10 : 800, 60);
    many_cases(CSREC_LOOP_SPECULATE, brief() ? 2 : 80, brief() ? 300 : 3000);
}

/* Sizes at which state fills many blocks, and those past shared memory, skewed ones too. */
static void large_cases(void **state) {
    (void)state;
    if (no_device()) skip();
    if (brief()) skip();
    const int64_t sizes[] = {10007, 65536, 300001, 1400003};
    for (int k = 0; k < 4; k++)
        for (int skew = 0; skew < 2; skew++)
            for (int paper = 0; paper < 2; paper++) {
                int kind = (int)check_below(&seed, PROBLEM_KINDS);
                problem p = problem_create(&seed, skew ? 50 : 23, sizes[k],
                                           paper ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED,
                                           kind, skew);
                csrec_loop_options options = {.way = CSREC_LOOP_GRID, .stop = {.atoms = 3000}};
                same_result(&p, &options);
                options.way = CSREC_LOOP_SPECULATE;
                options.stop.atoms = sizes[k] / 8;
                same_result(&p, &options);
                problem_drop(&p);
            }
}

static bool stop_at_once(const csrec_progress *progress, void *context) {
    (void)progress;
    *(int *)context += 1;
    return true;
}

/* An interruption is an outcome, and what was found so far is a correct beginning. */
static void interruption(void **state) {
    (void)state;
    if (no_device()) skip();
    if (brief()) skip();
    problem p = problem_create(&seed, 22, 1 << 20, CSREC_COLUMNS_TWO_SIDED, 0, 0);
    for (int way = CSREC_LOOP_GRID; way <= CSREC_LOOP_SPECULATE; way++) {
        int calls = 0;
        csrec_loop_options options = {
            .way = (csrec_loop_way)way, .progress = stop_at_once, .context = &calls};
        csrec_loop_problem q = loop_problem(&p);
        csrec_loop_report report;
        assert_ok(csrec_loop_solve(&q, &options, NULL, NULL, &report, NULL));
        assert_true(calls >= 1);
        assert_int_equal(report.solve.outcome, CSREC_INTERRUPTED);
        assert_true(report.solve.iterations < 4 << 20);
        options = (csrec_loop_options){.way = (csrec_loop_way)way};
        options.stop.atoms = report.solve.iterations;
        if (options.stop.atoms > 0 && options.stop.atoms < 200000) same_result(&p, &options);
    }
    problem_drop(&p);
}

/* What does not fit is refused with the numbers, and the device works on. */
static void too_large(void **state) {
    (void)state;
    if (no_device()) skip();
    uint64_t row = 0;
    double y = 1.0;
    csrec_loop_problem q = {60, INT64_C(1) << 31, &row, &y, CSREC_COLUMNS_PAPER};
    csrec_loop_options options = {0};
    csrec_error error;
    assert_int_equal(csrec_loop_solve(&q, &options, NULL, NULL, NULL, &error), CSREC_ARGUMENT);
    q.n = INT32_MAX;
    assert_int_equal(csrec_loop_solve(&q, &options, NULL, NULL, NULL, &error), CSREC_MEMORY);
    assert_non_null(strstr(error.text, "bytes"));
    problem p = problem_create(&seed, 10, 100, CSREC_COLUMNS_PAPER, 0, 0);
    options.way = CSREC_LOOP_GRID;
    same_result(&p, &options);
    problem_drop(&p);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_equals_eager), cmocka_unit_test(speculation_equals_eager),
        cmocka_unit_test(large_cases),       cmocka_unit_test(interruption),
        cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
