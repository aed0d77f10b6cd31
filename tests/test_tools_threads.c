/* SPDX-License-Identifier: BSD-3-Clause */
/* How the tools' threads wait, and what of a stack they need. */
#include "tools.h"

/* What GCC's library for OpenMP says of the environment that it was loaded with. */
static bool waits(const char *environment, const char *tool, const char *rounds) {
    run_line("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT %s OMP_DISPLAY_ENV=VERBOSE "
             "%s --version",
             environment, tool);
    const char *words = check_print("GOMP_SPINCOUNT = '%s'", rounds);
    const char *text = read_text("err");
    return !strstr(text, "GOMP_SPINCOUNT") || strstr(text, words);
}

TEST(waits_are_short_unless_the_user_says_otherwise) {
    static const char *const tools[] = {"$S", "$R", "$L", "$B"};
    if (SANITIZED) skip(); /* their own start comes first */
    for (int i = 0; i < 4; i++) {
        assert_true(waits("", tools[i], "10000"));
        assert_true(waits("-i TERM=dumb", tools[i], "10000")); /* it starts again */
        assert_true(waits("-i TERM=dumb USER=me", tools[i], "10000"));
        assert_true(waits("GOMP_SPINCOUNT=77", tools[i], "77"));
        assert_true(waits("OMP_WAIT_POLICY=passive", tools[i], "0"));
    }
    run_well("env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT sh -c '$0 gray.png -r 0.3 -o - | "
             "$1 - -Q fast -o - >pipe.npy' $S $R && $S gray.png -r 0.3 -o a.npz && "
             "$R a.npz -Q fast -o - >file.npy && cmp pipe.npy file.npy");
}

/* OpenBLAS's own threads would ask for ever for a buffer that they cannot have. */
TEST(short_memory_ends) {
    static const char *const kilobytes[] = {"170000", "200000", "230000"};
    if (SANITIZED) skip(); /* it reserves more */
    run_well("$S gray.png -r 0.3 -o gray.npz");
    for (int i = 0; i < 3; i++) {
        run_line("(ulimit -v %s; timeout -k 1 100 $R gray.npz -q -o short.npy); c=$?; "
                 "test $c -eq 0 -o $c -eq 1",
                 kilobytes[i]);
    }
}

/* Of 128 KiB OpenBLAS takes 61 for itself. Less, or more than there is: one thread. */
TEST(stacks_may_be_small) {
    static const char *const options[] = {
        "gray.npz -Q fast", "gray.npz -Q balanced", "gray.npz -Q best",     "rgb.npz -Q fast",
        "gray.npz -s 5",    "volume.npz -Q fast",   "gray.npz -S gaussian", "camera.npz -Q fast",
    };
    static const char *const sizes[] = {"128k", "16k", "1000000G"};
    if (SANITIZED) skip(); /* frames are larger */
    run_well("$S gray.png -r 0.3 -o gray.npz && $S rgb.png -r 0.3 -o rgb.npz && "
             "$S volume.npy -r 0.3 -o volume.npz && $S gray.png -O hadamard -r 0.3 -o camera.npz");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        run_line("$R %s -q -t 4 -o usual.npy", options[i]);
        for (int k = 0; k < (i == 0 ? 3 : 1); k++) {
            run_line("OMP_STACKSIZE=%s $R %s -q -t 4 -o small.npy && cmp usual.npy small.npy",
                     sizes[k], options[i]);
        }
    }
}

FIXTURE(make_inputs, remove_inputs);
