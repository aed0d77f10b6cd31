/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of k-space: BART's .cfl and .hdr by hand, masks, maps and noise of coils; what is wrong. */
#include "io_file.h"

SEED(seed);

enum { X = 6, Y = 5, COILS = 2 };

/* NAME.hdr and NAME.cfl of these numbers. */
static const char *save(const char *name, const char *extents, int64_t n, const float *values) {
    const char *head = check_print("# Dimensions\n%s\n# Command\nmade by hand\n", extents);
    io_save(check_print("%s.hdr", name), head, strlen(head));
    return io_save(check_print("%s.cfl", name), values, (size_t)n * 8);
}

static float *draw(int64_t n) {
    float *values = check_keep((size_t)n * 8);
    for (int64_t i = 0; i < 2 * n; i++) values[i] = (float)check_normal(&seed);
    return values;
}

static csrec_read_options plain(void) {
    return (csrec_read_options){.coils = "none"};
}

/* Frequencies [y][x] in C order, those that are 0 in all coils left out. */
TEST(kspace_of_bart_is_a_measurement) {
    float *k = draw(X * Y * COILS);
    for (int c = 0; c < COILS; c++)
        for (int x = 0; x < 2 * X; x++) k[2 * X * (c * Y + 3) + x] = 0.0f; /* line 3 */
    k[0] = k[1] = 0.0f;                                                    /* of one coil alone */
    const char *path = save("k", "6 5 1 2 1 1 1 1 1 1 1 1 1 1 1 1 ", X * Y * COILS, k);
    CLEARED(csrec_measurement) m;
    csrec_read_options o = plain();
    assert_well(csrec_measurement_read_with(path, &o, &m, &told));
    assert_int_equal(m.n, X * (Y - 1));
    assert_int_equal(m.channels, COILS);
    assert_true(m.shape.dims == 2 && m.shape.dim[0] == Y && m.shape.dim[1] == X);
    assert_true(m.is_complex && m.through->centred && m.through->complex_signal);
    assert_string_equal(m.through->norm, "ortho");
    for (int64_t i = 0; i < m.n * COILS * 2; i++) {
        const int64_t at = i / 2 % COILS * X * Y + m.index[i / 2 / COILS];
        assert_true(m.y[i] == (double)k[2 * at + i % 2]);
    }
}

/* A pattern along y alone, as of bart upat; and one of the plane. */
TEST(patterns_choose_frequencies) {
    const char *path = save("k", "6 5 1 2", X * Y * COILS, draw(X * Y * COILS));
    const float lines[2 * Y] = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    float plane[2 * X * Y] = {0};
    plane[2 * 7] = plane[2 * 29] = 1.0f;
    csrec_read_options o = plain();
    for (int pass = 0; pass < 2; pass++) {
        CLEARED(csrec_measurement) m;
        o.mask = pass ? save("p", "6 5", X * Y, plane) : save("p", "1 5", Y, lines);
        assert_well(csrec_measurement_read_with(path, &o, &m, &told));
        assert_int_equal(m.n, pass ? 2 : 3 * X);
        for (int64_t i = 0; i < m.n; i++)
            assert_int_equal(m.index[i],
                             pass ? (i ? 29 : 7) : (i / X ? 2 * (i / X) : 0) * X + i % X);
    }
}

TEST(maps_and_noise_come_from_files) {
    const char *path = save("k", "6 5 1 2", X * Y * COILS, draw(X * Y * COILS));
    float *maps = draw(2 * X * Y * COILS), *noise = draw(50 * COILS),
          C[8] = {4, 0, 0, 0, 0, 0, 9, 0};
    csrec_facts facts;
    csrec_read_options o = {.coils = save("maps", "6 5 1 2 2", 2 * X * Y * COILS, maps),
                            .noise = save("c", "2 2", 4, C),
                            .facts = &facts};
    CLEARED(csrec_measurement) m, plainly;
    assert_well(csrec_measurement_read_with(path, &o, &m, &told));
    assert_int_equal(m.channels, 1);
    assert_int_equal(m.through->n_coils, COILS);
    assert_non_null(strstr(facts.note, "of 2 sets"));
    o.noise = NULL;
    assert_well(csrec_measurement_read_with(path, &o, &plainly, &told));
    for (int64_t i = 0; i < 2 * X * Y * COILS; i++) {
        const double part = i / 2 / (X * Y) ? 3.0 : 2.0; /* the root of the variance of its coil */
        assert_true(plainly.through->coils[i] == (double)maps[i]);
        assert_true(fabs(m.through->coils[i] - maps[i] / part) <= 1e-12);
        assert_true(fabs(m.y[i] - plainly.y[i] / (i / 2 % COILS ? 3.0 : 2.0)) <= 1e-12);
    }
    o.noise = save("n", "50 1 1 2", 50 * COILS, noise); /* samples */
    csrec_measurement_clear(&m);
    assert_well(csrec_measurement_read_with(path, &o, &m, &told));
    double power = 0.0;
    for (int i = 0; i < 100; i++) power += (double)noise[i] * (double)noise[i] / 50.0;
    assert_true(fabs(m.y[0] - plainly.y[0] / sqrt(power)) <= 1e-12);
}

/* x is fastest there and last here; channels follow. */
TEST(results_are_written) {
    float values[2 * Y * X];
    for (int i = 0; i < 2 * Y * X; i++) values[i] = (float)i;
    const char *path = io_path("out.cfl");
    csrec_image image = {.pixels = {CSREC_F32, {3, {Y, X, 2}}, 2 * Y * X, values},
                         .is_complex = true};
    const csrec_files_options options = {.fingerprint = "whole=1; made"};
    for (int pass = 0; pass < 2; pass++) {
        csrec_files *files = NULL;
        assert_ok(csrec_files_create(&options, &files, NULL));
        image.is_complex = !pass;
        image.has_channels = pass; /* of 2 */
        assert_well(
            csrec_files_add_signal(files, path, csrec_format_of(path), &image, NULL, &told));
        assert_well(csrec_files_commit(files, &told));
        csrec_files_destroy(files);
        csrec_image seen;
        assert_well(csrec_signal_read(path, &seen, &told));
        assert_int_equal(seen.pixels.shape.dims, pass ? 4 : 3);
        for (int i = 0; i < (pass ? 4 : 2) * Y * X; i++)
            assert_true(csrec_array_value(&seen.pixels, i) ==
                        (pass ? i % 2 ? 0.0 : 2.0 * (i / 2 % (Y * X)) + i / 2 / (Y * X) : i));
        csrec_image_clear(&seen);
        char line[64];
        assert_ok(csrec_fingerprint_read(path, line, sizeof line, NULL));
        assert_string_equal(line, "whole=1; made");
    }
}

TEST(wrong_files_are_told) {
    static const struct {
        const char *extents, *mask, *coils, *words;
        int64_t n;
    } cases[] = {
        {"6 5 1 2", NULL, "none", "copy both files", 59},
        {"6 5 1 2 1 1 1 1 1 1 4 2", NULL, "none", "axis 11", 480},
        {"6 5 0 2", NULL, "none", "extent", 60},
        {"6 five", NULL, "none", "extent", 30},
        {"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 7", NULL, "none", "more than 16", 1},
        {"99999999999 99999999999 9", NULL, "none", "too many", 1},
        {"6 5 1 2", "6 4", "none", "axis 1", 60},
        {"6 5 1 2", NULL, "p.cfl", "no map of 2 coils", 60},
        {"6 5 1 2", NULL, "absent.npy", "absent.npy", 60},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csrec_measurement m;
        csrec_error error = {""};
        const char *path = save("k", cases[i].extents, cases[i].n, draw(cases[i].n));
        const char *pattern = save("p", cases[i].mask ? cases[i].mask : "6 4", 24, draw(24));
        csrec_read_options o = {.mask = cases[i].mask ? pattern : NULL, .coils = cases[i].coils};
        if (strchr(o.coils, '.')) o.coils = io_path(o.coils);
        assert_int_not_equal(csrec_measurement_read_with(path, &o, &m, &error), CSREC_OK);
        if (!strstr(error.text, cases[i].words) || strchr(error.text, '\n'))
            fail_msg("case %zu: %s", i, error.text);
    }
    float zeros[2 * X * Y] = {0};
    csrec_measurement m;
    assert_refused(csrec_measurement_read(save("z", "6 5", X * Y, zeros), NULL, &m, &told),
                   CSREC_DATA, "all values are 0");
    csrec_facts facts;
    const csrec_read_options zero = {.trajectory = save("t", "3 2 5", X * Y, zeros)},
                             plain = {.coils = "none", .facts = &facts};
    CLEARED(csrec_measurement) seen;
    const char *points = save("q", "1 2 5", 10, draw(10));
    assert_refused(csrec_measurement_read_with(points, &zero, &m, &told), CSREC_DATA,
                   "is 0 everywhere");
    assert_well(csrec_measurement_read_with(points, &plain, &seen, &told));
    assert_non_null(strstr(facts.note, "of points give a trajectory"));
    remove(io_path("z.hdr"));
    assert_refused(csrec_measurement_read(io_path("z.cfl"), NULL, &m, &told), CSREC_FILE, "z.hdr");
    assert_refused(csrec_measurement_read(io_path("k.hdr"), NULL, &m, &told), CSREC_UNSUPPORTED,
                   "is no .cfl");
    const csrec_read_options vain[] = {{.coils = "none"}, {.noise = "n.npy"}, {.has_slice = true}};
    for (int i = 0; i < 3; i++) {
        io_save("s.csv", "0,0,1\n1,1,2\n2,0,3\n", 18);
        assert_refused(csrec_measurement_read_with(io_path("s.csv"), &vain[i], &m, &told),
                       CSREC_ARGUMENT, "no k-space");
    }
}

FIXTURE(io_setup, io_teardown);
