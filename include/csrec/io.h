/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/io.h - files: arrays, pictures, measurements, and files that are written together. */
#ifndef CSREC_IO_H
#define CSREC_IO_H

#include "format.h"
#include "measurement.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_comm csrec_comm; /* comm.h */
struct csrec_read_options;

/* ------------------------------------------------------------------ arrays (.npy, .npz) ------- */

/* Reads and writes NumPy .npy (versions 1 to 3). path "-" is stdin / stdout. Complex numbers are
 * read as a last axis of real and imaginary parts. Fortran order is transposed while reading,
 * big-endian data are swapped. Here and below, files are written under a temporary name, then
 * renamed (csrec_files). */
CSREC_API csrec_status csrec_array_read(const char *path, csrec_array *array, csrec_error *error);
CSREC_API csrec_status csrec_array_write(const char *path, const csrec_array *array,
                                         csrec_error *error);

/* The array of a whole .npy in memory; name: of it, for messages. */
CSREC_API csrec_status csrec_array_parse(const void *bytes, uint64_t size, const char *name,
                                         csrec_array *array, csrec_error *error);

/* Reads and writes arrays of NumPy .npz archives. Writing: count in 1..64, distinct names as the
 * keyword arguments of numpy.savez; members are deflated, large float ones stored. path "-" is
 * stdin / stdout. */
CSREC_API csrec_status csrec_npz_read(const char *path, const char *name, csrec_array *array,
                                      csrec_error *error);
CSREC_API csrec_status csrec_npz_write(const char *path, int count, const char *const *names,
                                       const csrec_array *const *arrays, csrec_error *error);

/* ------------------------------------------------------------------ whole signals ------------- */

/* Colours of indices 0 .. n - 1: red, green and blue, 0 .. 65535. */
typedef struct csrec_palette {
    int n; /* 0: none */
    uint16_t color[3][256];
} csrec_palette;

/* A signal as stored, never scaled: a picture of integers 0 .. 2^bits - 1, or numbers. */
typedef struct csrec_image {
    csrec_array pixels; /* PNG: U8 (bits <= 8) or U16, shape [H, W, C], C = 1 gray or 3 RGB. TIFF:
                           of the file's type, [H, W, C], or [P, H, W, C] of several pages. A
                           palette is expanded to RGB with bits = 8. FITS: with BSCALE and BZERO
                           applied, the last axis of FITS first, no channels. OpenEXR: F32 or U32, C
                           = 1 or 3. HDF5: with scale_factor and add_offset applied */
    bool is_complex;    /* the last axis of the pixels, of extent 2, has real and imaginary parts */
    bool has_channels;  /* the last axis has channels; as it always has with bits > 0 */
    bool stack;     /* the first axis has slices, apart from x, y and z: BART's axis 13 in a .cfl */
    int time;       /* 1 + the axis that the file says is time; 0: none */
    uint8_t *alpha; /* NULL, or for each entry 1 where it counts as a sample (alpha > 0), 0 where
                       it is fully transparent, or has the file's value for unknown */
    bool by_channel; /* alpha has this for each value instead, [pixels.count] */
    bool has_nodata; /* the file names a value that stands for unknown ones, and the written one
                        does where the format can: */
    double nodata;
    int bits;     /* 1, 2, 4, 8 or 16 bits a sample; 0: numbers without black and white */
    bool palette; /* the file had a palette */
    const csrec_palette *colors; /* NULL, or of indices of one channel of CSREC_U8, to be written as
                                    a palette by PNG and TIFF */
    int64_t partial;             /* pixels with partial alpha; their colour is unchanged */
    const struct csrec_placement *placement; /* NULL, or of what a .csv lists (its list.dims > 0): a
                        .csv then has a line for each entry, its coordinates and its values; a TIFF
                        of two axes has GeoTIFF's transformation to the coordinates */
} csrec_image;

/* Splits off the axis of the channels: of a picture, or with channels_last; and that of the parts
 * of complex numbers, which count as channels here. name: of the file, for messages. CSREC_DATA: no
 * axis is left. */
CSREC_API csrec_status csrec_image_split(const csrec_image *image, bool channels_last,
                                         const char *name, csrec_shape *shape, int64_t *channels,
                                         csrec_error *error);

/* Does with the axes of an array as the options say, so that channels are last. CSREC_ARGUMENT:
 * they do not say what [H, W, 2..4] is. remark: NULL, or a sentence of the first axis, or "". */
CSREC_API csrec_status csrec_image_arrange(csrec_image *image,
                                           const struct csrec_read_options *options,
                                           const char *name, csrec_error *remark,
                                           csrec_error *error);
/* Moves the first axis of an array behind the others, or with `first` the last before them. */
CSREC_API csrec_status csrec_image_turn(csrec_image *image, bool first, const char *name,
                                        csrec_error *error);

/* 1 + the axis that is time of a signal of that shape, as csrec_image_split gives it; 0: none. */
CSREC_API int csrec_image_time(const csrec_image *image, const struct csrec_read_options *options,
                               const csrec_shape *shape);

/* PNG pictures. path "-" is stdin / stdout. Refuses a picture whose declared size exceeds half of
 * the free memory. Writing: shape [H, W] or [H, W, 1|3], U8 or U16 pixels, bits 8 or 16; alpha NULL
 * or written as an alpha channel (0 or full). */
CSREC_API csrec_status csrec_image_read(const char *path, csrec_image *image, csrec_error *error);
CSREC_API csrec_status csrec_image_write(const char *path, const csrec_image *image,
                                         csrec_error *error);
CSREC_API void csrec_image_clear(csrec_image *image);

/* A whole signal of any format that has CSREC_USE_READ; path "-" is stdin. If it is an array, bits
 * is 0, and pixels have its type and shape. Free with csrec_image_clear. */
CSREC_API csrec_status csrec_signal_read(const char *path, csrec_image *signal, csrec_error *error);

/* What csrec_signal_read would return, but for the data: pixels.dtype, shape and count, bits and
 * has_channels. Of a format that has CSREC_USE_SLABS; CSREC_UNSUPPORTED: of another, or a file
 * whose slabs are scattered. Nothing to free. */
CSREC_API csrec_status csrec_signal_look(const char *path, csrec_image *signal, csrec_error *error);

/* The bytes [n] of the PNG that csrec_image_write would write; free them with free. */
CSREC_API csrec_status csrec_image_encode(const csrec_image *image, uint8_t **bytes, size_t *n,
                                          csrec_error *error);

/* ------------------------------------------------------------------ measurements -------------- */

/* Reads a measurement of any format that has CSREC_USE_SAMPLES: .npz (see docs/files.md), .csv of
 * coordinates and values, or a whole picture, array or .csv matrix, of which the known values are
 * the samples: those that are finite, or not transparent, or in a mask. The result is checked:
 * distinct, in range, not empty. mask_path as mask below, or NULL. path "-" is stdin. */
CSREC_API csrec_status csrec_measurement_read(const char *path, const char *mask_path,
                                              csrec_measurement *measurement, csrec_error *error);

/* Entries first .. first + count - 1 of the first axis: rows of a picture, slices of a volume. */
typedef struct csrec_slab {
    int64_t first, count;
} csrec_slab;

/* How a .csv lists samples, a line for each. */
typedef struct csrec_list {
    int dims;                 /* columns of coordinates, before those of values; 0: no such list */
    int axis[CSREC_DIMS_MAX]; /* of each of them */
    char separator, decimal;
    char header[1024]; /* the line that names the columns; "" without one, or a longer one */
} csrec_list;

/* Where samples of real coordinates were put: cell i of axis d has its middle at origin[d] + i
 * step[d]. */
typedef struct csrec_placement {
    int dims; /* 0: the positions were whole numbers, and are those of the signal */
    double origin[CSREC_DIMS_MAX], step[CSREC_DIMS_MAX];
    double farthest; /* most cells, along an axis, from a sample to the middle of its cell */
    int64_t shared;  /* samples that are not alone in their cell, which has their mean */
    double moved;    /* the most that a value changed on the way to the middle of its cell */
    bool whole;      /* dims > 0, and all coordinates were whole numbers from 0 that might be
                        positions: far from 0, with a step, or of too large a signal */
    bool stepped;    /* dims 0, but the numbers have a common step above 1, as coordinates have */
    bool guessed;    /* columns of a .csv are coordinates by their order, not by their names */
    csrec_list list; /* of any .csv of samples */
} csrec_placement;

/* What a file says beside its samples. */
typedef struct csrec_facts {
    bool linear;  /* they are light, 0 black and 1 white: colours or Y of an OpenEXR */
    bool reduced; /* there are reduced copies, overviews, which are not read */
    int64_t soft; /* values of the mask between its least and its largest, see `mask` below */
    bool has_nodata;
    double nodata; /* stands for unknown values in the file */
    bool flags;    /* an attribute flag_values says that values are classes */
    bool table;    /* a matrix of a .csv: what a column without any value should be is not known */
    int time; /* 1 + the axis of three that the file says is time, 0: none. If it is the first, the
                 measurement is a sequence */
    int64_t slices;        /* of k-space, of which the measurement is one; 0: it is no k-space */
    csrec_palette palette; /* of a PNG or TIFF */
    int64_t lost;          /* samples with rays that are NaN or infinite, and left out */
    char note[640]; /* what else is in the file, was lost before, or was left open: a line for the
                       user; or "" */
    csrec_error remark; /* what the file does not say, so that it is as the data show or as usual,
                           with the remedy (csrec_doubt_centred); or "" */
} csrec_facts;

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_read_options {
    const char *mask;    /* a picture or array of the signal's shape: entries where it is not 0 are
                            samples. With the signal's channels it tells of each channel; with others
                            an entry counts that has any. In pictures of 8 or 16 bits with values
                            between 0 and their largest, as of soft edges, the upper half counts, and
                            nothing that is transparent. Replaces the signal's transparency */
    bool channels_last;  /* the last axis of an array has channels; pictures always have them */
    bool channels_first; /* or its first axis, which then becomes the last */
    bool volume;      /* or none, and none is time, whatever the file says; without these an array
                         [H, W, 2..4] is refused, as it may be either */
    bool has_unknown; /* this value is unknown, too; of RGB pictures where all channels have
                         it; in a TIFF with a palette it is an index */
    double unknown;
    bool labels; /* for csrec_recover_options.labels: a palette is not expanded, values are indices;
                    cells have the class of their sample. CSREC_DATA: several share one */
    csrec_progress_fn progress; /* or NULL. If the file has pattern, seed and count, the positions
                                   are drawn again, see csrec_sampling_create_watched */
    void *context;              /* of progress */
    bool empty; /* an .npz without samples, or a picture or array of which nothing is known, is a
                   measurement of none, n = 0 (of a sequence), and no error */
    bool noisy; /* a picture or array that may be known everywhere, to be denoised, is no error */
    bool no_guides; /* guides of the file, and layers of an OpenEXR that are such, are left out */
    const csrec_shape *grid; /* or NULL: cells of a .csv's coordinates, which the first and the last
                                cell of an axis have in their middle. Default: the step that the
                                coordinates have, else square cells, about four for each sample */
    const char *coordinates, *values; /* or NULL: columns of a .csv of samples, "lon,lat", by the
                                         names in its header, or by their numbers from 1. With
                                         either it is no matrix */
    bool cell_means; /* cells of coordinates have the means of their samples, as labels must; else
                        the values in their middles, of the smoothest function through a sample and
                        its 15 nearest neighbours, where samples are more than a twentieth of a cell
                        away */
    csrec_placement *placement; /* or NULL: receives how coordinates became cells */
    csrec_facts *facts;         /* or NULL: receives what the file says beside its samples */
    const char *coils;          /* of k-space: NULL, a file of maps [coils, shape], "estimate"
                                   (csrec_coils_estimate), or "none": each coil is a channel. Default:
                                   estimated of formats of k-space, none of others */
    const char *noise; /* or NULL: covariance of coils [coils, coils], or their samples of noise
                          [coils, n], for csrec_coils_whiten */
    const char
        *trajectory; /* of k-space of BART: NULL, or the file of its trajectory, in cycles per
                        field of view, [..., points, x y z]: it is read for operator nufft */
    bool has_slice;
    int64_t slice;   /* of k-space of several; default: the middle one */
    csrec_slab slab; /* count 0: all. Else the measurement is of these alone: its shape has `count`
                        as its first extent, and it may have no sample. Needs CSREC_USE_SLABS of
                        file and mask */
} csrec_read_options;

/* Adds the planes of a picture or array of any format that has CSREC_USE_READ, NaN where it is
 * transparent or unknown, to the guides of a measurement (csrec_guides_add): of its shape, or with
 * an axis of planes, the last or else the first; of a sequence also of a frame, for all of them.
 * name, or NULL: of an OpenEXR all layers that are albedo, normals, depth or position, under these
 * names, or else all it has; of others that of a part of the file that path names, or "". In depths
 * what is infinite, or 1e10 and beyond, is the farthest else. CSREC_DATA: another shape, complex
 * numbers, or a plane that is known nowhere. CSREC_ARGUMENT: too long a name. On failure layers
 * before may have been added. */
CSREC_API csrec_status csrec_guides_read(const char *path, const char *name,
                                         csrec_measurement *measurement, csrec_error *error);

/* Which values of a signal of that shape a mask marks: as of csrec_read_options, but flags of FITS
 * count where they are not 0. *at, to be freed in any case: [entries], or with *by_channel [entries
 * * channels]. */
CSREC_API csrec_status csrec_mask_read(const char *path, bool channels_first,
                                       const csrec_shape *shape, int64_t channels, uint8_t **at,
                                       bool *by_channel, csrec_error *error);

/* The same with options, or NULL. CSREC_ARGUMENT: options for a file that has its positions. */
CSREC_API csrec_status csrec_measurement_read_with(const char *path,
                                                   const csrec_read_options *options,
                                                   csrec_measurement *measurement,
                                                   csrec_error *error);

/* The same of samples in memory, as of lines of a .csv: coordinates [n * dims], the slowest axis
 * first, and values y [n * channels], NaN where unknown. Of the options `grid`, `cell_means`,
 * `labels` and `placement` count. Free the measurement with csrec_measurement_clear. Thread safe.
 * CSREC_ARGUMENT: n, channels or dims below 1, dims above CSREC_DIMS_MAX, or a grid of other axes.
 * CSREC_DATA: a coordinate or value that is infinite, a coordinate that is NaN, or no known value;
 * CSREC_MEMORY. */
CSREC_API csrec_status csrec_measurement_place(int64_t n, int dims, const double *coordinates,
                                               int64_t channels, const double *y,
                                               const csrec_read_options *options,
                                               csrec_measurement *measurement, csrec_error *error);

/* Reads the samples of a slab into *part, which csrec_measurement_clear frees: shape with
 * slab.count as its first extent, channels, n (may be 0), index and y, as
 * csrec_measurement_read_with delivers them. Slabs come in any order, each several times, with the
 * same samples. */
typedef csrec_status (*csrec_slab_samples_fn)(void *context, csrec_slab slab,
                                              csrec_measurement *part, csrec_error *error);

/* A file whose samples are read in slabs: a picture or array of a format with CSREC_USE_SLABS; or
 * an .npz with y and index or mask whose arrays are stored, not compressed, in C order
 * (numpy.savez). Open delivers in *form what csrec_measurement_read_with would but for the samples;
 * form->n: their number in an .npz, else 0. Options, and what they point to, must last; slab is
 * ignored. CSREC_UNSUPPORTED: the file, or the mask, is read as a whole.
 *
 * Of an .npz the first call of read goes through all samples once, for errors and checksums, and
 * keeps 16 bytes for each 65,536 of them (or entries of the mask). Then the samples of a slab are
 * found in any order; if positions do not ascend, all of `index` is read for each slab. */
typedef struct csrec_slab_file csrec_slab_file;
CSREC_API csrec_status csrec_slab_file_open(const char *path, const csrec_read_options *options,
                                            csrec_measurement *form, csrec_slab_file **file,
                                            csrec_error *error);
/* A csrec_slab_samples_fn: file is a csrec_slab_file. */
CSREC_API csrec_status csrec_slab_file_read(void *file, csrec_slab slab, csrec_measurement *part,
                                            csrec_error *error);
CSREC_API void csrec_slab_file_close(csrec_slab_file *file);

/* Writes .npz with y, shape, index (or pattern, seed, count when `procedural` and the pattern is
 * known), sigma, rays, scale, guides and sequence where set; y in measurement->dtype. path "-" is
 * stdout.
 */
CSREC_API csrec_status csrec_measurement_write(const char *path,
                                               const csrec_measurement *measurement,
                                               bool procedural, csrec_error *error);

/* ------------------------------------------------------------------ files written together  */

/* Files that appear together, each complete, or not at all. Adding a file writes it, flushed and
 * synchronised, beside its final name as .csrec-PID-NUMBER.tmp; csrec_files_commit then renames
 * all. Until then existing files are unchanged, and csrec_files_destroy removes the added ones. A
 * link is followed: the file that it refers to is replaced, the link is kept. Path "-" is stdout;
 * stdout, devices and pipes are written at once. The functions csrec_..._write do the same for one
 * file. Only one thread at a time may use an object. */
typedef struct csrec_files csrec_files;

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_files_options {
    bool no_sync; /* omit fsync of files and folders: a power cut may then lose or empty what was
                     just written; a killed process cannot */
    bool dated;   /* `date` becomes the time of the files' last change */
    int64_t date; /* seconds since 1970-01-01 UTC */
    /* One line of ASCII, at most 60000 bytes, that says what the files were made from, or NULL. It
     * must exist as long as the csrec_files. Each file contains it as "csrec-fingerprint: LINE": a
     * PNG as a tEXt chunk "Comment" at its end, a JPEG, TIFF, OpenEXR or HDF5 file after its last
     * byte, a FITS in the bytes of a second image, an .npy as a second record after the array
     * (numpy.load reads the first), an .npz as an array `fingerprint`; bytes, stdout, devices and
     * pipes do not get it, and a .csv only by in_text.
     */
    const char *fingerprint;
    bool in_text; /* a .csv ends in it as a comment, which other readers may take for data */
} csrec_files_options;

#define CSREC_FINGERPRINT "csrec-fingerprint: "

/* options NULL: the defaults. CSREC_MEMORY. */
CSREC_API csrec_status csrec_files_create(const csrec_files_options *options, csrec_files **files,
                                          csrec_error *error);

/* Add the file that csrec_array_write, csrec_npz_write, csrec_image_write or
 * csrec_measurement_write would write, with their errors, or n bytes; csrec_files_add_model adds a
 * model (learn.h).
 */
CSREC_API csrec_status csrec_files_add_array(csrec_files *files, const char *path,
                                             const csrec_array *array, csrec_error *error);
CSREC_API csrec_status csrec_files_add_npz(csrec_files *files, const char *path, int count,
                                           const char *const *names,
                                           const csrec_array *const *arrays, csrec_error *error);
CSREC_API csrec_status csrec_files_add_image(csrec_files *files, const char *path,
                                             const csrec_image *image, csrec_error *error);
/* A signal as csrec_signal_read returns it, in a format that has CSREC_USE_WRITE. like: NULL, or a
 * file; if it has the same format, its metadata (where a raster lies, units, dates, texts) are
 * copied; from a PNG to a JPEG and back colour profile, resolution and EXIF. */
CSREC_API csrec_status csrec_files_add_signal(csrec_files *files, const char *path,
                                              const csrec_format *format, const csrec_image *signal,
                                              const char *like, csrec_error *error);
/* Fills `values` with those of a slab: [count][other axes] in the signal's type. Slabs come in
 * their order, each once. Any status but CSREC_OK ends the writing. */
typedef csrec_status (*csrec_slab_fn)(void *context, csrec_slab slab, void *values,
                                      csrec_error *error);

/* The same for a signal whose pixels have no data, in a format that has CSREC_USE_SLABS: `take`
 * delivers them. */
CSREC_API csrec_status csrec_files_add_slabs(csrec_files *files, const char *path,
                                             const csrec_format *format, const csrec_image *signal,
                                             csrec_slab_fn take, void *context, const char *like,
                                             csrec_error *error);

/* The same by the processes of a communicator that share a file system: all call it with the same
 * arguments, `files` NULL on all but the first, and each calls csrec_parts_put in its `fill`, until
 * each value is put once by one of them. The bytes are those of one process. CSREC_UNSUPPORTED,
 * before any call of `fill`, on all: the format is written by one process (all but .npy, .npz and
 * HDF5 without chunks are), the path is no regular file, or not all processes see it. */
typedef struct csrec_parts csrec_parts;
typedef csrec_status (*csrec_fill_fn)(void *context, csrec_parts *parts, csrec_error *error);
CSREC_API csrec_status csrec_files_add_parts(csrec_files *files, const char *path,
                                             const csrec_format *format, const csrec_image *signal,
                                             csrec_comm *comm, csrec_fill_fn fill, void *context,
                                             const char *like, csrec_error *error);
/* Values of the signal's type, from value `first` on, in C order. */
CSREC_API csrec_status csrec_parts_put(csrec_parts *parts, int64_t first, int64_t count,
                                       const void *values, csrec_error *error);

CSREC_API csrec_status csrec_files_add_measurement(csrec_files *files, const char *path,
                                                   const csrec_measurement *measurement,
                                                   bool procedural, csrec_error *error);
CSREC_API csrec_status csrec_files_add_bytes(csrec_files *files, const char *path,
                                             const void *bytes, size_t n, csrec_error *error);

/* Renames all, in the order in which they were added, and synchronises their folders before and
 * after. CSREC_FILE: if the first rename fails, nothing has changed; if a later one fails, which
 * only a change of the folder in between can cause, the error names the files that are replaced.
 * The object is empty afterwards in any case. */
CSREC_API csrec_status csrec_files_commit(csrec_files *files, csrec_error *error);
CSREC_API void csrec_files_destroy(csrec_files *files);

/* Removes the temporary files and locks of killed runs from the folder of the file `path`: those
 * without the flock of a running writer. Returns their number. */
CSREC_API int csrec_files_sweep(const char *path);

/* A lock on the name of a file that is about to be written, against other runs that would write it:
 * a locked file .csrec-HASH.lock beside it. It holds between machines where the file system has
 * locks (NFS has), and ends with the process, however that ends. *lock = NULL: "-", devices and
 * pipes, and folders and file systems that do not allow it, have none. CSREC_FILE: another has the
 * lock; the line names its machine and process. Any thread may take and drop locks. */
typedef struct csrec_file_lock csrec_file_lock;
CSREC_API csrec_status csrec_file_lock_take(const char *path, csrec_file_lock **lock,
                                            csrec_error *error);
CSREC_API void csrec_file_lock_drop(csrec_file_lock *lock);

#ifdef __cplusplus
}
#endif
#endif
