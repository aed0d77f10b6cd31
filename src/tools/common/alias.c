/* SPDX-License-Identifier: BSD-3-Clause */
/* alias.c - refuses an output file that the command line names elsewhere, too. */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a path refers to: a file, or the deepest existing folder and the name to create in it. */
typedef struct place {
    dev_t device;
    ino_t node;
    char *rest; /* "" for an existing file */
    const cli_path *path;
} place;

void cli_paths_add(cli_paths *paths, const cli_path *path) {
    size_t length = path->path ? strlen(path->path) : 0;
    if (length == 0 || strcmp(path->path, "-") == 0 || path->path[length - 1] == '/') return;
    if (paths->n == paths->room) {
        int room = paths->room ? 2 * paths->room : 16;
        cli_path *grown = realloc(paths->path, (size_t)room * sizeof *grown);
        paths->failed = paths->failed || !grown;
        if (!grown) return;
        paths->path = grown;
        paths->room = room;
    }
    char file[CSREC_PATH_ROOM], *copy = strdup(csrec_path_file(path->path, file));
    paths->failed = paths->failed || !copy;
    if (!copy) return;
    paths->path[paths->n] = *path;
    paths->path[paths->n++].path = copy;
}

/* The path of a file that does not exist, normalised: "./a//b" becomes "a/b". */
static void prepend(char *rest, const char *name) {
    if (!*name || strcmp(name, ".") == 0) return;
    size_t length = strlen(name);
    memmove(rest + length + 1, rest, strlen(rest) + 1);
    memcpy(rest, name, length);
    rest[length] = '/';
}

/* Removes trailing names until the folder exists. */
static bool locate_rest(char *path, place *to) {
    struct stat info;
    while (stat(*path ? path : ".", &info) != 0) {
        char *slash = strrchr(path, '/');
        if (*path == '\0' || (slash == path && path[1] == '\0')) return false;
        prepend(to->rest, slash ? slash + 1 : path);
        if (slash && slash > path)
            *slash = '\0';
        else
            path[slash ? 1 : 0] = '\0';
    }
    to->device = info.st_dev;
    to->node = info.st_ino;
    return true;
}

/* false: out of memory. A place without rest and node is empty. */
static bool locate(const cli_path *path, place *to) {
    struct stat info;
    *to = (place){.path = path};
    char *name = csrec_file_target(path->path);
    if (!name) name = strdup(path->path); /* links that lead to each other, a closed folder */
    to->rest = name ? calloc(strlen(name) + 2, 1) : NULL;
    if (to->rest && !(stat(name, &info) == 0 && !S_ISREG(info.st_mode)) && !locate_rest(name, to))
        to->node = 0;
    free(name);
    return to->rest != NULL;
}

static int by_place(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    int order = strcmp(x->rest, y->rest);
    return order ? order : y->path->written - x->path->written; /* written ones first */
}

static bool is_same(const place *a, const place *b) {
    return a->node == b->node && a->device == b->device && strcmp(a->rest, b->rest) == 0;
}

static void describe(const cli_path *path, char text[400]) {
    snprintf(text, 400, "%s%s %.150s%s%.150s%s", path->option ? "--" : "",
             path->option ? path->option : "input", path->path, path->of ? " (of " : "",
             path->of ? path->of : "", path->of ? ")" : "");
}

static int refuse(const cli_tool *tool, const cli_path *a, const cli_path *b) {
    char first[400], second[400];
    if (a->written && b->written && a->of && b->of && strcmp(a->option, b->option) == 0)
        return cli_usage(tool,
                         "%.300s and %.300s would be written to the same file, %.300s; rename one",
                         a->of, b->of, a->path);
    describe(a, first);
    describe(b, second);
    return cli_usage(tool, "%s and %s are the same file; name another", first, second);
}

/* After the sort, equal places are adjacent. */
static int compare(const cli_tool *tool, const place *places, int n) {
    for (int i = 0; i < n; i++)
        for (int k = i + 1;
             k < n && places[i].node && places[i].path->written && is_same(&places[i], &places[k]);
             k++)
            return refuse(tool, places[i].path, places[k].path);
    return CLI_CONTINUE;
}

static int check_paths(const cli_tool *tool, const cli_paths *paths) {
    place *places = calloc((size_t)paths->n + 1, sizeof *places);
    bool good = places && !paths->failed;
    int n = 0;
    for (; good && n < paths->n; n++) good = locate(&paths->path[n], &places[n]);
    int code = CLI_CONTINUE;
    if (good) {
        qsort(places, (size_t)n, sizeof *places, by_place);
        code = compare(tool, places, n);
    } else {
        code = cli_failure(tool, "out of memory");
    }
    while (n > 0) free(places[--n].rest);
    free(places);
    return code;
}

static const void *field(const void *arguments, size_t offset) {
    return (const char *)arguments + offset;
}

int cli_alias_check(const cli_tool *tool, const void *arguments) {
    cli_paths paths = {.n = 0};
    for (int i = 0; i < tool->n_options; i++) {
        const cli_option *o = &tool->options[i];
        const cli_texts *reads = field(arguments, o->offset);
        for (int k = 0; o->type == CLI_READS && k < reads->n; k++) {
            const char *one = cli_named_path(reads->text[k], NULL);
            cli_paths_add(&paths, &(cli_path){.option = o->name, .path = (char *)(uintptr_t)one});
        }
        if (o->type != CLI_READ && o->type != CLI_WRITE) continue;
        const char *path = *(const char *const *)field(arguments, o->offset);
        cli_paths_add(&paths, &(cli_path){.option = o->name,
                                          .path = (char *)(uintptr_t)path,
                                          .written = o->type == CLI_WRITE});
    }
    const void *operand = field(arguments, tool->operand);
    const cli_operands one = {(const char **)(uintptr_t)operand, 1};
    const cli_operands *all = tool->many ? operand : &one;
    for (int i = 0; i < all->n; i++)
        cli_paths_add(&paths, &(cli_path){.path = (char *)(uintptr_t)all->text[i]});
    if (tool->paths) tool->paths(arguments, &paths);
    int code = check_paths(tool, &paths);
    while (paths.n > 0) free(paths.path[--paths.n].path);
    free(paths.path);
    return code;
}
