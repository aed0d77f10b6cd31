/* SPDX-License-Identifier: BSD-3-Clause */
/* priors.c - installed priors, and their networks, that are kept between recoveries. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learn/net/prior.h"

enum { PATH_ROOM = 4096 };

typedef struct csrec_prior_model {
    struct csrec_prior_model *next;
    csrec_model *model;
    char path[];
} csrec_prior_model;

/* A network is one thread's at a time, and has the threads, the device and the products of its
 * options. On a device it has a queue of its own, as that of a recovery goes with it. */
typedef struct csrec_prior_net {
    struct csrec_prior_net *next;
    const csrec_model *model;
    csrec_net *net;
    csrec_context context;
    int threads;
    bool fast, busy;
} csrec_prior_net;

struct csrec_priors {
    pthread_mutex_t lock;
    csrec_prior_model *models;
    csrec_prior_net *nets;
};

csrec_status csrec_priors_create(csrec_priors **priors, csrec_error *error) {
    csrec_priors *made = calloc(1, sizeof *made);
    if (!made) return csrec_memory_fail(error, NULL);
    pthread_mutex_init(&made->lock, NULL);
    *priors = made;
    return CSREC_OK;
}

static void destroy_net(csrec_prior_net *n) {
    if (n->net) csrec_net_destroy(n->net);
    if (n->net) csrec_context_destroy(&n->context);
    free(n);
}

void csrec_priors_destroy(csrec_priors *priors) {
    if (!priors) return;
    for (csrec_prior_net *n = priors->nets, *next; n; n = next) {
        next = n->next;
        destroy_net(n);
    }
    for (csrec_prior_model *m = priors->models, *next; m; m = next) {
        next = m->next;
        csrec_model_destroy(m->model);
        free(m);
    }
    pthread_mutex_destroy(&priors->lock);
    free(priors);
}

/* Of the priors that are locked; by its path, as the environment may name another folder. */
static csrec_status find_model(csrec_priors *priors, int64_t channels, const csrec_model **model,
                               csrec_error *error) {
    char path[PATH_ROOM];
    (void)csrec_prior_installed(channels, sizeof path, path);
    csrec_prior_model *m = priors->models;
    while (m && strcmp(m->path, path) != 0) m = m->next;
    if (m) {
        *model = m->model;
        return CSREC_OK;
    }
    m = malloc(sizeof *m + strlen(path) + 1);
    if (!m) return csrec_memory_fail(error, NULL);
    const csrec_status status = csrec_prior_find(channels, &m->model, error);
    if (status) {
        free(m);
        return status;
    }
    strcpy(m->path, path);
    m->next = priors->models;
    priors->models = m;
    *model = m->model;
    return CSREC_OK;
}

csrec_status csrec_prior_begin(const csrec_prior_from *from, int64_t channels, csrec_prior_use *use,
                               csrec_error *error) {
    *use = (csrec_prior_use){.model = from->model};
    if (from->model) return CSREC_OK;
    csrec_status status;
    if (from->kept) {
        use->kept = from->kept;
        pthread_mutex_lock(&use->kept->lock);
        status = find_model(use->kept, channels, &use->model, error);
        pthread_mutex_unlock(&use->kept->lock);
        return status;
    }
    status = csrec_prior_find(channels, &use->own, error);
    use->model = use->own;
    return status;
}

/* One that suits and is not in use, or a new one without a network. */
static csrec_prior_net *take_net(const csrec_prior_use *use, const csrec_context *context,
                                 const csrec_net_options *options) {
    pthread_mutex_lock(&use->kept->lock);
    csrec_prior_net *n = use->kept->nets;
    while (n && (n->busy || n->model != use->model || n->context.kind != context->kind ||
                 n->context.ordinal != context->ordinal || n->threads != options->threads ||
                 n->fast != options->fast))
        n = n->next;
    if (!n && (n = calloc(1, sizeof *n))) {
        n->model = use->model;
        n->context = *context;
        n->threads = options->threads;
        n->fast = options->fast;
        n->next = use->kept->nets;
        use->kept->nets = n;
    }
    if (n) n->busy = true;
    pthread_mutex_unlock(&use->kept->lock);
    return n;
}

static csrec_status start_net(csrec_prior_net *n, int64_t planes, const csrec_net_options *options,
                              csrec_error *error) {
    const csrec_device_list list = {n->context.kind, 1, {n->context.ordinal}};
    csrec_context own;
    CSREC_TRY(csrec_context_create_at(&list, 0, &own, error));
    csrec_status status = csrec_prior_create(n->model, planes, &own, options, &n->net, error);
    return CSREC_SETTLE(status, csrec_context_destroy(&own), n->context = own);
}

csrec_status csrec_prior_start(csrec_prior_use *use, int64_t planes, const csrec_context *context,
                               const csrec_net_options *options, csrec_error *error) {
    if (!use->kept)
        return csrec_prior_create(use->model, planes, context, options, &use->net, error);
    use->of = take_net(use, context, options);
    if (!use->of) return csrec_memory_fail(error, NULL);
    csrec_status status = use->of->net ? CSREC_OK : start_net(use->of, planes, options, error);
    use->net = use->of->net;
    return status;
}

/* Gives it back, or takes it from the list. */
static void give_net(csrec_priors *priors, csrec_prior_net *n) {
    const bool keeps = n->net && n->net->steps == 0;
    csrec_prior_net **at = &priors->nets;
    pthread_mutex_lock(&priors->lock);
    while (*at != n) at = &(*at)->next;
    if (!keeps) *at = n->next;
    n->busy = false;
    pthread_mutex_unlock(&priors->lock);
    if (!keeps) destroy_net(n);
}

void csrec_prior_end(csrec_prior_use *use) {
    if (use->of)
        give_net(use->kept, use->of);
    else
        csrec_net_destroy(use->net);
    csrec_model_destroy(use->own);
    *use = (csrec_prior_use){.net = NULL};
}
