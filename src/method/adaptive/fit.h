/* fit.h - the pursuit on one grid, run to its limit in closed form.
 *
 * Rows may come from any map of positions to integers and may repeat. Two-sided columns and column
 * 0 are independent, as many as there are distinct rows, so Matching Pursuit on them has one limit
 * x with zero residual (samples of equal row: zero for their mean). In the tree of the rows
 *     mu(leaf) = mean of its samples,   mu(node) = (mu(left) + mu(right)) / 2,
 * and at a row that leaves the tree inside a node's block, x is the value mu of the half that
 * has samples: no column distinguishes the halves. With a threshold, columns are dropped whose
 * halves of n1 and n2 samples have means that differ by less than threshold sqrt(1/n1 + 1/n2), and
 * x is the least squares fit of the rest.
 */
#ifndef CSREC_METHOD_ADAPTIVE_FIT_H
#define CSREC_METHOD_ADAPTIVE_FIT_H

#include "csrec.h"

/* A block of rows in which both halves have samples. Ids: nodes first, in row order of their
 * split, then the leaves. The bits from `shift` up number the block. */
typedef struct csrec_fit_node {
    uint64_t prefix; /* row >> shift for the rows of the block */
    int32_t child[2];
    int32_t shift;
} csrec_fit_node;

/* A node with the three levels below it, for the search. */
typedef struct csrec_fit_fork {
    uint64_t prefix;
    int32_t shift, id;
} csrec_fit_fork;

/* Memory for the fits of one thread, reused for each grid. */
typedef struct csrec_fit {
    int32_t n, channels, leaves, root, forks;
    int bits, table_bits;
    uint64_t *row[2];  /* [n] sorted rows in row[0]; after merging, rows of the leaves */
    int32_t *order[2]; /* [n] sample of each sorted row */
    int32_t *first;    /* [n + 1] a leaf's first sample in `order` */
    int32_t *sibling;  /* [n] sibling of each leaf */
    int32_t *stack, *upward; /* [n] upward: nodes in order, children before parents */
    csrec_fit_node *node;
    float *mean;                  /* [2 n channels] value of each node and leaf */
    float *plain, *weight, *size; /* [2 n], with a threshold: plain means, weights, counts */
    int32_t *value;               /* `mean` in units */
    int32_t *table;       /* [2^table_bits] where the search of a row starts: a fork, or ~id */
    csrec_fit_fork *fork; /* [n] */
    int32_t *way;         /* [8 n] from a fork, by the next three bits of the row: a fork, or ~id */
} csrec_fit;

enum { CSREC_FIT_BLOCK = 256 };

/* Only allocation can fail. */
csrec_status csrec_fit_create(int32_t n, int32_t channels, bool threshold, csrec_fit *fit);
void csrec_fit_clear(csrec_fit *fit);

/* Bytes touched by a fit. */
double csrec_fit_bytes(double n, double channels, bool threshold);

/* Rows in fit->row[0], n of them, any order, below 2^bits, bits <= 62; z [n * channels]. Values are
 * kept as integers, round(value * units): sums of them do not depend on their order. |value| *
 * units is clamped below 2^26. */
void csrec_fit_build(csrec_fit *fit, int bits, const float *z, float threshold, float units);

/* sum[i * channels + c] += the value at sample i as if not sampled: its sibling's value. */
void csrec_fit_add_samples(const csrec_fit *fit, const float *z, float units, int32_t *sum);

/* sum[k * channels + c] += the value at rows[k], 0 <= k < count <= CSREC_FIT_BLOCK. */
void csrec_fit_add_rows(const csrec_fit *fit, int count, const uint64_t *rows, int32_t *sum);

#endif
