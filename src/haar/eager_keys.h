/* SPDX-License-Identifier: BSD-3-Clause */
/* eager_keys.h - part of the template eager_simd.h: vectors, keys of groups, and the hierarchy of
 * their maxima. Vectors are the compiler's own, as wide as the set's, and are passed by address. */
#include "haar/eager.h"

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
enum { GROUP = CSREC_TREE_GROUP, FAN = CSREC_MAXIMA_FAN };

typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef int64_t longs __attribute__((vector_size(8 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes __attribute__((vector_size(LANES)));

#define LOAD(vector, from) memcpy(&(vector), (from), sizeof(vector))
#define STORE(to, vector)  memcpy((to), &(vector), sizeof(vector))

/* a = the larger of a and b, lane by lane. Keys are the bits of positive doubles and
 * order like them, which suits instruction sets without comparisons of 64-bit integers. */
static inline void keep_larger(longs *a, const longs *b) {
#if defined(__AVX2__)
    longs more = *b > *a;
#else
    longs more = (doubles)*b > (doubles)*a;
#endif
    *a = (*b & more) | (*a & ~more);
}

static inline void widen(const uint8_t *from, longs *wide) {
    bytes narrow;
    LOAD(narrow, from);
    *wide = __builtin_convertvector(narrow, longs);
}

/* csrec_pursuit_key lane by lane. */
static inline void keys_of(const doubles *v, const doubles *scale, const longs *level, longs *key) {
    doubles score = (doubles)((longs)*v & INT64_MAX) * *scale;
    *key = ((longs)score & ~INT64_C(63)) | *level;
}

/* Keys of the columns of a node's leaves: |S + D| / 2 on the left, |S - D| / 2 on the right. Where
 * there is none the key stays below the node's own, whose level is higher; it is -1 beyond the last
 * node, which neither comparison of keep_larger takes for the larger. */
static inline void leaf_keys_at(const longs *level, const longs *edges, const doubles *D,
                                const doubles *S, longs *key) {
    longs below = *level - 1;
    longs left = (longs)(*S + *D) & -(*edges >> 6 & 1) & INT64_MAX;
    longs right = (longs)(*S - *D) & -(*edges >> 7) & INT64_MAX;
    keep_larger(&left, &right);
    doubles half = {0.0};
    half += 0.5;
    keys_of((const doubles *)&left, &half, &below, key);
}

static inline void node_keys_at(const csrec_eager *e, int64_t at, const doubles *D,
                                const doubles *S, longs *key) {
    const csrec_tree *tree = e->tree;
    doubles scale;
    longs level;
    LOAD(scale, tree->scale + at);
    widen(tree->level + at, &level);
    keys_of(D, &scale, &level, key);
    if (!tree->one_sided) return;
    longs edges, edge, other;
    widen(tree->edges + at, &edges);
    edge = edges & CSREC_TREE_LEVEL;
    keys_of(S, &scale, &edge, &other);
    other &= edge != 0;
    keep_larger(key, &other);
    leaf_keys_at(&level, &edges, D, S, &other);
    keep_larger(key, &other);
}

static void node_keys(const csrec_eager *e, int64_t group, int64_t *key) {
    for (int64_t i = 0; i < GROUP; i += LANES) {
        int64_t at = group * GROUP + i;
        doubles D, S = {0.0};
        longs lanes;
        LOAD(D, e->D + at);
        if (e->tree->one_sided) LOAD(S, e->S + at);
        node_keys_at(e, at, &D, &S, &lanes);
        STORE(key + i, lanes);
    }
}

static int64_t largest(const int64_t *key, int count) {
    int64_t best = 0;
    for (int i = 0; i < count; i++) best = csrec_larger(best, key[i]);
    return best;
}

/* The fixed count lets the compiler unroll fully. */
static int64_t largest_of_fan(const int64_t *key) {
    return largest(key, FAN);
}

static int64_t group_largest(const csrec_eager *e, int64_t group) {
    int64_t key[GROUP];
    node_keys(e, group, key);
    return largest(key, GROUP);
}

/* Whether one of the keys is the one wanted. */
static inline int first_equal(const int64_t *key, int64_t wanted, int count) {
    for (int base = 0; base + 8 < count; base += 8) {
        unsigned hits = 0;
        for (int i = 0; i < 8; i++) hits |= (unsigned)(key[base + i] == wanted) << i;
        if (hits) return base + __builtin_ctz(hits);
    }
    int i = count - 8;
    while (key[i] != wanted) i++;
    return i;
}

/* Sets group g's maximum to now; updates upper levels only as far as maxima change. */
static void raise(csrec_maxima *m, int64_t g, int64_t now) {
    for (int k = 0;; k++) {
        int64_t before = m->max[k][g];
        m->max[k][g] = now;
        if (k + 1 == m->levels || now == before) return;
        g /= FAN;
        int64_t above = m->max[k + 1][g];
        if (now < above) {
            if (before < above) return;
            now = largest_of_fan(m->max[k] + g * FAN);
        }
    }
}

static void refresh(csrec_eager *e, int64_t g) {
    raise(&e->maxima, g, group_largest(e, g));
}

/* Groups first .. last have new maxima: updates the levels above. */
static void raise_range(csrec_maxima *m, int64_t first, int64_t last) {
    for (int k = 1; k < m->levels; k++) {
        first /= FAN;
        last /= FAN;
        for (int64_t g = first; g <= last; g++)
            m->max[k][g] = largest_of_fan(m->max[k - 1] + g * FAN);
    }
}
