/* text.c - a stream into memory that reports a failed allocation. */
#define _GNU_SOURCE /* fopencookie */
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static ssize_t take(void *cookie, const char *bytes, size_t n) {
    cli_text *text = cookie;
    if (n >= text->room - text->size) {
        size_t room = 2 * (text->size + n) + 1;
        char *grown = realloc(text->bytes, room);
        if (!grown) return 0; /* the stream's error flag is set */
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->size, bytes, n);
    text->size += n;
    text->bytes[text->size] = '\0';
    return (ssize_t)n;
}

bool cli_text_open(cli_text *text) {
    *text = (cli_text){.bytes = calloc(1, 1), .room = 1};
    if (text->bytes) text->file = fopencookie(text, "w", (cookie_io_functions_t){.write = take});
    if (text->file) return true;
    free(text->bytes);
    return false;
}

bool cli_text_close(cli_text *text) {
    bool whole = fflush(text->file) == 0 && !ferror(text->file);
    fclose(text->file);
    if (!whole) free(text->bytes);
    return whole;
}
