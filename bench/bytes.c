/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes.c - counts allocated bytes. The linker sends every malloc and free of the program and of
 * the static library here (--wrap); shared libraries keep their own. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static _Atomic int64_t live, peak;

int64_t bench_bytes_live(void) {
    return live;
}

int64_t bench_bytes_peak(void) {
    return peak;
}

void bench_bytes_reset(void) {
    peak = live;
}

/* Large blocks count as many bytes as were asked for: what malloc adds to align them is never
 * touched. They are few; the others count as malloc_usable_size says. */
enum { LARGE = 1 << 20, SLOTS = 4096 };
static struct {
    void *at;
    int64_t size;
} large[SLOTS];
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* Replaces the entry of `from`; its size before. */
static int64_t change_large(void *from, void *to, int64_t size) {
    int64_t before = -1;
    while (atomic_flag_test_and_set(&busy)) {
    }
    for (int k = 0; k < SLOTS && before < 0; k++) {
        if (large[k].at != from) continue;
        before = large[k].size;
        large[k].at = to;
        large[k].size = size;
    }
    atomic_flag_clear(&busy);
    return before;
}

static void *count(void *p, size_t asked) {
    if (!p) return NULL;
    int64_t size = (int64_t)malloc_usable_size(p);
    if (size >= LARGE) {
        size = (int64_t)asked;
        if (change_large(NULL, p, size) < 0) bench_fail("bytes", "too many large blocks");
    }
    int64_t now = atomic_fetch_add(&live, size) + size, before = peak;
    while (now > before && !atomic_compare_exchange_weak(&peak, &before, now)) {
    }
    return p;
}

static void forget(void *p) {
    int64_t size = p ? (int64_t)malloc_usable_size(p) : 0;
    if (size >= LARGE) size = change_large(p, NULL, 0);
    atomic_fetch_sub(&live, size);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size) {
    return count(__real_malloc(size), size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return count(__real_calloc(n, size), n * size);
}

/* Where it fails the block is still there, but a measurement ends then. */
void *__wrap_realloc(void *p, size_t size) {
    forget(p);
    return count(__real_realloc(p, size), size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return count(__real_aligned_alloc(alignment, size), size);
}

void __wrap_free(void *p) {
    forget(p);
    __real_free(p);
}

/* Writing 5 to clear_refs starts the system's high-water mark anew. */
void bench_resident_reset(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

int64_t bench_resident_peak(void) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0) kib = atoll(line + 6);
    if (file) fclose(file);
    return (int64_t)kib * 1024;
}
