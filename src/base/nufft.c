/* SPDX-License-Identifier: BSD-3-Clause */
/* nufft.c - csrec's calls of FINUFFT. */
#include "base/nufft.h"

#ifndef CSREC_HAS_FINUFFT

csrec_status csrec_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                double precision, csrec_nufft **nufft) {
    (void)shape, (void)m, (void)k, (void)precision, *nufft = NULL;
    return CSREC_UNSUPPORTED;
}

void csrec_nufft_destroy(csrec_nufft *nufft) {
    (void)nufft;
}

csrec_status csrec_nufft_execute(const csrec_nufft *nufft, bool adjoint, double *grid,
                                 double *values) {
    (void)nufft, (void)adjoint, (void)grid, (void)values;
    return CSREC_UNSUPPORTED;
}

#else

#include <complex.h>
#include <stdlib.h>

#include <finufft.h>

struct csrec_nufft {
    finufft_plan plan;
    double *angles; /* [axes][m], which the plan reads */
};

static csrec_status make_plan(csrec_nufft *nufft, const csrec_shape *shape, int64_t m,
                              const double *k, double precision) {
    const int dims = shape->dims;
    int64_t extent[3] = {1, 1, 1};
    double *axis[3] = {NULL, NULL, NULL};
    finufft_opts options;
    finufft_default_opts(&options);
    options.nthreads = 1;
    options.showwarn = 0;
    options.upsampfac = 1.25; /* half the time of 2 here, at the same precision */
    for (int a = 0; a < dims; a++) {
        extent[a] = shape->dim[dims - 1 - a];
        axis[a] = nufft->angles + a * m;
        csrec_nufft_angles(shape, m, k, a, axis[a]);
    }
    /* what is above 1 fails; 1 is a remark on the precision */
    return finufft_makeplan(2, dims, extent, -1, 1, precision, &nufft->plan, &options) > 1 ||
                   finufft_setpts(nufft->plan, m, axis[0], axis[1], axis[2], 0, NULL, NULL, NULL) >
                       1
               ? CSREC_MEMORY
               : CSREC_OK;
}

csrec_status csrec_nufft_create(const csrec_shape *shape, int64_t m, const double *k,
                                double precision, csrec_nufft **nufft) {
    csrec_nufft *made = *nufft = calloc(1, sizeof *made);
    if (!made) return CSREC_MEMORY;
    made->angles = malloc((size_t)m * (size_t)shape->dims * sizeof *made->angles);
    csrec_status status = made->angles ? make_plan(made, shape, m, k, precision) : CSREC_MEMORY;
    if (!status) return CSREC_OK;
    csrec_nufft_destroy(made);
    *nufft = NULL;
    return status;
}

void csrec_nufft_destroy(csrec_nufft *nufft) {
    if (!nufft) return;
    if (nufft->plan) finufft_destroy(nufft->plan);
    free(nufft->angles);
    free(nufft);
}

csrec_status csrec_nufft_execute(const csrec_nufft *nufft, bool adjoint, double *grid,
                                 double *values) {
    double complex *c = (double complex *)(void *)values, *f = (double complex *)(void *)grid;
    const int failed =
        adjoint ? finufft_execute_adjoint(nufft->plan, c, f) : finufft_execute(nufft->plan, c, f);
    return failed > 1 ? CSREC_MEMORY : CSREC_OK;
}

#endif
