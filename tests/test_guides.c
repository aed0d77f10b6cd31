/* SPDX-License-Identifier: BSD-3-Clause */
/* test_guides.c - guides of measurements: added, checked, cropped and merged; those that a channel
 * is recovered with. */
#include "learn/net/pyramid.h"
#include "measurement/guides.h"
#include "method/beside/beside.h"
#include "prior_model.h"

static csrec_measurement samples_of(csrec_shape shape, int64_t n) {
    csrec_measurement m = room_for_samples(shape, 1, n);
    m.n = n;
    for (int64_t i = 0; i < n; i++) m.index[i] = i, m.y[i] = check_normal(&seed);
    return m;
}

#define assert_named(call, status, name, words)                                                    \
    do {                                                                                           \
        assert_refused(call, status, name);                                                        \
        assert_refused(call, status, words);                                                       \
    } while (0)

TEST(wrong_guides_are_named) {
    float values[12] = {0};
    csrec_guides guides = {.n = 2, .values = values};
    csrec_operator_spec through = {.name = "hadamard"};
    csrec_measurement m = samples_of((csrec_shape){2, {2, 3}}, 3), seen = m;
    seen.guides = &guides;
    assert_well(csrec_measurement_check(&seen, "a.npz", &told));
    const int64_t entry = check_below(&seed, 12);
    values[entry] = NAN;
    assert_well(csrec_measurement_check(&seen, "a.npz", &told));
    values[entry] = check_below(&seed, 2) ? INFINITY : -INFINITY;
    assert_named(csrec_measurement_check(&seen, "a.npz", &told), CSREC_DATA,
                 "a.npz: array 'guides': ",
                 check_print("entry %d of plane %d is infinite", (int)entry % 6, (int)entry / 6));
    values[entry] = 0.0f;
    static const int64_t wrong[] = {-1, 0, CSREC_GUIDES_MOST + 1};
    for (int k = 0; k < 3; k++) {
        guides.n = wrong[k];
        assert_named(csrec_measurement_check(&seen, "a.npz", &told), CSREC_DATA,
                     "a.npz: array 'guides': ", check_print("has %d planes", (int)wrong[k]));
    }
    guides.n = 2;
    seen.through = &through;
    assert_named(csrec_measurement_check(&seen, "a.npz", &told), CSREC_UNSUPPORTED, "a.npz: guides",
                 "operator");
    seen.guides = NULL;
    assert_well(csrec_measurement_check(&seen, "a.npz", &told));
    seen.sequence = true;
    assert_named(csrec_measurement_check(&seen, "a.npz", &told), CSREC_UNSUPPORTED,
                 "a.npz: a sequence", "operator");
    seen.through = NULL;
    assert_named(csrec_measurement_check(&seen, "a.npz", &told), CSREC_DATA, "a.npz: a sequence",
                 "has 2");
}

/* Planes are added behind those before, or none is. */
TEST(guides_are_added_or_refused) {
    enum { N = 15, FIRST = 3, MORE = CSREC_GUIDES_MOST - FIRST };
    CLEARED(csrec_measurement) m = {.shape = {3, {1, 5, 3}}, .channels = 1};
    csrec_operator_spec through = {.name = "hadamard"};
    double *a = kept_normals(&seed, N * FIRST), *b = kept_normals(&seed, N * (MORE + 1));
    a[check_below(&seed, N * FIRST)] = NAN;
    assert_refused(csrec_guides_add(&m, "", 0, a, &told), CSREC_ARGUMENT, "0 planes");
    assert_well(csrec_guides_add(&m, "albedo", FIRST, a, &told));
    const char *name = "thirty-one letters are allowed.";
    const double far[N] = {1.0, [7] = -1e39}, none[N] = {1.0, [4] = INFINITY};
    double blank[N];
    for (int i = 0; i < N; i++) blank[i] = NAN;
    assert_refused(csrec_guides_add(&m, "", MORE + 1, b, &told), CSREC_ARGUMENT, "at most 64");
    assert_refused(csrec_guides_add(&m, check_print("%s.", name), 1, b, &told), CSREC_ARGUMENT,
                   "too long");
    assert_refused(csrec_guides_add(&m, "", 1, far, &told), CSREC_DATA, "entry 7 is -1e+39");
    assert_refused(csrec_guides_add(&m, "", 1, none, &told), CSREC_DATA, "entry 4 is inf");
    assert_refused(csrec_guides_add(&m, "", 1, blank, &told), CSREC_DATA, "no entry is known");
    m.through = &through;
    assert_refused(csrec_guides_add(&m, "", 1, b, &told), CSREC_UNSUPPORTED, "operator");
    m.through = NULL;
    assert_int_equal(m.guides->n, FIRST);
    assert_well(csrec_guides_add(&m, name, MORE, b, &told));
    assert_int_equal(m.guides->n, CSREC_GUIDES_MOST);
    for (int64_t k = 0; k < CSREC_GUIDES_MOST; k++) {
        const bool first = k < FIRST;
        assert_string_equal(m.guides->name[k], first ? "albedo" : name);
        for (int64_t i = 0; i < N; i++) {
            const float wanted = (float)(first ? a[i * FIRST + k] : b[i * MORE + k - FIRST]);
            assert_memory_equal(&m.guides->values[k * N + i], &wanted, sizeof wanted);
        }
    }
    assert_refused(csrec_guides_add(&m, "", 1, b, &told), CSREC_ARGUMENT, "64 before");
}

TEST(boxes_of_guides) {
    for (int round = 0; round < 60; round++) {
        csrec_shape shape = {1 + round % 3, {0}}, extent = shape;
        int64_t at[3];
        for (int d = 0; d < shape.dims; d++) {
            shape.dim[d] = 1 + check_below(&seed, 7);
            extent.dim[d] = 1 + check_below(&seed, shape.dim[d]);
            at[d] = check_below(&seed, shape.dim[d] - extent.dim[d] + 1);
        }
        csrec_guides guides = {.n = 1 + check_below(&seed, 4)};
        const int64_t n = entries_in(&shape), cut = entries_in(&extent);
        guides.values = floats(guides.n * n);
        for (int64_t i = 0; i < guides.n * n; i++) guides.values[i] = (float)check_normal(&seed);
        for (int64_t k = 0; k < guides.n; k++) guides.name[k][0] = (char)('a' + k);
        csrec_guides *box = csrec_guides_crop(&guides, &shape, at, &extent);
        assert_int_equal(box->n, guides.n);
        assert_memory_equal(box->name, guides.name, sizeof guides.name);
        for (int64_t i = 0; i < guides.n * cut; i++) {
            int64_t from = 0, rest = i % cut, step = 1;
            for (int d = shape.dims - 1; d >= 0; d--) {
                from += (at[d] + rest % extent.dim[d]) * step;
                rest /= extent.dim[d];
                step *= shape.dim[d];
            }
            assert_true(box->values[i] == guides.values[i / cut * n + from]);
        }
        csrec_guides_destroy(box);
    }
}

/* A merged measurement has those of the first part that has any, and is a sequence as the first. */
TEST(merging_keeps_guides) {
    csrec_measurement part[3], merged;
    const csrec_measurement *const parts[] = {&part[0], &part[1], &part[2]};
    csrec_guides guides[2];
    for (int k = 0; k < 2; k++) {
        guides[k] = (csrec_guides){.n = 1 + k, .name = {"depth"}, .values = floats(48)};
        for (int i = 0; i < 48; i++) guides[k].values[i] = (float)check_normal(&seed);
    }
    for (int k = 0; k < 3; k++) {
        part[k] = samples_of((csrec_shape){3, {2, 3, 4}}, 5 + k);
        part[k].guides = k ? &guides[k - 1] : NULL;
        part[k].sequence = true;
    }
    assert_well(csrec_measurement_merge(3, parts, &merged, NULL, &told));
    assert_true(merged.sequence);
    assert_int_equal(merged.guides->n, 1);
    assert_string_equal(merged.guides->name[0], "depth");
    assert_memory_equal(merged.guides->values, guides[0].values, 24 * sizeof(float));
    csrec_measurement_clear(&merged);
    assert_well(csrec_measurement_merge(1, parts, &merged, NULL, &told));
    assert_null(merged.guides);
    csrec_measurement_clear(&merged);
}

TEST(gaps_of_guides_are_spread) {
    const int64_t h = 3 + check_below(&seed, 20), w = 3 + check_below(&seed, 20), n = h * w;
    const uint8_t *known = draw_known(n, 0.5);
    double *values = check_room(n), *z = check_room(n), mean = 0.0, count = 0.0;
    CLEARED(csrec_measurement) m = {.shape = {2, {h, w}}, .channels = 1};
    for (int64_t i = 0; i < n; i++) {
        values[i] = i == 0 || known[i] ? (double)(float)(50.0 + check_normal(&seed)) : NAN;
        if (!isnan(values[i])) mean += values[i], count += 1.0;
    }
    uint8_t *shown = check_keep((size_t)n);
    for (int64_t i = 0; i < n; i++) {
        shown[i] = !isnan(values[i]);
        z[i] = shown[i] ? values[i] - mean / count : 0.0;
    }
    assert_well(csrec_guides_add(&m, "depth", 1, values, &told));
    float *guide = floats(n), *work = floats(csrec_pyramid_work(h, w));
    assert_int_equal(csrec_film_guides(&m, 0, CSREC_GUIDED_MOST, 1, work, guide), 1);
    for (int64_t i = 0; i < n; i++)
        assert_true(
            fabs((double)guide[i] - mean / count - spread(h, w, shown, z, 0, i / w, i % w)) < 1e-4);
}

/* Of ten planes, three make up the samples. */
TEST(guides_that_tell_most_are_taken) {
    enum { H = 24, W = 31, N = H * W, PLANES = 10, TELLING = 3, SAMPLES = N / 2 };
    double *values = kept_normals(&seed, N * PLANES), y[SAMPLES];
    OWNED int64_t *index = check_order(&seed, N), *plane = check_order(&seed, PLANES);
    CLEARED(csrec_measurement) m = {.shape = {2, {H, W}}, .channels = 1, .n = SAMPLES};
    assert_well(csrec_guides_add(&m, "", PLANES, values, &told));
    for (int64_t i = 0; i < SAMPLES; i++) {
        y[i] = 0.1 * check_normal(&seed);
        for (int k = 0; k < TELLING; k++)
            y[i] += pow(3.0, 2 - k) * values[index[i] * PLANES + plane[k]];
    }
    csrec_measurement seen = m;
    seen.index = index;
    seen.y = y;
    for (int most = 1; most <= TELLING; most++) {
        float *guide = floats(most * N), *work = floats(csrec_pyramid_work(H, W));
        assert_int_equal(csrec_film_guides(&seen, 0, most, 1, work, guide), most);
        for (int k = 0; k < most; k++) {
            int found = 0;
            for (int g = 0; g < most; g++)
                found +=
                    memcmp(guide + g * N, m.guides->values + plane[k] * N, N * sizeof *guide) == 0;
            assert_int_equal(found, 1);
        }
    }
}

/* Planes of albedo serve the channel of their number, if there are as many as channels. */
TEST(albedo_serves_its_channel) {
    enum { N = 6, CHANNELS = 3 };
    const double *values = kept_normals(&seed, N * CHANNELS);
    for (int planes = 2; planes <= CHANNELS; planes++) {
        CLEARED(csrec_measurement) m = {.shape = {2, {2, 3}}, .channels = CHANNELS};
        assert_well(csrec_guides_add(&m, "Albedo.R", planes, values, &told));
        assert_well(csrec_guides_add(&m, "normal", 1, values, &told));
        for (int64_t c = 0; c < CHANNELS; c++) {
            float guide[(CHANNELS + 1) * N], *work = floats(csrec_pyramid_work(2, 3));
            const bool own = planes == CHANNELS;
            const int n = csrec_film_guides(&m, c, CSREC_GUIDED_MOST, 1, work, guide);
            assert_int_equal(n, own ? 2 : planes + 1);
            assert_memory_equal(guide, m.guides->values + (own ? c * N : 0), N * sizeof *guide);
            assert_memory_equal(guide + (n - 1) * N, m.guides->values + planes * N,
                                N * sizeof *guide);
        }
    }
    static const char *const colours[] = {"albedo", "Diffuse Color", "BASE_COLOR.R", "reflectance"};
    static const char *const others[] = {"", "normal", "depth", "specular albedo", "alb"};
    for (int k = 0; k < 4; k++) assert_true(csrec_guide_is_albedo(colours[k]));
    for (int k = 0; k < 5; k++) assert_false(csrec_guide_is_albedo(others[k]));
}
