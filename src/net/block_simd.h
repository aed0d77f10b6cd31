/* SPDX-License-Identifier: BSD-3-Clause */
/* block_simd.h - inner loops of a network's convolutions, a template over instruction sets
 * (cmake/simd.cmake). A lane is a channel, so nothing is summed across lanes. */
#include "net/block.h"

typedef float vec __attribute__((vector_size(SIMD_BYTES), aligned(4)));
typedef int32_t mask __attribute__((vector_size(SIMD_BYTES), aligned(4)));

/* A product of ROWS x VECS registers leaves room for a row of b and an entry of a. */
enum { LANES = SIMD_BYTES / 4, VECS = 2, WIDTH = VECS * LANES };
enum { ROWS = SIMD_BYTES == 64 ? 12 : 6, TAPS = 6, TILE = CSREC_BLOCK_TILE };

static inline vec load(const float *at) {
    return *(const vec *)at;
}
static inline void store(float *at, vec v) {
    *(vec *)at = v;
}

/* ---- products */

static inline __attribute__((always_inline)) void
multiply_rows(int rows, int vecs, int64_t depth, const float *a, int64_t a_row, int64_t a_step,
              const float *b, int64_t b_row, float *c, int64_t c_row, bool more) {
    vec sum[ROWS][VECS];
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) for (int v = 0; v < vecs; v++)
        sum[r][v] = more ? load(c + r * c_row + v * LANES) : (vec){0};
    /* A pointer for every three rows: with a_row and its double, these are addresses. */
    const float *row[(ROWS + 2) / 3];
    for (int i = 0; 3 * i < rows; i++) row[i] = a + 3 * i * a_row;
    for (; depth > 0; depth--, b += b_row) {
        vec line[VECS];
        for (int v = 0; v < vecs; v++) line[v] = load(b + v * LANES);
        _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) {
            vec entry = row[r / 3][r % 3 * a_row] - (vec){0};
            for (int v = 0; v < vecs; v++) sum[r][v] += entry * line[v];
        }
        _Pragma("GCC unroll 4") for (int i = 0; 3 * i < rows; i++) row[i] += a_step;
    }
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) for (int v = 0; v < vecs; v++)
        store(c + r * c_row + v * LANES, sum[r][v]);
}

static void multiply(int rows, int columns, int64_t depth, const float *a, int64_t a_row,
                     int64_t a_step, const float *b, int64_t b_row, float *c, int64_t c_row,
                     bool more) {
#define MULTIPLY_CASE(r)                                                                           \
    case r:                                                                                        \
        multiply_rows(r, VECS, depth, a, a_row, a_step, b, b_row, c, c_row, more);                 \
        break;
    if (columns == WIDTH) switch (rows) {
            MULTIPLY_CASE(1)
            MULTIPLY_CASE(2)
            MULTIPLY_CASE(3)
            MULTIPLY_CASE(4)
            MULTIPLY_CASE(5)
            MULTIPLY_CASE(6)
#if SIMD_BYTES == 64
            MULTIPLY_CASE(7)
            MULTIPLY_CASE(8)
            MULTIPLY_CASE(9)
            MULTIPLY_CASE(10)
            MULTIPLY_CASE(11)
            MULTIPLY_CASE(12)
#endif
        }
    else /* half the width, the last of channels */
        for (int r = 0; r < rows; r++)
            if (rows - r < ROWS)
                multiply_rows(1, 1, depth, a + r * a_row, a_row, a_step, b, b_row, c + r * c_row,
                              c_row, more);
            else {
                multiply_rows(ROWS, 1, depth, a + r * a_row, a_row, a_step, b, b_row, c + r * c_row,
                              c_row, more);
                r += ROWS - 1;
            }
#undef MULTIPLY_CASE
}

/* ---- Winograd's transforms of a line; step: vecs from entry to entry */

/* B^T, 6 to 6 */
static inline void spread_line(const vec *d, int from, vec *t, int to) {
    vec even = d[4 * from] - 4.0f * d[2 * from], odd = d[3 * from] - 4.0f * d[from];
    vec even2 = d[4 * from] - d[2 * from], odd2 = 2.0f * (d[3 * from] - d[from]);
    t[0] = 4.0f * d[0] - 5.0f * d[2 * from] + d[4 * from];
    t[to] = even + odd;
    t[2 * to] = even - odd;
    t[3 * to] = even2 + odd2;
    t[4 * to] = even2 - odd2;
    t[5 * to] = 4.0f * d[from] - 5.0f * d[3 * from] + d[5 * from];
}

/* A^T, 6 to 4 */
static inline void collect_line(const vec *m, int from, vec *y, int to) {
    vec sum = m[from] + m[2 * from], difference = m[from] - m[2 * from];
    vec sum2 = m[3 * from] + m[4 * from], difference2 = m[3 * from] - m[4 * from];
    y[0] = m[0] + sum + sum2;
    y[to] = difference + 2.0f * difference2;
    y[2 * to] = sum + 4.0f * sum2;
    y[3 * to] = difference + 8.0f * difference2 + m[5 * from];
}

/* A, 4 to 6 */
static inline void gradient_line(const vec *y, int from, vec *m, int to) {
    vec even = y[0] + y[2 * from], odd = y[from] + y[3 * from];
    vec even2 = y[0] + 4.0f * y[2 * from], odd2 = 2.0f * y[from] + 8.0f * y[3 * from];
    m[0] = y[0];
    m[to] = even + odd;
    m[2 * to] = even - odd;
    m[3 * to] = even2 + odd2;
    m[4 * to] = even2 - odd2;
    m[5 * to] = y[3 * from];
}

/* ---- tiles */

/* side x side entries of LANES channels, zero outside of the part. */
static inline __attribute__((always_inline)) void load_tile(const float *x, int64_t line,
                                                            int64_t channels, int side,
                                                            const csrec_block_part *part, vec *d) {
    bool whole =
        part->first[0] == 0 && part->first[1] == 0 && part->end[0] == side && part->end[1] == side;
    if (whole) {
        _Pragma("GCC unroll 6") for (int i = 0; i < side; i++)
            _Pragma("GCC unroll 6") for (int j = 0; j < side; j++) d[i * side + j] =
                load(x + i * line + j * channels);
        return;
    }
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            bool inside =
                i >= part->first[0] && i < part->end[0] && j >= part->first[1] && j < part->end[1];
            d[i * side + j] = inside ? load(x + i * line + j * channels) : (vec){0};
        }
}

static void spread(const float *x, int64_t line, int64_t channels, const csrec_block_part *part,
                   float *V, int64_t apart) {
    for (int64_t c = 0; c < channels; c += LANES) {
        vec d[TAPS * TAPS], t[TAPS * TAPS], row[TAPS];
        load_tile(x + c, line, channels, TAPS, part, d);
        _Pragma("GCC unroll 6") for (int j = 0; j < TAPS; j++)
            spread_line(d + j, TAPS, t + j, TAPS);
        _Pragma("GCC unroll 6") for (int i = 0; i < TAPS; i++) {
            spread_line(t + i * TAPS, 1, row, 1);
            for (int j = 0; j < TAPS; j++) store(V + (i * TAPS + j) * apart + c, row[j]);
        }
    }
}

static void spread_gradient(const float *dy, int64_t line, int64_t channels,
                            const csrec_block_part *part, float *V, int64_t apart) {
    for (int64_t c = 0; c < channels; c += LANES) {
        vec d[TILE * TILE], t[TAPS * TILE], row[TAPS];
        load_tile(dy + c, line, channels, TILE, part, d);
        _Pragma("GCC unroll 4") for (int j = 0; j < TILE; j++)
            gradient_line(d + j, TILE, t + j, TILE);
        _Pragma("GCC unroll 6") for (int i = 0; i < TAPS; i++) {
            gradient_line(t + i * TILE, 1, row, 1);
            for (int j = 0; j < TAPS; j++) store(V + (i * TAPS + j) * apart + c, row[j]);
        }
    }
}

static inline vec finished(vec sum, const csrec_block_finish *finish, int64_t channel, int64_t at) {
    if (finish->bias) sum += load(finish->bias + channel);
    if (finish->add) sum += load(finish->add + at);
    if (finish->relu) sum = (vec)((mask)(sum > 0.0f) & (mask)sum);
    if (finish->gate) sum = (vec)((mask)(load(finish->gate + at) > 0.0f) & (mask)sum);
    return sum;
}

static void collect(const float *M, int64_t apart, const csrec_block_part *part,
                    const csrec_block_finish *finish, int64_t first, int64_t count, int64_t at,
                    int64_t line, int64_t channels, float *y) {
    for (int64_t c = 0; c < count; c += LANES) {
        vec m[TAPS], t[TAPS * TILE], row[TILE];
        _Pragma("GCC unroll 6") for (int i = 0; i < TAPS; i++) {
            for (int j = 0; j < TAPS; j++) m[j] = load(M + (i * TAPS + j) * apart + c);
            collect_line(m, 1, t + i * TILE, 1);
        }
        vec out[TILE * TILE];
        _Pragma("GCC unroll 4") for (int j = 0; j < TILE; j++) {
            collect_line(t + j, TILE, row, 1);
            for (int i = 0; i < TILE; i++) out[i * TILE + j] = row[i];
        }
        for (int i = 0; i < part->end[0]; i++)
            for (int j = 0; j < part->end[1]; j++) {
                int64_t to = at + i * line + j * channels + first + c;
                store(y + to, finished(out[i * TILE + j], finish, first + c, to));
            }
    }
}

static void deliver(int pixels, int64_t count, const float *c, int64_t c_row,
                    const csrec_block_finish *finish, int64_t first, int64_t at, int64_t apart,
                    float *y) {
    for (int p = 0; p < pixels; p++)
        for (int64_t k = 0; k < count; k += LANES) {
            int64_t to = at + p * apart + first + k;
            store(y + to, finished(load(c + p * c_row + k), finish, first + k, to));
        }
}

/* ---- weights */

/* v / 6, rounded as by a division, down to 1e-36 (all floats were tried), in a third of its time;
 * with fused products, which only the larger sets have. */
static inline vec sixth(vec v) {
#if SIMD_BYTES > 16
    const vec q = v * (1.0f / 6.0f);
    return q + (v - q * 6.0f) * (1.0f / 6.0f);
#else
    return v / 6.0f;
#endif
}

/* G, 3 to 6. Quarters and halves are exact. */
static inline void weights_line(const vec *g, int from, vec *u, int to) {
    vec sum = sixth(g[0] + g[2 * from]), middle = sixth(g[from]);
    vec sum2 = sixth(g[0]) * 0.25f + sixth(g[2 * from]), middle2 = middle * 0.5f;
    u[0] = g[0] * 0.25f;
    u[to] = -sum - middle;
    u[2 * to] = middle - sum;
    u[3 * to] = sum2 + middle2;
    u[4 * to] = sum2 - middle2;
    u[5 * to] = g[2 * from];
}

/* The kernels of some channels, a lane for each channel k, are copied before the first is loaded:
 * a register that is loaded at once would wait for its single stores. */
static void pack(const csrec_block_kernels *p, int64_t first, int columns, float *U,
                 int64_t apart) {
    enum { SOME = 8 };
    const int64_t from = p->turned ? p->out : p->in, to = p->turned ? p->in : p->out;
    const int64_t c_step = 9 * (p->turned ? p->in : 1), k_step = 9 * (p->turned ? 1 : p->in);
    for (int64_t begin = 0; begin < csrec_block_padded(from); begin += SOME)
        for (int64_t k = first; k < first + columns; k += LANES) {
            float lanes[SOME][9][LANES] = {{{0}}};
            for (int l = 0; l < LANES && k + l < to; l++)
                for (int64_t c = begin; c < begin + SOME && c < from; c++)
                    for (int i = 0; i < 9; i++)
                        lanes[c - begin][p->turned ? 8 - i : i][l] =
                            p->W[c * c_step + (k + l) * k_step + i];
            for (int64_t c = begin; c < begin + SOME; c++) {
                vec g[9], t[18], u[TAPS];
                for (int i = 0; i < 9; i++) g[i] = load(lanes[c - begin][i]);
                _Pragma("GCC unroll 3") for (int j = 0; j < 3; j++)
                    weights_line(g + j, 3, t + j, 3);
                _Pragma("GCC unroll 6") for (int i = 0; i < TAPS; i++) {
                    weights_line(t + 3 * i, 1, u, 1);
                    for (int j = 0; j < TAPS; j++)
                        store(U + (i * TAPS + j) * apart + c * columns + k - first, u[j]);
                }
            }
        }
}

const csrec_block_simd SIMD_TABLE = {.rows = ROWS,
                                     .width = WIDTH,
                                     .multiply = multiply,
                                     .spread = spread,
                                     .spread_gradient = spread_gradient,
                                     .collect = collect,
                                     .pack = pack,
                                     .deliver = deliver};
