/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c - large copies in memory by several threads: one thread saturates neither the memory nor
 * the bus to a device, and the first touch of fresh pages is most of the cost. */
#include "base/copy.h"

#include <stdint.h>
#include <string.h>

#include "base/threads.h"

void csrec_copy(void *to, const void *from, size_t bytes) {
    const int64_t part = INT64_C(1) << 20, parts = (int64_t)(bytes / (size_t)part) + 1;
#pragma omp parallel for schedule(static) num_threads(parts > 2 ? csrec_threads(0) : 1)
    for (int64_t k = 0; k < parts; k++) {
        size_t begin = (size_t)(k * part);
        size_t rest = bytes - begin, size = rest < (size_t)part ? rest : (size_t)part;
        memcpy((char *)to + begin, (const char *)from + begin, size);
    }
}
