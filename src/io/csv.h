/* csv.h - measurements as text: coordinates and values, one sample a line. */
#ifndef CSREC_IO_CSV_H
#define CSREC_IO_CSV_H

#include "csrec.h"

/*   # comment; "# shape: H,W" gives the signal's shape, else it is the largest coordinates + 1
 *   row,col,value        header, optional for exactly three columns
 *   0,3,17.5
 * Columns are separated by semicolons, tabs, commas or blanks, whichever of these, in this order,
 * the first line holds. With a header, columns named value... (or all of r, g, b) are the channels;
 * those before them are coordinates, slowest axis first. Delivers shape, n, channels, index and y;
 * positions are checked. */
csrec_status csrec_csv_parse(const char *text, uint64_t size, const char *name,
                             csrec_measurement *measurement, csrec_error *error);

/* csv_line.c: a cursor over the lines, and the fields of one line. */
typedef struct csrec_csv_line {
    const char *begin, *end; /* without line end */
    int64_t number;          /* from 1 */
} csrec_csv_line;

typedef struct csrec_csv_cursor {
    const char *at, *end;
    int64_t number; /* lines read so far */
} csrec_csv_cursor;

/* The next line that is not blank; comments are lines too. false at the end. */
bool csrec_csv_next(csrec_csv_cursor *cursor, csrec_csv_line *line);
/* The separator that a line uses: ';', tab, ',' or ' ' for runs of blanks. */
char csrec_csv_separator(const csrec_csv_line *line);
/* Takes the next field off the line, blanks and quotes around it removed; false after the last. */
bool csrec_csv_field(csrec_csv_line *line, char separator, csrec_csv_line *field);

bool csrec_csv_integer(const csrec_csv_line *field, int64_t *value); /* >= 0 */
bool csrec_csv_number(const csrec_csv_line *field, double *value);   /* may be infinite or NaN */
/* The field for a message: at most 31 characters, printable. */
const char *csrec_csv_show(const csrec_csv_line *field, char text[32]);

#endif
