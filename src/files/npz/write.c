/* SPDX-License-Identifier: BSD-3-Clause */
/* write.c - a zip archive of .npy members, written through csrec_output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/npz/npz.h"

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

static zip_int64_t sink_flush(zip_sink *sink) {
    errno = 0;
    return fflush(sink->output->file) == 0 ? 0 : refuse(sink, ZIP_ER_WRITE, errno);
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
        return sink_flush(sink);
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
    if (!*line) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", output->name);
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
    csrec_status status = check_count(path, count, error);
    if (status) return status;
    memcpy(all, fields, (size_t)count * sizeof *fields);
    status = csrec_output_open(files, path, CSREC_OUTPUT_SEEK, &output, error);
    if (status) return status;
    zip_error_init(&sink.error);
    status = add_fingerprint(&output, &all[count], descr, &count, &line, error);
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
