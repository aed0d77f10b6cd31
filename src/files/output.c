/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c - one file, written under a temporary name until the commit of its files; and files
 * committed together: renamed when all are on the disk. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "files/output.h"

struct csrec_files {
    csrec_files_options asked;
    int n, room;
    csrec_staged *staged; /* [n] */
};

csrec_status csrec_files_create(const csrec_files_options *options, csrec_files **files,
                                csrec_error *error) {
    csrec_files *made = calloc(1, sizeof *made);
    if (!made) return csrec_fail(error, CSREC_MEMORY, "out of memory for the files to write");
    if (options) made->asked = *options;
    *files = made;
    return CSREC_OK;
}

const csrec_files_options *csrec_files_asked(const csrec_files *files) {
    return &files->asked;
}

static void clear(csrec_staged *staged) {
    if (staged->temporary) remove(staged->temporary);
    if (staged->lock >= 0) close(staged->lock);
    if (staged->folder >= 0) close(staged->folder);
    free(staged->name);
    free(staged->temporary);
    free(staged->target);
}

static csrec_status files_stage(csrec_files *files, const csrec_staged *staged,
                                csrec_error *error) {
    char *name = strdup(staged->name);
    if (name && files->n == files->room) {
        int room = files->room ? 2 * files->room : 4;
        csrec_staged *grown = realloc(files->staged, (size_t)room * sizeof *grown);
        if (grown) {
            files->staged = grown;
            files->room = room;
        }
    }
    if (!name || files->n == files->room) {
        free(name);
        return csrec_memory_fail(error, staged->name);
    }
    files->staged[files->n] = *staged;
    files->staged[files->n++].name = name;
    return CSREC_OK;
}

/* A folder that may be written but not read cannot be opened, and some file systems cannot
 * synchronise folders: neither is a failure. */
static bool open_folder(csrec_staged *staged) {
    const char *slash = strrchr(staged->target, '/');
    char *name =
        slash ? strndup(staged->target, (size_t)(slash - staged->target) + 1) : strdup(".");
    if (!name) return false;
    staged->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = errno;
    free(name);
    errno = reason;
    return staged->folder >= 0 || reason == EACCES;
}

static bool sync_folder(const csrec_staged *staged) {
    return staged->folder < 0 || fsync(staged->folder) == 0 || errno == EINVAL;
}

/* Folders are opened and tested before the first rename, while a failure still changes nothing. */
static csrec_status prepare(csrec_files *files, csrec_error *error) {
    for (int i = 0; i < files->n && !files->asked.no_sync; i++)
        if (!open_folder(&files->staged[i]) || !sync_folder(&files->staged[i]))
            return csrec_output_failed(files->staged[i].name, error);
    return CSREC_OK;
}

/* Only a folder that changes meanwhile can fail between two files: the line names those renamed. */
static csrec_status rename_all(csrec_files *files, csrec_error *error) {
    char before[256] = "";
    for (int i = 0; i < files->n; i++) {
        csrec_staged *s = &files->staged[i];
        if (rename(s->temporary, s->target) != 0) {
            csrec_error reason;
            csrec_output_failed(s->name, &reason);
            return csrec_fail(error, CSREC_FILE, "%s%s%s", reason.text,
                              i ? "; already replaced: " : "", before);
        }
        free(s->temporary); /* has its final name: no temporary to remove */
        s->temporary = NULL;
        size_t used = strlen(before);
        snprintf(before + used, sizeof before - used, "%s%.80s", used ? ", " : "", s->name);
    }
    return CSREC_OK;
}

static csrec_status sync_names(const csrec_files *files, csrec_error *error) {
    for (int i = 0; i < files->n && !files->asked.no_sync; i++)
        if (!sync_folder(&files->staged[i]))
            return csrec_fail(error, CSREC_FILE,
                              "%s: is written, but its folder cannot be synchronised (%s), so that "
                              "a power cut may undo it; check the disk",
                              files->staged[i].name, strerror(errno));
    return CSREC_OK;
}

csrec_status csrec_files_commit(csrec_files *files, csrec_error *error) {
    csrec_status status = prepare(files, error);
    if (!status) status = rename_all(files, error);
    if (!status) status = sync_names(files, error);
    for (int i = 0; i < files->n; i++) clear(&files->staged[i]);
    files->n = 0;
    return status;
}

void csrec_files_destroy(csrec_files *files) {
    if (!files) return;
    for (int i = 0; i < files->n; i++) clear(&files->staged[i]);
    free(files->staged);
    free(files);
}

csrec_status csrec_files_finish(csrec_files *files, csrec_status status, csrec_error *error) {
    if (!status) status = csrec_files_commit(files, error);
    csrec_files_destroy(files);
    return status;
}

csrec_status csrec_files_add_bytes(csrec_files *files, const char *path, const void *bytes,
                                   size_t n, csrec_error *error) {
    csrec_output output;
    CSREC_TRY(csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error));
    return csrec_output_close(&output, csrec_output_write(&output, bytes, n, error), error);
}

csrec_status csrec_output_failed(const char *name, csrec_error *error) {
    const int reason = errno ? errno : EIO;
    return csrec_fail(error, CSREC_FILE, "%s: cannot be written (%s); %s", name, strerror(reason),
                      csrec_errno_remedy(reason, "check the folder and the disk"));
}

static bool open_temporary(csrec_output *output, mode_t mode) {
    int fd = csrec_temporary_open(output->target, &output->temporary);
    if (fd < 0) return false;
    if (mode) (void)!fchmod(fd, mode);
    output->file = fdopen(fd, "w+b");
    if (output->file) return true;
    int reason = errno;
    close(fd);
    errno = reason;
    return false;
}

char *csrec_file_target(const char *path) {
    char *target = realpath(path, NULL), *next = NULL;
    if (target || errno != ENOENT) return target;
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) return strdup(path);
    size_t folder = strrchr(path, '/') ? (size_t)(strrchr(path, '/') - path) + 1 : 0;
    size_t room = folder + (size_t)info.st_size + 2;
    char *text = malloc(room);
    ssize_t length = text ? readlink(path, text + folder, room - folder - 1) : -1;
    if (length > 0) {
        text[folder + (size_t)length] = '\0';
        if (text[folder] != '/') memcpy(text, path, folder);
        next = csrec_file_target(text[folder] == '/' ? text + folder : text);
    }
    free(text);
    return next;
}

static bool open_target(const char *path, csrec_output *output) {
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists && !S_ISREG(info.st_mode)) return (output->file = fopen(path, "wb")) != NULL;
    /* Renaming would also replace a file that may not be written, and a link, not its file. */
    if (exists && access(path, W_OK) != 0) return false;
    output->target = csrec_file_target(path); /* a link is kept: its target is replaced */
    return output->target && open_temporary(output, exists ? info.st_mode & 0777 : 0);
}

static void forget(csrec_output *output) {
    if (output->temporary) remove(output->temporary);
    free(output->temporary);
    free(output->target);
    *output = (csrec_output){.files = output->files, .name = output->name};
}

csrec_status csrec_output_open(csrec_files *files, const char *path, csrec_output_mode mode,
                               csrec_output *output, csrec_error *error) {
    bool to_stdout = strcmp(path, "-") == 0;
    *output = (csrec_output){.files = files, .name = to_stdout ? "standard output" : path};
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
    csrec_status status = csrec_output_failed(output->name, error);
    if (output->sink && output->sink != stdout) fclose(output->sink);
    forget(output);
    return status;
}

const char *csrec_output_fingerprint(const csrec_output *output) {
    return output->temporary ? csrec_files_asked(output->files)->fingerprint : NULL;
}

csrec_status csrec_output_write(csrec_output *output, const void *data, uint64_t bytes,
                                csrec_error *error) {
    errno = 0;
    if (fwrite(data, 1, (size_t)bytes, output->file) == bytes) return CSREC_OK;
    return csrec_output_failed(output->name, error);
}

csrec_status csrec_output_append_fingerprint(csrec_output *output, csrec_error *error) {
    const char *text = csrec_output_fingerprint(output);
    if (!text) return CSREC_OK;
    char *line = csrec_fingerprint_line(text, 1);
    if (!line) return csrec_memory_fail(error, output->name);
    csrec_status status = fseeko(output->file, 0, SEEK_END)
                              ? csrec_output_failed(output->name, error)
                              : csrec_output_write(output, line, strlen(line), error);
    free(line);
    return status;
}

static bool copy_spool(FILE *from, FILE *to) {
    char buffer[1 << 14];
    size_t got;
    if (fflush(from) != 0 || fseeko(from, 0, SEEK_SET) != 0) return false;
    while ((got = fread(buffer, 1, sizeof buffer, from)) > 0)
        if (fwrite(buffer, 1, got, to) != got) return false;
    return !ferror(from);
}

/* The date is set before the sync and the rename: a file under its final name always has it. */
static bool settle(const csrec_output *output) {
    const csrec_files_options *asked = csrec_files_asked(output->files);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)asked->date}};
    int fd = fileno(output->file);
    if (fflush(output->file) != 0 || ferror(output->file)) return false;
    if (asked->dated && futimens(fd, times) != 0) return false;
    return asked->no_sync || fsync(fd) == 0;
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

/* Closing reports errors that nothing before it does, but the lock must last until the rename. */
static csrec_status stage(csrec_output *output, csrec_error *error) {
    csrec_staged staged = {.target = output->target, .temporary = output->temporary, .folder = -1};
    bool good = settle(output);
    int reason = errno;
    staged.lock = good ? fcntl(fileno(output->file), F_DUPFD_CLOEXEC, 0) : -1;
    if (good && staged.lock < 0) reason = errno;
    bool closed = finish(output->file);
    if (staged.lock < 0) errno = reason;
    csrec_status status = CSREC_OK;
    if (staged.lock < 0 || !closed) status = csrec_output_failed(output->name, error);
    staged.name = (char *)(uintptr_t)output->name;
    if (!status) status = files_stage(output->files, &staged, error);
    if (status && staged.lock >= 0) close(staged.lock);
    if (!status) output->target = output->temporary = NULL; /* now owned by the files */
    return status;
}

static csrec_status finish_plain(csrec_output *output, csrec_status status, csrec_error *error) {
    bool good = status == CSREC_OK;
    if (good && output->sink) good = copy_spool(output->file, output->sink);
    int reason = errno;
    bool finished = finish(output->file);
    if (!finish(output->sink)) finished = false;
    if (!status && !good) errno = reason;
    if (!status && !(good && finished)) status = csrec_output_failed(output->name, error);
    return status;
}

csrec_status csrec_output_close(csrec_output *output, csrec_status status, csrec_error *error) {
    errno = 0;
    status =
        !status && output->temporary ? stage(output, error) : finish_plain(output, status, error);
    forget(output);
    return status;
}
