/* SPDX-License-Identifier: BSD-3-Clause */
/* test_history.c - the history of a recovery: every step must be what a recovery that stops there
 * delivers. */
#include "history.h"

TEST(pursuit_on_one_grid) {
    static const char *const solvers[] = {"mp", "omp", "romp", "iht", "fista"};
    for (int i = 0; i < 10; i++) {
        problem p = draw(1 + i % 3, i % 3 == 0 ? 800 : i % 3 == 1 ? 30 : 9, 1 + i % 3, 20.0);
        csrec_recover_options options = options_by(NULL);
        options.shifts = 1;
        options.solve.solver = solvers[i % 5];
        options.solve.stop.epsilon = 0.02;
        if (i % 5 > 2) options.solve.stop.atoms = 60; /* iht: iterations, of as many columns */
        csrec_history *history = follow(&p, &options);
        /* To romp and iht atoms are a number of columns too: only their end can be repeated. */
        if (i % 5 < 2) check_steps(&p, &options, history, "iteration", ATOMS);
        int64_t n;
        const csrec_history_step *steps = track_of(history, 0, "iteration", &n);
        check_step(&steps[n - 1], &p, p.signal);
        check_result(history, &p, 1);
        csrec_history_destroy(history);
        clear(&p);
    }
}

TEST(mean_over_grids) {
    problem p = draw(2, 25, 2, 20.0);
    csrec_recover_options options = options_by(NULL);
    options.shifts = 37; /* more than a batch */
    csrec_history *history = follow(&p, &options);
    check_steps(&p, &options, history, "grid", SHIFTS);
    check_result(history, &p, 1);
    csrec_history_destroy(history);
    clear(&p);
}

/* With noise the samples stay as the thresholding leaves them, so the residual is not that of the
 * signal: only its PSNR is compared. */
TEST(thresholding) {
    problem p = draw(2, 33, 3, 20.0);
    csrec_recover_options options = options_by(NULL);
    csrec_setting settings[] = {{"block", 8}, {"steps", 20}};
    options.basis = "dct";
    options.solve.settings = settings;
    options.solve.n_settings = 2;
    csrec_history *history = follow(&p, &options);
    int64_t n;
    const csrec_history_step *steps = track_of(history, 0, "iteration", &n);
    assert_int_equal(n, 17); /* 1 to 16, and 20 */
    assert_int_equal(steps[n - 1].iteration, 20);
    for (int64_t k = 0; k < n; k += 5) {
        csrec_recover_options there = options;
        there.solve.stop.atoms = steps[k].iteration;
        assert_ok(csrec_recover(&p.m, &there, p.signal, NULL, NULL, NULL));
        double psnr = csrec_psnr(p.entries * 3, p.truth, p.signal, 255.0);
        assert_true(fabs(steps[k].psnr - psnr) < 1e-7);
    }
    csrec_history_destroy(history);
    clear(&p);
}

TEST(frames_are_tracks) {
    problem p = draw(2, 33, 1, 20.0);
    csrec_recover_options options = options_by("frames");
    csrec_history *history = follow(&p, &options);
    check_result(history, &p, 3);
    csrec_history_destroy(history);
    clear(&p);
}

TEST(rounds_of_groups) {
    problem p = draw(2, 30, 1, 20.0);
    csrec_recover_options options = options_by(NULL);
    options.solve.solver = "gaussian";
    csrec_history *history = follow(&p, &options);
    int64_t n;
    const csrec_history_step *steps = track_of(history, 0, "round", &n);
    assert_true(n >= 2 && steps[0].psnr > 10.0);
    check_step(&steps[n - 1], &p, p.signal);
    check_result(history, &p, 1);
    csrec_history_destroy(history);
    clear(&p);
}

/* Levels against the definition: column = M / span + group. */
TEST(levels_are_counted) {
    problem p = draw(2, 20, 2, 20.0);
    csrec_recover_report report;
    csrec_atoms atoms[2];
    int64_t count[64], expected[64] = {0};
    csrec_recover_options options = options_by(NULL);
    options.shifts = 1;
    assert_ok(csrec_history_create(NULL, 1.0, &options.history));
    assert_int_equal(csrec_history_levels(options.history, count), 0);
    assert_ok(csrec_recover(&p.m, &options, NULL, atoms, &report, NULL));
    int levels = csrec_history_levels(options.history, count);
    assert_int_equal(levels, report.levels);
    for (int c = 0; c < 2; c++) {
        for (int64_t i = 0; i < atoms[c].n; i++) {
            uint64_t column = atoms[c].column[i], rows = UINT64_C(1) << levels;
            int level = 1;
            while (column && !(column >= rows >> level && column < 2 * (rows >> level))) level++;
            expected[column ? level : 0]++;
        }
        csrec_atoms_clear(&atoms[c]);
    }
    assert_memory_equal(count, expected, sizeof count);
    int64_t n;
    const csrec_history_step *steps = track_of(options.history, 0, "iteration", &n);
    assert_true(isnan(steps[n - 1].psnr)); /* no truth was given */
    csrec_history_destroy(options.history);
    clear(&p);
}

/* Stops as soon as `context` grids are done. */
static bool stop_after(const csrec_progress *progress, void *context) {
    return progress->done >= *(const int64_t *)context;
}

/* Stopped work is the mean of the grids that were done, without the one that was not. */
TEST(stopped_means_are_of_whole_grids) {
    problem p = draw(1, 3000, 1, 60.0);
    int64_t grids = 2 + check_below(&seed, 40); /* in the first batch, or the second */
    OWNED double *whole = malloc((size_t)p.entries * sizeof *whole);
    csrec_recover_report report;
    csrec_recover_options options = options_by(NULL);
    options.threads = 1;
    options.shifts = 60;
    options.solve.progress = stop_after;
    options.solve.context = &grids;
    assert_ok(csrec_recover(&p.m, &options, p.signal, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    assert_int_equal(report.pursuits, grids);
    options.shifts = grids;
    options.solve.progress = NULL;
    assert_ok(csrec_recover(&p.m, &options, whole, NULL, &report, NULL));
    assert_memory_equal(p.signal, whole, (size_t)p.entries * sizeof *whole);
    clear(&p);
}

TEST(of_one_solve_is_refused) {
    problem p = draw(1, 20, 1, 20.0);
    double room[4];
    csrec_recover_options options = options_by(NULL);
    options.solve.history = room;
    options.solve.history_size = 4;
    assert_int_equal(csrec_recover(&p.m, &options, p.signal, NULL, NULL, NULL), CSREC_ARGUMENT);
    csrec_history_destroy(NULL);
    clear(&p);
}
