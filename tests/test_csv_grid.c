/* SPDX-License-Identifier: BSD-3-Clause */
/* test_csv_grid.c - coordinates that are positions or places, and cells of places. */
#include "csv_text.h"
#include <float.h>

SEED(seed);

/* Cells of a lattice, printed as numbers of few digits, are found again, whatever its step. */
TEST(lattices_are_found) {
    for (int trial = 0; trial < 50; trial++) {
        int64_t h = 2 + check_below(&seed, 30), w = 2 + check_below(&seed, 30), n = 0;
        double step[2] = {0.01 + check_uniform(&seed), 0.01 + 100 * check_uniform(&seed)};
        double origin[2] = {100 * check_uniform(&seed) - 50, 1e4 * check_uniform(&seed)};
        char *text = check_keep((size_t)(h * w) * 96 + 64);
        int64_t index[900];
        double y[900];
        int at = sprintf(text, "x,y,z\n");
        for (int64_t i = 0; i < h * w; i++) {
            /* A quarter, and at least the first row and column, which hold every coordinate. */
            if (i >= w && i % w && check_next(&seed) & 3) continue;
            index[n] = i;
            y[n++] = check_uniform(&seed);
            at += sprintf(text + at, "%.6f,%.6f,%.17g\n", origin[1] + step[1] * (double)(i % w),
                          origin[0] + step[0] * (double)(i / w), y[n - 1]);
        }
        csrec_placement placement;
        expect(parse_as(text, &(csrec_read_options){.placement = &placement}), h, w, n, index, y);
        for (int d = 0; d < 2; d++) {
            assert_true(fabs(placement.step[d] - step[d]) < 1e-5);
            assert_true(fabs(placement.origin[d] - origin[d]) < 1e-5);
        }
        assert_true(placement.farthest < 0.01);
        assert_int_equal(placement.shared, 0);
    }
}

/* first + step c, first + step r of cells c, r in the first columns. x_first: the first is the fast
 * axis; else the slow one. */
TEST(whole_numbers_are_positions_or_places) {
    static const struct {
        const char *head;
        int64_t first, step;
        bool places, x_first, stepped;
    } cases[] = {{"", 0, 1, false, false, false},
                 {"", 3, 1, false, false, false},
                 {"", 0, 10, false, false, true},
                 {"", 20, 10, true, true, false},
                 {"", 4000, 10, true, true, false},
                 {"", 4000, 1, true, true, false},
                 {"x,y,v\n", 0, 1, false, true, false},
                 {"x,y,v\n", 0, 10, true, true, false},
                 {"lat,lon,v\n", 70, 1, true, false, false},
                 {"p,q,v\n", 70, 2, true, false, false},
                 {"p,q,v\n", 0, 2, false, false, true},
                 {"row,col,v\n", 400, 9, false, false, false},
                 {"i,j,v\n", 400, 9, false, false, false},
                 {"i,j,v\n", 0, 9, false, false, false},
                 {"# shape: 900,900\n", 400, 9, false, false, false},
                 {"", 0, 100000, true, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t w = 8 + check_below(&seed, 20), h = 8 + check_below(&seed, 20), n = 0;
        const int64_t first = cases[i].first, step = cases[i].step;
        const bool places = cases[i].places;
        char text[28 * 28 * 32];
        int at = sprintf(text, "%s", cases[i].head);
        for (int64_t k = 0; k < w * h; k++) { /* the diagonal has all coordinates of the corner */
            int64_t c = k % w, r = k / w;
            if (c != r && k != w * h - 1 && check_next(&seed) & 1) continue;
            at += sprintf(text + at, "%d,%d,%d\n", (int)(first + step * c), (int)(first + step * r),
                          (int)k);
            n++;
        }
        csrec_placement p;
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m = parse_as(text, &(csrec_read_options){.placement = &p});
        assert_int_equal(m.n, n);
        assert_int_equal(p.dims, places ? 2 : 0);
        assert_int_equal(p.whole, places);
        assert_int_equal(p.stepped, cases[i].stepped);
        for (int64_t k = 0; k < n; k++) {
            int64_t cell[2] = {(int64_t)m.y[k] % w, (int64_t)m.y[k] / w};
            for (int d = 0; d < 2 && !places; d++) cell[d] = first + step * cell[d];
            int64_t row = cell[cases[i].x_first], column = cell[!cases[i].x_first];
            assert_int_equal(m.index[k], row * m.shape.dim[1] + column);
        }
        if (places) assert_int_equal(m.shape.dim[0], cases[i].x_first ? h : w);
    }
}

/* All numbers of few decimals have a step, but it makes no grid of scattered points; of lines it
 * does along one axis. */
TEST(decimals_make_no_grid) {
    for (int trial = 0; trial < 20; trial++) {
        int n = 300 + (int)check_below(&seed, 700), lines = 5 + (int)check_below(&seed, 15), at = 0;
        bool scattered = trial & 1;
        char text[1000 * 40];
        csrec_placement p;
        for (int i = 0; i < n; i++)
            at += sprintf(text + at, "%.3f %.3f 1\n", 60 * check_uniform(&seed),
                          scattered ? 60 * check_uniform(&seed) : 2.5 * (i % lines));
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m = parse_as(text, &(csrec_read_options){.placement = &p});
        double cells = (double)(m.shape.dim[0] * m.shape.dim[1]) / n;
        assert_true(cells > 3.5 && cells < 5);
        if (scattered) assert_true(fabs(p.step[0] / p.step[1] - 1) < 0.1);
        if (!scattered) assert_int_equal(m.shape.dim[0], lines);
    }
}

/* Against the nearest of all cells, one by one, and the means of all samples of a cell. */
static void expect_nearest(const csrec_measurement *m, const csrec_placement *p, int n,
                           double (*at)[2], const double *y) {
    double farthest = 0.0, sum[400] = {0};
    int count[400] = {0}, shared = 0;
    int64_t k = 0;
    assert_true(m->shape.dim[0] * m->shape.dim[1] <= 400);
    for (int i = 0; i < n; i++) {
        int64_t cell[2] = {0, 0};
        for (int d = 0; d < 2; d++) {
            double best = INFINITY;
            for (int64_t c = 0; c < m->shape.dim[d]; c++) {
                double away = fabs(p->origin[d] + p->step[d] * (double)c - at[i][d]);
                if (away < best) best = away, cell[d] = c;
            }
            farthest = fmax(farthest, best / p->step[d]);
        }
        sum[cell[0] * m->shape.dim[1] + cell[1]] += y[i];
        count[cell[0] * m->shape.dim[1] + cell[1]]++;
    }
    for (int i = 0; i < 400; i++) {
        if (count[i] > 1) shared += count[i];
        if (!count[i]) continue;
        assert_int_equal(m->index[k], i);
        assert_true(fabs(m->y[k] - sum[i] / count[i]) < 1e-12);
        k++;
    }
    assert_int_equal(m->n, k);
    assert_int_equal(p->shared, shared);
    assert_true(fabs(p->farthest - farthest) < 1e-9);
}

TEST(samples_go_to_the_nearest_cell) {
    for (int trial = 0; trial < 50; trial++) {
        int n = 2 + (int)check_below(&seed, 80), used = 0;
        double at[82][2], y[82];
        char text[82 * 96];
        csrec_shape grid = {2, {2 + check_below(&seed, 18), 2 + check_below(&seed, 18)}};
        csrec_placement placement;
        csrec_read_options options = {
            .placement = &placement, .grid = trial & 1 ? &grid : NULL, .cell_means = true};
        for (int i = 0; i < n; i++) {
            at[i][0] = 30 * check_uniform(&seed) - 5;
            at[i][1] = 20 * check_uniform(&seed);
            y[i] = check_uniform(&seed);
            used += sprintf(text + used, "%.17g %.17g %.17g\n", at[i][1], at[i][0], y[i]);
        }
        CLEARED(csrec_measurement) m = parse_as(text, &options);
        assert_int_equal(placement.dims, 2);
        if (options.grid) assert_true(csrec_shape_equal(&m.shape, &grid));
        if (m.shape.dim[0] * m.shape.dim[1] <= 400) expect_nearest(&m, &placement, n, at, y);
    }
    expect(parse("0.5;1;1.7976931348623157e+308\n0.5;1;1.7976931348623157e+308\n"
                 "0.5;1;1.7976931348623157e+308\n"),
           1, 1, 1, &(int64_t){0}, &(double){DBL_MAX});
    csrec_read_options options = {.grid = &(csrec_shape){3, {4, 4, 4}}};
    refuse_as("0,1,2\n", &options, "3 extents but samples have 2");
    /* Whole numbers on a grid, all of one x. */
    options.grid = &(csrec_shape){2, {4, 0}};
    refuse_as("0,1,2\n", &options, "0 cells along axis 1");
    options.grid = &(csrec_shape){2, {3, 3}};
    expect(parse_as("7,10,1\n7,20,2\n7,30,3\n", &options), 3, 3, 3, (const int64_t[]){0, 3, 6},
           (const double[]){1, 2, 3});
}

/* What bends least through samples of a linear function is this function, but nothing beyond the
 * samples. A channel that is missing somewhere is moved by the samples that have it. */
TEST(values_are_those_of_the_middles) {
    enum { N = 16 };
    for (int trial = 0; trial < 40; trial++) {
        const int dims = 2 + trial % 2;
        const csrec_shape grid = {dims, {40, 40, 40}};
        double at[N * 3], y[N * 2], slope[3];
        double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
        csrec_placement p;
        CLEARED(csrec_measurement) m = {0};
        for (int d = 0; d < dims; d++) slope[d] = check_uniform(&seed) - 0.5;
        for (int i = 0; i < N; i++) {
            y[2 * i] = 7.0;
            for (int d = 0; d < dims; d++) {
                at[i * dims + d] = 3.0 * check_uniform(&seed);
                y[2 * i] += slope[d] * at[i * dims + d];
            }
            y[2 * i + 1] = i % 7 == 3 ? NAN : -2.0 * y[2 * i];
            for (int c = 0; c < 2; c++) {
                least[c] = fmin(least[c], y[2 * i + c]);
                most[c] = fmax(most[c], y[2 * i + c]);
            }
        }
        const csrec_read_options options = {.grid = &grid, .placement = &p};
        assert_ok(csrec_measurement_place(N, dims, at, 2, y, &options, &m, NULL));
        assert_true(p.moved > 0.0);
        for (int64_t k = 0; k < m.n && !p.shared; k++) {
            double expected = 7.0;
            for (int64_t d = dims, rest = m.index[k]; d-- > 0; rest /= 40)
                expected += slope[d] * (p.origin[d] + p.step[d] * (double)(rest % 40));
            for (int c = 0; c < 2; c++) {
                const double value = fmin(fmax(c ? -2.0 * expected : expected, least[c]), most[c]);
                if (!isnan(m.y[2 * k + c])) assert_true(fabs(m.y[2 * k + c] - value) < 1e-8);
            }
        }
    }
}

TEST(points_in_memory_are_checked) {
    static const double at[] = {0, 1, 2, 3}, one[] = {1}, none[] = {NAN}, wild[] = {INFINITY};
    static const struct {
        int64_t n;
        int dims;
        const double *at, *y;
        const char *part;
    } wrong[] = {{0, 2, at, one, "need samples"},
                 {1, 9, at, one, "1 to 8 coordinates"},
                 {1, 1, wild, one, "coordinate 0 of sample 0"},
                 {1, 2, at, wild, "value 0 of sample 0"},
                 {1, 2, at, none, "no value is known"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        csrec_measurement m;
        csrec_error error = {""};
        assert_int_not_equal(csrec_measurement_place(wrong[i].n, wrong[i].dims, wrong[i].at, 1,
                                                     wrong[i].y, NULL, &m, &error),
                             CSREC_OK);
        io_assert_line(&error, "points", wrong[i].part);
    }
}
