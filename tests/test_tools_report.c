/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tools say: JSON, help, one line for wrong usage and wrong input, and Ctrl-C. */
#include "tools.h"

#include <ctype.h>

SEED(seed);

static void skip_space(const char **s) {
    while (isspace((unsigned char)**s)) ++*s;
}

static bool json_value(const char **s);

static bool json_string(const char **s) {
    if (*(*s)++ != '"') return false;
    for (; **s && **s != '"'; ++*s) {
        if ((unsigned char)**s < ' ') return false;
        if (**s == '\\' && !*++*s) return false;
    }
    return *(*s)++ == '"';
}

/* Members or elements up to the closing bracket. */
static bool json_list(const char **s, char close) {
    ++*s;
    skip_space(s);
    while (**s && **s != close) {
        if (close == '}') {
            if (!json_string(s) || *(*s)++ != ':') return false;
        }
        if (!json_value(s)) return false;
        skip_space(s);
        if (**s != ',') break;
        ++*s;
        skip_space(s);
        if (**s == close) return false;
    }
    return *(*s)++ == close;
}

static bool json_value(const char **s) {
    skip_space(s);
    if (**s == '{') return json_list(s, '}');
    if (**s == '[') return json_list(s, ']');
    if (**s == '"') return json_string(s);
    const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++)
        if (strncmp(*s, words[i], strlen(words[i])) == 0) {
            *s += strlen(words[i]);
            return true;
        }
    char *end;
    if (**s != '-' && !isdigit((unsigned char)**s)) return false;
    strtod(*s, &end);
    bool moved = end != *s;
    *s = end;
    return moved;
}

static const char *check_json(void) {
    const char *text = read_text("out"), *s = text;
    bool good = json_value(&s);
    skip_space(&s);
    if (!good || *s) fail_msg("not JSON: %s", text);
    return text;
}

/* The number after "key": in the JSON of file out. */
static double json_number(const char *key) {
    return number_after(check_json(), check_print("\"%s\": ", key));
}

TEST(reports) {
    run_well(
        "cp gray.png 'a \"b\"\\\303\251\377.png' && $S 'a \"b\"\\\303\251\377.png' -o j.npz -n 999 "
        "--json");
    assert_int_equal((int)json_number("samples"), 999);
    assert_non_null(strstr(check_json(), "a \\\"b\\\"\\\\\303\251\\ufffd.png"));
    assert_true(json_number("min_distance") >= 1);
    run_well("$R j.npz --info --json");
    assert_int_equal((int)json_number("entries"), 61 * 83);
    run_well("$R j.npz -o j.npy --method frames --reference gray.png --json");
    const double difference = mean_square("gray.png", "j.npy", NULL);
    /* The .npy is float32. */
    assert_true(fabs(json_number("psnr") - 10 * log10(255.0 * 255.0 / difference)) < 1e-3);
    assert_true(json_number("ssim") > 0.5 && json_number("ssim") < 1);
    assert_true(json_number("iterations") > 0 && json_number("total") >= 0);
    run_well("$R j.npz --reference gray.png");
    says("err", "PSNR");
    assert_string_equal(read_text("out"), "");
    run_well("$R j.npz -o j.png --method frames -v && grep -q iterations err");
    run_well("$R j.npz --info");
    says("out", "61 x 83");
}

/* A reference in other units is told of, and only that: not one of other values. */
TEST(units_of_references) {
    const struct {
        double times, noise;
        const char *words;
    } cases[] = {{1.0, 0.0, NULL},
                 {0.2, 0.0, NULL},
                 {1.0 / 255.0, 0.0, "about 255 times smaller"},
                 {257.0, 0.0, "about 257 times larger"},
                 {0.0, 9999.0, NULL}};
    run_well("$S gray.png -o units.npz -r 0.5");
    CLEARED(csrec_image) image = {.bits = 0};
    assert_ok(csrec_image_read("gray.png", &image, NULL));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CLEARED(csrec_array) other = {0};
        assert_ok(csrec_array_create(CSREC_F64, &(csrec_shape){2, {61, 83}}, &other));
        for (int64_t i = 0; i < other.count; i++)
            csrec_array_set(&other, i,
                            cases[k].times * csrec_array_value(&image.pixels, i) +
                                cases[k].noise * check_normal(&seed));
        assert_ok(csrec_array_write("units.npy", &other, NULL));
        run_well("$R units.npz --reference units.npy --json");
        if (cases[k].words) says("out", cases[k].words), says("err", cases[k].words);
        assert_true(cases[k].words || !strstr(read_text("err"), "units of the samples"));
    }
}

/* -h of a tool or command is a screen: at most 40 lines of 80 columns, of which one says where the
 * rest is. */
static void is_a_screen(const char *tool) {
    int lines = 0;
    run_line("%s -h", tool);
    const char *text = read_text("out");
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++)
        if (strcspn(line, "\n") > 80) fail_msg("%s -h: wide: %.100s", tool, line);
    if (lines < 10 || lines > 40) fail_msg("%s -h: %d lines", tool, lines);
    assert_non_null(strstr(text, "\nExamples:\n"));
    assert_non_null(strstr(text, "--help"));
    assert_non_null(strstr(text, "man"));
}

TEST(short_help_and_groups) {
    static const char *const tools[] = {"$S",       "$R",           "$L pca",
                                        "$B phase", "$B coherence", "$L info"};
    is_a_screen("$L");
    is_a_screen("$B");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        is_a_screen(tools[i]);
        /* Every option of --help stands below a heading, and no heading comes twice. */
        run_line("%s --help | sed -n 's/^\\([A-Z].*\\):$/\\1/p' >groups", tools[i]);
        run_well("test $(wc -l <groups) -gt 2 && ! sort groups | uniq -d | grep .");
        run_line(
            "! %s --help | grep -B1 -e '^      --' -e '^  -., --' | grep -A1 '^$' | grep -e --",
            tools[i]);
    }
}

/* A success says what it wrote, from how much, and how, unless it is told not to. */
TEST(a_success_is_told) {
    run_well("$S gray.png -o t.npz -r 0.3");
    says("err", "cssample: gray.png -> t.npz: 1519 of 5063 positions (30 %), poisson");
    check_one_line(read_text("err"));
    run_well("$S gray.png -o t.npz -r 0.3 -q");
    assert_string_equal(read_text("err"), "");
    run_well("$R t.npz -o t.png -Q fast");
    says("err", "csrecover: t.npz -> t.png: recovered, 1519 of 5063 values known, method frames");
    check_one_line(read_text("err"));
    run_well("$R t.npz -o - -Q fast >t.npy");
    says("err", "t.npz -> stdout: recovered");
    run_well("$R t.npz -o t.png -Q fast -q");
    assert_string_equal(read_text("err"), "");
    run_well("$S gray.png -o r.npz -r 0.3 -O hadamard -q && $R r.npz -o t.npy --method tv");
    says("err", "1519 rows for 5063 entries, method tv");
}

/* A signal of one value is recovered without an error: nothing reads as a failure. */
TEST(a_perfect_result_is_told_as_such) {
    run_well("printf '5,,5\\n,5,\\n5,,5\\n' >five.csv && $R five.csv -o five.npy -Q fast -v");
    const char *const bad[] = {"nan", "inf", "stagnation", "cannot", "residual 0,"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (strstr(read_text("err"), bad[i])) fail_msg("%s in %s", bad[i], read_text("err"));
    says("err", "five.npy: recovered, 5 of 9 values known");
}

TEST(help) {
    const char *const tools[] = {"$S", "$R"};
    for (int i = 0; i < 2; i++) {
        run_line("%s --help", tools[i]);
        const char *text = read_text("out");
        assert_non_null(strstr(text, "Examples:"));
        assert_non_null(strstr(text, "--version"));
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
            size_t length = strcspn(line, "\n");
            assert_true(length <= 100 && (length == 0 || line[length - 1] != ' '));
        }
        run_line("%s -V | grep -q %s", tools[i], csrec_version());
    }
}

/* Beside what test_tools_mistakes.c has, with its words. */

TEST(wrong_usage) {
    const char *const commands[] = {
        "$S",
        "$S gray.png",
        "$S gray.png -o x.npz -r 0",
        "$S gray.png -o x.npz -r 1.5",
        "$S gray.png -o x.npz -r nan",
        "$S gray.png -o x.npz -r 0.5x",
        "$S gray.png -o x.npz -r",
        "$S gray.png -o x.npz -r 0.5 -n 7",
        "$S gray.png -o x.npz -n 0",
        "$S gray.png -o x.npz -n -4",
        "$S gray.png -o x.npz -n 99999999999999999999",
        "$S gray.png -o x.npz -r 0.5 --seed -1",
        "$S gray.png -o x.npz -r 0.5 --seed 18446744073709551616",
        "$S gray.png -o x.npz -r 0.5 --pattern none",
        "$S gray.png -o x.npz -r 0.5 --noise -1",
        "$S gray.png -o x.npz -r 0.5 --noise inf",
        "$S gray.png -o x.npz -r 0.5 --json=1",
        "$S gray.png -o x.npz -r 0.5 -jz",
        "$S gray.png deep.png -o x.npz -r 0.5",
        "$S gray.png -o '' -r 0.5",
        "$S gray.png -o x.npz -r 0.5 --mask-out x.gif",
        "$S gray.png -o - -r 0.5 --json",
        "$R",
        "$R good.npz -o x",
        "$R good.npz -o - --json",
        "$R good.npz -o - --format gif",
        "$R good.npz -o x.png --bits 12",
        "$R good.npz -o x.png --scale 3",
        "$R good.npz -o x.png --scale 3,3",
        "$R good.npz -o x.png --scale 0,inf",
        "$R good.npz -o x.png --solver magic",
        "$R good.npz -o x.png --order spiral",
        "$R good.npz -o x.png --columns all",
        "$R good.npz -o x.png --backend tpu",
        "$R good.npz -o x.png --epsilon 1",
        "$R good.npz -o x.png --shifts 0",
        "$R good.npz -o x.png --threads -1",
        "$R good.npz -C x.npz --shifts 4",
        "$R good.npz -C x.npy",
        "$R good.npz --info -o x.png",
        "$R - -o x.png --mask -",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) check_refused(commands[i], 2);
}

TEST(wrong_input) {
    const char *const commands[] = {
        "$S . -o x.npz -r 0.5",
        "$S gray.png -o x.npz -r 0.5 --mask-out nowhere/x.png",
        "$S gray.png -o x.npz -n 5064",
        "$S line.npy -o x.npz -r 0.5 --pattern poisson",
        "$S line.npy -o x.npz -r 0.5 --channels-last",
        "$S volume.npy -o x.npz -r 0.5 --mask-out x.png",
        "$S nan.npy -o x.npz -r 1",
        "$S - -o x.npz -r 0.5 < /dev/null",
        "$S - -o x.npz -r 0.5 < folder.npz",
        ("$S holes.png -o x.npz -n 3 --procedural --seed 8 && $S holes.png -o x.npz -r 1 "
         "--procedural"),
        "$S gray.png -o folder.npz -r 0.5",
        "$R folder.npz -o x.png",
        "$R - -o x.png < /dev/null",
        "$R gray.png -m folder.npz -o x.png",
        "$R good.npz --reference folder.npz",
        "$R line.npz --reference nan.npy",
        "$R good.npz --plot nowhere/x.svg",
        "$R good.npz -u nowhere/x.npy",
        "$R vol.npz -u x.png",
        "$R empty.png -o x.png",
        "$R good.npz -o folder.npz/nowhere/x.npy",
        "$R good.npz -o x.png -C nowhere/x.npz",
        "$R pl.npz -o x.png",
        "$R good.npz --info > /dev/full",
        "$R good.npz --reference gray.png --json > /dev/full",
    };
    run_well("$S gray.png -o good.npz -r 0.2 && $S volume.npy -o vol.npz -r 0.2 && "
             "$S planes.npy -c -o pl.npz -r 0.2 && echo hello > text.txt && : > empty.png && "
             "mkdir folder.npz && $S line.npy -o line.npz -r 0.5");
    const double nothing[3000] = {NAN};
    csrec_array array = {CSREC_F64, {1, {3000}}, 3000, (void *)nothing};
    assert_ok(csrec_array_write("nan.npy", &array, NULL));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) check_refused(commands[i], 1);
}

FIXTURE(make_inputs, remove_inputs);
