/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix sort against the C library's qsort, with ties to see that it is stable. */
#include "check.h"

#include "base/sort.h"

SEED(seed);

typedef struct {
    uint64_t key;
    int64_t place; /* breaks ties, so that qsort is stable as well */
} pair;

static int compare(const void *a, const void *b) {
    const pair *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return (p->place > q->place) - (p->place < q->place);
}

static void check_against_qsort(int64_t n, uint64_t mask) {
    OWNED uint64_t *rows = malloc(sizeof *rows * (size_t)(n + 1));
    OWNED uint64_t *alone = malloc(sizeof *alone * (size_t)(n + 1));
    OWNED int64_t *payload = malloc(sizeof *payload * (size_t)(n + 1));
    OWNED pair *expected = malloc(sizeof *expected * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) {
        rows[i] = alone[i] = check_next(&seed) & mask;
        payload[i] = i;
        expected[i] = (pair){rows[i], i};
    }
    qsort(expected, (size_t)n, sizeof *expected, compare);
    assert_ok(csrec_sort_rows(n, rows, payload));
    assert_ok(csrec_sort_rows(n, alone, NULL));
    for (int64_t i = 0; i < n; i++) {
        assert_true(rows[i] == expected[i].key && alone[i] == expected[i].key);
        assert_true(payload[i] == expected[i].place);
    }
}

TEST(sorts_like_qsort) {
    const uint64_t masks[] = {UINT64_MAX, 0xFFFFF, 0x7, 0xFF00FF0000, UINT64_C(3) << 61, 0};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
        for (int64_t n = 0; n < 40; n++) check_against_qsort(n, masks[m]);
        check_against_qsort(20000 + check_below(&seed, 1000), masks[m]);
    }
}
