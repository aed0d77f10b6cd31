/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.c - blocks double at each step: from the ranks above, to those below. */
#include "haar/gather.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Of messages, see src/recover/spread.c for others. */
enum { TAG = 1 << 21 };

static csrec_status append(csrec_gather *g, int block, const void *data, size_t bytes) {
    size_t begin = block > 0 ? g->end[block - 1] : 0;
    if (begin + bytes > g->room) {
        size_t room = 2 * (begin + bytes);
        char *more = realloc(g->data, room);
        if (!more) return CSREC_MEMORY;
        g->data = more;
        g->room = room;
    }
    if (bytes > 0) memcpy(g->data + begin, data, bytes);
    g->end[block] = begin + bytes;
    return CSREC_OK;
}

/* The first blocks: where they end, then they. */
static csrec_status give(csrec_gather *g, int to, int blocks, csrec_error *error) {
    size_t head = (size_t)blocks * sizeof *g->end, bytes = head + g->end[blocks - 1];
    char *message = malloc(bytes);
    if (!message) return csrec_fail(error, CSREC_MEMORY, "out of memory for a message");
    memcpy(message, g->end, head);
    memcpy(message + head, g->data, bytes - head);
    csrec_status status = csrec_comm_send(g->comm, to, TAG, message, bytes, error);
    free(message);
    g->sent++;
    g->sent_bytes += (int64_t)bytes;
    return status;
}

static csrec_status take(csrec_gather *g, int from, int have, int blocks, csrec_error *error) {
    void *data;
    size_t bytes, begin = 0;
    csrec_status status = csrec_comm_receive(g->comm, &from, TAG, &data, &bytes, error);
    if (status) return status;
    const size_t *end = data, head = (size_t)blocks * sizeof *end;
    bool whole = bytes >= head && end[blocks - 1] == bytes - head;
    for (int k = 0; k < blocks && whole && !status; k++) {
        whole = begin <= end[k] && end[k] <= bytes - head;
        if (whole) status = append(g, have + k, (const char *)data + head + begin, end[k] - begin);
        begin = end[k];
    }
    free(data);
    if (!whole)
        return csrec_fail(error, CSREC_DATA,
                          "process %d is in another pursuit; give all processes the same arguments",
                          from);
    return status ? csrec_fail(error, status, "out of memory for a message") : CSREC_OK;
}

csrec_status csrec_gather_all(csrec_gather *g, const void *own, size_t bytes, csrec_error *error) {
    int size = csrec_comm_size(g->comm), rank = csrec_comm_rank(g->comm);
    if (!g->end) g->end = calloc((size_t)size, sizeof *g->end);
    csrec_status status = g->end ? append(g, 0, own, bytes) : CSREC_MEMORY;
    if (status) return csrec_fail(error, status, "out of memory for a message");
    for (int have = 1; have < size && !status; have *= 2) {
        int blocks = size - have < have ? size - have : have;
        status = give(g, (rank + size - have) % size, blocks, error);
        if (!status) status = take(g, (rank + have) % size, have, blocks, error);
    }
    return status;
}

const void *csrec_gather_of(const csrec_gather *g, int rank, size_t *bytes) {
    int size = csrec_comm_size(g->comm);
    int block = (rank - csrec_comm_rank(g->comm) + size) % size;
    size_t begin = block > 0 ? g->end[block - 1] : 0;
    *bytes = g->end[block] - begin;
    return g->data + begin;
}

void csrec_gather_clear(csrec_gather *g) {
    free(g->data);
    free(g->end);
    *g = (csrec_gather){0};
}
