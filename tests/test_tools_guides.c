/* SPDX-License-Identifier: BSD-3-Clause */
/* Guides of the tools: what --guide names reaches the measurement, and what is recovered. */
#include "tools.h"

/* Plane k of the guides of a measurement is channel c of a picture or array. */
static void expect_plane(const char *scan, int64_t k, const char *name, const char *of,
                         int64_t channel) {
    CLEARED(csrec_measurement) m = {0};
    CLEARED(csrec_image) image = {0};
    int64_t entries = 0;
    assert_well(csrec_measurement_read(scan, NULL, &m, &told));
    assert_well(csrec_signal_read(of, &image, &told));
    assert_true(m.guides && k < m.guides->n);
    assert_string_equal(m.guides->name[k], name);
    csrec_shape_count(&m.shape, &entries);
    const int64_t step = image.pixels.count / entries;
    for (int64_t i = 0; i < entries; i++)
        assert_true(m.guides->values[k * entries + i] ==
                    (float)csrec_array_value(&image.pixels, i * step + channel));
}

TEST(guides_are_stored) {
    run_well("cp gray.png a=b.png && $S gray.png -o g.npz -r 0.3 -G albedo=gray.png "
             "--guide a=b.png --guide=./a=b.png --json");
    says("out", "\"guides\": [\"albedo\", \"\", \"\"]");
    expect_plane("g.npz", 0, "albedo", "gray.png", 0);
    expect_plane("g.npz", 2, "", "gray.png", 0);
    run_well("mv g.npz other.npz && $S rgb.png -o g.npz -r 0.3 -G rgb.png");
    expect_plane("g.npz", 2, "", "rgb.png", 2);
}

TEST(guides_are_told) {
    run_well("$S gray.png -o t.npz -r 0.3 -G depth=gray.png && $R t.npz --info -G gray.png");
    says("out", "guides    depth, unnamed");
    run_well("$R t.npz --info --json --no-guide");
    says("out", "\"guides\": []");
    run_well("$R t.npz -Q fast -o t.npy --json -G N=gray.png");
    says("out", "\"guides\": [\"depth\", \"N\"]");
    run_well("$R t.npz -Q fast -o t.npy --json --no-guide -G N=gray.png");
    says("out", "\"guides\": [\"N\"]");
    run_well("$S gray.png -o u.npz -r 0.3 --seed 2 -G N=gray.png && "
             "$R u.npz t.npz --merge --info --json");
    says("out", "\"guides\": [\"N\"]");
}

/* Inputs of the same positions have guides of their own. */
TEST(guided_inputs_are_recovered_by_themselves) {
    run_well("$S gray.png -o one.npz -r 0.3 -G gray.png && cp one.npz two.npz && "
             "$R one.npz two.npz -Q fast -o both/ --json");
    if (strstr(read_text("out"), "inputs_at_once")) fail_msg("%s", read_text("out"));
    run_well("$R one.npz two.npz -Q fast --no-guide -o both/ --json");
    says("out", "inputs_at_once");
}

TEST(frames_share_a_guide) {
    make_array("frame.npy", (csrec_shape){2, {12, 20}}, CSREC_F32);
    run_well("$S volume.npy --volume -o film.npz -r 0.3 && "
             "$R film.npz --sequence --info --json -G depth=frame.npy");
    says("out", "\"guides\": [\"depth\"]");
    expect_mistake("$R film.npz --info -G depth=frame.npy", 1, "a guide of 12 x 20 for a signal");
}

TEST(guides_that_do_not_fit_are_refused) {
    run_well("$S gray.png -o r.npz -r 0.3");
    expect_mistake("$R r.npz -o r.npy -G volume.npy", 1, "volume.npy: a guide of ");
    expect_mistake("$R r.npz -o r.npy -G gone.png", 1, "gone.png: cannot be opened");
    expect_mistake("$R r.npz -o gray.png -G gray.png", 2, "--guide gray.png are the same file");
    expect_mistake("$R - -o r.npy -G N=-", 2, "--guide and another input cannot both be stdin");
    expect_mistake("$S gray.png -o h.npz -O hadamard -r 0.3 -G gray.png", 1,
                   "measured through an operator");
    expect_mistake("$S r.npz -N 5 -o next.csv -G gray.png", 2, "--guide does not go with --next");
}

FIXTURE(make_inputs, remove_inputs);
