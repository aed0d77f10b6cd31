/* csv_line.c - lines, fields and numbers of a CSV text. */
#include "io/csv.h"

#include <stdlib.h>
#include <string.h>

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static void trim(csrec_csv_line *span) {
    while (span->begin < span->end && blank(*span->begin)) span->begin++;
    while (span->begin < span->end && blank(span->end[-1])) span->end--;
}

bool csrec_csv_next(csrec_csv_cursor *cursor, csrec_csv_line *line) {
    while (cursor->at < cursor->end) {
        const char *stop = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
        *line = (csrec_csv_line){cursor->at, stop ? stop : cursor->end, ++cursor->number};
        cursor->at = stop ? stop + 1 : cursor->end;
        csrec_csv_line content = *line;
        trim(&content);
        if (content.begin == content.end) continue;
        /* A trailing tab may end in an empty field, so it is kept; a carriage return is removed. */
        while (line->end[-1] == '\r') line->end--;
        return true;
    }
    return false;
}

char csrec_csv_separator(const csrec_csv_line *line) {
    size_t length = (size_t)(line->end - line->begin);
    for (const char *s = ";\t,"; *s; s++)
        if (memchr(line->begin, *s, length)) return *s;
    return ' ';
}

static bool take_word(csrec_csv_line *line, csrec_csv_line *field) {
    trim(line);
    if (line->begin == line->end) return false;
    *field = *line;
    while (line->begin < line->end && !blank(*line->begin)) line->begin++;
    field->end = line->begin;
    return true;
}

/* line->begin is set to NULL after the last field, so that "1,2," has three fields. */
bool csrec_csv_field(csrec_csv_line *line, char separator, csrec_csv_line *field) {
    if (separator == ' ') return take_word(line, field);
    if (!line->begin) return false;
    const char *stop = memchr(line->begin, separator, (size_t)(line->end - line->begin));
    *field = *line;
    if (stop) field->end = stop;
    line->begin = stop ? stop + 1 : NULL;
    trim(field);
    if (field->end - field->begin >= 2 && *field->begin == '"' && field->end[-1] == '"') {
        field->begin++;
        field->end--;
    }
    return true;
}

bool csrec_csv_number(const csrec_csv_line *field, double *value) {
    char text[64], *end;
    size_t length = (size_t)(field->end - field->begin);
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, field->begin, length);
    text[length] = 0;
    /* strtod also reads hexadecimal and nan(...), which are not valid in CSV. */
    if (strlen(text) != length || strpbrk(text, "xX( \t")) return false;
    *value = strtod(text, &end);
    return end == text + length;
}

bool csrec_csv_integer(const csrec_csv_line *field, int64_t *value) {
    int64_t sum = 0;
    const char *at = field->begin;
    for (; at < field->end && *at >= '0' && *at <= '9'; at++) {
        if (sum > (INT64_MAX - 9) / 10) return false;
        sum = sum * 10 + (*at - '0');
    }
    if (at < field->end || at == field->begin) {
        /* numpy.savetxt writes whole numbers as 1.000000e+00; exact below 2^53. */
        double number;
        if (!csrec_csv_number(field, &number) || !(number >= 0 && number < 0x1p53)) return false;
        sum = (int64_t)number;
        if ((double)sum != number) return false;
    }
    *value = sum;
    return true;
}

const char *csrec_csv_show(const csrec_csv_line *field, char text[32]) {
    int length = 0;
    for (const char *c = field->begin; c < field->end && length < 31; c++)
        text[length++] = *c >= ' ' && *c <= '~' ? *c : '?';
    text[length] = 0;
    return text;
}
