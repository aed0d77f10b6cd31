/* SPDX-License-Identifier: BSD-3-Clause */
/* timing.h - one measured pursuit, and one transform, of a problem. */
#ifndef CSREC_BENCH_TIMING_H
#define CSREC_BENCH_TIMING_H

#include "haar/eager.h"
#include "problem.h"

typedef struct bench_times {
    double tree_ns, start_ns;  /* a sample: building the tree; starting the pursuit from y */
    int64_t atoms[2];          /* N/20 and N/4, or fewer where nothing was left to gain */
    double atom_ns[2];         /* an atom, all of them from the first */
    uint64_t hash;             /* of the atoms found: columns and coefficients, every bit */
    int64_t tree_bytes, bytes; /* held by the tree; by tree and pursuit */
    int64_t peak_bytes;        /* the most held while building both */
} bench_times;

/* simd: NULL for the one chosen for this processor. Repeats until `least` seconds are spent and
 * keeps the shortest time of each part: what the machine does when left alone. */
bench_times bench_time_pursuit(const bench_problem *problem, csrec_columns columns,
                               const csrec_eager_simd *simd, double least);

/* Of columns and coefficients, every bit. */
uint64_t bench_atoms_hash(const csrec_atoms *atoms);
/* Hash of the first n/4 atoms, by the eager pursuit; no timing. */
uint64_t bench_pursuit_hash(const bench_problem *problem, csrec_columns columns);

/* Seconds of an iteration that begins with a transform: the leanest we know, one pass over the row
 * tree that sums and keeps the largest; and that of a pursuit, csrec_pursuit_reference for the
 * paper's way, level by level. */
double bench_time_tree_iteration(const bench_problem *problem, csrec_columns columns);
double bench_time_iteration(const bench_problem *problem, csrec_columns columns,
                            const csrec_pursuit_type *type);

#endif
