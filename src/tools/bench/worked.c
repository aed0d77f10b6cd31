/* SPDX-License-Identifier: BSD-3-Clause */
/* worked.c - the worked example of Park 2015, by the text of the paper. */
#include "worked.h"

#include <math.h>
#include <string.h>

enum { N = BENCH_WORKED_ROWS, M = BENCH_WORKED_SIZE };

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

int bench_worked_pursuit(double epsilon, int most, bench_pick *picks, double *x) {
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

/* ------------------------------------------------------------------ the library --------------- */

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

csrec_status bench_worked_compare(double *products, double *coefficients, csrec_error *error) {
    enum { MOST = 200 };
    bench_pick picks[MOST];
    double x[M];
    *products = *coefficients = 0.0;
    csrec_status status = compare_products(CSREC_TRANSFORM_LEVELS, products, error);
    if (!status) status = compare_products(CSREC_TRANSFORM_TREE, products, error);
    csrec_operator_spec spec = {.name = "haar",
                                .levels = BENCH_WORKED_LEVELS,
                                .m = N,
                                .rows = bench_worked_rows,
                                .columns = CSREC_COLUMNS_PAPER};
    csrec_solve_options how = {.solver = "mp", .stop = {.epsilon = 1e-6, .atoms = MOST}};
    csrec_operator *A = NULL;
    csrec_atoms atoms = {0};
    if (!status) status = csrec_operator_create(&spec, &A, error);
    if (!status) status = csrec_solve(A, bench_worked_r, &how, &atoms, NULL, NULL, error);
    bench_worked_pursuit(1e-6, MOST, picks, x);
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] -= atoms.coefficient[i];
    for (int c = 0; c < M; c++) *coefficients = fmax(*coefficients, fabs(x[c]));
    csrec_atoms_clear(&atoms);
    csrec_operator_destroy(A);
    return status;
}
