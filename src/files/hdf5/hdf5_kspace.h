/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_kspace.h - k-space in HDF5: fastMRI's files and ISMRMRD's. */
#pragma once

#include "files/hdf5/hdf5.h"
#include "files/kspace.h"

/* What the XML header of ISMRMRD says, also in files of fastMRI; 0: it does not. */
typedef struct csrec_hdf5_scan {
    int64_t encoded[3], recon[3]; /* matrices: readout, first and second phase encoding */
    int64_t middle[2];            /* of the phase encodings: the line of frequency 0, or -1 */
    bool cartesian;
} csrec_hdf5_scan;

/* A slice of k-space, [coils][shape][2]. */
typedef struct csrec_hdf5_slice {
    csrec_shape shape;
    int64_t coils, slices, number; /* of how many it is which */
    float *values;
    uint8_t *known; /* [entries], or NULL: what is not 0 */
    float
        *trajectory; /* NULL, or [points][3], x first: values are of these, and known is not read */
    int64_t points;
} csrec_hdf5_slice;

csrec_status csrec_hdf5_allocate(const csrec_hdf5 *h5, csrec_hdf5_slice *slice, csrec_error *error);
/* Of /dataset/data; delivers covariance and count of noise to the input. */
csrec_status csrec_hdf5_ismrmrd(const csrec_hdf5 *h5, hid_t data, const csrec_read_options *options,
                                csrec_hdf5_slice *slice, csrec_hdf5_scan *scan, csrec_error *error);
