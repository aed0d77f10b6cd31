/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h - a stream into memory, a JSON writer for --json; text and bytes of the report page. */
#pragma once

#include <stdio.h>

#include "csrec.h"

/* A stream into memory. Unlike open_memstream, it reports output lost for want of memory. */
typedef struct cli_text {
    FILE *file;  /* print here */
    char *bytes; /* [size], then a zero; free them */
    size_t size, room;
} cli_text;

/* false: out of memory. `text` must not be moved before the close. */
bool cli_text_open(cli_text *text);
/* Closes the stream. false: out of memory; output is incomplete, and there is nothing to free. */
bool cli_text_close(cli_text *text);

typedef struct cli_json {
    FILE *file;
    int depth;
    bool some; /* the object that is open has a member already */
} cli_json;

/* Starts the outermost object. */
void cli_json_open(cli_json *json, FILE *file);
void cli_json_begin(cli_json *json, const char *key);
void cli_json_end(cli_json *json);
/* A list of objects, each ended by cli_json_end. */
void cli_json_begin_list(cli_json *json, const char *key);
void cli_json_begin_item(cli_json *json);
void cli_json_end_list(cli_json *json);
/* Ends the outermost object and flushes. false if the file did not take it all. */
bool cli_json_close(cli_json *json);
/* text NULL and numbers that are not finite are written as null. */
void cli_json_text(cli_json *json, const char *key, const char *text);
void cli_json_integer(cli_json *json, const char *key, int64_t value);
void cli_json_unsigned(cli_json *json, const char *key, uint64_t value);
void cli_json_real(cli_json *json, const char *key, double value);
void cli_json_flag(cli_json *json, const char *key, bool value);
void cli_json_integers(cli_json *json, const char *key, int n, const int64_t *values);
void cli_json_reals(cli_json *json, const char *key, int n, const double *values);
/* number(k, context) of k = 0 .. n - 1. */
void cli_json_numbers(cli_json *json, const char *key, int64_t n,
                      double (*number)(int64_t k, const void *context), const void *context);
void cli_json_texts(cli_json *json, const char *key, int n, const char *const *texts);

/* Any bytes as the text of an element or of a quoted attribute, in HTML and in XML: markup is
 * escaped; bytes that are not UTF-8 and characters that XML forbids become U+FFFD. */
void cli_html_text(FILE *file, const char *text);
/* attribute="data:image/png;base64,...". */
void cli_html_png(FILE *file, const char *attribute, const uint8_t *bytes, size_t n);
