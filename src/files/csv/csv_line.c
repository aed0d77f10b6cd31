/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_line.c - lines, fields and numbers of a CSV text. */
#define _XOPEN_SOURCE 700 /* uselocale */
#include "files/csv/csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static void trim(csrec_csv_line *span) {
    while (span->begin < span->end && blank(*span->begin)) span->begin++;
    while (span->begin < span->end && blank(span->end[-1])) span->end--;
}

csrec_csv_cursor csrec_csv_start(const char *text, uint64_t size) {
    bool mark = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    return (csrec_csv_cursor){text + (mark ? 3 : 0), text + size, 0};
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

bool csrec_csv_is_comment(csrec_csv_line line) {
    while (line.begin < line.end && (*line.begin == ' ' || *line.begin == '\t')) line.begin++;
    return line.begin < line.end && *line.begin == '#';
}

bool csrec_csv_next_data(csrec_csv_cursor *cursor, csrec_csv_line *line) {
    while (csrec_csv_next(cursor, line))
        if (!csrec_csv_is_comment(*line)) return true;
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

/* The separator that ends the first field, outside of its quotes; NULL: the line's end does. */
static const char *stop_of(const csrec_csv_line *line, char separator) {
    const char *at = line->begin;
    while (at < line->end && blank(*at) && *at != separator) at++;
    if (at < line->end && *at == '"') {
        const char *quote = memchr(at + 1, '"', (size_t)(line->end - at - 1));
        while (quote && line->end - quote > 2 && quote[1] == '"')
            quote = memchr(quote + 2, '"', (size_t)(line->end - quote - 2));
        if (quote) at = quote;
    }
    return at < line->end ? memchr(at, separator, (size_t)(line->end - at)) : NULL;
}

/* line->begin is set to NULL after the last field, so that "1,2," has three fields. */
bool csrec_csv_field(csrec_csv_line *line, char separator, csrec_csv_line *field) {
    if (separator == ' ') return take_word(line, field);
    if (!line->begin) return false;
    const char *stop = stop_of(line, separator);
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

int64_t csrec_csv_split(csrec_csv_line line, char separator, csrec_csv_line *fields) {
    csrec_csv_line field;
    int64_t n = 0;
    for (; csrec_csv_field(&line, separator, &field); n++)
        if (fields && n < CSREC_CSV_FIELDS) fields[n] = field;
    return n;
}

bool csrec_csv_number(const csrec_csv_line *field, csrec_csv_dialect *dialect, double *value) {
    char text[64], *end;
    size_t length = (size_t)(field->end - field->begin);
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, field->begin, length);
    text[length] = 0;
    /* strtod also reads hexadecimal and nan(...), which are not valid in CSV. */
    if (strlen(text) != length || strpbrk(text, "xX( \t")) return false;
    char *comma = strchr(text, ',');
    char mark = comma ? ',' : strchr(text, '.') ? '.' : 0;
    if (comma && dialect->separator != ';' && dialect->separator != '\t') return false;
    if (mark && dialect->decimal && mark != dialect->decimal) return false;
    if (comma) *comma = '.';
    *value = strtod(text, &end);
    if (end != text + length) return false;
    if (mark) dialect->decimal = mark;
    return true;
}

bool csrec_csv_integer(const csrec_csv_line *field, csrec_csv_dialect *dialect, int64_t *value) {
    int64_t sum = 0;
    const char *at = field->begin;
    for (; at < field->end && *at >= '0' && *at <= '9'; at++) {
        if (sum > (INT64_MAX - 9) / 10) return false;
        sum = sum * 10 + (*at - '0');
    }
    if (at < field->end || at == field->begin) {
        /* numpy.savetxt writes whole numbers as 1.000000e+00; exact below 2^53. */
        double number;
        if (!csrec_csv_number(field, dialect, &number) || !(number >= 0 && number < 0x1p53))
            return false;
        sum = (int64_t)number;
        if ((double)sum != number) return false;
    }
    *value = sum;
    return true;
}

bool csrec_csv_is_unknown(const csrec_csv_line *field) {
    static const char *const words[] = {"",     "nan", "na",   "n/a",  "null",
                                        "none", "inf", "+inf", "-inf", "infinity"};
    size_t length = (size_t)(field->end - field->begin);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == length && strncasecmp(field->begin, words[k], length) == 0)
            return true;
    return false;
}

bool csrec_csv_locale_enter(csrec_csv_locale *locale) {
    locale->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (locale->plain) locale->before = uselocale(locale->plain);
    return locale->plain != (locale_t)0;
}

void csrec_csv_locale_leave(csrec_csv_locale *locale) {
    uselocale(locale->before);
    freelocale(locale->plain);
}

const char *csrec_csv_show(const csrec_csv_line *field, char text[32]) {
    int length = 0;
    for (const char *c = field->begin; c < field->end && length < 31; c++)
        text[length++] = *c >= ' ' && *c <= '~' ? *c : '?';
    text[length] = 0;
    return text;
}

csrec_status csrec_csv_refuse(const char *name, csrec_csv_line heading, char separator,
                              const csrec_csv_line *field, int64_t column, const char *what,
                              const char *remedy, csrec_error *error) {
    char shown[32], called[32] = "";
    csrec_csv_line each;
    for (int64_t k = 0; heading.begin && csrec_csv_field(&heading, separator, &each); k++)
        if (k == column) csrec_csv_show(&each, called);
    return csrec_fail(error, CSREC_FORMAT, "%s: line %lld: %s '%s' in column %lld%s%s%s; %s", name,
                      (long long)field->number, what, csrec_csv_show(field, shown),
                      (long long)column + 1, *called ? ", '" : "", called, *called ? "'" : "",
                      remedy);
}
