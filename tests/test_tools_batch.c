/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover on several inputs, --resume, ignored options, and what a terminal sees. */
#define _XOPEN_SOURCE 700 /* posix_openpt */

#include "tools.h"

#include <fcntl.h>

static void make_scans(void) {
    static bool made;
    if (!made)
        run_well("$S gray.png -o a.npz -r 0.3 --seed 5 && $S gray.png -o b.npz -r 0.3 --seed 5 "
                 "--noise 0.001 && $S rgb.png -o c.npz -r 0.3 && $S volume.npy -o v.npz -r 0.3 && "
                 "echo nonsense > bad.npz");
    made = true;
}

TEST(a_bad_file_stops_nothing) {
    make_scans();
    assert_int_equal(run("$R a.npz bad.npz c.npz nothing.npz v.npz -s 1 -o out1/"), 1);
    const char *text = read_text("err");
    const char *bad = strstr(text, "failed: bad.npz\n"),
               *none = strstr(text, "failed: nothing.npz");
    assert_true(bad && none && bad < none);
    assert_null(strstr(text, "failed: a.npz"));
    assert_string_equal(read_text("out"), "");
    run_well(
        "for f in a.png c.png v.npy; do $R ${f%.*}.npz -s 1 -o one-$f && cmp one-$f out1/$f || "
        "exit 1; done");
    run_well(
        "$R a.npz c.npz -s 1 -o out1 --format npy && test -s out1/a.npy && test -s out1/c.npy");
}

TEST(several_are_one_json) {
    make_scans();
    assert_int_equal(run("$R a.npz -s 1 bad.npz -o out2/ c.npz --json"), 1);
    const char *text = read_text("out");
    assert_non_null(strstr(text, "\"files\": ["));
    assert_non_null(strstr(text, "\"status\": \"failed\",\n      \"error\": \"bad.npz: "));
    assert_non_null(strstr(text, "\"command\": \"csrecover a.npz -s 1 -o out2/ --json\""));
    assert_non_null(strstr(text, "\"command\": \"csrecover -s 1 -o out2/ c.npz --json\""));
    assert_non_null(strstr(text, "\"recovered\": 2,\n  \"skipped\": 0,\n  \"failed\": 1,"));
    run_well("$R a.npz c.npz --info --json");
    says("out", "\"status\": \"described\"");
}

/* What is recovered together is what each by itself is, to the byte. */
TEST(frames_share_what_they_can) {
    static const struct {
        const char *options;
        bool together;
    } cases[] = {{"--shifts 1", true},
                 {"--shifts 5 --epsilon 0.02", true},
                 {"--solver omp --shifts 2 --atoms 40", true},
                 {"--basis wavelet --set steps=10", true},
                 {"--quality fast --set steps=10", true},
                 {"--method frames", true},
                 {"--method gaussian --set effort=0", false}};
    run_well("mkdir -p frames single && for i in 1 2 3 4; do $S gray.png -o frames/$i.npz -r 0.3 "
             "--seed 7 --pattern uniform --noise 3 || exit 1; done && $S rgb.png -o frames/x.npz "
             "-r 0.3 && $S gray.png -o frames/y.npz -r 0.3 --seed 8 --pattern uniform --noise 3");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (sanitized_leaves()) continue;
        run_line(
            "for f in 1 2 3 4 x y; do $R frames/$f.npz -t 1 -q -o single/$f.npy %s || exit 1; done",
            cases[i].options);
        run_line("$R frames/*.npz -t 1 -q -o all/ --format npy --json %s && diff -r all single",
                 cases[i].options);
        bool together = strstr(read_text("out"), "\"inputs_at_once\": 4") != NULL;
        if (together != cases[i].together) fail_msg("%s: %d", cases[i].options, together);
    }
}

/* Threads that take a file each write what one does, and list it in the order given; files that
 * are broken or missing stop no other. */
TEST(threads_share_small_inputs) {
    static const char command[] =
        "OMP_NUM_THREADS=%d $R many/*.npz no.npz -S gaussian --set effort=0 --backend cpu -o many/ "
        "--json >list; test $? = 1 && grep -vE '(read|tree|pursuit|synthesis|total|seconds|threads)"
        "\":' list >list%d && mkdir many%d && mv many/*.png many%d";
    make_scans();
    run_well("mkdir many && cp bad.npz many/3x.npz && cp bad.npz many/x.npz && for k in 1 2 3 4 5 "
             "6; do $S gray.png -o many/$k.npz -r 0.3 --seed $k && $S rgb.png -o many/$k-.npz -r "
             "0.3 || exit 1; done");
    run_line(command, 1, 1, 1, 1);
    run_line(command, 3, 3, 3, 3);
    says("list", "\"threads\": 1,\n        \"effort\""); /* each */
    says("list", "\"failed\": 3,");
    run_well("cmp list1 list3 && diff -r many1 many3 && test $(ls many3 | wc -l) = 12");
}

TEST(a_folder_of_truths) {
    run_well("mkdir -p truths && cp gray.png truths/a.png && cp rgb.png truths/c.png");
    make_scans();
    run_well("$R a.npz c.npz -s 1 --reference truths");
    says("err", "a.npz: PSNR ");
    says("err", "c.npz: PSNR ");
    assert_int_equal(run("$R a.npz v.npz --reference truths"), 1);
}

TEST(what_would_be_ignored_is_refused) {
    static const mistake wrong[] = {
        {"a.npz -o x.png --basis dct --shifts 4", "no option shifts", 2},
        {"a.npz -o x.png --basis wavelet --columns paper", "no option columns", 2},
        {"a.npz -o x.png --basis dct --order raster", "no option order", 2},
        {"a.npz -o x.png --basis dct --reference-pursuit", "no option --reference-pursuit", 2},
        {"a.npz -o x.png --solver gaussian --shifts 4", "no option shifts", 2},
        {"a.npz -o x.png --solver gaussian --epsilon 0.1", "no option epsilon", 2},
        {"a.npz -o x.png --solver omp --reference-pursuit", "reference pursuit", 2},
        {"a.npz -o x.png --quality fast --solver omp", "--solver", 2},
        {"a.npz -o x.png --quality fast --basis dct", "--basis", 2},
        {"a.npz -o x.png --quality best --shifts 4", "no option shifts", 2},
        {"a.npz -o x.png --resume --json -o -", "stdout", 2},
        {"a.npz --reference gray.png --resume", "--output", 2},
        {"a.npz c.npz -o x.png", "folder", 2},
        {"a.npz c.npz -o out4/ -C atoms.npz --shifts 1", "--coefficients", 2},
        {"a.npz - -o out4/", "stdin", 2},
        {"a.npz frames/a.npz -o out4/", "same file", 2},
        {"holes.png -o .", "same file", 2},
        {"a.npz -o x.png --format png", "--format", 2},
    };
    make_scans();
    expect_mistakes("$R", wrong, sizeof wrong / sizeof *wrong);
    assert_int_equal(access("out4", F_OK), -1);
}

/* Runs csrecover with a terminal as its stderr; what it shows comes back. */
static const char *show(const char *options) {
    static char text[1 << 16];
    size_t used = 0;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(grantpt(terminal) | unlockpt(terminal), 0);
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(other >= 0);
    const char *command =
        check_print(TOOL("csrecover") "%s 2>'%s' >out", options, ptsname(terminal));
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(99);
    }
    /* The terminal holds little: it is emptied while the tool runs. */
    int status = 0;
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    for (bool ended = false; !ended;) {
        ended = waitpid(child, &status, WNOHANG) == child;
        for (ssize_t n; (n = read(terminal, text + used, sizeof text - 1 - used)) > 0;)
            used += (size_t)n;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    text[used] = '\0';
    close(other);
    close(terminal);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s: %s", command, text);
    return text;
}

TEST(a_terminal_sees_a_bar_and_a_summary) {
    const int atoms = SANITIZED_SHARE(800); /* of the first */
    const csrec_shape shape = {1, {60000}};
    make_array("slow_truth.npy", shape, CSREC_F32);
    run_well("$S slow_truth.npy -o slow.npz -r 0.5 --noise 1");
    /* Full transforms of 30000 samples, slow enough to be seen. */
    const char *text =
        show(check_print("slow.npz -o slow.npy --reference-pursuit --shifts 1 --atoms %d", atoms));
    static const char *const words[] = {"pursuit",  "it/s",     "residual",
                                        "\r\033[K", "slow.npy", "recovered"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strstr(text, words[i])) fail_msg("no %s in %s", words[i], text);
    assert_string_equal(show("slow.npz -o slow.npy --atoms 100 --quiet"), "");
    run_well("$R slow.npz -o slow.npy --atoms 100");
    says("err", "slow.npz -> slow.npy: recovered, 30000 of 60000 values known, method grids");
    check_one_line(read_text("err")); /* no terminal: no bar */
    run_well("$R slow.npz -o slow.npy --atoms 100 --json");
    assert_string_equal(read_text("err"), "");
    make_scans();
    text = show("a.npz c.npz -s 1 -o out5/");
    assert_non_null(strstr(text, "2 inputs: 2 recovered"));
    assert_string_equal(read_text("out"), "");
}

/* One device, all, and one input after another write the same bytes. */
TEST(devices_share_inputs) {
    make_scans();
    run_well("$R --list-devices");
    if (!strstr(read_text("out"), "compute capability")) {
        print_message("SKIPPED: no GPU\n");
        skip();
    }
    run_well("for k in 1 2 3 4 5 6; do $S gray.png -o d$k.npz -r 0.3 --seed $k || exit 1; done");
    run_well("$R d?.npz -s 4 -o one/ --devices 0 && $R d?.npz -s 4 -o all/ --backend cuda && "
             "for k in 1 2 3 4 5 6; do cmp one/d$k.png all/d$k.png || exit 1; done");
    run_well("$R d1.npz -s 4 -o one.png --devices 0 && $R d1.npz -s 4 -o all.png --backend cuda "
             "--json && cmp one.png all.png");
    run_well("$R d1.npz -s 4 --devices 0 --json");
    says("out", "\"devices\": [0]");
    run_well("$R --list-devices | grep -c 'compute capability' >n; "
             "test $(cat n) -lt 2 || { $R d?.npz -s 4 -o two/ --devices 1,0 --verbose && cmp "
             "one/d3.png two/d3.png; }");
    expect_mistake("$R d1.npz -s 4 -o x.png --devices 0,0", 2, "device 0 comes twice");
}

FIXTURE(make_inputs, remove_inputs);
