/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.h - a preloaded library that counts a process's allocations and system calls, lets the n-th
 * fail, and logs what it does to files.
 *
 * System calls are caught below the C library, by a seccomp filter that raises SIGSYS: fwrite,
 * fclose and what libpng, zlib and libzip call are seen, too. Counting begins where main does.
 * Environment: FAULT_COUNTS=FILE   a table of 8-byte integers, one a kind in the order of
 * fault_kind, then the number of faults made; whole even if the process is killed
 *   FAULT_PLAN=KIND:N:ACTION[:ERRNO]  what happens at the N-th call of KIND, the first being 1
 *   FAULT_LOG=FILE      every change of a file, with its data (log.c)
 *   FAULT_UNTIL_EXIT=1  leaves alone what happens after main, where coverage is written
 * Standard error is left alone: the line that tells a failure must be seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row a kind: its name in FAULT_PLAN, and the error number that it fails with. */
#define FAULT_KINDS(ROW)                                                                           \
    ROW(ALLOC, "alloc", ENOMEM)   /* malloc and its relatives, of all but OpenMP and BLAS */       \
    ROW(OPENMP, "openmp", ENOMEM) /* allocations of the OpenMP runtime */                          \
    ROW(BLAS, "blas", ENOMEM)     /* allocations of OpenBLAS and its Fortran runtime */            \
    ROW(MAP, "map", ENOMEM)       /* mmap without a file */                                        \
    ROW(OPEN, "open", EMFILE)                                                                      \
    ROW(READ, "read", EIO)                                                                         \
    ROW(WRITE, "write", ENOSPC)                                                                    \
    ROW(SEEK, "seek", EIO)   /* lseek, ftruncate */                                                \
    ROW(SYNC, "sync", EIO)   /* fsync, fdatasync */                                                \
    ROW(CLOSE, "close", EIO) /* the file is closed nevertheless, as the kernel does */             \
    ROW(RENAME, "rename", EIO)                                                                     \
    ROW(REMOVE, "remove", EIO) /* unlink, rmdir */                                                 \
    ROW(TIMES, "times", EIO)   /* utimensat */                                                     \
    ROW(FOLDER, "folder", EIO) /* mkdir */

#define FAULT_ROW(kind, name, reason) FAULT_##kind,
typedef enum fault_kind { FAULT_KINDS(FAULT_ROW) FAULT_N, FAULT_NONE = FAULT_N } fault_kind;
#undef FAULT_ROW

/* What happens at the n-th call. */
typedef enum fault_action {
    FAULT_ONCE,         /* "once": this call fails */
    FAULT_STICKY,       /* "sticky": this one and all after it */
    FAULT_SHORT,        /* "short": this read or write moves half of what was asked */
    FAULT_ALWAYS_SHORT, /* "shorts": this one and all after it */
    FAULT_KILL_BEFORE,  /* "before": SIGKILL instead of the call */
    FAULT_KILL_AFTER,   /* "after": SIGKILL after it */
    FAULT_INTERRUPT,    /* "int": SIGINT before the call */
    FAULT_TERMINATE,    /* "term": SIGTERM before the call */
    FAULT_TWICE         /* "twice": SIGINT before the call and before the next counted one */
} fault_action;

/* What is to be done with this call. */
typedef struct fault_order {
    int reason; /* error number to fail with, or 0 */
    bool half, kill_after;
} fault_order;

/* Counts a call of the kind and says what is to happen. */
fault_order fault_next(fault_kind kind);
void fault_kill(void);

/* Sets the filter. False: this system has none. */
bool fault_trap(void);

/* A system call that the filter lets pass. */
long fault_call(long number, long a, long b, long c, long d, long e, long f);

/* Appends to the log; no effect without FAULT_LOG. A call and its records stand between begin and
 * end, so that they are in the order in which the kernel saw the calls. */
void fault_log_open(const char *path);
void fault_log_begin(void);
void fault_log_record(const char *what, long result, long a, long b, const char *first,
                      const char *second, const void *data, size_t bytes);
void fault_log_end(void);
