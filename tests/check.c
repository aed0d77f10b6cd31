/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - runs the tests that a program has listed by TEST of check.h. A program whose start
 * needs more has a main of its own, which calls check_run. */
#include "check.h"

enum { MOST = 64 };

static struct CMUnitTest listed[MOST];
static size_t n_listed;
static CMFixtureFunction before, behind;

void check_list(const char *name, CMUnitTestFunction run, const char *state) {
    if (n_listed == MOST) abort();
    listed[n_listed++] = (struct CMUnitTest){name, run, NULL, NULL, (void *)(uintptr_t)state};
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
