/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c - which inputs, taps and results belong together: phases, runs, sizes. */
#include <omp.h>
#include <string.h>

#include "conv/conv.h"
#include "base/cpu.h"

/* ---- selects this processor's build of the inner products of convolutions. */

const csrec_conv_simd *csrec_conv_simd_choose(void) {
    return CSREC_CPU_CHOOSE(csrec_conv);
}

bool csrec_conv_outputs(csrec_conv *conv, int *axis) {
    for (int a = 0; a < 3; a++) {
        int64_t room =
            conv->size[a] + 2 * conv->padding[a] - conv->dilation[a] * (conv->kernel[a] - 1) - 1;
        *axis = a;
        if (room < 0) return false;
        conv->out[a] = room / conv->stride[a] + 1;
    }
    return true;
}

int64_t csrec_conv_phases(const csrec_conv *conv, bool transposed) {
    return transposed ? conv->stride[0] * conv->stride[1] * conv->stride[2] : 1;
}

static csrec_conv_axis forward_axis(const csrec_conv *conv, int a) {
    return (csrec_conv_axis){.in = conv->size[a],
                             .out = conv->out[a],
                             .count = conv->out[a],
                             .apart = 1,
                             .taps = conv->kernel[a],
                             .kernel_step = 1,
                             .step = conv->stride[a],
                             .base = -conv->padding[a],
                             .advance = conv->dilation[a]};
}

static int64_t divisor(int64_t a, int64_t b) {
    return b == 0 ? a : divisor(b, a % b);
}

/* Entries r, r + stride, ... : o = (i + padding - k dilation) / stride where that is whole. */
static csrec_conv_axis transposed_axis(const csrec_conv *conv, int a, int64_t r) {
    int64_t stride = conv->stride[a], d = conv->dilation[a], k = 0;
    int64_t every = stride / divisor(d, stride); /* distance between contributing kernel entries */
    while (k < every && (r + conv->padding[a] - k * d) % stride != 0) k++;
    csrec_conv_axis axis = {.in = conv->out[a],
                            .out = conv->size[a],
                            .count = r < conv->size[a] ? (conv->size[a] - r - 1) / stride + 1 : 0,
                            .first = r,
                            .apart = stride,
                            .kernel = k,
                            .kernel_step = every,
                            .step = 1};
    if (k == every || k >= conv->kernel[a]) return axis; /* no kernel entry contributes */
    axis.taps = (conv->kernel[a] - 1 - k) / every + 1;
    axis.base = (r + conv->padding[a] - k * d) / stride;
    axis.advance = -(every * d / stride);
    return axis;
}

void csrec_conv_phase(const csrec_conv *conv, bool transposed, int64_t phase, csrec_conv_sum *sum) {
    int64_t volume = conv->kernel[0] * conv->kernel[1] * conv->kernel[2];
    *sum = (csrec_conv_sum){.batch = conv->batch,
                            .rows = transposed ? conv->channels_in : conv->channels_out,
                            .channels = transposed ? conv->channels_out : conv->channels_in,
                            .row_step = transposed ? volume : conv->channels_in * volume,
                            .channel_step = transposed ? conv->channels_in * volume : volume,
                            .kernel = {conv->kernel[0], conv->kernel[1], conv->kernel[2]}};
    for (int a = 2; a >= 0; a--) {
        sum->axis[a] =
            transposed ? transposed_axis(conv, a, phase % conv->stride[a]) : forward_axis(conv, a);
        if (transposed) phase /= conv->stride[a];
    }
}

int64_t csrec_conv_taps(const csrec_conv_sum *sum) {
    return sum->axis[0].taps * sum->axis[1].taps * sum->axis[2].taps;
}

int64_t csrec_conv_positions(const csrec_conv_sum *sum) {
    return sum->batch * sum->axis[0].count * sum->axis[1].count * sum->axis[2].count;
}

int64_t csrec_conv_panels(int64_t rows, const csrec_conv_simd *simd) {
    return (rows + simd->height - 1) / simd->height;
}

/* Work a position: products of padded rows, and laying out or adding up, which costs about as much
 * as eight products an entry. With a stride a forward product would scatter unused products. */
bool csrec_conv_scatters(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd) {
    int64_t rows = transposed ? conv->channels_in : conv->channels_out;
    int64_t channels = transposed ? conv->channels_out : conv->channels_in;
    int64_t h = simd->height, across = conv->kernel[2];
    if (!transposed && (conv->stride[0] > 1 || conv->stride[1] > 1 || conv->stride[2] > 1))
        return false;
    int64_t gather = (csrec_conv_panels(rows, simd) * h + 8) * channels * across;
    int64_t scatter = csrec_conv_panels(rows * across, simd) * h * channels + 8 * rows * across;
    return scatter < gather;
}

int64_t csrec_conv_packed(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd) {
    int64_t total = 0;
    if (csrec_conv_scatters(conv, transposed, simd)) {
        int64_t rows = transposed ? conv->channels_in : conv->channels_out;
        int64_t channels = transposed ? conv->channels_out : conv->channels_in;
        return conv->kernel[0] * conv->kernel[1] * csrec_conv_panels(rows * conv->kernel[2], simd) *
               simd->height * channels;
    }
    for (int64_t p = 0; p < csrec_conv_phases(conv, transposed); p++) {
        csrec_conv_sum sum;
        csrec_conv_phase(conv, transposed, p, &sum);
        total +=
            csrec_conv_panels(sum.rows, simd) * simd->height * sum.channels * csrec_conv_taps(&sum);
    }
    return total;
}

size_t csrec_conv_room(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd) {
    int64_t rows = transposed ? conv->channels_in : conv->channels_out;
    int64_t channels = transposed ? conv->channels_out : conv->channels_in;
    bool scatters = csrec_conv_scatters(conv, transposed, simd);
    int64_t inputs = scatters ? channels : CSREC_CONV_DEPTH;
    int64_t sums = csrec_conv_panels(scatters ? rows * conv->kernel[2] : rows, simd) * simd->height;
    size_t bytes = (size_t)(inputs + sums) * CSREC_CONV_LD_F32 * sizeof(float) +
                   CSREC_CONV_TILE * sizeof(csrec_conv_run) + 64;
    return (bytes + 63) / 64 * 64;
}

int64_t csrec_conv_runs(const csrec_conv_sum *sum, int64_t first, int64_t end,
                        csrec_conv_run *run) {
    const csrec_conv_axis *axis = sum->axis;
    int64_t runs = 0;
    for (int64_t at = first; at < end; runs++) {
        int64_t o2 = at % axis[2].count, line = at / axis[2].count;
        int64_t left = axis[2].count - o2;
        run[runs] =
            (csrec_conv_run){.n = line / axis[1].count / axis[0].count,
                             .o = {line / axis[1].count % axis[0].count, line % axis[1].count, o2},
                             .length = left < end - at ? left : end - at,
                             .at = at - first};
        at += run[runs].length;
    }
    return runs;
}

/* ---- the gradient of a convolution by its weights: dW = sum over positions of dY times
 * the inputs laid out, as dot products of lines of positions.
 *
 * With stride 1 the roles may be exchanged: by i = o - padding + k dilation it is also the sum over
 * inputs' positions i of x[ci][i] dy[co][i + padding - k dilation], the transposed sum, with dY
 * laid out and x in rows; better where there are fewer channels_out than channels_in.
 *
 * Lines are divided into a fixed number of shares, each with its own sums, which are added in order
 * at the end: the result does not depend on the number of threads. */

enum { LINE = CSREC_CONV_LINE, LINES = CSREC_CONV_LINES, ROWS = CSREC_CONV_DOT, TASKS = 16 };

typedef struct gradient {
    const csrec_conv_simd *simd;
    csrec_call *call;
    csrec_conv_sum sum;
    bool swapped;             /* x in rows, dY laid out */
    const float *rows, *laid; /* dY and x, or x and dY */
    int64_t depth, blocks;    /* entries of a row of dW; blocks of LINES of them */
    int64_t padded;           /* rows, up to whole ROWS */
    int64_t lines, shares;
    float *part; /* [shares][blocks][padded][LINES] */
} gradient;

static int64_t cost(int64_t rows, int64_t laid) {
    return ((rows + ROWS - 1) / ROWS * ROWS + 8) * laid;
}

static bool swaps(const csrec_conv *conv) {
    return conv->stride[0] == 1 && conv->stride[1] == 1 && conv->stride[2] == 1 &&
           cost(conv->channels_in, conv->channels_out) <
               cost(conv->channels_out, conv->channels_in);
}

static gradient gradient_of(const csrec_conv *conv) {
    gradient g = {.swapped = swaps(conv)};
    csrec_conv_phase(conv, g.swapped, 0, &g.sum);
    g.depth = g.sum.channels * csrec_conv_taps(&g.sum);
    g.blocks = (g.depth + LINES - 1) / LINES;
    g.padded = (g.sum.rows + ROWS - 1) / ROWS * ROWS;
    g.lines = (csrec_conv_positions(&g.sum) + LINE - 1) / LINE;
    g.shares = (TASKS + g.blocks - 1) / g.blocks;
    if (g.shares > g.lines) g.shares = g.lines;
    return g;
}

size_t csrec_conv_gradient_shared(const csrec_conv *conv) {
    gradient g = gradient_of(conv);
    size_t bytes = (size_t)(g.shares * g.blocks * g.padded * LINES) * sizeof(float);
    return (bytes + 63) / 64 * 64;
}

static size_t rows_bytes(const gradient *g) {
    size_t bytes = (size_t)((g->padded + LINES) * LINE) * sizeof(float);
    return (bytes + 63) / 64 * 64;
}

size_t csrec_conv_gradient_room(const csrec_conv *conv) {
    gradient g = gradient_of(conv);
    return (rows_bytes(&g) + LINE * sizeof(csrec_conv_run) + 63) / 64 * 64;
}

/* Rows along the runs, zeros behind the last position and the last row. */
static void copy_rows(const gradient *g, int64_t runs, const csrec_conv_run *run, int64_t some,
                      float *rows) {
    const csrec_conv_axis *a = g->sum.axis;
    memset(rows + g->sum.rows * LINE, 0, (size_t)((g->padded - g->sum.rows) * LINE) * sizeof *rows);
    for (int64_t m = 0; m < g->sum.rows; m++, rows += LINE) {
        for (int64_t r = 0; r < runs; r++) {
            int64_t line =
                ((run[r].n * g->sum.rows + m) * a[0].out + run[r].o[0]) * a[1].out + run[r].o[1];
            memcpy(rows + run[r].at, g->rows + line * a[2].out + run[r].o[2],
                   (size_t)run[r].length * sizeof *rows);
        }
        for (int64_t p = some; p < LINE; p++) rows[p] = 0.0f;
    }
}

/* One share's lines for one block of dW's columns. */
static void add_share(const gradient *g, int64_t share, int64_t block, char *memory) {
    float *rows = (float *)(void *)memory, *inputs = rows + g->padded * LINE;
    csrec_conv_run *run = (csrec_conv_run *)(void *)(memory + rows_bytes(g));
    float *sums = g->part + (share * g->blocks + block) * g->padded * LINES;
    int64_t k = block * LINES, ks = g->depth - k < LINES ? g->depth - k : LINES;
    int64_t positions = csrec_conv_positions(&g->sum);
    memset(sums, 0, (size_t)(g->padded * LINES) * sizeof *sums);
    memset(inputs, 0, LINES * LINE * sizeof *inputs);
    for (int64_t line = share * g->lines / g->shares; line < (share + 1) * g->lines / g->shares;
         line++) {
        if (csrec_call_poll(g->call)) break;
        int64_t first = line * LINE, left = positions - first, some = left < LINE ? left : LINE;
        int64_t runs = csrec_conv_runs(&g->sum, first, first + some, run);
        copy_rows(g, runs, run, some, rows);
        /* Stale values of the line before must not be multiplied by the rows' zeros: they may be
         * infinite. */
        if (some < LINE) memset(inputs, 0, LINES * LINE * sizeof *inputs);
        csrec_conv_fill_f32(&g->sum, runs, run, g->laid, k, k + ks, inputs, LINE);
        for (int64_t i = 0; i < g->padded; i += ROWS)
            for (int64_t j = 0; j < ks; j += g->simd->dot)
                g->simd->dot_f32(rows + i * LINE, inputs + j * LINE, sums + i * LINES + j, LINES);
    }
}

/* Adds the shares in order; rows and channels of dW are exchanged with the roles. */
static void deliver(const gradient *g, float *dw) {
    int64_t taps = csrec_conv_taps(&g->sum), rows = g->sum.rows, channels = g->sum.channels;
    for (int64_t m = 0; m < rows; m++)
        for (int64_t k = 0; k < g->depth; k++) {
            double total = 0.0;
            for (int64_t s = 0; s < g->shares; s++)
                total += g->part[((s * g->blocks + k / LINES) * g->padded + m) * LINES + k % LINES];
            int64_t c = k / taps, pair = g->swapped ? c * rows + m : m * channels + c;
            dw[pair * taps + k % taps] = (float)total;
        }
}

void csrec_conv_gradient(const csrec_conv *conv, const csrec_conv_work *work, const float *x,
                         const float *dy, float *dw) {
    gradient g = gradient_of(conv);
    size_t room = csrec_conv_gradient_room(conv);
    char *rooms = work->memory + csrec_conv_gradient_shared(conv);
    g.simd = work->simd;
    g.call = work->call;
    g.rows = g.swapped ? x : dy;
    g.laid = g.swapped ? dy : x;
    g.part = (float *)(void *)work->memory;
#pragma omp parallel for schedule(dynamic, 1) num_threads(work->threads)
    for (int64_t task = 0; task < g.shares * g.blocks; task++)
        add_share(&g, task / g.blocks, task % g.blocks,
                  rooms + (size_t)omp_get_thread_num() * room);
    deliver(&g, dw);
}
