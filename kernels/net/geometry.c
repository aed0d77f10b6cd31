/* geometry.c - the sums and convolutions that a network's layers are. */
#include "kernels/net/geometry.h"

static csrec_cuda_conv_sum conv_sum(const csrec_net_node *node, bool adjoint,
                                    const csrec_net_extent *extent) {
    csrec_cuda_conv_sum s = {.batch = extent->batch,
                             .rows = adjoint ? node->in : node->out,
                             .channels = adjoint ? node->out : node->in,
                             .row_step = adjoint ? 9 : 9 * node->in,
                             .channel_step = adjoint ? 9 * node->in : 9,
                             .kernel_width = 3};
    for (int a = 0; a < 2; a++) {
        const int64_t size = a ? extent->width : extent->height;
        s.axis[a] = (csrec_conv_axis){.in = size,
                                      .out = size,
                                      .count = size,
                                      .apart = 1,
                                      .taps = 3,
                                      .kernel_step = 1,
                                      .step = 1,
                                      .base = adjoint ? 1 : -1,
                                      .advance = adjoint ? -1 : 1};
    }
    return s;
}

/* W is [small channels][large channels][2][2] either way. to_small: the product goes from the large
 * picture to the small one, whose extents are given. */
static csrec_cuda_conv_sum quad_sum(bool to_small, int64_t small, int64_t large, int64_t batch,
                                    const int64_t size[2]) {
    csrec_cuda_conv_sum s = {.batch = batch,
                             .rows = to_small ? small : 4 * large,
                             .channels = to_small ? 4 * large : small,
                             .row_step = to_small ? 4 * large : 1,
                             .channel_step = to_small ? 1 : 4 * large,
                             .kernel_width = 1,
                             .in_quads = to_small,
                             .out_quads = !to_small};
    for (int a = 0; a < 2; a++)
        s.axis[a] = (csrec_conv_axis){.in = to_small ? 2 * size[a] : size[a],
                                      .out = to_small ? size[a] : 2 * size[a],
                                      .count = size[a],
                                      .apart = to_small ? 1 : 2,
                                      .taps = 1,
                                      .kernel_step = 1,
                                      .step = to_small ? 2 : 1,
                                      .advance = 1};
    return s;
}

csrec_cuda_conv_sum csrec_cuda_net_sum(const csrec_net_node *node, bool adjoint,
                                       const csrec_net_extent *extent) {
    const bool down = node->kind == CSREC_NET_DOWN;
    const int64_t part = down ? 2 : 1, size[2] = {extent->height / part, extent->width / part};
    if (node->kind == CSREC_NET_CONV) return conv_sum(node, adjoint, extent);
    return quad_sum(down != adjoint, down ? node->out : node->in, down ? node->in : node->out,
                    extent->batch, size);
}

csrec_conv2d csrec_cuda_net_convolution(const csrec_net_node *node, const csrec_net_extent *extent,
                                        int64_t out[2]) {
    const bool conv = node->kind == CSREC_NET_CONV, up = node->kind == CSREC_NET_UP;
    csrec_conv2d g = {.batch = extent->batch,
                      .channels_in = up ? node->out : node->in,
                      .channels_out = up ? node->in : node->out};
    for (int a = 0; a < 2; a++) {
        const int64_t size = a ? extent->width : extent->height;
        g.size[a] = up ? 2 * size : size;
        g.kernel[a] = conv ? 3 : 2;
        g.stride[a] = conv ? 1 : 2;
        g.dilation[a] = 1;
        g.padding[a] = conv ? 1 : 0;
        out[a] = conv ? size : g.size[a] / 2;
    }
    return g;
}
