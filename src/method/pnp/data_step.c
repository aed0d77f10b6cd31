/* data_step.c - the step of plug-and-play recovery towards the measurements. Where A A^T = c I it
 * is a division; else conjugate gradients. */
#include <math.h>
#include <string.h>

#include "method/pnp/pnp.h"
#include "solver/solver.h"

enum { GRADIENTS = 20 }; /* of a data step, at most */

/* q = (A A^T + share I) v */
static csrec_status apply(csrec_pnp *p, double share, const double *v, double *q) {
    csrec_status status = csrec_sensed_adjoint(&p->data, v, p->back);
    if (!status) status = csrec_sensed_residual(&p->data, p->back, q);
    for (int64_t i = 0; i < p->data.y_values; i++) q[i] += p->data.m->y[i] + share * v[i];
    return status;
}

static double product(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* u with (A A^T + share I) u = r, by conjugate gradients until the energy of the rest is `goal`; r
 * is used up. */
static csrec_status solve(csrec_pnp *p, double share, double goal) {
    const int64_t n = p->data.y_values;
    double energy = csrec_squares(n, p->r);
    csrec_status status = CSREC_OK;
    memset(p->u, 0, (size_t)n * sizeof *p->u);
    memcpy(p->p, p->r, (size_t)n * sizeof *p->p);
    for (int k = 0; k < GRADIENTS && energy > goal && !status; k++) {
        status = apply(p, share, p->p, p->q);
        double curved = product(n, p->p, p->q);
        if (status || !(curved > 0.0)) break;
        double step = energy / curved;
        for (int64_t i = 0; i < n; i++) {
            p->u[i] += step * p->p[i];
            p->r[i] -= step * p->q[i];
        }
        double next = csrec_squares(n, p->r);
        for (int64_t i = 0; i < n; i++) p->p[i] = p->r[i] + next / energy * p->p[i];
        energy = next;
    }
    return status;
}

/* r = y - A z */
static csrec_status misfit(csrec_pnp *p, const double *z) {
    csrec_status status = csrec_sensed_residual(&p->data, z, p->r);
    for (int64_t i = 0; i < p->data.y_values; i++) p->r[i] = -p->r[i];
    return status;
}

/* x = z + A^T u */
static csrec_status add(csrec_pnp *p, const double *z) {
    csrec_status status = csrec_sensed_adjoint(&p->data, p->u, p->back);
    for (int64_t i = 0; i < p->data.values; i++) p->x[i] = z[i] + p->back[i];
    return status;
}

csrec_status csrec_pnp_fit(csrec_pnp *p, const double *z, double share) {
    const csrec_sensed *d = &p->data;
    const double all = d->norm * d->norm + share;
    csrec_status status = misfit(p, z);
    if (!status && !d->tight) status = solve(p, share, 1e-8 * csrec_squares(d->y_values, p->r));
    for (int64_t i = 0; i < d->y_values && d->tight; i++) p->u[i] = p->r[i] / all;
    return status ? status : add(p, z);
}

csrec_status csrec_pnp_meet(csrec_pnp *p, const double *z) {
    const csrec_sensed *d = &p->data;
    csrec_status status = misfit(p, z);
    double length = sqrt(csrec_squares(d->y_values, p->r));
    double part = length > d->eps ? (1.0 - d->eps / length) / (d->norm * d->norm) : 0.0;
    /* The rest of conjugate gradients is the misfit of their x. */
    if (!status && !d->tight) status = solve(p, 0.0, fmax(d->eps * d->eps, 1e-8 * length * length));
    for (int64_t i = 0; i < d->y_values && d->tight; i++) p->u[i] = part * p->r[i];
    return status ? status : add(p, z);
}
