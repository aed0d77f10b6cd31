/* SPDX-License-Identifier: BSD-3-Clause */
/* jpeg.c - JPEG pictures by libjpeg-turbo: read upright, written at quality 95 with all colours in
 * full resolution; and what describes them. */
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <stdio.h>
#include <jpeglib.h>

#include <jerror.h>

#include "base/memory.h"
#include "files/format.h"

enum { QUALITY = 95, SEGMENT_MOST = 65533, PROFILE_MOST = 255 * 65519 };

/* Segments APP1 of EXIF begin so, and the chunk of other segments is a marker and data. */
static const char exif_head[6] = "Exif\0", segment[] = "jpeg", profile_head[13] = "ICC profile\0";

/* A picture that is read or written. What must survive libjpeg's longjmp is behind a pointer. */
typedef struct coder {
    struct jpeg_error_mgr errors; /* first, as libjpeg hands it back */
    jmp_buf place;
    const char *name;
    csrec_error *error;
    csrec_status status;
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    csrec_output output; /* without a file: it is read */
    csrec_input *input;
    csrec_about *about; /* told or copied; NULL: the picture is read */
    bool peek;          /* reads only what precedes the pixels */
    int turn;           /* EXIF's orientation, 1 to 8 */
    csrec_image image;
    uint8_t *bytes; /* a row as libjpeg delivers it, or an ICC profile */
    uLongf size;    /* of that */
} coder;

static void on_error(j_common_ptr file) {
    coder *c = (coder *)file->err;
    char text[JMSG_LENGTH_MAX];
    c->errors.format_message(file, text);
    if (c->errors.msg_code == JERR_OUT_OF_MEMORY)
        c->status = csrec_memory_fail(c->error, c->name);
    else if (c->output.file)
        c->status = csrec_output_failed(c->name, c->error);
    else
        c->status =
            csrec_fail(c->error, CSREC_FORMAT,
                       "%s: damaged JPEG (%s); write or copy the file again", c->name, text);
    longjmp(c->place, 1);
}

/* Warnings are of damaged data, and of scans that repeat others, which would take for ever; but for
 * two, of values that decoders do not use. */
static void on_message(j_common_ptr file, int level) {
    const int code = file->err->msg_code;
    if (level < 0 && code != JWRN_NOT_SEQUENTIAL && code != JWRN_JFIF_MAJOR) on_error(file);
}

static struct jpeg_error_mgr *errors_of(coder *c) {
    jpeg_std_error(&c->errors);
    c->errors.error_exit = on_error;
    c->errors.emit_message = on_message;
    return &c->errors;
}

static csrec_status no_memory(const coder *c) {
    return csrec_memory_fail(c->error, c->name);
}

static uint32_t number(const uint8_t *bytes, int n, bool little) {
    uint8_t turned[4];
    for (int i = 0; i < n; i++) turned[i] = bytes[little ? n - 1 - i : i];
    return csrec_about_number(turned, n);
}

/* The orientation, 1 without one. The picture is turned, its thumbnail is not: the tag becomes 1,
 * and what follows the first directory is unlinked. */
static int take_turn(uint8_t *exif, size_t size) {
    int turn = 1;
    if (size < 8 || (memcmp(exif, "II*", 4) != 0 && memcmp(exif, "MM\0*", 4) != 0)) return turn;
    const bool little = exif[0] == 'I';
    size_t at = number(exif + 4, 4, little);
    if (at > size - 2) return turn;
    const size_t end = at + 2 + 12 * (size_t)number(exif + at, 2, little);
    for (at += 2; at + 12 <= size && at < end; at += 12) {
        const uint32_t found = number(exif + at + 8, 2, little);
        if (number(exif + at, 4, little) != (little ? 0x30112 : 0x1120003) || found < 1 ||
            found > 8)
            continue; /* not a short of the tag 0x112 */
        turn = (int)found;
        exif[at + (little ? 8 : 9)] = 1;
    }
    if (end + 4 <= size) memset(exif + end, 0, 4);
    return turn;
}

static bool is_exif(const struct jpeg_marker_struct *m) {
    return m->marker == JPEG_APP0 + 1 && m->data_length > sizeof exif_head &&
           memcmp(m->data, exif_head, sizeof exif_head) == 0;
}

/* Before anything of the picture's size is allocated. A block takes a bit at least; those of a
 * file of several scans are all in memory. */
static csrec_status check(coder *c) {
    struct jpeg_decompress_struct *f = &c->in;
    uint64_t most = 0, blocks = 0, pixels = (uint64_t)f->image_width * f->image_height;
    if (f->jpeg_color_space != JCS_GRAYSCALE && f->jpeg_color_space != JCS_YCbCr &&
        f->jpeg_color_space != JCS_RGB)
        return csrec_fail(c->error, CSREC_UNSUPPORTED,
                          "%s: has neither gray nor RGB pixels, but %d channels (four are inks, "
                          "CMYK); convert it to RGB by its colour profile",
                          c->name, f->num_components);
    for (int i = 0; i < f->num_components; i++) {
        const jpeg_component_info *info = &f->comp_info[i];
        const uint64_t own = (uint64_t)info->width_in_blocks * info->height_in_blocks;
        most = own > most ? own : most;
        blocks += own;
    }
    if (most / 8 > c->input->size) return csrec_fail_forged(c->name, "pixels", c->error);
    if (!jpeg_has_multiple_scans(f)) blocks = 0;
    return csrec_memory_check(pixels * (unsigned)f->num_components + blocks * sizeof(JBLOCK), 2,
                              c->name, c->error);
}

static csrec_status read_header(coder *c) {
    static const int kept[] = {JPEG_APP0 + 1, JPEG_APP0 + 2, JPEG_APP0 + 13, JPEG_COM};
    struct jpeg_decompress_struct *f = &c->in;
    jpeg_create_decompress(f);
    jpeg_mem_src(f, c->input->bytes, (unsigned long)c->input->size);
    for (int i = 0; i < 4; i++) jpeg_save_markers(f, kept[i], 0xFFFF);
    jpeg_read_header(f, TRUE);
    for (struct jpeg_marker_struct *m = f->marker_list; m; m = m->next)
        if (is_exif(m))
            c->turn = take_turn(m->data + sizeof exif_head, m->data_length - sizeof exif_head);
    const int64_t side[2] = {f->image_height, f->image_width};
    f->out_color_space = f->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    const csrec_shape shape = {
        3, {side[c->turn >= 5], side[c->turn < 5], f->out_color_space == JCS_RGB ? 3 : 1}};
    c->image.bits = 8;
    c->image.pixels =
        (csrec_array){.dtype = CSREC_U8, .shape = shape, .count = side[0] * side[1] * shape.dim[2]};
    return check(c);
}

/* Orientations from 5 on exchange the axes; 2, 3, 7 and 8 begin at the right, 3, 4, 6 and 7 at the
 * bottom. */
static void place_row(coder *c, size_t y) {
    const size_t width = c->in.image_width, height = c->in.image_height;
    const size_t channels = (size_t)c->image.pixels.shape.dim[2];
    const bool right = strchr("2378", '0' + c->turn), bottom = strchr("3467", '0' + c->turn);
    uint8_t *pixels = c->image.pixels.data;
    if (bottom) y = height - 1 - y;
    for (size_t i = 0; i < width; i++) {
        const size_t x = right ? width - 1 - i : i,
                     to = c->turn >= 5 ? x * height + y : y * width + x;
        memcpy(pixels + to * channels, c->bytes + i * channels, channels);
    }
}

static csrec_status read_pixels(coder *c) {
    struct jpeg_decompress_struct *f = &c->in;
    const csrec_shape shape = c->image.pixels.shape;
    c->bytes = malloc((size_t)f->image_width * (size_t)shape.dim[2]);
    if (!c->bytes || csrec_array_create(CSREC_U8, &shape, &c->image.pixels)) return no_memory(c);
    jpeg_start_decompress(f);
    for (size_t y; (y = f->output_scanline) < f->output_height; place_row(c, y))
        jpeg_read_scanlines(f, &c->bytes, 1);
    jpeg_finish_decompress(f);
    return CSREC_OK;
}

/* A chunk of two pieces. */
static csrec_status add(coder *c, const char *type, const void *head, size_t n, const void *data,
                        size_t size) {
    uint8_t *to = csrec_about_add(c->about, type, n + size);
    if (!to) return no_memory(c);
    memcpy(to, head, n);
    memcpy(to + n, data, size);
    return CSREC_OK;
}

static csrec_status tell_segments(coder *c) {
    csrec_status status = CSREC_OK;
    for (struct jpeg_marker_struct *m = c->in.marker_list; m && !status; m = m->next)
        if (is_exif(m))
            status = add(c, "eXIf", "", 0, m->data + sizeof exif_head,
                         m->data_length - sizeof exif_head);
        else if (m->marker != JPEG_APP0 + 2 && !csrec_about_is_fingerprint(m->data, m->data_length))
            status = add(c, segment, &m->marker, 1, m->data, m->data_length);
    return status;
}

/* In a PNG per metre, or as a ratio. */
static csrec_status tell_resolution(coder *c) {
    const struct jpeg_decompress_struct *f = &c->in;
    const double unit = f->density_unit == 1 ? 1 / 0.0254 : f->density_unit == 2 ? 100.0 : 1.0;
    const double per[2] = {f->X_density * unit, f->Y_density * unit};
    uint8_t bytes[9];
    if (!f->saw_JFIF_marker || !f->X_density || !f->Y_density) return CSREC_OK;
    for (int i = 0; i < 2; i++)
        csrec_about_put(bytes + 4 * i, (uint32_t)round(per[c->turn >= 5 ? 1 - i : i]));
    bytes[8] = f->density_unit == 1 || f->density_unit == 2;
    return add(c, "pHYs", "", 0, bytes, sizeof bytes);
}

/* The profile is last: if it is damaged, the rest is told. */
static csrec_status tell_all(coder *c) {
    unsigned size;
    for (int i = 0; i < 3; i++) c->about->extent[i] = c->image.pixels.shape.dim[i];
    csrec_status status = tell_segments(c);
    if (!status) status = tell_resolution(c);
    if (status || !jpeg_read_icc_profile(&c->in, &c->bytes, &size)) return status;
    uLongf packed = compressBound(size);
    uint8_t *to = malloc(packed);
    if (!to || compress(to, &packed, c->bytes, size) != Z_OK)
        status = no_memory(c);
    else
        status = add(c, "iCCP", profile_head, sizeof profile_head, to, packed);
    free(to);
    return status;
}

/* Of a chunk iCCP: a name, the method, and what zlib packed, up to 1032 times; none if damaged. */
static csrec_status unpack_profile(coder *c, const csrec_chunk *chunk) {
    const uint8_t *end = memchr(chunk->data, 0, chunk->size), *all = chunk->data + chunk->size;
    if (!end || all - end < 3 || c->bytes) return CSREC_OK;
    c->size = PROFILE_MOST / 1032 < all - end ? PROFILE_MOST : 1032 * (uLongf)(all - end);
    c->bytes = malloc(c->size);
    if (!c->bytes) return no_memory(c);
    if (uncompress(c->bytes, &c->size, end + 2, (uLong)(all - end - 2)) != Z_OK) c->size = 0;
    return CSREC_OK;
}

/* Of a chunk pHYs: per inch, or centimetre if that is exact. */
static void set_resolution(struct jpeg_compress_struct *f, const csrec_chunk *chunk) {
    if (chunk->size != 9) return;
    const uint32_t x = csrec_about_number(chunk->data, 4);
    const uint32_t y = csrec_about_number(chunk->data + 4, 4);
    const bool metre = chunk->data[8] == 1, exact = metre && x % 100 == 0 && y % 100 == 0;
    const double unit = exact ? 0.01 : metre ? 0.0254 : 1.0;
    const double across = round(x * unit), down = round(y * unit);
    if (fmin(across, down) < 1.0 || fmax(across, down) > UINT16_MAX) return;
    f->density_unit = exact ? 2 : metre;
    f->X_density = (UINT16)across;
    f->Y_density = (UINT16)down;
}

static void write_segment(struct jpeg_compress_struct *f, int marker, const char *head, size_t n,
                          const uint8_t *data, size_t size) {
    if (n + size > SEGMENT_MOST) return;
    jpeg_write_m_header(f, marker, (unsigned)(n + size));
    for (size_t i = 0; i < n; i++) jpeg_write_m_byte(f, head[i]);
    for (size_t i = 0; i < size; i++) jpeg_write_m_byte(f, data[i]);
}

static void write_segments(coder *c) {
    csrec_chunk k;
    for (size_t at = 0; csrec_about_next(c->about, &at, &k);)
        if (memcmp(k.type, "eXIf", 4) == 0)
            write_segment(&c->out, JPEG_APP0 + 1, exif_head, sizeof exif_head, k.data, k.size);
        else if (memcmp(k.type, segment, 4) == 0)
            write_segment(&c->out, k.data[0], "", 0, k.data + 1, k.size - 1);
    if (c->size) jpeg_write_icc_profile(&c->out, c->bytes, (unsigned)c->size);
}

/* After a jump it uses none of its locals; so does `encode`. */
static csrec_status decode(coder *c) {
    if (setjmp(c->place)) return c->status;
    csrec_status status = read_header(c);
    if (status || c->peek) return status;
    return c->about ? tell_all(c) : read_pixels(c);
}

static csrec_status read_with(coder *c, csrec_input *input, csrec_error *error) {
    CSREC_TRY(csrec_input_load(input, error));
    c->name = input->name;
    c->error = error;
    c->input = input;
    c->turn = 1;
    c->in.err = errors_of(c);
    csrec_status status = decode(c);
    jpeg_destroy_decompress(&c->in);
    free(c->bytes);
    return status;
}

static csrec_status read_signal(csrec_input *input, csrec_image *image, csrec_error *error) {
    coder c = {.peek = false};
    return csrec_image_deliver(read_with(&c, input, error), &c.image, image);
}

static csrec_status peek(csrec_input *input, csrec_image *image, bool *transparent,
                         csrec_error *error) {
    coder c = {.peek = true};
    *transparent = false;
    csrec_status status = read_with(&c, input, error);
    return csrec_image_deliver(status, &c.image, image);
}

static csrec_status tell(csrec_input *input, csrec_about *about, csrec_error *error) {
    return read_with(&(coder){.about = about}, input, error);
}

static csrec_status encode(coder *c) {
    struct jpeg_compress_struct *f = &c->out;
    csrec_chunk k;
    if (setjmp(c->place)) return c->status;
    const csrec_shape *shape = &c->image.pixels.shape;
    jpeg_create_compress(f);
    jpeg_stdio_dest(f, c->output.file);
    f->image_height = (JDIMENSION)shape->dim[0];
    f->image_width = (JDIMENSION)shape->dim[1];
    f->input_components = shape->dims == 3 ? (int)shape->dim[2] : 1;
    f->in_color_space = f->input_components == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(f);
    jpeg_set_quality(f, QUALITY, TRUE);
    f->comp_info[0].h_samp_factor = f->comp_info[0].v_samp_factor = 1;
    for (size_t at = 0; csrec_about_next(c->about, &at, &k);)
        if (memcmp(k.type, "pHYs", 4) == 0) set_resolution(f, &k);
    jpeg_start_compress(f, TRUE);
    write_segments(c);
    const size_t stride = (size_t)f->image_width * (size_t)f->input_components;
    while (f->next_scanline < f->image_height) {
        JSAMPROW row = (JSAMPROW)c->image.pixels.data + f->next_scanline * stride;
        jpeg_write_scanlines(f, &row, 1);
    }
    jpeg_finish_compress(f);
    return CSREC_OK;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    const bool fits = shape->dims == 2 && shape->dim[0] <= JPEG_MAX_DIMENSION &&
                      shape->dim[1] <= JPEG_MAX_DIMENSION && (channels == 1 || channels == 3);
    return fits ? NULL
                : "a JPEG holds pictures of 1 or 3 channels, of at most 65500 rows and columns; "
                  "write .npy";
}

static csrec_status write_signal(csrec_files *files, const char *path, const csrec_image *image,
                                 const char *like, csrec_error *error) {
    csrec_about about = {0};
    coder c = {.name = path, .error = error, .image = *image, .about = &about};
    csrec_chunk k;
    if (image->bits != 8 || image->pixels.dtype != CSREC_U8 || !image->pixels.data || image->alpha)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: a JPEG is written from opaque U8 pixels with bits 8", path);
    csrec_status status = csrec_about_read(like, image, &about, error);
    for (size_t at = 0; !status && csrec_about_next(&about, &at, &k);)
        if (memcmp(k.type, "iCCP", 4) == 0) status = unpack_profile(&c, &k);
    if (!status) status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &c.output, error);
    if (!status) {
        c.out.err = errors_of(&c);
        status = encode(&c);
        jpeg_destroy_compress(&c.out);
        if (!status) status = csrec_output_append_fingerprint(&c.output, error);
        status = csrec_output_close(&c.output, status, error);
    }
    free(c.bytes);
    free(about.bytes);
    return status;
}

const csrec_format_row csrec_jpeg_format = {
    .format = {"jpeg", ".jpg .jpeg", "JPEG", "a JPEG picture",
               CSREC_USE_READ | CSREC_USE_PICTURE | CSREC_USE_SAMPLES | CSREC_USE_NAMED |
                   CSREC_USE_LOSSY,
               CSREC_JPEG_NEEDS},
    .magic = {{"\xff\xd8\xff", 3}},
    .signal = read_signal,
    .peek = peek,
    .about = tell,
    .refusal = refusal,
    .write = write_signal,
};
