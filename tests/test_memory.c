/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that may still be taken: the machine, control groups of both versions, limits of the
 * process. Crafted folders stand in for /proc and the mounted groups. */

#include <inttypes.h>

#include "base/memory.h"
#include "io_file.h"

SEED(seed);

static void put_text(const char *path, const char *text) {
    char *name = check_print("%s%s", io_folder, path);
    for (char *slash = name + strlen(io_folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_file(const char *folder, const char *name, const char *text) {
    put_text(check_print("%s/%s", folder, name), text);
}

static void put_number(const char *folder, const char *name, uint64_t number) {
    put_file(folder, name, number == UINT64_MAX ? "max\n" : check_print("%" PRIu64 "\n", number));
}

static void put_machine(uint64_t available) {
    put_text(
        "/proc/meminfo",
        check_print("MemTotal:       99999999 kB\nMemFree:        1 kB\nMemAvailable:   %" PRIu64
                    " kB\nBuffers:        5 kB\n",
                    available / 1024));
}

static void put_groups(const char *cgroup, const char *mounts) {
    put_text("/proc/self/cgroup", cgroup);
    put_text("/proc/self/mountinfo", mounts);
}

static void remove_tree(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            remove_tree(check_print("%s/%s", path, entry->d_name));
    }
    if (folder) closedir(folder);
    remove(path);
}

static void fresh_folder(void) {
    remove_tree(io_folder);
    assert_int_equal(mkdir(io_folder, 0700), 0);
}

static int remove_folder(void **state) {
    (void)state;
    remove_tree(io_folder);
    return 0;
}

static uint64_t available(void) {
    return csrec_memory_available_in(io_folder);
}

static uint64_t random_bytes(uint64_t *state) {
    return (1 + (uint64_t)check_below(state, 1 << 20)) << 20;
}

static const char unified[] =
    "22 1 0:20 / /proc rw shared:12 - proc proc rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,memory_recursiveprot\n";

/* The least along the path counts, whichever group or the machine sets it; caches do not. */
TEST(unified_limits_are_walked_up) {
    fresh_folder();
    static const char *const folders[] = {"/sys/fs/cgroup/a.slice/b.scope/c",
                                          "/sys/fs/cgroup/a.slice/b.scope",
                                          "/sys/fs/cgroup/a.slice"};
    uint64_t random = seed;
    put_groups("0::/a.slice/b.scope/c\n", unified);
    for (int round = 0; round < 50; round++) {
        uint64_t least = random_bytes(&random);
        put_machine(least);
        for (int i = 0; i < 3; i++) {
            uint64_t left = random_bytes(&random), used = random_bytes(&random),
                     cache = random_bytes(&random), high = check_below(&random, 2) ? 0 : left / 2;
            const char *text =
                check_print("anon %" PRIu64 "\nfile 77\ninactive_file %" PRIu64
                            "\nactive_file %" PRIu64 "\nslab_reclaimable 4096\nslab 99999\n",
                            used, cache / 2, cache - cache / 2 - 4096);
            put_number(folders[i], "memory.max", left + used);
            put_number(folders[i], "memory.current", used + cache);
            put_number(folders[i], "memory.high", high ? high + used : UINT64_MAX);
            put_file(folders[i], "memory.stat", text);
            if (high) left = high;
            if (left < least) least = left;
        }
        assert_int_equal(available(), least);
    }
}

TEST(no_limit_leaves_the_machine) {
    fresh_folder();
    put_machine(UINT64_C(5) << 30);
    assert_int_equal(available(), UINT64_C(5) << 30); /* no groups at all */
    put_groups("0::/x\n", unified);
    assert_int_equal(available(), UINT64_C(5) << 30); /* no files there */
    put_text("/sys/fs/cgroup/x/memory.max", "max\n");
    put_number("/sys/fs/cgroup/x", "memory.current", 12345);
    assert_int_equal(available(), UINT64_C(5) << 30);
    put_groups("nothing of use\n:\n::\n\n", "neither\n - \n1 2 3\n");
    assert_int_equal(available(), UINT64_C(5) << 30);
}

/* More used than a lowered limit allows: nothing is left, not 2^64 less something. */
TEST(beyond_the_limit_nothing_is_left) {
    fresh_folder();
    put_machine(UINT64_C(5) << 30);
    put_groups("0::/\n", unified);
    put_number("/sys/fs/cgroup", "memory.max", 1 << 20);
    put_number("/sys/fs/cgroup", "memory.current", 1 << 21);
    assert_int_equal(available(), 0);
}

/* Version 1: a hierarchy a controller; and a container that sees the path of the host. */
TEST(version_1_limits_are_seen) {
    fresh_folder();
    uint64_t random = seed ^ 1, gib = UINT64_C(1) << 30;
    uint64_t left = random_bytes(&random) % gib + 4096;
    put_machine(64 * gib);
    put_groups("9:name=systemd:/\n5:cpu,cpuacct:/\n4:memory:/user/me\n0::/\n",
               "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
               "34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
               "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put_number("/sys/fs/cgroup/memory/user/me", "memory.limit_in_bytes", 9223372036854771712u);
    put_number("/sys/fs/cgroup/memory/user/me", "memory.usage_in_bytes", 3 * gib);
    put_number("/sys/fs/cgroup/memory/user", "memory.limit_in_bytes", 2 * gib + left);
    put_number("/sys/fs/cgroup/memory/user", "memory.usage_in_bytes", 3 * gib);
    put_text("/sys/fs/cgroup/memory/user/memory.stat",
             "inactive_file 1\ntotal_inactive_file 1000000000\ntotal_active_file 73741824\n");
    assert_int_equal(available(), left);
    put_groups("4:memory:/docker/abc\n",
               "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put_number("/sys/fs/cgroup/memory", "memory.limit_in_bytes", gib + left);
    put_number("/sys/fs/cgroup/memory", "memory.usage_in_bytes", gib);
    assert_int_equal(available(), left);
}

/* Bytes of field `field` of /proc/self/statm. */
static uint64_t in_use(int field) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    for (int i = 0; file && i <= field; i++)
        if (fscanf(file, "%llu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* In a child, whose end takes the limit away. */
static bool limit_counts(int resource, int field) {
    const pid_t child = check_fork();
    if (child == 0) {
        uint64_t spare = UINT64_C(64) << 20, slack = 1 << 20;
        struct rlimit limit;
        bool good = csrec_memory_available() > spare && getrlimit(resource, &limit) == 0;
        limit.rlim_cur = in_use(field) + spare;
        good &= setrlimit(resource, &limit) == 0;
        uint64_t left = csrec_memory_available();
        good &= left <= spare && left >= spare - slack;
        limit.rlim_cur = 0;
        good &= setrlimit(resource, &limit) == 0 && csrec_memory_available() == 0;
        _exit(good ? 0 : 1);
    }
    return check_ended(child) == 0;
}

TEST(limits_of_the_process_count) {
#ifndef __SANITIZE_ADDRESS__ /* whose shadow exceeds every limit on address space */
    assert_true(limit_counts(RLIMIT_AS, 0));
    assert_true(limit_counts(RLIMIT_DATA, 5));
#else
    (void)limit_counts;
    skip();
#endif
}

FIXTURE(io_setup, remove_folder);
