/* SPDX-License-Identifier: BSD-3-Clause */
/* eager_shift.h - part of the template eager_simd.h: effect of a step on the picked block. */
/* What a step does to a range of nodes: samples of begin .. middle - 1 change by left, of middle ..
 * end - 1 by right. As doubles, to compare beside doubles. */
typedef struct shift {
    double begin, middle, end, left, right;
    double own, own_D, own_S; /* the picked node (-1: none), and what it changes by itself */
} shift;

/* Nodes whose samples change by t, and whose own D and S change by own_D and own_S. */
static inline void shift_nodes_at(csrec_eager *e, int64_t at, const doubles *t,
                                  const doubles *own_D, const doubles *own_S, longs *key) {
    const csrec_tree *tree = e->tree;
    ints size, left;
    doubles D, S = {0.0};
    LOAD(size, tree->size + at);
    LOAD(left, tree->left + at);
    LOAD(D, e->D + at);
    D += *t * __builtin_convertvector(2 * left - size, doubles) + *own_D;
    STORE(e->D + at, D);
    if (tree->one_sided) {
        LOAD(S, e->S + at);
        S += *t * __builtin_convertvector(size, doubles) + *own_S;
        STORE(e->S + at, S);
    }
    node_keys_at(e, at, &D, &S, key);
}

static inline void positions_from(int64_t at, doubles *position) {
    static const double lane[] = {0, 1, 2, 3, 4, 5, 6, 7};
    LOAD(*position, lane);
    *position += (double)at;
}

/* t: the change of the samples at these positions; 0 outside the range. */
static inline void shift_lanes(const shift *s, const doubles *position, doubles *t) {
    doubles zero = {0.0}, left = zero + s->left, right = zero + s->right;
    longs is_left = (*position >= s->begin) & (*position < s->middle);
    longs is_right = (*position >= s->middle) & (*position < s->end);
    *t = (doubles)(((longs)left & is_left) | ((longs)right & is_right));
}

static inline void own_lanes(const shift *s, const doubles *position, doubles *D, doubles *S) {
    doubles zero = {0.0}, own_D = zero + s->own_D, own_S = zero + s->own_S;
    longs is_own = *position == s->own;
    *D = (doubles)((longs)own_D & is_own);
    *S = (doubles)((longs)own_S & is_own);
}

static inline int64_t largest_lane(const longs *key) {
    int64_t lane[LANES];
    STORE(lane, *key);
    return largest(lane, LANES);
}

/* All nodes from at to at + GROUP - 1 change alike, by t. */
static inline bool inside(const shift *s, int64_t at, doubles *t) {
    double first = (double)at, end = first + GROUP;
    doubles zero = {0.0};
    *t = zero + (first < s->middle ? s->left : s->right);
    return first >= s->begin && end <= s->end && (first >= s->middle || end <= s->middle);
}

/* One pass over a group: shift, store, key. The largest key. */
static inline int64_t shift_group(csrec_eager *e, int64_t at, const shift *s) {
    doubles t, position, own_D = {0.0}, own_S = {0.0};
    longs best = {0}, key;
    bool is_inside = inside(s, at, &t);
    for (int64_t end = at + GROUP; at < end; at += LANES) {
        if (!is_inside) {
            positions_from(at, &position);
            shift_lanes(s, &position, &t);
            own_lanes(s, &position, &own_D, &own_S);
        }
        shift_nodes_at(e, at, &t, &own_D, &own_S, &key);
        keep_larger(&best, &key);
    }
    return largest_lane(&best);
}

static void shift_range(csrec_eager *e, int64_t first, int64_t last, const shift *s) {
    int64_t a = first / GROUP, b = last / GROUP, *max = e->maxima.max[0];
    for (int64_t g = a; g <= b; g++) max[g] = shift_group(e, g * GROUP, s);
    raise_range(&e->maxima, a, b);
}
