/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - a signal in a file of any format, as csrecover writes it. */
#include "module.h"

#include <float.h>
#include <math.h>

/* A picture of samples without black and white has the smallest and the largest of them. */
static void tones_of(const csrec_measurement *m, double tones[2]) {
    tones[0] = m->scale[0];
    tones[1] = m->scale[1];
    if (tones[0] == tones[1] && m->dtype == CSREC_U8) tones[1] = tones[0] + 255.0;
    if (tones[0] == tones[1] && m->dtype == CSREC_U16) tones[1] = tones[0] + 65535.0;
    if (tones[0] != tones[1]) return;
    tones[0] = INFINITY;
    tones[1] = -INFINITY;
    for (int64_t i = 0; i < m->n * m->channels; i++) {
        if (m->y[i] < tones[0]) tones[0] = m->y[i];
        if (m->y[i] > tones[1]) tones[1] = m->y[i];
    }
    if (!(tones[1] > tones[0])) tones[1] = tones[0] + 1.0;
}

/* The type of the samples where the format keeps it; else float32, whose 24 bits are enough for
 * samples of 16 bits. */
static csrec_dtype type_of(const csrec_format *format, const csrec_measurement *m, int64_t values,
                           const double *signal) {
    csrec_dtype type =
        csrec_dtype_size(m->dtype) > 2 && m->dtype != CSREC_F32 ? CSREC_F64 : CSREC_F32;
    double largest = 0.0;
    if (format->uses & CSREC_USE_TYPES) type = m->dtype;
    for (int64_t i = 0; i < values && type == CSREC_F32; i++)
        largest = fmax(largest, fabs(signal[i]));
    return largest > FLT_MAX || (largest > 0.0 && largest < FLT_MIN) ? CSREC_F64 : type;
}

static csrec_image image_of(const csrec_format *format, const web_scan *scan, const double *tones,
                            const double *signal) {
    const csrec_measurement *m = &scan->m;
    const bool picture = format->uses & CSREC_USE_PICTURE;
    csrec_image image = {.bits = !picture                            ? 0
                                 : fabs(tones[1] - tones[0]) > 255.0 ? 16
                                                                     : 8,
                         .has_channels = !picture && m->channels > 1,
                         .placement = &scan->placement};
    if (picture && m->dtype == CSREC_U16) image.bits = 16;
    image.pixels.shape = m->shape;
    if (picture || image.has_channels)
        image.pixels.shape.dim[image.pixels.shape.dims++] = m->channels;
    image.pixels.dtype = image.bits == 16 ? CSREC_U16
                         : image.bits     ? CSREC_U8
                                      : type_of(format, m, web_entries(scan) * m->channels, signal);
    return image;
}

static double tone(const csrec_image *image, const double tones[2], double value) {
    const double share = (value - tones[0]) / (tones[1] - tones[0]);
    return round(fmin(fmax(share, 0.0), 1.0) * (image->bits == 16 ? 65535.0 : 255.0));
}

static csrec_status write_image(const char *path, const csrec_format *format,
                                const csrec_image *image, const char *like, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status =
        csrec_files_create(&(csrec_files_options){.no_sync = true}, &files, error);
    if (!status) status = csrec_files_add_signal(files, path, format, image, like, error);
    if (!status) status = csrec_files_commit(files, error);
    csrec_files_destroy(files);
    return status;
}

/* like: NULL, or the file that the signal came from, whose metadata are kept in the same format. */
EMSCRIPTEN_KEEPALIVE csrec_status web_write(const web_scan *scan, const double *signal,
                                            const char *path, const char *like,
                                            csrec_error *error) {
    const csrec_format *format = csrec_format_of(path);
    double tones[2];
    char list[128];
    if (!format || !(format->uses & CSREC_USE_WRITE))
        return web_fail(error, CSREC_ARGUMENT, "%.200s: name a %s", path,
                        csrec_format_list(CSREC_USE_WRITE, false, "or", list, sizeof list));
    const char *refusal = csrec_format_refusal(format, &scan->m.shape, scan->m.channels);
    if (refusal) return web_fail(error, CSREC_UNSUPPORTED, "%.200s: %s", path, refusal);
    tones_of(&scan->m, tones);
    csrec_image image = image_of(format, scan, tones, signal);
    const csrec_shape shape = image.pixels.shape;
    csrec_status status = csrec_array_create(image.pixels.dtype, &shape, &image.pixels);
    if (status) return web_fail(error, status, "%.200s: out of memory", path);
    for (int64_t i = 0; i < image.pixels.count; i++)
        csrec_array_set(&image.pixels, i, image.bits ? tone(&image, tones, signal[i]) : signal[i]);
    status = write_image(path, format, &image, like, error);
    csrec_array_clear(&image.pixels);
    return status;
}
