/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/operator.h - linear operators: sampling, and the basis in which a signal is sparse. */
#ifndef CSREC_OPERATOR_H
#define CSREC_OPERATOR_H

#include "haar.h"
#include "measurement.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_operator csrec_operator;

/* The caller's y = A x, or x = A^T y. Any status but CSREC_OK, or a value that is not finite, ends
 * what asked for it. Calls of an operator's two functions come one at a time, whatever threads use
 * it; a call may use the operator again. */
typedef csrec_status (*csrec_product_fn)(const double *in, double *out, void *context);

/* The data of an operator; fields that its type does not use are ignored, but for index,
 * complex_signal, coils and factor, which change the size of A: CSREC_ARGUMENT. Arrays are copied;
 * operators in `first` and `second` must outlive the operator. */
typedef struct csrec_operator_spec {
    const char *name;      /* a name of csrec_operator_info */
    int64_t m;             /* samples (rows of A); with `index`: its entries; matrix: rows of it */
    int levels;            /* haar: L; wavelet: levels of the decomposition, 0: as many as fit */
    const uint64_t *rows;  /* haar: [m] ascending distinct rows */
    csrec_columns columns; /* haar */
    int64_t n; /* dense, sparse, callback: columns; pairs: x at once, 0: the parts of one */
    const double *matrix;  /* dense: [m * n] row-major, finite, columns of any length, pairs with
                              complex_signal; matrix: [m][entries of a block], for each block in
                              turn; sparse: [offset[n]] entries, column by column, finite, pairs
                              with complex_signal */
    const int64_t *offset; /* sparse: [n + 1] column j has the entries offset[j] to offset[j + 1] -
                              1 of matrix and index; offset[0] is 0 */
    const csrec_shape *shape; /* dct, wavelet, mask, and measurements: the signal's shape */
    const int64_t *index;     /* dct, wavelet, mask, blur: [m] sampled positions, distinct; NULL:
                                 all. hadamard: rows, fourier: frequencies, flat as of numpy.fft.fftn.
                                 nufft: points of the trajectory.
                                 sparse: [offset[n]] row of each entry, ascending in a column */
    int block, step;          /* dct: edge of a block, 4 to 32, and distance between blocks */
    const char *kind;         /* wavelet: "haar", "cdf53" or "cdf97" */
    const csrec_operator *first, *second; /* chain: A = second first, first.m == second.n; pairs:
                                             first, on real and imaginary parts, or on n x */
    const double *filters; /* blur: [kernel], finite, its middle (extent / 2) at the position, zeros
                              outside of the signal */
    const int64_t *kernel; /* blur: [shape->dims] extents of a filter; matrix: of a block, zeros
                              follow the signal to whole blocks; NULL: the signal is one */
    /* Where forward, adjoint, norms and correlations are computed: NULL, "auto" (both cpu), "cpu",
     * "cuda". With cuda the operator's data are kept on the device, and each call copies its
     * vectors (docs/cuda.md); a chain's factors must be on cuda, too. CSREC_DEVICE: no device. */
    const char *backend;
    csrec_product_fn forward, adjoint; /* callback */
    void *context;                     /* callback: of both */
    /* Measurements of a whole signal of `shape` (csrec_measurement.through). Complex vectors are
     * pairs: real part, imaginary part, [n][2]. */
    const char *ordering; /* hadamard: of the rows: NULL or "natural", "sequency", "cake-cutting",
                             "zig-zag" */
    bool scrambled;       /* hadamard: entries are permuted first, by `seed` */
    uint64_t seed;
    bool complex_signal; /* fourier, nufft: x is complex, n = 2 entries; else real. dense, sparse,
                            callback: A, x and y are complex, m and n count complex numbers; A is
                            then the real map of pairs, 2 m x 2 n. For other types take operator
                            pairs */
    const double *coils; /* fourier, nufft: [n_coils][shape][2] sensitivities; NULL: one of ones */
    int64_t n_coils;
    bool centred;     /* fourier: frequency 0 and entry 0 are at extent / 2 of each axis, as of
                         fftshift(fftn(ifftshift(x))): fastMRI, BART and SigPy; coils are as x */
    const char *norm; /* fourier, nufft: the factor of A, 1, 1 / sqrt(entries) or 1 / entries, as of
                         numpy.fft: NULL or "backward", "ortho", "forward" */
    const int64_t *factor; /* downsample: [shape->dims] extents of the boxes that are averaged */
    bool parallel;         /* callback: several threads may call both at once; else many
                              right-hand sides are solved by the calling thread alone */
    bool unchecked;        /* callback: solvers do not test the adjoint (csrec_solve) */
    /* nufft: [points][shape->dims] frequencies in cycles per field of view, -extent / 2 to extent /
     * 2, of the signal's axes: y = f sum_j x_j exp(-2 pi i k (j - extent / 2) / extent), by FINUFFT
     * to 1e-9 of the largest (Barnett et al. 2019, SIAM Journal on Scientific Computing 41). BART's
     * are [3][points], and x first */
    const double *trajectory;
    int64_t points;
} csrec_operator_spec;

/* A is m x n. For `haar`, n is the number of distinct columns, ascending by column number. */
CSREC_API csrec_status csrec_operator_create(const csrec_operator_spec *spec, csrec_operator **A,
                                             csrec_error *error);
CSREC_API void csrec_operator_destroy(csrec_operator *A);
CSREC_API void csrec_operator_size(const csrec_operator *A, int64_t *m, int64_t *n);
CSREC_API csrec_status csrec_operator_forward(const csrec_operator *A, const double *x, double *y);
CSREC_API csrec_status csrec_operator_adjoint(const csrec_operator *A, const double *y, double *x);

/* norms[j] = ||a_j||_2, [n]. c[j] = <a_j, r> / ||a_j||, 0 for a column of zeros. a = column j, [m].
 * For an operator without its own function, the norms cost n forward products, and those below
 * 6e-14 of the largest are 0: rounding. */
CSREC_API csrec_status csrec_operator_column_norms(const csrec_operator *A, double *norms);
CSREC_API csrec_status csrec_operator_correlate(const csrec_operator *A, const double *r,
                                                double *c);
CSREC_API csrec_status csrec_operator_column(const csrec_operator *A, int64_t j, double *a);

/* The operator that a measurement was made through, for one channel: of points, mask. It copies
 * what it needs. backend: as in the specification. Errors as csrec_measurement_check and
 * csrec_operator_create. */
struct csrec_measurement;
CSREC_API csrec_status csrec_measurement_operator(const struct csrec_measurement *measurement,
                                                  const char *backend, csrec_operator **A,
                                                  csrec_error *error);

/* Sets y [csrec_measurement_values] to what the measurement's operator gives of a signal
 * [csrec_measurement_signal_values], without noise. */
CSREC_API csrec_status csrec_measurement_simulate(const struct csrec_measurement *measurement,
                                                  const double *signal, double *y,
                                                  csrec_error *error);

/* Rows of the table of operators, for help texts: name and brief of entry i, false past the end. */
CSREC_API bool csrec_operator_info(int i, const char **name, const char **brief);

/* A parameter of a solver, a method or a basis, which settings name. */
typedef struct csrec_param {
    const char *name;
    double value, least, most; /* default and range, ends included */
    const char *help;
} csrec_param;

/* Whether csrec_recover takes operator `number` as a basis. */
CSREC_API bool csrec_operator_is_basis(int number);

/* Parameter i of operator `number`, if csrec_recover takes it as a basis; NULL past the end. */
CSREC_API const csrec_param *csrec_operator_param(int number, int i);

typedef struct csrec_setting {
    const char *name;
    double value;
} csrec_setting;

#ifdef __cplusplus
}
#endif
#endif
