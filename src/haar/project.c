/* SPDX-License-Identifier: BSD-3-Clause */
/* project.c - orthogonal projection on columns of the row tree.
 *
 * Chosen columns are nested or disjoint, and all that lie above a block add one constant c to its
 * samples. So the least squared residual of a block is a quadratic in c alone,
 *
 *     E(c) = alpha (c - mu)^2 + const,
 *
 *     leaf                 alpha = 1, mu = y
 *     no column chosen     alpha = alpha_L + alpha_R, mu = their weighted mean
 *     difference chosen    alpha = 4 alpha_L alpha_R / (alpha_L + alpha_R), mu = (mu_L + mu_R) / 2
 *     indicator chosen     alpha = 0 seen from above; inside, c = mu
 *
 * from the leaves up; then from the root down, with the step z of a chosen difference
 *
 *     z = (alpha_R (c - mu_R) - alpha_L (c - mu_L)) / (alpha_L + alpha_R), c_L = c + z, c_R = c -
 * z. */
#include <math.h>
#include <stdlib.h>

#include "haar/project.h"

typedef struct placer {
    csrec_column_order listing;
    csrec_place *place;
} placer;

static void put(placer *p, int level, csrec_place place) {
    int64_t at = p->listing.next[level]++;
    if (p->place) p->place[at] = place;
}

static void put_all(placer *p, const csrec_tree *tree) {
    put(p, CSREC_LISTING_COLUMN_0, (csrec_place){CSREC_PLACE_ALL, 0, sqrt((double)tree->n)});
    csrec_tree_walk walk = csrec_tree_walk_start(tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);) {
        double norm = sqrt((double)block.size);
        bool leaf = block.node < 0;
        if (!leaf) put(p, block.level, (csrec_place){CSREC_PLACE_DIFFERENCE, block.node, norm});
        if (!tree->one_sided) continue;
        int edge = csrec_tree_edge(block.parent, block.level);
        double side = edge ? csrec_tree_side(tree->rows[block.first], edge) : 0.0;
        if (edge)
            put(p, edge,
                leaf ? (csrec_place){CSREC_PLACE_LEAF, block.first, side}
                     : (csrec_place){CSREC_PLACE_SUM, block.node, side * norm});
    }
}

int64_t csrec_tree_places(const csrec_tree *tree, csrec_place *place) {
    placer p = {.place = NULL};
    put_all(&p, tree);
    int64_t columns = csrec_column_order_start(&p.listing);
    p.place = place;
    if (place) put_all(&p, tree);
    return columns;
}

void csrec_tree_first(const csrec_tree *tree, int32_t *first) {
    csrec_tree_walk walk = csrec_tree_walk_start(tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);)
        if (block.node >= 0) first[block.node] = block.first;
}

typedef struct quadratic {
    double alpha, mu;
} quadratic;

/* Positions 0 .. n - 2 are nodes, n - 1 .. 2 n - 2 leaves, 2 n - 1 stands for column 0. */
typedef struct projection {
    const csrec_tree *tree;
    const double *y;
    quadratic *inside;       /* [2 n - 1] before an indicator of the block itself */
    bool *difference, *sum;  /* [2 n]: chosen at the position */
    double *step, *constant; /* [2 n] found there */
} projection;

static quadratic from_above(const projection *p, int32_t at) {
    return p->sum[at] ? (quadratic){0.0, 0.0} : p->inside[at];
}

static quadratic join(quadratic left, quadratic right, bool difference) {
    double alpha = left.alpha + right.alpha;
    if (alpha == 0.0) return (quadratic){0.0, 0.0};
    if (difference)
        return (quadratic){4.0 * left.alpha * right.alpha / alpha, 0.5 * (left.mu + right.mu)};
    return (quadratic){alpha, (left.alpha * left.mu + right.alpha * right.mu) / alpha};
}

/* The children's positions of a block whose first sample is known. */
static int32_t left_of(const csrec_tree *tree, int32_t node, int32_t first) {
    return tree->left[node] == 1 ? tree->n - 1 + first : node + 1;
}

static int32_t right_of(const csrec_tree *tree, int32_t node, int32_t first) {
    int32_t left = tree->left[node];
    return tree->size[node] - left == 1 ? tree->n - 1 + first + left : node + left;
}

static void go_up(projection *p, const int32_t *first) {
    const csrec_tree *tree = p->tree;
    for (int32_t j = 0; j < tree->n; j++) p->inside[tree->n - 1 + j] = (quadratic){1.0, p->y[j]};
    for (int32_t i = tree->n - 2; i >= 0; i--)
        p->inside[i] = join(from_above(p, left_of(tree, i, first[i])),
                            from_above(p, right_of(tree, i, first[i])), p->difference[i]);
}

/* c of a block after its own indicator, if chosen, is applied. */
static double settle(projection *p, int32_t at, double c) {
    p->constant[at] = 0.0;
    if (!p->sum[at] || p->inside[at].alpha == 0.0) return c;
    p->constant[at] = p->inside[at].mu - c;
    return p->inside[at].mu;
}

static void go_down(projection *p, const int32_t *first, double *c, double *r) {
    const csrec_tree *tree = p->tree;
    int32_t n = tree->n, all = 2 * n - 1;
    p->constant[all] = p->sum[all] && p->inside[0].alpha > 0.0 ? p->inside[0].mu : 0.0;
    c[0] = settle(p, 0, p->constant[all]);
    for (int32_t i = 0; i < n - 1; i++) {
        int32_t left = left_of(tree, i, first[i]), right = right_of(tree, i, first[i]);
        quadratic L = from_above(p, left), R = from_above(p, right);
        double alpha = L.alpha + R.alpha, z = 0.0;
        if (p->difference[i] && alpha > 0.0)
            z = (R.alpha * (c[i] - R.mu) - L.alpha * (c[i] - L.mu)) / alpha;
        p->step[i] = z;
        c[left] = settle(p, left, c[i] + z);
        c[right] = settle(p, right, c[i] - z);
    }
    for (int32_t j = 0; j < n; j++) r[j] = p->y[j] - c[n - 1 + j];
}

static int32_t position(const csrec_tree *tree, const csrec_place *place) {
    if (place->kind == CSREC_PLACE_ALL) return 2 * tree->n - 1;
    return place->kind == CSREC_PLACE_LEAF ? tree->n - 1 + place->at : place->at;
}

static void run(projection *p, int64_t columns, const csrec_place *place, const bool *chosen,
                int32_t *first, double *c, double *x, double *r) {
    for (int64_t k = 0; k < columns; k++) {
        bool *flags = place[k].kind == CSREC_PLACE_DIFFERENCE ? p->difference : p->sum;
        if (chosen[k]) flags[position(p->tree, &place[k])] = true;
    }
    csrec_tree_first(p->tree, first);
    go_up(p, first);
    go_down(p, first, c, r);
    for (int64_t k = 0; k < columns; k++) {
        int32_t at = position(p->tree, &place[k]);
        double step = place[k].kind == CSREC_PLACE_DIFFERENCE ? p->step[at] : p->constant[at];
        x[k] = chosen[k] ? step * place[k].norm : 0.0;
    }
}

csrec_status csrec_tree_project(const csrec_tree *tree, int64_t columns, const csrec_place *place,
                                const bool *chosen, const double *y, double *x, double *r) {
    const int64_t positions = 2 * (int64_t)tree->n;
    csrec_pool pool = {0};
    projection p = {.tree = tree, .y = y};
    CSREC_TAKE(&pool, p.inside, positions);
    CSREC_ZEROS(&pool, p.difference, positions);
    CSREC_ZEROS(&pool, p.sum, positions);
    CSREC_ZEROS(&pool, p.step, positions);
    CSREC_ZEROS(&pool, p.constant, positions);
    int32_t *first = CSREC_TAKE(&pool, first, tree->n);
    double *c = CSREC_TAKE(&pool, c, positions);
    csrec_status status = csrec_pool_status(&pool);
    if (!status) run(&p, columns, place, chosen, first, c, x, r);
    csrec_pool_clear(&pool);
    return status;
}

/* ---- products of the row tree, each in one pass over its nodes. */

csrec_status csrec_tree_map_create(const csrec_tree *tree, csrec_tree_map **map) {
    csrec_tree_map *made = csrec_pool_create(sizeof *made);
    if (!made) return CSREC_MEMORY;
    made->columns = csrec_tree_places(tree, NULL);
    CSREC_TAKE(&made->pool, made->place, made->columns);
    CSREC_TAKE(&made->pool, made->first, tree->n);
    if (csrec_pool_status(&made->pool)) {
        csrec_pool_destroy(made);
        return CSREC_MEMORY;
    }
    csrec_tree_places(tree, made->place);
    csrec_tree_first(tree, made->first);
    *map = made;
    return CSREC_OK;
}

/* Contributions of the columns, [n] each: differences and one-sided sums at the nodes, sums at the
 * leaves; and the sum from above each node. */
typedef struct steps {
    double *difference, *sum, *leaf, *above;
} steps;

/* Returns the constant of column 0. */
static double place_steps(const csrec_tree_map *map, const double *x, steps *s) {
    double all = 0.0;
    for (int64_t k = 0; k < map->columns; k++) {
        const csrec_place *place = &map->place[k];
        double step = x[k] / place->norm;
        switch (place->kind) {
        case CSREC_PLACE_ALL:
            all = step;
            break;
        case CSREC_PLACE_DIFFERENCE:
            s->difference[place->at] = step;
            break;
        case CSREC_PLACE_SUM:
            s->sum[place->at] = step;
            break;
        case CSREC_PLACE_LEAF:
            s->leaf[place->at] = step;
            break;
        }
    }
    return all;
}

/* From the root down: the left child adds, the right child subtracts, the node's difference. */
static void go_down_steps(const csrec_tree *tree, const int32_t *first, steps *s, double all,
                          double *y) {
    if (tree->n == 1) y[0] = all + s->leaf[0];
    s->above[0] = all;
    for (int32_t i = 0; i < tree->n - 1; i++) {
        double c = s->above[i] + s->sum[i], d = s->difference[i];
        int32_t left = tree->left[i], at = first[i], other = at + left;
        if (left == 1)
            y[at] = c + d + s->leaf[at];
        else
            s->above[i + 1] = c + d;
        if (tree->size[i] - left == 1)
            y[other] = c - d + s->leaf[other];
        else
            s->above[i + left] = c - d;
    }
}

csrec_status csrec_tree_forward(const csrec_tree *tree, const csrec_tree_map *map, const double *x,
                                double *y) {
    size_t n = (size_t)tree->n;
    double *all = calloc(4 * n, sizeof *all);
    if (!all) return CSREC_MEMORY;
    steps s = {all, all + n, all + 2 * n, all + 3 * n};
    double constant = place_steps(map, x, &s);
    go_down_steps(tree, map->first, &s, constant, y);
    free(all);
    return CSREC_OK;
}

/* For each node, the sum of y and the left half's minus the right half's; from the leaves up. */
static void add_up(const csrec_tree *tree, const int32_t *first, const double *y, double *sum,
                   double *difference) {
    for (int32_t i = tree->n - 2; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left;
        double a = left == 1 ? y[first[i]] : sum[i + 1];
        double b = right == 1 ? y[first[i] + left] : sum[i + left];
        sum[i] = a + b;
        difference[i] = a - b;
    }
}

csrec_status csrec_tree_adjoint(const csrec_tree *tree, const csrec_tree_map *map, const double *y,
                                double *x) {
    size_t n = (size_t)tree->n;
    double *sum = malloc(2 * n * sizeof *sum), *difference = sum + n;
    if (!sum) return CSREC_MEMORY;
    add_up(tree, map->first, y, sum, difference);
    for (int64_t k = 0; k < map->columns; k++) {
        const csrec_place *place = &map->place[k];
        int32_t at = place->at;
        switch (place->kind) {
        case CSREC_PLACE_ALL:
            x[k] = (tree->n == 1 ? y[0] : sum[0]) * csrec_haar_scale(tree->n);
            break;
        case CSREC_PLACE_DIFFERENCE:
            x[k] = difference[at] * tree->scale[at];
            break;
        case CSREC_PLACE_SUM:
            x[k] = copysign(1.0, place->norm) * sum[at] * tree->scale[at];
            break;
        case CSREC_PLACE_LEAF:
            x[k] = place->norm * y[at];
            break;
        }
    }
    free(sum);
    return CSREC_OK;
}
