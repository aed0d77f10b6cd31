/* threads.h - how many threads an interface's `threads` means.
 *
 * GCC's OpenMP library ends the process where it cannot start a thread, and waits for ever in a
 * forked child for the threads of its parent. So every parallel region asks here first.
 */
#ifndef CSREC_BASE_THREADS_H
#define CSREC_BASE_THREADS_H

/* `asked` or, where that is 0 or less, as many as OpenMP would take; at most 4 a processor or 64,
 * whichever is more. For estimates. */
int csrec_threads_wanted(int asked);

/* The same, but never more than can be started: the calling thread's team then exists. 1 inside of a
 * parallel region and in a process that was forked. Results do not depend on it. */
int csrec_threads(int asked);

#endif
