/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.c - builds and compares the lines that say what a result was made from. */
#include "fingerprint.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

enum { ENDS = 8192 }; /* bytes at either end of a file by which it is recognised */

void cli_fingerprint_set_whole(char *text, bool whole) {
    if (text) text[sizeof CLI_WHOLE - 4] = whole ? '1' : '0';
}

void cli_fingerprint_begin(cli_fingerprint *line, const char *program) {
    *line = (cli_fingerprint){.known = true};
    if (cli_text_open(&line->text))
        fprintf(line->text.file, CLI_WHOLE "%s %s", program, csrec_version());
}

void cli_fingerprint_text(cli_fingerprint *line, const char *name, const char *text) {
    if (line->text.file && text) fprintf(line->text.file, "; %s=%s", name, text);
}

void cli_fingerprint_integer(cli_fingerprint *line, const char *name, int64_t value) {
    if (line->text.file) fprintf(line->text.file, "; %s=%" PRId64, name, value);
}

void cli_fingerprint_real(cli_fingerprint *line, const char *name, double value) {
    if (line->text.file) fprintf(line->text.file, "; %s=%.17g", name, value);
}

/* Of the fields of options; 0: the option prints something and exits. */
static const size_t sizes[] = {[CLI_FLAG] = sizeof(bool),
                               [CLI_TEXT] = sizeof(char *),
                               [CLI_READ] = sizeof(char *),
                               [CLI_WRITE] = sizeof(char *),
                               [CLI_INTEGER] = sizeof(int64_t),
                               [CLI_SEED] = sizeof(uint64_t),
                               [CLI_REAL] = sizeof(double),
                               [CLI_CHOICE] = sizeof(int),
                               [CLI_TEXTS] = sizeof(cli_texts),
                               [CLI_READS] = sizeof(cli_texts),
                               [CLI_COMPLETION] = 0};

static bool is_given(const cli_tool *tool, const cli_option *option, const void *arguments) {
    const char *at = (const char *)arguments, *defaults = tool->defaults;
    if (option->given) return *(const bool *)(at + option->given);
    return memcmp(at + option->offset, defaults + option->offset, sizes[option->type]) != 0;
}

/* The parameter that a text KEY=VALUE sets, without whose it is; NULL: it is none. */
static const char *parameter_of(const char *text, size_t *length) {
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    const char *begin = dot && equals && dot < equals ? dot + 1 : text;
    *length = equals ? (size_t)(equals - begin) : 0;
    return equals ? begin : NULL;
}

/* Whether two settings are not in the order of their parameters. */
static bool is_after(const char *first, const char *second) {
    size_t n = 0, m = 0;
    const char *a = parameter_of(first, &n), *b = parameter_of(second, &m);
    int order = a && b ? memcmp(a, b, n < m ? n : m) : 0;
    return a && b && (order ? order > 0 : n > m);
}

static bool is_same_setting(const char *first, const char *second) {
    size_t length = strcspn(first, "=");
    return first[length] && strncmp(first, second, length + 1) == 0;
}

/* Settings by their parameters, without those that a later one overrides, as their order has no
 * meaning otherwise. */
static void add_texts(cli_fingerprint *line, const char *name, const cli_texts *texts) {
    const char *sorted[CLI_TEXTS_MOST];
    int n = 0;
    for (int i = 0; i < texts->n; i++) {
        bool overridden = false;
        for (int k = i + 1; k < texts->n; k++)
            overridden = overridden || is_same_setting(texts->text[i], texts->text[k]);
        if (overridden) continue;
        int at = n++;
        for (; at > 0 && is_after(sorted[at - 1], texts->text[i]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = texts->text[i];
    }
    for (int i = 0; i < n; i++) cli_fingerprint_text(line, name, sorted[i]);
}

static void add_files(cli_fingerprint *line, const char *option, const cli_texts *texts) {
    char name[64], whole[160];
    for (int i = 0; i < texts->n; i++) {
        const char *path = cli_named_path(texts->text[i], name);
        snprintf(whole, sizeof whole, "%s%s%s", option, *name ? " " : "", name);
        cli_fingerprint_file(line, whole, path);
    }
}

static void add_option(cli_fingerprint *line, const cli_option *option, const void *value) {
    char name[64];
    snprintf(name, sizeof name, "--%s", option->name);
    switch (option->type) {
    case CLI_CHOICE:
        cli_fingerprint_text(line, name, option->choice(*(const int *)value));
        break;
    case CLI_INTEGER:
    case CLI_SEED:
        cli_fingerprint_integer(line, name, *(const int64_t *)value);
        break;
    case CLI_REAL:
        cli_fingerprint_real(line, name, *(const double *)value);
        break;
    case CLI_READ: { /* a word in place of a file, as --coils none, is text */
        const char *path = *(const char *const *)value;
        const bool file = option->effect == CLI_ON_RESULTS && access(path, F_OK) == 0;
        (file ? cli_fingerprint_file : cli_fingerprint_text)(line, name, path);
        break;
    }
    case CLI_TEXT:
    case CLI_WRITE:
        cli_fingerprint_text(line, name, *(const char *const *)value);
        break;
    case CLI_READS:
        add_files(line, name, value);
        break;
    case CLI_TEXTS:
        add_texts(line, name, value);
        break;
    default:
        cli_fingerprint_integer(line, name, 1);
    }
}

void cli_fingerprint_options(cli_fingerprint *line, const cli_tool *tool, const void *arguments,
                             cli_effect most) {
    for (int i = 0; i < tool->n_options; i++) {
        const cli_option *option = &tool->options[i];
        if (sizes[option->type] && option->effect <= most && is_given(tool, option, arguments))
            add_option(line, option, (const char *)arguments + option->offset);
    }
}

/* " of /NAME" in printable ASCII, where an array within the file is named. */
static void add_member(FILE *file, const char *member) {
    if (member) fputs(" of ", file);
    for (; member && *member; member++)
        if (*member > 32 && *member < 127 && !strchr("%;", *member))
            fputc(*member, file);
        else
            fprintf(file, "%%%02x", (unsigned char)*member);
}

void cli_fingerprint_file(cli_fingerprint *line, const char *name, const char *path) {
    uint64_t bytes = 0;
    uint32_t crc = 0;
    if (!line->text.file || !path) return;
    if (csrec_file_checksum(path, &bytes, &crc, NULL)) {
        line->known = false;
        fprintf(line->text.file, "; %s=unknown", name);
        return;
    }
    fprintf(line->text.file, "; %s=%" PRIu64 " bytes crc32 %08" PRIx32, name, bytes, crc);
    add_member(line->text.file, csrec_path_member(path));
}

/* FNV-1a of what is at a place of the file, on top of *hash; false: it cannot be read. */
static bool hash_at(FILE *file, off_t at, uint64_t *hash) {
    unsigned char bytes[ENDS];
    if (fseeko(file, at, SEEK_SET) != 0) return false;
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    for (size_t i = 0; i < n; i++) *hash = (*hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return !ferror(file);
}

/* The size of the file, and the hash of its ends; false: it cannot be read. */
static bool ends_of(const char *path, uint64_t *bytes, uint64_t *hash) {
    struct stat info;
    char room[CSREC_PATH_ROOM];
    const bool regular = cli_stat(path, &info) && S_ISREG(info.st_mode);
    FILE *file = regular ? fopen(csrec_path_file(path, room), "rb") : NULL;
    if (!file) return false;
    *bytes = (uint64_t)info.st_size;
    *hash = UINT64_C(0xcbf29ce484222325);
    const bool read = hash_at(file, 0, hash) &&
                      hash_at(file, info.st_size > ENDS ? info.st_size - ENDS : 0, hash);
    fclose(file);
    return read;
}

void cli_fingerprint_name(cli_fingerprint *line, const char *name, const char *path) {
    uint64_t bytes, hash;
    const bool read = ends_of(path, &bytes, &hash);
    if (!line->text.file) return;
    fprintf(line->text.file, "; %s=%s", name, path);
    if (read)
        fprintf(line->text.file, " of %" PRIu64 " bytes hash %016" PRIx64, bytes, hash);
    else
        fputs(" that cannot be read", line->text.file);
}

bool cli_files_lost(int n, const char *const *paths, csrec_error *error) {
    uint64_t bytes;
    uint32_t crc;
    for (int i = 0; i < n; i++)
        if (paths[i] && csrec_file_checksum(paths[i], &bytes, &crc, error) == CSREC_FILE)
            return true;
    return false;
}

static void tell_contents(int n, uint64_t bytes, uint64_t hash, char text[CLI_CONTENTS_ROOM]) {
    snprintf(text, CLI_CONTENTS_ROOM, "%d files %" PRIu64 " bytes hash %016" PRIx64, n, bytes,
             hash);
}

csrec_status cli_contents_of(int n, const char *const *paths, char text[CLI_CONTENTS_ROOM],
                             csrec_error *error) {
    uint64_t bytes = 0, all = 0, hash = 0;
    uint32_t crc = 0;
    text[0] = '\0';
    for (int i = 0; i < n; i++, all += bytes) {
        CLI_TRY(csrec_file_checksum(paths[i], &bytes, &crc, error));
        hash = csrec_random_u64(hash, bytes, crc);
    }
    tell_contents(n, all, hash, text);
    return CSREC_OK;
}

csrec_status cli_archives_of(int n, const char *const *paths, char text[CLI_CONTENTS_ROOM],
                             csrec_error *error) {
    uint64_t bytes = 0, all = 0, hash = 0, ends = 0;
    for (int i = 0; i < n; i++) {
        if (!ends_of(paths[i], &bytes, &ends)) {
            if (error) snprintf(error->text, sizeof error->text, "%s: cannot be read", paths[i]);
            return CSREC_FILE;
        }
        hash = csrec_random_u64(hash, bytes, ends);
        all += bytes;
    }
    tell_contents(n, all, hash, text);
    return CSREC_OK;
}

void cli_fingerprint_contents(cli_fingerprint *line, const char *name, const char *contents) {
    line->known = line->known && *contents;
    cli_fingerprint_text(line, name, *contents ? contents : "unknown");
}

char *cli_fingerprint_end(cli_fingerprint *line) {
    return line->text.file && cli_text_close(&line->text) ? line->text.bytes : NULL;
}

static const char *const BETWEEN = "; ";

/* The next entry of a line, of *length bytes; NULL past the end. */
static const char *next_entry(const char *at, size_t *length) {
    at = *length ? at + *length : at;
    if (strncmp(at, BETWEEN, 2) == 0) at += 2;
    const char *end = strstr(at, BETWEEN);
    *length = end ? (size_t)(end - at) : strlen(at);
    return *length ? at : NULL;
}

/* The entry of that beginning in a line, or NULL; `whole`: that is all of the entry. */
static const char *find_entry(const char *line, const char *begin, size_t length, bool whole,
                              size_t *found) {
    *found = 0;
    for (const char *at = line; (at = next_entry(at, found));)
        if ((whole ? *found == length : *found >= length) && memcmp(at, begin, length) == 0)
            return at;
    return NULL;
}

static size_t name_of(const char *entry, size_t length) {
    const char *equals = memchr(entry, '=', length);
    return equals ? (size_t)(equals - entry) : length;
}

static void take_value(const char *entry, size_t length, char *value, size_t room) {
    size_t name = entry ? name_of(entry, length) : 0;
    if (name < length) name++;
    snprintf(value, room, "%.*s", entry ? (int)(length - name) : 0, entry ? entry + name : "");
}

/* What another line has in place of an entry: the same setting; or else an entry of that name that
 * the first line lacks. */
static const char *find_other(const char *a, const char *b, const char *at, size_t length,
                              size_t *found) {
    const char *same = NULL;
    size_t name = name_of(at, length), named = name < length ? name + 1 : name, any;
    const char *equals = memchr(at + named, '=', length - named);
    *found = 0;
    if (equals) same = find_entry(b, at, (size_t)(equals - at) + 1, false, found);
    if (same) return same;
    *found = 0;
    while ((b = next_entry(b, found)))
        if (*found >= named && memcmp(b, at, named) == 0 && !find_entry(a, b, *found, true, &any))
            return b;
    return NULL;
}

/* Tells of the entry `at` of one line, and of what the other has there. */
static void tell(const char *at, size_t length, const char *same, size_t other, cli_difference *d) {
    snprintf(d->name, sizeof d->name, "%.*s", (int)name_of(at, length), at);
    take_value(at, length, d->first, sizeof d->first);
    take_value(same, other, d->second, sizeof d->second);
}

/* The number of the first entry of `a` that is not in `b`, from 0 on; INT_MAX: there is none. */
static int find_difference(const char *a, const char *b, cli_difference *d) {
    size_t length = 0, other;
    int number = 0;
    for (const char *at = a; (at = next_entry(at, &length)); number++) {
        if (find_entry(b, at, length, true, &other)) continue;
        const char *same = find_other(a, b, at, length, &other);
        tell(at, length, same, other, d);
        return number;
    }
    return INT_MAX;
}

/* The first entries that are not the same, of lines that have the same entries in another order. */
static void find_order(const char *a, const char *b, cli_difference *d) {
    size_t length = 0, other = 0;
    while ((a = next_entry(a, &length)) && (b = next_entry(b, &other)))
        if (length != other || memcmp(a, b, length) != 0) {
            tell(a, length, b, other, d);
            return;
        }
}

bool cli_fingerprint_compare(const char *first, const char *second, cli_difference *d) {
    cli_difference other;
    if (strcmp(first, second) == 0) return false;
    *d = (cli_difference){.name = ""};
    int number = find_difference(first, second, d);
    if (find_difference(second, first, &other) >= number) {
        if (number == INT_MAX) find_order(first, second, d);
        return true;
    }
    *d = other;
    memcpy(d->first, other.second, sizeof d->first);
    memcpy(d->second, other.first, sizeof d->second);
    return true;
}

/* A comment must not have two dashes in a row: those after the first are "%2d". */
void cli_fingerprint_comment(FILE *file, const char *text) {
    fputs("<!-- " CSREC_FINGERPRINT, file);
    for (const char *at = text; *at; at++)
        if (*at == '-' && at > text && at[-1] == '-')
            fputs("%2d", file);
        else
            fputc(*at, file);
    fputs("\n-->\n", file);
}

/* Whether the line, of a comment perhaps, is this text. */
static bool is_text(const char *line, const char *text) {
    for (; *text; text++, line++)
        if (*line != *text) {
            if (*text != '-' || strncmp(line, "%2d", 3) != 0) return false;
            line += 2;
        }
    return !*line;
}

bool cli_fingerprint_is(const char *path, const char *text) {
    struct stat info;
    size_t room = 3 * strlen(text) + 2;
    if (!cli_stat(path, &info) || !S_ISREG(info.st_mode)) return false;
    char *found = malloc(room);
    bool same = found && csrec_fingerprint_read(path, found, room, NULL) == CSREC_OK &&
                is_text(found, text);
    free(found);
    return same;
}
