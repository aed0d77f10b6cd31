/* SPDX-License-Identifier: BSD-3-Clause */
/* prior_files.c - finds priors beside the library. */
#define _GNU_SOURCE /* dladdr */

#include "learn/net/prior.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

/* From the folder of the library: of a build or in a Python package; lib beside share; a folder of
 * lib. */
static const char *const folders[] = {"share", "../share/csrecover", "../../share/csrecover"};

enum { FOLDERS = sizeof folders / sizeof *folders };

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of the library, or of the program it is a part of, whose name the system gives as it
 * was called: without a folder if it was found on the PATH, and from the folder that was the
 * current one then. "." if the system does not say. */
static void own_folder(char path[PATH_ROOM]) {
    Dl_info info = {0};
    const ssize_t length = readlink("/proc/self/exe", path, PATH_ROOM - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *name = dladdr((const void *)folders, &info) ? info.dli_fname : NULL;
    const bool program = name && name[0] != '/' && strcmp(last_part(name), last_part(path)) == 0;
    if (name && strchr(name, '/') && !program) snprintf(path, PATH_ROOM, "%s", name);
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    else
        strcpy(path, ".");
}

const char *csrec_prior_named(void) {
    const char *named = getenv(CSREC_PRIORS);
    return named && *named ? named : NULL;
}

/* In that folder, and nowhere else, if there is one. */
static bool find(const char *name, char path[PATH_ROOM]) {
    char own[PATH_ROOM];
    const char *named = csrec_prior_named();
    own_folder(own);
    for (int i = 0; i < (named ? 1 : FOLDERS); i++) {
        const int length = named ? snprintf(path, PATH_ROOM, "%s/%s", named, name)
                                 : snprintf(path, PATH_ROOM, "%s/%s/%s", own, folders[i], name);
        if (length < PATH_ROOM && access(path, R_OK) == 0) return true;
    }
    return false;
}

static bool find_prior(int64_t channels, char path[PATH_ROOM]) {
    if (channels == CSREC_PRIOR_RENDERED) return find("prior-rendered.npz", path);
    if (channels == CSREC_PRIOR_BESIDE) return find("prior-beside.npz", path);
    if (channels == CSREC_PRIOR_NOISE && find("prior-noise.npz", path)) return true;
    return (channels == 3 && find("prior-colour.npz", path)) || find("prior-gray.npz", path);
}

bool csrec_prior_installed(int64_t channels, size_t size, char *path) {
    char found[PATH_ROOM];
    bool there = find_prior(channels, found);
    if (path && size > 0) snprintf(path, size, "%s", there ? found : "");
    return there;
}

/* A prior that is damaged is not learned again by who uses it. */
static csrec_status read_prior(const char *path, csrec_model **model, csrec_error *error) {
    csrec_error told = {{0}};
    const csrec_status status = csrec_model_read(path, model, &told);
    const char *remedy = strrchr(told.text, ';');
    if (!status) return CSREC_OK;
    if (status == CSREC_MEMORY) return csrec_fail(error, status, "%s", told.text);
    return csrec_fail(error, status,
                      "%.*s; install csrecover again, or name another folder of priors in the "
                      "environment variable " CSREC_PRIORS,
                      (int)(remedy ? remedy - told.text : (ptrdiff_t)strlen(told.text)), told.text);
}

csrec_status csrec_prior_find(int64_t channels, csrec_model **model, csrec_error *error) {
    char path[PATH_ROOM];
    if (find_prior(channels, path)) return read_prior(path, model, error);
    const char *const kind = channels == CSREC_PRIOR_RENDERED ? "rendered"
                             : channels == CSREC_PRIOR_BESIDE ? "beside"
                                                              : "net";
    const char *named = csrec_prior_named(), *file = strcmp(kind, "net") == 0 ? "gray" : kind;
    if (named)
        return csrec_fail(
            error, CSREC_FILE,
            "prior-%s.npz: is not in %.200s, which the environment variable " CSREC_PRIORS
            " names; name the folder that has it, or none, give a model "
            "of kind %s, or use quality fast",
            file, named, kind);
    own_folder(path);
    return csrec_fail(error, CSREC_FILE,
                      "prior-%s.npz: no learned prior is installed in %.200s/%s; name its folder "
                      "in the environment variable " CSREC_PRIORS ", give a model of kind %s, or "
                      "use quality fast",
                      file, path, folders[1], kind);
}
