/* alias.h - collects every path that a command line reads or writes, and checks that no file is
 * both. */
#ifndef CSREC_TOOLS_COMMON_ALIAS_H
#define CSREC_TOOLS_COMMON_ALIAS_H

#include "options.h"

typedef struct cli_path {
    const char *option;    /* "output", or NULL: the operand */
    const char *of;        /* the operand that implies it, or NULL */
    const char *may_alias; /* name of the option that may replace the file, or NULL */
    char *path;
    bool written;
} cli_path;

struct cli_paths {
    cli_path *path; /* [n] */
    int n, room;
    bool failed; /* out of memory */
};

/* Adds a copy of path; ignores NULL, "-" and folders, which end in /. */
void cli_paths_add(cli_paths *paths, const cli_path *path);

/* Compares the paths of the tool's options, its operands and tool->paths. Two names are one file if
 * links or hard links refer to the same file, or if neither exists yet and both would be created at
 * the same place. Returns CLI_CONTINUE, or CLI_USAGE after a line that names both. Devices and
 * pipes may be named twice. */
int cli_alias_check(const cli_tool *tool, const void *arguments);

#endif
