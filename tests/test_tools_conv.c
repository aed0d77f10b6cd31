/* SPDX-License-Identifier: BSD-3-Clause */
/* cslearn conv and csrecover --basis conv by their command lines. */
#include "tools.h"

static csrec_model *read_filters(const char *path, int64_t K, int64_t h, int64_t w) {
    csrec_model *model = NULL;
    assert_well(csrec_model_read(path, &model, &told));
    assert_string_equal(csrec_model_kind(model), "conv");
    const int64_t *dim = csrec_model_array(model, "filters")->shape.dim;
    if (dim[0] != K || dim[1] != h || dim[2] != w)
        fail_msg("%s: %d filters of %dx%d", path, (int)dim[0], (int)dim[1], (int)dim[2]);
    return model;
}

static double last_objective(const csrec_model *model) {
    const csrec_array *objective = csrec_model_array(model, "objective");
    return csrec_array_value(objective, objective->count - 1);
}

TEST(filters_of_pictures_and_samples) {
    static const struct {
        const char *command;
        int64_t K, h, w;
    } runs[] = {
        {"$L conv gray.png -o f.npz -q -i 2 -k 6 -p 5", 6, 5, 5},
        {"$L conv rgb.png -o f.npz -q -i 2 -k 4 --size 3x6 --seed 7 --base 0", 4, 3, 6},
        {"$S gray.png -o m.npz -r 0.5 && $L conv m.npz -o f.npz -q -i 2 -k 5 -p 4", 5, 4, 4},
        {"$L conv gray.png gray.png -o f.npz -q -i 1 --codings 2 -k 3 -p 4 -c 16", 3, 4, 4},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_well(runs[i].command);
        csrec_model_destroy(read_filters("f.npz", runs[i].K, runs[i].h, runs[i].w));
    }
}

TEST(resuming_goes_on_and_plots) {
    run_well("$L conv gray.png -o a.npz -i 4 -k 6 -p 5 --plot a.png --json -q");
    says("out", "\"rounds\": 4,");
    run_well("$L conv gray.png -o b.npz -i 4 --resume a.npz -q");
    csrec_model *a = read_filters("a.npz", 6, 5, 5), *b = read_filters("b.npz", 6, 5, 5);
    assert_true(last_objective(b) < last_objective(a));
    csrec_model_destroy(a);
    csrec_model_destroy(b);
    CLEARED(csrec_image) image = {0};
    assert_ok(csrec_image_read("a.png", &image, NULL));
}

TEST(samples_are_recovered) {
    static const char *const ways[] = {"--basis conv", "", "--basis conv --solver mp --atoms 300",
                                       "--basis conv --atoms 40 --set lambda=0.002 --set base=3"};
    run_well("$S gray.png -o m.npz -r 0.5 && $L conv gray.png -o f.npz -q -i 3 -k 16 -p 6");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_line("$R m.npz --model f.npz -q -o out.png %s", ways[i]);
        expect_like("gray.png", "out.png", 0.2, ways[i]);
    }
}

TEST(mistakes_are_one_line) {
    static const mistake runs[] = {
        {"$L conv gray.png", "-o MODEL.npz", 2},
        {"$L conv gray.png -o f.txt", "models are .npz", 2},
        {"$L conv gray.png -o g.npz --size 8x", "--size", 2},
        {"$L conv gray.png -o g.npz --size 99", "--size", 2},
        {"$L conv gray.png -o g.npz --resume gray.png", "gray.png", 1},
        {"$L conv gray.png -o g.npz --resume missing.npz", "missing.npz: cannot be opened", 1},
        {"$L conv gray.png -o g.npz --resume pca.npz", "pca has no filters; name one of kind conv",
         1},
        {"$L conv gray.png -o g.npz --resume f.npz -k 3",
         "f.npz: its 2 filters of 3 x 3 do not match the options; omit --filters", 1},
        {"$L conv gray.png -o g.npz --resume f.npz -p 3x4", "f.npz: its 2 filters", 1},
        {"$L conv clear.png -o g.npz", "clear.png: all its pixels are transparent", 1},
        {"$R m.npz --basis conv -o out.png", "model", 1},
        {"$R m.npz --basis dct --model f.npz -o out.png", "dct", 1},
    };
    make_clear_picture("clear.png");
    run_well("$S gray.png -o m.npz -r 0.5 && $L conv gray.png -o f.npz -q -i 1 -k 2 -p 3 && "
             "$L pca gray.png -o pca.npz -p 4 -k 2 -q");
    expect_mistakes("", runs, sizeof runs / sizeof *runs);
    assert_int_not_equal(run("test -e g.npz"), 0);
}

FIXTURE(make_inputs, remove_inputs);
