/* SPDX-License-Identifier: BSD-3-Clause */
/* csv.h - text: samples, one a line with its coordinates, or a matrix with empty fields. */
#pragma once

#include <locale.h>
#include <math.h>

#include "csrec/io.h"

/* A line, or a field of one. */
typedef struct csrec_csv_line {
    const char *begin, *end; /* without line end */
    int64_t number;          /* from 1 */
} csrec_csv_line;

typedef struct csrec_csv_cursor {
    const char *at, *end;
    int64_t number; /* lines read so far */
} csrec_csv_cursor;

/* How a text separates fields, and the mark of decimals: '.' or ',', 0 until a number has one. */
typedef struct csrec_csv_dialect {
    char separator, decimal;
} csrec_csv_dialect;

/* The beginning of a text, behind its byte order mark. */
csrec_csv_cursor csrec_csv_start(const char *text, uint64_t size);
/* The next line that is not blank; comments are lines too. false at the end. */
bool csrec_csv_next(csrec_csv_cursor *cursor, csrec_csv_line *line);
/* The next one that is no comment. */
bool csrec_csv_next_data(csrec_csv_cursor *cursor, csrec_csv_line *line);
bool csrec_csv_is_comment(csrec_csv_line line);
/* The separator that a line uses: ';', tab, ',' or ' ' for runs of blanks. */
char csrec_csv_separator(const csrec_csv_line *line);
/* Takes the next field off the line, blanks and quotes around it removed; false after the last. */
bool csrec_csv_field(csrec_csv_line *line, char separator, csrec_csv_line *field);

/* All fields of a line; returns their number, and stores the first CSREC_CSV_FIELDS if `fields` is
 * not NULL. */
enum { CSREC_CSV_FIELDS = 256 };
int64_t csrec_csv_split(csrec_csv_line line, char separator, csrec_csv_line *fields);
/* A comma marks decimals where semicolons or tabs separate fields. All numbers of a text have the
 * same mark: the first one sets it in the dialect. */
bool csrec_csv_number(const csrec_csv_line *field, csrec_csv_dialect *dialect,
                      double *value); /* may be infinite or NaN */
bool csrec_csv_integer(const csrec_csv_line *field, csrec_csv_dialect *dialect,
                       int64_t *value); /* >= 0 */
/* CSREC_FORMAT: the field of line field->number and that column, from 0, is no number. heading: the
 * line that names columns, or one whose begin is NULL. */
csrec_status csrec_csv_refuse(const char *name, csrec_csv_line heading, char separator,
                              const csrec_csv_line *field, int64_t column, const char *what,
                              const char *remedy, csrec_error *error);
/* What to say of a field that is no number. */
#define CSREC_CSV_NUMBERS                                                                          \
    "numbers with a decimal point (or with a comma throughout, where ; or tabs separate columns)"
#define CSREC_CSV_CHOICE                                                                           \
    "; a column of texts or dates is left out, by choosing those of coordinates and values "       \
    "(--coordinates, --values)"
/* Empty, NaN, NA, N/A, null, none or infinite, in upper or lower case. */
bool csrec_csv_is_unknown(const csrec_csv_line *field);
/* The field for a message: at most 31 characters, printable. */
const char *csrec_csv_show(const csrec_csv_line *field, char text[32]);

/* Decimal points stay points in every locale; this changes the calling thread alone. */
typedef struct csrec_csv_locale {
    locale_t plain, before;
} csrec_csv_locale;
bool csrec_csv_locale_enter(csrec_csv_locale *locale);
void csrec_csv_locale_leave(csrec_csv_locale *locale);

typedef struct csrec_csv_columns {
    csrec_csv_dialect dialect;
    int64_t header; /* line of the header, 0 without one */
    csrec_csv_line heading;
    bool guessed; /* values are the last columns, and what is before has no names of coordinates */
    int fields;   /* of a line; those of coordinates and of values: */
    int dims, coordinate[CSREC_DIMS_MAX];
    int values, value[CSREC_CSV_FIELDS];
    bool is_complex;             /* of two columns of values, the real part first */
    int axis[CSREC_DIMS_MAX];    /* of each column of coordinates */
    bool counts[CSREC_DIMS_MAX]; /* its name, as row and col, numbers cells: it holds no places */
    bool numbers;                /* a name says so, or that it is an index, as i and j */
    bool places;                 /* all have known names that do not */
    char names[sizeof((csrec_list *)0)->header]; /* "" if there are none, or they are longer */
} csrec_csv_columns;

/* Whether a line names columns: none of its fields is a number, and one is no unknown value. */
bool csrec_csv_is_header(csrec_csv_line line, char separator);

/* What the names in a header tell: nothing; that all columns are values; what is a coordinate. */
typedef enum { CSREC_CSV_NOTHING, CSREC_CSV_VALUES, CSREC_CSV_PLACES } csrec_csv_told;
csrec_csv_told csrec_csv_names_tell(csrec_csv_line line, char separator);

/* The columns of a text whose first line this is, by the names in it. Values are those named
 * value..., or all of r, g, b, or re and im; else those behind coordinates with known names (x, y,
 * z, row, col, lon, lat, t, ...), as in x,y,height; else z or y where it is the last of these, as
 * in x,y,z; else the last column. Coordinates with known names become axes by their meaning, x the
 * fastest; others as listed, the slowest first. Without names lines are row,col,value or i,value.
 * The options may choose others (csrec_read_options). */
csrec_status csrec_csv_find_columns(csrec_csv_line line, const csrec_read_options *options,
                                    const char *name, csrec_csv_columns *columns,
                                    csrec_error *error);

/*   # comment; "# shape: H,W" gives the signal's shape, else it is the largest coordinates + 1
 *   row,col,value        header, optional for exactly two or three columns
 *   0,3,17.5
 * Columns are separated by semicolons, tabs, commas or blanks, whichever of these, in this order,
 * the first line holds. Delivers shape, n, channels, index and y. Coordinates are positions, or
 * places that become cells (csv_grid.c): those with options->grid; other than whole numbers from 0,
 * which are refused where the column is called row, col or the like; and whole numbers that would
 * be strange positions (are_places). Places without a header are x, y. Of several values those that
 * are unknown are NaN; samples without any are left out. options: NULL or checked. */
csrec_status csrec_csv_parse(const char *text, uint64_t size, const char *name,
                             const csrec_read_options *options, csrec_measurement *measurement,
                             csrec_error *error);

/* Puts samples at coordinates [n * dims], which it uses up, into the nearest cells of a grid: of
 * options->grid, else of the step that the coordinates of an axis have, if that makes no more than
 * 128 cells for each sample, else of square cells such that about a quarter of all get a sample.
 * Values of one cell are averaged, those that are NaN left out; so are cells without a value.
 * Without options->cell_means they become those of the middles of cells (measurement/middle.h), of
 * up to three axes. Takes measurement->n, channels and y; delivers shape and index, and fewer
 * samples where cells are shared. */
csrec_status csrec_csv_place(double *coordinates, int dims, const csrec_read_options *options,
                             const char *name, csrec_measurement *measurement,
                             csrec_placement *placement, csrec_error *error);

/* Whether one of the values y [values] is known. */
static inline bool csrec_csv_has_value(const double *y, int64_t values) {
    for (int64_t c = 0; c < values; c++)
        if (!isnan(y[c])) return true;
    return false;
}

/* Whether the text is a matrix: without a header, its lines have one field or more than three, or
 * three of which the first or second is unknown in some line. With one, its names tell of no
 * coordinates, and lines have one field or more than nine, or all names are those of values, or a
 * field before the last is unknown in some line. */
bool csrec_csv_is_matrix(const char *text, uint64_t size);
/* Numbers of H lines of W fields, [H, W], or [H] of one field: I64 if all are whole, else F64 with
 * NaN where unknown. */
csrec_status csrec_csv_matrix_parse(const char *text, uint64_t size, const char *name,
                                    csrec_image *signal, csrec_error *error);
