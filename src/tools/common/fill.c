/* fill.c - texts of the help that name formats, from the table of formats. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

static const struct {
    const char *word;
    int use;
} uses[] = {{"read", CSREC_USE_READ},       {"write", CSREC_USE_WRITE},
            {"picture", CSREC_USE_PICTURE}, {"samples", CSREC_USE_SAMPLES},
            {"arrays", CSREC_USE_ARRAYS},   {"slabs", CSREC_USE_SLABS},
            {"types", CSREC_USE_TYPES}};

/* "read or}..." from its first letter: the list goes to the end of text. Returns what follows. */
static const char *fill_one(const char *from, char *text, size_t room) {
    char word[16], joint[8];
    int length = 0;
    if (sscanf(from, "%15[A-Za-z] %7[a-z]}%n", word, joint, &length) != 2 || length == 0)
        return from;
    const bool titles = isupper((unsigned char)word[0]);
    word[0] = (char)tolower((unsigned char)word[0]);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(word, uses[i].word) == 0)
            csrec_format_list(uses[i].use, titles, joint, text, room);
    return from + length;
}

const char *cli_fill(const char *from, char text[CLI_FILLED]) {
    size_t used = 0;
    while (*from && used + 1 < CLI_FILLED) {
        text[used] = '\0';
        if (*from != '{') {
            text[used++] = *from++;
            continue;
        }
        from = fill_one(from + 1, text + used, CLI_FILLED - used);
        used += strlen(text + used);
    }
    text[used] = '\0';
    return text;
}
