/* SPDX-License-Identifier: BSD-3-Clause */
/* column_order.h - columns of the tree in ascending order of their numbers, without a sort by
 * number.
 *
 * Columns of one level ascend with the samples, and a coarser level comes before a finer one, so a
 * counting sort by level over the walk of the tree lists them: count, start, then place.
 */
#ifndef CSREC_HAAR_COLUMN_ORDER_H
#define CSREC_HAAR_COLUMN_ORDER_H

#include <stdint.h>

/* next[level] is where the level's next column goes; level 63 stands for column 0. */
typedef struct csrec_column_order {
    int64_t next[64];
} csrec_column_order;

enum { CSREC_LISTING_COLUMN_0 = 63 };

/* Turns counts a level into starting places; returns the number of columns. */
static inline int64_t csrec_column_order_start(csrec_column_order *listing) {
    int64_t total = 0;
    for (int level = 63; level >= 0; level--) {
        int64_t count = listing->next[level];
        listing->next[level] = total;
        total += count;
    }
    return total;
}

#endif
