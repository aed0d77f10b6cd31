/* SPDX-License-Identifier: BSD-3-Clause */
/* io_signal.h - whole signals in files of any format, for the tests of formats. */
#pragma once

#include "io_file.h"

#include "files/format.h"

/* Delivers the rows of an image in slabs, in their order, and may fail on the way. */
typedef struct slab_rows {
    const csrec_image *image;
    int64_t next, fails_at; /* -1: never */
    const char *opens;      /* NULL, or a file that is read between slabs, as samples are */
} slab_rows;

static inline csrec_status take_rows(void *context, csrec_slab slab, void *values,
                                     csrec_error *error) {
    slab_rows *r = context;
    const csrec_array *pixels = &r->image->pixels;
    size_t row = (size_t)(pixels->count / pixels->shape.dim[0]) * csrec_dtype_size(pixels->dtype);
    csrec_image look;
    assert_int_equal(slab.first, r->next);
    if (r->opens && csrec_signal_look(r->opens, &look, error)) fail_msg("%s", error->text);
    r->next += slab.count;
    memcpy(values, (const char *)pixels->data + (size_t)slab.first * row, (size_t)slab.count * row);
    if (r->fails_at < 0 || r->next <= r->fails_at) return CSREC_OK;
    strcpy(error->text, "as the test wants it");
    return CSREC_DATA;
}

static const char fingerprint[] = "made for a test";

/* rows: NULL, or what delivers the image in slabs. */
static inline csrec_status write_image(const char *path, const csrec_image *image, slab_rows *rows,
                                       const char *like, const char *print, csrec_error *error) {
    const csrec_format *format = csrec_format_of(path);
    const csrec_files_options options = {.no_sync = true, .fingerprint = print};
    ENDS_BY(end_files) csrec_files *files = NULL;
    csrec_image form = *image;
    form.pixels.data = NULL;
    assert_ok(csrec_files_create(&options, &files, error));
    csrec_status status =
        rows ? csrec_files_add_slabs(files, path, format, &form, take_rows, rows, like, error)
             : csrec_files_add_signal(files, path, format, image, like, error);
    return status ? status : csrec_files_commit(files, error);
}

static inline csrec_status write_signal(const char *path, const csrec_image *image,
                                        const char *like, csrec_error *error) {
    return write_image(path, image, NULL, like, fingerprint, error);
}

static inline void write_well(const char *path, const csrec_image *image, const char *like) {
    assert_well(write_signal(path, image, like, &told));
}

static inline csrec_image read_well(const char *path) {
    csrec_image image = {0};
    assert_well(csrec_signal_read(path, &image, &told));
    return image;
}

static inline void expect_fingerprint(const char *path, const char *expected) {
    char text[64];
    assert_ok(csrec_fingerprint_read(path, text, sizeof text, NULL));
    assert_string_equal(text, expected);
}

/* Slabs make the file that the whole does, which stays; where they fail, none. */
static inline void expect_same_in_slabs(const char *whole, const char *slabs,
                                        const csrec_image *image, const char *like,
                                        const char *print, int64_t fails_at) {
    slab_rows rows = {image, 0, -1, like}, failing = {image, 0, fails_at, like};
    csrec_error error = {""};
    if (write_image(whole, image, NULL, like, print, &error) ||
        write_image(slabs, image, &rows, like, print, &error))
        fail_msg("%s", error.text);
    io_assert_same(whole, slabs);
    remove(slabs);
    assert_int_equal(write_image(slabs, image, &failing, like, print, &error), CSREC_DATA);
    assert_string_equal(error.text, "as the test wants it");
    assert_null(fopen(slabs, "rb"));
}

static inline bool read_stdin(void) {
    CLEARED(csrec_image) image = {0};
    return csrec_signal_read("-", &image, NULL) == CSREC_OK && image.pixels.count > 0;
}

/* A file, or a part of it, is refused by its name, in a line with these words. */
static inline void expect_unread(const char *name, csrec_status expected, const char *words) {
    csrec_image image = {0};
    csrec_error error = {""};
    csrec_status status = csrec_signal_read(name, &image, &error);
    if (status != expected) fail_msg("%s: %d (%s)", name, status, error.text);
    io_assert_line(&error, name, words);
    assert_null(image.pixels.data);
}

/* Entries 1 to 12, each times scale plus offset, of which 2, 7 and 12 are unknown. */
static inline csrec_measurement expect_known(const char *path, double scale, double offset) {
    static const int64_t known[9] = {0, 2, 3, 4, 5, 7, 8, 9, 10};
    csrec_measurement m;
    assert_well(csrec_measurement_read(path, NULL, &m, &told));
    assert_int_equal(m.n, 9);
    assert_int_equal(m.dtype, CSREC_F32);
    assert_memory_equal(m.index, known, sizeof known);
    for (int k = 0; k < 9; k++) assert_true(m.y[k] == scale * (double)(known[k] + 1) + offset);
    return m;
}

/* The first bytes of a file are a signal, or are refused in one line that names the file. */
static inline void expect_line(const csrec_format_row *row, const io_bytes *b, size_t size) {
    ENDS_BY(csrec_input_close)
    csrec_input input = csrec_input_memory(b->data, size, "t.file");
    CLEARED(csrec_image) image = {0};
    csrec_error error = {""};
    if (row->signal(&input, &image, &error) == CSREC_OK) return;
    io_assert_line(&error, "t.file", "");
    assert_null(image.pixels.data);
}

/* So many beginnings of a file. */
static inline void expect_cuts(const csrec_format_row *row, const io_bytes *b, int count,
                               uint64_t *random) {
    for (int k = 0; k < count; k++)
        expect_line(row, b, (size_t)check_below(random, (int64_t)b->size));
}

/* The file with another byte. */
static inline void expect_harmless(const csrec_format_row *row, io_bytes *b, size_t at,
                                   uint8_t value) {
    const uint8_t was = b->data[at];
    b->data[at] = value;
    expect_line(row, b, b->size);
    b->data[at] = was;
}
