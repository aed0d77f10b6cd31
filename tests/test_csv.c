/* test_csv.c - CSV texts to samples. */
#include "io_file.h"

#include <locale.h>

#include "io/csv.h"

static uint64_t seed;

static csrec_measurement parse(const char *text) {
    csrec_measurement m;
    csrec_error error = {""};
    size_t size = strlen(text);
    char *exact = malloc(size + 1); /* without the 0, so that reading past the end is seen */
    memcpy(exact, text, size);
    exact = realloc(exact, size ? size : 1);
    if (csrec_csv_parse(exact, size, "s.csv", &m, &error) != CSREC_OK)
        fail_msg("%s\nfor:\n%s", error.text, text);
    free(exact);
    return m;
}

static void refuse(const char *text, const char *part) {
    csrec_measurement m;
    csrec_error error = {""};
    assert_int_not_equal(csrec_csv_parse(text, strlen(text), "s.csv", &m, &error), CSREC_OK);
    io_assert_line(&error, "s.csv", part);
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

static void reads_every_separator_and_header(void **state) {
    (void)state;
    const int64_t index[] = {3, 9};
    const double y[] = {17.5, -2};
    static const char *const texts[] = {
        "0,3,17.5\n2,1,-2\n",
        "0;3;17.5\r\n2;1;-2\r\n",
        "0\t3\t17.5\n2\t1\t-2",
        "  0   3 17.5\n\n2 1 -2.0  \n",
        "row,col,value\n0,3,17.5\n2,1,-2\n",
        "Row, Col, Value\n0, 3, 17.5\n2, 1, -2e0\n",
        "\xEF\xBB\xBF\"row\";\"col\";\"value\"\n\"0\";\"3\";\"17.5\"\n2;1;-2\n",
        "# a comment\n0,3,1.75e1\n   # another\n2,1,-2\n# end",
        "0.000000000000000000e+00,3.0e+00,1.75e+01\n2e0,1,-2.0\n",
        "r,c,value\n0,3,17.5\n2,1,-2\n",
        "# shape of it\n0,3,17.5\n2,1,-2\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect(parse(texts[i]), 3, 4, 2, index, y);
}

static void shape_comes_from_the_comment(void **state) {
    (void)state;
    const int64_t index[] = {3, 21};
    const double y[] = {1, 2};
    expect(parse("# shape: 5,10\n0,3,1\n2,1,2\n"), 5, 10, 2, index, y);
    expect(parse("#shape:5 10\n0,3,1\n2,1,2\n"), 5, 10, 2, index, y);
    expect(parse("0,3,1\n2,1,2\n# Shape: 5;10\n"), 5, 10, 2, index, y);
    refuse("# shape: 2,10\n0,3,1\n2,1,2\n", "line 3: coordinate 2 is outside");
    refuse("# shape: 2,10,3\n0,3,1\n", "shape comment");
    refuse("# shape: 0,10\n0,3,1\n", "line 1");
    refuse("0,3,1\n# shape: 1,1\n", "coordinate 3 is outside the extent 1 of the shape comment");
    refuse("# shape: two\n0,3,1\n", "line 1");
    refuse("# shape: 9223372036854775807,10\n0,3,1\n", "line 1");
    refuse("# shape: 1,1,1,1,1,1,1,1,1\n0,3,1\n", "line 1");
}

static void channels_and_axes_come_from_the_header(void **state) {
    (void)state;
    csrec_measurement m = parse("row,col,r,g,b\n1,2,10,20,30\n0,0,1,2,3\n");
    assert_int_equal(m.channels, 3);
    assert_int_equal(m.n, 2);
    assert_int_equal(m.index[0], 5);
    const double colours[] = {10, 20, 30, 1, 2, 3};
    assert_memory_equal(m.y, colours, sizeof colours);
    csrec_measurement_clear(&m);
    m = parse("i0,i1,i2,value_a,value_b\n# shape: 2,3,4\n1,2,3,5,6\n");
    assert_int_equal(m.shape.dims, 3);
    assert_int_equal(m.channels, 2);
    assert_int_equal(m.index[0], 23);
    csrec_measurement_clear(&m);
    m = parse("t value\n41 7\n");
    assert_int_equal(m.shape.dims, 1);
    assert_int_equal(m.shape.dim[0], 42);
    csrec_measurement_clear(&m);
}

static void refuses_with_the_line(void **state) {
    (void)state;
    refuse("", "no samples");
    refuse("# only\n", "no samples");
    refuse("row,col,value\n", "no samples");
    refuse("0,1,2\n3,4\n", "line 2: too few");
    refuse("0,1,2\n3,4,5,6\n", "line 2: too many");
    refuse("0,1,2\n3,4,5,\n", "line 2: too many");
    refuse("0,1,2,3\n", "line 1: too many columns; name the columns in a header");
    refuse("0,1,2\n3,x,5\n", "line 2: coordinate 'x'");
    refuse("0,1,2\n3,-4,5\n", "line 2: coordinate '-4'");
    refuse("0,1,2\n3,1.5,5\n", "line 2: coordinate '1.5'");
    refuse("0,1,2\n3,4,abc\n", "line 2: value 'abc'");
    refuse("0,1,2\n3,4,\n", "line 2: value");
    refuse("0,1,2\n3,4,0x10\n", "line 2: value '0x10'");
    refuse("0;1;2,5\n", "decimal point");
    refuse("0,1,2\n3,4,nan\n", "line 2: value 'nan' is not finite");
    refuse("0,1,2\n3,4,-inf\n", "line 2: value '-inf'");
    refuse("0,1,2\n3,4,1e999\n", "line 2: value '1e999'");
    refuse("0,1,2\n#\n3,4,5\n0,1,6\n", "line 4: the position");
    refuse("0,1,2\n900000000000,900000000000,2\n", "2^62");
    refuse("0,9223372036854775807,2\n", "");
    refuse("0,99999999999999999999,2\n", "line 1: coordinate");
    refuse("row,col\n0,1\n", "line 1: the header");
    refuse("value\n0\n", "line 1: the header");
    refuse("row,value,col\n0,1,2\n", "line 1: a coordinate");
    refuse("a,b,c,d,e,f,h,i,j,value\n", "line 1: the header");
}

static void random_tables_round_trip(void **state) {
    (void)state;
    for (int trial = 0; trial < 50; trial++) {
        int64_t h = 1 + check_below(&seed, 40), w = 1 + check_below(&seed, 40), n = 0;
        char *text = malloc(1600 * 48 + 64);
        int64_t *index = malloc(1600 * 8);
        double *y = malloc(1600 * 8);
        int at = sprintf(text, "# shape: %d,%d\n", (int)h, (int)w);
        for (int64_t i = h * w; i-- > 0;) {
            if (check_next(&seed) & 1) continue;
            index[n] = i;
            y[n] = check_uniform(&seed) * 1000 - 500;
            at += sprintf(text + at, "%d,%d,%.17g\n", (int)(i / w), (int)(i % w), y[n]);
            n++;
        }
        if (n > 0) expect(parse(text), h, w, n, index, y);
        free(text);
        free(index);
        free(y);
    }
}

/* Where the machine has a locale with decimal commas, texts still have decimal points. */
static void decimal_points_in_every_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (int i = 0; i < 4 && !found; i++) found = setlocale(LC_NUMERIC, names[i]) != NULL;
    if (!found) {
        print_message("skipped: no locale with decimal commas is installed\n");
        skip();
    }
    expect(parse("0,0,2.5\n"), 1, 1, 1, &(int64_t){0}, &(double){2.5});
    assert_int_equal(localeconv()->decimal_point[0], ',');
    setlocale(LC_NUMERIC, "C");
}

static void truncation_never_reads_beyond(void **state) {
    (void)state;
    static const char text[] = "# shape: 5,10\nrow,col,r,g,b\n0,3,1,2,3\n2,1,2.5,1e3,-7\n";
    for (size_t size = 0; size < sizeof text; size++) {
        char *exact = malloc(size ? size : 1);
        csrec_measurement m;
        memcpy(exact, text, size);
        if (csrec_csv_parse(exact, size, "s.csv", &m, NULL) == CSREC_OK)
            csrec_measurement_clear(&m);
        free(exact);
    }
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_every_separator_and_header),
                                       cmocka_unit_test(shape_comes_from_the_comment),
                                       cmocka_unit_test(channels_and_axes_come_from_the_header),
                                       cmocka_unit_test(refuses_with_the_line),
                                       cmocka_unit_test(random_tables_round_trip),
                                       cmocka_unit_test(decimal_points_in_every_locale),
                                       cmocka_unit_test(truncation_never_reads_beyond)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
