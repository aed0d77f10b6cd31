/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c - random numbers that depend on (seed, stream, counter) alone.
 *
 * Words and uniform numbers are integer arithmetic and an exact scaling: the same bits everywhere.
 * Normal numbers go through the C library's log, cos and sqrt, which may differ in the last bit
 * between platforms; positions of samples never do. */
#include "base/random.h"
#include "csrec/sampling.h"

#include <math.h>

/* One round: two 32 x 32 -> 64 bit products whose halves are crossed with the key. */
static void philox_round(uint32_t c[4], const uint32_t key[2]) {
    uint64_t p = UINT64_C(0xD2511F53) * c[0];
    uint64_t q = UINT64_C(0xCD9E8D57) * c[2];
    c[0] = (uint32_t)(q >> 32) ^ c[1] ^ key[0];
    c[1] = (uint32_t)q;
    c[2] = (uint32_t)(p >> 32) ^ c[3] ^ key[1];
    c[3] = (uint32_t)p;
}

void csrec_random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
    uint32_t k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        philox_round(c, k);
        k[0] += 0x9E3779B9u; /* Weyl sequence of the golden ratio */
        k[1] += 0xBB67AE85u; /* and of sqrt(3) - 1 */
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

void csrec_random_words(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]) {
    const uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    csrec_random_philox(c, key, out);
}

static uint64_t join(uint32_t low, uint32_t high) {
    return low | (uint64_t)high << 32;
}

uint64_t csrec_random_u64(uint64_t seed, uint64_t stream, uint64_t counter) {
    uint32_t word[4];
    csrec_random_words(seed, stream, counter, word);
    return join(word[0], word[1]);
}

/* The high word of a 64 x 64 bit product, from four 32 x 32 bit ones: ISO C has no 128 bits. */
uint64_t csrec_random_below(uint64_t word, uint64_t n) {
    uint64_t a = word >> 32, b = word & 0xFFFFFFFFu;
    uint64_t c = n >> 32, d = n & 0xFFFFFFFFu;
    uint64_t middle = a * d + (b * d >> 32); /* < 2^64: (2^32-1)^2 + 2^32 - 1 */
    uint64_t other = b * c + (middle & 0xFFFFFFFFu);
    return a * c + (middle >> 32) + (other >> 32);
}

double csrec_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
    return (double)(csrec_random_u64(seed, stream, counter) >> 11) * 0x1p-53;
}

/* Box and Muller 1958, one of the pair: sqrt(-2 ln u) cos(2 pi v), u in (0, 1]. The largest value
 * is sqrt(2 * 53 ln 2) = 8.57. */
double csrec_random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
    const double two_pi = 6.283185307179586;
    uint32_t word[4];
    csrec_random_words(seed, stream, counter, word);
    double u = (double)((join(word[0], word[1]) >> 11) + 1) * 0x1p-53;
    double v = (double)(join(word[2], word[3]) >> 11) * 0x1p-53;
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

void csrec_random_normals(uint64_t stream, int64_t n, double *v) {
    for (int64_t i = 0; i < n; i++) v[i] = csrec_random_normal(1, stream, (uint64_t)i);
}
