/* test_exr.c - OpenEXR: what the library writes in every arrangement is read, what is written is
 * what the library reads, attributes are kept, and damage is one line. */
#include "io_signal.h"

#include <openexr.h>

static uint64_t seed;

/* ------------------------------------------------------------------ drawn files ------------- */

enum { CHANNELS_MOST = 7 };

typedef struct {
    int32_t height, width, x, y; /* x, y: of the first pixel */
    int32_t across, down;        /* of a tile; 0: scanlines */
    bool mip;
    exr_compression_t compression;
    int channels;
    struct {
        const char *name;
        exr_pixel_type_t type;
        int step;         /* a sample each so many rows and columns */
        uint8_t *samples; /* [height][width], of 2 or 4 bytes */
        size_t size;
    } channel[CHANNELS_MOST];
    const char *shown; /* the channels that are read, a letter each */
} drawn;

static const struct {
    const char *names[CHANNELS_MOST + 1], *shown;
} lists[] = {{{"R", "G", "B"}, "RGB"},
             {{"R", "G", "B", "A"}, "RGB"},
             {{"R", "G", "B", "A", "Z", "albedo.R", "normal.X"}, "RGB"},
             {{"Y"}, "Y"},
             {{"Y", "A"}, "Y"},
             {{"Y", "RY", "BY"}, "Y"},
             {{"Z"}, "Z"},
             {{"A", "Z"}, "Z"},
             {{"A"}, "A"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Any bits of a half and a float but infinities and NaN, whose bits conversions may change. */
static uint32_t draw_bits(exr_pixel_type_t type) {
    uint32_t bits = (uint32_t)check_below(&seed, INT64_C(1) << 32);
    if (check_below(&seed, 3) == 0) return 0;
    if (type == EXR_PIXEL_HALF) return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits & 0xffff;
    if (type == EXR_PIXEL_FLOAT && (bits & 0x7f800000) == 0x7f800000) return bits & 0x807fffff;
    return bits;
}

static void draw_channel(drawn *d, int c, const char *name, exr_pixel_type_t type) {
    bool half = type == EXR_PIXEL_HALF;
    size_t count = (size_t)d->height * (size_t)d->width;
    d->channel[c].name = name;
    d->channel[c].type = type;
    d->channel[c].size = half ? 2 : 4;
    d->channel[c].step = name[1] == 'Y' ? 2 : 1;
    d->channel[c].samples = malloc(4 * count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = draw_bits(type);
        memcpy(d->channel[c].samples + i * d->channel[c].size,
               half ? (void *)&(uint16_t){(uint16_t)bits} : (void *)&bits, d->channel[c].size);
    }
}

static drawn draw(int trial) {
    static const exr_compression_t compressions[] = {EXR_COMPRESSION_NONE, EXR_COMPRESSION_RLE,
                                                     EXR_COMPRESSION_ZIPS, EXR_COMPRESSION_ZIP,
                                                     EXR_COMPRESSION_PIZ};
    int list = trial % LISTS;
    drawn d = {.height = 1 + (int32_t)check_below(&seed, 70),
               .width = 1 + (int32_t)check_below(&seed, 70),
               .x = (int32_t)check_below(&seed, 60) - 30,
               .y = (int32_t)check_below(&seed, 60) - 30,
               .compression = compressions[check_below(&seed, 5)],
               .shown = lists[list].shown};
    bool coarse = strcmp(lists[list].names[1] ? lists[list].names[1] : "", "RY") == 0;
    if (coarse) {
        d.height += d.height & 1;
        d.width += d.width & 1;
        d.x *= 2;
        d.y *= 2;
    } else if (check_below(&seed, 2)) {
        d.across = 1 + (int32_t)check_below(&seed, 40);
        d.down = 1 + (int32_t)check_below(&seed, 40);
        d.mip = check_below(&seed, 3) == 0;
    }
    bool integer = check_below(&seed, 5) == 0;
    for (; lists[list].names[d.channels]; d.channels++)
        draw_channel(&d, d.channels, lists[list].names[d.channels],
                     integer ? EXR_PIXEL_UINT : (exr_pixel_type_t)check_below(&seed, 3));
    return d;
}

static void drop(drawn *d) {
    for (int c = 0; c < d->channels; c++) free(d->channel[c].samples);
}

static int channel_of(const drawn *d, const char *name) {
    for (int c = 0; c < d->channels; c++)
        if (strcmp(d->channel[c].name, name) == 0) return c;
    return -1;
}

/* Of another's code than the library's. */
static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return bits >> 15 ? -size : size;
}

static double value_of(const drawn *d, int c, size_t i) {
    const uint8_t *at = d->channel[c].samples + i * d->channel[c].size;
    uint16_t half;
    uint32_t integer;
    float number;
    memcpy(&half, at, sizeof half);
    if (d->channel[c].type == EXR_PIXEL_HALF) return half_value(half);
    memcpy(&integer, at, sizeof integer);
    memcpy(&number, at, sizeof number);
    return d->channel[c].type == EXR_PIXEL_UINT ? (double)integer : (double)number;
}

/* ------------------------------------------------------------------ files by the library ---- */

static void silent(exr_const_context_t file, exr_result_t code, const char *message) {
    (void)file;
    (void)code;
    (void)message;
}

static exr_context_initializer_t quietly(void) {
    exr_context_initializer_t with = EXR_DEFAULT_CONTEXT_INITIALIZER;
    with.error_handler_fn = silent;
    return with;
}

/* A chunk as long as its samples is taken as stored, which OpenEXR 3.1 does not heed. */
static exr_result_t compress(exr_encode_pipeline_t *encode) {
    exr_result_t (**usual)(exr_encode_pipeline_t *) = encode->encoding_user_data;
    exr_result_t result = (*usual)(encode);
    if (encode->compressed_bytes == encode->packed_bytes)
        memcpy(encode->compressed_buffer, encode->packed_buffer, encode->packed_bytes);
    return result;
}

/* Each channel's samples from planes; of coarser levels any. */
static void write_chunk(exr_context_t file, const drawn *d, const exr_chunk_info_t *chunk,
                        size_t row, size_t column) {
    exr_encode_pipeline_t encode = EXR_ENCODE_PIPELINE_INITIALIZER;
    assert_int_equal(exr_encoding_initialize(file, 0, chunk, &encode), 0);
    assert_int_equal(encode.channel_count, d->channels);
    for (int i = 0; i < encode.channel_count; i++) {
        exr_coding_channel_info_t *to = &encode.channels[i];
        int c = channel_of(d, to->channel_name);
        size_t step = (size_t)d->channel[c].step, across = (size_t)d->width / step;
        size_t first = row / step * across + column / step;
        to->user_pixel_stride = (int32_t)d->channel[c].size;
        to->user_line_stride = (int32_t)(across * d->channel[c].size);
        to->encode_from_ptr = d->channel[c].samples + first * d->channel[c].size;
    }
    assert_int_equal(exr_encoding_choose_default_routines(file, 0, &encode), 0);
    exr_result_t (*usual)(exr_encode_pipeline_t *) = encode.compress_fn;
    encode.encoding_user_data = &usual;
    if (usual) encode.compress_fn = compress;
    assert_int_equal(exr_encoding_run(file, 0, &encode), 0);
    exr_encoding_destroy(file, &encode);
}

static void write_tiles(exr_context_t file, const drawn *d) {
    int32_t across, down;
    exr_chunk_info_t chunk;
    assert_int_equal(exr_get_tile_levels(file, 0, &across, &down), 0);
    for (int level = 0; level < across; level++) {
        int32_t width = d->width >> level, height = d->height >> level;
        if (width < 1) width = 1;
        if (height < 1) height = 1;
        for (int32_t y = 0; y < height; y += d->down)
            for (int32_t x = 0; x < width; x += d->across) {
                assert_int_equal(exr_write_tile_chunk_info(file, 0, x / d->across, y / d->down,
                                                           level, level, &chunk),
                                 0);
                write_chunk(file, d, &chunk, (size_t)y, (size_t)x);
            }
    }
}

static void write_lines(exr_context_t file, const drawn *d) {
    int32_t lines;
    exr_chunk_info_t chunk;
    assert_int_equal(exr_get_scanlines_per_chunk(file, 0, &lines), 0);
    for (int32_t y = 0; y < d->height; y += lines) {
        assert_int_equal(exr_write_scanline_chunk_info(file, 0, d->y + y, &chunk), 0);
        write_chunk(file, d, &chunk, (size_t)y, 0);
    }
}

static exr_context_t begin(const char *path, const drawn *d) {
    exr_context_t file = NULL;
    exr_context_initializer_t with = quietly();
    int part;
    const exr_attr_v2f_t centre = {.x = 0.25f, .y = -2.0f};
    const exr_attr_box2i_t window = {{.x = d->x, .y = d->y},
                                     {.x = d->x + d->width - 1, .y = d->y + d->height - 1}};
    const exr_attr_box2i_t display = {{.x = 0, .y = -3}, {.x = 99, .y = 104}};
    assert_int_equal(exr_start_write(&file, path, EXR_WRITE_FILE_DIRECTLY, &with), 0);
    assert_int_equal(
        exr_add_part(file, NULL, d->across ? EXR_STORAGE_TILED : EXR_STORAGE_SCANLINE, &part), 0);
    assert_int_equal(exr_initialize_required_attr(file, part, &display, &window, 1.5f, &centre,
                                                  0.75f, EXR_LINEORDER_INCREASING_Y,
                                                  d->compression),
                     0);
    if (d->across)
        assert_int_equal(
            exr_set_tile_descriptor(file, part, (uint32_t)d->across, (uint32_t)d->down,
                                    d->mip ? EXR_TILE_MIPMAP_LEVELS : EXR_TILE_ONE_LEVEL,
                                    EXR_TILE_ROUND_DOWN),
            0);
    for (int c = 0; c < d->channels; c++)
        assert_int_equal(exr_add_channel(file, part, d->channel[c].name, d->channel[c].type,
                                         EXR_PERCEPTUALLY_LOGARITHMIC, d->channel[c].step,
                                         d->channel[c].step),
                         0);
    return file;
}

static void finish(exr_context_t file, const drawn *d) {
    assert_int_equal(exr_write_header(file), 0);
    (d->across ? write_tiles : write_lines)(file, d);
    assert_int_equal(exr_finish(&file), 0);
}

static void write_drawn(const char *path, const drawn *d) {
    finish(begin(path, d), d);
}

/* ------------------------------------------------------------------ reading ----------------- */

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
            int c = channel_of(d, (char[2]){d->shown[k]});
            double expected = value_of(d, c, (size_t)i);
            if (image->pixels.dtype == CSREC_F32) expected = (double)(float)expected;
            assert_true(csrec_array_value(&image->pixels, i * channels + k) == expected);
        }
        if (alpha >= 0) assert_int_equal(image->alpha[i], value_of(d, alpha, (size_t)i) > 0.0);
    }
}

static void reads_every_arrangement(void **state) {
    (void)state;
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 270; trial++) {
        drawn d = draw(trial);
        csrec_image image = {0};
        csrec_error error = {""};
        write_drawn(path, &d);
        if (csrec_signal_read(path, &image, &error)) fail_msg("trial %d: %s", trial, error.text);
        check_read(&d, &image);
        csrec_image_clear(&image);
        drop(&d);
        remove(path);
    }
}

/* The file as a pipe delivers it. */
static void reads_memory(void **state) {
    (void)state;
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 2 * LISTS; trial++) {
        drawn d = draw(trial);
        csrec_image image = {0};
        csrec_error error = {""};
        write_drawn(path, &d);
        io_bytes b = io_load(path);
        csrec_input input = csrec_input_memory(b.data, b.size, "memory");
        if (csrec_exr_format.signal(&input, &image, &error)) fail_msg("%s", error.text);
        check_read(&d, &image);
        csrec_image_clear(&image);
        io_free(&b);
        drop(&d);
        remove(path);
    }
}

/* ------------------------------------------------------------------ writing ----------------- */

/* The channel's stored samples, of 2 or 4 bytes, by the library's planes; free them. */
static uint8_t *load_plane(exr_context_t file, const char *name, exr_pixel_type_t type) {
    exr_attr_box2i_t window;
    int32_t lines;
    exr_chunk_info_t chunk;
    size_t size = type == EXR_PIXEL_HALF ? 2 : 4;
    assert_int_equal(exr_get_data_window(file, 0, &window), 0);
    assert_int_equal(exr_get_scanlines_per_chunk(file, 0, &lines), 0);
    size_t width = (size_t)(window.max.x - window.min.x + 1);
    uint8_t *other = calloc((size_t)lines * width, 4); /* of channels that are not asked for */
    uint8_t *plane = calloc((size_t)(window.max.y - window.min.y + 1) * width, size);
    for (int y = window.min.y; y <= window.max.y; y += lines) {
        exr_decode_pipeline_t decode = EXR_DECODE_PIPELINE_INITIALIZER;
        assert_int_equal(exr_read_scanline_chunk_info(file, 0, y, &chunk), 0);
        assert_int_equal(exr_decoding_initialize(file, 0, &chunk, &decode), 0);
        for (int c = 0; c < decode.channel_count; c++) {
            exr_coding_channel_info_t *to = &decode.channels[c];
            bool wanted = strcmp(to->channel_name, name) == 0;
            if (wanted) assert_int_equal(to->data_type, type);
            to->user_pixel_stride = to->bytes_per_element;
            to->user_line_stride = (int32_t)width * to->bytes_per_element;
            to->decode_to_ptr = wanted ? plane + (size_t)(y - window.min.y) * width * size : other;
        }
        assert_int_equal(exr_decoding_choose_default_routines(file, 0, &decode), 0);
        assert_int_equal(exr_decoding_run(file, 0, &decode), 0);
        exr_decoding_destroy(file, &decode);
    }
    free(other);
    return plane;
}

static exr_context_t open_file(const char *path) {
    exr_context_t file = NULL;
    exr_context_initializer_t with = quietly();
    assert_int_equal(exr_start_read(&file, path, &with), 0);
    return file;
}

static csrec_image draw_signal(csrec_dtype dtype, int32_t height, int32_t width, int channels) {
    csrec_image image = {.has_channels = true};
    const csrec_shape shape = {3, {height, width, channels}};
    assert_ok(csrec_array_create(dtype, &shape, &image.pixels));
    for (int64_t i = 0; i < image.pixels.count; i++)
        csrec_array_set(&image.pixels, i, 300.0 * (check_uniform(&seed) - 0.3));
    return image;
}

static void written_signals_are_read_by_the_library(void **state) {
    (void)state;
    static const char *const rgb[3] = {"R", "G", "B"};
    const char *path = io_path("written.exr");
    char text[64];
    for (int trial = 0; trial < 88; trial++) {
        int channels = trial & 1 ? 3 : 1;
        csrec_image image =
            draw_signal((csrec_dtype)(trial / 2 % 11), 1 + (int32_t)check_below(&seed, 50),
                        1 + (int32_t)check_below(&seed, 50), channels);
        csrec_error error = {""};
        if (write_signal(path, &image, NULL, &error)) fail_msg("%s", error.text);
        exr_context_t file = open_file(path);
        for (int c = 0; c < channels; c++) {
            float *plane =
                (float *)(void *)load_plane(file, channels == 3 ? rgb[c] : "Y", EXR_PIXEL_FLOAT);
            for (int64_t i = 0; i < image.pixels.count / channels; i++)
                assert_true(plane[i] == (float)csrec_array_value(&image.pixels, i * channels + c));
            free(plane);
        }
        exr_finish(&file);
        assert_ok(csrec_fingerprint_read(path, text, sizeof text, NULL));
        assert_string_equal(text, "made for a test");
        csrec_image_clear(&image);
        remove(path);
    }
}

/* A like of halves gives halves, the nearest ones, unless they would overflow. */
static void halves_stay_halves(void **state) {
    (void)state;
    const char *like = io_path("like.exr"), *path = io_path("full.exr");
    for (int trial = 0; trial < 40; trial++) {
        drawn d = draw(6);
        csrec_error error = {""};
        d.channel[0].type = EXR_PIXEL_HALF;
        d.channel[0].size = 2;
        for (int i = 0; i < d.height * d.width; i++)
            memcpy(d.channel[0].samples + 2 * i, &(uint16_t){0x3c00}, 2);
        write_drawn(like, &d);
        csrec_image image = draw_signal(CSREC_F32, d.height, d.width, 1);
        float *values = image.pixels.data;
        if (trial % 2) values[0] = 1e5f;
        if (write_signal(path, &image, like, &error)) fail_msg("%s", error.text);
        exr_context_t file = open_file(path);
        exr_compression_t compression;
        assert_int_equal(exr_get_compression(file, 0, &compression), 0);
        assert_int_equal(compression, d.compression);
        void *plane = load_plane(file, "Z", trial % 2 ? EXR_PIXEL_FLOAT : EXR_PIXEL_HALF);
        for (int64_t i = 0; i < image.pixels.count; i++) {
            double step = fmax(ldexp(1.0, ilogb(values[i]) - 10), ldexp(1.0, -24));
            if (trial % 2)
                assert_true(((float *)plane)[i] == values[i]);
            else
                assert_true(fabs(half_value(((uint16_t *)plane)[i]) - values[i]) <= step / 2);
        }
        free(plane);
        exr_finish(&file);
        csrec_image_clear(&image);
        drop(&d);
        remove(like);
        remove(path);
    }
}

/* ------------------------------------------------------------------ attributes -------------- */

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

static void attributes_are_kept(void **state) {
    (void)state;
    const char *like = io_path("like.exr"), *path = io_path("full.exr");
    for (int trial = 0; trial < 30; trial++) {
        drawn d = draw(trial % 3);
        csrec_error error = {""};
        exr_context_t file = begin(like, &d);
        assert_int_equal(exr_set_longname_support(file, 1), 0);
        set_attributes(file);
        finish(file, &d);
        csrec_image image = draw_signal(CSREC_F32, d.height, d.width, 3);
        if (write_signal(path, &image, like, &error)) fail_msg("%s", error.text);
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

/* ------------------------------------------------------------------ wrong files ------------- */

static void damage_is_one_line(void **state) {
    (void)state;
    const char *path = io_path("drawn.exr");
    for (int trial = 0; trial < 27; trial++) {
        drawn d = draw(trial);
        write_drawn(path, &d);
        io_bytes b = io_load(path);
        for (int k = 0; k < 40; k++)
            expect_line(&csrec_exr_format, &b, (size_t)check_below(&seed, (int64_t)b.size));
        for (int k = 0; k < 200; k++) {
            int64_t within = k % 2 && b.size > 400 ? 400 : (int64_t)b.size; /* or the header */
            size_t at = (size_t)check_below(&seed, within);
            uint8_t was = b.data[at];
            b.data[at] ^= (uint8_t)(1 + check_below(&seed, 255));
            expect_line(&csrec_exr_format, &b, b.size);
            b.data[at] = was;
        }
        io_free(&b);
        drop(&d);
        remove(path);
    }
}

static void expect_refusal(const char *path, csrec_status expected, const char *part) {
    csrec_image image = {0};
    csrec_error error = {""};
    csrec_status status = csrec_signal_read(path, &image, &error);
    if (status != expected) fail_msg("%s", error.text);
    io_assert_line(&error, path, part);
}

/* Into the test's own file: the library removes its own if pixels are missing. */
static int64_t put(exr_const_context_t file, void *data, const void *buffer, uint64_t bytes,
                   uint64_t offset, exr_stream_error_func_ptr_t fail_fn) {
    (void)file;
    (void)fail_fn;
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
    assert_int_equal(exr_start_write(&file, path, EXR_WRITE_FILE_DIRECTLY, &with), 0);
    assert_int_equal(exr_add_part(file, "points", EXR_STORAGE_DEEP_SCANLINE, &part), 0);
    assert_int_equal(exr_initialize_required_attr_simple(file, part, 4, 2, EXR_COMPRESSION_ZIPS),
                     0);
    assert_int_equal(exr_set_version(file, part, 1), 0);
    assert_int_equal(
        exr_add_channel(file, part, "Z", EXR_PIXEL_FLOAT, EXR_PERCEPTUALLY_LINEAR, 1, 1), 0);
    assert_int_equal(exr_write_header(file), 0);
    exr_finish(&file);
    fclose(out);
}

static void refuses_by_name(void **state) {
    (void)state;
    const char *path = io_path("refused.exr");
    drawn d = {.height = 2, .width = 4, .compression = EXR_COMPRESSION_NONE, .channels = 2};
    draw_channel(&d, 0, "u", EXR_PIXEL_FLOAT);
    draw_channel(&d, 1, "v", EXR_PIXEL_FLOAT);
    write_drawn(path, &d);
    expect_refusal(path, CSREC_UNSUPPORTED, "has 2 channels, neither R, G and B nor Y");
    d.channel[1].name = "A";
    d.channel[1].step = 2;
    write_drawn(path, &d);
    expect_refusal(path, CSREC_UNSUPPORTED, "fewer samples than pixels");
    write_deep(path);
    expect_refusal(path, CSREC_UNSUPPORTED, "deep");
    drop(&d);
    remove(path);
}

/* What OpenEXR cannot hold. */
static void refuses_to_write(void **state) {
    (void)state;
    const char *path = io_path("refused.exr");
    csrec_image image = draw_signal(CSREC_F64, 2, 3, 2);
    csrec_error error = {""};
    assert_int_equal(write_signal(path, &image, NULL, &error), CSREC_ARGUMENT);
    io_assert_line(&error, path, "1 or 3 channels");
    csrec_image_clear(&image);
    image = draw_signal(CSREC_F64, 2, 3, 1);
    ((double *)image.pixels.data)[5] = 1e39;
    assert_int_equal(write_signal(path, &image, NULL, &error), CSREC_DATA);
    io_assert_line(&error, path, "beyond 32 bit floats");
    csrec_image_clear(&image);
    assert_int_equal(io_count_files(), 0);
}

/* Untraced pixels are those without alpha, or of NaN. */
static void untraced_pixels_are_unknown(void **state) {
    (void)state;
    const char *path = io_path("render.exr");
    drawn d = draw(4);
    csrec_measurement m = {0};
    csrec_error error = {""};
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
    if (csrec_measurement_read(path, NULL, &m, &error)) fail_msg("%s", error.text);
    for (int64_t i = 0; i < entries; i++) {
        double value = value_of(&d, 0, (size_t)i);
        if (isnan(value) || value_of(&d, 1, (size_t)i) == 0.0) continue;
        assert_int_equal(m.index[known], i);
        assert_true(m.y[known++] == value);
    }
    assert_int_equal(m.n, known);
    csrec_measurement_clear(&m);
    drop(&d);
    remove(path);
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_every_arrangement),
                                       cmocka_unit_test(reads_memory),
                                       cmocka_unit_test(written_signals_are_read_by_the_library),
                                       cmocka_unit_test(halves_stay_halves),
                                       cmocka_unit_test(attributes_are_kept),
                                       cmocka_unit_test(damage_is_one_line),
                                       cmocka_unit_test(refuses_by_name),
                                       cmocka_unit_test(refuses_to_write),
                                       cmocka_unit_test(untraced_pixels_are_unknown)};
    return cmocka_run_group_tests(tests, io_setup, io_teardown);
}
