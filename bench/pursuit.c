/* SPDX-License-Identifier: BSD-3-Clause */
/* pursuit.c - what an atom costs: the eager pursuit against a transform per iteration. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct options {
    const char *json;
    int largest; /* log2 N */
} options;

typedef struct transforms {
    double tree, levels; /* seconds an iteration */
} transforms;

enum { TARGET_N = 18, WIDE = 40, WIDE_LARGEST = 20, LEVELS_LARGEST = 20, LEVELS_LARGEST_WIDE = 18 };

static const char *columns_name(int columns) {
    return csrec_columns_name((csrec_columns)columns);
}

/* Seconds of a transform over seconds of an atom. */
static double ratio(double seconds, double ns) {
    return seconds * 1e9 / ns;
}

static void row(bench_json *json, const char *signal, const bench_problem *p, int columns,
                const bench_times *t, const transforms *f) {
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "signal", signal);
    bench_json_text(json, "columns", columns_name(columns));
    bench_json_numbers(json,
                       "n levels atoms_20th atoms_4th ns_atom_20th ns_atom_4th tree_ns_sample "
                       "start_ns_sample tree_iteration_us levels_iteration_us speedup_tree "
                       "speedup_levels",
                       (double[]){p->n, p->levels, t->atoms[0], t->atoms[1], t->atom_ns[0],
                                  t->atom_ns[1], t->tree_ns, t->start_ns, f->tree * 1e6,
                                  f->levels * 1e6, ratio(f->tree, t->atom_ns[1]),
                                  ratio(f->levels, t->atom_ns[1])});
    bench_json_end(json, '}');
}

static transforms time_transforms(const bench_problem *p, int columns, bool levels) {
    const csrec_columns c = (csrec_columns)columns;
    return (transforms){bench_time_tree_iteration(p, c),
                        levels ? bench_time_iteration(p, c, &csrec_pursuit_reference) : NAN};
}

/* A transform takes as long whatever the values are, so noise's figure serves all signals. */
static void one_size(bench_json *json, int log_n, int levels) {
    int limit = levels == WIDE ? LEVELS_LARGEST_WIDE : LEVELS_LARGEST;
    transforms f[2];
    for (int signal = 0; signal < BENCH_SIGNALS; signal++) {
        bench_problem p =
            bench_problem_create((bench_signal)signal, levels, INT64_C(1) << log_n, 1);
        for (int columns = 0; columns < 2; columns++) {
            if (signal == 0) f[columns] = time_transforms(&p, columns, log_n <= limit);
            bench_times t = bench_time_pursuit(&p, (csrec_columns)columns, NULL, 0.03);
            row(json, bench_signal_names[signal], &p, columns, &t, &f[columns]);
        }
        bench_problem_destroy(&p);
    }
}

static void all_sizes(bench_json *json, const options *o) {
    bench_json_begin(json, "pursuit", '[');
    for (int log_n = 10; log_n <= o->largest; log_n += log_n < 18 ? 4 : 2) {
        one_size(json, log_n, log_n + 2);
        if (log_n <= WIDE_LARGEST) one_size(json, log_n, WIDE);
    }
    bench_json_end(json, ']');
}

typedef struct set {
    const char *name;
    const csrec_eager_simd *simd;
} set;

/* Those that this processor runs: the widest one's and all before it. */
static int sets_here(set *sets) {
    int n = 0;
    sets[n++] = (set){"generic", &csrec_eager_generic};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) sets[n++] = (set){"avx2", &csrec_eager_avx2};
    if (csrec_eager_simd_choose() == &csrec_eager_avx512)
        sets[n++] = (set){"avx512", &csrec_eager_avx512};
#endif
    return n;
}

static void instruction_sets(bench_json *json, const bench_problem *p) {
    set sets[3];
    int n = sets_here(sets);
    bench_json_begin(json, "instruction_sets", '[');
    for (int columns = 0; columns < 2; columns++) {
        uint64_t first = 0;
        bool same = true;
        bench_json_begin(json, NULL, '{');
        bench_json_text(json, "columns", columns_name(columns));
        for (int k = 0; k < n; k++) {
            bench_times t = bench_time_pursuit(p, (csrec_columns)columns, sets[k].simd, 0.3);
            first = k ? first : t.hash;
            same = same && t.hash == first;
            bench_json_number(json, sets[k].name, t.atom_ns[1]);
        }
        bench_json_bool(json, "identical_picks", same);
        bench_json_end(json, '}');
    }
    bench_json_end(json, ']');
}

enum { BATCH = 16, THREADS = 8 };

/* Hashes of all signals of the batch; seconds. */
static double run_batch(const bench_problem *batch, int columns, int threads, uint64_t *hash) {
    (void)threads; /* without OpenMP */
    double start = bench_seconds();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int k = 0; k < BATCH; k++) hash[k] = bench_pursuit_hash(&batch[k], (csrec_columns)columns);
    return bench_seconds() - start;
}

static void threads(bench_json *json, int cores) {
    bench_problem batch[BATCH];
    uint64_t one[BATCH], many[BATCH];
    for (int k = 0; k < BATCH; k++)
        batch[k] =
            bench_problem_create((bench_signal)(k % BENCH_SIGNALS), 18, 1 << 16, (uint64_t)k + 1);
    bench_json_begin(json, "threads", '[');
    for (int columns = 0; columns < 2; columns++) {
        double alone = run_batch(batch, columns, 1, one);
        double all = run_batch(batch, columns, cores, many);
        all = fmin(all, run_batch(batch, columns, cores, many));
        alone = fmin(alone, run_batch(batch, columns, 1, one));
        bool same = memcmp(one, many, sizeof one) == 0;
        run_batch(batch, columns, THREADS, many);
        same = same && memcmp(one, many, sizeof one) == 0;
        bench_json_begin(json, NULL, '{');
        bench_json_text(json, "columns", columns_name(columns));
        bench_json_numbers(json, "threads seconds_1 seconds_all", (double[]){cores, alone, all});
        bench_json_bool(json, "identical_picks", same);
        bench_json_end(json, '}');
    }
    bench_json_end(json, ']');
    for (int k = 0; k < BATCH; k++) bench_problem_destroy(&batch[k]);
}

/* What the pursuit needs of the caller's rows and y counts as the rows alone: y is read once. */
static double memory(bench_json *json, const bench_problem *p, int columns, const bench_times *t) {
    double n = (double)p->n, rows = sizeof *p->rows;
    double held = rows + (double)t->bytes / n;
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "columns", columns_name(columns));
    bench_json_numbers(json, "rows tree pursuit held peak",
                       (double[]){rows, (double)t->tree_bytes / n,
                                  (double)(t->bytes - t->tree_bytes) / n, held,
                                  rows + (double)t->peak_bytes / n});
    bench_json_end(json, '}');
    return held;
}

static void target(bench_json *json, const char *what, double value, double limit, bool at_most) {
    bool met = at_most ? value <= limit : value >= limit;
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "what", what);
    bench_json_numbers(json, "value target", (double[]){value, limit});
    bench_json_text(json, "sense", at_most ? "at most" : "at least");
    bench_json_bool(json, "met", met);
    bench_json_end(json, '}');
}

/* The targets: a picture of 1024 x 1024 at 25 %, N/4 atoms. */
static void targets(bench_json *json, const bench_problem *p) {
    bench_times t[2];
    double held[2];
    bench_json_begin(json, "memory", '[');
    for (int columns = 0; columns < 2; columns++) {
        t[columns] = bench_time_pursuit(p, (csrec_columns)columns, NULL, 0.5);
        held[columns] = memory(json, p, columns, &t[columns]);
    }
    bench_json_end(json, ']');
    bench_json_begin(json, "targets", '[');
    for (int columns = 0; columns < 2; columns++) {
        transforms f = time_transforms(p, columns, true);
        char what[128];
        snprintf(what, sizeof what, "ns an atom, %s columns", columns_name(columns));
        target(json, what, t[columns].atom_ns[1], 1200.0, true);
        snprintf(what, sizeof what, "times faster than tree transforms, %s", columns_name(columns));
        target(json, what, ratio(f.tree, t[columns].atom_ns[1]), 2000.0, false);
        snprintf(what, sizeof what, "times faster than level transforms, %s",
                 columns_name(columns));
        target(json, what, ratio(f.levels, t[columns].atom_ns[1]), 2000.0, false);
        snprintf(what, sizeof what, "bytes a sample with rows, %s", columns_name(columns));
        target(json, what, held[columns], 56.0, true);
    }
    bench_json_end(json, ']');
}

static options parse(int argc, char **argv) {
    options o = {"pursuit.json", 22};
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (strcmp(argv[i], "--quick") == 0)
            o.largest = TARGET_N;
        else if (value && strcmp(argv[i], "--json") == 0)
            o.json = argv[++i];
        else if (value && strcmp(argv[i], "--largest") == 0)
            o.largest = atoi(argv[++i]);
        else
            bench_fail(argv[i], "usage: bench_pursuit [--quick] [--largest LOG2N] [--json FILE]");
    }
    return o;
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    bench_json json = bench_json_open(o.json);
    double start = bench_seconds();
    bench_problem p = bench_problem_create(BENCH_PICTURE, TARGET_N + 2, 1 << TARGET_N, 1);
    targets(&json, &p);
    instruction_sets(&json, &p);
    bench_problem_destroy(&p);
    threads(&json, bench_cores());
    all_sizes(&json, &o);
    bench_json_number(&json, "seconds", bench_seconds() - start);
    bench_json_close(&json);
    return 0;
}
