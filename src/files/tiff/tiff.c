/* SPDX-License-Identifier: BSD-3-Clause */
/* tiff.c - libtiff over an input or an output; the pages of a file; the row of the format. */
#include "files/tiff/tiff.h"

#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "files/format.h"

static int on_error(TIFF *file, void *context, const char *module, const char *format,
                    va_list words) {
    csrec_tiff *tiff = context;
    (void)file, (void)module;
    if (!tiff->text[0]) vsnprintf(tiff->text, sizeof tiff->text, format, words);
    return 1;
}

static int on_warning(TIFF *file, void *context, const char *module, const char *format,
                      va_list words) { /* the library never prints */
    (void)file, (void)context, (void)module, (void)format, (void)words;
    return 1;
}

static FILE *stream_of(const csrec_tiff *tiff) {
    return tiff->output ? tiff->output : tiff->input->file;
}

static tmsize_t on_read(thandle_t handle, void *buffer, tmsize_t bytes) {
    csrec_tiff *tiff = (csrec_tiff *)handle;
    FILE *file = stream_of(tiff);
    if (file) return (tmsize_t)fread(buffer, 1, (size_t)bytes, file);
    uint64_t size = tiff->input->size, left = tiff->at < size ? size - tiff->at : 0;
    size_t take = (uint64_t)bytes < left ? (size_t)bytes : (size_t)left;
    memcpy(buffer, tiff->input->bytes + (take ? tiff->at : 0), take);
    tiff->at += take;
    return (tmsize_t)take;
}

static tmsize_t on_write(thandle_t handle, void *buffer, tmsize_t bytes) {
    csrec_tiff *tiff = (csrec_tiff *)handle;
    return tiff->output ? (tmsize_t)fwrite(buffer, 1, (size_t)bytes, tiff->output) : -1;
}

static toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
    csrec_tiff *tiff = (csrec_tiff *)handle;
    FILE *file = stream_of(tiff);
    if (file) return fseeko(file, (off_t)offset, whence) ? (toff_t)-1 : (toff_t)ftello(file);
    uint64_t from = whence == SEEK_CUR ? tiff->at : whence == SEEK_END ? tiff->input->size : 0;
    return tiff->at = from + offset;
}

static int on_close(thandle_t handle) { /* the input or the output is its owner's */
    (void)handle;
    return 0;
}

static toff_t on_size(thandle_t handle) {
    csrec_tiff *tiff = (csrec_tiff *)handle;
    if (!tiff->output) return tiff->input->size;
    off_t at = ftello(tiff->output), end = -1;
    if (fseeko(tiff->output, 0, SEEK_END) == 0) end = ftello(tiff->output);
    return fseeko(tiff->output, at, SEEK_SET) || end < 0 ? 0 : (toff_t)end;
}

static csrec_status open_with(csrec_tiff *tiff, const char *mode, csrec_error *error) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return csrec_memory_fail(error, tiff->name);
    uint64_t most = csrec_memory_available() / 2;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, most < (uint64_t)INT64_MAX ? (tmsize_t)most
                                                                            : (tmsize_t)INT64_MAX);
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, tiff);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, tiff);
    tiff->file = TIFFClientOpenExt("file", mode, (thandle_t)tiff, on_read, on_write, on_seek,
                                   on_close, on_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff->file ? CSREC_OK : csrec_tiff_damaged(tiff, error);
}

csrec_status csrec_tiff_open(csrec_input *input, csrec_tiff *tiff, csrec_error *error) {
    *tiff = (csrec_tiff){.name = input->name, .input = input};
    if (input->file) rewind(input->file);
    return open_with(tiff, "rm", error);
}

csrec_status csrec_tiff_create(FILE *output, const char *name, bool big, csrec_tiff *tiff,
                               csrec_error *error) {
    *tiff = (csrec_tiff){.name = name, .output = output};
    return open_with(tiff, big ? "w8" : "w", error);
}

void csrec_tiff_close(csrec_tiff *tiff) {
    if (tiff->file) TIFFClose(tiff->file);
    tiff->file = NULL;
}

csrec_status csrec_tiff_damaged(csrec_tiff *tiff, csrec_error *error) {
    if (tiff->output) return csrec_output_failed(tiff->name, error);
    return csrec_fail(error, CSREC_FORMAT, "%s: damaged TIFF (%s); write or copy the file again",
                      tiff->name, tiff->text[0] ? tiff->text : "no page");
}

static uint32_t kind_of(const csrec_tiff *tiff) {
    uint32_t kind = 0;
    TIFFGetFieldDefaulted(tiff->file, TIFFTAG_SUBFILETYPE, &kind);
    return kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
}

bool csrec_tiff_is_picture(const csrec_tiff *tiff) {
    return kind_of(tiff) == 0;
}

bool csrec_tiff_is_mask(const csrec_tiff *tiff) {
    return kind_of(tiff) == FILETYPE_MASK;
}

bool csrec_tiff_next(csrec_tiff *tiff) {
    while (TIFFReadDirectory(tiff->file)) {
        if (csrec_tiff_is_picture(tiff)) return true;
        tiff->masked = tiff->masked || csrec_tiff_is_mask(tiff);
        tiff->reduced = tiff->reduced || !csrec_tiff_is_mask(tiff);
    }
    return false;
}

bool csrec_tiff_first(csrec_tiff *tiff) {
    if (!TIFFSetDirectory(tiff->file, 0)) return false;
    return csrec_tiff_is_picture(tiff) || csrec_tiff_next(tiff);
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    bool fits = (shape->dims == 2 || shape->dims == 3) && channels <= UINT16_MAX;
    for (int a = 0; a < shape->dims && fits; a++) fits = shape->dim[a] <= INT32_MAX;
    return fits ? NULL : "a TIFF holds pictures and volumes, of at most 65535 channels; write .npy";
}

const csrec_format_row csrec_tiff_format = {
    .format = {"tiff", ".tif .tiff", "TIFF", "a TIFF picture or volume",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TYPES |
                   CSREC_USE_SLABS | CSREC_USE_NODATA | CSREC_USE_CHANNELS,
               CSREC_TIFF_NEEDS},
    .magic = {{"II*\0", 4}, {"MM\0*", 4}, {"II+\0", 4}, {"MM\0+", 4}},
    .signal = csrec_tiff_signal,
    .peek = csrec_tiff_peek,
    .refusal = refusal,
    .write = csrec_tiff_write,
    .write_slabs = csrec_tiff_write_slabs,
};
