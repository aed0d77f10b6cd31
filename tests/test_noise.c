/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise that is estimated from samples, and outliers among them: on synthetic signals, beside what
 * was put there. */
#include "samples.h"

#include "measurement/cut.h"
#include "measurement/nearby.h"

SEED(seed);

static const csrec_shape shapes[] = {
    {1, {9000}}, {2, {130, 110}}, {3, {22, 24, 26}}, {4, {9, 12, 10, 13}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Slow waves along all axes, about 0 to 100, another phase for each channel. */
static double wave(const csrec_shape *shape, int64_t flat, int64_t channel) {
    double sum = 0.0;
    for (int a = shape->dims - 1; a >= 0; a--) {
        double u = (double)(flat % shape->dim[a]) / (double)shape->dim[a];
        sum += sin(2.5 * u + (double)channel + a);
        flat /= shape->dim[a];
    }
    return 50.0 + 50.0 * sum / shape->dims;
}

static csrec_measurement make(const csrec_shape *shape, double rate, int64_t channels,
                              double sigma) {
    const int64_t entries = entries_in(shape);
    csrec_measurement m = draw_places(shape, channels, CSREC_PATTERN_UNIFORM,
                                      (int64_t)(rate * (double)entries), check_next(&seed));
    for (int64_t i = 0; i < m.n; i++)
        for (int64_t c = 0; c < channels; c++)
            m.y[i * channels + c] = wave(shape, m.index[i], c) + sigma * check_normal(&seed);
    return m;
}

static double estimate(const csrec_measurement *m) {
    double sigma = -1.0;
    assert_well(csrec_noise_estimate(m, &sigma, &told));
    return sigma;
}

static double distance(const csrec_measurement *m, int64_t i, int64_t k) {
    int64_t p = m->index[i], q = m->index[k];
    double sum = 0.0;
    for (int a = m->shape.dims - 1; a >= 0; a--) {
        double d = (double)(p % m->shape.dim[a] - q % m->shape.dim[a]);
        sum += d * d;
        p /= m->shape.dim[a];
        q /= m->shape.dim[a];
    }
    return sum;
}

static void assert_close(double a, double b, double most) {
    if (!(fabs(a - b) <= most)) fail_msg("%g, %g", a, b);
}

/* Noise cut at one or both ends, by a sum over the normal density; of 40,000 steps of 16 deviations
 * the error is below 1e-7. */
TEST(cut_noise_has_its_moments) {
    enum { STEPS = 40000 };
    for (int round = 0; round < 40; round++) {
        const double sigma = 0.1 + 30.0 * check_uniform(&seed), low = 50.0 * check_uniform(&seed);
        const double ends[3][2] = {{low, INFINITY}, {-INFINITY, low}, {low, low + 5.0 * sigma}};
        const csrec_cut cut = {sigma, {ends[round % 3][0], ends[round % 3][1]}};
        double v = low + (round % 3 == 1 ? -4.0 : 4.0) * sigma * check_uniform(&seed), sum[3] = {0};
        for (int k = 0; k < STEPS; k++) {
            const double z = 16.0 * (k + 0.5) / STEPS - 8.0, p = exp(-0.5 * z * z);
            const double y = fmin(fmax(v + sigma * z, cut.end[0]), cut.end[1]);
            sum[0] += p, sum[1] += p * y, sum[2] += p * (y - v) * (y - v);
        }
        const double mean = sum[1] / sum[0], off = mean - v, step = 1e-4 * sigma;
        const csrec_cut_seen seen = csrec_cut_see(&cut, v);
        assert_close(seen.mean, mean, 1e-6 * sigma);
        assert_close(seen.variance, sum[2] / sum[0] - off * off, 1e-6 * sigma * sigma);
        assert_close(seen.slope,
                     (csrec_cut_see(&cut, v + step).mean - csrec_cut_see(&cut, v - step).mean) /
                         (2.0 * step),
                     1e-6);
        double signal[3] = {mean, -1e9, NAN}, variance[3] = {1.0, 1.0, 1.0};
        csrec_cut_back(&cut, 3, signal, variance);
        assert_close(signal[0], v, 1e-5 * sigma);
        assert_close(variance[0], pow(seen.slope, -2.0), 1e-4 * variance[0]);
        assert_true(isnan(signal[2]) && (isinf(cut.end[0]) || signal[1] == cut.end[0]));
    }
}

/* Ends are black and white where samples have them, or values of more than 1 % of the samples. */
TEST(ends_cut_noise) {
    int64_t index[400];
    double y[400];
    csrec_measurement m = {.shape = {1, {400}}, .n = 400, .channels = 1, .sigma = 2.0};
    m.index = index, m.y = y;
    for (int i = 0; i < 400; i++) index[i] = i, y[i] = 10.0 + 0.1 * i;
    assert_true(csrec_cut_of(&m).sigma == 0.0);
    for (int i = 0; i < 10; i++) y[i] = 7.0;
    y[399] = 255.0;
    csrec_cut cut = csrec_cut_of(&m);
    assert_true(cut.sigma == 2.0 && cut.end[0] == 7.0 && isinf(cut.end[1]));
    m.scale[1] = 255.0;
    assert_true(csrec_cut_of(&m).end[1] == 255.0);
    cut = csrec_cut_between(&m, 400.0, (double[]){9.0, 1.0}, (double[]){7.0, 255.0});
    assert_true(cut.sigma == 2.0 && isinf(cut.end[0]) && cut.end[1] == 255.0);
    m.uncut = true;
    assert_true(csrec_cut_of(&m).sigma == 0.0);
}

/* Distances: equally far neighbours may be any of them. */
TEST(neighbours_are_nearest) {
    enum { MOST = 7 };
    for (int s = 0; s < SHAPES; s++) {
        CLEARED(csrec_measurement) m = make(&shapes[s], 0.05, 1, 0.0);
        CLEARED(csrec_nearby) t;
        csrec_error error;
        assert_ok(csrec_nearby_create(&m, 1 + check_below(&seed, 40), &t, &error));
        for (int64_t k = 0; k < m.n; k++) {
            csrec_neighbour found[MOST];
            assert_int_equal(csrec_nearby_find(&t, k, MOST, found), MOST);
            int64_t own = csrec_nearby_sample(&t, k), nearer = 0, last = 0;
            for (int i = 0; i < MOST; i++) {
                assert_true(found[i].rank != k);
                assert_true(i == 0 || found[i - 1].distance < found[i].distance ||
                            (found[i - 1].distance == found[i].distance &&
                             found[i - 1].rank < found[i].rank));
                assert_true(found[i].distance ==
                            distance(&m, own, csrec_nearby_sample(&t, found[i].rank)));
            }
            for (int64_t i = 0; i < m.n; i++) {
                nearer += i != own && distance(&m, own, i) < found[MOST - 1].distance;
                last += i != own && distance(&m, own, i) <= found[MOST - 1].distance;
            }
            assert_true(nearer < MOST && last >= MOST);
        }
    }
}

/* Standard deviations of the estimate are at most 0.037 of it for one channel and 0.022 for three,
 * by 60 draws of each: 6.7 of them are a failure in 1e10. */
TEST(noise_is_found) {
    for (int s = 0; s < SHAPES; s++)
        for (int64_t channels = 1; channels <= 3; channels += 2) {
            CLEARED(csrec_measurement) m = make(&shapes[s], 0.4, channels, 6.0);
            double ratio = estimate(&m) / 6.0;
            if (fabs(ratio - 0.995) > (channels == 1 ? 0.25 : 0.15))
                fail_msg("%d axes, %d channels: %g", m.shape.dims, (int)channels, ratio);
        }
}

/* The same of a picture whose darker half is black, where half of the noise is cut: of what the
 * other half tells. Cut at its mean, normal noise has 0.58 of its deviation. */
TEST(noise_is_found_where_it_is_not_cut) {
    CLEARED(csrec_measurement) m = make(&shapes[1], 0.8, 1, 0.0);
    for (int64_t i = 0; i < m.n; i++)
        m.y[i] = fmax(60.0, fmax(60.0, m.y[i]) + 6.0 * check_normal(&seed));
    const double ratio = estimate(&m) / 6.0;
    if (fabs(ratio - 0.995) > 0.25) fail_msg("%g", ratio);
}

TEST(noise_is_likely_where_it_is) {
    double likely = 0.0;
    csrec_measurement m = make(&shapes[1], 0.7, 3, 10.0);
    assert_ok(csrec_noise_likely(&m, &likely, NULL));
    assert_true(likely == estimate(&m));
    csrec_measurement_clear(&m);
    for (int s = 0; s < SHAPES; s++) {
        m = make(&shapes[s], 0.4, 1, 0.0);
        assert_ok(csrec_noise_likely(&m, &likely, NULL));
        assert_true(likely == 0.0);
        assert_true(estimate(&m) < 0.5);
        for (int64_t i = 0; i < m.n; i++) m.y[i] = 1e300;
        assert_true(estimate(&m) == 0.0);
        csrec_measurement_clear(&m);
    }
}

/* Powers of two exactly; other factors and offsets round, which may put a block on the other side
 * of a limit. */
TEST(noise_follows_the_unit) {
    static const int powers[] = {-900, -70, 3, 200, 900};
    for (int s = 0; s < SHAPES; s++) {
        CLEARED(csrec_measurement) m = make(&shapes[s], 0.4, 2, 4.0);
        double sigma = estimate(&m), *y = malloc((size_t)(2 * m.n) * sizeof *y);
        assert_non_null(y);
        memcpy(y, m.y, (size_t)(2 * m.n) * sizeof *y);
        for (int p = 0; p < 5; p++) {
            for (int64_t i = 0; i < 2 * m.n; i++) m.y[i] = ldexp(y[i], powers[p]);
            assert_true(estimate(&m) == ldexp(sigma, powers[p]));
        }
        double factor = -exp(8.0 * check_normal(&seed)), offset = 1e4 * check_normal(&seed);
        for (int64_t i = 0; i < 2 * m.n; i++) m.y[i] = factor * (y[i] + offset);
        assert_true(fabs(estimate(&m) / sigma / -factor - 1.0) < 0.01);
        free(y);
    }
}

TEST(order_of_samples_does_not_matter) {
    CLEARED(csrec_measurement) m = make(&shapes[1], 0.4, 1, 4.0);
    double sigma = estimate(&m);
    for (int64_t i = m.n - 1; i > 0; i--) {
        int64_t k = check_below(&seed, i + 1), index = m.index[i];
        double y = m.y[i];
        m.index[i] = m.index[k];
        m.y[i] = m.y[k];
        m.index[k] = index;
        m.y[k] = y;
    }
    assert_true(estimate(&m) == sigma);
}

TEST(few_samples_are_refused) {
    for (int s = 0; s < SHAPES; s++) {
        CLEARED(csrec_measurement) m = make(&shapes[s], 0.2, 1, 20.0);
        double sigma = -1.0;
        m.n = 32 * (2 * m.shape.dims + 4);
        assert_true(estimate(&m) > 0.0);
        m.n--;
        assert_refused(csrec_noise_estimate(&m, &sigma, &told), CSREC_DATA, "too few");
        assert_true(sigma == -1.0);
        assert_well(csrec_noise_likely(&m, &sigma, &told));
        assert_true(sigma == 0.0);
    }
}

static int64_t outliers_of(const csrec_measurement *m, int threads, uint8_t *outlier) {
    int64_t found = -1, marked = 0;
    assert_well(csrec_outliers_find(m, threads, outlier, &found, &told));
    for (int64_t i = 0; i < m->n; i++) {
        assert_true(outlier[i] <= 1);
        marked += outlier[i];
    }
    assert_int_equal(marked, found);
    return found;
}

/* None is among the neighbours of another: all are found, and no other sample. */
static int64_t plant(csrec_measurement *m, uint8_t *planted, int64_t most) {
    int64_t count = 0;
    memset(planted, 0, (size_t)m->n);
    for (int64_t tries = 0; tries < 20 * most && count < most; tries++) {
        int64_t i = check_below(&seed, m->n);
        bool apart = true;
        for (int64_t k = 0; k < m->n && apart; k++)
            apart =
                !planted[k] || distance(m, i, k) > (m->shape.dims == 1 ? 60.0 * 60.0 : 8.0 * 8.0);
        if (!apart) continue;
        planted[i] = 1;
        m->y[i * m->channels + check_below(&seed, m->channels)] +=
            check_below(&seed, 2) ? 80.0 : -80.0;
        count++;
    }
    return count;
}

TEST(planted_outliers_are_found) {
    for (int s = 0; s < SHAPES - 1; s++)
        for (int64_t channels = 1; channels <= 3; channels += 2) {
            CLEARED(csrec_measurement) m = make(&shapes[s], 0.4, channels, 1.0);
            OWNED uint8_t *planted = malloc((size_t)m.n), *one = malloc((size_t)m.n),
                          *three = malloc((size_t)m.n);
            assert_true(planted && one && three);
            assert_int_equal(outliers_of(&m, 1, one), 0);
            int64_t count = plant(&m, planted, 1 + check_below(&seed, 40));
            assert_int_equal(outliers_of(&m, 1, one), count);
            assert_memory_equal(one, planted, (size_t)m.n);
            outliers_of(&m, 3, three);
            assert_memory_equal(one, three, (size_t)m.n);
            for (int64_t i = 0; i < m.n * channels; i++) m.y[i] = ldexp(m.y[i], 900);
            assert_int_equal(outliers_of(&m, 0, three), count);
            assert_memory_equal(one, three, (size_t)m.n);
        }
}

/* A picture of stripes, whose samples at an edge lie beside many of the other value; equal samples;
 * one; a smooth ridge, on which some have the same value, the largest. */
TEST(signals_have_no_outliers) {
    uint8_t outlier[40000];
    CLEARED(csrec_measurement) m = make(&(csrec_shape){2, {200, 200}}, 0.3, 1, 0.0);
    for (int64_t i = 0; i < m.n; i++) {
        m.y[i] = m.index[i] % 200 / 25 % 2 ? 0.0 : 255.0;
    }
    assert_true(2000 * outliers_of(&m, 0, outlier) <= m.n);
    for (int64_t i = 0; i < m.n; i++) m.y[i] = 7.0;
    assert_int_equal(outliers_of(&m, 0, outlier), 0);
    m.n = 1;
    assert_int_equal(outliers_of(&m, 0, outlier), 0);
    for (int round = 0; round < 30; round++) {
        CLEARED(csrec_measurement) ridge = make(&(csrec_shape){2, {60, 35}}, 0.3, 1, 0.0);
        for (int64_t i = 0; i < ridge.n; i++)
            ridge.y[i] = sin((double)(3 * (ridge.index[i] % 35) + ridge.index[i] / 35) / 70.0);
        assert_int_equal(outliers_of(&ridge, 0, outlier), 0);
    }
}

enum { SIDE = 90 };

/* 0.1 to 1.1, by the colour of surfaces. */
static double light_at(const csrec_measurement *m, int64_t k, int64_t c) {
    return (0.1 + wave(&m->shape, m->index[k], 0) / 100.0) *
           ((double)m->guides->values[c * SIDE * SIDE + m->index[k]] + 0.04);
}

static void put_stripes(csrec_measurement *m) {
    m->guides = calloc(1, sizeof *m->guides);
    assert_non_null(m->guides);
    m->guides->n = 3;
    m->guides->values = malloc(sizeof *m->guides->values * 3 * SIDE * SIDE);
    assert_non_null(m->guides->values);
    for (int c = 0; c < 3; c++) strcpy(m->guides->name[c], "albedo");
    for (int64_t i = 0; i < 3 * SIDE * SIDE; i++) m->guides->values[i] = i / 7 % 3 ? 0.9f : 0.05f;
}

/* The variance of a ray is half of the square of its light, which is the sum of two exponential
 * ones. */
static csrec_measurement make_light(int rays, csrec_pattern pattern, int64_t n) {
    const csrec_shape shape = {2, {SIDE, SIDE}};
    csrec_measurement m = draw_places(&shape, 3, pattern, n, check_next(&seed));
    m.rays = malloc((size_t)m.n * sizeof *m.rays);
    assert_non_null(m.rays);
    put_stripes(&m);
    for (int64_t k = 0; k < m.n; k++) {
        double light = 0.0;
        for (int r = 0; r < rays; r++)
            light -= log(check_uniform(&seed) * check_uniform(&seed) + 1e-300) / 2.0 / rays;
        m.rays[k] = rays;
        for (int64_t c = 0; c < 3; c++) m.y[3 * k + c] = light * light_at(&m, k, c);
    }
    return m;
}

/* 100 to 1000 times the light, in pairs of places or alone; of the others none was found in 60
 * runs. */
TEST(fireflies_are_found) {
    for (int rays = 1; rays <= 16; rays *= 4) {
        CLEARED(csrec_measurement) m = make_light(rays, CSREC_PATTERN_UNIFORM, SIDE * SIDE / 2);
        uint8_t *outlier = check_keep((size_t)m.n);
        int64_t found, put = 0, others = 0;
        for (int64_t k = 0; k < m.n; k++) {
            const bool bad = m.index[k] / SIDE % 18 == 4 && m.index[k] % SIDE % 17 <= 1;
            const double times = pow(10.0, 2.0 + check_uniform(&seed));
            for (int c = 0; c < 3 && bad; c++) m.y[3 * k + c] = times * light_at(&m, k, c);
            put += bad;
        }
        assert_true(put > 5);
        assert_well(csrec_outliers_find(&m, (int)check_below(&seed, 3), outlier, &found, &told));
        for (int64_t k = 0; k < m.n; k++) {
            const bool bad = m.index[k] / SIDE % 18 == 4 && m.index[k] % SIDE % 17 <= 1;
            put -= bad && outlier[k];
            others += !bad && outlier[k];
            found -= outlier[k];
        }
        if (found || put || others > 8)
            fail_msg("%d rays: %d missed, %d others", rays, (int)put, (int)others);
    }
}

/* No one sigma tells of it; of white noise one does. Also where no samples are adjacent. */
TEST(noise_that_grows_with_light_is_refused) {
    for (int trial = 0; trial < 8; trial++) {
        double sigma = -1.0;
        CLEARED(csrec_measurement)
        m = trial < 4 ? make_light(trial % 2 ? 4 : 1, CSREC_PATTERN_UNIFORM, SIDE * SIDE / 2)
                      : make_light(trial % 2 ? 4 : 1, CSREC_PATTERN_POISSON, SIDE * SIDE / 5);
        for (int64_t i = 0; i < 3 * m.n; i++) /* of one colour, far darker in places */
            m.y[i] *=
                pow(wave(&m.shape, m.index[i / 3], 0) / 100.0, 6.0) / light_at(&m, i / 3, i % 3);
        free(m.rays);
        m.rays = NULL;
        assert_refused(csrec_noise_estimate(&m, &sigma, &told), CSREC_DATA,
                       "so no one sigma tells of it; give sigma of each sample, or rays");
        assert_true(sigma == -1.0);
        assert_well(csrec_noise_likely(&m, &sigma, &told));
        assert_true(sigma == 0.0);
        for (int64_t i = 0; i < 3 * m.n; i++)
            m.y[i] = wave(&m.shape, m.index[i / 3], i % 3) + 5.0 * check_normal(&seed);
        const double one = estimate(&m);
        assert_true(one > 4.0 && one < 6.0);
    }
}
