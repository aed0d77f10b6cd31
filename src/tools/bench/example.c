/* SPDX-License-Identifier: BSD-3-Clause */
/* example.c - the worked example of Park 2015, by the text of the paper, step by step. */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "tools/common/report.h"

enum {
    N = BENCH_WORKED_ROWS,
    M = BENCH_WORKED_SIZE,
    LEVELS = BENCH_WORKED_LEVELS,
    ATOMS_MOST = 200
};

const uint64_t bench_worked_rows[N] = {1, 6, 10, 16, 23, 27};
const double bench_worked_r[N] = {7, 7, 7, 4, 4, 6};

/* Entries of one group are neighbours: the first takes both, the second one ends. */
static void reduce(const bench_step *from, bench_step *to) {
    to->n = 0;
    for (int j = 0; j < from->n; j++) {
        int64_t row = from->entry[j].row, group = row / to->span, member = row % to->span;
        double add = from->entry[j].add, sub = member < to->span / 2 ? add : -add;
        int64_t count = from->entry[j].count;
        if (j + 1 < from->n && from->entry[j + 1].row / to->span == group) {
            j++;
            sub = add - from->entry[j].add;
            add += from->entry[j].add;
            count += from->entry[j].count;
        }
        int at = to->n++;
        to->entry[at].row = row;
        to->entry[at].group = group;
        to->entry[at].member = member;
        to->entry[at].count = count;
        to->entry[at].column = M / to->span + group;
        to->entry[at].sub = sub;
        to->entry[at].add = add;
    }
}

void bench_worked_steps(const double r[N], bench_step *steps) {
    bench_step before = {.n = N};
    for (int j = 0; j < N; j++) {
        before.entry[j].row = (int64_t)bench_worked_rows[j];
        before.entry[j].add = r[j];
        before.entry[j].count = 1;
    }
    for (int n = 0; n < BENCH_WORKED_LEVELS; n++) {
        steps[n].span = INT64_C(2) << n;
        reduce(n ? &steps[n - 1] : &before, &steps[n]);
    }
}

void bench_worked_column(int64_t column, double psi[N]) {
    int64_t span = M, count = 0;
    while (M / span * 2 <= column) span /= 2;
    for (int j = 0; j < N; j++) {
        int64_t row = (int64_t)bench_worked_rows[j], group = column - M / span;
        psi[j] = column == 0 ? 1.0 : row / span != group ? 0.0 : row % span < span / 2 ? 1.0 : -1.0;
        count += psi[j] != 0.0;
    }
    for (int j = 0; j < N && count; j++) psi[j] /= sqrt((double)count);
}

static double dot(const double *a, const double *b) {
    double sum = 0.0;
    for (int j = 0; j < N; j++) sum += a[j] * b[j];
    return sum;
}

/* Products that differ in rounding only are equal. */
static bench_pick select_column(const double *r) {
    bench_pick best = {0, 0.0, 0.0};
    double psi[N];
    for (int64_t c = 0; c < M; c++) {
        bench_worked_column(c, psi);
        double product = dot(psi, r);
        if (fabs(product) > fabs(best.product) * (1.0 + 1e-12) + 1e-12)
            best = (bench_pick){c, product, 0.0};
    }
    return best;
}

/* Up to `most` iterations on y = bench_worked_r, by the dense columns, until ||r|| <= epsilon
 * ||y||; returns their number. x: [BENCH_WORKED_SIZE]. Of equal products the coarsest column, then
 * the first. */
static int worked_pursuit(double epsilon, int most, bench_pick *picks, double *x) {
    double r[N], psi[N], whole = sqrt(dot(bench_worked_r, bench_worked_r));
    int t = 0;
    memcpy(r, bench_worked_r, sizeof r);
    memset(x, 0, M * sizeof *x);
    while (t < most && sqrt(dot(r, r)) > epsilon * whole) {
        bench_pick pick = select_column(r);
        bench_worked_column(pick.column, psi);
        for (int j = 0; j < N; j++) r[j] -= pick.product * psi[j];
        x[pick.column] += pick.product;
        pick.residual = sqrt(dot(r, r)) / whole;
        picks[t++] = pick;
    }
    return t;
}

static csrec_status compare_products(csrec_transform_method method, double *most,
                                     csrec_error *error) {
    csrec_product found[N * BENCH_WORKED_LEVELS + 1];
    bench_step steps[BENCH_WORKED_LEVELS];
    double expected[M] = {0.0}, got[M] = {0.0};
    int64_t n = 0;
    csrec_status status =
        csrec_haar_transform("cpu", BENCH_WORKED_LEVELS, N, bench_worked_rows, bench_worked_r,
                             method, (int64_t)(sizeof found / sizeof *found), found, &n, error);
    if (status) return status;
    bench_worked_steps(bench_worked_r, steps);
    for (int s = 0; s < BENCH_WORKED_LEVELS; s++)
        for (int i = 0; i < steps[s].n; i++)
            expected[steps[s].entry[i].column] =
                steps[s].entry[i].sub / sqrt((double)steps[s].entry[i].count);
    expected[0] = steps[BENCH_WORKED_LEVELS - 1].entry[0].add / sqrt((double)N);
    for (int64_t i = 0; i < n; i++) got[found[i].column] = found[i].value;
    for (int c = 0; c < M; c++) *most = fmax(*most, fabs(got[c] - expected[c]));
    return CSREC_OK;
}

/* Largest difference between these and the library: inner products of both transforms, and x of
 * the solver mp on the operator haar. */
static csrec_status worked_compare(double *products, double *coefficients, csrec_error *error) {
    bench_pick picks[ATOMS_MOST];
    double x[M];
    *products = *coefficients = 0.0;
    csrec_status status = compare_products(CSREC_TRANSFORM_LEVELS, products, error);
    if (!status) status = compare_products(CSREC_TRANSFORM_TREE, products, error);
    csrec_operator_spec spec = {.name = "haar",
                                .levels = LEVELS,
                                .m = N,
                                .rows = bench_worked_rows,
                                .columns = CSREC_COLUMNS_PAPER};
    csrec_solve_options how = {.solver = "mp", .stop = {.epsilon = 1e-6, .atoms = ATOMS_MOST}};
    csrec_operator *A = NULL;
    csrec_atoms atoms = {0};
    if (!status) status = csrec_operator_create(&spec, &A, error);
    if (!status) status = csrec_solve(A, bench_worked_r, &how, &atoms, NULL, NULL, error);
    worked_pursuit(1e-6, ATOMS_MOST, picks, x);
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] -= atoms.coefficient[i];
    for (int c = 0; c < M; c++) *coefficients = fmax(*coefficients, fabs(x[c]));
    csrec_atoms_clear(&atoms);
    csrec_operator_destroy(A);
    return status;
}

typedef struct {
    const char *operand; /* there is none */
    int64_t atoms;
    double epsilon;
    bool json;
} arguments;

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
    e.n_picks = worked_pursuit(a.epsilon, (int)a.atoms, e.picks, e.x);
    if (worked_compare(&e.products, &e.coefficients, &error))
        return cli_failure(&tool, "%s", error.text);
    if (!(a.json ? print_json(&e) : print_text(&e))) return cli_stdout_failed(&tool);
    return agrees(&e) ? CLI_DONE : CLI_FAILURE;
}

const bench_command bench_example = {&tool, example_run};
