/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids over ranks, and over devices of one process, give the bits of one process: signals,
 * variances and reports; stopped at any time; with a rank that fails. Devices are shares of the CPU
 * here ("cpu:0,0"); test_cuda_devices has real ones. */
#include <pthread.h>
#include "recover/recover.h"
#include "tiles.h"

SEED(seed);

/* One recovery by several ranks, which are threads of the test. */

enum { RANKS_MOST = 5 };

typedef struct one_rank {
    const csrec_measurement *m;
    csrec_recover_options options;
    double *signal; /* NULL on all but the first */
    csrec_recover_report report;
    csrec_status status;
    csrec_error error;
} one_rank;

/* As a tool does it: who fails tells the others. */
static void run_rank(void *ranks, int rank, csrec_comm *comm, const csrec_error *why) {
    one_rank *r = (one_rank *)ranks + rank;
    r->error = *why;
    r->options.comm = comm;
    r->status = comm ? csrec_recover(r->m, &r->options, r->signal, NULL, &r->report, &r->error)
                     : CSREC_MEMORY;
    if (r->status && comm) csrec_comm_fail(comm, r->error.text);
}

static void run_ranks(int n, one_rank *ranks) {
    for (int k = 0; k < n; k++) ranks[k].status = CSREC_MEMORY; /* of a thread that did not start */
    assert_ok(csrec_comm_hub_run(n, run_rank, ranks));
}

static csrec_measurement draw(int64_t channels) {
    csrec_shape shape = {.dims = 2,
                         .dim = {8 + check_below(&seed, 40), 8 + check_below(&seed, 40)}};
    const int64_t entries = entries_in(&shape);
    csrec_measurement m = room_for_samples(shape, channels, entries);
    for (int64_t i = 0; i < entries; i++)
        if (i == 0 || check_below(&seed, 3) == 0) m.index[m.n++] = i;
    for (int64_t k = 0; k < m.n * channels; k++) m.y[k] = check_normal(&seed);
    return m;
}

static int64_t values_of(const csrec_measurement *m) {
    return m->shape.dim[0] * m->shape.dim[1] * m->channels;
}

static double *vector(int64_t n) {
    return check_keep_zeros((size_t)n, sizeof(double));
}

static void assert_same(const double *a, const double *b, int64_t n, const char *what) {
    int64_t shown = 0;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && shown++ < 5)
            print_error("%s, value %lld: %.17g, not %.17g\n", what, (long long)i, a[i], b[i]);
    if (shown) fail_msg("%s: %lld of %lld values differ", what, (long long)shown, (long long)n);
}

static void assert_same_report(const csrec_recover_report *a, const csrec_recover_report *b) {
    check_same_report(a, b);
    assert_string_equal(a->method, b->method);
    assert_string_equal(a->backend, b->backend);
}

static csrec_recover_options options_of(int64_t shifts) {
    csrec_recover_options o = options_on_cpu("grids", NULL);
    o.shifts = shifts;
    o.seed = check_next(&seed);
    o.threads = 1 + (int)check_below(&seed, 2);
    o.solve.stop.epsilon = 0.05;
    return o;
}

TEST(ranks_give_the_bits_of_one) {
    for (int k = 0; k < SANITIZED_SHARE(60); k++) {
        int n = 1 + k % RANKS_MOST;
        csrec_measurement m = draw(k % 2 ? 3 : 1);
        csrec_recover_options o = options_of(2 + check_below(&seed, 8));
        int64_t values = values_of(&m);
        double *alone = vector(values), *shared = vector(values);
        csrec_recover_report report;
        one_rank ranks[RANKS_MOST] = {{0}};
        assert_ok(csrec_recover(&m, &o, alone, NULL, &report, NULL));
        for (int r = 0; r < n; r++) {
            ranks[r] = (one_rank){.m = &m, .options = o, .signal = r ? NULL : shared};
            ranks[r].options.threads = 1 + (int)check_below(&seed, 3);
        }
        run_ranks(n, ranks);
        for (int r = 0; r < n; r++) {
            if (ranks[r].status) print_error("rank %d: %s\n", r, ranks[r].error.text);
            assert_ok(ranks[r].status);
        }
        assert_same(shared, alone, values,
                    check_print("%d ranks, %lld grids, %lld channels", n, (long long)o.shifts,
                                (long long)m.channels));
        assert_same_report(&ranks[0].report, &report);
    }
}

/* Also with variances, which only csrec_uncertainty asks for. */
TEST(devices_give_the_bits_of_one) {
    static const char *const names[] = {"cpu:0,0", "cpu:0,0,0", "cpu:0,0,0,0,0"};
    for (int k = 0; k < SANITIZED_SHARE(45); k++) {
        csrec_measurement m = draw(k % 2 ? 3 : 1);
        csrec_recover_options o = options_of(1 + check_below(&seed, 9));
        int64_t values = values_of(&m);
        double *s[2] = {vector(values), vector(values)}, *v[2] = {vector(values), vector(values)};
        csrec_recover_report report[2];
        for (int i = 0; i < 2; i++) {
            o.backend = i ? names[k % 3] : "cpu";
            assert_ok(csrec_recover_variance(&m, &o, s[i], k % 5 ? v[i] : NULL, &report[i], NULL));
        }
        assert_same(s[1], s[0], values, o.backend);
        assert_same(v[1], v[0], values, "variance");
        assert_same_report(&report[1], &report[0]);
    }
}

typedef struct stopper {
    pthread_t caller;
    int64_t calls, at, most; /* most: the largest done / total */
    bool elsewhere;
} stopper;

static bool stop_at(const csrec_progress *now, void *context) {
    stopper *s = context;
    if (!pthread_equal(s->caller, pthread_self())) s->elsewhere = true;
    if (now->total > 0 && now->done > now->total) s->most = now->done;
    return ++s->calls > s->at;
}

/* Only the calling thread hears of progress; its stop reaches the others. */
TEST(devices_stop_together) {
    for (int k = 0; k < SANITIZED_SHARE(20); k++) {
        csrec_measurement m = draw(3);
        csrec_recover_options o = options_of(64);
        int64_t values = values_of(&m);
        double *signal = vector(values);
        csrec_recover_report report;
        stopper s = {.caller = pthread_self(), .at = check_below(&seed, 6)};
        o.backend = "cpu:0,0,0";
        o.solve.stop.epsilon = 0.0;
        report_to(&o.solve, stop_at, &s);
        assert_ok(csrec_recover(&m, &o, signal, NULL, &report, NULL));
        assert_true(report.outcome == CSREC_INTERRUPTED || s.calls <= s.at);
        assert_false(s.elsewhere);
        assert_int_equal(s.most, 0);
        for (int64_t i = 0; i < values; i++) assert_true(isfinite(signal[i]));
    }
}

/* One of several processes hears the request; none hangs, and the communicator serves the next
 * recovery. */
TEST(a_rank_stops_all) {
    for (int k = 0; k < SANITIZED_SHARE(20); k++) {
        int n = 2 + k % (RANKS_MOST - 1), who = (int)check_below(&seed, n);
        csrec_measurement m = draw(1);
        csrec_recover_options o = options_of(40);
        double *signal = vector(values_of(&m));
        stopper s = {.at = check_below(&seed, 4)};
        one_rank ranks[RANKS_MOST] = {{0}};
        for (int r = 0; r < n; r++)
            ranks[r] = (one_rank){.m = &m, .options = o, .signal = r ? NULL : signal};
        ranks[who].options.solve.progress = stop_at;
        ranks[who].options.solve.context = &s;
        run_ranks(n, ranks);
        for (int r = 0; r < n; r++) assert_ok(ranks[r].status);
        assert_int_equal(ranks[0].report.outcome == CSREC_INTERRUPTED, s.calls > s.at);
        for (int64_t i = 0; i < values_of(&m); i++) assert_true(isfinite(signal[i]));
    }
}

TEST(a_failing_rank_ends_all) {
    for (int k = 0; k < 10; k++) {
        int n = 2 + k % (RANKS_MOST - 1), who = (int)check_below(&seed, n);
        csrec_measurement m = draw(1);
        csrec_recover_options o = options_of(9);
        double *signal = vector(values_of(&m));
        one_rank ranks[RANKS_MOST] = {{0}};
        for (int r = 0; r < n; r++)
            ranks[r] = (one_rank){.m = &m, .options = o, .signal = r ? NULL : signal};
        ranks[who].options.tile = -1;
        run_ranks(n, ranks);
        for (int r = 0; r < n; r++) {
            /* Who has done its part may not hear of it; the first does. */
            if (r > 0 && r != who && !ranks[r].status) continue;
            assert_int_equal(ranks[r].status, r == who ? CSREC_ARGUMENT : CSREC_STOPPED);
            assert_non_null(strstr(ranks[r].error.text, "tile = -1"));
        }
    }
}

TEST(a_failing_device_is_named) {
    csrec_measurement m = draw(1);
    csrec_recover_options o = options_of(9);
    double *signal = vector(values_of(&m));
    o.backend = "cpu:0,0,0";
    o.solve.stop.atoms = -1;
    assert_refused(csrec_recover(&m, &o, signal, NULL, NULL, &told), CSREC_ARGUMENT, "cpu:0: ");
    o.backend = "cpu:0,1";
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, NULL), CSREC_DEVICE);
    o.backend = "cpu:0,";
    assert_int_equal(csrec_recover(&m, &o, signal, NULL, NULL, NULL), CSREC_ARGUMENT);
}

TEST(what_is_not_shared_is_refused) {
    csrec_measurement m = draw(1);
    csrec_recover_options o = options_of(1);
    double *signal = vector(values_of(&m));
    one_rank ranks[2] = {{.m = &m, .options = o, .signal = signal}, {.m = &m, .options = o}};
    ranks[0].options.method = ranks[1].options.method = "pca"; /* without its model */
    run_ranks(2, ranks);
    for (int r = 0; r < 2; r++) assert_int_not_equal(ranks[r].status, CSREC_OK);
}

static bool never(const csrec_progress *now, void *context) {
    int64_t *calls = context;
    assert_true(now->total <= 0 || now->done <= now->total);
    ++*calls;
    return false;
}

TEST(tiles_over_devices_give_the_bits_of_one) {
    static const char *const names[] = {"cpu", "cpu:0,0", "cpu:0,0,0", "cpu:0,0,0,0,0,0,0"};
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {620, 540}}, 1, 0.0, 0.2, 0.0, &seed);
    double *first = vector(p.entries);
    int64_t calls = 0;
    csrec_recover_report report;
    csrec_recover_options o = options_by("frames");
    o.tile = 100000;
    report_to(&o.solve, never, &calls);
    for (int k = 0; k < 4; k++) {
        o.backend = names[k];
        assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
        assert_true(report.estimate.tiles > 2);
        if (k == 0) memcpy(first, p.signal, (size_t)p.entries * sizeof *first);
        assert_same(p.signal, first, p.entries, names[k]);
    }
    assert_true(calls > 0);
}

/* The rest becomes a guess, on all devices; a stop that comes too late changes nothing. */
TEST(tiles_over_devices_stop) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {620, 540}}, 1, 0.0, 0.2, 0.0, &seed);
    double *whole = vector(p.entries);
    csrec_recover_report report;
    csrec_recover_options o = options_by("frames");
    o.tile = 100000;
    o.backend = "cpu:0,0,0";
    assert_ok(csrec_recover(&p.m, &o, whole, NULL, NULL, NULL));
    for (int k = 0; k < 8; k++) {
        stopper s = {.caller = pthread_self(), .at = k * 4};
        report_to(&o.solve, stop_at, &s);
        assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
        if (report.outcome != CSREC_INTERRUPTED) assert_same(p.signal, whole, p.entries, "late");
        assert_false(s.elsewhere);
        for (int64_t i = 0; i < p.entries; i++) assert_true(isfinite(p.signal[i]));
    }
}
