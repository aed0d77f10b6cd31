/* SPDX-License-Identifier: BSD-3-Clause */
/* packed.cu - products whose weights are packed once, by windows (window.cu).
 *
 * The small pictures of a network's coarse scales have few tiles but many channels: those are then
 * split into parts, each with thread blocks of its own, whose sums a second kernel adds in their
 * order, a thread a result. Scales with twice the channels have half as many pixels a side, so that
 * parts of equally many channels give each about as many thread blocks. */
#include "kernels/conv/window.cuh"

typedef struct parts {
    int64_t count, plane, channels; /* of the results */
    int number;
} parts;

__global__ void __launch_bounds__(256)
    add_parts(parts k, const float *from, csrec_cuda_conv_finish f, float *out) {
    const int64_t at = csrec_cuda_thread();
    if (at >= k.count) return;
    const float other = f.add ? f.add[at] : 0.0f, gate = f.gate ? f.gate[at] : 1.0f;
    float sum = from[at];
#pragma unroll 8
    for (int p = 1; p < k.number; p++) sum += from[p * k.count + at];
    if (f.bias) sum += f.bias[at / k.plane % k.channels];
    if (f.add) sum += other;
    if (f.relu && !(sum > 0.0f)) sum = 0.0f;
    out[at] = gate > 0.0f ? sum : 0.0f;
}

/* Chunks of channels of a part: 36 steps of a 3 x 3 kernel, 8 of a single tap. One part a picture
 * is enough for a large batch. The extents do not count: see conv2d.h. */
static int64_t span_of(const csrec_cuda_conv_sum *s) {
    const int64_t taps = csrec_conv_taps_of(s), chunks = csrec_conv_chunks(s);
    const int64_t span = (taps < 9 ? 8 : 4) * s->batch;
    return taps % csrec_conv_group_for(taps) == 0 && span < chunks ? span : chunks;
}

static parts parts_of(const csrec_cuda_conv_sum *s) {
    parts k = {};
    k.plane = s->axis[0].out * s->axis[1].out;
    k.channels = s->rows / (s->out_quads ? 4 : 1);
    k.count = s->batch * k.channels * k.plane;
    k.number = (int)csrec_conv_whole(csrec_conv_chunks(s), span_of(s));
    return k;
}

csrec_status csrec_cuda_conv_packed_check(const csrec_cuda_conv_sum *sum, csrec_error *error) {
    csrec_status status = csrec_cuda_conv_check(sum, error);
    const bool fits = csrec_conv_window_fits(sum) && (double)parts_of(sum).count < 0x1p38;
    if (status || fits) return status;
    return csrec_fail(error, CSREC_UNSUPPORTED,
                      "CUDA: a packed convolution of too many results, or with too large a kernel; "
                      "use backend cpu");
}

int64_t csrec_cuda_conv_packed_floats(const csrec_cuda_conv_sum *sum, bool fast) {
    return csrec_conv_window_packed(sum, fast);
}

csrec_status csrec_cuda_conv_pack(const csrec_cuda_conv_sum *sum, bool fast, const float *w,
                                  float *packed, csrec_error *error) {
    return csrec_conv_window_pack(sum, 1, fast, w, packed, error);
}

size_t csrec_cuda_conv_packed_room(const csrec_cuda_conv_sum *sum) {
    const parts k = parts_of(sum);
    return k.number > 1 ? (size_t)k.number * (size_t)k.count * sizeof(float) : 0;
}

csrec_status csrec_cuda_conv_packed_multiply(const csrec_cuda_conv_sum *sum, bool fast,
                                             const float *packed, const float *in,
                                             const csrec_cuda_conv_finish *finish, float *out,
                                             void *scratch, csrec_error *error) {
    const parts k = parts_of(sum);
    const csrec_cuda_conv_finish none = {};
    float *sums = (float *)scratch;
    if (k.number == 1)
        return csrec_conv_window_multiply(sum, fast, span_of(sum), packed, in, finish, out, error);
    CSREC_TRY(csrec_conv_window_multiply(sum, fast, span_of(sum), packed, in, &none, sums, error));
    return CSREC_CUDA_EACH(add_parts, k.count, 256, error, k, sums, *finish, out);
}
