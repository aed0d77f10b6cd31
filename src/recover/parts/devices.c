/* SPDX-License-Identifier: BSD-3-Clause */
/* devices.c - one recovery on several devices of this process. */
#include <omp.h>

#include "base/threads.h"
#include "recover/parts/parts.h"

typedef struct crew {
    csrec_device_list *list;
    const csrec_recover_options *options;
    csrec_rank_run run;
    void *job;
    int size;            /* ranks; set by the first */
    bool stopped;        /* atomic */
    csrec_status status; /* of the first failure */
    csrec_error error;
    struct member {
        struct crew *crew;
        int rank;
        int64_t done; /* atomic: of the work that is shared */
    } members[CSREC_DEVICES_MOST];
} crew;

typedef struct member member;

static bool ask_caller(crew *c, const csrec_progress *now) {
    csrec_progress all = *now;
    all.done = 0;
    for (int k = 0; k < c->list->n; k++) {
        int64_t done;
#pragma omp atomic read
        done = c->members[k].done;
        all.done += done;
    }
    if (all.total > 0 && all.done > all.total) all.done = all.total;
    return c->options->solve.progress &&
           c->options->solve.progress(&all, c->options->solve.context);
}

static void stop(crew *c) {
#pragma omp atomic write
    c->stopped = true;
}

/* A csrec_progress_fn of each rank. */
static bool hear(const csrec_progress *now, void *context) {
    member *m = context;
    crew *c = m->crew;
    bool stopped;
#pragma omp atomic write
    m->done = now->done;
#pragma omp atomic read
    stopped = c->stopped;
    if (stopped || m->rank > 0) return stopped;
    if (!ask_caller(c, now)) return false;
    stop(c);
    return true;
}

/* What fails after the first failure fails because of it. */
static void note_failure(crew *c, int rank, csrec_status status, const csrec_error *why) {
    const char *text = csrec_words_of(status, why);
#pragma omp critical(csrec_devices)
    if (!c->status)
        c->status = csrec_fail(&c->error, status, "%s:%d: %s", csrec_device_name(c->list->kind),
                               c->list->ordinal[rank], text);
    stop(c);
}

static csrec_status run_joined(member *m, csrec_comm *comm, int threads, csrec_error *error) {
    crew *c = m->crew;
    csrec_recover_options options = *c->options;
    csrec_context context;
    CSREC_TRY(csrec_context_create_at(c->list, m->rank, &context, error));
    options.comm = comm;
    options.threads = threads;
    options.solve.progress = hear;
    options.solve.context = m;
    csrec_status status = c->run(&context, &options, c->job, error);
    csrec_context_destroy(&context);
    return status;
}

/* A csrec_comm_run_fn. Loops without a number of threads have this rank's share, too. */
static void run_rank(void *context, int rank, csrec_comm *comm, const csrec_error *joined) {
    crew *c = context;
    csrec_error why = *joined;
    const int before = omp_get_max_threads();
    const int share = csrec_threads_wanted(c->options->threads) / csrec_comm_size(comm);
    const int threads = share < 1 ? 1 : share;
    if (rank == 0) c->size = csrec_comm_size(comm);
    omp_set_num_threads(threads);
    csrec_status status = comm ? run_joined(&c->members[rank], comm, threads, &why) : CSREC_MEMORY;
    if (status) note_failure(c, rank, status, &why);
    if (status && comm) csrec_comm_fail(comm, why.text);
    omp_set_num_threads(before);
}

csrec_status csrec_recover_devices(csrec_device_list *list, const csrec_recover_options *options,
                                   csrec_rank_run run, void *job, csrec_error *error) {
    crew c = {.list = list, .options = options, .run = run, .job = job};
    for (int k = 0; k < list->n; k++) c.members[k] = (member){.crew = &c, .rank = k};
    if (csrec_comm_hub_run(list->n, run_rank, &c)) return csrec_memory_fail(error, NULL);
    list->n = c.size;
    return c.status ? csrec_fail(error, c.status, "%s", c.error.text) : CSREC_OK;
}
