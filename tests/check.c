/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - runs the tests that a program has listed by TEST of check.h. A program whose start
 * needs more has a main of its own, which calls check_run. */
#include "check.h"

enum { MOST = 64 };

static struct CMUnitTest listed[MOST];
static size_t n_listed;
static CMFixtureFunction before, behind;

static void **kept; /* [n_kept] */
static size_t n_kept;

void *check_keep(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    void **more = realloc(kept, (n_kept + 1) * sizeof *kept);
    if (!memory || !more) abort();
    kept = more;
    return kept[n_kept++] = memory;
}

void *check_keep_zeros(size_t count, size_t size) {
    return memset(check_keep(count * size), 0, count * size);
}

char *check_print(const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, values) + 1;
    char *text = check_keep(size);
    vsnprintf(text, size, format, again);
    va_end(values);
    va_end(again);
    return text;
}

static int release(void **state) {
    (void)state;
    while (n_kept > 0) free(kept[--n_kept]);
    free(kept);
    kept = NULL;
    return 0;
}

void check_list(const char *name, CMUnitTestFunction run, const char *state) {
    if (n_listed == MOST) abort();
    listed[n_listed++] = (struct CMUnitTest){name, run, NULL, release, (void *)(uintptr_t)state};
}

void check_within(CMFixtureFunction setup, CMFixtureFunction teardown) {
    before = setup;
    behind = teardown;
}

int check_run(void) {
    return n_listed ? _cmocka_run_group_tests("tests", listed, n_listed, before, behind) : 1;
}

__attribute__((weak)) int main(void) {
    return check_run();
}
