/* SPDX-License-Identifier: BSD-3-Clause */
/* Thresholding on the device against the CPU's: an iteration to rounding, whole recoveries in
 * quality, the same bits twice. */
#include "device.h"
#include <float.h>
#include "method/frames/engine.h"

SEED(seed);

static csrec_measurement random_samples(int64_t height, int64_t width, int64_t m, bool smooth) {
    int64_t n = height * width;
    csrec_measurement r = room_for_samples((csrec_shape){2, {height, width}}, 1, n);
    r.n = m;
    for (int64_t k = 0; k < n; k++) r.index[k] = k;
    for (int64_t k = 0; k < m; k++) {
        int64_t other = k + check_below(&seed, n - k), held = r.index[k];
        r.index[k] = r.index[other];
        r.index[other] = held;
    }
    for (int64_t k = 0; k < m; k++) {
        double i = (double)(r.index[k] / width), j = (double)(r.index[k] % width);
        r.y[k] = smooth ? 128.0 + 60.0 * sin(0.07 * i + 0.02 * j) + (i > j ? 40.0 : 0.0) +
                              10.0 * cos(0.9 * i) * sin(0.4 * j)
                        : 255.0 * check_uniform(&seed);
    }
    return r;
}

/* One iteration of one frame. Both transforms take the same operations on the same floats, so
 * thresholds decide alike; up to 16 overlapping blocks are added in another order: 16 roundings of
 * sums below 16 times 2^11, 2^-24 each. */
static void one_round(int block, int step, bool soft) {
    int64_t height = 32 + check_below(&seed, 90), width = 32 + check_below(&seed, 90);
    int64_t n = height * width;
    csrec_measurement p = random_samples(height, width, 1 + check_below(&seed, n), false);
    csrec_operator_spec spec = {
        .name = "dct", .m = p.n, .shape = &p.shape, .index = p.index, .block = block, .step = step};
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    OWNED double *a = malloc((size_t)n * sizeof *a), *b = malloc((size_t)n * sizeof *b);
    double energy;
    for (int64_t i = 0; i < n; i++) a[i] = b[i] = 255.0 * check_uniform(&seed);
    csrec_shrink_step round = {.threshold = 300.0 * check_uniform(&seed),
                               .relax = check_uniform(&seed),
                               .impose = check_uniform(&seed),
                               .soft = soft,
                               .draw = check_below(&seed, 60)};
    void *state;
    assert_ok(A->type->shrink->create(A, p.y, a, &state));
    assert_ok(A->type->shrink->step(state, &round));
    A->type->shrink->signal(state, a);
    csrec_frames_job job = {.shape = &p.shape,
                            .frames = 1,
                            .block = {block},
                            .step = {step},
                            .m = p.n,
                            .index = p.index,
                            .y = p.y,
                            .rounds = 1,
                            .round = &round};
    assert_ok(csrec_frames_cuda.threshold(cuda_context(), &job, b, &energy, NULL));
    double cpu = A->type->shrink->energy(state);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 0.05))
            fail_msg("block %d step %d, pixel %lld of %lld x %lld: %g, not %g", block, step,
                     (long long)i, (long long)height, (long long)width, b[i], a[i]);
    assert_true(fabs(cpu - energy) <= 1e-3 * cpu + 1e-3 * (double)p.n);
    A->type->shrink->destroy(state);
}

TEST_THERE(test_round, false) {
    for (int block = 4; block <= 32; block *= 2)
        for (int ratio = 1; ratio <= 4; ratio *= 2)
            for (int k = 0; k < 4; k++) one_round(block, block / ratio, k % 2);
}

/* The iteration is chaotic: a coefficient on the other side of a threshold leads to another,
 * equally good picture. How far is seen on the CPU with samples moved by 1e-3, some 60 times the
 * rounding of a float below 256: the device may go no further than twice that. */
TEST_THERE(test_recovery, false) {
    int64_t height = 150 + check_below(&seed, 50), width = 150 + check_below(&seed, 50);
    int64_t n = height * width;
    csrec_measurement p = random_samples(height, width, n / 4, true);
    csrec_recover_options options = options_by(NULL);
    csrec_recover_report cpu = {0}, cuda = {0};
    options.basis = "dct";
    double *a = check_room(n), *b = check_room(n), *c = check_room(n);
    options.backend = "cpu";
    assert_ok(csrec_recover(&p, &options, a, NULL, &cpu, NULL));
    options.backend = "cuda";
    assert_ok(csrec_recover(&p, &options, b, NULL, &cuda, NULL));
    assert_ok(csrec_recover(&p, &options, c, NULL, &cuda, NULL));
    assert_memory_equal(b, c, (size_t)n * sizeof *b);
    assert_string_equal(cpu.backend, "cpu");
    assert_string_equal(cuda.backend, "cuda");
    assert_int_equal(cpu.iterations, cuda.iterations);
    for (int64_t k = 0; k < p.n; k++) /* put back as floats */
        assert_true(fabs(b[p.index[k]] - p.y[k]) < 1e-4);
    for (int64_t k = 0; k < p.n; k++) p.y[k] += 1e-3 * (2.0 * check_uniform(&seed) - 1.0);
    options.backend = "cpu";
    assert_ok(csrec_recover(&p, &options, c, NULL, NULL, NULL));
    print_message("rms of the difference %g, of moved samples %g; residuals %.17g, %.17g\n",
                  check_rms(n, a, b), check_rms(n, a, c), cpu.residual, cuda.residual);
    assert_true(check_rms(n, a, b) <= 2.0 * check_rms(n, a, c));
    /* By the triangle inequality residuals differ by no more than the pictures do at the samples,
     * which is about as much as elsewhere, and by the rounding of r in floats. */
    double scale = 0.0;
    for (int64_t k = 0; k < p.n; k++) scale += p.y[k] * p.y[k] / (double)p.n;
    assert_true(fabs(cpu.residual - cuda.residual) * sqrt(scale) <=
                2.0 * check_rms(n, a, b) + FLT_EPSILON * sqrt(scale));
    options.backend = "cuda";
    options.basis = "wavelet"; /* by its products, which are the CPU's to the bit */
    options.solve.stop.atoms = 5;
    assert_ok(csrec_recover(&p, &options, a, NULL, &cuda, NULL));
    assert_string_equal(cuda.backend, "cuda");
    options.backend = "cpu";
    assert_ok(csrec_recover(&p, &options, b, NULL, NULL, NULL));
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
}

/* Stopped before the first iteration: the guess, means of the samples, for all channels. */
TEST_THERE(test_stop, false) {
    int64_t n = 40 * 36;
    csrec_measurement p = random_samples(40, 36, n / 4, true);
    int calls = 0;
    csrec_recover_options options = options_by(NULL);
    csrec_recover_report report;
    options.basis = "dct";
    report_to(&options.solve, stop_by_count, &calls);
    p.channels = 2;
    for (int64_t k = p.n - 1; k >= 0; k--) {
        p.y[2 * k + 1] = 255.0 * check_uniform(&seed);
        p.y[2 * k] = p.y[k];
    }
    double *a = check_keep((size_t)(2 * n) * sizeof *a), most = 0.0;
    options.backend = "cuda";
    assert_ok(csrec_recover(&p, &options, a, NULL, &report, NULL));
    assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    for (int64_t k = 0; k < 2 * p.n; k++) {
        most = fmax(most, fabs(p.y[k]));
        assert_true(a[2 * p.index[k / 2] + k % 2] == p.y[k]);
    }
    for (int64_t i = 0; i < 2 * n; i++) assert_true(fabs(a[i]) <= most * (1.0 + 1e-12));
}
