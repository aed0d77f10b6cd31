/* SPDX-License-Identifier: BSD-3-Clause */
/* Plug-and-play recovery of pictures: the slope of a denoiser against all of its derivatives, the
 * choice of the way, and what every way must keep. */
#include "pnp.h"

SEED(seed);

/* Half of the rows. */
static void measure(bench *b, const char *name, bool scrambled, csrec_row_choice choice,
                    const double *truth, int64_t *index, double *y) {
    measure_part(b, name, scrambled, choice, ENTRIES / 2, truth, &seed, index, y);
}

/* Whatever the errors of x are, those of u have the level that is told: here x is too smooth. */
TEST(the_level_is_the_error) {
    double truth[ENTRIES], y[ENTRIES / 2], level;
    int64_t index[ENTRIES / 2];
    ENDS_BY(bench_close) bench b;
    draw_picture(&seed, truth);
    measure(&b, "hadamard", true, CSREC_ROWS_UNIFORM, truth, index, y);
    bench_open(&b);
    for (int i = 0; i < ENTRIES; i++) b.p.x[i] = truth[i] + 30.0 * cos(0.2 * i / SIDE) + i % 7;
    assert_ok(csrec_pnp_decorrelate(&b.p, &level));
    /* squares of m = 512 random numbers are off by a third once in 10^6 */
    double true_level = sqrt(squares(ENTRIES, b.p.w, truth) / ENTRIES);
    if (fabs(level / true_level - 1.0) > 0.3) fail_msg("%g, but it is %g", level, true_level);
}

static bool fourier_is_built(void) {
    csrec_shape shape = {1, {4}};
    csrec_operator_spec spec = {.name = "fourier", .shape = &shape, .m = 4};
    ENDS_BY(end_operator) csrec_operator *A = NULL;
    return csrec_operator_create(&spec, &A, NULL) == CSREC_OK;
}

/* All rows of a matrix of each block of the picture. */
static void measure_whole(bench *b, int height, int width, int rows, const double *A,
                          const double *truth, int64_t *index, double *y) {
    *b = (bench){.spec = {.name = "matrix", .m = rows, .matrix = A}, .edge = {height, width}};
    if (height * width < ENTRIES) b->spec.kernel = b->edge;
    open_picture(b, index, y);
    b->m.n = rows * (ENTRIES / (height * width));
    for (int64_t i = 0; i < b->m.n; i++) index[i] = i;
    assert_ok(csrec_measurement_simulate(&b->m, truth, y, NULL));
}

/* Rows of Hadamard's matrix of a block, with random signs of its entries: orthogonal, and mixing in
 * the block. One matrix for all blocks. */
static void measure_blocks(bench *b, int height, int width, int rows, const double *truth,
                           double *A, int64_t *index, double *y) {
    const int each = height * width;
    OWNED int64_t *row = check_order(&seed, each);
    for (int j = 0; j < each; j++) A[j] = check_next(&seed) % 2 ? 1.0 : -1.0;
    for (int i = rows - 1; i >= 0; i--) /* row 0, the signs, is used up last */
        for (int j = 0; j < each; j++)
            A[i * each + j] = A[j] * (__builtin_parity((unsigned)(row[i] & j)) ? -1.0 : 1.0);
    measure_whole(b, height, width, rows, A, truth, index, y);
}

/* Orthonormal rows: waves of 1 to 4 periods along each axis in one of the two directions, and
 * random ones. */
static void measure_waves(bench *b, int rows, const double *truth, double *A, int64_t *index,
                          double *y) {
    const double turn = 2.0 * acos(-1.0) / SIDE;
    int row = 0;
    for (int u = 1; u <= 4; u++)
        for (int v = -4; v <= -1; v++)
            for (int k = 0; k < 2; k++, row++)
                for (int j = 0; j < ENTRIES; j++)
                    A[row * ENTRIES + j] =
                        sqrt(2.0 / ENTRIES) *
                        sin(turn * (u * (j / SIDE) + v * (j % SIDE)) + k * acos(-1.0) / 2.0);
    for (; row < rows; row++) {
        double *a = A + (int64_t)row * ENTRIES;
        for (int j = 0; j < ENTRIES; j++) a[j] = check_normal(&seed);
        orthonormalise(row, ENTRIES, A);
    }
    measure_whole(b, SIDE, SIDE, rows, A, truth, index, y);
}

/* Operators of a picture: whether message passing is for them. Blocks of the whole mix all. */
static const struct {
    const char *name;
    bool scrambled, mixes;
    csrec_row_choice choice;
    int height, width; /* of a block */
} cases[] = {{"hadamard", true, true, CSREC_ROWS_UNIFORM, 0, 0},
             {"hadamard", false, false, CSREC_ROWS_FIRST, 0, 0},
             {"blocks", false, true, CSREC_ROWS_UNIFORM, SIDE, SIDE},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 2, SIDE},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 4, SIDE / 2},
             {"blocks", false, false, CSREC_ROWS_UNIFORM, SIDE / 4, SIDE / 4},
             {"fourier", false, false, CSREC_ROWS_LINES, 0, 0}};

static int number_of_cases(void) {
    return (int)(sizeof cases / sizeof *cases) - !fourier_is_built();
}

/* A: [ENTRIES ENTRIES]; y, index: [2 ENTRIES], [ENTRIES]. */
static void measure_case(bench *b, int i, int percent, const double *truth, double *A,
                         int64_t *index, double *y) {
    const int each = cases[i].height * cases[i].width;
    if (each)
        measure_blocks(b, cases[i].height, cases[i].width, each * percent / 100, truth, A, index,
                       y);
    else
        measure_part(b, cases[i].name, cases[i].scrambled, cases[i].choice, ENTRIES * percent / 100,
                     truth, &seed, index, y);
}

/* Message passing is chosen for orthogonal rows that mix all entries alone. */
TEST(rows_that_mix_are_told_from_others) {
    OWNED double *A = room(ENTRIES * ENTRIES);
    for (int i = 0; i < number_of_cases(); i++) {
        double truth[ENTRIES], y[2 * ENTRIES];
        int64_t index[ENTRIES];
        bool mixes;
        ENDS_BY(bench_close) bench b;
        draw_picture(&seed, truth);
        measure_case(&b, i, 10 + (int)check_below(&seed, 41), truth, A, index, y);
        bench_open(&b);
        assert_ok(csrec_pnp_mixes(&b.p, &mixes));
        if (mixes != cases[i].mixes) fail_msg("case %d: %d", i, mixes);
    }
}

/* The mean over probes is the mean of all derivatives, by differences. */
TEST(the_slope_is_that_of_all_derivatives) {
    enum { SMALL = 8, n = SMALL * SMALL, PROBES = 24 };
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    double y[n], x[n], z[n], up[n], moved[n], probe[n], exact = 0.0, sum = 0.0, square = 0.0;
    const double sigma = 20.0, h = 0.5;
    int64_t index[n];
    ENDS_BY(bench_close)
    bench b = {.m = {.shape = {2, {SMALL, SMALL}}, .n = n, .channels = 1, .index = index, .y = y}};
    csrec_error error = {""};
    for (int i = 0; i < n; i++) {
        index[i] = i;
        y[i] = x[i] = 100.0 + 60.0 * (i % SMALL > 3) + sigma * check_normal(&seed);
    }
    bench_open(&b);
    assert_ok(csrec_denoiser_create(&b.r, &b.p.data, 1.0, false, &b.p.denoiser, &error));
    csrec_denoiser *d = &b.p.denoiser;
    assert_ok(csrec_denoise(d, x, sigma, 1, NULL, z, &error));
    for (int i = 0; i < n; i++) {
        double at = x[i];
        d->calls = 0;
        x[i] = at + h;
        assert_ok(csrec_denoise(d, x, sigma, 1, NULL, up, &error));
        x[i] = at;
        exact += (up[i] - z[i]) / (h * n);
    }
    for (int k = 0; k < PROBES; k++) {
        double slope;
        b.options.seed = check_next(&seed);
        assert_int_equal(d->calls, 1); /* so that the probe is turned as x was */
        assert_ok(csrec_denoiser_slope(d, x, z, sigma, 1, NULL, probe, moved, &slope, &error));
        sum += slope / PROBES;
        square += slope * slope / PROBES;
    }
    /* 7 standard deviations of 23 degrees of freedom: less than once in 10^6; and the network's
     * curvature */
    double deviation = sqrt(fmax(square - sum * sum, 0.0) / (PROBES - 1));
    if (fabs(sum - exact) > 7.0 * deviation + 0.01)
        fail_msg("%g by probes, %g by differences, deviation %g", sum, exact, deviation);
}

/* Every way with every denoiser meets the measurements as their noise says, is nearer to the truth
 * than the least squares solution, and in other units it is the same. */
TEST(every_way_keeps_its_promises) {
    const bool prior = csrec_prior_installed(1, 0, NULL);
    double truth[ENTRIES], y[ENTRIES / 2], x[ENTRIES], least[ENTRIES], again[ENTRIES / 2];
    int64_t index[ENTRIES / 2];
    bench b;
    draw_picture(&seed, truth);
    for (int way = 1; way <= 3; way++)
        for (int groups = prior ? 0 : 1; groups < 2; groups++) {
            if (sanitized_leaves()) continue;
            const csrec_setting set[] = {
                {"splitting", way}, {"groups", groups}, {"iterations", groups ? 3 : 10}};
            measure(&b, "hadamard", true, CSREC_ROWS_UNIFORM, truth, index, y);
            if (check_below(&seed, 2)) b.m.sigma = 5.0 * SIDE; /* 5 tones in the picture */
            for (int i = 0; i < ENTRIES / 2; i++) y[i] += b.m.sigma * check_normal(&seed);
            csrec_recover_options o = options_on_cpu("pnp", NULL);
            use_settings(&o.solve, 3, set);
            assert_well(csrec_recover(&b.m, &o, x, NULL, NULL, &told));
            assert_ok(csrec_measurement_simulate(&b.m, x, again, NULL));
            double off = sqrt(squares(ENTRIES / 2, again, y)), eps = b.m.sigma * sqrt(ENTRIES / 2);
            if (off > eps * (1.0 + 1e-6) + 1e-6 * 255.0 * SIDE)
                fail_msg("way %d, groups %d: misfit %g, noise %g", way, groups, off, eps);
            least_squares(&b, least);
            if (squares(ENTRIES, x, truth) > 0.25 * squares(ENTRIES, least, truth))
                fail_msg("way %d, groups %d: not nearer than least squares", way, groups);
        }
}

/* Of the values about their mean. */
static double spread_of(const double *truth) {
    double mean = 0.0, sum = 0.0;
    for (int i = 0; i < ENTRIES; i++) mean += truth[i] / ENTRIES;
    for (int i = 0; i < ENTRIES; i++) sum += (truth[i] - mean) * (truth[i] - mean);
    return sqrt(sum / ENTRIES);
}

/* Whatever the operator and the rate are: the measurements are met, and over all operators it is
 * not far from what total variation finds. One that diverges is worse than the mean alone; one
 * picture of few rows may suit total variation by chance. */
TEST(no_operator_lets_it_diverge) {
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    static const int percents[] = {2, 5, 10, 25, 50};
    OWNED double *A = room(ENTRIES * ENTRIES);
    double x[ENTRIES], all = 0.0, all_least = 0.0;
    for (int i = 0; i < number_of_cases(); i++) {
        double truth[ENTRIES], y[2 * ENTRIES];
        int64_t index[ENTRIES];
        csrec_recover_report report;
        bench b;
        const int percent = percents[check_below(&seed, 5)];
        if (sanitized_leaves()) continue;
        draw_picture(&seed, truth);
        measure_case(&b, i, percent, truth, A, index, y);
        const double least = recovered(&b, "tv", truth, x, &report),
                     own = recovered(&b, "pnp", truth, x, &report);
        all += own;
        all_least += least + 4.0 / 1.5;
        if (!(own < fmax(1.5 * least + 4.0, spread_of(truth))))
            fail_msg("case %d, %d %%: rms %g, by total variation %g", i, percent, own, least);
        if (!(report.residual < 1e-6) || report.outcome != CSREC_DONE)
            fail_msg("case %d, %d %%: residual %g", i, percent, report.residual);
    }
    if (!(all <= 1.5 * all_least)) fail_msg("in all %g, by total variation %g", all, all_least);
}

/* Rows that no test of mixing tells: errors of the waves that are measured grow in every step. */
TEST(lost_messages_become_alternating_directions) {
    if (!csrec_prior_installed(1, 0, NULL)) skip();
    enum { M = ENTRIES / 10 };
    double *A = room(M * ENTRIES), truth[ENTRIES], x[ENTRIES], y[M];
    int64_t index[M];
    csrec_recover_report report;
    bench b;
    bool mixes;
    draw_picture(&seed, truth);
    measure_waves(&b, M, truth, A, index, y);
    bench_open(&b);
    assert_ok(csrec_pnp_mixes(&b.p, &mixes));
    assert_true(mixes);
    bench_close(&b);
    const double own = recovered(&b, "pnp", truth, x, &report);
    if (!report.remark || !strstr(report.remark, "Message passing")) fail_msg("no remark");
    assert_true(report.iterations > 20);
    assert_true(own < 1.5 * recovered(&b, "tv", truth, x, &report) + 4.0);
    free(A);
}

TEST(message_passing_refuses_other_rows) {
    double truth[ENTRIES], y[ENTRIES / 2], x[ENTRIES];
    int64_t index[ENTRIES / 2];
    const csrec_setting set[] = {{"splitting", 1}};
    bench b;
    draw_picture(&seed, truth);
    measure(&b, "hadamard", false, CSREC_ROWS_FIRST, truth, index, y);
    csrec_recover_options o = options_by("pnp");
    use_settings(&o.solve, 1, set);
    assert_refused(csrec_recover(&b.m, &o, x, NULL, NULL, &told), CSREC_UNSUPPORTED, "splitting");
}

/* Two coils see neither of the first columns: nothing is made up there, by any method. */
TEST(what_no_coil_sees_is_0) {
    if (!fourier_is_built()) skip();
    enum { UNSEEN = 8 };
    static const char *const methods[] = {"tv", "pnp"};
    double truth[ENTRIES], x[ENTRIES];
    OWNED double *coils = room(4 * ENTRIES), *y = room(4 * ENTRIES);
    int64_t index[ENTRIES];
    csrec_recover_report report;
    draw_picture(&seed, truth);
    for (int i = 0; i < 2 * ENTRIES; i++)
        if (i % SIDE >= UNSEEN) coils[2 * i] = 0.5 + check_uniform(&seed);
    bench b = {.spec = {.name = "fourier", .coils = coils, .n_coils = 2}};
    open_picture(&b, index, y);
    draw_rows(&b, CSREC_ROWS_LINES, ENTRIES / 2, check_next(&seed));
    assert_ok(csrec_measurement_simulate(&b.m, truth, y, NULL));
    for (int k = 0; k < 1 + csrec_prior_installed(1, 0, NULL); k++) {
        recovered(&b, methods[k], truth, x, &report);
        for (int i = 0; i < ENTRIES; i++)
            if (i % SIDE < UNSEEN && x[i] != 0.0) fail_msg("%s: %g at %d", methods[k], x[i], i);
        assert_true(squares(ENTRIES, x, NULL) > 0.0);
    }
}
