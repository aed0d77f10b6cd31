/* SPDX-License-Identifier: BSD-3-Clause */
/* test_beside.c - fits by guides, the planes that networks of models of kind beside take, and their
 * passes, against definitions in double. */
#include "learn/net/beside.h"
#include "linear.h"
#include "prior_model.h"

enum { MOST = CSREC_GUIDED_MOST };

/* Samples z where known, and guides. */
typedef struct picture {
    int64_t h, w;
    int guides;
    const float *guide, *z;
    const uint8_t *known;
} picture;

/* [cells][guides + 2][guides + 2]: of each cell of 2^level x 2^level pixels the sums, at its
 * samples, of products of two of 1, the guides, z. */
static double *moments(const picture *p, int level, int64_t rows, int64_t columns) {
    const int64_t n = p->h * p->w, count = p->guides + 2;
    double *M = check_keep_zeros((size_t)(rows * columns * count * count), sizeof *M);
    for (int64_t i = 0; i < n; i++) {
        double v[MOST + 2] = {1.0}, *to = M;
        to += (((i / p->w) >> level) * columns + ((i % p->w) >> level)) * count * count;
        for (int g = 0; g < p->guides; g++) v[g + 1] = (double)p->guide[g * n + i];
        v[count - 1] = (double)p->z[i];
        for (int64_t k = 0; k < count * count && p->known[i]; k++)
            to[k] += v[k / count] * v[k % count];
    }
    return M;
}

/* Those of cell (y, x) spread by a Gauss function of 1.2 cells, cut at 4. */
static void spread_moments(const double *M, int64_t rows, int64_t columns, int64_t size, int64_t y,
                           int64_t x, double *sum) {
    double whole = 0.0;
    for (int k = -4; k <= 4; k++) whole += exp(-0.5 * k * k / 1.44);
    memset(sum, 0, (size_t)size * sizeof *sum);
    for (int64_t i = y - 4; i <= y + 4; i++)
        for (int64_t j = x - 4; j <= x + 4; j++) {
            const double far = (double)((i - y) * (i - y) + (j - x) * (j - x));
            const double weight = exp(-0.5 * far / 1.44) / (whole * whole);
            for (int64_t k = 0; k < size && i >= 0 && j >= 0 && i < rows && j < columns; k++)
                sum[k] += weight * M[(i * columns + j) * size + k];
        }
}

/* Coefficients a [guides + 1] of these sums; returns how many samples they have around them. */
static double solve_cell(int guides, const double *sum, bool whole, double *a) {
    const int64_t count = guides + 2;
    const double weight = fmax(sum[0], 1e-12);
    const double n = sum[0] * (whole ? 1.0 : 4.0 * 3.141592653589793 * 1.44);
    double C[MOST * MOST];
    for (int i = 0; i < guides; i++) {
        for (int j = 0; j < guides; j++)
            C[i * guides + j] =
                sum[(i + 1) * count + j + 1] / weight - sum[i + 1] * sum[j + 1] / (weight * weight);
        C[i * guides + i] += 0.1 / fmax(n, 1e-3) + 1e-4;
        a[i] = sum[(i + 1) * count + count - 1] / weight -
               sum[i + 1] * sum[count - 1] / (weight * weight);
    }
    eliminate(guides, C, a);
    a[guides] = sum[count - 1] / weight;
    for (int i = 0; i < guides; i++) a[guides] -= a[i] * sum[i + 1] / weight;
    return n;
}

/* Value k of entry (y, x) of a level, between the cells of the next one, [rows][columns][size]. */
static double between(const double *cells, int64_t rows, int64_t columns, int64_t size, int64_t k,
                      int64_t y, int64_t x) {
    const double v = fmin(fmax(((double)y - 0.5) / 2.0, 0.0), (double)(rows - 1));
    const double u = fmin(fmax(((double)x - 0.5) / 2.0, 0.0), (double)(columns - 1));
    const int64_t i = (int64_t)v, j = (int64_t)u, below = i + 1 < rows ? i + 1 : i,
                  right = j + 1 < columns ? j + 1 : j;
    const double t = v - (double)i, s = u - (double)j;
    return (1.0 - t) * ((1.0 - s) * cells[(i * columns + j) * size + k] +
                        s * cells[(i * columns + right) * size + k]) +
           t * ((1.0 - s) * cells[(below * columns + j) * size + k] +
                s * cells[(below * columns + right) * size + k]);
}

/* Coefficients of a level, [rows][columns][guides + 1]. */
static double *coefficients(const picture *p, int level) {
    const int64_t side = INT64_C(1) << level, size = p->guides + 1;
    const int64_t rows = (p->h + side - 1) / side, columns = (p->w + side - 1) / side;
    const bool whole = rows == 1 && columns == 1;
    const double *M = moments(p, level, rows, columns);
    const double *next = whole ? NULL : coefficients(p, level + 1);
    double *own = check_room(rows * columns * size);
    for (int64_t i = 0; i < rows * columns; i++) {
        double sum[(MOST + 2) * (MOST + 2)], a[MOST + 1];
        spread_moments(M, rows, columns, (size + 1) * (size + 1), i / columns, i % columns, sum);
        const double n = solve_cell(p->guides, whole ? M : sum, whole, a);
        const double q = whole ? 1.0 : fmin(fmax((n - 5.0) / 10.0, 0.0), 1.0);
        for (int64_t k = 0; k < size; k++)
            own[i * size + k] =
                q * a[k] + (whole ? 0.0
                                  : (1.0 - q) * between(next, (rows + 1) / 2, (columns + 1) / 2,
                                                        size, k, i / columns, i % columns));
    }
    return own;
}

static double *fit_by_definition(const picture *p) {
    const int64_t n = p->h * p->w, size = p->guides + 1;
    double *fit = check_room(n), low = 0.0, high = 0.0;
    for (int64_t i = 0; i < n; i++) {
        low = fmin(low, (double)p->z[i]);
        high = fmax(high, (double)p->z[i]);
    }
    if (n == 1) low = high = (double)p->z[0];
    const double *cells = n > 1 ? coefficients(p, 1) : NULL;
    for (int64_t i = 0; i < n; i++) {
        fit[i] = n > 1 ? 0.0 : low;
        for (int64_t k = 0; k < size && n > 1; k++)
            fit[i] += between(cells, (p->h + 1) / 2, (p->w + 1) / 2, size, k, i / p->w, i % p->w) *
                      (k < p->guides ? (double)p->guide[k * n + i] : 1.0);
        fit[i] = fmin(fmax(fit[i], low - (high - low) / 2), high + (high - low) / 2);
    }
    return fit;
}

static picture draw_picture(int64_t h, int64_t w, int guides, double share) {
    const int64_t n = h * w;
    float *guide = floats(guides * n), *z = floats(n);
    uint8_t *known = draw_known(n, share);
    known[check_below(&seed, n)] = 1;
    for (int64_t i = 0; i < guides * n; i++)
        guide[i] = (float)fmin(fmax(check_normal(&seed), -8.0), 8.0);
    for (int64_t i = 0; i < n; i++) {
        if (i % w < w / 2 && i / w < h / 3) known[i] = known[i] && i % 5 == 0; /* a hole */
        const double g = (double)guide[i] * (i % w < 6 ? -1.0 : 1.0);
        z[i] = known[i] ? (float)(g + 0.2 * check_normal(&seed)) : 0.0f;
    }
    return (picture){h, w, guides, guide, z, known};
}

TEST(fits_equal_their_definition) {
    static const int64_t shapes[][2] = {{1, 1},   {1, 2},   {1, 37}, {29, 1},
                                        {21, 34}, {40, 17}, {9, 8},  {64, 65}};
    for (int round = 0; round < 48; round++) {
        const int64_t h = shapes[round % 8][0], w = shapes[round % 8][1], n = h * w;
        const picture p = draw_picture(h, w, 1 + (int)check_below(&seed, MOST),
                                       round % 3 ? check_uniform(&seed) : 0.02);
        float *weight = floats(n), *work = floats(csrec_guided_work(h, w, p.guides)), *fit[2];
        const double *wanted = fit_by_definition(&p);
        for (int64_t i = 0; i < n; i++) weight[i] = p.known[i] ? 1.0f : 0.0f;
        for (int k = 0; k < 2; k++) {
            fit[k] = floats(n);
            csrec_guided_fit(h, w, p.guides, p.guide, p.z, weight, k ? 3 : 1, work, fit[k]);
        }
        assert_memory_equal(fit[0], fit[1], (size_t)n * sizeof(float));
        for (int64_t i = 0; i < n; i++)
            if (!(fabs((double)fit[0][i] - wanted[i]) <= 1e-3))
                fail_msg("%d guides, pixel %lld of %lld x %lld: %g, not %g", p.guides, (long long)i,
                         (long long)h, (long long)w, (double)fit[0][i], wanted[i]);
    }
}

enum { FRAMES = 3, GUIDES = 3 };

/* A window of a random picture: frames without samples, guides that are constant or far from 0. */
static csrec_beside_window draw_window(int64_t n, int round) {
    csrec_beside_window w = {.frames = FRAMES,
                             .guides = round % (GUIDES + 1),
                             .sigma = (float)(9.0 * check_uniform(&seed)),
                             .tone = 1.0f,
                             .threads = 1 + round % 3};
    float *guide = floats(GUIDES * n);
    for (int t = 0; t < FRAMES; t++) {
        float *values = floats(n);
        uint8_t *known = draw_known(n, check_uniform(&seed));
        if (t == FRAMES / 2) known[check_below(&seed, n)] = 1;
        for (int64_t i = 0; i < n; i++)
            values[i] = known[i] ? (float)(100.0 + 40.0 * check_normal(&seed)) : NAN;
        w.values[t] = values;
        w.known[t] = t != FRAMES / 2 && round % 5 == 1 + t ? NULL : known;
    }
    for (int64_t i = 0; i < n; i++) {
        guide[i] = (float)(round % 3 ? check_normal(&seed) : 7.25);
        guide[n + i] = 1e6f + 0.0625f * (float)check_below(&seed, 64);
        guide[2 * n + i] = i == 0 ? 1e4f : (float)check_uniform(&seed); /* beyond 8 if n > 65 */
    }
    w.guide = guide;
    return w;
}

typedef struct seen {
    double *plane, mean, unit; /* [3 FRAMES + 2 + GUIDES][n] */
} seen;

static void normalise(int64_t n, const float *guide, double *own) {
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) mean += (double)guide[i] / (double)n;
    for (int64_t i = 0; i < n; i++) square += pow((double)guide[i] - mean, 2.0) / (double)n;
    for (int64_t i = 0; i < n; i++)
        own[i] =
            fmin(fmax(square > 1e-9 ? ((double)guide[i] - mean) / sqrt(square) : 0.0, -8.0), 8.0);
}

/* F of the middle frame's z, by guides that are known to the network. */
static void place_F(int64_t h, int64_t w, const uint8_t *known, const double *z,
                    const double *guide, double *F) {
    const int64_t n = h * w;
    float *z_float = floats(n), *guides = floats(GUIDES * n);
    double *rest = check_room(n);
    for (int64_t i = 0; i < n; i++) z_float[i] = (float)z[i];
    for (int64_t i = 0; i < GUIDES * n; i++) guides[i] = (float)guide[i];
    const double *fit = fit_by_definition(&(picture){h, w, GUIDES, guides, z_float, known});
    for (int64_t i = 0; i < n; i++) rest[i] = known[i] ? z[i] - fit[i] : 0.0;
    for (int64_t i = 0; i < n; i++) F[i] = fit[i] + spread(h, w, known, rest, 0, i / w, i % w);
}

static seen planes_by_definition(const csrec_beside_window *win, int64_t h, int64_t w) {
    const int64_t n = h * w;
    seen p = {.plane = check_keep_zeros((size_t)((3 * FRAMES + 2 + GUIDES) * n), sizeof(double))};
    double count = 0.0, square = 0.0, *level = p.plane + 3 * FRAMES * n, *guide = level + n;
    bool guided = false;
    for (int64_t i = 0; i < FRAMES * n; i++)
        if (win->known[i / n] && win->known[i / n][i % n])
            count += 1.0, p.mean += (double)win->values[i / n][i % n];
    p.mean /= count;
    for (int64_t i = 0; i < FRAMES * n; i++)
        if (win->known[i / n] && win->known[i / n][i % n])
            square += pow((double)win->values[i / n][i % n] - p.mean, 2.0) / count;
    p.unit = sqrt(square + (double)win->tone * (double)win->tone);
    for (int t = 0; t < FRAMES; t++) {
        double *z = p.plane + (FRAMES + t) * n;
        for (int64_t i = 0; i < n && win->known[t]; i++) {
            p.plane[(2 * FRAMES + t) * n + i] = win->known[t][i];
            z[i] = win->known[t][i] ? ((double)win->values[t][i] - p.mean) / p.unit : 0.0;
        }
        for (int64_t i = 0; i < n && win->known[t]; i++)
            p.plane[t * n + i] = spread(h, w, win->known[t], z, 0, i / w, i % w);
    }
    for (int64_t i = 0; i < n; i++) level[i] = (double)win->sigma / p.unit;
    for (int g = 0; g < win->guides; g++) normalise(n, win->guide + g * n, guide + g * n);
    for (int64_t i = 0; i < GUIDES * n; i++) guided = guided || guide[i] != 0.0;
    const int middle = FRAMES / 2;
    if (guided)
        place_F(h, w, win->known[middle], p.plane + (FRAMES + middle) * n, guide,
                guide + GUIDES * n);
    else
        memcpy(guide + GUIDES * n, p.plane + middle * n, (size_t)n * sizeof *level);
    return p;
}

static void open_beside(const csrec_model *model, int64_t h, int64_t w, csrec_beside *b) {
    const csrec_net_options options = {.threads = 2};
    assert_well(csrec_beside_create(&(csrec_prior_from){.model = model}, true, 0,
                                    &csrec_context_cpu, &options, h, w, b, &told));
}

TEST(planes_equal_their_words) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(FRAMES, GUIDES, 0.05);
    for (int round = 0; round < 40; round++) {
        const int64_t h = 1 + check_below(&seed, 20), w = 1 + check_below(&seed, 20), n = h * w;
        const csrec_beside_window win = draw_window(n, round);
        CLEARED(csrec_beside) b;
        open_beside(model, h, w, &b);
        csrec_beside_look(&b, &win);
        const seen p = planes_by_definition(&win, h, w);
        assert_int_equal(b.n_planes, 3 * FRAMES + 2 + GUIDES);
        assert_true(fabs(b.mean - p.mean) <= 1e-6 * fabs(p.mean));
        assert_true(fabs(b.unit - p.unit) <= 1e-6 * p.unit);
        for (int64_t i = 0; i < b.n_planes * n; i++)
            if (!(fabs((double)b.planes[i] - p.plane[i]) <=
                  (i / n == b.n_planes - 1 ? 2e-3 : 5e-5)))
                fail_msg("round %d, plane %lld, pixel %lld of %lld x %lld: %g, not %g", round,
                         (long long)(i / n), (long long)(i % n), (long long)h, (long long)w,
                         (double)b.planes[i], p.plane[i]);
    }
}

static csrec_beside look_at_random(const csrec_model *model, int64_t h, int64_t w) {
    csrec_beside b;
    const csrec_beside_window win = draw_window(h * w, 7);
    open_beside(model, h, w, &b);
    csrec_beside_look(&b, &win);
    return b;
}

/* The result is F: of a network whose last layer is 0, whose variance is exp(-2), and after a
 * request to stop. */
TEST(without_a_difference_it_is_F) {
    for (int stops = 0; stops < 2; stops++) {
        ENDS_BY(end_model) csrec_model *model = draw_beside(FRAMES, GUIDES, stops ? 0.05 : 0.0);
        const int64_t h = 1 + check_below(&seed, 30), w = 1 + check_below(&seed, 30), n = h * w;
        CLEARED(csrec_beside) b = look_at_random(model, h, w);
        csrec_call call;
        const csrec_progress now = {"frames", 0, 1, -1.0};
        csrec_call_begin(&call, stops ? stop_by_count : NULL, &(int){0}, now);
        assert_true(csrec_call_report(&call, &now) == stops);
        for (int turn = 0; turn < 8; turn++) {
            float *result = floats(n), *squares = floats(n);
            assert_well(csrec_beside_add(&b, turn, 2, &call, result, squares, &told));
            for (int64_t i = 0; i < n; i++) {
                const float F = b.planes[(b.n_planes - 1) * n + i];
                assert_true(result[i] == (float)(b.mean + b.unit * (double)F));
                assert_true(
                    fabs((double)squares[i] - (stops ? 0.0 : b.unit * b.unit * exp(-2.0))) <=
                    1e-5 * b.unit * b.unit);
            }
        }
        csrec_call_end(&call);
    }
}

TEST(passes_are_of_turned_planes) {
    ENDS_BY(end_model) csrec_model *model = draw_beside(FRAMES, GUIDES, 0.05);
    for (int round = 0; round < 4; round++) {
        const int64_t h = 1 + check_below(&seed, 30), w = 9 + check_below(&seed, 30), n = h * w;
        CLEARED(csrec_beside) b = look_at_random(model, h, w);
        float *result = floats(n), *squares = floats(n);
        double *wanted = check_keep_zeros((size_t)(2 * n), sizeof *wanted);
        for (int turn = 0; turn < 8; turn++) {
            const double *out = apply_to_turned(b.net, b.n_planes, 2, h, w, b.planes, turn);
            assert_well(csrec_beside_add(&b, turn, 2, NULL, result, squares, &told));
            for (int64_t i = 0; i < n; i++) {
                const double F = (double)b.planes[(b.n_planes - 1) * n + i];
                wanted[i] += (b.mean + b.unit * (F + out[i])) / 8.0;
                wanted[n + i] += b.unit * b.unit * exp(out[n + i]) / 8.0;
            }
        }
        for (int64_t i = 0; i < n; i++) {
            assert_true(fabs((double)result[i] / 8.0 - wanted[i]) <=
                        1e-5 * (b.unit + fabs(b.mean)));
            assert_true(fabs((double)squares[i] / 8.0 - wanted[n + i]) <= 1e-5 * wanted[n + i]);
        }
    }
}
