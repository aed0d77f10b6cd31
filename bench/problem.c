/* SPDX-License-Identifier: BSD-3-Clause */
/* problem.c - rows by the library's own uniform sampling, values by the kind of signal; and a
 * picture as a function of position: shaded regions with sharp edges, soft blobs and a texture
 * whose spectrum falls as that of photographs, at any resolution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "bench.h"

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Uniform in [-1, 1), fixed for each point of a lattice. */
static double lattice(uint64_t octave, int64_t i, int64_t j) {
    uint64_t h =
        mix(mix((uint64_t)i * 2 + 1) + (uint64_t)j * UINT64_C(0x9E3779B97F4A7C15) + octave);
    return (double)(int64_t)h * 0x1p-63;
}

static double smooth(double t) {
    return t * t * (3.0 - 2.0 * t);
}

/* Noise with `cells` lattice cells a side. */
static double noise(uint64_t octave, double u, double v, double cells) {
    double x = u * cells, y = v * cells, i = floor(x), j = floor(y);
    double a = smooth(x - i), b = smooth(y - j);
    int64_t ii = (int64_t)i, jj = (int64_t)j;
    double top = lattice(octave, ii, jj) * (1.0 - b) + lattice(octave, ii, jj + 1) * b;
    double low = lattice(octave, ii + 1, jj) * (1.0 - b) + lattice(octave, ii + 1, jj + 1) * b;
    return top * (1.0 - a) + low * a;
}

/* Amplitude per octave falls as 0.72^octave: finer detail is fainter, as in photographs. */
static double texture(uint64_t kind, double u, double v, int64_t side) {
    double sum = 0.0, amplitude = 22.0, cells = 4.0;
    for (uint64_t octave = 0; cells * 2.0 <= (double)side; octave++) {
        sum += amplitude * noise(64 * kind + octave, u, v, cells);
        amplitude *= 0.72;
        cells *= 2.0;
    }
    return sum;
}

/* Sixteen overlapping ellipses, the last one hit is seen; 0: the background. */
static int region(double u, double v) {
    for (int k = 16; k > 0; k--) {
        double cu = 0.5 + 0.5 * lattice(1000, k, 0), cv = 0.5 + 0.5 * lattice(1000, k, 1);
        double a = 0.06 + 0.1 * (1.0 + lattice(1000, k, 2));
        double b = 0.06 + 0.1 * (1.0 + lattice(1000, k, 3));
        double turn = 3.14159265358979 * lattice(1000, k, 4);
        double x = (u - cu) * cos(turn) + (v - cv) * sin(turn);
        double y = (v - cv) * cos(turn) - (u - cu) * sin(turn);
        if (x * x / (a * a) + y * y / (b * b) < 1.0) return k;
    }
    return 0;
}

double bench_picture_value(double u, double v, int64_t side) {
    int k = region(u, v);
    double base = 128.0 + 80.0 * lattice(2000, k, 0);
    double shade = 30.0 * (lattice(2000, k, 1) * (u - 0.5) + lattice(2000, k, 2) * (v - 0.5));
    double blob = 25.0 * exp(-8.0 * ((u - 0.3) * (u - 0.3) + (v - 0.6) * (v - 0.6)));
    /* Every third region is nearly flat, like sky or skin. */
    double rough = k % 3 == 0 ? 0.15 : 0.5 + 0.5 * fabs(lattice(2000, k, 3));
    double value = base + shade + blob + rough * texture((uint64_t)k, u, v, side);
    return rint(fmin(255.0, fmax(0.0, value)));
}

const char *const bench_signal_names[BENCH_SIGNALS] = {"noise", "piecewise", "picture"};

/* Smooth pieces: a sine whose frequency, phase and height change at each of 24 jumps. */
static double piecewise(double t) {
    int piece = (int)(t * 25.0);
    uint64_t k = (uint64_t)piece;
    double height = 0.2 + csrec_random_uniform(7, 0, k);
    double phase = 6.0 * csrec_random_uniform(7, 1, k);
    double frequency = 20.0 + 60.0 * csrec_random_uniform(7, 2, k);
    return height * sin(phase + frequency * t) + 2.0 * csrec_random_uniform(7, 3, k) - 1.0;
}

static csrec_shape square(int levels) {
    return (csrec_shape){2, {INT64_C(1) << (levels / 2), INT64_C(1) << (levels - levels / 2)}};
}

static void fill_picture(bench_problem *p) {
    csrec_shape shape = square(p->levels);
    int64_t *index = bench_allocate(p->n, sizeof *index);
    bench_check(csrec_rows_to_index(&shape, CSREC_ORDER_MORTON, p->n, p->rows, index), "rows");
    /* Detail down to the pixels of a picture sampled at one in four, whatever M is. */
    int64_t side = (int64_t)(2.0 * sqrt((double)p->n));
#pragma omp parallel for
    for (int64_t j = 0; j < p->n; j++) {
        double u = (double)(index[j] / shape.dim[1]) / (double)shape.dim[0];
        double v = (double)(index[j] % shape.dim[1]) / (double)shape.dim[1];
        p->y[j] = bench_picture_value(u, v, side);
    }
    free(index);
}

static void draw_rows(bench_problem *p, uint64_t seed) {
    csrec_shape line = {1, {INT64_C(1) << p->levels}};
    csrec_sampling sampling;
    csrec_error error;
    if (csrec_sampling_create(&line, CSREC_PATTERN_UNIFORM, p->n, seed, &sampling, &error))
        bench_fail("sampling", error.text);
    p->rows = bench_allocate(p->n, sizeof *p->rows);
    for (int64_t j = 0; j < p->n; j++) p->rows[j] = (uint64_t)sampling.index[j];
    csrec_sampling_clear(&sampling);
}

bench_problem bench_problem_create(bench_signal signal, int levels, int64_t n, uint64_t seed) {
    bench_problem p = {levels, n, NULL, bench_allocate(n, sizeof *p.y)};
    draw_rows(&p, seed);
    double scale = ldexp(1.0, -levels);
    if (signal == BENCH_PICTURE) {
        fill_picture(&p);
        return p;
    }
#pragma omp parallel for
    for (int64_t j = 0; j < n; j++)
        p.y[j] = signal == BENCH_NOISE ? 2.0 * csrec_random_uniform(seed, 1, (uint64_t)j) - 1.0
                                       : piecewise((double)p.rows[j] * scale);
    return p;
}

void bench_problem_destroy(bench_problem *problem) {
    free(problem->rows);
    free(problem->y);
    *problem = (bench_problem){0};
}

csrec_measurement bench_sampled(int64_t side, int64_t channels, csrec_dtype dtype) {
    csrec_measurement m = {.shape = {2, {side, side}}, .channels = channels, .dtype = dtype};
    csrec_sampling sampling;
    bench_check(
        csrec_sampling_create(&m.shape, CSREC_PATTERN_UNIFORM, side * side / 4, 1, &sampling, NULL),
        "sampling");
    m.n = sampling.n;
    m.index = sampling.index;
    m.y = bench_allocate(m.n * channels, sizeof *m.y);
    return m;
}

/* ---- runs the pursuit and the transforms under the clock. */

static const csrec_pursuit_type *const eager = &csrec_pursuit_eager;

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
    const unsigned char *byte = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001B3);
    return hash;
}

uint64_t bench_atoms_hash(const csrec_atoms *atoms) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    hash = hash_bytes(hash, atoms->column, (size_t)atoms->n * sizeof *atoms->column);
    return hash_bytes(hash, atoms->coefficient, (size_t)atoms->n * sizeof *atoms->coefficient);
}

static uint64_t hash_result(const void *state, const double *y) {
    csrec_atoms atoms;
    bench_check(eager->result(state, y, &atoms, NULL), "atoms");
    uint64_t hash = bench_atoms_hash(&atoms);
    csrec_atoms_clear(&atoms);
    return hash;
}

/* The energy is asked for each atom as csrec_solve does. */
static int64_t pursue(void *state, int64_t from, int64_t to) {
    double energy = 1.0;
    for (; from < to && energy > 0.0; from++) {
        eager->select(state);
        if (!eager->update(state)) break;
        energy = eager->energy(state);
    }
    return from;
}

static void run_once(const bench_problem *p, csrec_columns columns, const csrec_eager_simd *simd,
                     bench_times *t) {
    int64_t before = bench_bytes_live();
    bench_bytes_reset();
    csrec_tree tree;
    void *state;
    double clock[5];
    clock[0] = bench_seconds();
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &tree), "tree");
    clock[1] = bench_seconds();
    t->tree_bytes = bench_bytes_live() - before;
    bench_check(eager->create(&tree, p->y, &state), "pursuit");
    clock[2] = bench_seconds();
    t->bytes = bench_bytes_live() - before;
    t->peak_bytes = bench_bytes_peak() - before;
    if (simd) ((csrec_eager *)state)->simd = simd;
    t->atoms[0] = pursue(state, 0, p->n / 20);
    clock[3] = bench_seconds();
    t->atoms[1] = pursue(state, t->atoms[0], p->n / 4);
    clock[4] = bench_seconds();
    t->tree_ns = (clock[1] - clock[0]) * 1e9 / (double)p->n;
    t->start_ns = (clock[2] - clock[1]) * 1e9 / (double)p->n;
    for (int k = 0; k < 2; k++)
        t->atom_ns[k] = (clock[3 + k] - clock[2]) * 1e9 / (double)t->atoms[k];
    t->hash = hash_result(state, p->y);
    eager->destroy(state);
    csrec_tree_clear(&tree);
}

bench_times bench_time_pursuit(const bench_problem *problem, csrec_columns columns,
                               const csrec_eager_simd *simd, double least) {
    bench_times best, now;
    double start = bench_seconds();
    run_once(problem, columns, simd, &best);
    while (bench_seconds() - start < least) {
        run_once(problem, columns, simd, &now);
        best.tree_ns = fmin(best.tree_ns, now.tree_ns);
        best.start_ns = fmin(best.start_ns, now.start_ns);
        for (int k = 0; k < 2; k++) best.atom_ns[k] = fmin(best.atom_ns[k], now.atom_ns[k]);
    }
    return best;
}

uint64_t bench_pursuit_hash(const bench_problem *problem, csrec_columns columns) {
    csrec_tree tree;
    void *state;
    bench_check(csrec_tree_create(problem->levels, problem->n, problem->rows, columns, &tree),
                "tree");
    bench_check(eager->create(&tree, problem->y, &state), "pursuit");
    pursue(state, 0, problem->n / 4);
    uint64_t hash = hash_result(state, problem->y);
    eager->destroy(state);
    csrec_tree_clear(&tree);
    return hash;
}

/* The leanest transform we know: sums from the leaves to the root, the largest score on the way,
 * nothing listed. Where each node's samples begin is found beforehand. */
typedef struct lean {
    csrec_tree tree;
    int32_t *first; /* [nodes] */
    double *sums;   /* [nodes] */
} lean;

static lean lean_create(const bench_problem *p, csrec_columns columns) {
    lean l;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &l.tree), "tree");
    l.first = bench_allocate(p->n, sizeof *l.first);
    l.sums = bench_allocate(p->n, sizeof *l.sums);
    csrec_tree_walk walk = csrec_tree_walk_start(&l.tree);
    for (csrec_tree_block block; csrec_tree_walk_next(&walk, &block);)
        if (block.node >= 0) l.first[block.node] = block.first;
    return l;
}

static double lean_iteration(const lean *l, const double *r) {
    const csrec_tree *tree = &l->tree;
    double best = 0.0;
    for (int32_t i = tree->n - 2; i >= 0; i--) {
        int32_t left = tree->left[i], right = tree->size[i] - left, first = l->first[i];
        double a = left == 1 ? r[first] : l->sums[i + 1];
        double b = right == 1 ? r[first + left] : l->sums[i + left];
        l->sums[i] = a + b;
        best = fmax(best, fabs(a - b) * tree->scale[i]);
        int edges = tree->one_sided ? tree->edges[i] : 0;
        if (edges & CSREC_TREE_LEVEL) best = fmax(best, fabs(a + b) * tree->scale[i]);
        if (edges & CSREC_TREE_LEFT_LEAF) best = fmax(best, fabs(a));
        if (edges & CSREC_TREE_RIGHT_LEAF) best = fmax(best, fabs(b));
    }
    return best;
}

double bench_time_tree_iteration(const bench_problem *p, csrec_columns columns) {
    lean l = lean_create(p, columns);
    /* The largest is used, so that no compiler can leave out the work. */
    double best = INFINITY, begin = bench_seconds(), largest = 0.0;
    for (int k = 0; k < 3 || (k < 1000 && bench_seconds() - begin < 0.03); k++) {
        double start = bench_seconds();
        largest = fmax(largest, lean_iteration(&l, p->y));
        best = fmin(best, bench_seconds() - start);
    }
    if (!(largest >= 0.0)) bench_fail("transform", "not a number");
    free(l.first);
    free(l.sums);
    csrec_tree_clear(&l.tree);
    return best;
}

double bench_time_iteration(const bench_problem *p, csrec_columns columns,
                            const csrec_pursuit_type *type) {
    csrec_tree tree;
    void *state;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, columns, &tree), "tree");
    bench_check(type->create(&tree, p->y, &state), "pursuit");
    double best = INFINITY, begin = bench_seconds();
    for (int k = 0; k < 2 || (k < 1000 && bench_seconds() - begin < 0.05); k++) {
        double start = bench_seconds();
        if (type->select(state) < 0.0 || !type->update(state)) bench_fail("pursuit", "failed");
        best = fmin(best, bench_seconds() - start);
    }
    type->destroy(state);
    csrec_tree_clear(&tree);
    return best;
}
