/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c - which inputs, taps and results belong together: phases, runs, sizes. */
#include "conv/conv.h"

#include "conv/sum.h"

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

size_t csrec_conv_room(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd,
                       size_t real) {
    int64_t rows = transposed ? conv->channels_in : conv->channels_out;
    int64_t channels = transposed ? conv->channels_out : conv->channels_in;
    bool scatters = csrec_conv_scatters(conv, transposed, simd);
    int64_t inputs = scatters ? channels : CSREC_CONV_DEPTH;
    int64_t sums = csrec_conv_panels(scatters ? rows * conv->kernel[2] : rows, simd) * simd->height;
    size_t ld = real == 4 ? CSREC_CONV_LD_F32 : CSREC_CONV_LD_F64;
    size_t bytes =
        (size_t)(inputs + sums) * ld * real + CSREC_CONV_TILE * sizeof(csrec_conv_run) + 64;
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
