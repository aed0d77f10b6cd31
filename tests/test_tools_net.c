/* SPDX-License-Identifier: BSD-3-Clause */
/* cslearn net, and csrecover with its models, by their command lines. */
#include "tools.h"

#include "files/npz/npz.h"
#include "net_design.h"

static void write_fresh(const char *path, int channels) {
    uint64_t seed = check_seed();
    ENDS_BY(end_model) csrec_model *model = fresh_model(channels, 4, &seed);
    assert_ok(csrec_model_write(path, model, NULL));
}

/* Small networks that have learned nothing: gray.npz, three.npz. In $SHORT and $TINY: trainings of
 * two steps and of one, of the gray one in $TINY; in $N, a copy of csrecover beside which no prior
 * is installed. */
static int make_more(void **state) {
    if (make_inputs(state)) return -1;
    write_fresh("gray.npz", 1);
    write_fresh("three.npz", 3);
    setenv("SHORT", "-B 1 -p 16 -t 1 --backend cpu --no-sync --steps 2", 1);
    setenv("TINY", "-B 1 -p 16 -t 1 --backend cpu --no-sync --steps 1 -q -r gray.npz", 1);
    setenv("N", "env LD_LIBRARY_PATH=a/b/c a/b/c/csrecover", 1);
    run_well("mkdir -p a/b/c empty pictures && cp gray.png deep.png pictures && "
             "$S gray.png -o s.npz -r 0.3 -q && $S rgb.png -o rgb.npz -r 0.3 -q && "
             "$L pca gray.png -o pca.npz -p 4 -k 2 -q && "
             "$L net gray.png -o prior.npz $TINY");
    return 0;
}

static csrec_model *read_net(const char *path, int64_t channels) {
    csrec_model *model = NULL;
    assert_well(csrec_model_read(path, &model, &told));
    assert_string_equal(csrec_model_kind(model), "net");
    assert_true(csrec_array_value(csrec_model_array(model, "channels"), 0) == (double)channels);
    return model;
}

TEST(pictures_train_a_prior) {
    int before = files_here();
    run_well("$L net gray.png -r gray.npz -o made.npz $SHORT --json");
    static const char *const words[] = {
        "\"output\": \"made.npz\"", "\"kind\": \"net\"", "\"backend\": \"cpu\"",
        "\"pictures\": 1",          "\"loss\": [",       "\"psnr\": [",
        "\"interrupted\": false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) says("out", words[i]);
    assert_int_equal(files_here(), before + 1);
    ENDS_BY(end_model) csrec_model *model = read_net("made.npz", 1);
    assert_int_equal(csrec_model_array(model, "loss")->count, 2);
    assert_string_equal(csrec_model_text(model, "source"), "gray.png");
    assert_non_null(strstr(csrec_model_text(model, "settings"), "--seed 1 --steps 2"));
    run_well("$L info made.npz");
    says("out", "kind: net");
    says("out", "array weights: ");
    says("out", "backend: cpu");
    run_well("$L info - --json < made.npz");
    says("out", "\"kind\": \"net\"");
}

/* The model that is continued may be replaced, and its layers and channels remain. */
TEST(a_model_is_continued_in_its_place) {
    char line[4096];
    run_well("$L net rgb.png -o colour.npz -c 3 $SHORT -r three.npz -q && "
             "cp colour.npz before.npz && "
             "$L net rgb.png -o colour.npz --resume colour.npz -B 1 -p 24 --steps 1 -t 1 -q "
             "--backend cpu --seed 7");
    assert_int_equal(run("cmp colour.npz before.npz"), 1);
    ENDS_BY(end_model) csrec_model *a = read_net("before.npz", 3), *b = read_net("colour.npz", 3);
    assert_int_equal(csrec_model_array(a, "weights")->count,
                     csrec_model_array(b, "weights")->count);
    assert_int_equal(csrec_model_array(b, "loss")->count, 1);
    assert_non_null(strstr(csrec_model_text(b, "settings"), "--resume colour.npz"));
    assert_ok(csrec_fingerprint_read("colour.npz", line, sizeof line, NULL));
    assert_non_null(strstr(line, "; resume="));
}

TEST(folders_masks_and_measurements_are_inputs) {
    static const struct {
        const char *command, *pictures;
    } runs[] = {{"$L net pictures s.npz holes.png -o own.npz $TINY --json", "\"pictures\": 4"},
                {"$L net deep.png --mask holes.png -o own.npz $TINY --json", "\"pictures\": 1"},
                {"$L net small.png -o own.npz $TINY --json", "\"pictures\": 1"}};
    make_picture("small.png", 5, 7, 1, 8, false); /* smaller than the patch: it is reflected */
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_well(runs[i].command);
        says("out", runs[i].pictures);
        csrec_model_destroy(read_net("own.npz", 1));
        remove("own.npz");
    }
}

/* A tool that had not come to its handler yet dies of the signal, and the next one gets twice the
 * time. */
TEST(an_interrupt_writes_the_weights_so_far) {
    int code = 0, before = files_here();
    for (int tenths = 3; tenths < 300 && access("i.npz", F_OK) != 0; tenths *= 2) {
        code = run(check_print(
            "$L net gray.png -o i.npz -r gray.npz -B 1 -p 16 -t 1 --minutes 5 --json & p=$!; "
            "sleep %d.%d; kill -INT $p; wait $p",
            tenths / 10, tenths % 10));
    }
    assert_int_equal(code, 130);
    says("out", "\"interrupted\": true");
    assert_int_equal(files_here(), before + 1);
    csrec_model_destroy(read_net("i.npz", 1));
    char line[4096];
    assert_ok(csrec_fingerprint_read("i.npz", line, sizeof line, NULL));
    assert_int_equal(strncmp(line, "whole=0; cslearn net ", 21), 0);
}

TEST(a_prior_recovers) {
    static const struct {
        const char *truth, *command;
    } runs[] = {
        {"gray.png", "$R s.npz --model prior.npz -t 1 -o out.png -q"},
        {"gray.png", "$R s.npz --method net -M prior.npz --set turns=2 -t 1 -o out.png -q"},
        {"gray.png",
         "$R s.npz --method net -M prior.npz --set steps=3 --minutes 0.01 -t 1 -o out.png"},
        {"rgb.png", "$R rgb.npz --model prior.npz -t 1 -o out.png -q"},
        {"rgb.png", "$R rgb.npz --model colour.npz -t 1 -o out.png -q"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_well(runs[i].command);
        expect_like(runs[i].truth, "out.png", 0.2, runs[i].command);
    }
}

/* Where no prior is installed, the line says which file is missing, where, and what to do. */
TEST(a_missing_prior_is_named) {
    if (run("cp -L '" CSREC_TOOL_FOLDER "'/libcsrec.so* a/b/c && cp '" CSREC_TOOL_FOLDER
            "/csrecover' a/b/c && $N --version")) {
        print_message("SKIPPED: no copy of the tool runs: %s", read_text("err"));
        skip();
    }
    expect_mistake("$N s.npz --method net -o none.png", 1, "prior-gray.npz: no learned prior");
    says("err", "a/b/c/../share/csrecover");
    says("err", "a model of kind net");
    run_well("$N s.npz --method net -M prior.npz -q -t 1 -o out.png");
    assert_string_equal(read_text("err"), "");
    run_well("$N s.npz -q -t 1 -o out.png --json > told.json");
    says("err", "warning: s.npz: No learned prior is installed, so method frames takes its place");
    says("told.json", "No learned prior is installed");
    run_well("CSREC_PRIORS=a/b $N s.npz -q -t 1 -o out.png");
    says("err", "warning: s.npz: No learned prior is in a/b, which CSREC_PRIORS names, so method");
    expect_mistake("CSREC_PRIORS=a/b $N s.npz --method net -o none.png", 1,
                   "prior-gray.npz: is not in a/b, which the environment variable CSREC_PRIORS");
    run_well("CSREC_PRIORS='" CSREC_TOOL_FOLDER "/share' $N s.npz -q -t 1 -o out.png");
    assert_string_equal(read_text("err"), "");
    /* Beside the library, it is found; a damaged one is named. */
    run_well("mkdir -p a/b/share/csrecover && cp prior.npz a/b/share/csrecover/prior-gray.npz && "
             "$N s.npz --method net -q -t 1 -o out.png");
    run_well("head -c 2000 prior.npz > a/b/share/csrecover/prior-gray.npz");
    expect_mistake("$N s.npz --method net -o none.png", 1, "prior-gray.npz");
    says("err", "; install csrecover again, or name another folder of priors in");
    run_well("rm -r a/b/share");
}

/* The model of a file, with a weight that is no number, as NumPy may save it. */
static void write_nan(const char *from, const char *to) {
    ENDS_BY(end_model) csrec_model *model = read_net(from, 1);
    static const uint32_t kind[] = {'n', 'e', 't'};
    const char *names[] = {"layers", "weights", "channels"};
    csrec_npz_field fields[4] = {{"kind", "U3", {0}, kind, sizeof kind}};
    for (int i = 0; i < 3; i++) {
        const csrec_array *a = csrec_model_array(model, names[i]);
        fields[i + 1] = (csrec_npz_field){names[i], i == 1 ? "f4" : "i8", a->shape, a->data,
                                          (uint64_t)a->count * (i == 1 ? 4 : 8)};
    }
    float *weights = (float *)(uintptr_t)fields[2].data;
    weights[5] = NAN;
    assert_ok(csrec_npz_save(to, 4, fields, false, NULL));
}

static void write_nan_picture(const char *path) {
    CLEARED(csrec_array) array = {0};
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){2, {20, 30}}, &array));
    ((float *)array.data)[33] = NAN;
    assert_ok(csrec_array_write(path, &array, NULL));
}

TEST(mistakes_are_one_line) {
    static const mistake runs[] = {
        {"$L net", "-o MODEL.npz", 2},
        {"$L net -o w.txt", "models are .npz", 2},
        {"$L net -o w.npz -c 2", "--channels: '2' is not one of 1 3", 2},
        {"$L net -o w.npz -p 20", "--patch: 20 is not a multiple of 8", 2},
        {"$L net -o w.npz -p 8", "--patch", 2},
        {"$L net -o w.npz", "no INPUT to adapt the prior to; name pictures, or train", 2},
        {"$L net -o w.npz --steps 0", "--steps: '0' is not a whole number from 1 to", 2},
        {"$L net -o w.npz --minutes nan", "--minutes: 'nan' is not a number from 0.001 to", 2},
        {"$L net -o w.npz --minutes 1e400", "--minutes: '1e400'", 2},
        {"$L net -o w.npz --rate 2", "--rate: '2' is not a number from 1e-09 to 1", 2},
        {"$L net -o w.npz --rate 0", "--rate: '0'", 2},
        {"$L net -o w.npz --rate", "--rate needs a value", 2},
        {"$L net -o w.npz -r ''", "--resume needs a value", 2},
        {"$L net gray.png -o gray.png", "are the same file; name another", 2},
        {"$L net s.npz -o s.npz", "s.npz", 2},
        {"$L net -o none/w.npz", "none/w.npz", 1},
        {"$L net missing.png -o w.npz", "missing.png", 1},
        {"$L net empty -o w.npz", "files; name another folder", 1},
        {"$L net gray.png clear.png -o w.npz", "clear.png: all its pixels are transparent", 1},
        {"$L net volume.npy -o w.npz", "volume.npy: has 3 axes", 1},
        {"$L net gray.png rgb.png -c 3 -o w.npz", "gray.png: has 1 channels, not 3; omit", 1},
        {"$L net nan.npy -o w.npz", "nan.npy: entry 33 is not finite", 1},
        {"$L net deep.png -m gray.png -o w.npz", "gray.png", 1},
        {"$L net gray.png -r colour.npz -o w.npz", "gray.png: has 1 channels, not 3; name", 1},
        {"$L net gray.png -o w.npz -r missing.npz", "missing.npz: cannot be opened", 1},
        {"$L net gray.png -o w.npz -r empty", "empty: is a folder; name a file", 1},
        {"$L net gray.png -o w.npz -r s.npz", "s.npz: array 'kind' is missing", 1},
        {"$L net gray.png -o w.npz -r deep.png", "deep.png: is not a complete zip archive", 1},
        {"$L net gray.png -o w.npz -r pca.npz", "pca.npz: a model of kind pca has no network", 1},
        {"$L net gray.png -o w.npz -r colour.npz -c 1", "array 'channels': is 3; omit --channels 1",
         1},
        {"$L net gray.png -o w.npz -r nan.npz", "nan.npz: array 'weights': entry 5 is not finite",
         1},
        {"$L net gray.png -o w.npz -r cut.npz", "cut.npz: is not a complete zip archive", 1},
        {"$R s.npz -M nan.npz -o w.png", "nan.npz: array 'weights'", 1},
        {"$R s.npz -M cut.npz -o w.png", "cut.npz: is not a complete zip archive", 1},
        {"$R s.npz -M pca.npz --method net -o w.png", "kind", 1},
        {"$R s.npz -M prior.npz --method pca -o w.png", "kind", 1},
        {"$R s.npz -M prior.npz --set turns=9 -o w.png", "turns", 1},
        {"$R s.npz --method frames --minutes 1 -o w.png", "no option minutes", 2},
        {"$R s.npz -M prior.npz --minutes -1 -o w.png", "--minutes", 2},
    };
    write_nan("prior.npz", "nan.npz");
    write_nan_picture("nan.npy");
    make_clear_picture("clear.png");
    run_well("head -c 2000 prior.npz > cut.npz");
    expect_mistakes("", runs, sizeof runs / sizeof *runs);
    assert_int_not_equal(run("test -e w.npz || test -e w.png"), 0);
}

FIXTURE(make_more, remove_inputs);
