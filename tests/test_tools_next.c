/* SPDX-License-Identifier: BSD-3-Clause */
/* cssample --next and csrecover --merge: a scan in two steps. */
#include "rays.h"
#include "samples.h"
#include "tools.h"

/* The lines of a .csv of places, without comment and header. */
static int lines_of(const char *text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines - 2;
}

TEST(places_are_a_table) {
    run_well("$S gray.png -o s.npz -r 0.1 && $S s.npz --next 50 -o n.csv && "
             "$S s.npz --next 50 -o - > again.csv && cmp n.csv again.csv");
    const char *text = read_text("n.csv");
    assert_true(strncmp(text, "# shape: 61,83\nrow,col\n", 23) == 0);
    assert_int_equal(lines_of(text), 50);
    run_well("$S line.npy -o l.npz -r 0.1 && $S l.npz -N 3 -o l.csv && "
             "$S volume.npy -o v.npz -r 0.1 && $S v.npz -N 3 -o v.csv");
    assert_non_null(strstr(read_text("l.csv"), "# shape: 3000\ni\n"));
    assert_non_null(strstr(read_text("v.csv"), "# shape: 17,12,20\nz,y,x\n"));
}

/* The table and the arrays hold the same places, none of them measured. */
TEST(places_are_arrays) {
    CLEARED(csrec_array) index, shape;
    CLEARED(csrec_measurement) m = {0};
    run_well("$S gray.png -o s.npz -r 0.1 && $S s.npz --next 50 -o n.npz --seed 9 --json && "
             "$S s.npz --next 50 -o n.csv --seed 9");
    assert_ok(csrec_npz_read("n.npz", "index", &index, NULL));
    assert_ok(csrec_npz_read("n.npz", "shape", &shape, NULL));
    assert_ok(csrec_measurement_read("s.npz", NULL, &m, NULL));
    assert_true(csrec_array_value(&shape, 0) == 61 && csrec_array_value(&shape, 1) == 83);
    const char *line = strstr(read_text("n.csv"), "row,col\n") + 8;
    for (int64_t k = 0; k < index.count; k++, line = strchr(line, '\n') + 1) {
        int64_t at = (int64_t)csrec_array_value(&index, k);
        int row, col;
        assert_int_equal(sscanf(line, "%d,%d\n", &row, &col), 2);
        assert_int_equal(at, row * 83 + col);
        for (int64_t i = 0; i < m.n; i++) assert_true(m.index[i] != at);
    }
}

/* Positions of n.npz in the right half of 61 x 83. */
static int in_the_right_half(void) {
    CLEARED(csrec_array) index;
    int count = 0;
    assert_ok(csrec_npz_read("n.npz", "index", &index, NULL));
    for (int64_t k = 0; k < index.count; k++)
        count += (int64_t)csrec_array_value(&index, k) % 83 >= 42;
    return count;
}

/* Flat on the left and noise on the right: there a recovery expects to be wrong. */
TEST(errors_are_looked_for) {
    CLEARED(csrec_array) picture;
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){2, {61, 83}}, &picture));
    for (int64_t i = 0; i < picture.count; i++)
        ((float *)picture.data)[i] =
            (float)(i % 83 < 41 ? 100.0 : 100.0 + 50.0 * csrec_random_normal(1, 2, (uint64_t)i));
    assert_ok(csrec_array_write("side.npy", &picture, NULL));
    run_well("$S side.npy -o h.npz -r 0.2 && $S h.npz -N 300 -o n.npz");
    assert_true(in_the_right_half() > 200);
    /* A density in an array is in python/tests/test_next.py; a gray picture is one, too. */
    run_well("$S h.npz -N 9 -o g.npz --density gray.png");
    run_well("$S h.npz -N 300 -o n.npz --even");
    assert_in_range(in_the_right_half(), 100, 200);
}

TEST(paths_are_reported) {
    double raster, path;
    run_well("$S gray.png -o s.npz -r 0.1 && $S s.npz -N 200 -o n.csv --path --json");
    const char *text = read_text("out"), *member = strstr(text, "\"raster_length\": ");
    assert_non_null(member);
    assert_int_equal(sscanf(member, "\"raster_length\": %lf, \"path_length\": %lf", &raster, &path),
                     2);
    assert_true(path > 0 && path < raster / 2);
    run_well("tail -n +3 n.csv | sort > a && $S s.npz -N 200 -o - | tail -n +3 | sort | cmp - a");
}

/* A scan, the places to measure next, their values, and both together. */
TEST(a_scan_in_two_steps) {
    CLEARED(csrec_array) picture = read_values("gray.png");
    run_well("$S gray.png -o s.npz -r 0.1 && $S s.npz -N 500 -o n.csv --path -q");
    FILE *from = fopen("n.csv", "r"), *to = fopen("more.csv", "w");
    char line[80];
    assert_true(from && to);
    while (fgets(line, sizeof line, from)) {
        int row, col;
        if (sscanf(line, "%d,%d", &row, &col) == 2)
            fprintf(to, "%d,%d,%g\n", row, col, csrec_array_value(&picture, row * 83 + col));
        else
            fprintf(to, "%.*s%s\n", (int)strcspn(line, "\n"), line, *line == '#' ? "" : ",value");
    }
    fclose(from);
    fclose(to);
    run_well("$R s.npz -Q fast -o a.png && $R s.npz more.csv --merge -Q fast -o b.png");
    assert_true(mean_square("gray.png", "b.png", NULL) < mean_square("gray.png", "a.png", NULL));
    assert_null(strstr(read_text("err"), "warning"));
}

TEST(merged_scans_are_one) {
    run_well("$S gray.png -o s.npz -r 0.2 && $S gray.png -o t.npz -r 0.2 --seed 2 && "
             "$R s.npz t.npz --merge -Q fast -o m.png --report m.html --json");
    assert_non_null(strstr(read_text("out"), "s.npz t.npz --merge"));
    run_well("$R s.npz t.npz --merge -Q fast -o m.png --report m.html --resume -v");
    says("err", "already done");
    run_well("$R s.npz t.npz --merge -Q fast -o - > m && $R t.npz s.npz --merge -Q fast -o - | "
             "cmp m -");
    run_well("$R s.npz s.npz --merge --info");
    says("out", "samples   1013");
}

TEST(contradictions_are_a_warning) {
    FILE *file = fopen("c.csv", "w");
    fprintf(file, "# shape: 4,4\nrow,col,value\n0,0,1\n1,2,9\n3,3,2\n");
    fclose(file);
    file = fopen("d.csv", "w");
    fprintf(file, "# shape: 4,4\nrow,col,value\n1,2,5\n3,3,2\n");
    fclose(file);
    run_well("$R c.csv d.csv --merge -o c.npy");
    const char *text = read_text("err"), *newline = strchr(text, '\n');
    assert_non_null(strstr(text, "warning: c.csv: "));
    assert_non_null(strstr(text, "at 1 position, first at 1,2"));
    assert_true(newline && strncmp(newline + 1, "csrecover: ", 11) == 0);
    check_one_line(newline + 1);
    run_well("$R c.csv d.csv --merge -o c.npy -q");
    assert_int_equal(*read_text("err"), 0);
}

/* Which places: python/tests/test_sequence.py. */
TEST(places_of_the_next_frame) {
    run_well("for t in 0 1; do $S gray.png -o f$t.npz -r 0.1 --seed $t -q || exit 1; done; "
             "$S f0.npz f1.npz --next 70 --seed 3 --sequence -o n.npz --json");
    says("out", "\"measured\": 0");
    run_well("$S f1.npz f0.npz --next 9 --sequence -o n.csv");
    says("err", "note: f1.npz comes before f0.npz");
}

/* Light at n of 20 x 30 pixels, of 1 to 32 rays each. */
static void write_light(const char *name, int64_t n) {
    csrec_measurement m = draw_light_at((csrec_shape){2, {20, 30}}, 1, n);
    m.rays = draw_rays(n);
    assert_ok(csrec_measurement_write(name, &m, false, NULL));
}

/* Which numbers: python/tests/test_next_rays.py. */
TEST(rays_have_numbers) {
    write_light("a.npz", 200);
    write_light("b.npz", 100);
    run_well("$S a.npz b.npz --next 5000 --seed 7 --even -o n.npz --json && "
             "$S a.npz b.npz --next 5000 --seed 7 --even -o n.csv -v");
    says("out", "\"rays\": 5000");
    says("err", "5000 rays at ");
    says("n.csv", "row,col,rays\n");
}

TEST(mistakes_are_named) {
    static const mistake next[] = {
        {"s.npz --next 3", "nothing to write", 2},
        {"s.npz --next 3 -o n.csv -r 0.1", "--rate does not go with --next", 2},
        {"s.npz --next 3 -o n.csv -n 10", "--count does not go with --next", 2},
        {"s.npz --next 3 -o n.csv -p jitter", "--pattern does not go with --next", 2},
        {"s.npz --next 3 -o n.csv --noise 0", "--noise does not go with --next", 2},
        {"s.npz --next 3 -o n.csv -m m.png", "--mask-out does not go with --next", 2},
        {"s.npz --next 3 -o n.csv --procedural", "--procedural does not go with --next", 2},
        {"s.npz --next 3 -o n.png", "positions are .csv or .npz", 2},
        {"s.npz --next 3 -o - --json", "both write to stdout", 2},
        {"s.npz --next 0 -o n.csv", "--next", 2},
        {"s.npz --next 3 -o n.csv --even -d gray.png", "exclude each other", 2},
        {"gray.png -r 0.1 -o n.npz --even", "--even goes with --next", 2},
        {"gray.png -r 0.1 -o n.npz --sequence", "--sequence goes with --next", 2},
        {"s.npz s.npz -r 0.1 -o n.npz", "--next takes several", 2},
        {"s.npz --next 3 -o n.csv --sequence --even", "--even does not go with --sequence", 2},
        {"s.npz --next 3 -o n.csv --sequence -d gray.png", "--density does not go", 2},
        {"s.npz v.npz --next 3 -o n.csv --sequence", "v.npz: frame: has 3 axes", 1},
        {"s.npz none.npz --next 3 -o n.csv --sequence", "none.npz", 1},
        {"s.npz --next 9999 -o n.csv --sequence", "s.npz: count 9999 is not in 1 .. 5063", 1},
        {"gray.png -r 0.1 -o n.npz --path", "--path goes with --next", 2},
        {"gray.png -r 0.1 -o n.npz --density gray.png", "--density goes with --next", 2},
        {"lit.npz --next 9 -o n.csv --path", "lit.npz: has rays, which --path does not", 1},
        {"s.npz v.npz --next 9 -o n.csv", "v.npz: part 2: has another shape", 1},
        {"lit.npz none.npz --next 9 -o n.csv", "none.npz", 1},
        {"s.npz --next 9999 -o n.csv", "s.npz: count 9999 is not in 1 .. 4557", 1},
        {"volume.npy --next 3 -o n.csv", "volume.npy: no position is free", 1},
        {"s.npz --next 3 -o n.csv -d volume.npy", "volume.npy: density of shape 17 x 12 x 20", 1},
        {"s.npz --next 3 -o n.csv -d nan.npy", "nan.npy: density: entry 5 is nan", 1},
        {"c.npz --next 3 -o n.csv -d rgb.png", "rgb.png: density has 3 channels", 1},
        {"s.npz --next 3 -o n.csv -d none.npy", "none.npy", 1}};
    static const mistake merge[] = {{"s.npz --merge -o n.png", "two or more", 2},
                                    {"s.npz - --merge -o n.png", "must be the only input", 2},
                                    {"s.npz v.npz --merge -o n.png", "v.npz: has another shape", 1},
                                    {"s.npz none.npz --merge -o n.png", "none.npz", 1}};
    CLEARED(csrec_array) values = {0};
    assert_ok(csrec_array_create(CSREC_F32, &(csrec_shape){2, {61, 83}}, &values));
    ((float *)values.data)[5] = NAN;
    assert_ok(csrec_array_write("nan.npy", &values, NULL));
    write_light("lit.npz", 50);
    run_well("$S gray.png -o s.npz -r 0.1 && $S rgb.png -o c.npz -r 0.1 && "
             "$S volume.npy -o v.npz -r 0.1");
    expect_mistakes("$S", next, sizeof next / sizeof *next);
    expect_mistakes("$R", merge, sizeof merge / sizeof *merge);
}

FIXTURE(make_inputs, remove_inputs);
