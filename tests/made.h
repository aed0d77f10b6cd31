/* made.h - memory for what makes pictures and masks up. */
#ifndef CSREC_TESTS_MADE_H
#define CSREC_TESTS_MADE_H

#include <string.h>

#include "check.h"
#include "learn/made.h"

/* Memory as a caller gives it: aligned, of exactly the size told, full of garbage. */
static inline void *made_work(size_t bytes) {
    void *room = NULL;
    assert_int_equal(posix_memalign(&room, 64, bytes), 0);
    memset(room, 0xA5, bytes);
    return room;
}

#endif
