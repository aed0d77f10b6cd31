/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - files committed together: renamed when all are on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

csrec_status csrec_files_stage(csrec_files *files, const csrec_staged *staged, csrec_error *error) {
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
        return csrec_fail(error, CSREC_MEMORY, "%s: out of memory", staged->name);
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
    csrec_status status = csrec_output_open(files, path, CSREC_OUTPUT_STREAM, &output, error);
    if (status) return status;
    return csrec_output_close(&output, csrec_output_write(&output, bytes, n, error), error);
}
