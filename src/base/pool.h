/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.h - arrays of one owner, which are freed together. */
#pragma once

#include "csrec/status.h"

/* Starts as {0}. */
typedef struct csrec_pool {
    void **block;
    size_t n, room;
    bool lacks; /* an array was not to be had */
} csrec_pool;

/* The pool frees the block, of malloc or the like, which is returned. NULL: there is none, and the
 * pool lacks it. */
void *csrec_pool_keep(csrec_pool *pool, void *block);

/* count numbers of `size` bytes, unset, or zeros. NULL: out of memory, which the status of the pool
 * tells of several arrays at once. */
void *csrec_pool_take(csrec_pool *pool, size_t count, size_t size);
void *csrec_pool_zeros(csrec_pool *pool, size_t count, size_t size);

/* to = an array of so many of its elements. */
#define CSREC_TAKE(pool, to, count)  ((to) = csrec_pool_take(pool, (size_t)(count), sizeof *(to)))
#define CSREC_ZEROS(pool, to, count) ((to) = csrec_pool_zeros(pool, (size_t)(count), sizeof *(to)))

/* CSREC_MEMORY if any array was not to be had. */
static inline csrec_status csrec_pool_status(const csrec_pool *pool) {
    return pool->lacks ? CSREC_MEMORY : CSREC_OK;
}

/* Frees all; the pool is empty then. */
void csrec_pool_clear(csrec_pool *pool);

/* A struct of zeros that begins with its pool; NULL: out of memory. It goes with the pool. */
void *csrec_pool_create(size_t size);
void csrec_pool_destroy(void *owner);
