/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.c - values of a recovery that are left unknown: far from known ones, or not asked for. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "csrec/recover.h"
#include "sampling/sampling.h"

static csrec_status check(const csrec_measurement *m, const csrec_fill *fill, int64_t extent[3],
                          csrec_error *error) {
    int axes = 0;
    extent[0] = extent[1] = extent[2] = 1;
    for (int a = 0; a < m->shape.dims; a++)
        if (m->shape.dim[a] > 1 && axes++ < 3) extent[axes - 1] = m->shape.dim[a];
    if (!(fill->within == 0.0 || fill->within >= 1.0))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "within = %g; must be a number of entries, 1 or more", fill->within);
    if (!m->through && !m->is_complex && (axes <= 3 || fill->within == 0.0)) return CSREC_OK;
    return csrec_fail(
        error, CSREC_UNSUPPORTED,
        "entries can stay unknown of real samples of them, and `within` is for up to 3 "
        "axes; recover all");
}

csrec_status csrec_signal_leave(const csrec_measurement *m, const csrec_fill *fill, double *signal,
                                int64_t *left, csrec_error *error) {
    int64_t entries = 0, count = 0, extent[3];
    const double most = fill->within > 0.0 ? fill->within * fill->within : INFINITY;
    csrec_status status = check(m, fill, extent, error);
    if (!status) status = csrec_shape_count(&m->shape, &entries);
    if (status) return status;
    uint32_t *squared = malloc((size_t)entries * sizeof *squared); /* from what is known */
    status = squared ? CSREC_OK : CSREC_MEMORY;
    for (int64_t c = 0; c < m->channels && !status; c++) {
        for (int64_t i = 0; i < entries; i++) squared[i] = CSREC_FAR;
        for (int64_t k = 0; k < m->n; k++)
            if (!isnan(m->y[k * m->channels + c])) squared[m->index[k]] = 0;
        if (fill->within > 0.0) status = csrec_distance_squared(extent, 0, squared);
        for (int64_t i = 0; i < entries && !status; i++) {
            const int64_t at = i * m->channels + c;
            const bool wanted = !fill->at || fill->at[fill->by_channel ? at : i];
            if (squared[i] == 0 || (wanted && (double)squared[i] <= most)) continue;
            signal[at] = NAN;
            count++;
        }
    }
    free(squared);
    *left = count;
    return status ? csrec_fail(error, status, "out of memory for the distances") : CSREC_OK;
}
