/* roff.c - text as roff source: characters special to roff are escaped. */
#include "roff.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Escapes one character. A plain - would become a hyphen, which does not work if pasted into a
 * shell; a . or ' at the start of a line would be a request. */
static void put(char c, bool begins) {
    switch (c) {
    case '\\':
        printf("\\e");
        break;
    case '-':
        printf("\\-");
        break;
    case '\'':
        printf("\\(aq");
        break;
    case '`':
        printf("\\(ga");
        break;
    case '^':
        printf("\\(ha");
        break;
    case '~':
        printf("\\(ti");
        break;
    case '"':
        printf("\\(dq");
        break;
    default:
        if (begins && c == '.') printf("\\&");
        putchar(c);
    }
}

static void put_all(const char *text, size_t length, bool begins) {
    for (size_t i = 0; i < length; i++) put(text[i], begins && i == 0);
}

/* Bytes of an option's name at `text`, such as -o or --mask-out; 0: it is none. */
static size_t option_length(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && i < 2 && text[i] == '-') i++;
    if (i == 0 || i == length || !isalpha((unsigned char)text[i])) return 0;
    while (i < length && (isalnum((unsigned char)text[i]) || text[i] == '-')) i++;
    return i;
}

/* Bytes of a name in capitals, such as FILE; 0: it is none. */
static size_t name_length(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && isupper((unsigned char)text[i])) i++;
    return i < length && isalnum((unsigned char)text[i]) ? 0 : i;
}

void cli_roff_text(const char *text, size_t length, bool names) {
    bool begins = true; /* a word */
    for (size_t i = 0; i < length;) {
        size_t option = begins ? option_length(text + i, length - i) : 0;
        size_t name = begins && names ? name_length(text + i, length - i) : 0;
        if (option || name) {
            printf("\\f%c", option ? 'B' : 'I');
            put_all(text + i, option + name, false);
            printf("\\fR");
            i += option + name;
            begins = false;
            continue;
        }
        /* Between letters - is a hyphen, as in 2-D. */
        if (text[i] == '-' && !begins)
            putchar('-');
        else
            put(text[i], i == 0);
        begins = !isalnum((unsigned char)text[i]) && text[i] != '-';
        i++;
    }
}

void cli_roff_lines(const char *lines) {
    printf(".RS 4\n.nf\n");
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        put_all(lines, length, true);
        putchar('\n');
        lines += length + (lines[length] != '\0');
    }
    printf(".fi\n.RE\n");
}

void cli_roff_paragraphs(const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > 0) {
            printf(".PP\n");
            cli_roff_text(text, length, false);
            putchar('\n');
        }
        text += length + (text[length] != '\0');
    }
}
