/* SPDX-License-Identifier: BSD-3-Clause */
/* format.h - the table of file formats: how each is recognised, read and written; what describes a
 * picture beside its values: colour profile, resolution, EXIF, texts. */
#pragma once

#include "base/rows.h"
#include "files/input.h"
#include "files/output.h"

/* Of integers that doubles may have rounded. */
#define CSREC_ROUNDED "integers from 2^53 on lose digits: subtract an offset, or divide"

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

enum { CSREC_MAGICS = 4 };

/* What delivers the samples of slabs; closed by `close`. */
typedef struct csrec_slab_source {
    void *state;
    csrec_slab_samples_fn read;
    void (*close)(void *state);
} csrec_slab_source;

/* A row: defined last in the source file of its format. It must have name, endings, title and what,
 * and the functions of its uses: csrec_format_check_row has all rules. Functions of other uses are
 * NULL, or fail with the remedy. */
typedef struct csrec_format_row {
    csrec_format format; /* uses 0: its library is missing, and files are told by name */
    /* Files begin with one of these, up to a NULL; none: with anything that is text. */
    struct {
        const char *bytes;
        size_t size;
    } magic[CSREC_MAGICS + 1];
    /* Reads the whole, or the input's slab: pixels in C order. A picture has bits, and [H, W,
     * channels] or [pages, H, W, channels] of CSREC_U8, or CSREC_U16 for 16 bits, none above 2^bits
     * - 1; has_channels is as good as set. An array has bits 0 and the file's axes; has_channels
     * says that the last is channels. Delivers all or, with a failure, nothing (csrec_format_signal
     * checks it). */
    csrec_status (*signal)(csrec_input *input, csrec_image *signal, csrec_error *error);
    /* Reads what precedes the pixels: pixels->dtype and shape, bits, palette, and whether entries
     * may be transparent or otherwise unknown. No data, nothing to free; the input can be read
     * afterwards. */
    csrec_status (*peek)(csrec_input *input, csrec_image *signal, bool *transparent,
                         csrec_error *error);
    /* Delivers an unchecked measurement or nothing; NULL: known entries of what `signal` reads. */
    csrec_status (*measurement)(csrec_input *input, const csrec_read_options *options,
                                csrec_measurement *measurement, csrec_error *error);
    /* Adds its layers to the guides (csrec_guides_read without a name); NULL: `signal` is the
     * guide. */
    csrec_status (*guides)(csrec_input *input, csrec_measurement *measurement, csrec_error *error);
    /* Opens samples with positions of which slabs are read; takes the input over. form: shape, n
     * and all but index and y. CSREC_UNSUPPORTED: they are read as a whole. */
    csrec_status (*open_slabs)(csrec_input *input, const csrec_read_options *options,
                               csrec_measurement *form, csrec_slab_source *source,
                               csrec_error *error);
    bool is_complex; /* complex values are written */
    int members; /* CSREC_USE_READ, CSREC_USE_WRITE: where a path may go on with input->member */
    /* Why signals of that shape cannot be written, and the remedy; or NULL, as without it. */
    const char *(*refusal)(const csrec_shape *shape, int64_t channels);
    /* What describes the picture of a file beside its values; NULL: nothing for other files. After
     * a failure other than CSREC_MEMORY and CSREC_FILE, what was found before holds. */
    csrec_status (*about)(csrec_input *input, csrec_about *about, csrec_error *error);
    /* Writes a signal as `signal` delivers it, of any type, with the metadata of the file `like` if
     * that has the format (csrec_format_open_like), or tells them (csrec_about_read). */
    csrec_status (*write)(csrec_files *files, const char *path, const csrec_image *signal,
                          const char *like, csrec_error *error);
    csrec_status (*write_slabs)(csrec_files *files, const char *path, const csrec_image *signal,
                                csrec_slab_fn take, void *context, const char *like,
                                csrec_error *error);
    csrec_framing framing; /* if files are a head, the values in C order, and a tail */
} csrec_format_row;

const csrec_format_row *csrec_format_row_of(const csrec_format *format);

/* The table, in the order in which it is listed, and contents are tried. */
#define CSREC_FORMATS(X)                                                                           \
    X(npz)                                                                                         \
    X(png)                                                                                         \
    X(jpeg)                                                                                        \
    X(npy)                                                                                         \
    X(tiff)                                                                                        \
    X(fits)                                                                                        \
    X(exr)                                                                                         \
    X(hdf5)                                                                                        \
    X(bart)                                                                                        \
    X(csv)                                                                                         \
    CSREC_MORE_FORMATS(X)

#define CSREC_FORMAT_DECLARED(name) extern const csrec_format_row csrec_##name##_format;
CSREC_FORMATS(CSREC_FORMAT_DECLARED)
#undef CSREC_FORMAT_DECLARED

/* Whether a .csv of the signal lists coordinates and values. */
static inline bool csrec_image_is_listed(const csrec_image *signal) {
    return signal->placement && signal->placement->list.dims > 0;
}

/* CSREC_ARGUMENT and a line that names the field, if a row lacks something. */
csrec_status csrec_format_check_row(const csrec_format_row *row, csrec_error *error);
/* The row's signal and its peek; CSREC_FORMAT: they deliver what is no picture or array. */
csrec_status csrec_format_signal(csrec_input *input, csrec_image *signal, csrec_error *error);
csrec_status csrec_format_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                               csrec_error *error);

/* The libraries of formats that may be missing, with their least versions. */
#define CSREC_JPEG_NEEDS "libjpeg-turbo 2.0"
#define CSREC_TIFF_NEEDS "libtiff 4.5"
#define CSREC_FITS_NEEDS "cfitsio 4.2"
#define CSREC_EXR_NEEDS  "OpenEXR 3.1"
#define CSREC_HDF5_NEEDS "libhdf5 1.10.7"

/* What every FITS begins with. */
#define CSREC_FITS_MAGIC "SIMPLE  ="

/* What an HDF5 file begins with, perhaps after a block of its user. */
#define CSREC_HDF5_MAGIC   "\x89HDF\r\n\x1a\n"
#define CSREC_HDF5_ENDINGS ".h5 .hdf5 .hdf .nc .nc4 .nxs"

/* Found by the first bytes, never by the name; NULL: empty, or no format of the table. What was
 * found stays, so that a later failure to read cannot make of it another format. */
const csrec_format_row *csrec_input_format(csrec_input *input);

/* Fails for an input whose slabs cannot be read. */
csrec_status csrec_format_no_slabs(const csrec_input *input, csrec_error *error);

/* Narrows a shape to the input's slab, if it has one. CSREC_ARGUMENT: beyond the shape. */
csrec_status csrec_input_narrow(const csrec_input *input, csrec_shape *shape, csrec_error *error);

/* Opens the file whose metadata a new one of that format gets: false, and the input has nothing to
 * close, if there is none, or none of that format. */
bool csrec_format_open_like(const csrec_format_row *row, const char *path, csrec_input *input);
/* Fails for an input whose format does not support the use: empty, or none of those. `remedy`
 * follows their list. */
csrec_status csrec_format_unknown(csrec_input *input, int use, const char *remedy,
                                  csrec_error *error);
