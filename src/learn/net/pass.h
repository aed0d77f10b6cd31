/* pass.h - passes of a learned prior's network over a picture, flipped and turned. */
#ifndef CSREC_LEARN_NET_PASS_H
#define CSREC_LEARN_NET_PASS_H

#include "base/call.h"
#include "base/store.h"
#include "learn/net/prior.h"

/* The network, and memory for pictures of one size. */
typedef struct csrec_prior_pass {
    csrec_model *found; /* the installed prior, or NULL */
    csrec_net *net;
    int channels; /* of the network */
    int64_t height, width, multiple;
    float *turned, *work, *planes, *out;
    uint8_t *known;
    csrec_store store; /* of these arrays */
} csrec_prior_pass;

/* model NULL: the installed prior for so many channels, 1 or 3. A model for 1 channel serves any
 * number, one by one. May be cleared after a failure, too. CSREC_DATA: a model for other channels;
 * CSREC_FILE, CSREC_MEMORY. */
csrec_status csrec_prior_pass_create(const csrec_model *model, int64_t channels, bool together,
                                     const csrec_context *context, const csrec_net_options *options,
                                     int64_t height, int64_t width, csrec_prior_pass *pass,
                                     csrec_error *error);
void csrec_prior_pass_clear(csrec_prior_pass *pass);

/* Adds what the network makes of the samples, of pass->channels channels, seen flipped and turned
 * by `turn`, 0 to 7, to result [channels][height][width]; and to squares, if not NULL, the squared
 * errors that it expects. Stopped by the team, it adds the spread samples. */
csrec_status csrec_prior_pass_add(csrec_prior_pass *pass, const csrec_prior_samples *samples,
                                  int turn, csrec_call *team, float *result, float *squares,
                                  csrec_error *error);

#endif
