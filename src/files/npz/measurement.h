/* measurement.h - the arrays of a measurement in a .npz: what reading all of it
 * (measurement_npz.c) and reading slabs (npz_slabs.c) have in common. */
#ifndef CSREC_FILES_NPZ_MEASUREMENT_H
#define CSREC_FILES_NPZ_MEASUREMENT_H

#include "files/format.h"
#include "files/npz/npz.h"

/* Elements read and checked at a time. */
enum { CSREC_NPZ_PIECE = 1 << 16 };

/* Opens y, and stores the number of samples, channels and the type. */
csrec_status csrec_npz_begin_y(const csrec_npz *npz, csrec_measurement *measurement,
                               csrec_npz_member *member, csrec_error *error);
/* The same of y that is not read then. */
csrec_status csrec_npz_measure(const csrec_npz *npz, csrec_measurement *measurement,
                               csrec_error *error);

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

#endif
