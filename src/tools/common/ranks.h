/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h - a tool that a launcher of MPI started as several processes, the ranks: one speaks for
 * all, and each has its own device and its share of the cores. */
#pragma once

#include "options.h"
#include "report.h"

typedef struct cli_ranks {
    csrec_comm *comm; /* NULL: one process */
    cli_tool tool;    /* named after the machine and the rank */
    char name[200];
    FILE *said; /* what this rank would have printed on stderr */
    int out, err;
} cli_ranks;

/* Finds the other ranks. All but rank 0 are silent until cli_ranks_agree. CLI_CONTINUE, or an exit
 * code after one line. */
int cli_ranks_join(const cli_tool *tool, cli_ranks *ranks);

/* The same code on all ranks, before any work: CLI_CONTINUE if all have that, and cards that are
 * alike, of the same tool. Else one line, of rank 0: what it has said already, with its code; how
 * the first rank that differs does; or the message of the first rank that failed. card: a line of
 * fingerprint.h of all that must be alike; NULL if the command line cannot be parsed. */
int cli_ranks_agree(cli_ranks *ranks, int code, const char *card);
/* What rank 0 has, on all. */
csrec_status cli_ranks_take_first(csrec_comm *comm, int tag, int *value, csrec_error *error);
/* Processors that this process may run on. */
int cli_processors(void);
/* Threads of this rank, if --threads does not tell: its share of the machine's cores; 0: all. */
int64_t cli_ranks_threads(const cli_ranks *ranks);
/* One device a rank, of CUDA_VISIBLE_DEVICES or the machine: before a device is used. */
void cli_ranks_choose_device(const cli_ranks *ranks);

/* Tags of messages. */
enum { RANK_CODE, RANK_CARD, RANK_ITEM, RANK_TALLY, RANK_FAILED, RANK_DONE };

/* Sends rank 0 what it is to print of input `number`, and frees the text. false: lost. */
bool cli_item_give(csrec_comm *comm, int number, char *text, size_t size);

/* Prints all that have arrived as items of the list that is open, by their numbers. false: some are
 * lost. */
bool cli_items_take(csrec_comm *comm, int numbers, cli_json *json);

/* Of a tool whose processes share nothing, at its start: CLI_CONTINUE, or after one line an exit
 * code where other ranks are another tool, which would wait for this one. */
int cli_ranks_alone(const char *program);

void cli_ranks_leave(cli_ranks *ranks);
