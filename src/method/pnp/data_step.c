/* data_step.c - the step of plug-and-play recovery towards the measurements. Where A A^T = c I it
 * is a division; else conjugate gradients. */
#include <math.h>
#include <string.h>

#include "method/pnp/pnp.h"
#include "solver/solver.h"

/* Of a data step, and of the last, at most. */
enum { GRADIENTS = 20, LAST_GRADIENTS = 60 };

/* x, from z on, towards the least ||A x - y||^2 + share ||x - z||^2, by conjugate gradients on its
 * normal equations: they hold where y is no product of A, too. r = y - A z, then y - A x. Until the
 * energy of r is `goal`, or that of the gradient 1e-10 of its first. */
static csrec_status descend(csrec_pnp *p, const double *z, double share, int steps, double goal) {
    const int64_t n = p->data.values, m = p->data.y_values;
    csrec_status status = csrec_measured_adjoint(&p->data, p->r, p->back);
    double energy = csrec_squares(n, p->back);
    const double least = 1e-10 * energy;
    memcpy(p->x, z, (size_t)n * sizeof *p->x);
    memcpy(p->along, p->back, (size_t)n * sizeof *p->along);
    for (int k = 0; k < steps && energy > least && csrec_squares(m, p->r) > goal && !status; k++) {
        status = csrec_measured_product(&p->data, p->along, p->q);
        const double curved = csrec_squares(m, p->q) + share * csrec_squares(n, p->along);
        if (status || !(curved > 0.0)) break;
        for (int64_t i = 0; i < n; i++) p->x[i] += energy / curved * p->along[i];
        for (int64_t i = 0; i < m; i++) p->r[i] -= energy / curved * p->q[i];
        status = csrec_measured_adjoint(&p->data, p->r, p->back);
        for (int64_t i = 0; i < n; i++) p->back[i] -= share * (p->x[i] - z[i]);
        const double next = csrec_squares(n, p->back);
        for (int64_t i = 0; i < n; i++) p->along[i] = p->back[i] + next / energy * p->along[i];
        energy = next;
    }
    return status;
}

/* r = y - A z */
static csrec_status misfit(csrec_pnp *p, const double *z) {
    csrec_status status = csrec_measured_residual(&p->data, z, p->r);
    for (int64_t i = 0; i < p->data.y_values; i++) p->r[i] = -p->r[i];
    return status;
}

/* x = z + part A^T r: both steps, where A A^T = c I. */
static csrec_status add(csrec_pnp *p, const double *z, double part) {
    csrec_status status = csrec_measured_adjoint(&p->data, p->r, p->back);
    for (int64_t i = 0; i < p->data.values; i++) p->x[i] = z[i] + part * p->back[i];
    return status;
}

csrec_status csrec_pnp_fit(csrec_pnp *p, const double *z, double share) {
    const csrec_measured *d = &p->data;
    csrec_status status = misfit(p, z);
    if (status) return status;
    return d->tight ? add(p, z, 1.0 / (d->norm * d->norm + share))
                    : descend(p, z, share, GRADIENTS, 0.0);
}

csrec_status csrec_pnp_meet(csrec_pnp *p, const double *z) {
    const csrec_measured *d = &p->data;
    csrec_status status = misfit(p, z);
    const double length = sqrt(csrec_squares(d->y_values, p->r));
    const double part = length > d->eps ? (1.0 - d->eps / length) / (d->norm * d->norm) : 0.0;
    if (status) return status;
    return d->tight
               ? add(p, z, part)
               : descend(p, z, 0.0, LAST_GRADIENTS, fmax(d->eps * d->eps, 1e-8 * length * length));
}
