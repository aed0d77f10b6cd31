/* SPDX-License-Identifier: BSD-3-Clause */
/* temporary.c - files without a final name yet: created, locked, and removed after a killed run;
 * and locks on names that are about to be written. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "csrec/sampling.h"
#include "base/error.h"
#include "files/output.h"

enum { LOCK_NAME = 28 }; /* length of ".csrec-HASH.lock", HASH: 16 digits */

/* A name in the target's folder: rename is atomic within one file system only. It does not contain
 * the target's name, which may be as long as names can be. */
static char *temporary_name(const char *target, int attempt) {
    const char *slash = strrchr(target, '/');
    int folder = slash ? (int)(slash - target) + 1 : 0;
    size_t room = (size_t)folder + 64;
    char *name = malloc(room);
    if (name)
        snprintf(name, room, "%.*s.csrec-%ld-%d.tmp", folder, target, (long)getpid(), attempt);
    return name;
}

static bool is_temporary_name(const char *name) {
    long process;
    unsigned long long hash;
    int number, end = 0;
    if (sscanf(name, ".csrec-%16llx.lock%n", &hash, &end) == 1 && end == LOCK_NAME)
        return name[end] == '\0';
    return sscanf(name, ".csrec-%ld-%d.tmp%n", &process, &number, &end) == 2 && end > 0 &&
           name[end] == '\0';
}

/* Whether the open file still has the name: another process may have removed it. */
static bool has_name(int fd, int folder, const char *name) {
    struct stat open_file, named;
    return fstat(fd, &open_file) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* A file system without locks refuses the sweeper's lock as well: nothing is removed on it. */
static bool is_ours(int fd, const char *name) {
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return has_name(fd, AT_FDCWD, name);
}

int csrec_temporary_open(const char *target, char **name) {
    for (int attempt = 0; attempt < 10000; attempt++) {
        char *made = temporary_name(target, attempt);
        if (!made) return -1;
        /* 0666 less the umask, as any new file; a replaced file keeps its own permissions. */
        int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int reason = errno;
        if (fd >= 0 && is_ours(fd, made)) {
            *name = made;
            return fd;
        }
        if (fd >= 0) close(fd); /* a sweeper acted between creation and lock */
        free(made);
        errno = reason;
        if (fd < 0 && reason != EEXIST) return -1;
    }
    return -1;
}

/* The lock, once granted, prevents every other process from using the file as its own. */
static int remove_unheld(int folder, const char *name) {
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return 0;
    struct stat info;
    bool unheld = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                  flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, folder, name);
    int removed = unheld && unlinkat(folder, name, 0) == 0;
    close(fd);
    return removed;
}

int csrec_files_sweep(const char *path) {
    char *target = realpath(path, NULL);
    const char *whole = target ? target : path, *slash = strrchr(whole, '/');
    char *name = slash ? strndup(whole, (size_t)(slash - whole) + 1) : strdup(".");
    DIR *folder = name ? opendir(name) : NULL;
    int removed = 0;
    if (folder) {
        for (struct dirent *entry; (entry = readdir(folder));)
            if (is_temporary_name(entry->d_name))
                removed += remove_unheld(dirfd(folder), entry->d_name);
        closedir(folder);
    }
    free(name);
    free(target);
    return removed;
}

struct csrec_file_lock {
    int fd;
    char name[];
};

/* The hash of the name stands for it, which may be as long as names can be. All machines that see
 * the folder agree on the lock, whatever they call the folder. */
static csrec_file_lock *lock_beside(const char *target) {
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    int folder = (int)(name - target);
    uint64_t hash = 0;
    for (const char *c = name; *c; c++) hash = csrec_random_u64(hash, 0, (unsigned char)*c);
    csrec_file_lock *lock = malloc(sizeof *lock + (size_t)folder + LOCK_NAME + 1);
    if (!lock) return NULL;
    snprintf(lock->name, (size_t)folder + LOCK_NAME + 1, "%.*s.csrec-%016llx.lock", folder, target,
             (unsigned long long)hash);
    lock->fd = -1;
    return lock;
}

/* Who has it, as the holder wrote it. */
static csrec_status held(int fd, const char *path, csrec_error *error) {
    char holder[200] = "";
    ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
    holder[n > 0 ? n : 0] = '\0';
    return csrec_fail(
        error, CSREC_FILE,
        "%s: is being written by another run%s%s; wait for its end, or choose another output", path,
        n > 0 ? " on " : "", holder);
}

static void sign(int fd) {
    char text[200], host[128] = "";
    gethostname(host, sizeof host - 1);
    int n = snprintf(text, sizeof text, "%s, process %ld", host, (long)getpid());
    (void)!(ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) == n);
}

/* Tries once: CSREC_OK with lock->fd < 0, and nothing is locked, in folders and file systems that
 * do not allow it; writing tells what is wrong there. *again: a sweeper, or the holder's end, may
 * have come between. */
static csrec_status try_lock(csrec_file_lock *lock, const char *path, bool *again,
                             csrec_error *error) {
    csrec_status status = CSREC_OK;
    *again = false;
    lock->fd = open(lock->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (lock->fd < 0) return CSREC_OK;
    bool ours = flock(lock->fd, LOCK_EX | LOCK_NB) == 0;
    bool other = !ours && errno == EWOULDBLOCK;
    *again = other || (ours && !has_name(lock->fd, AT_FDCWD, lock->name));
    if (ours && !*again) {
        sign(lock->fd);
        return CSREC_OK;
    }
    if (other) status = held(lock->fd, path, error);
    close(lock->fd);
    lock->fd = -1;
    return status;
}

csrec_status csrec_file_lock_take(const char *path, csrec_file_lock **lock, csrec_error *error) {
    static const struct timespec nap = {.tv_nsec = 20000000};
    struct stat info;
    char file[CSREC_PATH_ROOM];
    const char *name = csrec_path_file(path, file);
    csrec_status status = CSREC_OK;
    bool again = true;
    *lock = NULL;
    if (strcmp(path, "-") == 0 || (stat(name, &info) == 0 && !S_ISREG(info.st_mode)))
        return CSREC_OK;
    char *target = csrec_file_target(name);
    if (!target && errno != ENOMEM) return csrec_output_failed(path, error);
    csrec_file_lock *made = target ? lock_beside(target) : NULL;
    free(target);
    if (!made) return csrec_memory_fail(error, path);
    for (int attempt = 0; again && attempt < 10; attempt++) {
        if (attempt) nanosleep(&nap, NULL);
        status = try_lock(made, path, &again, error);
    }
    if (status || made->fd < 0) {
        free(made);
        return status;
    }
    *lock = made;
    return CSREC_OK;
}

void csrec_file_lock_drop(csrec_file_lock *lock) {
    if (!lock) return;
    remove(lock->name); /* while it is locked: nobody else's */
    close(lock->fd);
    free(lock);
}
