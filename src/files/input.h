/* SPDX-License-Identifier: BSD-3-Clause */
/* input.h - bytes to read, from a file, a pipe or memory, with their number known beforehand. */
#pragma once

#include <stdio.h>

#include "csrec/io.h"

/* Knowing the size before parsing allows every declared size to be checked before allocating; so a
 * regular file stays a FILE, and anything else (stdin, pipes) is read into memory whole. */
typedef struct csrec_input {
    const char *name;     /* for messages: the path */
    const char *member;   /* as csrec_path_member: what is read of the file; or NULL */
    FILE *file;           /* a regular file, or NULL */
    const uint8_t *bytes; /* the whole contents, or NULL while they are in `file` */
    uint8_t *owned;       /* memory to free, or NULL */
    uint64_t size;
    int failure;                        /* errno of a peek that failed, or 0 */
    const struct csrec_format_row *row; /* what csrec_input_format found, or NULL */
    csrec_progress_fn progress;         /* of what takes long, or NULL */
    void *context;
    /* The value that the caller says stands for unknown, or NULL, as after a format that compares
     * it with what it stores, the indices of a palette. */
    const double *unknown;
    csrec_slab slab;   /* to read, by formats with CSREC_USE_SLABS; count 0: all */
    bool is_mask;      /* what is read tells samples by values other than 0 */
    bool guides;       /* layers that are such are read beside the samples */
    bool each;         /* so are those of rays and variances of single samples */
    bool labels;       /* indices of a palette are wanted, not its colours */
    const float *rays; /* NULL, or of each entry, 0: it is not measured, whatever its value */
    bool kspace;       /* channels are coils, whose maps are estimated unless options say other */
    bool followed;     /* k-space was read with the trajectory of the options */
    double *noise;     /* covariance of coils, to be freed with the input, or NULL */
    int64_t noise_coils;
    csrec_facts facts; /* that the reader found */
} csrec_input;

/* Whether there is a file that can be read again, unlike stdin and pipes. */
bool csrec_path_is_regular(const char *path);

/* CSREC_FILE, by errno, of reading a file. */
csrec_status csrec_read_failed(const char *name, csrec_error *error);

/* path "-" is stdin. Without the record of a fingerprint that ends an .npy of ours. CSREC_FILE: it
 * cannot be opened or its beginning cannot be read. */
csrec_status csrec_input_open(const char *path, csrec_input *input, csrec_error *error);
/* Bytes that the caller keeps alive. */
csrec_input csrec_input_memory(const void *bytes, uint64_t size, const char *name);
void csrec_input_close(csrec_input *input);
/* The bytes from `offset` on, up to `count`, without consuming them; returns how many there are: 0
 * also on failure, which input->failure then tells. */
size_t csrec_input_peek(csrec_input *input, uint64_t offset, uint8_t *to, size_t count);
/* Makes the whole contents available as input->bytes. */
csrec_status csrec_input_load(csrec_input *input, csrec_error *error);

/* Makes text of a file printable ASCII, for messages of one line. */
void csrec_text_clean(char *text);
/* Adds a sentence to input->facts.note, cleaned. */
void csrec_input_note(csrec_input *input, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An .npy file of ours ends in a second record (as numpy.save twice into one file), which holds the
 * line. numpy.load reads the first record alone. */
enum { CSREC_FINGERPRINT_UNIT = 64 };

/* A forward-only stream with a known number of bytes left. */
typedef struct csrec_reader {
    uint64_t left;
    const uint8_t *memory; /* next byte, if the source is memory */
    /* Otherwise: bytes read (fewer only at the end), negative on failure. */
    int64_t (*read)(void *context, void *buffer, uint64_t bytes);
    void *context;
    bool empty; /* an array may have no elements */
} csrec_reader;

csrec_reader csrec_input_reader(csrec_input *input);

/* Exactly `bytes` bytes, or CSREC_FORMAT ("ends early") or CSREC_FILE. */
csrec_status csrec_reader_take(csrec_reader *reader, void *buffer, uint64_t bytes, const char *name,
                               csrec_error *error);

/* CSREC_FORMAT for a file that declares more `what`, values or pixels, than its bytes can hold. */
csrec_status csrec_fail_forged(const char *name, const char *what, csrec_error *error);

/* What is read to its end becomes *signal, or after a failure is cleared; returns the status. */
csrec_status csrec_image_deliver(csrec_status status, csrec_image *read, csrec_image *signal);
csrec_status csrec_measurement_deliver(csrec_status status, csrec_measurement *read,
                                       csrec_measurement *measurement);

/* Leaves out `bytes` bytes of an input, not of a stream that is unpacked. */
csrec_status csrec_reader_skip(csrec_reader *reader, uint64_t bytes, const char *name,
                               csrec_error *error);
