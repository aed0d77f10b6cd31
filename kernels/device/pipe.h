/* SPDX-License-Identifier: BSD-3-Clause */
/* pipe.h - large arrays between pageable host memory and the device, through two pinned buffers:
 * host threads fill or empty one while the other is being transferred. */
#pragma once

#include "base/error.h"

CSREC_C_BEGIN

typedef struct csrec_cuda_pipe {
    size_t bytes; /* bytes of a buffer; 0: plain copies */
    size_t least; /* shorter transfers are plain copies */
    char *buffer[2];
    void *event[2]; /* the last copy from or to a buffer */
} csrec_cuda_pipe;

/* For transfers of up to `largest` bytes. Where pinned memory does not pay or cannot be had the
 * pipe copies plainly. */
void csrec_cuda_pipe_create(size_t largest, csrec_cuda_pipe *pipe);
/* The same for many transfers: pinning pays for short ones too. */
void csrec_cuda_pipe_open(size_t largest, csrec_cuda_pipe *pipe);
void csrec_cuda_pipe_destroy(csrec_cuda_pipe *pipe);

/* Both run after all queued work. send returns when host may be changed, receive when it is
 * complete. */
csrec_status csrec_cuda_pipe_send(csrec_cuda_pipe *pipe, void *device, const void *host,
                                  size_t bytes, csrec_error *error);
csrec_status csrec_cuda_pipe_receive(csrec_cuda_pipe *pipe, void *host, const void *device,
                                     size_t bytes, csrec_error *error);

CSREC_C_END
