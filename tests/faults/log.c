/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c - what was done to files, in order, for the replay.
 *
 * A record is a line of text and its bytes:
 *   WHAT RESULT A B LENGTH1 LENGTH2 BYTES\n FIRST SECOND DATA \n
 * The log is a mapped file, so that it needs no descriptor of the process and outlives a kill. */
#define _GNU_SOURCE
#include "fault.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 28 };

static char *text;
static size_t used;
static atomic_flag busy = ATOMIC_FLAG_INIT;

void fault_log_open(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, ROOM) != 0) abort();
    text = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (text == MAP_FAILED) abort();
    close(fd);
}

void fault_log_begin(void) {
    while (text && atomic_flag_test_and_set(&busy)) continue;
}

void fault_log_end(void) {
    if (text) atomic_flag_clear(&busy);
}

static void put(const void *data, size_t bytes) {
    if (used + bytes >= ROOM) abort();
    memcpy(text + used, data, bytes);
    used += bytes;
}

void fault_log_record(const char *what, long result, long a, long b, const char *first,
                      const char *second, const void *data, size_t bytes) {
    char line[160];
    if (!text) return;
    size_t n = first ? strlen(first) : 0, m = second ? strlen(second) : 0;
    int length = snprintf(line, sizeof line, "%s %ld %ld %ld %zu %zu %zu\n", what, result, a, b, n,
                          m, bytes);
    put(line, (size_t)length);
    if (n) put(first, n);
    if (m) put(second, m);
    if (bytes) put(data, bytes);
    put("\n", 1);
}
