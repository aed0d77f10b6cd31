/* SPDX-License-Identifier: BSD-3-Clause */
/* module.c - signals that JavaScript holds: read from files of the module's own memory, or made
 * from its arrays. */
#include "module.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

csrec_status web_fail(csrec_error *error, csrec_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return status;
}

int64_t web_entries(const web_scan *scan) {
    int64_t entries = 0;
    csrec_shape_count(&scan->m.shape, &entries);
    return entries;
}

/* Priors are looked for in this folder. */
EMSCRIPTEN_KEEPALIVE void web_priors(const char *folder) {
    setenv("CSREC_PRIORS", folder, 1);
}

EMSCRIPTEN_KEEPALIVE void web_clear(web_scan *scan) {
    if (scan) csrec_measurement_clear(&scan->m);
    free(scan);
}

static csrec_status check_kind(const web_scan *scan, const char *path, csrec_error *error) {
    const csrec_measurement *m = &scan->m;
    if (m->through)
        return web_fail(error, CSREC_UNSUPPORTED,
                        "%.200s: was measured through operator %s; recover it with csrecover or "
                        "Python",
                        path, m->through->name);
    if (m->is_complex)
        return web_fail(error, CSREC_UNSUPPORTED,
                        "%.200s: has complex numbers; recover it with csrecover or Python, or give "
                        "one of its parts",
                        path);
    return CSREC_OK;
}

/* Of which type a picture was: its values are 0 to 2^bits - 1. */
static int bits_of(const csrec_measurement *m) {
    if (m->scale[0] != 0.0 || !(m->scale[1] > 0.0)) return 0;
    for (int bits = 1; bits <= 16; bits *= 2)
        if (m->scale[1] == (double)((1 << bits) - 1)) return bits;
    return 0;
}

/* An entry counts if any of its channels is known. */
static bool is_known(const double *values, int64_t channels) {
    for (int64_t c = 0; c < channels; c++)
        if (!isnan(values[c])) return true;
    return false;
}

static csrec_status take_samples(csrec_measurement *m, int64_t entries, const double *values,
                                 csrec_error *error) {
    const int64_t channels = m->channels;
    for (int64_t i = 0; i < entries; i++) m->n += is_known(values + i * channels, channels);
    m->index = malloc((size_t)(m->n + 1) * sizeof *m->index);
    m->y = malloc((size_t)(m->n * channels + 1) * sizeof *m->y);
    if (!m->index || !m->y) return web_fail(error, CSREC_MEMORY, "data: out of memory");
    int64_t k = 0;
    for (int64_t i = 0; i < entries; i++) {
        if (!is_known(values + i * channels, channels)) continue;
        m->index[k] = i;
        memcpy(m->y + k++ * channels, values + i * channels, (size_t)channels * sizeof *values);
    }
    return CSREC_OK;
}

/* Values of a whole signal, NaN where the file says that they are not known. */
static csrec_status take_values(const csrec_image *image, csrec_measurement *m, const char *path,
                                csrec_error *error) {
    const int64_t entries = image->pixels.count / m->channels;
    double *values = malloc((size_t)image->pixels.count * sizeof *values);
    if (!values) return web_fail(error, CSREC_MEMORY, "%.200s: out of memory", path);
    for (int64_t i = 0; i < image->pixels.count; i++) {
        const int64_t at = image->by_channel ? i : i / m->channels;
        const bool known = !image->alpha || image->alpha[at];
        values[i] = known ? csrec_array_value(&image->pixels, i) : NAN;
    }
    const csrec_status status = take_samples(m, entries, values, error);
    free(values);
    return status;
}

/* A signal of which all is known is no measurement, but one to choose samples of. */
static csrec_status read_whole(const char *path, const csrec_read_options *options, web_scan *scan,
                               csrec_error *error) {
    csrec_image image = {0};
    csrec_measurement *m = &scan->m;
    csrec_status status = csrec_signal_read(path, &image, error);
    if (!status) status = csrec_image_arrange(&image, options, path, NULL, error);
    if (!status)
        status = csrec_image_split(&image, options->channels_last || options->channels_first, path,
                                   &m->shape, &m->channels, error);
    m->is_complex = image.is_complex;
    m->dtype = image.pixels.dtype == CSREC_BOOL ? CSREC_U8 : image.pixels.dtype;
    if (image.bits) m->scale[1] = (double)((1 << image.bits) - 1);
    if (!status && !m->is_complex) status = take_values(&image, m, path, error);
    csrec_image_clear(&image);
    return status;
}

/* axes: of arrays, 1: the last has channels, 2: the first, 3: none; 0: by the file. *scan is to be
 * cleared by web_clear. */
EMSCRIPTEN_KEEPALIVE csrec_status web_read(const char *path, int axes, int labels, web_scan **scan,
                                           csrec_error *error) {
    csrec_error why; /* it is no whole signal either */
    web_scan *own = calloc(1, sizeof *own);
    if (!own) return web_fail(error, CSREC_MEMORY, "%.200s: out of memory", path);
    const csrec_read_options options = {.channels_last = axes == 1,
                                        .channels_first = axes == 2,
                                        .volume = axes == 3,
                                        .labels = labels,
                                        .no_guides = true,
                                        .placement = &own->placement,
                                        .facts = &own->facts};
    csrec_status status = csrec_measurement_read_with(path, &options, &own->m, error);
    if (status == CSREC_DATA && !read_whole(path, &options, own, &why) && own->m.n > 0)
        status = CSREC_OK;
    if (!status) status = check_kind(own, path, error);
    own->bits = bits_of(&own->m);
    if (status)
        web_clear(own);
    else
        *scan = own;
    return status;
}

/* values [entries * channels], channels fastest, NaN: not known. dtype: as in .npy, "u1"; of the
 * samples, in which typed files are written. low, high: values of black and white, or equal. */
EMSCRIPTEN_KEEPALIVE csrec_status web_make(int dims, const int *dim, int channels,
                                           const double *values, const char *dtype, double low,
                                           double high, web_scan **scan, csrec_error *error) {
    static const char *const codes[] = {
#define CODE(name, type, code, bytes) code,
        CSREC_DTYPE_LIST(CODE)
#undef CODE
    };
    int64_t entries;
    web_scan *own = calloc(1, sizeof *own);
    if (!own) return web_fail(error, CSREC_MEMORY, "data: out of memory");
    own->m.shape.dims = dims;
    for (int d = 0; d < dims; d++) own->m.shape.dim[d] = dim[d];
    own->m.channels = channels;
    own->m.dtype = CSREC_F64;
    for (int i = 0; i < (int)(sizeof codes / sizeof *codes); i++)
        if (strcmp(dtype, codes[i]) == 0) own->m.dtype = (csrec_dtype)i;
    own->m.scale[0] = low;
    own->m.scale[1] = high;
    csrec_status status = csrec_shape_count(&own->m.shape, &entries)
                              ? web_fail(error, CSREC_DATA, "shape: extents are 1 or more")
                              : take_samples(&own->m, entries, values, error);
    own->bits = bits_of(&own->m);
    if (status)
        web_clear(own);
    else
        *scan = own;
    return status;
}

EMSCRIPTEN_KEEPALIVE void web_numbers(const web_scan *scan, double numbers[WEB_NUMBERS]) {
    const csrec_measurement *m = &scan->m;
    numbers[WEB_DIMS] = m->shape.dims;
    for (int d = 0; d < CSREC_DIMS_MAX; d++)
        numbers[WEB_DIM + d] = d < m->shape.dims ? (double)m->shape.dim[d] : 0.0;
    numbers[WEB_CHANNELS] = (double)m->channels;
    numbers[WEB_SAMPLES] = (double)m->n;
    numbers[WEB_LOW] = m->scale[0];
    numbers[WEB_HIGH] = m->scale[1];
    numbers[WEB_BITS] = scan->bits;
}

/* What the file does not say, or what else is in it; or "". */
EMSCRIPTEN_KEEPALIVE const char *web_note(const web_scan *scan, int i) {
    return i == 0 ? scan->facts.note : scan->facts.remark.text;
}

/* All entries [entries * channels], NaN where not known. */
EMSCRIPTEN_KEEPALIVE void web_values(const web_scan *scan, double *values) {
    const csrec_measurement *m = &scan->m;
    const int64_t all = web_entries(scan) * m->channels;
    for (int64_t i = 0; i < all; i++) values[i] = NAN;
    for (int64_t k = 0; k < m->n; k++)
        memcpy(values + m->index[k] * m->channels, m->y + k * m->channels,
               (size_t)m->channels * sizeof *values);
}

/* keep [entries] becomes 1 where a sample of the pattern is, as cssample draws it, else 0. */
EMSCRIPTEN_KEEPALIVE csrec_status web_sample(int dims, const int *dim, const char *pattern,
                                             double count, double seed, uint8_t *keep,
                                             csrec_error *error) {
    csrec_shape shape = {.dims = dims};
    csrec_sampling sampling = {0};
    csrec_pattern drawn;
    int64_t entries;
    for (int d = 0; d < dims; d++) shape.dim[d] = dim[d];
    if (csrec_shape_count(&shape, &entries))
        return web_fail(error, CSREC_DATA, "shape: extents are 1 or more");
    if (!csrec_pattern_parse(pattern, &drawn) || drawn == CSREC_PATTERN_NONE)
        return web_fail(error, CSREC_ARGUMENT,
                        "pattern: '%.40s' is none of uniform, poisson, jitter", pattern);
    csrec_status status =
        csrec_sampling_create(&shape, drawn, (int64_t)count, (uint64_t)seed, &sampling, error);
    if (!status) memset(keep, 0, (size_t)entries);
    for (int64_t k = 0; k < sampling.n; k++) keep[sampling.index[k]] = 1;
    csrec_sampling_clear(&sampling);
    return status;
}

/* keep [entries] becomes 1 where a file marks samples. */
EMSCRIPTEN_KEEPALIVE csrec_status web_mask(const char *path, const web_scan *scan, uint8_t *keep,
                                           csrec_error *error) {
    const csrec_measurement *m = &scan->m;
    const int64_t entries = web_entries(scan);
    uint8_t *at = NULL;
    bool by_channel;
    csrec_status status =
        csrec_mask_read(path, false, &m->shape, m->channels, &at, &by_channel, error);
    const int64_t each = !status && by_channel ? m->channels : 1;
    for (int64_t i = 0; i < entries && !status; i++) {
        keep[i] = 0;
        for (int64_t c = 0; c < each; c++) keep[i] |= at[i * each + c] != 0;
    }
    free(at);
    return status;
}
