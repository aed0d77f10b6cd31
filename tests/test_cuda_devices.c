/* SPDX-License-Identifier: BSD-3-Clause */
/* Several devices in one process give the bits of one: grids by both engines, tiles by all presets,
 * and recoveries side by side; stopped at any time. With one device the lists name it twice or
 * three times, which gives it as many threads. Differences are printed in full, and no test ends at
 * the first case that fails. */
#include <pthread.h>
#include "cuda_check.h"
#include "tiles.h"

SEED(seed);
enum { LISTS_MOST = 5 };

/* The first is one device. */
static const char *const *lists(void) {
    static const char *const two[LISTS_MOST] = {"cuda:0", "cuda:1", "cuda:0,1", "cuda", NULL};
    static const char *const one[LISTS_MOST] = {"cuda:0", "cuda:0,0", "cuda:0,0,0", "cuda", NULL};
    int device[CSREC_DEVICES_MOST], n = 0;
    assert_ok(csrec_backend_devices("cuda", device, &n, NULL));
    return n > 1 ? two : one;
}

static int devices_in(const char *list) {
    int device[CSREC_DEVICES_MOST], n = 0;
    assert_ok(csrec_backend_devices(list, device, &n, NULL));
    return n;
}

static double *vector(int64_t n) {
    return check_keep_zeros((size_t)n, sizeof(double));
}

/* Whether they differ, with the first five differences. */
static int differ(const double *a, const double *b, int64_t n, const char *what) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (memcmp(&a[i], &b[i], sizeof a[i]) == 0) continue;
        if (count++ < 5)
            print_error("%s, value %lld: %.17g, not %.17g\n", what, (long long)i, a[i], b[i]);
    }
    if (count)
        print_error("%s: %lld of %lld values differ\n", what, (long long)count, (long long)n);
    return count > 0;
}

static int differ_reports(const csrec_recover_report *a, const csrec_recover_report *b,
                          const char *what) {
    bool same = a->pursuits == b->pursuits && a->iterations == b->iterations &&
                a->outcome == b->outcome && a->levels == b->levels && a->residual == b->residual;
    if (!same)
        print_error(
            "%s: pursuits %lld, %lld; iterations %lld, %lld; outcome %d, %d; levels %d, %d; "
            "residual %.17g, %.17g\n",
            what, (long long)a->pursuits, (long long)b->pursuits, (long long)a->iterations,
            (long long)b->iterations, a->outcome, b->outcome, a->levels, b->levels, a->residual,
            b->residual);
    return !same;
}

static int failed(csrec_status status, const csrec_error *error, const char *what) {
    if (status) print_error("%s: status %d: %s\n", what, status, error->text);
    return status != CSREC_OK;
}

typedef struct grids_case {
    int64_t side, channels, shifts;
    double rate;
} grids_case;

/* Batches, and few large signals, which run one after another. */
static const grids_case grid_cases[] = {
    {40, 1, 2, 0.3},  {64, 3, 5, 0.4},  {90, 1, 9, 0.2},   {128, 3, 64, 0.25}, {96, 4, 7, 0.5},
    {33, 5, 3, 0.35}, {400, 1, 2, 0.5}, {520, 1, 4, 0.25}, {400, 2, 3, 0.6},   {300, 3, 16, 0.25},
};

static int try_grids(const grids_case *c) {
    ENDS_BY(clear)
    picture p =
        make(&(csrec_shape){2, {c->side, c->side + 7}}, c->channels, 0.1, c->rate, 0.0, &seed);
    int64_t values = p.entries * c->channels;
    double *alone = vector(values);
    csrec_recover_options o = options_by("grids");
    csrec_recover_report first, report;
    csrec_error error;
    int wrong = 0;
    o.shifts = c->shifts;
    o.seed = check_next(&seed);
    o.backend = "cpu";
    wrong += failed(csrec_recover(&p.m, &o, alone, NULL, &first, &error), &error, "cpu");
    for (const char *const *list = lists(); *list; list++) {
        const char *what =
            check_print("%s, %lld x %lld, %lld channels, %lld grids", *list, (long long)c->side,
                        (long long)c->side + 7, (long long)c->channels, (long long)c->shifts);
        memset(p.signal, 0, (size_t)values * sizeof *p.signal);
        o.backend = *list;
        if (failed(csrec_recover(&p.m, &o, p.signal, NULL, &report, &error), &error, what)) {
            wrong++;
            continue;
        }
        int64_t wanted = devices_in(*list) < c->shifts ? devices_in(*list) : c->shifts;
        wrong += differ(p.signal, alone, values, what) + differ_reports(&report, &first, what);
        if (report.n_devices != wanted) {
            print_error("%s: %d devices ran, not %lld\n", what, report.n_devices,
                        (long long)wanted);
            wrong++;
        }
    }
    return wrong;
}

TEST(grids_give_the_bits_of_the_cpu) {
    int wrong = 0;
    if (no_device()) skip();
    for (size_t k = 0; k < sizeof grid_cases / sizeof *grid_cases; k++)
        wrong += try_grids(&grid_cases[k]);
    assert_int_equal(wrong, 0);
}

typedef struct stopper {
    pthread_t caller;
    int64_t calls, at;
    bool elsewhere;
} stopper;

static bool stop_at(const csrec_progress *now, void *context) {
    stopper *s = context;
    (void)now;
    if (!pthread_equal(s->caller, pthread_self())) s->elsewhere = true;
    return ++s->calls > s->at;
}

TEST(a_stop_reaches_all_devices) {
    int wrong = 0;
    if (no_device()) skip();
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {512, 512}}, 3, 0.1, 0.25, 0.0, &seed);
    const char *const *all = lists();
    for (int k = 0; k < 8; k++) {
        stopper s = {.caller = pthread_self(), .at = k * k};
        csrec_recover_options o = options_by("grids");
        csrec_recover_report report;
        csrec_error error;
        o.shifts = k % 2 ? 64 : 3;
        o.backend = all[2];
        report_to(&o.solve, stop_at, &s);
        wrong += failed(csrec_recover(&p.m, &o, p.signal, NULL, &report, &error), &error, "stop");
        for (int64_t i = 0; i < p.entries * 3; i++) wrong += !isfinite(p.signal[i]);
        wrong += s.elsewhere || (s.calls > s.at && report.outcome != CSREC_INTERRUPTED);
        print_message("stopped at call %lld of %lld: outcome %d\n", (long long)s.at,
                      (long long)s.calls, report.outcome);
    }
    assert_int_equal(wrong, 0);
}

static int try_preset(int preset, picture *p, int64_t tile) {
    csrec_recover_options o;
    csrec_recover_report report;
    csrec_error error;
    double *first = vector(p->entries * p->m.channels);
    int wrong = 0;
    for (const char *const *list = lists(); *list; list++) {
        csrec_recover_preset(preset, &p->m, &o);
        o.tile = tile;
        o.backend = *list;
        const char *what =
            check_print("%s, %s in tiles", *list, csrec_recover_preset(preset, NULL, NULL));
        if (failed(csrec_recover(&p->m, &o, p->signal, NULL, &report, &error), &error, what)) {
            wrong++;
            continue;
        }
        print_message("%s: method %s, %lld tiles, %d devices, %.2f s\n", what, report.method,
                      (long long)report.estimate.tiles, report.n_devices, report.seconds_total);
        if (list == lists())
            memcpy(first, p->signal, (size_t)(p->entries * p->m.channels) * sizeof *first);
        else
            wrong += differ(p->signal, first, p->entries * p->m.channels, what);
        wrong += report.estimate.tiles < 2;
    }
    return wrong;
}

TEST(tiles_give_the_bits_of_one_device) {
    int wrong = 0;
    if (no_device()) skip();
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {620, 540}}, 1, 0.0, 0.2, 0.0, &seed);
    for (int preset = 0; preset < 3; preset++) wrong += try_preset(preset, &p, 100000);
    assert_int_equal(wrong, 0);
}

typedef struct one_file {
    picture p;
    double *alone;
    const char *backend;
    csrec_status status;
    csrec_error error;
} one_file;

static csrec_status recover_file(one_file *f, const char *backend, double *signal) {
    csrec_recover_options o;
    csrec_recover_preset(2, &f->p.m, &o);
    o.backend = backend;
    return csrec_recover(&f->p.m, &o, signal, NULL, NULL, &f->error);
}

static void *run_file(void *data) {
    one_file *f = data;
    f->status = recover_file(f, f->backend, f->p.signal);
    return NULL;
}

/* As csrecover does with many inputs: a thread a device. */
TEST(recoveries_side_by_side_do_not_mix) {
    enum { FILES = 4 };
    one_file files[FILES];
    pthread_t thread[FILES];
    int wrong = 0;
    if (no_device()) skip();
    for (int k = 0; k < FILES; k++) {
        one_file *f = &files[k];
        *f = (one_file){.p = make(&(csrec_shape){2, {150 + 10 * k, 200}}, 1, 0.0, 0.2, 0.0, &seed)};
        f->alone = vector(f->p.entries);
        wrong += failed(recover_file(f, "cuda:0", f->alone), &f->error, "alone");
        f->backend = lists()[k % 2];
        if (strchr(f->backend, ',')) f->backend = "cuda:0";
    }
    for (int k = 0; k < FILES; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, run_file, &files[k]), 0);
    for (int k = 0; k < FILES; k++) pthread_join(thread[k], NULL);
    for (int k = 0; k < FILES; k++) {
        one_file *f = &files[k];
        wrong += failed(f->status, &f->error, f->backend);
        wrong += differ(f->p.signal, f->alone, f->p.entries, f->backend);
        clear(&f->p);
    }
    assert_int_equal(wrong, 0);
}

TEST(wrong_lists_are_one_line) {
    static const char *const names[] = {"cuda:0,4711", "cuda:4711", "cuda:0,", "cuda:,0",
                                        "cuda:0,x"};
    if (no_device()) skip();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        int device[CSREC_DEVICES_MOST], n;
        assert_refused(csrec_backend_devices(names[k], device, &n, &told),
                       k < 2 ? CSREC_DEVICE : CSREC_ARGUMENT, names[k]);
    }
}

/* The failure of one device ends all, and its line names the device. */
TEST_THERE(a_failure_names_the_device, false) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {100, 100}}, 1, 0.0, 0.2, 0.0, &seed);
    csrec_recover_options o = options_by("grids");
    csrec_error error;
    o.shifts = 8;
    o.solve.stop.atoms = -1;
    o.backend = lists()[2];
    assert_int_equal(csrec_recover(&p.m, &o, p.signal, NULL, NULL, &error), CSREC_ARGUMENT);
    print_message("%s\n", error.text);
    assert_true(strncmp(error.text, "cuda:", 5) == 0 && strstr(error.text, "atoms = -1"));
}
