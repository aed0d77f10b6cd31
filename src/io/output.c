/* output.c - writing to a temporary name, renamed when everything is on the disk. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

csrec_status csrec_output_failed(const csrec_output *output, csrec_error *error) {
    return csrec_fail(error, CSREC_FILE,
                      "%s: cannot be written (%s); check the folder and the disk", output->name,
                      strerror(errno ? errno : EIO));
}

static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    if (copy) strcpy(copy, text);
    return copy;
}

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

static bool open_temporary(csrec_output *output, mode_t mode) {
    for (int attempt = 0; attempt < 10000; attempt++) {
        output->temporary = temporary_name(output->target, attempt);
        if (!output->temporary) return false;
        /* 0666 less the umask, as any new file; a replaced file keeps its own permissions. */
        int fd = open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            if (mode) (void)!fchmod(fd, mode);
            output->file = fdopen(fd, "w+b");
            if (output->file) return true;
            close(fd);
            remove(output->temporary);
        }
        int reason = errno;
        free(output->temporary);
        output->temporary = NULL;
        errno = reason;
        if (reason != EEXIST) return false;
    }
    return false;
}

static bool open_target(const char *path, csrec_output *output) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists && !S_ISREG(info.st_mode)) return (output->file = fopen(path, "wb")) != NULL;
    /* Renaming would also replace a file that may not be written, and a link instead of its file.
     */
    if (exists && access(path, W_OK) != 0) return false;
    output->target = exists ? realpath(path, NULL) : copy_text(path);
    return output->target && open_temporary(output, exists ? info.st_mode & 0777 : 0);
}

static void forget(csrec_output *output) {
    if (output->temporary) remove(output->temporary);
    free(output->temporary);
    free(output->target);
    *output = (csrec_output){.name = output->name};
}

csrec_status csrec_output_open(const char *path, csrec_output_mode mode, csrec_output *output,
                               csrec_error *error) {
    bool to_stdout = strcmp(path, "-") == 0;
    *output = (csrec_output){.name = to_stdout ? "standard output" : path};
    errno = 0;
    bool opened = true;
    if (to_stdout)
        output->file = stdout;
    else
        opened = open_target(path, output);
    if (opened && mode == CSREC_OUTPUT_SEEK && !output->temporary) {
        output->sink = output->file;
        output->file = tmpfile();
        opened = output->file != NULL;
    }
    if (opened) return CSREC_OK;
    csrec_status status = csrec_output_failed(output, error);
    if (output->sink && output->sink != stdout) fclose(output->sink);
    forget(output);
    return status;
}

csrec_status csrec_output_write(csrec_output *output, const void *data, uint64_t bytes,
                                csrec_error *error) {
    errno = 0;
    if (fwrite(data, 1, (size_t)bytes, output->file) == bytes) return CSREC_OK;
    return csrec_output_failed(output, error);
}

static bool copy_spool(FILE *from, FILE *to) {
    char buffer[1 << 14];
    size_t got;
    if (fflush(from) != 0) return false;
    rewind(from);
    while ((got = fread(buffer, 1, sizeof buffer, from)) > 0)
        if (fwrite(buffer, 1, got, to) != got) return false;
    return !ferror(from);
}

/* Errors of buffered writes may show only here, so the flush and the close count. */
static bool finish(FILE *file) {
    if (!file) return true;
    bool good = fflush(file) == 0 && !ferror(file);
    if (file == stdout) return good;
    int reason = errno;
    bool closed = fclose(file) == 0;
    if (!good) errno = reason;
    return good && closed;
}

csrec_status csrec_output_close(csrec_output *output, csrec_status status, csrec_error *error) {
    errno = 0;
    bool good = status == CSREC_OK;
    if (good && output->sink) good = copy_spool(output->file, output->sink);
    int reason = errno;
    bool finished = finish(output->file);
    if (!finish(output->sink)) finished = false;
    if (status == CSREC_OK && !good) errno = reason;
    good = good && finished;
    if (good && output->temporary) good = rename(output->temporary, output->target) == 0;
    if (status == CSREC_OK && !good) status = csrec_output_failed(output, error);
    if (good) {
        free(output->temporary); /* has its final name: nothing to remove */
        output->temporary = NULL;
    }
    forget(output);
    return status;
}
