/* SPDX-License-Identifier: BSD-3-Clause */
/* bart.c - arrays of BART: complex64 in NAME.cfl, the first axis fastest, and the extents of 16
 * axes in NAME.hdr. The first three are x, y and z, the fourth is coils, the fifth sets of maps.
 * What is measured is k-space, centred and unitary as of `bart fft -u`, with 0 where nothing is; or
 * [1][points][points] with a trajectory [3][points][points], as of `bart nufft`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "files/format.h"
#include "files/kspace.h"

#define MAGIC "# Dimensions"

enum { AXES = 16, COILS = 3, SLICES = 13, HEAD = 1 << 16 };

typedef struct header {
    int64_t dim[AXES];
    int64_t count;
} header;

static bool is_cfl(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcasecmp(path + length - 4, ".cfl") == 0;
}

/* NAME.hdr of NAME.cfl; NULL: out of memory, or no such name. */
static char *name_of(const char *path, const char *ending) {
    const size_t length = strlen(path);
    char *name = length >= 4 ? strdup(path) : NULL;
    if (name) memcpy(name + length - 4, ending, 4);
    return name;
}

static csrec_status damaged(const char *name, const char *what, csrec_error *error) {
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: %s; write it as \"" MAGIC "\" and a line of up to 16 extents", name,
                      what);
}

/* Extents after the line # Dimensions, up to the end of theirs. */
static csrec_status parse(const char *text, const char *name, header *h, csrec_error *error) {
    const char *at = strstr(text, MAGIC "\n");
    if (!at) return damaged(name, "has no line \"" MAGIC "\"", error);
    at += sizeof MAGIC;
    h->count = 1;
    for (int a = 0; a < AXES; a++) {
        char *end;
        at += strspn(at, " \t\r");
        h->dim[a] = *at == '\n' || !*at ? 1 : strtoll(at, &end, 10);
        if (*at == '\n' || !*at) continue;
        if (end == at || h->dim[a] < 1 || __builtin_mul_overflow(h->count, h->dim[a], &h->count) ||
            h->count > INT64_C(1) << 56)
            return damaged(name, "an extent is no number from 1, or all are too many", error);
        at = end;
    }
    at += strspn(at, " \t\r1");
    return *at && *at != '\n' ? damaged(name, "has more than 16 extents", error) : CSREC_OK;
}

static csrec_status read_header(const char *path, header *h, csrec_error *error) {
    csrec_error why;
    csrec_input input;
    char *name = name_of(path, ".hdr"), *text = calloc(1, HEAD + 1);
    csrec_status status = name && text ? csrec_input_open(name, &input, &why) : CSREC_MEMORY;
    if (status)
        csrec_fail(error, status, "%s: its extents are missing (%s); copy both files of BART", path,
                   status == CSREC_MEMORY ? "out of memory" : why.text);
    if (!status) {
        csrec_input_peek(&input, 0, (uint8_t *)text, HEAD);
        csrec_input_close(&input);
        status = parse(text, name, h, error);
    }
    free(name);
    free(text);
    return status;
}

/* The header of a .cfl that has as many bytes as it says. */
static csrec_status begin(csrec_input *input, header *h, csrec_error *error) {
    if (!is_cfl(input->name) || !input->file)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is no .cfl; name it, of the two files of an array of BART",
                          input->name);
    CSREC_TRY(read_header(input->name, h, error));
    if ((uint64_t)h->count * 8 != input->size)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: has %llu bytes, and %lld numbers of complex64 in its .hdr are %lld; "
                          "copy both files again",
                          input->name, (unsigned long long)input->size, (long long)h->count,
                          (long long)h->count * 8);
    return CSREC_OK;
}

/* All numbers, [count][2], or those of a slice of so many. */
static csrec_status read_part(csrec_input *input, int64_t slices, int64_t slice, float **values,
                              csrec_error *error) {
    csrec_reader reader = csrec_input_reader(input);
    const uint64_t bytes = input->size / (uint64_t)slices;
    CSREC_TRY(csrec_memory_check(bytes, 2, input->name, error));
    CSREC_TRY(csrec_reader_skip(&reader, (uint64_t)slice * bytes, input->name, error));
    *values = malloc((size_t)bytes);
    if (!*values) return csrec_memory_fail(error, input->name);
    csrec_status status = csrec_reader_take(&reader, *values, bytes, input->name, error);
    if (status) free(*values);
    return status;
}

static csrec_status read_values(csrec_input *input, header *h, float **values, csrec_error *error) {
    csrec_status status = begin(input, h, error);
    return status ? status : read_part(input, 1, 0, values, error);
}

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    header h;
    float *values = NULL;
    *signal = (csrec_image){.is_complex = true, .pixels = {.dtype = CSREC_F32}};
    CSREC_TRY(read_values(input, &h, &values, error));
    csrec_shape *shape = &signal->pixels.shape;
    for (int a = AXES; a-- > 0;) {
        if (h.dim[a] == 1 && (a > 0 || shape->dims > 0)) continue;
        if (shape->dims == CSREC_DIMS_MAX - 1) {
            free(values);
            return csrec_fail(error, CSREC_UNSUPPORTED, "%s: has more than 7 axes; bart slice",
                              input->name);
        }
        shape->dim[shape->dims++] = h.dim[a];
    }
    shape->dim[shape->dims++] = 2;
    signal->pixels.count = 2 * h.count;
    signal->pixels.data = values;
    return CSREC_OK;
}

/* An array of another file. */
static csrec_status read_other(const char *path, header *h, float **values, csrec_error *error) {
    csrec_input input;
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_status status = read_values(&input, h, values, error);
    csrec_input_close(&input);
    return status;
}

/* A pattern of BART counts along axes on which it has extent 1; with coils where any has it. */
static csrec_status read_pattern(const char *path, const header *h, int64_t entries, uint8_t *known,
                                 csrec_error *error) {
    header p;
    float *values = NULL;
    csrec_status status = read_other(path, &p, &values, error);
    if (status) return status;
    for (int a = 0; a < AXES && !status; a++)
        if (p.dim[a] != 1 && p.dim[a] != h->dim[a])
            status = csrec_fail(error, CSREC_DATA,
                                "%s: has extent %lld on axis %d, and k-space %lld; give a pattern "
                                "of the same extents, or 1",
                                path, (long long)p.dim[a], a, (long long)h->dim[a]);
    for (int64_t i = 0; i < entries * p.dim[COILS] && !status; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int a = 0; a <= COILS; a++) {
            const int64_t n = a < COILS ? h->dim[a] : p.dim[COILS];
            if (p.dim[a] > 1) at += rest % n * step;
            step *= p.dim[a];
            rest /= n;
        }
        known[i % entries] |= values[2 * at] != 0.0f || values[2 * at + 1] != 0.0f;
    }
    free(values);
    return status;
}

static csrec_status read_known(const char *path, const header *h, const csrec_shape *shape,
                               uint8_t **known, csrec_error *error) {
    int64_t entries;
    bool by_channel;
    csrec_shape_count(shape, &entries);
    if (!path) return CSREC_OK;
    if (!is_cfl(path)) return csrec_mask_read(path, false, shape, 1, known, &by_channel, error);
    *known = calloc((size_t)entries, 1);
    if (!*known) return csrec_memory_fail(error, path);
    return read_pattern(path, h, entries, *known, error);
}

/* The real parts k [points][3] of a trajectory, in place; the extents are those that it reaches, as
 * bart pics takes them. */
static csrec_status look_at(const char *path, const header *t, const header *h, float *k,
                            csrec_shape *shape, csrec_error *error) {
    const int64_t points = t->dim[1] * t->dim[2];
    if (t->dim[0] != 3 || t->count != 3 * points || h->dim[0] != 1 || h->dim[1] != t->dim[1] ||
        h->dim[2] != t->dim[2])
        return csrec_fail(
            error, CSREC_DATA,
            "%s: has extents %lld x %lld x %lld, and k-space %lld x %lld x %lld; give "
            "3 x N x M for 1 x N x M, and nothing along other axes",
            path, (long long)t->dim[0], (long long)t->dim[1], (long long)t->dim[2],
            (long long)h->dim[0], (long long)h->dim[1], (long long)h->dim[2]);
    float most[3] = {0.0f, 0.0f, 0.0f};
    for (int64_t i = 0; i < t->count; i++) {
        k[i] = k[2 * i];
        if (!(fabsf(k[i]) < 32768.0f))
            return csrec_fail(error, CSREC_DATA,
                              "%s: point %lld has %g along axis %d; give cycles per field of view",
                              path, (long long)(i / 3), (double)k[i], (int)(i % 3));
        most[i % 3] = fmaxf(most[i % 3], fabsf(k[i]));
    }
    if (most[0] + most[1] + most[2] == 0.0f)
        return csrec_fail(error, CSREC_DATA, "%s: is 0 everywhere; give cycles per field of view",
                          path);
    *shape = (csrec_shape){3, {1, 1, 1}};
    for (int a = 0; a < 3; a++)
        if (most[a] > 0.0f) shape->dim[2 - a] = 2 * (int64_t)floorf(most[a] + 0.75f);
    for (int a = 0; a < 3; a++)
        if (shape->dim[a] < 1) shape->dim[a] = 2;
    return CSREC_OK;
}

/* The shape of the measurement, and with a trajectory its points. */
static csrec_status place_samples(csrec_input *input, const csrec_read_options *options,
                                  const header *h, csrec_measurement *m, csrec_error *error) {
    csrec_shape shape = {3, {h->dim[2], h->dim[1], h->dim[0]}};
    const char *path = options->trajectory;
    if (!path && h->dim[0] == 1 && h->dim[1] > 1 && h->dim[2] > 1)
        csrec_input_note(input, "1 x %lld x %lld is taken as y and z; of points give a trajectory",
                         (long long)h->dim[1], (long long)h->dim[2]);
    if (!path) return csrec_kspace_begin(input, shape, h->dim[COILS], m, error);
    if (options->mask)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: is read with a trajectory; leave the mask out", input->name);
    header t;
    float *k = NULL;
    csrec_status status = read_other(path, &t, &k, error);
    if (!status) status = look_at(path, &t, h, k, &shape, error);
    if (!status) status = csrec_kspace_begin(input, shape, h->dim[COILS], m, error);
    if (!status) status = csrec_kspace_follow(input, shape, k, t.count / 3, 3, m, error);
    input->followed = true;
    free(k);
    return status;
}

/* The slice that the options choose along the axis behind the coils that has several entries. */
static csrec_status read_slice(csrec_input *input, const csrec_read_options *options, header *h,
                               float **values, csrec_error *error) {
    int64_t slices = 1, slice = 0;
    csrec_status status = begin(input, h, error);
    for (int a = COILS + 1; a < AXES && !status; a++) {
        if (h->dim[a] > 1 && slices > 1)
            status = csrec_fail(error, CSREC_UNSUPPORTED,
                                "%s: axis %d of its .hdr has %lld entries, and another several, "
                                "too; take one by bart slice %d 0 IN OUT",
                                input->name, a, (long long)h->dim[a], a);
        if (h->dim[a] > 1) slices = h->dim[a];
        h->dim[a] = 1;
    }
    if (!status && slices > 1) status = csrec_kspace_choose(input, options, slices, &slice, error);
    h->count /= slices;
    return status ? status : read_part(input, slices, slice, values, error);
}

static csrec_status read_measurement(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *measurement, csrec_error *error) {
    header h;
    float *values = NULL;
    uint8_t *known = NULL;
    csrec_measurement m = {0};
    csrec_status status = csrec_kspace_options(input, options, error);
    if (!status) status = read_slice(input, options, &h, &values, error);
    if (status) return status;
    if (!status) status = place_samples(input, options, &h, &m, error);
    if (!status) status = read_known(options->mask, &h, &m.shape, &known, error);
    if (!status) status = csrec_kspace_take(input, values, known, &m, error);
    free(values);
    free(known);
    return csrec_measurement_deliver(status, &m, measurement);
}

/* The extents of x, y and z: those of `like` where it has them, as of slices along x. The first
 * axis of a stack is where `like` has as many entries after the coils, or BART's of slices. */
static void place(const csrec_shape *shape, bool stack, const char *like, int64_t dim[AXES]) {
    header h;
    csrec_error ignored;
    int a = shape->dims, slice = SLICES;
    bool same = like && is_cfl(like) && !read_header(like, &h, &ignored);
    for (int k = COILS + 1; k < AXES && same; k++)
        if (h.dim[k] > 1 && h.dim[k] == shape->dim[0]) slice = k;
    for (int k = 0; k < 3 && same; k++)
        if (h.dim[k] > 1) same = a > stack && h.dim[k] == shape->dim[--a];
    for (int k = 0; k < AXES; k++)
        dim[k] = k < shape->dims - stack ? shape->dim[shape->dims - 1 - k] : 1;
    for (int k = 0; k < 3 && same && a == stack; k++) dim[k] = h.dim[k];
    if (stack) dim[slice] = shape->dim[0];
}

static csrec_status write_header(csrec_files *files, const char *path, const int64_t dim[AXES],
                                 csrec_error *error) {
    csrec_output output;
    char text[AXES * 24] = MAGIC "\n";
    char *name = name_of(path, ".hdr");
    for (int a = 0; a < AXES; a++)
        snprintf(text + strlen(text), 24, "%lld%s", (long long)dim[a], a + 1 < AXES ? " " : "\n");
    csrec_status status = name ? csrec_output_open(files, name, CSREC_OUTPUT_STREAM, &output, error)
                               : csrec_memory_fail(error, path);
    if (!status) {
        status = csrec_output_write(&output, text, strlen(text), error);
        if (!status) status = csrec_output_append_fingerprint(&output, error);
        status = csrec_output_close(&output, status, error);
    }
    free(name);
    return status;
}

/* Channels, which are fastest, become the axis of coils, of each of a stack. */
static csrec_status write_values(csrec_output *output, const csrec_image *signal, int64_t channels,
                                 csrec_error *error) {
    const int64_t each = signal->is_complex ? 2 : 1, entries = signal->pixels.count / each;
    const int64_t one = entries / (signal->stack ? signal->pixels.shape.dim[0] : 1);
    float piece[1024];
    int used = 0;
    for (int64_t i = 0; i < entries; i++) {
        const int64_t k = i % one, plane = one / channels;
        const int64_t from = i - k + k % plane * channels + k / plane;
        piece[used++] = (float)csrec_array_value(&signal->pixels, from * each);
        piece[used++] =
            each == 2 ? (float)csrec_array_value(&signal->pixels, from * each + 1) : 0.0f;
        if (used < 1024 && i + 1 < entries) continue;
        CSREC_TRY(csrec_output_write(output, piece, (uint64_t)used * sizeof *piece, error));
        used = 0;
    }
    return CSREC_OK;
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    return shape->dims <= 3 || (channels == 1 && shape->dims <= AXES)
               ? NULL
               : "a .cfl of BART has channels after 1 to 3 axes; write .npy";
}

static csrec_status write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                 const char *like, csrec_error *error) {
    csrec_output output;
    csrec_shape shape;
    int64_t channels, dim[AXES];
    csrec_image real = *signal;
    if (!is_cfl(path))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: a .cfl is two files; write to a name that ends in .cfl", path);
    if (real.is_complex) real.pixels.shape.dims--;
    real.is_complex = false;
    CSREC_TRY(csrec_image_split(&real, real.has_channels, path, &shape, &channels, error));
    if (!signal->pixels.data)
        CSREC_TRY(
            csrec_fail(error, CSREC_ARGUMENT, "%s: the array to write is not a valid one", path));
    place(&shape, signal->stack, like, dim);
    if (channels > 1) dim[COILS] = channels;
    CSREC_TRY(csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error));
    csrec_status status = write_values(&output, signal, channels, error);
    status = csrec_output_close(&output, status, error);
    return status ? status : write_header(files, path, dim, error);
}

const csrec_format_row csrec_bart_format = {
    .format = {"bart", ".cfl", "BART", "an array of BART",
               CSREC_USE_READ | CSREC_USE_SAMPLES | CSREC_USE_NAMED, NULL},
    .magic = {{MAGIC, sizeof MAGIC - 1}},
    .is_complex = true,
    .signal = read_signal,
    .measurement = read_measurement,
    .refusal = refusal,
    .write = write_signal,
};
