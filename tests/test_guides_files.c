/* SPDX-License-Identifier: BSD-3-Clause */
/* test_guides_files.c - guides in .npz, and of pictures and arrays. */
#include "samples.h" /* before what declares `seed`, a name of its arguments */
#include "io_measurement.h"
#include "io_png.h"

#include "files/npz/npz.h"
#include "measurement/guides.h"

/* The text of a shape in a header, with one more extent before or behind, if that is not 0. */
static const char *shape_text(int64_t before, const csrec_shape *shape, int64_t behind) {
    const char *text = before ? check_print("%lld,", (long long)before) : "";
    for (int d = 0; d < shape->dims; d++)
        text = check_print("%s%lld,", text, (long long)shape->dim[d]);
    return check_print(behind ? "(%s%lld,)" : "(%s)", text, (long long)behind);
}

/* Texts of n names, 'U' of 12 letters. */
static io_bytes npy_names(int64_t n, const char *const *names) {
    io_bytes b = {0};
    io_npy_header(&b, 1, "<U12", false, check_print("(%lld,)", (long long)n));
    for (int64_t k = 0; k < n; k++)
        for (size_t i = 0; i < 12; i++)
            io_put_le(&b, i < strlen(names[k]) ? (uint64_t)names[k][i] : 0, 4);
    return b;
}

static csrec_measurement draw_signal(csrec_shape shape) {
    csrec_measurement m =
        draw_places(&shape, 1, CSREC_PATTERN_UNIFORM, 1 + check_below(&seed, entries_in(&shape)),
                    check_next(&seed));
    for (int64_t k = 0; k < m.n; k++) m.y[k] = check_normal(&seed);
    return m;
}

static csrec_shape draw_shape(int dims) {
    csrec_shape shape = {dims, {0}};
    for (int d = 0; d < dims; d++) shape.dim[d] = 1 + check_below(&seed, 9);
    return shape;
}

/* Some are NaN, but not the first `known`. */
static double *draw_planes(int64_t n, int64_t known) {
    double *v = kept_normals(&seed, n);
    for (int64_t i = known; i < n; i++)
        if (check_below(&seed, 5) == 0) v[i] = NAN;
    return v;
}

/* Plane k of the guides is `values`, from `at` on in steps. */
static void expect_plane(const csrec_measurement *m, int64_t k, const char *name,
                         const double *values, int64_t step) {
    const int64_t entries = entries_in(&m->shape);
    assert_true(m->guides && k < m->guides->n);
    assert_string_equal(m->guides->name[k], name);
    for (int64_t i = 0; i < entries; i++) {
        const float got = m->guides->values[k * entries + i], want = (float)values[i * step];
        assert_true(isnan(want) ? isnan(got) : got == want);
    }
}

TEST(guides_come_back) {
    for (int trial = 0; trial < 60; trial++) {
        const csrec_shape shape = draw_shape(1 + trial % 3);
        const int64_t n = entries_in(&shape), two = 1 + check_below(&seed, 5);
        CLEARED(csrec_measurement) m = draw_signal(shape);
        const double *one = draw_planes(n, 1), *more = draw_planes(n * two, two);
        assert_ok(csrec_guides_add(&m, "albedo", 1, one, NULL));
        assert_ok(csrec_guides_add(&m, trial % 2 ? "" : "depth of the scene, in metres..", two,
                                   more, NULL));
        m.sequence = shape.dims == 3 && trial % 4 == 2;
        assert_ok(csrec_measurement_write(io_path("w.npz"), &m, false, NULL));
        csrec_measurement back = accept(io_path("w.npz"), NULL);
        assert_int_equal(back.sequence, m.sequence);
        assert_int_equal(back.guides->n, 1 + two);
        expect_plane(&back, 0, "albedo", one, 1);
        for (int64_t k = 0; k < two; k++)
            expect_plane(&back, 1 + k, m.guides->name[1], more + k, two);
        expect(back, m.n, 1, m.index, m.y);
        csrec_read_options options = {.no_guides = true};
        assert_ok(csrec_measurement_read_with(io_path("w.npz"), &options, &back, NULL));
        assert_true(!back.guides && back.sequence == m.sequence);
        expect(back, m.n, 1, m.index, m.y);
    }
}

static void begin_file(void) {
    Y(1, 2);
    INTS("index", 0, 3);
    INTS("shape", 2, 2);
}

TEST(files_by_others_are_read) {
    const double planes[8] = {1, 2, NAN, 4, -5, 6.5, 7, 8};
    begin_file();
    add("guides", io_npy_shaped("(2, 2, 2)", 8, planes));
    add("guide_names", npy_names(2, (const char *[]){"N", "diffuse colo"}));
    CLEARED(csrec_measurement) m = accept(finish(), NULL);
    expect_plane(&m, 0, "N", planes, 1);
    expect_plane(&m, 1, "diffuse colo", planes + 4, 1);
    begin_file();
    const int64_t whole[4] = {3, 1, 4, 1};
    add("guides", io_npy_i8("(1, 2, 2)", 4, whole));
    CLEARED(csrec_measurement) other = accept(finish(), NULL);
    expect_plane(&other, 0, "", (double[]){3, 1, 4, 1}, 1);
    assert_false(other.sequence);
}

TEST(refuses_guides_that_do_not_fit) {
    const double planes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const shapes[] = {"(8,)", "(2, 2)", "(2, 4)", "(1, 2, 3)"};
    static const int counts[] = {8, 4, 8, 6};
    for (int k = 0; k < 4; k++) {
        begin_file();
        add("guides", io_npy_shaped(shapes[k], counts[k], planes));
        refuse("array 'guides': is not [K, shape of the signal]");
    }
    begin_file();
    add("guides", io_npy_shaped("(2, 2, 2)", 8, planes));
    add("guide_names", npy_names(1, (const char *[]){"a"}));
    refuse("array 'guide_names': 1 names for 2 planes");
    begin_file();
    add("guides", io_npy_shaped("(2, 2, 2)", 8, planes));
    add_f8("guide_names", 2, planes);
    refuse("array 'guide_names': holds numbers");
    begin_file();
    add("guides", io_npy_shaped("(1, 2, 2)", 4, (double[]){1, 1e39, 2, 3}));
    refuse("array 'guides': entry 1 of plane 0 is infinite");
    begin_file();
    SCALAR("sequence", 1);
    refuse("sequence has three axes");
}

TEST(slabs_are_refused) {
    const csrec_shape shape = {2, {30, 20}};
    CLEARED(csrec_measurement) m = draw_signal(shape);
    csrec_measurement form;
    csrec_slab_file *file = NULL;
    const csrec_read_options options = {.no_guides = true};
    const csrec_shape list = {1, {m.n}};
    const csrec_npz_field fields[] = {
        {"y", "f8", list, m.y, (uint64_t)m.n * 8},
        {"index", "i8", list, m.index, (uint64_t)m.n * 8},
        {"shape", "i8", {1, {2}}, shape.dim, 16},
        {"guides", "f8", {3, {1, 30, 20}}, draw_planes(600, 1), 4800}};
    assert_ok(csrec_npz_save(io_path("s.npz"), 4, fields, true, NULL));
    io_refused(csrec_slab_file_open(io_path("s.npz"), NULL, &form, &file, &error),
               CSREC_UNSUPPORTED, "s.npz", "it has guides");
    assert_ok(csrec_slab_file_open(io_path("s.npz"), &options, &form, &file, NULL));
    csrec_slab_file_close(file);
}

TEST(arrays_guide) {
    for (int trial = 0; trial < 60; trial++) {
        const csrec_shape shape = draw_shape(1 + trial % 3);
        const int64_t n = entries_in(&shape), planes = 10 + check_below(&seed, 6); /* no extent */
        double *values = draw_planes(n * planes, planes), *turned = check_room(n * planes);
        for (int64_t i = 0; i < n * planes; i++) turned[i % planes * n + i / planes] = values[i];
        CLEARED(csrec_measurement) m = draw_signal(shape);
        const char *flat = io_keep("flat.npy", io_npy_shaped(shape_text(0, &shape, 0), n, turned));
        const char *last =
            io_keep("last.npy", io_npy_shaped(shape_text(0, &shape, planes), n * planes, values));
        const char *first =
            io_keep("first.npy", io_npy_shaped(shape_text(planes, &shape, 0), n * planes, turned));
        assert_well(csrec_guides_read(flat, "albedo", &m, &told));
        assert_well(csrec_guides_read(last, NULL, &m, &told));
        assert_well(csrec_guides_read(first, "N", &m, &told));
        assert_int_equal(m.guides->n, 1 + 2 * planes);
        expect_plane(&m, 0, "albedo", values, planes);
        for (int64_t k = 0; k < planes; k++) {
            expect_plane(&m, 1 + k, "", values + k, planes);
            expect_plane(&m, 1 + planes + k, "N", values + k, planes);
        }
    }
}

/* Those of a frame hold for all. */
TEST(frames_share_guides) {
    for (int trial = 0; trial < 20; trial++) {
        const csrec_shape shape = draw_shape(3), frame = {2, {shape.dim[1], shape.dim[2]}};
        const int64_t n = entries_in(&frame), frames = shape.dim[0], planes = 10;
        double *values = draw_planes(n * planes, planes), *all = check_room(frames * n * planes);
        for (int64_t i = 0; i < frames * n * planes; i++) all[i] = values[i % (n * planes)];
        CLEARED(csrec_measurement) m = draw_signal(shape);
        const char *path =
            io_keep("frame.npy", io_npy_shaped(shape_text(0, &frame, planes), n * planes, values));
        io_refused(csrec_guides_read(path, NULL, &m, &error), CSREC_DATA, "frame.npy",
                   "for a signal of");
        m.sequence = true;
        assert_well(csrec_guides_read(path, "depth", &m, &told));
        for (int64_t k = 0; k < planes; k++) expect_plane(&m, k, "depth", all + k, planes);
    }
}

TEST(named_arrays_name_guides) {
    const double *values = draw_planes(6, 1);
    CLEARED(csrec_measurement) m = draw_signal((csrec_shape){2, {2, 3}});
    add("Z", io_npy_shaped("(2, 3)", 6, values));
    add("b", io_npy_shaped("(2, 3)", 6, values));
    const char *path = finish();
    assert_well(csrec_guides_read(check_print("%s:/Z", path), NULL, &m, &told));
    assert_well(csrec_guides_read(check_print("%s:Z", path), NULL, &m, &told));
    assert_well(csrec_guides_read(check_print("%s:b", path), NULL, &m, &told));
    for (int k = 0; k < 3; k++) expect_plane(&m, k, k < 2 ? "depth" : "", values, 1);
}

TEST(pictures_guide) {
    uint16_t samples[24];
    double values[18];
    for (int i = 0; i < 24; i++) samples[i] = (uint16_t)check_below(&seed, 256);
    for (int i = 0; i < 6; i++) samples[4 * i + 3] = i == 4 ? 0 : 255;
    for (int i = 0; i < 18; i++) values[i] = i / 3 == 4 ? NAN : samples[i / 3 * 4 + i % 3];
    io_png png = {.width = 3, .height = 2, .bits = 8, .color = IO_RGBA, .samples = samples};
    CLEARED(csrec_measurement) m = draw_signal((csrec_shape){2, {2, 3}});
    CLEARED(csrec_measurement) other = draw_signal((csrec_shape){2, {3, 2}});
    const char *path = io_keep("a=b.png", io_png_make(&png));
    assert_well(csrec_guides_read(path, "photo", &m, &told));
    for (int k = 0; k < 3; k++) expect_plane(&m, k, "photo", values + k, 3);
    io_refused(csrec_guides_read(path, NULL, &other, &error), CSREC_DATA, "a=b.png",
               "a guide of 2 x 3 for a signal of 3 x 2");
    assert_null(other.guides);
    const char *none =
        io_keep("none.npy", io_npy_shaped("(3, 2)", 6, (double[]){NAN, NAN, NAN, NAN, NAN, NAN}));
    io_refused(csrec_guides_read(none, NULL, &other, &error), CSREC_DATA, "none.npy",
               "is known nowhere");
    io_refused(csrec_guides_read(io_path("gone.npy"), NULL, &other, &error), CSREC_FILE, "gone.npy",
               "cannot be opened");
}

/* What is infinitely far is as far as what is farthest; elsewhere it is unknown. */
TEST(infinity_is_far) {
    const double far[6] = {1, INFINITY, 3, 1e10, NAN, -2};
    CLEARED(csrec_measurement) m = draw_signal((csrec_shape){2, {3, 2}});
    const char *path = io_keep("far.npy", io_npy_shaped("(3, 2)", 6, far));
    assert_well(csrec_guides_read(path, "depth", &m, &told));
    assert_well(csrec_guides_read(path, "other", &m, &told));
    expect_plane(&m, 0, "depth", (double[]){1, 3, 3, 3, NAN, -2}, 1);
    expect_plane(&m, 1, "other", (double[]){1, NAN, 3, 1e10, NAN, -2}, 1);
}

TEST(renderers_names_are_known) {
    static const char *const kinds[] = {"albedo", "normal", "depth", "position", NULL};
    static const char *const names[][12] = {
        {"albedo", "Albedo", "diffuse color", "ViewLayer.Denoising Albedo", "RenderLayer.DiffCol",
         "VisibleDiffuse", "diffuse_albedo", "VRayDiffuseFilter", "left/baseColor"},
        {"N", "Ns", "nn", "sh_normal", "Shading Normal", "ViewLayer.Denoising Normal", "normals"},
        {"Z", "Depth", "ViewLayer.Denoising Depth", "VRayZDepth", "dd", "Pz"},
        {"P", "World Position", "position"},
        {"", "Combined", "ViewLayer.DiffDir", "diffuse", "specular_albedo", "CryptoObject00",
         "RelativeVariance", "Composite.Composite", "u"}};
    for (int k = 0; k < 5; k++)
        for (int i = 0; names[k][i]; i++) {
            const char *kind = csrec_guide_kind(names[k][i]);
            if (!kind != !kinds[k] || (kind && strcmp(kind, kinds[k]) != 0))
                fail_msg("%s is %s", names[k][i], kind ? kind : "nothing");
        }
    assert_true(csrec_guide_is_albedo("albedo") && csrec_guide_is_albedo("albedo DiffCol"));
    assert_false(csrec_guide_is_albedo("normal") || csrec_guide_is_albedo("specular_albedo"));
}

TEST(renderers_names_of_rays_are_known) {
    static const char *const kinds[] = {"rays", "share", "inverse", "variance", "moment", NULL};
    static const char *const names[][8] = {
        {"sampleCount", "SAMPLECOUNT", "left/sampleCount.Y", "rays", "spp"},
        {"ViewLayer.Debug Sample Count", "ViewLayer.Debug Sample Count.X"},
        {"AA_inv_density"},
        {"Variance", "Variance.R"},
        {"m2_path.R", "m2_aov.albedo.R", "m2_aov.nn.X"},
        {"", "variance", "RelativeVariance.R", "VRaySampleRate", "raycount", "N", "samples per m"}};
    for (int k = 0; k < 6; k++)
        for (int i = 0; names[k][i]; i++) {
            const char *kind = csrec_each_kind(names[k][i]);
            if (!kind != !kinds[k] || (kind && strcmp(kind, kinds[k]) != 0))
                fail_msg("%s is %s", names[k][i], kind ? kind : "nothing");
            assert_true(!kind || !csrec_guide_kind(names[k][i]));
        }
}

/* Those that are not finite are left out where rays are told, unless all are not. */
TEST(samples_of_rays_may_be_lost) {
    const int64_t index[5] = {7, 2, 3, 0, 5};
    const double rays[5] = {1, 2, 3, 4, 5};
    double y[10] = {1, 2, NAN, NAN, 3, INFINITY, NAN, 4, 5, 6};
    for (int trial = 0; trial < 3; trial++) {
        if (trial == 2)
            for (int i = 0; i < 10; i++) y[i] = -INFINITY;
        add("y", io_npy_shaped("(5, 2)", 10, y));
        add("index", io_npy_i8("(5,)", 5, index));
        INTS("shape", 2, 4);
        if (trial) add_f8("rays", 5, rays);
        if (trial != 1) {
            refuse(trial ? "sample 0 is -infinite" : "sample 1 is nan");
            continue;
        }
        add("sigma", io_npy_shaped("(5,)", 5, (double[]){.1, .2, .3, .4, .5}));
        csrec_facts facts;
        const char *path = finish();
        CLEARED(csrec_measurement) m = {0};
        assert_well(
            csrec_measurement_read_with(path, &(csrec_read_options){.facts = &facts}, &m, &told));
        assert_int_equal(facts.lost, 2);
        assert_int_equal(m.n, 3);
        for (int k = 0; k < 3; k++) {
            const int from = (const int[]){0, 3, 4}[k];
            assert_int_equal(m.index[k], index[from]);
            assert_true(m.rays[k] == rays[from]);
            for (int c = 0; c < 2; c++) {
                const double got = m.y[2 * k + c], want = y[2 * from + c];
                assert_true(isnan(want) ? isnan(got) : got == want);
                assert_true(m.deviation[2 * k + c] == (from + 1) / 10.0);
            }
        }
    }
}

FIXTURE(io_setup, io_teardown);
