/* SPDX-License-Identifier: BSD-3-Clause */
/* --sigma and --robust of csrecover, and its hints at noise and outliers. */
#include "tools.h"

SEED(seed);

/* A smooth picture 8 bits deep with noise of this sigma; salted, with black and white pixels that
 * are not among each other's neighbours. */
static void make_damaged(const char *name, int64_t height, double sigma, bool salted) {
    int64_t width = height * 7 / 6;
    CLEARED(csrec_image) image = {.bits = 8};
    assert_ok(csrec_array_create(CSREC_U8, &(csrec_shape){3, {height, width, 1}}, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++) {
        double u = (double)(i / width) / (double)height, v = (double)(i % width) / (double)width;
        double value = 128.0 + 60.0 * sin(4.0 * u + v) * cos(3.0 * v) + sigma * check_normal(&seed);
        if (salted && i / width % 8 == 5 && i % width % 9 == 4)
            value = check_below(&seed, 2) ? 255.0 : 0.0;
        ((uint8_t *)image.pixels.data)[i] = (uint8_t)fmin(fmax(round(value), 0.0), 255.0);
    }
    assert_ok(csrec_image_write(name, &image, NULL));
}

static int make_scans(void **state) {
    if (make_inputs(state)) return -1;
    make_damaged("clean.png", 120, 0.0, false);
    make_damaged("noisy.png", 240, 12.0, false); /* many samples: a hint is never certain */
    make_damaged("salt.png", 120, 0.0, true);
    run_well(
        "for k in clean salt; do $S $k.png -o $k.npz -r 0.3 --pattern uniform || exit 1; done; "
        "$S noisy.png -o noisy.npz -r 0.9 --pattern uniform");
    return 0;
}

/* A count of the file's lines that have the words. */
static int lines_with(const char *words) {
    int count = 0;
    for (const char *at = read_text("err"); (at = strstr(at, words)); at++) count++;
    return count;
}

TEST(hints_are_given) {
    run_well("$R clean.npz noisy.npz salt.npz -o hints/ --quality fast");
    assert_int_equal(lines_with("note: noisy.npz: the samples look noisy"), 1);
    assert_int_equal(lines_with("give --sigma auto"), 1);
    assert_int_equal(lines_with("warning: salt.npz: "), 1);
    assert_int_equal(lines_with("robust recovery drops such outliers"), 1);
    double sigma = number_after(read_text("err"), "sigma about ");
    assert_true(sigma > 9.0 && sigma < 15.0);
    run_well("$R noisy.npz salt.npz -o hints/ --quality fast --quiet");
    assert_string_equal(read_text("err"), "");
    run_well(
        "$R noisy.npz -o hints/ --quality fast --sigma 0 --json && $R salt.npz -o hints/ --quality "
        "fast -q --json | grep -q 'are far from all'");
    assert_string_equal(read_text("err"), "");
}

TEST(sigma_is_replaced) {
    run_well("$R noisy.npz -o auto.npy --quality fast --sigma auto --json");
    double sigma = number_after(read_text("out"), "\"sigma\": ");
    says("out", "\"sigma_from\": \"estimate\"");
    assert_true(sigma > 9.0 && sigma < 15.0);
    run_well("$R noisy.npz -o given.npy --quality fast --sigma 12.5 --json");
    assert_true(number_after(read_text("out"), "\"sigma\": ") == 12.5);
    says("out", "\"sigma_from\": \"option\"");
    run_well("$R noisy.npz -o plain.npy --quality fast --json");
    assert_true(number_after(read_text("out"), "\"sigma\": ") == 0.0);
    says("out", "\"sigma_from\": null");
    run_well("cmp -s auto.npy plain.npy && exit 1 || $R noisy.npz -o again.npy --quality fast "
             "--sigma auto --threads 1 --verbose");
    says("err", "(estimate)");
    run_well("cmp again.npy auto.npy");
    run_well(
        "$S noisy.png -o known.npz -r 0.3 --noise 3 && $R known.npz -o known.npy --quality fast "
        "--json");
    assert_true(number_after(read_text("out"), "\"sigma\": ") == 3.0);
    says("out", "\"sigma_from\": \"file\"");
}

TEST(laws_are_told) {
    run_well("$R noisy.npz -o law.npy --quality fast --noise poisson:1.5,-40 --json");
    says("out", "\"law\": \"poisson:1.5,-40\"");
    says("out", "\"sigma_from\": \"option\"");
    run_well("$R noisy.npz -o same.npy --quality fast --sigma poisson:1.5,-40,0");
    says("err", "noise poisson:1.5,-40 (option)");
    assert_true(mean_square("law.npy", "same.npy", NULL) == 0.0);
    run_well("$R gray.png -o denoised.npy --quality fast --noise poisson:1.5");
    assert_null(strstr(read_text("err"), "is a copy"));
}

TEST(outliers_are_dropped) {
    run_well(
        "$R salt.npz -o plain.npy --quality fast -q && $R salt.npz -o robust.npy --quality fast "
        "--robust --json");
    double dropped = number_after(read_text("out"), "\"outliers_dropped\": ");
    assert_true(dropped > 35.0 && dropped < 110.0); /* 240 pixels, 30 % of them sampled */
    says("err", "are outliers and not used");
    run_well("$R clean.npz -o clean.npy --quality fast --robust");
    assert_true(mean_square("clean.npy", "robust.npy", NULL) <
                0.1 * mean_square("clean.npy", "plain.npy", NULL));
}

TEST(mistakes_are_named) {
    static const mistake wrong[] = {{"--sigma -1", "neither a number", 2},
                                    {"--sigma automatic", "neither a number", 2},
                                    {"--sigma nan", "neither a number", 2},
                                    {"--sigma 3x", "neither a number", 2},
                                    {"--sigma poisson:0", "neither a number", 2},
                                    {"--noise poisson:-1", "--noise: 'poisson:-1' is neither", 2},
                                    {"--noise poison", "or name a law: poisson", 1},
                                    {"--noise light:1 --sigma 2", "leave out --sigma", 2},
                                    {"--sigma poisson:1 --labels", "not for labels", 1},
                                    {"--sigma light --curve log", "not for curve log", 1}};
    expect_mistakes("$R noisy.npz -o out.npy", wrong, sizeof wrong / sizeof *wrong);
    expect_mistake("$R noisy.npz --info --robust", 2, "--info only describes");
    run_well("$S gray.png -o few.npz -r 0.02");
    expect_mistake("$R few.npz -o out.npy --sigma auto", 1, "too few to estimate the noise");
}

/* A result with another sigma is not the same. */
TEST(resume_knows_them) {
    run_well("$R noisy.npz -o resume/ --quality fast -q && $R noisy.npz -o resume/ --quality fast "
             "--sigma auto --resume --json");
    assert_null(strstr(read_text("out"), "skipped"));
    run_well("$R noisy.npz -o resume/ --quality fast --sigma auto --resume --json");
    says("out", "skipped");
    run_well("$R noisy.npz -o resume/ --quality fast --sigma auto --robust --resume --json");
    assert_null(strstr(read_text("out"), "skipped"));
}

/* Light of rays on half of the pixels, one of which is a firefly; and its 1 to 3 rays. */
static void make_light(const char *name) {
    enum { SIDE = 48, N = SIDE * SIDE / 2 };
    double y[N], rays[N], sum = 0.0;
    int64_t index[N];
    for (int i = 0; i < N; i++) {
        rays[i] = 1.0 + i % 3;
        index[i] = 2 * i + i / 24 % 2;
        y[i] = i == 500 ? 900.0 : 0.0;
        for (int r = 0; r < i % 3 + 1; r++) y[i] -= log(check_uniform(&seed) + 1e-9) / rays[i];
        sum += rays[i];
    }
    csrec_measurement m = samples_at((csrec_shape){2, {SIDE, SIDE}}, N, 1, index, y);
    m.rays = rays;
    csrec_error error = {""};
    assert_true(sum == 2304.0);
    assert_ok(csrec_measurement_write(name, &m, false, &error));
}

TEST(rays_are_told) {
    make_light("light.npz");
    run_well("$R light.npz --info");
    says("out", "rays      2304 in all, 1 to 3 a sample");
    says("out", "sigma     in proportion to the light, by its rays");
    run_well("$R light.npz --info --json");
    assert_true(number_after(read_text("out"), "\"rays\": ") == 2304.0);
    run_well("$R light.npz -o robust.npy --quality fast --robust --sigma auto --report light.html");
    says("err", "light.npz: 1 of 1152 samples are outliers and not used");
    says("light.html", "in proportion to the light, by its rays");
    run_well("$R light.npz -o given.npy --quality fast --sigma 0.5 --report given.html");
    says("given.html", "0.5 of one ray (option)");
}

FIXTURE(make_scans, remove_inputs);
