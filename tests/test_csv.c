/* SPDX-License-Identifier: BSD-3-Clause */
/* test_csv.c - CSV texts to samples. */
#include "csv_text.h"
#include <locale.h>

SEED(seed);

static void refuse(const char *text, const char *part) {
    refuse_as(text, NULL, part);
}

TEST(reads_every_separator_and_header) {
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
        "0;3;17,5\n2;1;-2\n",
        "row\tcol\tvalue\n0,0\t3\t1,75e1\n2\t1\t-2,00\n",
        "# shape of it\n0,3,17.5\n2,1,-2\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect(parse(texts[i]), 3, 4, 2, index, y);
}

TEST(shape_comes_from_the_comment) {
    const int64_t index[] = {3, 21};
    const double y[] = {1, 2};
    expect(parse("# shape: 5,10\n0,3,1\n2,1,2\n"), 5, 10, 2, index, y);
    expect(parse("#shape:5 10\n0,3,1\n2,1,2\n"), 5, 10, 2, index, y);
    expect(parse("0,3,1\n2,1,2\n# Shape: 5;10\n"), 5, 10, 2, index, y);
    refuse("# shape: 2,10\n0,3,1\n2,1,2\n", "line 3: coordinate 2 is outside");
    refuse("# shape: 2,10,3\n0,3,1\n", "shape comment");
    refuse("# shape: 0,10\n0,3,1\n", "line 1");
    refuse("0,3,1\n# shape: 1,1\n", "line 1: coordinate 3 is outside the shape's extent 1");
    refuse("# shape: two\n0,3,1\n", "line 1");
    refuse("# shape: 9223372036854775807,10\n0,3,1\n", "line 1");
    refuse("# shape: 1,1,1,1,1,1,1,1,1\n0,3,1\n", "line 1");
}

TEST(refuses_with_the_line) {
    refuse("", "no samples");
    refuse("# only\n", "no samples");
    refuse("row,col,value\n", "line 1: names columns, but no samples");
    refuse("0,1,2\n3,4\n", "line 2: too few");
    refuse("0,1,2\n3,4,5,6\n", "line 2: too many");
    refuse("0,1,2\n3,4,5,\n", "line 2: too many");
    refuse("0,1,2\n3,x,5\n", "line 2: coordinate 'x'");
    refuse("0,1,2\n3,4,abc\n", "line 2: value 'abc'");
    refuse("0,1,2\n3,4,0x10\n", "line 2: value '0x10'");
    refuse("0;1;2,5\n3;1;2.5\n", "line 2: value '2.5' in column 3; values are numbers with");
    refuse("0;1.5;2\n3;1,5;2\n", "line 2: coordinate '1,5'");
    refuse("0,1,2\n3,4,1e999\n", "line 2: value '1e999'");
    refuse("0,1,2\n#\n3,4,5\n0,1,6\n", "line 4: the position");
    refuse("r,c,value\n0,1,2\n900000000000,900000000000,2\n", "2^62");
    refuse("0,9223372036854775807,2\n", "");
    refuse("0,99999999999999999999,2\n", "line 1: coordinate");
    refuse("row,col\n0,1\n", "line 1: the header");
    refuse("value\n0\n", "line 1: the header");
    refuse("row,value,col\n0,1,2\n", "line 1: a column that is no value");
    refuse("# shape: 5,5\n0,1,2\n3,-4,5\n", "line 3: coordinate '-4'");
    refuse("# shape: 5,5\n0,1,2\n3,1.5,5\n", "line 3: coordinate '1.5'");
    refuse("0,1.5,2\n3,1,5\n# shape: 5,5\n", "line 1: coordinate '1.5'");
    refuse("0,1,inf\n0.5,inf,5\n", "line 2: coordinate 'inf'");
    refuse("0,1,NaN\n3,4,\n", "no line has a known value");
    refuse("x,y,value\n0,0,1\n1e308,1,2\n", "use other units");
    refuse("x,y,value\n0,0,1\n-1e308,1,2\n", "use other units");
    refuse("a,b,c,d,e,f,h,i,j,value\n", "line 1: the header");
}

/* What is called a row is a number, not a place: the first one is 0. */
TEST(rows_and_columns_are_numbers) {
    static const char *const names[] = {"row", "col", "Column", "slice", "layer", "plane", "frame"};
    static const char *const wrong[] = {"-1", "0.5", "-0.5", "1e-3", "1e30", "nan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            const char *wanted = check_print("line 3: coordinate '%s'", wrong[k]);
            refuse(check_print("%s,y,value\n0,1,2\n%s,1,3\n", names[i], wrong[k]), wanted);
            refuse(check_print("y,%s,value\n0,1,2\n1,%s,3\n", names[i], wrong[k]), wanted);
        }
        /* Whole numbers with a point count from 0, too; with a unit they are places. */
        ENDS_BY(csrec_measurement_clear)
        csrec_measurement m = parse(check_print("%s,q,value\n5.0,1,2\n3,1,3\n", names[i])),
                          u = parse(check_print("%s (um),q,value\n-5.0,1,2\n-3,1,3\n", names[i]));
        assert_int_equal(m.shape.dim[0], 6);
        assert_int_equal(u.n, 2);
    }
    const csrec_read_options options = {.grid = &(csrec_shape){2, {4, 4}}};
    CLEARED(csrec_measurement) m = {0};
    static const char grid[] = "row,col,value\n-1.5,0,2\n3,1,3\n";
    assert_ok(csrec_csv_parse(grid, sizeof grid - 1, "grid", &options, &m, NULL));
}

/* A value that is not known is no sample. */
TEST(unknown_values_are_left_out) {
    static const char *const words[] = {"",     "nan",  "NaN",  "NA", "n/a",
                                        "null", "None", "-inf", "-9"};
    const csrec_read_options options = {.has_unknown = true, .unknown = -9};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char *text = check_print("row,col,value\n0,3,17.5\n2,2,%s\n2,1,-2\n", words[i]);
        expect(parse_as(text, &options), 3, 4, 2, (const int64_t[]){3, 9},
               (const double[]){17.5, -2});
        /* Of several values each for itself, of cells, too. */
        text = check_print("%s,value_a,value_b\n0,0,%s,1\n0,1,2,%s\n1,0,%s,%s\n1,1,3,4\n",
                           i & 1 ? "row,col" : "y,x", words[i], words[i], words[i], words[i]);
        csrec_read_options cells = options;
        cells.grid = i & 1 ? NULL : &(csrec_shape){2, {2, 2}};
        CLEARED(csrec_measurement) m = parse_as(text, &cells);
        assert_int_equal(m.n, 3);
        assert_memory_equal(m.index, ((const int64_t[]){0, 1, 3}), 24);
        assert_true(isnan(m.y[0]) && m.y[1] == 1 && m.y[2] == 2 && isnan(m.y[3]) && m.y[4] == 3);
    }
    refuse("0,3,1\n1,1,nan\n0,3,2\n", "line 3: the position");
}

TEST(columns_are_chosen) {
    static const char named[] = "id,name,row,col,v (m)\n7,\"a, \"\"b\",0,3,17.5\n8,c,2,1,-2\n";
    static const struct {
        const char *text, *coordinates, *values, *wrong;
    } cases[] = {{named, "row,col", "v", NULL},
                 {named, "ROW, Col", "5", NULL},
                 {named, NULL, "V (m)", NULL},
                 {"9,0,3,17.5,8\n9,2,1,-2,8\n", "2,3", "4", NULL},
                 {named, "row,cool", "v", "line 1: has no column 'cool'"},
                 {named, "row,row", "v", "'row'"},
                 {named, "row,col", NULL, "choose columns of values"},
                 {named, "row,col", "", "has no column ''"},
                 {named, "row,col", "6", "has no column '6'"},
                 {named, "row,col", "name", "line 2: value 'a, \"\"b' in column 2, 'name'; "},
                 {"1,2,3\n", "x,y", "3", "chosen by number"},
                 {"a,b,c\n1,2,3\n", NULL, "c", "no column has the name of a coordinate"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const csrec_read_options o = {.coordinates = cases[i].coordinates,
                                      .values = cases[i].values};
        if (cases[i].wrong)
            refuse_as(cases[i].text, &o, cases[i].wrong);
        else
            expect(parse_as(cases[i].text, &o), 3, 4, 2, (const int64_t[]){3, 9},
                   (const double[]){17.5, -2});
    }
}

TEST(real_and_imaginary_parts_are_complex) {
    static const char *const texts[] = {"i,j,re,im\n0,3,1,2\n2,1,3,4\n0,0,5,\n",
                                        "x,y,Imag (mV),Real (mV)\n3,0,2,1\n1,2,4,3\n",
                                        "row,col,re,im\n0,3,1,2\n2,1,3,4\n1,1,,\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        csrec_measurement m = parse(texts[i]);
        assert_true(m.is_complex && m.channels == 1 && m.n == 2);
        assert_memory_equal(m.y, ((const double[]){1, 2, 3, 4}), 32);
        m.channels = 2; /* the values of each */
        expect(m, 3, 4, 2, (const int64_t[]){3, 9}, (const double[]){1, 2, 3, 4});
    }
}

TEST(channels_and_axes_come_from_the_header) {
    static const struct {
        const char *text;
        csrec_shape shape;
        int64_t channels, index, n; /* index: of the last of n samples */
    } cases[] = {
        {"row,col,r,g,b\n1,2,10,20,30\n0,0,1,2,3\n", {2, {2, 3}}, 3, 0, 2},
        {"i0,i1,i2,value_a,value_b\n# shape: 2,3,4\n1,2,3,5,6\n", {3, {2, 3, 4}}, 2, 23, 1},
        {"3,5\n41,7\n0,NA\n", {1, {42}}, 1, 41, 2},
        {"t value\n41 7\n", {1, {42}}, 1, 41, 1},
        {"x,y,value\n5,1,7\n", {2, {2, 6}}, 1, 11, 1},
        {"x,y,z\n5,1,7\n", {2, {2, 6}}, 1, 11, 1},
        {"X (um);Y (um);height\n5;1;7\n", {2, {2, 6}}, 1, 11, 1},
        {"lat,lon,temperature,salinity\n1,5,7,8\n", {2, {2, 6}}, 2, 11, 1},
        {"lon_deg lat_deg t2m\n5 1 7\n", {2, {2, 6}}, 1, 11, 1},
        {"col,row,value\n5,1,7\n", {2, {2, 6}}, 1, 11, 1},
        {"y,x,value\n1,5,7\n", {2, {2, 6}}, 1, 11, 1},
        {"x,y,z,value\n2,1,3,7\n", {3, {4, 2, 3}}, 1, 23, 1},
        {"x,y\n4,1\n", {1, {5}}, 1, 4, 1},
        {"time,height\n4,1\n", {1, {5}}, 1, 4, 1},
        {"u,v,w\n1,5,7\n", {2, {2, 6}}, 1, 11, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEARED(csrec_measurement) m = parse(cases[i].text);
        assert_true(csrec_shape_equal(&m.shape, &cases[i].shape));
        assert_int_equal(m.channels, cases[i].channels);
        assert_int_equal(m.n, cases[i].n);
        assert_int_equal(m.index[m.n - 1], cases[i].index);
    }
    expect(parse(cases[0].text), 2, 3, 2, (const int64_t[]){5, 0},
           (const double[]){10, 20, 30, 1, 2, 3});
    refuse("lon,lat\n0,1\n", "line 1: the header needs");
}

TEST(matrices_have_empty_fields) {
    static const struct {
        const char *text;
        int dims;
        int64_t h, w;
    } cases[] = {{"1,2,,4\n5,NA,7,8\n", 2, 2, 4},
                 {"1;2;;4\n5;;7;8", 2, 2, 4},
                 {"1 2 nan 4\n5 nan 7 8\n", 2, 2, 4},
                 {"1,2,3\n,5,\n", 2, 2, 3},
                 {"# of a sensor\n1\nnan\n3\n", 1, 3, 1},
                 {"temp\n1\nnan\n3\n", 1, 3, 1},
                 {"temp,wind\n1,2\n,3\n", 2, 2, 2},
                 {"r,g,b\n1,2,3\n4,5,6\n", 2, 2, 3},
                 {"A;B;C;D;E;F;G;H;L;M\n1;2;3;4;5;6;7;8;9;10\n", 2, 1, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEARED(csrec_image) signal = {0};
        uint64_t size = strlen(cases[i].text);
        assert_true(csrec_csv_is_matrix(cases[i].text, size));
        assert_ok(csrec_csv_matrix_parse(cases[i].text, size, "s.csv", &signal, NULL));
        assert_int_equal(signal.pixels.shape.dims, cases[i].dims);
        assert_int_equal(signal.pixels.shape.dim[0], cases[i].h);
        assert_int_equal(signal.pixels.count, cases[i].h * cases[i].w);
    }
    static const char *const samples[] = {
        "0,1,2\n",     "a,b,c,value\n1,2,,4\n", "1,2\n",         "",
        "# 1,2,3,4\n", "a,b\n1,\n2,3\n",        "x,h\n,1\n2,3\n"};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        assert_false(csrec_csv_is_matrix(samples[i], strlen(samples[i])));
    static const struct {
        const char *text, *part;
    } wrong[] = {{"1,2,3,4\n1,2,3\n", "line 2: has 3 fields, the first line 4"},
                 {"1,2,3,4\n1,2,b,4\n", "line 2: value 'b' in column 3; "},
                 {"day,wind\n2026-01-01,2\n", "line 2: value '2026-01-01' in column 1, 'day'; "},
                 {"temp\n", "no values follow"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        csrec_image signal;
        csrec_error error = {""};
        assert_int_not_equal(
            csrec_csv_matrix_parse(wrong[i].text, strlen(wrong[i].text), "s.csv", &signal, &error),
            CSREC_OK);
        io_assert_line(&error, "s.csv", wrong[i].part);
    }
}

/* What is written is read again to the bit, as what is known of it. */
TEST(random_matrices_round_trip) {
    const char *path = check_print("matrix-%ld.csv", (long)getpid());
    for (int trial = 0; trial < 30; trial++) {
        csrec_dtype dtypes[] = {CSREC_F64, CSREC_F32, CSREC_I64, CSREC_U8};
        csrec_shape shape = {2, {1 + check_below(&seed, 12), 4 + check_below(&seed, 12)}};
        if (trial % 5 == 4) shape = (csrec_shape){1, {1 + check_below(&seed, 12)}};
        CLEARED(csrec_image) out = {0};
        assert_ok(csrec_array_create(dtypes[trial % 4], &shape, &out.pixels));
        for (int64_t i = 0; i < out.pixels.count; i++)
            csrec_array_set(&out.pixels, i,
                            exp(40 * check_uniform(&seed) - 20) * (check_next(&seed) & 1 ? 1 : -1));
        if (trial % 4 == 0) ((double *)out.pixels.data)[0] = NAN;
        if (trial % 4 == 1) ((float *)out.pixels.data)[0] = NAN;
        write_well(path, &out, NULL);
        CLEARED(csrec_image) back = read_well(path);
        assert_true(csrec_shape_equal(&back.pixels.shape, &shape));
        for (int64_t i = 0; i < out.pixels.count; i++) {
            double a = csrec_array_value(&out.pixels, i), b = csrec_array_value(&back.pixels, i);
            assert_true((float)a == (float)b || (isnan(a) && isnan(b)));
            if (dtypes[trial % 4] != CSREC_F32) assert_true(a == b || isnan(a));
        }
    }
    remove(path);
}

/* Where the machine has a locale with decimal commas, texts still have decimal points. */
TEST(decimal_points_in_every_locale) {
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

TEST(truncation_never_reads_beyond) {
    static const char text[] = "# shape: 5,10\nrow,col,r,g,b\n0,3,1,2,3\n2,1,2.5,1e3,-7\n";
    for (size_t size = 0; size < sizeof text; size++) {
        OWNED char *exact = malloc(size ? size : 1);
        csrec_measurement m;
        memcpy(exact, text, size);
        if (csrec_csv_parse(exact, size, "s.csv", NULL, &m, NULL) == CSREC_OK)
            csrec_measurement_clear(&m);
    }
}
