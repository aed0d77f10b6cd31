/* SPDX-License-Identifier: BSD-3-Clause */
/* Warnings of csrecover: one for each doubt, none on healthy samples. */
#include "tools.h"

SEED(seed);

enum { HEIGHT = 70, WIDTH = 60 };

typedef bool (*is_sampled)(int64_t i, int64_t j);

static bool random_third(int64_t i, int64_t j) {
    (void)i, (void)j;
    return check_uniform(&seed) < 0.33;
}

static bool left_third(int64_t i, int64_t j) {
    return j < WIDTH / 2 && random_third(i, j);
}

static bool every_other(int64_t i, int64_t j) {
    return (i + j) % 2 == 0;
}

static bool first(int64_t i, int64_t j) {
    return i == 0 && j == 0;
}

/* Waves, or noise alone, or one value. */
enum { WAVES, NOISE, FLAT };

static void make_scan(const char *name, is_sampled sampled, int values) {
    ENDS_BY(csrec_measurement_clear)
    csrec_measurement m = {
        .shape = {2, {HEIGHT, WIDTH}}, .channels = 1, .dtype = CSREC_F64, .scale = {-1.0, 1.0}};
    m.index = malloc(HEIGHT * WIDTH * sizeof *m.index);
    m.y = malloc(HEIGHT * WIDTH * sizeof *m.y);
    for (int64_t at = 0; at < HEIGHT * WIDTH; at++) {
        int64_t i = at / WIDTH, j = at % WIDTH;
        if (!sampled(i, j)) continue;
        m.y[m.n] = values == WAVES   ? 0.8 * sin(0.2 * (double)i) * cos(0.11 * (double)j)
                   : values == NOISE ? 2.0 * check_uniform(&seed) - 1.0
                                     : 0.25;
        m.index[m.n++] = at;
    }
    assert_ok(csrec_measurement_write(name, &m, false, NULL));
}

static int make_scans(void **state) {
    if (make_inputs(state)) return -1;
    make_scan("healthy.npz", random_third, WAVES);
    make_scan("half.npz", left_third, WAVES);
    make_scan("chequered.npz", every_other, WAVES);
    make_scan("flat.npz", random_third, FLAT);
    make_scan("one.npz", first, FLAT);
    make_scan("noise.npz", random_third, NOISE);
    return 0;
}

/* The whole of stderr is one such line, and --json has its sentence. */
static void expect(const char *scan, const char *options, const char *sentence) {
    run_line("$R %s -o out.npy --quality fast %s --json", scan, options);
    says("out", sentence);
    const char *line = check_print("warning: %s: ", scan);
    const char *told = read_text("err");
    if (strncmp(told, line, strlen(line)) != 0 || !strstr(told, sentence) ||
        strstr(strchr(told, '\n'), "warning: "))
        fail_msg("'%s' and '%s' expected, not '%s'", line, sentence, told);
    run_line("$R %s -o out.npy --quality fast %s --quiet", scan, options);
    assert_string_equal(read_text("err"), "");
}

TEST(each_doubt_is_a_warning) {
    expect("half.npz", "", "farther than 8 entries from every sample");
    expect("chequered.npz", "", "regular grid, one in 2 entries");
    expect("flat.npz", "", "All samples have the same value");
    expect("one.npz", "", "There is only one sample");
    run_well("$R chequered.npz --info");
    says("err", "warning: chequered.npz: The samples lie on");
}

TEST(a_pursuit_above_its_bound_recovered_nothing) {
    const char *bound[] = {"--epsilon 0.001", ""};
    const char *outcome[] = {"bound cannot be met", "converged"};
    for (int k = 0; k < 2; k++) {
        const char *command = check_print(
            "$R noise.npz -o out.npy --sigma 0 --solver cosamp --shifts 1 --set k=5 %s", bound[k]);
        run_line("%s --json", command);
        says("out", check_print("\"outcome\": \"%s\"", outcome[k]));
        says("out", check_print("\"warnings\": [\"The solver ended (%s) with ", outcome[k]));
        const char *text =
            check_print("warning: noise.npz: The solver ended (%s) with ", outcome[k]);
        if (strncmp(read_text("err"), text, strlen(text)) != 0) fail_msg("%s", read_text("err"));
        run_line("%s --verbose", command);
        says("err", check_print("-> out.npy: %s, ", outcome[k]));
        assert_null(strstr(read_text("err"), "recovered"));
    }
}

/* Samples without a scale make a picture of their own range, and say so. */
TEST(pictures_scale_themselves) {
    csrec_measurement m = {.shape = {2, {40, 30}}, .channels = 1, .dtype = CSREC_F64};
    double shift = 10.0 * check_normal(&seed), slope = 0.1 + check_uniform(&seed);
    m.index = malloc(1200 * sizeof *m.index);
    m.y = malloc(1200 * sizeof *m.y);
    for (int64_t i = 0; i < 1200; i++) m.index[i] = i, m.y[i] = shift + slope * (double)i;
    m.n = 1200; /* all are known, so that the picture is what was given */
    assert_ok(csrec_measurement_write("floats.npz", &m, false, NULL));
    run_well("$R floats.npz -o scaled.png --quality fast");
    double black = 0.0, white = 0.0;
    const char *told = strstr(read_text("err"), "note: scaled.png: black is ");
    assert_non_null(told);
    assert_int_equal(sscanf(told, "note: scaled.png: black is %lf and white %lf", &black, &white),
                     2);
    assert_true(fabs(black - shift) < 1e-5 * (1.0 + fabs(shift)));
    assert_true(fabs(white - shift - 1199.0 * slope) < 1e-5 * (1.0 + fabs(white)));
    CLEARED(csrec_image) image = {0};
    assert_ok(csrec_image_read("scaled.png", &image, NULL));
    double most = (double)(1 << image.bits) - 1.0;
    for (int64_t i = 0; i < 1200; i++)
        assert_true(fabs(csrec_array_value(&image.pixels, i) - most * (double)i / 1199.0) <= 0.51);
    csrec_measurement_clear(&m);
    run_well("$R floats.npz -o quiet.png --quality fast --quiet && cmp quiet.png scaled.png");
    assert_string_equal(read_text("err"), "");
    run_well("$R floats.npz -o scaled.png --quality fast --scale 0,1");
    assert_null(strstr(read_text("err"), "note: scaled.png"));
}

/* Whose mask keeps almost nothing is asked; what is known everywhere is denoised. */
TEST(masks_and_noise) {
    enum { SIDE = 96, PIXELS = SIDE * SIDE };
    uint8_t mask[PIXELS], noisy[PIXELS];
    double clean[PIXELS], squares = 0.0;
    for (int i = 0; i < PIXELS; i++) {
        clean[i] = 128.0 + 60.0 * sin(i / SIDE / 17.0) * cos(i % SIDE / 13.0);
        noisy[i] = (uint8_t)lrint(clean[i] + 12.0 * check_normal(&seed));
        mask[i] = i % 101 == 0 ? 255 : 0;
    }
    csrec_image image = {.pixels = {CSREC_U8, {2, {SIDE, SIDE}}, PIXELS, noisy}, .bits = 8};
    assert_ok(csrec_image_write("noisy.png", &image, NULL));
    image.pixels.data = mask;
    assert_ok(csrec_image_write("few.png", &image, NULL));
    run_well("$R noisy.png --mask few.png -o out.png --quality fast");
    says("err", "The mask is true for 1 % of the entries, which are taken as known; if it marks");
    run_well("$R noisy.png --sigma 12 -o out.png --quality fast");
    assert_null(strstr(read_text("err"), "warning"));
    CLEARED(csrec_image) out = {0};
    assert_ok(csrec_image_read("out.png", &out, NULL));
    for (int i = 0; i < PIXELS; i++) {
        const double error = csrec_array_value(&out.pixels, i) - clean[i];
        squares += error * error;
    }
    assert_true(squares < 9.0 * 9.0 * PIXELS); /* of 12 in what was given */
}

TEST(healthy_samples_raise_none) {
    run_well("$R healthy.npz -o out.npy --quality fast --json");
    says("out", "\"warnings\": []");
    assert_string_equal(read_text("err"), "");
    run_well("for r in 0.05 0.1 0.25 0.5; do for p in uniform poisson; do $S gray.png -o s.npz -r "
             "$r --pattern $p && $R s.npz -o out.npy --quality fast --json || exit 1; done; done; "
             "$R s.npz -o out.npy --quality balanced --json");
    const char *text = read_text("out");
    int none = 0;
    for (const char *at = text; (at = strstr(at, "\"warnings\": []")); at++) none++;
    assert_int_equal(none, 9);
    assert_null(strstr(read_text("err"), "warning:"));
}

FIXTURE(make_scans, remove_inputs);
