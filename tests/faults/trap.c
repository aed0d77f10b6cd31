/* SPDX-License-Identifier: BSD-3-Clause */
/* trap.c - system calls caught below the C library: a seccomp filter raises SIGSYS for those that
 * count, unless they come from fault_call, and the handler makes them, or lets them fail. */
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* The one place from which the filter lets the calls pass: fault_passed follows its instruction. */
extern const char fault_passed[];
#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define ARGUMENT(context, i)                                                                       \
    ((context)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8,        \
                                                REG_R9}[i]])
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
__asm__(".text\n.globl fault_call\n.hidden fault_call\n.type fault_call, @function\nfault_call:\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\nmov %rdx, %rsi\nmov %rcx, %rdx\nmov %r8, %r10\n"
        "mov %r9, %r8\nmov 8(%rsp), %r9\nsyscall\n"
        ".globl fault_passed\n.hidden fault_passed\nfault_passed:\nret\n");
#elif defined __aarch64__
#define ARCHITECTURE         AUDIT_ARCH_AARCH64
#define ARGUMENT(context, i) ((context)->uc_mcontext.regs[i])
#define RESULT(context)      ((context)->uc_mcontext.regs[0])
__asm__(".text\n.globl fault_call\n.hidden fault_call\n.type fault_call, %function\nfault_call:\n"
        "mov x8, x0\nmov x0, x1\nmov x1, x2\nmov x2, x3\nmov x3, x4\nmov x4, x5\nmov x5, x6\n"
        "svc #0\n.globl fault_passed\n.hidden fault_passed\nfault_passed:\nret\n");
#else
#error "system calls of this processor are not known here"
#endif

typedef struct call {
    int number;
    fault_kind kind;
} call;

static const call CALLS[] = {
#ifdef SYS_open
    {SYS_open, FAULT_OPEN},       {SYS_rename, FAULT_RENAME},   {SYS_unlink, FAULT_REMOVE},
    {SYS_rmdir, FAULT_REMOVE},    {SYS_mkdir, FAULT_FOLDER},    {SYS_link, FAULT_RENAME},
    {SYS_chmod, FAULT_NONE},      {SYS_creat, FAULT_OPEN},
#endif
    {SYS_openat, FAULT_OPEN},     {SYS_read, FAULT_READ},       {SYS_readv, FAULT_READ},
    {SYS_pread64, FAULT_READ},    {SYS_write, FAULT_WRITE},     {SYS_writev, FAULT_WRITE},
    {SYS_pwrite64, FAULT_WRITE},  {SYS_lseek, FAULT_SEEK},      {SYS_ftruncate, FAULT_SEEK},
    {SYS_truncate, FAULT_SEEK},   {SYS_fsync, FAULT_SYNC},      {SYS_fdatasync, FAULT_SYNC},
    {SYS_close, FAULT_CLOSE},     {SYS_renameat, FAULT_RENAME}, {SYS_renameat2, FAULT_RENAME},
    {SYS_linkat, FAULT_RENAME},   {SYS_unlinkat, FAULT_REMOVE}, {SYS_mkdirat, FAULT_FOLDER},
    {SYS_utimensat, FAULT_TIMES}, {SYS_fchmod, FAULT_NONE},     {SYS_fchmodat, FAULT_NONE},
    {SYS_mmap, FAULT_MAP}};
enum { N_CALLS = sizeof CALLS / sizeof *CALLS };

static fault_kind kind_of(int number, const long argument[6]) {
    fault_kind kind = FAULT_NONE;
    for (int i = 0; i < N_CALLS; i++)
        if (CALLS[i].number == number) kind = CALLS[i].kind;
    if ((kind == FAULT_WRITE || kind == FAULT_CLOSE) && argument[0] == STDERR_FILENO)
        return FAULT_NONE;
    if (kind == FAULT_MAP && !(argument[3] & MAP_ANONYMOUS)) return FAULT_NONE;
    return kind;
}

static const char *text_at(long argument) {
    return (const char *)(uintptr_t)argument;
}

static void log_vector(const long a[6], long result) {
    const struct iovec *part = (const struct iovec *)(uintptr_t)a[1];
    for (long i = 0, left = result; i < a[2] && left > 0; left -= (long)part[i++].iov_len) {
        size_t bytes = (long)part[i].iov_len < left ? part[i].iov_len : (size_t)left;
        fault_log_record("write", (long)bytes, a[0], -1, NULL, NULL, part[i].iov_base, bytes);
    }
}

static void log_descriptor(int number, const long a[6], long result) {
    const void *data = text_at(a[1]);
    if (number == SYS_write && result > 0)
        fault_log_record("write", result, a[0], -1, NULL, NULL, data, (size_t)result);
    if (number == SYS_pwrite64 && result > 0)
        fault_log_record("write", result, a[0], a[3], NULL, NULL, data, (size_t)result);
    if (number == SYS_writev) log_vector(a, result);
    if (number == SYS_read && result > 0)
        fault_log_record("move", result, a[0], 0, NULL, NULL, NULL, 0);
    if (number == SYS_lseek) fault_log_record("seek", result, a[0], 0, NULL, NULL, NULL, 0);
    if (number == SYS_ftruncate) fault_log_record("cut", result, a[0], a[1], NULL, NULL, NULL, 0);
    if (number == SYS_fsync || number == SYS_fdatasync)
        fault_log_record("sync", result, a[0], 0, NULL, NULL, NULL, 0);
    if (number == SYS_close) fault_log_record("close", result, a[0], 0, NULL, NULL, NULL, 0);
    if (number == SYS_fchmod) fault_log_record("mode", result, a[0], a[1], NULL, NULL, NULL, 0);
}

static void log_times(const long a[6], long result) {
    const void *times = text_at(a[2]);
    fault_log_record("times", result, a[1] ? -1 : a[0], 0, text_at(a[1]), NULL, times,
                     times ? 2 * sizeof(struct timespec) : 0);
}

/* Calls with folder descriptors have their names one argument later. A record "at" before the
 * call's own says that the name is under that folder. */
static void log_name(int number, const long a[6], long result) {
    bool at = number != SYS_truncate;
#ifdef SYS_open
    if (number == SYS_open || number == SYS_creat || number == SYS_rename || number == SYS_unlink ||
        number == SYS_rmdir || number == SYS_mkdir)
        at = false;
#endif
    const long *name = at ? a + 1 : a;
    const char *first = text_at(name[0]);
    if (at && (int)a[0] != AT_FDCWD && first && first[0] != '/')
        fault_log_record("at", 0, (int)a[0], 0, NULL, NULL, NULL, 0);
    fault_kind kind = kind_of(number, a);
    bool renamed = kind == FAULT_RENAME;
    const char *what = kind == FAULT_OPEN     ? "open"
                       : renamed              ? "rename"
                       : kind == FAULT_REMOVE ? "remove"
                                              : "folder";
    const char *second = renamed ? text_at(at ? a[3] : a[1]) : NULL;
    fault_log_record(what, result, renamed ? 0 : name[1], renamed ? 0 : name[2], first, second,
                     NULL, 0);
}

static void log_call(int number, const long a[6], long result) {
    fault_kind kind = kind_of(number, a);
    if (result < 0 && result > -4096) return;
    if (kind == FAULT_OPEN || kind == FAULT_RENAME || kind == FAULT_REMOVE || kind == FAULT_FOLDER)
        log_name(number, a, result);
    else if (kind == FAULT_TIMES)
        log_times(a, result);
    else
        log_descriptor(number, a, result);
}

static bool is_short_call(int number) {
    return number == SYS_read || number == SYS_write || number == SYS_pread64 ||
           number == SYS_pwrite64;
}

static long perform(int number, long a[6]) {
    fault_order order = fault_next(kind_of(number, a));
    if (order.reason && number == SYS_close) fault_call(number, a[0], 0, 0, 0, 0, 0);
    if (order.reason) return -order.reason;
    if (order.half && is_short_call(number) && a[2] > 1) a[2] /= 2;
    fault_log_begin();
    long result = fault_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    log_call(number, a, result);
    fault_log_end();
    if (order.kill_after) fault_kill();
    return result;
}

static void handle(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *registers = context;
    int reason = errno;
    long argument[6];
    for (int i = 0; i < 6; i++) argument[i] = (long)ARGUMENT(registers, i);
    RESULT(registers) = perform(info->si_syscall, argument);
    errno = reason;
}

static void set(struct sock_filter *line, unsigned short code, uint32_t value, uint8_t yes,
                uint8_t no) {
    *line = (struct sock_filter){code, yes, no, value};
}

/* Allow what is not in CALLS, and what comes from fault_call. */
static int write_filter(struct sock_filter *filter) {
    const unsigned short load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K;
    uint64_t passed = (uintptr_t)fault_passed;
    const uint32_t at = offsetof(struct seccomp_data, instruction_pointer);
    int n = 0;
    set(&filter[n++], load, offsetof(struct seccomp_data, arch), 0, 0);
    set(&filter[n++], equal, ARCHITECTURE, 1, 0);
    set(&filter[n++], BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    set(&filter[n++], load, offsetof(struct seccomp_data, nr), 0, 0);
    for (int i = 0; i < N_CALLS; i++)
        set(&filter[n++], equal, (uint32_t)CALLS[i].number, (uint8_t)(N_CALLS - i), 0);
    set(&filter[n++], BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    set(&filter[n++], load, at, 0, 0); /* both processors keep the low half first */
    set(&filter[n++], equal, (uint32_t)passed, 0, 3);
    set(&filter[n++], load, at + 4, 0, 0);
    set(&filter[n++], equal, (uint32_t)(passed >> 32), 0, 1);
    set(&filter[n++], BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    set(&filter[n++], BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
    return n;
}

bool fault_trap(void) {
    struct sock_filter filter[N_CALLS + 16];
    struct sock_fprog program = {(unsigned short)write_filter(filter), filter};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    /* Not blocked in its own handler: a SIGINT there runs the tool's handler, which may write. */
    action.sa_flags = (int)(SA_SIGINFO | SA_NODEFER | SA_RESTART);
    if (sigaction(SIGSYS, &action, NULL) != 0) return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
