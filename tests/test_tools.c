/* SPDX-License-Identifier: BSD-3-Clause */
/* The tools by their command lines, chained over files and pipes; what they write is compared with
 * the input they were given, through the library's readers. */
#include "tools.h"

SEED(seed);

static void check_samples(const char *scan, const char *input, int64_t expected) {
    CLEARED(csrec_measurement) m = {0};
    CLEARED(csrec_array) truth = read_values(input);
    assert_ok(csrec_measurement_read(scan, NULL, &m, NULL));
    assert_int_equal(m.n, expected);
    assert_int_equal(entries_in(&m.shape) * m.channels, truth.count);
    for (int64_t i = 0; i < m.n * m.channels; i++) {
        int64_t place = m.index[i / m.channels] * m.channels + i % m.channels;
        assert_true(m.y[i] == csrec_array_value(&truth, place));
    }
}

/* The recovery must explain three quarters of the signal's variance: one Haar grid leaves 10 % in
 * the smallest volume here, a mixed-up order of entries explains nothing. */
static void check_chain(const char *input, const char *output, int64_t entries, const char *more) {
    int64_t samples = (entries + 2) / 4; /* llround(entries / 4) */
    run_line("$S %s -o scan.npz --rate 0.25 --seed %llu %s", input,
             (unsigned long long)check_next(&seed), more);
    check_samples("scan.npz", input, samples);
    run_line("$R scan.npz -o %s", output);
    assert_string_equal(read_text("out"), "");
    expect_like(input, output, 0.25, more);
}

TEST(chains) {
    check_chain("gray.png", "r.png", 61 * 83, "");
    check_chain("gray.png", "r.png", 61 * 83, "--pattern uniform");
    check_chain("rgb.png", "r.png", 40 * 50, "--pattern jitter");
    check_chain("deep.png", "r.png", 40 * 50, "--pattern poisson");
    check_chain("line.npy", "r.npy", 3000, "");
    check_chain("volume.npy", "r.npy", 17 * 12 * 20, "");
    check_chain("volume.npy", "r.npy", 17 * 12 * 20, "--procedural");
    check_chain("planes.npy", "r.npy", 40 * 50, "--channels-last");
}

/* A PNG holds what the .npy holds, clamped and rounded. */
TEST(pictures_are_rounded_signals) {
    const struct {
        const char *input, *options;
        double white;
    } cases[] = {{"rgb.png", "", 255},
                 {"deep.png", "", 65535},
                 {"gray.png", "--bits 16", 65535},
                 {"deep.png", "--bits 8", 255}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        run_line("$S %s -o s.npz --rate 0.3 && $R s.npz -o a.png %s && $R s.npz -o a.npy",
                 cases[k].input, cases[k].options);
        CLEARED(csrec_array) picture = read_values("a.png"), values = read_values("a.npy");
        double scale = strcmp(cases[k].input, "deep.png") == 0 ? 65535 : 255;
        assert_int_equal(picture.count, values.count);
        for (int64_t i = 0; i < values.count; i++) {
            double tone = csrec_array_value(&values, i) / scale * cases[k].white;
            double clamped = fmin(fmax(tone, 0), cases[k].white);
            /* Half a step by rounding, and the .npy is float32: 2^-24 of the value more. */
            assert_true(fabs(csrec_array_value(&picture, i) - clamped) <=
                        0.5 + cases[k].white * 0x1p-23);
        }
    }
}

/* Against colours that matplotlib 3.10 gives for viridis and coolwarm at eighths of the scale; the
 * colours between change gradually. */
TEST(one_channel_gets_colours) {
    static const struct {
        const char *name;
        int rgb[3][3]; /* at 0, 1/2 and 1 */
    } maps[] = {{"viridis", {{68, 1, 84}, {33, 145, 140}, {253, 231, 37}}},
                {"coolwarm", {{59, 76, 192}, {221, 220, 220}, {180, 4, 38}}}};
    enum { PIXELS = 5 * 16 };
    csrec_array ramp;
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){2, {5, 16}}, &ramp));
    for (int i = 0; i < PIXELS; i++) csrec_array_set(&ramp, i, -1.0 + 0.05 * i); /* to 2.95 */
    ((float *)ramp.data)[PIXELS - 1] = NAN;
    assert_ok(csrec_array_write("ramp.npy", &ramp, NULL));
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        CLEARED(csrec_image) image;
        run_line("$R ramp.npy -o ramp.png --scale 0,2 --colormap %s -Q fast", maps[m].name);
        assert_ok(csrec_image_read("ramp.png", &image, NULL));
        assert_int_equal(image.pixels.count, 3 * PIXELS);
        const uint8_t *pixel = image.pixels.data;
        for (int c = 0; c < 3; c++) {
            /* -1, 1, 2.9: below, in the middle of and above the scale. */
            assert_int_equal(pixel[c], maps[m].rgb[0][c]);
            assert_in_range(pixel[3 * 40 + c], maps[m].rgb[1][c] - 1, maps[m].rgb[1][c] + 1);
            assert_int_equal(pixel[3 * 78 + c], maps[m].rgb[2][c]);
            for (int i = 1; i < PIXELS - 1; i++)
                assert_true(abs(pixel[3 * i + c] - pixel[3 * (i - 1) + c]) <= 40);
        }
    }
    csrec_array_clear(&ramp);
    run_well("$S rgb.png -o s.npz -r 0.3");
    check_refused("$R s.npz -o b.png --colormap heat", 1);
    check_refused("$R ramp.npy -o b.npy --colormap heat", 1);
    check_refused("$R ramp.npy -o b.png --colormap heat --bits 16", 2);
}

TEST(pipes_give_the_same_bytes) {
    run_well("$S rgb.png -o p.npz -r 0.2 && $R p.npz -o - > p1.npy && $R p.npz -o - --format png > "
             "p1.png");
    run_well("$S rgb.png -o - -r 0.2 | $R - -o - > p2.npy && cmp p1.npy p2.npy");
    run_well("$S - -o - -r 0.2 < rgb.png | $R - -o - --format png > p2.png && cmp p1.png p2.png");
    run_well("$S - -o p3.npz -r 0.2 < volume.npy && $S volume.npy -o p4.npz -r 0.2 && "
             "cmp p3.npz p4.npz");
    run_well(
        "$S rgb.png -o p5.npz -r 0.2 --procedural && $R p5.npz -o - > p5.npy && cmp p1.npy p5.npy");
    run_well("$R p.npz -o p6.npy && cmp -n $(wc -c < p1.npy) p1.npy p6.npy");
}

TEST(masks_show_the_samples) {
    run_well("$S gray.png -o m.npz -r 0.2 --mask-out m.png && $S volume.npy -o v.npz -n 500 "
             "--mask-out v.npy");
    const char *const files[][2] = {{"m.npz", "m.png"}, {"v.npz", "v.npy"}};
    for (int k = 0; k < 2; k++) {
        CLEARED(csrec_measurement) m = {0};
        CLEARED(csrec_array) mask = read_values(files[k][1]);
        int64_t set = 0;
        assert_ok(csrec_measurement_read(files[k][0], NULL, &m, NULL));
        for (int64_t i = 0; i < mask.count; i++) set += csrec_array_value(&mask, i) > 0;
        assert_int_equal(set, m.n);
        for (int64_t i = 0; i < m.n; i++) assert_true(csrec_array_value(&mask, m.index[i]) > 0);
    }
    /* The picture with its mask is the same measurement again. */
    run_well("$R gray.png --mask m.png -o - > a.npy && $R m.npz -o - > b.npy && cmp a.npy b.npy");
}

TEST(noise_is_gaussian_and_stored) {
    CLEARED(csrec_measurement) clean = {0}, noisy = {0};
    run_well("$S gray.png -o c.npz -r 0.5 && $S gray.png -o n.npz -r 0.5 --noise 4");
    assert_ok(csrec_measurement_read("c.npz", NULL, &clean, NULL));
    assert_ok(csrec_measurement_read("n.npz", NULL, &noisy, NULL));
    assert_int_equal(noisy.dtype, CSREC_F32);
    assert_true(noisy.sigma == 4.0 && clean.sigma == 0.0 && noisy.n == clean.n);
    double mean = 0, square = 0, n = (double)clean.n;
    for (int64_t i = 0; i < clean.n; i++) {
        mean += (noisy.y[i] - clean.y[i]) / n;
        square += pow(noisy.y[i] - clean.y[i], 2) / n;
    }
    /* Six standard errors of mean and variance; the tool's seed is fixed, so this is no gamble. */
    assert_true(fabs(mean) < 6 * 4 / sqrt(n));
    assert_true(fabs(square - 16) < 6 * 16 * sqrt(2 / n));
}

TEST(transparent_pixels_are_no_samples) {
    CLEARED(csrec_measurement) m = {0};
    run_well("$S holes.png -o h.npz -r 0.5");
    says("err", "transparent");
    assert_ok(csrec_measurement_read("h.npz", NULL, &m, NULL));
    for (int64_t i = 0; i < m.n; i++) assert_true(m.index[i] % 3 != 0);
    assert_int_equal(run("$S holes.png -o h2.npz -r 0.5 --procedural"), 1);
    assert_int_equal(access("h2.npz", F_OK), -1);
}

/* The number in --json is the root of the map's mean square; the picture is the map, white where
 * it is largest. */
TEST(expected_errors_are_written) {
    double said, sum = 0.0, largest = 0.0;
    CLEARED(csrec_image) map = {0}, shown = {0};
    run_well(
        "$S gray.png -o s.npz -r 0.3 --seed 3 && $R s.npz -Q fast -u e.npy -j && cp out e.json "
        "&& $R s.npz -Q fast -u e.png");
    assert_int_equal(sscanf(strstr(read_text("e.json"), "\"error\":"), "\"error\": %lf", &said), 1);
    assert_ok(csrec_signal_read("e.npy", &map, NULL));
    assert_ok(csrec_signal_read("e.png", &shown, NULL));
    int64_t n = map.pixels.count;
    assert_int_equal(n, shown.pixels.count);
    for (int64_t i = 0; i < n; i++) {
        double value = csrec_array_value(&map.pixels, i);
        sum += value * value;
        largest = fmax(largest, value);
    }
    assert_true(fabs(sqrt(sum / (double)n) / said - 1.0) < 1e-5);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(csrec_array_value(&shown.pixels, i) -
                         255.0 * csrec_array_value(&map.pixels, i) / largest) < 0.51);
}

/* The written atoms, synthesized, are the written signal. */
TEST(coefficients_make_the_signal) {
    run_well("$S planes.npy -c -o c.npz -r 0.3 && $R c.npz -o c.npy -C atoms.npz --shifts 1 "
             "--order raster --atoms 150");
    csrec_array signal = read_values("c.npy"), a[5] = {{0}};
    const char *const names[] = {"column", "coefficient", "count", "levels", "channel"};
    for (int i = 0; i < 5; i++) assert_ok(csrec_npz_read("atoms.npz", names[i], &a[i], NULL));
    int levels = (int)csrec_array_value(&a[3], 0);
    int64_t split = 0;
    while (split < a[4].count && ((int64_t *)a[4].data)[split] == 0) split++;
    assert_true(split > 0 && split < a[0].count && a[0].dtype == CSREC_U64);
    OWNED double *value = malloc(sizeof *value << levels);
    for (int64_t channel = 0; channel < 2; channel++) {
        int64_t first = channel ? split : 0, n = channel ? a[0].count - split : split;
        csrec_atoms atoms = {n, (uint64_t *)a[0].data + first, (double *)a[1].data + first,
                             (int64_t *)a[2].data + first};
        assert_ok(csrec_atoms_synthesize_block(levels, &atoms, 0, INT64_C(1) << levels, value));
        /* float32 output of values below 1; raster rows are flat positions. */
        for (int64_t i = 0; i < signal.count / 2; i++)
            assert_true(fabs(value[i] - csrec_array_value(&signal, 2 * i + channel)) < 1e-6);
    }
    for (int i = 0; i < 5; i++) csrec_array_clear(&a[i]);
    csrec_array_clear(&signal);
}

FIXTURE(make_inputs, remove_inputs);
