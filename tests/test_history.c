/* SPDX-License-Identifier: BSD-3-Clause */
/* test_history.c - the history of a recovery, also of one that rests on components: every step must
 * be what a recovery that stops there delivers. */
#include "models.h"

SEED(seed);

typedef struct problem {
    csrec_measurement m;
    int64_t entries;
    double *truth, *signal;
} problem;

static problem draw(int dims, int64_t edge, int64_t channels, double noise) {
    csrec_shape shape = {.dims = dims};
    for (int a = 0; a < dims; a++) shape.dim[a] = edge + check_below(&seed, 9);
    const int64_t entries = entries_in(&shape);
    problem p = {.m = room_for_samples(shape, channels, entries), .entries = entries};
    p.truth = check_room(p.entries * channels);
    p.signal = check_room(p.entries * channels);
    double phase = 6.0 * check_uniform(&seed);
    for (int64_t i = 0; i < p.entries * channels; i++)
        p.truth[i] = 100.0 + 50.0 * sin(phase + 0.05 * (double)(i % 97 + i / 97)) +
                     noise * check_uniform(&seed);
    p.m.n = p.entries / 2;
    for (int64_t k = 0; k < p.entries; k++) p.m.index[k] = k;
    for (int64_t k = 0; k < p.m.n; k++) {
        int64_t other = k + check_below(&seed, p.entries - k), held = p.m.index[k];
        p.m.index[k] = p.m.index[other];
        p.m.index[other] = held;
        for (int64_t c = 0; c < channels; c++)
            p.m.y[k * channels + c] = p.truth[p.m.index[k] * channels + c];
    }
    return p;
}

static double residual_of(const problem *p, const double *signal) {
    double energy = 0.0, whole = 0.0;
    for (int64_t i = 0; i < p->m.n * p->m.channels; i++) {
        int64_t place = p->m.index[i / p->m.channels] * p->m.channels + i % p->m.channels;
        energy += (p->m.y[i] - signal[place]) * (p->m.y[i] - signal[place]);
        whole += p->m.y[i] * p->m.y[i];
    }
    return sqrt(energy / whole);
}

/* Recovers with a history, which must not change the signal. */
static csrec_history *follow(problem *p, csrec_recover_options *options) {
    csrec_history *history;
    size_t bytes = (size_t)(p->entries * p->m.channels) * sizeof *p->signal;
    OWNED double *without = malloc(bytes);
    assert_ok(csrec_history_create(p->truth, 255.0, &history));
    assert_ok(csrec_recover(&p->m, options, without, NULL, NULL, NULL));
    options->history = history;
    assert_well(csrec_recover(&p->m, options, p->signal, NULL, NULL, &told));
    options->history = NULL;
    assert_memory_equal(without, p->signal, bytes);
    return history;
}

/* Sums of squares in another order, over at most 10^4 values; and residuals that the pursuit
 * updates instead of recomputing, on a grid of 2^-40 of the largest sample or finer. */
static void check_step(const csrec_history_step *step, const problem *p, const double *signal) {
    double psnr = csrec_psnr(p->entries * p->m.channels, p->truth, signal, 255.0);
    if (fabs(step->psnr - psnr) > 1e-7) fail_msg("PSNR %.12g, not %.12g", step->psnr, psnr);
    double residual = residual_of(p, signal);
    if (fabs(step->residual - residual) > 1e-9)
        fail_msg("residual %.12g, not %.12g", step->residual, residual);
}

static const csrec_history_step *track_of(const csrec_history *history, int i, const char *unit,
                                          int64_t *n) {
    const csrec_history_step *steps;
    const char *name, *is;
    assert_true(csrec_history_track(history, i, &name, &is, n, &steps));
    assert_string_equal(is, unit);
    assert_true(*n > 0);
    for (int64_t k = 1; k < *n; k++) assert_true(steps[k].iteration > steps[k - 1].iteration);
    return steps;
}

/* The last track is the delivered signal. */
static void check_result(const csrec_history *history, const problem *p, int tracks) {
    int64_t n;
    const char *name, *unit;
    const csrec_history_step *steps;
    check_step(track_of(history, tracks, "iteration", &n), p, p->signal);
    assert_int_equal(n, 1);
    assert_false(csrec_history_track(history, tracks + 1, &name, &unit, &n, &steps));
    assert_false(csrec_history_track(history, -1, &name, &unit, &n, &steps));
}

typedef enum { ATOMS, SHIFTS } stop_by;

/* Some steps of the track equal the result of a recovery limited to that iteration. */
static void check_steps(problem *p, csrec_recover_options *options, const csrec_history *history,
                        const char *unit, stop_by stop) {
    int64_t n;
    const csrec_history_step *steps = track_of(history, 0, unit, &n);
    double *signal = check_room(p->entries * p->m.channels);
    for (int64_t k = 0; k < n; k += 1 + check_below(&seed, 6)) {
        csrec_recover_options there = *options;
        if (stop == ATOMS) there.solve.stop.atoms = steps[k].iteration;
        if (stop == SHIFTS) there.shifts = steps[k].iteration;
        if (there.shifts == 1 && stop == SHIFTS) continue; /* one grid alone is the plain one */
        assert_ok(csrec_recover(&p->m, &there, signal, NULL, NULL, NULL));
        check_step(&steps[k], p, signal);
    }
}

TEST(pursuit_on_one_grid) {
    static const char *const solvers[] = {"mp", "omp", "romp", "iht", "fista"};
    for (int i = 0; i < 10; i++) {
        problem p = draw(1 + i % 3, i % 3 == 0 ? 800 : i % 3 == 1 ? 30 : 9, 1 + i % 3, 20.0);
        csrec_recover_options options = options_by(NULL);
        options.shifts = 1;
        options.solve.solver = solvers[i % 5];
        options.solve.stop.epsilon = 0.02;
        if (i % 5 > 2) options.solve.stop.atoms = 60; /* iht: iterations, of as many columns */
        ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
        /* To romp and iht atoms are a number of columns too: only their end can be repeated. */
        if (i % 5 < 2) check_steps(&p, &options, history, "iteration", ATOMS);
        int64_t n;
        const csrec_history_step *steps = track_of(history, 0, "iteration", &n);
        check_step(&steps[n - 1], &p, p.signal);
        check_result(history, &p, 1);
    }
}

TEST(mean_over_grids) {
    problem p = draw(2, 25, 2, 20.0);
    csrec_recover_options options = options_by(NULL);
    options.shifts = 37; /* more than a batch */
    ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
    check_steps(&p, &options, history, "grid", SHIFTS);
    check_result(history, &p, 1);
}

/* With noise the samples stay as the thresholding leaves them, so the residual is not that of the
 * signal: only its PSNR is compared. */
TEST(thresholding) {
    problem p = draw(2, 33, 3, 20.0);
    csrec_recover_options options = options_by(NULL);
    csrec_setting settings[] = {{"block", 8}, {"steps", 20}};
    options.basis = "dct";
    use_settings(&options.solve, 2, settings);
    ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
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
}

TEST(frames_are_tracks) {
    problem p = draw(2, 33, 1, 20.0);
    csrec_recover_options options = options_by("frames");
    ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
    check_result(history, &p, 3);
}

TEST(rounds_of_groups) {
    problem p = draw(2, 30, 1, 20.0);
    csrec_recover_options options = options_by(NULL);
    options.solve.solver = "gaussian";
    ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
    int64_t n;
    const csrec_history_step *steps = track_of(history, 0, "round", &n);
    assert_true(n >= 2 && steps[0].psnr > 10.0);
    check_step(&steps[n - 1], &p, p.signal);
    check_result(history, &p, 1);
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
    report_to(&options.solve, stop_after, &grids);
    assert_ok(csrec_recover(&p.m, &options, p.signal, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    assert_int_equal(report.pursuits, grids);
    options.shifts = grids;
    options.solve.progress = NULL;
    assert_ok(csrec_recover(&p.m, &options, whole, NULL, &report, NULL));
    assert_memory_equal(p.signal, whole, (size_t)p.entries * sizeof *whole);
}

TEST(of_one_solve_is_refused) {
    problem p = draw(1, 20, 1, 20.0);
    double room[4];
    csrec_recover_options options = options_by(NULL);
    options.solve.history = room;
    options.solve.history_size = 4;
    assert_int_equal(csrec_recover(&p.m, &options, p.signal, NULL, NULL, NULL), CSREC_ARGUMENT);
    csrec_history_destroy(NULL);
}

/* Coefficients of components are found at once. */
TEST(components_have_no_steps) {
    problem p = draw(2, 6, 1, 20.0);
    csrec_recover_options options = options_by(NULL);
    ENDS_BY(end_model)
    csrec_model *model = least_model(&csrec_method_pca, p.m.shape, 1);
    options.model = model;
    ENDS_BY(end_history) csrec_history *history = follow(&p, &options);
    check_result(history, &p, 0);
}
