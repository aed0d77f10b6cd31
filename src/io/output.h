/* output.h - files that appear whole or not at all. */
#ifndef CSREC_IO_OUTPUT_H
#define CSREC_IO_OUTPUT_H

#include <stdio.h>

#include "csrec.h"

typedef enum csrec_output_mode {
    CSREC_OUTPUT_STREAM, /* written front to back */
    CSREC_OUTPUT_SEEK    /* the writer also seeks: pipes are filled from a spool at the end */
} csrec_output_mode;

typedef struct csrec_output {
    const char *name; /* for messages */
    FILE *file;       /* write here */
    FILE *sink;       /* where a spool goes in the end, or NULL */
    char *target;     /* final name, or NULL for stdout and devices */
    char *temporary;  /* the name until then */
} csrec_output;

/* path "-" is stdout. A regular file is written under a temporary name in the same folder; devices
 * and pipes are written as they are, for renaming over /dev/null would replace it. */
csrec_status csrec_output_open(const char *path, csrec_output_mode mode, csrec_output *output,
                               csrec_error *error);
csrec_status csrec_output_write(csrec_output *output, const void *data, uint64_t bytes,
                                csrec_error *error);
/* With status CSREC_OK moves the file to its final name; else, or if that fails, removes it.
 * Returns status or the failure. */
csrec_status csrec_output_close(csrec_output *output, csrec_status status, csrec_error *error);

/* The line for a failed write, from errno. */
csrec_status csrec_output_failed(const csrec_output *output, csrec_error *error);

#endif
