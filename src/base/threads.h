/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h - number of threads for an interface's `threads`.
 *
 * GCC's OpenMP library ends the process if it cannot start a thread, and waits for ever in a
 * forked child for the threads of its parent. So every parallel region calls this first. */
#pragma once

#include <stdint.h>

/* `asked` or, if that is 0 or less, as many as OpenMP would use; at most 4 a processor or 64,
 * whichever is more. For estimates. */
int csrec_threads_wanted(int asked);

/* The same, but never more than can be started: the calling thread's team then exists. 1 inside a
 * parallel region and in a forked process. Results do not depend on it. */
int csrec_threads(int asked);

/* The same for a loop over `items` of few operations each: 1 where one thread is as fast. */
int csrec_threads_for(int64_t items, int asked);
