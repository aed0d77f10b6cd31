/* npz.h - zip archives of .npy members, by libzip. */
#ifndef CSREC_FILES_NPZ_NPZ_H
#define CSREC_FILES_NPZ_NPZ_H

#include <zip.h>

#include "files/npy/npy.h"
#include "files/output.h"

typedef struct csrec_npz {
    const char *name; /* of the file */
    zip_t *zip;
    uint64_t size;              /* bytes of the whole archive */
    bool in_pieces;             /* members may be larger than memory */
    csrec_progress_fn progress; /* the input's */
    void *context;
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

/* The whole array; not text. */
csrec_status csrec_npz_array(const csrec_npz *npz, const char *field, csrec_array *array,
                             csrec_error *error);

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

#endif
