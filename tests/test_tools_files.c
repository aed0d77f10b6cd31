/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the tools: whole or as they were, links followed, temporaries of killed runs removed. */
#include "tools.h"

/* What a failing command must leave: the bytes of every file, and no others. */
static void check_untouched(const char *command, int code, const char *words) {
    run_well(
        "ls -A . out.d 2>&1 | grep -v '^out$\\|^err$\\|^sums' > sums-names; "
        "find . -type f ! -name out ! -name err ! -name 'sums*' -exec cksum {} + | sort > sums");
    int got = run(command);
    const char *text = check_print("%.1000s", read_text("err"));
    if (got != code || !strstr(text, words)) fail_msg("%s: exit code %d: %s", command, got, text);
    const char *newline = strchr(text, '\n');
    if (!newline || newline[1]) fail_msg("%s: not one line: %s", command, text);
    if (run("ls -A . out.d 2>&1 | grep -v '^out$\\|^err$\\|^sums' | cmp - sums-names && "
            "find . -type f ! -name out ! -name err ! -name 'sums*' -exec cksum {} + | sort | "
            "cmp - sums"))
        fail_msg("%s: files have changed", command);
}

/* A limit on the size of files is a disk that is full for all but the small ones. */
TEST(a_failure_keeps_what_was_there) {
    run_well("mkdir out.d && $S volume.npy -o v.npz -r 0.5 --mask-out v.npy && "
             "$S gray.png -o g.npz -r 0.5 --mask-out g.png && "
             "$R g.npz -s 1 -o r.npy -C atoms.npz --report r.html --plot r.svg && "
             "$L pca planes.npy -o p.npz --plot p.png");
    check_untouched("ulimit -f 4; $S gray.png -o g.npz -r 0.9 --mask-out g.png", 1, "g.npz: ");
    check_untouched("ulimit -f 16; $S volume.npy -o v.npz -r 0.9 --mask-out v.npy", 1, "v.npz: ");
    check_untouched("ulimit -f 16; $R g.npz -s 1 -k 5 -o r.npy -C atoms.npz", 1, "r.npy: ");
    check_untouched("$R g.npz -s 1 -o r.npy -C atoms.npz --report nowhere/r.html", 1,
                    "nowhere/r.html: ");
    check_untouched("ulimit -f 2; $L pca planes.npy -o p.npz --plot p.png -k 2", 1, "p.");
    /* The page is as it was; the recovery, which fits, is written. */
    run_well("cp r.html old.html && cp r.npy old.npy && cp r.svg old.svg");
    assert_int_equal(run("ulimit -f 44; $R g.npz -s 1 -k 5 -q -o r.npy -C atoms.npz "
                         "--report r.html --plot r.svg"),
                     1);
    says("err", "r.html: ");
    says("err", "; written: r.npy, atoms.npz, r.svg");
    run_well("cmp r.html old.html && ! cmp -s r.npy old.npy && ! cmp -s r.svg old.svg");
}

TEST(a_failure_of_stdout_keeps_the_page) {
    if (access("/dev/full", W_OK) != 0) skip();
    run_well("$S gray.png -o f.npz -r 0.5 && echo old > f.html");
    assert_int_equal(run("$R f.npz -s 1 -o - --report f.html > /dev/full"), 1);
    run_well("echo old | cmp - f.html");
}

TEST(every_output_follows_links) {
    run_well("mkdir far && for f in l.npz l.png l.npy c.npz l.html l.svg m.npz m.png; do "
             "ln -s far/$f $f; done");
    for (int i = 0; i < 2; i++) { /* to names that are not there, and to files */
        run_well("$S gray.png -o l.npz -r 0.5 --mask-out l.png && "
                 "$R l.npz -s 1 -o l.npy -C c.npz --report l.html --plot l.svg && "
                 "$L pca planes.npy -o m.npz --plot m.png");
        run_well("for f in l.npz l.png l.npy c.npz l.html l.svg m.npz m.png; do "
                 "test -L $f && test -s far/$f || exit 1; done");
    }
    run_well("test $(ls -A far | wc -l) = 8");
}

TEST(no_sync_gives_the_same_files) {
    run_well("$S gray.png -o s.npz -r 0.5 && $S gray.png -o n.npz -r 0.5 --no-sync && "
             "cmp s.npz n.npz && $R s.npz -s 1 -o s.png && $R s.npz -s 1 -o n.png --no-sync && "
             "cmp s.png n.png && $L pca planes.npy -o s.m.npz && "
             "$L pca planes.npy -o n.m.npz --no-sync && cmp s.m.npz n.m.npz");
}

/* The commands that once wrote over what they read. */
TEST(no_output_replaces_an_input) {
    run_well("$S gray.png -o q.npz -r 0.3 --mask-out q.png && cp q.npz copy.npz");
    check_untouched("$R q.npz --shifts 1 -C q.npz", 2, "--coefficients q.npz and input q.npz");
    check_untouched("$R q.npz -r gray.png -o ./gray.png", 2, "--output ./gray.png and --reference");
    check_untouched("$R gray.png -m q.png -o q.png", 2, "--output q.png and --mask q.png");
    check_untouched("$S gray.png -o n.npz -r 0.3 -m gray.png", 2, "--mask-out gray.png and input");
    check_untouched("$L pca gray.png -o n.npz --plot gray.png", 2, "--plot gray.png and input");
    check_untouched("$R q.npz -s 1 -o z.png --plot z.png", 2, "z.png");
}

TEST(temporaries_of_killed_runs_are_removed) {
    run_well("$S gray.png -o t.npz -r 0.3 && mkdir t && touch .csrec-1-0.tmp t/.csrec-77-3.tmp "
             "t/.csrec-mine.tmp");
    run_well("$R t.npz -s 1 -o t/ && test ! -e t/.csrec-77-3.tmp && test -e t/.csrec-mine.tmp && "
             "test -e .csrec-1-0.tmp");
    run_well("$R t.npz -s 1 -o t.png && test ! -e .csrec-1-0.tmp");
}

FIXTURE(make_inputs, remove_inputs);
