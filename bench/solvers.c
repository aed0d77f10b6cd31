/* solvers.c - each solver's phase transition, errors of recovery, and OMP on the tree.
 *
 * Phase transition (Donoho and Tanner 2009): for Gaussian A of m x 128 and k-sparse x of signs and
 * sizes 1 to 2, how often x comes back, over m/n and k/m; as numbers, JSON and a picture.
 * --peer FOLDER: times OMP on FOLDER/matrix.npy and y.npy instead, for solvers.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { N = 128, ROWS = 9, COLUMNS = 10, TRIALS = 50, CELL = 12 };

typedef struct options {
    const char *json, *picture, *peer;
    int trials;
    int64_t atoms;
} options;

typedef struct trial {
    int64_t m, k;
    double noise; /* of the samples' length */
    uint64_t seed;
} trial;

static uint64_t mix(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) {
    return (double)(mix(state) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state) {
    double u = 1.0 - uniform(state), v = uniform(state);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static void draw(const trial *t, double *matrix, double *x, double *y) {
    uint64_t state = t->seed;
    for (int64_t i = 0; i < t->m * N; i++) matrix[i] = normal(&state) / sqrt((double)t->m);
    memset(x, 0, N * sizeof *x);
    for (int64_t found = 0; found < t->k;) {
        int64_t j = (int64_t)(mix(&state) % N);
        if (x[j] != 0.0) continue;
        x[j] = (1.0 + uniform(&state)) * (mix(&state) & 1 ? 1.0 : -1.0);
        found++;
    }
    double length = 0.0;
    for (int64_t i = 0; i < t->m; i++) {
        y[i] = 0.0;
        for (int64_t j = 0; j < N; j++) y[i] += matrix[i * N + j] * x[j];
        length += y[i] * y[i];
    }
    double noise = t->noise * sqrt(length / (double)t->m);
    for (int64_t i = 0; i < t->m; i++) y[i] += noise * normal(&state);
}

/* Each solver as its users would set it: k known where it has a k, else stopped by the residual. */
static csrec_solve_options settings(const char *solver, const trial *t, csrec_setting *set) {
    csrec_solve_options how = {.solver = solver,
                               .stop = {.epsilon = fmax(1e-6, 0.9 * t->noise), .atoms = 200}};
    how.settings = set;
    if (strcmp(solver, "mp") == 0) {
        how.stop.atoms = 2000;
    } else if (strcmp(solver, "omp") == 0) {
        how.stop.atoms = t->k;
    } else if (strcmp(solver, "fista") == 0) {
        how.stop.atoms = 1000;
        how.n_settings = 2;
        set[0] = (csrec_setting){"lambda", t->noise > 0.0 ? 0.02 : 1e-3};
        set[1] = (csrec_setting){"debias", 1};
    } else {
        how.n_settings = 1;
        set[0] = (csrec_setting){"k", (double)t->k};
        how.stop.stagnation = 1e-4;
    }
    return how;
}

/* ||x found - x|| / ||x||; INFINITY where the solver refuses. */
static double solve(const char *solver, const trial *t, double *seconds) {
    double *matrix = malloc((size_t)(t->m * N) * sizeof *matrix), x[N], y[N], wrong = 0.0;
    double whole = 0.0;
    draw(t, matrix, x, y);
    csrec_operator_spec spec = {.name = "dense", .m = t->m, .n = N, .matrix = matrix};
    csrec_operator *A;
    csrec_setting set[2];
    csrec_solve_options how = settings(solver, t, set);
    csrec_atoms atoms = {0};
    bench_check(csrec_operator_create(&spec, &A, NULL), "operator");
    double start = bench_seconds();
    csrec_status status = csrec_solve(A, y, &how, &atoms, NULL, NULL, NULL);
    *seconds = bench_seconds() - start;
    for (int64_t j = 0; j < N; j++) whole += x[j] * x[j];
    for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] -= atoms.coefficient[i];
    for (int64_t j = 0; j < N; j++) wrong += x[j] * x[j];
    csrec_atoms_clear(&atoms);
    csrec_operator_destroy(A);
    free(matrix);
    return status ? INFINITY : sqrt(wrong / whole);
}

/* Some solvers are for pictures only. */
static bool takes_matrices(const char *solver) {
    trial t = {64, 1, 0.0, 1};
    double seconds;
    return isfinite(solve(solver, &t, &seconds));
}

static trial cell(int row, int column, int number) {
    trial t = {.m = (int64_t)lround(N * 0.1 * (row + 1)), .seed = 1};
    t.k = (int64_t)fmax(1.0, (double)lround((double)t.m * (0.05 + 0.1 * column)));
    t.seed += (uint64_t)((row * COLUMNS + column) * 1000 + number) * 7919;
    return t;
}

/* Share of trials with an error below 1 %, cell by cell; the trials of a cell share the cores. */
static void transition(const char *solver, int trials, double rate[ROWS][COLUMNS]) {
#pragma omp parallel for schedule(dynamic, 1) collapse(2)
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            int found = 0;
            for (int number = 0; number < trials; number++) {
                trial t = cell(row, column, number);
                double seconds;
                found += solve(solver, &t, &seconds) < 0.01;
            }
            rate[row][column] = (double)found / trials;
        }
}

static void print_transition(const char *solver, double rate[ROWS][COLUMNS], double seconds) {
    printf("\n%s: share of signals recovered, %% (%.1f s)\n  m/n \\ k/m", solver, seconds);
    for (int column = 0; column < COLUMNS; column++) printf("%6.2f", 0.05 + 0.1 * column);
    for (int row = 0; row < ROWS; row++) {
        printf("\n  %-9.1f", 0.1 * (row + 1));
        for (int column = 0; column < COLUMNS; column++) printf("%6.0f", 100.0 * rate[row][column]);
    }
    printf("\n");
    fflush(stdout);
}

static void report_transition(bench_json *json, const char *solver, double rate[ROWS][COLUMNS]) {
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "solver", solver);
    bench_json_begin(json, "success", '[');
    for (int row = 0; row < ROWS; row++) {
        bench_json_begin(json, NULL, '[');
        for (int column = 0; column < COLUMNS; column++)
            bench_json_number(json, NULL, rate[row][column]);
        bench_json_end(json, ']');
    }
    bench_json_end(json, ']');
    bench_json_end(json, '}');
}

/* Panels side by side in the order of the table: white is recovered; k/m rises upwards, m/n to the
 * right. */
static void paint(csrec_image *image, int panel, double rate[ROWS][COLUMNS]) {
    uint8_t *pixels = image->pixels.data;
    int64_t width = image->pixels.shape.dim[1];
    for (int64_t v = 0; v < COLUMNS * CELL; v++)
        for (int64_t u = 0; u < ROWS * CELL; u++)
            pixels[v * width + panel * (ROWS + 1) * CELL + u] =
                (uint8_t)lround(255.0 * rate[u / CELL][COLUMNS - 1 - v / CELL]);
}

static void transitions(bench_json *json, const options *o) {
    const char *name, *brief, *source;
    int solvers = 0;
    for (int s = 0; csrec_solver_info(s, &name, &brief, &source); s++)
        solvers += takes_matrices(name);
    csrec_image image = {.bits = 8};
    csrec_shape shape = {3, {COLUMNS * CELL, solvers * (ROWS + 1) * CELL, 1}};
    bench_check(csrec_array_create(CSREC_U8, &shape, &image.pixels), "picture");
    memset(image.pixels.data, 96, (size_t)image.pixels.count);
    bench_json_begin(json, "transition", '[');
    int panel = 0;
    for (int s = 0; csrec_solver_info(s, &name, &brief, &source); s++) {
        double rate[ROWS][COLUMNS], start = bench_seconds();
        if (!takes_matrices(name)) continue;
        transition(name, o->trials, rate);
        print_transition(name, rate, bench_seconds() - start);
        report_transition(json, name, rate);
        paint(&image, panel++, rate);
    }
    bench_json_end(json, ']');
    csrec_error error;
    if (csrec_image_write(o->picture, &image, &error)) bench_fail("picture", error.text);
    csrec_array_clear(&image.pixels);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median error of x and time, well inside the transition: m = n/2, k = m/10. */
static void errors(bench_json *json, const options *o) {
    const char *name, *brief, *source;
    printf("\nmedian ||x - x found|| / ||x||, m = 64, n = 128, k = 6\n  %-10s%12s%12s%12s\n", "",
           "no noise", "1 % noise", "ms");
    bench_json_begin(json, "errors", '[');
    for (int s = 0; csrec_solver_info(s, &name, &brief, &source); s++) {
        double error[2], list[100], time[100];
        if (!takes_matrices(name)) continue;
        for (int noisy = 0; noisy < 2; noisy++) {
            for (int number = 0; number < 5 * o->trials && number < 100; number++) {
                trial t = {64, 6, noisy ? 0.01 : 0.0, (uint64_t)number + 1};
                list[number] = solve(name, &t, &time[number]);
            }
            int count = 5 * o->trials < 100 ? 5 * o->trials : 100;
            qsort(list, (size_t)count, sizeof *list, ascending);
            qsort(time, (size_t)count, sizeof *time, ascending);
            error[noisy] = list[count / 2];
            time[0] = time[count / 2];
        }
        printf("  %-10s%12.2e%12.2e%12.3f\n", name, error[0], error[1], 1e3 * time[0]);
        bench_json_begin(json, NULL, '{');
        bench_json_text(json, "solver", name);
        bench_json_number(json, "error", error[0]);
        bench_json_number(json, "error_noise", error[1]);
        bench_json_number(json, "seconds_noise", time[0]);
        bench_json_end(json, '}');
    }
    bench_json_end(json, ']');
}

/* OMP on the row tree: N = 2^18 samples, M = 4 N, K = N / 10. */
static void tree(bench_json *json, csrec_columns columns, bool smooth) {
    const int64_t n = 1 << 18;
    uint64_t *rows = malloc((size_t)n * sizeof *rows), state = 1;
    double *y = malloc((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) {
        double t = (double)i / (double)n, jump = fmod(13.0 * t, 1.0) < 0.4 ? 1.0 : 0.0;
        rows[i] = 4 * (uint64_t)i + mix(&state) % 4;
        y[i] = smooth ? sin(20.0 * t) + jump : normal(&state);
    }
    csrec_operator_spec spec = {
        .name = "haar", .levels = 20, .m = n, .rows = rows, .columns = columns};
    csrec_operator *A;
    bench_check(csrec_operator_create(&spec, &A, NULL), "operator");
    csrec_solve_options how = {.solver = "omp", .stop = {.atoms = n / 10}};
    csrec_solve_report report;
    double start = bench_seconds();
    bench_check(csrec_solve(A, y, &how, NULL, NULL, &report, NULL), "omp");
    double seconds = bench_seconds() - start;
    printf("  %-10s columns, %-16s %8.3f s, residual %.3g\n", csrec_columns_name(columns),
           smooth ? "piecewise smooth" : "noise", seconds, report.residual);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "columns", csrec_columns_name(columns));
    bench_json_text(json, "signal", smooth ? "piecewise" : "noise");
    bench_json_integer(json, "n", n);
    bench_json_integer(json, "atoms", report.iterations);
    bench_json_number(json, "seconds", seconds);
    bench_json_number(json, "residual", report.residual);
    bench_json_end(json, '}');
    csrec_operator_destroy(A);
    free(rows);
    free(y);
}

/* ---- for solvers.py: seconds of OMP on matrices from files */

static csrec_array read_doubles(const char *folder, const char *name) {
    char path[4096];
    csrec_array array;
    csrec_error error;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        bench_fail(folder, "name too long");
    if (csrec_array_read(path, &array, &error)) bench_fail("peer", error.text);
    if (array.dtype != CSREC_F64 || array.shape.dims != 2) bench_fail(path, "needs 2-D float64");
    return array;
}

static void time_peer(const options *o) {
    csrec_array matrix = read_doubles(o->peer, "matrix.npy"), y = read_doubles(o->peer, "y.npy");
    int64_t m = matrix.shape.dim[0], n = matrix.shape.dim[1], count = y.shape.dim[0];
    if (y.shape.dim[1] != m) bench_fail("peer", "y.npy needs a row for each signal");
    csrec_operator_spec spec = {.name = "dense", .m = m, .n = n, .matrix = matrix.data};
    csrec_solve_options how = {.solver = "omp", .stop = {.atoms = o->atoms}};
    csrec_solve_report *reports = calloc((size_t)count, sizeof *reports);
    csrec_atoms *atoms = calloc((size_t)count, sizeof *atoms);
    csrec_operator *A;
    csrec_error error;
    double start = bench_seconds();
    if (csrec_operator_create(&spec, &A, &error)) bench_fail("peer", error.text);
    double made = bench_seconds();
    if (csrec_solve_many(A, count, y.data, &how, 0, atoms, NULL, reports, &error))
        bench_fail("peer", error.text);
    double solved = bench_seconds(), residual = 0.0;
    for (int64_t k = 0; k < count; k++) {
        residual += reports[k].residual / (double)count;
        csrec_atoms_clear(&atoms[k]);
    }
    printf("{\"create\": %.6f, \"solve\": %.6f, \"residual\": %.12g}\n", made - start,
           solved - made, residual);
    csrec_operator_destroy(A);
    csrec_array_clear(&matrix);
    csrec_array_clear(&y);
    free(reports);
    free(atoms);
}

static options parse(int argc, char **argv) {
    options o = {"solvers.json", "solvers.png", NULL, TRIALS, 32};
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "--json") == 0)
            o.json = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--picture") == 0)
            o.picture = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--trials") == 0)
            o.trials = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--peer") == 0)
            o.peer = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--atoms") == 0)
            o.atoms = atoll(argv[++i]);
        else
            bench_fail(argv[i], "usage: bench_solvers [--trials T] [--json FILE] [--picture PNG] | "
                                "--peer FOLDER [--atoms K]");
    }
    if (o.trials < 1 || o.trials > 1000) bench_fail("--trials", "must be 1 to 1000");
    return o;
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (o.peer) {
        time_peer(&o);
        return 0;
    }
    bench_machine_print();
    bench_json json = bench_json_open(o.json);
    bench_json_integer(&json, "n", N);
    bench_json_integer(&json, "trials", o.trials);
    transitions(&json, &o);
    errors(&json, &o);
    printf("\nOMP on the row tree, N = 2^18, M = 2^20, K = N / 10\n");
    bench_json_begin(&json, "tree", '[');
    for (int k = 0; k < 4; k++)
        tree(&json, k & 1 ? CSREC_COLUMNS_PAPER : CSREC_COLUMNS_TWO_SIDED, k >= 2);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
