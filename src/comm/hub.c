/* SPDX-License-Identifier: BSD-3-Clause */
/* hub.c - communicators between the threads of one process: a queue of messages for each. */
#include <pthread.h>
#include <stdlib.h>

#include "base/copy.h"
#include "base/error.h"
#include "csrec/comm.h"

typedef struct letter {
    struct letter *next;
    int from;
    size_t bytes;
    void *data;
} letter;

typedef struct queue {
    letter *first, **end;
    struct csrec_comm_hub *hub;
    int rank;
} queue;

struct csrec_comm_hub {
    pthread_mutex_t lock; /* protects all below */
    int size, closed;
    queue queue[];
};

static csrec_status hub_send(void *context, int to, const void *data, size_t bytes,
                             csrec_error *error) {
    queue *own = context, *q = &own->hub->queue[to];
    letter *one = malloc(sizeof *one);
    void *copy = malloc(bytes > 0 ? bytes : 1);
    if (!one || !copy) {
        free(one);
        free(copy);
        return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    }
    csrec_copy(copy, data, bytes);
    *one = (letter){.from = own->rank, .bytes = bytes, .data = copy};
    pthread_mutex_lock(&own->hub->lock);
    *q->end = one;
    q->end = &one->next;
    pthread_mutex_unlock(&own->hub->lock);
    return CSREC_OK;
}

/* A communicator closes after all have said goodbye, or because it could not be made: then nothing
 * more arrives from it, and others must not wait. */
static csrec_status hub_receive(void *context, int *from, void **data, size_t *bytes,
                                csrec_error *error) {
    queue *q = context;
    pthread_mutex_lock(&q->hub->lock);
    letter *one = q->first;
    bool over = q->hub->closed > 0;
    if (one) q->first = one->next;
    if (!q->first) q->end = &q->first;
    pthread_mutex_unlock(&q->hub->lock);
    *data = NULL;
    if (!one) return over ? csrec_fail(error, CSREC_STOPPED, "another thread ended") : CSREC_OK;
    *from = one->from;
    *bytes = one->bytes;
    *data = one->data;
    free(one);
    return CSREC_OK;
}

static void hub_close(void *context) {
    queue *q = context;
    pthread_mutex_lock(&q->hub->lock);
    q->hub->closed++;
    pthread_mutex_unlock(&q->hub->lock);
}

csrec_status csrec_comm_hub_create(int size, csrec_comm_hub **hub) {
    if (size < 1) return CSREC_ARGUMENT;
    csrec_comm_hub *h = calloc(1, sizeof *h + (size_t)size * sizeof *h->queue);
    if (!h) return CSREC_MEMORY;
    h->size = size;
    pthread_mutex_init(&h->lock, NULL);
    for (int k = 0; k < size; k++)
        h->queue[k] = (queue){.end = &h->queue[k].first, .hub = h, .rank = k};
    *hub = h;
    return CSREC_OK;
}

csrec_status csrec_comm_hub_join(csrec_comm_hub *hub, int rank, csrec_comm **comm,
                                 csrec_error *error) {
    if (rank < 0 || rank >= hub->size)
        return csrec_fail(error, CSREC_ARGUMENT, "thread %d of %d", rank, hub->size);
    csrec_comm_calls calls = {.context = &hub->queue[rank],
                              .rank = rank,
                              .size = hub->size,
                              .local_rank = rank,
                              .local_size = hub->size,
                              .send = hub_send,
                              .receive = hub_receive,
                              .close = hub_close};
    return csrec_comm_create(&calls, comm, error);
}

void csrec_comm_hub_destroy(csrec_comm_hub *hub) {
    if (!hub) return;
    for (int k = 0; k < hub->size; k++)
        for (letter *one = hub->queue[k].first; one;) {
            letter *next = one->next;
            free(one->data);
            free(one);
            one = next;
        }
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

typedef struct group {
    csrec_comm_run_fn run;
    void *context;
    csrec_comm_hub *hub;
    pthread_mutex_t gate; /* held until all threads have started */
    int size;             /* 0: nothing is run */
} group;

typedef struct member {
    group *g;
    int rank;
    pthread_t thread;
} member;

static void *run_member(void *data) {
    const member *m = data;
    group *g = m->g;
    csrec_comm *comm = NULL;
    csrec_error why = {""};
    pthread_mutex_lock(&g->gate);
    pthread_mutex_unlock(&g->gate);
    if (m->rank >= g->size) return NULL;
    if (csrec_comm_hub_join(g->hub, m->rank, &comm, &why)) comm = NULL;
    g->run(g->context, m->rank, comm, &why);
    csrec_comm_destroy(comm);
    return NULL;
}

csrec_status csrec_comm_hub_run(int size, csrec_comm_run_fn run, void *context) {
    group g = {.run = run, .context = context};
    int started = 1;
    member *members = size < 1 ? NULL : calloc((size_t)size, sizeof *members);
    if (!members) return size < 1 ? CSREC_ARGUMENT : CSREC_MEMORY;
    pthread_mutex_init(&g.gate, NULL);
    pthread_mutex_lock(&g.gate);
    for (int k = 0; k < size; k++) members[k] = (member){.g = &g, .rank = k};
    while (started < size &&
           !pthread_create(&members[started].thread, NULL, run_member, &members[started]))
        started++;
    csrec_status status = csrec_comm_hub_create(started, &g.hub);
    if (!status) g.size = started;
    pthread_mutex_unlock(&g.gate);
    run_member(&members[0]);
    for (int k = 1; k < started; k++) pthread_join(members[k].thread, NULL);
    csrec_comm_hub_destroy(g.hub);
    pthread_mutex_destroy(&g.gate);
    free(members);
    return status;
}
