/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.h - HDF5 and NetCDF-4 files by libhdf5: opening them, finding a dataset, its attributes.
 *
 * libhdf5 keeps everything in globals, and most builds of it are not for several threads: a lock of
 * ours is held from csrec_hdf5_enter to csrec_hdf5_leave, so that files can be read and written by
 * several threads, each its own. It does not guard against a program that calls libhdf5 itself, in
 * another thread, by the same copy of it. Only the named file is opened: links to other files are
 * not followed, and datasets that lie in other files are refused. */
#pragma once

#define H5_USE_110_API /* later ones have these functions, too */
#include <hdf5.h>

#include "files/output.h"
#include "files/input.h"

enum { CSREC_HDF5_TEXT = 160 };

/* The messages that libhdf5 prints by default, to be restored. */
typedef struct csrec_hdf5_calls {
    H5E_auto2_t print;
    void *data;
} csrec_hdf5_calls;

void csrec_hdf5_enter(csrec_hdf5_calls *calls);
void csrec_hdf5_leave(const csrec_hdf5_calls *calls);

/* An open file; closing it closes what was opened in it. */
typedef struct csrec_hdf5 {
    hid_t file;         /* -1: none */
    const char *name;   /* for messages */
    const char *member; /* "/NAME" or "NAME", or NULL */
    uint64_t size;      /* bytes, of a file that is read */
    csrec_input *input; /* NULL: a new file */
    uint64_t base;      /* addresses in the file count from here */
    size_t address_bytes, length_bytes;
} csrec_hdf5;

/* The input must outlive the file. On failure nothing is open. */
csrec_status csrec_hdf5_open(csrec_input *input, csrec_hdf5 *h5, csrec_error *error);
/* A new file of that path; or without one in memory, which grows by `step` bytes. */
csrec_status csrec_hdf5_create(const char *name, const char *path, size_t step, csrec_hdf5 *h5,
                               csrec_error *error);
/* false: what was still to be written could not be. */
bool csrec_hdf5_close(csrec_hdf5 *h5);
/* "NAME: damaged HDF5 (what libhdf5 said)", or out of memory; of a new file: cannot be written. */
csrec_status csrec_hdf5_failed(const csrec_hdf5 *h5, csrec_error *error);
/* A name of the file as printable ASCII. */
void csrec_hdf5_print(const char *name, char text[CSREC_HDF5_TEXT]);
/* What the type is in memory. */
hid_t csrec_hdf5_type(csrec_dtype dtype);

/* The numbers of an attribute, converted to the type; how many, 0 if there is none of that name, it
 * has more than `most`, or no numbers. class: H5T_INTEGER or H5T_FLOAT; or NULL. */
int csrec_hdf5_numbers(hid_t object, const char *name, hid_t type, int most, void *values,
                       H5T_class_t *class);
/* Whether it has a single text, which fits. */
bool csrec_hdf5_text(const csrec_hdf5 *h5, hid_t object, const char *name, char *text, size_t room);
bool csrec_hdf5_text_is(const csrec_hdf5 *h5, hid_t object, const char *name, const char *expected);
/* Numbers, or texts of fixed length unless `texts` allows others. */
bool csrec_hdf5_is_plain(hid_t type, bool texts);
/* Copies the numbers and texts among the attributes of an object, except those that are said to be
 * left out by a list of names that NULL ends. */
void csrec_hdf5_copy_attributes(const csrec_hdf5 *h5, hid_t from, hid_t to,
                                const char *const *without);
/* The sequences of variable length of an attribute or a dataset, whose items take `each` bytes in
 * the file, each with a byte 0 after its end; or NULL: none, damaged or very many. */
hvl_t *csrec_hdf5_sequences(const csrec_hdf5 *h5, hid_t object, int count, size_t each);
void csrec_hdf5_sequences_free(hvl_t *sequences, int count);
/* Writes these, which are texts, as an attribute or a dataset of the type. */
bool csrec_hdf5_copy_texts(const csrec_hdf5 *h5, hid_t from, int count, hid_t type, hid_t to);

/* A dataset of numbers. */
typedef struct csrec_hdf5_layout {
    int rank;
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK]; /* slowest first */
    csrec_shape shape; /* without axes of extent 1 at the beginning, with that of the channels */
    int first;         /* the dataset's axis that is the first one of shape */
    int64_t count;     /* values of the dataset */
    hsize_t from[H5S_MAX_RANK], end[H5S_MAX_RANK]; /* what is read of each axis */
    bool has_channels;                             /* an image with interlaced channels */
    csrec_dtype stored;
    bool wraps;        /* netCDF's _Unsigned: negative numbers stand for those above the others */
    csrec_dtype dtype; /* of the values */
    double scale, offset;
} csrec_hdf5_layout;

/* CSREC_UNSUPPORTED or CSREC_DATA, told by name, for what is no such dataset. */
csrec_status csrec_hdf5_layout_read(const csrec_hdf5 *h5, hid_t dataset, csrec_hdf5_layout *layout,
                                    csrec_error *error);

/* Opens the dataset that the path names, or else the only one that belongs to no other, to be
 * closed with the file. */
csrec_status csrec_hdf5_find(const csrec_hdf5 *h5, hid_t *dataset, csrec_error *error);
/* Its path in the file, to be freed; NULL: unknown. */
char *csrec_hdf5_path(hid_t object);
/* Opens an object of this file, -1 if there is none; links to other files are not followed. */
hid_t csrec_hdf5_object(hid_t from, const char *name);

/* Visits the objects that the attributes of an object name: coordinates, bounds, cell measures. */
typedef void (*csrec_hdf5_named_fn)(void *context, hid_t object);
void csrec_hdf5_named(const csrec_hdf5 *h5, hid_t object, csrec_hdf5_named_fn visit, void *context);
/* Whether a dataset says where or when others are: latitudes, longitudes, times, an axis. */
bool csrec_hdf5_is_place(const csrec_hdf5 *h5, hid_t dataset);

/* Those chunks of a dataset that have values between from and end, one after the other. */
typedef struct csrec_hdf5_grid {
    int rank;
    hsize_t from[H5S_MAX_RANK], end[H5S_MAX_RANK], chunk[H5S_MAX_RANK], start[H5S_MAX_RANK];
    hsize_t values, count; /* of a chunk; chunks of the whole dataset */
} csrec_hdf5_grid;

/* false: there are no chunks. */
bool csrec_hdf5_grid_open(hid_t creation, const csrec_hdf5_layout *layout, csrec_hdf5_grid *grid);
bool csrec_hdf5_grid_next(csrec_hdf5_grid *grid);
/* The rows of a chunk that are between from and end: where they begin there and in the chunk. */
typedef void (*csrec_hdf5_row)(void *context, hsize_t whole, hsize_t part, hsize_t length);
void csrec_hdf5_grid_rows(const csrec_hdf5_grid *grid, csrec_hdf5_row row, void *context);

hsize_t csrec_hdf5_chunks_written(hid_t dataset);
/* Of the chunk at which the grid is, 0: never written. */
hsize_t csrec_hdf5_chunk_bytes(hid_t dataset, const csrec_hdf5_grid *grid);
/* Reads the layout's values as the type; not done: no chunks, or filters that only libhdf5 has. A
 * slab that begins at 0 finds any lost chunk of the dataset, others only theirs. */
csrec_status csrec_hdf5_read_chunks(const csrec_hdf5 *h5, hid_t dataset,
                                    const csrec_hdf5_layout *layout, hid_t type, void *values,
                                    bool *done, csrec_error *error);

/* Whether a filter keeps values as they are. */
bool csrec_hdf5_is_exact(H5Z_filter_t id);
/* Marks entries that have a value for unknown, are not in the valid range, or were never written:
 * signal->alpha, which stays NULL if the dataset tells of none. The values are then scaled. */
csrec_status csrec_hdf5_unpack(const csrec_hdf5 *h5, hid_t dataset, const csrec_hdf5_layout *layout,
                               csrec_image *signal, csrec_error *error);

/* 1 + the axis of a dataset that is time: its scale is named time, or says so by CF's attributes,
 * or it is labelled time; 0: none. */
int csrec_hdf5_time(const csrec_hdf5 *h5, hid_t dataset);

/* Copies what belongs to `like` to the new file: the scales of its axes (dimension scales, NetCDF's
 * coordinate variables), which are attached to the dataset, latitudes, longitudes and times beside
 * it, what its attributes name, and what belongs to these. */
void csrec_hdf5_copy_beside(const csrec_hdf5 *h5, hid_t like, hid_t dataset, hid_t file);

csrec_status csrec_hdf5_signal(csrec_input *input, csrec_image *signal, csrec_error *error);
/* k-space of fastMRI or ISMRMRD, or as without it. */
csrec_status csrec_hdf5_measurement(csrec_input *input, const csrec_read_options *options,
                                    csrec_measurement *measurement, csrec_error *error);
csrec_status csrec_hdf5_peek(csrec_input *input, csrec_image *signal, bool *transparent,
                             csrec_error *error);
csrec_status csrec_hdf5_write(csrec_files *files, const char *path, const csrec_image *signal,
                              const char *like, csrec_error *error);
csrec_status csrec_hdf5_write_slabs(csrec_files *files, const char *path, const csrec_image *signal,
                                    csrec_slab_fn take, void *context, const char *like,
                                    csrec_error *error);
csrec_status csrec_hdf5_frame(const struct csrec_output *output, const char *path,
                              const csrec_image *signal, const char *like, uint32_t crc,
                              csrec_frame *frame, csrec_error *error);
