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
    char *bytes = page_bytes(name);
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
    free(bytes);
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

enum { LEVELS = 8, SIDE = 80 };

/* A level of the pyramid of means, and the value at a pixel of it: its own, or by bilinear weights
 * from the level above. */
typedef struct level {
    int height, width, count[SIDE][SIDE];
    double sum[SIDE][SIDE];
} level;

static double value_at(const level *l, int y, int x) {
    if (l->count[y][x]) return l->sum[y][x] / l->count[y][x];
    const level *up = l + 1;
    double value = 0.0;
    for (int k = 0; k < 4; k++) {
        double cy = (y + 0.5) / 2 - 0.5, cx = (x + 0.5) / 2 - 0.5;
        int iy = (int)floor(cy) + k / 2, ix = (int)floor(cx) + k % 2;
        double weight = (1 - fabs(cy - iy)) * (1 - fabs(cx - ix));
        iy = iy < 0 ? 0 : iy >= up->height ? up->height - 1 : iy;
        ix = ix < 0 ? 0 : ix >= up->width ? up->width - 1 : ix;
        value += weight * value_at(up, iy, ix);
    }
    return value;
}

TEST(blended_samples_are_the_pyramid) {
    static level levels[LEVELS];
    CLEARED(csrec_measurement) m = {0};
    assert_ok(csrec_measurement_read("g.npz", NULL, &m, NULL));
    memset(levels, 0, sizeof levels);
    levels[0].height = 47;
    levels[0].width = 70;
    for (int64_t i = 0; i < m.n; i++) {
        levels[0].count[m.index[i] / 70][m.index[i] % 70] = 1;
        levels[0].sum[m.index[i] / 70][m.index[i] % 70] = m.y[i];
    }
    for (int k = 1; k < LEVELS; k++) {
        level *l = &levels[k], *fine = l - 1;
        l->height = (fine->height + 1) / 2;
        l->width = (fine->width + 1) / 2;
        for (int y = 0; y < fine->height; y++)
            for (int x = 0; x < fine->width; x++) {
                if (!fine->count[y][x]) continue;
                l->count[y / 2][x / 2]++;
                l->sum[y / 2][x / 2] += fine->sum[y][x] / fine->count[y][x];
            }
    }
    run_well("$R g.npz -Q fast --report t.html");
    ENDS_BY(page_clear) page p = page_read("t.html");
    CLEARED(csrec_image) image = page_picture(&p, "blend");
    for (int i = 0; i < 47 * 70; i++) {
        double value = value_at(levels, i / 70, i % 70);
        int shown = ((uint8_t *)image.pixels.data)[i];
        if (fabs(shown - value) > 0.51) fail_msg("pixel %d is %d, not %g", i, shown, value);
    }
}

FIXTURE(make_scans, remove_inputs);
