/* mixing.c - whether the rows of an operator mix all entries of a signal. */
#include <math.h>

#include "csrec/sampling.h"
#include "method/pnp/pnp.h"
#include "operator/mask.h"
#include "solver/solver.h"

enum { TRIES = 16, STREAM = 77 };

/* The signal in so many pieces along an axis at most, of so many entries at least. */
enum { PIECES = 4, LEAST = 8 };

/* Of the mean energy of a piece: what each has at least. Of random rows less happens once in a
 * thousand tries for pieces of 8 entries, and never for those of 64. */
static const double LEAST_SHARE = 0.1;

static uint64_t drawn(int try, int k, int64_t below) {
    return csrec_random_u64(1, STREAM, (uint64_t)(4 * try + k)) % (uint64_t)below;
}

/* A wave of whole periods along each axis, or 1 at the entry `single` if that is not -1. What a
 * denoiser keeps is smooth: every other wave has 0 or 1 periods. */
static void draw(const csrec_pnp *p, int try, int64_t single, double *x) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    int64_t extent[3], wave[3], periods = 0;
    csrec_mask_extents(&d->m->shape, extent);
    for (int a = 0; a < 3; a++) {
        const int64_t most = try % 4 ? (extent[a] + 1) / 2 : extent[a] > 2 ? 2 : 1;
        periods += wave[a] = (int64_t)drawn(try, a, most);
    }
    if (periods == 0) wave[2] = extent[2] > 2; /* constants are treated apart */
    for (int64_t e = 0; e < d->entries; e++) {
        const int64_t at[3] = {e / (extent[1] * extent[2]), e / extent[2] % extent[1],
                               e % extent[2]};
        double phase = 1.0;
        for (int a = 0; a < 3; a++)
            phase += 2.0 * acos(-1.0) * (double)(wave[a] * at[a] % extent[a]) / (double)extent[a];
        for (int64_t k = 0; k < width; k++)
            x[e * width + k] = single < 0 ? cos(phase) : e == single;
    }
}

/* Denoisers of pictures know nothing of narrower ones. */
static bool is_wide(const csrec_shape *shape) {
    bool wide = true;
    for (int a = 0; a < shape->dims; a++) wide = wide && shape->dim[a] >= LEAST;
    return wide;
}

/* Whether A^T of p->r, made of the entry `single`, has energy in every piece of the signal: rows
 * that reach a part of it alone, as those of blocks, do not. */
static csrec_status is_everywhere(csrec_pnp *p, int64_t single, bool *everywhere) {
    const csrec_measured *d = &p->data;
    const int64_t width = d->values / d->entries;
    double energy[PIECES * PIECES * PIECES] = {0}, sum = 0.0;
    int64_t extent[3], pieces[3], size[PIECES * PIECES * PIECES] = {0};
    csrec_status status = csrec_measured_adjoint(&p->data, p->r, p->back);
    csrec_mask_extents(&d->m->shape, extent);
    for (int a = 0; a < 3; a++)
        pieces[a] = extent[a] < 2 * LEAST        ? 1
                    : extent[a] > PIECES * LEAST ? PIECES
                                                 : extent[a] / LEAST;
    for (int64_t e = 0; e < d->entries && !status; e++) {
        const int64_t i = e / (extent[1] * extent[2]) * pieces[0] / extent[0],
                      j = e / extent[2] % extent[1] * pieces[1] / extent[1],
                      k = e % extent[2] * pieces[2] / extent[2],
                      piece = (i * pieces[1] + j) * pieces[2] + k;
        const double own = e == single ? 0.0 : csrec_squares(width, p->back + e * width);
        energy[piece] += own;
        size[piece]++;
        sum += own / (double)d->entries;
    }
    for (int64_t i = 0; i < pieces[0] * pieces[1] * pieces[2]; i++)
        *everywhere = *everywhere && energy[i] >= LEAST_SHARE * sum * (double)size[i];
    return status;
}

csrec_status csrec_pnp_mixes(csrec_pnp *p, bool *mixes) {
    const csrec_measured *d = &p->data;
    const double rate = (double)d->y_values / (double)d->values;
    const double room = 0.25 + 6.0 * sqrt(2.0 / (double)d->y_values);
    csrec_status status = CSREC_OK;
    *mixes = d->tight && d->m->through && is_wide(&d->m->shape);
    for (int t = 0; t < TRIES && *mixes && !status; t++) {
        const int64_t single = t % 2 ? (int64_t)drawn(t, 3, d->entries) : -1;
        draw(p, t, single, p->x);
        status = csrec_measured_product(&p->data, p->x, p->r);
        double share =
            csrec_squares(d->y_values, p->r) / (d->norm * d->norm * csrec_squares(d->values, p->x));
        *mixes = fabs(share / rate - 1.0) <= room;
        if (!status && *mixes && single >= 0) status = is_everywhere(p, single, mixes);
    }
    return status;
}
