/* fit.h - a network that is fitted further to the samples of one picture. */
#ifndef CSREC_LEARN_NET_FIT_H
#define CSREC_LEARN_NET_FIT_H

#include "learn/net/prior.h"

typedef struct csrec_fit_options {
    int64_t steps;
    int copies;     /* parts of the picture in a step */
    int side;       /* of a part, in pixels, at most; a multiple of 32 */
    double rate;    /* of Adam */
    double seconds; /* at most; 0: no limit */
    uint64_t seed;
    int threads; /* at least 1; the result does not depend on it */
} csrec_fit_options;

/* Each step shows the network a random share of the samples of parts of the picture, flipped and
 * turned, and takes a step of Adam on the mean squared error of the others; only samples are used.
 * The network then has the mean of the weights of the last steps. Stops early, with the weights so
 * far, if the team is stopped or the time is over; *done steps were taken. */
csrec_status csrec_net_fit(csrec_net *net, const csrec_prior_samples *samples,
                           const csrec_fit_options *options, csrec_call *team, int64_t *done,
                           csrec_error *error);

#endif
