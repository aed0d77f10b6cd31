/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c - arrays from the members of a zip archive; and an archive that is no measurement: one of
 * its arrays is a whole signal, the one that is named, else the only one of numbers with axes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "files/npz/npz.h"

/* Deflate cannot expand by more than 1032 (a match of 258 bytes from 2 bits); other methods can,
 * but no array writer uses them at such ratios. */
enum { EXPANSION_MAX = 1032 };

csrec_status csrec_npz_open(csrec_input *input, csrec_npz *npz, csrec_error *error) {
    zip_error_t reason;
    zip_error_init(&reason);
    *npz = (csrec_npz){.name = input->name, .size = input->size};
    zip_source_t *source = input->file
                               ? zip_source_filep_create(input->file, 0, -1, &reason)
                               : zip_source_buffer_create(input->bytes, input->size, 0, &reason);
    if (source) {
        input->file = NULL; /* closed with the source */
        npz->zip = zip_open_from_source(source, ZIP_RDONLY, &reason);
        if (!npz->zip) zip_source_free(source);
    }
    csrec_status status = CSREC_OK;
    if (!npz->zip)
        status = zip_error_code_zip(&reason) == ZIP_ER_MEMORY
                     ? csrec_memory_fail(error, npz->name)
                     : csrec_fail(error, CSREC_FORMAT,
                                  "%s: is not a whole zip archive (%s); write it again with "
                                  "numpy.savez",
                                  npz->name, zip_error_strerror(&reason));
    zip_error_fini(&reason);
    return status;
}

void csrec_npz_close(csrec_npz *npz) {
    if (npz->zip) zip_discard(npz->zip);
    npz->zip = NULL;
}

static zip_int64_t locate(const csrec_npz *npz, const char *field) {
    char name[160];
    snprintf(name, sizeof name, "%s.npy", field);
    zip_int64_t index = zip_name_locate(npz->zip, name, 0);
    return index >= 0 ? index : zip_name_locate(npz->zip, field, 0);
}

bool csrec_npz_has(const csrec_npz *npz, const char *field) {
    return locate(npz, field) >= 0;
}

bool csrec_npz_is_stored(const csrec_npz *npz, const char *field) {
    zip_stat_t info;
    zip_int64_t index = locate(npz, field);
    zip_stat_init(&info);
    return index >= 0 && zip_stat_index(npz->zip, (zip_uint64_t)index, 0, &info) == 0 &&
           (info.valid & ZIP_STAT_COMP_METHOD) && info.comp_method == ZIP_CM_STORE;
}

/* A bomb declares more than its compressed bytes can hold, or than the machine has memory for. */
static csrec_status check_member(const csrec_npz *npz, zip_uint64_t index, const char *name,
                                 uint64_t *size, csrec_error *error) {
    zip_stat_t info;
    zip_stat_init(&info);
    if (zip_stat_index(npz->zip, index, 0, &info) != 0 || !(info.valid & ZIP_STAT_SIZE) ||
        !(info.valid & ZIP_STAT_COMP_SIZE))
        return csrec_fail(error, CSREC_FORMAT, "%s: damaged zip directory; write the file again",
                          name);
    bool stored = info.comp_method == ZIP_CM_STORE;
    if (info.comp_size > npz->size || (stored && info.size != info.comp_size) ||
        info.size / EXPANSION_MAX > info.comp_size)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: declares %llu bytes but its %llu compressed bytes cannot hold them; "
                          "write the file again",
                          name, (unsigned long long)info.size, (unsigned long long)info.comp_size);
    *size = info.size;
    return npz->in_pieces ? CSREC_OK : csrec_memory_check(info.size, 1, name, error);
}

static int64_t read_member(void *context, void *buffer, uint64_t bytes) {
    zip_file_t *file = context;
    zip_int64_t got = zip_fread(file, buffer, bytes);
    if (got < 0) {
        /* errno distinguishes a failing disk from damaged data; codes of zlib are no errno. */
        zip_error_t *reason = zip_file_get_error(file);
        bool disk = zip_error_system_type(reason) == ZIP_ET_SYS;
        errno = disk ? zip_error_code_system(reason) : 0;
    }
    return got;
}

csrec_status csrec_npz_begin(const csrec_npz *npz, const char *field, csrec_npz_member *member,
                             csrec_error *error) {
    *member = (csrec_npz_member){0};
    snprintf(member->name, sizeof member->name, "%.340s: array '%s'", npz->name, field);
    zip_int64_t index = locate(npz, field);
    if (index < 0)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s is missing; save it with numpy.savez(..., %s=...)", member->name,
                          field);
    uint64_t size = 0;
    CSREC_TRY(check_member(npz, (zip_uint64_t)index, member->name, &size, error));
    member->file = zip_fopen_index(npz->zip, (zip_uint64_t)index, 0);
    if (!member->file)
        return csrec_fail(error, CSREC_FORMAT,
                          "%s: cannot be unpacked (%s); write it again with numpy.savez",
                          member->name, zip_error_strerror(zip_get_error(npz->zip)));
    member->reader = (csrec_reader){
        .left = size, .read = read_member, .context = member->file, .empty = npz->empty};
    csrec_status status =
        csrec_npy_header_read(&member->reader, member->name, &member->header, error);
    member->head = size - member->reader.left;
    return status == CSREC_OK ? status : csrec_npz_end(member, status, error);
}

csrec_status csrec_npz_seek(csrec_npz_member *member, int64_t element, csrec_error *error) {
    const uint64_t all = (uint64_t)member->header.count * member->header.bytes;
    const uint64_t before = (uint64_t)element * member->header.bytes;
    errno = 0;
    if (zip_fseek(member->file, (zip_int64_t)(member->head + before), SEEK_SET) != 0)
        return csrec_read_failed(member->name, error);
    member->reader.left = all - before;
    return CSREC_OK;
}

void csrec_npz_leave(csrec_npz_member *member) {
    zip_fclose(member->file);
    member->file = NULL;
}

csrec_status csrec_npz_changed(const csrec_npz_member *member, csrec_error *error) {
    return csrec_fail(error, CSREC_FORMAT, "%s: changed while it was read; read the file again",
                      member->name);
}

csrec_status csrec_npz_check_end(csrec_npz_member *member, csrec_error *error) {
    char beyond;
    /* libzip compares the checksum when it meets the end, so the end must be read. */
    if (zip_fread(member->file, &beyond, 1) == 0) return CSREC_OK;
    return csrec_fail(error, CSREC_FORMAT,
                      "%s: the checksum or the length is wrong; write or copy the file again",
                      member->name);
}

csrec_status csrec_npz_end(csrec_npz_member *member, csrec_status status, csrec_error *error) {
    if (!status) status = csrec_npz_check_end(member, error);
    csrec_npz_leave(member);
    return status;
}

/* The whole array; not text. is_complex: NULL, or whether its last axis has the parts. */
static csrec_status npz_array(const csrec_npz *npz, const char *field, csrec_array *array,
                              bool *is_complex, csrec_error *error) {
    csrec_npz_member member;
    csrec_array result = {0};
    csrec_status status = csrec_npz_begin(npz, field, &member, error);
    if (status) return status;
    if (member.header.kind == 'U' || member.header.kind == 'S')
        status = csrec_fail(error, CSREC_FORMAT, "%s: holds text; save numbers", member.name);
    if (!status) {
        status = csrec_array_create(member.header.dtype, &member.header.shape, &result);
        if (status) csrec_fail(error, status, "%s: %s", member.name, csrec_status_text(status));
    }
    if (!status)
        status = csrec_npy_values(&member.reader, &member.header, member.name, result.data, error);
    if (is_complex) *is_complex = member.header.is_complex;
    status = csrec_npz_end(&member, status, error);
    return CSREC_SETTLE(status, csrec_array_clear(&result), *array = result);
}

csrec_status csrec_npz_read(const char *path, const char *name, csrec_array *array,
                            csrec_error *error) {
    csrec_input input;
    csrec_npz npz;
    CSREC_TRY(csrec_input_open(path, &input, error));
    csrec_status status = csrec_npz_open(&input, &npz, error);
    if (!status) {
        status = npz_array(&npz, name, array, NULL, error);
        csrec_npz_close(&npz);
    }
    csrec_input_close(&input);
    return status;
}

enum { NAME = 128, LOOKED_AT = 256, LISTED = 6, LIST = 300 };

/* Whether the member has numbers with 1 to 4 axes; "elevation [60 x 80]". */
static bool is_signal(const csrec_npz *npz, const char *name, char text[LIST]) {
    csrec_npz_member member;
    if (csrec_npz_begin(npz, name, &member, NULL)) return false;
    const csrec_npy_header *h = &member.header;
    const int dims = h->shape.dims - h->is_complex;
    int used = snprintf(text, LIST, "%.60s", name);
    for (int a = 0; a < dims && a < 4; a++)
        used += snprintf(text + used, LIST - (size_t)used, "%s%lld%s", a ? " x " : " [",
                         (long long)h->shape.dim[a], a + 1 < dims ? "" : "]");
    csrec_text_clean(text);
    csrec_npz_leave(&member);
    return strchr("biuf", h->kind) && dims >= 1 && dims <= 4 && h->count > 1;
}

/* The number of such arrays; the name of the last, and the first few as a list. */
static int search(const csrec_npz *npz, char found[NAME], char list[LIST]) {
    char text[LIST], name[NAME];
    int count = 0;
    list[0] = '\0';
    for (zip_int64_t i = 0; i < zip_get_num_entries(npz->zip, 0) && i < LOOKED_AT; i++) {
        const char *whole = zip_get_name(npz->zip, (zip_uint64_t)i, 0);
        const size_t length = whole ? strlen(whole) : 0, used = strlen(list);
        const bool ends = length > 4 && strcmp(whole + length - 4, ".npy") == 0;
        if (length == 0 || length >= NAME) continue;
        snprintf(name, NAME, "%.*s", (int)(length - 4 * ends), whole);
        if (!is_signal(npz, name, text)) continue;
        if (count < LISTED && used + strlen(text) + 8 < LIST)
            snprintf(list + used, LIST - used, "%s%s", count ? ", " : "", text);
        else if (count == LISTED)
            snprintf(list + used, LIST - used, ", ...");
        memcpy(found, name, NAME);
        count++;
    }
    return count;
}

static csrec_status choose(const csrec_npz *npz, const char *member, char name[NAME],
                           csrec_error *error) {
    char list[LIST];
    const int length = (int)(member ? member - 1 - npz->name : (long)strlen(npz->name));
    if (member && snprintf(name, NAME, "%s", member + (*member == '/')) < NAME &&
        csrec_npz_has(npz, name))
        return CSREC_OK;
    const int count = search(npz, name, list);
    if (count == 1 && !member) return CSREC_OK;
    if (count == 0)
        return csrec_fail(
            error, CSREC_FORMAT,
            "%s: holds neither a measurement, with array 'y', nor an array of numbers "
            "with 1 to 4 axes; save one with numpy.savez",
            npz->name);
    return csrec_fail(error, CSREC_DATA, "%s: %s %s; name one, as in %.*s:/NAME", npz->name,
                      member ? "has no array of that name but" : "which array?", list, length,
                      npz->name);
}

static bool is_measurement(const csrec_npz *npz) {
    return csrec_npz_has(npz, "y") || csrec_npz_has(npz, "index") || csrec_npz_has(npz, "shape");
}

csrec_status csrec_npz_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_npz npz;
    char name[NAME];
    *signal = (csrec_image){.bits = 0};
    csrec_status status = csrec_npz_open(input, &npz, error);
    if (status) return status;
    if (!input->member && is_measurement(&npz))
        status = csrec_fail(error, CSREC_FORMAT,
                            "%s: is a measurement, and no whole signal; save the array as .npy",
                            npz.name);
    if (!status) status = choose(&npz, input->member, name, error);
    if (!status) status = npz_array(&npz, name, &signal->pixels, &signal->is_complex, error);
    csrec_npz_close(&npz);
    return status;
}

/* libzip closes the file that it reads, so it gets another one. */
bool csrec_npz_is_foreign(const csrec_input *input) {
    csrec_input own = *input;
    csrec_npz npz;
    if (input->member) return true;
    if (input->file) own.file = fdopen(dup(fileno(input->file)), "rb");
    if (input->file && !own.file) return false;
    const bool opened = !csrec_npz_open(&own, &npz, NULL);
    const bool foreign = opened && !is_measurement(&npz);
    if (opened) csrec_npz_close(&npz);
    if (own.file) fclose(own.file);
    return foreign;
}
