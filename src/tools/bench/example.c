/* SPDX-License-Identifier: BSD-3-Clause */
/* example.c - prints the worked example of Park 2015 step by step. */
#include <math.h>

#include "worked.h"
#include "tools/common/report.h"

typedef struct {
    const char *operand; /* there is none */
    int64_t atoms;
    double epsilon;
    bool json;
} arguments;

enum { ATOMS_MOST = 200 };

static const cli_option options[] = {
    {"atoms", 'k', CLI_INTEGER, "T", "Iterations of Matching Pursuit at most (default 10).",
     CLI_AT(atoms), .low = 1, .high = ATOMS_MOST},
    {"epsilon", 'e', CLI_REAL, "E", "It ends at ||r|| <= E ||y|| (default 0.001).", CLI_AT(epsilon),
     .low = 0.0, .high = 1.0},
    CLI_JSON(arguments),
    CLI_STANDARD};

static const cli_tool tool = {
    .name = "csbench example",
    .brief = "The worked example of the source paper, step by step.",
    .synopsis = "[OPTION...]",
    .details =
        "Park 2015, section 3.1: M = 32, N = 6, rows 1 6 10 16 23 27, r = 7 7 7 4 4 6. Prints the "
        "sampled matrix (figure 2), the table of each step (figures 6 and 7) with the inner "
        "products, and Matching Pursuit (table 1) on it. All is computed from the text of the "
        "paper, and compared with the library's transform and with its solver mp.\n"
        "Exit code: 0 done, 1 the library differs, or failure, 2 wrong usage.",
    .examples = "csbench example\n"
                "csbench example --json",
    CLI_OPTIONS(options),
    .operand = offsetof(arguments, operand),
    .optional = true};

enum { N = BENCH_WORKED_ROWS, M = BENCH_WORKED_SIZE, LEVELS = BENCH_WORKED_LEVELS };

typedef struct example {
    bench_step steps[LEVELS];
    bench_pick picks[ATOMS_MOST];
    int n_picks;
    double x[M];
    double products, coefficients; /* differences from the library */
} example;

static bool agrees(const example *e) {
    return e->products < 1e-12 && e->coefficients < 1e-4; /* mp's end within epsilon 1e-6 */
}

static void print_matrix(void) {
    printf("Psi: rows of the %d x %d Haar matrix, + 1, - -1, before their columns get length 1\n",
           M, M);
    for (int j = 0; j < N; j++) {
        printf("  row %2llu  ", (unsigned long long)bench_worked_rows[j]);
        for (int64_t c = 0; c < M; c++) {
            double psi[N];
            bench_worked_column(c, psi);
            putchar(psi[j] > 0.0 ? '+' : psi[j] < 0.0 ? '-' : '.');
        }
        printf("  r = %g\n", bench_worked_r[j]);
    }
}

static void print_step(int n, const bench_step *step) {
    printf("\nstep %d, span %lld: group = row / span, member = row %% span, column = M / span + "
           "group\n   row group member   sub   add  #  column  <r, Psi_column> = sub / sqrt(#)\n",
           n + 1, (long long)step->span);
    for (int i = 0; i < step->n; i++)
        printf("%6lld%6lld%7lld%6g%6g%3lld%8lld  %.10g\n", (long long)step->entry[i].row,
               (long long)step->entry[i].group, (long long)step->entry[i].member,
               step->entry[i].sub, step->entry[i].add, (long long)step->entry[i].count,
               (long long)step->entry[i].column,
               step->entry[i].sub / sqrt((double)step->entry[i].count));
}

static bool print_text(const example *e) {
    print_matrix();
    for (int n = 0; n < LEVELS; n++) print_step(n, &e->steps[n]);
    printf("\n<r, Psi_0> = add / sqrt(N) = %g / sqrt(%d) = %.10g\n",
           e->steps[LEVELS - 1].entry[0].add, N,
           e->steps[LEVELS - 1].entry[0].add / sqrt((double)N));
    printf("\nMatching Pursuit from r = y\n     t  column  <r, Psi_column>  ||r|| / ||y||\n");
    for (int t = 0; t < e->n_picks; t++)
        printf("%6d%8lld%17.8f%15.6f\n", t + 1, (long long)e->picks[t].column, e->picks[t].product,
               e->picks[t].residual);
    printf("\nlargest difference from the library: products %.2g, coefficients of mp %.2g%s\n",
           e->products, e->coefficients, agrees(e) ? "" : "  DIFFERS");
    return fflush(stdout) == 0;
}

static void add_step(cli_json *json, const bench_step *step) {
    cli_json_begin_item(json);
    cli_json_integer(json, "span", step->span);
    cli_json_begin_list(json, "entries");
    for (int i = 0; i < step->n; i++) {
        cli_json_begin_item(json);
        cli_json_integer(json, "row", step->entry[i].row);
        cli_json_integer(json, "group", step->entry[i].group);
        cli_json_integer(json, "member", step->entry[i].member);
        cli_json_real(json, "sub", step->entry[i].sub);
        cli_json_real(json, "add", step->entry[i].add);
        cli_json_integer(json, "count", step->entry[i].count);
        cli_json_integer(json, "column", step->entry[i].column);
        cli_json_real(json, "product", step->entry[i].sub / sqrt((double)step->entry[i].count));
        cli_json_end(json);
    }
    cli_json_end_list(json);
    cli_json_end(json);
}

static bool print_json(const example *e) {
    cli_json json;
    cli_json_open(&json, stdout);
    cli_json_begin_list(&json, "steps");
    for (int n = 0; n < LEVELS; n++) add_step(&json, &e->steps[n]);
    cli_json_end_list(&json);
    cli_json_real(&json, "product_0", e->steps[LEVELS - 1].entry[0].add / sqrt((double)N));
    cli_json_begin_list(&json, "pursuit");
    for (int t = 0; t < e->n_picks; t++) {
        cli_json_begin_item(&json);
        cli_json_integer(&json, "column", e->picks[t].column);
        cli_json_real(&json, "product", e->picks[t].product);
        cli_json_real(&json, "residual", e->picks[t].residual);
        cli_json_end(&json);
    }
    cli_json_end_list(&json);
    cli_json_flag(&json, "agrees", agrees(e));
    return cli_json_close(&json);
}

static int example_run(int argc, char **argv) {
    arguments a = {.atoms = 10, .epsilon = 1e-3};
    example e;
    csrec_error error;
    int code = cli_parse(&tool, argc, argv, &a);
    if (code != CLI_CONTINUE) return code;
    if (a.operand) return bench_operand_refuse(&tool, a.operand);
    bench_worked_steps(bench_worked_r, e.steps);
    e.n_picks = bench_worked_pursuit(a.epsilon, (int)a.atoms, e.picks, e.x);
    if (bench_worked_compare(&e.products, &e.coefficients, &error))
        return cli_failure(&tool, "%s", error.text);
    if (!(a.json ? print_json(&e) : print_text(&e))) return cli_stdout_failed(&tool);
    return agrees(&e) ? CLI_DONE : CLI_FAILURE;
}

const bench_command bench_example = {&tool, example_run};
