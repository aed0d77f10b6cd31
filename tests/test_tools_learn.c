/* SPDX-License-Identifier: BSD-3-Clause */
/* cslearn by its command lines. */
#include "tools.h"

/* Small pictures of one family: a bright blob that moves and swells. */
static void make_family(int from, int count) {
    assert_int_equal(run("mkdir -p family"), 0);
    for (int p = from; p < from + count; p++) {
        csrec_shape shape = {3, {20, 16, 1}};
        CLEARED(csrec_image) image = {.bits = 8};
        assert_ok(csrec_array_create(CSREC_U8, &shape, &image.pixels));
        double cy = 8 + 3 * sin(p * 1.7), cx = 8 + 2 * cos(p * 0.9), r = 3 + 1.5 * sin(p * 0.4);
        for (int i = 0; i < 320; i++) {
            double y = i / 16 - cy, x = i % 16 - cx;
            ((uint8_t *)image.pixels.data)[i] =
                (uint8_t)(40 + 180 * exp(-(x * x + y * y) / (2 * r * r)));
        }
        assert_ok(csrec_image_write(check_print("family/%03d.png", p), &image, NULL));
    }
}

static csrec_model *read_model(const char *path) {
    csrec_model *model = NULL;
    assert_well(csrec_model_read(path, &model, &told));
    return model;
}

TEST(pca_of_folders_arrays_and_patches) {
    static const struct {
        const char *command;
        int64_t n, most;
    } runs[] = {
        {"$L pca family -o m.npz -q -k 5", 320, 5},
        {"$L pca family/000.png family/001.png family/002.png -o m.npz -q -k 9", 320, 2},
        {"$L pca family -o m.npz -q --patch 8x4 --stride 3 --components 7", 32, 7},
        {"$L pca gray.png -o m.npz -q -p 8 --energy 0.9", 64, 64},
        {"$L pca rgb.png -o m.npz -q -p 6x5 -n 300 --seed 9", 90, 90},
        {"$L pca rgb.png gray.png -o m.npz -q -p 6x5 --gray", 30, 30},
        {"$L pca volume.npy -o m.npz -q -k 4", 240, 4},
        {"$L pca volume.npy -o m.npz -q -k 4 -p 4x4", 16, 4},
        {"$L pca planes.npy -o m.npz -q -k 4 -p 4x4 --channels-last", 32, 4},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_well(runs[i].command);
        ENDS_BY(end_model) csrec_model *model = read_model("m.npz");
        assert_string_equal(csrec_model_kind(model), "pca");
        assert_int_equal(csrec_model_array(model, "mean")->count, runs[i].n);
        assert_true(csrec_model_array(model, "variances")->count <= runs[i].most);
        assert_non_null(csrec_model_text(model, "source"));
    }
    run_well("$L pca family -o a.npz -q -p 8 -n 50 --seed 3 && $L pca family -o b.npz -q -p 8 -n "
             "50 --seed 3 -t 2 && cmp a.npz b.npz");
    assert_int_not_equal(run("$L pca family -o b.npz -q -p 8 -n 50 --seed 4 && cmp a.npz b.npz"),
                         0);
}

/* Where a device and cuSOLVER are, on both backends; else cuda is refused in one line. */
TEST(backends_are_named) {
    run_well("$L pca family -o b.npz -q -p 8 --backend cpu && $L pca family -o m.npz --json -p 8");
    says("out", "\"backend\": \"cpu\""); /* too few to pay */
    assert_int_equal(run("cmp b.npz m.npz"), 0);
    run_well("$L info b.npz");
    says("out", "backend: cpu");
    if (run("$L pca family -o d.npz -q -p 8 --backend cuda && $L info d.npz")) {
        print_message("SKIPPED: %s", read_text("err"));
        check_refused("$L pca family -o d.npz -p 8 --backend cuda", 1);
        says("err", "backend cpu");
        skip();
    }
    says("out", "backend: cuda");
    ENDS_BY(end_model) csrec_model *cpu = read_model("b.npz"), *cuda = read_model("d.npz");
    const double *l = csrec_model_array(cpu, "variances")->data;
    const double *k = csrec_model_array(cuda, "variances")->data;
    /* |E|_2 <= 1e-6 trace of both covariances, and the trace is at most 64 of the largest. */
    for (int i = 0; i < 5; i++) assert_true(fabs(l[i] - k[i]) <= 2e-6 * 64 * l[0]);
}

/* The mean of patches from the definition. */
TEST(patches_are_those_of_the_picture) {
    run_well("$L pca gray.png -o m.npz -q -p 5x7 --stride 4 -k 2");
    CLEARED(csrec_array) picture = read_values("gray.png");
    ENDS_BY(end_model) csrec_model *model = read_model("m.npz");
    const double *mean = csrec_model_array(model, "mean")->data;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) {
            double sum = 0, count = 0;
            for (int y = 0; y + 5 <= 61; y += 4)
                for (int x = 0; x + 7 <= 83; x += 4, count++)
                    sum += csrec_array_value(&picture, (y + i) * 83 + x + j);
            assert_true(fabs(mean[i * 7 + j] - sum / count) < 1e-9 * 255);
        }
}

TEST(models_are_described) {
    run_well("$L pca family -o m.npz --json -k 3 --plot plot.png");
    says("out", "\"components\": 3");
    run_well("$L info m.npz");
    says("out", "array components: 3 x 320");
    run_well("$L info - --json < m.npz");
    says("out", "\"kind\": \"pca\"");
    CLEARED(csrec_array) plot = read_values("plot.png");
    assert_int_equal(plot.shape.dims, 3);
    run_well("$L --list");
    says("out", "pca");
    run_well("$L pca --help && $L --help && $L --version && $L pca --version");
}

/* Learned from all but one member, which it recovers from few pixels better than cosines do. */
TEST(a_model_recovers_its_family) {
    run_well("mkdir -p known && cp family/*.png known && rm known/005.png");
    run_well("$L pca known -o known.npz -q && $S family/005.png -o s.npz -r 0.06");
    run_well("$R s.npz -q --model known.npz -o with.npy && "
             "$R s.npz -q --method frames -o without.npy");
    expect_like("family/005.png", "with.npy", 0.1, "a model");
    assert_true(mean_square("family/005.png", "with.npy", NULL) <
                mean_square("family/005.png", "without.npy", NULL));
    static const mistake wrong[] = {
        {"-M known.npz -B dct", "no method with a model has option basis", 2},
        {"-M known.npz -S omp", "no method with a model has option solver", 2},
        {"-M known.npz -C c.npz", "recovers whole signals", 1},
        {"-M m.npz", "array 'shape'", 1},
    };
    run_well("$L pca family -o m.npz -q -p 8");
    expect_mistakes("$R s.npz -q -o wrong.npy", wrong, sizeof wrong / sizeof *wrong);
}

TEST(models_tell_what_they_were_learned_from) {
    char line[4096];
    run_well("$L pca planes.npy -o pca.npz -q");
    assert_ok(csrec_fingerprint_read("pca.npz", line, sizeof line, NULL));
    assert_non_null(strstr(line, "whole=1; cslearn pca "));
    assert_non_null(strstr(line, "; inputs=1 files "));
}

TEST(mistakes_are_one_line) {
    static const mistake wrong[] = {
        {"", "no command given", 2},
        {"nothing family", "no such command", 2},
        {"pca -o wrong.npz", "no input given", 2},
        {"pca family", "-o MODEL.npz", 2},
        {"pca family -o wrong.npz --patch 8y8", "8x8", 2},
        {"pca family -o wrong.npz --components 0", "components", 2},
        {"pca empty -o wrong.npz", "empty", 1},
        {"pca family gray.png -o wrong.npz", "gray.png: its size differs", 1},
        {"pca family -o wrong.npz --patch 30x30", "smaller than the patch", 1},
        {"pca holes.png -o wrong.npz --patch 8", "transparent", 1},
        {"pca gray.png -o wrong.npz", "one row", 1},
        {"pca line.npy -o wrong.npz --patch 4", "patches need", 1},
        {"pca family -o wrong.npz --backend gpu", "auto cpu cuda", 2},
        {"gmm family -o wrong.npz", "--quality best", 2},
        {"net family -o wrong.npz", "training/train.py --from", 2},
    };
    run_well("mkdir -p empty");
    expect_mistakes("$L", wrong, sizeof wrong / sizeof *wrong);
}

static int make_more(void **state) {
    if (make_inputs(state)) return -1;
    make_family(0, 60);
    return 0;
}

FIXTURE(make_more, remove_inputs);
