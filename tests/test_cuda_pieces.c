/* SPDX-License-Identifier: BSD-3-Clause */
/* A pursuit whose pieces are on CUDA devices, by one to three ranks, against that of one process:
 * iterations, outcome, energy and atoms to the bit, for every stopping rule, ties and skewed rows.
 * Ranks share a device if there are fewer. */
#include "device.h"
#include "shared_pursuit.h"

SEED(seed);

/* Compares, and returns whether all is the same. */
static bool compare(const problem *p, const csrec_shared_job *job, int ranks, tally *t) {
    ENDS_BY(drop_result) result one = run_one(p, &csrec_pursuit_eager, job);
    result all[4];
    start_ranks(
        &(plan){.job = *job, .ranks = ranks, .devices = csrec_cuda_devices(NULL), .results = all});
    bool good = true;
    for (int k = 0; k < ranks; k++) {
        if (!all[k].status) continue;
        print_message("rank %d: %s\n", k, all[k].error.text);
        good = false;
    }
    if (good) {
        add_to(t, &all[0].report);
        good = same(p, &one, &all[0], false);
        if (!good) describe(p, job, ranks, &one, &all[0]);
    }
    for (int k = 0; k < ranks; k++) drop_result(&all[k]);
    return good;
}

TEST_THERE(random_cases, false) {
    tally t = {.tops = 0};
    int wrong = 0, cases = brief() ? 6 : 120;
    for (int k = 0; k < cases; k++) {
        ENDS_BY(problem_drop)
        problem p = problem_draw(&seed, k % 4 ? 60 : brief() ? 200 : 3000, 62);
        csrec_shared_job job = plain_job(&p);
        job.most = 1 + check_below(&seed, check_below(&seed, 2) ? p.n : 6);
        if (k % 4 == 0 && job.most < p.n / 12) job.most = p.n / 12; /* each piece is a launch */
        if (job.most >= p.n) job.most = p.n - 1;
        job.log = INT64_C(1) << check_below(&seed, 11);
        job.few = INT64_C(1) << check_below(&seed, 10);
        job.batch = INT64_C(1) << check_below(&seed, 13);
        if (check_below(&seed, 3) == 0) job.limit = 1 + check_below(&seed, 3 * p.n);
        if (check_below(&seed, 4) == 0) job.small = 2.0 * check_uniform(&seed);
        if (p.n > 1) wrong += !compare(&p, &job, 1 + (int)check_below(&seed, 3), &t);
    }
    print_tally(&t);
    assert_int_equal(wrong, 0);
}

/* Pieces as large as in use. */
TEST_THERE(larger_signals, true) {
    tally t = {.tops = 0};
    int wrong = 0;
    for (int k = 0; k < 6; k++) {
        int64_t n = k < 4 ? 50000 : 1000003;
        ENDS_BY(problem_drop)
        problem p = problem_create(&seed, 23, n, (csrec_columns)(k % 2),
                                   k % 4 < 2 ? PROBLEM_WAVES : 0, k == 3);
        csrec_shared_job job = plain_job(&p);
        job.limit = n / 8;
        wrong += !compare(&p, &job, 1 + k % 3, &t);
    }
    print_tally(&t);
    assert_int_equal(wrong, 0);
}

/* A signal in one piece is for one device. */
TEST_THERE(one_piece_is_refused, false) {
    problem p = problem_draw(&seed, 60, 20);
    while (p.n == 1) { /* of which the CPU has the only pursuit */
        problem_drop(&p);
        p = problem_draw(&seed, 60, 20);
    }
    csrec_shared_job job = plain_job(&p);
    job.most = p.n;
    job.where = *cuda_context();
    assert_refused(csrec_shared_pursuit(&job, NULL, NULL, NULL, &told), CSREC_UNSUPPORTED,
                   "one device");
    problem_drop(&p);
}
