/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_header.c - which columns are coordinates, of which axes, and which are values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "files/csv/csv.h"

enum { NO_RANK = -1 };

/* Names of coordinates by the axes that they mean, the fastest first. */
static const char *const known[][8] = {
    {"x", "lon", "longitude", "east", "easting", "col", "column"},
    {"y", "lat", "latitude", "north", "northing", "row"},
    {"z", "slice", "layer", "plane"},
    {"t", "time", "frame"}};

static bool is_letter(char c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* A unit may follow the name, as in "x (um)" or "x_um". */
static bool has_name(const csrec_csv_line *field, const char *name) {
    size_t length = strlen(name), room = (size_t)(field->end - field->begin);
    return room >= length && strncasecmp(field->begin, name, length) == 0 &&
           (room == length || (!is_letter(field->begin[length]) &&
                               (field->begin[length] < '0' || field->begin[length] > '9')));
}

/* Rows and columns are numbered from 0. With a unit behind the name they are places. */
static bool is_number(const csrec_csv_line *field) {
    static const char *const names[] = {"row", "col", "column", "slice", "layer", "plane", "frame"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if ((size_t)(field->end - field->begin) == strlen(names[k]) && has_name(field, names[k]))
            return true;
    return false;
}

/* Names of indices, which are not refused where they are no numbers from 0: i, j, k, r, c, i0. */
static bool is_index(const csrec_csv_line *field) {
    const char *at = field->begin, *end = field->end;
    if (is_number(field)) return true;
    if (at == end || !strchr("ijkrc", *at | 32)) return false;
    for (at++; at < end && *at >= '0' && *at <= '9';) at++;
    return at == end;
}

static int rank_of(const csrec_csv_line *field) {
    for (int rank = 0; rank < (int)(sizeof known / sizeof *known); rank++)
        for (int k = 0; k < 8 && known[rank][k]; k++)
            if (has_name(field, known[rank][k])) return rank;
    return NO_RANK;
}

/* 1, 2, 4 for the colours' names, else 0. */
static int colour(const csrec_csv_line *field) {
    static const char names[] = "rgb";
    if (field->end - field->begin != 1) return 0;
    const char *found = memchr(names, *field->begin | 32, 3);
    return found ? 1 << (found - names) : 0;
}

/* 1, 2 for the real and the imaginary part, as in "re", "imag (mV)", "echo_re"; else 0. */
static int part(const csrec_csv_line *field) {
    static const char *const names[] = {"re", "real", "im", "imag", "imaginary"};
    csrec_csv_line last = *field;
    for (const char *at = field->begin; at < field->end; at++)
        if (!is_letter(*at)) last.begin = at + 1;
    for (int k = 0; k < 5; k++)
        if (has_name(field, names[k]) || has_name(&last, names[k])) return k < 2 ? 1 : 2;
    return 0;
}

bool csrec_csv_is_header(csrec_csv_line line, char separator) {
    csrec_csv_line field;
    csrec_csv_dialect dialect = {separator, 0};
    double value;
    bool named = false;
    while (csrec_csv_field(&line, separator, &field)) {
        if (csrec_csv_is_unknown(&field)) continue;
        if (csrec_csv_number(&field, &dialect, &value)) return false;
        named = true;
    }
    return named;
}

/* ------------------------------------------------------------------ values ------------------- */

typedef struct {
    csrec_csv_line field[CSREC_CSV_FIELDS];
    int n;
    bool colours, parts; /* all three, and one of each */
    int64_t line;
    bool header; /* the fields are names */
    const char *name;
    csrec_error *error;
} names;

static csrec_status fail(const names *c, const char *what, const char *shown, const char *remedy) {
    return csrec_fail(c->error, CSREC_FORMAT, "%s: line %lld: %s%s%s", c->name, (long long)c->line,
                      what, shown, remedy);
}

static csrec_status read_names(csrec_csv_line line, char separator, names *c) {
    int seen = 0, real = 0, imaginary = 0;
    c->line = line.number;
    c->n = csrec_csv_split(line, separator, c->field);
    if (c->n > CSREC_CSV_FIELDS)
        return fail(c, "more than 256 columns have names; remove this line if it heads a matrix",
                    "", "");
    for (int k = 0; k < c->n && c->header; k++) {
        seen |= colour(&c->field[k]);
        real += part(&c->field[k]) == 1;
        imaginary += part(&c->field[k]) == 2;
    }
    c->colours = seen == 7;
    c->parts = real == 1 && imaginary == 1;
    return CSREC_OK;
}

/* r alone may be a row's name; only all three are colours. */
static bool is_value(const names *c, int k) {
    const csrec_csv_line *field = &c->field[k];
    return (c->colours && colour(field)) || (c->parts && part(field)) ||
           (field->end - field->begin >= 5 && strncasecmp(field->begin, "value", 5) == 0);
}

/* Where no column is named a value. */
static int guess_value(const names *c) {
    int k = 0;
    while (k < c->n && rank_of(&c->field[k]) != NO_RANK) k++;
    if (k > 0 && k < c->n) return k;
    if (k == 0) return c->n - 1;
    const csrec_csv_line *last = &c->field[c->n - 1];
    return has_name(last, "z") || has_name(last, "y") ? c->n - 1 : c->n;
}

static csrec_status guess_columns(const names *c, csrec_csv_columns *columns) {
    char shown[32];
    int values = 0;
    while (values < c->n && !is_value(c, values)) values++;
    for (int k = values; k < c->n; k++)
        if (!is_value(c, k))
            return fail(c, "a column that is no value stands behind the values: '",
                        csrec_csv_show(&c->field[k], shown),
                        "'; put coordinates first and name values value..., r, g, b, or choose the "
                        "columns of coordinates and values");
    if (values == c->n) values = guess_value(c);
    if (values < 1 || values == c->n || values > CSREC_DIMS_MAX)
        return fail(c, "the header needs 1 to 8 coordinates and a value column; ",
                    "write as in 'row,col,value' or 'x,y,r,g,b'", "");
    for (int k = 0; k < values; k++) columns->coordinate[columns->dims++] = k;
    for (int k = values; k < c->n; k++) columns->value[columns->values++] = k;
    return CSREC_OK;
}

/* ------------------------------------------------------------------ chosen columns ------------ */

/* The column of a name, perhaps with a unit behind it, or of a number from 1; -1: none. */
static int find_column(const names *c, const char *word) {
    char *end;
    for (int k = 0; k < c->n && c->header; k++)
        if ((size_t)(c->field[k].end - c->field[k].begin) == strlen(word) &&
            has_name(&c->field[k], word))
            return k;
    for (int k = 0; k < c->n && c->header && *word; k++)
        if (has_name(&c->field[k], word)) return k;
    long number = strtol(word, &end, 10);
    return end != word && !*end && number >= 1 && number <= c->n ? (int)number - 1 : -1;
}

/* list: names with commas between; to [most]; *taken: of all columns. */
static csrec_status choose(const names *c, const char *list, int most, bool *taken, int *to,
                           int *n) {
    char word[64], shown[32];
    for (const char *at = list;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        int k = find_column(c, word);
        if (k < 0 || taken[k] || *n == most)
            return fail(c, k < 0 ? "has no column '" : "too often a column, or too many: '",
                        csrec_csv_show(&(csrec_csv_line){word, word + strlen(word), 0}, shown),
                        c->header ? "'; choose by the names in this line"
                                  : "'; without a header columns are chosen by number, from 1");
        taken[k] = true;
        to[(*n)++] = k;
        at += length;
        if (!*at) return CSREC_OK;
    }
}

/* What is not chosen: all coordinates of known names, all columns named values, or the last one
 * that is left. */
static csrec_status choose_columns(const names *c, const csrec_read_options *options,
                                   csrec_csv_columns *s) {
    bool taken[CSREC_CSV_FIELDS] = {false};
    csrec_status status = CSREC_OK;
    int left = 0, last = 0;
    if (options->values)
        status = choose(c, options->values, CSREC_CSV_FIELDS, taken, s->value, &s->values);
    if (!status && options->coordinates)
        status = choose(c, options->coordinates, CSREC_DIMS_MAX, taken, s->coordinate, &s->dims);
    for (int k = 0; !status && !options->coordinates && k < c->n && s->dims < CSREC_DIMS_MAX; k++)
        if (c->header && !taken[k] && rank_of(&c->field[k]) != NO_RANK)
            s->coordinate[s->dims++] = k;
    for (int k = 0; !status && !options->values && k < c->n; k++) {
        if (taken[k]) continue;
        if (c->header && is_value(c, k)) s->value[s->values++] = k;
        last = k;
        left++;
    }
    if (status) return status;
    if (!s->values && left == 1) s->value[s->values++] = last;
    if (s->dims && s->values) return CSREC_OK;
    return fail(c, "does not tell which columns are ", s->dims ? "values" : "coordinates",
                "; choose them, too");
}

/* ------------------------------------------------------------------ what names mean ----------- */

/* Axes by the meaning of the names, if all are known and distinct; else as listed. */
static void order_axes(const names *c, csrec_csv_columns *s) {
    int rank[CSREC_DIMS_MAX], seen = 0;
    for (int k = 0; k < s->dims; k++) s->axis[k] = k;
    for (int k = 0; k < s->dims; k++) {
        rank[k] = rank_of(&c->field[s->coordinate[k]]);
        if (rank[k] == NO_RANK || seen & 1 << rank[k]) return;
        seen |= 1 << rank[k];
    }
    s->places = !s->numbers;
    for (int k = 0; k < s->dims; k++) {
        int faster = 0;
        for (int j = 0; j < s->dims; j++) faster += rank[j] < rank[k];
        s->axis[k] = s->dims - 1 - faster;
    }
}

/* Two values that are a real and an imaginary part become that, the real one first. */
static void join_parts(const names *c, csrec_csv_columns *s) {
    if (s->values != 2) return;
    int first = part(&c->field[s->value[0]]), second = part(&c->field[s->value[1]]);
    s->is_complex = first + second == 3;
    if (s->is_complex && first == 2) {
        int imaginary = s->value[0];
        s->value[0] = s->value[1];
        s->value[1] = imaginary;
    }
}

csrec_status csrec_csv_header(csrec_csv_line line, const csrec_read_options *options,
                              const char *name, csrec_csv_columns *columns, csrec_error *error) {
    names c = {.header = true, .name = name, .error = error};
    csrec_status status = read_names(line, columns->dialect.separator, &c);
    if (!status)
        status = options->coordinates || options->values ? choose_columns(&c, options, columns)
                                                         : guess_columns(&c, columns);
    if (status) return status;
    columns->header = line.number;
    columns->fields = c.n;
    for (int k = 0; k < columns->dims; k++) {
        const csrec_csv_line *field = &c.field[columns->coordinate[k]];
        columns->counts[k] = is_number(field);
        columns->numbers = columns->numbers || is_index(field);
    }
    order_axes(&c, columns);
    join_parts(&c, columns);
    return CSREC_OK;
}

csrec_status csrec_csv_plain(csrec_csv_line line, const csrec_read_options *options,
                             const char *name, csrec_csv_columns *columns, csrec_error *error) {
    names c = {.name = name, .error = error};
    csrec_status status = read_names(line, columns->dialect.separator, &c);
    columns->fields = c.n;
    for (int k = 0; k < CSREC_DIMS_MAX; k++) columns->axis[k] = columns->coordinate[k] = k;
    if (status || options->coordinates || options->values)
        return status ? status : choose_columns(&c, options, columns);
    columns->dims = c.n == 2 ? 1 : 2;
    columns->values = 1;
    columns->value[0] = columns->dims;
    columns->fields = columns->dims + 1;
    return CSREC_OK;
}
