/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - a zip archive of .npy members, written through csrec_output; a measurement as .npz. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csrec/sampling.h"
#include "files/measurement.h"
#include "files/npz/npz.h"
#include "measurement/channels.h"
#include "measurement/through.h"

/* libzip's view of a csrec_output: it writes local headers, then seeks back to complete them. */
typedef struct {
    csrec_output *output;
    zip_error_t error;
    int reason; /* errno of the first failed write */
} zip_sink;

static zip_int64_t refuse(zip_sink *sink, int zip_code, int system_code) {
    if (!sink->reason) sink->reason = system_code;
    zip_error_set(&sink->error, zip_code, system_code);
    return -1;
}

static zip_int64_t sink_write(zip_sink *sink, const void *data, zip_uint64_t bytes) {
    errno = 0;
    if (fwrite(data, 1, (size_t)bytes, sink->output->file) != bytes)
        return refuse(sink, ZIP_ER_WRITE, errno ? errno : EIO);
    return (zip_int64_t)bytes;
}

static zip_int64_t sink_seek(zip_sink *sink, void *data, zip_uint64_t bytes) {
    zip_source_args_seek_t *arguments =
        ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, bytes, &sink->error);
    if (!arguments) return -1;
    errno = 0;
    if (fseeko(sink->output->file, (off_t)arguments->offset, arguments->whence) != 0)
        return refuse(sink, ZIP_ER_SEEK, errno);
    return 0;
}

static zip_int64_t sink_tell(zip_sink *sink) {
    errno = 0;
    off_t at = ftello(sink->output->file);
    return at >= 0 ? (zip_int64_t)at : refuse(sink, ZIP_ER_TELL, errno);
}

/* Presents an empty file to libzip, which takes it as a new archive. */
static zip_int64_t sink_stat(zip_stat_t *info, zip_uint64_t bytes) {
    if (bytes < sizeof *info) return -1;
    zip_stat_init(info);
    info->size = 0;
    info->valid = ZIP_STAT_SIZE;
    return sizeof *info;
}

static zip_int64_t sink_command(void *context, void *data, zip_uint64_t bytes,
                                zip_source_cmd_t command) {
    zip_sink *sink = context;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT:
        return sink_stat(data, bytes);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&sink->error, data, bytes);
    case ZIP_SOURCE_WRITE:
        return sink_write(sink, data, bytes);
    case ZIP_SOURCE_SEEK_WRITE:
        return sink_seek(sink, data, bytes);
    case ZIP_SOURCE_TELL_WRITE:
        return sink_tell(sink);
    case ZIP_SOURCE_COMMIT_WRITE:
        errno = 0;
        return fflush(sink->output->file) == 0 ? 0 : refuse(sink, ZIP_ER_WRITE, errno);
    case ZIP_SOURCE_OPEN:
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE: /* csrec_output_close removes the file */
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        return refuse(sink, ZIP_ER_OPNOTSUPP, 0); /* it is never read back */
    }
}

enum { STORED = 0, FASTEST = 1, USUAL = 6 };

/* Small members: the usual level. Large ones get the fastest, which keeps most of the gain on
 * positions; the digits of large float members hardly shrink (about 10 %) at any level, and are
 * stored. */
static zip_uint32_t level_for(const csrec_npz_field *field, bool stored) {
    if (stored || *field->descr == 'S') return STORED;  /* fingerprints stay readable as text */
    if (strcmp(field->descr, "f2") == 0) return STORED; /* weights: all digits are random */
    if (field->bytes < UINT64_C(1) << 24) return USUAL;
    return *field->descr == 'f' || *field->descr == 'c' ? STORED : FASTEST;
}

static bool add_field(zip_t *zip, const csrec_npz_field *field, char *header, bool stored) {
    char name[128];
    size_t head = csrec_npy_header_write(field->descr, &field->shape, header);
    zip_buffer_fragment_t parts[2] = {{(zip_uint8_t *)header, head},
                                      {(zip_uint8_t *)(uintptr_t)field->data, field->bytes}};
    zip_source_t *source = zip_source_buffer_fragment(zip, parts, 2, 0);
    if (!source) return false;
    snprintf(name, sizeof name, "%s.npy", field->name);
    zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return false;
    }
    /* A fixed time (the first of the format, 1980-01-01): equal data give equal files. */
    zip_uint32_t level = level_for(field, stored);
    return zip_set_file_compression(zip, (zip_uint64_t)index,
                                    level == STORED ? ZIP_CM_STORE : ZIP_CM_DEFLATE, level) == 0 &&
           zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 1 << 5 | 1, 0) == 0;
}

static csrec_status write_zip(zip_sink *sink, int count, const csrec_npz_field *fields, bool stored,
                              csrec_error *error) {
    char headers[CSREC_NPZ_FIELDS_MAX + 1][CSREC_NPY_HEADER_MAX];
    zip_error_t reason;
    zip_error_init(&reason);
    zip_source_t *source = zip_source_function_create(sink_command, sink, &reason);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &reason) : NULL;
    if (!zip && source) zip_source_free(source);
    bool good = zip != NULL;
    sink->reason = 0;
    for (int i = 0; good && i < count; i++) good = add_field(zip, &fields[i], headers[i], stored);
    if (good) {
        good = zip_close(zip) == 0;
        if (good) zip = NULL;
    }
    csrec_status status = CSREC_OK;
    if (!good) {
        errno = sink->reason;
        const char *text = zip_error_strerror(zip ? zip_get_error(zip) : &reason);
        status = sink->reason ? csrec_output_failed(sink->output->name, error)
                              : csrec_fail(error, CSREC_FILE, "%s: cannot be written (%s)",
                                           sink->output->name, text);
        if (zip) zip_discard(zip);
    }
    zip_error_fini(&reason);
    return status;
}

static csrec_status check_count(const char *path, int count, csrec_error *error) {
    if (count < 1 || count > CSREC_NPZ_FIELDS_MAX)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: %d arrays to write; 1 to %d are possible",
                          path, count, CSREC_NPZ_FIELDS_MAX);
    return CSREC_OK;
}

/* Adds the fingerprint, whose text goes to *line, if one is asked for. */
static csrec_status add_fingerprint(const csrec_output *output, csrec_npz_field *field,
                                    char descr[32], int *count, char **line, csrec_error *error) {
    const char *text = csrec_output_fingerprint(output);
    if (!text) return CSREC_OK;
    *line = csrec_fingerprint_line(text, 1);
    if (!*line) return csrec_memory_fail(error, output->name);
    snprintf(descr, 32, "S%zu", strlen(*line));
    *field = (csrec_npz_field){
        .name = "fingerprint", .descr = descr, .data = *line, .bytes = strlen(*line)};
    ++*count;
    return CSREC_OK;
}

csrec_status csrec_npz_add(csrec_files *files, const char *path, int count,
                           const csrec_npz_field *fields, bool stored, csrec_error *error) {
    csrec_output output;
    csrec_npz_field all[CSREC_NPZ_FIELDS_MAX + 1];
    char descr[32], *line = NULL;
    zip_sink sink = {.output = &output};
    CSREC_TRY(check_count(path, count, error));
    memcpy(all, fields, (size_t)count * sizeof *fields);
    CSREC_TRY(csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error));
    zip_error_init(&sink.error);
    csrec_status status = add_fingerprint(&output, &all[count], descr, &count, &line, error);
    if (!status) status = write_zip(&sink, count, all, stored, error);
    zip_error_fini(&sink.error);
    free(line);
    return csrec_output_close(&output, status, error);
}

csrec_status csrec_files_add_npz(csrec_files *files, const char *path, int count,
                                 const char *const *names, const csrec_array *const *arrays,
                                 csrec_error *error) {
    csrec_npz_field fields[CSREC_NPZ_FIELDS_MAX];
    csrec_status status = check_count(path, count, error);
    for (int i = 0; !status && i < count; i++) {
        const csrec_array *a = arrays[i];
        size_t bytes = csrec_dtype_size(a->dtype);
        if (bytes == 0 || a->shape.dims < 0 || a->shape.dims > CSREC_DIMS_MAX || !a->data ||
            strlen(names[i]) > 100)
            return csrec_fail(error, CSREC_ARGUMENT, "%s: array '%.100s' to write is not valid",
                              path, names[i]);
        fields[i] = (csrec_npz_field){.name = names[i],
                                      .descr = csrec_dtype_code(a->dtype),
                                      .shape = a->shape,
                                      .data = a->data,
                                      .bytes = (uint64_t)a->count * bytes};
    }
    return status == CSREC_OK ? csrec_npz_add(files, path, count, fields, false, error) : status;
}

csrec_status csrec_npz_write(const char *path, int count, const char *const *names,
                             const csrec_array *const *arrays, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_npz(files, path, count, names, arrays, error);
    return csrec_files_finish(files, status, error);
}

csrec_status csrec_npz_save(const char *path, int count, const csrec_npz_field *fields, bool stored,
                            csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_npz_add(files, path, count, fields, stored, error);
    return csrec_files_finish(files, status, error);
}

/* Returns the first value that the type cannot hold, or -1. Integers must be held exactly: rounding
 * silently would change samples. F32 rounds, as the type promises, but must stay finite. */
static int64_t convert(csrec_dtype dtype, const double *from, int64_t count, void *to) {
    csrec_array made = {.dtype = dtype, .count = count, .data = to};
    if (dtype == CSREC_F64) memcpy(to, from, (size_t)count * sizeof *from);
    for (int64_t i = 0; i < count && dtype != CSREC_F64; i++) {
        csrec_array_set(&made, i, from[i]);
        /* 2^128 - 2^103: from here on, rounding to nearest gives infinity. */
        if (dtype == CSREC_F32 ? fabs(from[i]) >= 0x1.ffffffp127
                               : csrec_array_value(&made, i) != from[i])
            return i; /* NaN: not measured, and never of an integer type */
    }
    return -1;
}

static csrec_status convert_y(const csrec_measurement *m, const char *path, void **y,
                              csrec_error *error) {
    int64_t count = csrec_measurement_values(m);
    size_t bytes = csrec_dtype_size(m->dtype);
    if (bytes == 0 || (m->is_complex && m->dtype != CSREC_F32 && m->dtype != CSREC_F64))
        return csrec_fail(error, CSREC_ARGUMENT, "%s: array 'y': dtype is not valid", path);
    *y = malloc((size_t)count * bytes);
    if (!*y) return csrec_memory_fail(error, path);
    int64_t fault = convert(m->dtype, m->y, count, *y);
    if (fault < 0) return CSREC_OK;
    return csrec_fail(error, CSREC_DATA,
                      "%s: array 'y': sample %lld is %.9g, which %s cannot hold; write it as %s",
                      path, (long long)(fault / (count / m->n)), m->y[fault],
                      csrec_dtype_code(m->dtype), m->dtype == CSREC_F32 ? "f8" : "f4");
}

/* Omitting the positions is safe only if the pattern gives exactly these. */
static csrec_status verify_pattern(const csrec_measurement *m, int64_t count, const char *path,
                                   csrec_error *error) {
    csrec_sampling sampling = {0};
    csrec_error reason = {""};
    csrec_status status =
        csrec_sampling_create(&m->shape, m->pattern, count, m->seed, &sampling, &reason);
    if (status) return csrec_fail(error, status, "%s: array 'pattern': %.300s", path, reason.text);
    if (sampling.n != m->n ||
        memcmp(sampling.index, m->index, (size_t)m->n * sizeof *m->index) != 0)
        status = csrec_fail(error, CSREC_DATA,
                            "%s: array 'pattern': does not give the measurement's positions; store "
                            "them instead",
                            path);
    csrec_sampling_clear(&sampling);
    return status;
}

typedef struct {
    csrec_npz_field field[8 + CSREC_THROUGH_FIELDS + CSREC_GUIDE_FIELDS];
    int count;
} field_list;

static void add(field_list *list, const char *name, const char *descr, csrec_shape shape,
                const void *data, uint64_t bytes) {
    list->field[list->count++] = (csrec_npz_field){name, descr, shape, data, bytes};
}

static csrec_status write_fields(csrec_files *files, const char *path, const csrec_measurement *m,
                                 const void *y, bool procedural, csrec_error *error) {
    field_list list = {.count = 0};
    csrec_shape scalar = {0}, pair = {1, {2}};
    char text_type[2][16];
    uint32_t letters[2][16] = {0};
    csrec_through_texts texts = {0};
    csrec_npz_names names;
    int64_t asked = m->count ? m->count : m->n;
    const bool coils = m->through && m->through->coils;
    csrec_shape y_shape = {coils || m->channels > 1 ? 2 : 1,
                           {m->n, m->channels * csrec_through_coils(m->through)}};
    add(&list, "y", m->is_complex ? csrec_complex_code(m->dtype) : csrec_dtype_code(m->dtype),
        y_shape, y, (uint64_t)csrec_measurement_values(m) * csrec_dtype_size(m->dtype));
    add(&list, "shape", "i8", (csrec_shape){1, {m->shape.dims}}, m->shape.dim,
        (uint64_t)m->shape.dims * 8);
    if (procedural) {
        const char *name = csrec_pattern_name(m->pattern);
        list.field[list.count++] = csrec_npz_text("pattern", name, letters[0], text_type[0]);
        add(&list, "seed", "u8", scalar, &m->seed, 8);
        add(&list, "count", "i8", scalar, &asked, 8);
    } else if (!m->through || csrec_through_find(m->through->name)->chosen) {
        add(&list, "index", "i8", (csrec_shape){1, {m->n}}, m->index, (uint64_t)m->n * 8);
    }
    if (m->is_complex && !m->through)
        list.field[list.count++] = csrec_npz_text("operator", "points", letters[1], text_type[1]);
    if (m->through) csrec_through_add(m, &texts, list.field, &list.count);
    if (m->rays) add(&list, "rays", "f8", (csrec_shape){1, {m->n}}, m->rays, (uint64_t)m->n * 8);
    if (m->deviation) /* what is not told is that of sigma */
        add(&list, "sigma", "f8", (csrec_shape){2, {m->n, m->channels}}, m->deviation,
            (uint64_t)(m->n * m->channels) * 8);
    else if (m->sigma > 0)
        add(&list, "sigma", "f8", scalar, &m->sigma, 8);
    if (m->scale[0] != m->scale[1]) add(&list, "scale", "f8", pair, m->scale, 16);
    if (m->guides && m->shape.dims == CSREC_DIMS_MAX)
        return csrec_fail(error, CSREC_ARGUMENT,
                          "%s: guides of a signal of %d axes have one more; leave them out", path,
                          CSREC_DIMS_MAX);
    csrec_npz_guides_add(m, &names, list.field, &list.count);
    return csrec_npz_add(files, path, list.count, list.field, false, error);
}

csrec_status csrec_files_add_measurement(csrec_files *files, const char *path,
                                         const csrec_measurement *measurement, bool procedural,
                                         csrec_error *error) {
    csrec_measurement m = *measurement;
    void *y = NULL;
    procedural = procedural && m.pattern != CSREC_PATTERN_NONE && !m.through;
    csrec_status status = csrec_measurement_check(&m, path, error);
    if (!status && procedural) status = verify_pattern(&m, m.count ? m.count : m.n, path, error);
    if (!status && m.dtype != CSREC_F64 && !csrec_measurement_even(&m)) /* with NaN */
        csrec_measurement_retype(csrec_dtype_fits_f32(m.dtype) ? CSREC_F32 : CSREC_F64, m.dtype,
                                 &m);
    if (!status) status = convert_y(&m, path, &y, error);
    if (!status) status = write_fields(files, path, &m, y, procedural, error);
    free(y);
    return status;
}

csrec_status csrec_measurement_write(const char *path, const csrec_measurement *measurement,
                                     bool procedural, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_status status = csrec_files_create(NULL, &files, error);
    if (!status) status = csrec_files_add_measurement(files, path, measurement, procedural, error);
    return csrec_files_finish(files, status, error);
}
