/* SPDX-License-Identifier: BSD-3-Clause */
/* test_exr_attributes.c - what describes a picture goes from one OpenEXR file to another. */
#include "exr_file.h"

static const exr_attr_chromaticities_t primaries = {0.64f, 0.33f, 0.3f,    0.6f,
                                                    0.15f, 0.06f, 0.3127f, 0.329f};
static const exr_attr_m44f_t camera = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static const exr_attr_box2i_t crop = {{.x = 1, .y = 2}, {.x = 3, .y = 4}};
static const exr_attr_rational_t rate = {24000, 1001};
static const exr_attr_timecode_t code = {0x12345678, 9};
static const double seconds = 0.1;
static const float exposure = 0.02f;
static const int32_t samples = -7;
static const exr_envmap_t map = EXR_ENVMAP_CUBE;
static const char *const names[2] = {"left", "the other one"};
static const float lens[3] = {1.5f, -2.0f, 1e-20f};
/* OpenEXR before its pull request 2510 crashes on vectors of floats where bytes come in the other
 * order. */
static const bool has_lens = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

static void set_attributes(exr_context_t file) {
    uint8_t pixels[4 * 2 * 2] = {1, 2, 3};
    const exr_attr_preview_t preview = {2, 2, 0, pixels};
    assert_ok(exr_attr_set_string(file, 0, "comments", "traced in part"));
    assert_ok(exr_attr_set_string(file, 0, "an attribute of a very long name, indeed", ""));
    assert_ok(exr_attr_set_chromaticities(file, 0, "chromaticities", &primaries));
    assert_ok(exr_attr_set_m44f(file, 0, "worldToCamera", &camera));
    assert_ok(exr_attr_set_box2i(file, 0, "crop", &crop));
    assert_ok(exr_attr_set_rational(file, 0, "framesPerSecond", &rate));
    assert_ok(exr_attr_set_timecode(file, 0, "timeCode", &code));
    assert_ok(exr_attr_set_double(file, 0, "seconds", seconds));
    assert_ok(exr_attr_set_float(file, 0, "expTime", exposure));
    assert_ok(exr_attr_set_int(file, 0, "samples", samples));
    assert_ok(exr_attr_set_envmap(file, 0, "envmap", map));
    assert_ok(exr_attr_set_string_vector(file, 0, "views", 2, (const char **)(uintptr_t)names));
    if (has_lens) assert_ok(exr_attr_set_float_vector(file, 0, "lens", 3, lens));
    assert_ok(exr_attr_set_user(file, 0, "owned", "renderer", 5, "\1\0\2\0\3"));
    assert_ok(exr_attr_set_preview(file, 0, "preview", &preview));
}

static void check_texts(exr_context_t file) {
    const char *text, *texts[2], *type;
    const float *numbers;
    const void *bytes;
    int32_t count = 0;
    assert_ok(exr_attr_get_string(file, 0, "comments", &count, &text));
    assert_string_equal(text, "traced in part");
    assert_ok(
        exr_attr_get_string(file, 0, "an attribute of a very long name, indeed", &count, &text));
    assert_int_equal(count, 0);
    count = 2;
    assert_ok(exr_attr_get_string_vector(file, 0, "views", &count, texts));
    for (int i = 0; i < 2; i++) assert_string_equal(texts[i], names[i]);
    if (has_lens) {
        assert_ok(exr_attr_get_float_vector(file, 0, "lens", &count, &numbers));
        assert_int_equal(count, 3);
        assert_memory_equal(numbers, lens, sizeof lens);
    }
    assert_ok(exr_attr_get_user(file, 0, "owned", &type, &count, &bytes));
    assert_string_equal(type, "renderer");
    assert_int_equal(count, 5);
    assert_memory_equal(bytes, "\1\0\2\0\3", 5);
}

/* What `get` delivers, a number or a struct, has the bits of a variable. */
#define EXPECT(type, get, name, expected)                                                          \
    do {                                                                                           \
        type got_;                                                                                 \
        assert_ok(get(file, 0, name, &got_));                                                      \
        assert_memory_equal(&got_, &(expected), sizeof got_);                                      \
    } while (0)

static void check_numbers(exr_context_t file) {
    EXPECT(exr_attr_chromaticities_t, exr_attr_get_chromaticities, "chromaticities", primaries);
    EXPECT(exr_attr_m44f_t, exr_attr_get_m44f, "worldToCamera", camera);
    EXPECT(exr_attr_box2i_t, exr_attr_get_box2i, "crop", crop);
    EXPECT(exr_attr_rational_t, exr_attr_get_rational, "framesPerSecond", rate);
    EXPECT(exr_attr_timecode_t, exr_attr_get_timecode, "timeCode", code);
    EXPECT(double, exr_attr_get_double, "seconds", seconds);
    EXPECT(float, exr_attr_get_float, "expTime", exposure);
    EXPECT(int32_t, exr_attr_get_int, "samples", samples);
    EXPECT(exr_envmap_t, exr_attr_get_envmap, "envmap", map);
}

static void check_windows(exr_context_t file, const drawn *d) {
    exr_attr_box2i_t window, display;
    exr_attr_v2f_t centre;
    float number;
    const exr_attribute_t *preview;
    exr_storage_t storage;
    assert_ok(exr_get_storage(file, 0, &storage));
    assert_int_equal(storage, EXR_STORAGE_SCANLINE);
    assert_ok(exr_get_data_window(file, 0, &window));
    assert_int_equal(window.min.x, d->x);
    assert_int_equal(window.max.y, d->y + d->height - 1);
    assert_ok(exr_get_display_window(file, 0, &display));
    assert_int_equal(display.min.y, -3);
    assert_int_equal(display.max.x, 99);
    assert_ok(exr_get_pixel_aspect_ratio(file, 0, &number));
    assert_true(number == 1.5f);
    assert_ok(exr_get_screen_window_center(file, 0, &centre));
    assert_true(centre.x == 0.25f && centre.y == -2.0f);
    assert_ok(exr_get_screen_window_width(file, 0, &number));
    assert_true(number == 0.75f);
    assert_int_not_equal(exr_get_attribute_by_name(file, 0, "preview", &preview), 0);
    assert_int_not_equal(exr_get_attribute_by_name(file, 0, "tiles", &preview), 0);
}

TEST(attributes_are_kept) {
    const char *like = io_path("like.exr"), *path = io_path("full.exr");
    for (int trial = 0; trial < 30; trial++) {
        drawn d = draw(trial % 3);
        exr_context_t file = begin(like, &d);
        assert_ok(exr_set_longname_support(file, 1));
        set_attributes(file);
        finish(file, &d);
        CLEARED(csrec_image) image = draw_signal(CSREC_F32, d.height, d.width, 3);
        write_well(path, &image, like);
        file = open_file(path);
        check_texts(file);
        check_numbers(file);
        check_windows(file, &d);
        exr_finish(&file);
    }
}

FIXTURE(io_setup, io_teardown);
