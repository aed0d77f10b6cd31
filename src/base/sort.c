/* SPDX-License-Identifier: BSD-3-Clause */
/* sort.c - least significant digit radix sort of 64-bit keys with an optional payload. */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS = 8, BUCKETS = 256 };

/* One of the two buffers (the caller's arrays, the scratch) that passes alternate between. */
typedef struct {
    uint64_t *key;
    int64_t *payload; /* NULL if there is none */
} side;

static bool is_ascending(int64_t n, const uint64_t *rows) {
    for (int64_t i = 1; i < n; i++)
        if (rows[i - 1] > rows[i]) return false;
    return true;
}

static unsigned digit_of(uint64_t key, int digit) {
    return (unsigned)(key >> (8 * digit)) & 255u;
}

static void scatter(int64_t n, side from, side to, int digit, const int64_t count[BUCKETS]) {
    int64_t next[BUCKETS];
    int64_t start = 0;
    for (int b = 0; b < BUCKETS; b++) {
        next[b] = start;
        start += count[b];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t place = next[digit_of(from.key[i], digit)]++;
        to.key[place] = from.key[i];
        if (from.payload) to.payload[place] = from.payload[i];
    }
}

/* A pass over a digit that all keys share is skipped, so 2^20 rows take three passes, not eight. */
static side sort_digits(int64_t n, side from, side to, int64_t count[DIGITS][BUCKETS]) {
    for (int d = 0; d < DIGITS; d++) {
        if (count[d][digit_of(from.key[0], d)] == n) continue;
        scatter(n, from, to, d, count[d]);
        side swap = from;
        from = to;
        to = swap;
    }
    return from;
}

csrec_status csrec_sort_rows(int64_t n, uint64_t *rows, int64_t *payload) {
    if (n < 2 || is_ascending(n, rows)) return CSREC_OK;
    size_t bytes = (size_t)n * sizeof *rows;
    side given = {rows, payload};
    side scratch = {malloc(bytes), payload ? malloc(bytes) : NULL};
    int64_t(*count)[BUCKETS] = malloc(sizeof(int64_t[DIGITS][BUCKETS]));
    csrec_status status = CSREC_MEMORY;
    if (scratch.key && count && (!payload || scratch.payload)) {
        /* All digits are counted in one pass: their histograms do not depend on the order of the
         * keys. */
        memset(count, 0, sizeof(int64_t[DIGITS][BUCKETS]));
        for (int64_t i = 0; i < n; i++)
            for (int d = 0; d < DIGITS; d++) count[d][digit_of(rows[i], d)]++;
        side sorted = sort_digits(n, given, scratch, count);
        if (sorted.key != rows) {
            memcpy(rows, sorted.key, bytes);
            if (payload) memcpy(payload, sorted.payload, bytes);
        }
        status = CSREC_OK;
    }
    free(count);
    free(scratch.payload);
    free(scratch.key);
    return status;
}
