/* support.h - what the greedy and thresholding solvers share: a dense x, r = y - A x, the k largest
 * entries, and least squares on a support. */
#ifndef CSREC_SOLVER_SUPPORT_H
#define CSREC_SOLVER_SUPPORT_H

#include "solver/solver.h"

typedef struct csrec_support {
    csrec_run *run;
    const csrec_operator *A;
    const double *y;
    double *norms;     /* [n] column norms */
    double *x;         /* [n] */
    double *r;         /* [m] y - A x */
    double *c;         /* [n] correlations <a_j, r> / ||a_j|| of the last csrec_support_correlate */
    bool *chosen;      /* [n] */
    int64_t size;      /* chosen columns */
    double energy;     /* ||r||^2 */
    double *g, *p, *q; /* [n], [n], [m] of the least squares */
    int64_t *largest;  /* [n] scratch of the selection */
} csrec_support;

/* Bytes of a support of n columns and m samples. */
static inline double csrec_support_bytes(const csrec_solver_size *size) {
    return size->n * (5 * sizeof(double) + sizeof(bool) + sizeof(int64_t)) +
           size->m * 2 * sizeof(double);
}

/* x from the run's start or 0, all allocated. Stopped, without norms. CSREC_MEMORY,
 * CSREC_ARGUMENT. */
csrec_status csrec_support_create(csrec_run *run, csrec_support *s, csrec_error *error);
void csrec_support_clear(csrec_support *s);

/* y = A x and x = A^T y, before which the run reports. CSREC_STOPPED: it was asked to stop, and
 * nothing is written. */
csrec_status csrec_support_forward(const csrec_support *s, const double *x, double *y);
csrec_status csrec_support_adjoint(const csrec_support *s, const double *y, double *x);

/* c, from r as it is. */
csrec_status csrec_support_correlate(csrec_support *s);

/* r = y - A x and its energy. */
csrec_status csrec_support_residual(csrec_support *s);

/* The indices of the k entries of v [n] with the largest |v_j|, equal ones by the smaller index;
 * ascending, in s->largest. Returns how many: at most k, zeros left out; stopped, none. O(n). */
int64_t csrec_support_largest(csrec_support *s, const double *v, int64_t k);

/* min ||y - A x|| over x that are 0 off the chosen columns, and r. An operator's own way (exact)
 * or conjugate gradients on the normal equations from the x at hand (CGLS, Bjorck 1996, 7.4.1) to
 * rounding, or to where the run is stopped. CSREC_STOPPED: before it began, r is not of x. */
csrec_status csrec_support_fit(csrec_support *s);

/* Shared table entries: csrec_support as the first member of run->state. */
double csrec_support_energy(const csrec_run *run);
csrec_status csrec_support_result(const csrec_run *run, csrec_atoms *atoms, double *r);

#endif
