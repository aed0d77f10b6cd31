/* SPDX-License-Identifier: BSD-3-Clause */
/* fingerprint.h - one line in each result that says what it was made from. */
#pragma once

#include "options.h"
#include "report.h"

/* A line begins with 1 if the result is whole, 0 if the run was interrupted. */
#define CLI_WHOLE "whole=1; "
void cli_fingerprint_set_whole(char *text, bool whole);

/* A line under construction. `known` becomes false if contents cannot be read again (stdin, pipes)
 * or at all; such a line equals no other. */
typedef struct cli_fingerprint {
    cli_text text;
    bool known;
} cli_fingerprint;

enum { CLI_CONTENTS_ROOM = 96 };

/* program: "cslearn pca". */
void cli_fingerprint_begin(cli_fingerprint *line, const char *program);
/* Numbers are written so that they read back exactly. NULL as text or path adds nothing. */
void cli_fingerprint_text(cli_fingerprint *line, const char *name, const char *text);
void cli_fingerprint_integer(cli_fingerprint *line, const char *name, int64_t value);
void cli_fingerprint_real(cli_fingerprint *line, const char *name, double value);
/* The options in effect on at most that, of which --NAME=value: contents of files that are read if
 * results depend on them; those that have the value of tool->defaults are left out. Settings
 * KEY=VALUE are in the order of their keys, so that theirs on the command line does not count. */
void cli_fingerprint_options(cli_fingerprint *line, const cli_tool *tool, const void *arguments,
                             cli_effect most);
/* The size of the file and the CRC-32 of its bytes. */
void cli_fingerprint_file(cli_fingerprint *line, const char *name, const char *path);
/* The path, the size, and the CRC-32 of the first and last bytes: cheaply tells the file. */
void cli_fingerprint_name(cli_fingerprint *line, const char *name, const char *path);
/* Why the first of the files that cannot be read now cannot; false: all can, or are pipes. Their
 * fingerprint differs then, too. NULL among the paths is none. */
bool cli_files_lost(int n, const char *const *paths, csrec_error *error);
/* "3 files 4711 bytes hash ...", of their sizes and CRC-32 in this order; "" if that fails. */
csrec_status cli_contents_of(int n, const char *const *paths, char text[CLI_CONTENTS_ROOM],
                             csrec_error *error);
/* The same of zip archives, cheaply: by their sizes and ends, where each has a list of its members
 * with their checksums. */
csrec_status cli_archives_of(int n, const char *const *paths, char text[CLI_CONTENTS_ROOM],
                             csrec_error *error);
/* The text that cli_contents_of returned. */
void cli_fingerprint_contents(cli_fingerprint *line, const char *name, const char *contents);
/* The line, to be freed; NULL: out of memory. */
char *cli_fingerprint_end(cli_fingerprint *line);

/* How two lines differ: the entry's name, and what each line has there, cut to the room, "" where
 * it has none; or the first entries whose order differs. false: they are the same. */
typedef struct cli_difference {
    char name[64], first[160], second[160];
} cli_difference;
bool cli_fingerprint_compare(const char *first, const char *second, cli_difference *difference);
/* The line as a comment of HTML and SVG. */
void cli_fingerprint_comment(FILE *file, const char *text);
/* Whether the file at path exists and contains this line. */
bool cli_fingerprint_is(const char *path, const char *text);
