/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/format.h - formats of files, their paths, and what tells files apart. */
#ifndef CSREC_FORMAT_H
#define CSREC_FORMAT_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a format is used for: bits of csrec_format.uses. */
enum {
    CSREC_USE_READ = 1,      /* whole signals are read: csrec_signal_read */
    CSREC_USE_WRITE = 2,     /* whole signals are written: csrec_files_add_signal */
    CSREC_USE_PICTURE = 4,   /* written values are integers between black and white */
    CSREC_USE_ROWS = 8,      /* arrays of any size are read in rows: csrec_rows_open */
    CSREC_USE_SAMPLES = 16,  /* measurements are read: csrec_measurement_read */
    CSREC_USE_ARRAYS = 32,   /* named arrays are written: measurements, models, atoms */
    CSREC_USE_TYPES = 64,    /* written values have the type of the samples */
    CSREC_USE_TEXT = 128,    /* text: in a folder of signals it may be a list about them */
    CSREC_USE_SLABS = 256,   /* read and written in slabs, so files may be larger than memory */
    CSREC_USE_NAMED = 512,   /* whole signals are written as by CSREC_USE_WRITE and, if not lossy,
                                CSREC_USE_SLABS, but only where the name of the file asks for it */
    CSREC_USE_LOSSY = 1024,  /* written values are changed by compression, and have 8 bits */
    CSREC_USE_NODATA = 2048, /* a written file may name a number, of floats too, for unknown ones */
    CSREC_USE_CHANNELS = 4096 /* written arrays say which axis has channels */
};

/* A row of the table of file formats. A file that is read is recognised by its first bytes, not by
 * its name (but for .cfl, whose bytes are numbers alone); the format of a new file follows from the
 * ending of its name. */
typedef struct csrec_format {
    const char *name;    /* "png": as formats are asked for */
    const char *endings; /* ".png"; of several, separated by blanks, new files get the first */
    const char *title;   /* "PNG": for lists of formats in messages */
    const char *what;    /* "a PNG picture" */
    int uses;            /* 0: built without the library that it needs */
    const char *needs;   /* that library, "libtiff 4.5"; NULL: none that may be missing */
} csrec_format;

/* Row i; NULL past the end. */
CSREC_API const csrec_format *csrec_format_info(int i);

/* A path may name an array within a file, FILE:/NAME, if its format has several (HDF5, OpenEXR), or
 * FILE[NAME], as FITS does. A file that has the whole path as its name goes first; else FILE
 * exists, or has the ending of such a format, after which the slash may be left out. Returns
 * "/NAME", "NAME" or "[NAME]", within path; NULL: the path is that of a file. */
CSREC_API const char *csrec_path_member(const char *path);

/* The path without the part that csrec_path_member returns: path itself where there is none, else
 * in `file`. No file has a longer name. */
enum { CSREC_PATH_ROOM = 4096 };
CSREC_API const char *csrec_path_file(const char *path, char file[CSREC_PATH_ROOM]);

/* The format whose ending the path of a new file has, in upper or lower case; NULL: none, or one
 * that is not written with names of arrays although the path has one. */
CSREC_API const csrec_format *csrec_format_of(const char *path);

/* Lists the formats with a use, by their endings (".png or .npy") or their titles; returns text. */
CSREC_API const char *csrec_format_list(int use, bool titles, const char *word, char *text,
                                        size_t room);

/* NULL if the format can be written with signals of that shape, else the reason and the remedy. */
CSREC_API const char *csrec_format_refusal(const csrec_format *format, const csrec_shape *shape,
                                           int64_t channels);

/* The fingerprint of a file of any format, found near its end; "" if it has none or it does not fit
 * in `room` bytes. CSREC_FILE: cannot be read. */
CSREC_API csrec_status csrec_fingerprint_read(const char *path, char *text, size_t room,
                                              csrec_error *error);

/* Size and CRC-32 (that of zlib) of the bytes of a regular file. CSREC_UNSUPPORTED: "-", a pipe, a
 * device, a folder; CSREC_FILE: cannot be read. */
CSREC_API csrec_status csrec_file_checksum(const char *path, uint64_t *bytes, uint32_t *crc,
                                           csrec_error *error);

/* The file that the path refers to through links, existing or not: the one that is replaced by
 * writing to the path. Free it with free. NULL: errno. */
CSREC_API char *csrec_file_target(const char *path);

#ifdef __cplusplus
}
#endif
#endif
