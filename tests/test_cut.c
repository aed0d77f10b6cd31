/* The pursuit of one signal over several processes against that of one process, to the bit:
 * iterations, outcome, energy, atoms and residual, for 1 to 7 ranks (threads), every stopping rule,
 * ties, skewed rows, pieces down to one sample, and logs down to one pick. */
#include "check.h"
#include "problem.h"

#include <pthread.h>
#include <string.h>

#include "haar/atoms.h"
#include "haar/shared.h"

static uint64_t seed;

typedef struct result {
    csrec_status status;
    csrec_atoms atoms;
    double *r;
    csrec_shared_report report;
    csrec_error error;
} result;

static void drop_result(result *s) {
    csrec_atoms_clear(&s->atoms);
    free(s->r);
}

/* ------------------------------------------------------------------ one process --------------- */

/* Rules in the order of the solvers' loop. */
static csrec_outcome pursue(const csrec_pursuit_type *type, void *p, const csrec_shared_job *job,
                            int64_t *iterations) {
    for (*iterations = 0;; ++*iterations) {
        if (type->energy(p) <= job->goal) return CSREC_CONVERGED;
        if (*iterations >= job->limit) return CSREC_ATOM_LIMIT;
        if (type->select(p) < job->small) return CSREC_SMALL;
        if (!type->update(p)) return CSREC_STALLED;
    }
}

static result run_one(const problem *p, const csrec_pursuit_type *type,
                      const csrec_shared_job *job) {
    result s = {.r = malloc((size_t)p->n * sizeof *s.r)};
    csrec_tree tree;
    void *pursuit;
    assert_ok(csrec_tree_create(p->levels, p->n, p->rows, p->columns, &tree));
    assert_ok(type->create(&tree, p->y, &pursuit));
    s.report.outcome = pursue(type, pursuit, job, &s.report.iterations);
    s.report.energy = type->energy(pursuit);
    assert_ok(type->result(pursuit, p->y, &s.atoms, s.r));
    type->destroy(pursuit);
    csrec_tree_clear(&tree);
    return s;
}

/* The energy, or the coefficient, of a random iteration of the first `most`. */
static double some_value(const problem *p, int64_t most, bool energy) {
    csrec_tree tree;
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
    csrec_tree_clear(&tree);
    return value;
}

/* ------------------------------------------------------------------ ranks --------------------- */

typedef struct rank {
    csrec_comm_hub *hub;
    int number;
    csrec_shared_job job;
    result *result;
} rank;

static void *run_rank(void *context) {
    rank *k = context;
    result *s = k->result;
    s->status = k->hub ? csrec_comm_hub_join(k->hub, k->number, &k->job.comm, &s->error) : CSREC_OK;
    if (!s->status)
        s->status = csrec_shared_pursuit(&k->job, &s->atoms, s->r, &s->report, &s->error);
    csrec_comm_destroy(k->job.comm);
    return NULL;
}

/* ranks 0: without a communicator. One rank may have another engine. */
typedef struct plan {
    csrec_shared_job job;
    int ranks, other;
    const csrec_pieces_type *type;
} plan;

static void start_ranks(const plan *what, result *results) {
    pthread_t thread[8];
    rank each[8];
    csrec_comm_hub *hub = NULL;
    int count = what->ranks > 0 ? what->ranks : 1;
    if (what->ranks > 0) assert_ok(csrec_comm_hub_create(what->ranks, &hub));
    for (int k = 0; k < count; k++) {
        double *r = calloc((size_t)what->job.n, sizeof *r);
        results[k] = (result){.r = r};
        each[k] = (rank){hub, k, what->job, &results[k]};
        if (k == what->other) each[k].job.type = what->type;
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &each[k]), 0);
    }
    for (int k = 0; k < count; k++) pthread_join(thread[k], NULL);
    csrec_comm_hub_destroy(hub);
}

static void run_ranks(const csrec_shared_job *job, int ranks, result *results) {
    start_ranks(&(plan){.job = *job, .ranks = ranks}, results);
    for (int k = 0; k < (ranks > 0 ? ranks : 1); k++) {
        if (results[k].status) print_message("rank %d: %s\n", k, results[k].error.text);
        assert_ok(results[k].status);
    }
}

/* ------------------------------------------------------------------ comparison ---------------- */

static void describe(const problem *p, const csrec_shared_job *job, int ranks, const result *a,
                     const result *b) {
    print_message("n %lld, M 2^%d, %s, %d ranks, pieces of %lld, log %lld, few %lld, limit %lld, "
                  "goal %a, small %a\n",
                  (long long)p->n, p->levels, csrec_columns_name(p->columns), ranks,
                  (long long)job->most, (long long)job->log, (long long)job->few,
                  (long long)job->limit, job->goal, job->small);
    print_message("one: %s, %lld iterations, energy %a, %lld atoms\n",
                  csrec_outcome_text(a->report.outcome), (long long)a->report.iterations,
                  a->report.energy, (long long)a->atoms.n);
    print_message("all: %s, %lld iterations, energy %a, %lld atoms\n",
                  csrec_outcome_text(b->report.outcome), (long long)b->report.iterations,
                  b->report.energy, (long long)b->atoms.n);
    for (int64_t i = 0; i < a->atoms.n && i < b->atoms.n; i++)
        if (a->atoms.column[i] != b->atoms.column[i] ||
            a->atoms.coefficient[i] != b->atoms.coefficient[i]) {
            print_message("atom %lld: column %llu, %a; column %llu, %a\n", (long long)i,
                          (unsigned long long)a->atoms.column[i], a->atoms.coefficient[i],
                          (unsigned long long)b->atoms.column[i], b->atoms.coefficient[i]);
            break;
        }
}

static bool same(const problem *p, const result *a, const result *b) {
    size_t n = (size_t)a->atoms.n;
    return a->report.outcome == b->report.outcome && a->report.iterations == b->report.iterations &&
           a->report.energy == b->report.energy && a->atoms.n == b->atoms.n &&
           (n == 0 || (!memcmp(a->atoms.column, b->atoms.column, n * sizeof *a->atoms.column) &&
                       !memcmp(a->atoms.coefficient, b->atoms.coefficient, n * sizeof(double)) &&
                       !memcmp(a->atoms.count, b->atoms.count, n * sizeof *a->atoms.count))) &&
           !memcmp(a->r, b->r, (size_t)p->n * sizeof *a->r);
}

typedef struct tally {
    int64_t outcomes[6], tops, merged, undone, rounds;
} tally;

static void add_to(tally *t, const csrec_shared_report *report) {
    t->outcomes[report->outcome]++;
    t->tops += report->tops;
    t->merged += report->merged;
    t->undone += report->undone;
    t->rounds += report->rounds;
}

static void print_tally(const tally *t) {
    print_message("%lld converged, %lld small, %lld at the limit, %lld stalled, %lld interrupted; "
                  "%lld rounds, %lld picks above pieces, %lld put into order, %lld taken back\n",
                  (long long)t->outcomes[CSREC_CONVERGED], (long long)t->outcomes[CSREC_SMALL],
                  (long long)t->outcomes[CSREC_ATOM_LIMIT], (long long)t->outcomes[CSREC_STALLED],
                  (long long)t->outcomes[CSREC_INTERRUPTED], (long long)t->rounds,
                  (long long)t->tops, (long long)t->merged, (long long)t->undone);
}

/* ------------------------------------------------------------------ cases --------------------- */

static int64_t power(int most) {
    return INT64_C(1) << check_below(&seed, most + 1);
}

static csrec_shared_job job_of(const problem *p) {
    csrec_shared_job job = {.levels = p->levels,
                            .n = p->n,
                            .rows = p->rows,
                            .y = p->y,
                            .columns = p->columns,
                            .limit = 4 * p->n,
                            .threads = 1,
                            .residual = true,
                            .most = 1 + check_below(&seed, check_below(&seed, 2) ? p->n : 6),
                            .log = power(10),
                            .few = power(9),
                            .batch = power(12)};
    return job;
}

static void draw_rules(const problem *p, csrec_shared_job *job) {
    int64_t most = 3 * p->n + 5;
    if (check_below(&seed, 3) == 0) job->limit = 1 + check_below(&seed, most);
    if (check_below(&seed, 3) == 0) job->goal = some_value(p, most, true);
    if (check_below(&seed, 3) == 0) job->small = some_value(p, most, false);
    if (check_below(&seed, 8) == 0) job->limit = 100 * p->n;
}

static void compare(const problem *p, const csrec_pursuit_type *type, const csrec_shared_job *job,
                    int ranks, tally *t) {
    result one = run_one(p, type, job), all[8];
    run_ranks(job, ranks, all);
    add_to(t, &all[0].report);
    if (!same(p, &one, &all[0])) {
        describe(p, job, ranks, &one, &all[0]);
        fail();
    }
    for (int k = 1; k < ranks; k++) {
        assert_int_equal(all[k].report.outcome, one.report.outcome);
        assert_int_equal(all[k].report.iterations, one.report.iterations);
        assert_int_equal(all[k].atoms.n, 0);
    }
    drop_result(&one);
    for (int k = 0; k < (ranks > 0 ? ranks : 1); k++) drop_result(&all[k]);
}

static void run_cases(const csrec_pursuit_type *type, int cases, int64_t largest_n, int most) {
    tally t = {.tops = 0};
    for (int k = 0; k < cases; k++) {
        problem p = problem_draw(&seed, largest_n, 62);
        csrec_shared_job job = job_of(&p);
        draw_rules(&p, &job);
        compare(&p, type, &job, (int)check_below(&seed, most + 1), &t);
        problem_drop(&p);
    }
    print_tally(&t);
}

static void ranks_equal_one_process(void **state) {
    (void)state;
    run_cases(&csrec_pursuit_eager, 3000, 40, 3);
    run_cases(&csrec_pursuit_eager, 600, 300, 7);
}

static void ranks_equal_the_reference(void **state) {
    (void)state;
    run_cases(&csrec_pursuit_reference, 400, 50, 5);
}

/* Many picks between those above the pieces, threads in each rank, sizes of pieces as in use. */
static void larger_signals(void **state) {
    (void)state;
    tally t = {.tops = 0};
    for (int k = 0; k < 8; k++) {
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
        problem_drop(&p);
    }
    print_tally(&t);
}

/* Stops at a call. */
static bool stops(void *context, int64_t iterations, double energy) {
    (void)iterations;
    (void)energy;
    return --*(int64_t *)context < 0;
}

/* Whenever it is stopped, it has made the first picks of the one process. */
static void a_stopped_pursuit_is_a_beginning(void **state) {
    (void)state;
    tally t = {.tops = 0};
    for (int k = 0; k < 300; k++) {
        problem p = problem_draw(&seed, 200, 62);
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
        result one = run_one(&p, &csrec_pursuit_eager, &first);
        if (all[0].report.outcome == CSREC_INTERRUPTED) one.report.outcome = CSREC_INTERRUPTED;
        if (all[0].report.outcome == CSREC_STALLED) one.report.outcome = CSREC_STALLED;
        if (!same(&p, &one, &all[0])) {
            describe(&p, &job, ranks, &one, &all[0]);
            fail();
        }
        drop_result(&one);
        drop_result(&all[0]);
        problem_drop(&p);
    }
    print_tally(&t);
}

static csrec_status fail_create(const csrec_pieces_job *job, void **state) {
    (void)job;
    (void)state;
    return CSREC_MEMORY;
}

/* A rank without memory ends all, with a line that names it. */
static void a_failing_rank_ends_all(void **state) {
    (void)state;
    csrec_pieces_type failing = csrec_pieces_cpu;
    failing.create = fail_create;
    for (int k = 0; k < 20; k++) {
        problem p = problem_draw(&seed, 100, 62);
        int ranks = 2 + (int)check_below(&seed, 5), bad = (int)check_below(&seed, ranks);
        result all[8];
        char who[32];
        snprintf(who, sizeof who, "process %d: ", bad);
        start_ranks(&(plan){job_of(&p), ranks, bad, &failing}, all);
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(all[r].status, CSREC_MEMORY);
            assert_true(r == bad || strstr(all[r].error.text, who));
            drop_result(&all[r]);
        }
        problem_drop(&p);
    }
}

/* Each rank's own atoms together are all. */
static void scattered_atoms_are_all(void **state) {
    (void)state;
    for (int k = 0; k < 200; k++) {
        problem p = problem_draw(&seed, 200, 62);
        csrec_shared_job job = job_of(&p);
        int ranks = 1 + (int)check_below(&seed, 5);
        result all[8], one = run_one(&p, &csrec_pursuit_eager, &job);
        job.scattered = true;
        run_ranks(&job, ranks, all);
        int64_t n = 0, at[8] = {0};
        for (int r = 0; r < ranks; r++) n += all[r].atoms.n;
        assert_int_equal(n, one.atoms.n);
        for (int64_t i = 0; i < n; i++) {
            int found = 0;
            for (int r = 0; r < ranks; r++) {
                if (at[r] >= all[r].atoms.n || all[r].atoms.column[at[r]] != one.atoms.column[i])
                    continue;
                assert_true(all[r].atoms.coefficient[at[r]] == one.atoms.coefficient[i]);
                at[r]++;
                found++;
            }
            assert_int_equal(found, 1);
        }
        for (int64_t j = 0; j < p.n; j++) {
            double sum = 0.0;
            for (int r = 0; r < ranks; r++) sum += all[r].r[j];
            assert_true(sum == one.r[j]);
        }
        for (int r = 0; r < ranks; r++) drop_result(&all[r]);
        drop_result(&one);
        problem_drop(&p);
    }
}

static csrec_recover_report recover_by(int threads, const csrec_measurement *m, double *signal,
                                       csrec_atoms *atoms) {
    csrec_recover_options options;
    csrec_recover_report report;
    csrec_error error;
    csrec_recover_defaults(&options);
    options.backend = "cpu";
    options.shifts = 1;
    options.threads = threads;
    options.solve.stop.atoms = 4000;
    if (csrec_recover(m, &options, signal, atoms, &report, &error)) fail_msg("%s", error.text);
    return report;
}

/* A signal that is large enough for threads to share its pursuit. */
static void threads_share_a_large_signal(void **state) {
    (void)state;
    enum { SIDE = 1056 };
    int64_t n = (1 << 20) + check_below(&seed, 1 << 16), entries = (int64_t)SIDE * SIDE;
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
        signal[t] = malloc((size_t)entries * sizeof *signal[t]);
        report[t] = recover_by(1 + 2 * t, &m, signal[t], &atoms[t]);
    }
    assert_int_equal(report[0].iterations, report[1].iterations);
    assert_int_equal(report[0].outcome, report[1].outcome);
    assert_true(report[0].residual == report[1].residual);
    assert_same_atoms(&atoms[0], &atoms[1]);
    assert_memory_equal(signal[0], signal[1], (size_t)entries * sizeof *signal[0]);
    for (int t = 0; t < 2; t++) {
        free(signal[t]);
        csrec_atoms_clear(&atoms[t]);
    }
    csrec_measurement_clear(&m);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_equal_one_process),
                                       cmocka_unit_test(ranks_equal_the_reference),
                                       cmocka_unit_test(larger_signals),
                                       cmocka_unit_test(a_stopped_pursuit_is_a_beginning),
                                       cmocka_unit_test(scattered_atoms_are_all),
                                       cmocka_unit_test(a_failing_rank_ends_all),
                                       cmocka_unit_test(threads_share_a_large_signal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
