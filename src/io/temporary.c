/* temporary.c - files without a final name yet: created, locked, and removed after a killed run. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/output.h"

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
    int number, end = 0;
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
