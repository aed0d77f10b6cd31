/* SPDX-License-Identifier: BSD-3-Clause */
/* The sentences on top of the page of csrecover --report, beside --json. */
#include "page_scans.h"

/* Text of the element with the id, without tags. */
static char *plain_text(const char *name, const char *id) {
    char *bytes = page_bytes(name);
    const char *start = check_print("id=\"%s\">", id);
    const char *from = strstr(bytes, start);
    if (!from) fail_msg("%s: no %s", name, id);
    from += strlen(start);
    const char *end = strstr(from, "</p>");
    char *to = bytes;
    for (bool tag = false; from < end; from++) {
        if (*from == '<') tag = true;
        if (!tag) *to++ = *from;
        if (*from == '>') tag = false;
    }
    *to = '\0';
    return bytes;
}

static void expect_text(const char *text, const char *words) {
    if (!strstr(text, words)) fail_msg("'%s' is not in '%s'", words, text);
}

/* The number after the words in the JSON of file out. */
static double json_after(const char *object, const char *key) {
    const char *at = strstr(read_text("out"), object);
    assert_non_null(at);
    return number_after(at, key);
}

TEST(the_verdict_has_the_numbers) {
    static const struct {
        const char *scan, *truth, *options, *words;
    } cases[] = {
        {"g.npz", "g.png", "", "Recovered a picture of 47 x 70 pixels from 987 samples, 30 %"},
        {"g.npz", "g.png", "-Q fast", "Recovered a picture of 47 x 70 pixels from 987 samples"},
        {"c.npz", "c.png", "-Q fast", "a picture of 40 x 36 pixels with 3 channels from 432 "},
        {"v.npz", "volume.npy", "-s 1", "a volume of 17 x 12 x 20 values from 1224 samples, 30 %"},
        {"l.npz", "line.npy", "", "a signal of 3000 values from 900 samples, 30 % of its"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_line("$R %s %s -r %s -o o.npy --report t.html --json", cases[i].scan, cases[i].options,
                 cases[i].truth);
        double expected = json_after("\"expected\": {", "\"error\": ");
        double psnr = json_after("\"quality\": {", "\"psnr\": ");
        OWNED char *text = plain_text("t.html", "verdict");
        expect_text(text, cases[i].words);
        expect_text(text, check_print("expected error about %.3g (%.1f dB)", expected,
                                      json_after("\"expected\": {", "\"psnr\": ")));
        const char *at = strstr(text, "; true error ");
        assert_non_null(at);
        double error = strtod(at + 13, NULL),
               truth = sqrt(mean_square(cases[i].truth, "o.npy", NULL));
        if (fabs(error - truth) > 0.006 * truth) fail_msg("%s, but %g", at, truth);
        expect_text(at, check_print(" (%.2f dB)", psnr));
    }
}

/* Without a reference, and without an error. */
TEST(the_verdict_is_honest) {
    run_well("$R g.npz -Q fast --report t.html");
    OWNED char *text = plain_text("t.html", "verdict");
    expect_text(text, "expected error about ");
    assert_null(strstr(text, "true error"));
    free(text);
    run_well("$S g.png -o all.npz -r 1 && $R all.npz -Q fast -r g.png --report t.html");
    text = plain_text("t.html", "verdict");
    expect_text(text, "100 % of its positions: expected error about 0; it is equal to the ref");
}

/* Every other pixel of a third: a hole and a regular grid; without a scale. */
static void make_doubtful(const char *name) {
    CLEARED(csrec_measurement) m = {.shape = {2, {40, 60}}, .channels = 1, .dtype = CSREC_F64};
    m.index = malloc(2400 * sizeof *m.index);
    m.y = malloc(2400 * sizeof *m.y);
    for (int64_t at = 0; at < 2400; at++) {
        if (at % 60 >= 20 || (at / 60 + at % 60) % 2) continue;
        m.y[m.n] = check_normal(&seed);
        m.index[m.n++] = at;
    }
    assert_ok(csrec_measurement_write(name, &m, false, NULL));
}

/* Sentence k of a member of --json, as an element's text. */
static const char *find_sentence(const char *bytes, const char *member, int k) {
    const char *json = strstr(read_text("out"), member);
    assert_non_null(json);
    json = strchr(json, '[');
    for (int quotes = 2 * k + 1; quotes > 0; quotes--) json = strchr(json, '"') + 1;
    const char *words = check_print(">%.*s<", (int)strcspn(json, "\""), json);
    const char *at = strstr(bytes, words);
    if (!at) fail_msg("no %s", words);
    return at;
}

TEST(warnings_come_first) {
    make_doubtful("doubtful.npz");
    run_well("$R doubtful.npz -Q fast --report t.html --json");
    OWNED char *bytes = page_bytes("t.html");
    const char *first = strstr(bytes, "<p class=\"warning\""),
               *rest = strstr(bytes, "<ul class=\"warning\""),
               *remarks = strstr(bytes, "<ul class=\"remark\"");
    assert_true(first && rest && remarks && first < rest && rest < remarks);
    const char *hole = find_sentence(bytes, "\"warnings\": [", 0),
               *grid = find_sentence(bytes, "\"warnings\": [", 1),
               *scale = find_sentence(bytes, "\"remarks\": [", 0);
    assert_true(hole > first && hole < rest && grid > rest && grid < remarks && scale > remarks);
}

FIXTURE(make_scans, remove_inputs);
