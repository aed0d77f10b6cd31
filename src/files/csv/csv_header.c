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
    int64_t length = field->end - field->begin;
    return is_number(field) ||
           (length > 0 && length < 3 && strchr("ijkrc", *field->begin | 32) &&
            (length == 1 || (field->begin[1] >= '0' && field->begin[1] <= '9')));
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

/* 1, 2 for the names of the real and the imaginary part, else 0. */
static int part(const csrec_csv_line *field) {
    if (has_name(field, "re") || has_name(field, "real")) return 1;
    return has_name(field, "im") || has_name(field, "imag") || has_name(field, "imaginary") ? 2 : 0;
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
    int64_t n = csrec_csv_split(line, separator, c->field);
    if (n > CSREC_CSV_FIELDS)
        return fail(c, "more than 256 columns have names; remove this line if it heads a matrix",
                    "", "");
    c->n = (int)n;
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

static bool is_coordinate(const csrec_csv_line *field) {
    return rank_of(field) != NO_RANK || is_index(field);
}

csrec_csv_told csrec_csv_names_tell(csrec_csv_line line, char separator) {
    names c = {.header = true, .name = ""};
    int values = 0, places = 0;
    if (read_names(line, separator, &c)) return CSREC_CSV_NOTHING;
    for (int k = 0; k < c.n; k++) {
        values += is_value(&c, k);
        /* In a table C is a column like A and B. */
        places +=
            !is_value(&c, k) && (k ? rank_of(&c.field[k]) != NO_RANK : is_coordinate(&c.field[k]));
    }
    if (values == c.n) return CSREC_CSV_VALUES;
    return places || values ? CSREC_CSV_PLACES : CSREC_CSV_NOTHING;
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
                        "columns of coordinates and values (--coordinates, --values)");
    columns->guessed = values == c->n;
    if (columns->guessed) values = guess_value(c);
    if (values < 1 || values == c->n || values > CSREC_DIMS_MAX)
        return fail(c, "the header needs 1 to 8 coordinates and a value column; ",
                    "write as in 'row,col,value' or 'x,y,r,g,b'",
                    ", or choose columns (--coordinates, --values)");
    bool placed = true;
    for (int k = 0; k < values; k++) columns->coordinate[columns->dims++] = k;
    for (int k = 0; k < values; k++) placed = placed && is_coordinate(&c->field[k]);
    columns->guessed = columns->guessed && !placed;
    for (int k = values; k < c->n; k++) columns->value[columns->values++] = k;
    return CSREC_OK;
}

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
            return fail(c, k < 0 ? "has no column '" : "chosen twice, or one too many: '",
                        csrec_csv_show(&(csrec_csv_line){word, word + strlen(word), 0}, shown),
                        c->header ? "'; choose by the names in this line"
                                  : "'; without a header columns are chosen by number, from 1");
        taken[k] = true;
        to[(*n)++] = k;
        at += length;
        if (!*at) return CSREC_OK;
    }
}

/* Without a choice of coordinates they are all other columns that have known names. */
static csrec_status choose_columns(const names *c, const csrec_read_options *options,
                                   csrec_csv_columns *s) {
    bool taken[CSREC_CSV_FIELDS] = {false};
    if (!options->values)
        return fail(c, "choose columns of values (--values), ", "as of coordinates", "");
    csrec_status status = choose(c, options->values, CSREC_CSV_FIELDS, taken, s->value, &s->values);
    if (!status && options->coordinates)
        status = choose(c, options->coordinates, CSREC_DIMS_MAX, taken, s->coordinate, &s->dims);
    if (status || options->coordinates) return status;
    for (int k = 0; k < c->n && s->dims < CSREC_DIMS_MAX && c->header; k++)
        if (!taken[k] && rank_of(&c->field[k]) != NO_RANK) s->coordinate[s->dims++] = k;
    return s->dims ? CSREC_OK
                   : fail(c, "no column has the name of a coordinate",
                          "; choose them, too (--coordinates)", "");
}

/* Axes by the meaning of the names, if all are known and distinct; else as listed. */
static void order_axes(const names *c, csrec_csv_columns *s) {
    int rank[CSREC_DIMS_MAX], seen = 0;
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

/* The names of the columns in use, coordinates first. */
static void keep_names(const names *c, csrec_csv_columns *s) {
    const char separator = s->dialect.separator;
    size_t used = 0, room = sizeof s->names;
    for (int k = 0; k < s->dims + s->values && used < room; k++) {
        const csrec_csv_line *f = &c->field[k < s->dims ? s->coordinate[k] : s->value[k - s->dims]];
        int length = (int)(f->end - f->begin);
        const char *quote = memchr(f->begin, separator, (size_t)length) ? "\"" : "";
        used += (size_t)snprintf(s->names + used, room - used, "%.*s%s%.*s%s", k > 0, &separator,
                                 quote, length, f->begin, quote);
    }
    if (used >= room) s->names[0] = '\0';
}

/* Lines without names: row,col,value or i,value. */
static void default_columns(csrec_csv_columns *s) {
    s->dims = s->fields == 2 ? 1 : 2;
    s->fields = s->dims + 1;
    s->coordinate[1] = 1;
    s->value[s->values++] = s->dims;
}

csrec_status csrec_csv_find_columns(csrec_csv_line line, const csrec_read_options *options,
                                    const char *name, csrec_csv_columns *s, csrec_error *error) {
    *s = (csrec_csv_columns){.dialect = {csrec_csv_separator(&line), 0}};
    names c = {
        .header = csrec_csv_is_header(line, s->dialect.separator), .name = name, .error = error};
    csrec_status status = read_names(line, s->dialect.separator, &c);
    if (status) return status;
    s->fields = c.n;
    if (options->coordinates || options->values)
        status = choose_columns(&c, options, s);
    else if (c.header)
        status = guess_columns(&c, s);
    else
        default_columns(s);
    if (status) return status;
    for (int k = 0; k < s->dims; k++) s->axis[k] = k;
    if (!c.header) return CSREC_OK;
    s->header = line.number;
    s->heading = line;
    for (int k = 0; k < s->dims; k++) {
        s->counts[k] = is_number(&c.field[s->coordinate[k]]);
        s->numbers = s->numbers || is_index(&c.field[s->coordinate[k]]);
    }
    order_axes(&c, s);
    join_parts(&c, s);
    keep_names(&c, s);
    return CSREC_OK;
}
