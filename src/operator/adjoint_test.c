/* SPDX-License-Identifier: BSD-3-Clause */
/* adjoint_test.c - whether an adjoint that the caller wrote belongs to the forward product. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/unit.h"
#include "operator/operator.h"

static double dot(int64_t n, double unit, const double *u, const double *v) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += u[i] / unit * v[i];
    return sum;
}

static double length(int64_t n, double unit, const double *v) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (v[i] / unit) * (v[i] / unit);
    return sqrt(sum);
}

/* Im sum u conj(v) of complex numbers. */
static double dot_imaginary(int64_t n, double unit, const double *u, const double *v) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i += 2) sum += u[i + 1] / unit * v[i] - u[i] / unit * v[i + 1];
    return sum;
}

static csrec_status not_complex(const csrec_operator *A, double left, double right, double unit,
                                csrec_error *error) {
    return csrec_fail(
        error, CSREC_ARGUMENT,
        "operator %s: is not linear in complex x: Im <A x, y> = %.6g, but Im <x, A^H y> = %.6g for "
        "random x and y, as where the real part of x alone is used, so A(i x) is not i A x; give a "
        "real operator, whose y has real and imaginary parts one after the other",
        A->row->name, left * unit, right * unit);
}

static csrec_status not_adjoint(const csrec_operator *A, double left, double right, double unit,
                                csrec_error *error) {
    const char *part = A->complex_x || A->complex_y ? "Re " : "";
    return csrec_fail(error, CSREC_ARGUMENT,
                      "operator %s: adjoint is not that of forward: %s<A x, y> = %.6g, but %s<x, "
                      "A^%c y> = %.6g for random x and y, a relative difference of %.2g; mend "
                      "adjoint, or leave this test out (unchecked; check=False in Python)",
                      A->row->name, part, left * unit, part, *part ? 'H' : 'T', right * unit,
                      fabs(left - right) / fmax(fabs(left), fabs(right)));
}

/* Entries of x and y are independent and normal. Let d and e be the errors of the products: then
 * <d, y> and <x, e> are normal, with the deviations ||d|| and ||e||, and eight of these are passed
 * once in 10^15. Of a product in float32, ||d|| is at most about 2^-24 sqrt(n) ||A x||, if each
 * entry is a sum of n terms in a row, or 2^-24 log n ||A x|| if it is a fast transform; 64 is for
 * tables of single precision and the like. If the adjoint is that of A + E, the two numbers differ
 * by about ||E||, measured like ||A x|| by the root of the sum of all squares.
 *
 * The real parts are equal for every map A of pairs of real numbers and its adjoint. Then
 * Im <A x, y> = Re <x, A^H (i y)>, and Im <x, A^H y> = Re <x, i A^H y>: equal for all x and y only
 * if A^H, and so A, is linear in complex numbers. */
static csrec_status compare(const csrec_operator *A, const double *x, const double *y,
                            const double *Ax, const double *Aty, csrec_error *error) {
    const double unit = csrec_unit_of(fmax(csrec_largest(A->m, Ax), csrec_largest(A->n, Aty)));
    const bool pairs = A->complex_x && A->complex_y;
    const double left = dot(A->m, unit, Ax, y), right = dot(A->n, unit, Aty, x);
    const double left_i = pairs ? dot_imaginary(A->m, unit, Ax, y) : 0.0;
    const double right_i = pairs ? dot_imaginary(A->n, unit, x, Aty) : 0.0;
    const double room = 0x1p-21 * (64.0 + sqrt((double)(A->m > A->n ? A->m : A->n))) *
                        (length(A->m, unit, Ax) + length(A->n, unit, Aty));
    if (fabs(left - right) > room) return not_adjoint(A, left, right, unit, error);
    if (fabs(left_i - right_i) > room) return not_complex(A, left_i, right_i, unit, error);
    return CSREC_OK;
}

static void multiply(int64_t n, int shift, double *v) {
    for (int64_t i = 0; i < n && shift; i++) v[i] = ldexp(v[i], shift);
}

/* Products of random x [n] and y [m], times 2^shift for these, into what follows x and y. */
static csrec_status take_products(const csrec_operator *A, int shift, double *x, double *y) {
    if (A->doubted) csrec_random_normals(0, A->n, x);
    csrec_random_normals(1, A->m, y);
    multiply(A->doubted ? A->n : 0, shift, x);
    multiply(A->m, shift, y);
    csrec_status status = A->doubted ? A->type->forward(A, x, y + A->m) : CSREC_OK;
    if (!status) status = A->type->adjoint(A, y, x + A->n);
    multiply(A->doubted ? A->n : 0, -shift, x);
    multiply(A->m, -shift, y);
    return status;
}

/* Another shift, where products have left the range or come near its end; 0: none. */
static int other_shift(const csrec_operator *A, csrec_status status, const double *Aty) {
    bool finite = true;
    if (status) return status == CSREC_DATA ? -400 : 0;
    for (int64_t j = 0; j < A->n; j++) finite = finite && isfinite(Aty[j]);
    const double most = csrec_largest(A->n, Aty);
    return !finite || most > 0x1p960 ? -400 : most < 0x1p-900 ? 400 : 0;
}

csrec_status csrec_adjoint_test(const csrec_operator *A, int *exponent, csrec_error *error) {
    double *x = malloc(2 * (size_t)A->n * sizeof *x), *y = malloc(2 * (size_t)A->m * sizeof *y);
    csrec_status status = x && y ? take_products(A, 0, x, y) : CSREC_MEMORY;
    int shift = x && y ? other_shift(A, status, x + A->n) : 0;
    if (shift) status = take_products(A, shift, x, y);
    if (shift > 0 && status == CSREC_DATA) { /* 0 of a function of floats, which end sooner */
        csrec_operator_explain(A, NULL);
        shift = 0;
        status = take_products(A, shift, x, y);
    }
    const double most = status ? 0.0 : csrec_largest(A->n, x + A->n);
    if (most > 0.0) *exponent = ilogb(most) - shift;
    if (status == CSREC_STOPPED)
        status = CSREC_OK; /* the solver hears it, too */
    else if (!status && A->doubted)
        status = compare(A, x, y, y + A->m, x + A->n, error);
    else if (status && !csrec_operator_explain(A, error))
        csrec_fail(error, status, "operator %s: %s", A->row->name, csrec_status_text(status));
    free(x);
    free(y);
    return status;
}
