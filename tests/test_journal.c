/* SPDX-License-Identifier: BSD-3-Clause */
/* Recoveries that are stopped and go on: with a journal they have the bits of one that was not
 * stopped, by any number of processes before and after; each process hands over its own values. */
#include "tiles.h"
#include <stdatomic.h>

SEED(seed);
enum { MOST = 4 };

/* One recovery by `size` threads as processes. */
typedef struct round {
    picture *p;
    csrec_recover_options options;
    int size;
    bool slabs;       /* each hands over its own values; else csrec_recover */
    atomic_int calls; /* of progress */
    int limit;        /* of these calls, then all stop */
    atomic_int failed, whole;
    int64_t stopped_at; /* tiles that were done then, of one thread */
    double *signal;
    csrec_recover_report report;
} one_round;

static bool stop_all(const csrec_progress *now, void *context) {
    one_round *r = context;
    if (strcmp(now->stage, "tiles") != 0) return false;
    bool stops = atomic_fetch_add(&r->calls, 1) >= r->limit;
    if (stops && r->stopped_at < 0) r->stopped_at = now->done;
    return stops;
}

static csrec_status put(void *context, int64_t first, int64_t count, const double *values,
                        csrec_error *error) {
    one_round *r = context;
    (void)error;
    memcpy(r->signal + first, values, (size_t)count * sizeof *values);
    return CSREC_OK;
}

static csrec_status recover_slabs(one_round *r, int rank, const csrec_recover_options *o,
                                  csrec_error *error) {
    ENDS_BY(end_slabs) csrec_slabs *slabs = NULL;
    source from = {&r->p->m, 0, false};
    csrec_measurement form = r->p->m;
    form.index = NULL;
    form.y = NULL;
    form.n = 0;
    csrec_status status = csrec_slabs_create(&form, read_source, &from, o, &slabs, error);
    if (!status) status = csrec_slabs_put(slabs, put, r, error);
    if (!status && rank == 0) csrec_slabs_report(slabs, &r->report);
    if (!status && rank == 0) r->report.outcome = CSREC_DONE;
    return status;
}

static csrec_status recover_by(one_round *r, int rank, csrec_comm *comm, csrec_error *error) {
    csrec_recover_options o = r->options;
    csrec_recover_report report;
    o.comm = comm;
    report_to(&o.solve, stop_all, r);
    if (r->slabs) return recover_slabs(r, rank, &o, error);
    csrec_status status =
        csrec_recover(&r->p->m, &o, rank == 0 ? r->signal : NULL, NULL, &report, error);
    if (!status && rank == 0) r->report = report;
    return status;
}

static void run_member(void *round, int rank, csrec_comm *all, const csrec_error *why) {
    one_round *r = round;
    csrec_comm *comm = r->size > 1 ? all : NULL;
    csrec_error error = *why;
    csrec_status status = all ? recover_by(r, rank, comm, &error) : CSREC_MEMORY;
    if (!status && (rank > 0 || r->report.outcome != CSREC_INTERRUPTED))
        atomic_fetch_add(&r->whole, 1);
    if (status && comm) csrec_comm_fail(comm, error.text);
    if (status && status != CSREC_STOPPED) {
        print_error("%d of %d: %s\n", rank, r->size, error.text);
        atomic_fetch_add(&r->failed, 1);
    }
}

static void run_round(one_round *r) {
    r->stopped_at = -1;
    assert_ok(csrec_comm_hub_run(r->size, run_member, r));
    assert_int_equal(r->failed, 0);
}

static one_round round_of(picture *p, const csrec_recover_options *o, double *signal, int limit) {
    memset(signal, 0xff, (size_t)(p->entries * p->m.channels) * sizeof *signal);
    return (one_round){.p = p,
                       .options = *o,
                       .signal = signal,
                       .size = 1 + (int)check_below(&seed, MOST),
                       .slabs = check_below(&seed, 2),
                       .limit = limit};
}

static void expect_whole(one_round *r) {
    int64_t values = r->p->entries * r->p->m.channels;
    run_round(r);
    assert_int_equal(r->whole, r->size);
    for (int64_t i = 0; i < values; i++)
        if (memcmp(&r->signal[i], &r->p->signal[i], sizeof *r->signal) != 0)
            fail_msg("value %lld: %.17g instead of %.17g", (long long)i, r->signal[i],
                     r->p->signal[i]);
}

static void check_picture(csrec_shape shape, int64_t channels, const char *method,
                          csrec_setting setting, int64_t tile, int rounds) {
    ENDS_BY(clear) picture p = make(&shape, channels, 0.2, 0.15, 0.0, &seed);
    char path[] = "csrec-journal-XXXXXX";
    int fd = mkstemp(path);
    OWNED double *signal = malloc((size_t)(p.entries * channels) * sizeof *signal);
    assert_true(fd >= 0 && signal);
    close(fd);
    sort_samples(&p, 1.0, &seed);
    csrec_recover_options o = options_on_cpu(method, NULL);
    use_settings(&o.solve, 1, &setting);
    o.tile = tile;
    o.threads = 1;
    one_round first = round_of(&p, &o, p.signal, INT32_MAX);
    first.size = 1;
    first.slabs = false;
    run_round(&first);
    int64_t tiles = first.report.estimate.tiles;
    assert_true(tiles >= MOST && first.report.tiles_resumed == 0);
    for (int k = 0; k < rounds; k++) {
        o.journal = path;
        o.journal_key = check_print("round %d", k); /* of another round: begun anew */
        one_round some = round_of(&p, &o, signal, (int)check_below(&seed, first.calls));
        run_round(&some);
        one_round rest = round_of(&p, &o, signal, INT32_MAX);
        expect_whole(&rest);
        if (some.stopped_at < 0) some.stopped_at = tiles; /* it came to its end */
        if (some.size == 1) assert_int_equal(rest.report.tiles_resumed, some.stopped_at);
        one_round again = round_of(&p, &o, signal, INT32_MAX);
        expect_whole(&again);
        assert_int_equal(again.report.tiles_resumed, tiles);
        assert_int_equal(again.report.iterations, first.report.iterations);
        printf("%s: %d %s stopped, %d %s took %lld of %lld tiles\n", method, some.size,
               some.slabs ? "in slabs" : "whole", rest.size, rest.slabs ? "in slabs" : "whole",
               (long long)rest.report.tiles_resumed, (long long)tiles);
    }
    csrec_journal_remove(path);
    assert_int_equal(access(path, F_OK), -1);
}

TEST(stopped_recoveries_go_on) {
    check_picture((csrec_shape){2, {1100, 800}}, 1, "frames", (csrec_setting){"steps", 2}, 75000,
                  SANITIZED ? 3 : 6);
    check_picture((csrec_shape){3, {280, 40, 36}}, 1, "frames", (csrec_setting){"steps", 2}, 110000,
                  SANITIZED ? 1 : 3);
}

TEST(other_files_are_kept) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {600, 520}}, 1, 0.0, 0.1, 0.0, &seed);
    FILE *file = fopen("csrec-mine", "w");
    assert_non_null(file);
    fputs("a file of the user's own", file);
    fclose(file);
    csrec_journal_remove("csrec-mine");
    csrec_recover_options o = options_by("frames");
    o.tile = 100000;
    o.journal = "csrec-mine";
    assert_refused(csrec_recover(&p.m, &o, p.signal, NULL, NULL, &told), CSREC_FILE,
                   "csrec-mine: ");
    o.journal = "nowhere/journal";
    assert_refused(csrec_recover(&p.m, &o, p.signal, NULL, NULL, &told), CSREC_FILE,
                   "nowhere/journal: ");
    assert_int_equal(access("csrec-mine", F_OK), 0);
    remove("csrec-mine");
}
