/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_header.c - which columns are coordinates, of which axes, and which are values. */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "files/csv/csv.h"

enum { COLUMNS_MOST = 64, NO_RANK = -1 };

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

bool csrec_csv_is_header(csrec_csv_line line, char separator) {
    csrec_csv_line field;
    double value;
    bool named = false;
    while (csrec_csv_field(&line, separator, &field)) {
        if (csrec_csv_is_unknown(&field)) continue;
        if (csrec_csv_number(&field, &value)) return false;
        named = true;
    }
    return named;
}

/* ------------------------------------------------------------------ values ------------------- */

typedef struct {
    csrec_csv_line field[COLUMNS_MOST];
    int n;
} names;

static csrec_status fail(const char *name, int64_t line, const char *what, const char *shown,
                         csrec_error *error) {
    return csrec_fail(error, CSREC_FORMAT, "%s: line %lld: %s%s", name, (long long)line, what,
                      shown);
}

/* r alone may be a row's name; only all three are colours. */
static bool is_value(const names *c, int k) {
    const csrec_csv_line *field = &c->field[k];
    int seen = 0;
    for (int i = 0; i < c->n; i++) seen |= colour(&c->field[i]);
    return (seen == 7 && colour(field)) ||
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

/* Axes by the meaning of the names, if all are known and distinct; else as listed. */
static void order_axes(const names *c, csrec_csv_columns *columns) {
    int seen = 0;
    for (int k = 0; k < columns->dims; k++) columns->axis[k] = k;
    for (int k = 0; k < columns->dims; k++) {
        int rank = rank_of(&c->field[k]);
        if (rank == NO_RANK || seen & 1 << rank) return;
        seen |= 1 << rank;
    }
    for (int k = 0; k < columns->dims; k++) {
        int faster = 0;
        for (int j = 0; j < columns->dims; j++)
            faster += rank_of(&c->field[j]) < rank_of(&c->field[k]);
        columns->axis[k] = columns->dims - 1 - faster;
    }
}

csrec_status csrec_csv_header(csrec_csv_line line, const char *name, csrec_csv_columns *columns,
                              csrec_error *error) {
    names c = {.n = 0};
    csrec_csv_line field;
    char shown[32];
    int64_t number = line.number;
    for (; csrec_csv_field(&line, columns->separator, &field); c.field[c.n++] = field)
        if (c.n == COLUMNS_MOST)
            return fail(name, number, "more than 64 columns have names; remove this line ",
                        "if it heads a matrix", error);
    int values = 0;
    while (values < c.n && !is_value(&c, values)) values++;
    for (int k = values; k < c.n; k++)
        if (!is_value(&c, k))
            return csrec_fail(error, CSREC_FORMAT,
                              "%s: line %lld: a column that is no value stands behind the values: "
                              "'%s'; put coordinates first and name values value..., r, g, b",
                              name, (long long)number, csrec_csv_show(&c.field[k], shown));
    if (values == c.n) values = guess_value(&c);
    if (values < 1 || values == c.n || values > CSREC_DIMS_MAX)
        return fail(name, number, "the header needs 1 to 8 coordinates and a value column; ",
                    "write as in 'row,col,value' or 'x,y,r,g,b'", error);
    columns->dims = values;
    columns->channels = c.n - values;
    columns->header = number;
    for (int k = 0; k < values; k++) columns->counts[k] = is_number(&c.field[k]);
    order_axes(&c, columns);
    return CSREC_OK;
}
