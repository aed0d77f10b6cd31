/* SPDX-License-Identifier: BSD-3-Clause */
/* measurement.c - reading a measurement of any format; and of a whole picture or array, some
 * entries of which are known: opaque or masked ones, numbers that are not NaN, values other than
 * the one that stands for unknown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "files/format.h"
#include "files/kspace.h"
#include "files/measurement.h"
#include "measurement/each.h"

/* Which values of a signal are known, beside what they tell themselves. */
typedef struct known_values {
    uint8_t *at;     /* [entries], or of each channel; NULL: not yet found */
    bool by_channel; /* [entries * channels] */
    int64_t soft;    /* values of the mask that are cut */
} known_values;

/* A mask of the signal's shape, or with channels. */
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

/* Above it a value marks a sample. Of a picture of 8 bits or more with values between 0 and its
 * largest, which soft edges have, half of the largest; else 0. */
static double cut_of(const csrec_image *mask, int64_t *soft) {
    double most = 0.0;
    int64_t between = 0;
    for (int64_t i = 0; i < mask->pixels.count && mask->bits >= 8; i++)
        most = fmax(most, csrec_array_value(&mask->pixels, i));
    for (int64_t i = 0; i < mask->pixels.count && mask->bits >= 8; i++) {
        const double v = csrec_array_value(&mask->pixels, i);
        between += v > 0.0 && v < most;
    }
    *soft = between;
    return between ? most / 2 : 0.0;
}

/* A mask with the signal's channels is of each; with others an entry counts where any of them marks
 * it, as it does nowhere where the mask is transparent. part: which need not have a sample. */
static csrec_status take_mask(const csrec_image *mask, const csrec_read_options *options,
                              const char *name, int64_t size, int64_t channels, known_values *known,
                              csrec_error *error) {
    const int64_t own = mask->pixels.count / size, each = own == channels ? channels : 1;
    const double cut = cut_of(mask, &known->soft);
    bool any = options->slab.count > 0;
    known->by_channel = each > 1;
    known->at = calloc((size_t)(size * each), 1);
    if (!known->at) return csrec_memory_fail(error, name);
    for (int64_t i = 0; i < size * own; i++) {
        const int64_t to = each > 1 ? i : i / own;
        if (mask->alpha && !mask->alpha[mask->by_channel ? i : i / own]) continue;
        known->at[to] |= csrec_array_value(&mask->pixels, i) > cut;
        any = any || known->at[to];
    }
    if (any) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA, "%s: the mask marks no pixel; mark at least one", name);
}

/* Of files that were compressed with loss values are near what they were. */
static csrec_status refuse_lossy(const csrec_input *input, const csrec_format_row *row,
                                 const char *use, csrec_error *error) {
    if (!row || !(row->format.uses & CSREC_USE_LOSSY)) return CSREC_OK;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: %s, but the compression of a %s changes values; give a mask of another "
                      "format, as .png or .npy",
                      input->name, use, row->format.title);
}

/* Whether an array has an axis beside those of the signal. */
static bool is_wide(const csrec_image *mask, const csrec_shape *shape) {
    return !mask->bits && !mask->has_channels && mask->pixels.shape.dims == shape->dims + 1;
}

/* The size of a picture is checked before its pixels are unpacked. first: where its channels are,
 * if it has any. */
static csrec_status decode_mask(csrec_input *input, bool first, const csrec_shape *shape,
                                csrec_image *image, csrec_error *error) {
    csrec_image seen = {.bits = 0};
    bool transparent;
    char list[64];
    const csrec_format_row *row = csrec_input_format(input);
    if (row && input->slab.count > 0 && !(row->format.uses & CSREC_USE_SLABS))
        return csrec_format_no_slabs(input, error);
    if (!row || !row->signal)
        return csrec_fail(
            error, CSREC_FORMAT, "%s: is no mask; give a %s whose non-zero pixels are samples",
            input->name, csrec_format_list(CSREC_USE_READ, true, "or", list, sizeof list));
    csrec_status status = refuse_lossy(input, row, "a mask says yes or no", error);
    if (!status && row->peek) status = csrec_format_peek(input, &seen, &transparent, error);
    if (!status && first && is_wide(&seen, shape))
        status = csrec_image_turn(&seen, false, input->name, error);
    if (!status && row->peek) status = check_mask(&seen.pixels, input->name, shape, error);
    if (!status) status = csrec_format_signal(input, image, error);
    if (!status && first && is_wide(image, shape))
        status = csrec_image_turn(image, false, input->name, error);
    return status;
}

/* shape: of the whole, whatever the slab. turned: flags of FITS are samples where they are 0. */
static csrec_status read_mask(const csrec_read_options *options, bool turned,
                              const csrec_shape *shape, int64_t channels, known_values *known,
                              csrec_error *error) {
    csrec_input input;
    csrec_image image = {0};
    csrec_shape part = *shape;
    int64_t entries = 0;
    CSREC_TRY(csrec_input_open(options->mask, &input, error));
    input.slab = options->slab;
    input.is_mask = turned;
    csrec_status status = decode_mask(&input, options->channels_first, shape, &image, error);
    if (!status) status = csrec_input_narrow(&input, &part, error);
    if (!status) status = check_mask(&image.pixels, input.name, &part, error);
    if (!status) status = csrec_shape_count(&part, &entries);
    if (!status) status = take_mask(&image, options, input.name, entries, channels, known, error);
    csrec_image_clear(&image);
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_mask_read(const char *path, bool first, const csrec_shape *shape,
                             int64_t channels, uint8_t **at, bool *by_channel, csrec_error *error) {
    const csrec_read_options options = {.mask = path, .channels_first = first};
    known_values marked = {.at = NULL};
    csrec_status status = read_mask(&options, false, shape, channels, &marked, error);
    *at = marked.at;
    *by_channel = marked.by_channel;
    return status;
}

/* A whole signal, and what is known of it. */
typedef struct whole_signal {
    const csrec_image *image;
    const csrec_read_options *options;
    known_values known;
    bool tells;            /* values may tell that they are unknown */
    const double *unknown; /* the value that does, or NULL */
    const float *rays;     /* [entries], or NULL */
    int64_t channels, entries;
    int64_t *before; /* samples before each block of entries */
} whole_signal;

static double stored(const whole_signal *s, int64_t entry, int64_t channel) {
    return csrec_array_value(&s->image->pixels, entry * s->channels + channel);
}

static bool is_marked(const whole_signal *s, int64_t entry, int64_t channel) {
    return s->known.at[s->known.by_channel ? entry * s->channels + channel : entry];
}

/* Of colours, dark ones of which have 0 in a channel, the value for unknown counts if in all. */
static bool is_colour(const whole_signal *s) {
    return s->image->bits > 0 && s->channels == 3;
}

/* A value, or NaN where it is unknown: NaN, infinite, marked so, or the value that stands for it.
 * Of complex numbers both parts are, or none. */
static double value_at(const whole_signal *s, int64_t i, int64_t c) {
    const double value = stored(s, i, c);
    if (!is_marked(s, i, c) || !isfinite(value)) return NAN;
    if (s->image->is_complex && !isfinite(stored(s, i, c ^ 1))) return NAN;
    if (!s->unknown || value != *s->unknown) return value;
    for (int64_t k = 0; k < s->channels && is_colour(s); k++)
        if (stored(s, i, k) != *s->unknown) return value;
    return NAN;
}

/* Of a pixel with rays every channel is, as rays tell of all. */
static bool is_known(const whole_signal *s, int64_t entry) {
    int64_t known = 0;
    for (int64_t c = 0; c < s->channels; c++)
        known += s->tells ? !isnan(value_at(s, entry, c)) : is_marked(s, entry, c);
    return s->rays ? s->rays[entry] > 0.0f && known == s->channels : known > 0;
}

/* With rays, but NaN or infinite. */
static bool is_lost(const whole_signal *s, int64_t entry) {
    bool marked = true, finite = true;
    for (int64_t c = 0; c < s->channels; c++) {
        marked = marked && is_marked(s, entry, c);
        finite = finite && isfinite(stored(s, entry, c));
    }
    return s->rays[entry] > 0.0f && marked && !finite;
}

/* Entries of which one thread takes the samples. */
enum { BLOCK = 1 << 16 };

static int64_t blocks_of(const whole_signal *s) {
    return (s->entries + BLOCK - 1) / BLOCK;
}

static int64_t end_of(const whole_signal *s, int64_t block) {
    return (block + 1) * BLOCK < s->entries ? (block + 1) * BLOCK : s->entries;
}

/* Counts the samples, and those before each block. */
static csrec_status number_blocks(whole_signal *s, const char *name, int64_t *n,
                                  csrec_error *error) {
    const int64_t blocks = blocks_of(s);
    *n = 0;
    s->before = malloc((size_t)blocks * sizeof *s->before);
    if (!s->before) return csrec_memory_fail(error, name);
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(s->entries, 0))
    for (int64_t b = 0; b < blocks; b++) {
        s->before[b] = 0;
        for (int64_t i = b * BLOCK; i < end_of(s, b); i++) s->before[b] += is_known(s, i);
    }
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t own = s->before[b];
        s->before[b] = *n;
        *n += own;
    }
    return CSREC_OK;
}

static csrec_status count_known(whole_signal *s, const char *name, csrec_measurement *m,
                                csrec_error *error) {
    const csrec_read_options *o = s->options;
    csrec_status status = number_blocks(s, name, &m->n, error);
    if (status || o->slab.count > 0) return status; /* the whole need not be as this part */
    if (m->n == 0 && !o->empty)
        return csrec_fail(error, CSREC_DATA,
                          "%s: no entry is known (all transparent, masked out, NaN or of the value "
                          "for unknown); one must be",
                          name);
    if (s->image->alpha || o->mask || s->tells || s->rays || o->noisy) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: nothing tells which entries are known (NaN, transparent pixels); give a "
                      "mask or the value of unknown ones, sample it with cssample, or, to denoise "
                      "it, give the noise (--sigma)",
                      name);
}

/* The entries from `from` to `end`, as samples from k on. */
static void take_block(const whole_signal *s, int64_t from, int64_t end, int64_t k,
                       csrec_measurement *m) {
    for (int64_t i = from; i < end; i++) {
        if (!is_known(s, i)) continue;
        m->index[k] = i;
        for (int64_t c = 0; c < s->channels; c++) m->y[k * s->channels + c] = value_at(s, i, c);
        if (s->rays) m->rays[k] = (double)s->rays[i];
        k++;
    }
}

/* Integers of 64 bits that doubles may have rounded. */
static csrec_status check_whole(csrec_measurement *m, const char *name, csrec_error *error) {
    for (int64_t i = 0; i < m->n * m->channels && csrec_dtype_size(m->dtype) == 8; i++) {
        if (m->dtype == CSREC_F64 || !(fabs(m->y[i]) >= 0x1p53)) continue;
        csrec_fail(error, CSREC_DATA, "%s: entry %lld is %.0f; " CSREC_ROUNDED, name,
                   (long long)m->index[i / m->channels], m->y[i]);
        csrec_measurement_clear(m);
        return CSREC_DATA;
    }
    return CSREC_OK;
}

static csrec_status take_samples(const whole_signal *s, const char *name, csrec_measurement *m,
                                 csrec_error *error) {
    m->dtype = s->image->pixels.dtype;
    if (s->image->bits) m->scale[1] = (double)((1 << s->image->bits) - 1);
    CSREC_TRY(csrec_measurement_allocate(m, name, error));
    if (s->rays && csrec_each_allocate(true, false, m)) {
        csrec_measurement_clear(m);
        return csrec_memory_fail(error, name);
    }
#pragma omp parallel for schedule(static) num_threads(csrec_threads_for(s->entries, 0))
    for (int64_t b = 0; b < blocks_of(s); b++)
        take_block(s, b * BLOCK, end_of(s, b), s->before[b], m);
    return check_whole(m, name, error);
}

/* What precedes the pixels, if the format tells: then the sizes of the picture and its mask are
 * checked before any pixel is unpacked. */
static csrec_status look_ahead(csrec_input *input, const csrec_format_row *row,
                               const csrec_read_options *options, csrec_image *seen,
                               known_values *known, csrec_error *error) {
    bool transparent;
    csrec_measurement m;
    if (!row->peek) return CSREC_OK;
    CSREC_TRY(csrec_format_peek(input, seen, &transparent, error));
    CSREC_TRY(csrec_image_arrange(seen, options, input->name, NULL, error));
    CSREC_TRY(
        csrec_image_split(seen, options->channels_last, input->name, &m.shape, &m.channels, error));
    if (options->mask) return read_mask(options, true, &m.shape, m.channels, known, error);
    if (transparent || options->has_unknown || options->noisy) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: has no transparent pixels to tell samples by; give a mask, sample it "
                      "with cssample, or, to denoise it, give the noise (--sigma)",
                      input->name);
}

/* A mask replaces transparency. */
static csrec_status find_known(whole_signal *s, const char *name, const csrec_measurement *m,
                               csrec_error *error) {
    known_values *known = &s->known;
    const csrec_image *image = s->image;
    if (known->at) return CSREC_OK;
    if (s->options->mask) return read_mask(s->options, true, &m->shape, m->channels, known, error);
    known->by_channel = image->alpha && image->by_channel;
    const size_t count = (size_t)(s->entries * (known->by_channel ? s->channels : 1));
    known->at = malloc(count);
    if (!known->at) return csrec_memory_fail(error, name);
    if (image->alpha)
        memcpy(known->at, image->alpha, count);
    else
        memset(known->at, 1, count);
    return CSREC_OK;
}

csrec_status csrec_measurement_from_signal(csrec_input *input, const csrec_read_options *options,
                                           csrec_measurement *measurement, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_image seen = {0}, image = {0};
    csrec_measurement m = {0};
    csrec_error axes;
    whole_signal s = {.image = &image, .options = options};
    csrec_status status = csrec_read_options_check(options, true, false, input->name, error);
    if (!status && options->has_unknown)
        status = refuse_lossy(input, row, "one value stands for unknown", error);
    if (!status && options->slab.count > 0 && !(row->format.uses & CSREC_USE_SLABS))
        status = csrec_format_no_slabs(input, error);
    input->slab = options->slab;
    input->labels = options->labels;
    input->unknown = options->has_unknown ? &options->unknown : NULL;
    if (!status) status = look_ahead(input, row, options, &seen, &s.known, error);
    if (!status) status = csrec_format_signal(input, &image, error);
    if (!status) status = csrec_image_arrange(&image, options, input->name, &axes, error);
    if (!status && *axes.text) csrec_input_note(input, "%s", axes.text);
    if (!status && row->peek) status = csrec_input_narrow(input, &seen.pixels.shape, error);
    /* The mask is as large as the picture was. */
    if (!status && row->peek && !csrec_shape_equal(&image.pixels.shape, &seen.pixels.shape))
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: changed while it was read; read the file again", input->name);
    if (!status)
        status = csrec_image_split(&image, options->channels_last, input->name, &m.shape,
                                   &m.channels, error);
    const csrec_dtype dtype = image.pixels.dtype;
    s.unknown = input->unknown;
    s.tells = s.unknown || dtype == CSREC_F32 || dtype == CSREC_F64;
    s.channels = m.channels;
    s.rays = input->rays;
    if (!status) status = csrec_shape_count(&m.shape, &s.entries);
    if (!status) status = find_known(&s, input->name, &m, error);
    if (!status) status = count_known(&s, input->name, &m, error);
    if (!status) status = take_samples(&s, input->name, &m, error);
    for (int64_t i = 0; i < s.entries && s.rays && !status; i++)
        input->facts.lost += is_lost(&s, i);
    free(s.known.at);
    free(s.before);
    input->facts.soft = s.known.soft;
    input->facts.has_nodata = image.has_nodata;
    input->facts.nodata = image.nodata;
    m.is_complex = image.is_complex;
    if (m.is_complex) m.channels /= 2;
    m.sequence = (input->facts.time = csrec_image_time(&image, options, &m.shape)) == 1;
    if (!status) csrec_doubt_centred(&m, &(bool){false}, &input->facts.remark);
    if (!status && !*input->facts.remark.text) csrec_about_labels(input, &m);
    csrec_image_clear(&image);
    if (!status) *measurement = m;
    return status;
}

csrec_status csrec_read_options_check(const csrec_read_options *options, bool whole,
                                      bool coordinates, const char *name, csrec_error *error) {
    const char *vain = whole                  ? NULL
                       : options->mask        ? "mask"
                       : options->has_unknown ? "value for unknown"
                       : options->channels_last || options->channels_first || options->volume
                           ? "axis of channels"
                           : NULL;
    if (vain)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: has its positions inside; leave the %s out (it goes with pictures "
                          "and whole arrays)",
                          name, vain);
    if (options->slab.count != 0 && !whole)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: has its positions inside, and is read as a whole", name);
    if (coordinates || (!options->grid && !options->coordinates && !options->values))
        return CSREC_OK;
    return csrec_fail(error, CSREC_ARGUMENT,
                      "%s: has a shape; leave the %s out (it goes with coordinates, .csv)", name,
                      options->grid ? "grid" : "choice of columns");
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
    if (options && options->placement) *options->placement = (csrec_placement){.dims = 0};
    csrec_status status = parse_format(input, options ? options : &defaults, &result, error);
    if (status) return status;
    bool empty = (input->slab.count > 0 || (options && options->empty)) && result.n == 0;
    if (!empty) status = csrec_measurement_check(&result, input->name, error);
    if (!status) status = csrec_kspace_finish(input, options ? options : &defaults, &result, error);
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
    CSREC_TRY(csrec_input_open(path, &input, error));
    if (options) input.progress = options->progress, input.context = options->context;
    csrec_status status = csrec_measurement_parse(&input, options, measurement, error);
    if (options && options->facts) *options->facts = input.facts;
    csrec_input_close(&input);
    return status;
}
