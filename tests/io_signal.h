/* io_signal.h - whole signals in files of any format, for the tests of formats. */
#ifndef CSREC_TESTS_IO_SIGNAL_H
#define CSREC_TESTS_IO_SIGNAL_H

#include "io_file.h"

#include "files/format.h"

static inline csrec_status write_signal(const char *path, const csrec_image *image,
                                        const char *like, csrec_error *error) {
    csrec_files *files = NULL;
    csrec_files_options options = {.no_sync = true, .fingerprint = "made for a test"};
    assert_ok(csrec_files_create(&options, &files, error));
    csrec_status status =
        csrec_files_add_signal(files, path, csrec_format_of(path), image, like, error);
    if (!status) status = csrec_files_commit(files, error);
    csrec_files_destroy(files);
    return status;
}

/* The first bytes of a file are a signal, or are refused in one line that names the file. */
static inline void expect_line(const csrec_format_row *row, const io_bytes *b, size_t size) {
    csrec_input input = csrec_input_memory(b->data, size, "t.file");
    csrec_image image = {0};
    csrec_error error = {""};
    csrec_status status = row->signal(&input, &image, &error);
    if (status) {
        io_assert_line(&error, "t.file", "");
        assert_null(image.pixels.data);
    }
    csrec_input_close(&input);
    csrec_image_clear(&image);
}

#endif
