/* SPDX-License-Identifier: BSD-3-Clause */
/* spectrum.c - the diagonal in the frequencies that A^T A is near to. */
#include "method/spectrum.h"

#include <math.h>
#include <string.h>

#include "base/unravel.h"

/* Of the largest: less is lines that are not measured, where the diagonal tells nothing. */
static const double LEAST = 0.02;

/* A triangle around the entry, of half the extent to each side, which makes c smooth. */
static double window(const csrec_shape *shape, int64_t j, const int64_t *centre) {
    int64_t place[CSREC_DIMS_MAX];
    double share = 1.0;
    csrec_unravel_index(shape, j, place);
    for (int a = 0; a < shape->dims; a++) {
        const int64_t n = shape->dim[a], ahead = (place[a] - centre[a] + n) % n;
        share *= 1.0 - 2.0 * (double)(ahead < n - ahead ? ahead : n - ahead) / (double)(n + 1);
    }
    return share;
}

/* Of the entry that A^T y is largest at, as coils see it. */
static csrec_status find_diagonal(csrec_measured *d, csrec_spectrum *s) {
    const csrec_operator *A = d->A;
    int64_t centre[CSREC_DIMS_MAX], at = 0;
    double most = 0.0, *h = csrec_operator_borrow(A, A->n);
    if (!h) return CSREC_MEMORY;
    csrec_channel_take(d->m->n, d->m->channels, 0, d->each, d->m->y, d->to);
    csrec_status status = A->type->adjoint(A, d->to, h);
    for (int64_t i = 0; i < A->n && !status; i++)
        if (fabs(h[i]) > fabs(h[at])) at = i;
    at -= at % d->wide;
    csrec_unravel_index(&d->m->shape, at / d->wide, centre);
    memset(d->from, 0, (size_t)A->n * sizeof *d->from);
    d->from[at] = 1.0;
    if (!status) status = A->type->normal(A, d->from, h);
    for (int64_t i = 0; i < A->n; i++) h[i] *= window(&d->m->shape, i / d->wide, centre);
    if (!status) status = s->F->type->forward(s->F, h, s->room);
    csrec_operator_give_back(A, h);
    for (int64_t k = 0; k < d->entries; k++)
        most = fmax(most, s->c[k] = hypot(s->room[2 * k], s->room[2 * k + 1]));
    for (int64_t k = 0; k < d->entries; k++)
        s->mean += (s->c[k] = fmax(s->c[k], most > 0.0 ? LEAST * most : 1.0)) / (double)d->entries;
    return status;
}

csrec_status csrec_spectrum_create(csrec_measured *d, csrec_error *error) {
    const csrec_operator_spec all = {
        .name = "fourier", .shape = &d->m->shape, .complex_signal = d->wide == 2};
    csrec_spectrum *s;
    if (!d->A->type->normal) return CSREC_OK;
    CSREC_ZEROS(&d->pool, s, 1);
    if (!s) return csrec_fail(error, CSREC_MEMORY, "operator: out of memory");
    csrec_status status = csrec_operator_create_on(&csrec_context_cpu, &all, &s->F, error);
    if (status) return status == CSREC_UNSUPPORTED ? CSREC_OK : status;
    d->spectrum = s;
    CSREC_TAKE(&d->pool, s->c, d->entries);
    CSREC_TAKE(&d->pool, s->room, 2 * d->entries);
    status = d->pool.lacks ? CSREC_MEMORY : find_diagonal(d, s);
    return status ? csrec_fail(error, status, "operator: %s", csrec_status_text(status)) : status;
}

void csrec_spectrum_clear(csrec_measured *d) {
    if (d->spectrum) csrec_operator_destroy(d->spectrum->F);
}

csrec_status csrec_spectrum_filter(const csrec_measured *d, const double *response, const double *x,
                                   double *out) {
    const csrec_spectrum *s = d->spectrum;
    const int64_t n = d->entries, channels = d->m->channels;
    for (int64_t c = 0; c < channels; c++) {
        csrec_channel_take(n, channels, c, d->wide, x, d->from);
        CSREC_TRY(s->F->type->forward(s->F, d->from, s->room));
        for (int64_t k = 0; k < 2 * n; k++) s->room[k] *= response[k / 2] / (double)n;
        CSREC_TRY(s->F->type->adjoint(s->F, s->room, d->from));
        csrec_channel_put(n, channels, c, d->wide, d->from, out);
    }
    return CSREC_OK;
}
