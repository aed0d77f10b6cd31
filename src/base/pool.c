/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c - a list of blocks. */
#include "base/pool.h"

#include <stdlib.h>

#include "base/memory.h"

enum { LARGE = 4 << 20 };

static bool make_room(csrec_pool *pool) {
    if (pool->n < pool->room) return true;
    const size_t room = pool->room ? 2 * pool->room : 16;
    void **block = realloc(pool->block, room * sizeof *block);
    if (!block) return false;
    pool->block = block;
    pool->room = room;
    return true;
}

void *csrec_pool_keep(csrec_pool *pool, void *block) {
    if (block && make_room(pool)) return pool->block[pool->n++] = block;
    pool->lacks = true;
    free(block);
    return NULL;
}

/* Large blocks in large pages, which come to a thousandth as often. */
void *csrec_pool_take(csrec_pool *pool, size_t count, size_t size) {
    void *(*const allocate)(size_t) = count < LARGE / size ? malloc : csrec_memory_allocate;
    const bool fits = count <= SIZE_MAX / 2 / size;
    return csrec_pool_keep(pool, fits ? allocate(count ? count * size : 1) : NULL);
}

void *csrec_pool_zeros(csrec_pool *pool, size_t count, size_t size) {
    return csrec_pool_keep(pool, calloc(count ? count : 1, size));
}

void *csrec_pool_create(size_t size) {
    return calloc(1, size);
}

void csrec_pool_destroy(void *owner) {
    if (owner) csrec_pool_clear(owner);
    free(owner);
}

void csrec_pool_clear(csrec_pool *pool) {
    while (pool->n > 0) free(pool->block[--pool->n]);
    free(pool->block);
    *pool = (csrec_pool){0};
}
