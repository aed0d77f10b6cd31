/* SPDX-License-Identifier: BSD-3-Clause */
/* problem.h - random sampled signals for the tests of the Haar matrix. */
#pragma once

#include "check.h"
#include "haar/pursuit.h"

typedef struct problem {
    int levels;
    int64_t n;
    uint64_t *rows; /* ascending, distinct */
    double *y;
    csrec_columns columns;
} problem;

/* skew > 0 crowds the rows towards 0, so that the tree is deep and lopsided. Where few rows exist,
 * n becomes what was found. */
static inline void problem_rows(uint64_t *seed, problem *p, int skew) {
    uint64_t mask = p->levels ? (UINT64_MAX >> (64 - p->levels)) : 0;
    int64_t found = 0;
    while (found < p->n) {
        for (; found < p->n; found++) {
            int shift = skew ? (int)check_below(seed, p->levels) : 0;
            p->rows[found] = (check_next(seed) & mask) >> shift;
        }
        qsort(p->rows, (size_t)p->n, sizeof *p->rows, check_ascend);
        int64_t distinct = 1;
        for (int64_t j = 1; j < p->n; j++)
            if (p->rows[j] != p->rows[distinct - 1]) p->rows[distinct++] = p->rows[j];
        found = distinct;
        if (p->levels < 12 && found < p->n) p->n = found;
    }
}

enum { PROBLEM_KINDS = 5, PROBLEM_TIES = 1, PROBLEM_WAVES = 2 };

static inline double problem_value(uint64_t *seed, int kind, int64_t j) {
    if (kind == 0) return 2.0 * check_uniform(seed) - 1.0;
    if (kind == PROBLEM_TIES) return (double)(check_below(seed, 3) - 1); /* and zeros */
    if (kind == PROBLEM_WAVES) return sin((double)j * 0.1) + (j % 50 < 25 ? 1.0 : 0.0);
    if (kind == 3) return 7.0;
    return ldexp(check_uniform(seed) - 0.5, (int)check_below(seed, 60) - 30);
}

static inline problem problem_create(uint64_t *seed, int levels, int64_t n, csrec_columns columns,
                                     int kind, int skew) {
    problem p = {.levels = levels, .n = n, .columns = columns};
    p.rows = malloc((size_t)n * sizeof *p.rows);
    p.y = malloc((size_t)n * sizeof *p.y);
    problem_rows(seed, &p, skew);
    for (int64_t j = 0; j < p.n; j++) p.y[j] = problem_value(seed, kind, j);
    return p;
}

/* Anything up to these sizes. */
static inline problem problem_draw(uint64_t *seed, int64_t largest_n, int largest_levels) {
    int levels = (int)check_below(seed, largest_levels + 1);
    int64_t limit = levels < 20 ? INT64_C(1) << levels : largest_n;
    int64_t n = 1 + check_below(seed, limit < largest_n ? limit : largest_n);
    csrec_columns columns = check_below(seed, 2) ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED;
    int kind = (int)check_below(seed, PROBLEM_KINDS);
    return problem_create(seed, levels, n, columns, kind, levels > 12 && check_below(seed, 3) == 0);
}

static inline void problem_drop(problem *p) {
    free(p->rows);
    free(p->y);
}

/* The transform's list. */
static inline csrec_product *problem_products(const problem *p, csrec_transform_method method,
                                              int64_t *found) {
    assert_ok(
        csrec_haar_transform(NULL, p->levels, p->n, p->rows, p->y, method, 0, NULL, found, NULL));
    csrec_product *products = malloc((size_t)*found * sizeof *products);
    int64_t again = 0;
    assert_ok(csrec_haar_transform(NULL, p->levels, p->n, p->rows, p->y, method, *found, products,
                                   &again, NULL));
    assert_int_equal(again, *found);
    return products;
}

/* Of two pursuits, to the bit. */
static inline void assert_same_atoms(const csrec_atoms *a, const csrec_atoms *b) {
    assert_int_equal(a->n, b->n);
    if (a->n == 0) return;
    assert_memory_equal(a->column, b->column, (size_t)a->n * sizeof *a->column);
    assert_memory_equal(a->coefficient, b->coefficient, (size_t)a->n * sizeof *a->coefficient);
    assert_memory_equal(a->count, b->count, (size_t)a->n * sizeof *a->count);
}

/* Compares the atoms and residuals of two pursuits. */
static inline void assert_same_results(const problem *p, const csrec_pursuit_type *type_a, void *a,
                                       const csrec_pursuit_type *type_b, void *b) {
    CLEARED(csrec_atoms) atoms_a = {0}, atoms_b = {0};
    double *ra = check_room(p->n), *rb = check_room(p->n);
    assert_ok(type_a->result(a, p->y, &atoms_a, ra));
    assert_ok(type_b->result(b, p->y, &atoms_b, rb));
    assert_same_atoms(&atoms_a, &atoms_b);
    assert_memory_equal(ra, rb, (size_t)p->n * sizeof *ra);
}
