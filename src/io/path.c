/* path.c - paths that name an array within a file, FILE:/NAME. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/format.h"

/* Whether the first bytes of the path name a file, by what exists or else by its ending. */
static bool is_file(const char *path, size_t length) {
    struct stat info;
    char *file = strndup(path, length);
    bool good = file && (csrec_format_has_members(file) ||
                         (stat(file, &info) == 0 && !S_ISDIR(info.st_mode)));
    free(file);
    return good;
}

const char *csrec_path_member(const char *path) {
    struct stat info;
    const char *at = strstr(path, ":/");
    if (!at || stat(path, &info) == 0) return NULL;
    for (; at; at = strstr(at + 1, ":/"))
        if (at > path && is_file(path, (size_t)(at - path))) return at + 1;
    return NULL;
}

char *csrec_path_file(const char *path) {
    const char *member = csrec_path_member(path);
    return strndup(path, member ? (size_t)(member - 1 - path) : strlen(path));
}
