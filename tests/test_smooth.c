/* SPDX-License-Identifier: BSD-3-Clause */
/* Method smooth: plates against dense minima of their energies, noise against its sigma, series
 * against dense posterior means and what they must keep. */
#include "linear.h"

#include "line.h"
#include "method/smooth/plate.h"

CHECK_END(plate)

enum { MOST = 400 };

static int64_t count_of(const int64_t n[3]) {
    return n[0] * n[1] * n[2];
}

/* E += d d^T of a difference: `terms` entries and their factors. */
static void add_square(int64_t count, int terms, const int64_t *place, const double *part,
                       double *E) {
    for (int k = 0; k < terms; k++)
        for (int l = 0; l < terms; l++) E[place[k] * count + place[l]] += part[k] * part[l];
}

/* D_a u, or D_a D_b u, at entry i; nothing where it leaves the grid. */
static void add_difference(const int64_t n[3], int64_t i, int a, int b, double *E) {
    const int64_t stride[3] = {n[1] * n[2], n[2], 1};
    int64_t place[4];
    double part[4];
    const int terms = b < 0 ? 2 : 4;
    for (int k = 0; k < terms; k++) {
        int64_t c[3] = {i / stride[0], i / stride[1] % n[1], i % n[2]};
        c[a] += k % 2;
        if (b >= 0) c[b] += k / 2;
        if (c[a] >= n[a] || (b >= 0 && c[b] >= n[b])) return;
        place[k] = c[0] * stride[0] + c[1] * stride[1] + c[2];
        part[k] = (k % 2 ? 1.0 : -1.0) * (b < 0 || k / 2 ? 1.0 : -1.0);
    }
    add_square(count_of(n), terms, place, part, E);
}

/* (L u)_i = sum over the neighbours j of entry i of u_i - u_j. */
static void add_laplacian(const int64_t n[3], int64_t i, double *E) {
    const int64_t stride[3] = {n[1] * n[2], n[2], 1};
    int64_t place[7] = {i};
    double part[7] = {0.0};
    int terms = 1;
    for (int a = 0; a < 3; a++)
        for (int64_t step = -1; step <= 1; step += 2) {
            const int64_t at = i / stride[a] % n[a] + step;
            if (at < 0 || at >= n[a]) continue;
            part[0] += 1.0;
            place[terms] = i + step * stride[a];
            part[terms++] = -1.0;
        }
    add_square(count_of(n), terms, place, part, E);
}

static double *energy(const int64_t n[3], csrec_plate_kind kind) {
    double *E = calloc((size_t)(count_of(n) * count_of(n)), sizeof *E);
    for (int64_t i = 0; i < count_of(n); i++) {
        if (kind == CSREC_PLATE_BIHARMONIC) add_laplacian(n, i, E);
        for (int a = 0; a < 3 && kind != CSREC_PLATE_BIHARMONIC; a++)
            for (int b = 0; b < (kind == CSREC_PLATE_THIN ? 3 : 1); b++)
                add_difference(n, i, a, kind == CSREC_PLATE_THIN ? b : -1, E);
    }
    return E;
}

static double *dense_minimum(const int64_t n[3], const double *E, const uint8_t *fixed,
                             const double *weight, const double *y, double *u) {
    const int64_t count = count_of(n);
    int64_t free_at[MOST], m = 0;
    for (int64_t i = 0; i < count; i++)
        if (fixed[i])
            u[i] = y[i];
        else
            free_at[m++] = i;
    OWNED double *A = malloc((size_t)(m * m) * sizeof *A), *b = malloc((size_t)m * sizeof *b);
    for (int64_t r = 0; r < m; r++) {
        const int64_t i = free_at[r];
        b[r] = weight[i] * y[i];
        for (int64_t j = 0; j < count; j++)
            if (fixed[j]) b[r] -= E[i * count + j] * y[j];
        for (int64_t c = 0; c < m; c++)
            A[r * m + c] = E[i * count + free_at[c]] + (r == c ? weight[i] : 0.0);
    }
    eliminate(m, A, b);
    for (int64_t r = 0; r < m; r++) u[free_at[r]] = b[r];
    return u;
}

/* Fixed and weighted samples, at least a third of all entries; corners are fixed, so that the
 * energy has one minimum. */
TEST(plates_are_the_minima_of_their_energies) {
    for (int round = 0; round < 40; round++) {
        const int axes = 1 + round % 3;
        const csrec_plate_kind kind = (csrec_plate_kind)(1 + round / 3 % 3);
        int64_t n[3] = {1, 1, 1};
        for (int a = 3 - axes; a < 3; a++)
            n[a] = 3 + check_below(&seed, axes == 1 ? 60 : axes == 2 ? 14 : 5);
        const int64_t count = count_of(n);
        const bool weighted = round % 4 == 3;
        OWNED uint8_t *fixed = calloc((size_t)count, 1);
        OWNED double *weight = calloc((size_t)count, sizeof *weight);
        OWNED double *y = malloc((size_t)count * sizeof *y), *u = malloc((size_t)count * sizeof *u);
        OWNED double *wanted = malloc((size_t)count * sizeof *wanted), *E = energy(n, kind);
        for (int64_t i = 0; i < count; i++) {
            y[i] = 100.0 * check_normal(&seed);
            fixed[i] = check_uniform(&seed) < 0.3;
            for (int a = 0, corner = 1; a < 3; a++) {
                int64_t c = a == 0 ? i / (n[1] * n[2]) : a == 1 ? i / n[2] % n[1] : i % n[2];
                corner = corner && (c == 0 || c == n[a] - 1);
                if (a == 2 && corner) fixed[i] = 1;
            }
            if (weighted && !fixed[i] && check_below(&seed, 2))
                weight[i] = pow(10.0, 3.0 * check_uniform(&seed) - 2.0);
            u[i] = fixed[i] ? y[i] : 0.0;
        }
        ENDS_BY(end_plate) csrec_plate *plate;
        assert_ok(
            csrec_plate_create(n, kind, fixed, weighted ? weight : NULL, 1 + round % 3, &plate));
        assert_true(csrec_plate_solve(plate, weighted ? y : NULL, 1e-11, 2000, NULL, u) < 400);
        dense_minimum(n, E, fixed, weight, y, wanted);
        for (int64_t i = 0; i < count; i++)
            if (!(fabs(u[i] - wanted[i]) <= 1e-5))
                fail_msg("%d x %d x %d, kind %d: entry %d is %.9g, not %.9g", (int)n[0], (int)n[1],
                         (int)n[2], (int)kind, (int)i, u[i], wanted[i]);
    }
}

/* A hole of 100 pixels takes as many iterations as one of 20, nearly: that is what the coarse grids
 * are for. */
TEST(large_holes_take_few_iterations) {
    enum { SIDE = 160 };
    const int64_t n[3] = {1, SIDE, SIDE};
    OWNED uint8_t *fixed = malloc(SIDE * SIDE);
    OWNED double *u = malloc(SIDE * SIDE * sizeof *u);
    for (int kind = 1; kind <= 3; kind++)
        for (int edge = 20; edge <= 100; edge += 80) {
            for (int i = 0; i < SIDE * SIDE; i++) {
                const int y = i / SIDE - 30, x = i % SIDE - 30;
                fixed[i] = y < 0 || y >= edge || x < 0 || x >= edge;
                u[i] = fixed[i] ? 50.0 * sin(0.05 * y) + 30.0 * cos(0.08 * x) : 0.0;
            }
            ENDS_BY(end_plate) csrec_plate *plate;
            assert_ok(csrec_plate_create(n, (csrec_plate_kind)kind, fixed, NULL, 1, &plate));
            assert_true(csrec_plate_solve(plate, NULL, 1e-6, 1000, NULL, u) < 60);
        }
}

/* A share of the entries of l->truth. */
static void take_some(line *l, double rate) {
    l->s = (csrec_series){.n = LENGTH, .at = l->at, .v = l->v};
    for (int64_t i = 0; i < LENGTH; i++) {
        l->t[i] = (i ? l->t[i - 1] : 0.0) + 0.1 + check_uniform(&seed);
        if (i > 2 && i != LENGTH - 1 && check_uniform(&seed) >= rate) continue;
        l->at[l->s.m] = i;
        l->v[l->s.m++] = l->truth[i];
    }
}

TEST(straight_lines_stay) {
    line l;
    for (int way = 0; way < 6; way++) {
        for (int64_t i = 0; i < LENGTH; i++) l.truth[i] = 3.0 - 0.25 * (double)i;
        take_some(&l, 0.2);
        if (way % 2) {
            l.s.t = l.t;
            for (int64_t k = 0; k < l.s.m; k++) l.v[k] = 3.0 - 0.25 * l.t[l.at[k]];
        }
        if (way < 2) csrec_series_linear(&l.s, l.x);
        if (way == 2 || way == 3) csrec_series_cubic(&l.s, l.x);
        if (way > 3) assert_ok(csrec_series_vote(&l.s, 6, 1, l.x, NULL));
        for (int64_t i = 0; i < LENGTH; i++) {
            const double wanted = 3.0 - 0.25 * (way % 2 ? l.t[i] : (double)i);
            assert_true(fabs(l.x[i] - wanted) < 1e-5 * 75.0);
        }
    }
}

/* Between two samples x lies between them, so it is monotone where they are. */
TEST(cubic_pieces_stay_between_their_samples) {
    line l;
    for (int round = 0; round < 20; round++) {
        draw_walk(&l);
        take_some(&l, 0.3);
        if (round % 2) l.s.t = l.t;
        csrec_series_cubic(&l.s, l.x);
        for (int64_t k = 0; k + 1 < l.s.m; k++)
            for (int64_t i = l.at[k]; i <= l.at[k + 1]; i++) {
                assert_true(l.x[i] >= fmin(l.v[k], l.v[k + 1]) - 1e-9);
                assert_true(l.x[i] <= fmax(l.v[k], l.v[k + 1]) + 1e-9);
            }
    }
}

/* K^-1 of all samples at once. */
TEST(the_process_is_that_of_dense_matrices) {
    line l;
    for (int round = 0; round < 6; round++) {
        draw_walk(&l);
        take_some(&l, 0.3);
        if (round % 2) l.s.t = l.t;
        const csrec_series_process p =
            round < 3 ? csrec_series_process_fit(&l.s) : (csrec_series_process){20.0, 0.1, 1.0};
        const int64_t m = l.s.m;
        OWNED double *K = malloc((size_t)(m * m) * sizeof *K), *b = malloc((size_t)m * sizeof *b);
        double mean = 0.0;
        for (int64_t k = 0; k < m; k++) mean += l.v[k] / (double)m;
        for (int64_t k = 0; k < m; k++) {
            b[k] = l.v[k] - mean;
            for (int64_t j = 0; j < m; j++) {
                const double far =
                    fabs(csrec_series_time(&l.s, l.at[k]) - csrec_series_time(&l.s, l.at[j]));
                K[k * m + j] = exp(-far / p.length) + (k == j ? p.noise + 1e-9 : 0.0);
            }
        }
        eliminate(m, K, b);
        assert_ok(csrec_series_process_fill(&l.s, &p, l.x));
        for (int64_t i = 0; i < LENGTH; i++) {
            double wanted = mean;
            for (int64_t k = 0; k < m; k++)
                wanted += b[k] *
                          exp(-fabs(csrec_series_time(&l.s, i) - csrec_series_time(&l.s, l.at[k])) /
                              p.length);
            assert_true(fabs(l.x[i] - wanted) < 1e-6);
        }
    }
}

/* A few sinusoids are found to rounding; steps are left to ways that do not swing. */
TEST(the_vote_is_that_of_the_samples) {
    line l;
    double share[6], off = 0.0, plain = 0.0;
    for (int64_t i = 0; i < LENGTH; i++)
        l.truth[i] =
            sin(0.31 * (double)i) + 0.5 * sin(0.77 * (double)i + check_uniform(&seed) * 1e-9);
    take_some(&l, 0.5);
    assert_ok(csrec_series_vote(&l.s, 6, 1, l.x, share));
    for (int64_t i = 0; i < LENGTH; i++) assert_true(fabs(l.x[i] - l.truth[i]) < 1e-3);
    assert_true(share[4] > 0.9);
    for (int round = 0; round < 20; round++) {
        for (int64_t i = 0; i < LENGTH; i++)
            l.truth[i] = i % 25 ? l.truth[i - 1] : check_normal(&seed);
        take_some(&l, 0.5);
        assert_ok(csrec_series_vote(&l.s, 6, 1, l.x, share));
        for (int64_t i = 0; i < LENGTH; i++) off += fabs(l.x[i] - l.truth[i]);
        csrec_series_linear(&l.s, l.x);
        for (int64_t i = 0; i < LENGTH; i++) plain += fabs(l.x[i] - l.truth[i]);
    }
    assert_true(off < 1.5 * plain);
}

/* One interval beyond the samples too. */
TEST(splines_are_exact_for_cubics) {
    line l;
    for (int round = 0; round < 20; round++) {
        take_some(&l, 0.3);
        if (round % 2) l.s.t = l.t;
        for (int64_t i = 0; i < LENGTH; i++) {
            const double t = csrec_series_time(&l.s, i) / LENGTH;
            l.truth[i] = 3.0 * (t - 0.1) * (t - 0.3) * (t - 0.8);
        }
        for (int64_t k = 0; k < l.s.m; k++) l.v[k] = l.truth[l.at[k]];
        l.s.at++, l.s.v++, l.s.m--; /* entry 0 is beyond them */
        assert_ok(csrec_series_spline(&l.s, l.x));
        for (int64_t i = 1; i < LENGTH; i++) assert_true(fabs(l.x[i] - l.truth[i]) < 1e-8);
    }
}

/* Every k-th entry, and up to two beside: aliases, of errors of 100 and more, fit as well. */
TEST(samples_at_equal_distances_have_no_aliases) {
    line l;
    for (int round = 0; round < 24; round++) {
        const int64_t k = 2 + round % 4, from = check_below(&seed, (int)k);
        const double noise = round < 12 ? 0.0 : 0.01, phase = 6.0 * check_uniform(&seed);
        double off = 0.0, spline[LENGTH], wanted = 0.0;
        l.s = (csrec_series){.n = LENGTH, .at = l.at, .v = l.v};
        for (int64_t i = 0; i < LENGTH; i++) {
            l.truth[i] =
                sin((double)i / 14.0 + phase) + 0.3 * cos((double)i / 7.0) + 1e6 * (round / 2 % 2);
            if (i % k != from && (i < LENGTH / 2 || i >= LENGTH / 2 + round / 4 % 3)) continue;
            l.at[l.s.m] = i;
            l.v[l.s.m++] = l.truth[i] + noise * check_normal(&seed);
        }
        assert_ok(csrec_series_vote(&l.s, 6, 1, l.x, NULL));
        assert_ok(csrec_series_spline(&l.s, spline));
        for (int64_t i = 0; i < LENGTH; i++) {
            off += pow(l.x[i] - l.truth[i], 2.0);
            wanted += pow(spline[i] - l.truth[i], 2.0);
        }
        assert_true(off <= (noise > 0.0 ? 1.0 : fmax(wanted, 1e-9)));
    }
}

static bool stop_late(const csrec_progress *progress, void *left) {
    nanosleep(&(struct timespec){.tv_nsec = 11 * 1000 * 1000},
              NULL); /* so that each poll reports */
    (void)progress;
    return --*(int *)left == 0;
}

/* It asks before every fold, way and step of both; x is linear then. */
TEST(a_stop_leaves_the_line_linear) {
    line l;
    double linear[LENGTH];
    draw_walk(&l);
    take_some(&l, 0.7);
    csrec_series_linear(&l.s, linear);
    for (int stop_at = 1; stop_at < 50; stop_at = 3 * stop_at + 1) {
        int left = stop_at;
        csrec_call call;
        csrec_call_begin(&call, stop_late, &left, (csrec_progress){0});
        l.s.call = &call;
        assert_ok(csrec_series_vote(&l.s, 6, 1, l.x, NULL));
        assert_int_equal(left, 0);
        assert_memory_equal(l.x, linear, sizeof linear);
        csrec_call_end(&call);
    }
}

/* One sample, samples all equal, none missing. */
TEST(lines_of_little_are_filled) {
    const int64_t at[] = {2, 4, 5, 6, 7, 8, 9, 10, 11};
    const double v[] = {7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0};
    double x[12];
    for (int m = 1; m <= 9; m++) {
        const csrec_series s = {.n = 12, .m = m, .at = at, .v = v};
        assert_ok(csrec_series_vote(&s, 6, 1, x, NULL));
        for (int i = 0; i < 12; i++) assert_true(x[i] == 7.0);
        assert_ok(csrec_series_autoregressive(&s, 16, 0.0, x));
        assert_ok(csrec_series_sinusoids(&s, 24, x));
        csrec_series_cubic(&s, x);
        for (int i = 0; i < 12; i++) assert_true(isfinite(x[i]));
    }
}
