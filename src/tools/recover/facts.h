/* facts.h - a recovery in words: the command, the settings, seconds. */
#ifndef CSREC_TOOLS_RECOVER_FACTS_H
#define CSREC_TOOLS_RECOVER_FACTS_H

#include "recover.h"

typedef struct cli_fact {
    char name[40], value[160];
} cli_fact;

enum { CLI_FACTS_MOST = 64 };

/* The command line that repeats the recovery of this input, quoted for a shell; free it. NULL: out
 * of memory. */
char *cli_job_command(const cli_job *job);

/* The measurement, the settings of the recovery, and seconds by step. They return the number of
 * facts. */
int cli_job_measured(const cli_job *job, cli_fact facts[CLI_FACTS_MOST]);
int cli_job_settings(const cli_job *job, cli_fact facts[CLI_FACTS_MOST]);

typedef struct cli_stage {
    const char *name;
    double seconds;
} cli_stage;

enum { CLI_STAGES = 6 };

void cli_job_stages(const cli_job *job, cli_stage stages[CLI_STAGES]);

#endif
