/* SPDX-License-Identifier: BSD-3-Clause */
/* test_exr.c - OpenEXR: what the library writes in every arrangement is read, what is written is
 * what the library reads, and damage is one line. */
#include "exr_file.h"

static csrec_dtype type_read(const drawn *d) {
    for (const char *s = d->shown; *s; s++)
        if (d->channel[channel_of(d, (char[2]){*s})].type != EXR_PIXEL_UINT) return CSREC_F32;
    return CSREC_U32;
}

static void check_read(const drawn *d, const csrec_image *image) {
    int64_t channels = (int64_t)strlen(d->shown), entries = (int64_t)d->height * d->width;
    int alpha = d->shown[0] == 'A' ? -1 : channel_of(d, "A");
    const csrec_shape shape = {3, {d->height, d->width, channels}};
    assert_true(csrec_shape_equal(&image->pixels.shape, &shape));
    assert_int_equal(image->pixels.dtype, type_read(d));
    assert_int_equal(image->bits, 0);
    assert_true(image->has_channels);
    assert_int_equal(image->alpha != NULL, alpha >= 0);
    for (int64_t i = 0; i < entries; i++) {
        for (int64_t k = 0; k < channels; k++) {
            double expected = value_of(d, channel_of(d, (char[2]){d->shown[k]}), (size_t)i);
            if (image->pixels.dtype == CSREC_F32) expected = (double)(float)expected;
            assert_true(csrec_array_value(&image->pixels, i * channels + k) == expected);
        }
        if (alpha >= 0) assert_int_equal(image->alpha[i], value_of(d, alpha, (size_t)i) > 0.0);
    }
}

TEST(reads_every_arrangement) {
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 270; trial++) {
        drawn d = draw(trial);
        write_drawn(path, &d);
        CLEARED(csrec_image) image = read_well(path), piped = {0};
        check_read(&d, &image);
        if (trial >= 2 * LISTS) continue;
        ENDS_BY(io_free) io_bytes b = io_load(path); /* the file as a pipe delivers it */
        csrec_input input = csrec_input_memory(b.data, b.size, "memory");
        assert_well(csrec_exr_format.signal(&input, &piped, &told));
        check_read(&d, &piped);
    }
}

/* What a name asks for, with the rest in a note. */
TEST(layers_are_named) {
    static const char *const cases[4][3] = {{"Z", "Z", "B, G, R, albedo, normal"},
                                            {"albedo", "albedo.R", "B, G, R, Z, normal"},
                                            {"normal.X", "normal.X", "B, G, R, Z, albedo"},
                                            {"A", "A", "B, G, R, Z, albedo, normal"}};
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 40; trial++) {
        drawn d = draw(2);
        const int k = trial % 4, c = channel_of(&d, cases[k][1]);
        ENDS_BY(csrec_input_close) csrec_input input = {0};
        CLEARED(csrec_image) image = {0};
        write_drawn(path, &d);
        assert_ok(csrec_input_open(check_print("%s:/%s", path, cases[k][0]), &input, NULL));
        assert_ok(csrec_exr_format.signal(&input, &image, NULL));
        for (int64_t i = 0; i < image.pixels.count; i++)
            assert_true((float)csrec_array_value(&image.pixels, i) ==
                        (float)value_of(&d, c, (size_t)i));
        assert_int_equal(image.alpha != NULL, k != 3);
        assert_non_null(strstr(input.facts.note, cases[k][2]));
    }
}

/* The channel's stored samples, of 2 or 4 bytes, by the library's planes. */
static void *load_plane(exr_context_t file, const char *name, exr_pixel_type_t type) {
    exr_attr_box2i_t window;
    int32_t lines;
    exr_chunk_info_t chunk;
    size_t size = type == EXR_PIXEL_HALF ? 2 : 4;
    assert_ok(exr_get_data_window(file, 0, &window));
    assert_ok(exr_get_scanlines_per_chunk(file, 0, &lines));
    size_t width = (size_t)(window.max.x - window.min.x + 1);
    uint8_t *other = check_keep_zeros((size_t)lines * width, 4); /* of other channels */
    uint8_t *plane = check_keep_zeros((size_t)(window.max.y - window.min.y + 1) * width, size);
    for (int y = window.min.y; y <= window.max.y; y += lines) {
        exr_decode_pipeline_t decode = EXR_DECODE_PIPELINE_INITIALIZER;
        assert_ok(exr_read_scanline_chunk_info(file, 0, y, &chunk));
        assert_ok(exr_decoding_initialize(file, 0, &chunk, &decode));
        for (int c = 0; c < decode.channel_count; c++) {
            exr_coding_channel_info_t *to = &decode.channels[c];
            bool wanted = strcmp(to->channel_name, name) == 0;
            if (wanted) assert_int_equal(to->data_type, type);
            to->user_pixel_stride = to->bytes_per_element;
            to->user_line_stride = (int32_t)width * to->bytes_per_element;
            to->decode_to_ptr = wanted ? plane + (size_t)(y - window.min.y) * width * size : other;
        }
        assert_ok(exr_decoding_choose_default_routines(file, 0, &decode));
        assert_ok(exr_decoding_run(file, 0, &decode));
        exr_decoding_destroy(file, &decode);
    }
    return plane;
}

TEST(written_signals_are_read_by_the_library) {
    static const char *const rgb[3] = {"R", "G", "B"};
    const char *path = io_path("written.exr");
    for (int trial = 0; trial < 88; trial++) {
        int channels = trial & 1 ? 3 : 1;
        ENDS_BY(csrec_image_clear)
        csrec_image image =
            draw_signal((csrec_dtype)(trial / 2 % 11), 1 + (int32_t)check_below(&seed, 50),
                        1 + (int32_t)check_below(&seed, 50), channels);
        write_well(path, &image, NULL);
        exr_context_t file = open_file(path);
        for (int c = 0; c < channels; c++) {
            float *plane = load_plane(file, channels == 3 ? rgb[c] : "Y", EXR_PIXEL_FLOAT);
            for (int64_t i = 0; i < image.pixels.count / channels; i++)
                assert_true(plane[i] == (float)csrec_array_value(&image.pixels, i * channels + c));
        }
        exr_finish(&file);
        expect_fingerprint(path, fingerprint);
    }
}

/* A like of halves gives halves, the nearest ones, unless they would overflow. */
TEST(halves_stay_halves) {
    const char *like = io_path("like.exr"), *path = io_path("full.exr");
    for (int trial = 0; trial < 40; trial++) {
        drawn d = draw(5);
        d.channel[0].type = EXR_PIXEL_HALF;
        d.channel[0].size = 2;
        for (int i = 0; i < d.height * d.width; i++)
            memcpy(d.channel[0].samples + 2 * i, &(uint16_t){0x3c00}, 2);
        write_drawn(like, &d);
        CLEARED(csrec_image) image = draw_signal(CSREC_F32, d.height, d.width, 1);
        float *values = image.pixels.data;
        if (trial % 2) values[0] = 1e5f;
        write_well(path, &image, like);
        exr_context_t file = open_file(path);
        exr_compression_t compression;
        assert_ok(exr_get_compression(file, 0, &compression));
        assert_int_equal(compression, d.compression);
        void *plane = load_plane(file, "Z", trial % 2 ? EXR_PIXEL_FLOAT : EXR_PIXEL_HALF);
        for (int64_t i = 0; i < image.pixels.count; i++) {
            double step = fmax(ldexp(1.0, ilogb(values[i]) - 10), ldexp(1.0, -24));
            if (trial % 2)
                assert_true(((float *)plane)[i] == values[i]);
            else
                assert_true(fabs(half_value(((uint16_t *)plane)[i]) - values[i]) <= step / 2);
        }
        exr_finish(&file);
    }
}

TEST(damage_is_one_line) {
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 27; trial++) {
        drawn d = draw(trial);
        write_drawn(path, &d);
        ENDS_BY(io_free) io_bytes b = io_load(path);
        expect_cuts(&csrec_exr_format, &b, 40, &seed);
        for (int k = 0; k < 200; k++) {
            int64_t within = k % 2 && b.size > 400 ? 400 : (int64_t)b.size; /* or the header */
            size_t at = (size_t)check_below(&seed, within);
            expect_harmless(&csrec_exr_format, &b, at,
                            b.data[at] ^ (uint8_t)(1 + check_below(&seed, 255)));
        }
    }
}

/* Into the test's own file: the library removes its own if pixels are missing. */
static int64_t put(exr_const_context_t file, void *data, const void *buffer, uint64_t bytes,
                   uint64_t offset, exr_stream_error_func_ptr_t fail_fn) {
    (void)file, (void)fail_fn;
    assert_int_equal(fseek(data, (long)offset, SEEK_SET), 0);
    return (int64_t)fwrite(buffer, 1, (size_t)bytes, data);
}

/* A header. */
static void write_deep(const char *path) {
    exr_context_t file = NULL;
    exr_context_initializer_t with = quietly();
    int part;
    FILE *out = fopen(path, "wb");
    with.user_data = out;
    with.write_fn = put;
    assert_ok(exr_start_write(&file, path, EXR_WRITE_FILE_DIRECTLY, &with));
    assert_ok(exr_add_part(file, "points", EXR_STORAGE_DEEP_SCANLINE, &part));
    assert_ok(exr_initialize_required_attr_simple(file, part, 4, 2, EXR_COMPRESSION_ZIPS));
    assert_ok(exr_set_version(file, part, 1));
    assert_ok(exr_add_channel(file, part, "Z", EXR_PIXEL_FLOAT, EXR_PERCEPTUALLY_LINEAR, 1, 1));
    assert_ok(exr_write_header(file));
    exr_finish(&file);
    fclose(out);
}

TEST(refuses_by_name) {
    const char *path = io_path("refused.exr");
    drawn d = {.height = 2, .width = 4, .compression = EXR_COMPRESSION_NONE, .channels = 2};
    draw_channel(&d, 0, "u", EXR_PIXEL_FLOAT);
    draw_channel(&d, 1, "v", EXR_PIXEL_FLOAT);
    write_drawn(path, &d);
    expect_unread(path, CSREC_DATA, "it has u, v; name one");
    d.channel[1].name = "A";
    d.channel[1].step = 2;
    write_drawn(path, &d);
    expect_unread(path, CSREC_UNSUPPORTED, "fewer samples than pixels");
    d.channel[0].name = "Y";
    d.channel[1].name = "RY";
    write_drawn(path, &d);
    expect_unread(path, CSREC_UNSUPPORTED, "luminance and chroma");
    write_deep(path);
    expect_unread(path, CSREC_UNSUPPORTED, "deep");
}

/* What OpenEXR cannot hold. */
TEST(refuses_to_write) {
    const char *path = io_path("refused.exr");
    ENDS_BY(csrec_image_clear)
    csrec_image two = draw_signal(CSREC_F64, 2, 3, 2), vast = draw_signal(CSREC_F64, 2, 3, 1);
    ((double *)vast.pixels.data)[5] = 1e39;
    csrec_error error = {""};
    io_empty_folder();
    assert_int_equal(write_signal(path, &two, NULL, &error), CSREC_ARGUMENT);
    io_assert_line(&error, path, "1 or 3 channels");
    assert_int_equal(write_signal(path, &vast, NULL, &error), CSREC_DATA);
    io_assert_line(&error, path, "beyond 32 bit floats");
    assert_int_equal(io_count_files(), 0);
}

/* Untraced pixels are those without alpha, or of NaN. */
TEST(untraced_pixels_are_unknown) {
    const char *path = io_path("render.exr");
    drawn d = draw(4);
    CLEARED(csrec_measurement) m = {0};
    int64_t entries = (int64_t)d.height * d.width, known = 0;
    d.compression = EXR_COMPRESSION_ZIP;
    for (int c = 0; c < 2; c++) {
        d.channel[c].type = EXR_PIXEL_FLOAT;
        d.channel[c].size = 4;
        for (int64_t i = 0; i < entries; i++) {
            float value = c ? (float)check_below(&seed, 2) : (float)check_uniform(&seed);
            if (i == 0) value = 1.0f;
            if (c == 0 && i > 0 && check_below(&seed, 4) == 0) value = NAN;
            memcpy(d.channel[c].samples + 4 * i, &value, 4);
        }
    }
    write_drawn(path, &d);
    assert_well(csrec_measurement_read(path, NULL, &m, &told));
    for (int64_t i = 0; i < entries; i++) {
        double value = value_of(&d, 0, (size_t)i);
        if (isnan(value) || value_of(&d, 1, (size_t)i) == 0.0) continue;
        assert_int_equal(m.index[known], i);
        assert_true(m.y[known++] == value);
    }
    assert_int_equal(m.n, known);
}

FIXTURE(io_setup, io_teardown);
