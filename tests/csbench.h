/* SPDX-License-Identifier: BSD-3-Clause */
/* csbench.h - what the tests of csbench share: numbers in its reports, arrays of its files, and the
 * matrices that it draws. */
#pragma once

#include "tools/bench/bench.h"
#include "tools.h"

/* The number after "key": in the JSON text. */
static inline double number_in(const char *text, const char *key) {
    return number_after(text, check_print("\"%s\":", key));
}

/* Number i of the list after "key":. */
static inline double listed_in(const char *text, const char *key, int64_t i) {
    const char *quoted = check_print("\"%s\": [", key);
    const char *at = strstr(text, quoted);
    if (!at) fail_msg("no list %s in: %s", key, text);
    at += strlen(quoted);
    for (; i > 0; i--) at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

static inline csrec_array array_of(const char *path, const char *name) {
    csrec_array array;
    assert_well(csrec_npz_read(path, name, &array, &told));
    return array;
}

static inline int number_of(const char *(*name)(int), const char *wanted) {
    for (int i = 0; name(i); i++)
        if (strcmp(name(i), wanted) == 0) return i;
    fail_msg("no %s", wanted);
    return -1;
}

static inline double *draw(const char *ensemble, int64_t m, int64_t n, uint64_t key) {
    double *matrix = malloc((size_t)(m * n) * sizeof *matrix);
    const int number = number_of(bench_ensemble_name, ensemble);
    assert_well(bench_matrix_draw(number, m, n, key, matrix, &told));
    return matrix;
}
