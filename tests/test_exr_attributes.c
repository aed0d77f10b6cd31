/* SPDX-License-Identifier: BSD-3-Clause */
/* test_exr_attributes.c - what describes a picture goes from one OpenEXR file to another. */
#include "exr_file.h"

static const exr_attr_chromaticities_t primaries = {0.64f, 0.33f, 0.3f,    0.6f,
                                                    0.15f, 0.06f, 0.3127f, 0.329f};
static const exr_attr_m44f_t camera = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static const exr_attr_box2i_t crop = {{.x = 1, .y = 2}, {.x = 3, .y = 4}};
static const exr_attr_rational_t rate = {24000, 1001};
static const exr_attr_timecode_t code = {0x12345678, 9};
static const char *const names[2] = {"left", "the other one"};
static const float lens[3] = {1.5f, -2.0f, 1e-20f};
/* OpenEXR before its pull request 2510 crashes on vectors of floats where bytes come in the other
 * order. */
static const bool has_lens = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

static void set_attributes(exr_context_t file) {
    uint8_t pixels[4 * 2 * 2] = {1, 2, 3};
    const exr_attr_preview_t preview = {2, 2, 0, pixels};
    assert_int_equal(exr_attr_set_string(file, 0, "comments", "traced in part"), 0);
    assert_int_equal(exr_attr_set_string(file, 0, "an attribute of a very long name, indeed", ""),
                     0);
    assert_int_equal(exr_attr_set_chromaticities(file, 0, "chromaticities", &primaries), 0);
    assert_int_equal(exr_attr_set_m44f(file, 0, "worldToCamera", &camera), 0);
    assert_int_equal(exr_attr_set_box2i(file, 0, "crop", &crop), 0);
    assert_int_equal(exr_attr_set_rational(file, 0, "framesPerSecond", &rate), 0);
    assert_int_equal(exr_attr_set_timecode(file, 0, "timeCode", &code), 0);
    assert_int_equal(exr_attr_set_double(file, 0, "seconds", 0.1), 0);
    assert_int_equal(exr_attr_set_float(file, 0, "expTime", 0.02f), 0);
    assert_int_equal(exr_attr_set_int(file, 0, "samples", -7), 0);
    assert_int_equal(exr_attr_set_envmap(file, 0, "envmap", EXR_ENVMAP_CUBE), 0);
    assert_int_equal(
        exr_attr_set_string_vector(file, 0, "views", 2, (const char **)(uintptr_t)names), 0);
    if (has_lens) assert_int_equal(exr_attr_set_float_vector(file, 0, "lens", 3, lens), 0);
    assert_int_equal(exr_attr_set_user(file, 0, "owned", "renderer", 5, "\1\0\2\0\3"), 0);
    assert_int_equal(exr_attr_set_preview(file, 0, "preview", &preview), 0);
}

static void check_texts(exr_context_t file) {
    const char *text, *texts[2], *type;
    const float *numbers;
    const void *bytes;
    int32_t count = 0;
    assert_int_equal(exr_attr_get_string(file, 0, "comments", &count, &text), 0);
    assert_string_equal(text, "traced in part");
    assert_int_equal(
        exr_attr_get_string(file, 0, "an attribute of a very long name, indeed", &count, &text), 0);
    assert_int_equal(count, 0);
    count = 2;
    assert_int_equal(exr_attr_get_string_vector(file, 0, "views", &count, texts), 0);
    for (int i = 0; i < 2; i++) assert_string_equal(texts[i], names[i]);
    if (has_lens) {
        assert_int_equal(exr_attr_get_float_vector(file, 0, "lens", &count, &numbers), 0);
        assert_int_equal(count, 3);
        assert_memory_equal(numbers, lens, sizeof lens);
    }
    assert_int_equal(exr_attr_get_user(file, 0, "owned", &type, &count, &bytes), 0);
    assert_string_equal(type, "renderer");
    assert_int_equal(count, 5);
    assert_memory_equal(bytes, "\1\0\2\0\3", 5);
}

static void check_numbers(exr_context_t file) {
    exr_attr_chromaticities_t colours;
    exr_attr_m44f_t matrix;
    exr_attr_box2i_t box;
    exr_attr_rational_t ratio;
    exr_attr_timecode_t time;
    exr_envmap_t map;
    double seconds;
    float exposure;
    int32_t samples;
    assert_int_equal(exr_attr_get_chromaticities(file, 0, "chromaticities", &colours), 0);
    assert_memory_equal(&colours, &primaries, sizeof colours);
    assert_int_equal(exr_attr_get_m44f(file, 0, "worldToCamera", &matrix), 0);
    assert_memory_equal(&matrix, &camera, sizeof matrix);
    assert_int_equal(exr_attr_get_box2i(file, 0, "crop", &box), 0);
    assert_memory_equal(&box, &crop, sizeof box);
    assert_int_equal(exr_attr_get_rational(file, 0, "framesPerSecond", &ratio), 0);
    assert_memory_equal(&ratio, &rate, sizeof ratio);
    assert_int_equal(exr_attr_get_timecode(file, 0, "timeCode", &time), 0);
    assert_memory_equal(&time, &code, sizeof time);
    assert_int_equal(exr_attr_get_double(file, 0, "seconds", &seconds), 0);
    assert_true(seconds == 0.1);
    assert_int_equal(exr_attr_get_float(file, 0, "expTime", &exposure), 0);
    assert_true(exposure == 0.02f);
    assert_int_equal(exr_attr_get_int(file, 0, "samples", &samples), 0);
    assert_int_equal(samples, -7);
    assert_int_equal(exr_attr_get_envmap(file, 0, "envmap", &map), 0);
    assert_int_equal(map, EXR_ENVMAP_CUBE);
}

static void check_windows(exr_context_t file, const drawn *d) {
    exr_attr_box2i_t window, display;
    exr_attr_v2f_t centre;
    float number;
    const exr_attribute_t *preview;
    exr_storage_t storage;
    assert_int_equal(exr_get_storage(file, 0, &storage), 0);
    assert_int_equal(storage, EXR_STORAGE_SCANLINE);
    assert_int_equal(exr_get_data_window(file, 0, &window), 0);
    assert_int_equal(window.min.x, d->x);
    assert_int_equal(window.max.y, d->y + d->height - 1);
    assert_int_equal(exr_get_display_window(file, 0, &display), 0);
    assert_int_equal(display.min.y, -3);
    assert_int_equal(display.max.x, 99);
    assert_int_equal(exr_get_pixel_aspect_ratio(file, 0, &number), 0);
    assert_true(number == 1.5f);
    assert_int_equal(exr_get_screen_window_center(file, 0, &centre), 0);
    assert_true(centre.x == 0.25f && centre.y == -2.0f);
    assert_int_equal(exr_get_screen_window_width(file, 0, &number), 0);
    assert_true(number == 0.75f);
    assert_int_not_equal(exr_get_attribute_by_name(file, 0, "preview", &preview), 0);
    assert_int_not_equal(exr_get_attribute_by_name(file, 0, "tiles", &preview), 0);
}

TEST(attributes_are_kept) {
    const char *like = io_path("like.exr"), *path = io_path("full.exr");
    for (int trial = 0; trial < 30; trial++) {
        drawn d = draw(trial % 3);
        exr_context_t file = begin(like, &d);
        assert_int_equal(exr_set_longname_support(file, 1), 0);
        set_attributes(file);
        finish(file, &d);
        csrec_image image = draw_signal(CSREC_F32, d.height, d.width, 3);
        write_well(path, &image, like);
        file = open_file(path);
        check_texts(file);
        check_numbers(file);
        check_windows(file, &d);
        exr_finish(&file);
        csrec_image_clear(&image);
        drop(&d);
        remove(like);
        remove(path);
    }
}

FIXTURE(io_setup, io_teardown);
