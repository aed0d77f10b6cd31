/* SPDX-License-Identifier: BSD-3-Clause */
/* By-products of csrecover (page, plot, map, atoms, history): every preset, method, solver and
 * basis gives them or refuses them before the recovery; one that fails leaves the signal. */
#include "page.h"
#include "tools.h"

static void check_array(const char *name, int64_t count, const char *what) {
    CLEARED(csrec_array) array = {0};
    csrec_error error;
    if (csrec_array_read(name, &array, &error)) fail_msg("%s: %s", what, error.text);
    assert_int_equal(array.count, count);
    for (int64_t i = 0; i < count; i++) assert_true(isfinite(csrec_array_value(&array, i)));
}

/* A chart has a size, and its curves have data. */
static void check_svg(const char *name, const char *what) {
    ENDS_BY(page_clear) page p = page_read(name);
    int data = 0;
    assert_true(page_is(&p.element[0], "svg"));
    const char *box = page_value(&p.element[0], "viewBox");
    double size[2] = {0.0, 0.0};
    if (!box || sscanf(box, "0 0 %lf %lf", &size[0], &size[1]) != 2 || size[0] < 100.0 ||
        size[1] < 100.0)
        fail_msg("%s: size %g x %g", what, size[0], size[1]);
    for (int i = 0; i < p.n; i++)
        data += page_is(&p.element[i], "polyline") || page_value(&p.element[i], "data-x");
    if (data == 0) fail_msg("%s: no curve", what);
}

/* White paper, and the ink of the first series. */
static void check_png(const char *name, const char *what) {
    CLEARED(csrec_array) png = read_values(name);
    int64_t ink = 0;
    const uint8_t *pixel = png.data;
    for (int64_t k = 0; k + 2 < png.count; k += 3)
        ink += pixel[k] == 0 && pixel[k + 1] == 96 && pixel[k + 2] == 176;
    if (png.shape.dim[0] < 100 || png.shape.dim[1] < 100 || ink < 10)
        fail_msg("%s: %lld dots", what, (long long)ink);
}

/* Braces and brackets outside of strings close. */
static void check_json(const char *text, const char *what) {
    int depth = 0;
    bool string = false;
    for (const char *at = text; *at; at++) {
        if (string && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            string = !string;
        else if (!string)
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    }
    if (depth || string || text[0] != '{') fail_msg("%s: %s", what, text);
    if (!strstr(text, "\"history\": [") || !strstr(text, "\"name\": \"result\""))
        fail_msg("%s: no history: %s", what, text);
}

/* truth: with the ending .npy or .png, beside scan. */
static void check_products(const char *scan, int64_t entries, const char *options, bool atoms) {
    run_line("rm -f x.* && $R %s %s -o x.npy --report x.html --plot x.svg -u x.map.npy --json "
             "--history -q",
             scan, options);
    check_array("x.npy", entries, options);
    check_array("x.map.npy", entries, options);
    check_svg("x.svg", options);
    check_json(read_text("out"), options);
    page p = page_read("x.html");
    assert_true(page_count(&p, &p.element[0], "img") + page_count(&p, &p.element[0], "svg") > 0);
    page_clear(&p);
    run_line("$R %s %s -o x.npy --plot x.png -q", scan, options);
    check_png("x.png", options);
    run_well("rm -f x.*");
    const char *command = check_print("$R %s %s -C x.npz -q", scan, options);
    if (!atoms) {
        expect_mistake(command, 1, "recovers whole signals, not coefficients");
        return;
    }
    CLEARED(csrec_array) column = {0};
    run_well(command);
    assert_ok(csrec_npz_read("x.npz", "column", &column, NULL));
}

/* What keeps a test short. */
static const char *quick(const char *name) {
    static const char *const settings[][2] = {{"pnp", " --set iterations=2"},
                                              {"gaussian", " --set effort=0"},
                                              {"grids", " --shifts 1"},
                                              {"net", " --set turns=1"},
                                              {"beside", " --guide guide.npy"},
                                              {"rendered", " --set network=0"},
                                              {"max", " --set turns=1 --set steps=1"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(name, settings[i][0]) == 0) return settings[i][1];
    return "";
}

TEST(every_preset_has_every_product) {
    const char *name;
    csrec_recover_options options;
    for (int i = 0; (name = csrec_recover_preset(i, NULL, &options)); i++) {
        if (sanitized_leaves()) continue;
        check_products("small.npz", 18 * 16, check_print("-Q %s%s", name, quick(name)), false);
    }
    check_products("small.npz", 18 * 16, "--shifts 1 --atoms 30", true);
}

/* lit.npz: small.npz with numbers of rays. */
static void light_small(void) {
    CLEARED(csrec_measurement) m;
    assert_well(csrec_measurement_read("small.npz", NULL, &m, &told));
    m.rays = malloc((size_t)m.n * sizeof *m.rays);
    for (int64_t i = 0; i < m.n; i++) m.rays[i] = 1.0 + (double)(i % 4);
    assert_well(csrec_measurement_write("lit.npz", &m, false, &told));
}

TEST(every_method_has_every_product) {
    csrec_method method;
    light_small();
    run_well("$R small.npz -Q fast -o guide.npy");
    for (int i = 0; csrec_method_info(i, &method); i++) {
        char line[128];
        const char *model = strcmp(method.name, "pca") == 0 ? " --model pca.npz" : "";
        if (sanitized_leaves()) continue;
        if (strcmp(method.name, "sparse") == 0) continue; /* below, with every solver */
        if (strcmp(method.name, "trial") == 0) continue;  /* of volumes alone */
        snprintf(line, sizeof line, "--method %s%s%s", method.name, model, quick(method.name));
        check_products(strcmp(method.name, "rendered") == 0 ? "lit.npz" : "small.npz", 18 * 16,
                       line, strcmp(method.name, "grids") == 0);
    }
}

TEST(every_solver_has_every_product) {
    static const char *const bases[] = {"haar", "dct", "wavelet"};
    const char *name, *brief, *source;
    for (int i = 0; csrec_solver_info(i, &name, &brief, &source); i++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            const bool haar = b == 0;
            char line[128];
            if (sanitized_leaves()) continue;
            if (haar && strcmp(name, "threshold") == 0) continue; /* for frames and wavelets */
            snprintf(line, sizeof line, "-S %s -B %s --atoms 12%s", name, bases[b],
                     haar ? " --shifts 1" : "");
            check_products("line.npz", 64, line, haar);
        }
}

/* Three axes, channels, complex values, sums as measurements. */
TEST(every_signal_has_every_product) {
    check_products("cube.npz", 6 * 8 * 8, "-Q fast", false);
    check_products("colour.npz", 18 * 16 * 3, "-Q fast", false);
    check_products("dot.npz", 1, "-S omp -s 1", true);
    run_well("$R sums.npz -B wavelet -S fista -o x.npy --report x.html --plot x.svg --json "
             "--history -q");
    check_svg("x.svg", "sums.npz");
    check_json(read_text("out"), "sums.npz");
    run_well("rm -f x.*");
    expect_mistake("$R sums.npz -B wavelet -S fista -o x.npy -u x.map.npy", 1,
                   "--uncertainty is for samples of entries");
}

/* The command fails in one line that has the words, and the recovery is whole. */
static void check_kept(const char *options, const char *words) {
    int code = run(
        check_print("rm -f kept.* && timeout 60 $R small.npz -Q fast -q -o kept.npy %s", options));
    const char *text = read_text("err"), *newline = strchr(text, '\n');
    if (code != 1 || !newline || newline[1]) fail_msg("%s: %d, %s", options, code, text);
    if (!strstr(text, words)) fail_msg("%s: '%s' is not in %s", options, words, text);
    assert_true(mean_square("good.npy", "kept.npy", NULL) == 0.0);
}

TEST(a_failed_product_leaves_the_recovery) {
    if (access("/dev/full", W_OK) != 0) skip();
    /* Links to a device that is full. */
    run_well(
        "for f in full.html full.svg full.png full.npy full.npz; do ln -sf /dev/full $f; done; "
        "$R small.npz -Q fast -o good.npy");
    check_kept("--report full.html", "full.html: cannot be written");
    check_kept("--report full.html", "; written: kept.npy");
    check_kept("--plot full.svg", "full.svg: cannot be written");
    check_kept("--plot full.png", "full.png: cannot be written");
    check_kept("-u full.npy", "full.npy: cannot be written");
    check_kept("-u full.png --plot kept.svg", "; written: kept.npy, kept.svg");
    run_well("test -s kept.svg");
    check_kept("--plot full.svg -u kept.map.npy --report kept.html",
               "; written: kept.npy, kept.html, kept.map.npy");
    run_well("test -s kept.html && test -s kept.map.npy");
    check_kept("--json --history > /dev/full", "stdout: cannot be written");
    run_well("echo old > old.svg && cp old.svg kept.svg");
    assert_int_equal(run("rm -f kept.npy; ulimit -f 3; $R small.npz -Q fast -q -o kept.npy "
                         "--plot kept.svg"),
                     1);
    run_well("cmp old.svg kept.svg && test -s kept.npy");
    assert_int_equal(run("rm -f c.npy; $R small.npz -s 1 -k 9 -q -o c.npy -C full.npz"), 1);
    run_well("test -s c.npy");
    run_well("rm -f c.npy; ($R small.npz -s 1 -k 9 -q -o c.npy --json || true) | true; "
             "test -s c.npy"); /* a closed pipe */
}

TEST(without_a_signal_the_others_stand) {
    if (access("/dev/full", W_OK) != 0) skip();
    assert_int_equal(run("rm -f n.*; $R small.npz -Q fast -q --report n.html --plot full.svg"), 1);
    run_well("test -s n.html");
    assert_int_equal(run("rm -f n.*; $R small.npz -Q fast -q -o full.npy --report n.html"), 1);
    run_well("test ! -e n.html"); /* it would tell about a signal that is not there */
}

/* JSON of what is written, with what is not. */
TEST(machines_learn_what_is_missing) {
    if (access("/dev/full", W_OK) != 0) skip();
    assert_int_equal(run("$R small.npz -Q fast -q -o j.npy --plot full.svg --json --history"), 1);
    check_json(read_text("out"), "a failed plot");
    says("out", "\"error\": \"full.svg: cannot be written");
    says("out", "\"plot\": null");
    says("out", "\"output\": \"j.npy\"");
    run_well("mkdir -p lp lo && cp small.npz other.npz && ln -sf /dev/full lp/small.svg");
    assert_int_equal(run("$R small.npz other.npz -Q fast -q -o lo/ --plot lp/ --json --format npy"),
                     1);
    says("out", "\"recovered\": 1");
    says("out", "\"failed\": 1");
    says("err", "failed: small.npz");
    run_well("cmp lo/small.npy lo/other.npy && test -s lp/other.svg");
}

/* Until nothing is missing, --resume and make repeat it. */
TEST(what_is_missing_is_made_again) {
    if (access("/dev/full", W_OK) != 0) skip();
    const char *resume = "timeout 60 $R small.npz -Q fast -q -o m.npy --plot m.svg --resume --json";
    run_well("rm -f m.*; ln -s /dev/full m.svg");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(resume), 1);
        run_well("test m.npy -ot small.npz");
    }
    run_well("rm m.svg");
    run_well(resume);
    assert_null(strstr(read_text("out"), "skipped"));
    run_well("test -s m.svg && test ! m.npy -ot small.npz && test ! -e m.npy.part");
    run_well(resume);
    says("out", "skipped");
}

/* Stopped after its start, it writes what it has, and fails for what it cannot. */
TEST(an_interrupted_one_is_kept) {
    if (access("/dev/full", W_OK) != 0) skip();
    for (int tenths = 2; tenths <= 8; tenths += 3) {
        const char *command =
            check_print("rm -f i.npy; timeout --foreground --preserve-status -s INT 0.%d "
                        "$R gray.npz -Q max -q -o i.npy --report full.html",
                        tenths); /* in the background it would ignore one before its start */
        int code = run(command);
        if (code == 130) continue; /* before its start */
        assert_int_equal(code, 1);
        check_array("i.npy", 61 * 83, command);
        says("err", "; written: i.npy");
    }
}

TEST(other_tools_keep_their_results) {
    if (access("/dev/full", W_OK) != 0) skip();
    const char *const commands[] = {
        "rm -f k.npz; $L pca planes.npy -q -o k.npz -k 2 --plot full.png",
        "rm -f k.npz; $B phase -o k.npz -s omp -n 16 -g 2 -T 2 -q --plot full.svg"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(run(commands[i]), 1);
        if (!strstr(read_text("err"), "; written: k.npz")) fail_msg("%s", read_text("err"));
        run_well("test -s k.npz");
    }
}

static int make_scans(void **state) {
    if (make_inputs(state)) return -1;
    uint64_t seed = check_seed();
    run_well("mkdir faces");
    for (int i = 0; i < 4; i++) {
        make_random_picture(check_print("faces/%d.png", i), 18, 16, 1, &seed);
    }
    make_picture("small.png", 18, 16, 1, 8, false);
    make_picture("colour.png", 18, 16, 3, 8, false);
    make_array("cube.npy", (csrec_shape){3, {6, 8, 8}}, CSREC_F32);
    make_array("short.npy", (csrec_shape){1, {64}}, CSREC_F32);
    make_array("dot.npy", (csrec_shape){1, {1}}, CSREC_F32);
    run_well("$S small.png -o small.npz -r 0.5 && $S colour.png -o colour.npz -r 0.5 && "
             "$S cube.npy -o cube.npz -r 0.5 && $S short.npy -o line.npz -r 0.5 && "
             "$S dot.npy -o dot.npz --count 1 && $S gray.png -o gray.npz -r 0.5 && "
             "$S short.npy -o sums.npz --operator hadamard --count 40");
    run_well("$L pca faces -q -o pca.npz -k 1");
    return 0;
}

FIXTURE(make_scans, remove_inputs);
