/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.h - what cssample is asked for, what it tells, and its --next. */
#pragma once

#include "tools/common/guide.h"
#include "tools/common/output.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

typedef struct cli_sample_arguments {
    cli_operands inputs;
    const char *input; /* the last of them */
    const char *output, *mask_out, *density;
    const char *matrix, *block, *coils, *kernel, *factor;
    cli_texts guides;
    int pattern;                         /* csrec_pattern - 1: "none" cannot be chosen */
    int through, ordering, rows, border; /* numbers of names; -1: not given */
    double rate, noise;
    int64_t count, next; /* next: 0 if INPUT is to be sampled */
    uint64_t seed;
    bool noise_given, channels_last, channels_first, volume, procedural, path, even, sequence,
        scramble, no_sync, json, verbose, quiet;
} cli_sample_arguments;

/* The noise has its own random stream, named by the letters "noise". */
#define CLI_NOISE_STREAM UINT64_C(0x6e6f697365)

/* Names of ways to choose rows; NULL past the end. */
const char *cli_rows_name(int i);

/* What becomes of a signal that blocks do not divide. */
const char *cli_border_name(int i);

/* Checks the command line of --operator, also where it is not given; and measures the signal. */
int cli_through_check(const cli_tool *tool, const cli_sample_arguments *a);
int cli_through_measure(const cli_tool *tool, const cli_sample_arguments *a,
                        const cli_signal *signal, csrec_measurement *measurement);

/* Checks the command line of --next: CLI_CONTINUE, or CLI_USAGE after one line on stderr. */
int cli_next_check(const cli_tool *tool, const cli_sample_arguments *a);
/* Finds and writes the positions to measure next; returns the exit code. */
int cli_next_run(const cli_tool *tool, const cli_sample_arguments *a);

/* Tells what was written, how: by which pattern or operator. The exit code. */
int cli_sample_report(const cli_tool *tool, const cli_sample_arguments *a, const cli_signal *signal,
                      const csrec_measurement *measurement, const char *how, double min_distance);
