/* SPDX-License-Identifier: BSD-3-Clause */
/* csbench.c - the benchmark suite of a researcher: the table of commands. */
#include "bench.h"
#include "tools/common/progress.h"
#include "tools/common/ranks.h"

static const bench_command *const commands[] = {&bench_phase, &bench_coherence};

enum { COMMANDS = sizeof commands / sizeof *commands };

int main(int argc, char **argv) {
    const cli_tool *tools[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) tools[i] = commands[i]->tool;
    const cli_program program = {
        "csbench", "Measures solvers and operators on random problems, beside theory.", tools,
        COMMANDS};
    int command, code = cli_ranks_alone(program.name);
    if (code == CLI_CONTINUE) code = cli_program_parse(&program, argc, argv, &command);
    return code == CLI_CONTINUE ? cli_exit_code(commands[command]->run(argc - 1, argv + 1)) : code;
}
