/* SPDX-License-Identifier: BSD-3-Clause */
/* hadamard.h - rows of Hadamard's matrix, as a single-pixel camera measures: +1 and -1. */
#ifndef CSREC_OPERATOR_HADAMARD_H
#define CSREC_OPERATOR_HADAMARD_H

#include "operator/operator.h"

/* The signal is padded with zeros to a power of two along each axis. y_k = (H P x)_row[k], where H
 * is the Kronecker product of the axes' matrices, H_ij = (-1)^popcount(i & j), and P puts entry i
 * at place[i]. */
typedef struct csrec_hadamard {
    int64_t entries, padded; /* at most 2^31 - 1 */
    int64_t m;
    int32_t *row;   /* [m] in natural order */
    int32_t *place; /* [entries] */
} csrec_hadamard;

/* x <- H x, n = 2^k entries, in O(n log n), in cache where that is possible. */
void csrec_hadamard_transform(int64_t n, double *x);
void csrec_hadamard_generic(int64_t n, double *x);
void csrec_hadamard_avx2(int64_t n, double *x);
void csrec_hadamard_avx512(int64_t n, double *x);

/* The natural number of row `k` of an ordering: csrec_ordering_info. For orderings that need a
 * table see csrec_hadamard_rows. */
int64_t csrec_hadamard_sequency(int bits, int64_t k);

/* rows [padded]: the natural number of each row of the ordering; extent: powers of two.
 *   - natural: as it is
 *   - sequency: ascending number of sign changes of the whole row (Walsh)
 *   - cake-cutting: ascending number of pieces of constant sign, prod_a (s_a + 1), s_a being the
 *     sign changes along axis a (Yu 2019); equal ones by C order of (s_0, s_1, ...)
 *   - zig-zag: (s_0, s_1) as JPEG scans them; of three axes by ascending sum, then C order; of one
 *     axis sequency
 * CSREC_MEMORY. */
csrec_status csrec_hadamard_rows(const char *ordering, int axes, const int64_t extent[],
                                 int32_t *rows);

#endif
