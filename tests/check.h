/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - what every test program needs: CMocka with its headers, and a fresh printed seed.
 * A failing run is repeated with CSREC_TEST_SEED=<the printed seed>. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "csrec.h"

/* The seed of this run: from the environment, else from the clock; printed the first time. */
static inline uint64_t check_seed(void) {
    static uint64_t drawn;
    static bool known;
    const char *given = getenv("CSREC_TEST_SEED");
    struct timespec now;
    if (known) return drawn;
    clock_gettime(CLOCK_REALTIME, &now);
    drawn = (uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec;
    if (given) drawn = strtoull(given, NULL, 0);
    known = true;
    printf("CSREC_TEST_SEED=%llu\n", (unsigned long long)drawn);
    return drawn;
}

void check_list(const char *name, CMUnitTestFunction run, const char *state);
void check_within(CMFixtureFunction setup, CMFixtureFunction teardown);

/* Runs all tests of the list; the main of a program that has no other. */
int check_run(void);

#define CHECK_FIRST __attribute__((constructor)) static void

/* TEST(name) { ... }: a test, put on the list before main; they run in the order of the file. */
#define TEST(name) TEST_LISTED(name, check_list(#name, name, NULL))
#define TEST_LISTED(name, ...)                                                                     \
    static void name(void **state);                                                                \
    CHECK_FIRST name##_is_listed(void) {                                                           \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    static void name(void **state __attribute__((unused)))

/* What is done before the first test and behind the last, once a program. */
#define FIXTURE(setup, teardown)                                                                   \
    CHECK_FIRST check_fixture(void) {                                                              \
        check_within(setup, teardown);                                                             \
    }                                                                                              \
    static void check_fixture(void)

/* A variable of the file that begins as the seed of this run. */
#define SEED(name)                                                                                 \
    static uint64_t name;                                                                          \
    CHECK_FIRST name##_is_drawn(void) {                                                            \
        name = check_seed();                                                                       \
    }                                                                                              \
    static uint64_t name

/* 1 where a sanitizer has an allocator, address space and threads of its own, so that the memory of
 * the process says nothing about the library; else 0. There each test takes five to ten times as
 * long. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Of so many random cases those that do there: every change draws others. */
#define SANITIZED_SHARE(cases) (SANITIZED ? ((cases) + 2) / 3 : (cases))

/* First in a test of how good results are: the program's other tests run the same code there. */
static inline void skip_sanitized(void) {
    if (SANITIZED) skip();
}

/* Of a pointer that is set before its block can end: then it is freed. */
#define OWNED __attribute__((cleanup(check_free)))

static inline void check_free(void *pointer) {
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/* Of a variable that is set before its block can end: then end(&variable) is called. */
#define ENDS_BY(end) __attribute__((cleanup(end)))

/* The same of a variable of this type, by <type>_clear. */
#define CLEARED(type) ENDS_BY(type##_clear) type

/* end_<what>, for pointers to what csrec_<what>_destroy frees. */
#define CHECK_END(what)                                                                            \
    static inline void end_##what(csrec_##what **object) {                                         \
        csrec_##what##_destroy(*object);                                                           \
    }

CHECK_END(comm)
CHECK_END(files)
CHECK_END(history)
CHECK_END(model)
CHECK_END(net)
CHECK_END(operator)
CHECK_END(sequence)
CHECK_END(slabs)
CHECK_END(statistics)
CHECK_END(tiles)

/* A small generator for test inputs, independent of the library's own (splitmix64). */
static inline uint64_t check_next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double check_uniform(uint64_t *state) {
    return (double)(check_next(state) >> 11) * 0x1p-53;
}

/* A standard normal number (Box and Muller). */
static inline double check_normal(uint64_t *state) {
    double radius = sqrt(-2.0 * log(1.0 - check_uniform(state)));
    return radius * cos(6.283185307179586 * check_uniform(state));
}

/* Memory, and a text, until the test's end, when check.c frees it; not in threads. */
void *check_keep(size_t bytes);
void *check_keep_zeros(size_t count, size_t size);
char *check_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Room for n numbers, and n normal ones, until the test's end. */
static inline double *check_room(int64_t n) {
    return check_keep((size_t)n * sizeof(double));
}

static inline double *kept_normals(uint64_t *state, int64_t n) {
    double *v = check_room(n);
    for (int64_t i = 0; i < n; i++) v[i] = check_normal(state);
    return v;
}

static inline int64_t check_below(uint64_t *state, int64_t n) {
    return (int64_t)(check_next(state) % (uint64_t)n);
}

/* Of listed cases: whether this one is left to other changes, of another seed, under sanitizers. */
static inline bool sanitized_leaves(void) {
    static uint64_t state;
    if (state == 0) state = check_seed() + 1;
    return SANITIZED && check_below(&state, 3) > 0;
}

/* A child of this process, which gets 0; and how it ended: its exit code, or 128 + its signal. */
static inline pid_t check_fork(void) {
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    return child;
}

static inline int check_ended(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The numbers below n in random order, malloc'ed. */
static inline int64_t *check_order(uint64_t *state, int64_t n) {
    int64_t *index = malloc((size_t)n * sizeof *index);
    for (int64_t k = 0; k < n; k++) {
        const int64_t other = check_below(state, k + 1);
        index[k] = other < k ? index[other] : k;
        index[other] = k;
    }
    return index;
}

/* For qsort: numbers of 64 bits, none below 0, ascend. */
static inline int check_ascend(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static inline int check_ascend_reals(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int64_t entries_in(const csrec_shape *shape) {
    int64_t count = 1;
    for (int d = 0; d < shape->dims; d++) count *= shape->dim[d];
    return count;
}

/* A progress function: asks to stop as soon as *context, an int, reports have come. */
static inline bool stop_by_count(const csrec_progress *progress, void *context) {
    (void)progress;
    return (*(int *)context)-- <= 0;
}

/* Without samples, with room for so many until the test's end: not to be cleared. */
static inline csrec_measurement room_for_samples(csrec_shape shape, int64_t channels,
                                                 int64_t most) {
    return (csrec_measurement){.shape = shape,
                               .channels = channels,
                               .dtype = CSREC_F64,
                               .index = check_keep((size_t)most * sizeof(int64_t)),
                               .y = check_room(most * channels)};
}

/* Of n samples, y [n * channels], which are the caller's. */
static inline csrec_measurement samples_at(csrec_shape shape, int64_t n, int64_t channels,
                                           int64_t *index, double *y) {
    csrec_measurement m = {.shape = shape, .n = n, .channels = channels, .dtype = CSREC_F64};
    m.index = index, m.y = y;
    return m;
}

/* The root of the mean square of the differences. */
static inline double check_rms(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / (double)n);
}

static inline void use_settings(csrec_solve_options *o, int n, const csrec_setting *settings) {
    o->settings = settings;
    o->n_settings = n;
}

static inline void report_to(csrec_solve_options *o, csrec_progress_fn progress, void *context) {
    o->progress = progress;
    o->context = context;
}

/* What two recoveries of the same bits tell alike. */
static inline void check_same_report(const csrec_recover_report *a, const csrec_recover_report *b) {
    assert_int_equal(a->pursuits, b->pursuits);
    assert_int_equal(a->iterations, b->iterations);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->levels, b->levels);
    assert_true(a->residual == b->residual);
}

/* What end_operator ends. */
static inline csrec_operator *operator_of(const csrec_operator_spec *spec) {
    csrec_operator *A = NULL;
    csrec_error error = {""};
    if (csrec_operator_create(spec, &A, &error)) fail_msg("%s", error.text);
    return A;
}

static inline csrec_operator *dense_operator(const char *backend, int64_t m, int64_t n,
                                             const double *matrix) {
    return operator_of(&(csrec_operator_spec){
        .name = "dense", .m = m, .n = n, .matrix = matrix, .backend = backend});
}

/* By a solver with one setting, or with none. */
static inline csrec_solve_options solver_by(const char *solver, csrec_stop stop,
                                            const csrec_setting *set) {
    return (csrec_solve_options){
        .solver = solver, .stop = stop, .settings = set, .n_settings = set != NULL};
}

/* The default options with a method; NULL: what they have. */
static inline csrec_recover_options options_by(const char *method) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    if (method) options.method = method;
    return options;
}

static inline csrec_recover_options options_on_cpu(const char *method, const csrec_model *model) {
    csrec_recover_options options = options_by(method);
    options.backend = "cpu";
    options.model = model;
    return options;
}

/* x and r of a solver, which must not fail; r: or NULL. */
static inline csrec_solve_report solve_for(const csrec_operator *A, const double *y,
                                           const csrec_solve_options *options, double *x,
                                           double *r) {
    csrec_atoms atoms = {0};
    csrec_solve_report report;
    csrec_error error = {""};
    int64_t m, n;
    csrec_operator_size(A, &m, &n);
    if (csrec_solve(A, y, options, &atoms, r, &report, &error))
        fail_msg("%s: %s", options->solver, error.text);
    memset(x, 0, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
    csrec_atoms_clear(&atoms);
    return report;
}

#define assert_ok(call) assert_int_equal((call), CSREC_OK)

/* Whether a call that told in `error` gave this status: if not CSREC_OK, in one line, which has
 * these words. */
static inline bool check_answer(csrec_status got, csrec_status wanted, const char *words,
                                const csrec_error *error) {
    const bool said = strstr(error->text, words) && *error->text && !strchr(error->text, '\n');
    if (got == wanted && (said || wanted == CSREC_OK)) return true;
    print_error("status %d: '%s', not %d and one line with '%s'\n", (int)got, error->text,
                (int)wanted, words);
    return false;
}

/* Of a call whose error is &told, which they declare. */
#define assert_well(call)          assert_refused(call, CSREC_OK, "")
#define assert_fails(call, status) assert_refused(call, status, "")
#define assert_refused(call, status, words)                                                        \
    do {                                                                                           \
        csrec_error told = {""};                                                                   \
        if (!check_answer(call, status, words, &told)) fail();                                     \
    } while (0)
