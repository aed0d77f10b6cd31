/* sample.h - what cssample is asked for, and its --next. */
#ifndef CSREC_CLI_SAMPLE_H
#define CSREC_CLI_SAMPLE_H

#include "input.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"

typedef struct cli_sample_arguments {
    const char *input, *output, *mask_out, *density;
    int pattern; /* csrec_pattern - 1: "none" cannot be chosen */
    double rate, noise;
    int64_t count, next; /* next: 0 if INPUT is to be sampled */
    uint64_t seed;
    bool noise_given, channels_last, procedural, path, even, no_sync, json, verbose, quiet;
} cli_sample_arguments;

/* Checks the command line of --next: CLI_CONTINUE, or CLI_USAGE after one line on stderr. */
int cli_next_check(const cli_tool *tool, const cli_sample_arguments *a);

/* Finds and writes the positions to measure next; returns the exit code. */
int cli_next_run(const cli_tool *tool, const cli_sample_arguments *a);

#endif
