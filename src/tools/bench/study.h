/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h - the runner of phase: signals recovered, by solver, over a grid of m and k. */
#pragma once

#include "bench.h"
#include "tools/common/chart.h"
#include "tools/common/report.h"

typedef struct bench_study_options {
    cli_texts solvers;
    int ensemble, amplitudes, backend;
    int64_t n, grid, count, matrices, threads;
    uint64_t seed;
    double tolerance;
    const char *output, *plot, *operand; /* operand: there is none */
    bool fresh, no_sync, json, quiet;
} bench_study_options;

/* For tool.listing. */
void bench_study_list(FILE *out);

enum { BENCH_CHARTS_MOST = BENCH_SOLVERS_MOST + 1 };

typedef struct bench_study {
    const cli_tool *tool;
    const bench_study_options *options;
    bench_trials trials;
    int64_t grid;       /* sizes: m differs by column, k by column and row */
    int64_t *m, *k;     /* [grid], [grid][grid]; owned */
    int32_t *successes; /* [solvers][grid][grid], -1: not known yet; owned */
    double seconds;     /* of this run */
    int64_t solved;     /* sizes that this run solved */
    char *fingerprint;  /* owned */
    bool complete;
} bench_study;

/* Share of signals recovered. */
double bench_study_share(const bench_study *study, int solver, int64_t column, int64_t row);
/* Solves what the output file does not have yet, writes it, reports. Returns the exit code. */
int bench_study_run(const cli_tool *tool, const bench_study_options *options);

/* ---- phase.c: what is done with it. */

void bench_phase_sizes(bench_study *study); /* m and k, which have room */
/* Draws the results; sets *n. false: out of memory. */
bool bench_phase_draw(const bench_study *study, cli_chart charts[BENCH_CHARTS_MOST], int *n);
bool bench_phase_print(const bench_study *study);                /* text on stdout */
void bench_phase_json(const bench_study *study, cli_json *json); /* members */
