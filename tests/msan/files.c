/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - what is told of a file, for the memory sanitizer: it knows the names that these
 * functions had before version 2.33 of the C library. */
#define _GNU_SOURCE /* AT_EMPTY_PATH, fopencookie */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "known.h"

int fstatat(int folder, const char *path, struct stat *info, int flags) {
    int result = (int)syscall(SYS_newfstatat, folder, path, info, flags);
    if (result == 0) WRITTEN(info, 1);
    return result;
}

int stat(const char *path, struct stat *info) {
    return fstatat(AT_FDCWD, path, info, 0);
}

int lstat(const char *path, struct stat *info) {
    return fstatat(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *info) {
    return fstatat(file, "", info, AT_EMPTY_PATH);
}

/* The sanitizer's own checks of the C library's arguments would also stop at what libzip and libpng
 * pass, whose memory counts as never written: they are off, but for what this library writes. */
__attribute__((constructor)) static void trust_arguments(void) {
    __msan_scoped_disable_interceptor_checks();
}

/* The tools have one function that takes what is printed into memory: all calls go there. */
static cookie_write_function_t *taker;

static ssize_t take(void *cookie, const char *bytes, size_t count) {
    __msan_unpoison_param(3);
    WRITTEN(bytes, count);
    return taker(cookie, bytes, count);
}

KNOWN(FILE *, fopencookie, void *cookie, const char *mode, cookie_io_functions_t functions) {
    taker = functions.write;
    return fopencookie(cookie, mode, (cookie_io_functions_t){.write = take});
}

KNOWN(size_t, fwrite, const void *data, size_t size, size_t count, FILE *file) {
    CHECKED((const char *)data, size * count);
    return fwrite(data, size, count, file);
}
