/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - how OpenMP's threads wait in a tool, and that OpenBLAS has none; part of each tool's
 * program.
 *
 * GCC's library lets a thread that waits for others spin, for milliseconds, before it sleeps. Where
 * processes compete for the processors, waiting threads then keep working ones from them. OpenBLAS
 * starts threads that are never used here, and where the memory for their buffers is short they try
 * for ever, so that the process does not end. Both read the environment when they are loaded,
 * before main; so a tool that finds no wish of the user there puts one in its place, before the
 * constructors of its libraries. The array of the environment has no room then: the wishes stand in
 * for variables of shells that no library reads, until the program's own constructor. Where there
 * are too few of these, the tool starts itself again. Where that is not possible, threads are as
 * they are elsewhere. Results do not depend on it. */
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

static const char *const shells[] = {
    "_=", "OLDPWD=", "SHLVL=", "PWD=", "TERM=", "LS_COLORS=", "LOGNAME=", "USER=", "HOSTNAME="};
enum { SHELLS = sizeof shells / sizeof *shells };

static char *wish[2], *instead[2]; /* instead: of what it stands, or NULL */
static int wishes;

static int begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static int has_shells_name(const char *variable) {
    for (int i = 0; i < SHELLS; i++)
        if (begins(variable, shells[i])) return 1;
    return 0;
}

/* Whether all wishes have a place. */
static int stand_in(char **environment) {
    int placed = 0;
    for (int n = 0; environment[n] && placed < wishes; n++) {
        if (!has_shells_name(environment[n])) continue;
        instead[placed] = environment[n];
        environment[n] = wish[placed++];
    }
    return placed == wishes;
}

static void put_back(char **environment) {
    for (int n = 0; environment && environment[n]; n++)
        for (int k = 0; k < wishes; k++)
            if (instead[k] && environment[n] == wish[k]) environment[n] = instead[k];
}

/* Of the environment as it is now: a library may have copied it. */
__attribute__((constructor)) static void restore(void) {
    put_back(environ);
}

static void wish_threads(int argc, char **argv, char **environment) {
    char path[PATH], *given[VARIABLES];
    int n = 0, waits = 0, threads = 0;
    (void)argc;
    for (; environment[n] && n < VARIABLES - 3; n++) {
        waits |=
            begins(environment[n], "OMP_WAIT_POLICY=") || begins(environment[n], "GOMP_SPINCOUNT=");
        threads |= begins(environment[n], "OPENBLAS_NUM_THREADS=");
    }
    if (environment[n]) return;
    if (!waits) wish[wishes++] = spin;
    if (!threads) wish[wishes++] = blas;
    if (stand_in(environment)) return;
    put_back(environment);
    memcpy(given, environment, (size_t)n * sizeof *given);
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    for (int k = 0; k < wishes; k++) given[n++] = wish[k];
    given[n] = NULL;
    execve(path, argv, given);
}

__attribute__((section(".preinit_array"), used)) static void (*begin)(int, char **,
                                                                      char **) = wish_threads;

#endif
