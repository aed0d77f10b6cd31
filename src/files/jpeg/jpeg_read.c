/* SPDX-License-Identifier: BSD-3-Clause */
/* jpeg_read.c - JPEG to samples, upright; what describes the picture; the row of the format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <jerror.h>

#include "base/error.h"
#include "base/memory.h"
#include "files/format.h"
#include "files/jpeg/jpeg.h"
#include "files/output.h"

/* Of a progressive picture: ten are usual, and each takes the time of one. */
enum { SCANS_MOST = 500 };

typedef struct decoder {
    csrec_jpeg_trap trap;
    struct jpeg_decompress_struct file;
    struct jpeg_progress_mgr progress;
    csrec_input *input;
    csrec_about *about; /* to be told, or NULL: the picture is */
    bool peek;          /* read only what precedes the pixels */
    int turn;           /* EXIF's orientation, 1 to 8 */
    csrec_image image;
    uint8_t *row; /* as libjpeg delivers it; or an ICC profile */
} decoder;

/* ------------------------------------------------------------------ failures ------------------ */

static void on_error(j_common_ptr file) {
    csrec_jpeg_trap *trap = (csrec_jpeg_trap *)file->err;
    char text[JMSG_LENGTH_MAX];
    trap->manager.format_message(file, text);
    if (trap->manager.msg_code == JERR_OUT_OF_MEMORY)
        trap->status = csrec_fail(trap->error, CSREC_MEMORY, "%s: out of memory", trap->name);
    else if (trap->output)
        trap->status = csrec_output_failed(trap->name, trap->error);
    else
        trap->status =
            csrec_fail(trap->error, CSREC_FORMAT,
                       "%s: damaged JPEG (%s); write or copy the file again", trap->name, text);
    longjmp(trap->place, 1);
}

static void on_message(j_common_ptr file, int level) {
    if (level < 0) on_error(file);
}

struct jpeg_error_mgr *csrec_jpeg_trap_set(csrec_jpeg_trap *trap) {
    jpeg_std_error(&trap->manager);
    trap->manager.error_exit = on_error;
    trap->manager.emit_message = on_message;
    return &trap->manager;
}

static void on_progress(j_common_ptr file) {
    if (((j_decompress_ptr)file)->input_scan_number > SCANS_MOST) ERREXIT(file, JERR_NOTIMPL);
}

/* ------------------------------------------------------------------ EXIF ---------------------- */

static uint32_t number(const uint8_t *bytes, int n, bool little) {
    uint8_t turned[4];
    for (int i = 0; i < n; i++) turned[i] = bytes[little ? n - 1 - i : i];
    return csrec_about_number(turned, n);
}

/* Returns the orientation, 1 without one. The picture is turned accordingly, and its thumbnail is
 * not, nor is that recovered: settle sets the tag to 1, and unlinks what follows the first
 * directory. */
static int turn_of(uint8_t *exif, size_t size, bool settle) {
    int turn = 1;
    if (size < 8 || (memcmp(exif, "II*", 4) != 0 && memcmp(exif, "MM\0*", 4) != 0)) return turn;
    const bool little = exif[0] == 'I';
    size_t at = number(exif + 4, 4, little);
    if (at > size - 2) return turn;
    const size_t end = at + 2 + 12 * (size_t)number(exif + at, 2, little);
    for (at += 2; at + 12 <= size && at < end; at += 12) {
        const uint32_t found = number(exif + at + 8, 2, little);
        if (number(exif + at, 2, little) != 0x112 || number(exif + at + 2, 2, little) != 3 ||
            found < 1 || found > 8)
            continue;
        turn = (int)found;
        if (settle) exif[at + (little ? 8 : 9)] = 1;
    }
    if (settle && end + 4 <= size) memset(exif + end, 0, 4);
    return turn;
}

static bool is_exif(const struct jpeg_marker_struct *m) {
    return m->marker == JPEG_APP0 + 1 && m->data_length > CSREC_JPEG_EXIF_HEAD &&
           memcmp(m->data, CSREC_JPEG_EXIF, CSREC_JPEG_EXIF_HEAD) == 0;
}

/* ------------------------------------------------------------------ header -------------------- */

/* Before anything of the picture's size is allocated. A block takes a bit at least; those of a
 * file of several scans are all in memory. */
static csrec_status check(decoder *d) {
    struct jpeg_decompress_struct *f = &d->file;
    uint64_t most = 0, blocks = 0, pixels = (uint64_t)f->image_width * f->image_height;
    if (f->jpeg_color_space != JCS_GRAYSCALE && f->jpeg_color_space != JCS_YCbCr &&
        f->jpeg_color_space != JCS_RGB)
        return csrec_fail(d->trap.error, CSREC_UNSUPPORTED,
                          "%s: %s; convert it to gray or RGB with its colour profile", d->trap.name,
                          f->num_components == 4 ? "has inks (CMYK), whose colours depend on them"
                                                 : "has neither gray nor RGB pixels");
    for (int c = 0; c < f->num_components; c++) {
        const jpeg_component_info *info = &f->comp_info[c];
        const uint64_t own = (uint64_t)info->width_in_blocks * info->height_in_blocks;
        most = own > most ? own : most;
        blocks += own;
    }
    if (most / 8 > d->input->size) return csrec_fail_forged(d->trap.name, "pixels", d->trap.error);
    if (!jpeg_has_multiple_scans(f)) blocks = 0;
    return csrec_memory_check(pixels * (unsigned)f->num_components + blocks * sizeof(JBLOCK), 2,
                              d->trap.name, d->trap.error);
}

static void describe(decoder *d) {
    struct jpeg_decompress_struct *f = &d->file;
    const bool gray = f->jpeg_color_space == JCS_GRAYSCALE, across = d->turn >= 5;
    csrec_array *pixels = &d->image.pixels;
    f->out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    pixels->dtype = CSREC_U8;
    pixels->shape = (csrec_shape){3,
                                  {across ? f->image_width : f->image_height,
                                   across ? f->image_height : f->image_width, gray ? 1 : 3}};
    pixels->count = pixels->shape.dim[0] * pixels->shape.dim[1] * pixels->shape.dim[2];
    d->image.bits = 8;
}

static csrec_status read_header(decoder *d) {
    static const int kept[] = {JPEG_APP0 + 1, JPEG_APP0 + 2, JPEG_APP0 + 13, JPEG_COM};
    jpeg_create_decompress(&d->file);
    d->progress.progress_monitor = on_progress;
    d->file.progress = &d->progress;
    jpeg_mem_src(&d->file, d->input->bytes, (unsigned long)d->input->size);
    for (int i = 0; i < 4; i++) jpeg_save_markers(&d->file, kept[i], 0xFFFF);
    jpeg_read_header(&d->file, TRUE);
    for (struct jpeg_marker_struct *m = d->file.marker_list; m; m = m->next)
        if (is_exif(m))
            d->turn = turn_of(m->data + CSREC_JPEG_EXIF_HEAD, m->data_length - CSREC_JPEG_EXIF_HEAD,
                              d->about);
    csrec_status status = check(d);
    if (!status) describe(d);
    return status;
}

/* ------------------------------------------------------------------ pixels -------------------- */

/* Orientations from 5 on exchange the axes; 2, 3, 7 and 8 begin at the right, 3, 4, 6 and 7 at the
 * bottom. */
static void place_row(decoder *d, size_t y) {
    const size_t width = d->file.image_width, height = d->file.image_height;
    const size_t channels = (size_t)d->image.pixels.shape.dim[2];
    const bool right = strchr("2378", '0' + d->turn), bottom = strchr("3467", '0' + d->turn);
    if (bottom) y = height - 1 - y;
    for (size_t i = 0; i < width; i++) {
        const size_t x = right ? width - 1 - i : i;
        memcpy((uint8_t *)d->image.pixels.data +
                   (d->turn >= 5 ? x * height + y : y * width + x) * channels,
               d->row + i * channels, channels);
    }
}

static csrec_status read_pixels(decoder *d) {
    struct jpeg_decompress_struct *f = &d->file;
    const csrec_shape shape = d->image.pixels.shape;
    d->row = malloc((size_t)f->image_width * (size_t)shape.dim[2]);
    if (!d->row || csrec_array_create(CSREC_U8, &shape, &d->image.pixels))
        return csrec_fail(d->trap.error, CSREC_MEMORY, "%s: out of memory", d->trap.name);
    jpeg_start_decompress(f);
    while (f->output_scanline < f->output_height) {
        const size_t y = f->output_scanline;
        jpeg_read_scanlines(f, &d->row, 1);
        place_row(d, y);
    }
    jpeg_finish_decompress(f);
    return CSREC_OK;
}

/* ------------------------------------------------------------------ what describes it --------- */

/* A chunk of two pieces. */
static csrec_status add(decoder *d, const char *type, const void *head, size_t n, const void *data,
                        size_t size) {
    uint8_t *to = csrec_about_add(d->about, type, n + size);
    if (!to) return csrec_fail(d->trap.error, CSREC_MEMORY, "%s: out of memory", d->trap.name);
    memcpy(to, head, n);
    memcpy(to + n, data, size);
    return CSREC_OK;
}

static csrec_status add_segments(decoder *d) {
    csrec_status status = CSREC_OK;
    for (struct jpeg_marker_struct *m = d->file.marker_list; m && !status; m = m->next) {
        const size_t head = CSREC_JPEG_EXIF_HEAD;
        if (is_exif(m))
            status = add(d, "eXIf", "", 0, m->data + head, m->data_length - head);
        else if (m->marker != JPEG_APP0 + 2 && !csrec_about_is_fingerprint(m->data, m->data_length))
            status = add(d, CSREC_JPEG_SEGMENT, &m->marker, 1, m->data, m->data_length);
    }
    return status;
}

/* In a PNG per metre, or as a ratio. */
static csrec_status add_resolution(decoder *d) {
    const struct jpeg_decompress_struct *f = &d->file;
    const double unit = f->density_unit == 1 ? 1 / 0.0254 : f->density_unit == 2 ? 100.0 : 1.0;
    const double per[2] = {f->X_density * unit, f->Y_density * unit};
    uint8_t bytes[9];
    if (!f->saw_JFIF_marker || !f->X_density || !f->Y_density) return CSREC_OK;
    for (int i = 0; i < 2; i++)
        csrec_about_put(bytes + 4 * i, (uint32_t)round(per[d->turn >= 5 ? 1 - i : i]));
    bytes[8] = f->density_unit == 1 || f->density_unit == 2;
    return add(d, "pHYs", "", 0, bytes, sizeof bytes);
}

/* Compressed, as a PNG has it. Last, as a damaged profile ends it. */
static csrec_status add_profile(decoder *d) {
    static const uint8_t head[] = "ICC profile\0"; /* a name, and the method */
    unsigned size;
    if (!jpeg_read_icc_profile(&d->file, &d->row, &size)) return CSREC_OK;
    uLongf packed = compressBound(size);
    const size_t before = d->about->size;
    uint8_t *to = csrec_about_add(d->about, "iCCP", sizeof head + packed);
    if (!to || compress(to + sizeof head, &packed, d->row, size) != Z_OK)
        return csrec_fail(d->trap.error, CSREC_MEMORY, "%s: out of memory", d->trap.name);
    d->about->size = before;
    memcpy(csrec_about_add(d->about, "iCCP", sizeof head + packed), head, sizeof head);
    return CSREC_OK;
}

static csrec_status tell_all(decoder *d) {
    const csrec_shape *shape = &d->image.pixels.shape;
    d->about->height = shape->dim[0];
    d->about->width = shape->dim[1];
    d->about->channels = shape->dim[2];
    csrec_status status = add_segments(d);
    if (!status) status = add_resolution(d);
    return status ? status : add_profile(d);
}

/* ------------------------------------------------------------------ the row ------------------- */

/* The only function with a setjmp; its locals are set before and not changed after it. */
static csrec_status decode(decoder *d) {
    if (setjmp(d->trap.place)) return d->trap.status;
    csrec_status status = read_header(d);
    if (status || d->peek) return status;
    return d->about ? tell_all(d) : read_pixels(d);
}

static csrec_status run(decoder *d, csrec_input *input, csrec_error *error) {
    csrec_status status = csrec_input_load(input, error);
    if (status) return status;
    d->trap.name = input->name;
    d->trap.error = error;
    d->input = input;
    d->turn = 1;
    d->file.err = csrec_jpeg_trap_set(&d->trap);
    status = decode(d);
    jpeg_destroy_decompress(&d->file);
    free(d->row);
    return status;
}

static csrec_status read_signal(csrec_input *input, csrec_image *image, csrec_error *error) {
    decoder d = {.peek = false};
    csrec_status status = run(&d, input, error);
    return csrec_image_deliver(status, &d.image, image);
}

static csrec_status peek(csrec_input *input, csrec_image *image, bool *transparent,
                         csrec_error *error) {
    decoder d = {.peek = true};
    *transparent = false;
    csrec_status status = run(&d, input, error);
    if (!status) *image = d.image;
    return status;
}

/* A profile that cannot be told leaves the rest. */
static csrec_status tell(csrec_input *input, csrec_about *about, csrec_error *error) {
    decoder d = {.about = about};
    csrec_status status = run(&d, input, error);
    return status == CSREC_MEMORY || !about->height ? status : CSREC_OK;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    if (shape->dims != 2 || shape->dim[0] > JPEG_MAX_DIMENSION ||
        shape->dim[1] > JPEG_MAX_DIMENSION)
        return "only a 2-D signal of at most 65500 rows and columns fits in a JPEG; write .npy";
    return channels == 1 || channels == 3 ? NULL : "a JPEG has 1 or 3 channels; write .npy";
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
    .write = csrec_jpeg_write,
};
