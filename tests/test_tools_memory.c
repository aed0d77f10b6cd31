/* SPDX-License-Identifier: BSD-3-Clause */
/* csrecover --memory: tiles, what is told of them, refusals. */
#include "tools.h"

/* Large enough for tiles. */
static int make_large(void **state) {
    if (make_inputs(state)) return -1;
    make_picture("large.png", 560, 530, 1, 8, false);
    run_well("$S large.png -q -o m.npz -r 0.05");
    return 0;
}

/* The number after "key": in the object that begins with "of": of the text. */
static double number_of(const char *text, const char *of, const char *key) {
    const char *at = strstr(text, check_print("\"%s\": {", of));
    const char *quoted = check_print("\"%s\":", key);
    if (!at) fail_msg("no %s in: %s", of, text);
    return number_after(at, quoted);
}

TEST(little_memory_makes_tiles) {
    run_well("$R m.npz -q -t 1 --method frames --json -o whole.png");
    const char *text = read_text("out");
    double bytes = number_of(text, "estimate", "bytes");
    assert_true(number_of(text, "estimate", "tiles") == 1.0);
    assert_true(number_of(text, "estimate", "seconds") > 0.0);
    assert_true(number_of(text, "estimate", "threads") == 1.0);
    int given = (int)(0.8 * bytes / 1048576.0);
    run_line("$R m.npz -v -t 1 --method frames --memory %d --json -o tiles.png", given);
    text = read_text("out");
    double tiles = number_of(text, "estimate", "tiles");
    assert_true(tiles > 1.0 && number_of(text, "estimate", "bytes") <= given * 1048576.0);
    const char *command = check_print(" threads; %.0f tiles of ", tiles);
    text = read_text("err");
    if (!strstr(text, command)) fail_msg("'%s' is not in: %s", command, text);
    expect_like("large.png", "tiles.png", 0.2, "tiles");
    expect_like("whole.png", "tiles.png", 0.02, "tiles");
    assert_true(mean_square("whole.png", "tiles.png", NULL) > 0.0);
    run_well("$R m.npz -q -t 1 --method frames --memory 4000 -o ample.png");
    assert_true(mean_square("whole.png", "ample.png", NULL) == 0.0);
}

TEST(presets_are_estimated) {
    const char *name;
    csrec_recover_options options;
    csrec_measurement m = {.shape = {2, {1, 1}}, .n = 1, .channels = 1};
    run_well("$R m.npz --info");
    const char *text = read_text("out");
    for (int i = 0; (name = csrec_recover_preset(i, &m, &options)); i++) {
        const char *line = check_print("\n%-9s about ", name);
        const char *at = strstr(text, line);
        double seconds = 0.0, mebibytes = 0.0;
        if (!at || sscanf(at + strlen(line), "%lf s and %lf MiB", &seconds, &mebibytes) != 2)
            fail_msg("no estimate of %s in: %s", name, text);
        assert_true(seconds > 0.0 && mebibytes > 560 * 530 * 8 / 1048576.0);
    }
    run_well("$R m.npz --info --json");
    text = read_text("out");
    assert_non_null(strstr(text, "\"estimates\": {"));
    for (int i = 0; (name = csrec_recover_preset(i, &m, NULL)); i++) {
        assert_true(number_of(text, name, "bytes") > 560 * 530 * 8);
        assert_true(number_of(text, name, "seconds") > 0.0);
        assert_true(number_of(text, name, "tiles") >= 1.0);
    }
}

/* Samples, the signal and the program included; in units other than those of pictures. */
TEST(the_process_takes_what_is_told) {
    if (SANITIZED) skip();
    make_picture("big.png", 1900, 1800, 1, 8, false);
    run_well("$S big.png -q -o big.npz -r 0.2");
    const char *line = "$R big.npz -q -t 2 -Q fast --scale 0,300 --backend cpu --json -o big.npy";
    const double peak = 1024.0 * (double)peak_of(line);
    const double told = number_of(read_text("out"), "estimate", "process");
    if (fabs(told / peak - 1.0) > 0.1) fail_msg("%g bytes told, %g taken", told, peak);
}

TEST(too_little_is_refused) {
    expect_mistake("$R m.npz -Q balanced --memory 2 -o no.png", 1,
                   "but may use 2.0 MiB of memory; give it more memory");
    expect_mistake("$R m.npz --shifts 1 --memory 2 -o no.npy", 1,
                   "use a preset that works in tiles: fast, balanced, best");
    expect_mistake("$R m.npz --memory 0 -o no.png", 2, "--memory");
    expect_mistake("$R m.npz --memory much -o no.png", 2, "--memory");
}

/* A quarter of a picture of floats but for a hole, the rest NaN. */
static void write_gappy(const char *path) {
    CLEARED(csrec_image) image = {.has_channels = false};
    const csrec_shape shape = {2, {1300, 1100}};
    uint64_t random = check_seed();
    ENDS_BY(end_files) csrec_files *files = NULL;
    assert_ok(csrec_array_create(CSREC_F32, &shape, &image.pixels));
    float *v = image.pixels.data;
    for (int64_t i = 0; i < image.pixels.count; i++) {
        double x = (double)(i % 1100), y = (double)(i / 1100);
        double value =
            100.0 + 50.0 * sin(0.02 * x + 0.013 * y) + 20.0 * sin(0.3 * x) * cos(0.2 * y);
        const bool hole = hypot(x - 400.0, y - 700.0) < 30.0;
        v[i] = hole || check_below(&random, 4) ? NAN : (float)value;
    }
    assert_ok(csrec_files_create(NULL, &files, NULL));
    assert_ok(csrec_files_add_signal(files, path, csrec_format_of(path), &image, NULL, NULL));
    assert_ok(csrec_files_commit(files, NULL));
}

/* What does not fit as a whole is recovered in slabs, with the same bytes. */
TEST(slabs_are_the_same_file) {
    static const char *const endings[] = {"npy", "tif"};
    for (int i = 0; i < 2; i++) {
        const char *e = endings[i];
        const char *path = check_print("gappy.%s", e);
        if (sanitized_leaves()) continue;
        if (!csrec_format_of(path) || !(csrec_format_of(path)->uses & CSREC_USE_SLABS)) continue;
        write_gappy(path);
        run_line("$R gappy.%s -q -Q fast --tile 100000 -o whole.%s", e, e);
        run_line("$R gappy.%s -q -Q fast --tile 100000 --memory 37 --json -o slabs.%s", e, e);
        assert_true(number_of(read_text("out"), "estimate", "bytes") < 37 * 1048576.0);
        CLEARED(csrec_image) whole = {0}, slabs = {0};
        assert_ok(csrec_signal_read(check_print("whole.%s", e), &whole, NULL));
        assert_ok(csrec_signal_read(check_print("slabs.%s", e), &slabs, NULL));
        assert_int_equal(whole.pixels.count, slabs.pixels.count);
        assert_memory_equal(whole.pixels.data, slabs.pixels.data, (size_t)whole.pixels.count * 4);
    }
    write_gappy("gappy.npy");
    run_well("$R gappy.npy -Q fast --tile 100000 --memory 37 --json --history -o w.npy");
    if (!strstr(read_text("err"), "without --history it is recovered in slabs"))
        fail_msg("no note in: %s", read_text("err"));
}

/* Six samples of a signal that no memory holds. */
static void write_sparse(const char *name, int64_t rows) {
    const csrec_shape six = {1, {6}}, one = {1, {1}};
    CLEARED(csrec_array) y = {0}, index = {0}, shape = {0};
    assert_ok(csrec_array_create(CSREC_F64, &six, &y));
    assert_ok(csrec_array_create(CSREC_I64, &six, &index));
    assert_ok(csrec_array_create(CSREC_I64, &one, &shape));
    for (int k = 0; k < 6; k++) {
        ((double *)y.data)[k] = k * k % 5 - 1.5;
        ((int64_t *)index.data)[k] = rows / 6 * k + k;
    }
    ((int64_t *)shape.data)[0] = rows;
    const char *const names[] = {"y", "index", "shape"};
    const csrec_array *const arrays[] = {&y, &index, &shape};
    assert_ok(csrec_npz_write(name, 3, names, arrays, NULL));
}

TEST(atoms_alone_need_no_signal) {
    const int64_t rows[] = {INT64_C(1) << 31, INT64_C(1) << 44, INT64_C(1) << 62};
    for (int i = 0; i < 3; i++) {
        write_sparse("sparse.npz", rows[i]);
        run_well("$R sparse.npz -C atoms.npz --json -q");
        assert_true(number_of(read_text("out"), "estimate", "bytes") < 0x1p20);
        run_well("$R sparse.npz -C atoms.npz --memory 1 -q");
    }
    expect_mistake("$R sparse.npz -C atoms.npz -o no.npy -q", 1, "memory");
}

FIXTURE(make_large, remove_inputs);
