/* SPDX-License-Identifier: BSD-3-Clause */
/* signal.c - reads whole signals, pictures or arrays, opening the file once: a pipe can be opened
 * only once; which axis of an array has channels: the last one, the first, or none. Files whose
 * samples are read in slabs: of a format that reads slabs of pictures and arrays, or of one that
 * finds samples by their positions. And the list of chunks that describe a picture. */
#include <stdlib.h>
#include <string.h>

#include "files/format.h"

/* [rows, columns] items of some bytes, or NULL, become [columns, rows]; false: no memory. */
static bool transpose(void **data, int64_t rows, int64_t columns, size_t bytes) {
    const char *from = *data;
    char *to = from ? malloc((size_t)(rows * columns) * bytes) : NULL;
    for (int64_t k = 0; to && k < rows * columns; k++)
        memcpy(to + (size_t)k * bytes, from + (size_t)(k % rows * columns + k / rows) * bytes,
               bytes);
    if (from && !to) return false;
    free(*data);
    *data = to;
    return true;
}

/* Parts of complex numbers stay together, behind. */
csrec_status csrec_image_turn(csrec_image *image, bool first, const char *name,
                              csrec_error *error) {
    csrec_shape *shape = &image->pixels.shape;
    const int last = shape->dims - 1 - image->is_complex;
    if (last < 1)
        return csrec_fail(error, CSREC_DATA, "%s: has one axis, and none for channels beside it",
                          name);
    const int64_t parts = image->is_complex ? 2 : 1, channels = shape->dim[first ? last : 0];
    const int64_t rest = channels ? image->pixels.count / parts / channels : 0;
    const int64_t rows = first ? rest : channels, columns = first ? channels : rest;
    const size_t bytes = (size_t)parts * csrec_dtype_size(image->pixels.dtype);
    void *known = image->alpha;
    const bool done =
        transpose(&image->pixels.data, rows, columns, bytes) && transpose(&known, rows, columns, 1);
    image->alpha = known;
    if (!done) return csrec_memory_fail(error, name);
    memmove(shape->dim + first, shape->dim + !first, (size_t)last * sizeof *shape->dim);
    shape->dim[first ? 0 : last] = channels;
    if (image->time) image->time = first ? image->time % (last + 1) + 1 : image->time - 1;
    image->by_channel = image->alpha != NULL;
    image->has_channels = !first;
    return CSREC_OK;
}

/* Whether one axis of three may be one of channels. */
static bool is_few(const csrec_shape *shape, int axis) {
    const int64_t *dim = shape->dim, few = dim[axis];
    return shape->dims == 3 && few >= 2 && few <= 4 && dim[1] > 4 && dim[2 - axis] > 4;
}

csrec_status csrec_image_arrange(csrec_image *image, const csrec_read_options *options,
                                 const char *name, csrec_error *remark, csrec_error *error) {
    const csrec_shape *shape = &image->pixels.shape;
    if (remark) *remark->text = '\0';
    if (image->bits || image->has_channels || options->channels_last || options->volume)
        return CSREC_OK;
    if (options->channels_first) return csrec_image_turn(image, false, name, error);
    if (image->is_complex || image->time) return CSREC_OK;
    if (is_few(shape, 2))
        return csrec_fail(
            error, CSREC_ARGUMENT,
            "%s: shape %lld x %lld x %lld: colours or a volume? give channels_last or volume", name,
            (long long)shape->dim[0], (long long)shape->dim[1], (long long)shape->dim[2]);
    if (remark && is_few(shape, 0))
        csrec_fail(remark, CSREC_OK,
                   "it is taken as a volume of %lld slices; channels_first makes them channels",
                   (long long)shape->dim[0]);
    return CSREC_OK;
}

/* A picture of two axes would be a line with a channel for each column, and a count that is not
 * that of the shape a read beyond the end. */
static csrec_status check_delivered(const csrec_input *input, const csrec_image *signal,
                                    const char *function, bool data, csrec_error *error) {
    const csrec_shape *shape = &signal->pixels.shape;
    const int bits = signal->bits, axes = shape->dims;
    const csrec_dtype type = signal->pixels.dtype;
    int64_t count = axes > CSREC_DIMS_MAX ? -1 : 1;
    for (int a = 0; a < axes && count > 0; a++)
        if (__builtin_mul_overflow(count, shape->dim[a], &count)) count = -1;
    const bool pairs = axes > 0 && shape->dim[axes - 1] == 2 && bits == 0;
    const csrec_rule rules[] = {
        {signal->pixels.count == count && count >= 0, "pixels.count", "that of pixels.shape"},
        {csrec_dtype_size(type) > 0, "pixels.dtype", "one of csrec_dtype"},
        {!data || count == 0 || signal->pixels.data, "pixels.data", "set"},
        {bits == 0 || bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16, "bits",
         "1, 2, 4, 8 or 16, or 0 of an array"},
        {bits == 0 || type == (bits == 16 ? CSREC_U16 : CSREC_U8), "pixels.dtype",
         "CSREC_U8, or CSREC_U16 with 16 bits"},
        {bits == 0 || axes == 3 || axes == 4, "pixels.shape",
         "height, width, channels of a picture, perhaps after pages"},
        {!signal->is_complex || pairs, "is_complex", "false without a last axis of 2"}};
    csrec_error why;
    if (!csrec_rules_check("format", input->row->format.name, CSREC_RULES(rules), &why))
        return CSREC_OK;
    return csrec_fail(error, CSREC_FORMAT, "%s: read by %s: %s", input->name, function, why.text);
}

csrec_status csrec_format_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_words_begin(error);
    csrec_status status = row->signal(input, signal, error);
    if (status) return csrec_words_end(status, input->name, "as it is read", error);
    status = check_delivered(input, signal, "signal", true, error);
    if (status) csrec_image_clear(signal);
    return status;
}

csrec_status csrec_format_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                               csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    csrec_words_begin(error);
    csrec_status status = row->peek(input, signal, transparent, error);
    return status ? csrec_words_end(status, input->name, "as it is read", error)
                  : check_delivered(input, signal, "peek", false, error);
}

static csrec_status read_format(csrec_input *input, csrec_image *signal, csrec_error *error) {
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->signal) return csrec_format_signal(input, signal, error);
    return csrec_format_unknown(input, CSREC_USE_READ, "convert it to one of these", error);
}

csrec_status csrec_signal_read(const char *path, csrec_image *signal, csrec_error *error) {
    csrec_input input;
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_status status = read_format(&input, signal, error);
    csrec_input_close(&input);
    return status;
}

static csrec_status look(const char *path, csrec_image *signal, csrec_facts *facts,
                         csrec_error *error) {
    csrec_input input;
    bool transparent;
    csrec_status status = csrec_input_open(path, &input, error);
    if (status) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    input.slab.count = 1;
    if (row && row->format.uses & CSREC_USE_SLABS)
        status = csrec_format_peek(&input, signal, &transparent, error);
    else
        status = csrec_format_no_slabs(&input, error);
    if (facts) *facts = input.facts;
    csrec_input_close(&input);
    return status;
}

csrec_status csrec_signal_look(const char *path, csrec_image *signal, csrec_error *error) {
    return look(path, signal, NULL, error);
}

csrec_status csrec_image_split(const csrec_image *image, bool channels_last, const char *name,
                               csrec_shape *shape, int64_t *channels, csrec_error *error) {
    bool last = image->bits > 0 || image->has_channels || channels_last;
    *shape = image->pixels.shape;
    *channels = 1;
    if (image->is_complex) shape->dims--;
    if (shape->dims == 0 || image->pixels.count == 0)
        return csrec_fail(error, CSREC_DATA,
                          "%s: a scalar or empty array is no signal; save 1 to 4 axes", name);
    if (last && shape->dims < 2)
        return csrec_fail(
            error, CSREC_DATA,
            "%s: a 1-D array has no axis for channels beside; its entries are the signal", name);
    if (last) *channels = shape->dim[--shape->dims];
    if (image->is_complex) *channels *= 2;
    return CSREC_OK;
}

int csrec_image_time(const csrec_image *image, const csrec_read_options *options,
                     const csrec_shape *shape) {
    const bool taken = shape->dims == 3 && image->time <= 3 && !image->is_complex;
    return taken && !options->volume && !options->labels ? image->time : 0;
}

struct csrec_slab_file {
    csrec_read_options options;
    csrec_slab_source source; /* of samples with positions; else: */
    char path[];
};

/* A picture or an array, and its mask. */
static csrec_status look_at_signal(const char *path, const csrec_read_options *options,
                                   csrec_measurement *form, csrec_error *error) {
    csrec_image seen, mask;
    csrec_status status = look(path, &seen, options->facts, error);
    const csrec_shape *shape = &seen.pixels.shape;
    if (!status && options->channels_first && !seen.bits && !seen.has_channels && shape->dims > 1) {
        form->channels = shape->dim[0]; /* the size of it is told */
        form->shape.dims = shape->dims - 1;
        memcpy(form->shape.dim, shape->dim + 1, (size_t)form->shape.dims * sizeof *shape->dim);
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: its channels are first, so it is read as a whole; with channels "
                          "last (numpy.moveaxis) it is recovered in slabs",
                          path);
    }
    if (!status) status = csrec_image_arrange(&seen, options, path, NULL, error);
    if (!status)
        status = csrec_image_split(&seen, options->channels_last, path, &form->shape,
                                   &form->channels, error);
    if (status) return status;
    if (seen.is_complex)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: complex values are read as a whole", path);
    form->dtype = seen.pixels.dtype;
    if (options->facts) options->facts->time = csrec_image_time(&seen, options, &form->shape);
    if (seen.bits) form->scale[1] = (double)((1 << seen.bits) - 1);
    if (!options->mask) return CSREC_OK;
    if (!csrec_path_is_regular(options->mask))
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", options->mask);
    return csrec_signal_look(options->mask, &mask, error);
}

static csrec_status open_file(csrec_slab_file *file, csrec_measurement *form, csrec_error *error) {
    csrec_input input;
    if (file->options.labels)
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: label maps are read as a whole",
                          file->path);
    csrec_status status = csrec_input_open(file->path, &input, error);
    if (status) return status;
    const csrec_format_row *row = csrec_input_format(&input);
    if (row && row->open_slabs)
        status = row->open_slabs(&input, &file->options, form, &file->source, error);
    csrec_input_close(&input);
    if (row && row->open_slabs) return status;
    return look_at_signal(file->path, &file->options, form, error);
}

csrec_status csrec_slab_file_open(const char *path, const csrec_read_options *options,
                                  csrec_measurement *form, csrec_slab_file **file,
                                  csrec_error *error) {
    const size_t length = strlen(path) + 1;
    *form = (csrec_measurement){0};
    if (!csrec_path_is_regular(path))
        return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is no regular file", path);
    csrec_slab_file *made = calloc(1, sizeof *made + length);
    if (!made) return csrec_memory_fail(error, path);
    memcpy(made->path, path, length);
    if (options) made->options = *options;
    made->options.slab = (csrec_slab){0, 0};
    csrec_status status = open_file(made, form, error);
    made->options.facts = NULL; /* said once */
    return CSREC_SETTLE(status, free(made), *file = made);
}

csrec_status csrec_slab_file_read(void *context, csrec_slab slab, csrec_measurement *part,
                                  csrec_error *error) {
    const csrec_slab_file *file = context;
    csrec_read_options options = file->options;
    if (slab.count < 1)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: a slab of %lld entries", file->path,
                          (long long)slab.count);
    if (file->source.read) return file->source.read(file->source.state, slab, part, error);
    options.slab = slab;
    return csrec_measurement_read_with(file->path, &options, part, error);
}

void csrec_slab_file_close(csrec_slab_file *file) {
    if (!file) return;
    if (file->source.close) file->source.close(file->source.state);
    free(file);
}

enum { HEAD = 8 }; /* length and type */

uint32_t csrec_about_number(const uint8_t *bytes, int n) {
    uint32_t number = 0;
    for (int i = 0; i < n; i++) number = number << 8 | bytes[i];
    return number;
}

void csrec_about_put(uint8_t *bytes, uint32_t number) {
    for (int i = 0; i < 4; i++) bytes[i] = (uint8_t)(number >> (24 - 8 * i));
}

uint8_t *csrec_about_add(csrec_about *about, const char *type, size_t size) {
    const size_t end = about->size + HEAD + size;
    if (size > INT32_MAX) return NULL;
    if (end > about->room) {
        uint8_t *grown = realloc(about->bytes, 2 * end);
        if (!grown) return NULL;
        about->bytes = grown;
        about->room = 2 * end;
    }
    uint8_t *head = about->bytes + about->size;
    csrec_about_put(head, (uint32_t)size);
    memcpy(head + 4, type, 4);
    about->size = end;
    return head + HEAD;
}

bool csrec_about_next(const csrec_about *about, size_t *at, csrec_chunk *chunk) {
    while (*at < about->size) {
        const uint8_t *head = about->bytes + *at;
        *chunk = (csrec_chunk){(const char *)head + 4, head + HEAD, csrec_about_number(head, 4)};
        *at += HEAD + chunk->size;
        const char type[5] = {(char)head[4], (char)head[5], (char)head[6], (char)head[7], 0};
        if (about->colours || !strstr("cHRM gAMA iCCP sRGB cICP mDCV cLLI", type)) return true;
    }
    return false;
}

bool csrec_about_is_fingerprint(const uint8_t *text, size_t size) {
    const size_t mark = sizeof CSREC_FINGERPRINT - 1;
    for (size_t i = 0; i + mark <= size; i++)
        if (memcmp(text + i, CSREC_FINGERPRINT, mark) == 0) return true;
    return false;
}

csrec_status csrec_about_read(const char *like, const csrec_image *image, csrec_about *about,
                              csrec_error *error) {
    csrec_input input;
    const csrec_shape *shape = &image->pixels.shape;
    *about = (csrec_about){0};
    if (!like || !csrec_path_is_regular(like)) return CSREC_OK;
    CSREC_TRY(csrec_input_open(like, &input, error));
    const csrec_format_row *row = csrec_input_format(&input);
    csrec_status status = row && row->about ? row->about(&input, about, error) : CSREC_OK;
    csrec_input_close(&input);
    if (about->extent[0] != shape->dim[0] || about->extent[1] != shape->dim[1]) about->size = 0;
    about->colours = image->colors || about->extent[2] == (shape->dims == 3 ? shape->dim[2] : 1);
    return status == CSREC_MEMORY || status == CSREC_FILE ? status : CSREC_OK;
}

/* A palette of few colours is often one of classes, of many that of a picture. */
void csrec_about_labels(csrec_input *input, const csrec_measurement *m) {
    enum { FEW = 32 };
    double seen[FEW + 1];
    int n = 0;
    csrec_error *remark = &input->facts.remark;
    const bool colours = input->facts.palette.n > 0 && m->channels == 3;
    for (int64_t i = 0; i < m->n && n <= FEW && colours; i++) {
        const double colour = (m->y[3 * i] * 256 + m->y[3 * i + 1]) * 256 + m->y[3 * i + 2];
        int at = n;
        while (at > 0 && seen[at - 1] != colour) at--;
        if (at == 0) seen[n++] = colour;
    }
    if (input->labels) return;
    if (input->facts.flags || (colours && n <= FEW))
        csrec_fail(remark, CSREC_OK,
                   "%s tells of classes, which are averaged as quantities; labels keeps to them.",
                   colours ? "Its palette of few colours" : "Its attribute flag_values");
}
