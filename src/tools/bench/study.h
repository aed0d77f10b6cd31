/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h - the runner of phase and sparsity: signals recovered, by solver, over m and k. */
#pragma once

#include "bench.h"
#include "tools/common/chart.h"
#include "tools/common/report.h"

/* What both commands take; the fields of BENCH_STUDY_OPTIONS. Their arguments begin with it. */
typedef struct bench_study_options {
    cli_texts solvers;
    int ensemble, amplitudes, backend;
    int64_t n, count, matrices, threads;
    uint64_t seed;
    double tolerance, noise, factor;
    const char *output, *plot, *operand; /* operand: there is none */
    bool fresh, no_sync, json, quiet;
} bench_study_options;

#define BENCH_STUDY_DEFAULTS                                                                       \
    { .n = 256, .count = 20, .seed = 1, .tolerance = 0.01, .factor = 3.0, .backend = -1 }

#define BENCH_AT(member) .offset = offsetof(bench_study_options, member)

#define BENCH_STUDY_OPTIONS                                                                        \
    CLI_ROW('o', "output", CLI_WRITE, "FILE",                                                      \
            "Results to write, {arrays or}. A stopped run goes on from it.", BENCH_AT(output),     \
            .group = CLI_OUTPUT, .brief = "results to write; a stopped run goes on from it"),      \
        CLI_ROW(0, "plot", CLI_WRITE, "FILE", "Draw the results, .svg or {picture or}.",           \
                BENCH_AT(plot), .brief = "draw the results, .svg or a picture"),                   \
        CLI_ROW('s', "solver", CLI_TEXTS, "NAME",                                                  \
                "Solver; may be repeated (default: all that take a matrix).", BENCH_AT(solvers),   \
                .group = "Problems and solvers",                                                   \
                .brief = "solver, may be repeated (default: all)"),                                \
        CLI_ROW('n', "columns", CLI_INTEGER, "N", "Entries of a signal (default 256).",            \
                BENCH_AT(n), .low = 2, .high = BENCH_SIZE_MOST,                                    \
                .brief = "entries of a signal (default 256)"),                                     \
        CLI_ROW('e', "ensemble", CLI_CHOICE, "NAME", "Random matrices (default gaussian).",        \
                BENCH_AT(ensemble), .choice = bench_ensemble_name,                                 \
                .brief = "random matrices (default gaussian)"),                                    \
        CLI_ROW('a', "amplitudes", CLI_CHOICE, "NAME",                                             \
                "Entries that are not 0 (default signs, the hardest).", BENCH_AT(amplitudes),      \
                .choice = bench_amplitudes_name),                                                  \
        CLI_ROW('T', "trials", CLI_INTEGER, "T", "Signals of each size (default 20).",             \
                BENCH_AT(count), .low = 1, .high = 1e6,                                            \
                .brief = "signals of each size (default 20)"),                                     \
        CLI_ROW('Q', "matrices", CLI_INTEGER, "Q",                                                 \
                "Matrices of each size, which share the signals (default T / 4); 1 suits a GPU.",  \
                BENCH_AT(matrices), .low = 1, .high = 1e6),                                        \
        CLI_ROW(0, "tolerance", CLI_REAL, "E",                                                     \
                "A signal is recovered if the error's length is at most this share of its own "    \
                "(default 0.01).",                                                                 \
                BENCH_AT(tolerance), .low = 1e-6, .high = 1.0, .share = true, .group = "Success"), \
        CLI_ROW(0, "noise", CLI_REAL, "SIGMA",                                                     \
                "Standard deviation of noise on each measurement (default 0); columns have "       \
                "length 1. Success is then judged by --factor, not by --tolerance.",               \
                BENCH_AT(noise), .low = 0.0, .high = 1e6,                                          \
                .brief = "noise of each measurement (default 0)"),                                 \
        CLI_ROW(0, "factor", CLI_REAL, "F",                                                        \
                "With --noise a signal is recovered if the error's length is at most F times the " \
                "root mean square that least squares on the true support has (default 3).",        \
                BENCH_AT(factor), .low = 1.0, .high = 1e6),                                        \
        CLI_ROW(0, "seed", CLI_SEED, "S", "Seed of all draws (default 1).", BENCH_AT(seed),        \
                .group = CLI_EXPERT),                                                              \
        CLI_ROW(0, "fresh", CLI_FLAG, NULL,                                                        \
                "Begin anew if the output has other settings or is complete.", BENCH_AT(fresh)),   \
        CLI_THREADS(bench_study_options), CLI_BACKEND(bench_study_options),                        \
        CLI_ROW(0, "no-sync", CLI_FLAG, NULL, "Do not wait until files are on the disk (fsync).",  \
                BENCH_AT(no_sync)),                                                                \
        CLI_JSON(bench_study_options), CLI_QUIET(bench_study_options),                             \
        CLI_ROW('l', "list", CLI_LISTING, NULL,                                                    \
                "List ensembles, amplitudes and solvers, then exit.", BENCH_AT(output),            \
                .group = CLI_ABOUT, .brief = "solvers and matrices")

/* For tool.listing. */
void bench_study_list(FILE *out);

enum { BENCH_CHARTS_MOST = BENCH_SOLVERS_MOST + 1 };

typedef struct bench_study bench_study;

/* What a solver does in it: the context of functions for cli_json_numbers. */
typedef struct bench_curve {
    const bench_study *study;
    int solver;
} bench_curve;

struct bench_study {
    const cli_tool *tool;
    const bench_study_options *options;
    bench_trials trials;
    int64_t columns, rows; /* sizes: m differs by column, k by column and row */
    int64_t *m, *k;        /* [columns], [columns][rows]; owned */
    int32_t *successes;    /* [solvers][columns][rows], -1: not known yet; owned */
    double seconds;        /* of this run */
    int64_t solved;        /* sizes that this run solved */
    /* Draws the results; sets *n. false: out of memory. */
    bool (*draw)(const bench_study *study, cli_chart charts[BENCH_CHARTS_MOST], int *n);
    bool (*print)(const bench_study *study);                    /* text on stdout */
    void (*add_json)(const bench_study *study, cli_json *json); /* members */
    void (*add_solver)(const bench_curve *of, cli_json *json);  /* those of each solver */
    void (*set_sizes)(bench_study *study, const void *given);   /* m and k, which have room */
    char *fingerprint;                                          /* owned */
    bool complete;
};

/* Share of signals recovered. */
double bench_study_share(const bench_study *study, int solver, int64_t column, int64_t row);
/* Checks the options, before the sizes are set. CLI_CONTINUE, or the exit code after a message. */
int bench_study_check(bench_study *study);
/* Solves what the output file does not have yet of columns x rows sizes, writes it, reports and
 * frees the study. Returns the exit code. */
int bench_study_run(bench_study *study, int64_t columns, int64_t rows, const void *given);
