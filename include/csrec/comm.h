/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec/comm.h - communicators: processes, on one machine or many, that recover together. */
#ifndef CSREC_COMM_H
#define CSREC_COMM_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a message library provides. A communicator calls it from one thread at a time. Messages from
 * one process to another arrive in the order in which they were sent. csrec_mpi.h provides it by
 * MPI.
 */
typedef struct csrec_comm_calls {
    void *context;
    int rank, size;             /* this process, and the number of all */
    int local_rank, local_size; /* of those on this machine */
    /* Up to 2^30 bytes, which the caller may change after the return. Does not wait for `to`. */
    csrec_status (*send)(void *context, int to, const void *data, size_t bytes, csrec_error *error);
    /* The next message that has arrived, from any process, into *data, which the caller frees; NULL
     * if there is none. Does not wait. */
    csrec_status (*receive)(void *context, int *from, void **data, size_t *bytes,
                            csrec_error *error);
    /* After the last call, when all have said goodbye; not called if a process has failed and some
     * do not answer for `patience` seconds (0: 10): they are dead or hang. */
    void (*close)(void *context);
    double patience;
} csrec_comm_calls;

/* One process's view of its communicator. One thread at a time may use it. */
typedef struct csrec_comm csrec_comm;

/* Takes the calls, and closes them on failure, too. Compares this library's version with that of
 * the other processes: if they differ, CSREC_UNSUPPORTED on the first process, which is to tell it,
 * and CSREC_STOPPED on the others. */
CSREC_API csrec_status csrec_comm_create(const csrec_comm_calls *calls, csrec_comm **comm,
                                         csrec_error *error);
CSREC_API void csrec_comm_destroy(csrec_comm *comm);

/* If a launcher of MPI (mpirun, mpiexec, srun) started this process as one of several, the
 * communicator of all, through the library libcsrec_mpi, which is loaded for this; else *comm =
 * NULL. CSREC_UNSUPPORTED: there is no such library, or it is for another MPI than the launcher's.
 */
CSREC_API csrec_status csrec_comm_join(csrec_comm **comm, csrec_error *error);

/* Communicators between the threads of one process, such as one a device: each of `size` threads
 * joins with its own rank, which waits for all, and destroys its communicator. The hub must outlive
 * them. */
typedef struct csrec_comm_hub csrec_comm_hub;

CSREC_API csrec_status csrec_comm_hub_create(int size, csrec_comm_hub **hub);
CSREC_API csrec_status csrec_comm_hub_join(csrec_comm_hub *hub, int rank, csrec_comm **comm,
                                           csrec_error *error);
CSREC_API void csrec_comm_hub_destroy(csrec_comm_hub *hub);

/* All of that: runs run() in `size` threads, of which rank 0 is the calling one, each with its
 * communicator; in fewer if threads cannot be started, as csrec_comm_size tells. comm NULL: it
 * could not join, and why. Returns when all have. CSREC_MEMORY: nothing was run. */
typedef void (*csrec_comm_run_fn)(void *context, int rank, csrec_comm *comm,
                                  const csrec_error *why);
CSREC_API csrec_status csrec_comm_hub_run(int size, csrec_comm_run_fn run, void *context);

/* 0 and 1 without a communicator. */
CSREC_API int csrec_comm_rank(const csrec_comm *comm);
CSREC_API int csrec_comm_size(const csrec_comm *comm);
CSREC_API int csrec_comm_local_rank(const csrec_comm *comm);
CSREC_API int csrec_comm_local_size(const csrec_comm *comm);

/* Takes items off `total` common ones, in their order: *first .. *first + *count - 1, at most
 * `most`; *count = 0 once all are taken. Fewer at a time towards the end, so that all processes end
 * together. Process 0 answers in any function of this header, so it must call one often. */
CSREC_API csrec_status csrec_comm_claim(csrec_comm *comm, int64_t total, int64_t most,
                                        int64_t *first, int64_t *count, csrec_error *error);

/* Bytes to a process; tag: which of several, at least 0. */
CSREC_API csrec_status csrec_comm_send(csrec_comm *comm, int to, int tag, const void *data,
                                       size_t bytes, csrec_error *error);
/* Waits for the next message with that tag from `from` (-1: any, and then whose it is). The caller
 * frees *data. */
CSREC_API csrec_status csrec_comm_receive(csrec_comm *comm, int *from, int tag, void **data,
                                          size_t *bytes, csrec_error *error);
/* The same for a message of exactly `bytes` bytes, into `to`: CSREC_DATA if it has more or fewer,
 * as where processes have different arguments. */
CSREC_API csrec_status csrec_comm_take(csrec_comm *comm, int *from, int tag, void *to, size_t bytes,
                                       csrec_error *error);

/* Answers what has arrived. Tells process 0 what share of the common work this process has done, if
 * that changed; *all: on process 0 the sum over all. CSREC_STOPPED, and the line, if a process has
 * failed. */
CSREC_API csrec_status csrec_comm_poll(csrec_comm *comm, double done, double *all,
                                       csrec_error *error);

/* CSREC_STOPPED, and the line, if another process has failed, as far as has been heard. */
CSREC_API csrec_status csrec_comm_failed(const csrec_comm *comm, csrec_error *error);

/* Answers what has arrived; whether csrec_comm_receive would return at once: with a message of that
 * tag, or because a process has failed. */
CSREC_API bool csrec_comm_arrived(csrec_comm *comm, int tag);

/* Tells all others that this process has failed, with one line, which names its machine. */
CSREC_API void csrec_comm_fail(csrec_comm *comm, const char *line);

/* Once told() is true, this process was told to end, and others may be dead: if no message comes
 * for `patience` seconds, they have failed. Called in every wait. */
CSREC_API void csrec_comm_hurry_if(csrec_comm *comm, bool (*told)(void));

/* Waits for all. */
CSREC_API csrec_status csrec_comm_wait(csrec_comm *comm, csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
