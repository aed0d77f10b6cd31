/* net_design.h - the network that csrec_net_learn trains: its layers and first weights. */
#ifndef CSREC_LEARN_NET_DESIGN_H
#define CSREC_LEARN_NET_DESIGN_H

#include "csrec/net.h"

enum { CSREC_DESIGN_SCALES = 4 };

/* A U of 4 sizes with width, 2 width, 4 width, 8 width channels: conv to `width`; at each size
 * blocks x + conv(relu(conv(x))), then down to the next; the same back up, adding the results of
 * the same size; conv to the planes. layers: room for CSREC_NET_LAYERS. Returns their number; 0:
 * there are more. */
int csrec_net_design(int channels, int64_t width, const int64_t blocks[CSREC_DESIGN_SCALES],
                     csrec_net_layer *layers);

/* First weights: uniform within 1 / sqrt(inputs of a sum) (LeCun et al. 1998), but 0 for the second
 * convolution of a block and the last layer, so that the network begins as the identity, and its
 * variances at exp(-2). */
void csrec_net_first_weights(int channels, int n, const csrec_net_layer *layers, uint64_t seed,
                             float *weights);

/* Weights of a network for `channels` from those of one for a single channel (gray), n layers both,
 * alike but for the last one's planes. It gets the gray network's D and s in every channel, from
 * the mean over channels: the luminance is recovered as before, and colours are spread. The first
 * and last layer must be 3 x 3 convolutions. */
void csrec_net_widen_weights(int channels, int n, const csrec_net_layer *layers, const float *gray,
                             float *weights);

#endif
