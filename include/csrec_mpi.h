/* SPDX-License-Identifier: BSD-3-Clause */
/* csrec_mpi.h - communicators of MPI processes: the header of libcsrec_mpi. */
#ifndef CSREC_MPI_H
#define CSREC_MPI_H

#include <mpi.h>

#include "csrec/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The processes of an MPI communicator, which all of them call. MPI must be initialised and
 * outlive it. It has its own duplicate of that communicator, so its messages meet no others. */
CSREC_API csrec_status csrec_mpi_comm_create(MPI_Comm processes, csrec_comm **comm,
                                             csrec_error *error);

#ifdef __cplusplus
}
#endif
#endif
