/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.h - the sampled entries of a signal; also the last factor of the operators on a signal. */
#pragma once

#include "operator/operator.h"

struct csrec_mask {
    csrec_shape shape;
    int64_t entries, m;
    int64_t *index; /* [m] */
};

/* Of an operator that measures whole signals (measurement/through.h): its rows, after its
 * parameters are checked. CSREC_ARGUMENT: no shape; errors as of csrec_measurement_rows. */
csrec_status csrec_rows_of(const csrec_operator_spec *spec, const char *name, int64_t *rows,
                           csrec_error *error);

/* How many of the rows spec->index chooses, all where it is NULL. CSREC_ARGUMENT: none, or more
 * than there are; CSREC_DATA: names the first that is out of range or comes twice. */
csrec_status csrec_rows_chosen(const csrec_operator_spec *spec, const char *name, int64_t rows,
                               int64_t *m, csrec_error *error);

/* From spec->shape, spec->index and spec->m; `name` is the operator's, for the error. */
csrec_status csrec_mask_create(const csrec_operator_spec *spec, const char *name, csrec_mask *mask,
                               csrec_error *error);
void csrec_mask_clear(csrec_mask *mask);

/* The mask of an operator, whose pool keeps it: sets m, and A->mask of one that has synthesize. */
csrec_status csrec_mask_attach(csrec_operator *A, const csrec_operator_spec *spec, csrec_mask *mask,
                               csrec_error *error);

/* Values of up to three axes as three, ones in front where the shape has fewer axes. */
void csrec_mask_axes(const csrec_shape *shape, const int64_t *of, int64_t three[3]);

void csrec_mask_gather(const csrec_mask *mask, const double *signal, double *y);
void csrec_mask_scatter(const csrec_mask *mask, const double *y, double *signal);

/* y = mask synthesize(x) on the CPU: the forward product of an operator that has synthesize. */
csrec_status csrec_mask_forward(const csrec_operator *A, const double *x, double *y);

/* A shape of at most three axes as exactly three, ones in front. false: more axes. */
bool csrec_mask_extents(const csrec_shape *shape, int64_t extent[3]);
