/* geometry.h - a network's layers as products of kernels/conv. A 2 x 2 kernel of stride 2 between a
 * small picture and a large one is a product with one tap, of the small one's channels and the
 * large one's entries of 2 x 2 squares. */
#ifndef CSREC_KERNELS_NET_GEOMETRY_H
#define CSREC_KERNELS_NET_GEOMETRY_H

#include "csrec/conv.h"
#include "kernels/conv/conv2d.h"
#include "net/engine.h"

/* The layer's product, or its adjoint; extent: that of the layer's input. Channels alone determine
 * how weights are packed. */
csrec_cuda_conv_sum csrec_cuda_net_sum(const csrec_net_node *node, bool adjoint,
                                       const csrec_net_extent *extent);

/* The convolution whose gradient of weights is the layer's, and its results' extents; for up, it is
 * the adjoint, whose input is dy and whose gradient x. */
csrec_conv2d csrec_cuda_net_convolution(const csrec_net_node *node, const csrec_net_extent *extent,
                                        int64_t out[2]);

#endif
