/* SPDX-License-Identifier: BSD-3-Clause */
/* npz.h - zip archives of .npy members, by libzip; measurements and signals in them. */
#pragma once

#include <zip.h>

#include "files/format.h"
#include "files/npy/npy.h"

typedef struct csrec_npz {
    const char *name; /* of the file */
    zip_t *zip;
    uint64_t size;              /* bytes of the whole archive */
    bool in_pieces;             /* members may be larger than memory */
    csrec_progress_fn progress; /* the input's */
    void *context;
    bool empty; /* there may be no samples */
} csrec_npz;

/* One open member: its values are read straight from the archive into the result. */
typedef struct csrec_npz_member {
    char name[384]; /* "scan.npz: array 'y'": starts every error line */
    zip_file_t *file;
    csrec_reader reader;
    csrec_npy_header header;
    uint64_t head; /* bytes of the header */
} csrec_npz_member;

/* Takes input->file over; input->bytes must outlive the archive. */
csrec_status csrec_npz_open(csrec_input *input, csrec_npz *npz, csrec_error *error);
void csrec_npz_close(csrec_npz *npz);
/* Whether the archive has the array: member "<field>.npy", or "<field>" itself. */
bool csrec_npz_has(const csrec_npz *npz, const char *field);
/* Whether the array is there and stored: then csrec_npz_seek finds any of its elements. */
bool csrec_npz_is_stored(const csrec_npz *npz, const char *field);
/* Opens a member and reads its header. Its declared size is checked against what its compressed
 * bytes can hold and against the memory that is free. After CSREC_OK call csrec_npz_end. */
csrec_status csrec_npz_begin(const csrec_npz *npz, const char *field, csrec_npz_member *member,
                             csrec_error *error);
/* Goes to an element of an open member that is stored. The checksum is then compared only if all
 * bytes are read in their order. */
csrec_status csrec_npz_seek(csrec_npz_member *member, int64_t element, csrec_error *error);
/* Closes the member without its values. */
void csrec_npz_leave(csrec_npz_member *member);
/* The error line for a member whose size has changed since it was first read. */
csrec_status csrec_npz_changed(const csrec_npz_member *member, csrec_error *error);
/* At the end of a member: whether it ends there, and its checksum. */
csrec_status csrec_npz_check_end(csrec_npz_member *member, csrec_error *error);
/* Closes the member; with status CSREC_OK checks its end and its checksum first. */
csrec_status csrec_npz_end(csrec_npz_member *member, csrec_status status, csrec_error *error);

/* A member to write: `bytes` bytes of data behind a .npy header for `descr` and shape. */
typedef struct csrec_npz_field {
    const char *name;  /* without ".npy" */
    const char *descr; /* NumPy code without order, such as "f4" or "U7" */
    csrec_shape shape;
    const void *data;
    uint64_t bytes;
} csrec_npz_field;

enum { CSREC_NPZ_FIELDS_MAX = 64 };

/* Writes the archive; `stored` leaves the members uncompressed. */
csrec_status csrec_npz_add(csrec_files *files, const char *path, int count,
                           const csrec_npz_field *fields, bool stored, csrec_error *error);
/* The same as a file by itself. */
csrec_status csrec_npz_save(const char *path, int count, const csrec_npz_field *fields, bool stored,
                            csrec_error *error);

/* Whether an array is named, or there is no y, index and shape. */
bool csrec_npz_is_foreign(const csrec_input *input);
csrec_status csrec_npz_signal(csrec_input *input, csrec_image *signal, csrec_error *error);

/* Elements read and checked at a time. */
enum { CSREC_NPZ_PIECE = 1 << 16 };

/* Opens y, and stores the number of samples, channels and the type. */
csrec_status csrec_npz_begin_y(const csrec_npz *npz, csrec_measurement *measurement,
                               csrec_npz_member *member, csrec_error *error);
csrec_status csrec_npz_shape(const csrec_npz *npz, csrec_measurement *measurement,
                             csrec_error *error);
/* sigma and scale, where there are such. */
csrec_status csrec_npz_tones(const csrec_npz *npz, csrec_measurement *measurement,
                             csrec_error *error);
/* Whether an open member can be the positions of n samples; the mask, whose shape is stored; a mask
 * of so many true entries. */
csrec_status csrec_npz_check_index(const csrec_npz_member *member, int64_t n, csrec_error *error);
csrec_status csrec_npz_check_mask(const csrec_npz *npz, const csrec_npz_member *member,
                                  csrec_measurement *measurement, csrec_error *error);
csrec_status csrec_npz_check_count(const csrec_npz_member *member, int64_t found, int64_t n,
                                   csrec_error *error);

csrec_status csrec_npz_open_slabs(csrec_input *input, const csrec_read_options *options,
                                  csrec_measurement *form, csrec_slab_source *source,
                                  csrec_error *error);

/* Reads `operator` and what belongs to it into measurement->through, which stays NULL for points.
 * The shape is known, and n and channels as y has them; they are corrected for coils, and for the
 * two values of each row of `split`. */
csrec_status csrec_through_read(const csrec_npz *npz, csrec_measurement *measurement,
                                csrec_error *error);
/* The array noise_covariance, for csrec_kspace_finish. */
csrec_status csrec_through_noise(const csrec_npz *npz, csrec_input *input, csrec_error *error);
/* What y shows of frequencies, or of complex values that the file does not explain. */
void csrec_through_look(const csrec_npz *npz, csrec_measurement *measurement, csrec_error *remark);

/* An integer, or a few; a uint64 above 2^63 - 1 is kept in two's complement where `wrap`, which
 * refuses negative ones. */
csrec_status csrec_npz_integers(const csrec_npz *npz, const char *field, int room, bool wrap,
                                int64_t *values, int64_t *count, csrec_error *error);

/* Adds the arrays of measurement->through to the `count` fields, of at most
 * CSREC_THROUGH_FIELDS. texts: memory for them. */
enum { CSREC_THROUGH_FIELDS = 6 };
typedef struct csrec_through_texts {
    uint32_t letters[2][16];
    char descr[2][16];
    uint8_t flag, centred;
} csrec_through_texts;
void csrec_through_add(const csrec_measurement *measurement, csrec_through_texts *texts,
                       csrec_npz_field *fields, int *count);

/* sequence and, if `planes`, guides and their names, where there are such. */
csrec_status csrec_npz_guides_read(const csrec_npz *npz, bool planes,
                                   csrec_measurement *measurement, csrec_error *error);

/* Whether sigma has an element for each sample, or value. */
bool csrec_npz_is_each(const csrec_npz *npz);

/* Arrays rays, and sigma of several elements, into a measurement of known n and channels. */
csrec_status csrec_npz_each_read(const csrec_npz *npz, csrec_measurement *measurement,
                                 csrec_error *error);

/* Adds them to the `count` fields, of at most CSREC_GUIDE_FIELDS. names: memory. */
enum { CSREC_GUIDE_FIELDS = 3 };
typedef struct csrec_npz_names {
    uint32_t letter[CSREC_GUIDES_MOST * CSREC_GUIDE_NAME];
    char descr[24];
} csrec_npz_names;
void csrec_npz_guides_add(const csrec_measurement *measurement, csrec_npz_names *names,
                          csrec_npz_field *fields, int *count);

/* One 'U' element of ASCII letters, at most 16. */
csrec_npz_field csrec_npz_text(const char *name, const char *text, uint32_t letters[16],
                               char descr[16]);

/* As the one stored array x. */
csrec_status csrec_npz_make_frame(const struct csrec_output *output, const char *path,
                                  const csrec_image *signal, const char *like, uint32_t crc,
                                  csrec_frame *frame, csrec_error *error);

csrec_status csrec_npz_write_signal(csrec_files *files, const char *path, const csrec_image *signal,
                                    const char *like, csrec_error *error);
csrec_status csrec_npz_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                   csrec_slab_fn take, void *context, const char *like,
                                   csrec_error *error);
