/* SPDX-License-Identifier: BSD-3-Clause */
/* l1 problems of groups, complex or joint, on columns that nearly depend on each other and whose
 * lengths differ by 10^6: solved in few rounds, and proved by the duality gap.
 *
 * With c = A^H r and r = y - A x, u = r min(1, lambda / max |c_j|) is feasible for the dual of
 * 1/2 ||r||^2 + lambda ||x||_1, and v = r / max |c_j| for that of min ||x||_1, ||r|| <= goal; no x
 * has an objective below 1/2 ||y||^2 - 1/2 ||y - u||^2, or below Re <y, v> - goal ||v||. */
#include <complex.h>
#include "check.h"

SEED(seed);
enum { ROWS = 20, COLUMNS = 240, USED = 5, SIGNALS = 3 };

typedef struct problem {
    int64_t parts; /* complex: one signal of 2 parts; real: as many as SIGNALS, joint */
    double complex A[ROWS * COLUMNS], y[SIGNALS][ROWS], x[SIGNALS][COLUMNS], r[SIGNALS][ROWS];
    double weights[COLUMNS];
} problem;

static int64_t signals(const problem *p) {
    return p->parts == 2 ? 1 : SIGNALS;
}

/* Neighbouring frequencies, or bumps, of which those a twelfth of a period apart look alike. */
static void draw_columns(double spread, problem *p) {
    double times[ROWS];
    for (int i = 0; i < ROWS; i++) times[i] = ROWS * check_uniform(&seed);
    for (int j = 0; j < COLUMNS; j++) {
        const double length = pow(10.0, spread * (2.0 * check_uniform(&seed) - 1.0));
        for (int i = 0; i < ROWS; i++) {
            const double at = times[i] - (double)ROWS * j / COLUMNS;
            p->A[i * COLUMNS + j] =
                p->parts == 2 ? length * cexp(6.283185307179586 * I * times[i] * j / COLUMNS)
                              : length * exp(-0.25 * at * at);
        }
        p->weights[j] = length;
    }
}

static double complex noise(const problem *p) {
    const double re = check_normal(&seed);
    return p->parts == 2 ? re + I * check_normal(&seed) : re;
}

static void draw_problem(int64_t parts, double spread, problem *p) {
    *p = (problem){.parts = parts};
    draw_columns(spread, p);
    for (int k = 0; k < USED; k++) {
        const int64_t j = check_below(&seed, COLUMNS);
        for (int64_t s = 0; s < signals(p); s++) {
            const double complex size = noise(p) / p->weights[j];
            for (int i = 0; i < ROWS; i++) p->y[s][i] += size * p->A[i * COLUMNS + j];
        }
    }
    for (int64_t s = 0; s < signals(p); s++)
        for (int i = 0; i < ROWS; i++) p->y[s][i] += 0.01 * noise(p);
}

/* Numbers as the library takes them: pairs, or real parts. */
static void flatten(int64_t parts, int64_t n, const double complex *from, double *to) {
    for (int64_t i = 0; i < n; i++) {
        to[(parts == 2 ? 2 : 1) * i] = creal(from[i]);
        if (parts == 2) to[2 * i + 1] = cimag(from[i]);
    }
}

/* With weights, column j of the problem that is solved is a_j w_j, and its x is x_j / w_j. */
static csrec_solve_report solve(problem *p, const char *solver, double share, bool weighted) {
    double matrix[2 * ROWS * COLUMNS], y[SIGNALS * 2 * ROWS];
    OWNED double complex *scaled = malloc(sizeof p->A);
    const int64_t numbers = p->parts == 2 ? 2 : 1, count = signals(p);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        scaled[i] = p->A[i] * (weighted ? p->weights[i % COLUMNS] : 1.0);
    flatten(p->parts, ROWS * COLUMNS, scaled, matrix);
    for (int64_t s = 0; s < count; s++) flatten(p->parts, ROWS, p->y[s], y + s * numbers * ROWS);
    const bool fista = strcmp(solver, "fista") == 0;
    const csrec_setting settings[] = {{"joint", count > 1}, {"lambda", share}};
    const csrec_operator_spec spec = {.name = "dense",
                                      .m = ROWS,
                                      .n = COLUMNS,
                                      .matrix = matrix,
                                      .complex_signal = p->parts == 2};
    const csrec_solve_options options = {.solver = solver,
                                         .stop = {.epsilon = fista ? 0.0 : share},
                                         .settings = settings,
                                         .n_settings = 1 + fista,
                                         .weights = weighted ? p->weights : NULL};
    csrec_atoms atoms[SIGNALS];
    csrec_solve_report reports[SIGNALS];
    ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
    assert_ok(csrec_solve_many(A, count, y, &options, 1, atoms, NULL, reports, NULL));
    for (int64_t s = 0; s < count; s++) {
        memset(p->x[s], 0, sizeof p->x[s]);
        for (int64_t a = 0; a < atoms[s].n; a++) {
            const int64_t at = (int64_t)atoms[s].column[a], j = at / numbers;
            const double size = atoms[s].coefficient[a] * (weighted ? p->weights[j] : 1.0);
            p->x[s][j] += numbers == 2 && at % 2 ? I * size : size;
        }
        csrec_atoms_clear(atoms + s);
    }
    return reports[0];
}

/* r of x, or y for x = NULL; returns max_j of the lengths of rows of A^H r. */
static double largest(problem *p, bool of_x) {
    double most = 0.0;
    for (int64_t s = 0; s < signals(p); s++)
        for (int i = 0; i < ROWS; i++) {
            p->r[s][i] = p->y[s][i];
            for (int j = 0; j < COLUMNS && of_x; j++)
                p->r[s][i] -= p->A[i * COLUMNS + j] * p->x[s][j];
        }
    for (int j = 0; j < COLUMNS; j++) {
        double square = 0.0;
        for (int64_t s = 0; s < signals(p); s++) {
            double complex c = 0.0;
            for (int i = 0; i < ROWS; i++) c += conj(p->A[i * COLUMNS + j]) * p->r[s][i];
            square += creal(c * conj(c));
        }
        most = fmax(most, sqrt(square));
    }
    return most;
}

/* Of the objective, by how much it may be above the least. */
static double gap(problem *p, bool fista, double share) {
    double norm = 0.0, yy = 0.0, rr = 0.0, yr = 0.0;
    const double lambda = share * largest(p, false), most = largest(p, true);
    for (int j = 0; j < COLUMNS; j++) {
        double square = 0.0;
        for (int64_t s = 0; s < signals(p); s++) square += creal(p->x[s][j] * conj(p->x[s][j]));
        norm += sqrt(square);
    }
    for (int64_t s = 0; s < signals(p); s++)
        for (int i = 0; i < ROWS; i++) {
            yy += creal(p->y[s][i] * conj(p->y[s][i]));
            rr += creal(p->r[s][i] * conj(p->r[s][i]));
            yr += creal(p->y[s][i] * conj(p->r[s][i]));
        }
    const double t = fmin(1.0, lambda / most), objective = 0.5 * rr + lambda * norm;
    if (fista) return (objective - t * yr + 0.5 * t * t * rr) / objective;
    if (sqrt(rr) > share * sqrt(yy) * (1.0 + 1e-8)) return INFINITY;
    return (norm - (yr - share * sqrt(yy) * sqrt(rr)) / most) / norm;
}

TEST(groups_that_look_alike_are_solved) {
    static const double shares[] = {0.1, 0.01, 0.001}, bounds[] = {0.3, 0.1, 0.03};
    for (int64_t parts = 1; parts <= 2; parts++)
        for (int way = 0; way < 3; way++) /* plain, lengths that differ, weights */
            for (int k = 0; k < 6; k++) {
                problem p;
                const bool fista = k < 3;
                const double share = fista ? shares[k] : bounds[k - 3];
                draw_problem(parts, way ? 3.0 : 0.0, &p);
                const csrec_solve_report report =
                    solve(&p, fista ? "fista" : "bpdn", share, way == 2);
                const double left = gap(&p, fista, share);
                if (report.outcome != CSREC_CONVERGED || report.iterations > 400 || !(left < 1e-6))
                    fail_msg("%s %g of %s, way %d: %s after %lld rounds, gap %.2g",
                             fista ? "fista" : "bpdn", share, parts == 2 ? "complex x" : "3 x", way,
                             csrec_outcome_text(report.outcome), (long long)report.iterations,
                             left);
            }
}
