/* hdf5_writer.h - a file that is made: its dataset, attributes and scales, without values. */
#ifndef CSREC_FILES_HDF5_HDF5_WRITER_H
#define CSREC_FILES_HDF5_HDF5_WRITER_H

#include "files/hdf5/hdf5.h"

/* The file that is written, and the one that it is like. */
typedef struct csrec_hdf5_writer {
    csrec_hdf5 h5, like;
    csrec_input input;   /* that of `like` */
    hid_t from, dataset; /* from: -1, or of the same shape */
    csrec_hdf5_layout layout;
    csrec_error *error;
    const csrec_image *signal;
    csrec_slab_fn take; /* of its values, or NULL: it has data */
    void *context;
    csrec_hdf5_calls calls; /* while it has begun */
    char *name;             /* of the dataset */
    bool renamed, chunked;
    hsize_t chunk[H5S_MAX_RANK];
    int rank;
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK];
} csrec_hdf5_writer;

/* The axes; CSREC_ARGUMENT: no dataset can have them. */
csrec_status csrec_hdf5_writer_measure(csrec_hdf5_writer *writer, const char *path);

/* Measures, locks libhdf5, opens what the file is like and chooses the dataset's name. End it in
 * any case. */
csrec_status csrec_hdf5_writer_begin(csrec_hdf5_writer *writer, const char *path, const char *like);
void csrec_hdf5_writer_end(csrec_hdf5_writer *writer);

/* In h5, which is open: all but the values, for which there is room unless they are in chunks. Then
 * the file that it is like is closed, so that others may open it. */
bool csrec_hdf5_writer_create(csrec_hdf5_writer *writer);

#endif
