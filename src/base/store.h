/* store.h - the memory of one piece of work: any number of arrays, freed together. */
#ifndef CSREC_BASE_STORE_H
#define CSREC_BASE_STORE_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as {0}. */
typedef struct csrec_store {
    void *last;   /* the array taken last; each knows the one before */
    bool missing; /* memory was short for one of them */
} csrec_store;

/* `count` elements, uninitialised or zeros. NULL: out of memory; then store->missing is set, so
 * that one question serves all arrays. */
void *csrec_store_take(csrec_store *store, size_t count, size_t size);
void *csrec_store_zeros(csrec_store *store, size_t count, size_t size);

/* Frees all of them; the store is as it was at the start. */
void csrec_store_clear(csrec_store *store);

/* array [count] */
#define CSREC_TAKE(store, array, count)                                                            \
    ((array) = csrec_store_take(store, (size_t)(count), sizeof *(array)))
#define CSREC_ZEROS(store, array, count)                                                           \
    ((array) = csrec_store_zeros(store, (size_t)(count), sizeof *(array)))

#endif
