/* store.c - arrays that are freed together. */
#include "base/store.h"

#include <stdint.h>
#include <stdlib.h>

/* What stands before an array. */
typedef struct block {
    struct block *before;
    max_align_t array[];
} block;

static void *keep(csrec_store *store, block *made) {
    store->missing = store->missing || !made;
    if (!made) return NULL;
    made->before = store->last;
    store->last = made;
    return made->array;
}

static bool fits(size_t count, size_t size) {
    return count <= (SIZE_MAX - sizeof(block)) / size;
}

void *csrec_store_take(csrec_store *store, size_t count, size_t size) {
    return keep(store, fits(count, size) ? malloc(sizeof(block) + count * size) : NULL);
}

void *csrec_store_zeros(csrec_store *store, size_t count, size_t size) {
    return keep(store, fits(count, size) ? calloc(1, sizeof(block) + count * size) : NULL);
}

void csrec_store_clear(csrec_store *store) {
    while (store->last) {
        block *now = store->last;
        store->last = now->before;
        free(now);
    }
    store->missing = false;
}
