/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.c - reading a measurement of any format; and of a whole picture or array, some
 * entries of which are known: opaque or masked ones, numbers that are not NaN, values other than
 * the one that stands for unknown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "files/format.h"
#include "files/measurement.h"

/* ------------------------------------------------------------------ masks --------------------- */

/* A mask of the signal's shape, or with channels: an entry counts where any of them is not 0. */
static csrec_status check_mask(const csrec_array *mask, const char *name, const csrec_shape *shape,
                               csrec_error *error) {
    if (mask->dtype == CSREC_F32 || mask->dtype == CSREC_F64)
        return csrec_fail(error, CSREC_DATA, "%s: a mask of floats; save mask.astype(bool)", name);
    bool same = mask->shape.dims == shape->dims || mask->shape.dims == shape->dims + 1;
    for (int a = 0; a < shape->dims && same; a++) same = mask->shape.dim[a] == shape->dim[a];
    if (same) return CSREC_OK;
    if (shape->dims == 2)
        return csrec_fail(error, CSREC_DATA,
                          "%s: the mask's shape is not that of the %lld x %lld picture (height x "
                          "width); give one of the same size",
                          name, (long long)shape->dim[0], (long long)shape->dim[1]);
    return csrec_fail(error, CSREC_DATA,
                      "%s: the mask's shape is not that of the array; give one of the same shape",
                      name);
}

/* part: which need not have a sample. */
static csrec_status flatten(const csrec_array *pixels, const char *name, int64_t size, bool part,
                            uint8_t **mask, csrec_error *error) {
    int64_t channels = pixels->count / size;
    *mask = calloc((size_t)size, 1);
    if (!*mask) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    for (int64_t i = 0; i < size; i++)
        for (int64_t c = 0; c < channels; c++)
            (*mask)[i] |= csrec_array_value(pixels, i * channels + c) != 0;
    if (part || memchr(*mask, 1, (size_t)size)) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: the mask marks no pixel; mark at least one", name);
}

/* The size of a picture is checked before its pixels are unpacked. */
static csrec_status decode_mask(csrec_input *input, const csrec_shape *shape, csrec_image *image,
                                csrec_error *error) {
    csrec_image seen;
    bool transparent;
    char list[64];
    const csrec_format_row *row = csrec_input_format(input);
    if (row && input->slab.count > 0 && !(row->format.uses & CSREC_USE_SLABS))
        return csrec_format_no_slabs(input, error);
    if (!row || !(row->format.uses & CSREC_USE_READ))
        return csrec_fail(
            error, CSREC_FORMAT, "%s: is no mask; give a %s whose non-zero pixels are samples",
            input->name, csrec_format_list(CSREC_USE_READ, true, "or", list, sizeof list));
    csrec_status status =
        row->peek ? csrec_format_peek(input, &seen, &transparent, error) : CSREC_OK;
    if (!status && row->peek) status = check_mask(&seen.pixels, input->name, shape, error);
    return status == CSREC_OK ? csrec_format_signal(input, image, error) : status;
}

/* shape: of the whole, whatever the slab. */
static csrec_status read_mask(const char *path, const csrec_shape *shape, csrec_slab slab,
                              uint8_t **mask, csrec_error *error) {
    csrec_input input;
    csrec_image image = {0};
    csrec_shape part = *shape;
    int64_t entries = 0;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    input.slab = slab;
    status = decode_mask(&input, shape, &image, error);
    if (!status) status = csrec_input_narrow(&input, &part, error);
    if (!status) status = check_mask(&image.pixels, input.name, &part, error);
    if (!status) status = csrec_shape_count(&part, &entries);
    if (!status) status = flatten(&image.pixels, input.name, entries, slab.count > 0, mask, error);
    csrec_image_clear(&image);
    csrec_input_close(&input);
    return status;
}

/* ------------------------------------------------------------------ samples ------------------- */

/* NaN in any channel, or the value for unknown in all. */
static bool is_unknown(const csrec_array *pixels, const csrec_read_options *options,
                       int64_t channels, int64_t entry) {
    bool all = options->has_unknown;
    for (int64_t c = 0; c < channels; c++) {
        double value = csrec_array_value(pixels, entry * channels + c);
        if (isnan(value)) return true;
        all = all && value == options->unknown;
    }
    return all;
}

/* Entries of which one thread takes the samples. */
enum { BLOCK = 1 << 16 };

/* known [entries]: on return 0 also where the values themselves say so. */
static csrec_status mark_unknown(const csrec_image *image, const csrec_read_options *options,
                                 const char *name, int64_t entries, uint8_t *known,
                                 csrec_measurement *m, csrec_error *error) {
    csrec_dtype dtype = image->pixels.dtype;
    bool tells = options->has_unknown || dtype == CSREC_F32 || dtype == CSREC_F64;
    int64_t n = 0;
    const int threads = csrec_threads_for(entries, 0);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : n)
    for (int64_t i = 0; i < entries; i++) {
        if (tells && known[i] && is_unknown(&image->pixels, options, m->channels, i)) known[i] = 0;
        n += known[i];
    }
    m->n = n;
    if (options->slab.count > 0) return CSREC_OK; /* the whole need not be as this part */
    if (m->n == 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: no entry is known (all transparent, masked out, NaN or of the value "
                          "for unknown); one must be",
                          name);
    if (m->n < entries || image->alpha || options->mask || options->has_unknown) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: nothing tells which entries are known (NaN, transparent pixels); give a "
                      "mask or the value of unknown ones, or sample it with cssample",
                      name);
}

/* The entries from `from` to `end`, as samples from k on. */
static void take_block(const csrec_array *pixels, const uint8_t *known, int64_t from, int64_t end,
                       int64_t k, csrec_measurement *m) {
    int64_t channels = m->channels;
    for (int64_t i = from; i < end; i++) {
        if (!known[i]) continue;
        m->index[k] = i;
        for (int64_t c = 0; c < channels; c++)
            m->y[k * channels + c] = csrec_array_value(pixels, i * channels + c);
        k++;
    }
}

/* first [blocks]: becomes the number of samples before each block. */
static void number_blocks(const uint8_t *known, int64_t entries, int64_t blocks, int64_t *first) {
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(entries, 0))
    for (int64_t b = 0; b < blocks; b++) {
        int64_t end = b + 1 < blocks ? (b + 1) * BLOCK : entries;
        first[b] = 0;
        for (int64_t i = b * BLOCK; i < end; i++) first[b] += known[i];
    }
    for (int64_t b = 0, before = 0, n; b < blocks; b++, before += n) {
        n = first[b];
        first[b] = before;
    }
}

static csrec_status take_samples(const csrec_image *image, const uint8_t *known, const char *name,
                                 int64_t entries, csrec_measurement *m, csrec_error *error) {
    const int64_t blocks = (entries + BLOCK - 1) / BLOCK;
    m->dtype = image->pixels.dtype;
    if (image->bits) m->scale[1] = (double)((1 << image->bits) - 1);
    int64_t *first = malloc((size_t)blocks * sizeof *first);
    if (!first) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    csrec_status status = csrec_measurement_allocate(m, name, error);
    if (!status) {
        number_blocks(known, entries, blocks, first);
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(entries, 0))
        for (int64_t b = 0; b < blocks; b++)
            take_block(&image->pixels, known, b * BLOCK, b + 1 < blocks ? (b + 1) * BLOCK : entries,
                       first[b], m);
    }
    free(first);
    return status;
}

/* What precedes the pixels, if the format tells: then the sizes of the picture and its mask are
 * checked before any pixel is unpacked. */
static csrec_status look_ahead(csrec_input *input, const csrec_format_row *row,
                               const csrec_read_options *options, csrec_image *seen, uint8_t **mask,
                               csrec_error *error) {
    bool transparent;
    csrec_measurement m;
    if (!row->peek) return CSREC_OK;
    csrec_status status = csrec_format_peek(input, seen, &transparent, error);
    if (!status)
        status = csrec_image_split(seen, options->channels_last, input->name, &m.shape, &m.channels,
                                   error);
    if (status) return status;
    if (options->mask) return read_mask(options->mask, &m.shape, options->slab, mask, error);
    if (transparent || options->has_unknown) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: has no transparent pixels to tell samples by; give a mask, or sample "
                      "it with cssample",
                      input->name);
}

/* A mask replaces transparency. */
static csrec_status find_known(const csrec_image *image, const csrec_read_options *options,
                               const char *name, const csrec_measurement *m, int64_t entries,
                               uint8_t **known, csrec_error *error) {
    if (*known) return CSREC_OK;
    if (options->mask) return read_mask(options->mask, &m->shape, options->slab, known, error);
    *known = malloc((size_t)entries);
    if (!*known) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    if (image->alpha)
        memcpy(*known, image->alpha, (size_t)entries);
    else
        memset(*known, 1, (size_t)entries);
    return CSREC_OK;
}

csrec_status csrec_measurement_from_signal(csrec_input *input, const csrec_read_options *options,
                                           csrec_measurement *measurement, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_image seen = {0}, image = {0};
    csrec_measurement m = {0};
    uint8_t *known = NULL;
    int64_t entries = 0;
    csrec_status status = csrec_read_options_check(options, true, false, input->name, error);
    if (!status && options->slab.count > 0 && !(row->format.uses & CSREC_USE_SLABS))
        status = csrec_format_no_slabs(input, error);
    input->slab = options->slab;
    if (!status) status = look_ahead(input, row, options, &seen, &known, error);
    if (!status) status = csrec_format_signal(input, &image, error);
    if (!status && row->peek) status = csrec_input_narrow(input, &seen.pixels.shape, error);
    /* The mask is as large as the picture was. */
    if (!status && row->peek && !csrec_shape_equal(&image.pixels.shape, &seen.pixels.shape))
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: changed while it was read; read the file again", input->name);
    if (!status)
        status = csrec_image_split(&image, options->channels_last, input->name, &m.shape,
                                   &m.channels, error);
    if (!status) status = csrec_shape_count(&m.shape, &entries);
    if (!status) status = find_known(&image, options, input->name, &m, entries, &known, error);
    if (!status) status = mark_unknown(&image, options, input->name, entries, known, &m, error);
    if (!status) status = take_samples(&image, known, input->name, entries, &m, error);
    free(known);
    m.is_complex = image.is_complex;
    if (m.is_complex) m.channels /= 2;
    if (!status && options->remark) csrec_doubt_centred(&m, &(bool){false}, options->remark);
    csrec_image_clear(&image);
    if (!status) *measurement = m;
    return status;
}

/* ------------------------------------------------------------------ of any format ------------- */

csrec_status csrec_read_options_check(const csrec_read_options *options, bool whole,
                                      bool coordinates, const char *name, csrec_error *error) {
    const char *vain = whole                    ? NULL
                       : options->mask          ? "mask"
                       : options->has_unknown   ? "value for unknown"
                       : options->channels_last ? "axis of channels"
                                                : NULL;
    if (vain)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has its positions inside; leave the %s out (it goes with pictures "
                          "and whole arrays)",
                          name, vain);
    if (options->slab.count != 0 && !whole)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has its positions inside, and is read as a whole", name);
    if (options->grid && !coordinates)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has a shape; leave the grid out (it goes with coordinates, .csv)",
                          name);
    return CSREC_OK;
}

static csrec_status parse_format(csrec_input *input, const csrec_read_options *options,
                                 csrec_measurement *m, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->measurement) return row->measurement(input, options, m, error);
    if (row && row->signal) return csrec_measurement_from_signal(input, options, m, error);
    return csrec_format_unknown(input, CSREC_USE_SAMPLES, "save it with numpy.savez", error);
}

csrec_status csrec_measurement_parse(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error) {
    static const csrec_read_options defaults = {0};
    csrec_measurement result = {0};
    if (options && options->placement) options->placement->dims = 0;
    if (options && options->remark) *options->remark->text = '\0';
    csrec_status status = parse_format(input, options ? options : &defaults, &result, error);
    if (status) return status;
    bool empty = input->slab.count > 0 && result.n == 0;
    if (!empty) status = csrec_measurement_check(&result, input->name, error);
    return csrec_measurement_deliver(status, &result, measurement);
}

csrec_status csrec_measurement_read(const char *path, const char *mask_path,
                                    csrec_measurement *measurement, csrec_error *error) {
    const csrec_read_options options = {.mask = mask_path};
    return csrec_measurement_read_with(path, &options, measurement, error);
}

csrec_status csrec_measurement_read_with(const char *path, const csrec_read_options *options,
                                         csrec_measurement *measurement, csrec_error *error) {
    csrec_input input;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    if (options) input.progress = options->progress, input.context = options->context;
    status = csrec_measurement_parse(&input, options, measurement, error);
    csrec_input_close(&input);
    return status;
}
