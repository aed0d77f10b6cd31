/* SPDX-License-Identifier: BSD-3-Clause */
/* fault.c - the plan, the counters, and the allocations that fail. */
#define _GNU_SOURCE
#include "fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const ACTIONS[] = {"once",  "sticky", "short", "shorts", "before",
                                      "after", "int",    "term",  "twice"};
#define FAULT_ROW(kind, name, reason) name,
static const char *const KINDS[] = {FAULT_KINDS(FAULT_ROW)};
#undef FAULT_ROW
#define FAULT_ROW(kind, name, reason) reason,
static const int REASONS[] = {FAULT_KINDS(FAULT_ROW)};
#undef FAULT_ROW

static struct {
    fault_kind kind;
    fault_action action;
    int64_t n;
    int reason;
} plan = {.kind = FAULT_NONE};

static _Atomic int64_t no_table[FAULT_N + 1], *counts = no_table;
static atomic_bool counting, again; /* again: a second SIGINT is due */

static void send_signal(int number) {
    fault_call(SYS_kill, fault_call(SYS_getpid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0, 0);
}

void fault_kill(void) {
    send_signal(SIGKILL);
}

static fault_order act(bool sticky) {
    fault_order order = {0, false, false};
    switch (plan.action) {
    case FAULT_STICKY:
        order.reason = plan.reason;
        break;
    case FAULT_ALWAYS_SHORT:
        order.half = true;
        break;
    case FAULT_ONCE:
        order.reason = sticky ? 0 : plan.reason;
        break;
    case FAULT_SHORT:
        order.half = !sticky;
        break;
    case FAULT_KILL_BEFORE:
        fault_kill();
        break;
    case FAULT_KILL_AFTER:
        order.kill_after = true;
        break;
    case FAULT_INTERRUPT:
        if (!sticky) send_signal(SIGINT);
        break;
    case FAULT_TERMINATE:
        if (!sticky) send_signal(SIGTERM);
        break;
    case FAULT_TWICE:
        if (!sticky) send_signal(SIGINT);
        if (!sticky) atomic_store(&again, true);
        break;
    }
    if (order.reason || order.half || (!sticky && plan.action >= FAULT_KILL_BEFORE))
        atomic_fetch_add(&counts[FAULT_N], 1);
    return order;
}

fault_order fault_next(fault_kind kind) {
    fault_order none = {0, false, false};
    if (kind == FAULT_NONE || !atomic_load(&counting)) return none;
    if (atomic_exchange(&again, false)) send_signal(SIGINT);
    int64_t n = atomic_fetch_add(&counts[kind], 1) + 1;
    if (kind != plan.kind || n < plan.n) return none;
    return act(n > plan.n);
}

/* The C library's own, under the names that it keeps for replacements. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* Address ranges of the libraries whose allocations are kinds of their own. */
static struct range {
    uintptr_t from, to;
    fault_kind kind;
} ranges[8];
static int n_ranges;

static fault_kind kind_of(const void *caller) {
    uintptr_t at = (uintptr_t)caller;
    for (int i = 0; i < n_ranges; i++)
        if (at >= ranges[i].from && at < ranges[i].to) return ranges[i].kind;
    return FAULT_ALLOC;
}

static int find_range(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    bool openmp = strstr(info->dlpi_name, "libgomp") || strstr(info->dlpi_name, "libomp");
    bool blas = strstr(info->dlpi_name, "blas") || strstr(info->dlpi_name, "libgfortran");
    for (int i = 0; (openmp || blas) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || n_ranges == 8) continue;
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        ranges[n_ranges++] =
            (struct range){from, from + part->p_memsz, openmp ? FAULT_OPENMP : FAULT_BLAS};
    }
    return 0;
}

static bool refused(const void *caller) {
    if (!atomic_load(&counting)) return false;
    int reason = fault_next(kind_of(caller)).reason;
    if (reason) errno = reason;
    return reason != 0;
}

void *malloc(size_t bytes) {
    return refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t each) {
    return refused(__builtin_return_address(0)) ? NULL : __libc_calloc(n, each);
}

void *realloc(void *old, size_t bytes) {
    return refused(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return refused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **to, size_t alignment, size_t bytes) {
    if (refused(__builtin_return_address(0))) return ENOMEM;
    void *got = __libc_memalign(alignment, bytes);
    if (!got) return ENOMEM;
    *to = got;
    return 0;
}

static void complain(const char *what, const char *value) {
    fprintf(stderr, "fault: %s: %s\n", what, value);
    _exit(99);
}

static int position(const char *const names[], int n, const char *word) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], word) == 0) return i;
    complain("no such word in FAULT_PLAN", word);
    return 0;
}

static void read_plan(const char *text) {
    char kind[16], action[16];
    long n;
    int reason = 0;
    if (sscanf(text, "%15[a-z]:%ld:%15[a-z]:%d", kind, &n, action, &reason) < 3)
        complain("not KIND:N:ACTION[:ERRNO]", text);
    plan.kind = (fault_kind)position(KINDS, FAULT_N, kind);
    plan.action = (fault_action)position(ACTIONS, sizeof ACTIONS / sizeof *ACTIONS, action);
    plan.n = n;
    plan.reason = reason ? reason : REASONS[plan.kind];
}

static void open_counts(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof no_table) != 0) complain("cannot be written", path);
    void *table = mmap(NULL, sizeof no_table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED) complain("cannot be mapped", path);
    close(fd);
    counts = table;
}

static void prepare(void) {
    const char *path = getenv("FAULT_COUNTS"), *text = getenv("FAULT_PLAN");
    const char *log = getenv("FAULT_LOG");
    if (!path && !text && !log) return;
    if (path) open_counts(path);
    if (text) read_plan(text);
    if (log) fault_log_open(log);
    dl_iterate_phdr(find_range, NULL);
    if (!fault_trap()) complain("this system refuses", "seccomp filters");
    atomic_store(&counting, true);
}

typedef int (*main_function)(int, char **, char **);

static main_function program;

/* What a coverage build writes after main is no part of the program. */
static int watched_main(int argc, char **argv, char **environment) {
    prepare();
    int code = program(argc, argv, environment);
    if (getenv("FAULT_UNTIL_EXIT")) atomic_store(&counting, false);
    return code;
}

int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader)(void), void *stack);
int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader)(void), void *stack) {
    int (*start)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void),
                 void *);
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return start(watched_main, argc, argv, init, fini, loader, stack);
}
