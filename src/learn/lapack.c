/* lapack.c - eigenvectors of symmetric matrices. */
#include "learn/eigen.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/store.h"

/* Relatively robust representations: LAPACK Users' Guide, 3rd edition, section 2.4.4. The lengths
 * of the strings are hidden last arguments, as Fortran compilers pass them. */
extern void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *A,
                    const int *lda, const double *vl, const double *vu, const int *il,
                    const int *iu, const double *abstol, int *m, double *w, double *z,
                    const int *ldz, int *isuppz, double *work, const int *lwork, int *iwork,
                    const int *liwork, int *info, size_t, size_t, size_t);

typedef struct problem {
    int n, first, last, found, info;
    double *A, *w, *z, *work;
    int *support, *iwork;
    csrec_store store; /* of all arrays but A */
} problem;

static void call(problem *p, double *work, int lwork, int *iwork, int liwork) {
    double none = 0.0, tolerance = 0.0;
    const char *range = p->first > 1 ? "I" : "A";
    dsyevr_("V", range, "U", &p->n, p->A, &p->n, &none, &none, &p->first, &p->last, &tolerance,
            &p->found, p->w, p->z, &p->n, p->support, work, &lwork, iwork, &liwork, &p->info, 1, 1,
            1);
}

static csrec_status solve(problem *p, csrec_error *error) {
    double wanted;
    int iwanted;
    if (!csrec_blas_begin(1))
        return csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", p->n);
    call(p, &wanted, -1, &iwanted, -1);
    if (p->info == 0) {
        CSREC_TAKE(&p->store, p->work, wanted);
        CSREC_TAKE(&p->store, p->iwork, iwanted);
        if (!p->store.missing) call(p, p->work, (int)wanted, p->iwork, iwanted);
    }
    csrec_blas_end(1);
    if (p->store.missing)
        return csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", p->n);
    if (p->info || p->found != p->last - p->first + 1)
        return csrec_fail(error, CSREC_DATA,
                          "the eigenvectors of %d x %d did not converge; check that the data are "
                          "finite",
                          p->n, p->n);
    return CSREC_OK;
}

void csrec_eigen_sign(int64_t n, double *v) {
    int64_t largest = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs(v[i]) > fabs(v[largest]) * (1.0 + 1e-9)) largest = i;
    if (v[largest] < 0.0)
        for (int64_t i = 0; i < n; i++) v[i] = -v[i];
}

csrec_status csrec_eigen_largest(int n, double *A, int count, double *values, double *V,
                                 csrec_error *error) {
    problem p = {.n = n, .first = n - count + 1, .last = n, .A = A};
    if (n < 1 || n > 1 << 15 || count < 1 || count > n)
        return csrec_fail(error, CSREC_ARGUMENT, "%d eigenvectors of %d x %d; at most 32768", count,
                          n, n);
    CSREC_TAKE(&p.store, p.w, n);
    CSREC_TAKE(&p.store, p.z, (size_t)n * (size_t)count);
    CSREC_TAKE(&p.store, p.support, 2 * (size_t)n);
    csrec_status status =
        p.store.missing ? csrec_fail(error, CSREC_MEMORY, "out of memory for %d eigenvectors", n)
                        : solve(&p, error);
    for (int k = 0; k < count && !status; k++) { /* ascending there */
        values[k] = p.w[count - 1 - k];
        memcpy(V + (size_t)k * (size_t)n, p.z + (size_t)(count - 1 - k) * (size_t)n,
               (size_t)n * sizeof *V);
        csrec_eigen_sign(n, V + (size_t)k * (size_t)n);
    }
    csrec_store_clear(&p.store);
    return status;
}
