/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_list.c - from lines of coordinates and values to samples, in two passes: the first finds the
 * table's size and shape, so that the second fills arrays of the right size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "files/csv/csv.h"
#include "files/measurement.h"

typedef struct {
    const char *name;
    csrec_error *error;
    const csrec_read_options *options;
    csrec_csv_cursor start; /* of the text */
    csrec_csv_columns columns;
    bool real; /* coordinates are numbers to be placed on a grid */
    int64_t n;
    csrec_shape declared; /* dims = 0: no shape comment */
    csrec_shape shape;
} table;

static csrec_status bad_line(const table *t, int64_t line, const char *what, const char *shown,
                             const char *remedy) {
    return csrec_fail(t->error, CSREC_FORMAT, "%s: line %lld: %s%s%s%s; %s", t->name,
                      (long long)line, what, *shown ? " '" : "", shown, *shown ? "'" : "", remedy);
}

/* "# shape: H,W" */
static csrec_status take_comment(table *t, csrec_csv_line line) {
    static const char key[] = "shape:";
    csrec_csv_line field;
    int64_t number = line.number;
    line.begin = (const char *)memchr(line.begin, '#', (size_t)(line.end - line.begin)) + 1;
    while (line.begin < line.end && *line.begin == ' ') line.begin++;
    if ((size_t)(line.end - line.begin) < sizeof key - 1 ||
        strncasecmp(line.begin, key, sizeof key - 1) != 0)
        return CSREC_OK;
    line.begin += sizeof key - 1;
    char separator = csrec_csv_separator(&line);
    csrec_shape shape = {0};
    int64_t count;
    for (; csrec_csv_field(&line, separator, &field); shape.dims++)
        if (shape.dims == CSREC_DIMS_MAX || !csrec_csv_integer(&field, &shape.dim[shape.dims]))
            return bad_line(t, number, "the shape is not a list of at most 8 whole numbers", "",
                            "write as in '# shape: 480,640'");
    if (shape.dims == 0 || csrec_shape_count(&shape, &count) != CSREC_OK)
        return bad_line(t, number, "the shape has an extent of 0 or more than 2^62 entries", "",
                        "write as in '# shape: 480,640'");
    t->declared = shape;
    return CSREC_OK;
}

/* The first line that is no comment. */
static csrec_status take_first(table *t, csrec_csv_line line) {
    t->columns = (csrec_csv_columns){
        .separator = csrec_csv_separator(&line), .dims = 2, .channels = 1, .axis = {0, 1}};
    if (!csrec_csv_is_header(line, t->columns.separator)) return CSREC_OK;
    return csrec_csv_header(line, t->name, &t->columns, t->error);
}

/* A coordinate is a whole number from 0, or a finite number; of a column that numbers cells 1.0 is
 * whole, too. */
static csrec_status take_coordinate(const table *t, int column, csrec_csv_line *line,
                                    csrec_csv_line *field, int64_t *whole, double *real) {
    char shown[32];
    if (!csrec_csv_field(line, t->columns.separator, field))
        return bad_line(t, line->number, "too few columns", "",
                        "write a coordinate for each axis and a value for each channel");
    *whole = -1;
    if (csrec_csv_integer(field, whole)) {
        *real = (double)*whole;
        return CSREC_OK;
    }
    if (!csrec_csv_number(field, real) || !isfinite(*real))
        return bad_line(t, line->number, "coordinate", csrec_csv_show(field, shown),
                        t->columns.header ? "coordinates are numbers"
                                          : "coordinates are numbers (without a header the columns "
                                            "are row,col,value)");
    if (fabs(*real) >= 0x1p53)
        return bad_line(t, line->number, "coordinate", csrec_csv_show(field, shown),
                        "numbers below 2^53 are places; use other units");
    if (t->columns.counts[column] && *real >= 0.0 && *real == floor(*real)) *whole = (int64_t)*real;
    return CSREC_OK;
}

static csrec_status check_declared(table *t, const csrec_csv_line *line,
                                   const csrec_csv_line *field, int axis, int64_t position) {
    char shown[32];
    if (t->declared.dims == 0 || t->declared.dims != t->columns.dims) return CSREC_OK;
    if (position < 0)
        return bad_line(t, line->number, "coordinate", csrec_csv_show(field, shown),
                        "with a shape comment, coordinates are whole numbers from 0");
    if (position < t->declared.dim[axis]) return CSREC_OK;
    return csrec_fail(t->error, CSREC_DATA,
                      "%s: line %lld: coordinate %lld is outside the shape's extent %lld; mend the "
                      "line or the shape comment",
                      t->name, (long long)line->number, (long long)position,
                      (long long)t->declared.dim[axis]);
}

/* A column that numbers cells has whole numbers from 0, unless a grid is asked for. */
static csrec_status check_counted(const table *t, const csrec_csv_line *line,
                                  const csrec_csv_line *field, int column, int64_t position) {
    char shown[32];
    if (position >= 0 || !t->columns.counts[column] || t->options->grid) return CSREC_OK;
    return bad_line(t, line->number, "coordinate", csrec_csv_show(field, shown),
                    "rows, columns and the like are numbered 0, 1, 2, ...; call coordinates of "
                    "places x and y, or give a grid");
}

static csrec_status measure_line(table *t, csrec_csv_line line) {
    csrec_csv_line field;
    int columns = 0;
    int64_t whole;
    double real;
    for (int d = 0; d < t->columns.dims; d++) {
        int axis = t->columns.axis[d];
        csrec_status status = take_coordinate(t, d, &line, &field, &whole, &real);
        if (!status) status = check_declared(t, &line, &field, axis, whole);
        if (!status) status = check_counted(t, &line, &field, d, whole);
        if (status) return status;
        t->real = t->real || whole < 0;
        /* CSREC_DATA follows from csrec_shape_count where + 1 leaves the range. */
        if (whole >= t->shape.dim[axis]) t->shape.dim[axis] = whole + 1;
    }
    while (columns <= t->columns.channels && csrec_csv_field(&line, t->columns.separator, &field))
        columns++;
    if (columns != t->columns.channels)
        return bad_line(t, line.number,
                        columns < t->columns.channels ? "too few columns" : "too many columns", "",
                        t->columns.header ? "each line needs the columns of the header"
                                          : "name the columns in a header such as 'row,col,r,g,b'");
    t->n++;
    return CSREC_OK;
}

/* The shape of samples at whole numbers: that of the comment, else the largest plus one. */
static csrec_status conclude_shape(table *t) {
    int64_t entries;
    /* Samples before a late shape comment were not yet checked against that shape. */
    for (int d = 0; d < t->declared.dims; d++)
        if (t->shape.dim[d] > t->declared.dim[d])
            return csrec_fail(t->error, CSREC_DATA,
                              "%s: coordinate %lld is outside the extent %lld of the shape "
                              "comment; mend the line or the shape comment",
                              t->name, (long long)t->shape.dim[d] - 1,
                              (long long)t->declared.dim[d]);
    t->shape.dims = t->columns.dims;
    if (t->declared.dims) t->shape = t->declared;
    if (csrec_shape_count(&t->shape, &entries) != CSREC_OK)
        return csrec_fail(t->error, CSREC_DATA,
                          "%s: the largest coordinates make a signal of more than 2^62 entries; "
                          "check the coordinates",
                          t->name);
    return CSREC_OK;
}

/* First pass: separator, columns, shape, n. */
static csrec_status measure(table *t) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    csrec_status status = CSREC_OK;
    while (!status && csrec_csv_next(&cursor, &line)) {
        if (csrec_csv_is_comment(line)) {
            status = take_comment(t, line);
            continue;
        }
        if (t->columns.dims == 0) status = take_first(t, line);
        if (!status && line.number != t->columns.header) status = measure_line(t, line);
    }
    if (status) return status;
    if (t->n == 0 && t->columns.header)
        return bad_line(t, t->columns.header, "names columns, but no samples follow", "",
                        "write lines 'row,col,value'");
    if (t->n == 0)
        return csrec_fail(t->error, CSREC_DATA, "%s: holds no samples; write lines 'row,col,value'",
                          t->name);
    if (t->declared.dims && t->declared.dims != t->columns.dims)
        return csrec_fail(
            t->error, CSREC_DATA,
            "%s: the shape comment has %d extents but lines have %d coordinates; make them agree",
            t->name, t->declared.dims, t->columns.dims);
    if (t->real && t->declared.dims)
        return csrec_fail(t->error, CSREC_DATA,
                          "%s: coordinates are not all whole numbers from 0, as the shape comment "
                          "needs; remove the comment, and give a grid",
                          t->name);
    /* Files of points list x before y. */
    if (t->real && !t->columns.header) t->columns.axis[0] = 1, t->columns.axis[1] = 0;
    return CSREC_OK;
}

/* ------------------------------------------------------------------ second pass --------------- */

/* A sample: its position, or its coordinates; known: all its values are. */
typedef struct {
    int64_t position[CSREC_DIMS_MAX];
    double coordinate[CSREC_DIMS_MAX];
    bool known;
} sample;

static csrec_status take_sample(const table *t, csrec_csv_line line, sample *s, double *y) {
    csrec_csv_line field;
    char shown[32];
    s->known = true;
    for (int d = 0; d < t->columns.dims; d++) {
        int axis = t->columns.axis[d];
        csrec_status status =
            take_coordinate(t, d, &line, &field, &s->position[axis], &s->coordinate[axis]);
        if (status) return status;
    }
    for (int c = 0; c < t->columns.channels; c++) {
        csrec_csv_field(&line, t->columns.separator, &field);
        if (csrec_csv_is_unknown(&field))
            s->known = false;
        else if (!csrec_csv_number(&field, &y[c]))
            return bad_line(t, line.number, "value", csrec_csv_show(&field, shown),
                            "values are numbers with a decimal point");
        else if (!isfinite(y[c]))
            return csrec_fail(t->error, CSREC_DATA,
                              "%s: line %lld: value '%s' is not finite; leave the sample out",
                              t->name, (long long)line.number, csrec_csv_show(&field, shown));
    }
    return CSREC_OK;
}

/* Fills index, or else coordinates, and y, with the known samples; m->n is their number. Stops
 * behind sample `last`, whose line is *number. */
static csrec_status fill(const table *t, csrec_measurement *m, double *coordinates, int64_t last,
                         int64_t *number) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    sample s;
    csrec_status status = CSREC_OK;
    int dims = t->columns.dims;
    for (m->n = 0; !status && m->n <= last && csrec_csv_next_data(&cursor, &line);) {
        if (line.number == t->columns.header) continue;
        *number = line.number;
        status = take_sample(t, line, &s, &m->y[m->n * m->channels]);
        if (status || !s.known) continue;
        if (coordinates)
            memcpy(&coordinates[m->n * dims], s.coordinate, (size_t)dims * sizeof *coordinates);
        else {
            m->index[m->n] = 0;
            for (int d = 0; d < dims; d++)
                m->index[m->n] = m->index[m->n] * t->shape.dim[d] + s.position[d];
        }
        m->n++;
    }
    return status;
}

static csrec_status check_repeats(const table *t, csrec_measurement *m) {
    int64_t entries, fault, line = 0, n = m->n;
    csrec_shape_count(&t->shape, &entries);
    csrec_status status = csrec_positions_check(n, m->index, entries, &fault);
    if (status == CSREC_DATA) {
        fill(t, m, NULL, fault, &line);
        return csrec_fail(
            t->error, status,
            "%s: line %lld: the position is that of an earlier line; keep one of them", t->name,
            (long long)line);
    }
    if (status) csrec_fail(t->error, status, "%s: out of memory", t->name);
    return status;
}

static csrec_status place(const table *t, const double *coordinates, csrec_measurement *m) {
    csrec_placement placement = {.dims = 0};
    const csrec_shape *grid = t->options->grid;
    csrec_status status =
        csrec_csv_place(coordinates, t->columns.dims, grid, t->name, m, &placement, t->error);
    if (!status && t->options->placement) *t->options->placement = placement;
    return status;
}

static csrec_status take_samples(table *t, bool real, double *coordinates, csrec_measurement *m) {
    int64_t line;
    csrec_status status = csrec_measurement_allocate(m, t->name, t->error);
    if (!status) status = fill(t, m, coordinates, INT64_MAX - 1, &line);
    if (!status && m->n == 0)
        status = csrec_fail(t->error, CSREC_DATA,
                            "%s: no line has a known value; give at least one a number", t->name);
    if (!status) status = real ? place(t, coordinates, m) : check_repeats(t, m);
    if (status) csrec_measurement_clear(m);
    return status;
}

static csrec_status parse(table *t, csrec_measurement *m) {
    double *coordinates = NULL;
    csrec_status status = measure(t);
    bool real = t->real || t->options->grid;
    if (!status && !real) status = conclude_shape(t);
    if (status) return status;
    if (real) {
        uint64_t bytes = (uint64_t)t->n * (uint64_t)t->columns.dims * sizeof *coordinates;
        coordinates = malloc((size_t)bytes);
        if (!coordinates) return csrec_fail(t->error, CSREC_MEMORY, "%s: out of memory", t->name);
    }
    *m = (csrec_measurement){
        .shape = t->shape, .n = t->n, .channels = t->columns.channels, .dtype = CSREC_F64};
    status = take_samples(t, real, coordinates, m);
    free(coordinates);
    return status;
}

csrec_status csrec_csv_parse(const char *text, uint64_t size, const char *name,
                             const csrec_read_options *options, csrec_measurement *measurement,
                             csrec_error *error) {
    static const csrec_read_options defaults = {0};
    table t = {.name = name,
               .error = error,
               .options = options ? options : &defaults,
               .start = csrec_csv_start(text, size)};
    csrec_measurement result;
    csrec_csv_locale locale;
    if (!csrec_csv_locale_enter(&locale))
        return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    csrec_status status = parse(&t, &result);
    csrec_csv_locale_leave(&locale);
    if (!status) *measurement = result;
    return status;
}
