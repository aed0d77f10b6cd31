/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - writes JSON (RFC 8259): members in order, strings escaped, numbers that read back; and
 * text and pictures of HTML, with base64 (RFC 4648). And a stream into memory that reports a failed
 * allocation. */
#define _GNU_SOURCE /* fopencookie */
#include "report.h"

#include <inttypes.h>
#include <math.h>
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

#ifdef __APPLE__
static int take_some(void *cookie, const char *bytes, int n) {
    return (int)take(cookie, bytes, (size_t)n);
}

static FILE *open_stream(cli_text *text) {
    return fwopen(text, take_some);
}
#else
static FILE *open_stream(cli_text *text) {
    return fopencookie(text, "w", (cookie_io_functions_t){.write = take});
}
#endif

bool cli_text_open(cli_text *text) {
    *text = (cli_text){.bytes = calloc(1, 1), .room = 1};
    if (text->bytes) text->file = open_stream(text);
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

/* Length of the UTF-8 sequence that s starts with, 0 if it is none (RFC 3629: no overlong forms,
 * no surrogates, nothing above U+10FFFF). File names may hold any bytes, JSON may not. */
static int utf8_length(const unsigned char *s) {
    if (s[0] < 0x80) return 1;
    int length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4) return 0;
    for (int i = 1; i < length; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    bool overlong = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xF0 && s[1] < 0x90);
    bool outside = (s[0] == 0xED && s[1] > 0x9F) || (s[0] == 0xF4 && s[1] > 0x8F);
    return overlong || outside ? 0 : length;
}

static void put_string(FILE *file, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', file);
    while (*s) {
        int length = utf8_length(s);
        if (length == 0)
            fputs("\\ufffd", file);
        else if (*s < ' ')
            fprintf(file, "\\u%04x", *s);
        else if (*s == '"' || *s == '\\')
            fprintf(file, "\\%c", *s);
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
    fputc('"', file);
}

static void start_member(cli_json *json, const char *key) {
    fprintf(json->file, "%s\n%*s", json->some ? "," : "", 2 * json->depth, "");
    json->some = true;
    put_string(json->file, key);
    fputs(": ", json->file);
}

static void open_with(cli_json *json, char bracket) {
    fputc(bracket, json->file);
    json->depth++;
    json->some = false;
}

static void close_with(cli_json *json, char bracket) {
    json->depth--;
    fprintf(json->file, "\n%*s%c", 2 * json->depth, "", bracket);
    json->some = true;
}

void cli_json_open(cli_json *json, FILE *file) {
    *json = (cli_json){.file = file};
    open_with(json, '{');
}

void cli_json_begin(cli_json *json, const char *key) {
    start_member(json, key);
    open_with(json, '{');
}

void cli_json_end(cli_json *json) {
    close_with(json, '}');
}

void cli_json_begin_list(cli_json *json, const char *key) {
    start_member(json, key);
    open_with(json, '[');
}

void cli_json_begin_item(cli_json *json) {
    fprintf(json->file, "%s\n%*s", json->some ? "," : "", 2 * json->depth, "");
    open_with(json, '{');
}

void cli_json_end_list(cli_json *json) {
    close_with(json, ']');
}

bool cli_json_close(cli_json *json) {
    cli_json_end(json);
    fputc('\n', json->file);
    return fflush(json->file) == 0 && !ferror(json->file);
}

void cli_json_text(cli_json *json, const char *key, const char *text) {
    start_member(json, key);
    if (text)
        put_string(json->file, text);
    else
        fputs("null", json->file);
}

void cli_json_integer(cli_json *json, const char *key, int64_t value) {
    start_member(json, key);
    fprintf(json->file, "%" PRId64, value);
}

void cli_json_unsigned(cli_json *json, const char *key, uint64_t value) {
    start_member(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

/* The shortest form that reads back as the same number. */
static void put_real(FILE *file, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    fputs(isfinite(value) ? text : "null", file);
}

void cli_json_real(cli_json *json, const char *key, double value) {
    start_member(json, key);
    put_real(json->file, value);
}

void cli_json_flag(cli_json *json, const char *key, bool value) {
    start_member(json, key);
    fputs(value ? "true" : "false", json->file);
}

void cli_json_integers(cli_json *json, const char *key, int n, const int64_t *values) {
    start_member(json, key);
    for (int i = 0; i < n; i++) fprintf(json->file, "%s%" PRId64, i ? ", " : "[", values[i]);
    fputs(n ? "]" : "[]", json->file);
}

void cli_json_numbers(cli_json *json, const char *key, int64_t n,
                      double (*number)(int64_t k, const void *context), const void *context) {
    start_member(json, key);
    for (int64_t k = 0; k < n; k++) {
        fputs(k ? ", " : "[", json->file);
        put_real(json->file, number(k, context));
    }
    fputs(n ? "]" : "[]", json->file);
}

static double real_at(int64_t k, const void *values) {
    return ((const double *)values)[k];
}

void cli_json_reals(cli_json *json, const char *key, int n, const double *values) {
    cli_json_numbers(json, key, n, real_at, values);
}

void cli_json_texts(cli_json *json, const char *key, int n, const char *const *texts) {
    start_member(json, key);
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "[", json->file);
        put_string(json->file, texts[i]);
    }
    fputs(n ? "]" : "[]", json->file);
}

void cli_html_text(FILE *file, const char *text) {
    static const char special[] = "&<>\"'", *const names[] = {"amp", "lt", "gt", "quot", "#39"};
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        int length = utf8_length(s);
        bool none = length == 3 && s[0] == 0xEF && s[1] == 0xBF && s[2] >= 0xBE; /* U+FFFE, FFFF */
        const char *found = strchr(special, *s);
        if (length == 0 || none || *s < ' ' || *s == 127)
            fputs("\xef\xbf\xbd", file);
        else if (found)
            fprintf(file, "&%s;", names[found - special]);
        else
            fwrite(s, 1, (size_t)length, file);
        s += length ? length : 1;
    }
}

void cli_html_png(FILE *file, const char *attribute, const uint8_t *bytes, size_t n) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fprintf(file, "%s=\"data:image/png;base64,", attribute);
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
