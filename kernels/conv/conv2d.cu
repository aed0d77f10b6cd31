/* SPDX-License-Identifier: BSD-3-Clause */
/* conv2d.cu - converts the geometry of a convolution's sums for the kernels. */
#include "kernels/conv/state.cuh"

__global__ void fill_taps(csrec_cuda_conv_sum s, int64_t padded, csrec_conv_tap *taps) {
    const int64_t k = csrec_cuda_thread();
    if (k >= padded) return;
    const int64_t across = s.axis[1].taps, all = s.axis[0].taps * across;
    csrec_conv_tap tap = {0, CSREC_CONV_NOWHERE, CSREC_CONV_NOWHERE, 0};
    if (k < s.channels * all) {
        const int64_t channel = k / all, t = k % all;
        const int64_t down = s.axis[0].advance * (t / across);
        const int64_t right = s.axis[1].advance * (t % across);
        const int64_t i = s.axis[0].kernel + s.axis[0].kernel_step * (t / across);
        const int64_t j = s.axis[1].kernel + s.axis[1].kernel_step * (t % across);
        tap.offset = (int)((channel * s.axis[0].in + down) * s.axis[1].in + right);
        tap.down = (int)down;
        tap.right = (int)right;
        tap.weight = (int)(channel * s.channel_step + i * s.kernel_width + j);
    }
    taps[k] = tap;
}

csrec_status csrec_conv_list_taps(const csrec_cuda_conv_sum *sum, int64_t padded,
                                  csrec_conv_tap *taps, csrec_error *error) {
    if (padded == 0) return CSREC_OK;
    return CSREC_CUDA_EACH(fill_taps, padded, 128, error, *sum, padded, taps);
}

csrec_conv_place csrec_conv_place_of(const csrec_cuda_conv_sum *s) {
    csrec_conv_place g = {};
    for (int a = 0; a < 2; a++) {
        g.in[a] = (int)s->axis[a].in;
        g.out[a] = (int)s->axis[a].out;
        g.count[a] = (int)s->axis[a].count;
        g.first[a] = (int)s->axis[a].first;
        g.apart[a] = (int)s->axis[a].apart;
        g.step[a] = (int)s->axis[a].step;
        g.base[a] = (int)s->axis[a].base;
    }
    g.rows = (int)s->rows;
    g.channels = (int)s->channels;
    g.batch = s->batch;
    g.positions = s->batch * s->axis[0].count * s->axis[1].count;
    g.in_plane = s->axis[0].in * s->axis[1].in;
    g.out_plane = s->axis[0].out * s->axis[1].out;
    g.in_quads = s->in_quads;
    g.out_quads = s->out_quads;
    g.in_picture = s->channels / (s->in_quads ? 4 : 1) * g.in_plane;
    g.out_picture = s->rows / (s->out_quads ? 4 : 1) * g.out_plane;
    return g;
}

csrec_status csrec_cuda_conv_check(const csrec_cuda_conv_sum *s, csrec_error *error) {
    const double most = (double)(1 << 29);
    double picture = (double)s->channels / (s->in_quads ? 4.0 : 1.0), steps = 0.0;
    for (int a = 0; a < 2; a++) {
        const csrec_conv_axis *x = &s->axis[a];
        const double advance = x->advance < 0 ? -(double)x->advance : (double)x->advance;
        picture *= (double)x->in + advance * (double)x->taps;
        steps += (double)x->step * (double)x->count + (double)x->out + advance * (double)x->taps +
                 (x->base < 0 ? -(double)x->base : (double)x->base);
    }
    const double weights = (double)s->rows * (double)s->row_step;
    const double others = (double)s->channels * (double)s->channel_step;
    const bool rows = s->rows <= 65535 &&
                      (double)s->batch * (double)s->axis[0].count * (double)s->axis[1].count < 5e11;
    if (picture < 4.0 * most && steps < most && weights < 4.0 * most && others < 4.0 * most && rows)
        return CSREC_OK;
    return csrec_fail(
        error, CSREC_UNSUPPORTED,
        "CUDA: pictures or weights of a convolution beyond 2^31 entries, or more than "
        "65535 channels; use backend cpu");
}
