/* SPDX-License-Identifier: BSD-3-Clause */
/* test_format.c - the table of formats: names, contents, lists, and what does not fit. */
#include "io_file.h"
#include "files/format.h"

static const char *name_of(const char *path) {
    const csrec_format *format = csrec_format_of(path);
    return format ? format->name : "none";
}

TEST(endings_name_formats) {
    static const char *const names[][2] = {
        {"a/b.PNG", "png"},        {"x.tar.npz", "npz"}, {".npy", "npy"},
        {"s.csv", "csv"},          {"s.TIF", "tiff"},    {"s.tiff", "tiff"},
        {"s.JPEG", "jpeg"},        {"s.fits", "fits"},   {"s.FTS", "fits"},
        {"s.exr", "exr"},          {"s.nc", "hdf5"},     {"s.h5:/entry/data.png", "hdf5"},
        {"s.h5:data.png", "hdf5"}, {"s:data.png", "png"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(name_of(names[i][0]), names[i][1]);
    assert_string_equal(csrec_path_member("a/s.fits[SCI,2]"), "[SCI,2]");
    assert_string_equal(csrec_path_member("a/s[1].fits[2]"), "[2]");
    assert_string_equal(csrec_path_member("r.exr:/left/albedo"), "/left/albedo");
    assert_null(csrec_path_member("a[1].fits"));
    assert_null(csrec_path_member("s.h5:"));
    static const char *const none[] = {"",       "png",    "x.pn",        "x.pngg",  "x.",
                                       "x.png/", "x.npy~", "s.fits[SCI]", "r.exr:/Y"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_string_equal(name_of(none[i]), "none");
    for (int i = 0; csrec_format_info(i); i++) {
        const csrec_format *format = csrec_format_info(i);
        assert_ptr_equal(csrec_format_of(format->endings), format); /* the last of several */
        for (int k = 0; k < i; k++)
            assert_string_not_equal(csrec_format_info(k)->name, format->name);
    }
    assert_null(csrec_format_info(-1));
}

/* "A, B word C" of the words that are there, up to a NULL. */
static const char *sentence(const char *const *words, const bool *there, const char *word) {
    static char text[128];
    int left = 0;
    text[0] = '\0';
    for (int i = 0; words[i]; i++) left += there[i];
    for (int i = 0; words[i]; i++) {
        if (!there[i]) continue;
        strcat(text, words[i]);
        if (--left) strcat(text, left > 1 ? ", " : " ");
        if (left == 1) strcat(strcat(text, word), " ");
    }
    return text;
}

TEST(lists_are_sentences) {
    char text[128];
    const bool jpeg = csrec_jpeg_format.format.uses, tiff = csrec_tiff_format.format.uses,
               fits = csrec_fits_format.format.uses, exr = csrec_exr_format.format.uses,
               hdf5 = csrec_hdf5_format.format.uses;
    static const char *const endings[] = {".png", ".npy",     ".tif", ".fits",
                                          ".exr", ".h5, .nc", ".csv", NULL},
                             *const titles[] = {".npz",    "PNG",  "JPEG", ".npy", "TIFF", "FITS",
                                                "OpenEXR", "HDF5", "BART", "CSV",  NULL};
    assert_string_equal(csrec_format_list(CSREC_USE_WRITE, false, "or", text, sizeof text),
                        sentence(endings, (bool[]){true, true, tiff, fits, exr, hdf5, true}, "or"));
    assert_string_equal(
        csrec_format_list(CSREC_USE_SAMPLES, true, "and", text, sizeof text),
        sentence(titles, (bool[]){true, true, jpeg, true, tiff, fits, exr, hdf5, true, true},
                 "and"));
    assert_string_equal(csrec_format_list(CSREC_USE_ARRAYS, false, "or", text, sizeof text),
                        ".npz");
    assert_string_equal(csrec_format_list(0, false, "or", text, sizeof text), "");
    csrec_format_list(CSREC_USE_SAMPLES, true, "and", text, 8);
    assert_string_equal(text, ".npz, P");
}

static const char *content(const void *bytes, size_t size) {
    csrec_input input = csrec_input_memory(bytes, size, "memory");
    const csrec_format_row *row = csrec_input_format(&input);
    return row ? row->format.name : "none";
}

/* A file that ends within its magic is of its kind, unless it may as well be text. */
TEST(contents_name_formats) {
    static const char png[] = "\x89PNG\r\n\x1a\n rest", npy[] = "\x93NUMPY\1";
    for (size_t size = 1; size < sizeof png; size++) assert_string_equal(content(png, size), "png");
    for (size_t size = 1; size < sizeof npy; size++) assert_string_equal(content(npy, size), "npy");
    assert_string_equal(content("\xff\xd8\xff\xe1", 4), "jpeg");
    assert_string_equal(content("PK", 2), "npz");
    assert_string_equal(content("P", 1), "csv");
    assert_string_equal(content("MM\0*\0\0\0\10", 8), "tiff");
    assert_string_equal(content("II+\0", 4), "tiff");
    assert_string_equal(content("v/1\1\2\0\0\0", 8), "exr");
    assert_string_equal(content("v/1", 3), "csv");
    assert_string_equal(content("II", 2), "csv");
    assert_string_equal(content("SIMPLE  =                    T", 30), "fits");
    assert_string_equal(content("SIMPLE", 6), "csv");
    assert_string_equal(content("1,2,3\t\r\n", 8), "csv");
    assert_string_equal(content("# Dimensions\n4 4\n", 17), "bart");
    assert_string_equal(content("1,2\0003", 5), "none");
    assert_string_equal(content("\1", 1), "none");
    assert_string_equal(content("", 0), "none");
}

TEST(shapes_are_refused) {
    const csrec_format *png = csrec_format_of(".png"), *npy = csrec_format_of(".npy");
    const csrec_shape picture = {2, {3, 4}}, volume = {3, {2, 3, 4}},
                      deep = {8, {1, 1, 1, 1, 1, 1, 1, 2}};
    assert_null(csrec_format_refusal(png, &picture, 3));
    assert_non_null(csrec_format_refusal(png, &picture, 2));
    assert_non_null(csrec_format_refusal(png, &volume, 1));
    assert_null(csrec_format_refusal(npy, &volume, 5));
    assert_null(csrec_format_refusal(npy, &deep, 1));
    assert_non_null(csrec_format_refusal(npy, &deep, 2));
    assert_null(csrec_format_refusal(csrec_format_of(".csv"), &picture, 1));
    assert_non_null(csrec_format_refusal(csrec_format_of(".csv"), &picture, 3));
    assert_non_null(csrec_format_refusal(csrec_format_of(".csv"), &volume, 1));
    assert_null(csrec_format_refusal(csrec_format_of(".npz"), &picture, 1));
    assert_non_null(csrec_format_refusal(csrec_format_of(".npz"), &deep, 2));
}

TEST(only_writers_write) {
    const char *path = io_path("x.npz");
    csrec_error error = {""};
    csrec_image signal = {0};
    csrec_files *files = NULL;
    assert_int_equal(csrec_files_create(NULL, &files, &error), CSREC_OK);
    assert_int_equal(
        csrec_files_add_signal(files, path, csrec_format_of(path), &signal, NULL, &error),
        CSREC_ARGUMENT);
    io_assert_line(&error, path, "not a valid one");
    assert_int_equal(csrec_files_add_signal(files, path, NULL, &signal, NULL, &error),
                     CSREC_ARGUMENT);
    io_assert_line(&error, path, "not a format");
    csrec_files_destroy(files);
    assert_int_equal(io_count_files(), 0);
}

FIXTURE(io_setup, io_teardown);
