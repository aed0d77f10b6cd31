/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of csrecover --report in a browser, if there is one: its script, its layout at the width
 * of a telephone and of a screen, in both colour schemes. */
#include "tools.h"

static char browser[256];

static bool find_browser(void) {
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (run(check_print("command -v %s", names[i])) != 0) continue;
        snprintf(browser, sizeof browser,
                 "timeout 120 %s --headless --no-sandbox --disable-gpu --hide-scrollbars "
                 "--user-data-dir=profile --enable-logging=stderr --window-size=1300,2400 "
                 "--virtual-time-budget=4000",
                 names[i]);
        return true;
    }
    print_message("SKIPPED: no chromium to open the page with\n");
    return false;
}

/* Acts on the page as a reader, and says what is seen. */
static const char probe[] =
    "const all = s => [...document.querySelectorAll(s)], by = id => document.getElementById(id);\n"
    "const said = {}, rows = {}, box = e => e.getBoundingClientRect();\n"
    "all('.panels figure').forEach(f => {\n"
    "  const top = Math.round(box(f).top);\n"
    "  rows[top] = (rows[top] || 0) + 1;\n"
    "});\n"
    "const counts = Object.values(rows), most = Math.max(0, ...counts);\n"
    "said.columns = most;\n"
    "said.alone = most > 1 && Math.min(...counts) === 1;\n"
    "said.beyond = document.documentElement.scrollWidth - window.innerWidth;\n"
    "const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 2 &&\n"
    "  b.top < a.bottom - 2;\n"
    "said.overlaps = 0;\n"
    "all('svg').forEach(svg => {\n"
    "  const texts = [...svg.querySelectorAll('text')].map(box);\n"
    "  texts.forEach((a, i) => texts.forEach((b, k) => {\n"
    "    if (i < k && overlap(a, b)) said.overlaps++;\n"
    "  }));\n"
    "});\n"
    "said.smallest = Math.min(99, ...all('svg').map(s => 13 * box(s).width / s.viewBox.baseVal"
    ".width));\n"
    "said.paper = getComputedStyle(document.body).backgroundColor;\n"
    "if (by('compare')) {\n"
    "  said.shown = !by('compare').hidden && !by('tools').hidden;\n"
    "  said.looks = [...by('left').options].map(o => o.value).join();\n"
    "  by('left').value = 'samples';\n"
    "  by('left').onchange();\n"
    "  const source = s => document.querySelector(s).src;\n"
    "  said.left = source('#compare img') === source('#samples img');\n"
    "  said.right = source('#compare .over img') === source('#recovery img');\n"
    "  by('cut').value = 25;\n"
    "  by('cut').oninput({ target: by('cut') });\n"
    "  const frame = document.querySelector('#compare .frame');\n"
    "  said.line = Math.round(100 * (box(all('.line')[0]).left - box(frame).left) /"
    " frame.clientWidth);\n"
    "  by('in').click();\n"
    "  const at = box(all('#expected .frame')[0]);\n"
    "  all('#expected .frame')[0].dispatchEvent(new MouseEvent('click', {\n"
    "    clientX: (at.left + at.right) / 2, clientY: at.top + 0.3 * at.height }));\n"
    "  said.zooms = [...new Set(all('.frame img').map(i => Math.round(10 * i.clientWidth /"
    " i.closest('.frame').clientWidth) / 10))].join();\n"
    "  const places = d => [...new Set(all('.frame img').map(i => Math.round(40 *"
    " -(d ? i.offsetTop / i.clientHeight : i.offsetLeft / i.clientWidth))))].join();\n"
    "  said.left_at = places(0);\n"
    "  said.top_at = places(1);\n"
    "  said.squares = all('.frame img').every(i => getComputedStyle(i).imageRendering ==="
    " 'pixelated');\n"
    "  by('whole').click();\n"
    "  said.whole = all('.frame img').every(i => i.offsetLeft === 0 && i.offsetTop === 0);\n"
    "}\n"
    "parent.postMessage(Object.entries(said).map(e => e.join('=')).join('; ') + ';', '*');\n";

/* Puts the page in a frame of this width: a window has a least one. Returns what the probe said. */
static const char *open_page(const char *name, int width, const char *options) {
    static char said[2048];
    FILE *file = fopen("probe.js", "w");
    assert_non_null(file);
    fprintf(file, "<script>%s</script>\n", probe);
    fclose(file);
    file = fopen("frame.html", "w");
    assert_non_null(file);
    fprintf(file,
            "<!DOCTYPE html><pre id=\"said\"></pre><iframe src=\"probe.html\" "
            "style=\"width:%dpx;height:2000px;border:0;color-scheme:light dark\"></iframe><script>"
            "onmessage = e => document.getElementById('said').textContent = e.data;</script>",
            width);
    fclose(file);
    run_line("sed '/^<.body>/{r probe.js\n}' %s >probe.html && %s %s --dump-dom "
             "\"file://$PWD/frame.html\"",
             name, browser, options);
    if (strstr(read_text("err"), "CONSOLE")) fail_msg("%s", read_text("err"));
    const char *from = strstr(read_text("out"), "id=\"said\">");
    assert_non_null(from);
    snprintf(said, sizeof said, "%.*s", (int)strcspn(from + 10, "<"), from + 10);
    return said;
}

static void expect_said(const char *said, const char *words) {
    if (!strstr(said, words)) fail_msg("no '%s' in '%s'", words, said);
}

static double number_said(const char *said, const char *name) {
    const char *at = strstr(said, name);
    if (!at) fail_msg("no '%s' in '%s'", name, said);
    return strtod(at + strlen(name), NULL);
}

static int make_pages(void **state) {
    if (make_inputs(state)) return -1;
    run_well("$S gray.png -o g.npz -r 0.3 && $R g.npz -Q fast -r gray.png --report g.html && "
             "$R g.npz -Q fast --report bare.html && "
             "$S volume.npy -o v.npz -r 0.3 && $R v.npz -r volume.npy --report v.html && "
             "$S line.npy -o l.npz -r 0.3 && $R l.npz -r line.npy --report l.html && "
             "$S rgb.png -o c.npz -r 0.3 && $R c.npz -s 1 --report c.html");
    return 0;
}

TEST(readers_compare_and_magnify) {
    static const struct {
        const char *page, *looks;
        int columns;
    } cases[] = {{"g.html", "looks=samples,blend,reference;", 3},
                 {"bare.html", "looks=samples,blend;", 2},
                 {"c.html", "looks=samples,blend;", 2},
                 {"v.html", "looks=samples,reference;", 3},
                 {"l.html", "columns=0;", 0}};
    if (!find_browser()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int width = 390; width <= 1200; width += 810) {
            const char *said = open_page(cases[i].page, width, "");
            bool pictures = cases[i].columns > 0;
            expect_said(said, cases[i].looks);
            expect_said(said, "alone=false;");
            expect_said(said, "beyond=0;");
            expect_said(said, "overlaps=0;");
            assert_true(number_said(said, "smallest=") > 10.0);
            assert_int_equal((int)number_said(said, "columns="), !pictures     ? 0
                                                                 : width < 400 ? 1
                                                                               : cases[i].columns);
            if (!pictures) continue;
            expect_said(said, "shown=true;");
            expect_said(said, "left=true; right=true; line=25;");
            expect_said(said, "zooms=4; left_at=15; top_at=13; squares=true; whole=true;");
        }
}

TEST(both_schemes_are_drawn) {
    if (!find_browser()) skip();
    expect_said(open_page("g.html", 1200, "--blink-settings=preferredColorScheme=1"),
                "paper=rgb(255, 255, 255);");
    expect_said(open_page("g.html", 1200, "--blink-settings=preferredColorScheme=0"),
                "paper=rgb(28, 28, 28);");
}

/* Paper is not all there is on the picture of the page. */
TEST(pages_are_not_empty) {
    if (!find_browser()) skip();
    run_line("%s --screenshot=shot.png \"file://$PWD/g.html\"", browser);
    CLEARED(csrec_array) shot = read_values("shot.png");
    const uint8_t *pixel = shot.data;
    int64_t paper = 0;
    for (int64_t k = 0; k < shot.count; k += 3) paper += memcmp(pixel + k, pixel, 3) == 0;
    assert_true(paper < shot.count / 3 * 90 / 100);
}

FIXTURE(make_pages, remove_inputs);
