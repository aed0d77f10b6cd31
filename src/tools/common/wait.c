/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - how OpenMP's threads wait in a tool, and that OpenBLAS has none; part of each tool's
 * program.
 *
 * GCC's library lets a thread that waits for others spin, for milliseconds, before it sleeps. Where
 * processes compete for the processors, waiting threads then keep working ones from them. OpenBLAS
 * starts threads that are never used here, and where the memory for their buffers is short they try
 * for ever, so that the process does not end. Both read the environment when they are loaded,
 * before main; so a tool that finds no wish of the user there starts itself again with one, before
 * the constructors of its libraries, which take most of the time of a start. The environment at
 * that time is the last argument. Where this is not possible, threads are as they are elsewhere.
 * Results do not depend on it. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CSREC_SANITIZED /* their own start comes first */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CSREC_SANITIZED
#endif
#endif

#if defined(__GLIBC__) && defined(__linux__) && !defined(CSREC_SANITIZED)

enum { VARIABLES = 4096, PATH = 4096 };

/* Rounds of a wait, 0.1 to 0.4 ms. On 16 idle cores loops with pauses of less lose nothing, others
 * a few percent; two programs at once on 4 cores take 0.5 ms a loop instead of 8. */
static char spin[] = "GOMP_SPINCOUNT=10000", blas[] = "OPENBLAS_NUM_THREADS=1";

static int begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static void start_again(int argc, char **argv, char **environment) {
    char path[PATH], *given[VARIABLES];
    int n = 0, waits = 0, threads = 0;
    (void)argc;
    for (; environment[n] && n < VARIABLES - 3; n++) {
        given[n] = environment[n];
        waits |= begins(given[n], "OMP_WAIT_POLICY=") || begins(given[n], "GOMP_SPINCOUNT=");
        threads |= begins(given[n], "OPENBLAS_NUM_THREADS=");
    }
    if (environment[n] || (waits && threads)) return;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    if (!waits) given[n++] = spin;
    if (!threads) given[n++] = blas;
    given[n] = NULL;
    execve(path, argv, given);
}

__attribute__((section(".preinit_array"), used)) static void (*begin)(int, char **,
                                                                      char **) = start_again;

#endif
