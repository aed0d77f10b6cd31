/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/net.h - convolutional networks: forward, backward, and training steps. */
#ifndef CSREC_NET_H
#define CSREC_NET_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csrec_model csrec_model; /* learn.h */

/* A network is a list of layers. Result 0 is the input, result i + 1 that of layer i; layer i
 * computes, from result i,
 *     y = max(W x + B + result `add`, 0)    with relu, else without the maximum,
 * where W x is by kind, with weights in NumPy's order:
 *   - conv: 3 x 3, padding 1, W [channels][channels of x][3][3] (csrec_conv2d)
 *   - down: 2 x 2, stride 2: half the size, W [channels][channels of x][2][2]
 *   - up: the adjoint of down: twice the size, W [channels of x][channels][2][2]
 * So two convs and an add are a residual block (He, Zhang, Ren and Sun 2016). */
typedef enum csrec_net_kind { CSREC_NET_CONV, CSREC_NET_DOWN, CSREC_NET_UP } csrec_net_kind;

typedef struct csrec_net_layer {
    csrec_net_kind kind;
    int64_t channels; /* of the result, 1 to 4096 */
    int64_t add; /* the result that is added, of the same shape, before result i; -1: none. Each
                    is added at most once */
    bool relu;   /* false for the last layer */
} csrec_net_layer;

enum { CSREC_NET_LAYERS = 256 }; /* at most */

/* Zero-initialised fields mean the defaults. */
typedef struct csrec_net_options {
    int threads;         /* 0: all cores; results do not depend on it */
    const char *backend; /* NULL or "auto": the CPU; "cpu", "cuda" */
    bool fast;           /* cuda: one product in tf32 (relative error 5e-4) in place of three, which
                            are as accurate as float. The CPU ignores it */
} csrec_net_options;

typedef struct csrec_net csrec_net;

/* channels: of the input. Weights are zero at first. On the CPU, conv is Winograd's F(4 x 4, 3 x 3)
 * (Lavin and Gray 2016), with a relative error of about 2e-6; results depend neither on the number
 * of threads nor, for one picture, on the tiles of csrec_net_apply. CSREC_ARGUMENT names the layer.
 * A network is used by one thread at a time. */
CSREC_API csrec_status csrec_net_create(int64_t channels, int n, const csrec_net_layer *layers,
                                        const csrec_net_options *options, csrec_net **net,
                                        csrec_error *error);
CSREC_API void csrec_net_destroy(csrec_net *net);

/* The backend in use; floats of all weights: W, then B, of each layer; heights and widths must be
 * multiples of *multiple; a result depends on inputs at most *reach pixels away. Pointers may be
 * NULL. */
CSREC_API const char *csrec_net_info(const csrec_net *net, int64_t *weights, int64_t *multiple,
                                     int64_t *reach);

/* weights: as counted above. CSREC_DATA: not finite. */
CSREC_API csrec_status csrec_net_set_weights(csrec_net *net, const float *weights,
                                             csrec_error *error);
/* average: the running mean of csrec_net_adam, in place of the weights. */
CSREC_API csrec_status csrec_net_weights(csrec_net *net, bool average, float *weights,
                                         csrec_error *error);

/* Y [channels][height][width] of one picture X. A picture that takes more than `memory` bytes (0: 1
 * GiB) is computed in tiles that overlap by the reach, with the same bits. progress may be NULL;
 * true: stop, with Y undefined and CSREC_OK. */
CSREC_API csrec_status csrec_net_apply(csrec_net *net, int64_t height, int64_t width,
                                       const float *X, float *Y, uint64_t memory,
                                       csrec_progress_fn progress, void *context,
                                       csrec_error *error);

/* Bytes that csrec_net_forward and csrec_net_backward take, or csrec_net_apply if batch is 0. */
CSREC_API uint64_t csrec_net_memory(const csrec_net *net, int64_t batch, int64_t height,
                                    int64_t width);

/* Y [batch][channels][height][width]; all results are kept for csrec_net_backward. Memory stays
 * allocated for the next call of the same shape. */
CSREC_API csrec_status csrec_net_forward(csrec_net *net, int64_t batch, int64_t height,
                                         int64_t width, const float *X, float *Y,
                                         csrec_error *error);

/* Gradients of L = sum(Y dY) for the last csrec_net_forward: dX as X, dW as the weights; both may
 * be NULL, as the gradient of the weights is kept for csrec_net_adam. CSREC_ARGUMENT: no forward.
 */
CSREC_API csrec_status csrec_net_backward(csrec_net *net, const float *dY, float *dX, float *dW,
                                          csrec_error *error);

/* A step of Adam (Kingma and Ba 2015, algorithm 1) with decoupled decay (Loshchilov and Hutter
 * 2019, algorithm 2), by the last gradient, whose length is first limited to `clip`. */
typedef struct csrec_net_adam {
    double rate;         /* >= 0 */
    double beta1, beta2; /* 0: 0.9 and 0.999 */
    double decay;        /* of weights, times rate */
    double clip;         /* 0: no limit */
    double average;      /* the mean of weights keeps this share of itself, at most 1 - 1 / step; 0:
                            no mean */
} csrec_net_adam;

CSREC_API csrec_status csrec_net_step(csrec_net *net, const csrec_net_adam *adam,
                                      csrec_error *error);

/* ------------------------------------------------------------------ priors -------------------- */

/* Priors that are not for pictures of so many channels: for guides and frames, for renderings, and
 * for white noise, without which the gray one serves. */
enum { CSREC_PRIOR_BESIDE = 0, CSREC_PRIOR_RENDERED = -1, CSREC_PRIOR_NOISE = -2 };

/* Path of the learned prior that is installed with the library for pictures of so many channels, or
 * of those above, cut to `size` bytes; path may be NULL. Its folder is the one that the environment
 * variable CSREC_PRIORS names, without it share/csrecover beside the library, as that was
 * installed, packaged or built. false: there is none, and presets do without (csrec_doubt_prior).
 */
CSREC_API bool csrec_prior_installed(int64_t channels, size_t size, char *path);

/* Keeps installed priors loaded, and networks with their weights ready on their devices, between
 * the recoveries whose csrec_recover_options.priors it is: then only the first of them reads a
 * file. Results have the bits that they have without. A network takes about 45 MB on the CPU, and
 * the results of the largest picture, up to 1 GiB; as many are kept as once ran at a time, for each
 * prior, device and number of threads. A file that changes is not read again. Thread-safe; destroy
 * it after the recoveries that use it. */
typedef struct csrec_priors csrec_priors;
CSREC_API csrec_status csrec_priors_create(csrec_priors **priors, csrec_error *error);
CSREC_API void csrec_priors_destroy(csrec_priors *priors);

#ifdef __cplusplus
}
#endif
#endif
