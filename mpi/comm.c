/* SPDX-License-Identifier: BSD-3-Clause */
/* comm.c - the calls of a communicator by MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csrec_mpi.h"

typedef struct sent {
    struct sent *next;
    MPI_Request request;
    char data[];
} sent;

typedef struct world {
    MPI_Comm comm;
    sent *sent;    /* not known to have left yet */
    bool finalize; /* MPI was initialised for this one */
} world;

static csrec_status check(int code, csrec_error *error) {
    if (code == MPI_SUCCESS) return CSREC_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    if (error) snprintf(error->text, sizeof error->text, "MPI: %.400s", text);
    return CSREC_DEVICE;
}

static csrec_status no_memory(csrec_error *error) {
    if (error) snprintf(error->text, sizeof error->text, "out of memory for a message");
    return CSREC_MEMORY;
}

/* ------------------------------------------------------------------ messages ------------------ */

/* Frees what has left; with `wait` all. */
static csrec_status forget(world *w, bool wait, csrec_error *error) {
    for (sent **s = &w->sent; *s;) {
        int left = 0;
        int code = wait ? MPI_Wait(&(*s)->request, MPI_STATUS_IGNORE)
                        : MPI_Test(&(*s)->request, &left, MPI_STATUS_IGNORE);
        if (code) return check(code, error);
        if (!left && !wait) {
            s = &(*s)->next;
            continue;
        }
        sent *done = *s;
        *s = done->next;
        free(done);
    }
    return CSREC_OK;
}

static csrec_status send(void *context, int to, const void *data, size_t bytes,
                         csrec_error *error) {
    world *w = context;
    csrec_status status = forget(w, false, error);
    sent *s = status ? NULL : malloc(sizeof *s + bytes);
    if (!s) return status ? status : no_memory(error);
    memcpy(s->data, data, bytes);
    status = check(MPI_Isend(s->data, (int)bytes, MPI_BYTE, to, 0, w->comm, &s->request), error);
    if (status) {
        free(s);
        return status;
    }
    s->next = w->sent;
    w->sent = s;
    return CSREC_OK;
}

static csrec_status receive(void *context, int *from, void **data, size_t *bytes,
                            csrec_error *error) {
    world *w = context;
    int arrived = 0, count = 0;
    MPI_Message message;
    MPI_Status about;
    *data = NULL;
    csrec_status status =
        check(MPI_Improbe(MPI_ANY_SOURCE, 0, w->comm, &arrived, &message, &about), error);
    if (status || !arrived) return status;
    MPI_Get_count(&about, MPI_BYTE, &count);
    void *room = malloc((size_t)count + 1);
    if (!room) return no_memory(error);
    status = check(MPI_Mrecv(room, count, MPI_BYTE, &message, &about), error);
    if (status) {
        free(room);
        return status;
    }
    *from = about.MPI_SOURCE;
    *bytes = (size_t)count;
    *data = room;
    return CSREC_OK;
}

/* ------------------------------------------------------------------ begin and end ------------- */

static void close_world(void *context) {
    world *w = context;
    bool finalize = w->finalize;
    forget(w, true, NULL);
    if (w->comm != MPI_COMM_NULL) MPI_Comm_free(&w->comm);
    free(w);
    if (finalize) MPI_Finalize();
}

static csrec_status count_local(MPI_Comm all, csrec_comm_calls *calls, csrec_error *error) {
    MPI_Comm local;
    csrec_status status =
        check(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local), error);
    if (status) return status;
    MPI_Comm_rank(local, &calls->local_rank);
    MPI_Comm_size(local, &calls->local_size);
    MPI_Comm_free(&local);
    return CSREC_OK;
}

static csrec_status create(MPI_Comm processes, bool finalize, csrec_comm **comm,
                           csrec_error *error) {
    world *w = calloc(1, sizeof *w);
    if (!w) return no_memory(error);
    *w = (world){.comm = MPI_COMM_NULL, .finalize = finalize};
    csrec_comm_calls calls = {.context = w, .send = send, .receive = receive, .close = close_world};
    csrec_status status = check(MPI_Comm_dup(processes, &w->comm), error);
    if (!status) status = check(MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN), error);
    if (!status) status = count_local(w->comm, &calls, error);
    if (status) {
        close_world(w);
        return status;
    }
    MPI_Comm_rank(w->comm, &calls.rank);
    MPI_Comm_size(w->comm, &calls.size);
    return csrec_comm_create(&calls, comm, error);
}

csrec_status csrec_mpi_comm_create(MPI_Comm processes, csrec_comm **comm, csrec_error *error) {
    return create(processes, false, comm, error);
}

/* What csrec_comm_join calls: the communicator of all processes that the launcher started. */
CSREC_API csrec_status csrec_mpi_join(csrec_comm **comm, csrec_error *error);

csrec_status csrec_mpi_join(csrec_comm **comm, csrec_error *error) {
    int initialized = 0, provided = 0;
    MPI_Initialized(&initialized);
    csrec_status status =
        initialized ? CSREC_OK
                    : check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), error);
    return status ? status : create(MPI_COMM_WORLD, !initialized, comm, error);
}
