/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a method on the command line: --basis, --set, --quality. */
#include "tools.h"

/* Each must leave less than a fifth of the picture's variance. */
TEST(methods_recover) {
    static const char *const options[] = {
        "--quality fast",
        "--quality balanced",
        "--quality best",
        "--quality fast --set steps=20 --set block=16",
        "--basis dct",
        "--basis dct --set block=12 --set step=5",
        "--basis dct --solver threshold --set block=8 --set step=2 --set last=0.5",
        "--basis wavelet --solver fista --atoms 200 --set kind=1 --set lambda=0.001",
    };
    run_well("$S rgb.png -o m.npz -r 0.5");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        run_line("$R m.npz -q -o out.png %s", options[i]);
        expect_like("rgb.png", "out.png", 0.2, options[i]);
    }
}

TEST(settings_count) {
    run_well("$S gray.png -o g.npz -r 0.4");
    run_well("$R g.npz -q --basis dct --set steps=7 --set block=8 --json -o a.npy");
    const char *text = read_text("out");
    assert_non_null(strstr(text, "\"iterations\": 7,"));
    assert_non_null(strstr(text, "\"solver\": \"threshold\""));
    assert_non_null(strstr(text, "\"basis\": \"dct\""));
    run_well("$R g.npz -q --quality fast --set steps=9 --set steps=5 --json -o a.npy");
    says("out", "\"iterations\": 5,");
    run_well("$R g.npz -q --quality fast --set block=0 --set steps=5 --json -o a.npy");
    says("out", "\"iterations\": 15,"); /* three sizes of block */
    run_well("$R g.npz -q --quality fast --set basis.block=0 --set solver.steps=4 --json -o a.npy");
    says("out", "\"iterations\": 12,");
}

TEST(mistakes_are_one_line) {
    static const mistake wrong[] = {
        {"--set steps", "KEY=NUMBER", 2},
        {"--set =3", "KEY=NUMBER", 2},
        {"--set steps=many", "KEY=NUMBER", 2},
        {"--set steps=", "KEY=NUMBER", 2},
        {"--basis fourier", "one of haar", 2},
        {"--basis dense", "one of haar", 2},
        {"--quality superb", "one of fast", 2},
        {"--basis dct --set wings=2", "wings", 1},
        {"--basis dct --set block=99", "block = 99", 1},
        {"--method adaptive", "--method: 'adaptive' is no longer there; use gaussian, or frames",
         2},
        {"--method net --set step=1", "did you mean steps?", 1},
        {"--basis dct --set method.block=8", "no parameter 'method.block'; use", 1},
        {"--solver omp --set basis.k=8",
         "no parameter 'basis.k'; there is none; it is a parameter of romp", 1},
        {"--solver omp --set solver.k=8",
         "no parameter 'solver.k'; there is none; it is a parameter of romp", 1},
        {"--solver iht --set basis.k=8", "no parameter 'basis.k'; use solver.k\n", 1},
        {"--solver bpdn --set tau=-1", "tau = -1; must be 0 or more\n", 1},
        {"--solver iht --set k=.5", "k = 0.5; must be a whole number, 0 or more\n", 1},
        {"--atoms 0", "--atoms: '0' is not a whole number, 1 or more\n", 2},
        {"--unknown nan", "--unknown: 'nan' is not a finite number\n", 2},
        {"--set foo=1 --solver opm", "did you mean omp?", 2},
        {"--qualty fast", "did you mean quality?", 2},
        {"--basis dct -C a.npz", "coefficients", 1},
        {"--solver threshold --shifts 1", "dct", 1},
    };
    run_well("$S gray.png -o g.npz -r 0.4");
    expect_mistakes("$R g.npz -q -o wrong.npy", wrong, sizeof wrong / sizeof *wrong);
}

FIXTURE(make_inputs, remove_inputs);
