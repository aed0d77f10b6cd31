/* fingerprint.c - builds and compares the lines that say what a result was made from. */
#include "fingerprint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

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

void cli_contents_of(int n, const char *const *paths, char text[CLI_CONTENTS_ROOM]) {
    uint64_t bytes = 0, all = 0, hash = 0;
    uint32_t crc = 0;
    text[0] = '\0';
    for (int i = 0; i < n; i++, all += bytes) {
        if (csrec_file_checksum(paths[i], &bytes, &crc, NULL)) return;
        hash = csrec_random_u64(hash, bytes, crc);
    }
    snprintf(text, CLI_CONTENTS_ROOM, "%d files %" PRIu64 " bytes hash %016" PRIx64, n, all, hash);
}

void cli_fingerprint_contents(cli_fingerprint *line, const char *name, const char *contents) {
    line->known = line->known && *contents;
    cli_fingerprint_text(line, name, *contents ? contents : "unknown");
}

char *cli_fingerprint_end(cli_fingerprint *line) {
    return line->text.file && cli_text_close(&line->text) ? line->text.bytes : NULL;
}

void cli_fingerprint_comment(FILE *file, const char *text) {
    fprintf(file, "<!-- " CSREC_FINGERPRINT "%s\n-->\n", text);
}

bool cli_fingerprint_is(const char *path, const char *text) {
    struct stat info;
    size_t room = strlen(text) + 2;
    if (!cli_stat(path, &info) || !S_ISREG(info.st_mode)) return false;
    char *found = malloc(room);
    bool same = found && csrec_fingerprint_read(path, found, room, NULL) == CSREC_OK &&
                strcmp(found, text) == 0;
    free(found);
    return same;
}
