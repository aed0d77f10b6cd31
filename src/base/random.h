/* SPDX-License-Identifier: BSD-3-Clause */
/* random.h - the counter-based generator behind csrec_random_*. */
#pragma once

#include <stdint.h>

/* Streams of the library's own draws: draws of one consumer never change another's numbers. They
 * are part of the file format ("pattern", "seed", "count"): do not renumber. */
enum {
    CSREC_STREAM_PERMUTATION = 1,
    CSREC_STREAM_POISSON = 2,
    CSREC_STREAM_NEXT = 3,
    CSREC_STREAM_JITTER = 256 /* and above: one stream per depth of the partition */
};

/* Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * 2011: four random words of a 128-bit counter and a 64-bit key. */
void csrec_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The four words behind csrec_random_u64(seed, stream, counter), which is out[0] + 2^32 out[1]. */
void csrec_random_words(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]);

/* v_i = csrec_random_normal(1, stream, i): the same in every run. */
void csrec_random_normals(uint64_t stream, int64_t n, double *v);

/* floor(word n / 2^64) for a random word: 0 .. n - 1, each equally likely to n / 2^64. */
uint64_t csrec_random_below(uint64_t word, uint64_t n);
