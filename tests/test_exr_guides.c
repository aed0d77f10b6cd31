/* SPDX-License-Identifier: BSD-3-Clause */
/* test_exr_guides.c - layers of an OpenEXR that are known beside its picture. */
#include "exr_file.h"

/* Z is no depth of 1e10 here, and infinite in places, if any value is known. */
typedef struct scene {
    drawn d;
    double *depth;
    int64_t entries;
} scene;

static const char *const LAYERS[] = {"R",
                                     "G",
                                     "B",
                                     "A",
                                     "ViewLayer.Denoising Albedo.R",
                                     "ViewLayer.Denoising Albedo.G",
                                     "ViewLayer.Denoising Albedo.B",
                                     "N.X",
                                     "N.Y",
                                     "N.Z",
                                     "Z",
                                     "diffuse.R",
                                     "diffcol.V",
                                     "u",
                                     "own.A",
                                     "own normal.V"};
enum { N_LAYERS = sizeof LAYERS / sizeof *LAYERS, DEPTH = 10 };

/* gaps: where alpha is 0 all layers but the depth are. */
static scene draw_scene(bool gaps) {
    scene s = {.d = draw(0)};
    drawn *d = &s.d;
    d->height += 8;
    s.entries = (int64_t)d->height * d->width;
    for (d->channels = 0; d->channels < N_LAYERS; d->channels++)
        draw_channel(d, d->channels, LAYERS[d->channels],
                     d->channels == DEPTH ? EXR_PIXEL_FLOAT
                                          : (exr_pixel_type_t)check_below(&seed, 3));
    s.depth = check_room(s.entries);
    double most = 0.0;
    for (int64_t i = 0; i < s.entries; i++) {
        const float far[] = {INFINITY, 1e10f, 3e30f};
        float depth = (float)(1e3 * check_uniform(&seed));
        if (depth > most) most = depth;
        s.depth[i] = depth;
        if (i > 0 && check_below(&seed, 9) == 0) s.depth[i] = INFINITY;
        if (isinf(s.depth[i]) && depth == most) s.depth[i] = depth; /* known after all */
        if (isinf(s.depth[i])) depth = far[check_below(&seed, 3)];
        memcpy(d->channel[DEPTH].samples + 4 * i, &depth, 4);
        for (int c = 0; c < N_LAYERS; c++)
            if (gaps && c != DEPTH && value_of(d, 3, (size_t)i) <= 0.0)
                memset(d->channel[c].samples + (size_t)i * d->channel[c].size, 0,
                       d->channel[c].size);
    }
    for (int64_t i = 0; i < s.entries; i++)
        if (isinf(s.depth[i])) s.depth[i] = most;
    return s;
}

static void expect_planes(const csrec_measurement *m, const scene *s, int64_t k, const char *name,
                          int channel, bool gaps) {
    assert_true(m->guides && k < m->guides->n);
    assert_string_equal(m->guides->name[k], name);
    for (int64_t i = 0; i < s->entries; i++) {
        const float got = m->guides->values[k * s->entries + i];
        if (gaps && value_of(&s->d, 3, (size_t)i) <= 0.0)
            assert_true(isnan(got));
        else if (channel == DEPTH)
            assert_true(got == (float)s->depth[i]);
        else
            assert_true(got == (float)value_of(&s->d, channel, (size_t)i));
    }
}

/* In the order of their names in the file, as OpenEXR sorts them. */
static void expect_scene(const csrec_measurement *m, const scene *s, bool gaps) {
    for (int c = 0; c < 3; c++) {
        expect_planes(m, s, c, "normal", 7 + c, gaps);
        expect_planes(m, s, 3 + c, "albedo", 4 + c, gaps);
    }
    expect_planes(m, s, 6, "depth", DEPTH, false);
    expect_planes(m, s, 7, "albedo diffcol", 12, gaps);
    expect_planes(m, s, 8, "normal own normal", 15, gaps);
    assert_int_equal(m->guides->n, 9);
}

TEST(layers_guide_their_picture) {
    const char *path = io_path("scene.exr");
    for (int trial = 0; trial < 60; trial++) {
        const scene s = draw_scene(trial % 2);
        csrec_facts facts;
        csrec_read_options options = {.facts = &facts};
        CLEARED(csrec_measurement) m = {0}, plain = {0};
        write_drawn(path, &s.d);
        assert_well(csrec_measurement_read_with(path, &options, &m, &told));
        expect_scene(&m, &s, trial % 2);
        assert_non_null(strstr(facts.note, "not read are diffuse, own, u; FILE:/NAME"));
        assert_non_null(strstr(facts.note, "guides are its layers normal, albedo, depth, albedo "
                                           "diffcol, normal own normal"));
        options.no_guides = true;
        assert_well(csrec_measurement_read_with(path, &options, &plain, &told));
        assert_null(plain.guides);
        assert_non_null(strstr(facts.note, "not read are N, ViewLayer.Denoising Albedo, Z, diff"));
        assert_int_equal(m.n, plain.n);
        assert_memory_equal(m.y, plain.y, (size_t)(3 * m.n) * sizeof *m.y);
    }
}

/* What is measured is no guide of itself. */
TEST(a_layer_is_guided_by_others) {
    const scene s = draw_scene(false);
    const char *path = io_path("scene.exr");
    CLEARED(csrec_measurement) m = {0};
    write_drawn(path, &s.d);
    assert_well(csrec_measurement_read(check_print("%s:/N", path), NULL, &m, &told));
    assert_int_equal(m.guides->n, 6);
    expect_planes(&m, &s, 0, "albedo", 4, false);
    expect_planes(&m, &s, 5, "normal", 15, false);
}

TEST(files_guide_others) {
    const char *path = io_path("scene.exr");
    for (int trial = 0; trial < 10; trial++) {
        const scene s = draw_scene(trial % 2);
        CLEARED(csrec_measurement) m = {.shape = {2, {s.d.height, s.d.width}}};
        write_drawn(path, &s.d);
        assert_well(csrec_guides_read(path, NULL, &m, &told));
        expect_scene(&m, &s, trial % 2);
        assert_well(csrec_guides_read(check_print("%s:/N", path), "bumps", &m, &told));
        assert_well(csrec_guides_read(check_print("%s:/N", path), NULL, &m, &told));
        for (int c = 0; c < 3; c++) {
            expect_planes(&m, &s, 9 + c, "bumps", 7 + c, true);
            expect_planes(&m, &s, 12 + c, "normal", 7 + c, true);
        }
    }
}

/* The only layer beside guides is the picture. */
TEST(a_view_layer_is_the_picture) {
    const char *path = io_path("view.exr");
    static const char *const names[] = {
        "V.Combined.R",         "V.Combined.G",         "V.Combined.B", "V.Depth.Z",
        "V.Denoising Normal.Y", "V.Denoising Normal.X", "V.Noisy.R"};
    scene s = {.d = draw(2)};
    for (int c = 0; c < 7; c++) s.d.channel[c].name = names[c];
    s.entries = (int64_t)s.d.height * s.d.width;
    s.d.channel[3].type = EXR_PIXEL_HALF; /* not beyond 65504 */
    s.d.channel[3].size = 2;
    for (int64_t i = 0; i < s.entries; i++)
        s.d.channel[3].samples[2 * i + 1] = (uint8_t)(s.d.channel[3].samples[2 * i + 1] & 0xbb);
    write_drawn(path, &s.d);
    expect_unread(path, CSREC_DATA, "name one"); /* two layers are no guides */
    s.d.channels = 6;
    write_drawn(path, &s.d);
    CLEARED(csrec_image) image = read_well(path);
    assert_int_equal(image.pixels.count, 3 * s.entries);
    for (int64_t i = 0; i < 3 * s.entries; i++)
        assert_true((float)csrec_array_value(&image.pixels, i) ==
                    (float)value_of(&s.d, (int)(i % 3), (size_t)(i / 3)));
    CLEARED(csrec_measurement) m = {0};
    assert_well(csrec_measurement_read_with(
        path, &(csrec_read_options){.has_unknown = true, .unknown = -1e38}, &m, &told));
    assert_int_equal(m.guides->n, 3);
    expect_planes(&m, &s, 0, "normal", 5, false);
    expect_planes(&m, &s, 1, "normal", 4, false);
    expect_planes(&m, &s, 2, "depth", 3, false);
}

/* Without a known name all are. */
TEST(layers_of_any_names) {
    const char *path = io_path("any.exr");
    scene s = {.d = draw(2)};
    static const char *const names[] = {"R", "G", "B", "band.7", "crypto00.R", "heat.x", "heat.y"};
    for (int c = 0; c < 7; c++) s.d.channel[c].name = names[c];
    s.entries = (int64_t)s.d.height * s.d.width;
    csrec_measurement m = {.shape = {2, {s.d.height, s.d.width}}};
    write_drawn(path, &s.d);
    assert_well(csrec_guides_read(path, NULL, &m, &told));
    assert_int_equal(m.guides->n, 6);
    for (int c = 0; c < 3; c++) expect_planes(&m, &s, c, "", c, false);
    expect_planes(&m, &s, 3, "band", 3, false);
    expect_planes(&m, &s, 4, "heat", 5, false);
    expect_planes(&m, &s, 5, "heat", 6, false);
    csrec_measurement_clear(&m);
    m = (csrec_measurement){.shape = {2, {s.d.height + 1, s.d.width}}};
    io_refused(csrec_guides_read(path, NULL, &m, &error), CSREC_DATA, "any.exr", "for a signal of");
    assert_null(m.guides);
}

/* The alpha of a layer is that of its values, whatever they are. */
TEST(layers_have_their_own_alpha) {
    const char *path = io_path("alpha.exr");
    scene s = {.d = draw(2)};
    static const char *const names[] = {"R",        "G",        "B",       "albedo.A",
                                        "albedo.R", "albedo.G", "albedo.B"};
    for (int c = 0; c < 7; c++) s.d.channel[c].name = names[c];
    s.entries = (int64_t)s.d.height * s.d.width;
    memcpy(s.d.channel[3].samples, &(uint32_t){0x00010001}, 4); /* one is above 0 in any type */
    CLEARED(csrec_measurement) m = {.shape = {2, {s.d.height, s.d.width}}};
    write_drawn(path, &s.d);
    assert_well(csrec_guides_read(path, NULL, &m, &told));
    assert_int_equal(m.guides->n, 3);
    for (int c = 0; c < 3; c++) expect_planes(&m, &s, c, "albedo", 4 + c, true);
}

static void put_value(const drawn *d, int c, int64_t i, double value) {
    uint8_t *at = d->channel[c].samples + (size_t)i * d->channel[c].size;
    const uint32_t integer = d->channel[c].type == EXR_PIXEL_UINT ? (uint32_t)value : 0;
    const float number = (float)value;
    uint16_t half = 0;
    for (uint32_t bits = 0; bits < 0x7c00 && d->channel[c].type == EXR_PIXEL_HALF; bits++)
        if (half_value((uint16_t)bits) == value) half = (uint16_t)bits;
    if (d->channel[c].type == EXR_PIXEL_HALF)
        memcpy(at, &half, sizeof half);
    else
        memcpy(at, d->channel[c].type == EXR_PIXEL_UINT ? (const void *)&integer : &number, 4);
}

/* R, G and B of floats, some NaN or infinite, and a channel of these names each. */
static drawn draw_render(int n, const char *const *names, exr_pixel_type_t type) {
    drawn d = draw(0);
    d.height += 8;
    d.width += 8;
    for (d.channels = 0; d.channels < 3 + n; d.channels++)
        draw_channel(&d, d.channels,
                     d.channels < 3 ? (const char *[]){"R", "G", "B"}[d.channels]
                                    : names[d.channels - 3],
                     d.channels < 3 ? EXR_PIXEL_FLOAT : type);
    for (int64_t i = 0; i < (int64_t)d.height * d.width; i++) {
        const double broken[] = {NAN, INFINITY, -INFINITY};
        for (int c = 0; c < 3; c++)
            put_value(&d, c, i, check_below(&seed, 4) ? 9.0 * check_uniform(&seed) : 0.0);
        if (check_below(&seed, 9) == 0)
            put_value(&d, (int)check_below(&seed, 3), i, broken[check_below(&seed, 3)]);
    }
    return d;
}

/* What is told of a pixel. */
typedef struct told_pixel {
    double rays, deviation[3];
} told_pixel;

/* Of the file: pixels of rays and finite colours, in their order, with these. */
static void expect_told(const char *path, const drawn *d, const told_pixel *want, bool deviation,
                        const char *note) {
    csrec_facts facts;
    const csrec_read_options options = {.facts = &facts, .no_guides = check_below(&seed, 2)};
    CLEARED(csrec_measurement) m = {0};
    int64_t k = 0, lost = 0;
    assert_well(csrec_measurement_read_with(path, &options, &m, &told));
    if (!strstr(facts.note, note)) fail_msg("%s, not %s", facts.note, note);
    assert_null(strstr(facts.note, "not read"));
    assert_non_null(m.rays);
    assert_true((m.deviation != NULL) == deviation);
    for (int64_t i = 0; i < (int64_t)d->height * d->width; i++) {
        bool finite = true;
        for (int c = 0; c < 3; c++) finite = finite && isfinite(value_of(d, c, (size_t)i));
        lost += want[i].rays > 0.0 && !finite;
        if (!(want[i].rays > 0.0) || !finite) continue;
        assert_true(k < m.n && m.index[k] == i);
        assert_true(fabs(m.rays[k] - want[i].rays) <= 1e-6 * want[i].rays);
        for (int c = 0; c < 3; c++) {
            assert_true(m.y[3 * k + c] == value_of(d, c, (size_t)i));
            if (!deviation) continue;
            const double own = m.deviation[3 * k + c], should = want[i].deviation[c];
            assert_true(isnan(own) == isnan(should));
            if (!isnan(own)) assert_true(fabs(own - should) <= 1e-5 * should + 1e-9);
        }
        k++;
    }
    assert_int_equal(k, m.n);
    assert_int_equal(facts.lost, lost);
}

/* As many as renderers say, in any type; without any a pixel of any value is not measured. */
TEST(layers_tell_of_rays) {
    static const char *const names[] = {"sampleCount",   "ViewLayer.Debug Sample Count.X",
                                        "SAMPLECOUNT.Y", "rays",
                                        "spp",           "AA_inv_density"};
    const char *path = io_path("rays.exr");
    for (int trial = 0; trial < 60; trial++) {
        const bool inverse = trial % 6 == 5;
        const exr_pixel_type_t type =
            inverse ? EXR_PIXEL_FLOAT : (exr_pixel_type_t)check_below(&seed, 3);
        const drawn d = draw_render(1, &names[trial % 6], type);
        told_pixel *want = check_keep(sizeof *want * (size_t)d.height * (size_t)d.width);
        for (int64_t i = 0; i < (int64_t)d.height * d.width; i++) {
            want[i].rays = i == 0 ? 7.0 : (double)check_below(&seed, 5);
            put_value(&d, 3, i, inverse && want[i].rays > 0.0 ? 1.0 / want[i].rays : want[i].rays);
            if (want[i].rays == 0.0 && type == EXR_PIXEL_FLOAT && check_below(&seed, 2))
                put_value(&d, 3, i, NAN);
        }
        for (int c = 0; c < 3; c++) put_value(&d, c, 0, 1.0);
        write_drawn(path, &d);
        expect_told(path, &d, want, false, "numbers of rays are its layer ");
    }
}

/* Cycles writes the share of all samples, which the header has; else it tells nothing. */
TEST(shares_are_of_all_samples) {
    static const char *const name[] = {"View.Debug Sample Count.X"};
    const char *path = io_path("shares.exr");
    for (int trial = 0; trial < 6; trial++) {
        const drawn d = draw_render(1, name, EXR_PIXEL_FLOAT);
        told_pixel *want = check_keep(sizeof *want * (size_t)d.height * (size_t)d.width);
        for (int64_t i = 0; i < (int64_t)d.height * d.width; i++) {
            want[i].rays = i == 0 ? 3.0 : (double)check_below(&seed, 65);
            put_value(&d, 3, i, want[i].rays / 64.0);
        }
        for (int c = 0; c < 3; c++) put_value(&d, c, 0, 1.0);
        exr_context_t file = begin(path, &d);
        assert_ok(exr_attr_set_string(file, 0, "cycles.Other.samples", "9"));
        if (trial % 2) assert_ok(exr_attr_set_string(file, 0, "cycles.View.samples", "64"));
        finish(file, &d);
        if (trial % 2) {
            expect_told(path, &d, want, false, "numbers of rays are its layer View.Debug");
            continue;
        }
        csrec_facts facts;
        CLEARED(csrec_measurement) m = {0};
        assert_well(
            csrec_measurement_read_with(path, &(csrec_read_options){.facts = &facts}, &m, &told));
        assert_null(m.rays);
        assert_int_equal(facts.lost, 0);
        assert_non_null(strstr(facts.note, "View.Debug Sample Count does not tell how many rays"));
    }
}

/* Of one ray, or its mean square: by n, or by n - 1, the variance of the mean. */
TEST(layers_tell_of_variances) {
    static const char *const names[2][4] = {
        {"Variance.R", "Variance.G", "Variance.B", "sampleCount"},
        {"m2_path.R", "m2_path.G", "m2_path.B", "sampleCount"}};
    const char *path = io_path("variance.exr");
    for (int trial = 0; trial < 24; trial++) {
        const bool moment = trial % 2, header = trial % 4 >= 2;
        const drawn d = draw_render(header ? 3 : 4, names[moment], EXR_PIXEL_FLOAT);
        told_pixel *want = check_keep(sizeof *want * (size_t)d.height * (size_t)d.width);
        const double all = (double)(1 + check_below(&seed, 20));
        for (int64_t i = 0; i < (int64_t)d.height * d.width; i++) {
            const double n = header ? all : i == 0 ? 4.0 : (double)check_below(&seed, 30);
            want[i].rays = n;
            for (int c = 0; c < 3; c++) {
                const double mean = value_of(&d, c, (size_t)i), spread = check_uniform(&seed);
                const double v = check_below(&seed, 3) ? spread : 0.0;
                const float square = (float)(mean * mean + v);
                put_value(&d, 3 + c, i, moment ? (double)square : v);
                const double own = (double)(moment ? square : (float)v);
                const double left = moment ? (own - mean * mean) / (n - 1.0) : own / n;
                want[i].deviation[c] = n > 1.0 && left >= 0.0 ? sqrt(left) : NAN;
            }
            if (!header) put_value(&d, 6, i, n);
        }
        for (int c = 0; c < 3; c++) put_value(&d, c, 0, 0.0);
        for (int c = 0; c < 3; c++) put_value(&d, 3 + c, 0, 1.0);
        for (int c = 0; c < 3; c++)
            want[0].deviation[c] =
                want[0].rays > 1.0 ? 1.0 / sqrt(want[0].rays - (moment ? 1.0 : 0.0)) : NAN;
        exr_context_t file = begin(path, &d);
        if (header) assert_ok(exr_attr_set_int(file, 0, "samplesPerPixel", (int32_t)all));
        finish(file, &d);
        expect_told(path, &d, want, true, "variances are its layer ");
    }
}

/* By how many rays it is to be divided, nobody knows; others are of no known meaning. */
TEST(variances_without_rays_are_left_out) {
    static const char *const names[2][3] = {{"Variance.R", "Variance.G", "Variance.B"},
                                            {"variance.R", "variance.G", "variance.B"}};
    const char *path = io_path("variance.exr");
    for (int k = 0; k < 2; k++) {
        csrec_facts facts;
        CLEARED(csrec_measurement) m = {0};
        const drawn d = draw_render(3, names[k], EXR_PIXEL_FLOAT);
        for (int c = 0; c < 3; c++) put_value(&d, c, 0, 1.0);
        write_drawn(path, &d);
        assert_well(
            csrec_measurement_read_with(path, &(csrec_read_options){.facts = &facts}, &m, &told));
        assert_true(!m.rays && !m.deviation && !m.guides);
        assert_non_null(strstr(facts.note, k ? "not read are variance"
                                             : "Variance is left out, as the number of rays"));
    }
}

FIXTURE(io_setup, io_teardown);
