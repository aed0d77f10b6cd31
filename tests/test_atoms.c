/* SPDX-License-Identifier: BSD-3-Clause */
/* Synthesis against the definition, entry by entry. */
#include "check.h"
#include "dense.h"

SEED(seed);

/* Distinct random columns of all levels, most of them holding one of the given rows. */
static csrec_atoms random_atoms(int levels, int64_t n, int64_t n_rows, const uint64_t *rows) {
    const size_t size = (size_t)n;
    csrec_atoms atoms = {0, calloc(size + 1, sizeof *atoms.column),
                         calloc(size + 1, sizeof *atoms.coefficient),
                         calloc(size + 1, sizeof *atoms.count)};
    for (int64_t i = 0; i < n; i++) {
        int level = (int)check_below(&seed, levels + 1);
        const uint64_t row = n_rows && check_below(&seed, 4)
                                 ? rows[check_below(&seed, n_rows)]
                                 : check_next(&seed) >> (64 - levels) % 64;
        atoms.column[i] =
            level == 0 || levels == 0
                ? 0
                : ((uint64_t)1 << (levels - level)) + ((row % ((uint64_t)1 << levels)) >> level);
    }
    qsort(atoms.column, size, sizeof *atoms.column, check_ascend);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || atoms.column[i] != atoms.column[i - 1])
            atoms.column[atoms.n++] = atoms.column[i];
    for (int64_t i = 0; i < atoms.n; i++) {
        atoms.coefficient[i] = 200 * check_uniform(&seed) - 100;
        atoms.count[i] = 1 + check_below(&seed, 1000);
    }
    return atoms;
}

/* sum_i x_i Psi_i(row) by definition. terms: sum of the sizes, for the tolerance. */
static double direct(int levels, const csrec_atoms *atoms, uint64_t row, double *terms) {
    double sum = 0;
    *terms = 0;
    for (int64_t i = atoms->n - 1; i >= 0; i--) {
        double term = dense_entry(levels, row, atoms->column[i]) * atoms->coefficient[i] /
                      sqrt((double)atoms->count[i]);
        sum += term;
        *terms += fabs(term);
    }
    return sum;
}

/* At most levels + 1 non-zero terms, each with two roundings, added in different orders. */
static void check_value(int levels, const csrec_atoms *atoms, uint64_t row, double value) {
    double terms, expected = direct(levels, atoms, row, &terms);
    assert_true(fabs(value - expected) <= 2 * (levels + 4) * 0x1p-53 * terms);
}

/* Synthesis of n rows from `first` on, of a block and one by one; every so many against the
 * definition. seen: the atoms hold these rows, most of them. */
static void check_block(int levels, uint64_t first, int64_t n, int64_t count, bool seen,
                        int sparse) {
    uint64_t *rows = check_keep((size_t)n * sizeof *rows);
    double *value = check_room(n), *any = check_room(n);
    for (int64_t k = 0; k < n; k++) rows[k] = first + (uint64_t)k;
    CLEARED(csrec_atoms) atoms = random_atoms(levels, count, seen ? n : 0, rows);
    assert_ok(csrec_atoms_synthesize(levels, &atoms, n, rows, any));
    assert_ok(csrec_atoms_synthesize_block(levels, &atoms, first, n, value));
    assert_memory_equal(any, value, (size_t)n * sizeof *any);
    for (int64_t k = 0; k < n; k += 1 + check_below(&seed, sparse))
        check_value(levels, &atoms, rows[k], value[k]);
}

TEST(whole_signals) {
    for (int levels = 0; levels <= 14; levels++)
        for (int round = 0; round < 4; round++) {
            const int64_t M = INT64_C(1) << levels, most = M < 300 ? M : 300;
            check_block(levels, 0, M, check_below(&seed, most + 1), false, levels > 10 ? 30 : 1);
        }
}

TEST(any_rows_of_large_signals) {
    for (int round = 0; round < 40; round++) {
        const int levels = round < 10 ? 62 : 15 + (int)check_below(&seed, 48);
        uint64_t rows[400];
        double value[400], block[400];
        for (int k = 0; k < 400; k++)
            rows[k] = k % 4 == 3 ? rows[k - 1] ^ (check_next(&seed) % 16)
                                 : check_next(&seed) >> (64 - levels);
        rows[0] = ((uint64_t)1 << levels) - 1;
        rows[1] = 0;
        if (round % 2) qsort(rows, 400, sizeof *rows, check_ascend);
        CLEARED(csrec_atoms) atoms = random_atoms(levels, 600, 400, rows);
        assert_ok(csrec_atoms_synthesize(levels, &atoms, 400, rows, value));
        for (int k = 0; k < 400; k++) {
            check_value(levels, &atoms, rows[k], value[k]);
            assert_ok(csrec_atoms_synthesize_block(levels, &atoms, rows[k], 1, block));
            assert_true(block[0] == value[k]);
        }
    }
}

/* Blocks with ragged ends, over tile borders and enough for several threads. */
TEST(blocks_of_rows) {
    for (int round = 0; round < 12; round++) {
        const int levels = round < 2 ? 62 : 17 + (int)check_below(&seed, 46);
        enum { room = 60000 };
        const int64_t n = round < 6 ? 1 + check_below(&seed, room) : 1 + check_below(&seed, 100);
        const uint64_t M = (uint64_t)1 << levels;
        uint64_t first = check_next(&seed) % (M - (uint64_t)n + 1);
        if (round == 1) first = M - (uint64_t)n;
        check_block(levels, first, n, 500, true, 60);
    }
}

/* A large coefficient in one block must leave no rounding behind in its neighbours. */
TEST(no_leak_between_blocks) {
    uint64_t columns[] = {2, 3};
    double x[] = {1e17, 0.1}, value[16];
    int64_t count[] = {1, 1};
    assert_ok(csrec_atoms_synthesize_block(4, &(csrec_atoms){2, columns, x, count}, 0, 16, value));
    for (int k = 0; k < 8; k++) assert_true(value[k] == (k < 4 ? 1e17 : -1e17));
    for (int k = 8; k < 16; k++) assert_true(value[k] == (k < 12 ? 0.1 : -0.1));
}

TEST(refuses_what_is_out_of_range) {
    uint64_t columns[] = {0, 3}, falling[] = {3, 1}, row = 4;
    double x[] = {1, 1}, value[8];
    int64_t count[] = {1, 1}, none[] = {1, 0};
    const csrec_atoms atoms = {2, columns, x, count}, unsorted = {2, falling, x, count},
                      uncounted = {2, columns, x, none}, empty = {0};
    assert_int_equal(csrec_atoms_synthesize(2, &atoms, 1, &row, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize(63, &atoms, 1, &row, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize(1, &atoms, 0, &row, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize(3, &unsorted, 1, &row, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize(3, &uncounted, 1, &row, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize_block(3, &atoms, 1, 8, value), CSREC_ARGUMENT);
    assert_int_equal(csrec_atoms_synthesize_block(3, &atoms, 9, 0, value), CSREC_ARGUMENT);
    assert_ok(csrec_atoms_synthesize_block(3, &atoms, 8, 0, value));
    assert_ok(csrec_atoms_synthesize(3, &atoms, 0, NULL, value));
    assert_ok(csrec_atoms_synthesize(3, &empty, 1, &row, value));
    assert_true(value[0] == 0);
}

TEST(clear_twice) {
    csrec_atoms atoms = random_atoms(5, 10, 0, NULL);
    csrec_atoms_clear(&atoms);
    assert_null(atoms.column);
    csrec_atoms_clear(&atoms);
    csrec_atoms_clear(NULL);
}
