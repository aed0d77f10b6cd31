/* SPDX-License-Identifier: BSD-3-Clause */
/* orthogonal.c - Orthogonal Matching Pursuit on the row tree, a few hundred blocks a step.
 *
 * The best fit of a block's samples is a quadratic in the constant c that the chosen columns above
 * add to it (project.c). A new column changes these quadratics on its path to the root only; c
 * changes everywhere below the topmost chosen column, but inside an untouched block every
 * correlation is a linear function of the block's own c. So each node keeps, for its subtree,
 *
 *     upper   a bound of all |<r, Psi_i>| when c was `at`
 *     slope   how fast any of them can change with c
 *
 * and upper + slope |c - at| bounds them now. The largest is found by descending only where the
 * bound exceeds the best so far. Nothing is approximate: what is compared in the end are the
 * correlations of the exact least squares residual. */
#include "haar/pursuit.h"

#include <math.h>
#include <stdlib.h>

#include "haar/project.h"

typedef struct quadratic {
    double alpha, mu;
} quadratic;

/* One cache line. */
typedef struct knot {
    quadratic inside; /* E(c) = alpha (c - mu)^2 + rest, before an indicator of the block itself */
    double rest;
    double upper, slope, at;
    bool difference, sum; /* chosen */
} knot;

/* A block: a node, or the leaf of sample `first`. */
typedef struct block {
    int32_t node; /* -1: a leaf */
    int32_t first;
} block;

enum { DEPTH = 64 }; /* levels fall on every path */

typedef enum leaf_state { LEAF_NO_COLUMN, LEAF_OFFERED, LEAF_CHOSEN } leaf_state;

typedef struct orthogonal {
    csrec_pool pool; /* first */
    const csrec_tree *tree;
    const double *y;
    knot *knot;    /* [n - 1] */
    uint8_t *leaf; /* [n] leaf_state of its indicator */
    bool all;      /* column 0 chosen */
    double best;
    int kind;   /* of the pick: kind of a csrec_place */
    block pick; /* its block */
} orthogonal;

static void children(const csrec_tree *tree, block at, block *left, block *right) {
    int32_t in_left = tree->left[at.node], in_right = tree->size[at.node] - in_left;
    *left = (block){in_left == 1 ? -1 : at.node + 1, at.first};
    *right = (block){in_right == 1 ? -1 : at.node + in_left, at.first + in_left};
}

static block root(const csrec_tree *tree) {
    return (block){tree->n == 1 ? -1 : 0, 0};
}

static quadratic from_above(const orthogonal *o, block at) {
    bool sum = at.node < 0 ? o->leaf[at.first] == LEAF_CHOSEN : o->knot[at.node].sum;
    if (sum) return (quadratic){0.0, 0.0};
    return at.node < 0 ? (quadratic){1.0, o->y[at.first]} : o->knot[at.node].inside;
}

static double rest_of(const orthogonal *o, block at) {
    return at.node < 0 ? 0.0 : o->knot[at.node].rest;
}

/* Whether the block's own indicator has a column, one that is not chosen yet. */
static bool offers_sum(const orthogonal *o, block at) {
    if (!o->tree->one_sided) return false;
    if (at.node < 0) return o->leaf[at.first] == LEAF_OFFERED;
    return (o->tree->edges[at.node] & CSREC_TREE_LEVEL) && !o->knot[at.node].sum;
}

static double bound(const orthogonal *o, block at, double c) {
    if (at.node < 0) return offers_sum(o, at) ? fabs(o->y[at.first] - c) : 0.0;
    const knot *k = &o->knot[at.node];
    return k->upper + k->slope * fabs((k->sum ? k->inside.mu : c) - k->at);
}

static double slope_of(const orthogonal *o, block at) {
    if (at.node < 0) return offers_sum(o, at) ? 1.0 : 0.0;
    return o->knot[at.node].sum ? 0.0 : o->knot[at.node].slope;
}

/* A node with its two halves, with values as seen from the node. */
typedef struct fork {
    block left, right;
    quadratic L, R;
    double alpha; /* of both */
} fork;

static fork fork_at(const orthogonal *o, block at) {
    fork f;
    children(o->tree, at, &f.left, &f.right);
    f.L = from_above(o, f.left);
    f.R = from_above(o, f.right);
    f.alpha = f.L.alpha + f.R.alpha;
    return f;
}

/* alpha, mu, rest of a node from its children's. */
static void join(orthogonal *o, block at) {
    knot *k = &o->knot[at.node];
    fork f = fork_at(o, at);
    k->rest = rest_of(o, f.left) + rest_of(o, f.right);
    k->inside = (quadratic){0.0, 0.0};
    if (f.alpha == 0.0) return;
    double product = f.L.alpha * f.R.alpha / f.alpha, apart = f.L.mu - f.R.mu;
    if (k->difference) {
        k->inside = (quadratic){4.0 * product, 0.5 * (f.L.mu + f.R.mu)};
    } else {
        double mean = (f.L.alpha * f.L.mu + f.R.alpha * f.R.mu) / f.alpha;
        k->inside = (quadratic){f.alpha, mean};
        k->rest += product * apart * apart;
    }
}

/* The step of a chosen difference: c + z on the left, c - z on the right. */
static double step(const knot *k, const fork *f, double c) {
    if (!k->difference || f->alpha == 0.0) return 0.0;
    return (f->R.alpha * (c - f->R.mu) - f->L.alpha * (c - f->L.mu)) / f->alpha;
}

static double difference_score(const orthogonal *o, block at, const fork *f, double c) {
    if (o->knot[at.node].difference) return 0.0;
    double D = f->L.alpha * (f->L.mu - c) - f->R.alpha * (f->R.mu - c);
    return fabs(D) * o->tree->scale[at.node];
}

static double sum_score(const orthogonal *o, block at, double c) {
    if (!offers_sum(o, at)) return 0.0;
    if (at.node < 0) return fabs(o->y[at.first] - c);
    quadratic inside = o->knot[at.node].inside;
    return fabs(inside.alpha * (inside.mu - c)) * o->tree->scale[at.node];
}

/* upper, slope at c (inside the block) from the node's own columns and the bounds below. */
static void pull(orthogonal *o, block at, double c) {
    knot *k = &o->knot[at.node];
    fork f = fork_at(o, at);
    double z = step(k, &f, c), scale = o->tree->scale[at.node];
    double own = fmax(difference_score(o, at, &f, c), sum_score(o, at, c));
    k->at = c;
    k->upper = fmax(own, fmax(bound(o, f.left, c + z), bound(o, f.right, c - z)));
    bool moves = k->difference && f.alpha > 0.0;
    double left = moves ? 2.0 * f.R.alpha / f.alpha : 1.0;
    double right = moves ? 2.0 * f.L.alpha / f.alpha : 1.0;
    double slope = fmax(left * slope_of(o, f.left), right * slope_of(o, f.right));
    if (!k->difference) slope = fmax(slope, fabs(f.L.alpha - f.R.alpha) * scale);
    if (offers_sum(o, at)) slope = fmax(slope, k->inside.alpha * scale);
    k->slope = slope;
}

static double root_constant(const orthogonal *o) {
    return o->all ? from_above(o, root(o->tree)).mu : 0.0;
}

static void consider(orthogonal *o, double score, int kind, block at) {
    if (!(score > o->best)) return;
    o->best = score;
    o->kind = kind;
    o->pick = at;
}

static void visit(orthogonal *o, block at, double c) {
    if (at.node < 0) {
        consider(o, sum_score(o, at, c), CSREC_PLACE_LEAF, at);
        return;
    }
    knot *k = &o->knot[at.node];
    if (k->sum) c = k->inside.mu;
    fork f = fork_at(o, at);
    double z = step(k, &f, c);
    consider(o, difference_score(o, at, &f, c), CSREC_PLACE_DIFFERENCE, at);
    consider(o, sum_score(o, at, c), CSREC_PLACE_SUM, at);
    double left = bound(o, f.left, c + z), right = bound(o, f.right, c - z);
    if (left >= right && left > o->best) visit(o, f.left, c + z);
    if (right > o->best) visit(o, f.right, c - z);
    if (left < right && left > o->best) visit(o, f.left, c + z);
    pull(o, at, c);
}

static double orthogonal_select_pick(void *state) {
    orthogonal *o = state;
    block top = root(o->tree);
    quadratic whole = from_above(o, top);
    o->best = 0.0;
    double all = fabs(whole.alpha * whole.mu) / sqrt((double)o->tree->n);
    if (!o->all) consider(o, all, CSREC_PLACE_ALL, top);
    double c = root_constant(o);
    if (bound(o, top, c) > o->best) visit(o, top, c);
    return o->best;
}

/* The nodes from the root to the picked block, the block last unless it is a leaf. */
static int find_path(const orthogonal *o, block *path) {
    const csrec_tree *tree = o->tree;
    int depth = 0;
    for (block at = root(tree); at.node >= 0;) {
        path[depth++] = at;
        if (at.node == o->pick.node) break;
        block left, right;
        children(tree, at, &left, &right);
        at = o->pick.first < right.first ? left : right;
    }
    return depth;
}

static double orthogonal_energy(const void *state) {
    const orthogonal *o = state;
    block top = root(o->tree);
    quadratic whole = from_above(o, top);
    return rest_of(o, top) + (o->all ? 0.0 : whole.alpha * whole.mu * whole.mu);
}

/* Quadratics from the pick up to the root, c from the root down, bounds up again. */
static void update_path(orthogonal *o) {
    block path[DEPTH];
    double constant[DEPTH];
    int depth = find_path(o, path);
    for (int k = depth - 1; k >= 0; k--) join(o, path[k]);
    double c = root_constant(o);
    for (int k = 0; k < depth; k++) {
        const knot *at = &o->knot[path[k].node];
        constant[k] = c = at->sum ? at->inside.mu : c;
        fork f = fork_at(o, path[k]);
        double z = step(at, &f, c);
        if (k + 1 < depth) c += path[k + 1].first == f.left.first ? z : -z;
    }
    for (int k = depth - 1; k >= 0; k--) pull(o, path[k], constant[k]);
}

static bool orthogonal_update(void *state) {
    orthogonal *o = state;
    if (o->best == 0.0) return false;
    double before = orthogonal_energy(o);
    int32_t node = o->pick.node;
    switch (o->kind) {
    case CSREC_PLACE_ALL:
        o->all = true;
        break;
    case CSREC_PLACE_DIFFERENCE:
        o->knot[node].difference = true;
        break;
    case CSREC_PLACE_SUM:
        o->knot[node].sum = true;
        break;
    case CSREC_PLACE_LEAF:
        o->leaf[o->pick.first] = LEAF_CHOSEN;
        break;
    }
    update_path(o);
    return orthogonal_energy(o) < before;
}

static bool is_chosen(const orthogonal *o, const csrec_place *place) {
    switch (place->kind) {
    case CSREC_PLACE_ALL:
        return o->all;
    case CSREC_PLACE_DIFFERENCE:
        return o->knot[place->at].difference;
    case CSREC_PLACE_SUM:
        return o->knot[place->at].sum;
    default:
        return o->leaf[place->at] == LEAF_CHOSEN;
    }
}

static csrec_status orthogonal_result(const void *state, const double *y, csrec_atoms *atoms,
                                      double *r) {
    const orthogonal *o = state;
    int64_t columns = csrec_tree_places(o->tree, NULL);
    csrec_pool pool = {0};
    csrec_place *place = CSREC_TAKE(&pool, place, columns);
    bool *chosen = CSREC_TAKE(&pool, chosen, columns);
    double *x = CSREC_TAKE(&pool, x, columns), *left = CSREC_TAKE(&pool, left, o->tree->n);
    csrec_status status = csrec_pool_status(&pool);
    if (!status) {
        csrec_tree_places(o->tree, place);
        for (int64_t k = 0; k < columns; k++) chosen[k] = is_chosen(o, &place[k]);
        status = csrec_tree_project(o->tree, columns, place, chosen, y, x, r ? r : left);
    }
    if (!status && atoms) status = csrec_atoms_from_dense(columns, x, atoms);
    csrec_pool_clear(&pool);
    return status;
}

static void offer_leaves(orthogonal *o) {
    csrec_tree_walk walk = csrec_tree_walk_start(o->tree);
    for (csrec_tree_block at; csrec_tree_walk_next(&walk, &at);)
        if (at.node < 0 && csrec_tree_edge(at.parent, 0)) o->leaf[at.first] = LEAF_OFFERED;
}

/* Children have larger numbers than their parents. */
static csrec_status orthogonal_create(const csrec_tree *tree, const double *y, void **state) {
    orthogonal *o = csrec_pool_create(sizeof *o);
    if (!o) return CSREC_MEMORY;
    o->tree = tree;
    o->y = y;
    o->knot = csrec_pool_keep(&o->pool, csrec_tree_allocate(tree->n, sizeof *o->knot));
    CSREC_ZEROS(&o->pool, o->leaf, tree->n);
    int32_t *first = malloc((size_t)tree->n * sizeof *first);
    if (!first || csrec_pool_status(&o->pool)) {
        free(first);
        csrec_pool_destroy(o);
        return CSREC_MEMORY;
    }
    if (tree->one_sided) offer_leaves(o);
    csrec_tree_first(tree, first);
    for (int32_t i = tree->n - 2; i >= 0; i--) {
        join(o, (block){i, first[i]});
        pull(o, (block){i, first[i]}, 0.0);
    }
    free(first);
    *state = o;
    return CSREC_OK;
}

const csrec_pursuit_type csrec_pursuit_orthogonal = {orthogonal_create,      csrec_pool_destroy,
                                                     orthogonal_select_pick, orthogonal_update,
                                                     orthogonal_energy,      orthogonal_result};
