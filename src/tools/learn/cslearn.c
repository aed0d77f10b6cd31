/* SPDX-License-Identifier: BSD-3-Clause */
/* cslearn.c - learns models from pictures and arrays: the table of learners. */
#include "learn.h"
#include "tools/common/progress.h"
#include "tools/common/ranks.h"

static const cli_learner *const learners[] = {&cli_learn_pca, &cli_learn_gmm, &cli_learn_net,
                                              &cli_learn_info};

enum { LEARNERS = sizeof learners / sizeof *learners };

int main(int argc, char **argv) {
    const cli_tool *commands[LEARNERS];
    for (int i = 0; i < LEARNERS; i++) commands[i] = learners[i]->tool;
    const cli_program program = {"cslearn",
                                 "Learns models from pictures and arrays, for csrecover --model.",
                                 commands, LEARNERS};
    int command, code = cli_ranks_alone(program.name);
    if (code == CLI_CONTINUE) code = cli_program_parse(&program, argc, argv, &command);
    return code == CLI_CONTINUE ? cli_exit_code(learners[command]->run(argc - 1, argv + 1)) : code;
}
