/* test_sets.c - recoveries on every instruction set that this processor has: AVX2 and AVX-512 give
 * the same bits, and so does plain C where no product is added by a fused multiply-add. */
#include "base/cpu.h"
#include "boundary.h"

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
    {NULL, "frames", NULL, NULL, true},     {NULL, "adaptive", NULL, NULL, true},
    {NULL, "grids", NULL, NULL, true},      {NULL, "tv", NULL, NULL, true},
    {NULL, "gaussian", NULL, NULL, false},  {NULL, "mixture", NULL, NULL, false},
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
    if (c->method) o->method = c->method;
    o->solve.solver = c->solver;
    o->basis = c->basis;
    o->shifts = c->solver && !c->basis;
    o->backend = "cpu";
    o->threads = 1;
    if (c->solver && strcmp(c->solver, "threshold") != 0) o->solve.stop.atoms = ATOMS;
}

/* The signal of set k against that of the largest, in units of white less black. */
static void compare(const char *what, double white, bool exact, int k, int64_t n, const double *own,
                    const double *largest) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (own[i] - largest[i]) * (own[i] - largest[i]);
    const double off = sqrt(sum / (double)n);
    if (!(off <= (exact || k > 0 ? 0.0 : ROUNDING * white)))
        fail_msg("%s: %s is off by %g", what, set_name[k], off);
}

static int number_of_sets(void) {
    most = CSREC_CPU_AVX512;
    return 1 + (int)csrec_cpu_level();
}

static void every_set_gives_the_same_picture(void **state) {
    (void)state;
    static double signal[SETS][ALL];
    const csrec_shape shape = {2, {HEIGHT, WIDTH}};
    const bool prior = csrec_prior_installed(1, 0, NULL);
    csrec_sampling s;
    assert_ok(
        csrec_sampling_create(&shape, CSREC_PATTERN_UNIFORM, ALL / 3, check_next(&seed), &s, NULL));
    csrec_measurement m = {
        .shape = shape, .n = s.n, .channels = 1, .index = s.index, .scale = {0.0, 255.0}};
    m.y = malloc((size_t)s.n * sizeof *m.y);
    for (int64_t k = 0; k < s.n; k++) m.y[k] = noisy_disc(s.index[k]);
    for (int i = 0; i < CHOICES; i++) {
        char what[96];
        const choice *c = &choices[i];
        if (c->method && strcmp(c->method, "pnp") == 0 && !prior) continue;
        snprintf(what, sizeof what, "%s %s %s %s", c->preset ? c->preset : "",
                 c->method ? c->method : "", c->solver ? c->solver : "", c->basis ? c->basis : "");
        for (int k = number_of_sets() - 1, last = k; k >= 0; k--) {
            csrec_recover_options o;
            csrec_error error = {""};
            set_choice(c, &m, &o);
            most = (csrec_cpu)k;
            if (csrec_recover(&m, &o, signal[k], NULL, NULL, &error))
                fail_msg("%s: %s", what, error.text);
            compare(what, 255.0, c->exact, k, ALL, signal[k], signal[last]);
        }
    }
    csrec_measurement_clear(&m);
}

static void every_set_gives_the_same_by_models(void **state) {
    (void)state;
    static const char *const kinds[] = {"pca", "gmm", "conv", "net"};
    for (int i = 0; i < 4; i++) {
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
                compare(kinds[i], 3.25, false, k, p.entries * p.m.channels, r[k].signal,
                        r[last].signal);
        }
        csrec_model_destroy(p.model);
    }
}

int main(void) {
    seed = check_seed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_gives_the_same_picture),
                                       cmocka_unit_test(every_set_gives_the_same_by_models)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
