/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h - one file, written under a temporary name and then renamed. */
#pragma once

#include <stdio.h>

#include "csrec/io.h"

typedef enum csrec_output_mode {
    CSREC_OUTPUT_STREAM, /* written front to back */
    CSREC_OUTPUT_SEEK    /* the writer also seeks: pipes are filled from a spool at the end */
} csrec_output_mode;

typedef struct csrec_output {
    csrec_files *files; /* renames it */
    const char *name;   /* for messages */
    FILE *file;         /* write here */
    FILE *sink;         /* final target of a spool, or NULL */
    char *target;       /* final name, or NULL for stdout and devices */
    char *temporary;    /* the name until the rename */
} csrec_output;

/* path "-" is stdout. A regular file is written under a temporary name in the same folder; devices
 * and pipes are written directly, for renaming over /dev/null would replace it. */
csrec_status csrec_output_open(csrec_files *files, const char *path, csrec_output_mode mode,
                               csrec_output *output, csrec_error *error);
csrec_status csrec_output_write(csrec_output *output, const void *data, uint64_t bytes,
                                csrec_error *error);
/* With status CSREC_OK passes the file, on the disk and closed, to the commit of `files`; else, or
 * if that fails, removes it. Returns status or the failure. */
csrec_status csrec_output_close(csrec_output *output, csrec_status status, csrec_error *error);
/* The error line for a failed write to `name`, from errno. */
csrec_status csrec_output_failed(const char *name, csrec_error *error);

/* A file for the commit: takes over target, temporary and `lock`, the descriptor that holds it. */
typedef struct csrec_staged {
    char *name; /* for messages: as the caller wrote it */
    char *target, *temporary;
    int lock, folder; /* descriptors; folder -1 until the commit */
} csrec_staged;

const csrec_files_options *csrec_files_asked(const csrec_files *files);

/* The fingerprint to write, or NULL: a stream has none, since it is never read again. */
const char *csrec_output_fingerprint(const csrec_output *output);
/* Writes it, if there is one, after the last byte: for formats whose readers do not look there. */
csrec_status csrec_output_append_fingerprint(csrec_output *output, csrec_error *error);

/* Commits with status CSREC_OK, and frees in any case; for a single file. */
csrec_status csrec_files_finish(csrec_files *files, csrec_status status, csrec_error *error);

/* Temporaries: .csrec-PID-NUMBER.tmp (temporary.c). Their writer holds a lock on them (flock), so
 * that an unlocked one is known to be left by a killed run. */

/* Makes one beside target, open and locked; its name goes to *name, to be freed. -1: errno. */
int csrec_temporary_open(const char *target, char **name);

/* The line in every format, "csrec-fingerprint: TEXT\n", padded with spaces before its end to a
 * multiple of `unit` bytes. The caller frees it; NULL: out of memory. */
char *csrec_fingerprint_line(const char *text, size_t unit);
/* The line as an .npy record of one string, of *bytes. The caller frees it; NULL: out of memory. */
char *csrec_fingerprint_npy(const char *text, size_t unit, size_t *bytes);

/* Files that are a head, the values of a signal in C order, and a tail: they are written in one
 * stream or by several processes together (parts.c). */
typedef struct csrec_frame {
    void *head, *tail; /* NULL: none */
    size_t head_bytes, tail_bytes;
} csrec_frame;

void csrec_frame_clear(csrec_frame *frame);
/* Room for head and tail, or CSREC_MEMORY. */
csrec_status csrec_frame_create(size_t head_bytes, size_t tail_bytes, const char *name,
                                csrec_frame *frame, csrec_error *error);

/* Of a format: makes the frame of a signal without data, for the output that is open for it. crc:
 * of the values' bytes, by zlib, if `has_crc`; the head's size does not depend on it.
 * CSREC_UNSUPPORTED: the values of this signal are not in one piece. */
typedef struct csrec_framing {
    csrec_status (*make)(const csrec_output *output, const char *path, const csrec_image *signal,
                         const char *like, uint32_t crc, csrec_frame *frame, csrec_error *error);
    bool has_crc; /* the output is open for CSREC_OUTPUT_SEEK */
} csrec_framing;

/* Writes all of an output: the signal's data, or without any what `take` delivers. */
csrec_status csrec_framed_write(csrec_output *output, const csrec_framing *framing,
                                const char *path, const csrec_image *signal, csrec_slab_fn take,
                                void *context, const char *like, csrec_error *error);
