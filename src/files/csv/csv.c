/* SPDX-License-Identifier: BSD-3-Clause */
/* csv.c - a plain matrix of numbers as text, unknown ones left empty; the row of text in the table
 * of formats: content tells samples from a matrix. */
#include <stdlib.h>
#include <string.h>

#include "files/csv/csv.h"
#include "files/format.h"
#include "files/measurement.h"

/* Of `dims` coordinates. */
static bool lacks_coordinate(csrec_csv_line line, char separator, int64_t dims) {
    csrec_csv_line field;
    for (int64_t d = 0; d < dims && csrec_csv_field(&line, separator, &field); d++)
        if (csrec_csv_is_unknown(&field)) return true;
    return false;
}

bool csrec_csv_is_matrix(const char *text, uint64_t size) {
    csrec_csv_cursor cursor = csrec_csv_start(text, size);
    csrec_csv_line line;
    if (!csrec_csv_next_data(&cursor, &line)) return false;
    char separator = csrec_csv_separator(&line);
    int64_t fields = csrec_csv_split(line, separator, NULL);
    const bool header = csrec_csv_is_header(line, separator);
    const csrec_csv_told told = header ? csrec_csv_names_tell(line, separator) : CSREC_CSV_NOTHING;
    if (told == CSREC_CSV_PLACES || (!header && fields == 2)) return false;
    if (told == CSREC_CSV_VALUES || fields == 1 || fields > (header ? CSREC_DIMS_MAX + 1 : 3))
        return true;
    if (header && !csrec_csv_next_data(&cursor, &line)) return false;
    do
        if (lacks_coordinate(line, separator, fields - 1)) return true;
    while (csrec_csv_next_data(&cursor, &line));
    return false;
}

typedef struct {
    const char *name;
    csrec_error *error;
    csrec_csv_cursor start;
    csrec_csv_line heading; /* names the columns; begin NULL: none does */
    csrec_csv_dialect dialect;
    int64_t height, width;
    bool whole; /* all numbers are whole, none is unknown */
} matrix;

/* Size and separator. */
static csrec_status measure(matrix *t) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    while (csrec_csv_next_data(&cursor, &line)) {
        if (!t->width) t->dialect.separator = csrec_csv_separator(&line);
        int64_t fields = csrec_csv_split(line, t->dialect.separator, NULL);
        const bool heads = !t->width && csrec_csv_is_header(line, t->dialect.separator);
        if (!t->width) t->width = fields;
        if (heads) t->heading = line;
        if (heads) t->start = cursor;
        t->height += !heads;
        if (fields != t->width)
            return csrec_fail(t->error, CSREC_FORMAT,
                              "%s: line %lld: has %lld fields, the first line %lld; give each line "
                              "as many, empty where unknown (or name the columns in a header, if "
                              "lines are samples)",
                              t->name, (long long)line.number, (long long)fields,
                              (long long)t->width);
    }
    return CSREC_OK;
}

static csrec_status take_line(matrix *t, csrec_csv_line line, double *row) {
    csrec_csv_line field;
    for (int64_t k = 0; csrec_csv_field(&line, t->dialect.separator, &field); k++) {
        if (csrec_csv_is_unknown(&field))
            row[k] = NAN;
        else if (!csrec_csv_number(&field, &t->dialect, &row[k]))
            return csrec_csv_refuse(
                t->name, t->heading, t->dialect.separator, &field, k, "value",
                "values are " CSREC_CSV_NUMBERS
                ", or empty where unknown; leave columns of texts and dates out",
                t->error);
        t->whole = t->whole && fabs(row[k]) < 0x1p53 && row[k] == trunc(row[k]);
    }
    return CSREC_OK;
}

static csrec_status read_lines(matrix *t, double *values) {
    csrec_csv_cursor cursor = t->start;
    csrec_csv_line line;
    t->whole = true;
    for (int64_t k = 0; csrec_csv_next_data(&cursor, &line); k++)
        CSREC_TRY(take_line(t, line, &values[k * t->width]));
    return CSREC_OK;
}

static void make_whole(csrec_array *array) {
    const double *from = array->data;
    int64_t *to = array->data;
    for (int64_t i = 0; i < array->count; i++) {
        double value = from[i];
        to[i] = (int64_t)value;
    }
    array->dtype = CSREC_I64;
}

static csrec_status parse(matrix *t, csrec_image *signal) {
    CSREC_TRY(measure(t));
    if (t->height == 0)
        return csrec_fail(t->error, CSREC_DATA,
                          "%s: line %lld: names columns, but no values follow", t->name,
                          (long long)t->heading.number);
    csrec_shape shape = {t->width == 1 ? 1 : 2, {t->height, t->width}};
    if (csrec_array_create(CSREC_F64, &shape, &signal->pixels))
        return csrec_memory_fail(t->error, t->name);
    csrec_status status = read_lines(t, signal->pixels.data);
    if (status)
        csrec_image_clear(signal);
    else if (t->whole)
        make_whole(&signal->pixels);
    return status;
}

csrec_status csrec_csv_matrix_parse(const char *text, uint64_t size, const char *name,
                                    csrec_image *signal, csrec_error *error) {
    matrix t = {.name = name, .error = error, .start = csrec_csv_start(text, size)};
    csrec_csv_locale locale;
    *signal = (csrec_image){0};
    if (!csrec_csv_locale_enter(&locale)) return csrec_memory_fail(error, name);
    csrec_status status = parse(&t, signal);
    csrec_csv_locale_leave(&locale);
    return status;
}

/* That of the matrix to be like, whose header of `width` names goes to the file, or a comma, and
 * points. */
static csrec_csv_dialect begin_like(const char *like, int64_t width, FILE *file) {
    csrec_input input;
    csrec_csv_line line, field;
    csrec_csv_dialect dialect = {',', '.'}, own = {0};
    double value;
    if (!csrec_format_open_like(&csrec_csv_format, like, &input)) return dialect;
    if (csrec_input_load(&input, NULL) == CSREC_OK) {
        csrec_csv_cursor cursor = csrec_csv_start((const char *)input.bytes, input.size);
        while (csrec_csv_next_data(&cursor, &line) && !own.decimal) {
            const bool first = !own.separator;
            if (first) own.separator = csrec_csv_separator(&line);
            if (first && csrec_csv_is_header(line, own.separator) &&
                csrec_csv_split(line, own.separator, NULL) == width)
                fprintf(file, "%.*s\n", (int)(line.end - line.begin), line.begin);
            if (csrec_csv_split(line, own.separator, NULL) > 1) dialect.separator = own.separator;
            while (csrec_csv_field(&line, own.separator, &field))
                csrec_csv_number(&field, &own, &value);
        }
        if (own.decimal == ',') dialect.decimal = ',';
    }
    csrec_input_close(&input);
    return dialect;
}

static void put_text(FILE *file, char decimal, char *text) {
    char *point = strchr(text, '.');
    if (point) *point = decimal;
    fputs(text, file);
}

/* The shortest of 15 to 17 digits that is the double; 9 for a float. */
static void put_value(FILE *file, char decimal, const csrec_array *pixels, int64_t i) {
    char text[32];
    double value = csrec_array_value(pixels, i);
    if (pixels->dtype == CSREC_U64)
        snprintf(text, sizeof text, "%llu",
                 (unsigned long long)((const uint64_t *)pixels->data)[i]);
    else if (pixels->dtype == CSREC_I64)
        snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)pixels->data)[i]);
    else if (pixels->dtype != CSREC_F64)
        snprintf(text, sizeof text, "%.9g", value);
    else
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value) break;
        }
    put_text(file, decimal, text);
}

static csrec_status end_lines(csrec_output *output, csrec_error *error) {
    const char *fingerprint = csrec_output_fingerprint(output);
    if (fingerprint && csrec_files_asked(output->files)->in_text)
        fprintf(output->file, "# " CSREC_FINGERPRINT "%s\n", fingerprint);
    return ferror(output->file) ? csrec_output_failed(output->name, error) : CSREC_OK;
}

static csrec_status write_matrix(const csrec_array *pixels, int64_t width, const char *like,
                                 csrec_output *output, csrec_error *error) {
    const csrec_csv_dialect dialect = begin_like(like, width, output->file);
    for (int64_t i = 0; i < pixels->count; i++) {
        put_value(output->file, dialect.decimal, pixels, i);
        fputc((i + 1) % width ? dialect.separator : '\n', output->file);
    }
    return end_lines(output, error);
}

/* Coordinates have 12 digits: steps are quotients. */
static csrec_status write_list(const csrec_array *pixels, const csrec_placement *p,
                               csrec_output *output, csrec_error *error) {
    const csrec_list *list = &p->list;
    int64_t entries = 1, place[CSREC_DIMS_MAX];
    for (int d = 0; d < list->dims; d++) entries *= pixels->shape.dim[d];
    const int64_t values = pixels->count / entries;
    if (*list->header) fprintf(output->file, "%s\n", list->header);
    for (int64_t i = 0; i < entries; i++) {
        int64_t rest = i;
        for (int d = list->dims; d-- > 0; rest /= pixels->shape.dim[d])
            place[d] = rest % pixels->shape.dim[d];
        for (int k = 0; k < list->dims; k++) {
            char text[32];
            int d = list->axis[k];
            double at = p->dims ? p->origin[d] + p->step[d] * (double)place[d] : (double)place[d];
            snprintf(text, sizeof text, "%.*g", p->dims ? 12 : 17, at);
            put_text(output->file, list->decimal, text);
            fputc(list->separator, output->file);
        }
        for (int64_t c = 0; c < values; c++) {
            put_value(output->file, list->decimal, pixels, i * values + c);
            fputc(c + 1 < values ? list->separator : '\n', output->file);
        }
    }
    return end_lines(output, error);
}

static csrec_status write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                 const char *like, csrec_error *error) {
    const csrec_array *pixels = &signal->pixels;
    csrec_shape shape;
    int64_t channels;
    csrec_output output;
    csrec_csv_locale locale;
    const bool lists = csrec_image_is_listed(signal);
    CSREC_TRY(csrec_image_split(signal, false, path, &shape, &channels, error));
    if (lists && signal->placement->list.dims != shape.dims)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: a signal of other axes than its list", path);
    const char *reason =
        lists ? NULL : csrec_format_refusal(&csrec_csv_format.format, &shape, channels);
    if (reason || signal->alpha)
        return csrec_fail(error, CSREC_ARGUMENT, "%s: %s", path,
                          reason ? reason : "a CSV is written without transparency");
    if (!csrec_csv_locale_enter(&locale)) return csrec_memory_fail(error, path);
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error);
    if (!status) {
        status =
            lists ? write_list(pixels, signal->placement, &output, error)
                  : write_matrix(pixels, shape.dims == 2 ? shape.dim[1] : 1, like, &output, error);
        status = csrec_output_close(&output, status, error);
    }
    csrec_csv_locale_leave(&locale);
    return status;
}

/* The name only shows which format the user expects. */
static csrec_status check_name(const csrec_input *input, csrec_status status,
                               const csrec_error *told, csrec_error *error) {
    const csrec_format *believed = csrec_format_of(input->name);
    if (status && believed && believed != &csrec_csv_format.format)
        return csrec_fail(error, status, "%s: is not %s but text; write the file again",
                          input->name, believed->what);
    return status ? csrec_fail(error, status, "%s", told->text) : CSREC_OK;
}

static csrec_status read_signal(csrec_input *input, csrec_image *signal, csrec_error *error) {
    csrec_error told = {{0}};
    csrec_status status = csrec_input_load(input, error);
    if (status) return status;
    const char *text = (const char *)input->bytes;
    if (csrec_csv_is_matrix(text, input->size))
        status = csrec_csv_matrix_parse(text, input->size, input->name, signal, &told);
    else
        status =
            csrec_fail(&told, CSREC_FORMAT,
                       "%s: its lines are samples, and no whole signal; csrecover makes one of "
                       "them",
                       input->name);
    return check_name(input, status, &told, error);
}

static csrec_status read_measurement(csrec_input *input, const csrec_read_options *options,
                                     csrec_measurement *m, csrec_error *error) {
    csrec_error told = {{0}};
    CSREC_TRY(csrec_input_load(input, error));
    const char *text = (const char *)input->bytes;
    if (!options->coordinates && !options->values && csrec_csv_is_matrix(text, input->size)) {
        input->facts.table = true;
        return csrec_measurement_from_signal(input, options, m, error);
    }
    csrec_read_options of_list = *options;
    of_list.has_unknown = false; /* which a list takes, too */
    CSREC_TRY(csrec_read_options_check(&of_list, false, true, input->name, error));
    csrec_placement own;
    if (!of_list.placement) of_list.placement = &own;
    of_list.has_unknown = options->has_unknown;
    csrec_status status = csrec_csv_parse(text, input->size, input->name, &of_list, m, &told);
    if (!status && of_list.placement->guessed)
        csrec_input_note(input,
                         "of the columns %s the last is taken as values, at the coordinates before "
                         "it; --coordinates and --values choose others, and without the header it "
                         "is a matrix",
                         of_list.placement->list.header);
    return check_name(input, status, &told, error);
}

static const char *refusal(const csrec_shape *shape, int64_t channels) {
    return shape->dims <= 2 && channels == 1
               ? NULL
               : "a CSV has one or two axes and one channel, unless it lists samples as the "
                 "input does; write .npy";
}

const csrec_format_row csrec_csv_format = {
    .format = {"csv", ".csv", "CSV", "a table of numbers",
               CSREC_USE_READ | CSREC_USE_WRITE | CSREC_USE_SAMPLES | CSREC_USE_TEXT, NULL},
    .signal = read_signal,
    .measurement = read_measurement,
    .refusal = refusal,
    .write = write_signal,
};
