/* SPDX-License-Identifier: BSD-3-Clause */
/* spectrum.h - what A^T A is near to, where it has a product of its own, as of operator nufft: a
 * diagonal c in the frequencies of the signal, by which conjugate gradients are preconditioned
 * (T. Chan 1988; Fessler and Booth 1999). It is told by A^T A of one entry, under a triangle. */
#pragma once

#include "operator/engine.h"

typedef struct csrec_spectrum {
    csrec_operator *F; /* all frequencies of a channel */
    double *c;         /* [entries], from 0.02 of the largest */
    double mean;       /* of c */
    double *room;      /* [entries] pairs */
} csrec_spectrum;

/* data->spectrum, which lives in data->pool; it stays NULL where A has no `normal`, or csrec no
 * Fourier transform. */
csrec_status csrec_spectrum_create(csrec_measured *data, csrec_error *error);
void csrec_spectrum_clear(csrec_measured *data); /* before the data are */

/* out = F^-1 response F x of all channels; x may be out. response: [entries] */
csrec_status csrec_spectrum_filter(const csrec_measured *data, const double *response,
                                   const double *x, double *out);
