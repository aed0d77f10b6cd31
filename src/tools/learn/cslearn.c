/* SPDX-License-Identifier: BSD-3-Clause */
/* cslearn.c - learns models from pictures and arrays: the table of learners. */
#include <string.h>

#include "learn.h"
#include "tools/common/progress.h"
#include "tools/common/ranks.h"

static const cli_learner *const learners[] = {&cli_learn_pca, &cli_learn_info};

enum { LEARNERS = sizeof learners / sizeof *learners };

/* Former learners, and what to do instead. */
static const char *const gone[][2] = {
    {"gmm", "pictures are recovered better without a model, by csrecover --quality best"},
    {"net", "training/train.py --from PRIOR.npz --pictures FILE.npy, of the source, does it"}};

static int refuse_gone(const char *word) {
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strcmp(word, gone[i][0]) == 0)
            return cli_usage(&(cli_tool){.name = "cslearn"}, "'%s' is no longer there; %s", word,
                             gone[i][1]);
    return CLI_CONTINUE;
}

int main(int argc, char **argv) {
    const cli_tool *commands[LEARNERS];
    for (int i = 0; i < LEARNERS; i++) commands[i] = learners[i]->tool;
    const cli_program program = {"cslearn",
                                 "Learns models from pictures and arrays, for csrecover --model.",
                                 commands, LEARNERS};
    int command, code = cli_ranks_alone(program.name);
    if (code == CLI_CONTINUE && argc > 1) code = refuse_gone(argv[1]);
    if (code == CLI_CONTINUE) code = cli_program_parse(&program, argc, argv, &command);
    return code == CLI_CONTINUE ? cli_exit_code(learners[command]->run(argc - 1, argv + 1)) : code;
}
