/* SPDX-License-Identifier: BSD-3-Clause */
/* test_sets.c - recoveries on every instruction set that this processor has: AVX2 and AVX-512 give
 * the same bits, and so does plain C where no product is added by a fused multiply-add. */
#include "base/cpu.h"
#include "samples.h"
#include "boundary.h" /* after it: has a seed */

enum { HEIGHT = 34, WIDTH = 80, ALL = HEIGHT * WIDTH, SETS = 3 };

/* The linker puts it in place of csrec_cpu_level (tests/CMakeLists.txt). */
static csrec_cpu most = CSREC_CPU_AVX512;
csrec_cpu __real_csrec_cpu_level(void);
csrec_cpu __wrap_csrec_cpu_level(void);

csrec_cpu __wrap_csrec_cpu_level(void) {
    const csrec_cpu there = __real_csrec_cpu_level();
    return there < most ? there : most;
}

static const char *const set_name[SETS] = {"plain C", "AVX2", "AVX-512"};

/* Of white less black, by which a result of plain C may be off where it is not the same, root mean
 * square. */
static const double ROUNDING = 2e-4;

/* What is recovered by; exact: plain C, too, has the bits of the others. */
typedef struct choice {
    const char *preset, *method, *solver, *basis;
    bool exact;
} choice;

static const choice choices[] = {
    {"fast", NULL, NULL, NULL, true},       {"balanced", NULL, NULL, NULL, false},
    {"best", NULL, NULL, NULL, false},      {"max", NULL, NULL, NULL, false},
    {NULL, "frames", NULL, NULL, true},     {NULL, "grids", NULL, NULL, true},
    {NULL, "tv", NULL, NULL, true},         {NULL, "gaussian", NULL, NULL, false},
    {NULL, "pnp", NULL, NULL, false},       {NULL, NULL, "threshold", "wavelet", true},
    {NULL, NULL, "mp", "dct", false},       {NULL, NULL, "omp", "dct", false},
    {NULL, NULL, "romp", "wavelet", false}, {NULL, NULL, "cosamp", "dct", false},
    {NULL, NULL, "iht", "wavelet", false},  {NULL, NULL, "htp", "wavelet", false},
    {NULL, NULL, "fista", "dct", false},    {NULL, NULL, "bpdn", "wavelet", false},
    {NULL, NULL, "omp", NULL, false}};

enum { CHOICES = sizeof choices / sizeof *choices, ATOMS = 12 };

static double noisy_disc(int64_t at) {
    const double u = (double)(at % WIDTH) - 30.0, v = (double)(at / WIDTH) - 15.0;
    return 60.0 + 100.0 * (u * u + v * v < 300.0) + 20.0 * sin(u * v / 50.0) +
           8.0 * check_normal(&seed);
}

static void set_choice(const choice *c, const csrec_measurement *m, csrec_recover_options *o) {
    csrec_recover_defaults(o);
    for (int i = 0; c->preset && csrec_recover_preset(i, NULL, NULL); i++)
        if (strcmp(csrec_recover_preset(i, NULL, NULL), c->preset) == 0)
            csrec_recover_preset(i, m, o);
    static const csrec_setting few[] = {{"steps", 2}, {"turns", 2}, {"groups", 1}};
    if (c->preset && strcmp(c->preset, "max") == 0 && o->solve.n_settings) {
        o->solve.settings = few; /* of the same parts, which take minutes otherwise */
        o->solve.n_settings = sizeof few / sizeof *few;
    }
    if (c->method) o->method = c->method;
    o->solve.solver = c->solver;
    o->basis = c->basis;
    o->shifts = c->solver && !c->basis;
    o->backend = "cpu";
    o->threads = 1;
    if (c->solver && strcmp(c->solver, "threshold") != 0) o->solve.stop.atoms = ATOMS;
}

/* What set k gives against what the largest does: root mean square. */
static void compare(const char *what, double allowed, int k, int64_t n, const double *own,
                    const double *largest) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (own[i] - largest[i]) * (own[i] - largest[i]);
    const double off = sqrt(sum / (double)n);
    if (!(off <= allowed)) fail_msg("%s: %s is off by %g", what, set_name[k], off);
}

static int number_of_sets(void) {
    most = CSREC_CPU_AVX512;
    return 1 + (int)csrec_cpu_level();
}

TEST(every_set_gives_the_same_picture) {
    static double signal[SETS][ALL];
    const csrec_shape shape = {2, {HEIGHT, WIDTH}};
    const bool prior = csrec_prior_installed(1, 0, NULL);
    ENDS_BY(csrec_measurement_clear)
    csrec_measurement m = draw_places(&shape, 1, CSREC_PATTERN_UNIFORM, ALL / 3, check_next(&seed));
    m.scale[1] = 255.0;
    for (int64_t k = 0; k < m.n; k++) m.y[k] = noisy_disc(m.index[k]);
    for (int i = 0; i < CHOICES; i++) {
        const choice *c = &choices[i];
        if (c->method && strcmp(c->method, "pnp") == 0 && !prior) continue;
        if (sanitized_leaves()) continue;
        const char *what =
            check_print("%s %s %s %s", c->preset ? c->preset : "", c->method ? c->method : "",
                        c->solver ? c->solver : "", c->basis ? c->basis : "");
        for (int k = number_of_sets() - 1, last = k; k >= 0; k--) {
            csrec_recover_options o;
            csrec_error error = {""};
            set_choice(c, &m, &o);
            most = (csrec_cpu)k;
            if (csrec_recover(&m, &o, signal[k], NULL, NULL, &error))
                fail_msg("%s: %s", what, error.text);
            compare(what, c->exact || k > 0 ? 0.0 : 255.0 * ROUNDING, k, ALL, signal[k],
                    signal[last]);
        }
    }
}

TEST(every_set_gives_the_same_by_models) {
    static const char *const kinds[] = {"pca", "net"};
    for (int i = 0; i < 2; i++) {
        problem p;
        const way w = {.name = "model",
                       .model = kinds[i],
                       .order = CSREC_ORDER_UNSET,
                       .columns = CSREC_COLUMNS_UNSET};
        run r[SETS];
        set_measurement(&p, 2, 1 + 2 * (int64_t)check_below(&seed, 2));
        p.model = make_model(&p, kinds[i], true);
        for (int k = number_of_sets() - 1, last = k; k >= 0; k--) {
            r[k] = (run){.factor = 1.0, .scale = true};
            most = (csrec_cpu)k;
            recover(&w, &p, &r[k]);
            check_sane(&w, &p, &r[k]);
            if (!r[last].status)
                compare(kinds[i], k > 0 ? 0.0 : 3.25 * ROUNDING, k, p.entries * p.m.channels,
                        r[k].signal, r[last].signal);
        }
        csrec_model_destroy(p.model);
    }
}

/* A dense matrix: rows and columns of odd numbers, and what 8-bit bounds screen. */
TEST(every_set_solves_the_same) {
    enum { M = 61, N = 1021 };
    static double A[M * N], y[M], r[SETS][M];
    const char *solver, *brief, *source;
    for (int i = 0; i < M * N; i++) A[i] = check_normal(&seed);
    for (int i = 0; i < M; i++)
        y[i] = 3.0 * A[i * N + 5] - 2.0 * A[i * N + 700] + 0.1 * check_normal(&seed);
    for (int s = 0; csrec_solver_info(s, &solver, &brief, &source); s++) {
        const csrec_solve_options o = {
            .solver = solver, .stop = {.atoms = ATOMS, .epsilon = 0.2}, .n_settings = 0};
        if (strcmp(solver, "threshold") == 0) continue; /* for samples of pictures */
        /* Bounds, of 8 bits or of floats, choose the columns that they work on first. */
        const bool bounds = strcmp(solver, "fista") == 0 || strcmp(solver, "bpdn") == 0;
        for (int k = number_of_sets() - 1, last = k; k >= 0; k--) {
            const csrec_operator_spec spec = {.name = "dense", .m = M, .n = N, .matrix = A};
            ENDS_BY(end_operator) csrec_operator *own;
            csrec_error error = {""};
            most = (csrec_cpu)k;
            assert_ok(csrec_operator_create(&spec, &own, &error));
            if (csrec_solve(own, y, &o, NULL, r[k], NULL, &error))
                fail_msg("%s: %s", solver, error.text);
            compare(solver, k > 0 && !bounds ? 0.0 : 1e-9, k, M, r[k], r[last]);
        }
    }
}

/* Fast transforms of any shape: lines side by side and alone, blocks and strips. */
TEST(every_set_has_the_same_products) {
    static const char *const kinds[] = {"haar", "cdf53", "cdf97", NULL};
    for (int i = 0; i < 4; i++) {
        static double x[SETS][1 << 15], back[SETS][1 << 15];
        const csrec_shape shape = {3,
                                   {1 + (int64_t)check_below(&seed, 24),
                                    1 + (int64_t)check_below(&seed, 24),
                                    1 + (int64_t)check_below(&seed, 24)}};
        const csrec_operator_spec spec = {
            .name = kinds[i] ? "wavelet" : "hadamard", .shape = &shape, .kind = kinds[i]};
        static double signal[1 << 15];
        for (int j = 0; j < 1 << 15; j++) signal[j] = check_normal(&seed);
        for (int k = number_of_sets() - 1, last = k; k >= 0; k--) {
            int64_t m, n;
            most = (csrec_cpu)k;
            ENDS_BY(end_operator) csrec_operator *A = operator_of(&spec);
            csrec_operator_size(A, &m, &n);
            assert_in_range(m, 1, 1 << 15);
            assert_ok(csrec_operator_adjoint(A, signal, back[k]));
            assert_ok(csrec_operator_forward(A, signal, x[k]));
            compare(spec.name, 0.0, k, m, x[k], x[last]);
            compare(spec.name, 0.0, k, n, back[k], back[last]);
        }
    }
}
