/* html.c - escaping, base64 (RFC 4648), and files that appear whole or not at all. */
#include "html.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_html_text(FILE *file, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int length = cli_utf8_length(s);
        bool none = length == 3 && s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE; /* U+FFFE, FFFF */
        if (length == 0 || none || *s < ' ' || *s == 127)
            fputs("\xef\xbf\xbd", file);
        else if (*s == '&')
            fputs("&amp;", file);
        else if (*s == '<')
            fputs("&lt;", file);
        else if (*s == '>')
            fputs("&gt;", file);
        else if (*s == '"')
            fputs("&quot;", file);
        else if (*s == '\'')
            fputs("&#39;", file);
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
}

void cli_html_png(FILE *file, const uint8_t *bytes, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputs("src=\"data:image/png;base64,", file);
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t word = (uint32_t)bytes[i] << 16;
        if (have > 1) word |= (uint32_t)bytes[i + 1] << 8;
        if (have > 2) word |= bytes[i + 2];
        fputc(digit[word >> 18], file);
        fputc(digit[word >> 12 & 63], file);
        fputc(have > 1 ? digit[word >> 6 & 63] : '=', file);
        fputc(have > 2 ? digit[word & 63] : '=', file);
    }
    fputc('"', file);
}

static csrec_status fail(const char *path, csrec_error *error) {
    snprintf(error->text, sizeof error->text, "%s: cannot be written: %s", path, strerror(errno));
    return CSREC_FILE;
}

/* A temporary file is for its owner alone; the result is what the mask of the process allows. */
static bool open_up(int descriptor) {
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(descriptor, 0666 & ~mask) == 0;
}

static bool write_all(int descriptor, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t written = write(descriptor, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        n -= (size_t)written;
    }
    return true;
}

/* Renaming over a device or a pipe would replace it. */
static csrec_status write_device(const char *path, const char *bytes, size_t n,
                                 csrec_error *error) {
    int descriptor = open(path, O_WRONLY);
    bool written = descriptor >= 0 && write_all(descriptor, bytes, n);
    csrec_status status = written ? CSREC_OK : fail(path, error);
    if (descriptor >= 0) close(descriptor);
    return status;
}

csrec_status cli_bytes_write(const char *path, const char *bytes, size_t n, csrec_error *error) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return write_device(path, bytes, n, error);
    size_t room = strlen(path) + 8;
    char *temporary = malloc(room);
    if (!temporary) return fail(path, error);
    snprintf(temporary, room, "%s.XXXXXX", path);
    int descriptor = mkstemp(temporary);
    csrec_status status = CSREC_OK;
    if (descriptor < 0) {
        status = fail(path, error);
    } else {
        bool written = write_all(descriptor, bytes, n) && open_up(descriptor);
        if (close(descriptor) != 0 || !written || rename(temporary, path) != 0) {
            status = fail(path, error);
            unlink(temporary);
        }
    }
    free(temporary);
    return status;
}
