/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_transform.c - the CUDA transform against the CPU's, to the bit on the pursuit's grid;
 * its maximum. Both against the dense matrix: test_transform.c. */
#include "device.h"
#include "problem.h"
#include "haar/pursuit.h"
#include "kernels/haar/transform.h"

SEED(seed);

/* Under a checker of memory or races, which is 100 times slower, the large cases are left out. */
static bool small_only(void) {
    return getenv("CSREC_TEST_SMALL") != NULL;
}

/* Integers: every sum is exact in any order, so nothing but the rounding of the results is left. */
static void round_values(problem *p) {
    for (int64_t j = 0; j < p->n; j++) p->y[j] = rint(p->y[j] * 0x1p20);
}

static void equal_products(const problem *p) {
    const csrec_transform_method method = CSREC_TRANSFORM_DISTINCT;
    int64_t expected, found;
    OWNED csrec_product *cpu = problem_products("cpu", p, method, &expected);
    OWNED csrec_product *cuda = problem_products("cuda", p, method, &found);
    assert_int_equal(found, expected);
    for (int64_t i = 0; i < found; i++) {
        if (cpu[i].column != cuda[i].column || cpu[i].count != cuda[i].count ||
            cpu[i].value != cuda[i].value)
            fail_msg("n %lld levels %d product %lld: column %llu %llu value %a %a count %lld %lld",
                     (long long)p->n, p->levels, (long long)i, (unsigned long long)cpu[i].column,
                     (unsigned long long)cuda[i].column, cpu[i].value, cuda[i].value,
                     (long long)cpu[i].count, (long long)cuda[i].count);
    }
}

TEST_THERE(cuda_equals_cpu, false) {
    const int64_t sizes[] = {1,   2,    3,    7,    8,    9,    31,   32,   33,   255,   256,
                             257, 2047, 2048, 2049, 4095, 4096, 4097, 6000, 9999, 32767, 65536};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        if (small_only() && sizes[k] > 7000) break;
        for (int kind = 0; kind < 3; kind++) {
            int tight = 1; /* every second row on average */
            while (INT64_C(1) << tight < 2 * sizes[k]) tight++;
            int levels = kind == 0 ? tight + 1 : 62;
            ENDS_BY(problem_drop)
            problem p = problem_create(&seed, levels, sizes[k], CSREC_COLUMNS_PAPER, 0, kind == 2);
            round_values(&p);
            equal_products(&p);
        }
    }
    for (int k = 0; k < (small_only() ? 2 : 100); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 20000, 62);
        round_values(&p);
        equal_products(&p);
    }
}

/* Every row sampled, and rows 2^k: the fullest and the deepest tree. */
TEST_THERE(cuda_equals_cpu_at_extremes, false) {
    ENDS_BY(problem_drop) problem p = problem_create(&seed, 13, 8192, CSREC_COLUMNS_PAPER, 0, 0);
    p.n = 8192;
    for (int64_t j = 0; j < p.n; j++) p.rows[j] = (uint64_t)j;
    round_values(&p);
    equal_products(&p);
    p.levels = 62;
    p.n = 63;
    for (int64_t j = 0; j < p.n; j++) p.rows[j] = j ? UINT64_C(1) << (j - 1) : 0;
    equal_products(&p);
    for (int64_t j = 0; j < p.n; j++) p.rows[j] = (UINT64_C(1) << 62) - (UINT64_C(1) << (62 - j));
    equal_products(&p);
}

TEST(cuda_equals_cpu_in_the_large) {
    if (no_device() || small_only()) skip();
    for (int kind = 0; kind < 3; kind++) {
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, kind ? 62 : 22, (1 << 20) + 77 * kind,
                                   CSREC_COLUMNS_PAPER, 0, kind == 2);
        round_values(&p);
        equal_products(&p);
    }
}

/* Off the grid sums round: by less than 2^-52 of ||r||_1 for each of the 13 + 11 additions on the
 * way to a prefix sum, twice. */
TEST_THERE(cuda_is_near_cpu_off_the_grid, false) {
    for (int k = 0; k < (small_only() ? 2 : 30); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 9000, 40);
        int64_t expected, found;
        OWNED csrec_product *cpu = problem_products("cpu", &p, CSREC_TRANSFORM_DISTINCT, &expected);
        OWNED csrec_product *cuda = problem_products("cuda", &p, CSREC_TRANSFORM_DISTINCT, &found);
        double length = 0.0;
        for (int64_t j = 0; j < p.n; j++) length += fabs(p.y[j]);
        assert_int_equal(found, expected);
        for (int64_t i = 0; i < found; i++)
            assert_true(fabs(cpu[i].value - cuda[i].value) <= 64 * 0x1p-52 * length);
    }
}

/* The device's own list, unsorted, and its maximum. */
typedef struct device_run {
    csrec_cuda_block block;
    uint64_t *rows, *column;
    double *r, *value;
} device_run;

static void lay_out(device_run *run, int64_t n) {
    run->rows = csrec_cuda_block_take(&run->block, n, sizeof *run->rows);
    run->r = csrec_cuda_block_take(&run->block, n, sizeof *run->r);
    run->column = csrec_cuda_block_take(&run->block, 3 * n, sizeof *run->column);
    run->value = csrec_cuda_block_take(&run->block, 3 * n, sizeof *run->value);
}

static int64_t level_of(int levels, uint64_t column) {
    return column ? levels - (63 - __builtin_clzll(column)) : 63;
}

static void check_best(const problem *p) {
    device_run run = {0};
    csrec_cuda_transform *transform;
    csrec_cuda_best best, expected = {-1, 0};
    int64_t found, listed, two_sided = 0;
    size_t bytes = (size_t)p->n * 8;
    lay_out(&run, p->n);
    assert_ok(csrec_cuda_block_create(&run.block, "a test", NULL));
    lay_out(&run, p->n);
    assert_ok(csrec_cuda_transform_create(p->levels, p->n, p->columns, &transform, NULL));
    assert_ok(csrec_cuda_copy(run.rows, p->rows, bytes, NULL));
    assert_ok(csrec_cuda_copy(run.r, p->y, bytes, NULL));
    for (int k = 0; k < 2; k++) /* the second run starts from the first's leftovers */
        assert_ok(csrec_cuda_transform_run(transform, run.rows, run.r, run.column, run.value, NULL,
                                           NULL));
    assert_ok(csrec_cuda_transform_wait(transform, &found, &best, NULL));
    OWNED csrec_product *products = problem_products("cpu", p, CSREC_TRANSFORM_DISTINCT, &listed);
    OWNED uint64_t *columns = malloc((size_t)found * sizeof *columns);
    assert_ok(csrec_cuda_copy(columns, run.column, (size_t)found * 8, NULL));
    assert_true(columns[p->n - 1] == 0);
    for (int64_t i = 0; i < listed; i++) {
        bool both = false;
        for (int64_t j = 0; j < p->n && !both; j++) both = columns[j] == products[i].column;
        two_sided += both;
        if (!both && p->columns == CSREC_COLUMNS_TWO_SIDED) continue;
        int64_t key =
            csrec_pursuit_key(products[i].value, 1.0, (int)level_of(p->levels, products[i].column));
        if (key > expected.key) expected = (csrec_cuda_best){key, products[i].column};
    }
    assert_int_equal(two_sided, p->n);
    assert_int_equal(found, p->columns == CSREC_COLUMNS_PAPER ? listed : p->n);
    assert_true(best.key == expected.key && best.column == expected.column);
    csrec_cuda_transform_destroy(transform);
    csrec_cuda_block_destroy(&run.block);
}

TEST_THERE(best_is_the_best, false) {
    for (int k = 0; k < (small_only() ? 11 : 60); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, k % 10 ? 500 : 9000, 62);
        round_values(&p);
        check_best(&p);
    }
}

/* More than any device has: an error that names both numbers, and nothing leaks. */
TEST_THERE(too_much_memory_is_refused, false) {
    ENDS_BY(csrec_cuda_block_destroy) csrec_cuda_block block = {0};
    csrec_cuda_block_take(&block, INT64_C(1) << 50, 1);
    assert_refused(csrec_cuda_block_create(&block, "a test", &told), CSREC_MEMORY,
                   "1125899906842624 bytes");
}
