/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover with models of kind net, by its command lines. */
#include "tools.h"

#include "files/npz/npz.h"
#include "net_design.h"

static void write_fresh(const char *path, int channels) {
    uint64_t seed = check_seed();
    ENDS_BY(end_model) csrec_model *model = fresh_model(channels, 4, &seed);
    assert_ok(csrec_model_write(path, model, NULL));
}

/* Small networks that have learned nothing: prior.npz, colour.npz; in $N, a copy of csrecover
 * beside which no prior is installed. */
static int make_more(void **state) {
    if (make_inputs(state)) return -1;
    write_fresh("prior.npz", 1);
    write_fresh("colour.npz", 3);
    setenv("N", "env LD_LIBRARY_PATH=a/b/c a/b/c/csrecover", 1);
    run_well("mkdir -p a/b/c && $S gray.png -o s.npz -r 0.3 -q && $S rgb.png -o rgb.npz -r 0.3 -q "
             "&& $L pca gray.png -o pca.npz -p 4 -k 2 -q");
    return 0;
}

static csrec_model *read_net(const char *path, int64_t channels) {
    csrec_model *model = NULL;
    assert_well(csrec_model_read(path, &model, &told));
    assert_string_equal(csrec_model_kind(model), "net");
    assert_true(csrec_array_value(csrec_model_array(model, "channels"), 0) == (double)channels);
    return model;
}

TEST(a_prior_is_described) {
    run_well("$L info prior.npz");
    says("out", "kind: net");
    says("out", "array weights: ");
    run_well("$L info - --json < prior.npz");
    says("out", "\"kind\": \"net\"");
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

TEST(mistakes_are_one_line) {
    static const mistake runs[] = {
        {"$R s.npz -M nan.npz -o w.png", "nan.npz: array 'weights'", 1},
        {"$R s.npz -M cut.npz -o w.png", "cut.npz: is not a complete zip archive", 1},
        {"$R s.npz -M pca.npz --method net -o w.png", "kind", 1},
        {"$R s.npz -M prior.npz --method pca -o w.png", "kind", 1},
        {"$R s.npz -M prior.npz --set turns=9 -o w.png", "turns", 1},
        {"$R s.npz --method frames --minutes 1 -o w.png", "no option minutes", 2},
        {"$R s.npz -M prior.npz --minutes -1 -o w.png", "--minutes", 2},
    };
    write_nan("prior.npz", "nan.npz");
    run_well("head -c 2000 prior.npz > cut.npz");
    expect_mistakes("", runs, sizeof runs / sizeof *runs);
    assert_int_not_equal(run("test -e w.png"), 0);
}

FIXTURE(make_more, remove_inputs);
