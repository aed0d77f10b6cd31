/* SPDX-License-Identifier: BSD-3-Clause */
/* about.h - what describes a picture beside its values: colour profile, resolution, EXIF, texts. */
#ifndef CSREC_FILES_ABOUT_H
#define CSREC_FILES_ABOUT_H

#include "files/input.h"

/* Chunks of a PNG are the words between formats: iCCP, eXIf and pHYs. What else a format has is in
 * chunks that only this format knows. */
typedef struct csrec_about {
    uint8_t *bytes; /* length, type and data of each chunk */
    size_t size, room;
    int64_t extent[3]; /* height, width and channels of the picture */
    bool colours;      /* what chunks say of colours holds */
} csrec_about;

typedef struct csrec_chunk {
    const char *type; /* of four letters */
    const uint8_t *data;
    size_t size;
} csrec_chunk;

/* Room for the data, to be filled; NULL: out of memory, or of more than 2^31 - 1 bytes. */
uint8_t *csrec_about_add(csrec_about *about, const char *type, size_t size);

/* The chunk at *at, which begins as 0 and goes to the next; false at the end. */
bool csrec_about_next(const csrec_about *about, size_t *at, csrec_chunk *chunk);

/* Of the file `like`, for a picture that is written; none if it is NULL, no regular file, or no
 * picture of the same size. One of other channels, as in false colours, has other colours. Free the
 * bytes. CSREC_MEMORY, CSREC_FILE. */
csrec_status csrec_about_read(const char *like, const csrec_image *image, csrec_about *about,
                              csrec_error *error);

/* Sets input->facts.remark if the file, which is not read for labels, has what classes have. */
void csrec_about_labels(csrec_input *input, const csrec_measurement *measurement);

/* A number of 2 or 4 bytes, the highest first; and 4 bytes of it. */
uint32_t csrec_about_number(const uint8_t *bytes, int n);
void csrec_about_put(uint8_t *bytes, uint32_t number);

/* Whether a text has a line that is true of its own file alone (csrec_fingerprint_line). */
bool csrec_about_is_fingerprint(const uint8_t *text, size_t size);

#endif
