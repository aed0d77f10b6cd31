/* gmm.h - the steps of learning a mixture of Gaussians. */
#ifndef CSREC_LEARN_GMM_H
#define CSREC_LEARN_GMM_H

#include "learn/data.h"
#include "learn/em.h"
#include "learn/mixture.h"

typedef struct csrec_em csrec_em;

/* csrec_gmm_learn on a device that is passed down. */
csrec_status csrec_gmm_learn_on(const csrec_context *context, const csrec_data *data,
                                const csrec_learn_options *options, csrec_model **model,
                                bool *stopped, csrec_error *error);

/* The most that csrec_gmm_learn_on has in memory, with data of m rows of d that it holds. */
double csrec_gmm_learn_bytes(int64_t m, int64_t d, int K);

/* Expectation and maximisation steps; the mixture and the context must outlive them. */
csrec_status csrec_em_create(const csrec_context *context, csrec_mixture *mixture,
                             const csrec_em_plan *plan, csrec_em **em, csrec_error *error);
void csrec_em_destroy(csrec_em *em);

/* A round: csrec_em_begin; then csrec_em_take for all rows (the `take` of a csrec_data_pass, whose
 * taker is the csrec_em); then csrec_em_finish, which returns the mean log-likelihood of the rows
 * before the step and updates the mixture, without its factors. */
csrec_status csrec_em_begin(csrec_em *em, csrec_error *error);
csrec_status csrec_em_take(void *em, int64_t first, int64_t count, const float *X,
                           csrec_error *error);
csrec_status csrec_em_finish(csrec_em *em, double *log_likelihood, csrec_error *error);

/* Starting mixtures. k-means++ of some rows of the data. C [d][d] and mean: of all rows. */
csrec_status csrec_gmm_start_kmeans(const csrec_data *data, csrec_call *team, uint64_t seed,
                                    int threads, csrec_mixture *mixture, bool *stopped,
                                    csrec_error *error);
/* Patches [height][width] about `mean`: edges of K - 1 directions with the variance of the data,
 * and cosines whose variance falls with frequency (Yu, Sapiro and Mallat 2012, section IV). */
csrec_status csrec_gmm_start_edges(int height, int width, double mean, double variance,
                                   csrec_mixture *mixture, csrec_error *error);

#endif
