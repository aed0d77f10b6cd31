/* SPDX-License-Identifier: BSD-3-Clause */
/* What a newcomer gets wrong, for each tool: one line that names the file and says what to do, the
 * exit code, and nothing left behind, not even a folder. */

#include "io_npy.h"
#include "tools.h"

SEED(seed);

static void write_bytes(const char *name, const void *bytes, size_t n) {
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* The first part of a file, at least a tenth and never all of it. */
static void cut(const char *from, const char *to) {
    static char bytes[1 << 16];
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    write_bytes(to, bytes, n / 10 + (size_t)check_below(&seed, (int64_t)(n * 8 / 10)));
}

static void write_array(const char *name, const char *descr, int64_t bytes) {
    static const char zeros[4096];
    io_bytes b = {0};
    io_npy_header(&b, 1, descr, false, "(8, 8)");
    io_put(&b, zeros, (size_t)bytes * 64);
    write_bytes(name, b.data, b.size);
    free(b.data);
}

#define LONG8(c) c c c c c c c c
#define LONG256  LONG8(LONG8("name"))

/* A failed call to the system is told as such, with the file and with what helps. */
TEST(causes_are_told) {
    static const struct {
        const char *command, *cause, *remedy;
    } causes[] = {{"$R round.npy -Q fast -o no.npy", "round.npy: cannot be opened", "its links"},
                  {"$R cause.npz -Q fast -o round.npy", "cannot be written", "its links"},
                  {"$R cause.npz -Q fast -o round.npy/no.npy", "not writable", "its links"},
                  {"$R cause.npz/a.npz -o no.npy", "(Not a directory)", "is no folder"},
                  {"$R cause.npz -o gray.png/no.npy", "(Not a directory)", "is no folder"},
                  {"$R " LONG256 ".npz -o no.npy", "too long)", "a shorter name"},
                  {"$R cause.npz -o " LONG256 ".npy -Q fast", "too long)", "a shorter name"},
                  {"$R cause.npz --model " LONG256 ".npz -o no.npy", "too long)", "a shorter name"},
                  {"$R cause.npz -o " LONG256 "/", "too long)", "a shorter name"},
                  {"$L pca none/ -o no.npz", "(No such file or directory)", "check the name"}};
    run_well("ln -s round.npy about.npy && ln -s about.npy round.npy && "
             "$S gray.png -o cause.npz -r 0.3");
    expect_mistake("$R cause.npz -Q fast -o round.npy", 1,
                   "round.npy: cannot be written (Too many");
    expect_mistake("$R round.npy -Q fast -o no.npy", 1, "round.npy: cannot be opened (Too many");
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const char *command = causes[i].command;
        int code = run(command);
        const char *text = read_text("err");
        if (code != 1 || !strstr(text, causes[i].cause) || !strstr(text, causes[i].remedy))
            fail_msg("%s: %d, %s", command, code, text);
    }
    for (int limit = 4; limit < 14; limit++) {
        const char *command = check_print("ulimit -n %d; $R cause.npz -Q fast -q -o no.npy", limit);
        int code = run(command);
        const char *text = read_text("err");
        if (code == 0) continue;
        if (!strstr(text, "error while loading") &&
            (!strstr(text, "Too many open files") || !strstr(text, "ulimit -n")))
            fail_msg("%s: %s", command, text);
    }
    run_well("rm -f round.npy about.npy no.npy cause.npz");
}

static void make_mistakes(void) {
    run_well("mkdir -p both");
    const char text[] = "these are words\n";
    const char *const named[] = {"text.png", "text.npy", "text.npz", "text.csv"};
    for (int i = 0; i < 4; i++) write_bytes(named[i], text, sizeof text - 1);
    run_well("$S gray.png -o scan.npz -r 0.3 && $S line.npy -o line.npz -r 0.5 && "
             "$S gray.png -o camera.npz -O hadamard -r 0.3 && "
             "$S gray.png -o all.npz -r 0.3 --mask-out known.png");
    cut("gray.png", "cut.png");
    cut("volume.npy", "cut.npy");
    cut("scan.npz", "cut.npz");
    write_bytes("empty.png", "", 0);
    write_array("complex.npy", "<c16", 16);
    write_array("quad.npy", "<f16", 16);
    write_array("words.npy", "<U1", 4);
    CLEARED(csrec_array) nan = {0};
    csrec_shape shape = {2, {20, 20}};
    assert_ok(csrec_array_create(CSREC_F64, &shape, &nan));
    ((double *)nan.data)[check_below(&seed, 400)] = check_below(&seed, 2) ? NAN : -INFINITY;
    assert_ok(csrec_array_write("nan.npy", &nan, NULL));
    CLEARED(csrec_array) mask = {0};
    assert_ok(csrec_array_create(CSREC_BOOL, &shape, &mask));
    memset(mask.data, 1, 400);
    nan.shape = (csrec_shape){1, {400}};
    const char *const names[] = {"y", "mask"};
    const csrec_array *const arrays[] = {&nan, &mask};
    assert_ok(csrec_npz_write("nan.npz", 2, names, arrays, NULL));
    CLEARED(csrec_array) far = {0}; /* nanoseconds */
    assert_ok(csrec_array_create(CSREC_I64, &mask.shape, &far));
    ((int64_t *)far.data)[check_below(&seed, 400)] = check_below(&seed, 2) ? 1L << 60 : -(1L << 53);
    assert_ok(csrec_array_write("far.npy", &far, NULL));
    assert_ok(csrec_array_write("all.npy", &mask, NULL));
    far.shape = nan.shape;
    assert_ok(
        csrec_npz_write("far.npz", 2, names, (const csrec_array *const[]){&far, &mask}, NULL));
}

typedef struct misuse {
    const char *command, *words, *more; /* both in the one line */
    int code;
} misuse;

static void try_all(const misuse *wrong, size_t n) {
    make_mistakes();
    for (size_t i = 0; i < n; i++) {
        expect_mistake(wrong[i].command, wrong[i].code, wrong[i].words);
        if (!strstr(read_text("err"), wrong[i].more))
            fail_msg("%s: no remedy '%s' in: %s", wrong[i].command, wrong[i].more,
                     read_text("err"));
    }
}

TEST(of_cssample) {
    static const misuse wrong[] = {
        {"$S none.png -o w.npz -r 0.3", "none.png", "check the name", 1},
        {"$S text.png -o w.npz -r 0.3", "text.png", "write", 1},
        {"$S text.npy -o w.npz -r 0.3", "text.npy", "write", 1},
        {"$S cut.png -o w.npz -r 0.3", "cut.png", "truncated", 1},
        {"$S cut.npy -o w.npz -r 0.3", "cut.npy", "truncated", 1},
        {"$S empty.png -o w.npz -r 0.3", "empty.png", "is empty", 1},
        {"$S nan.npy -o w.npz -r 1 --pattern uniform", "nan.npy: entry", "finite", 1},
        {"$S gray.png -o w.npz -r 0.3 --coils nan.npy", "--coils", "fourier", 2},
        {"$S gray.png -o w.npz -O blur", "--operator blur", "--kernel", 2},
        {"$S gray.png -o w.npz -O blur --kernel none.npy", "none.npy", "check the name", 1},
        {"$S gray.png -o w.npz -O blur --kernel volume.npy", "volume.npy", "as many", 1},
        {"$S gray.png -o w.npz -O downsample --factor 0", "--factor 0", "whole number", 1},
        {"$S gray.png -o w.npz -O downsample --factor 2 -r 0.3", "--rate", "omit it", 2},
        {"$S gray.png -o w.npz -O matrix -r 0.1 --block 7,700", "block", "extent 700", 1},
        {"$S gray.png -o w.npz -O matrix -r 0.1 --block 7x", "--block 7x", "whole number", 1},
        {"$S gray.png -o w.npz -r 0.1 --border cut", "--border", "--block", 2},
        {"$S gray.png -o w.npz -O matrix --matrix line.npy", "line.npy", "[rows, ", 1},
        {"$S gray.png -o w.npz -O downsample --factor 2 --rows uniform", "--rows", "goes with", 2},
        {"$S gray.png -o w.npz -O matrix -r 0.3 --rows first", "--rows", "goes with", 2},
        {"$S gray.png -o w.npz -r 0.3 --rows first", "--rows", "goes with", 2},
        {"$S gray.png -o w.npz -O hadamard -r 0.3 --rows lines", "lines", "uniform", 1},
        {"$S gray.png -o w.npz -O fourier -r 0.3 --coils volume.npy", "volume.npy", "[coils", 1},
        {"$S gray.png -o w.npz -O hadamard -r 0.3 --procedural", "--procedural", "omit it", 2},
        {"$S quad.npy -o w.npz -r 0.3", "'<f16'", "float32", 1},
        {"$S words.npy -o w.npz -r 0.3", "words.npy", "save numbers", 1},
        {"$S scan.npz -o w.npz -r 0.3", "scan.npz", "save the array as .npy", 1},
        {"$S gray.png -o none/w.npz -r 0.3", "none/w.npz", "choose another", 1},
        {"$S gray.png -o w.png -r 0.3", "w.png", ".npz", 2},
        {"$S gray.png -o w.npz -r 300", "--rate", "from", 2},
        {"$S gray.png -o w.npz -r 15", "--rate: '15'", "a share: 0.15 for 15 %", 2},
        {"$S gray.png -o w.npz --rate 2.5%", "--rate: '2.5%'", "a share: 0.025 for 2.5 %", 2},
        {"$S gray.png -o w.npz --rate 0,15", "--rate: '0,15'", "with a point: 0.15", 2},
        {"$S gray.png w.npz -r 0.3", "w.npz: does not exist", "-o w.npz", 2},
        {"$S gray.png -o w.npz -r 0.3 -p Poisson", "'Poisson'", "did you mean poisson?", 2},
        {"$S gray.png -o w.npz -r 0.3 -p hadamard", "'hadamard'", "--operator hadamard", 2},
        {"$S gray.png -output w.npz -r 0.3", "-output", "did you mean --output?", 2},
        {"$S gray.png -o w.npz", "--rate", "--count", 2},
        {"$S gray.png -o w.npz -r 0.3 --wings", "--wings", "--help", 2},
        {"$S gray.png -r 0.3 -o - >/dev/full", "standard output", "make room", 1},
    };
    try_all(wrong, sizeof wrong / sizeof *wrong);
}

TEST(of_csrecover) {
    static const misuse wrong[] = {
        {"$R camera.npz -o w.npy -S threshold -B dct", "camera.npz", "through an operator", 1},
        {"$R camera.npz -o w.npy -B haar", "camera.npz", "through an operator", 1},
        {"$R camera.npz -o w.npy -Q fast -T 1", "--quality fast has no option minutes", "omit", 2},
        {"$R camera.npz -o w.npy --robust", "camera.npz", "through an operator", 1},
        {"$R camera.npz -o w.npy -u u.npy", "camera.npz", "leave it out", 1},
        {"$S camera.npz --next 5 -o w.csv --even", "camera.npz", "through an operator", 1},
        {"$R none.npz -o w.png", "none.npz", "check the name", 1},
        {"$R text.png -o w.png", "text.png: is not a PNG picture but text", "write", 1},
        {"$R text.npy -o w.png", "text.npy: is not a NumPy array but text", "write", 1},
        {"$R text.npz -o w.png", "text.npz: is not a zip archive but text", "write", 1},
        {"$R text.csv -o w.png", "text.csv: line 1", "row,col,value", 1},
        {"$R cut.npz -o w.png", "cut.npz", "write it again", 1},
        {"$R nan.npz -o w.npy", "nan.npz: array 'y': sample", "isfinite", 1},
        {"$R far.npz -o w.npy", "far.npz: array 'y': has", "subtract an offset", 1},
        {"$R far.npy --mask all.npy -o w.npy", "far.npy: entry", "subtract an offset", 1},
        {"$R gray.png -o w.npy", "gray.png", "cssample", 1},
        {"$R scan.npz -o none/w.png", "none/w.png", "choose another", 1},
        {"$R scan.npz -o w.gif", "w.gif", "name a .npz, .png", 2},
        {"$R line.npz -o w.png", "w.png", "write .npy", 1},
        {"$R scan.npz", "nothing to do", "-o OUT", 2},
        {"$R scan.npz w.png", "w.png: does not exist", "to write w.png: -o w.png", 2},
        {"$R scan.npz w/", "w/: does not exist", "to write w/: -o w/", 2},
        {"$R scan.npz gray.png", "nothing to do", "-o OUT", 2},
        {"$R gray.png known.png -o w.png", "is known.png a mask?", "--mask known.png", 2},
        {"$R known.png gray.png -o w.png", "is known.png a mask?", "--mask known.png", 2},
        {"$R gray.png -o w.png --json w.json", "w.json: is no input", "--json > w.json", 2},
        {"$R gray.png gray.png -o w.png", "2 inputs need a folder", "-o FOLDER/, not w.png", 2},
        {"$R rgb.png known.png -o w.png", "2 inputs need a folder", "-o FOLDER/, not w.png", 2},
        {"$R scan.npz -o w.png --method omp", "'omp' is not one of", "did you mean --solver omp?",
         2},
        {"$R scan.npz -o w.png --method best", "'best'", "did you mean --quality best?", 2},
        {"$R scan.npz -o w.png --solver Net", "'Net'", "did you mean --method net?", 2},
        {"$R scan.npz -o w.png --basis omp", "'omp'", "did you mean --solver omp?", 2},
        {"$R scan.npz -o w.png --quality wavelet", "'wavelet'", "did you mean --basis wavelet?", 2},
        {"$R scan.npz -o w.png --basis DCT", "'DCT'", "did you mean dct?", 2},
        {"$R scan.npz -o w.png -Q Best", "'Best'", "did you mean best?", 2},
        {"$R scan.npz -o w.png -S lasso", "'lasso'", "did you mean fista?", 2},
        {"$R planes.npy -o w.png", "planes.npy", "give --channels-last or --volume", 1},
        {"$R scan.npz -o w.png -S iht -B dct --min-coefficient 1", "--min-coefficient: solver",
         "use epsilon", 1},
        {"$R scan.npz --out w.png", "--out", "did you mean output?", 2},
        {"$R scan.npz -o w.png --devices", "--devices needs a value", "--list-devices", 2},
        {"$R scan.npz -o w.png --devices 0,x", "'0,x' is no list", "--list-devices", 2},
        {"$R scan.npz -o w.png --devices 0,", "'0,' is no list", "--list-devices", 2},
        {"$R scan.npz -o w.png --devices 0 --backend cpu", "--devices are GPUs", "omit", 2},
        {"$R scan.npz -o w.png --devices 0,4711", "--devices: backend cuda", "--list-devices", 1},
        {"$R scan.npz -o w.png -r none.png", "none.png", "check the name", 1},
        {"$R scan.npz -o w.png -r rgb.png", "rgb.png: its shape", "give the signal", 1},
        {"$R gray.png -o w.png --mask text.png", "text.png", "write", 1},
        {"$R gray.png -o w.png --mask rgb.png", "rgb.png: the mask's shape", "same size", 1},
        {"$R gray.png -o w.png", "no transparent pixels", "give a mask", 1},
        {"$R gray.png -o w.png", "to denoise it", "(--sigma)", 1},
        {"$R scan.npz -o w.png --model none.npz", "none.npz", "check the name", 1},
        {"$R scan.npz -o w.png --model text.npz", "text.npz", "cslearn", 1},
        {"$R scan.npz -o w.png --model gray.png", "gray.png", "cslearn", 1},
        {"$R scan.npz -o w.png --model scan.npz", "array 'kind'", "cslearn", 1},
        {"$R scan.npz -o w.png --method pca", "pca needs a model", "cslearn", 2},
        {"$R scan.npz -o w.png --shifts 1 --solver iht --set wings=2", "'wings'", "use k", 1},
        {"$R scan.npz -o w.png --shifts 1 --solver omp --set k=2", "'k'", "there is none", 1},
        {"$R scan.npz -o w.png --quality best --set wings=2", "'wings'", "use turns", 1},
        {"$R scan.npz -o w.png --solver gaussian --set wings=2", "'wings'", "use effort", 1},
        {"$R scan.npz -o w.png --method mixture", "mixture", "use gaussian", 2},
        {"$R scan.npz -o w.png --report none/w.html", "none/w.html", "choose another", 1},
        {"$R scan.npz -o w.png --wings", "--wings", "--help", 2},
        {"$R none.npz -o new/ -q", "none.npz", "check the name", 1},
        {"$R scan.npz none.npz scan.npz -o new/ -q", "same file", "rename", 2},
        {"$R scan.npz -o new/ --report new-pages/ --wings", "--wings", "--help", 2},
        {"$R scan.npz -o both/ -u both/ --format npy", "both/scan.npy", "name another", 2},
        {"$R scan.npz -o both -u both/../both/ --format npy", "both/scan.npy", "name another", 2},
        {"$R scan.npz -o - >/dev/full", "standard output", "make room", 1},
        {"$R scan.npz --json -q >/dev/full", "stdout", "check its destination", 1},
        {"$R --help >/dev/full", "stdout", "check its destination", 1},
        {"$R --list >/dev/full", "stdout", "check its destination", 1},
        {"$R --man >/dev/full", "stdout", "check its destination", 1},
        {"$R --list-devices >/dev/full", "stdout", "check its destination", 1},
        {"$R --version >/dev/full", "stdout", "check its destination", 1},
        {"$R --completion zsh >/dev/full", "stdout", "check its destination", 1},
    };
    try_all(wrong, sizeof wrong / sizeof *wrong);
}

TEST(of_cslearn) {
    static const misuse wrong[] = {
        {"$L pca none.png -o w.npz", "none.png", "check the name", 1},
        {"$L pca text.png -o w.npz", "text.png", "PNG", 1},
        {"$L pca cut.png -o w.npz", "cut.png", "truncated", 1},
        {"$L pca cut.npy -o w.npz", "cut.npy", "truncated", 1},
        {"$L pca complex.npy -o w.npz", "complex.npy", ".real", 1},
        {"$L pca quad.npy -o w.npz", "quad.npy", "float32", 1},
        {"$L pca nan.npy -o w.npz", "nan.npy: entry", "isfinite", 1},
        {"$L pca gray.png -o none/w.npz", "none/w.npz", "choose another", 1},
        {"$L pca gray.png w.npz", "w.npz: does not exist", "-o w.npz", 2},
        {"$L pca gray.png -o w.npz -e 95", "--energy", "a share: 0.95 for 95 %", 2},
        {"$L pca gray.png rgb.png -o w.npz", "rgb.png", "--gray", 1},
        {"$L pca gray.png -o w.npy", "w.npy", ".npz", 2},
        {"$L pca gray.png -o w.npz --patch 999", "gray.png", "smaller --patch", 1},
        {"$L pca gray.png -o w.npz --components 0", "--components", "from 1", 2},
        {"$L info none.npz", "none.npz", "check the name", 1},
        {"$L info text.npz", "text.npz", "cslearn", 1},
        {"$L info cut.npz", "cut.npz", "cslearn", 1},
        {"$L info scan.npz", "array 'kind'", "cslearn", 1},
        {"$L guess gray.png", "guess", "commands:", 2},
        {"$L pca gray.png --wings", "--wings", "--help", 2},
        {"$L --help >/dev/full", "stdout", "check its destination", 1},
        {"$L --completion fish >/dev/full", "stdout", "check its destination", 1},
    };
    try_all(wrong, sizeof wrong / sizeof *wrong);
}

/* Where one of several inputs succeeds, its folder stays. */
TEST(folders_with_results_stay) {
    make_mistakes();
    assert_int_equal(run("$R scan.npz none.npz -o some/ -q --quality fast"), 1);
    assert_int_equal(access("some/scan.png", F_OK), 0);
    run_well("mkdir there");
    assert_int_equal(run("$R none.npz -o there/ -q"), 1);
    assert_int_equal(access("there", F_OK), 0);
}

FIXTURE(make_inputs, remove_inputs);
