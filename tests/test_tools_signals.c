/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals: the best so far is kept, the exit code says which one came, nothing else is left. */
#include "tools.h"

#include <signal.h>
#include <sys/stat.h>

typedef struct work {
    const char *command;
    const char *kept; /* what it writes when it is stopped; NULL: nothing */
    const char *said;
} work;

static const work works[] = {
    {"exec $R long.npz -o long.npy --reference-pursuit --shifts 1", "long.npy",
     "interrupted: the best result so far"},
    {"exec $S big.png -o big.npz -r 0.4", NULL, "cssample: "},
    {"exec $L pca big.png -o pca.npz -p 32 -s 1", NULL, "nothing is written"},
};

static pid_t start(const char *command) {
    char line[1024];
    snprintf(
        line, sizeof line,
        "S=" TOOL("cssample") "; R=" TOOL("csrecover") "; L=" TOOL("cslearn") "; %s >out 2>err",
        command);
    const pid_t child = check_fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    return child;
}

static int ended(pid_t child) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void wait_tenths(int tenths) {
    nanosleep(&(struct timespec){tenths / 10, tenths % 10 * 100000000}, NULL);
}

/* A child that had not come to its handler yet dies of the signal, one that still reads or has no
 * whole round has nothing to keep, and the next one gets twice the time. */
static void check_work(const work *w, int number) {
    int status = 0;
    for (int tenths = 2; tenths < 600; tenths *= 2) {
        if (w->kept) remove(w->kept);
        int before = files_here();
        pid_t child = start(w->command);
        wait_tenths(tenths);
        kill(child, number);
        status = ended(child);
        if (WIFSIGNALED(status) || (w->kept && access(w->kept, F_OK) != 0)) continue;
        if (files_here() != before + (w->kept != NULL)) fail_msg("%s: left a file", w->command);
        break;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 128 + number)
        fail_msg("%s: status %x after signal %d: %s", w->command, (unsigned)status, number,
                 read_text("err"));
    if (w->kept && !strstr(read_text("err"), w->said))
        fail_msg("%s: not said: %s", w->command, read_text("err"));
}

TEST(the_best_so_far_is_kept) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        for (int k = 0; k < 3; k++)
            if (i == 0 || numbers[k] == SIGTERM) check_work(&works[i], numbers[k]);
    struct stat output, input;
    assert_int_equal(stat("long.npy", &output) | stat("long.npz", &input), 0);
    assert_true(output.st_mtime < input.st_mtime); /* so that make does it again */
    CLEARED(csrec_array) signal = read_values("long.npy");
    assert_int_equal(signal.count, 200000);
}

/* Both are there before the process runs on, so that it cannot end between them. */
TEST(a_second_signal_ends_at_once) {
    int status = 0;
    remove("long.npy");
    for (int tenths = 2; tenths < 10; tenths *= 2) {
        pid_t child = start(works[0].command);
        wait_tenths(tenths);
        kill(child, SIGSTOP);
        kill(child, SIGINT);
        kill(child, SIGTERM);
        kill(child, SIGCONT);
        status = ended(child);
        assert_true(WIFSIGNALED(status));
        assert_true(WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT);
        assert_int_equal(access("long.npy", F_OK), -1);
    }
}

TEST(nohup_stays_what_it_is) {
    pid_t child = start("trap '' HUP; exec $R long.npz -o long.npy --reference-pursuit -s 1 -k 60");
    wait_tenths(5);
    kill(child, SIGHUP);
    int status = ended(child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* A reader that goes away is a failed write: nothing of the page, no temporary. */
TEST(a_closed_pipe_leaves_nothing) {
    run_well("$S gray.png -o g.npz -r 0.3");
    int before = files_here();
    run_well("{ $R g.npz -s 1 -o - --report g.html; echo $? >&2; } | true; grep -qx 1 err");
    assert_int_equal(files_here(), before);
}

static int make_long_inputs(void **state) {
    if (make_inputs(state)) return -1;
    make_array("long_truth.npy", (csrec_shape){1, {200000}}, CSREC_F32);
    make_picture("big.png", 3000, 3000, 1, 8, false);
    run_well("$S long_truth.npy -o long.npz -r 0.5 --noise 1");
    return 0;
}

FIXTURE(make_long_inputs, remove_inputs);
