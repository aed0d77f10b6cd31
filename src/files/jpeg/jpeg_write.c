/* SPDX-License-Identifier: BSD-3-Clause */
/* jpeg_write.c - pictures to JPEG: quality 95, all colours in full resolution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "files/format.h"
#include "files/jpeg/jpeg.h"
#include "files/output.h"

enum { QUALITY = 95, PROFILE_MOST = 255 * 65519 };

typedef struct encoder {
    csrec_jpeg_trap trap;
    struct jpeg_compress_struct file;
    csrec_output output;
    csrec_about about;
    uint8_t *profile; /* ICC, or NULL */
    uLongf profile_size;
    const csrec_array *pixels;
    int channels;
} encoder;

/* ------------------------------------------------------------------ what describes it --------- */

/* Of a chunk iCCP: a name, the method, and what zlib packed, which begins with its size. What is
 * damaged is left out. */
static csrec_status unpack_profile(encoder *e, const csrec_chunk *chunk) {
    uint8_t head[4];
    uLongf size = sizeof head;
    const uint8_t *end = memchr(chunk->data, 0, chunk->size);
    if (!end || end + 2 > chunk->data + chunk->size) return CSREC_OK;
    const uLong packed = (uLong)(chunk->data + chunk->size - end - 2);
    int result = uncompress(head, &size, end + 2, packed);
    e->profile_size = csrec_about_number(head, 4);
    if (result != Z_BUF_ERROR || size < 4 || e->profile_size < 128 ||
        e->profile_size > PROFILE_MOST)
        return CSREC_OK;
    e->profile = malloc(e->profile_size);
    if (!e->profile)
        return csrec_fail(e->trap.error, CSREC_MEMORY, "%s: out of memory", e->trap.name);
    size = e->profile_size;
    if (uncompress(e->profile, &size, end + 2, packed) != Z_OK || size != e->profile_size) {
        free(e->profile);
        e->profile = NULL;
    }
    return CSREC_OK;
}

/* Of a chunk pHYs, which is per metre: per inch, or centimetre if that is exact. */
static void set_resolution(struct jpeg_compress_struct *f, const csrec_chunk *chunk) {
    if (chunk->size != 9) return;
    const uint32_t x = csrec_about_number(chunk->data, 4),
                   y = csrec_about_number(chunk->data + 4, 4);
    const bool metre = chunk->data[8] == 1, exact = metre && x % 100 == 0 && y % 100 == 0;
    const double unit = exact ? 0.01 : metre ? 0.0254 : 1.0;
    const double across = round(x * unit), down = round(y * unit);
    if (!(across >= 1.0 && across <= UINT16_MAX && down >= 1.0 && down <= UINT16_MAX)) return;
    f->density_unit = exact ? 2 : metre;
    f->X_density = (UINT16)across;
    f->Y_density = (UINT16)down;
}

static void write_segment(struct jpeg_compress_struct *f, int marker, const char *head, size_t n,
                          const uint8_t *data, size_t size) {
    if (n + size > CSREC_JPEG_SEGMENT_MOST) return;
    jpeg_write_m_header(f, marker, (unsigned)(n + size));
    for (size_t i = 0; i < n; i++) jpeg_write_m_byte(f, head[i]);
    for (size_t i = 0; i < size; i++) jpeg_write_m_byte(f, data[i]);
}

static void write_segments(encoder *e) {
    csrec_chunk c;
    for (size_t at = 0; csrec_about_next(&e->about, &at, &c);)
        if (memcmp(c.type, "eXIf", 4) == 0)
            write_segment(&e->file, JPEG_APP0 + 1, CSREC_JPEG_EXIF, CSREC_JPEG_EXIF_HEAD, c.data,
                          c.size);
        else if (memcmp(c.type, CSREC_JPEG_SEGMENT, 4) == 0)
            write_segment(&e->file, c.data[0], NULL, 0, c.data + 1, c.size - 1);
    if (e->profile) jpeg_write_icc_profile(&e->file, e->profile, (unsigned)e->profile_size);
}

/* ------------------------------------------------------------------ the file ------------------ */

static csrec_status encode(encoder *e) {
    struct jpeg_compress_struct *f = &e->file;
    csrec_chunk c;
    if (setjmp(e->trap.place)) return e->trap.status;
    jpeg_create_compress(f);
    jpeg_stdio_dest(f, e->output.file);
    f->image_height = (JDIMENSION)e->pixels->shape.dim[0];
    f->image_width = (JDIMENSION)e->pixels->shape.dim[1];
    f->input_components = e->channels;
    f->in_color_space = e->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(f);
    jpeg_set_quality(f, QUALITY, TRUE);
    f->comp_info[0].h_samp_factor = f->comp_info[0].v_samp_factor = 1;
    for (size_t at = 0; csrec_about_next(&e->about, &at, &c);)
        if (memcmp(c.type, "pHYs", 4) == 0) set_resolution(f, &c);
    jpeg_start_compress(f, TRUE);
    write_segments(e);
    while (f->next_scanline < f->image_height) {
        JSAMPROW row = (JSAMPROW)e->pixels->data +
                       (size_t)f->next_scanline * f->image_width * (size_t)e->channels;
        jpeg_write_scanlines(f, &row, 1);
    }
    jpeg_finish_compress(f);
    return CSREC_OK;
}

static csrec_status check(const char *path, const csrec_image *image, int64_t *channels,
                          csrec_error *error) {
    const csrec_array *pixels = &image->pixels;
    csrec_shape shape = pixels->shape;
    *channels = shape.dims == 3 ? shape.dim[2] : 1;
    if (shape.dims == 3) shape.dims = 2;
    const char *reason = csrec_format_refusal(&csrec_jpeg_format.format, &shape, *channels);
    if (image->bits != 8 || pixels->dtype != CSREC_U8 || !pixels->data || image->alpha)
        reason = "a JPEG is written from U8 pixels with bits 8, without transparency";
    return reason ? csrec_fail(error, CSREC_ARGUMENT, "%s: %s", path, reason) : CSREC_OK;
}

csrec_status csrec_jpeg_write(csrec_files *files, const char *path, const csrec_image *image,
                              const char *like, csrec_error *error) {
    encoder e = {.trap = {.name = path, .error = error}, .pixels = &image->pixels};
    csrec_chunk c;
    int64_t channels;
    csrec_status status = check(path, image, &channels, error);
    if (!status) status = csrec_about_read(like, image, &e.about, error);
    for (size_t at = 0; !status && !e.profile && csrec_about_next(&e.about, &at, &c);)
        if (memcmp(c.type, "iCCP", 4) == 0) status = unpack_profile(&e, &c);
    if (!status) status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &e.output, error);
    if (!status) {
        e.channels = (int)channels;
        e.trap.output = e.output.file;
        e.file.err = csrec_jpeg_trap_set(&e.trap);
        status = encode(&e);
        jpeg_destroy_compress(&e.file);
        if (!status) status = csrec_output_append_fingerprint(&e.output, error);
        status = csrec_output_close(&e.output, status, error);
    }
    free(e.profile);
    free(e.about.bytes);
    return status;
}
