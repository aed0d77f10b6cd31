/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h - the convolutions of a network's layers on the CPU.
 *
 * Arrays are [batch][height][width][channels], float, channels padded with zeros to whole blocks of
 * CSREC_BLOCK. Three kinds of product, each with its adjoint and the gradient of its weights:
 *   conv3   3 x 3, padding 1: y[k][p] = sum_c sum_t W[k][c][t] x[c][p + t - 1]
 *   down    2 x 2, stride 2:  y[s][p] = sum_l sum_t W[s][l][t] x[l][2 p + t]
 *   up      the adjoint:      y[l][2 p + t] = sum_s W[s][l][t] x[s][p]
 *
 * conv3 is Winograd's F(4 x 4, 3 x 3) (Lavin and Gray 2016, equations 13 and 14):
 *     Y = A^T [sum_c (G g_c G^T) . (B^T d_c B)] A,   d: 6 x 6 inputs, g: 3 x 3 weights, Y: 4 x 4,
 * so 36 multiplications serve 144. Its adjoint is the same product with turned weights, and the
 * gradient is dg = G^T [sum over tiles (B^T d B) . (A dY A^T)] G. Rounding errors are about 10
 * times those of the direct sum (about 2e-6 of the sum of magnitudes; tests/test_block.c).
 *
 * A tile has the same bits wherever it lies and whatever lies beside it: results depend neither on
 * the number of threads nor, if positions are multiples of 4, on how a picture is cut. */
#pragma once

#include "base/call.h"

enum { CSREC_BLOCK = 16, CSREC_BLOCK_TAPS = 36, CSREC_BLOCK_TILE = 4 };

/* What is done to each sum before it is stored; arrays that are NULL are not used. add and gate
 * have the result's shape, and add may be the result itself: y = gated(max(sum + bias + add, 0 if
 * relu)), gated(v) = gate > 0 ? v : 0. */
typedef struct csrec_block_finish {
    const float *bias; /* [channels], padded */
    const float *add, *gate;
    bool relu;
} csrec_block_finish;

/* Part of a tile: rows and columns first .. end - 1 of it are inside the picture. */
typedef struct csrec_block_part {
    int first[2], end[2];
} csrec_block_part;

/* Weights of conv3. */
typedef struct csrec_block_kernels {
    const float *W;      /* [out][in][3][3], unpadded */
    int64_t in, out;     /* of W */
    bool turned;         /* of the adjoint, which takes `out` channels to `in` */
    const float *packed; /* by csrec_block_pack3; NULL: packed where they are used */
} csrec_block_kernels;

typedef struct csrec_block_simd {
    int rows, width; /* the largest product: rows, and columns */
    /* c[r][j] = (more ? c[r][j] : 0) + sum_d a[r a_row + d a_step] b[d b_row + j], j < columns;
     * rows of c are c_row apart. columns: width, or CSREC_BLOCK if that is less. */
    void (*multiply)(int rows, int columns, int64_t depth, const float *a, int64_t a_row,
                     int64_t a_step, const float *b, int64_t b_row, float *c, int64_t c_row,
                     bool more);
    /* V[tap][c] = B^T d B of a tile of `channels`; x: its first input, which may be outside. line,
     * apart: floats to the next row of x, and to the next tap of V. */
    void (*spread)(const float *x, int64_t line, int64_t channels, const csrec_block_part *part,
                   float *V, int64_t apart);
    /* V[tap][c] = A dY A^T */
    void (*spread_gradient)(const float *dy, int64_t line, int64_t channels,
                            const csrec_block_part *part, float *V, int64_t apart);
    /* y = A^T M A, finished, of `count` channels from `first` on, those of M; at: place of the
     * tile's first result, of `channels`. */
    void (*collect)(const float *M, int64_t apart, const csrec_block_part *part,
                    const csrec_block_finish *finish, int64_t first, int64_t count, int64_t at,
                    int64_t line, int64_t channels, float *y);
    /* U[tap][c][j] = G g G^T of the kernels to channel first + j, j < columns, from channel c of
     * all, padded; apart: floats to the next tap. */
    void (*pack)(const csrec_block_kernels *kernels, int64_t first, int columns, float *U,
                 int64_t apart);
    /* Finishes `pixels` sums of `count` channels, rows of c c_row apart; results `apart` floats
     * from pixel to pixel. first: the first channel. */
    void (*deliver)(int pixels, int64_t count, const float *c, int64_t c_row,
                    const csrec_block_finish *finish, int64_t first, int64_t at, int64_t apart,
                    float *y);
} csrec_block_simd;

extern const csrec_block_simd csrec_block_generic;
#if defined(__x86_64__)
extern const csrec_block_simd csrec_block_avx2, csrec_block_avx512;
#endif

/* The widest that this processor has. */
const csrec_block_simd *csrec_block_simd_choose(void);

/* Channels with padding. */
static inline int64_t csrec_block_padded(int64_t channels) {
    return (channels + CSREC_BLOCK - 1) / CSREC_BLOCK * CSREC_BLOCK;
}

typedef struct csrec_block_work {
    const csrec_block_simd *simd;
    int threads;
    float *memory;    /* csrec_block_room bytes, aligned to 64 */
    csrec_call *call; /* or NULL; if stopped, results are incomplete */
} csrec_block_work;

/* Shapes of a product; in and out are padded. height and width: the pixels of conv3's picture, and
 * of the smaller picture of down and up. */
typedef struct csrec_block_shape {
    int64_t batch, height, width, in, out;
} csrec_block_shape;

/* Bytes of work->memory for a product, of packed weights or others, and for its gradient. */
size_t csrec_block_room(const csrec_block_simd *simd, const csrec_block_shape *shape, int threads,
                        bool packed, bool gradient);

/* Floats of packed weights, and packing. Weights of many channels are not worth it: packed they are
 * four times as large, and are read from memory, where packing them anew takes no longer. */
int64_t csrec_block_packed3(int64_t in, int64_t out);
bool csrec_block_packs3(int64_t in, int64_t out);
void csrec_block_pack3(const csrec_block_simd *simd, int threads,
                       const csrec_block_kernels *kernels, float *packed);
/* W: [small][large][2][2]; down takes `large` channels to `small`, up takes them back. */
int64_t csrec_block_packed2(int64_t small, int64_t large);
void csrec_block_pack2(const csrec_block_simd *simd, int threads, int64_t small, int64_t large,
                       const float *W, bool up, float *packed);

/* y = finished product of x. */
void csrec_block_conv3(const csrec_block_work *work, const csrec_block_shape *shape,
                       const csrec_block_kernels *kernels, const float *x,
                       const csrec_block_finish *finish, float *y);
void csrec_block_down(const csrec_block_work *work, const csrec_block_shape *shape,
                      const float *packed, const float *x, const csrec_block_finish *finish,
                      float *y);
void csrec_block_up(const csrec_block_work *work, const csrec_block_shape *shape,
                    const float *packed, const float *x, const csrec_block_finish *finish,
                    float *y);

/* Gradients as W; in, out: unpadded extents of W. db [out] of the sums' bias. */
void csrec_block_gradient3(const csrec_block_work *work, const csrec_block_shape *shape, int64_t in,
                           int64_t out, const float *x, const float *dy, float *dW);
/* small, large: the arrays of the smaller and the larger picture; shape->in: large, out: small. */
void csrec_block_gradient2(const csrec_block_work *work, const csrec_block_shape *shape,
                           int64_t channels_small, int64_t channels_large, const float *small,
                           const float *large, float *dW);
void csrec_block_bias(const csrec_block_work *work, int64_t pixels, int64_t padded, int64_t out,
                      const float *dy, float *db);
