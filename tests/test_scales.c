/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators, samples, weights, starts and bounds multiplied by powers of two from the whole range
 * of doubles: every solver gives the bits of the problem of ordinary size, times a power of two, or
 * says that the result leaves the range. */

#include "operators_drawn.h"

SEED(seed);

enum { ROWS = 24, COLUMNS = 40, MOST = 2 * COLUMNS, KINDS = 3 };

static const char *const kinds[KINDS] = {"dense", "sparse", "callback"};

typedef struct problem {
    int64_t parts; /* 2: complex */
    double matrix[2 * ROWS * COLUMNS], y[2 * ROWS], start[MOST], weights[COLUMNS];
} problem;

/* A multiple of 2^-12, so that no power of two rounds it, not even a subnormal result. */
static double coarse(double v) {
    return rint(v * 4096.0) / 4096.0;
}

static void draw_problem(int64_t parts, problem *p) {
    *p = (problem){.parts = parts};
    for (int64_t i = 0; i < parts * ROWS * COLUMNS; i++)
        p->matrix[i] = check_below(&seed, 5) ? coarse(check_normal(&seed)) : 0.0;
    for (int64_t i = 0; i < parts * ROWS; i++) p->y[i] = coarse(0.1 * check_normal(&seed));
    for (int k = 0; k < 3; k++) {
        int64_t j = check_below(&seed, COLUMNS);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t c = 0; c < parts; c++)
                p->y[parts * i + c] += p->matrix[parts * (i * COLUMNS + j) + c];
    }
    for (int k = 0; k < 3; k++)
        p->start[check_below(&seed, parts * COLUMNS)] = coarse(check_normal(&seed));
    for (int64_t j = 0; j < COLUMNS; j++) p->weights[j] = coarse(0.5 + check_uniform(&seed));
}

static void multiply(int64_t n, const double *from, int exponent, double *to) {
    for (int64_t i = 0; i < n; i++) to[i] = ldexp(from[i], exponent);
}

typedef struct made {
    problem p;
    int64_t offset[COLUMNS + 1], index[ROWS * COLUMNS];
    double entries[2 * ROWS * COLUMNS];
    csrec_operator *dense, *A;
} made;

static void drop(made *o) {
    csrec_operator_destroy(o->A);
    csrec_operator_destroy(o->dense);
}

static void compress(made *o) {
    int64_t at = 0;
    for (int64_t j = 0; j < COLUMNS; j++) {
        o->offset[j] = at;
        for (int64_t i = 0; i < ROWS; i++) {
            const double *a = o->p.matrix + o->p.parts * (i * COLUMNS + j);
            if (a[0] == 0.0 && (o->p.parts == 1 || a[1] == 0.0)) continue;
            memcpy(o->entries + o->p.parts * at, a, (size_t)o->p.parts * sizeof *a);
            o->index[at++] = i;
        }
    }
    o->offset[COLUMNS] = at;
}

static void make(const problem *p, const char *kind, int exponent, made *o) {
    *o = (made){.p = *p};
    multiply(2 * ROWS * COLUMNS, p->matrix, exponent, o->p.matrix);
    csrec_operator_spec spec = {.name = "dense",
                                .m = ROWS,
                                .n = COLUMNS,
                                .matrix = o->p.matrix,
                                .complex_signal = p->parts == 2,
                                .forward = forward_of_operator,
                                .adjoint = adjoint_of_operator};
    spec.context = o->dense = operator_of(&spec);
    spec.name = kind;
    if (strcmp(kind, "sparse") == 0) {
        compress(o);
        spec.matrix = o->entries;
        spec.offset = o->offset;
        spec.index = o->index;
    }
    o->A = operator_of(&spec);
}

typedef struct way {
    const char *solver, *setting; /* NULL: none */
    double value, epsilon;
    int64_t atoms;
    bool start, weights;
} way;

static const way ways[] = {{.solver = "mp", .epsilon = 0.3},
                           {.solver = "omp", .epsilon = 0.3},
                           {.solver = "romp", .setting = "k", .value = 4},
                           {.solver = "cosamp", .setting = "k", .value = 4},
                           {.solver = "iht", .setting = "k", .value = 4},
                           {.solver = "htp", .setting = "k", .value = 4},
                           {.solver = "htp", .setting = "k", .value = 4, .start = true},
                           {.solver = "fista", .setting = "lambda", .value = 0.2},
                           {.solver = "fista", .setting = "lambda", .value = 0.2, .start = true},
                           {.solver = "fista", .setting = "lambda", .value = 0.2, .weights = true},
                           {.solver = "bpdn", .epsilon = 0.3},
                           {.solver = "bpdn", .epsilon = 0.3, .weights = true},
                           {.solver = "bpdn", .setting = "tau", .value = 0.75}};

enum { WAYS = sizeof ways / sizeof *ways };

/* Exponents of A, y, the start and the weights. */
typedef struct scale {
    int A, y, start, weights;
} scale;

typedef struct solved {
    csrec_status status;
    csrec_solve_report report;
    double x[MOST], r[2 * ROWS];
    csrec_error error;
} solved;

static void solve(const problem *p, const char *kind, const way *how, const scale *by, solved *to) {
    ENDS_BY(drop) made o;
    double y[2 * ROWS], weights[COLUMNS], start[MOST];
    uint64_t column[MOST];
    *to = (solved){0};
    make(p, kind, by->A, &o);
    multiply(p->parts * ROWS, p->y, by->y, y);
    multiply(COLUMNS, p->weights, by->weights, weights);
    multiply(MOST, p->start, by->start, start);
    for (int64_t j = 0; j < MOST; j++) column[j] = (uint64_t)j;
    csrec_atoms from = {.n = p->parts * COLUMNS, .column = column, .coefficient = start};
    CLEARED(csrec_atoms) found = {0};
    const csrec_setting setting = {how->setting, how->setting && strcmp(how->setting, "tau") == 0
                                                     ? ldexp(how->value, by->y - by->A)
                                                     : how->value};
    const csrec_stop stop = {.epsilon = how->epsilon, .atoms = how->atoms};
    csrec_solve_options options = solver_by(how->solver, stop, how->setting ? &setting : NULL);
    options.start = how->start ? &from : NULL;
    options.weights = how->weights ? weights : NULL;
    to->status = csrec_solve(o.A, y, &options, &found, to->r, &to->report, &to->error);
    for (int64_t i = 0; i < found.n; i++) to->x[found.column[i]] = found.coefficient[i];
}

static void expect(const problem *p, const char *kind, const way *how, const solved *plain,
                   const scale *by) {
    solved got;
    const int shift = by->y - by->A;
    if (abs(shift) > 1000 && how->setting && strcmp(how->setting, "tau") == 0) return;
    solve(p, kind, how, by, &got);
    bool same = got.status == CSREC_OK && got.report.outcome == plain->report.outcome &&
                got.report.residual == plain->report.residual &&
                got.report.iterations == plain->report.iterations;
    for (int64_t j = 0; j < p->parts * COLUMNS && same; j++)
        same = got.x[j] == ldexp(plain->x[j], shift);
    for (int64_t i = 0; i < p->parts * ROWS && same; i++)
        same = got.r[i] == ldexp(plain->r[i], by->y);
    if (abs(shift) > 1080)
        same = got.status == CSREC_DATA && strstr(got.error.text, "rescale the samples and the "
                                                                  "columns of the operator");
    if (!same)
        fail_msg("%s on %s %s by 2^%d A, 2^%d y, 2^%d start, 2^%d weights: status %d (%s), outcome "
                 "%s for %s, residual %g for %g, %lld iterations for %lld",
                 how->solver, p->parts == 2 ? "complex" : "real", kind, by->A, by->y, by->start,
                 by->weights, got.status, got.error.text, csrec_outcome_text(got.report.outcome),
                 csrec_outcome_text(plain->report.outcome), got.report.residual,
                 plain->report.residual, (long long)got.report.iterations,
                 (long long)plain->report.iterations);
}

/* Starts keep their place beside x, or are far from it. */
TEST(solvers_take_every_scale) {
    static const scale scales[] = {{.A = 80, .start = -80},
                                   {.A = 246, .start = -246},
                                   {.A = 500, .start = -500},
                                   {.A = -500, .start = 500},
                                   {.A = 1000, .start = -1000},
                                   {.A = -1000, .start = 1000},
                                   {.A = -1040, .y = -200, .start = 840},
                                   {.A = 500, .y = 500},
                                   {.A = -500, .y = -500},
                                   {.A = 1000, .y = 1000},
                                   {.A = -1000, .y = -1000},
                                   {.A = 1010, .y = 70, .start = -940},
                                   {.A = -500, .y = 300, .start = 800},
                                   {.y = 900, .start = 900},
                                   {.y = -900, .start = -900},
                                   {.A = 600, .y = -600, .start = -1000},
                                   {.A = -600, .y = 600, .start = 1000},
                                   {.weights = 900},
                                   {.weights = -900},
                                   {.A = 300, .start = -300, .weights = -300},
                                   {.A = 1020, .y = 100, .start = -920},
                                   {.A = -1060, .y = -200, .start = 860},
                                   {.A = -900, .y = -900, .weights = 900}};
    for (int64_t parts = 1; parts <= 2; parts++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int w = 0; w < WAYS; w++) {
                problem p;
                solved plain;
                draw_problem(parts, &p);
                solve(&p, kinds[kind], ways + w, &(scale){0}, &plain);
                assert_ok(plain.status);
                for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
                    expect(&p, kinds[kind], ways + w, &plain, scales + k);
            }
}

/* Right-hand sides at once, by an algorithm for many, one by one, or as one problem. */
TEST(many_right_hand_sides_do) {
    enum { COUNT = 3 };
    static const struct {
        const char *solver, *setting;
        double value;
    } cases[] = {{"omp", NULL, 0.0},
                 {"iht", "k", 4.0},
                 {"bpdn", NULL, 0.0},
                 {"bpdn", "joint", 1.0},
                 {"fista", "joint", 1.0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int k = 0; k < 2 * KINDS; k++) {
            problem p[COUNT];
            double x[2][COUNT * MOST] = {{0.0}}, y[COUNT * 2 * ROWS];
            const int64_t parts = 1 + k / KINDS;
            for (int i = 0; i < COUNT; i++) draw_problem(parts, p + i);
            for (int big = 0; big < 2; big++) {
                const int exponent = big ? 700 : 0;
                made o;
                csrec_atoms found[COUNT];
                const csrec_setting setting = {cases[c].setting, cases[c].value};
                const csrec_solve_options options =
                    solver_by(cases[c].solver, (csrec_stop){.epsilon = 0.4},
                              cases[c].setting ? &setting : NULL);
                for (int i = 0; i < COUNT; i++)
                    multiply(parts * ROWS, p[i].y, -exponent / 7, y + i * parts * ROWS);
                make(p, kinds[k % KINDS], exponent, &o);
                assert_ok(csrec_solve_many(o.A, COUNT, y, &options, 0, found, NULL, NULL, NULL));
                for (int i = 0; i < COUNT; i++) {
                    assert_true(found[i].n > 0);
                    for (int64_t a = 0; a < found[i].n; a++)
                        x[big][i * MOST + (int64_t)found[i].column[a]] =
                            ldexp(found[i].coefficient[a], exponent + exponent / 7);
                    csrec_atoms_clear(found + i);
                }
                drop(&o);
            }
            /* omp for many: docs promise the same to 1e-9. */
            for (int i = 0; i < COUNT * MOST; i++)
                if (fabs(x[0][i] - x[1][i]) > 1e-9)
                    fail_msg("%s on %s: x[%d] = %g, not %g", cases[c].solver, kinds[k % KINDS], i,
                             x[1][i], x[0][i]);
        }
}

/* Columns of which one would be lost in the other's unit are refused. */
TEST(columns_without_a_unit_are_refused) {
    const double matrix[] = {1e300, 1e-10, 1e299, 2e-10}, y[] = {1.0, 2.0};
    const int64_t offset[] = {0, 2, 4}, index[] = {0, 1, 0, 1};
    const csrec_operator_spec specs[] = {{.name = "dense", .m = 2, .n = 2, .matrix = matrix},
                                         {.name = "sparse",
                                          .m = 2,
                                          .n = 2,
                                          .matrix = (const double[]){1e300, 1e299, 1e-10, 2e-10},
                                          .offset = offset,
                                          .index = index}};
    for (int i = 0; i < 2; i++) {
        csrec_atoms found;
        ENDS_BY(end_operator) csrec_operator *A = operator_of(specs + i);
        assert_refused(
            csrec_solve(A, y, &(csrec_solve_options){.solver = "omp"}, &found, NULL, NULL, &told),
            CSREC_DATA, "columns from 2.24e-10 to 1e+300 long; rescale them");
    }
}
