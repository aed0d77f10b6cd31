/* mixing.c - whether the rows of an operator mix all entries of a signal. */
#include <math.h>

#include "method/pnp/pnp.h"
#include "operator/mask.h"
#include "solver/solver.h"

enum { TRIES = 8, STREAM = 77 };

static uint64_t drawn(int try, int k, int64_t below) {
    return csrec_random_u64(1, STREAM, (uint64_t)(4 * try + k)) % (uint64_t)below;
}

/* A wave of whole periods along each axis, or 1 at a single entry. */
static void draw(const csrec_pnp *p, int try, double *x) {
    const csrec_sensed *d = &p->data;
    const int64_t width = d->values / d->entries, single = (int64_t)drawn(try, 3, d->entries);
    int64_t extent[3], wave[3];
    csrec_mask_extents(&d->m->shape, extent);
    for (int a = 0; a < 3; a++) wave[a] = (int64_t)drawn(try, a, (extent[a] + 1) / 2);
    for (int64_t e = 0; e < d->entries; e++) {
        const int64_t at[3] = {e / (extent[1] * extent[2]), e / extent[2] % extent[1],
                               e % extent[2]};
        double phase = 1.0;
        for (int a = 0; a < 3; a++)
            phase += 2.0 * acos(-1.0) * (double)(wave[a] * at[a] % extent[a]) / (double)extent[a];
        for (int64_t k = 0; k < width; k++) x[e * width + k] = try % 2 ? e == single : cos(phase);
    }
}

csrec_status csrec_pnp_mixes(csrec_pnp *p, bool *mixes) {
    const csrec_sensed *d = &p->data;
    const double rate = (double)d->y_values / (double)d->values;
    const double room = 0.25 + 6.0 * sqrt(2.0 / (double)d->y_values);
    csrec_status status = CSREC_OK;
    *mixes = d->tight && d->m->through;
    for (int t = 0; t < TRIES && *mixes && !status; t++) {
        draw(p, t, p->x);
        status = csrec_sensed_residual(&p->data, p->x, p->r);
        for (int64_t i = 0; i < d->y_values; i++) p->r[i] += d->m->y[i];
        double share =
            csrec_squares(d->y_values, p->r) / (d->norm * d->norm * csrec_squares(d->values, p->x));
        *mixes = fabs(share / rate - 1.0) <= room;
    }
    return status;
}
