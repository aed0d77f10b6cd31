/* SPDX-License-Identifier: BSD-3-Clause */
/* fits.h - FITS files by cfitsio: opening them in memory, their image, its header.
 *
 * cfitsio sees memory only, never a name: brackets, pipes and URLs in names, which it would follow,
 * do not reach it. It keeps a table of open files and a stack of messages in globals. If it was
 * built to be reentrant (fits_is_reentrant; Debian's is), it locks them, and files can be read and
 * written by several threads, each its own; else by one thread at a time. What it puts on its stack
 * is removed when a file is closed. */
#pragma once

#include <fitsio.h>

#include "files/input.h"

enum { CSREC_FITS_BLOCK = 2880 }; /* bytes, of which every file has a whole number */
enum { CSREC_FITS_AXES = 999 };   /* that the standard allows */

/* An open file in memory. cfitsio has the addresses of `bytes` and `size`: the struct must not move
 * while it is open. */
typedef struct csrec_fits {
    fitsfile *file;
    csrec_input *input; /* that is read, or NULL */
    const char *name;   /* for messages */
    void *bytes;        /* read: of the input, or padded; created: to be freed by the caller */
    size_t size;        /* whole blocks if read */
    void *padded;       /* to be freed, or NULL */
    uint64_t there;     /* bytes of the input */
    int status;         /* cfitsio's: calls do nothing while it is not 0 */
} csrec_fits;

/* Loads the input, which must outlive the file. On failure nothing is open. */
csrec_status csrec_fits_open(csrec_input *input, csrec_fits *fits, csrec_error *error);
/* An empty file, with room for `bytes`; it grows. */
csrec_status csrec_fits_create(const char *name, size_t bytes, csrec_fits *fits,
                               csrec_error *error);
/* Returns whether nothing had failed, nor did closing. */
bool csrec_fits_close(csrec_fits *fits);
/* "NAME: damaged FITS (what cfitsio calls its status)", or out of memory. */
csrec_status csrec_fits_damaged(csrec_fits *fits, csrec_error *error);

typedef struct csrec_fits_image {
    int bitpix, naxis;
    LONGLONG naxes[CSREC_FITS_AXES]; /* fastest first */
    csrec_shape shape;               /* slowest first, without axes of extent 1 at the end */
    csrec_dtype dtype;               /* of the values, BSCALE and BZERO applied */
    bool blank;                      /* one of the integers that are stored stands for unknown */
    double nodata;                   /* of integers with `blank`: which of them */
    bool holes;            /* floats in tiles, of integers one of which stands for unknown */
    char name[FLEN_VALUE]; /* EXTNAME, or "" */
} csrec_fits_image;

/* Goes to the image that input->member names, "[NUMBER]", "[NAME]", "[NAME,VERSION]" or "/NAME";
 * else to the first one that has data. Checks the file's length. */
csrec_status csrec_fits_find(csrec_fits *fits, csrec_fits_image *image, csrec_error *error);

/* What cfitsio calls the type in memory and in an image. */
typedef struct csrec_fits_types {
    int memory, image;
} csrec_fits_types;
csrec_fits_types csrec_fits_types_of(csrec_dtype dtype);

csrec_status csrec_fits_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error);
