/* SPDX-License-Identifier: BSD-3-Clause */
/* format.c - the table of file formats; a row is found by content or by name; paths that name an
 * array within a file, FILE:/NAME or FILE:NAME. */
#include "files/format.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#ifndef CSREC_HAS_JPEG
const csrec_format_row csrec_jpeg_format = {
    .format = {"jpeg", ".jpg .jpeg", "JPEG", "a JPEG picture", 0, CSREC_JPEG_NEEDS},
    .magic = {{"\xff\xd8\xff", 3}},
};
#endif

#ifndef CSREC_HAS_TIFF
const csrec_format_row csrec_tiff_format = {
    .format = {"tiff", ".tif .tiff", "TIFF", "a TIFF", 0, CSREC_TIFF_NEEDS},
    .magic = {{"II*\0", 4}, {"MM\0*", 4}, {"II+\0", 4}, {"MM\0+", 4}},
};
#endif

#ifndef CSREC_HAS_FITS
const csrec_format_row csrec_fits_format = {
    .format = {"fits", ".fits .fit .fts", "FITS", "a FITS", 0, CSREC_FITS_NEEDS},
    .magic = {{CSREC_FITS_MAGIC, sizeof CSREC_FITS_MAGIC - 1}},
    .members = CSREC_USE_READ,
};
#endif

#ifndef CSREC_HAS_EXR
const csrec_format_row csrec_exr_format = {
    .format = {"exr", ".exr", "OpenEXR", "an OpenEXR picture", 0, CSREC_EXR_NEEDS},
    .magic = {{"\x76\x2f\x31\x01", 4}},
    .members = CSREC_USE_READ,
};
#endif

#ifndef CSREC_HAS_HDF5
const csrec_format_row csrec_hdf5_format = {
    .format = {"hdf5", CSREC_HDF5_ENDINGS, "HDF5", "an HDF5 file", 0, CSREC_HDF5_NEEDS},
    .magic = {{CSREC_HDF5_MAGIC, sizeof CSREC_HDF5_MAGIC - 1}},
    .members = CSREC_USE_READ | CSREC_USE_WRITE,
};
#endif

static const csrec_format_row *const rows[] = {
#define CSREC_FORMAT_LISTED(name) &csrec_##name##_format,
    CSREC_FORMATS(CSREC_FORMAT_LISTED)
#undef CSREC_FORMAT_LISTED
};

enum { ROWS = sizeof rows / sizeof *rows, HEAD = 256 };

const csrec_format *csrec_format_info(int i) {
    return i >= 0 && i < ROWS ? &rows[i]->format : NULL;
}

const csrec_format_row *csrec_format_row_of(const csrec_format *format) {
    for (int i = 0; i < ROWS; i++)
        if (&rows[i]->format == format) return rows[i];
    return NULL;
}

/* Whether the ending is in the list, which is separated by blanks. */
static bool is_among(const char *endings, const char *ending) {
    size_t length = strlen(ending);
    for (const char *at = endings; *at; at += strspn(at, " ")) {
        size_t each = strcspn(at, " ");
        if (each == length && strncasecmp(at, ending, length) == 0) return true;
        at += each;
    }
    return false;
}

static const csrec_format_row *named(const char *file) {
    const char *dot = strrchr(file, '.');
    for (int i = 0; dot && i < ROWS; i++)
        if (is_among(rows[i]->format.endings, dot)) return rows[i];
    return NULL;
}

/* Whether the first bytes of the path name a file that may have arrays, by its ending; or else, if
 * others do, by what exists. */
static bool is_file(const char *path, size_t length, bool others) {
    struct stat info;
    char file[CSREC_PATH_ROOM];
    if (length >= sizeof file) return false;
    memcpy(file, path, length);
    file[length] = '\0';
    const csrec_format_row *row = named(file);
    return (row && row->members) || (others && stat(file, &info) == 0 && !S_ISDIR(info.st_mode));
}

const char *csrec_path_member(const char *path) {
    struct stat info;
    const size_t length = strlen(path);
    const char *at = strchr(path, ':'), *open = strrchr(path, '[');
    if (open && path[length - 1] != ']') open = NULL;
    if ((!at && !open) || stat(path, &info) == 0) return NULL;
    if (open > path && is_file(path, (size_t)(open - path), true)) return open;
    for (; at; at = strchr(at + 1, ':'))
        if (at > path && at[1] && is_file(path, (size_t)(at - path), at[1] == '/')) return at + 1;
    return NULL;
}

const char *csrec_path_file(const char *path, char file[CSREC_PATH_ROOM]) {
    const char *member = csrec_path_member(path);
    if (!member) return path;
    size_t length = (size_t)(member - (*member != '[') - path); /* is_file: it fits */
    memcpy(file, path, length);
    file[length] = '\0';
    return file;
}

const csrec_format *csrec_format_of(const char *path) {
    char file[CSREC_PATH_ROOM];
    const csrec_format_row *row = named(csrec_path_file(path, file));
    return row && (row->members & CSREC_USE_WRITE || !csrec_path_member(path)) ? &row->format
                                                                               : NULL;
}

const char *csrec_format_list(int use, bool titles, const char *word, char *text, size_t room) {
    int left = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < ROWS; i++) left += (rows[i]->format.uses & use) != 0;
    for (int i = 0; i < ROWS; i++) {
        const csrec_format *f = &rows[i]->format;
        if (!(f->uses & use)) continue;
        char name[32];
        const bool cdf = !titles && strstr(f->endings, ".nc "); /* NetCDF-4 is HDF5 */
        const int length = (int)(titles ? strlen(f->title) : strcspn(f->endings, " "));
        snprintf(name, sizeof name, "%.*s%s", length, titles ? f->title : f->endings,
                 cdf ? ", .nc" : "");
        left--;
        snprintf(text + used, room - used, "%s%s%s%s", name,
                 left == 0   ? ""
                 : left == 1 ? " "
                             : ", ",
                 left == 1 ? word : "", left == 1 ? " " : "");
        used += strlen(text + used);
    }
    return text;
}

const char *csrec_format_refusal(const csrec_format *format, const csrec_shape *shape,
                                 int64_t channels) {
    const csrec_format_row *row = csrec_format_row_of(format);
    if (!row || !row->write) return "holds no signals";
    return row->refusal ? row->refusal(shape, channels) : NULL;
}

/* A picture may lack the axis of its one channel. */
static const char *refusal_of(const csrec_format_row *row, const csrec_image *signal) {
    csrec_image whole = *signal;
    csrec_shape shape;
    int64_t channels;
    if (whole.bits && whole.pixels.shape.dims == 2) whole.pixels.shape.dim[2] = 1;
    if (whole.bits && whole.pixels.shape.dims == 2) whole.pixels.shape.dims = 3;
    if (!row->refusal || csrec_image_split(&whole, false, "", &shape, &channels, NULL)) return NULL;
    return row->refusal(&shape, channels);
}

csrec_status csrec_files_add_signal(csrec_files *files, const char *path,
                                    const csrec_format *format, const csrec_image *signal,
                                    const char *like, csrec_error *error) {
    const csrec_format_row *row = csrec_format_row_of(format);
    /* Lines of coordinates and values have any number of them. */
    const bool lists = row == &csrec_csv_format && csrec_image_is_listed(signal);
    if (row && signal->is_complex && !row->is_complex && !lists)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: complex values are written as .npy or .cfl",
                          path);
    const char *reason = row && !lists ? refusal_of(row, signal) : NULL;
    if (reason) return csrec_fail(error, CSREC_ARGUMENT, "%s: %s", path, reason);
    if (!row || !row->write)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: not a format that signals are written in",
                          path);
    csrec_words_begin(error);
    csrec_status status = row->write(files, path, signal, like, error);
    return csrec_words_end(status, path, "as it is written", error);
}

csrec_status csrec_files_add_slabs(csrec_files *files, const char *path, const csrec_format *format,
                                   const csrec_image *signal, csrec_slab_fn take, void *context,
                                   const char *like, csrec_error *error) {
    const csrec_format_row *row = csrec_format_row_of(format);
    if (row && row->write_slabs)
        return row->write_slabs(files, path, signal, take, context, like, error);
    return csrec_fail(error, CSREC_UNSUPPORTED, "%s: its format is not written in slabs", path);
}

/* Whether each ending is ".x" and no other row's. */
static bool has_own_endings(const csrec_format_row *row) {
    const char *at = row->format.endings;
    if (!at || !*at) return false;
    for (char ending[16]; *at; at += strspn(at, " ")) {
        size_t each = strcspn(at, " ");
        if (at[0] != '.' || each < 2 || each >= sizeof ending || memchr(at + 1, '.', each - 1))
            return false;
        snprintf(ending, sizeof ending, "%.*s", (int)each, at);
        if (!csrec_is_own(named(ending), row)) return false;
        at += each;
    }
    return true;
}

static bool has_own_name(const csrec_format_row *row) {
    int i = 0;
    while (i < ROWS && rows[i] != row && strcmp(rows[i]->format.name, row->format.name) != 0) i++;
    return i == ROWS || rows[i] == row;
}

/* Up to a NULL, each with bytes that are compared. */
static bool has_magic(const csrec_format_row *row) {
    for (int k = 0; row->magic[k].bytes; k++)
        if (k == CSREC_MAGICS || row->magic[k].size < 1 || row->magic[k].size > HEAD) return false;
    return true;
}

csrec_status csrec_format_check_row(const csrec_format_row *row, csrec_error *error) {
    const csrec_format *f = &row->format;
    const bool reads = f->uses & CSREC_USE_READ, writes = f->uses & CSREC_USE_WRITE;
    const bool named = f->uses & CSREC_USE_NAMED;
    const bool slabs = f->uses & CSREC_USE_SLABS, samples = f->uses & CSREC_USE_SAMPLES;
    const csrec_rule rules[] = {
        {csrec_is_name(f->name) && has_own_name(row), "format.name", CSREC_MUST_NAME},
        {has_own_endings(row), "format.endings", "as \".x .y\", and no other row's"},
        {csrec_is_line(f->title), "format.title", CSREC_MUST_LINE},
        {csrec_is_line(f->what), "format.what", CSREC_MUST_LINE},
        {f->uses || csrec_is_line(f->needs), "format.uses", "a sum of CSREC_USE_..."},
        {has_magic(row), "magic", "1 to 256 bytes each, then NULL"},
        {!reads || row->signal, "signal", "set with CSREC_USE_READ"},
        {!samples || row->signal || row->measurement, "measurement",
         "set with CSREC_USE_SAMPLES, or signal"},
        {!(writes || named) || row->write, "write", "set with CSREC_USE_WRITE and CSREC_USE_NAMED"},
        {!slabs || (row->signal && row->peek), "peek", "set with CSREC_USE_SLABS, and signal"},
        {!(slabs && writes) || row->write_slabs, "write_slabs", "set with CSREC_USE_SLABS"},
        {writes || named || !(f->uses & CSREC_USE_PICTURE), "format.uses",
         "CSREC_USE_PICTURE with CSREC_USE_WRITE or CSREC_USE_NAMED only"}};
    return csrec_rules_check("format", f->name, CSREC_RULES(rules), error);
}

csrec_status csrec_format_no_slabs(const csrec_input *input, csrec_error *error) {
    char list[128];
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "%s: can only be read as a whole; save it as %s, with the first axis slowest",
                      input->name,
                      csrec_format_list(CSREC_USE_SLABS, true, "or", list, sizeof list));
}

csrec_status csrec_input_narrow(const csrec_input *input, csrec_shape *shape, csrec_error *error) {
    const csrec_slab *slab = &input->slab;
    if (slab->count == 0) return CSREC_OK;
    if (slab->first < 0 || slab->count < 0 || shape->dims < 1 ||
        slab->count > shape->dim[0] - slab->first)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: has %lld along its first axis, not %lld",
                          input->name, shape->dims > 0 ? (long long)shape->dim[0] : 0LL,
                          (long long)slab->first + (long long)slab->count);
    shape->dim[0] = slab->count;
    return CSREC_OK;
}

/* A file that is only part of a magic is truncated, unless text can begin with it. */
static bool begins(const csrec_format_row *row, const uint8_t *head, size_t count) {
    for (int k = 0; row->magic[k].bytes; k++) {
        const char *magic = row->magic[k].bytes;
        size_t size = row->magic[k].size, seen = count < size ? count : size;
        if (memcmp(head, magic, seen) == 0 && (seen == size || (unsigned char)magic[0] > 126))
            return true;
    }
    return false;
}

/* A block of 512, 1024, 2048 or more bytes that may precede HDF5 is for its user: MATLAB says there
 * what the file is. */
static bool follows_block(csrec_input *input) {
    uint8_t head[sizeof CSREC_HDF5_MAGIC - 1];
    for (uint64_t at = 512; at < input->size; at *= 2)
        if (csrec_input_peek(input, at, head, sizeof head) == sizeof head &&
            memcmp(head, CSREC_HDF5_MAGIC, sizeof head) == 0)
            return true;
    return false;
}

/* No control characters except those that occur in text. */
static bool is_text(const uint8_t *head, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (head[i] < 32 && (head[i] == 0 || !strchr("\t\r\n\f", head[i]))) return false;
    return true;
}

/* Of BART alone the bytes tell nothing: they are numbers. */
static const csrec_format_row *row_of_content(csrec_input *input) {
    uint8_t head[HEAD];
    size_t count = csrec_input_peek(input, 0, head, sizeof head);
    if (count && input->file && named(input->name) == &csrec_bart_format) return &csrec_bart_format;
    for (int i = 0; count && i < ROWS; i++)
        if (begins(rows[i], head, count)) return rows[i];
    if (count && follows_block(input)) return &csrec_hdf5_format;
    for (int i = 0; count && i < ROWS; i++)
        if (!rows[i]->magic[0].bytes && is_text(head, count)) return rows[i];
    return NULL;
}

const csrec_format_row *csrec_input_format(csrec_input *input) {
    if (!input->row) input->row = row_of_content(input);
    return input->row;
}

bool csrec_format_open_like(const csrec_format_row *row, const char *path, csrec_input *input) {
    csrec_error ignored;
    if (!path || !csrec_path_is_regular(path) || csrec_input_open(path, input, &ignored))
        return false;
    if (csrec_input_format(input) == row) return true;
    csrec_input_close(input);
    return false;
}

/* Formats that are not read, and what makes of them one that is. */
static const struct {
    const char *magic, *what, *remedy;
} strangers[] = {
    {"CDF\1", "a NetCDF-3 (classic) file", "nccopy -k nc4 IN.nc OUT.nc makes it NetCDF-4"},
    {"CDF\2", "a NetCDF-3 (classic) file", "nccopy -k nc4 IN.nc OUT.nc makes it NetCDF-4"},
    {"CDF\5", "a NetCDF-3 (classic) file", "nccopy -k nc4 IN.nc OUT.nc makes it NetCDF-4"},
    {"\x0e\x03\x13\x01", "an HDF4 file", "h4toh5 IN.hdf OUT.h5 makes it HDF5"},
    {"MATLAB 5.0 MAT-file", "a MATLAB 5 file", "save it with -v7.3, which is HDF5"},
};

static csrec_status refuse_stranger(csrec_input *input, csrec_error *error) {
    uint8_t head[32];
    size_t count = csrec_input_peek(input, 0, head, sizeof head);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        size_t size = strlen(strangers[i].magic);
        if (count >= size && memcmp(head, strangers[i].magic, size) == 0)
            return csrec_fail(error, CSREC_UNSUPPORTED, "%s: is %s, which is not read; %s",
                              input->name, strangers[i].what, strangers[i].remedy);
    }
    return CSREC_OK;
}

csrec_status csrec_format_unknown(csrec_input *input, int use, const char *remedy,
                                  csrec_error *error) {
    char list[128];
    uint8_t byte;
    if (csrec_input_peek(input, 0, &byte, 1) == 0)
        return csrec_fail(error, CSREC_FORMAT, "%s: is empty; write the file again", input->name);
    const csrec_format_row *row = csrec_input_format(input);
    if (row && row->format.needs && !row->format.uses)
        return csrec_fail(error, CSREC_UNSUPPORTED,
                          "%s: is %s, which needs %s, without which this was built; convert it, or "
                          "build again with that library",
                          input->name, row->format.what, row->format.needs);
    CSREC_TRY(refuse_stranger(input, error));
    return csrec_fail(error, CSREC_FORMAT, "%s: is none of %s; %s", input->name,
                      csrec_format_list(use, true, "and", list, sizeof list), remedy);
}
