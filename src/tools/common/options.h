/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h - command lines: each tool has one table of options, which parses them and prints the
 * help.
 *
 * Exit codes of every tool: 0 done, 1 failure (one line on stderr), 2 wrong usage (one line),
 * 130 interrupted, with the best result so far written; 143 by SIGTERM, 129 by SIGHUP
 * (cli_exit_code). */
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "csrec.h"

enum { CLI_DONE = 0, CLI_FAILURE = 1, CLI_USAGE = 2, CLI_INTERRUPTED = 130, CLI_CONTINUE = -1 };

typedef enum cli_type {
    CLI_FLAG,    /* bool, set to true */
    CLI_TEXT,    /* const char *, points into argv */
    CLI_READ,    /* the same: the path of what is read */
    CLI_WRITE,   /* the same: of what is written; both are compared by cli_alias_check */
    CLI_INTEGER, /* int64_t, low .. high */
    CLI_SEED,    /* uint64_t, decimal or 0x */
    CLI_REAL,    /* double, finite, low .. high */
    CLI_CHOICE,  /* int, number of the name in choice */
    CLI_DEVICES, /* lists backends and devices, then exits */
    CLI_TEXTS,   /* cli_texts: may be repeated */
    CLI_READS,   /* the same: paths of what is read, perhaps NAME=PATH (cli_named_path) */
    CLI_LISTING, /* prints the tool's list, then exits */
    CLI_HELP,
    CLI_VERSION,
    CLI_MAN,       /* prints the manual page, then exits */
    CLI_COMPLETION /* prints the completion for a shell, then exits */
} cli_type;

/* What depends on an option: the values of the results; only what is written and printed of them;
 * or only how this process works, which ranks may do in their own ways. */
typedef enum cli_effect { CLI_ON_RESULTS, CLI_ON_OUTPUTS, CLI_ON_PROCESS } cli_effect;

enum { CLI_TEXTS_MOST = 32 };

typedef struct cli_texts {
    const char *text[CLI_TEXTS_MOST];
    int n;
} cli_texts;

/* Operands in the order given; free(text). */
typedef struct cli_operands {
    const char **text; /* [n], into argv */
    int n;
} cli_operands;

/* Below 0, 0 or above, as names of frames follow each other: digits in a row are a number. */
int cli_names_compare(const char *a, const char *b);

/* The first that comes before the one ahead of it; 0: they are in order. */
int cli_names_turn(const cli_operands *names);

typedef struct cli_option {
    const char *name; /* long name without -- */
    char letter;      /* short name; 0: none */
    cli_type type;
    /* The value's name in the help; NULL for flags. Shells complete FILE and FOLDER as such, and
     * words separated by | as these words. */
    const char *argument;
    const char *help;
    size_t offset;                /* offset of the field in the tool's structure of arguments */
    size_t given;                 /* offset of a bool that is set if the option is given; 0: none */
    double low, high;             /* CLI_INTEGER, CLI_REAL: inclusive */
    const char *(*choice)(int i); /* CLI_CHOICE: name i, NULL past the end */
    /* What to use instead of a former name; NULL: no name. The function may be NULL. */
    const char *(*instead)(const char *former);
    const char *(*key)(int i); /* of a KEY=VALUE: name i, NULL past the end */
    const char *missing;       /* what to do instead where the value is missing; NULL: nothing */
    cli_effect effect;
    const char *group; /* the heading of the options from here on; NULL: that of the row above */
    bool share;        /* CLI_REAL: of something whole, which some give in per cent */
    const char *brief; /* the line in -h; NULL: it is not there. CLI_LISTING: what is listed */
} cli_option;

/* Headings that several tables have. */
#define CLI_INPUT   "Input"
#define CLI_OUTPUT  "Output"
#define CLI_REPORTS "Checks and reports"
#define CLI_EXPERT  "Expert"
#define CLI_ABOUT   "Help"

/* The field of a row, in the tool's type `arguments`; a row of a macro, of which other fields
 * follow. */
#define CLI_AT(member) .offset = offsetof(arguments, member)
#define CLI_ROW(letter_, name_, type_, argument_, help_, ...)                                      \
    {                                                                                              \
        .name = name_, .letter = letter_, .type = type_, .argument = argument_, .help = help_,     \
        __VA_ARGS__                                                                                \
    }

/* Of a tool: its table. */
#define CLI_OPTIONS(table) .options = table, .n_options = sizeof table / sizeof *table

/* bash, zsh, fish (completion.c). */
const char *cli_shell_name(int i);
/* auto, cpu, cuda; NULL past the end, and for -1. */
const char *cli_backend_name(int i);

/* The last rows of every table. */
#define CLI_STANDARD                                                                               \
    CLI_ROW('h', "help", CLI_HELP, NULL, "Show all options and exit; -h: those that most need.",   \
            .group = CLI_ABOUT),                                                                   \
        CLI_ROW('V', "version", CLI_VERSION, NULL, "Show the version and exit.", .offset = 0),     \
        CLI_ROW(0, "man", CLI_MAN, NULL,                                                           \
                "Print the manual page (to be piped into man -l -) and exit.", .offset = 0),       \
        CLI_ROW(0, "completion", CLI_COMPLETION, "SHELL",                                          \
                "Print the completion of this tool's options for a shell and exit.",               \
                .choice = cli_shell_name)

/* Rows of several tools; their fields are members of the tool's structure `struct_`. */
#define CLI_THREADS(struct_)                                                                       \
    CLI_ROW('t', "threads", CLI_INTEGER, "T",                                                      \
            "Threads; 0 for all cores (default). The result does not depend on it.",               \
            .offset = offsetof(struct_, threads), .low = 0, .high = 4096,                          \
            .effect = CLI_ON_PROCESS, .group = CLI_EXPERT)
/* An int; -1 if it is not given. */
#define CLI_BACKEND(struct_)                                                                       \
    CLI_ROW('b', "backend", CLI_CHOICE, "NAME", "Where to compute.",                               \
            .offset = offsetof(struct_, backend), .choice = cli_backend_name, .group = CLI_EXPERT)
#define CLI_JSON(struct_)                                                                          \
    CLI_ROW('j', "json", CLI_FLAG, NULL, "Report as JSON on stdout.",                              \
            .offset = offsetof(struct_, json), .effect = CLI_ON_OUTPUTS, .group = CLI_REPORTS)
/* Which axis of an array has channels: three options of which at most one is given. */
#define CLI_AXES(struct_)                                                                          \
    CLI_ROW('c', "channels-last", CLI_FLAG, NULL,                                                  \
            "The last axis of an array INPUT has channels, as colours, and is no axis of the "     \
            "signal.",                                                                             \
            .offset = offsetof(struct_, channels_last), .group = CLI_INPUT,                        \
            .brief = "the last axis of an array is colours"),                                      \
        CLI_ROW(0, "channels-first", CLI_FLAG, NULL,                                               \
                "Its first axis has; the channels of an array that is written come first, too.",   \
                .offset = offsetof(struct_, channels_first)),                                      \
        CLI_ROW(0, "volume", CLI_FLAG, NULL,                                                       \
                "None has, and none is time, whatever the file says. An array of H x W x 2, 3 or " \
                "4 needs one of these options.",                                                   \
                .offset = offsetof(struct_, volume))
#define CLI_AXES_REFUSAL "--channels-last, --channels-first and --volume: give one of them"
#define CLI_NO_SYNC(struct_)                                                                       \
    CLI_ROW(0, "no-sync", CLI_FLAG, NULL,                                                          \
            "Do not wait until files are on the disk (fsync): faster, but a power cut may "        \
            "lose what was just written.",                                                         \
            .offset = offsetof(struct_, no_sync), .effect = CLI_ON_PROCESS)
#define CLI_QUIET(struct_)                                                                         \
    CLI_ROW('q', "quiet", CLI_FLAG, NULL, "No progress bar, no summary and no notes.",             \
            .offset = offsetof(struct_, quiet), .effect = CLI_ON_PROCESS,                          \
            .brief = "no progress bar, no summary, no notes")

typedef struct cli_path {
    const char *option; /* "output", or NULL: the operand */
    const char *of;     /* the operand that implies it, or NULL */
    char *path;
    bool written;
} cli_path;

/* Every path that a command line reads or writes. */
typedef struct cli_paths {
    cli_path *path; /* [n] */
    int n, room;
    bool failed; /* out of memory */
} cli_paths;

enum { CLI_COMMON = 5 };

typedef struct cli_tool {
    const char *name, *brief; /* a command of a program is named "program command" */
    const char *synopsis;     /* what follows the name */
    const char *details;      /* paragraphs after the options */
    const char *examples;     /* lines, indented by the help; -h has the first CLI_COMMON */
    const cli_option *options;
    int n_options;
    const void *defaults;       /* the arguments before any option, of cli_fingerprint_options */
    void (*listing)(FILE *out); /* of CLI_LISTING */
    size_t operand; /* offset of a const char *, the one operand; `many`: of cli_operands */
    bool many;      /* one operand or more; */
    bool optional;  /* or none */
    /* Adds paths that follow from the arguments; NULL: there are none. */
    void (*paths)(const void *arguments, cli_paths *paths);
} cli_tool;

/* Fills `arguments` (defaults set by the caller). CLI_CONTINUE, or the code to exit with: CLI_DONE
 * after --help, --version and --list-devices, CLI_USAGE after one line on stderr. */
int cli_parse(const cli_tool *tool, int argc, char **argv, void *arguments);

/* The path of a CLI_READS, within the text: behind NAME= unless there is a file of that name. name:
 * NULL, or receives NAME, or "". */
const char *cli_named_path(const char *text, char name[64]);

/* Adds a copy of path; ignores NULL, "-" and folders, which end in /. */
void cli_paths_add(cli_paths *paths, const cli_path *path);

/* Compares the paths of the tool's options, its operands and tool->paths. Two names are one file if
 * links or hard links refer to the same file, or if neither exists yet and both would be created at
 * the same place. Returns CLI_CONTINUE, or CLI_USAGE after a line that names both. Devices and
 * pipes may be named twice. */
int cli_alias_check(const cli_tool *tool, const void *arguments);

/* A message of the library with the names of options that have a _, channels_last, as they are on
 * the command line, --channels-last. */
void cli_spell(const cli_tool *tool, const char *from, char *text, size_t room);

/* What removes the bar from the screen, where a message comes, if one is drawn (progress.c). */
const char *cli_line_start(void);
/* One line "tool: message" on stderr; returns the code, of wrong usage, a failure, or no error. */
int cli_say(int code, const cli_tool *tool, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define cli_usage(...)   cli_say(CLI_USAGE, __VA_ARGS__)
#define cli_failure(...) cli_say(CLI_FAILURE, __VA_ARGS__)
#define cli_note(...)    (void)cli_say(CLI_CONTINUE, __VA_ARGS__)

/* Formats one line into error and returns status, as csrec_fail in the library. Here, so that parts
 * of a tool can be tested without the others. */
__attribute__((format(printf, 3, 4))) static inline csrec_status
cli_fail(csrec_error *error, csrec_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    if (error) vsnprintf(error->text, sizeof error->text, format, values);
    va_end(values);
    return status;
}

/* CSREC_TRY of the library. */
#define CLI_TRY(...)                                                                               \
    do {                                                                                           \
        const csrec_status tried = (__VA_ARGS__);                                                  \
        if (tried) return tried;                                                                   \
    } while (0)

/* "; did you mean omp?" for what is none of n names, "" if it is not near any; into text, which it
 * returns. */
enum { CLI_HINT = 56 };
const char *cli_hint(const char *given, int n, const char *const *names, char text[CLI_HINT]);

/* Where nothing is to be written: CLI_USAGE after a line if the last of several operands is meant
 * to be: it does not exist, and ends as files of the use, or as a folder; else CLI_CONTINUE. */
int cli_output_meant(const cli_tool *tool, const cli_operands *operands, int use);

/* CLI_FAILURE with a message if a write to stdout failed, or CLI_DONE. */
int cli_stdout_failed(const cli_tool *tool);
int cli_stdout_flush(const cli_tool *tool);

/* The heading above option i, NULL if it has none. */
const char *cli_group_begins(const cli_tool *tool, int i);

/* A text of a table with the formats of a use in the place of its name: "{read or}" becomes their
 * endings, ".png, .npy or .csv", and "{Read and}" their titles, "PNG, .npy and CSV" (help.c). Into
 * text, which it returns. Briefs, helps and details are printed by it. */
enum { CLI_FILLED = 4096 };
const char *cli_fill(const char *from, char text[CLI_FILLED]);

/* The help text (help.c): all of it, or a screen. */
void cli_help(const cli_tool *tool, bool all);

/* A program of several commands, each a tool with its own options. Manual pages and completions are
 * made from it. A single tool is a program of one command with the program's name. */
typedef struct cli_program {
    const char *name, *brief;
    const cli_tool *const *commands;
    int n_commands;
} cli_program;

bool cli_program_is_tool(const cli_program *program);

/* The word that chooses a command; "" in a program of one command. */
const char *cli_command_word(const cli_program *program, int command);

/* Finds the command that argv[1] names: CLI_CONTINUE and *command, to be parsed from argv[1] on; or
 * the exit code, after --help, --version, --man, --completion or a message on stderr. */
int cli_program_parse(const cli_program *program, int argc, char **argv, int *command);

/* On stdout: the manual page (man.c), the exit code; the shell completion (completion.c). */
int cli_man(const cli_program *program);
void cli_completion(const cli_program *program, int shell);
