/* SPDX-License-Identifier: BSD-3-Clause */
/* scale.c - a signal as large as this machine takes: seconds and memory of each stage, and from the
 * bytes a sample the largest N for 24 GiB. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct options {
    const char *json;
    int log_n;
    int64_t atoms;
} options;

static const double BUDGET = 24.0 * 1073741824.0;

typedef struct stage {
    const char *name;
    double seconds;
    int64_t held, peak; /* bytes counted at its end; the most while it ran */
} stage;

enum { STAGES = 4 };

static void begin(stage *s, const char *name) {
    s->name = name;
    bench_bytes_reset();
    s->seconds = bench_seconds();
}

static void end(stage *s) {
    s->seconds = bench_seconds() - s->seconds;
    s->held = bench_bytes_live();
    s->peak = bench_bytes_peak();
}

static void solve(stage *s, const csrec_operator *A, const bench_problem *p, int64_t atoms,
                  csrec_solve_report *report, int64_t *found) {
    csrec_solve_options how = {.stop = {.atoms = atoms}};
    csrec_atoms x;
    csrec_error error;
    begin(s, atoms == 1 ? "pursuit, 1 atom" : "pursuit, all atoms");
    if (csrec_solve(A, p->y, &how, &x, NULL, report, &error)) bench_fail("solve", error.text);
    end(s);
    *found = x.n;
    csrec_atoms_clear(&x);
}

static const stage *largest_stage(const stage *s, int n) {
    const stage *best = s;
    for (int k = 1; k < n; k++)
        if (s[k].peak > best->peak) best = &s[k];
    return best;
}

/* What grew most from one stage to the next: caller, operator or pursuit. */
static const char *biggest_part(const stage *s) {
    double caller = (double)s[0].held, matrix = (double)(s[1].held - s[0].held);
    double pursuit = (double)(s[3].peak - s[1].held);
    if (pursuit >= matrix && pursuit >= caller) return "pursuit state";
    return matrix >= caller ? "operator (rows and tree)" : "rows and y of the caller";
}

static void report_stage(bench_json *json, const stage *s, double n) {
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "name", s->name);
    bench_json_numbers(json, "seconds held_bytes_sample peak_bytes_sample",
                       (double[]){s->seconds, (double)s->held / n, (double)s->peak / n});
    bench_json_end(json, '}');
}

static void report_run(bench_json *json, const bench_problem *p, csrec_columns columns,
                       const stage *s, const csrec_solve_report *r, int64_t resident) {
    double n = (double)p->n;
    /* Drawing the rows is the caller's business: a measurement brings them. */
    const stage *peak = largest_stage(s + 1, STAGES - 1);
    double bytes = (double)peak->peak / n;
    double ns = (s[3].seconds - s[2].seconds) * 1e9 / (double)(r->iterations - 1);
    double largest = fmin(floor(BUDGET / bytes), 2147483647.0);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "columns", csrec_columns_name(columns));
    bench_json_numbers(
        json,
        "n levels atoms residual ns_atom resident_peak_bytes peak_bytes_sample largest_n_24gib",
        (double[]){p->n, p->levels, r->iterations, r->residual, ns, resident, bytes, largest});
    bench_json_text(json, "biggest_part", biggest_part(s));
    bench_json_begin(json, "stages", '[');
    for (int k = 0; k < STAGES; k++) report_stage(json, &s[k], n);
    bench_json_end(json, ']');
    bench_json_end(json, '}');
}

/* One atom first: the time beyond it is that of the other atoms. */
static void run(bench_json *json, const options *o, csrec_columns columns) {
    stage s[STAGES];
    begin(&s[0], "rows and y");
    bench_problem p = bench_problem_create(BENCH_PICTURE, o->log_n + 2, INT64_C(1) << o->log_n, 1);
    end(&s[0]);
    bench_resident_reset();
    csrec_operator_spec spec = {
        .name = "haar", .levels = p.levels, .m = p.n, .rows = p.rows, .columns = columns};
    csrec_operator *A;
    csrec_error error;
    begin(&s[1], "operator: rows, tree");
    if (csrec_operator_create(&spec, &A, &error)) bench_fail("operator", error.text);
    end(&s[1]);
    csrec_solve_report r;
    int64_t found;
    solve(&s[2], A, &p, 1, &r, &found);
    solve(&s[3], A, &p, o->atoms, &r, &found);
    report_run(json, &p, columns, s, &r, bench_resident_peak());
    csrec_operator_destroy(A);
    bench_problem_destroy(&p);
}

static options parse(int argc, char **argv) {
    options o = {"scale.json", 26, 0};
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--json") == 0)
            o.json = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--samples") == 0)
            o.log_n = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--atoms") == 0)
            o.atoms = atoll(argv[++i]);
        else
            bench_fail(argv[i], "usage: bench_scale [--samples LOG2N] [--atoms K] [--json FILE]");
    }
    if (o.log_n < 10 || o.log_n > 30) bench_fail("--samples", "must be 10 to 30");
    if (o.atoms < 2) o.atoms = (INT64_C(1) << o.log_n) / 20;
    return o;
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    bench_json json = bench_json_open(o.json);
    bench_json_begin(&json, "scale", '[');
    run(&json, &o, CSREC_COLUMNS_TWO_SIDED);
    run(&json, &o, CSREC_COLUMNS_PAPER);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
