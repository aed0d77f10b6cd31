/* alias.h - every path that a command line reads or writes, and that no file is both. */
#ifndef CSREC_CLI_ALIAS_H
#define CSREC_CLI_ALIAS_H

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

/* Adds a copy of path; NULL, "-" and a folder, ending in /, are none. */
void cli_paths_add(cli_paths *paths, const cli_path *path);

/* Compares what the tool's options, its operands and tool->paths name. Two names are one file if
 * links or hard links lead to the same one, or if neither is there yet and both would be made at
 * the same place. CLI_CONTINUE, or CLI_USAGE after a line that names both. Devices and pipes keep
 * what they hold, and may be named twice. */
int cli_alias_check(const cli_tool *tool, const void *arguments);

#endif
