/* cuda_omp.c - OMP of many right-hand sides on one dense matrix: signals a second on the device and
 * on the CPU, after the picks of both have been compared. A JSON object a line.
 *
 *     bench_cuda_omp [--small]
 *
 * Gaussian matrices; signals of as many columns as OMP then picks, with 1 % noise. same_picks: the
 * share of signals with the CPU's columns, all of them; of the rest, `residual` is how far the
 * residuals differ at most, in lengths of y. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"

typedef struct problem {
    int64_t m, n, atoms, most;
    double *matrix, *y; /* [m][n], [most][m] */
    csrec_operator *A[2];
} problem;

static double normal(uint64_t stream, int64_t at) {
    return csrec_random_normal(3, stream, (uint64_t)at);
}

static problem problem_create(int64_t m, int64_t n, int64_t atoms, int64_t most) {
    problem p = {.m = m, .n = n, .atoms = atoms, .most = most};
    p.matrix = bench_allocate(m * n, sizeof *p.matrix);
    p.y = bench_allocate(most * m, sizeof *p.y);
    for (int64_t i = 0; i < m * n; i++) p.matrix[i] = normal(0, i);
    for (int k = 0; k < 2; k++) {
        csrec_operator_spec spec = {
            .name = "dense", .m = m, .n = n, .matrix = p.matrix, .backend = k ? "cuda" : "cpu"};
        csrec_error error;
        if (csrec_operator_create(&spec, &p.A[k], &error)) bench_fail("matrix", error.text);
    }
#pragma omp parallel for schedule(static)
    for (int64_t s = 0; s < most; s++) {
        double *y = p.y + s * m;
        for (int64_t i = 0; i < m; i++) y[i] = 0.01 * sqrt((double)atoms) * normal(1, s * m + i);
        for (int64_t k = 0; k < atoms; k++) {
            int64_t j = (int64_t)(csrec_random_u64(3, 2, (uint64_t)(s * atoms + k)) % (uint64_t)n);
            double x = 1.0 + csrec_random_uniform(3, 4, (uint64_t)(s * atoms + k));
            for (int64_t i = 0; i < m; i++) y[i] += x * p.matrix[i * n + j];
        }
    }
    return p;
}

static void problem_destroy(problem *p) {
    for (int k = 0; k < 2; k++) csrec_operator_destroy(p->A[k]);
    free(p->matrix);
    free(p->y);
}

/* Seconds of one call. */
static double solve(const problem *p, int backend, int64_t count, csrec_atoms *atoms,
                    csrec_solve_report *reports) {
    csrec_solve_options options = {.solver = "omp", .stop = {.atoms = p->atoms}};
    csrec_error error;
    double start = bench_seconds();
    if (csrec_solve_many(p->A[backend], count, p->y, &options, 0, atoms, NULL, reports, &error))
        bench_fail("omp", error.text);
    return bench_seconds() - start;
}

static bool same_columns(const csrec_atoms *a, const csrec_atoms *b) {
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->column, b->column, (size_t)a->n * sizeof *a->column) == 0);
}

typedef struct comparison {
    double same, residual, cpu_s; /* shares, lengths of y, signals a second */
} comparison;

static comparison compare(const problem *p, int64_t count) {
    csrec_atoms *atoms[2];
    csrec_solve_report *reports[2];
    double seconds[2];
    for (int k = 0; k < 2; k++) {
        atoms[k] = bench_allocate(count, sizeof **atoms);
        reports[k] = bench_allocate(count, sizeof **reports);
        seconds[k] = solve(p, k, count, atoms[k], reports[k]);
    }
    comparison c = {0.0, 0.0, (double)count / seconds[0]};
    for (int64_t s = 0; s < count; s++) {
        c.same += same_columns(&atoms[0][s], &atoms[1][s]) / (double)count;
        c.residual = fmax(c.residual, fabs(reports[0][s].residual - reports[1][s].residual));
        for (int k = 0; k < 2; k++) csrec_atoms_clear(&atoms[k][s]);
    }
    for (int k = 0; k < 2; k++) {
        free(atoms[k]);
        free(reports[k]);
    }
    if (c.same < 0.99 || c.residual > 1e-3) bench_fail("omp", "the device picks other columns");
    return c;
}

/* Warm: the plan and the pinned buffers are there, as from a second call on. */
static void measure(int64_t m, int64_t n, int64_t atoms, int64_t most) {
    problem p = problem_create(m, n, atoms, most);
    comparison c = compare(&p, most < 2000 ? most : 2000);
    for (int64_t count = most < 1000 ? most : 1000; count <= most; count *= 10) {
        csrec_atoms *found = bench_allocate(count, sizeof *found);
        double first = solve(&p, 1, count, NULL, NULL), least = INFINITY, listed;
        for (int k = 0; k < 3; k++) least = fmin(least, solve(&p, 1, count, NULL, NULL));
        listed = solve(&p, 1, count, found, NULL);
        for (int64_t s = 0; s < count; s++) csrec_atoms_clear(&found[s]);
        printf("{\"m\": %lld, \"n\": %lld, \"atoms\": %lld, \"signals\": %lld, "
               "\"signals_per_s\": %.0f, \"first_call_per_s\": %.0f, \"with_atoms_per_s\": %.0f, "
               "\"cpu_per_s\": %.0f, \"cpu_threads\": %d, \"same_picks\": %.5f, "
               "\"residual\": %.3g}\n",
               (long long)m, (long long)n, (long long)atoms, (long long)count,
               (double)count / least, (double)count / first, (double)count / listed, c.cpu_s,
               bench_cores(), c.same, c.residual);
        fflush(stdout);
        free(found);
    }
    problem_destroy(&p);
}

int main(int argc, char **argv) {
    bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
    if (bench_no_device()) return 0;
    if (small) {
        measure(64, 128, 8, 100);
        return 0;
    }
    measure(256, 1024, 32, 100000);
    measure(128, 512, 16, 100000);
    measure(512, 2048, 64, 10000);
    return 0;
}
