/* SPDX-License-Identifier: BSD-3-Clause */
/* guides.c - planes that are known beside the samples, of a picture or array. */
#include "files/guides.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "measurement/guides.h"

/* Renderers write 1e10, or infinity, where a ray meets nothing. */
static const double FAR = 1e10;

static void settle(const char *name, int64_t count, double *values) {
    const char *kind = csrec_guide_kind(name);
    const bool depth = kind && strcmp(kind, "depth") == 0;
    double most = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (values[i] < (depth ? FAR : INFINITY)) most = fmax(most, values[i]);
    for (int64_t i = 0; i < count; i++)
        if (depth && values[i] >= FAR)
            values[i] = isfinite(most) ? most : NAN;
        else if (!(fabs(values[i]) < 0x1.ffffffp127)) /* beyond a float */
            values[i] = NAN;
}

/* Whether each plane is known somewhere: else it is of no use. */
static bool is_known(int64_t entries, int64_t planes, const double *values) {
    int64_t k = 0;
    for (bool known = true; k < planes && known; k += known) {
        known = false;
        for (int64_t i = 0; i < entries && !known; i++) known = !isnan(values[i * planes + k]);
    }
    return k == planes;
}

/* "20 x 30". */
static void write_shape(const csrec_shape *shape, char text[192]) {
    size_t used = 0;
    text[0] = '\0';
    for (int d = 0; d < shape->dims; d++)
        used += (size_t)snprintf(text + used, 192 - used, "%s%lld", d ? " x " : "",
                                 (long long)shape->dim[d]);
}

static bool is_frame(const csrec_measurement *m, const csrec_shape *shape) {
    return m->sequence && shape->dims == m->shape.dims - 1 &&
           memcmp(shape->dim, m->shape.dim + 1, (size_t)shape->dims * sizeof *shape->dim) == 0;
}

static bool fits(const csrec_measurement *m, const csrec_shape *shape) {
    return csrec_shape_equal(shape, &m->shape) || is_frame(m, shape);
}

static csrec_status refuse_shape(const csrec_measurement *m, const char *file,
                                 const csrec_shape *shape, csrec_error *error) {
    char own[192], whole[192];
    write_shape(shape, own);
    write_shape(&m->shape, whole);
    return csrec_fail(error, CSREC_DATA,
                      "%s: a guide of %s for a signal of %s; give one of that shape, with channels "
                      "as its last axis if it has several",
                      file, own, whole);
}

/* Frame after frame the same. */
static double *repeat(int64_t frames, int64_t count, const double *values) {
    double *all = malloc((size_t)(frames * count) * sizeof *all);
    for (int64_t t = 0; all && t < frames; t++)
        memcpy(all + t * count, values, (size_t)count * sizeof *all);
    return all;
}

csrec_status csrec_guides_take(csrec_measurement *m, const char *file, const char *name,
                               const csrec_shape *shape, int64_t planes, double *values,
                               csrec_error *error) {
    int64_t entries = 0;
    char own[CSREC_GUIDE_NAME];
    double *all = values;
    csrec_error why;
    if (!fits(m, shape)) return refuse_shape(m, file, shape, error);
    csrec_shape_count(shape, &entries);
    snprintf(own, sizeof own, "%.*s", CSREC_GUIDE_NAME - 1, name);
    csrec_text_clean(own);
    settle(own, entries * planes, values);
    if (!is_known(entries, planes, values)) return CSREC_OK;
    if (is_frame(m, shape)) all = repeat(m->shape.dim[0], entries * planes, values);
    if (!all) return csrec_memory_fail(error, file);
    csrec_status status = csrec_guides_add(m, own, planes, all, &why);
    if (all != values) free(all);
    return status ? csrec_fail(error, status, "%s: %s", file, why.text) : CSREC_OK;
}

/* Which axis has planes: the last, or else the first, which is turned behind the others. */
static csrec_status arrange(const csrec_measurement *m, const char *file, csrec_image *image,
                            csrec_shape *shape, int64_t *planes, csrec_error *error) {
    const csrec_shape all = image->pixels.shape;
    const bool channels = image->bits || image->has_channels;
    csrec_shape last = all, first = all;
    *shape = all;
    *planes = 1;
    if (image->is_complex)
        return csrec_fail(error, CSREC_DATA, "%s: is complex; give a guide of real numbers", file);
    if (all.dims < 2 || (!channels && fits(m, &all))) return CSREC_OK;
    last.dims = first.dims = all.dims - 1;
    memmove(first.dim, first.dim + 1, (size_t)first.dims * sizeof *first.dim);
    if (!channels && !fits(m, &last)) {
        if (!fits(m, &first)) return CSREC_OK;
        *shape = first;
        *planes = all.dim[0];
        return csrec_image_turn(image, false, file, error);
    }
    *shape = last;
    *planes = all.dim[last.dims];
    return CSREC_OK;
}

static csrec_status take_image(csrec_measurement *m, const char *file, const char *name,
                               csrec_image *image, csrec_error *error) {
    csrec_shape shape;
    int64_t planes = 1;
    csrec_status status = arrange(m, file, image, &shape, &planes, error);
    const int64_t count = image->pixels.count;
    double *values = status ? NULL : malloc((size_t)(count + !count) * sizeof *values);
    if (!status && !values) status = csrec_memory_fail(error, file);
    for (int64_t i = 0; i < count && !status; i++) {
        const bool known = !image->alpha || image->alpha[image->by_channel ? i : i / planes];
        values[i] = known ? csrec_array_value(&image->pixels, i) : NAN;
    }
    if (!status) status = csrec_guides_take(m, file, name, &shape, planes, values, error);
    free(values);
    return status;
}

static csrec_status read_guides(csrec_input *input, const char *name, csrec_measurement *m,
                                csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    const char *kind = input->member ? csrec_guide_kind(input->member) : NULL;
    csrec_image image = {0};
    if (!row || !row->signal)
        return csrec_format_unknown(input, CSREC_USE_READ, "convert it to one of these", error);
    if (row->guides && !name && !input->member) return row->guides(input, m, error);
    csrec_status status = csrec_format_signal(input, &image, error);
    if (!status) status = take_image(m, input->name, name ? name : kind ? kind : "", &image, error);
    csrec_image_clear(&image);
    return status;
}

csrec_status csrec_guides_read(const char *path, const char *name, csrec_measurement *m,
                               csrec_error *error) {
    csrec_input input;
    const csrec_guides *had = m->guides;
    if (name && strlen(name) >= CSREC_GUIDE_NAME)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: name '%.40s' of the guide is too long; give at most %d letters",
                          path, name, CSREC_GUIDE_NAME - 1);
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_status status = read_guides(&input, name, m, error);
    csrec_input_close(&input);
    if (status || m->guides != had) return status;
    return csrec_fail(error, CSREC_DATA, "%s: a plane of this guide is known nowhere; leave it out",
                      path);
}
