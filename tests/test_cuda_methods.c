/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_methods.c - whole recoveries on the device against the CPU, by methods that compute a
 * part of their work there: thresholded volumes and lines. Every case is
 * run; differences are printed and counted. */

#include "device.h"

SEED(seed);
static int faults;

/* Waves and an edge, between 0 and 255. */
static csrec_measurement draw_samples(csrec_shape shape, int64_t channels, double rate,
                                      double **truth) {
    const int64_t entries = entries_in(&shape);
    csrec_measurement m = {.shape = shape, .channels = channels, .dtype = CSREC_F64};
    csrec_sampling sampling;
    double turn[CSREC_DIMS_MAX], edge = 0.2 + 0.6 * check_uniform(&seed);
    for (int a = 0; a < shape.dims; a++) turn[a] = 0.1 + 0.3 * check_uniform(&seed);
    *truth = check_keep((size_t)(entries * channels) * sizeof **truth);
    for (int64_t i = 0; i < entries; i++) {
        double phase = 0.0, side = 0.0;
        int64_t at = i;
        for (int a = shape.dims - 1; a >= 0; at /= shape.dim[a--]) {
            phase += turn[a] * (double)(at % shape.dim[a]);
            side += (double)(at % shape.dim[a]) / (double)(shape.dim[a] * shape.dims);
        }
        for (int64_t c = 0; c < channels; c++)
            (*truth)[i * channels + c] =
                110.0 + 60.0 * cos(phase + 0.3 * (double)c) + (side < edge ? 40.0 : -40.0);
    }
    int64_t count = (int64_t)(rate * (double)entries);
    assert_ok(csrec_sampling_create(&shape, CSREC_PATTERN_JITTER, count, check_next(&seed),
                                    &sampling, NULL));
    m.n = sampling.n;
    m.index = sampling.index;
    m.scale[1] = 255.0;
    m.y = malloc((size_t)(m.n * channels) * sizeof *m.y);
    for (int64_t k = 0; k < m.n; k++)
        for (int64_t c = 0; c < channels; c++)
            m.y[k * channels + c] = (*truth)[m.index[k] * channels + c];
    return m;
}

static bool recover(const csrec_measurement *m, const csrec_recover_options *from,
                    const char *backend, double *signal) {
    csrec_recover_options options = *from;
    csrec_recover_report report;
    csrec_error error = {{0}};
    options.backend = backend;
    csrec_status status = csrec_recover(m, &options, signal, NULL, &report, &error);
    if (!status && strcmp(report.backend, backend) == 0) return true;
    faults++;
    print_message("  backend %s: %s\n", backend, status ? error.text : report.backend);
    return false;
}

/* The results of both, each entry to `tolerance`, and the error of the device's at most `worse`
 * times the CPU's and 0.05 more. */
static void compare(const char *what, const csrec_measurement *m, const double *truth,
                    const csrec_recover_options *options, double tolerance, double worse) {
    int64_t n = entries_in(&m->shape) * m->channels, shown = 0;
    double *cpu = check_room(n), *there = check_room(n), *again = check_room(n);
    if (recover(m, options, "cpu", cpu) && recover(m, options, "cuda", there) &&
        recover(m, options, "cuda", again)) {
        double largest = 0.0, errors[2] = {check_rms(n, cpu, truth), check_rms(n, there, truth)};
        for (int64_t i = 0; i < n; i++) {
            largest = fmax(largest, fabs(there[i] - cpu[i]));
            if (fabs(there[i] - cpu[i]) <= tolerance || shown++ >= 4) continue;
            print_message("  entry %lld: %.17g, not %.17g\n", (long long)i, there[i], cpu[i]);
        }
        bool same = memcmp(there, again, (size_t)n * sizeof *there) == 0;
        if (shown || !same || !(errors[1] <= worse * errors[0] + 0.05)) faults++;
        print_message(
            "%s, %lld entries: largest difference %.3g, distance %.3g; error %.4f, on the "
            "CPU %.4f; two runs %s\n",
            what, (long long)n, largest, check_rms(n, there, cpu), errors[1], errors[0],
            same ? "equal" : "DIFFER");
    }
}

/* The CPU thresholds blocks in float, the device's products are in double: coefficients near a
 * threshold may differ, the error does not. */
TEST(blocks_are_as_good) {
    static const csrec_shape shapes[] = {{1, {700}}, {3, {16, 18, 20}}, {3, {9, 33, 12}}};
    if (no_device()) skip();
    faults = 0;
    for (int k = 0; k < 3; k++) {
        double *truth;
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m = draw_samples(shapes[k], k == 2 ? 2 : 1, 0.5, &truth);
        const csrec_recover_options o = options_by("frames");
        compare("blocks", &m, truth, &o, 255.0, 1.1);
    }
    assert_int_equal(faults, 0);
}
