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

FIXTURE(io_setup, io_teardown);
