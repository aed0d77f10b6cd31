/* SPDX-License-Identifier: BSD-3-Clause */
/* measuring.h - random operators that measure whole signals, with their matrices written out from
 * the definitions: patterns whose sign changes and pieces are counted, direct sums. */
#pragma once

#include "sampling/sampling.h"
#include "operators_drawn.h"

/* ---- Hadamard */

static inline int64_t power_of_two(int64_t extent) {
    int64_t padded = 1;
    while (padded < extent) padded *= 2;
    return padded;
}

static inline double hadamard_sign(int64_t i, int64_t j) {
    int ones = 0;
    for (int64_t both = i & j; both; both >>= 1) ones += (int)(both & 1);
    return ones % 2 ? -1.0 : 1.0;
}

/* A row in natural order, its sign changes along each axis, and its pieces of constant sign. */
typedef struct pattern {
    int64_t natural, changes[3], pieces, whole, place;
} pattern;

static inline int64_t count_pieces(const csrec_shape *grid, int64_t natural, char *seen) {
    const int64_t entries = entries_in(grid);
    int64_t pieces = 0;
    OWNED int64_t *stack = malloc((size_t)(entries * 7) * sizeof *stack);
    memset(seen, 0, (size_t)entries);
    for (int64_t start = 0; start < entries; start++) {
        int64_t top = 0;
        if (seen[start]) continue;
        pieces++;
        stack[top++] = start;
        seen[start] = 1;
        while (top > 0) {
            int64_t at = stack[--top], c[8], stride = 1;
            coordinates(grid, at, c);
            for (int a = grid->dims - 1; a >= 0; stride *= grid->dim[a--])
                for (int step = -1; step <= 1; step += 2) {
                    int64_t next = at + step * stride;
                    if (c[a] + step < 0 || c[a] + step >= grid->dim[a] || seen[next] ||
                        hadamard_sign(natural, next) != hadamard_sign(natural, at))
                        continue;
                    seen[next] = 1;
                    stack[top++] = next;
                }
        }
    }
    return pieces;
}

static inline pattern look_at(const csrec_shape *grid, int64_t natural, char *seen) {
    pattern p = {.natural = natural};
    int64_t entries = entries_in(grid), stride = 1;
    for (int64_t i = 1; i < entries; i++)
        p.whole += hadamard_sign(natural, i) != hadamard_sign(natural, i - 1);
    for (int a = grid->dims - 1; a >= 0; stride *= grid->dim[a--])
        for (int64_t i = 1; i < grid->dim[a]; i++)
            p.changes[a] +=
                hadamard_sign(natural, i * stride) != hadamard_sign(natural, (i - 1) * stride);
    for (int a = 0; a < grid->dims; a++) p.place = p.place * grid->dim[a] + p.changes[a];
    p.pieces = count_pieces(grid, natural, seen);
    return p;
}

static int pattern_dims;
static char pattern_order; /* n, s, c, z */

static inline int compare_patterns(const void *x, const void *y) {
    const pattern *a = x, *b = y;
    int64_t u = a->natural, v = b->natural, s = 0, t = 0;
    if (pattern_order == 's') u = a->whole, v = b->whole;
    if (pattern_order == 'c') u = a->pieces, v = b->pieces, s = a->place, t = b->place;
    if (pattern_order == 'z') {
        u = a->changes[0] + a->changes[1] + a->changes[2];
        v = b->changes[0] + b->changes[1] + b->changes[2];
        s = a->place, t = b->place;
        /* JPEG: 0,0; 0,1; 1,0; 2,0; 1,1; 0,2; ... */
        if (pattern_dims == 2) s = a->changes[u % 2 ? 0 : 1], t = b->changes[v % 2 ? 0 : 1];
    }
    if (u != v) return u < v ? -1 : 1;
    return (s > t) - (s < t);
}

static inline void draw_hadamard(uint64_t *seed, drawn *d) {
    static const char *const names[] = {NULL, "natural", "sequency", "cake-cutting", "zig-zag"};
    csrec_shape grid;
    csrec_permutation permutation;
    int64_t padded = 1;
    draw_signal(seed, (const int64_t[]){50, 8, 4}, d);
    free(d->index);
    grid = d->shape;
    for (int a = 0; a < grid.dims; a++) padded *= grid.dim[a] = power_of_two(d->shape.dim[a]);
    d->spec.ordering = names[check_below(seed, 5)];
    d->spec.scrambled = check_below(seed, 2);
    d->spec.seed = check_next(seed) >> 20;
    OWNED pattern *rows = malloc((size_t)padded * sizeof *rows);
    OWNED char *seen = malloc((size_t)padded);
    for (int64_t k = 0; k < padded; k++) rows[k] = look_at(&grid, k, seen);
    pattern_dims = grid.dims;
    pattern_order = d->spec.ordering ? d->spec.ordering[0] : 'n';
    qsort(rows, (size_t)padded, sizeof *rows, compare_patterns);
    d->index = draw_some(seed, padded, &d->m);
    d->spec.m = d->m;
    d->spec.index = d->index;
    d->n = d->entries;
    d->matrix = malloc((size_t)(d->m * d->n) * sizeof *d->matrix);
    csrec_permutation_init(&permutation, (uint64_t)padded, d->spec.seed);
    for (int64_t j = 0; j < d->n; j++) {
        int64_t c[8], place = 0;
        coordinates(&d->shape, j, c);
        for (int a = 0; a < grid.dims; a++) place = place * grid.dim[a] + c[a];
        if (d->spec.scrambled) place = (int64_t)csrec_permutation_at(&permutation, (uint64_t)place);
        for (int64_t k = 0; k < d->m; k++)
            d->matrix[k * d->n + j] = hadamard_sign(rows[d->index[k]].natural, place);
    }
}

/* ---- Fourier: direct sums */

/* Of the grid, or with any of a random trajectory, whose points index chooses. */
static inline void draw_frequencies(uint64_t *seed, bool any, drawn *d) {
    draw_signal(seed, (const int64_t[]){40, 7, 4}, d);
    const int dims = d->shape.dims;
    d->trajectory = any ? malloc((size_t)(d->entries * dims) * sizeof *d->trajectory) : NULL;
    for (int64_t i = 0; i < d->entries * dims && any; i++)
        d->trajectory[i] = (check_uniform(seed) - 0.5) * (double)d->shape.dim[i % dims];
    d->spec.trajectory = d->trajectory;
    d->spec.points = any ? d->entries : 0;
    const int64_t count = 1 + check_below(seed, 3), parts = 1 + check_below(seed, 2);
    const bool coils = check_below(seed, 2);
    const int64_t each = coils ? count : 1, m = d->m;
    static const char *const norms[] = {NULL, "backward", "ortho", "forward"};
    const int norm = (int)check_below(seed, 4);
    const double n = (double)d->entries, unit = norm < 2    ? 1.0
                                                : norm == 2 ? 1.0 / sqrt(n)
                                                            : 1.0 / n;
    d->spec.complex_signal = parts == 2;
    d->spec.centred = any || check_below(seed, 2);
    d->spec.norm = norms[norm];
    if (coils) {
        draw_filters(seed, 2 * count * d->entries, d);
        d->spec.coils = d->filters;
        d->spec.n_coils = count;
    }
    d->m = 2 * m * each;
    d->n = parts * d->entries;
    d->matrix = malloc((size_t)(d->m * d->n) * sizeof *d->matrix);
    for (int64_t k = 0; k < m; k++)
        for (int64_t j = 0; j < d->entries; j++) {
            int64_t f[8], c[8];
            double turns = 0.0;
            coordinates(&d->shape, d->index[k], f);
            coordinates(&d->shape, j, c);
            for (int a = 0; a < d->shape.dims; a++) {
                const int64_t extent = d->shape.dim[a], middle = d->spec.centred ? extent / 2 : 0;
                const double at =
                    any ? d->trajectory[d->index[k] * dims + a] : (double)(f[a] - middle);
                turns += fmod(at * (double)(c[a] - middle), (double)extent) / (double)extent;
            }
            const double re = unit * cos(2.0 * acos(-1.0) * turns),
                         im = -unit * sin(2.0 * acos(-1.0) * turns);
            for (int64_t q = 0; q < each; q++) {
                const double *s = coils ? d->filters + 2 * (q * d->entries + j) : NULL;
                const double u = s ? re * s[0] - im * s[1] : re, v = s ? re * s[1] + im * s[0] : im;
                double *row = d->matrix + 2 * (k * each + q) * d->n + parts * j;
                row[0] = u, row[d->n] = v;
                if (parts == 2) row[1] = -v, row[d->n + 1] = u;
            }
        }
}

static inline void draw_fourier(uint64_t *seed, drawn *d) {
    draw_frequencies(seed, false, d);
}

static inline void draw_nufft(uint64_t *seed, drawn *d) {
    draw_frequencies(seed, true, d);
}

/* ---- matrices, blurs, means */

static inline void draw_blocks(uint64_t *seed, drawn *d) {
    int64_t each = 1, blocks = 1;
    d->shape.dims = (int)(1 + check_below(seed, 3));
    d->kernel = malloc(3 * sizeof *d->kernel);
    d->entries = 1;
    for (int a = 0; a < d->shape.dims; a++) {
        int64_t number = 1 + check_below(seed, 3);
        d->kernel[a] = 1 + check_below(seed, 4);
        d->shape.dim[a] = number * d->kernel[a];
        if (number > 1) d->shape.dim[a] -= check_below(seed, d->kernel[a]); /* zeros follow */
        d->entries *= d->shape.dim[a];
        each *= d->kernel[a];
        blocks *= number;
    }
    d->spec.kernel = blocks > 1 || check_below(seed, 2) ? d->kernel : NULL;
    d->spec.m = 1 + check_below(seed, 6);
    draw_filters(seed, d->spec.m * each, d);
    d->spec.matrix = d->filters;
    d->m = d->spec.m * blocks;
    d->n = d->entries;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t j = 0; j < d->n; j++) {
        int64_t c[8], block = 0, within = 0;
        coordinates(&d->shape, j, c);
        for (int a = 0; a < d->shape.dims; a++) {
            const int64_t number = (d->shape.dim[a] + d->kernel[a] - 1) / d->kernel[a];
            block = block * number + c[a] / d->kernel[a];
            within = within * d->kernel[a] + c[a] % d->kernel[a];
        }
        for (int64_t r = 0; r < d->spec.m; r++)
            d->matrix[(block * d->spec.m + r) * d->n + j] = d->filters[r * each + within];
    }
}

static inline void draw_blur(uint64_t *seed, drawn *d) {
    int64_t weights = 1;
    draw_signal(seed, (const int64_t[]){30, 8, 4}, d);
    d->kernel = malloc(3 * sizeof *d->kernel);
    csrec_shape box = d->shape;
    for (int a = 0; a < d->shape.dims; a++)
        weights *= box.dim[a] = d->kernel[a] = 1 + check_below(seed, d->shape.dim[a]);
    draw_filters(seed, weights, d);
    d->spec.filters = d->filters;
    d->spec.kernel = d->kernel;
    d->n = d->entries;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t k = 0; k < d->m; k++)
        for (int64_t w = 0; w < weights; w++) {
            int64_t p[8], q[8], from = 0;
            bool inside = true;
            coordinates(&d->shape, d->index[k], p);
            coordinates(&box, w, q);
            for (int a = 0; a < d->shape.dims; a++) {
                int64_t c = p[a] + d->kernel[a] / 2 - q[a];
                inside = inside && c >= 0 && c < d->shape.dim[a];
                from = from * d->shape.dim[a] + c;
            }
            if (inside) d->matrix[k * d->n + from] += d->filters[w];
        }
}

static inline void draw_downsample(uint64_t *seed, drawn *d) {
    draw_signal(seed, (const int64_t[]){40, 9, 5}, d);
    d->kernel = malloc(3 * sizeof *d->kernel);
    d->spec.index = NULL;
    csrec_shape boxes = d->shape;
    d->m = 1;
    for (int a = 0; a < d->shape.dims; a++) {
        d->kernel[a] = 1 + check_below(seed, d->shape.dim[a]);
        d->m *= boxes.dim[a] = (d->shape.dim[a] + d->kernel[a] - 1) / d->kernel[a];
    }
    d->spec.factor = d->kernel;
    d->n = d->entries;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t i = 0; i < d->m; i++) {
        int64_t members = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < d->n; j++) {
                int64_t b[8], c[8];
                bool inside = true;
                coordinates(&boxes, i, b);
                coordinates(&d->shape, j, c);
                for (int a = 0; a < d->shape.dims; a++)
                    inside = inside && c[a] / d->kernel[a] == b[a];
                if (inside && pass == 0) members++;
                if (inside && pass == 1) d->matrix[i * d->n + j] = 1.0 / (double)members;
            }
    }
}
