/* SPDX-License-Identifier: BSD-3-Clause */
/* conv.h - the products of a convolution as sums over taps, on one to three axes.
 *
 * A convolution has weights w[co][ci][k] and takes x[n][ci][i] to
 *     y[n][co][o] = sum_ci sum_k w[co][ci][k] x[n][ci][o stride - padding + k dilation].
 * Its transpose takes y to x[n][ci][i] = sum_co sum_k w[co][ci][k] y[n][co][o], over the k with i +
 * padding - k dilation = o stride: of entries with equal remainder r by the stride (a phase) the
 * same k count, evenly spaced, and o moves by one from entry to entry. So both are, phase by phase,
 * sums of the same kind (csrec_conv_sum), computed by one of two methods:
 *   gather   the inputs of a tile of positions are laid out as a matrix [channels taps][positions]
 *            (im2col), and multiplied by the packed weights [rows][channels taps];
 *   scatter  for few rows: each line of inputs is multiplied by all taps' weights
 *            [rows taps][channels], and the products are added where they belong (col2im). No tile
 *            of weights is wasted on rows that are not there, and inputs are laid out once
 *            instead of once a tap.
 * Axis order everywhere: channel, then kernel entries in C order, the last fastest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/call.h"

/* ---- the inner products of convolutions, one table an instruction set.
 *
 * Sums run over k in ascending order for each entry on its own, so results depend neither on the
 * division into tiles nor on the number of threads. */

/* Columns of a tile: a multiple of every table's width. The row distance of tiles spreads rows over
 * the sets of a cache. */
enum { CSREC_CONV_TILE = 240, CSREC_CONV_LD_F32 = 240 };

/* The gradient's tile: rows of so many positions, so many rows. */
enum { CSREC_CONV_LINE = 480, CSREC_CONV_LINES = 48, CSREC_CONV_DOT = 4 };

typedef struct csrec_conv_simd {
    int height;    /* rows of a packed panel */
    int width_f32; /* columns of an inner tile */
    int dot;       /* rows of b that `dot` takes at once; divides CSREC_CONV_LINES */
    /* c[i][j] = (add ? c[i][j] : 0) + sum_k a[k][i] b[k][j], i < height, j < width; rows of a are
     * height long, those of b and c ld apart. */
    void (*tile_f32)(int64_t k, const float *a, const float *b, float *c, int64_t ld, bool add);
    /* c[i][j] += sum_p a[i][p] b[j][p], i < CSREC_CONV_DOT, j < dot; rows are CSREC_CONV_LINE
     * long, those of c ld apart. */
    void (*dot_f32)(const float *a, const float *b, float *c, int64_t ld);
} csrec_conv_simd;

extern const csrec_conv_simd csrec_conv_generic, csrec_conv_avx2, csrec_conv_avx512;

/* The widest that this processor has. */
const csrec_conv_simd *csrec_conv_simd_choose(void);

/* The geometry of a convolution; leading axes that a signal lacks have extent 1. */
typedef struct csrec_conv {
    int64_t batch, channels_in, channels_out;
    int64_t size[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t out[3];
} csrec_conv;

/* Position o of 0 .. count - 1 along an axis: it has index first + apart o in the results, and tap
 * t = 0 .. taps - 1 of it, entry kernel + kernel_step t of the kernel, takes the input at step o +
 * base + advance t, 0 outside of the input. */
typedef struct csrec_conv_axis {
    int64_t in, out; /* extents of input and result */
    int64_t count, first, apart;
    int64_t taps, kernel, kernel_step, step, base, advance;
} csrec_conv_axis;

/* One phase. Weight of row m, channel c, kernel entry k: w[m row_step + c channel_step + k]. */
typedef struct csrec_conv_sum {
    int64_t batch, rows, channels, row_step, channel_step;
    int64_t kernel[3];
    csrec_conv_axis axis[3];
} csrec_conv_sum;

/* Work and threads of one product. */
typedef struct csrec_conv_work {
    const csrec_conv_simd *simd;
    int threads;      /* threads for which there is memory */
    char *memory;     /* threads times csrec_conv_room bytes, aligned to 64 */
    csrec_call *call; /* or NULL; if stopped, the product is incomplete */
} csrec_conv_work;

/* Extents of the results; false: the kernel does not fit the padded input on axis *axis. */
bool csrec_conv_outputs(csrec_conv *conv, int *axis);

/* Phases of a product: forward has one, the transpose one for each remainder. */
int64_t csrec_conv_phases(const csrec_conv *conv, bool transposed);
void csrec_conv_phase(const csrec_conv *conv, bool transposed, int64_t phase, csrec_conv_sum *sum);

/* Whether the product is done by scattering. */
bool csrec_conv_scatters(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd);

/* Entries of the packed weights, and bytes a thread needs. */
int64_t csrec_conv_packed(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd);
size_t csrec_conv_room(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd);

/* Run along the last axis of a tile: `length` positions from (n, o), at column `at`. */
typedef struct csrec_conv_run {
    int64_t n, o[3], length, at;
} csrec_conv_run;

/* Positions first .. end - 1 of all batch entries, in C order, split into runs; at most end -
 * first. */
int64_t csrec_conv_runs(const csrec_conv_sum *sum, int64_t first, int64_t end, csrec_conv_run *run);

/* Lays out the inputs of channel-and-taps k0 .. k1 - 1 of the runs: to[k - k0][ld]. */
void csrec_conv_fill_f32(const csrec_conv_sum *sum, int64_t runs, const csrec_conv_run *run,
                         const float *in, int64_t k0, int64_t k1, float *to, int64_t ld);

/* packed [csrec_conv_packed] from w [channels_out][channels_in][kernel]. */
void csrec_conv_pack_f32(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd,
                         const float *w, float *packed);

/* The product. bias: [rows] or NULL, forward only. */
void csrec_conv_apply_f32(const csrec_conv *conv, bool transposed, const csrec_conv_work *work,
                          const float *packed, const float *in, const float *bias, float *out);

/* dw[co][ci][k] = sum_n sum_o dy[n][co][o] x[n][ci][o stride - padding + k dilation]. Bytes of
 * memory: csrec_conv_gradient_shared + threads csrec_conv_gradient_room. */
size_t csrec_conv_gradient_shared(const csrec_conv *conv);
size_t csrec_conv_gradient_room(const csrec_conv *conv);
void csrec_conv_gradient(const csrec_conv *conv, const csrec_conv_work *work, const float *x,
                         const float *dy, float *dw);

/* ---- sizes that the products share. */

/* Rows of inputs laid out at once: with a tile's columns they stay in the second-level cache. */
enum { CSREC_CONV_DEPTH = 128 };

int64_t csrec_conv_taps(const csrec_conv_sum *sum);
int64_t csrec_conv_positions(const csrec_conv_sum *sum);

/* Panels of packed weights that hold so many rows. */
int64_t csrec_conv_panels(int64_t rows, const csrec_conv_simd *simd);
