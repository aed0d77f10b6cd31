/* SPDX-License-Identifier: BSD-3-Clause */
/* apply.c - the products of conv.h. */
#include <omp.h>
#include <string.h>

#include "conv/conv.h"

/* A thread's part of the memory. */
typedef struct room {
    csrec_conv_run *run;  /* [CSREC_CONV_TILE] */
    float *inputs, *sums; /* rows CSREC_CONV_LD_F32 apart */
} room;

static room room_of(const csrec_conv_work *work, size_t bytes, int64_t inputs) {
    char *at = work->memory + (size_t)omp_get_thread_num() * bytes;
    room r = {.inputs = (float *)(void *)at};
    r.sums = r.inputs + inputs * CSREC_CONV_LD_F32;
    r.run = (csrec_conv_run *)(void *)(at + bytes - CSREC_CONV_TILE * sizeof *r.run);
    return r;
}

/* ---- input layout */

/* to[j] = line[step j + from], 0 outside of 0 .. in - 1. */
static void copy_line(const float *line, int64_t in, int64_t from, int64_t step, int64_t length,
                      float *to) {
    int64_t left = from < 0 ? (-from + step - 1) / step : 0;
    int64_t right = from < in ? (in - 1 - from) / step + 1 : 0;
    if (left > length) left = length;
    if (right > length) right = length;
    if (right < left) right = left;
    for (int64_t j = 0; j < left; j++) to[j] = 0;
    if (step == 1)
        memcpy(to + left, line + from + left, (size_t)(right - left) * sizeof *to);
    else
        for (int64_t j = left; j < right; j++) to[j] = line[from + step * j];
    for (int64_t j = right; j < length; j++) to[j] = 0;
}

void csrec_conv_fill_f32(const csrec_conv_sum *sum, int64_t runs, const csrec_conv_run *run,
                         const float *in, int64_t k0, int64_t k1, float *to, int64_t ld) {
    const csrec_conv_axis *a = sum->axis;
    int64_t taps = csrec_conv_taps(sum);
    for (int64_t k = k0; k < k1; k++, to += ld) {
        int64_t c = k / taps, t2 = k % a[2].taps, t1 = k / a[2].taps % a[1].taps,
                t0 = k % taps / a[2].taps / a[1].taps;
        for (int64_t r = 0; r < runs; r++) {
            int64_t i0 = run[r].o[0] * a[0].step + a[0].base + t0 * a[0].advance;
            int64_t i1 = run[r].o[1] * a[1].step + a[1].base + t1 * a[1].advance;
            int64_t i2 = run[r].o[2] * a[2].step + a[2].base + t2 * a[2].advance;
            if (i0 < 0 || i0 >= a[0].in || i1 < 0 || i1 >= a[1].in) {
                memset(to + run[r].at, 0, (size_t)run[r].length * sizeof *to);
                continue;
            }
            const float *line =
                in + (((run[r].n * sum->channels + c) * a[0].in + i0) * a[1].in + i1) * a[2].in;
            copy_line(line, a[2].in, i2, a[2].step, run[r].length, to + run[r].at);
        }
    }
}

/* ---- gather */

static void pack_gather(const csrec_conv_sum *sum, const csrec_conv_simd *simd, const float *w,
                        float *packed) {
    const csrec_conv_axis *a = sum->axis;
    int64_t taps = csrec_conv_taps(sum), h = simd->height;
    for (int64_t row = 0; row < csrec_conv_panels(sum->rows, simd) * h; row++)
        for (int64_t k = 0; k < sum->channels * taps; k++) {
            int64_t e2 = a[2].kernel + a[2].kernel_step * (k % a[2].taps);
            int64_t e1 = a[1].kernel + a[1].kernel_step * (k / a[2].taps % a[1].taps);
            int64_t e0 = a[0].kernel + a[0].kernel_step * (k % taps / a[2].taps / a[1].taps);
            int64_t entry = (e0 * sum->kernel[1] + e1) * sum->kernel[2] + e2;
            packed[((row / h) * sum->channels * taps + k) * h + row % h] =
                row < sum->rows ? w[row * sum->row_step + k / taps * sum->channel_step + entry] : 0;
        }
}

/* sums = packed times the inputs of the runs, `columns` of them. */
static void multiply(const csrec_conv_sum *sum, const csrec_conv_simd *simd, const float *packed,
                     int64_t runs, int64_t columns, const float *in, const room *r) {
    int64_t h = simd->height, depth = sum->channels * csrec_conv_taps(sum);
    int64_t panels = csrec_conv_panels(sum->rows, simd);
    if (depth == 0) memset(r->sums, 0, (size_t)(panels * h * CSREC_CONV_LD_F32) * sizeof *r->sums);
    for (int64_t k = 0; k < depth; k += CSREC_CONV_DEPTH) {
        int64_t some = depth - k < CSREC_CONV_DEPTH ? depth - k : CSREC_CONV_DEPTH;
        csrec_conv_fill_f32(sum, runs, r->run, in, k, k + some, r->inputs, CSREC_CONV_LD_F32);
        for (int64_t j = 0; j < columns; j += simd->width_f32)
            for (int64_t p = 0; p < panels; p++)
                simd->tile_f32(some, packed + (p * depth + k) * h, r->inputs + j,
                               r->sums + p * h * CSREC_CONV_LD_F32 + j, CSREC_CONV_LD_F32, k > 0);
    }
}

/* Copies rows of sums to their positions, by runs. */
static void deliver(const csrec_conv_sum *sum, int64_t runs, const room *r, const float *bias,
                    float *out) {
    const csrec_conv_axis *a = sum->axis;
    for (int64_t m = 0; m < sum->rows; m++)
        for (int64_t i = 0; i < runs; i++) {
            const csrec_conv_run *run = &r->run[i];
            int64_t x0 = a[0].first + a[0].apart * run->o[0];
            int64_t x1 = a[1].first + a[1].apart * run->o[1];
            float *to = out +
                        (((run->n * sum->rows + m) * a[0].out + x0) * a[1].out + x1) * a[2].out +
                        a[2].first + a[2].apart * run->o[2];
            const float *from = r->sums + m * CSREC_CONV_LD_F32 + run->at;
            float plus = bias ? bias[m] : 0;
            if (a[2].apart == 1)
                for (int64_t j = 0; j < run->length; j++) to[j] = from[j] + plus;
            else
                for (int64_t j = 0; j < run->length; j++) to[a[2].apart * j] = from[j] + plus;
        }
}

static void gather(const csrec_conv_sum *sum, const csrec_conv_work *work, size_t bytes,
                   const float *packed, const float *in, const float *bias, float *out) {
    int64_t positions = csrec_conv_positions(sum);
#pragma omp parallel for schedule(dynamic, 1) num_threads(work->threads)
    for (int64_t first = 0; first < positions; first += CSREC_CONV_TILE) {
        if (csrec_call_poll(work->call)) continue;
        room r = room_of(work, bytes, CSREC_CONV_DEPTH);
        int64_t left = positions - first, some = left < CSREC_CONV_TILE ? left : CSREC_CONV_TILE;
        int64_t runs = csrec_conv_runs(sum, first, first + some, r.run);
        multiply(sum, work->simd, packed, runs, some, in, &r);
        deliver(sum, runs, &r, bias, out);
    }
}

/* ---- scatter: row q = m across + k2 of the products of kernel line (k0, k1) */

typedef struct scatter {
    const csrec_conv *conv;
    const csrec_conv_simd *simd;
    int64_t rows, channels, panels; /* panels: of one kernel line */
    int64_t in[3], out[3];
    int64_t step[3], offset[3], advance[3]; /* result = step i + offset + advance k */
    const float *packed, *in_data;
    float *out_data;
} scatter;

static scatter scatter_of(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd) {
    scatter s = {.conv = conv,
                 .simd = simd,
                 .rows = transposed ? conv->channels_in : conv->channels_out,
                 .channels = transposed ? conv->channels_out : conv->channels_in};
    s.panels = csrec_conv_panels(s.rows * conv->kernel[2], simd);
    for (int a = 0; a < 3; a++) {
        s.in[a] = transposed ? conv->out[a] : conv->size[a];
        s.out[a] = transposed ? conv->size[a] : conv->out[a];
        s.step[a] = transposed ? conv->stride[a] : 1;
        s.offset[a] = transposed ? -conv->padding[a] : conv->padding[a];
        s.advance[a] = transposed ? conv->dilation[a] : -conv->dilation[a];
    }
    return s;
}

static void pack_scatter(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd,
                         const float *w, float *packed) {
    scatter s = scatter_of(conv, transposed, simd);
    int64_t h = simd->height, across = conv->kernel[2], lines = conv->kernel[0] * conv->kernel[1];
    for (int64_t line = 0; line < lines; line++)
        for (int64_t q = 0; q < s.panels * h; q++)
            for (int64_t c = 0; c < s.channels; c++) {
                int64_t m = q / across, co = transposed ? c : m, ci = transposed ? m : c;
                int64_t at = ((co * conv->channels_in + ci) * lines + line) * across + q % across;
                packed[((line * s.panels + q / h) * s.channels + c) * h + q % h] =
                    m < s.rows ? w[at] : 0;
            }
}

/* line[step x + offset] += sums[x - x0], x0 <= x < x0 + length, where that is inside. */
static void add_line(const scatter *s, int64_t k2, const float *sums, int64_t x0, int64_t length,
                     float *line) {
    int64_t step = s->step[2], first = step * x0 + s->offset[2] + s->advance[2] * k2;
    int64_t from = first < 0 ? (-first + step - 1) / step : 0;
    int64_t end = first < s->out[2] ? (s->out[2] - 1 - first) / step + 1 : 0;
    if (end > length) end = length;
    if (step == 1)
        for (int64_t j = from; j < end; j++) line[first + j] += sums[j];
    else
        for (int64_t j = from; j < end; j++) line[first + step * j] += sums[j];
}

/* The products of kernel line (k0, k1) with the inputs laid out, into result line (o0, o1). */
static void add_products(const scatter *s, const room *r, int64_t kernel_line, int64_t x0,
                         int64_t length, int64_t n, int64_t o0, int64_t o1) {
    int64_t h = s->simd->height, across = s->conv->kernel[2];
    const float *packed = s->packed + kernel_line * s->panels * s->channels * h;
    for (int64_t j = 0; j < length; j += s->simd->width_f32)
        for (int64_t p = 0; p < s->panels; p++)
            s->simd->tile_f32(s->channels, packed + p * s->channels * h, r->inputs + j,
                              r->sums + p * h * CSREC_CONV_LD_F32 + j, CSREC_CONV_LD_F32, false);
    for (int64_t m = 0; m < s->rows; m++) {
        float *line =
            s->out_data + (((n * s->rows + m) * s->out[0] + o0) * s->out[1] + o1) * s->out[2];
        for (int64_t k2 = 0; k2 < across; k2++)
            add_line(s, k2, r->sums + (m * across + k2) * CSREC_CONV_LD_F32, x0, length, line);
    }
}

/* Input line (n, i0, i1) into result lines o1 .. end - 1 of slice o0, given by k0. */
static void scatter_line(const scatter *s, const room *r, int64_t n, const int64_t i[2], int64_t k0,
                         int64_t o0, int64_t first, int64_t end) {
    for (int64_t x0 = 0; x0 < s->in[2]; x0 += CSREC_CONV_TILE) {
        int64_t left = s->in[2] - x0, some = left < CSREC_CONV_TILE ? left : CSREC_CONV_TILE;
        bool laid = false;
        for (int64_t k1 = 0; k1 < s->conv->kernel[1]; k1++) {
            int64_t o1 = i[1] * s->step[1] + s->offset[1] + k1 * s->advance[1];
            if (o1 < first || o1 >= end) continue;
            for (int64_t c = 0; c < s->channels && !laid; c++)
                memcpy(r->inputs + c * CSREC_CONV_LD_F32,
                       s->in_data +
                           (((n * s->channels + c) * s->in[0] + i[0]) * s->in[1] + i[1]) *
                               s->in[2] +
                           x0,
                       (size_t)some * sizeof(float));
            laid = true;
            add_products(s, r, k0 * s->conv->kernel[1] + k1, x0, some, n, o0, o1);
        }
    }
}

/* Index of the input that k maps to result o; negative: none. */
static int64_t input_of(const scatter *s, int a, int64_t o, int64_t k) {
    int64_t at = o - s->offset[a] - k * s->advance[a];
    return at % s->step[a] == 0 && at / s->step[a] < s->in[a] ? at / s->step[a] : -1;
}

static void scatter_band(const scatter *s, const room *r, int64_t n, int64_t o0, int64_t first,
                         int64_t end, const float *bias) {
    for (int64_t m = 0; m < s->rows; m++) {
        float *band =
            s->out_data + (((n * s->rows + m) * s->out[0] + o0) * s->out[1] + first) * s->out[2];
        for (int64_t j = 0; j < (end - first) * s->out[2]; j++) band[j] = bias ? bias[m] : 0;
    }
    /* Range of inputs that some k1 maps to the band. */
    int64_t reach = s->advance[1] * (s->conv->kernel[1] - 1);
    int64_t least = first - s->offset[1] - (reach > 0 ? reach : 0);
    int64_t most = end - 1 - s->offset[1] - (reach < 0 ? reach : 0);
    int64_t from = least > 0 ? (least + s->step[1] - 1) / s->step[1] : 0;
    int64_t last = most < 0 ? -1 : most / s->step[1];
    if (last > s->in[1] - 1) last = s->in[1] - 1;
    for (int64_t k0 = 0; k0 < s->conv->kernel[0]; k0++) {
        int64_t i0 = input_of(s, 0, o0, k0);
        for (int64_t i1 = from; i0 >= 0 && i1 <= last; i1++)
            scatter_line(s, r, n, (const int64_t[]){i0, i1}, k0, o0, first, end);
    }
}

static void scatter_all(const scatter *s, const csrec_conv_work *work, size_t bytes,
                        const float *bias) {
    enum { BAND = 16 };
    int64_t bands = (s->out[1] + BAND - 1) / BAND, slices = s->conv->batch * s->out[0];
#pragma omp parallel for schedule(dynamic, 1) num_threads(work->threads)
    for (int64_t task = 0; task < slices * bands; task++) {
        if (csrec_call_poll(work->call)) continue;
        room r = room_of(work, bytes, s->channels);
        int64_t slice = task / bands, first = task % bands * BAND;
        int64_t end = first + BAND < s->out[1] ? first + BAND : s->out[1];
        scatter_band(s, &r, slice / s->out[0], slice % s->out[0], first, end, bias);
    }
}

/* ---- both */

void csrec_conv_pack_f32(const csrec_conv *conv, bool transposed, const csrec_conv_simd *simd,
                         const float *w, float *packed) {
    if (csrec_conv_scatters(conv, transposed, simd)) {
        pack_scatter(conv, transposed, simd, w, packed);
        return;
    }
    for (int64_t p = 0; p < csrec_conv_phases(conv, transposed); p++) {
        csrec_conv_sum sum;
        csrec_conv_phase(conv, transposed, p, &sum);
        if (csrec_conv_taps(&sum) == 0) continue;
        pack_gather(&sum, simd, w, packed);
        packed +=
            csrec_conv_panels(sum.rows, simd) * simd->height * sum.channels * csrec_conv_taps(&sum);
    }
}

void csrec_conv_apply_f32(const csrec_conv *conv, bool transposed, const csrec_conv_work *work,
                          const float *packed, const float *in, const float *bias, float *out) {
    size_t bytes = csrec_conv_room(conv, transposed, work->simd);
    if (csrec_conv_scatters(conv, transposed, work->simd)) {
        scatter s = scatter_of(conv, transposed, work->simd);
        s.packed = packed;
        s.in_data = in;
        s.out_data = out;
        scatter_all(&s, work, bytes, bias);
        return;
    }
    for (int64_t p = 0; p < csrec_conv_phases(conv, transposed); p++) {
        csrec_conv_sum sum;
        csrec_conv_phase(conv, transposed, p, &sum);
        gather(&sum, work, bytes, packed, in, bias, out);
        packed += csrec_conv_panels(sum.rows, work->simd) * work->simd->height * sum.channels *
                  csrec_conv_taps(&sum);
    }
}
