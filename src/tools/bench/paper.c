/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.c - what Park 2015 prints beside what is computed here, and the transform at the
 * sizes that the paper names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"

typedef struct {
    const char *operand; /* there is none */
    int64_t levels;
    bool json;
} arguments;

static const cli_option options[] = {{"levels", 'L', CLI_INTEGER, "L",
                                      "Largest M = 2^L of the timed transforms (default 20).",
                                      CLI_AT(levels), .low = 5, .high = 40},
                                     CLI_JSON(arguments),
                                     CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench paper",
    .brief = "The source paper's numbers beside ours, and its transform at the sizes it names.",
    .synopsis = "[OPTION...]",
    .details =
        "Park 2015 shows its algorithm on one example (figures 2 and 5 to 7), and names 1024 x "
        "1024 pixels and 512^3 voxels as sizes where no matrix can be stored; it measures no "
        "times. The first table has its numbers beside those of the library's transform; where "
        "the paper prints M = 10^27 for 512^3, 2^27 is meant. The second has, for N random rows "
        "of M, the bytes of the stored matrix and of what the transform reads, and the seconds of "
        "a transform: level by level, as in the paper, and by the row tree.\n"
        "Exit code: 0 all numbers agree, 1 some differ, or failure, 2 wrong usage.",
    .examples = "csbench paper\n"
                "csbench paper -L 12 --json",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, operand),
    .optional = true};

enum { N = BENCH_WORKED_ROWS, M = BENCH_WORKED_SIZE, LEVELS = BENCH_WORKED_LEVELS };

typedef struct numbers {
    bench_step steps[LEVELS];
    double product[M]; /* of the library's transform; NAN: no such column */
} numbers;

/* Writes numbers one after another. */
typedef struct line {
    char text[96];
} line;

static void put(line *to, double value) {
    size_t used = strlen(to->text);
    snprintf(to->text + used, sizeof to->text - used, "%s%.6g", used ? " " : "", value);
}

/* Columns of a step, counted from 0, that the transform found. */
static void put_columns(const numbers *v, int step, line *to) {
    for (int c = M >> (step + 1); c < M >> step; c++)
        if (!isnan(v->product[c])) put(to, c);
}

static void put_subs(const numbers *v, int step, line *to) {
    for (int i = 0; i < v->steps[step].n; i++) put(to, v->steps[step].entry[i].sub);
}

static void put_adds(const numbers *v, int step, line *to) {
    for (int i = 0; i < v->steps[step].n; i++) put(to, v->steps[step].entry[i].add);
}

static void put_counts(const numbers *v, int step, line *to) {
    for (int i = 0; i < v->steps[step].n; i++) put(to, (double)v->steps[step].entry[i].count);
}

static void put_psi(const numbers *v, int column, line *to) {
    double psi[N];
    (void)v;
    bench_worked_column(column, psi);
    for (int j = 0; j < N; j++) put(to, psi[j]);
}

static void put_product(const numbers *v, int column, line *to) {
    put(to, v->product[column]);
}

static const csrec_shape example = {1, {M}}, picture = {2, {1024, 1024}},
                         volume = {3, {512, 512, 512}},
                         *const shapes[] = {&example, &picture, &volume};

static void put_levels(const numbers *v, int shape, line *to) {
    int levels = 0;
    (void)v;
    csrec_rows_levels(shapes[shape], CSREC_ORDER_MORTON, &levels);
    put(to, levels);
}

static const struct {
    const char *what, *where, *paper;
    void (*put)(const numbers *v, int of, line *to);
    int of; /* the step, column or shape */
} facts[] = {{"steps, log2 of M = 32", "section 4", "5", put_levels, 0},
             {"Psi_16", "section 3.1", "-1 0 0 0 0 0", put_psi, 16},
             {"columns of step 1", "figure 6", "16 19 21 24 27 29", put_columns, 0},
             {"sub of step 1", "figure 6", "-7 7 7 4 -4 -6", put_subs, 0},
             {"# of step 1", "figure 6", "1 1 1 1 1 1", put_counts, 0},
             {"<r, Psi_16>", "section 3.1", "-7", put_product, 16},
             {"columns of step 4", "figure 7", "2 3", put_columns, 3},
             {"columns of step 5", "figure 7", "1", put_columns, 4},
             {"sub of step 5", "figure 7", "7", put_subs, 4},
             {"add of step 5", "figure 7", "35", put_adds, 4},
             {"# of step 5", "figure 7", "6", put_counts, 4},
             {"<r, Psi_1>, 7 / sqrt 6", "figure 7", "2.85774", put_product, 1},
             {"<r, Psi_0>, 35 / sqrt 6", "figure 7", "14.2887", put_product, 0},
             {"log2 M of 1024 x 1024", "section 1.2", "20", put_levels, 1},
             {"log2 M of 512^3", "section 2.3", "27", put_levels, 2}};

enum { FACTS = sizeof facts / sizeof *facts };

static line fact_of(const numbers *v, int i) {
    line here = {""};
    facts[i].put(v, facts[i].of, &here);
    return here;
}

static csrec_status find_numbers(numbers *v, csrec_error *error) {
    csrec_product found[N * LEVELS + 1];
    int64_t n = 0;
    bench_worked_steps(bench_worked_r, v->steps);
    for (int c = 0; c < M; c++) v->product[c] = NAN;
    csrec_status status =
        csrec_haar_transform("cpu", LEVELS, N, bench_worked_rows, bench_worked_r,
                             CSREC_TRANSFORM_LEVELS, N * LEVELS + 1, found, &n, error);
    for (int64_t i = 0; i < n && !status; i++) v->product[found[i].column] = found[i].value;
    return status;
}

typedef struct timing {
    int levels;
    int64_t n;
    double matrix, read; /* bytes of the stored matrix in single precision, of rows and r */
    double seconds[2];   /* level by level, by the tree */
} timing;

enum { TIMINGS = 8 };

static csrec_status time_one(timing *t, const uint64_t *rows, const double *r, csrec_error *error) {
    static const csrec_transform_method methods[2] = {CSREC_TRANSFORM_LEVELS, CSREC_TRANSFORM_TREE};
    int64_t room = t->n * t->levels + 1, n;
    csrec_product *products = malloc((size_t)room * sizeof *products);
    csrec_status status = products ? CSREC_OK : CSREC_MEMORY;
    if (status) return cli_fail(error, status, "out of memory for 2^%d rows", t->levels);
    for (int i = 0; i < 2 && !status; i++) {
        t->seconds[i] = INFINITY;
        for (int repeat = 0; repeat < 3 && !status; repeat++) {
            double began = cli_seconds();
            status = csrec_haar_transform("cpu", t->levels, t->n, rows, r, methods[i], room,
                                          products, &n, error);
            t->seconds[i] = fmin(t->seconds[i], cli_seconds() - began);
        }
    }
    free(products);
    return status;
}

/* N is a quarter of M, but at most 2^16, because the result has N L products. */
static csrec_status time_size(int levels, timing *t, csrec_error *error) {
    int64_t size = INT64_C(1) << levels;
    *t = (timing){.levels = levels, .n = size / 4 < 65536 ? size / 4 : 65536};
    t->matrix = 4.0 * (double)t->n * (double)size;
    t->read = 16.0 * (double)t->n;
    csrec_sampling drawn;
    csrec_status status = csrec_sampling_create(&(csrec_shape){1, {size}}, CSREC_PATTERN_UNIFORM,
                                                t->n, 1, &drawn, error);
    if (status) return status;
    uint64_t *rows = malloc((size_t)t->n * sizeof *rows);
    double *r = malloc((size_t)t->n * sizeof *r);
    for (int64_t i = 0; i < t->n && rows && r; i++) {
        rows[i] = (uint64_t)drawn.index[i];
        r[i] = csrec_random_normal(1, 0, (uint64_t)i);
    }
    status = rows && r ? time_one(t, rows, r, error)
                       : cli_fail(error, CSREC_MEMORY, "out of memory for 2^%d rows", levels);
    free(rows);
    free(r);
    csrec_sampling_clear(&drawn);
    return status;
}

static csrec_status time_all(int64_t most, timing *timings, int *n, csrec_error *error) {
    static const int levels[TIMINGS] = {5, 10, 15, 20, 24, 27, 30, 40};
    csrec_status status = CSREC_OK;
    for (*n = 0; *n < TIMINGS && levels[*n] <= most && !status; (*n)++)
        status = time_size(levels[*n], &timings[*n], error);
    return status;
}

static void put_bytes(double bytes, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int unit = 0;
    for (; bytes >= 1024.0 && unit < 6; unit++) bytes /= 1024.0;
    snprintf(text, 16, "%.3g %s", bytes, units[unit]);
}

static bool print_text(const numbers *v, int n, const timing *timings) {
    printf("%-26s%-14s%-22s%-22s\n", "Park 2015", "where", "printed", "here");
    for (int i = 0; i < FACTS; i++) {
        const line here = fact_of(v, i);
        printf("%-26s%-14s%-22s%-22s%s\n", facts[i].what, facts[i].where, facts[i].paper, here.text,
               strcmp(here.text, facts[i].paper) ? "DIFFERS" : "same");
    }
    printf("\n%6s%9s%16s%16s%16s%16s\n", "log2 M", "N", "stored matrix", "rows and r",
           "by levels, s", "by the tree, s");
    for (int i = 0; i < n; i++) {
        char matrix[16], read[16];
        put_bytes(timings[i].matrix, matrix);
        put_bytes(timings[i].read, read);
        printf("%6d%9lld%16s%16s%16.3g%16.3g\n", timings[i].levels, (long long)timings[i].n, matrix,
               read, timings[i].seconds[0], timings[i].seconds[1]);
    }
    return fflush(stdout) == 0;
}

static bool print_json(const numbers *v, int n, const timing *timings) {
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_begin_list(&json, "numbers");
    for (int i = 0; i < FACTS; i++) {
        const line here = fact_of(v, i);
        cli_json_begin_item(&json);
        cli_json_text(&json, "what", facts[i].what);
        cli_json_text(&json, "where", facts[i].where);
        cli_json_text(&json, "paper", facts[i].paper);
        cli_json_text(&json, "here", here.text);
        cli_json_end(&json);
    }
    cli_json_end_list(&json);
    cli_json_begin_list(&json, "transforms");
    for (int i = 0; i < n; i++) {
        cli_json_begin_item(&json);
        cli_json_integer(&json, "levels", timings[i].levels);
        cli_json_integer(&json, "n", timings[i].n);
        cli_json_real(&json, "matrix_bytes", timings[i].matrix);
        cli_json_real(&json, "read_bytes", timings[i].read);
        cli_json_real(&json, "seconds_levels", timings[i].seconds[0]);
        cli_json_real(&json, "seconds_tree", timings[i].seconds[1]);
        cli_json_end(&json);
    }
    cli_json_end_list(&json);
    return cli_json_close(&json);
}

static bool agrees(const numbers *v) {
    bool all = true;
    for (int i = 0; i < FACTS; i++) all = all && strcmp(fact_of(v, i).text, facts[i].paper) == 0;
    return all;
}

static int paper_run(int argc, char **argv) {
    arguments a = {.levels = 20};
    timing timings[TIMINGS];
    numbers v;
    csrec_error error;
    int n = 0, code = cli_parse(&tool, argc, argv, &a);
    if (code != CLI_CONTINUE) return code;
    if (a.operand) return bench_operand_refuse(&tool, a.operand);
    if (find_numbers(&v, &error) || time_all(a.levels, timings, &n, &error))
        return cli_failure(&tool, "%s", error.text);
    if (!(a.json ? print_json(&v, n, timings) : print_text(&v, n, timings)))
        return cli_stdout_failed(&tool);
    return agrees(&v) ? CLI_DONE : CLI_FAILURE;
}

const bench_command bench_paper = {&tool, paper_run};
