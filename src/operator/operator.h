/* SPDX-License-Identifier: BSD-3-Clause */
/* operator.h - the interface of an operator; a new one is a file that ends in its row, and a line
 * in CSREC_OPERATORS. */
#pragma once

#include "base/pool.h"
#include "base/rows.h"
#include "csrec/operator.h"
#include "device/device.h"

typedef struct csrec_mask csrec_mask; /* mask.h */

/* Picks and subtracts atoms by the operator's structure. state belongs to one run of a solver. */
typedef struct csrec_atom_search {
    /* reference: the slow and readable implementation with the same picks */
    csrec_status (*create)(const csrec_operator *A, bool reference, const double *y, void **state);
    void (*destroy)(void *state);
    /* max |<r, a_i>| over unit columns a_i; remembers i. It failed: - csrec_status. */
    double (*select)(void *state);
    /* x_i += <r, a_i>, r -= <r, a_i> a_i; false: no gain is left. */
    bool (*update)(void *state);
    double (*energy)(const void *state); /* ||r||^2 */
    /* atoms and r [m] may be NULL. */
    csrec_status (*result)(const void *state, csrec_atoms *atoms, double *r);
} csrec_atom_search;

/* One iteration of a thresholding: v = synthesize(threshold(analyze(u))), then
 *     u = v + relax (v - u), and at the samples u = v + impose (y - v). */
typedef struct csrec_shrink_step {
    double threshold, relax, impose;
    bool soft; /* soft thresholding */
    int64_t
        draw; /* number of the iteration, from which a frame that can be shifted draws its offset */
} csrec_shrink_step;

/* Thresholds a frame's coefficients without storing them. */
typedef struct csrec_shrink_type {
    /* u = start [entries], y [m]. CSREC_UNSUPPORTED: not for this size. */
    csrec_status (*create)(const csrec_operator *A, const double *y, const double *start,
                           void **state);
    void (*destroy)(void *state);
    csrec_status (*step)(void *state, const csrec_shrink_step *step);
    double (*energy)(const void *state);               /* ||y - mask v||^2 */
    void (*signal)(const void *state, double *signal); /* u */
} csrec_shrink_type;

/* Access to single columns of an operator that stores them, and bounds over all columns. state
 * belongs to one run of a solver. */
typedef struct csrec_column_access {
    csrec_status (*create)(const csrec_operator *A, void **state);
    void (*destroy)(void *state);
    /* upper_j >= |product(j, r)| for all n columns, as close as a fast pass comes. */
    void (*bounds)(void *state, const double *r, double *upper);
    double (*product)(const void *state, int64_t j, const double *r); /* <a_j, r> */
    /* G[i][k] = G[k][i] = <a_list[i], a_list[k]> for first <= i < size and k <= i; rows of G are
     * stride apart. */
    void (*gram)(const void *state, int64_t first, int64_t size, const int64_t *list,
                 int64_t stride, double *G);
    /* r -= sum_k w_k a_list[k] */
    void (*subtract)(const void *state, int64_t size, const int64_t *list, const double *w,
                     double *r);
} csrec_column_access;

/* What a recovery on a basis will take, of one channel: known from the shape and the settings. */
typedef struct csrec_operator_need {
    double n, product; /* coefficients, and seconds that a product with all takes */
    bool stored;       /* thresholding stores coefficients: csrec_threshold_plain */
    double step;       /* seconds of an iteration that does not store them */
    double own;        /* bytes of the operator */
    double kept;       /* and of what iterations keep that store no coefficients, else a product */
} csrec_operator_need;

/* A A^T of an operator of which it has blocks: y is [blocks][size], and only rows of one block are
 * not orthogonal. values: [kinds][size][size]; block b has those of kind[b]. */
typedef struct csrec_gram {
    int size, kinds;
    int64_t blocks;
    int *kind; /* [blocks] */
    double *values;
} csrec_gram;

/* Rows of a block at most: with more, conjugate gradients are cheaper than the eigenvectors. */
enum { CSREC_GRAM_MOST = 1100 };

/* Fields of a specification that change the size of A: a type refuses those it does not use. */
enum {
    CSREC_TAKES_INDEX = 1,
    CSREC_TAKES_COMPLEX = 2,
    CSREC_TAKES_COILS = 4,
    CSREC_TAKES_FACTOR = 8
};

/* x: [n], y: [m]. A row must have name, brief, create, forward and adjoint, and a basis more;
 * csrec_operator_check_row has all rules. Another function that is NULL has a default made from
 * these. */
typedef struct csrec_operator_type {
    const char *name, *brief;
    int takes;                 /* a sum of CSREC_TAKES_... */
    const csrec_param *params; /* of a basis for csrec_recover; ends with a row without a name */
    /* Sets at least m and n. The arrays of spec live as long as A, and so do those of its pool. A
     * status without words gets them: CSREC_MEMORY is "operator NAME: out of memory". */
    csrec_status (*create)(csrec_operator *A, const csrec_operator_spec *spec, csrec_error *error);
    /* Not after a failed create; NULL: nothing to free but the pool. */
    void (*destroy)(csrec_operator *A);
    csrec_status (*forward)(const csrec_operator *A, const double *x, double *y); /* y = A x   */
    csrec_status (*adjoint)(const csrec_operator *A, const double *y, double *x); /* x = A^T y */
    /* z = A^T A x, another array, where it takes less than two products; else NULL. */
    csrec_status (*normal)(const csrec_operator *A, const double *x, double *z);
    /* x [count][n] = A^T y of each y [count][m] on the chosen columns [n], 0 elsewhere; NULL: on
     * all. Default: whole products. */
    csrec_status (*adjoint_on)(const csrec_operator *A, int64_t count, const bool *chosen,
                               const double *y, double *x);
    const csrec_atom_search *search; /* mp with structure; default: correlate, argmax, subtract */
    const csrec_atom_search *orthogonal; /* omp with structure: update fits all picked columns */
    /* Least squares on the chosen columns [n]: x (0 elsewhere) and r = y - A x. Default: CGLS. */
    csrec_status (*fit)(const csrec_operator *A, const bool *chosen, const double *y, double *x,
                        double *r);
    csrec_status (*column_norms)(const csrec_operator *A, double *norms);
    csrec_status (*correlate)(const csrec_operator *A, const double *r, double *c);
    csrec_status (*column)(const csrec_operator *A, int64_t j, double *a);
    /* Optional: the blocks of A A^T, from the pool. CSREC_UNSUPPORTED: they are too large. */
    csrec_status (*gram)(const csrec_operator *A, csrec_pool *pool, csrec_gram *gram);
    /* Says why the last product failed, and forgets it; false: not known. */
    bool (*explain)(const csrec_operator *A, csrec_error *error);
    const csrec_column_access *access; /* optional */
    /* Optional: A / 2^exponent as a matrix of its own; default: by products. */
    csrec_status (*divide)(const csrec_operator *A, int exponent, csrec_operator **divided,
                           csrec_error *error);
    /* Of bases and frames of a sampled signal, which is y = mask synthesize(x): the whole signal,
     * and coefficients with synthesize(analyze(signal)) = signal. */
    csrec_status (*synthesize)(const csrec_operator *A, const double *x, double *signal);
    csrec_status (*analyze)(const csrec_operator *A, const double *signal, double *x);
    const csrec_shrink_type *shrink; /* optional */
    /* Of a basis with parameters; the specification's arrays are not read, and may be NULL. */
    csrec_operator_need (*need)(const csrec_operator_spec *spec);
} csrec_operator_type;

/* What a device keeps for an operator whose products it computes. */
typedef struct csrec_operator_state csrec_operator_state;

typedef struct csrec_spare csrec_spare; /* operator.c */

struct csrec_operator {
    const csrec_operator_type *type; /* what is called: the row, or the device's in its place */
    const csrec_operator_type *row;  /* of the table */
    csrec_context context;           /* where its products are computed */
    bool owned;                      /* the context is the operator's own */
    csrec_operator_state *state;     /* NULL: the CPU's */
    int64_t m, n;
    double norm;               /* an upper bound of ||A||_2; 0: not known */
    int exponent;              /* the caller's A is 2^exponent times this one, and its x divided by
                                  it (csrec_ordinary_create); else 0 */
    bool complex_x, complex_y; /* x, or y, is pairs of real and imaginary parts: n, or m, is even */
    int64_t parts;   /* columns of an entry of x: unless create sets it, 1, or 2 where x is complex:
                        a_j and i a_j, of real and imaginary part, which are orthogonal and equally
                        long, as are those of several x at once (pairs).
                        (Not computed where it is used: a loop that GCC 12 knows to run once or twice
                        it vectorises wrongly.) */
    int threads;     /* of shrink, where it is the only one; 0 or 1: one */
    bool serial;     /* a function of the caller's is called by one thread at a time */
    bool doubted;    /* so is the adjoint: csrec_adjoint_test */
    void *data;      /* of the type */
    csrec_pool pool; /* of the type: freed after destroy, and where create fails */
    const csrec_mask *mask; /* where there is synthesize, else NULL */
    csrec_spare *spare;     /* NULL: products keep no memory */
};

/* A->data: `size` bytes of the pool, zeros. NULL: out of memory. */
void *csrec_operator_data(csrec_operator *A, size_t size);

/* The row's adjoint_on, or its default; whole products of a device are the device's. */
csrec_status csrec_operator_adjoint_on(const csrec_operator *A, int64_t count, const bool *chosen,
                                       const double *y, double *x);

/* A factor's flags: what it is to the operator that is made of it. */
void csrec_operator_inherit(csrec_operator *A, const csrec_operator *factor);

/* Memory for one product: a block of an earlier one where none has it at this time, as the pages of
 * a new one cost more than a fast product. Its entries are not set. NULL: out of memory. Any thread
 * may call both. */
double *csrec_operator_borrow(const csrec_operator *A, int64_t n);
void csrec_operator_give_back(const csrec_operator *A, double *block);

/* Norms of columns that are computed: those that are rounding beside the largest, such as of
 * details that a blur removes, become 0, so that nothing is divided by them. */
void csrec_norms_clean(int64_t n, double *norms);

/* Why a product with A failed, if a function of the caller's did: replaces the text of error. */
bool csrec_operator_explain(const csrec_operator *A, csrec_error *error);

/* Fails, in a line that has both numbers, if the caller's adjoint is not that of the forward
 * product: of random x and y, |<A x, y> - <x, A^T y>| must not be beyond rounding. Sets *exponent
 * to that of the largest entry of A^T y, about that of the longest column; it is as it was for 0.
 * At most two products, or one where A is not doubted, and as many again if they leave the range of
 * doubles. */
csrec_status csrec_adjoint_test(const csrec_operator *A, int *exponent, csrec_error *error);

/* NULL if no operator, or no basis, has the name. */
const csrec_operator_type *csrec_operator_find(const char *name);
const csrec_operator_type *csrec_operator_find_basis(const char *name);

/* The table, in the order in which it is listed. */
#define CSREC_OPERATORS(X)                                                                         \
    X(haar)                                                                                        \
    X(dense)                                                                                       \
    X(dct)                                                                                         \
    X(wavelet)                                                                                     \
    X(mask)                                                                                        \
    X(chain)                                                                                       \
    X(callback)                                                                                    \
    X(hadamard)                                                                                    \
    X(fourier)                                                                                     \
    X(nufft)                                                                                       \
    X(matrix)                                                                                      \
    X(blur)                                                                                        \
    X(downsample)                                                                                  \
    X(pairs)                                                                                       \
    X(sparse)                                                                                      \
    X(identity)                                                                                    \
    CSREC_MORE_OPERATORS(X)

#define CSREC_OPERATOR_DECLARED(name) extern const csrec_operator_type csrec_operator_##name;
CSREC_OPERATORS(CSREC_OPERATOR_DECLARED)
#undef CSREC_OPERATOR_DECLARED

/* CSREC_ARGUMENT and a line that names the field, if a row lacks something. */
csrec_status csrec_operator_check_row(const csrec_operator_type *row, csrec_error *error);

/* ---- operators of ordinary size: no square of their entries leaves the range of doubles. */

/* Tests A's adjoint (csrec_adjoint_test) and measures its longest column, by a product if A knows
 * neither its columns' lengths nor its norm. *ordinary = NULL if that is 2^-64 to 2^64 or 0, else
 * A / 2^e with columns of at most about 1 and `exponent` larger by e: the same bits, and, of
 * matrices, the same algorithms; destroy it before A. CSREC_DATA: other columns are so short beside
 * the longest that they would be lost. */
csrec_status csrec_ordinary_create(const csrec_operator *A, csrec_operator **ordinary,
                                   csrec_error *error);
