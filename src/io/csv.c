/* csv.c - from CSV text to samples, in two passes: the first finds the table's size and shape, so
 * that the second fills arrays of the right size. */
#define _XOPEN_SOURCE 700 /* uselocale */
#include "io/csv.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/format.h"
#include "io/measurement.h"

typedef struct {
    const char *name;
    csrec_error *error;
    csrec_csv_cursor start; /* of the text */
    int64_t header;         /* line of the header, 0 without one */
    char separator;
    int dims, channels;
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

static bool is_comment(csrec_csv_line line) {
    while (line.begin < line.end && (*line.begin == ' ' || *line.begin == '\t')) line.begin++;
    return line.begin < line.end && *line.begin == '#';
}

/* 1, 2, 4 for the colours' names, else 0. */
static int colour(const csrec_csv_line *field) {
    if (field->end - field->begin != 1) return 0;
    switch (*field->begin | 32) { /* lower case */
    case 'r':
        return 1;
    case 'g':
        return 2;
    case 'b':
        return 4;
    default:
        return 0;
    }
}

/* r alone may be a row's name; only all three are colours. */
static bool has_colours(const table *t, csrec_csv_line line) {
    csrec_csv_line field;
    int seen = 0;
    while (csrec_csv_field(&line, t->separator, &field)) seen |= colour(&field);
    return seen == 7;
}

static bool names_value(const csrec_csv_line *field, bool colours) {
    return (field->end - field->begin >= 5 && strncasecmp(field->begin, "value", 5) == 0) ||
           (colours && colour(field));
}

static csrec_status take_header(table *t, csrec_csv_line line) {
    csrec_csv_line field;
    int64_t number = line.number;
    char shown[32];
    bool colours = has_colours(t, line);
    t->dims = t->channels = 0;
    while (csrec_csv_field(&line, t->separator, &field)) {
        bool value = names_value(&field, colours);
        if (!value && t->channels > 0)
            return bad_line(t, number,
                            "a coordinate stands behind the values:", csrec_csv_show(&field, shown),
                            "put coordinates first and name values value..., r, g, b");
        if (value && t->channels == INT32_MAX) break;
        *(value ? &t->channels : &t->dims) += 1;
    }
    if (t->channels == 0 || t->dims == 0 || t->dims > CSREC_DIMS_MAX)
        return bad_line(t, number, "the header needs 1 to 8 coordinates and a value column", "",
                        "write as in 'row,col,value' or 'row,col,r,g,b'");
    t->header = number;
    return CSREC_OK;
}

/* The first line that is no comment: a header unless its first field starts like a number. */
static csrec_status take_first(table *t, csrec_csv_line line) {
    csrec_csv_line copy = line, field;
    t->separator = csrec_csv_separator(&line);
    if (!csrec_csv_field(&copy, t->separator, &field) || field.begin == field.end ||
        !strchr("+-.0123456789", *field.begin) || !*field.begin) {
        return take_header(t, line);
    }
    t->dims = 2;
    t->channels = 1;
    return CSREC_OK;
}

/* The coordinates of one line; the rest of it stays in *line. */
static csrec_status take_position(const table *t, csrec_csv_line *line, int64_t *position) {
    csrec_csv_line field;
    char shown[32];
    for (int d = 0; d < t->dims; d++) {
        if (!csrec_csv_field(line, t->separator, &field))
            return bad_line(t, line->number, "too few columns", "",
                            "write a coordinate for each axis and a value for each channel");
        if (!csrec_csv_integer(&field, &position[d]))
            return bad_line(t, line->number, "coordinate", csrec_csv_show(&field, shown),
                            t->header
                                ? "coordinates are whole numbers from 0"
                                : "coordinates are whole numbers from 0 (without a header the "
                                  "columns are row,col,value)");
    }
    return CSREC_OK;
}

static csrec_status measure_line(table *t, csrec_csv_line line) {
    int64_t position[CSREC_DIMS_MAX], columns = 0;
    csrec_csv_line field;
    csrec_status status = take_position(t, &line, position);
    if (status != CSREC_OK) return status;
    while (csrec_csv_field(&line, t->separator, &field)) columns++;
    if (columns != t->channels)
        return bad_line(t, line.number,
                        columns < t->channels ? "too few columns" : "too many columns", "",
                        t->header ? "each line needs the columns of the header"
                                  : "name the columns in a header such as 'row,col,r,g,b'");
    for (int d = 0; d < t->dims; d++)
        if (position[d] >= t->shape.dim[d]) {
            /* CSREC_DATA follows from csrec_shape_count where + 1 leaves the range. */
            t->shape.dim[d] = position[d] + 1;
            if (t->declared.dims == t->dims && position[d] >= t->declared.dim[d])
                return csrec_fail(t->error, CSREC_DATA,
                                  "%s: line %lld: coordinate %lld is outside the shape's extent "
                                  "%lld; mend the line or the shape comment",
                                  t->name, (long long)line.number, (long long)position[d],
                                  (long long)t->declared.dim[d]);
        }
    t->n++;
    return CSREC_OK;
}

/* First pass: separator, columns, shape, n. */
static csrec_status measure(table *t) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    csrec_status status = CSREC_OK;
    while (status == CSREC_OK && csrec_csv_next(&cursor, &line)) {
        if (is_comment(line)) {
            status = take_comment(t, line);
            continue;
        }
        bool first = t->dims == 0;
        if (first) status = take_first(t, line);
        if (status == CSREC_OK && line.number != t->header) status = measure_line(t, line);
    }
    if (status != CSREC_OK) return status;
    if (t->n == 0)
        return csrec_fail(t->error, CSREC_DATA, "%s: holds no samples; write lines 'row,col,value'",
                          t->name);
    if (t->declared.dims && t->declared.dims != t->dims)
        return csrec_fail(
            t->error, CSREC_DATA,
            "%s: the shape comment has %d extents but lines have %d coordinates; make "
            "them agree",
            t->name, t->declared.dims, t->dims);
    /* Samples before a late shape comment were not yet checked against that shape. */
    for (int d = 0; d < t->declared.dims; d++)
        if (t->shape.dim[d] > t->declared.dim[d])
            return csrec_fail(t->error, CSREC_DATA,
                              "%s: coordinate %lld is outside the extent %lld of the shape "
                              "comment; mend the line or the shape comment",
                              t->name, (long long)t->shape.dim[d] - 1,
                              (long long)t->declared.dim[d]);
    t->shape.dims = t->dims;
    if (t->declared.dims) t->shape = t->declared;
    int64_t entries;
    if (csrec_shape_count(&t->shape, &entries) != CSREC_OK)
        return csrec_fail(t->error, CSREC_DATA,
                          "%s: the largest coordinates make a signal of more than 2^62 entries; "
                          "check the coordinates",
                          t->name);
    return CSREC_OK;
}

static csrec_status fill_line(const table *t, csrec_csv_line line, int64_t *index, double *y) {
    int64_t position[CSREC_DIMS_MAX];
    csrec_csv_line field;
    char shown[32];
    csrec_status status = take_position(t, &line, position);
    if (status != CSREC_OK) return status;
    *index = 0;
    for (int d = 0; d < t->dims; d++) *index = *index * t->shape.dim[d] + position[d];
    for (int c = 0; c < t->channels; c++) {
        if (!csrec_csv_field(&line, t->separator, &field) || !csrec_csv_number(&field, &y[c]))
            return bad_line(t, line.number, "value", csrec_csv_show(&field, shown),
                            "values are numbers with a decimal point");
        if (!isfinite(y[c]))
            return csrec_fail(t->error, CSREC_DATA,
                              "%s: line %lld: value '%s' is not finite; leave the sample out",
                              t->name, (long long)line.number, csrec_csv_show(&field, shown));
    }
    return CSREC_OK;
}

/* Iterates over the samples; stops after sample `last`, whose line it returns. */
static csrec_status fill(const table *t, int64_t last, int64_t *index, double *y, int64_t *number) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    csrec_status status = CSREC_OK;
    for (int64_t k = 0; status == CSREC_OK && k <= last && csrec_csv_next(&cursor, &line);) {
        if (is_comment(line) || line.number == t->header) continue;
        *number = line.number;
        if (index) status = fill_line(t, line, &index[k], &y[k * t->channels]);
        k++;
    }
    return status;
}

static csrec_status check_repeats(const table *t, const csrec_measurement *m) {
    int64_t entries, fault, line = 0;
    csrec_shape_count(&t->shape, &entries);
    csrec_status status = csrec_positions_check(m->n, m->index, entries, &fault);
    if (status == CSREC_DATA) {
        fill(t, fault, NULL, NULL, &line);
        return csrec_fail(
            t->error, status,
            "%s: line %lld: the position is that of an earlier line; keep one of them", t->name,
            (long long)line);
    }
    if (status != CSREC_OK) csrec_fail(t->error, status, "%s: out of memory", t->name);
    return status;
}

static csrec_status parse(table *t, csrec_measurement *m) {
    int64_t line;
    csrec_status status = measure(t);
    if (status != CSREC_OK) return status;
    *m = (csrec_measurement){
        .shape = t->shape, .n = t->n, .channels = t->channels, .dtype = CSREC_F64};
    status = csrec_measurement_allocate(m, t->name, t->error);
    if (status == CSREC_OK) status = fill(t, m->n - 1, m->index, m->y, &line);
    if (status == CSREC_OK) status = check_repeats(t, m);
    if (status != CSREC_OK) csrec_measurement_clear(m);
    return status;
}

csrec_status csrec_csv_parse(const char *text, uint64_t size, const char *name,
                             csrec_measurement *measurement, csrec_error *error) {
    table t = {.name = name, .error = error, .start = {text, text + size, 0}};
    csrec_measurement result;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) t.start.at += 3; /* byte order mark */
    /* Decimal points stay points in every locale; this changes the calling thread alone. */
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!plain) return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", name);
    locale_t before = uselocale(plain);
    csrec_status status = parse(&t, &result);
    uselocale(before);
    freelocale(plain);
    if (status == CSREC_OK) *measurement = result;
    return status;
}

/* Content decides the format; the name only shows which format the user expects. */
static csrec_status read_measurement(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *m, csrec_error *error) {
    csrec_error text = {{0}};
    const csrec_format *believed = csrec_format_of(input->name);
    (void)options;
    csrec_status status = csrec_input_load(input, error);
    if (status != CSREC_OK) return status;
    status = csrec_csv_parse((const char *)input->bytes, input->size, input->name, m, &text);
    if (status && believed && believed != &csrec_csv_format.format)
        return csrec_fail(error, status, "%s: is not %s but text; write the file again",
                          input->name, believed->what);
    return status ? csrec_fail(error, status, "%s", text.text) : CSREC_OK;
}

const csrec_format_row csrec_csv_format = {
    .format = {"csv", ".csv", "CSV", "a table of numbers", CSREC_USE_SAMPLES, NULL},
    .measurement = read_measurement,
    .positions = true,
};
