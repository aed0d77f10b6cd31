/* SPDX-License-Identifier: BSD-3-Clause */
/* test_recover_basis.c - recovery on bases: thresholded cosines and other solvers. */
#include "samples.h"

SEED(seed);

/* A few slow waves an axis, in three channels, half of the entries sampled: one in each cell of a
 * partition, so that no gap is longer than a few entries. */
static csrec_measurement draw_waves(int dims, const int64_t *extent, double **truth) {
    csrec_shape shape = {.dims = dims};
    int64_t entries = 1;
    double rate[3][CSREC_DIMS_MAX];
    for (int a = 0; a < dims; a++) {
        entries *= shape.dim[a] = extent[a];
        for (int c = 0; c < 3; c++) rate[c][a] = 0.3 * check_uniform(&seed);
    }
    *truth = malloc((size_t)(entries * 3) * sizeof **truth);
    for (int64_t k = 0; k < entries; k++)
        for (int c = 0; c < 3; c++) {
            double phase = 0.0;
            int64_t at = k;
            for (int a = dims - 1; a >= 0; at /= extent[a--])
                phase += rate[c][a] * (double)(at % extent[a]);
            (*truth)[k * 3 + c] = 120.0 + 100.0 * cos(phase);
        }
    csrec_measurement m = draw_places(&shape, 3, CSREC_PATTERN_JITTER, entries / 2, seed);
    take_samples(&m, *truth, NULL);
    return m;
}

TEST(smooth_signals_come_back) {
    static const int64_t extents[][3] = {{400}, {64, 70}, {14, 15, 16}};
    for (int dims = 1; dims <= 3; dims++) {
        OWNED double *truth;
        CLEARED(csrec_measurement) m = draw_waves(dims, extents[dims - 1], &truth);
        const int64_t entries = entries_in(&m.shape);
        double *one = check_room(3 * entries);
        csrec_recover_options options;
        csrec_recover_report report;
        csrec_recover_preset(1, &m, &options);
        options.threads = 1;
        assert_ok(csrec_recover(&m, &options, one, NULL, &report, NULL));
        /* Half of a signal of a few waves, without long gaps, determines it. */
        double psnr = csrec_psnr(3 * entries, one, truth, 255.0);
        if (psnr < (dims == 1 ? 25.0 : 32.0)) fail_msg("%d axes: %.1f dB", dims, psnr);
        for (int64_t k = 0; k < m.n; k++)
            for (int c = 0; c < 3; c++)
                assert_true(fabs(one[m.index[k] * 3 + c] - m.y[k * 3 + c]) < 1e-3);
    }
}

TEST(wrong_options_are_refused) {
    OWNED double *truth;
    CLEARED(csrec_measurement) m = draw_waves(2, (const int64_t[]){24, 20}, &truth);
    OWNED double *signal = malloc((size_t)(3 * 480) * sizeof(double));
    csrec_recover_options options = options_by(NULL);
    options.basis = "dense";
    assert_refused(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT, "dense");
    options.basis = "dct";
    static const csrec_setting wrong[] = {{"block", 3}, {"block", 33}, {"block", 8.5},
                                          {"step", 33}, {"steps", 0},  {"wings", 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        use_settings(&options.solve, 1, &wrong[i]);
        assert_refused(csrec_recover(&m, &options, signal, NULL, NULL, &told), CSREC_ARGUMENT,
                       wrong[i].name);
    }
}
