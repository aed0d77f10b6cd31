/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page of csrecover --report shows: its panels and colour bars beside maps computed here
 * from --uncertainty, the output and the reference. */
#include "page_scans.h"

/* Root mean squares over channels of a - b, b NULL: of a, in the plane from `first`. */
static double *error_map(const csrec_array *a, const csrec_array *b, int64_t first, int64_t pixels,
                         int64_t channels) {
    double *map = calloc((size_t)pixels, sizeof *map);
    assert_non_null(map);
    for (int64_t k = 0; k < pixels; k++) {
        for (int64_t c = 0; c < channels; c++) {
            int64_t i = (first + k) * channels + c;
            double d = csrec_array_value(a, i) - (b ? csrec_array_value(b, i) : 0.0);
            map[k] += d * d / (double)channels;
        }
        map[k] = sqrt(map[k]);
    }
    return map;
}

/* Value of a rank, from 0, by counting. */
static double ranked(const double *map, int64_t n, int64_t rank) {
    for (int64_t k = 0; k < n; k++) {
        int64_t below = 0, same = 0;
        for (int64_t i = 0; i < n; i++) {
            below += map[i] < map[k];
            same += map[i] == map[k];
        }
        if (below <= rank && rank < below + same) return map[k];
    }
    fail_msg("no rank %lld", (long long)rank);
    return 0.0;
}

static double percentile_of(const double *map, int64_t n) {
    double at = 0.99 * (double)(n - 1), share = at - floor(at);
    double low = ranked(map, n, (int64_t)at);
    return share > 0.0 ? low + share * (ranked(map, n, (int64_t)at + 1) - low) : low;
}

static double number_in(const char *text) {
    return strtod(text + strcspn(text, "0123456789"), NULL);
}

static void expect_near(const char *what, double shown, double wanted) {
    if (fabs(shown - wanted) > 0.006 * wanted) fail_msg("%s: %g, not %g", what, shown, wanted);
}

/* The bar has five numbers from 0 to the 99th percentile. */
static void check_bar(const page *p, const char *panel, double percentile) {
    const page_element *figure = page_id(p, panel);
    const page_element *numbers = NULL;
    for (int k = 0; (numbers = page_part(p, figure, "span", k)); k++)
        if (strcmp(page_value(numbers, "class"), "numbers") == 0) break;
    assert_non_null(numbers);
    for (int k = 0; k < 5; k++) {
        const page_element *number = page_part(p, numbers, "span", k + 1);
        assert_non_null(number);
        expect_near(panel, number_in(number->text), percentile * k / 4);
    }
    assert_null(page_part(p, numbers, "span", 6));
}

/* The colours follow the map: they rise with it, and end at the percentile. */
static void check_colors(const page *p, const char *panel, const double *map, int64_t n,
                         double percentile) {
    CLEARED(csrec_image) image = page_picture(p, panel);
    const uint8_t *rgb = image.pixels.data;
    assert_int_equal(image.pixels.count, 3 * n);
    for (int64_t k = 0; k < n; k++) {
        const uint8_t *pixel = rgb + 3 * k, *other = rgb + 3 * check_below(&seed, n);
        if (map[k] > 1.001 * percentile) /* the brightest */
            assert_true(pixel[0] == 255 && pixel[1] == 255 && pixel[2] == 220);
        if (map[k] < 0.98 * percentile) assert_true(pixel[2] != 220 || pixel[1] < 255);
        if (map[(other - rgb) / 3] > 1.001 * map[k]) assert_true(other[0] >= pixel[0]);
    }
}

static void check_error_panel(const char *name, const char *panel, const double *map, int64_t n) {
    OWNED char *bytes = page_bytes(name);
    ENDS_BY(page_clear) page p = page_read(name);
    double percentile = percentile_of(map, n), largest = ranked(map, n, n - 1);
    check_bar(&p, panel, percentile);
    check_colors(&p, panel, map, n, percentile);
    const char *words = check_print("<figure id=\"%s\"", panel);
    const char *at = strstr(strstr(bytes, words), "The scale ends at the 99th percentile, ");
    assert_non_null(at);
    expect_near("percentile", number_in(at + 32), percentile);
    expect_near("largest", number_in(strstr(at, "largest is ")), largest);
    assert_non_null(strstr(strstr(bytes, words), "in units of the samples"));
}

TEST(error_panels_are_the_maps) {
    static const struct {
        const char *scan, *truth, *options;
        int64_t first, pixels, channels;
    } cases[] = {{"g.npz", "g.png", "", 0, 47 * 70, 1},
                 {"g.npz", "g.png", "-Q fast", 0, 47 * 70, 1},
                 {"c.npz", "c.png", "-Q fast", 0, 40 * 36, 3},
                 {"p.npz", "planes.npy", "-Q fast", 0, 40 * 50, 2},
                 {"v.npz", "volume.npy", "-s 1", 17 / 2 * 12 * 20, 12 * 20, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t first = cases[i].first, n = cases[i].pixels, channels = cases[i].channels;
        run_line("$R %s %s -r %s -o o.npy -u u.npy --report t.html", cases[i].scan,
                 cases[i].options, cases[i].truth);
        CLEARED(csrec_array) out = read_values("o.npy"), in = read_values(cases[i].truth);
        CLEARED(csrec_array) expected = read_values("u.npy");
        OWNED double *map = error_map(&out, &in, first, n, channels);
        check_error_panel("t.html", "error", map, n);
        free(map);
        map = error_map(&expected, NULL, first, n, channels);
        check_error_panel("t.html", "expected", map, n);
        if (i == 1) { /* without --uncertainty, too */
            run_well("$R g.npz -Q fast --report t.html");
            check_error_panel("t.html", "expected", map, n);
        }
    }
}

/* The chart of a 1-D signal: root mean squares of every eight entries. */
TEST(errors_of_a_line_are_charted) {
    run_well("$R l.npz -r line.npy -o o.npy -u u.npy --report t.html");
    ENDS_BY(page_clear) page p = page_read("t.html");
    CLEARED(csrec_array) expected = read_values("u.npy");
    double most = 0.0, top = 0.0;
    for (int64_t i = 0; i < 3000; i += 8) {
        double square = 0.0;
        for (int64_t k = i; k < i + 8; k++) square += pow(csrec_array_value(&expected, k), 2) / 8;
        most = fmax(most, sqrt(square));
    }
    /* The curve's highest point, read from the axis: position and value of 0 and the last tick. */
    const page_element *chart = NULL;
    for (int i = 0; i < p.n && !chart; i++) {
        const char *name = page_value(&p.element[i], "data-name");
        if (name && strcmp(name, "Error, root mean square") == 0) chart = &p.element[i];
    }
    assert_non_null(chart);
    double zero = NAN, high = NAN, value = NAN;
    for (int k = 0; page_part(&p, chart, "text", k); k++) {
        const page_element *text = page_part(&p, chart, "text", k);
        if (strcmp(page_value(text, "text-anchor"), "end") != 0) continue;
        if (isnan(zero)) zero = strtod(page_value(text, "y"), NULL);
        if (k == 0) assert_true(strtod(text->text, NULL) == 0.0);
        high = strtod(page_value(text, "y"), NULL);
        value = strtod(text->text, NULL);
    }
    const page_element *curve = page_part(&p, chart, "polyline", 1); /* expected */
    assert_string_equal(page_value(&p.element[curve->parent], "data-name"), "expected");
    for (const char *at = page_value(curve, "points"); at; at = strchr(at, ' ')) {
        double y = strtod(strchr(at, ',') + 1, NULL) + 4; /* as numbers, which are 4 lower */
        top = fmax(top, value * (zero - y) / (zero - high));
        at++;
    }
    if (fabs(top - most) > 0.01 * value) fail_msg("the highest is %g, not %g", top, most);
}

/* What was not sampled is transparent on a colour of the style that no gray value has, with a key;
 * a picture without holes has none of it. */
TEST(holes_are_no_gray) {
    run_well("$R g.npz -Q fast --report t.html && $S g.png -o all.npz -r 1 && "
             "$R all.npz -Q fast --report all.html");
    OWNED char *bytes = page_bytes("t.html");
    assert_non_null(strstr(bytes, ".holes,.key{background:var(--hole)}"));
    long rgb = strtol(strstr(bytes, "--hole:#") + 8, NULL, 16);
    int red = (int)(rgb >> 16), green = (int)(rgb >> 8 & 255), blue = (int)(rgb & 255);
    assert_true(abs(red - green) > 60 || abs(green - blue) > 60 || abs(red - blue) > 60);
    assert_non_null(strstr(bytes, "<span class=\"key\"></span> not sampled"));
    ENDS_BY(page_clear) page p = page_read("t.html"), all = page_read("all.html");
    const char *holes = page_value(page_part(&p, page_id(&p, "samples"), "img", 0), "class");
    const char *none = page_value(page_part(&all, page_id(&all, "samples"), "img", 0), "class");
    assert_true(strstr(holes, "holes") && !strstr(none, "holes"));
    CLEARED(csrec_image) image = page_picture(&all, "samples");
    assert_null(image.alpha);
}

/* Every pixel that was not sampled is the mean of its neighbours, but for the rounding of both. */
TEST(interpolation_is_harmonic) {
    enum { HEIGHT = 47, WIDTH = 70 };
    CLEARED(csrec_measurement) m = {0};
    uint8_t sampled[HEIGHT * WIDTH] = {0};
    assert_ok(csrec_measurement_read("g.npz", NULL, &m, NULL));
    for (int64_t i = 0; i < m.n; i++) sampled[m.index[i]] = 1;
    run_well("$R g.npz -Q fast --report t.html");
    ENDS_BY(page_clear) page p = page_read("t.html");
    CLEARED(csrec_image) image = page_picture(&p, "simple");
    const uint8_t *shown = image.pixels.data;
    for (int64_t i = 0; i < m.n; i++) assert_int_equal(shown[m.index[i]], (int)m.y[i]);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        static const int ways[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
        double sum = 0.0, n = 0.0;
        for (int k = 0; k < 4; k++) {
            const int y = i / WIDTH + ways[k][0], x = i % WIDTH + ways[k][1];
            if (y < 0 || y >= HEIGHT || x < 0 || x >= WIDTH) continue;
            sum += shown[y * WIDTH + x];
            n++;
        }
        if (!sampled[i] && fabs(shown[i] - sum / n) > 1.01)
            fail_msg("pixel %d is %d, its neighbours' mean %g", i, shown[i], sum / n);
    }
}

/* Number k of the row. */
static double score(const char *bytes, const char *row, int k) {
    const char *at = strstr(strstr(bytes, "<table id=\"scores\">"), check_print(">%s</th>", row));
    assert_non_null(at);
    for (; k >= 0; k--) at = strstr(at, "<td>") + 4;
    return strtod(at, NULL);
}

static double psnr_of(const char *signal, const char *truth, double peak) {
    CLEARED(csrec_array) a = read_values(signal), b = read_values(truth);
    double sum = 0.0;
    for (int64_t i = 0; i < a.count; i++)
        sum += pow(csrec_array_value(&a, i) - csrec_array_value(&b, i), 2);
    return 10.0 * log10(peak * peak / (sum / (double)a.count));
}

/* What the recovery is compared with is one that can be made alone. */
TEST(scores_are_those_of_both) {
    static const struct {
        const char *scan, *truth;
    } cases[] = {{"g.npz", "g.png"}, {"c.npz", "c.png"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_line("$R %s -Q fast -r %s -o o.npy --report t.html && "
                 "$R %s --method smooth --set kind=1 -o s.npy --report s.html",
                 cases[i].scan, cases[i].truth, cases[i].scan);
        OWNED char *both = page_bytes("t.html"), *alone = page_bytes("s.html");
        const double own = psnr_of("o.npy", cases[i].truth, 255.0);
        const double other = psnr_of("s.npy", cases[i].truth, 255.0);
        assert_true(fabs(score(both, "PSNR, dB", 0) - own) < 0.006);
        assert_true(fabs(score(both, "PSNR, dB", 1) - other) < 0.006);
        assert_true(score(both, "expected error", 1) == score(alone, "expected error", 0));
        assert_true(score(alone, "expected error", 1) == score(alone, "expected error", 0));
        assert_null(strstr(alone, ">PSNR, dB<"));
    }
}

/* The values that the script reads are those of the files, to half a step. */
static void check_values(const page *p, const char *panel, const char *file) {
    CLEARED(csrec_array) values = read_values(file);
    CLEARED(csrec_image) image = page_data(p, panel);
    const page_element *data = page_part(p, page_id(p, panel), "data", 0);
    const double low = strtod(page_value(data, "data-low"), NULL);
    const double step = strtod(page_value(data, "data-step"), NULL);
    assert_int_equal(image.pixels.count, values.count);
    for (int64_t i = 0; i < values.count; i++) {
        const double value = csrec_array_value(&values, i),
                     level = csrec_array_value(&image.pixels, i);
        if (fabs(low + (level - 1.0) * step - value) > 0.5001 * step)
            fail_msg("%s: value %lld is %g, not %g", panel, (long long)i,
                     low + (level - 1.0) * step, value);
    }
}

TEST(values_are_those_of_the_files) {
    CLEARED(csrec_measurement) m = {0};
    assert_ok(csrec_measurement_read("c.npz", NULL, &m, NULL));
    run_well("$R c.npz -Q fast -r c.png -o o.npy -u u.npy --report t.html && "
             "$R g.npz -Q fast -o og.npy -u ug.npy --report tg.html");
    ENDS_BY(page_clear) page p = page_read("t.html"), g = page_read("tg.html");
    check_values(&p, "recovery", "o.npy");
    check_values(&p, "reference", "c.png");
    check_values(&g, "recovery", "og.npy");
    check_values(&g, "expected", "ug.npy");
    CLEARED(csrec_image) samples = page_data(&p, "samples"), own = page_data(&p, "recovery");
    int64_t known = 0;
    for (int64_t i = 0; i < samples.pixels.count; i++)
        known += csrec_array_value(&samples.pixels, i) > 0.0;
    assert_int_equal(known, m.n * m.channels);
    for (int64_t i = 0; i < m.n * m.channels; i++) { /* put back, to the bit */
        const int64_t at = m.index[i / 3] * 3 + i % 3;
        assert_true(csrec_array_value(&samples.pixels, at) == csrec_array_value(&own.pixels, at));
    }
}

/* The square of the largest error, by looking at all. */
TEST(the_worst_part_is_the_worst) {
    enum { HEIGHT = 47, WIDTH = 70, SIDE = 11 };
    run_well("$R g.npz -Q fast -r g.png -o o.npy --report t.html");
    CLEARED(csrec_array) out = read_values("o.npy"), in = read_values("g.png");
    OWNED double *map = error_map(&out, &in, 0, HEIGHT * WIDTH, 1);
    double most = -1.0;
    int at = 0;
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        double sum = 0.0;
        if (i / WIDTH + SIDE > HEIGHT || i % WIDTH + SIDE > WIDTH) continue;
        for (int k = 0; k < SIDE * SIDE; k++) sum += pow(map[i + k / SIDE * WIDTH + k % SIDE], 2);
        if (sum <= most * (1.0 + 1e-12)) continue;
        most = sum;
        at = i;
    }
    ENDS_BY(page_clear) page p = page_read("t.html");
    const page_element *worst = page_id(&p, "worst");
    assert_int_equal(atoi(page_value(worst, "data-side")), SIDE);
    assert_int_equal(atoi(page_value(worst, "data-row")), at / WIDTH);
    assert_int_equal(atoi(page_value(worst, "data-column")), at % WIDTH);
    expect_near("worst", number_in(strchr(worst->text, ':')), sqrt(most / (SIDE * SIDE)));
}

/* Bins of the errors where nothing was sampled; those beyond are told. */
TEST(the_histogram_counts_all) {
    CLEARED(csrec_measurement) m = {0};
    assert_ok(csrec_measurement_read("g.npz", NULL, &m, NULL));
    run_well("$R g.npz -Q fast -r g.png -o o.npy --report t.html");
    CLEARED(csrec_array) out = read_values("o.npy"), in = read_values("g.png");
    uint8_t sampled[47 * 70] = {0};
    for (int64_t i = 0; i < m.n; i++) sampled[m.index[i]] = 1;
    OWNED char *bytes = page_bytes("t.html");
    const char *at = strstr(bytes, "aria-label=\"Numbers: Errors where nothing was sampled\"");
    assert_non_null(at);
    const double all = 47 * 70 - (double)m.n;
    double x[2] = {NAN, NAN}, drawn = 0.0, width = INFINITY;
    const char *from = at;
    for (int pass = 0; pass < 2; pass++) /* the width of a bin, then their counts */
        for (at = from; (at = strstr(at, ">recovery</th><td>")); x[0] = x[1]) {
            x[1] = strtod(at += 18, NULL);
            const double share = strtod(strstr(at, "<td>") + 4, NULL);
            if (pass == 0 && !isnan(x[0])) width = fmin(width, x[1] - x[0]);
            if (pass == 0) continue;
            double inside = 0.0;
            for (int i = 0; i < 47 * 70; i++) {
                const double error = csrec_array_value(&out, i) - csrec_array_value(&in, i);
                inside += !sampled[i] && error >= x[1] - width / 2 && error < x[1] + width / 2;
            }
            if (fabs(share - 100.0 * inside / all) > 100.1 / all)
                fail_msg("%g: %g %%, not %g", x[1], share, 100.0 * inside / all);
            drawn += share;
        }
    const char *note = strstr(bytes, " % of the recovery");
    double beyond = 0.0; /* the number before */
    for (const char *k = note; k && *k != '>'; k--) beyond = strtod(k, NULL);
    assert_true(fabs(drawn + beyond - 100.0) < 0.1);
}

FIXTURE(make_scans, remove_inputs);
