/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_list.c - from lines of coordinates and values to samples, in two passes: the first finds the
 * table's size and shape, so that the second fills arrays of the right size. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files/csv/csv.h"
#include "files/measurement.h"

typedef struct {
    const char *name;
    csrec_error *error;
    const csrec_read_options *options;
    csrec_csv_cursor start; /* of the text */
    csrec_csv_columns columns;
    bool real; /* a coordinate is no whole number from 0 */
    int64_t n;
    csrec_shape declared; /* dims = 0: no shape comment */
    csrec_shape shape;
    /* Of whole coordinates by column: the first, the least, and what divides their differences. */
    int64_t first[CSREC_DIMS_MAX], least[CSREC_DIMS_MAX], step[CSREC_DIMS_MAX];
} table;

/* So many samples seldom have a step, or lie far from 0, by chance. */
enum { MANY = 16 };
/* Positions of so many entries, and so many for each sample, would be strange. */
static const double entries_most = 0x1p24, entries_for_each = 1024.0;

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
    csrec_csv_dialect dialect = {separator, 0};
    csrec_shape shape = {0};
    int64_t count;
    for (; csrec_csv_field(&line, separator, &field); shape.dims++)
        if (shape.dims == CSREC_DIMS_MAX ||
            !csrec_csv_integer(&field, &dialect, &shape.dim[shape.dims]))
            return bad_line(t, number, "the shape is not a list of at most 8 whole numbers", "",
                            "write as in '# shape: 480,640'");
    if (shape.dims == 0 || csrec_shape_count(&shape, &count) != CSREC_OK)
        return bad_line(t, number, "the shape has an extent of 0 or more than 2^62 entries", "",
                        "write as in '# shape: 480,640'");
    t->declared = shape;
    return CSREC_OK;
}

static csrec_status take_fields(const table *t, csrec_csv_line line,
                                csrec_csv_line fields[CSREC_CSV_FIELDS]) {
    int64_t n = csrec_csv_split(line, t->columns.dialect.separator, fields);
    if (n == t->columns.fields) return CSREC_OK;
    return bad_line(t, line.number, n < t->columns.fields ? "too few columns" : "too many columns",
                    "",
                    t->columns.header ? "each line needs the columns of the header"
                                      : "name the columns in a header such as 'row,col,r,g,b'");
}

/* A coordinate is a whole number from 0, or a finite number; of a column that numbers cells 1.0 is
 * whole, too. */
static csrec_status take_coordinate(table *t, int column, const csrec_csv_line *field,
                                    int64_t *whole, double *real) {
    *whole = -1;
    if (csrec_csv_integer(field, &t->columns.dialect, whole))
        *real = (double)*whole;
    else if (!csrec_csv_number(field, &t->columns.dialect, real) || !isfinite(*real))
        return csrec_csv_refuse(t->name, t->columns.heading, t->columns.dialect.separator, field,
                                t->columns.coordinate[column], "coordinate",
                                t->columns.header
                                    ? "coordinates are " CSREC_CSV_NUMBERS CSREC_CSV_CHOICE
                                    : "coordinates are numbers (without a header the columns are "
                                      "row,col,value)" CSREC_CSV_CHOICE,
                                t->error);
    char shown[32];
    if (fabs(*real) >= 0x1p53)
        return bad_line(t, field->number, "coordinate", csrec_csv_show(field, shown),
                        "numbers below 2^53 are places; use other units");
    if (t->columns.counts[column] && *real >= 0.0 && *real == floor(*real)) *whole = (int64_t)*real;
    return CSREC_OK;
}

static csrec_status check_declared(table *t, const csrec_csv_line *field, int axis,
                                   int64_t position) {
    char shown[32];
    if (t->declared.dims == 0) return CSREC_OK;
    if (position < 0)
        return bad_line(t, field->number, "coordinate", csrec_csv_show(field, shown),
                        "with a shape comment, coordinates are whole numbers from 0");
    if (position < t->declared.dim[axis]) return CSREC_OK;
    return csrec_fail(t->error, CSREC_DATA,
                      "%s: line %lld: coordinate %lld is outside the shape's extent %lld; mend the "
                      "line or the shape comment",
                      t->name, (long long)field->number, (long long)position,
                      (long long)t->declared.dim[axis]);
}

/* A column that numbers cells has whole numbers from 0, unless a grid is asked for. */
static csrec_status check_counted(const table *t, const csrec_csv_line *field, int column,
                                  int64_t position) {
    char shown[32];
    if (position >= 0 || !t->columns.counts[column] || t->options->grid) return CSREC_OK;
    return bad_line(t, field->number, "coordinate", csrec_csv_show(field, shown),
                    "rows, columns and the like are numbered 0, 1, 2, ...; call coordinates of "
                    "places x and y, or give a grid");
}

static int64_t divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static csrec_status measure_line(table *t, csrec_csv_line line) {
    csrec_csv_line fields[CSREC_CSV_FIELDS];
    int64_t whole;
    double real;
    CSREC_TRY(take_fields(t, line, fields));
    for (int d = 0; d < t->columns.dims; d++) {
        const csrec_csv_line *field = &fields[t->columns.coordinate[d]];
        int axis = t->columns.axis[d];
        CSREC_TRY(take_coordinate(t, d, field, &whole, &real));
        CSREC_TRY(check_declared(t, field, axis, whole));
        CSREC_TRY(check_counted(t, field, d, whole));
        t->real = t->real || whole < 0;
        if (t->n == 0) t->first[d] = t->least[d] = whole;
        if (whole < t->least[d]) t->least[d] = whole;
        t->step[d] = divisor(t->step[d], llabs(whole - t->first[d]));
        if (whole >= t->shape.dim[axis]) t->shape.dim[axis] = whole + 1;
    }
    t->n++;
    return CSREC_OK;
}

/* Whether coordinates are places, not positions. Whole numbers from 0 are positions, unless a grid
 * is asked for, or they are like the metres of a map: far from 0; of far more entries than samples;
 * or with a common step, either in columns that have names of places or beginning beyond it. Names
 * of indices and a shape comment make positions. *stepped: without them, and positions all the
 * same, numbers have a step. */
static bool are_places(const table *t, bool *stepped) {
    const csrec_csv_columns *c = &t->columns;
    double entries = 1.0;
    bool far = false, beyond = false, spread = false;
    *stepped = false;
    if (t->real || t->options->grid) return true;
    if (t->declared.dims || c->numbers) return false;
    bool all = t->n >= MANY;
    for (int d = 0; d < c->dims; d++) {
        int64_t least = t->least[d], range = t->shape.dim[c->axis[d]] - 1 - least;
        entries *= (double)(range + least) + 1.0;
        if (range == 0) continue;
        spread = true;
        far = far || (least > range && (t->n >= MANY || least >= 1000));
        beyond = beyond || least >= t->step[d];
        all = all && t->step[d] > 1;
    }
    all = all && spread;
    bool places = far || entries > fmax(entries_most, entries_for_each * (double)t->n) ||
                  (all && (c->places || beyond));
    *stepped = all && !places;
    return places;
}

/* The shape of samples at positions: that of the comment, else the largest plus one. */
static csrec_status conclude_shape(table *t) {
    int64_t entries;
    t->shape.dims = t->columns.dims;
    if (t->declared.dims) t->shape = t->declared;
    if (csrec_shape_count(&t->shape, &entries) != CSREC_OK)
        return csrec_fail(t->error, CSREC_DATA,
                          "%s: the largest coordinates make a signal of more than 2^62 entries; "
                          "check the coordinates",
                          t->name);
    return CSREC_OK;
}

/* The comments, wherever they are. */
static csrec_status read_comments(table *t) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    csrec_status status = CSREC_OK;
    while (!status && csrec_csv_next(&cursor, &line))
        if (csrec_csv_is_comment(line)) status = take_comment(t, line);
    return status;
}

/* First pass: columns, shape, n. */
static csrec_status measure(table *t) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    csrec_status status = read_comments(t);
    while (!status && csrec_csv_next_data(&cursor, &line)) {
        if (t->columns.dims == 0)
            status = csrec_csv_find_columns(line, t->options, t->name, &t->columns, t->error);
        if (!status && t->declared.dims && t->declared.dims != t->columns.dims)
            return csrec_fail(t->error, CSREC_DATA,
                              "%s: the shape comment has %d extents but lines have %d coordinates; "
                              "make them agree",
                              t->name, t->declared.dims, t->columns.dims);
        if (!status && line.number != t->columns.header) status = measure_line(t, line);
    }
    if (status || t->n) return status;
    if (t->columns.header)
        return bad_line(t, t->columns.header, "names columns, but no samples follow", "",
                        "write lines 'row,col,value'");
    return csrec_fail(t->error, CSREC_DATA, "%s: holds no samples; write lines 'row,col,value'",
                      t->name);
}

/* A sample: its position, or its coordinates, and its values, NaN where unknown. */
static csrec_status take_sample(table *t, csrec_csv_line line, int64_t *position, double *at,
                                double *y) {
    csrec_csv_line fields[CSREC_CSV_FIELDS];
    char shown[32];
    csrec_csv_columns *columns = &t->columns;
    csrec_status status = take_fields(t, line, fields);
    for (int d = 0; d < columns->dims && !status; d++)
        status = take_coordinate(t, d, &fields[columns->coordinate[d]], &position[columns->axis[d]],
                                 &at[columns->axis[d]]);
    for (int c = 0; c < columns->values && !status; c++) {
        const csrec_csv_line *field = &fields[columns->value[c]];
        if (csrec_csv_is_unknown(field))
            y[c] = NAN;
        else if (!csrec_csv_number(field, &columns->dialect, &y[c]))
            status = csrec_csv_refuse(t->name, columns->heading, columns->dialect.separator, field,
                                      columns->value[c], "value",
                                      "values are " CSREC_CSV_NUMBERS CSREC_CSV_CHOICE, t->error);
        else if (!isfinite(y[c]))
            status = csrec_fail(t->error, CSREC_DATA,
                                "%s: line %lld: value '%s' is not finite; leave the sample out",
                                t->name, (long long)line.number, csrec_csv_show(field, shown));
        else if (t->options->has_unknown && y[c] == t->options->unknown)
            y[c] = NAN;
    }
    if (columns->is_complex && (isnan(y[0]) || isnan(y[1]))) y[0] = y[1] = NAN;
    return status;
}

/* Fills index with the samples that have a value, or coordinates with all, and y; m->n is their
 * number. Stops behind sample `last`, whose line is *number. */
static csrec_status fill(table *t, csrec_measurement *m, double *coordinates, int64_t last,
                         int64_t *number) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    double at[CSREC_DIMS_MAX];
    int64_t position[CSREC_DIMS_MAX];
    csrec_status status = CSREC_OK;
    int dims = t->columns.dims, values = t->columns.values;
    for (m->n = 0; !status && m->n <= last && csrec_csv_next_data(&cursor, &line);) {
        if (line.number == t->columns.header) continue;
        *number = line.number;
        status = take_sample(t, line, position, at, &m->y[m->n * values]);
        if (status) break;
        if (coordinates)
            memcpy(&coordinates[m->n * dims], at, (size_t)dims * sizeof *at);
        else if (!csrec_csv_has_value(&m->y[m->n * values], values))
            continue;
        m->index[m->n] = 0;
        for (int d = 0; d < dims && !coordinates; d++)
            m->index[m->n] = m->index[m->n] * t->shape.dim[d] + position[d];
        m->n++;
    }
    return status;
}

static csrec_status check_repeats(table *t, csrec_measurement *m) {
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

static csrec_status take_samples(table *t, double *coordinates, csrec_placement *placement,
                                 csrec_measurement *m) {
    int64_t line;
    csrec_status status = csrec_measurement_allocate(m, t->name, t->error);
    if (!status) status = fill(t, m, coordinates, INT64_MAX - 1, &line);
    if (!status && coordinates)
        status = csrec_csv_place(coordinates, t->columns.dims, t->options, t->name, m, placement,
                                 t->error);
    if (!status && m->n == 0)
        status = csrec_fail(t->error, CSREC_DATA,
                            "%s: no line has a known value; give at least one a number", t->name);
    if (!status && !coordinates) status = check_repeats(t, m);
    if (status) csrec_measurement_clear(m);
    return status;
}

static csrec_status parse(table *t, csrec_measurement *m) {
    csrec_placement placement = {.dims = 0};
    csrec_csv_columns *columns = &t->columns;
    double *coordinates = NULL;
    csrec_status status = measure(t);
    if (status) return status;
    const bool places = are_places(t, &placement.stepped);
    if (!places) status = conclude_shape(t);
    if (status) return status;
    /* Files of points list x before y. */
    for (int d = 0; d < columns->dims && places && !columns->header; d++)
        columns->axis[d] = columns->dims - 1 - d;
    placement.whole = places && !t->real && !t->options->grid;
    if (places) {
        uint64_t bytes = (uint64_t)t->n * (uint64_t)columns->dims * sizeof *coordinates;
        coordinates = malloc((size_t)bytes);
        if (!coordinates) return csrec_memory_fail(t->error, t->name);
    }
    *m = (csrec_measurement){.shape = t->shape,
                             .n = t->n,
                             .channels = columns->is_complex ? 1 : columns->values,
                             .is_complex = columns->is_complex,
                             .dtype = CSREC_F64};
    status = take_samples(t, coordinates, &placement, m);
    free(coordinates);
    if (status || !t->options->placement) return status;
    placement.guessed = columns->guessed;
    placement.list =
        (csrec_list){.dims = columns->dims,
                     .separator = columns->dialect.separator,
                     .decimal = columns->dialect.decimal ? columns->dialect.decimal : '.'};
    memcpy(placement.list.axis, columns->axis, sizeof columns->axis);
    memcpy(placement.list.header, columns->names, sizeof columns->names);
    *t->options->placement = placement;
    return CSREC_OK;
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
    if (!csrec_csv_locale_enter(&locale)) return csrec_memory_fail(error, name);
    csrec_status status = parse(&t, &result);
    csrec_csv_locale_leave(&locale);
    if (!status) *measurement = result;
    return status;
}
