/* SPDX-License-Identifier: BSD-3-Clause */
/* operators.h - random operators of every row of the table, with their matrices written out from
 * the definitions (csrec.h, dct.h, wavelet.h), sharing nothing with the library. */
#pragma once

#include "linear.h"
#include "measuring.h"

static inline void draw_mask(uint64_t *seed, drawn *d) {
    draw_signal(seed, (const int64_t[]){60, 9, 5}, d);
    d->n = d->entries;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t k = 0; k < d->m; k++) d->matrix[k * d->n + d->index[k]] = 1.0;
}

/* Where block k along an axis starts, and how many there are. */
static inline int64_t block_first(int64_t extent, int edge, int step, int64_t k) {
    return k * step < extent - edge ? k * step : extent - edge;
}

static inline int64_t block_count(int64_t extent, int edge, int step) {
    int64_t count = 1;
    while (block_first(extent, edge, step, count - 1) < extent - edge) count++;
    return count;
}

/* The value at coordinate c of basis function f of block k, over the number of blocks there. */
static inline double block_value(int64_t extent, int block, int step, int64_t k, int f, int64_t c) {
    int edge = extent < block ? (int)extent : block;
    int64_t i = c - block_first(extent, edge, step, k), covering = 0;
    if (i < 0 || i >= edge) return 0.0;
    for (int64_t b = 0; b < block_count(extent, edge, step); b++) {
        int64_t j = c - block_first(extent, edge, step, b);
        covering += j >= 0 && j < edge;
    }
    double length = f ? sqrt(2.0 / edge) : sqrt(1.0 / edge);
    return length * cos(acos(-1.0) * ((double)i + 0.5) * f / edge) / (double)covering;
}

static inline void draw_dct(uint64_t *seed, drawn *d) {
    draw_signal(seed, (const int64_t[]){50, 11, 6}, d);
    int block = (int)(4 + check_below(seed, check_below(seed, 2) ? 4 : 29));
    int step = (int)(1 + check_below(seed, block));
    if (d->shape.dims > 1 && step < 3) step = 3; /* keeps the matrix small */
    d->spec.block = block;
    d->spec.step = step;
    csrec_shape counts = d->shape, edges = d->shape;
    int64_t blocks = 1, size = 1;
    for (int a = 0; a < d->shape.dims; a++) {
        edges.dim[a] = d->shape.dim[a] < block ? d->shape.dim[a] : block;
        counts.dim[a] = block_count(d->shape.dim[a], (int)edges.dim[a], step);
        blocks *= counts.dim[a];
        size *= edges.dim[a];
    }
    d->n = blocks * size;
    d->matrix = malloc((size_t)(d->m * d->n) * sizeof *d->matrix);
    for (int64_t k = 0; k < d->m; k++)
        for (int64_t j = 0; j < d->n; j++) {
            int64_t c[8], b[8], f[8];
            coordinates(&d->shape, d->index[k], c);
            coordinates(&counts, j / size, b);
            coordinates(&edges, j % size, f);
            double value = 1.0;
            for (int a = 0; a < d->shape.dims; a++)
                value *= block_value(d->shape.dim[a], block, step, b[a], (int)f[a], c[a]);
            d->matrix[k * d->n + j] = value;
        }
}

/* ---- wavelets by their filters: published taps, whole-sample symmetric extension (Haar: half) */

typedef struct filters {
    const char *kind;
    int low, high; /* taps each side of the middle */
    double h[5], g[5];
} filters;

/* h: gain 1 on a constant line; g: gain 2 on an alternating one. */
static const filters wavelet_filters[] = {
    {"haar", 0, 0, {0}, {0}},
    {"cdf53", 2, 1, {0.75, 0.25, -0.125}, {1.0, -0.5}},
    {"cdf97",
     4,
     3,
     {0.6029490182363579, 0.2668641184428723, -0.07822326652898785, -0.01686411844287495,
      0.02674875741080976},
     {1.115087052456994, -0.5912717631142470, -0.05754352622849957, 0.09127176311424948}}};

static inline int64_t mirror(int64_t i, int64_t n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

/* Row i of one level on n > 1 entries: s first, then d. */
static inline void filter_row(const filters *f, int64_t n, int64_t i, double *row) {
    int64_t ns = (n + 1) / 2;
    bool low = i < ns;
    int64_t middle = low ? 2 * i : 2 * (i - ns) + 1;
    memset(row, 0, (size_t)n * sizeof *row);
    if (f->low == 0) { /* Haar: (v_2i + v_2i+1) / sqrt 2, (v_2i+1 - v_2i) / sqrt 2 */
        int64_t a = low ? middle : middle - 1, b = a + 1 < n ? a + 1 : a;
        row[a] += low ? sqrt(0.5) : -sqrt(0.5);
        row[b] += sqrt(0.5);
        return;
    }
    int reach = low ? f->low : f->high;
    for (int t = -reach; t <= reach; t++)
        row[mirror(middle + t, n)] += low ? sqrt(2.0) * f->h[abs(t)] : sqrt(0.5) * f->g[abs(t)];
}

/* v [shape] := one level along an axis on the region. */
static inline void filter_axis(const filters *f, const csrec_shape *shape, const int64_t *region,
                               int axis, double *v) {
    const int64_t n = region[axis], entries = entries_in(shape);
    if (n < 2) return;
    OWNED double *out = malloc((size_t)entries * sizeof *out), *row = malloc((size_t)n * 8);
    memcpy(out, v, (size_t)entries * sizeof *out);
    for (int64_t at = 0; at < entries; at++) {
        int64_t c[8], stride = 1;
        bool inside = true;
        coordinates(shape, at, c);
        for (int a = 0; a < shape->dims; a++) inside = inside && c[a] < region[a];
        if (!inside) continue;
        for (int a = axis + 1; a < shape->dims; a++) stride *= shape->dim[a];
        filter_row(f, n, c[axis], row);
        out[at] = 0.0;
        for (int64_t k = 0; k < n; k++) out[at] += row[k] * v[at + (k - c[axis]) * stride];
    }
    memcpy(v, out, (size_t)entries * sizeof *out);
}

static inline void draw_wavelet(uint64_t *seed, drawn *d) {
    draw_signal(seed, (const int64_t[]){40, 9, 5}, d);
    const filters *f = &wavelet_filters[check_below(seed, 3)];
    int most = 0;
    for (int a = 0; a < d->shape.dims; a++)
        for (int l = 0; (d->shape.dim[a] - 1) >> l; l++) most = l + 1 > most ? l + 1 : most;
    int levels = most ? (int)check_below(seed, most + 1) : 0;
    d->spec.kind = f->kind;
    d->spec.levels = levels;
    if (levels == 0) levels = most;
    d->n = d->entries;
    d->analysis = calloc((size_t)(d->n * d->n), sizeof *d->analysis);
    OWNED double *v = malloc((size_t)d->n * sizeof *v);
    for (int64_t j = 0; j < d->n; j++) {
        int64_t region[8];
        memset(v, 0, (size_t)d->n * sizeof *v);
        v[j] = 1.0;
        memcpy(region, d->shape.dim, sizeof region);
        for (int l = 0; l < levels; l++) {
            for (int a = 0; a < d->shape.dims; a++) filter_axis(f, &d->shape, region, a, v);
            for (int a = 0; a < d->shape.dims; a++) region[a] = (region[a] + 1) / 2;
        }
        for (int64_t i = 0; i < d->n; i++) d->analysis[i * d->n + j] = v[i];
    }
}

/* ---- stored and procedural matrices */

struct drawn_matrix {
    int64_t m, n;
    const double *matrix; /* [m][n] */
};

static inline csrec_status times_drawn(const double *x, double *y, void *context) {
    const struct drawn_matrix *g = context;
    apply_matrix(g->m, g->n, g->matrix, x, y);
    return CSREC_OK;
}

static inline csrec_status transposed_times_drawn(const double *y, double *x, void *context) {
    const struct drawn_matrix *g = context;
    apply_turned(g->m, g->n, g->matrix, y, x);
    return CSREC_OK;
}

static inline void draw_stored(uint64_t *seed, drawn *d) {
    draw_dense_matrix(seed, d);
    if (check_below(seed, 2)) make_complex(seed, d);
}

static inline void draw_callback(uint64_t *seed, drawn *d) {
    draw_stored(seed, d);
    d->given = malloc(sizeof *d->given);
    *d->given = (struct drawn_matrix){d->m, d->n, d->matrix};
    d->spec.matrix = NULL;
    d->spec.forward = times_drawn;
    d->spec.adjoint = transposed_times_drawn;
    d->spec.context = d->given;
}

/* The distinct columns of the sampled Haar matrix: of equal ones the coarsest counts. */
static inline void draw_haar(uint64_t *seed, drawn *d) {
    int levels = (int)check_below(seed, 6);
    int64_t M = INT64_C(1) << levels;
    d->rows = malloc((size_t)M * sizeof *d->rows);
    for (int64_t row = 0; row < M; row++)
        if (check_below(seed, 2)) d->rows[d->m++] = (uint64_t)row;
    if (d->m == 0) d->rows[d->m++] = (uint64_t)check_below(seed, M);
    d->spec.m = d->m;
    d->spec.levels = levels;
    d->spec.rows = d->rows;
    d->spec.columns = check_below(seed, 2) ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED;
    d->matrix = calloc((size_t)(d->m * M), sizeof *d->matrix);
    OWNED double *columns = calloc((size_t)(d->m * M), sizeof *columns);
    for (int64_t c = 0; c < M; c++) {
        double *psi = columns + d->n * d->m;
        int64_t count, plus = 0;
        dense_column(levels, d->m, d->rows, (uint64_t)c, psi, &count);
        for (int64_t k = 0; k < d->m; k++) plus += psi[k] > 0.0;
        bool taken = count > 0 && (c == 0 || d->spec.columns == CSREC_COLUMNS_PAPER ||
                                   (plus > 0 && plus < count));
        for (int64_t j = 0; j < d->n && taken; j++) {
            double dot = 0.0;
            for (int64_t k = 0; k < d->m; k++) dot += psi[k] * columns[j * d->m + k];
            taken = fabs(dot) < 1.0 - 1e-9; /* unit columns: 1 only if equal up to sign */
        }
        d->n += taken;
    }
    for (int64_t k = 0; k < d->m; k++)
        for (int64_t j = 0; j < d->n; j++) d->matrix[k * d->n + j] = columns[j * d->m + k];
}

/* A dense matrix after a dense matrix. */
static inline void draw_chain(uint64_t *seed, drawn *d) {
    ENDS_BY(drop_drawn) drawn first = {0}, second = {0};
    draw_dense_matrix(seed, &first);
    first.spec.name = second.spec.name = "dense";
    do {
        drop_drawn(&second);
        second = (drawn){.spec.name = "dense"};
        draw_dense_matrix(seed, &second);
    } while (second.n != first.m);
    first.spec.backend = second.spec.backend = d->spec.backend;
    d->spec.first = d->part[0] = operator_of(&first.spec);
    d->spec.second = d->part[1] = operator_of(&second.spec);
    d->m = second.m;
    d->n = first.n;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = 0; j < d->n; j++)
            for (int64_t k = 0; k < first.m; k++)
                d->matrix[i * d->n + j] +=
                    second.matrix[i * second.n + k] * first.matrix[k * first.n + j];
}

/* A dense matrix with most entries left out, and some columns without any. */
static inline void draw_sparse_matrix(uint64_t *seed, drawn *d) {
    draw_dense_matrix(seed, d);
    d->index = malloc((size_t)(d->m * d->n) * sizeof *d->index);
    d->offset = calloc((size_t)d->n + 1, sizeof *d->offset);
    d->filters = malloc((size_t)(d->m * d->n) * sizeof *d->filters);
    int64_t at = 0;
    for (int64_t j = 0; j < d->n; j++) {
        const int64_t kept = check_below(seed, 5);
        for (int64_t i = 0; i < d->m; i++) {
            if (check_below(seed, 8) >= kept) d->matrix[i * d->n + j] = 0.0;
            if (d->matrix[i * d->n + j] == 0.0) continue;
            d->index[at] = i;
            d->filters[at++] = d->matrix[i * d->n + j];
        }
        d->offset[j + 1] = at;
    }
    d->spec.matrix = d->filters;
    d->spec.index = d->index;
    d->spec.offset = d->offset;
}

static inline drawn draw_operator(uint64_t *seed, const char *name, const char *backend);

/* A real operator of any other row on real and imaginary parts. */
static inline void draw_pairs(uint64_t *seed, drawn *d) {
    static const char *const real[] = {"dense",    "haar",   "dct",  "mask",      "chain",
                                       "hadamard", "matrix", "blur", "downsample"};
    drawn first = draw_operator(seed, real[check_below(seed, 9)], d->spec.backend);
    first.spec.shape = &first.shape;
    const bool fits = !first.spec.complex_signal && first.m * first.n <= 1 << 16;
    const csrec_status status =
        fits ? csrec_operator_create(&first.spec, &d->part[0], NULL) : CSREC_UNSUPPORTED;
    if (status == CSREC_UNSUPPORTED) { /* or not on that backend */
        drop_drawn(&first);
        draw_pairs(seed, d);
        return;
    }
    assert_ok(status);
    d->part[1] = first.part[0];
    d->part[2] = first.part[1];
    first.part[0] = first.part[1] = NULL;
    d->spec.first = d->part[0];
    d->m = 2 * first.m;
    d->n = 2 * first.n;
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = i % 2; j < d->n; j += 2)
            d->matrix[i * d->n + j] = first.matrix[i / 2 * first.n + j / 2];
    drop_drawn(&first);
}

/* Row k: 1 up to column k. */
static inline void draw_staircase(uint64_t *seed, drawn *d) {
    d->m = d->n = d->spec.m = 1 + check_below(seed, 60);
    d->matrix = calloc((size_t)(d->m * d->n), sizeof *d->matrix);
    for (int64_t k = 0; k < d->m; k++)
        for (int64_t i = 0; i <= k; i++) d->matrix[k * d->n + i] = 1.0;
}

/* A random operator named `name`, of a backend; fails for a name that has no maker here. */
static inline drawn draw_operator(uint64_t *seed, const char *name, const char *backend) {
    static const struct {
        const char *name;
        void (*draw)(uint64_t *seed, drawn *d);
    } makers[] = {{"haar", draw_haar},
                  {"dense", draw_stored},
                  {"dct", draw_dct},
                  {"wavelet", draw_wavelet},
                  {"mask", draw_mask},
                  {"identity", draw_mask},
                  {"chain", draw_chain},
                  {"callback", draw_callback},
                  {"hadamard", draw_hadamard},
                  {"fourier", draw_fourier},
                  {"nufft", draw_nufft},
                  {"matrix", draw_blocks},
                  {"blur", draw_blur},
                  {"downsample", draw_downsample},
                  {"pairs", draw_pairs},
                  {"sparse", draw_sparse_matrix},
                  {"staircase", draw_staircase}};
    drawn d = {.spec.backend = backend};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].name, name) != 0) continue;
        makers[i].draw(seed, &d);
        d.spec.name = makers[i].name;
        snprintf(d.text, sizeof d.text, "%s m %d n %d block %d step %d kind %s levels %d", name,
                 (int)d.m, (int)d.n, d.spec.block, d.spec.step, d.spec.kind ? d.spec.kind : "-",
                 d.spec.levels);
        return d;
    }
    print_message("operator '%s' of the table has no maker in tests/operators.h\n", name);
    fail();
    return d;
}

/* A specification that must be refused, in words that say this. */
static inline void expect_refusal(const csrec_operator_spec *spec, csrec_status status,
                                  const char *words) {
    csrec_operator *A = NULL;
    csrec_error error;
    assert_int_equal(csrec_operator_create(spec, &A, &error), status);
    assert_null(A);
    if (!strstr(error.text, words)) fail_msg("'%s' does not say '%s'", error.text, words);
}
