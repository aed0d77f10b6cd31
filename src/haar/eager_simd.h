/* SPDX-License-Identifier: BSD-3-Clause */
/* eager_simd.h - select and update of the eager pursuit, a template over instruction sets
 * (cmake/simd.cmake). */
#include "haar/eager_keys.h"
#include "haar/eager_shift.h"

static void start(csrec_eager *e) {
    csrec_maxima *m = &e->maxima;
    for (int64_t g = 0; g < m->count[0]; g++) m->max[0][g] = group_largest(e, g);
    raise_range(m, 0, m->count[0] - 1);
}

/* Group that holds the first node with the largest key. */
static int64_t find_group(const csrec_maxima *m) {
    int64_t wanted = m->max[m->levels - 1][0], at = 0;
    for (int k = m->levels - 2; k >= 0; k--)
        at = at * FAN + first_equal(m->max[k] + at * FAN, wanted, FAN);
    return at;
}

static inline double left_leaf(const csrec_eager *e, int32_t node) {
    return (e->S[node] + e->D[node]) / 2.0;
}

static inline double right_leaf(const csrec_eager *e, int32_t node) {
    return (e->S[node] - e->D[node]) / 2.0;
}

/* Of equal keys at one node the left leaf's is the leftmost column. The right leaf's is not if the
 * node's left child has it too: its columns of that level lie in the node's left half. */
static csrec_pick pick_leaf(const csrec_eager *e, int32_t node, int64_t wanted) {
    const csrec_tree *tree = e->tree;
    if (tree->left[node] == 1) {
        int level = (int)(wanted & CSREC_TREE_LEVEL);
        bool left = csrec_pursuit_key(left_leaf(e, node), 1.0, level) == wanted;
        return (csrec_pick){left ? CSREC_PICK_LEFT_LEAF : CSREC_PICK_RIGHT_LEAF, node};
    }
    int32_t child = node + 1;
    double scale = tree->scale[child];
    if (csrec_pursuit_key(e->D[child], scale, tree->level[child]) == wanted)
        return (csrec_pick){CSREC_PICK_DIFFERENCE, child};
    if (csrec_pursuit_key(e->S[child], scale, tree->edges[child] & CSREC_TREE_LEVEL) == wanted)
        return (csrec_pick){CSREC_PICK_SUM, child};
    return (csrec_pick){CSREC_PICK_RIGHT_LEAF, node};
}

/* The level identifies a node's column: its own level, a higher one above it, a lower one below. */
static csrec_pick pick_at(const csrec_eager *e, int32_t node, int64_t wanted) {
    int level = (int)(wanted & CSREC_TREE_LEVEL), own = e->tree->level[node];
    if (level < own) return pick_leaf(e, node, wanted);
    return (csrec_pick){level > own ? CSREC_PICK_SUM : CSREC_PICK_DIFFERENCE, node};
}

static double picked_score(const csrec_eager *e) {
    int32_t at = e->pick.at;
    switch (e->pick.kind) {
    case CSREC_PICK_ALL:
        return fabs(e->total) * e->all_scale;
    case CSREC_PICK_DIFFERENCE:
        return fabs(e->D[at]) * e->tree->scale[at];
    case CSREC_PICK_SUM:
        return fabs(e->S[at]) * e->tree->scale[at];
    case CSREC_PICK_LEFT_LEAF:
        return fabs(left_leaf(e, at));
    case CSREC_PICK_RIGHT_LEAF:
        return fabs(right_leaf(e, at));
    }
    return 0.0;
}

static double select_best(csrec_eager *e) {
    int64_t wanted = e->maxima.max[e->maxima.levels - 1][0];
    e->pick = (csrec_pick){CSREC_PICK_ALL, 0};
    if (wanted > csrec_eager_all_key(e)) {
        int64_t key[GROUP], group = find_group(&e->maxima);
        node_keys(e, group, key);
        e->pick = pick_at(e, (int32_t)(group * GROUP + first_equal(key, wanted, GROUP)), wanted);
    }
    return picked_score(e) / e->units;
}

static inline int64_t leaf_key(const csrec_eager *e, int32_t at, int edges) {
    double left = edges & CSREC_TREE_LEFT_LEAF ? fabs(left_leaf(e, at)) : 0.0;
    double right = edges & CSREC_TREE_RIGHT_LEAF ? fabs(right_leaf(e, at)) : 0.0;
    return csrec_pursuit_key(left > right ? left : right, 1.0, e->tree->level[at] - 1);
}

static inline int64_t one_key(const csrec_eager *e, int32_t at) {
    const csrec_tree *tree = e->tree;
    int64_t key = csrec_pursuit_key(e->D[at], tree->scale[at], tree->level[at]);
    if (!tree->one_sided) return key;
    int edges = tree->edges[at], edge = edges & CSREC_TREE_LEVEL;
    if (edge) key = csrec_larger(key, csrec_pursuit_key(e->S[at], tree->scale[at], edge));
    if (edges > CSREC_TREE_LEVEL) key = csrec_larger(key, leaf_key(e, at, edges));
    return key;
}

/* The sum of a child of node `at` changes. Only if its key was its group's largest and decreases
 * must the other keys be examined. */
static inline void change_sums(csrec_eager *e, int32_t at, bool in_left, double change) {
    int64_t group = at / GROUP, before = one_key(e, at);
    e->D[at] += in_left ? change : -change;
    if (e->tree->one_sided) e->S[at] += change;
    int64_t now = one_key(e, at), top = e->maxima.max[0][group];
    if (now >= top)
        raise(&e->maxima, group, now);
    else if (before == top)
        refresh(e, group);
}

/* The sum of a node's block changes: updates its ancestors. */
static void change_above(csrec_eager *e, int32_t node, double change) {
    for (int32_t at = 0; at != node;) {
        int32_t left = e->tree->left[at];
        bool in_left = node < at + left;
        change_sums(e, at, in_left, change);
        at += in_left ? 1 : left;
    }
}

/* Coefficient of the picked one-sided column. */
static double *picked_x(csrec_eager *e) {
    const csrec_tree *tree = e->tree;
    int32_t at = e->pick.at;
    int64_t x = e->sides[at / GROUP];
    for (int32_t i = at / GROUP * GROUP; i < at; i++) x += csrec_eager_sides(tree, i);
    if (e->pick.kind != CSREC_PICK_SUM) x += (tree->edges[at] & CSREC_TREE_LEVEL) != 0;
    if (e->pick.kind == CSREC_PICK_RIGHT_LEAF) x += (tree->edges[at] & CSREC_TREE_LEFT_LEAF) != 0;
    return e->x + x;
}

/* All samples change by t. */
static void shift_all(csrec_eager *e, double t) {
    int32_t n = e->tree->n;
    e->total += t * n;
    if (n > 1) shift_range(e, 0, n - 2, &(shift){0, n, n, t, t, -1, 0, 0});
}

static void apply_all(csrec_eager *e, double d) {
    e->x_all += d;
    shift_all(e, -d);
}

static void apply_difference(csrec_eager *e, int32_t node, double d) {
    int32_t size = e->tree->size[node], left = e->tree->left[node];
    double change = d * (double)(size - 2 * left);
    e->total += change;
    shift s = {node + 1, node + left, node + size - 1, -d, d, node, -d * size, change};
    shift_range(e, node, node + size - 2, &s);
    if (change != 0.0) change_above(e, node, change);
}

static void apply_sum(csrec_eager *e, int32_t node, double d) {
    int32_t size = e->tree->size[node];
    *picked_x(e) += d;
    e->total -= d * size;
    shift s = {node, node + size - 1, node + size - 1, -d, -d, -1, 0, 0};
    shift_range(e, node, node + size - 2, &s);
    change_above(e, node, -d * size);
}

static void apply_leaf(csrec_eager *e, int32_t node, bool in_left, double d) {
    *picked_x(e) += d;
    e->total -= d;
    change_above(e, node, -d);
    change_sums(e, node, in_left, -d);
}

static void apply_picked(csrec_eager *e, double d) {
    int32_t at = e->pick.at;
    switch (e->pick.kind) {
    case CSREC_PICK_ALL:
        apply_all(e, d);
        break;
    case CSREC_PICK_DIFFERENCE:
        apply_difference(e, at, d);
        break;
    case CSREC_PICK_SUM:
        apply_sum(e, at, d);
        break;
    case CSREC_PICK_LEFT_LEAF:
    case CSREC_PICK_RIGHT_LEAF:
        apply_leaf(e, at, e->pick.kind == CSREC_PICK_LEFT_LEAF, d);
        break;
    }
}

/* Sum of r over the picked column's block, halves with their signs, and its samples. */
static double picked_sum(const csrec_eager *e, double *size) {
    int32_t at = e->pick.at;
    *size = 1.0;
    switch (e->pick.kind) {
    case CSREC_PICK_ALL:
        *size = e->tree->n;
        return e->total;
    case CSREC_PICK_DIFFERENCE:
        *size = e->tree->size[at];
        return e->D[at];
    case CSREC_PICK_SUM:
        *size = e->tree->size[at];
        return e->S[at];
    case CSREC_PICK_LEFT_LEAF:
        return left_leaf(e, at);
    case CSREC_PICK_RIGHT_LEAF:
        return right_leaf(e, at);
    }
    return 0.0;
}

static bool update_picked(csrec_eager *e) {
    double size, v = picked_sum(e, &size);
    e->step = csrec_pursuit_step(v, size);
    e->gain = csrec_pursuit_gain(v, size, e->step);
    if (e->gain <= 0) return false;
    e->energy -= e->gain;
    apply_picked(e, e->step);
    return true;
}

const csrec_eager_simd SIMD_TABLE = {start, select_best, update_picked, apply_picked, shift_all};
