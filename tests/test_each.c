/* SPDX-License-Identifier: BSD-3-Clause */
/* test_each.c - rays and deviations of single samples: their checks, the noise that they tell of,
 * merging, groups of channels and files, against definitions. */
#include "measurement/channels.h"
#include "measurement/each.h"
#include "measurement/guides.h"
#include "measurement/nearby.h"

#include "io_measurement.h"
#include "rays.h"

TEST(wrong_numbers_are_one_line) {
    static const struct {
        double rays, deviation; /* of sample 3 */
        const char *words;      /* NULL: well */
    } cases[] = {{0.0, 1.0, "array 'rays': sample 3 has 0"},
                 {-2.0, 1.0, "array 'rays': sample 3 has -2"},
                 {NAN, 1.0, "array 'rays': sample 3 has nan"},
                 {INFINITY, 1.0, "array 'rays': sample 3 has inf"},
                 {1.0, -1.0, "array 'sigma': that of sample 3 is -1"},
                 {1.0, INFINITY, "array 'sigma': that of sample 3 is inf"},
                 {1.0, 0.0, NULL},
                 {0.25, NAN, NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        csrec_measurement m = draw_light_at((csrec_shape){2, {3, 4}}, 2, 7);
        OWNED double *deviation = calloc(14, sizeof *deviation);
        m.rays = draw_rays(7);
        m.deviation = draw_within(14, 0.0, 1.0);
        m.rays[3] = cases[k].rays;
        m.deviation[7] = cases[k].deviation;
        const csrec_status status = cases[k].words ? CSREC_DATA : CSREC_OK;
        const char *words = cases[k].words ? cases[k].words : "";
        assert_refused(csrec_measurement_check(&m, "me", &told), status, words);
        assert_refused(csrec_noise_each(&m, deviation, &told), status, words);
        m.is_complex = true;
        assert_refused(csrec_each_check(&m, "me", &told), CSREC_UNSUPPORTED, "me: array 'rays'");
        m.rays = NULL;
        m.is_complex = false;
        m.through = &(csrec_operator_spec){.name = "hadamard"};
        assert_refused(csrec_each_check(&m, "me", &told), CSREC_UNSUPPORTED, "me: array 'sigma'");
        assert_fails(csrec_noise_each(&m, deviation, &told), CSREC_UNSUPPORTED);
        m.deviation = NULL;
        assert_well(csrec_each_check(&m, "me", &told));
    }
}

static double *noise_of(const csrec_measurement *m) {
    double *deviation = check_room(m->n * m->channels);
    assert_well(csrec_noise_each(m, deviation, &told));
    return deviation;
}

TEST(noise_is_told_by_deviation_then_sigma_and_rays) {
    for (int round = 0; round < 40; round++) {
        const int64_t C = 1 + round % 3, n = 1 + check_below(&seed, 30);
        csrec_measurement m = draw_light_at((csrec_shape){2, {6, 5}}, C, n);
        if (round & 1) m.rays = draw_rays(n);
        if (round & 2) m.deviation = draw_within(n * C, 0.0, 1.0);
        if (round & 2) sprinkle(n * C, 0.3, NAN, m.deviation);
        if (round & 4 || m.rays) m.sigma = 0.1 + check_uniform(&seed);
        const double *got = noise_of(&m);
        for (int64_t i = 0; i < n * C; i++) {
            const bool own = m.deviation && !isnan(m.deviation[i]);
            const double rays = m.rays ? m.rays[i / C] : 1.0;
            const double wanted = own ? m.deviation[i] : sqrt(m.sigma * m.sigma / rays);
            expect_number(got[i], wanted, 1e-15 * wanted, "deviation", i);
        }
    }
}

/* By ranks, of channel c: the mean around each, times albedo, to mean [n]; the result is kappa.
 * 0.623012 = (erf(sqrt(q / 2)) - sqrt(2 q / pi) exp(-q / 2)) / 0.9, q = 2.7055 the 0.9 quantile of
 * chi^2_1: what is left of its mean without the largest tenth. */
static double kappa_of(const csrec_measurement *m, const csrec_nearby *t, const float *albedo,
                       int64_t c, double *mean) {
    double *light = check_room(m->n), *a = check_room(m->n), *ratio = check_room(m->n), sum = 0.0;
    int64_t ratios = 0;
    for (int64_t k = 0; k < m->n; k++) {
        const int64_t i = csrec_nearby_sample(t, k);
        a[k] = albedo ? fmax((double)albedo[m->index[i]], 0.0) + 0.04 : 1.0;
        if (albedo && isnan(albedo[m->index[i]])) a[k] = 1.0;
        light[k] = m->y[i * m->channels + c] / a[k];
    }
    for (int64_t k = 0; k < m->n; k++) {
        const double *rays = m->rays;
        csrec_neighbour near[8];
        const int found = csrec_nearby_find(t, k, 8, near); /* test_noise.c has its own */
        int64_t first = -1;
        double total = rays[csrec_nearby_sample(t, k)], r = total;
        mean[k] = light[k] * total;
        for (int f = 0; f < found; f++) {
            if (isnan(light[near[f].rank])) continue;
            const double other = rays[csrec_nearby_sample(t, near[f].rank)];
            if (first < 0) first = near[f].rank, r = 1.0 / (1.0 / r + 1.0 / other);
            mean[k] += other * light[near[f].rank];
            total += other;
        }
        mean[k] *= a[k] / total;
        if (isnan(light[k]) || first < 0) continue;
        ratio[ratios++] = pow((light[k] - light[first]) * a[k] / mean[k], 2.0) * r;
    }
    qsort(ratio, (size_t)ratios, sizeof *ratio, check_ascend_reals);
    const int64_t kept = (9 * ratios + 9) / 10;
    for (int64_t k = 0; k < kept; k++) sum += ratio[k];
    return kept ? sum / (double)kept / 0.623012 : 0.0;
}

TEST(unknown_noise_of_rays_is_guessed_as_its_words_say) {
    for (int round = 0; round < 40; round++) {
        const int64_t C = 1 + round % 3, n = 1 + check_below(&seed, round < 20 ? 12 : 150);
        const csrec_shape shape = round % 2 ? (csrec_shape){2, {15, 14}} : (csrec_shape){1, {210}};
        csrec_measurement m = draw_light_at(shape, C, n);
        m.rays = draw_rays(n);
        sprinkle(n * C, C > 1 ? 0.1 : 0.0, NAN, m.y);
        for (int64_t i = 0; i < n; i++) m.y[i * C] = 1.5; /* measured everywhere */
        for (int64_t i = 0; i < n; i += 2) m.y[i * C] = 2.0 * check_uniform(&seed);
        if (round & 4) m.deviation = draw_within(n * C, 0.0, 1.0);
        if (round & 4) sprinkle(n * C, 0.5, NAN, m.deviation);
        double *albedo = draw_within(210 * C, -0.1, 1.0), *mean = check_room(n);
        sprinkle(210 * C, 0.1, NAN, albedo);
        albedo[0] = 0.5;
        if (round & 8) assert_well(csrec_guides_add(&m, "albedo", C, albedo, &told));
        const double *got = noise_of(&m);
        CLEARED(csrec_nearby) t;
        assert_well(csrec_nearby_create(&m, 8, &t, &told));
        for (int64_t c = 0; c < C; c++) {
            const float *plane = m.guides ? m.guides->values + c * 210 : NULL;
            const double kappa = kappa_of(&m, &t, plane, c, mean);
            for (int64_t k = 0; k < n; k++) {
                const int64_t i = csrec_nearby_sample(&t, k), at = i * C + c;
                double wanted = sqrt(kappa / m.rays[i]) * fabs(mean[k]);
                if (isnan(wanted)) wanted = 0.0;
                if (m.deviation && !isnan(m.deviation[at])) wanted = m.deviation[at];
                expect_number(got[at], wanted, 1e-3 * wanted, "guessed deviation", at);
            }
        }
        csrec_guides_destroy(m.guides);
    }
}

/* The mean over 10^4 samples of chi^2, some in two pairs, is within 0.15 of 1 but for six standard
 * deviations. */
TEST(kappa_of_flat_light_is_found) {
    for (int round = 0; round < 6; round++) {
        const double kappa = 0.002 * pow(3.0, round % 3), unit = pow(10.0, 3 * round - 6);
        csrec_measurement m = draw_light_at((csrec_shape){2, {110, 100}}, 1, 10000);
        double squares = 0.0;
        m.rays = draw_rays(m.n);
        for (int64_t i = 0; i < m.n; i++)
            m.y[i] = unit * (1.0 + sqrt(kappa / m.rays[i]) * check_normal(&seed));
        const double *got = noise_of(&m);
        for (int64_t i = 0; i < m.n; i++)
            squares += got[i] * got[i] * m.rays[i] / (unit * unit) / (double)m.n;
        if (!(fabs(squares / kappa - 1.0) < 0.15)) fail_msg("kappa %g: %g", kappa, squares);
    }
}

enum { PARTS = 3 };

typedef struct cell {
    double weight, sum, square, rays;
    bool open;
} cell;

/* Of a channel at a position, by direct sums; by: 0: rays, 1: noise, 2: nothing is the weight. */
static cell cell_at(const csrec_measurement *part, int64_t position, int64_t c, int by) {
    cell s = {0};
    for (int p = 0; p < PARTS; p++)
        for (int64_t i = 0; i < part[p].n; i++) {
            const csrec_measurement *m = &part[p];
            /* The noise of a channel of a sample; 0: none is known. */
            const double own = m->deviation ? m->deviation[i * m->channels + c] : NAN;
            const double rays = m->rays ? m->rays[i] : 1.0;
            const double noise = isnan(own) ? m->sigma / sqrt(rays) : own;
            const double w = by == 0 ? rays : by == 1 ? 1.0 / (noise * noise) : 1.0;
            if (m->index[i] != position || isnan(m->y[i * m->channels + c])) continue;
            s.weight += w;
            s.sum += w * m->y[i * m->channels + c];
            s.square += w * w * noise * noise;
            s.rays += rays;
            s.open = s.open || (m->rays && m->sigma == 0.0 &&
                                (!m->deviation || isnan(m->deviation[i * m->channels + c])));
        }
    return s;
}

static void check_merged(const csrec_measurement *part, int by, bool rays, bool deviation,
                         double sigma) {
    const csrec_measurement *const parts[PARTS] = {&part[0], &part[1], &part[2]};
    CLEARED(csrec_measurement) merged;
    int64_t contradictions[2], values = 0;
    const int64_t C = part->channels;
    double variance = 0.0;
    assert_well(csrec_measurement_merge(PARTS, parts, &merged, contradictions, &told));
    assert_well(csrec_measurement_check(&merged, "merged", &told));
    assert_true(!merged.rays == !rays && !merged.deviation == !deviation);
    if (rays && by == 0) assert_true(contradictions[0] == 0 && contradictions[1] == -1);
    for (int64_t k = 0; k < merged.n * C; k++) {
        const cell s = cell_at(part, merged.index[k / C], k % C, by);
        const double own = sqrt(s.square) / s.weight;
        expect_number(merged.y[k], s.sum / s.weight, 1e-12 * 1e3, "y", k);
        if (rays && C == 1) expect_number(merged.rays[k], s.rays, 0.0, "rays", k);
        if (deviation)
            expect_number(merged.deviation[k], s.open ? NAN : own, 1e-13 * own, "deviation", k);
        if (s.weight > 0.0) variance += own * own * (rays ? s.rays : 1.0), values++;
    }
    if (sigma < 0.0) sigma = sqrt(variance / (double)values);
    expect_number(merged.sigma, sigma, 1e-13 * sigma, "sigma", 0);
}

TEST(merging_weighs_by_rays_or_by_each_noise) {
    static const struct {
        int by; /* as of cell_at */
        bool rays[PARTS], deviation[PARTS];
        double sigma; /* of all parts; -1: each another */
        bool unknown; /* some deviations are */
    } cases[] = {{0, {1, 1, 1}, {0, 0, 0}, 0.5, 0},  {0, {1, 1, 1}, {0, 0, 0}, -1.0, 0},
                 {0, {1, 1, 1}, {0, 0, 0}, 0.0, 0},  {0, {1, 1, 1}, {1, 1, 1}, 0.0, 0},
                 {0, {1, 1, 1}, {1, 0, 1}, 0.0, 1},  {0, {1, 1, 1}, {1, 0, 1}, 0.5, 1},
                 {1, {0, 0, 0}, {1, 1, 1}, 0.25, 1}, {1, {0, 0, 0}, {1, 0, 0}, 0.25, 0},
                 {1, {1, 0, 1}, {0, 1, 1}, 0.25, 0}, {1, {1, 0, 0}, {0, 0, 0}, -1.0, 0},
                 {2, {1, 0, 0}, {0, 0, 0}, 0.0, 0}};
    for (int round = 0; round < 88; round++) {
        const size_t k = (size_t)round % (sizeof cases / sizeof *cases);
        const int64_t C = 1 + round % 2, n = 8 + check_below(&seed, 20);
        bool rays = false, deviation = false;
        csrec_measurement part[PARTS];
        for (int p = 0; p < PARTS; p++) {
            part[p] = draw_light_at((csrec_shape){2, {6, 5}}, C, n);
            part[p].y = draw_within(n * C, 0.0, 1e3); /* contradictions */
            part[p].sigma = cases[k].sigma < 0.0 ? 0.1 + check_uniform(&seed) : cases[k].sigma;
            if (cases[k].rays[p]) part[p].rays = draw_rays(n);
            if (cases[k].deviation[p]) part[p].deviation = draw_within(n * C, 0.1, 1.0);
            if (cases[k].deviation[p] && cases[k].unknown)
                sprinkle(n * C, 0.3, NAN, part[p].deviation);
            for (int64_t i = 0; i < n && C == 2 && cases[k].by != 1; i++)
                if (check_below(&seed, 5) == 0) part[p].y[2 * i + i % 2] = NAN;
            rays = rays || part[p].rays;
            deviation = deviation || part[p].deviation;
        }
        check_merged(part, cases[k].by, rays, deviation, cases[k].sigma);
    }
}

static csrec_status check_group(void *context, const csrec_groups *groups, int64_t k,
                                const csrec_measurement *part, const int64_t *sample,
                                csrec_error *error) {
    const csrec_measurement *m = groups->m;
    (void)error;
    assert_true(part->rays && part->deviation && sample);
    for (int64_t i = 0; i < part->n; i++) {
        assert_true(part->rays[i] == m->rays[sample[i]]);
        for (int64_t c = 0; c < part->channels; c++) {
            const int64_t own = groups->channel[groups->first[k] + c];
            assert_true(part->deviation[i * part->channels + c] ==
                        m->deviation[sample[i] * m->channels + own]);
            ++*(int64_t *)context;
        }
    }
    return CSREC_OK;
}

TEST(groups_of_channels_carry_them) {
    csrec_measurement m = draw_light_at((csrec_shape){2, {9, 8}}, 4, 60);
    int64_t seen = 0, known = 0;
    m.rays = draw_rays(m.n);
    m.deviation = draw_within(m.n * 4, 0.0, 1.0);
    for (int64_t i = 0; i < m.n; i++)
        if (check_below(&seed, 3) == 0) m.y[4 * i + 1] = m.y[4 * i + 3] = NAN;
    m.y[4 * 7 + 1] = m.y[4 * 7 + 3] = NAN; /* at least here */
    for (int64_t i = 0; i < 4 * m.n; i++) known += !isnan(m.y[i]);
    assert_well(csrec_groups_each(&m, check_group, &seen, &told));
    assert_int_equal(seen, known);
}

TEST(files_keep_them) {
    for (int round = 0; round < 12; round++) {
        const int64_t C = 1 + round % 3, n = 1 + check_below(&seed, 20);
        csrec_measurement m = draw_light_at((csrec_shape){2, {5, 4}}, C, n);
        if (round & 1) m.rays = draw_rays(n);
        if (round & 2) m.deviation = draw_within(n * C, 0.0, 1.0);
        if (round & 2) sprinkle(n * C - 1, 0.2, NAN, m.deviation + 1);
        if (round & 4 && !m.deviation) m.sigma = 0.5;
        assert_well(csrec_measurement_write(io_path("w.npz"), &m, false, &told));
        csrec_measurement back = accept(io_path("w.npz"), NULL);
        assert_true(!back.rays == !m.rays && back.sigma == m.sigma);
        if (m.rays) assert_memory_equal(back.rays, m.rays, (size_t)n * sizeof *m.rays);
        if (m.deviation && n * C > 1)
            assert_memory_equal(back.deviation, m.deviation, (size_t)(n * C) * sizeof *m.y);
        expect(back, n, C, m.index, m.y);
    }
}

/* Of three samples, of one channel or two. */
static void begin_file(int64_t channels) {
    const double y[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0};
    zip = (io_zip){0};
    add("y", channels > 1 ? io_npy_shaped("(3, 2)", 6, y) : io_npy_f8(3, y));
    INTS("index", 0, 2, 5);
    INTS("shape", 2, 3);
}

TEST(one_sigma_of_a_sample_is_that_of_its_channels) {
    const double sigma[] = {0.5, 0.0, NAN};
    begin_file(2);
    add_f8("sigma", 3, sigma);
    CLEARED(csrec_measurement) m = accept(finish(), NULL);
    for (int i = 0; i < 6; i++) expect_number(m.deviation[i], sigma[i / 2], 0.0, "sigma", i);
    assert_true(m.sigma == 0.0 && !m.rays);
}

TEST(wrong_arrays_name_the_remedy) {
    const double numbers[] = {1.0, 2.0, -3.0, 4.0, 0.0, 6.0};
    static const struct {
        int64_t channels;
        const char *name, *shape, *words;
        int n;
    } cases[] = {{1, "rays", "(2,)", "'rays': has 2 elements for 3 samples", 2},
                 {2, "rays", "(3, 2)", "save one for each sample", 6},
                 {1, "rays", "(3,)", "'rays': sample 2 has -3; save a number above 0", 3},
                 {1, "sigma", "(2,)", "or value, or a single number", 2},
                 {2, "sigma", "(2, 3)", "'sigma': has 6 elements for 3 samples of 2", 6},
                 {2, "sigma", "(3, 2)", "'sigma': that of sample 1 is -3; save numbers >= 0", 6},
                 {1, "sigma", "(3,)", "'sigma': that of sample 2 is -3", 3}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        begin_file(cases[k].channels);
        add(cases[k].name, io_npy_shaped(cases[k].shape, cases[k].n, numbers));
        refuse(cases[k].words);
    }
}

/* They know one sigma. */
TEST(slabs_and_tiles_refuse_them) {
    csrec_measurement m = draw_light_at((csrec_shape){2, {6, 4}}, 1, 9), form;
    const csrec_read_options options = {0};
    const csrec_recover_options o = options_by("frames");
    csrec_slab_file *file = NULL;
    csrec_tiles *tiles = NULL;
    for (int round = 0; round < 2; round++) {
        m.rays = round ? draw_rays(m.n) : NULL;
        m.deviation = round ? NULL : draw_within(m.n, 0.0, 1.0);
        assert_well(csrec_measurement_write(io_path("w.npz"), &m, false, &told));
        assert_refused(csrec_slab_file_open(io_path("w.npz"), &options, &form, &file, &told),
                       CSREC_UNSUPPORTED, "rays or a sigma each");
        assert_refused(csrec_tiles_create(&m, &o, &tiles, &told), CSREC_UNSUPPORTED, "one sigma");
    }
}
