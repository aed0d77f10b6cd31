/* path.c - paths that name an array within a file, FILE:/NAME. */
#include <string.h>
#include <sys/stat.h>

#include "files/format.h"

/* Whether the first bytes of the path name a file, by what exists or else by its ending. */
static bool is_file(const char *path, size_t length) {
    struct stat info;
    char file[CSREC_PATH_ROOM];
    if (length >= sizeof file) return false;
    memcpy(file, path, length);
    file[length] = '\0';
    return csrec_format_has_members(file) || (stat(file, &info) == 0 && !S_ISDIR(info.st_mode));
}

const char *csrec_path_member(const char *path) {
    struct stat info;
    const char *at = strstr(path, ":/");
    if (!at || stat(path, &info) == 0) return NULL;
    for (; at; at = strstr(at + 1, ":/"))
        if (at > path && is_file(path, (size_t)(at - path))) return at + 1;
    return NULL;
}

const char *csrec_path_file(const char *path, char file[CSREC_PATH_ROOM]) {
    const char *member = csrec_path_member(path);
    if (!member) return path;
    size_t length = (size_t)(member - 1 - path); /* is_file has found that it fits */
    memcpy(file, path, length);
    file[length] = '\0';
    return file;
}
