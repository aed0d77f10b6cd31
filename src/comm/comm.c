/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c - what a communicator does with messages: shares items, waits, and passes failures on. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/error.h"
#include "csrec/comm.h"

/* Kinds of messages; those of csrec_comm_send have their tag, at least 0. */
enum { HELLO = -1, CLAIM = -2, ITEMS = -3, DONE = -4, FAIL = -5, READY = -6, GO = -7, BYE = -8 };

enum { VERSION = 32, MOST = 1 << 30, PATIENCE = 10 };

/* Two numbers go with most kinds. */
typedef struct head {
    int64_t kind, a, b;
} head;

typedef struct message {
    struct message *next;
    int from;
    size_t bytes; /* after the head */
    void *data;   /* the head, then the bytes */
} message;

struct csrec_comm {
    csrec_comm_calls calls;
    message *inbox, **end; /* arrived, and not yet received */
    int64_t next;          /* item, on process 0 */
    double done, *part;    /* part: [size] on process 0 */
    int byes;
    bool gave_up;          /* this process has failed */
    bool (*told)(void);    /* csrec_comm_hurry_if */
    bool hurried;          /* it was */
    struct timespec heard; /* since then: when a message came last */
    csrec_status failed;
    csrec_error failure;
};

static csrec_status post(csrec_comm *t, int to, head h, const void *data, size_t bytes,
                         csrec_error *error) {
    if (bytes == 0) return t->calls.send(t->calls.context, to, &h, sizeof h, error);
    char *both = malloc(sizeof h + bytes);
    if (!both) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    memcpy(both, &h, sizeof h);
    csrec_copy(both + sizeof h, data, bytes);
    csrec_status status = t->calls.send(t->calls.context, to, both, sizeof h + bytes, error);
    free(both);
    return status;
}

static csrec_status post_all(csrec_comm *t, head h, const void *data, size_t bytes,
                             csrec_error *error) {
    for (int to = 0; to < t->calls.size; to++)
        if (to != t->calls.rank) CSREC_TRY(post(t, to, h, data, bytes, error));
    return CSREC_OK;
}

/* Items for one claim: an eighth of equal shares of what is left, so that the last are small. */
static head take_items(csrec_comm *t, int64_t total, int64_t most) {
    int64_t left = total - t->next, share = left / (8 * t->calls.size);
    int64_t count = share < 1 ? 1 : share;
    if (count > most) count = most;
    if (count > left) count = left;
    head items = {ITEMS, t->next, count};
    t->next += count;
    return items;
}

static void drop(message *m) {
    free(m->data);
    free(m);
}

/* Answers a message, or keeps it for whoever waits for it. */
static csrec_status answer(csrec_comm *t, message *m, csrec_error *error) {
    const head *h = m->data;
    csrec_status status = CSREC_OK;
    switch (h->kind) {
    case CLAIM:
        status = post(t, m->from, take_items(t, h->a, h->b), NULL, 0, error);
        break;
    case DONE:
        memcpy(&t->part[m->from], &h->a, sizeof *t->part);
        break;
    case FAIL:
        if (!t->failed)
            t->failed = csrec_fail(&t->failure, CSREC_STOPPED, "%.*s", (int)m->bytes,
                                   (const char *)(h + 1));
        break;
    case BYE:
        t->byes++;
        break;
    default:
        m->next = NULL;
        *t->end = m;
        t->end = &m->next;
        return CSREC_OK;
    }
    drop(m);
    return status;
}

static bool is_later(const struct timespec *start, double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec) >
           seconds;
}

static double patience(const csrec_comm *t) {
    return t->calls.patience > 0.0 ? t->calls.patience : PATIENCE;
}

/* After this process was told to end, others that do not answer for long have failed. */
static void note_silence(csrec_comm *t, bool any) {
    if (!t->hurried || any) clock_gettime(CLOCK_MONOTONIC, &t->heard);
    t->hurried = true;
    if (t->failed || !is_later(&t->heard, patience(t))) return;
    t->failed = CSREC_STOPPED;
    snprintf(t->failure.text, sizeof t->failure.text, "other processes have not answered for %g s",
             patience(t));
}

/* Takes in what has arrived; *any: whether something had. */
static csrec_status take_in(csrec_comm *t, bool *any, csrec_error *error) {
    csrec_status status = CSREC_OK;
    *any = false;
    while (!status) {
        void *data = NULL;
        int from = 0;
        size_t bytes = 0;
        status = t->calls.receive(t->calls.context, &from, &data, &bytes, error);
        if (status || !data) break;
        message *m = bytes < sizeof(head) ? NULL : malloc(sizeof *m);
        if (!m) {
            free(data);
            return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
        }
        *m = (message){.from = from, .bytes = bytes - sizeof(head), .data = data};
        *any = true;
        status = answer(t, m, error);
    }
    if (t->told && t->told()) note_silence(t, *any);
    return status;
}

/* The first kept message of that kind from that process (-1: any); *NULL: there is none. */
static message **look(csrec_comm *t, int from, int64_t kind) {
    message **m = &t->inbox;
    while (*m && (((const head *)(*m)->data)->kind != kind || (from >= 0 && (*m)->from != from)))
        m = &(*m)->next;
    return m;
}

/* That message, taken out. */
static message *find(csrec_comm *t, int from, int64_t kind) {
    message **m = look(t, from, kind), *found = *m;
    if (!found) return NULL;
    *m = found->next;
    if (!*m) t->end = m;
    return found;
}

/* Spins for about a tenth of a millisecond, as pursuits wait for short messages; then sleeps. */
static void pause_after(int64_t rounds) {
    static const struct timespec nap = {.tv_nsec = 200000};
    if (rounds < 100)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* What arrived before the word of a failure is still delivered. */
static csrec_status wait_for(csrec_comm *t, int from, int64_t kind, message **m,
                             csrec_error *error) {
    csrec_status status = CSREC_OK;
    for (int64_t rounds = 0; !status && !(*m = find(t, from, kind)); rounds++) {
        bool any;
        if (t->failed) return csrec_fail(error, t->failed, "%s", t->failure.text);
        status = take_in(t, &any, error);
        if (any) rounds = 0;
        if (!any && !status) pause_after(rounds);
    }
    return status;
}

static csrec_status compare_versions(csrec_comm *t, csrec_error *error) {
    char mine[VERSION] = "";
    snprintf(mine, sizeof mine, "%s", csrec_version());
    csrec_status status = post_all(t, (head){.kind = HELLO}, mine, sizeof mine, error);
    for (int from = 0; from < t->calls.size && !status; from++) {
        message *m;
        if (from == t->calls.rank) continue;
        status = wait_for(t, from, HELLO, &m, error);
        if (status) break;
        const char *theirs = (const char *)((const head *)m->data + 1);
        if (m->bytes != sizeof mine || memcmp(theirs, mine, sizeof mine) != 0)
            status = csrec_fail(error, CSREC_UNSUPPORTED,
                                "process %d has version %.*s and process %d version %s; install "
                                "the same on all machines",
                                from, (int)m->bytes, theirs, t->calls.rank, mine);
        drop(m);
    }
    if (t->failed)
        return CSREC_OK; /* some began and failed before all have come: the next call tells */
    return status == CSREC_UNSUPPORTED && t->calls.rank > 0 ? CSREC_STOPPED : status;
}

csrec_status csrec_comm_create(const csrec_comm_calls *calls, csrec_comm **comm,
                               csrec_error *error) {
    csrec_comm *t = calloc(1, sizeof *t);
    double *part = calloc((size_t)calls->size, sizeof *part);
    if (!t || !part) {
        free(t);
        free(part);
        calls->close(calls->context);
        return csrec_memory_fail(error, NULL);
    }
    *t = (csrec_comm){.calls = *calls, .part = part};
    t->end = &t->inbox;
    csrec_status status = compare_versions(t, error);
    return CSREC_SETTLE(status, csrec_comm_destroy(t), *comm = t);
}

/* Until all have said goodbye: then every message has been received. After a failure others may be
 * dead or hang: false then, after a while. */
static bool part_from_all(csrec_comm *t) {
    bool any;
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    csrec_status status = post_all(t, (head){.kind = BYE}, NULL, 0, NULL);
    for (int64_t rounds = 0; !status && t->byes < t->calls.size - 1; rounds++) {
        status = take_in(t, &any, NULL);
        if (!any) pause_after(rounds);
        if ((t->failed || t->gave_up) && is_later(&start, patience(t))) return false;
    }
    return true;
}

/* Closing a message library waits for the others: if they do not answer, the launcher ends them
 * when this process ends. */
void csrec_comm_destroy(csrec_comm *t) {
    if (!t) return;
    bool all = part_from_all(t);
    while (t->inbox) {
        message *m = t->inbox;
        t->inbox = m->next;
        drop(m);
    }
    if (all) t->calls.close(t->calls.context);
    free(t->part);
    free(t);
}

int csrec_comm_rank(const csrec_comm *t) {
    return t ? t->calls.rank : 0;
}

int csrec_comm_size(const csrec_comm *t) {
    return t ? t->calls.size : 1;
}

int csrec_comm_local_rank(const csrec_comm *t) {
    return t ? t->calls.local_rank : 0;
}

int csrec_comm_local_size(const csrec_comm *t) {
    return t ? t->calls.local_size : 1;
}

csrec_status csrec_comm_claim(csrec_comm *t, int64_t total, int64_t most, int64_t *first,
                              int64_t *count, csrec_error *error) {
    head items = {0};
    bool any;
    csrec_status status = take_in(t, &any, error);
    if (!status && t->failed) status = csrec_fail(error, t->failed, "%s", t->failure.text);
    if (!status && t->calls.rank == 0) items = take_items(t, total, most);
    if (!status && t->calls.rank > 0) {
        message *m;
        status = post(t, 0, (head){CLAIM, total, most}, NULL, 0, error);
        if (!status) status = wait_for(t, 0, ITEMS, &m, error);
        if (!status) {
            items = *(const head *)m->data;
            drop(m);
        }
    }
    if (status) return status;
    *first = items.a;
    *count = items.b;
    return CSREC_OK;
}

csrec_status csrec_comm_send(csrec_comm *t, int to, int tag, const void *data, size_t bytes,
                             csrec_error *error) {
    if (to < 0 || to >= t->calls.size || tag < 0 || bytes > MOST - sizeof(head))
        return csrec_fail(error, CSREC_ARGUMENT,
                          "a message of %zu bytes with tag %d to process %d; there are %d, tags "
                          "are at least 0, and bytes fewer than 2^30",
                          bytes, tag, to, t->calls.size);
    return post(t, to, (head){.kind = tag}, data, bytes, error);
}

csrec_status csrec_comm_receive(csrec_comm *t, int *from, int tag, void **data, size_t *bytes,
                                csrec_error *error) {
    message *m;
    CSREC_TRY(wait_for(t, *from, tag, &m, error));
    *from = m->from;
    *bytes = m->bytes;
    memmove(m->data, (const head *)m->data + 1, m->bytes);
    *data = m->data;
    free(m);
    return CSREC_OK;
}

csrec_status csrec_comm_take(csrec_comm *t, int *from, int tag, void *to, size_t bytes,
                             csrec_error *error) {
    void *data;
    size_t arrived;
    csrec_status status = csrec_comm_receive(t, from, tag, &data, &arrived, error);
    if (status) return status;
    if (arrived == bytes && bytes > 0) csrec_copy(to, data, bytes);
    if (arrived != bytes)
        status = csrec_fail(error, CSREC_DATA,
                            "process %d sent %zu bytes where %zu were expected; give all "
                            "processes the same arguments",
                            *from, arrived, bytes);
    free(data);
    return status;
}

csrec_status csrec_comm_poll(csrec_comm *t, double done, double *all, csrec_error *error) {
    bool any;
    csrec_status status = CSREC_OK;
    if (done != t->done && t->calls.rank > 0) {
        head h = {.kind = DONE};
        memcpy(&h.a, &done, sizeof h.a);
        status = post(t, 0, h, NULL, 0, error);
    }
    t->done = t->part[t->calls.rank] = done;
    if (!status) status = take_in(t, &any, error);
    if (!status && t->failed) status = csrec_fail(error, t->failed, "%s", t->failure.text);
    *all = 0.0;
    for (int k = 0; k < t->calls.size; k++) *all += t->part[k];
    return status;
}

csrec_status csrec_comm_failed(const csrec_comm *t, csrec_error *error) {
    if (!t || !t->failed) return CSREC_OK;
    return csrec_fail(error, t->failed, "%s", t->failure.text);
}

bool csrec_comm_arrived(csrec_comm *t, int tag) {
    bool any;
    return take_in(t, &any, NULL) || t->failed || *look(t, -1, tag);
}

void csrec_comm_fail(csrec_comm *t, const char *line) {
    char host[256] = "", text[512];
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "%.100s, process %d: %.380s", host, t->calls.rank, line);
    t->gave_up = true;
    post_all(t, (head){.kind = FAIL}, text, strlen(text), NULL);
}

void csrec_comm_hurry_if(csrec_comm *t, bool (*told)(void)) {
    if (t) t->told = told;
}

csrec_status csrec_comm_wait(csrec_comm *t, csrec_error *error) {
    message *m;
    csrec_status status = CSREC_OK;
    if (t->calls.rank > 0) {
        status = post(t, 0, (head){.kind = READY}, NULL, 0, error);
        if (!status) status = wait_for(t, 0, GO, &m, error);
        if (!status) drop(m);
        return status;
    }
    for (int from = 1; from < t->calls.size && !status; from++) {
        status = wait_for(t, from, READY, &m, error);
        if (!status) drop(m);
    }
    return status ? status : post_all(t, (head){.kind = GO}, NULL, 0, error);
}
