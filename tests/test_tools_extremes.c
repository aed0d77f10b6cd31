/* SPDX-License-Identifier: BSD-3-Clause */
/* Files whose numbers are at the ends of the range of a double, or whose axes are as many as an
 * array may have: recovered to finite values, or refused in one line. */
#include <float.h>

#include "tools.h"

SEED(seed);

/* Writes a measurement of a picture of 40 x 40, four of ten samples, with values times `scale`. */
static void write_samples(const char *name, double scale, double sigma, csrec_dtype dtype) {
    enum { EDGE = 40 };
    CLEARED(csrec_measurement) m = {.shape = {2, {EDGE, EDGE}}, .channels = 1, .dtype = dtype};
    m.index = malloc(EDGE * EDGE * sizeof *m.index);
    m.y = malloc(EDGE * EDGE * sizeof *m.y);
    assert_true(m.index && m.y);
    for (int64_t i = 0; i < EDGE * EDGE; i++) {
        if (check_below(&seed, 10) >= 4) continue;
        m.index[m.n] = i;
        m.y[m.n++] = scale * (2.0 * check_uniform(&seed) - 1.0);
    }
    m.sigma = sigma;
    assert_ok(csrec_measurement_write(name, &m, false, NULL));
}

/* Eight axes are what an array has here, and channels are one more. */
TEST(axes_and_channels_fit_into_an_array) {
    int64_t index[1] = {0};
    double y[4] = {1.0, 2.0, 3.0, 4.0};
    csrec_measurement m = {.shape = {8, {2, 2, 2, 2, 2, 2, 2, 2}}, .n = 1, .channels = 4};
    m.index = index;
    m.y = y;
    m.dtype = CSREC_F64;
    assert_ok(csrec_measurement_write("eight.npz", &m, false, NULL));
    run_well("true"); /* out and err are there from now on */
    expect_mistake("$R eight.npz --shifts 1 -o eight.npy", 1, "at most 8 axes");
    m.channels = 1;
    assert_ok(csrec_measurement_write("eight.npz", &m, false, NULL));
    run_well("$R eight.npz --shifts 1 -o eight.npy");
    CLEARED(csrec_array) whole = read_values("eight.npy");
    assert_int_equal(whole.shape.dims, 8);
}

/* What overshoots a float32, or would all be 0 there, is written as float64, else as before. */
TEST(overshot_floats_are_written_as_doubles) {
    const double float_scales[] = {1.0, 3.4e38, 1e-300};
    for (int k = 0; k < 3; k++) {
        write_samples("float.npz", float_scales[k], 0.0, k < 2 ? CSREC_F32 : CSREC_F64);
        run_well("$R float.npz -B wavelet -S threshold -o x.npy --dtype float32");
        CLEARED(csrec_array) whole = read_values("x.npy");
        double largest = 0.0;
        for (int64_t i = 0; i < whole.count; i++)
            largest = fmax(largest, fabs(csrec_array_value(&whole, i)));
        assert_true(isfinite(largest));
        assert_int_equal(whole.dtype,
                         largest > FLT_MAX || largest < FLT_MIN ? CSREC_F64 : CSREC_F32);
        if (k == 0) assert_true(largest < 1e3);
    }
}

/* The signal is written, the map is not, and the line says why. */
TEST(errors_of_huge_samples_are_refused) {
    const char *const ways[] = {"a.npz", "a.npz b.npz", "a.npz b.npz --sequence",
                                "a.npz b.npz --sequence --method gaussian",
                                "a.npz --sigma poisson:1"};
    write_samples("a.npz", 1e155, 0.0, CSREC_F64);
    write_samples("b.npz", 1e155, 0.0, CSREC_F64);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(run(check_print("$R %s -o whole/ -u map/", ways[i])), 1);
        says("err", "a.npz: expected errors: measurement: y has the value");
        says("err", "beyond 1e150");
        run_well("test -s whole/a.npy && test ! -e map && rm -r whole");
        run_line("$R %s -o whole/ --report whole/ && rm -r whole", ways[i]);
    }
}

FIXTURE(make_inputs, remove_inputs);
