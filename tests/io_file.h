/* SPDX-License-Identifier: BSD-3-Clause */
/* io_file.h - files, folders and forks for the tests of readers and writers. */
#pragma once

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* A growing run of bytes; room: allocated by io_put. */
typedef struct {
    uint8_t *data;
    size_t size, room;
} io_bytes;

static inline void io_put(io_bytes *b, const void *data, size_t size) {
    /* Doubled: sanitizers copy at each realloc. */
    if (b->size + size >= b->room) {
        b->room = 2 * (b->size + size) + 1;
        b->data = realloc(b->data, b->room);
    }
    assert_non_null(b->data);
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* Little-endian number of `bytes` bytes. */
static inline void io_put_le(io_bytes *b, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) io_put(b, &(uint8_t){(uint8_t)(i < 8 ? value >> 8 * i : 0)}, 1);
}

static inline void io_put_be(io_bytes *b, uint64_t value, int bytes) {
    for (int i = bytes; i-- > 0;) io_put(b, &(uint8_t){(uint8_t)(i < 8 ? value >> 8 * i : 0)}, 1);
}

static inline void io_free(io_bytes *b) {
    free(b->data);
    *b = (io_bytes){0};
}

/* A fresh folder of this process; every test file goes there. */
static char io_folder[64];

static inline int io_setup(void **state) {
    (void)state;
    strcpy(io_folder, "/tmp/csrec-test-XXXXXX");
    return mkdtemp(io_folder) ? 0 : -1;
}

static inline int io_count_files(void) {
    DIR *dir = opendir(io_folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static inline void io_empty_folder(void) {
    DIR *dir = opendir(io_folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", io_folder, entry->d_name);
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2) remove(path);
    }
    closedir(dir);
}

static inline int io_teardown(void **state) {
    (void)state;
    io_empty_folder();
    rmdir(io_folder);
    return 0;
}

/* Path of a file in the folder; sixteen names are good at a time. */
static inline const char *io_path(const char *name) {
    static char paths[16][256];
    static int turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", io_folder, name);
    return path;
}

static inline const char *io_save(const char *name, const void *data, size_t size) {
    const char *path = io_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* The same of bytes that nobody else frees. */
static inline const char *io_keep(const char *name, io_bytes b) {
    const char *path = io_save(name, b.data, b.size);
    io_free(&b);
    return path;
}

static inline io_bytes io_load(const char *path) {
    io_bytes b = {0};
    uint8_t buffer[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;) io_put(&b, buffer, got);
    fclose(file);
    return b;
}

static inline void io_assert_same(const char *one, const char *other) {
    ENDS_BY(io_free) io_bytes a = io_load(one), b = io_load(other);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
}

/* One line that contains every given part: the file, the array, the remedy. */
static inline void io_assert_line(const csrec_error *error, const char *file, const char *part) {
    if (!strstr(error->text, file) || !strstr(error->text, part)) {
        print_error("error line: %s\nlacks '%s' or '%s'\n", error->text, file, part);
        fail();
    }
    assert_null(strchr(error->text, '\n'));
    assert_true(strlen(error->text) > strlen(file) + 10);
}

/* A call that tells in `error`, which this declares, gives this status and names the file. */
#define io_refused(call, status, file, part)                                                       \
    do {                                                                                           \
        csrec_error error = {""};                                                                  \
        assert_int_equal(call, status);                                                            \
        io_assert_line(&error, file, part);                                                        \
    } while (0)

/* Runs fn in a child process whose files may not exceed `bytes`: a full disk. True if it
 * returned true there. */
static inline bool io_with_limit(rlim_t bytes, bool (*fn)(const char *path), const char *path) {
    const pid_t child = check_fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN); /* write then fails with EFBIG */
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, bytes});
        _exit(fn(path) ? 0 : 1);
    }
    return check_ended(child) == 0;
}

/* A writer, true if it fails as of a full disk, leaves nothing behind, wherever the disk ends. */
static inline void io_expect_full_disk(bool (*fails)(const char *path), const char *name, int n,
                                       const rlim_t *bytes) {
    io_empty_folder();
    for (int i = 0; i < n; i++) assert_true(io_with_limit(bytes[i], fails, io_path(name)));
    assert_true(fails("/dev/full"));
    assert_int_equal(access("/dev/full", F_OK), 0); /* not replaced */
    char nowhere[32];
    snprintf(nowhere, sizeof nowhere, "none/%s", name);
    assert_true(fails(io_path(nowhere)));
    assert_int_equal(io_count_files(), 0);
}

/* Runs fn in a child with stdin from one file and stdout to another (either may be NULL). */
static inline bool io_with_pipes(const char *in, const char *out, bool (*fn)(void)) {
    const pid_t child = check_fork();
    if (child == 0) {
        if (in && !freopen(in, "rb", stdin)) _exit(2);
        if (out && !freopen(out, "wb", stdout)) _exit(2);
        _exit(fn() ? 0 : 1);
    }
    return check_ended(child) == 0;
}
