/* SPDX-License-Identifier: BSD-3-Clause */
/* two.c - a program of two commands, for the tests of manual pages and completions. */
#include "tools/common/options.h"

typedef struct {
    const char *input, *folder;
    int speed;
    double share;
    int64_t bits;
} arguments;

static const char *speed_name(int i) {
    return i == 0 ? "slow" : i == 1 ? "fast" : NULL;
}

#define AT(member) .offset = offsetof(arguments, member)
static const cli_option make_options[] = {
    {"speed", 's', CLI_CHOICE, "NAME", "How fast: it's [1] \\ 'quoted', a:b. Never seen.",
     AT(speed), .choice = speed_name},
    {"bits", 0, CLI_INTEGER, "8|16", ".begins with a full stop, e.g. so.", AT(bits), .low = 8,
     .high = 16},
    CLI_STANDARD};
static const cli_option take_options[] = {
    {"folder", 'f', CLI_TEXT, "FOLDER", "Where things are.", AT(folder)},
    {"share", 0, CLI_REAL, "R", "'begins with a quote'", AT(share), .low = 0.0, .high = 1.0},
    CLI_STANDARD};

#define TABLE(table) .options = (table), .n_options = sizeof(table) / sizeof *(table)
static const cli_tool make = {.name = "two make",
                              .brief = "Makes: nothing.",
                              .synopsis = "INPUT [--speed NAME]",
                              .details =
                                  "Two\n.lines \\fB of 2-D text.\nExit code: 0 done, 2 usage.",
                              .examples = "two make x --speed slow\n.two 'a' \\n",
                              TABLE(make_options),
                              .operand = offsetof(arguments, input)};
static const cli_tool take = {.name = "two take",
                              .brief = "Takes nothing.",
                              .synopsis = "INPUT",
                              .details = "Exit code: 0 done, 2 usage.",
                              .examples = "two take x -f .",
                              TABLE(take_options),
                              .operand = offsetof(arguments, input)};
static const cli_tool *const commands[] = {&make, &take};
static const cli_program program = {"two", "Does two things.", commands, 2};

int main(int argc, char **argv) {
    arguments a = {0};
    int command, code = cli_program_parse(&program, argc, argv, &command);
    if (code == CLI_CONTINUE) code = cli_parse(commands[command], argc - 1, argv + 1, &a);
    return code == CLI_CONTINUE ? CLI_DONE : code;
}
