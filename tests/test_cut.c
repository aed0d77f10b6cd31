/* SPDX-License-Identifier: BSD-3-Clause */
/* The pursuit of one signal over several processes against that of one process, to the bit:
 * iterations, outcome, energy and atoms, for 1 to 7 ranks (threads), every stopping rule,
 * ties, skewed rows, pieces down to one sample, and logs down to one pick. */
#include "shared_pursuit.h"
#include "sanitized.h"

SEED(seed);

static int64_t power(int most) {
    return INT64_C(1) << check_below(&seed, most + 1);
}

/* The energy, or the coefficient, of a random iteration of the first `most`. */
static double some_value(const problem *p, int64_t most, bool energy) {
    CLEARED(csrec_tree) tree = {0};
    void *pursuit;
    double value = 0.0;
    int64_t at = check_below(&seed, most);
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    assert_ok(csrec_pursuit_eager.create(&tree, p->y, &pursuit));
    for (int64_t k = 0; k <= at; k++) {
        double best = csrec_pursuit_eager.select(pursuit);
        value = energy ? csrec_pursuit_eager.energy(pursuit) : best;
        if (!csrec_pursuit_eager.update(pursuit)) break;
    }
    csrec_pursuit_eager.destroy(pursuit);
    return value;
}

static csrec_shared_job job_of(const problem *p) {
    csrec_shared_job job = plain_job(p);
    job.most = 1 + check_below(&seed, check_below(&seed, 2) ? p->n : 6);
    job.log = power(10);
    job.few = power(9);
    job.batch = power(12);
    return job;
}

static void draw_rules(const problem *p, csrec_shared_job *job) {
    int64_t most = 3 * p->n + 5;
    if (check_below(&seed, 3) == 0) job->limit = 1 + check_below(&seed, most);
    if (check_below(&seed, 3) == 0) job->goal = some_value(p, most, true);
    if (check_below(&seed, 3) == 0) job->small = some_value(p, most, false);
    if (check_below(&seed, 8) == 0) job->limit = 100 * p->n;
}

static void assert_same_result(const problem *p, const csrec_shared_job *job, int ranks,
                               const result *one, const result *all) {
    if (same(one, all)) return;
    describe(p, job, ranks, one, all);
    fail();
}

static void compare(const problem *p, const csrec_pursuit_type *type, const csrec_shared_job *job,
                    int ranks, tally *t) {
    ENDS_BY(drop_result) result one = run_one(p, type, job);
    result all[8];
    run_ranks(job, ranks, all);
    add_to(t, &all[0].report);
    assert_same_result(p, job, ranks, &one, &all[0]);
    for (int k = 1; k < ranks; k++) {
        assert_int_equal(all[k].report.outcome, one.report.outcome);
        assert_int_equal(all[k].report.iterations, one.report.iterations);
        assert_int_equal(all[k].atoms.n, 0);
    }
    for (int k = 0; k < (ranks > 0 ? ranks : 1); k++) drop_result(&all[k]);
}

static void run_cases(const csrec_pursuit_type *type, int cases, int64_t largest_n, int most) {
    tally t = {.tops = 0};
    for (int k = 0; k < SANITIZED_SHARE(cases); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, largest_n, 62);
        csrec_shared_job job = job_of(&p);
        draw_rules(&p, &job);
        compare(&p, type, &job, (int)check_below(&seed, most + 1), &t);
    }
    print_tally(&t);
}

TEST(ranks_equal_one_process) {
    run_cases(&csrec_pursuit_eager, 3000, 40, 3);
    run_cases(&csrec_pursuit_eager, 600, 300, 7);
}

TEST(ranks_equal_the_reference) {
    run_cases(&csrec_pursuit_reference, 400, 50, 5);
}

/* Many picks between those above the pieces, threads in each rank, sizes of pieces as in use. */
TEST(larger_signals) {
    tally t = {.tops = 0};
    for (int k = 0; k < 8; k++) {
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, 16, 12000, (csrec_columns)(k % 2),
                                   k % 4 < 2 ? PROBLEM_WAVES : 0, 0);
        csrec_shared_job job = job_of(&p);
        job.limit = 4000 + check_below(&seed, 4000);
        job.most = 300 + check_below(&seed, 3000);
        job.log = 1 << 14;
        job.threads = 1 + k % 3;
        compare(&p, &csrec_pursuit_eager, &job, k % 5, &t);
        job.most = job.log = job.few = job.batch = 0;
        compare(&p, &csrec_pursuit_eager, &job, 2, &t);
    }
    print_tally(&t);
}

/* Stops at a call. */
static bool stops(void *context, int64_t iterations, double energy) {
    (void)iterations, (void)energy;
    return --*(int64_t *)context < 0;
}

/* Whenever it is stopped, it has made the first picks of the one process. */
TEST(a_stopped_pursuit_is_a_beginning) {
    tally t = {.tops = 0};
    for (int k = 0; k < SANITIZED_SHARE(300); k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 200, 62);
        csrec_shared_job job = job_of(&p);
        int64_t calls = check_below(&seed, 60);
        int ranks = (int)check_below(&seed, 2); /* one thread calls */
        result all[8];
        job.stops = stops;
        job.context = &calls;
        run_ranks(&job, ranks, all);
        add_to(&t, &all[0].report);
        csrec_shared_job first = job;
        first.limit = all[0].report.iterations;
        ENDS_BY(drop_result) result one = run_one(&p, &csrec_pursuit_eager, &first);
        if (all[0].report.outcome == CSREC_INTERRUPTED) one.report.outcome = CSREC_INTERRUPTED;
        if (all[0].report.outcome == CSREC_EXHAUSTED) one.report.outcome = CSREC_EXHAUSTED;
        assert_same_result(&p, &job, ranks, &one, &all[0]);
        drop_result(&all[0]);
    }
    print_tally(&t);
}

static csrec_status fail_create(const csrec_pieces_job *job, void **state, csrec_error *error) {
    (void)job, (void)state;
    return csrec_fail(error, CSREC_MEMORY, "out of memory");
}

/* A rank without memory ends all, with a line that names it. */
TEST(a_failing_rank_ends_all) {
    csrec_pieces_type failing = csrec_pieces_cpu;
    failing.create = fail_create;
    for (int k = 0; k < 20; k++) {
        ENDS_BY(problem_drop) problem p = problem_draw(&seed, 100, 62);
        int ranks = 2 + (int)check_below(&seed, 5), bad = (int)check_below(&seed, ranks);
        result all[8];
        const char *who = check_print("process %d: ", bad);
        start_ranks(&(plan){job_of(&p), ranks, bad, .type = &failing, .results = all});
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(all[r].status, CSREC_MEMORY);
            assert_true(r == bad || strstr(all[r].error.text, who));
            drop_result(&all[r]);
        }
    }
}

static csrec_recover_report recover_by(int threads, const csrec_measurement *m, double *signal,
                                       csrec_atoms *atoms) {
    csrec_recover_report report;
    csrec_recover_options options = options_by(NULL);
    options.backend = "cpu";
    options.shifts = 1;
    options.threads = threads;
    options.solve.stop.atoms = 4000;
    assert_well(csrec_recover(m, &options, signal, atoms, &report, &told));
    return report;
}

/* A signal that is large enough for threads to share its pursuit. */
TEST(threads_share_a_large_signal) {
    enum { SIDE = 1056 };
    int64_t n = (1 << 20) + check_below(&seed, 1 << 16), entries = (int64_t)SIDE * SIDE;
    ENDS_BY(csrec_measurement_clear)
    csrec_measurement m = {.shape = {2, {SIDE, SIDE}}, .channels = 1, .dtype = CSREC_F64, .n = n};
    double *signal[2];
    csrec_atoms atoms[2];
    csrec_recover_report report[2];
    m.index = malloc((size_t)n * sizeof *m.index);
    m.y = malloc((size_t)n * sizeof *m.y);
    for (int64_t k = 0; k < n; k++) {
        m.index[k] = k + (entries - n) * k / n;
        m.y[k] = problem_value(&seed, PROBLEM_WAVES, k) + 0.1 * check_uniform(&seed);
    }
    for (int t = 0; t < 2; t++) {
        signal[t] = check_keep((size_t)entries * sizeof *signal[t]);
        report[t] = recover_by(1 + 2 * t, &m, signal[t], &atoms[t]);
    }
    check_same_report(&report[0], &report[1]);
    assert_same_atoms(&atoms[0], &atoms[1]);
    assert_memory_equal(signal[0], signal[1], (size_t)entries * sizeof *signal[0]);
    for (int t = 0; t < 2; t++) csrec_atoms_clear(&atoms[t]);
}
