/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c - writes JSON to a temporary name, renamed when complete; ends the program on failure; and
 * names the machine that figures come from. */
#include <malloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

void bench_fail(const char *what, const char *text) {
    fprintf(stderr, "bench: %s: %s\n", what, text);
    exit(1);
}

void bench_check(csrec_status status, const char *what) {
    if (status) bench_fail(what, csrec_status_text(status));
}

void *bench_allocate(int64_t count, size_t size) {
    void *p = calloc((size_t)count, size);
    if (!p) bench_fail("memory", "out of memory");
    return p;
}

static void temporary(const char *path, char *name, size_t size) {
    if (snprintf(name, size, "%s.part", path) >= (int)size) bench_fail(path, "name too long");
}

/* To the file and to the terminal. */
static void put(bench_json *json, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    vfprintf(json->file, format, arguments);
    vprintf(format, again);
    va_end(again);
    va_end(arguments);
}

void bench_json_close(bench_json *json) {
    char name[4096];
    bench_json_end(json, '}');
    put(json, "\n");
    temporary(json->path, name, sizeof name);
    bool failed = ferror(json->file) != 0;
    if (fclose(json->file) || failed || rename(name, json->path)) {
        remove(name);
        bench_fail(json->path, "cannot be written");
    }
    printf("written: %s\n", json->path);
}

static void text(bench_json *json, const char *s) {
    put(json, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') put(json, "\\");
        if (c >= 32) put(json, "%c", c);
    }
    put(json, "\"");
}

static void field(bench_json *json, const char *name) {
    if (json->comma) put(json, ",");
    if (json->depth > 0 && json->depth <= 2) put(json, "\n%*s", json->depth, "");
    json->comma = true;
    if (!name) return;
    text(json, name);
    put(json, ": ");
}

void bench_json_begin(bench_json *json, const char *name, char bracket) {
    field(json, name);
    put(json, "%c", bracket);
    json->depth++;
    json->comma = false;
}

void bench_json_end(bench_json *json, char bracket) {
    json->depth--;
    if (json->depth <= 1) put(json, "\n%*s", json->depth, "");
    put(json, "%c", bracket);
    fflush(stdout);
    json->comma = true;
}

void bench_json_text(bench_json *json, const char *name, const char *value) {
    field(json, name);
    text(json, value);
}

void bench_json_number(bench_json *json, const char *name, double value) {
    field(json, name);
    if (!isfinite(value))
        put(json, "null");
    else
        put(json, fabs(value) < 1e15 && value == rint(value) ? "%.0f" : "%.6g", value);
}

void bench_json_numbers(bench_json *json, const char *names, const double *values) {
    char name[64];
    for (int used; sscanf(names, "%63s%n", name, &used) == 1; names += used)
        bench_json_number(json, name, *values++);
}

void bench_json_bool(bench_json *json, const char *name, bool value) {
    field(json, name);
    put(json, value ? "true" : "false");
}

#if defined(__clang__)
#define COMPILER __VERSION__
#elif defined(__GNUC__)
#define COMPILER "GCC " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void cpu_model(char *model, size_t size) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    snprintf(model, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(model, size, "%s", colon + 2);
        break;
    }
    if (file) fclose(file);
}

/* Name of the widest instruction set that the pursuit uses here. */
static const char *instructions(void) {
#if defined(__x86_64__)
    if (csrec_eager_simd_choose() == &csrec_eager_avx512) return "avx512";
    if (csrec_eager_simd_choose() == &csrec_eager_avx2) return "avx2";
#endif
    return "generic";
}

int bench_cores(void) {
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static double memory_gib(void) {
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE) / 1073741824.0;
}

static void date(char *text, size_t size) {
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, size, "%Y-%m-%d", &utc);
}

static void machine(bench_json *json) {
    char model[256], day[32];
    cpu_model(model, sizeof model);
    date(day, sizeof day);
    bench_json_begin(json, "machine", '{');
    bench_json_text(json, "cpu", model);
    bench_json_numbers(json, "cores memory_gib", (double[]){bench_cores(), memory_gib()});
    bench_json_text(json, "instructions", instructions());
    bench_json_text(json, "compiler", COMPILER);
    bench_json_text(json, "version", csrec_version());
    bench_json_text(json, "date", day);
    bench_json_end(json, '}');
}

bench_json bench_json_open(const char *path) {
    char name[4096];
    temporary(path, name, sizeof name);
    bench_json json = {fopen(name, "w"), path, 0, false};
    if (!json.file) bench_fail(name, "cannot be written");
    bench_json_begin(&json, NULL, '{');
    machine(&json);
    return json;
}

/* ---- counts allocated bytes. The linker sends every malloc and free of the program and of
 * the static library here (--wrap); shared libraries keep their own. */

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
