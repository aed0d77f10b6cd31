/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover --report, --plot and --json --history: the page is parsed, its pictures are decoded and
 * its plots compared with the history that the library gives. */
#include "page.h"
#include "tools.h"

SEED(seed);

static bool has_id(const page *p, const char *id) {
    int count = 0;
    for (int i = 0; i < p->n; i++) {
        const char *own = page_value(&p->element[i], "id");
        count += own && strcmp(own, id) == 0;
    }
    assert_true(count <= 1);
    return count == 1;
}

/* Nothing from outside; names for all that is seen; places of the page exist. */
static void check_element(const page *p, const page_element *e) {
    const char *src = page_value(e, "src"), *href = page_value(e, "href");
    const char *label = page_value(e, "aria-labelledby"), *id = page_value(e, "id");
    if (page_is(e, "script")) assert_int_equal(e->n, 0);
    if (page_is(e, "iframe") || page_is(e, "object")) fail_msg("<%s>", e->name);
    if (src) assert_int_equal(strncmp(src, "data:image/png;base64,", 22), 0);
    if (href && href[0] == '#') assert_true(has_id(p, href + 1));
    if (href && href[0] != '#') assert_string_equal(href, "data:,");
    if (label) assert_true(has_id(p, label));
    if (id) assert_true(has_id(p, id));
    if (page_is(e, "img")) {
        assert_true(page_value(e, "alt") && strlen(page_value(e, "alt")) > 5);
        assert_true(atoi(page_value(e, "width")) > 0 && atoi(page_value(e, "height")) > 0);
    }
    if (page_is(e, "svg")) {
        assert_string_equal(page_value(e, "role"), "img");
        assert_true(strlen(page_value(e, "aria-label")) > 0);
    }
}

/* NULL: a signal of one axis has none. */
static const page_element *panels_of(const page *p) {
    for (int i = 0; i < p->n; i++) {
        const char *class = page_value(&p->element[i], "class");
        if (class && strncmp(class, "panels", 6) == 0) return &p->element[i];
    }
    return NULL;
}

static void check_page(const char *name, int pictures, int charts) {
    OWNED char *text = page_bytes(name);
    assert_int_equal(strncmp(text, "<!DOCTYPE html>\n<html lang=\"en\">", 32), 0);
    static const char *const never[] = {"http:", "https:", "url(", "@import", "//", "javascript"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        for (const char *at = text; (at = strstr(at, never[i])); at++) {
            /* base64 has slashes. */
            const char *quote = at;
            while (quote > text && *quote != '"' && *quote != '<') quote--;
            if (strncmp(quote, "\"data:image/png;base64,", 23) != 0)
                fail_msg("%s: %s in %.60s", name, never[i], quote);
        }
    }
    assert_non_null(strstr(text, "prefers-color-scheme:dark"));
    assert_non_null(strstr(text, "width=device-width"));
    ENDS_BY(page_clear) page p = page_read(name);
    for (int i = 0; i < p.n; i++) check_element(&p, &p.element[i]);
    const page_element *panels = panels_of(&p);
    assert_int_equal(panels ? page_count(&p, panels, "img") : 0, pictures);
    assert_int_equal(page_count(&p, &p.element[0], "svg"), charts);
    assert_int_equal(page_count(&p, &p.element[0], "script"), 1);
    assert_int_equal(page_count(&p, &p.element[0], "h1"), 1);
    assert_int_equal(page_count(&p, &p.element[0], "main"), 1);
}

static bool same_pixels(const csrec_image *image, const csrec_array *other) {
    return image->pixels.count == other->count &&
           memcmp(image->pixels.data, other->data, (size_t)other->count) == 0;
}

static void check_pictures(const char *page_name_, const char *scan, const char *recovered,
                           const char *truth) {
    ENDS_BY(page_clear) page p = page_read(page_name_);
    CLEARED(csrec_measurement) m = {0};
    CLEARED(csrec_array) out = read_values(recovered), in = read_values(truth);
    ENDS_BY(csrec_image_clear)
    csrec_image samples = page_picture(&p, "samples"), recovery = page_picture(&p, "recovery");
    ENDS_BY(csrec_image_clear)
    csrec_image reference = page_picture(&p, "reference"), error = page_picture(&p, "error");
    assert_true(same_pixels(&recovery, &out) && same_pixels(&reference, &in));
    assert_ok(csrec_measurement_read(scan, NULL, &m, NULL));
    int64_t seen = 0, channels = m.channels;
    assert_non_null(samples.alpha);
    for (int64_t k = 0; k < in.count / channels; k++) seen += samples.alpha[k];
    assert_int_equal(seen, m.n);
    for (int64_t i = 0; i < m.n * channels; i++) {
        int64_t at = m.index[i / channels] * channels + i % channels;
        assert_int_equal(samples.alpha[m.index[i / channels]], 1);
        assert_int_equal(((uint8_t *)samples.pixels.data)[at], (int)m.y[i]);
    }
    /* Samples are put back, so there the error has the colour of none: the map's darkest. */
    const uint8_t *none = (uint8_t *)error.pixels.data + 3 * m.index[0];
    assert_int_equal(error.pixels.count, 3 * in.count / channels);
    for (int64_t k = 0; k < error.pixels.count; k++)
        assert_true(((uint8_t *)error.pixels.data)[k] >= none[k % 3]);
}

TEST(pages_show_what_happened) {
    run_well("$S gray.png -o g.npz -r 0.3 && $R g.npz -r gray.png -Q best --report best.html");
    check_page("best.html", 6, 2); /* errors; rounds of groups keep the samples */
    run_well("$R g.npz -o g.png -r gray.png --report g.html");
    check_page("g.html", 6, 1); /* one pass of a network has no steps */
    check_pictures("g.html", "g.npz", "g.png", "gray.png");
    run_well("$S rgb.png -o c.npz -r 0.3 && $R c.npz -o c.png -Q fast -r rgb.png --report c.html");
    check_page("c.html", 6, 3);
    run_well("$R c.npz -s 1 --report bare.html");
    check_page("bare.html", 4, 3); /* no reference: no PSNR, but levels */
    run_well("$S line.npy -o l.npz -r 0.3 && $R l.npz -s 1 -r line.npy --report l.html");
    check_page("l.html", 0, 6);
    run_well("$S volume.npy -o v.npz -r 0.3 && $R v.npz -s 1 -r volume.npy --report v.html");
    check_page("v.html", 6, 4);
    run_well("$S planes.npy -c -o p.npz -r 0.3 && $R p.npz -r planes.npy --report p.html");
    check_page("p.html", 6, 1);
    run_well("mkdir -p pages && $R g.npz c.npz -s 1 --report pages --plot plots/");
    check_page("pages/g.html", 4, 3);
    check_page("pages/c.html", 4, 3);
    run_well("test -s plots/g.svg && test -s plots/c.svg");
}

/* Names of files are text, whatever they hold, and the command brings the same result. */
TEST(names_are_escaped_and_the_command_repeats) {
    run_well("cp g.npz '<b>&\"'\"'\"'\351 .npz' && "
             "$R '<b>&\"'\"'\"'\351 .npz' -o 'it'\"'\"'s.png' -s 2 --report n.html --json");
    check_page("n.html", 4, 3);
    OWNED char *text = page_bytes("n.html");
    assert_non_null(strstr(text, "Recovery of &lt;b&gt;&amp;&quot;&#39;\357\277\275 .npz"));
    /* From the JSON the command comes with two escapes. */
    const char *command = strstr(read_text("out"), "\"command\": \"csrecover ");
    assert_non_null(command);
    run_well("$R g.npz -s 2 -o again.png --json --report 'a b.html'");
    command = strstr(read_text("out"), "\"command\": \"csrecover") + 22;
    const char *line = check_print("cp again.png before.png && rm again.png && $R %.*s && "
                                   "cmp again.png before.png",
                                   (int)strcspn(command, "\""), command);
    assert_non_null(strstr(line, "'a b.html'"));
    run_well(line);
}

/* Data of one curve of one chart must be the track's. */
static void check_curve(const page *p, const char *chart, const char *curve, int64_t n,
                        const csrec_history_step *steps, bool psnr) {
    int64_t found = 0;
    for (int i = 0; i < p->n; i++) {
        const page_element *e = &p->element[i];
        if (!page_value(e, "data-x")) continue;
        const page_element *series = &p->element[e->parent], *of = &p->element[series->parent];
        if (strcmp(page_value(series, "data-name"), curve) != 0) continue;
        if (strcmp(page_value(of, "data-name"), chart) != 0) continue;
        assert_true(found < n);
        assert_int_equal(atoll(page_value(e, "data-x")), steps[found].iteration);
        double y = strtod(page_value(e, "data-y"), NULL);
        if (y != (psnr ? steps[found].psnr : steps[found].residual))
            fail_msg("%s, %s: step %lld is %.17g", chart, curve, (long long)found, y);
        found++;
    }
    if (found != n) fail_msg("%s, %s: %lld of %lld", chart, curve, (long long)found, (long long)n);
}

/* The recovery again, by the library. */
static csrec_history *history_of(const char *scan, const char *truth, int preset, int shifts) {
    CLEARED(csrec_measurement) m = {0};
    csrec_history *history;
    csrec_recover_options options;
    CLEARED(csrec_array) in = read_values(truth);
    assert_ok(csrec_measurement_read(scan, NULL, &m, NULL));
    OWNED double *signal = malloc((size_t)in.count * sizeof *signal);
    OWNED double *values = malloc((size_t)in.count * sizeof *values);
    for (int64_t i = 0; i < in.count; i++) values[i] = csrec_array_value(&in, i);
    assert_ok(csrec_history_create(values, 255.0, &history));
    if (preset >= 0)
        csrec_recover_preset(preset, &m, &options);
    else
        csrec_recover_defaults(&options);
    if (preset < 0) options.shifts = shifts;
    options.history = history;
    assert_ok(csrec_recover(&m, &options, signal, NULL, NULL, NULL));
    return history;
}

/* A page does not draw a single point. */
static bool has_course(const csrec_history *history) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    bool course = false;
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++)
        course = course || n > 1;
    return course;
}

static void check_plots(const page *p, const csrec_history *history) {
    const char *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    for (int i = 0; csrec_history_track(history, i, &name, &unit, &n, &steps); i++) {
        if (strcmp(name, "result") != 0 || steps[0].residual > 0.0)
            check_curve(p, "Residual at the samples", name, n, steps, false);
        check_curve(p, "PSNR against the reference", name, n, steps, true);
    }
}

TEST(plots_are_the_history) {
    static const struct {
        const char *options;
        int preset, shifts;
    } cases[] = {{"--shifts 1", -1, 1}, {"-Q fast", 0, 0}, {"-Q balanced", 1, 0}, {"", -1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_line("$R c.npz -r rgb.png %s --report h.html --plot h.svg && $R c.npz -r rgb.png %s "
                 "--plot h.png",
                 cases[i].options, cases[i].options);
        ENDS_BY(end_history)
        csrec_history *history = history_of("c.npz", "rgb.png", cases[i].preset, cases[i].shifts);
        ENDS_BY(page_clear) page html = page_read("h.html"), svg = page_read("h.svg");
        if (has_course(history)) check_plots(&html, history);
        check_plots(&svg, history);
        int64_t count[64];
        int levels = csrec_history_levels(history, count), bars = 0;
        for (int k = 0; k < svg.n; k++) {
            const char *x = page_value(&svg.element[k], "data-x");
            if (!x || !page_is(&svg.element[k], "rect")) continue;
            assert_int_equal(count[atoi(x)], atoll(page_value(&svg.element[k], "data-y")));
            bars++;
        }
        assert_int_equal(bars, levels ? levels + 1 : 0);
    }
}

/* Ink of the first series on white paper: a curve and its dots. */
TEST(a_png_has_curves) {
    run_well("$R c.npz -r rgb.png -s 1 --plot h.png");
    CLEARED(csrec_array) png = read_values("h.png");
    int64_t ink = 0, paper = 0;
    const uint8_t *pixel = png.data;
    for (int64_t k = 0; k < png.count; k += 3) {
        paper += pixel[k] == 255 && pixel[k + 1] == 255 && pixel[k + 2] == 255;
        ink += pixel[k] == 0 && pixel[k + 1] == 96 && pixel[k + 2] == 176;
    }
    assert_int_equal(png.shape.dim[1], 840);
    assert_int_equal(png.shape.dim[0], 5 * 600); /* signal, errors, residual, PSNR, levels */
    assert_true(paper > png.count / 3 / 2 && ink > 2000);
}

TEST(machines_get_the_same) {
    run_well("$R c.npz -r rgb.png -s 1 --json --history");
    ENDS_BY(end_history) csrec_history *history = history_of("c.npz", "rgb.png", -1, 1);
    const char *text = read_text("out"), *name, *unit;
    const csrec_history_step *steps;
    int64_t n;
    assert_true(csrec_history_track(history, 0, &name, &unit, &n, &steps));
    const char *at = strstr(strstr(text, "\"name\": \"pursuit\""), "\"psnr\": [") + 9;
    for (int64_t k = 0; k < n; k++, at += strcspn(at, ",]") + 1)
        assert_true(strtod(at, NULL) == steps[k].psnr);
    assert_int_equal(at[-1], ']');
    assert_non_null(strstr(text, "\"atoms_by_level\": ["));
    assert_non_null(strstr(text, "\"warnings\": ["));
}

/* A number of panels that has a rule of the style; controls wait for the script. */
TEST(panels_need_no_script) {
    static const struct {
        const char *options, *rule;
        int panels;
    } cases[] = {{"g.npz -r gray.png", "of-6", 6}, {"g.npz", "of-4", 4},
                 {"v.npz -s 1", "of-4", 4},        {"v.npz -s 1 -r volume.npy", "of-6", 6},
                 {"g.npz --labels", "of-2", 2},    {"g.npz --labels -r gray.png", "of-4", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (sanitized_leaves()) continue;
        run_line("$R %s%s --report t.html", cases[i].options,
                 strchr(cases[i].options, 's') ? "" : " -Q fast");
        char *text = page_bytes("t.html");
        const char *rule = check_print(".%s", cases[i].rule);
        assert_non_null(strstr(strstr(text, "@media (min-width"), rule));
        ENDS_BY(page_clear) page p = page_parse(text);
        const page_element *recovery = page_id(&p, "recovery"), *tools = page_id(&p, "tools");
        const page_element *panels = &p.element[recovery->parent];
        assert_non_null(strstr(page_value(panels, "class"), cases[i].rule));
        assert_int_equal(page_count(&p, panels, "figure"), cases[i].panels);
        assert_int_equal(page_count(&p, panels, "img"), cases[i].panels);
        assert_string_equal(page_value(tools, "hidden"), "hidden");
        assert_string_equal(page_value(page_id(&p, "compare"), "hidden"), "hidden");
        assert_string_equal(page_value(page_id(&p, "cut"), "type"), "range");
    }
}

/* Ends of the numbers at the vertical axis, and the least step between them. */
typedef struct ticks {
    double low, high, step;
    int n;
} ticks;

/* Names of the curves are above the plot. */
static ticks check_chart(const page *p, const page_element *chart) {
    const page_element *part;
    double top = INFINITY;
    ticks found = {INFINITY, -INFINITY, INFINITY, 0};
    for (int k = 0; (part = page_part(p, chart, "line", k)); k++)
        if (strcmp(page_value(part, "class"), "k1") == 0)
            top = fmin(top, strtod(page_value(part, "y1"), NULL));
    for (int k = 0; (part = page_part(p, chart, "text", k)); k++) {
        bool number = strcmp(page_value(part, "text-anchor"), "end") == 0;
        bool below = strtod(page_value(part, "y"), NULL) > top - 2;
        bool along = strcmp(page_value(part, "text-anchor"), "middle") == 0;
        if (below && !number && !along) fail_msg("'%s' is on the curves", part->text);
        if (!number) continue;
        const double value = strtod(part->text, NULL);
        if (found.n++) found.step = fmin(found.step, value - found.high);
        found.low = fmin(found.low, value);
        found.high = fmax(found.high, value);
    }
    return found;
}

/* The axis of a PSNR begins and ends within a step of the data. */
static bool check_ends(const page *p, const page_element *chart, ticks axis) {
    const page_element *part;
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; (part = page_part(p, chart, "circle", k)); k++) {
        low = fmin(low, strtod(page_value(part, "data-y"), NULL));
        high = fmax(high, strtod(page_value(part, "data-y"), NULL));
    }
    if (strcmp(page_value(chart, "aria-label"), "PSNR against the reference") != 0) return false;
    if (low - axis.low > axis.step || axis.low > low || axis.high - high > axis.step ||
        axis.high < high)
        fail_msg("the axis is %g to %g, the data %g to %g", axis.low, axis.high, low, high);
    return true;
}

TEST(charts_begin_where_the_data_are) {
    int charts = 0, psnr = 0;
    run_well("$R c.npz -r rgb.png -Q fast --report fast.html && "
             "$R c.npz -r rgb.png -s 1 --report grid.html && "
             "$R v.npz -r volume.npy --method frames --report frames.html");
    static const char *const names[] = {"fast.html", "grid.html", "frames.html"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ENDS_BY(page_clear) page p = page_read(names[i]);
        const page_element *svg;
        for (int k = 0; (svg = page_part(&p, &p.element[0], "svg", k)); k++, charts++) {
            const ticks axis = check_chart(&p, svg);
            assert_true(axis.n >= 2);
            psnr += check_ends(&p, svg, axis);
        }
    }
    assert_true(charts >= 10 && psnr == 3);
}

/* But for times and the date. */
TEST(pages_are_deterministic) {
    run_well("for k in 1 2; do $R c.npz -r rgb.png -Q fast --report t.html || exit 1; "
             "sed '/class=\"seconds\"/d; s/<footer>.*<.footer>//' t.html >t$k.html; done; "
             "cmp t1.html t2.html");
}

/* Interrupted anywhere, a page is a page, and no map is written that is not known. */
TEST(interrupted_pages_are_pages) {
    for (int tenths = 1; tenths <= 9; tenths += 4) {
        int code = run(check_print("rm -f i.*; timeout --foreground --preserve-status -s INT 0.%d "
                                   "$R g.npz -Q max -o i.npy -u i.map.npy --report i.html",
                                   tenths));
        if (code != 0 && code != 130) fail_msg("exit code %d: %s", code, read_text("err"));
        if (run("test -e i.npy") != 0) continue;
        ENDS_BY(page_clear) page p = page_read("i.html");
        bool known = run("test -e i.map.npy") == 0;
        assert_int_equal(page_count(&p, panels_of(&p), "img"), known ? 4 : 2);
    }
}

FIXTURE(make_inputs, remove_inputs);
