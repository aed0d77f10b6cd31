/* SPDX-License-Identifier: BSD-3-Clause */
/* --resume: what is skipped was made from the same bytes, by the same settings, and is whole. */
#include "tools.h"

#include <signal.h>

static void make_scans(void) {
    static bool made;
    if (!made)
        run_well("$S gray.png -o a.npz -r 0.3 --seed 5 && $S rgb.png -o c.npz -r 0.3 && "
                 "$S volume.npy -o v.npz -r 0.3 && $S gray.png -o other.npz -r 0.3 --seed 6 && "
                 "$S gray.png -o s.npz -r 0.3 --mask-out m1.png && "
                 "$S gray.png -o s.npz -r 0.3 --mask-out m2.png --seed 9");
    made = true;
}

/* How many of the inputs the command does, and that the rest is skipped. */
static void expect_done(const char *command, int done, int skipped) {
    run_line("%s --resume --json", command);
    const char *words = check_print("\"recovered\": %d,\n  \"skipped\": %d,", done, skipped);
    if (!strstr(read_text("out"), words))
        fail_msg("%s: not %s: %s", command, words, read_text("out"));
}

static bool is_skipped(const char *command) {
    run_line("%s --resume --json", command);
    return strstr(read_text("out"), "\"status\": \"skipped\"") != NULL;
}

/* The learned prior is a part of what a picture was made from, and of nothing else. */
TEST(lines_and_volumes_do_without_the_prior) {
    make_scans();
    run_well("$S line.npy -q -o l.npz -r 0.5 && $R l.npz v.npz a.npz -q -o prior/ --format npy");
    run_well("grep -aq '; prior=' prior/a.npy && ! grep -aq '; prior=' prior/l.npy prior/v.npy");
    expect_done("$R l.npz v.npz a.npz -q -o prior/ --format npy", 0, 3);
    run_well("$R a.npz -q -Q fast -o prior/a.npy && ! grep -aq '; prior=' prior/a.npy");
}

TEST(what_is_done_is_skipped_whatever_its_date) {
    make_scans();
    run_well("$R a.npz c.npz v.npz -s 1 -o out1/");
    expect_done("$R a.npz c.npz v.npz -s 1 -o out1/", 0, 3);
    run_well("touch -d '+1 hour' a.npz c.npz v.npz && touch -d '2001-01-01' out1/*");
    expect_done("$R a.npz c.npz v.npz -s 1 -o out1/ -t 1 --no-sync", 0, 3);
    expect_done("$R a.npz ./c.npz v.npz --shifts 1 -o ./out1 -q", 0, 3);
}

TEST(what_is_not_whole_is_done_again) {
    make_scans();
    run_well("$R a.npz c.npz v.npz -s 1 -o out2/ && cp -r out2 whole");
    /* cut; of an interrupted run, with a date that says nothing; before fingerprints were */
    run_well("head -c 300 out2/a.png > t && mv t out2/a.png && "
             "sed -i 's/: whole=1;/: whole=0;/' out2/v.npy && touch -d '+1 hour' out2/*");
    expect_done("$R a.npz c.npz v.npz -s 1 -o out2/", 2, 1);
    run_well("diff -r out2 whole && $R v.npz -s 1 -o - > out2/v.npy && touch -d '+1 hour' out2/*");
    expect_done("$R a.npz c.npz v.npz -s 1 -o out2/", 1, 2);
    run_well("diff -r out2 whole");
}

/* The same date, the same size: other bytes. */
TEST(an_input_of_other_bytes_is_done_again) {
    make_scans();
    run_well("cp a.npz in.npz && $R in.npz -s 1 -o in.png");
    assert_true(is_skipped("$R in.npz -s 1 -o in.png"));
    run_well("cp other.npz in.npz && touch -d '2001-01-01' in.npz");
    assert_false(is_skipped("$R in.npz -s 1 -o in.png"));
    run_well("$R other.npz -s 1 -o other.png && cmp other.png in.png");
}

/* Each differs from the one before it in one thing, which changes the result. */
TEST(other_settings_are_done_again) {
    static const char *const commands[] = {
        "$R a.npz -o s.png -s 2",
        "$R a.npz -o s.png -s 3",
        "$R a.npz -o s.png -s 3 --seed 4",
        "$R a.npz -o s.png -s 3 --seed 5",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --min-coefficient 0.5",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --columns paper",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --order raster",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --bits 16",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --scale 0,300",
        "$R a.npz -o s.png -s 3 --seed 5 -e 0.1 -k 7 --scale 0,200",
        "$R a.npz -o s.png -S omp -k 7",
        "$R a.npz -o s.png -S threshold -B dct --set steps=3",
        "$R a.npz -o s.png -S threshold -B dct --set steps=4",
        "$R a.npz -o s.png -S threshold -B wavelet --set steps=4",
        "$R a.npz -o s.png -Q fast --set steps=3",
        "$R a.npz -o s.png -Q balanced --set steps=3",
        "$R a.npz -o s.png --model p1.npz",
        "$R a.npz -o s.png --model p2.npz",
        "$R gray.png -m m1.png -o s.png -s 1",
        "$R gray.png -m m2.png -o s.png -s 1",
    };
    make_scans();
    run_well("$R a.npz -s 1 -o f1.png -q && $R a.npz -Q fast -o f2.png -q && "
             "$L pca gray.png f1.png -o p1.npz -q && $L pca gray.png f2.png -o p2.npz -q");
    remove("s.png");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (sanitized_leaves()) continue;
        if (is_skipped(commands[i])) fail_msg("skipped: %s", commands[i]);
        if (!is_skipped(commands[i])) fail_msg("done twice: %s", commands[i]);
        run_line("mv s.png t.png && %s && cmp s.png t.png", commands[i]);
    }
}

TEST(what_goes_with_the_result_is_asked_for_too) {
    static const char *const with[] = {"--report w.html", "--plot w.svg", "-C w.atoms.npz",
                                       "-u w.map.npy"};
    make_scans();
    for (int i = 0; i < 4; i++) {
        const char *command = check_print("$R a.npz -s 1 -o w.png %s", with[i]);
        assert_false(is_skipped(command));
        assert_true(is_skipped(command));
        run_well("rm -f w.html w.svg w.atoms.npz w.map.npy");
        assert_false(is_skipped(command));
    }
    /* A page shows its reference, a signal does not. */
    run_well("cp gray.png ref.png && $R a.npz -s 1 -o w.png --report w.html --reference ref.png && "
             "$R a.npz -s 1 -o u.png");
    assert_true(is_skipped("$R a.npz -s 1 -o w.png --report w.html --reference ref.png"));
    run_well("cp deep.png ref.png");
    assert_true(is_skipped("$R a.npz -s 1 -o u.png --reference ref.png"));
    assert_int_equal(run("$R a.npz -s 1 -o w.png --report w.html --reference ref.png --resume"), 1);
}

/* The mask is a pipe: it holds the tool between the beginning and the end of its reading. */
TEST(a_change_while_it_is_read_is_refused) {
    make_scans();
    run_well("cp gray.png in.png && mkfifo pipe && rm -f new.png");
    assert_int_equal(
        run("{ exec 9>pipe; cp m1.png in.tmp; mv in.tmp in.png; cat m2.png >&9; exec 9>&-; } & "
            "timeout 60 $R in.png -s 1 -o new.png -m pipe; code=$?; wait; exit $code"),
        1);
    says("err", "changed while it was read");
    assert_int_equal(access("new.png", F_OK), -1);
    remove("pipe");
}

/* A pipe can be opened and read once only. */
TEST(a_pipe_is_a_reference_and_an_input) {
    make_scans();
    run_well(
        "rm -f pipe new.html && mkfifo pipe && { timeout 60 cat gray.png >pipe & } && timeout 60 "
        "$R a.npz -s 1 -o p.png --reference pipe --json >p.json && "
        "$R a.npz -s 1 -o p.png --reference gray.png --json >q.json && "
        "grep -o '\"psnr.*' p.json >p && grep -o '\"psnr.*' q.json | cmp - p");
    run_well("{ timeout 60 cat gray.png >pipe & } && timeout 60 $S pipe -o p.npz -r 0.3 && "
             "$S gray.png -o q.npz -r 0.3 && cmp p.npz q.npz");
    remove("pipe");
}

/* The tools read what they write, whole or through a pipe. */
TEST(fingerprints_are_no_values) {
    make_scans();
    run_well("$R v.npz -s 1 -o f.npy && $R v.npz -s 1 -o - > plain.npy && "
             "test $(wc -c < f.npy) -gt $(wc -c < plain.npy)");
    csrec_array with = read_values("f.npy"), without = read_values("plain.npy");
    assert_int_equal(with.count, without.count);
    assert_memory_equal(with.data, without.data, (size_t)with.count * 4);
    csrec_array_clear(&with);
    csrec_array_clear(&without);
    run_well("$S f.npy -o 1.npz -r 0.2 && $S - -o 2.npz -r 0.2 < f.npy && "
             "$S plain.npy -o 3.npz -r 0.2 && cmp 1.npz 2.npz && cmp 1.npz 3.npz");
    run_well(
        "$L pca f.npy -o 1.npz -k 2 --json > 1.json && $L pca plain.npy -o 2.npz -k 2 --json > "
        "2.json && sed s/1.npz/2.npz/ 1.json | cmp - 2.json");
    run_well("$R a.npz -s 1 -o f.png && $S f.png -o f.npz -r 0.2");
    /* Bytes behind the record, or in it, are still refused. */
    assert_int_equal(run("{ cat f.npy; echo; } > g.npy; $S g.npy -o g.npz -r 0.2"), 1);
    assert_int_equal(run("sed 's/csrec-finger/csrec-fungus/' f.npy > g.npy; $S g.npy -o g.npz -r "
                         "0.2"),
                     1);
    char text[8];
    assert_ok(csrec_fingerprint_read("plain.npy", text, sizeof text, NULL));
    assert_string_equal(text, "");
    if (run("python3 -c 'import numpy'") != 0) return;
    run_well("python3 -c '\n"
             "import numpy as n\n"
             "f = open(\"f.npy\", \"rb\"); a = n.load(f); t = n.load(f).item()\n"
             "b = n.load(\"plain.npy\"); c = n.load(\"f.npy\", mmap_mode=\"r\")\n"
             "assert a.shape == b.shape == c.shape and (a == b).all() and (c == b).all()\n"
             "assert t.startswith(b\"csrec-fingerprint: whole=1; csrecover \"), t'");
}

/* Killed at a moment that nobody chose, again and again, until it comes to its end; of a file after
 * another, and of three at a time. */
TEST(any_interruption_comes_to_the_same_bytes) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGKILL, SIGHUP};
    uint64_t seed = check_seed();
    run_well("mkdir -p in && for i in $(seq 12); do $S gray.png -o in/$i.npz -r 0.5 --seed $i || "
             "exit 1; done && $R in/*.npz -Q fast -t 1 -o straight/ --plot straight/");
    for (uint64_t i = 0; i < 12; i++) {
        run_line("$R in/*.npz -Q fast -t 3 -o broken/ --plot broken/ --resume -q & sleep %.3f; "
                 "kill -%d $!; wait $!; true",
                 0.8 * csrec_random_uniform(seed, 2, i), numbers[csrec_random_u64(seed, 1, i) % 4]);
    }
    run_well("$R in/*.npz -Q fast -t 3 -o broken/ --plot broken/ --resume && diff -r straight "
             "broken && test $(ls -A broken | wc -l) = 24");
}

FIXTURE(make_inputs, remove_inputs);
