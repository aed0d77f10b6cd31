/* SPDX-License-Identifier: BSD-3-Clause */
/* figures.c - draws the figures of docs/pursuit.md: levels.svg, tree.svg and update.svg, from small
 * problems that are solved here. Prints nothing; the same bytes everywhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "csrec.h"
#include "svg.h"

#define TWO_SIDED "#ffd9a0"
#define ONE_SIDED "#d8e4f4"
#define EMPTY     "#f4f4f4"
#define SAMPLE    "#9fd3a5"
#define PICKED    "#f08080"
#define ABOVE     "#ffd9a0"
#define INSIDE    "#a9c8f0"

enum { MOST = 64 };

/* A problem: n sampled rows of 2^levels, ascending, and the residual at them. */
typedef struct {
    int levels, n;
    uint64_t row[MOST];
    double r[MOST];
} problem;

/* A node of the row tree: samples first .. first + size - 1, the first `left` in the left half of
 * the block of span 2^level. */
typedef struct {
    int first, size, left, level, parent;
    double D; /* sum of the left samples less that of the right ones */
} node;

typedef struct {
    problem p;
    node node[MOST];
    int count;
} tree;

/* The worked example of the paper. */
static const problem paper = {5, 6, {1, 6, 10, 16, 23, 27}, {7, 7, 7, 4, 4, 6}};

/* ------------------------------------------------------------------ the row tree ------------ */

static int level_of(uint64_t a, uint64_t b) {
    int level = 0;
    for (; a != b; a >>= 1, b >>= 1) level++;
    return level;
}

static double sum(const double *r, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += r[i];
    return s;
}

/* Adds the nodes over samples first .. first + size - 1 in preorder. */
static void grow(tree *t, int first, int size, int parent) {
    if (size < 2) return;
    const uint64_t *row = t->p.row + first;
    int level = level_of(row[0], row[size - 1]), left = 0, at = t->count++;
    while (!(row[left] >> (level - 1) & 1)) left++;
    const double *r = t->p.r + first;
    t->node[at] =
        (node){first, size, left, level, parent, sum(r, left) - sum(r + left, size - left)};
    grow(t, first, left, at);
    grow(t, first + left, size - left, at);
}

static tree tree_of(const problem *p) {
    tree t = {.p = *p};
    grow(&t, 0, p->n, -1);
    return t;
}

static unsigned long long column_of(const problem *p, int level, uint64_t row) {
    return (1ULL << (p->levels - level)) + (unsigned long long)(row >> level);
}

/* ------------------------------------------------------------------ levels.svg -------------- */

enum { CELL = 28, LEFT = 84, ROW = 44 };

static double cell(double row) {
    return LEFT + CELL * row;
}

static void draw_rows(FILE *svg, const problem *p, double y) {
    svg_text(svg, LEFT / 2, y + 12, 13, "row");
    svg_text(svg, LEFT / 2, y + 36, 13, "r");
    for (int j = 0, k = 0; j < 1 << p->levels; j++) {
        bool sampled = k < p->n && p->row[k] == (uint64_t)j;
        svg_text(svg, cell(j + 0.5), y + 12, 11, "%d", j);
        svg_box(svg, cell(j), y + 24, CELL, 24, sampled ? SAMPLE : EMPTY);
        if (sampled) svg_text(svg, cell(j + 0.5), y + 36, 13, "%g", p->r[k++]);
    }
}

/* The block's column number and product; orange if both halves hold samples. */
static void draw_product(FILE *svg, const problem *p, const csrec_product *product, double top) {
    int level = p->levels;
    uint64_t group = 0;
    double y = top + ROW * p->levels;
    if (product->column > 0) {
        while (product->column >> (p->levels - level) != 1) level--;
        group = product->column - (1ULL << (p->levels - level));
        y = top + ROW * (level - 1);
    }
    double x = cell((double)(group << level)), width = (double)CELL * (1 << level);
    int halves = 0;
    for (int k = 0; k < p->n; k++)
        if (p->row[k] >> level == group) halves |= 1 << (p->row[k] >> (level - 1) & 1);
    svg_box(svg, x, y, width, 30, halves == 3 ? TWO_SIDED : ONE_SIDED);
    if (product->column > 0) svg_line(svg, x + width / 2, y, x + width / 2, y + 30, "#bbb");
    svg_text(svg, x + width / 2, y + 15, 12, level == 1 ? "%llu: %.3g" : "column %llu: %.3g",
             (unsigned long long)product->column, product->value);
}

static int draw_levels(const char *folder) {
    csrec_product product[MOST];
    int64_t found;
    double top = 74;
    if (csrec_haar_transform(NULL, paper.levels, paper.n, paper.row, paper.r,
                             CSREC_TRANSFORM_LEVELS, MOST, product, &found, NULL))
        return 1;
    FILE *svg = svg_open(folder, "levels.svg", LEFT + CELL * 32 + 12, 344,
                         "Six samples on 32 rows, and the inner products level by level");
    if (!svg) return 1;
    draw_rows(svg, &paper, 8);
    for (int level = 1; level <= paper.levels; level++)
        svg_text(svg, LEFT / 2, top + ROW * (level - 1) + 15, 13, "span %d", 1 << level);
    svg_text(svg, LEFT / 2, top + ROW * paper.levels + 15, 13, "all");
    for (int64_t i = 0; i < found; i++) draw_product(svg, &paper, &product[i], top);
    svg_close(svg);
    return 0;
}

/* ------------------------------------------------------------------ tree.svg ---------------- */

typedef struct {
    double step, left, top, rise; /* distance of leaves, of levels */
    int levels;
} layout;

static double leaf_x(const layout *at, int leaf) {
    return at->left + at->step * leaf;
}

static double node_x(const layout *at, const node *v) {
    return (leaf_x(at, v->first + v->left - 1) + leaf_x(at, v->first + v->left)) / 2;
}

static double level_y(const layout *at, int level) {
    return at->top + at->rise * (at->levels - level);
}

/* The columns of an edge: of blocks above `level` and below `above`, equal up to sign. */
static void draw_edge_columns(FILE *svg, const problem *p, uint64_t row, int level, int above,
                              double x, double y) {
    char text[64] = "";
    int used = 0;
    for (int l = above - 1; l > level; l--)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%llu", used ? " = " : "",
                         column_of(p, l, row));
    if (!used) return;
    svg_box(svg, x - 4.0 * used - 6, y - 10, 8.0 * used + 12, 20, ONE_SIDED);
    svg_text(svg, x, y, 12, "%s", text);
}

/* The lines from node v to its two children, with the columns on them. */
static void draw_edges(FILE *svg, const layout *at, const tree *t, const node *v, bool columns) {
    double x = node_x(at, v), y = level_y(at, v->level);
    for (int side = 0; side < 2; side++) {
        int first = v->first + (side ? v->left : 0), size = side ? v->size - v->left : v->left;
        double to = leaf_x(at, first);
        int level = 0;
        for (int i = 0; i < t->count; i++)
            if (t->node[i].first == first && t->node[i].size == size) {
                to = node_x(at, &t->node[i]);
                level = t->node[i].level;
            }
        svg_line(svg, x, y, to, level_y(at, level), "#444");
        if (columns)
            draw_edge_columns(svg, &t->p, t->p.row[first], level, v->level, (x + to) / 2,
                              (y + level_y(at, level)) / 2);
    }
}

static int draw_tree(const char *folder) {
    tree t = tree_of(&paper);
    layout at = {140, 90, 62, 62, paper.levels};
    FILE *svg = svg_open(folder, "tree.svg", 880, 440,
                         "The row tree of the six samples, with the columns on its edges");
    if (!svg) return 1;
    svg_line(svg, node_x(&at, &t.node[0]), level_y(&at, t.node[0].level), node_x(&at, &t.node[0]),
             24, "#444");
    svg_box(svg, node_x(&at, &t.node[0]) - 36, 10, 72, 22, ONE_SIDED);
    svg_text(svg, node_x(&at, &t.node[0]), 21, 12, "column 0");
    for (int i = 0; i < t.count; i++) draw_edges(svg, &at, &t, &t.node[i], true);
    for (int i = 0; i < t.count; i++) {
        const node *v = &t.node[i];
        double x = node_x(&at, v), y = level_y(&at, v->level);
        svg_box(svg, x - 46, y - 18, 92, 36, TWO_SIDED);
        svg_text(svg, x, y - 8, 12, "column %llu",
                 column_of(&paper, v->level, paper.row[v->first]));
        svg_text(svg, x, y + 8, 12, "D = %g", v->D);
    }
    for (int k = 0; k < paper.n; k++) {
        svg_disc(svg, leaf_x(&at, k), level_y(&at, 0), 16, SAMPLE);
        svg_text(svg, leaf_x(&at, k), level_y(&at, 0), 13, "%g", paper.r[k]);
        svg_text(svg, leaf_x(&at, k), level_y(&at, 0) + 28, 12, "row %d", (int)paper.row[k]);
    }
    svg_close(svg);
    return 0;
}

/* ------------------------------------------------------------------ update.svg -------------- */

/* 16 samples of 64 rows, at random: a step and some texture. */
static problem steps(void) {
    return (problem){6,
                     16,
                     {1, 3, 6, 7, 10, 16, 19, 20, 24, 37, 38, 41, 50, 52, 57, 62},
                     {-1, 0, -2, 1, 0, 16, 18, 15, 17, 4, 3, 5, 2, 1, 2, 0}};
}

static double score(const node *v) {
    return fabs(v->D) / sqrt(v->size);
}

static int best_of(const tree *t) {
    int best = 0;
    for (int i = 1; i < t->count; i++)
        if (score(&t->node[i]) > score(&t->node[best])) best = i;
    return best;
}

/* Takes the picked column out of r: every sample of its block moves by the same amount. */
static tree step(const tree *t, int pick) {
    const node *v = &t->node[pick];
    problem p = t->p;
    for (int k = 0; k < v->size; k++) p.r[v->first + k] += (k < v->left ? -1 : 1) * v->D / v->size;
    return tree_of(&p);
}

static const char *colour(const tree *t, int pick, int i) {
    int last = pick + t->node[pick].size - 2;
    if (i == pick) return PICKED;
    if (i > pick && i <= last) return INSIDE;
    for (int v = t->node[pick].parent; v >= 0; v = t->node[v].parent)
        if (v == i) return ABOVE;
    return EMPTY;
}

static void draw_nodes(FILE *svg, const layout *at, const tree *t, const tree *after, int pick) {
    for (int i = 0; i < t->count; i++) draw_edges(svg, at, t, &t->node[i], false);
    for (int i = 0; i < t->count; i++) {
        double x = node_x(at, &t->node[i]), y = level_y(at, t->node[i].level);
        svg_box(svg, x - 21, y - 15, 42, 30, colour(t, pick, i));
        svg_text(svg, x, y - 7, 10, "%.3g", t->node[i].D);
        svg_text(svg, x, y + 7, 10, "%.3g", after->node[i].D + 0.0);
    }
    for (int k = 0; k < t->p.n; k++) {
        const node *v = &t->node[pick];
        bool moves = k >= v->first && k < v->first + v->size;
        svg_disc(svg, leaf_x(at, k), level_y(at, 0), 15, moves ? INSIDE : SAMPLE);
        svg_text(svg, leaf_x(at, k), level_y(at, 0) - 6, 9, "%.3g", t->p.r[k]);
        svg_text(svg, leaf_x(at, k), level_y(at, 0) + 6, 9, "%.3g", after->p.r[k]);
    }
}

/* The nodes in preorder, and maxima of `fan` scores each, one row above the other. */
static void draw_maxima(FILE *svg, const tree *t, const tree *after, int pick, double y) {
    enum { FAN = 4, WIDTH = 56, X = 30 };
    double group[MOST] = {0}, all = 0;
    bool anew[MOST] = {false};
    for (int i = 0; i < t->count; i++) {
        double s = score(&after->node[i]);
        bool changed = after->node[i].D != t->node[i].D;
        svg_box(svg, X + WIDTH * i, y, WIDTH - 4, 26, colour(t, pick, i));
        svg_text(svg, X + WIDTH * i + WIDTH / 2 - 2, y + 13, 11, "%.3g", s);
        group[i / FAN] = fmax(group[i / FAN], s);
        anew[i / FAN] = anew[i / FAN] || changed;
        all = fmax(all, s);
    }
    for (int g = 0; g * FAN < t->count; g++) {
        svg_box(svg, X + WIDTH * FAN * g, y - 40, WIDTH * FAN - 4, 26, anew[g] ? ABOVE : EMPTY);
        svg_text(svg, X + WIDTH * FAN * (g + 0.5) - 2, y - 27, 11, "%.3g", group[g]);
    }
    svg_box(svg, X, y - 80, WIDTH * 16 - 4, 26, ABOVE);
    svg_text(svg, X + WIDTH * 8 - 2, y - 67, 11, "largest score: %.3g", all);
}

static int draw_update(const char *folder) {
    problem p = steps();
    tree before = tree_of(&p);
    int pick = best_of(&before);
    tree after = step(&before, pick);
    layout at = {56, 50, 26, 58, p.levels};
    FILE *svg = svg_open(folder, "update.svg", 940, 570,
                         "One step: which numbers of the tree change, and which maxima");
    if (!svg) return 1;
    draw_nodes(svg, &at, &before, &after, pick);
    draw_maxima(svg, &before, &after, pick, 530);
    svg_close(svg);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "figures FOLDER\n");
        return 2;
    }
    return draw_levels(argv[1]) || draw_tree(argv[1]) || draw_update(argv[1]);
}
