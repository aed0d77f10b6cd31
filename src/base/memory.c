/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - memory that this process may still allocate, by the kernel and its limits. */
#define _DEFAULT_SOURCE /* madvise */
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"

enum { PATH_LENGTH = 4096, LINE_LENGTH = 3 * PATH_LENGTH };

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static uint64_t left_of(uint64_t limit, uint64_t used) {
    return limit > used ? limit - used : 0;
}

static FILE *open_beneath(const char *root, const char *path) {
    char name[2 * PATH_LENGTH];
    int length = snprintf(name, sizeof name, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof name ? fopen(name, "r") : NULL;
}

/* The sum of the numbers in the lines "NAME: NUMBER" or "NAME NUMBER" of the names given; false if
 * the file has none of them. */
static bool sum_of_lines(FILE *file, const char *const *names, uint64_t *sum) {
    char line[256], name[128];
    uint64_t number;
    bool found = false;
    *sum = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%127[^: ]%*[: ]%" SCNu64, name, &number) != 2) continue;
        for (int i = 0; names[i]; i++)
            if (strcmp(name, names[i]) == 0) {
                *sum += number;
                found = true;
            }
    }
    return found;
}

/* MemAvailable counts reclaimable caches, which the free pages of sysconf leave out. */
static uint64_t available_in_machine(const char *root) {
    FILE *file = open_beneath(root, "/proc/meminfo");
    if (file) {
        uint64_t kib;
        bool found = sum_of_lines(file, (const char *[]){"MemAvailable", NULL}, &kib);
        fclose(file);
        if (found) return kib * 1024;
    }
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return (uint64_t)pages * (uint64_t)size;
#endif
    return UINT64_MAX;
}

/* The two kinds of control group hierarchy. Usage includes the page cache, which the kernel drops
 * before it refuses an allocation. */
typedef struct groups {
    const char *type;       /* file system type */
    const char *controller; /* in /proc/self/cgroup; "": the unified hierarchy, line "0::" */
    const char *limits[3], *use, *reclaimable[4];
} groups;

static const groups hierarchies[] = {
    {.type = "cgroup2",
     .controller = "",
     .limits = {"memory.max", "memory.high"},
     .use = "memory.current",
     .reclaimable = {"inactive_file", "active_file", "slab_reclaimable"}},
    {.type = "cgroup",
     .controller = "memory",
     .limits = {"memory.limit_in_bytes"},
     .use = "memory.usage_in_bytes",
     .reclaimable = {"total_inactive_file", "total_active_file"}},
};

static bool has_item(const char *list, const char *item) {
    size_t length = strlen(item);
    for (const char *at = list; (at = strstr(at, item)); at += length)
        if ((at == list || at[-1] == ',') && strchr(",\n", at[length])) return true;
    return false;
}

/* The path of this process's group in the hierarchy; empty if it has none. */
static void find_group(const char *root, const groups *kind, char path[PATH_LENGTH]) {
    char line[LINE_LENGTH];
    path[0] = '\0';
    FILE *file = open_beneath(root, "/proc/self/cgroup");
    while (file && !path[0] && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group;
        if (!controllers || !(group = strchr(controllers + 1, ':'))) continue;
        *group++ = '\0';
        bool ours = kind->controller[0] ? has_item(controllers + 1, kind->controller)
                                        : strcmp(controllers, ":") == 0;
        if (ours) snprintf(path, PATH_LENGTH, "%s", group);
    }
    if (file) fclose(file);
}

/* A line of mountinfo: ID PARENT DEVICE ROOT MOUNT OPTIONS [...] - TYPE SOURCE OPTIONS. */
static bool parse_mount(const char *line, const groups *kind, char *inner, char *mount) {
    char type[64], options[LINE_LENGTH];
    const char *rest = strstr(line, " - ");
    return rest && sscanf(rest, " - %63s %*s %12287s", type, options) == 2 &&
           strcmp(type, kind->type) == 0 &&
           (!kind->controller[0] || has_item(options, kind->controller)) &&
           sscanf(line, "%*s %*s %*s %4095s %4095s", inner, mount) == 2;
}

/* Finds the hierarchy's mount point and which group that folder is; false if it is not mounted. */
static bool find_mount(const char *root, const groups *kind, char *inner, char *mount) {
    char line[LINE_LENGTH];
    bool found = false;
    FILE *file = open_beneath(root, "/proc/self/mountinfo");
    while (file && !found && fgets(line, sizeof line, file))
        found = parse_mount(line, kind, inner, mount);
    if (file) fclose(file);
    return found;
}

/* false for a missing file and for "max". */
static bool read_number(const char *root, const char *folder, const char *name, uint64_t *number) {
    char path[2 * PATH_LENGTH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = open_beneath(root, path);
    bool found = file && fscanf(file, "%" SCNu64, number) == 1;
    if (file) fclose(file);
    return found;
}

static uint64_t left_in_group(const char *root, const groups *kind, const char *folder) {
    uint64_t limit = UINT64_MAX, number, use, cache = 0;
    for (int i = 0; kind->limits[i]; i++)
        if (read_number(root, folder, kind->limits[i], &number)) limit = smaller(limit, number);
    if (limit >> 62 || !read_number(root, folder, kind->use, &use)) return limit; /* none is set */
    char path[2 * PATH_LENGTH];
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    FILE *file = open_beneath(root, path);
    if (file) {
        sum_of_lines(file, kind->reclaimable, &cache);
        fclose(file);
    }
    return left_of(limit, left_of(use, cache));
}

/* The least memory left by this process's group and the groups above it. In a container the path
 * may be the host's, and the mounted folder be the group itself. */
static uint64_t left_in_groups(const char *root, const groups *kind) {
    char group[PATH_LENGTH], inner[PATH_LENGTH], mount[PATH_LENGTH], folder[2 * PATH_LENGTH];
    find_group(root, kind, group);
    if (!group[0] || !find_mount(root, kind, inner, mount)) return UINT64_MAX;
    size_t shared = strcmp(inner, "/") == 0 ? 0 : strlen(inner), top = strlen(mount);
    bool beneath = strncmp(group, inner, shared) == 0 && strchr("/", group[shared]);
    snprintf(folder, sizeof folder, "%s%s", mount, beneath ? group + shared : "");
    uint64_t left = UINT64_MAX;
    for (size_t length = strlen(folder);; folder[length] = '\0') {
        left = smaller(left, left_in_group(root, kind, folder));
        if (length <= top) return left;
        while (length > top && folder[--length] != '/') continue;
    }
}

/* Bytes left under the limits on address space and on data. */
static uint64_t left_in_process(void) {
    unsigned long long pages[6] = {0}; /* size resident shared text library data */
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        for (int i = 0; i < 6; i++)
            if (fscanf(file, "%llu", &pages[i]) != 1) break;
        fclose(file);
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), left = UINT64_MAX;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        left = left_of(limit.rlim_cur, pages[0] * page);
    if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        left = smaller(left, left_of(limit.rlim_cur, pages[5] * page));
    return left;
}

uint64_t csrec_memory_available_in(const char *root) {
    uint64_t left = smaller(available_in_machine(root), left_in_process());
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        left = smaller(left, left_in_groups(root, &hierarchies[i]));
    return left;
}

uint64_t csrec_memory_available(void) {
    return csrec_memory_available_in("");
}

csrec_status csrec_memory_check(uint64_t bytes, unsigned divisor, const char *name,
                                csrec_error *error) {
    if (bytes <= UINT64_C(1) << 20) return CSREC_OK; /* not worth reading the system's files */
    uint64_t limit = csrec_memory_available() / divisor;
    if (bytes <= limit && bytes <= SIZE_MAX) return CSREC_OK;
    return csrec_fail(error, CSREC_MEMORY,
                      "%s: needs %.1f MiB where %.1f MiB of memory may be used; use a smaller file "
                      "or a larger machine",
                      name, (double)bytes / 1048576, (double)limit / 1048576);
}

void *csrec_memory_allocate(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    if (bytes < 2 * page) return aligned_alloc(64, (bytes + 63) / 64 * 64);
    bytes = (bytes + page - 1) / page * page;
    void *p = aligned_alloc(page, bytes);
#if defined(MADV_HUGEPAGE)
    if (p) madvise(p, bytes, MADV_HUGEPAGE); /* a hint: it may fail */
#endif
    return p;
}
