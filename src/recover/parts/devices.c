/* devices.c - one recovery on several devices of this process. */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/threads.h"
#include "recover/parts/parts.h"

/* One device's thread. */
typedef struct member {
    struct crew *crew;
    int rank;
    pthread_t thread;
    int64_t done; /* atomic: of the work that is shared */
} member;

typedef struct crew {
    csrec_device_list *list;
    const csrec_recover_options *options;
    csrec_rank_run run;
    void *job;
    member *members;
    csrec_comm_hub *hub;
    int size;             /* 0: nothing is run */
    int threads;          /* of each */
    bool stopped;         /* atomic */
    pthread_mutex_t lock; /* protects the fields below; held until all threads have started */
    csrec_status status;  /* of the first failure */
    csrec_error error;
} crew;

/* ------------------------------------------------------------------ progress ------------------ */

static bool ask_caller(crew *c, const csrec_progress *now) {
    csrec_progress all = *now;
    all.done = 0;
    for (int k = 0; k < c->size; k++) {
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

/* ------------------------------------------------------------------ one rank ------------------ */

/* What fails after the first failure fails because of it. */
static void note_failure(crew *c, int rank, csrec_status status, const csrec_error *why) {
    const char *text = why->text[0] ? why->text : csrec_status_text(status);
    pthread_mutex_lock(&c->lock);
    if (!c->status)
        c->status = csrec_fail(&c->error, status, "%s:%d: %s", csrec_device_name(c->list->kind),
                               c->list->ordinal[rank], text);
    pthread_mutex_unlock(&c->lock);
    stop(c);
}

static csrec_status run_joined(member *m, csrec_comm *comm, csrec_error *error) {
    crew *c = m->crew;
    csrec_recover_options options = *c->options;
    csrec_context context;
    csrec_status status = csrec_context_create_at(c->list, m->rank, &context, error);
    if (status) return status;
    options.comm = comm;
    options.threads = c->threads;
    options.solve.progress = hear;
    options.solve.context = m;
    status = c->run(&context, &options, c->job, error);
    csrec_context_destroy(&context);
    return status;
}

/* Loops without a number of threads of their own have this rank's share, too. */
static void run_rank(member *m) {
    crew *c = m->crew;
    csrec_error why = {{0}};
    csrec_comm *comm = NULL;
    int before = omp_get_max_threads();
    omp_set_num_threads(c->threads);
    csrec_status status = csrec_comm_hub_join(c->hub, m->rank, &comm, &why);
    if (!status) status = run_joined(m, comm, &why);
    if (status) note_failure(c, m->rank, status, &why);
    if (status && comm) csrec_comm_fail(comm, why.text);
    csrec_comm_destroy(comm);
    omp_set_num_threads(before);
}

static void *start(void *data) {
    member *m = data;
    pthread_mutex_lock(&m->crew->lock);
    pthread_mutex_unlock(&m->crew->lock);
    if (m->rank < m->crew->size) run_rank(m);
    return NULL;
}

/* ------------------------------------------------------------------ all ----------------------- */

/* The threads wait for the lock until the number of ranks is known. */
static csrec_status run_crew(crew *c, csrec_error *error) {
    int started = 1;
    csrec_status status = CSREC_OK;
    pthread_mutex_lock(&c->lock);
    for (int k = 0; k < c->list->n; k++) c->members[k] = (member){.crew = c, .rank = k};
    while (started < c->list->n &&
           !pthread_create(&c->members[started].thread, NULL, start, &c->members[started]))
        started++;
    status = csrec_comm_hub_create(started, &c->hub);
    if (!status) c->size = c->list->n = started;
    c->threads = csrec_threads_wanted(c->options->threads) / started;
    if (c->threads < 1) c->threads = 1;
    pthread_mutex_unlock(&c->lock);
    if (!status) run_rank(&c->members[0]);
    for (int k = 1; k < started; k++) pthread_join(c->members[k].thread, NULL);
    csrec_comm_hub_destroy(c->hub);
    if (status) return csrec_fail(error, status, "out of memory");
    return c->status ? csrec_fail(error, c->status, "%s", c->error.text) : CSREC_OK;
}

csrec_status csrec_recover_devices(csrec_device_list *list, const csrec_recover_options *options,
                                   csrec_rank_run run, void *job, csrec_error *error) {
    crew c = {.list = list, .options = options, .run = run, .job = job};
    c.members = calloc((size_t)list->n, sizeof *c.members);
    if (!c.members) return csrec_fail(error, CSREC_MEMORY, "out of memory");
    pthread_mutex_init(&c.lock, NULL);
    csrec_status status = run_crew(&c, error);
    pthread_mutex_destroy(&c.lock);
    free(c.members);
    return status;
}
