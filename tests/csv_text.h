/* SPDX-License-Identifier: BSD-3-Clause */
/* csv_text.h - texts of tests of .csv, and what they must be read as. */
#include "io_signal.h"

#include "files/csv/csv.h"

static csrec_measurement parse_as(const char *text, const csrec_read_options *options) {
    csrec_measurement m;
    csrec_error error = {""};
    size_t size = strlen(text);
    char *exact = malloc(size + 1); /* without the 0, so that reading past the end is seen */
    memcpy(exact, text, size);
    exact = realloc(exact, size ? size : 1);
    if (csrec_csv_parse(exact, size, "s.csv", options, &m, &error) != CSREC_OK)
        fail_msg("%s\nfor:\n%s", error.text, text);
    free(exact);
    return m;
}

static csrec_measurement parse(const char *text) {
    return parse_as(text, NULL);
}

static void expect(csrec_measurement m, int64_t h, int64_t w, int64_t n, const int64_t *index,
                   const double *y) {
    assert_int_equal(m.shape.dims, 2);
    assert_int_equal(m.shape.dim[0], h);
    assert_int_equal(m.shape.dim[1], w);
    assert_int_equal(m.n, n);
    assert_memory_equal(m.index, index, (size_t)n * 8);
    assert_memory_equal(m.y, y, (size_t)(n * m.channels) * 8);
    csrec_measurement_clear(&m);
}

static void refuse_as(const char *text, const csrec_read_options *options, const char *part) {
    csrec_measurement m;
    csrec_error error = {""};
    if (csrec_csv_parse(text, strlen(text), "s.csv", options, &m, &error) == CSREC_OK)
        fail_msg("accepted:\n%s", text);
    io_assert_line(&error, "s.csv", part);
}
