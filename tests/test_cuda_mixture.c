/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_mixture.c - mixtures of Gaussians on the device against the CPU: rounds over the
 * patches of a picture to the bit, moments and steps of learning to the rounding of their sums.
 * Every case is run; differences are printed and counted. */

#include "device.h"
#include "learn/gmm.h"
#include "method/mixture/engine.h"

SEED(seed);
static int faults;

/* Prints the first differences of a comparison in full; all count. */
static void differ(const char *what, int64_t at, double got, double wanted, int *shown) {
    faults++;
    if ((*shown)++ < 4)
        print_message("  %s [%lld]: %.17g, not %.17g\n", what, (long long)at, got, wanted);
}

static void compare(const char *what, int64_t n, const double *got, const double *wanted,
                    double tolerance) {
    int shown = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - wanted[i]) <= tolerance)) differ(what, i, got[i], wanted[i], &shown);
    if (shown) print_message("  %s: %d of %lld differ\n", what, shown, (long long)n);
}

/* To rounding: how the CPU's sums are fused is the compiler's choice. */
static void compare_floats(const char *what, int64_t n, const float *got, const float *wanted) {
    OWNED double *both = malloc((size_t)(2 * n) * sizeof *both);
    for (int64_t i = 0; i < n; i++) both[i] = (double)got[i], both[n + i] = (double)wanted[i];
    compare(what, n, both, both + n, (double)1e-2f);
}

static void check(csrec_status status, const char *what, const csrec_error *error) {
    if (!status) return;
    faults++;
    print_message("  %s: %s\n", what, error->text);
}

typedef struct scene {
    csrec_fit_picture p;
    unsigned char *mask;
    float *y, *u, *variance;
    int64_t values;
    int K, d;
    csrec_call call;
} scene;

static int between(int low, int high) {
    return low + (int)check_below(&seed, high - low + 1);
}

/* Edges and texture, an estimate with errors. */
static scene *draw_scene(int patch_height, int patch_width, int channels, int joint, int K,
                         double rate, bool keep) {
    scene *s = check_keep_zeros(1, sizeof *s);
    csrec_patches *g = &s->p.patches;
    g->patch_height = patch_height;
    g->patch_width = patch_width;
    g->channels = channels;
    g->joint = joint;
    g->height = patch_height + between(0, 40);
    g->width = patch_width + between(0, 60);
    g->step = between(1, patch_height < patch_width ? patch_height : patch_width);
    if (g->step > 5) g->step = 5;
    int64_t pixels = (int64_t)g->height * g->width;
    s->values = pixels * channels;
    s->K = K;
    s->d = csrec_patches_size(g);
    s->p.mask = s->mask = check_keep((size_t)pixels);
    s->p.y = s->y = check_keep_zeros((size_t)s->values, sizeof *s->y);
    s->p.u = s->u = check_keep((size_t)s->values * sizeof *s->u);
    s->p.variance = s->variance = check_keep((size_t)s->values * sizeof *s->variance);
    double slope = check_uniform(&seed);
    for (int64_t i = 0; i < pixels; i++) {
        s->mask[i] = check_uniform(&seed) < rate;
        for (int c = 0; c < channels; c++) {
            double a = (double)(i / g->width), b = (double)(i % g->width);
            double value = 60.0 * sin(0.9 * a + 0.3 * b) + (a * slope > b ? 50.0 : -30.0) + 5.0 * c;
            s->u[i * channels + c] = (float)(value + 20.0 * (check_uniform(&seed) - 0.5));
            if (!s->mask[i]) continue;
            s->y[i * channels + c] = (float)value;
            if (keep) s->u[i * channels + c] = (float)value;
        }
    }
    s->p.tone = 1.0f;
    s->p.noise = keep ? 1.0f : 25.0f;
    s->p.keep = keep;
    s->p.threads = 2;
    csrec_call_begin(&s->call, NULL, NULL, (csrec_progress){"mixture", 0, 0, -1.0});
    s->p.call = &s->call;
    return s;
}

/* The same picture, on arrays of its own. */
static csrec_fit_picture copy_of(const scene *s) {
    csrec_fit_picture p = s->p;
    size_t bytes = (size_t)s->values * sizeof(float);
    p.u = memcpy(check_keep(bytes), s->u, bytes);
    p.variance = check_keep_zeros(1, bytes);
    return p;
}

/* Components of the level of the pictures: a common level and independent entries. */
static csrec_mixture draw_mixture(int K, int d, double spread) {
    csrec_mixture m;
    double sum = 0.0, *a = check_room(d);
    assert_ok(csrec_mixture_create(K, d, &m, NULL));
    for (int k = 0; k < K; k++) {
        double *C = m.C + (size_t)k * (size_t)(d * d), level = spread * check_normal(&seed);
        sum += m.weights[k] = 0.2 + check_uniform(&seed);
        memset(C, 0, (size_t)(d * d) * sizeof *C);
        for (int i = 0; i < d; i++) {
            m.means[k * d + i] = level + 3.0 * check_normal(&seed);
            C[i * (d + 1)] = 20.0 + 200.0 * check_uniform(&seed);
        }
        for (int r = 0; r < 3; r++) {
            for (int i = 0; i < d; i++) a[i] = 15.0 * check_normal(&seed);
            for (int i = 0; i < d; i++)
                for (int j = 0; j < d; j++) C[i * d + j] += a[i] * a[j];
        }
    }
    for (int k = 0; k < K; k++) m.weights[k] /= sum;
    assert_ok(csrec_mixture_prepare(&m, 1e-3, 2, NULL, NULL));
    return m;
}

typedef struct side {
    const csrec_fit_engine *engine;
    csrec_fit_picture p;
    void *state;
} side;

static csrec_status begin(side *s, const scene *from, const csrec_context *context, bool adapt,
                          csrec_error *error) {
    const csrec_fit_plan plan = {2, adapt};
    s->p = copy_of(from);
    return s->engine->create(context, &s->p, from->K, &plan, &s->state, error);
}

/* Sums of floats on the CPU (docs/learning.md): some 1e-6 of a component's largest variance. */
static void compare_moments(const side *cpu, const side *there, int k, int d) {
    size_t squares = (size_t)(d * d);
    int64_t n = cpu->engine->count(cpu->state, k);
    double *a = check_room(2 * d * d + d), *b = check_room(2 * d * d + d);
    double largest = 0.0, most = 0.0;
    csrec_error error = {{0}};
    if (there->engine->count(there->state, k) != n) {
        faults++;
        print_message("  component %d: %lld patches, not %lld\n", k,
                      (long long)there->engine->count(there->state, k), (long long)n);
    } else if (n > 0) {
        check(cpu->engine->moments(cpu->state, k, a, a + d, a + d + squares, &error), "cpu",
              &error);
        check(there->engine->moments(there->state, k, b, b + d, b + d + squares, &error), "cuda",
              &error);
        for (int i = 0; i < d; i++) largest = fmax(largest, a[d + i * (d + 1)]);
        for (size_t i = 0; i < squares; i++) most = fmax(most, fabs(a[(size_t)d + squares + i]));
        compare("mean", d, b, a, 1e-2);
        for (int i = 0; i < d; i++) {
            compare("covariance", d - i, b + d + i * d + i, a + d + i * d + i,
                    3e-6 * largest + 1e-9);
            compare("sum of V^T V", d - i, b + d + squares + (size_t)(i * d + i),
                    a + d + squares + (size_t)(i * d + i), 1e-5 * most);
        }
    }
}

static void run_case(const scene *s, bool adapt) {
    side cpu = {.engine = &csrec_fit_cpu}, there = {.engine = &csrec_fit_cuda};
    csrec_error error = {{0}};
    csrec_status status = begin(&cpu, s, &csrec_context_cpu, adapt, &error);
    if (!status) status = begin(&there, s, cuda_context(), adapt, &error);
    check(status, "create", &error);
    for (int round = 0; round < 2 && !status; round++) {
        ENDS_BY(csrec_mixture_clear)
        csrec_mixture mixture = draw_mixture(s->K, s->d, 60.0),
                      wide = draw_mixture(s->K, s->d, 60.0);
        double energy[2] = {0.0, 1.0};
        status = cpu.engine->run(cpu.state, &mixture, &wide, round, &error);
        if (!status) status = there.engine->run(there.state, &mixture, &wide, round, &error);
        if (!status) status = cpu.engine->get(cpu.state, &energy[0], &error);
        if (!status) status = there.engine->get(there.state, &energy[1], &error);
        check(status, "round", &error);
        compare_floats("estimate", s->values, there.p.u, cpu.p.u);
        compare_floats("variance", s->values, there.p.variance, cpu.p.variance);
        compare("energy", 1, &energy[1], &energy[0], 1e-4 * energy[0]);
        for (int k = 0; k < s->K && adapt && !status; k++) compare_moments(&cpu, &there, k, s->d);
    }
    cpu.engine->destroy(cpu.state);
    there.engine->destroy(there.state);
}

/* Patches within shared memory and beyond, down to one pixel; joint colours; no and all samples. */
TEST(rounds_are_those_of_the_cpu) {
    static const struct {
        int height, width, channels, joint, K;
        double rate;
    } cases[] = {{8, 8, 1, 1, 40, 0.25}, {8, 8, 3, 1, 7, 0.3},   {8, 8, 3, 3, 5, 0.3},
                 {1, 1, 1, 1, 3, 0.5},   {5, 3, 1, 1, 9, 0.1},   {4, 4, 2, 2, 2, 0.0},
                 {6, 6, 1, 1, 17, 1.0},  {9, 9, 1, 1, 4, 0.4},   {10, 11, 1, 1, 3, 0.2},
                 {12, 12, 1, 1, 6, 0.3}, {16, 16, 1, 1, 3, 0.2}, {7, 9, 4, 4, 2, 0.6}};
    if (no_device()) skip();
    faults = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int keep = 0; keep < 2; keep++) {
            scene *s = draw_scene(cases[i].height, cases[i].width, cases[i].channels,
                                  cases[i].joint, cases[i].K, cases[i].rate, keep);
            const csrec_patches *g = &s->p.patches;
            int before = faults;
            run_case(s, i % 3 != 1);
            print_message("%d x %d, patches of %d x %d x %d, step %d, %d components, keep %d: %s\n",
                          g->height, g->width, g->patch_height, g->patch_width, g->joint, g->step,
                          s->K, keep, faults == before ? "as the CPU" : "DIFFERENT");
            csrec_call_end(&s->call);
        }
    assert_int_equal(faults, 0);
}

static void copy_parts(csrec_mixture *to, const csrec_mixture *from) {
    size_t K = (size_t)from->K, d = (size_t)from->d;
    memcpy(to->weights, from->weights, K * sizeof(double));
    memcpy(to->means, from->means, K * d * sizeof(double));
    memcpy(to->C, from->C, K * d * d * sizeof(double));
}

static void run_fit(const scene *s, const csrec_context *context, const csrec_mixture *from,
                    int rounds, bool adapt, float *u, csrec_mixture *mixture) {
    csrec_error error = {{0}};
    csrec_fit_picture p = copy_of(s);
    assert_ok(csrec_mixture_create(from->K, from->d, mixture, NULL));
    copy_parts(mixture, from);
    check(csrec_fit_run(context, &p, mixture, rounds, adapt, &error), "rounds", &error);
    memcpy(u, p.u, (size_t)s->values * sizeof *u);
}

/* With the mixture as it is, several rounds give the CPU's bits; one that adapts is the CPU's up to
 * the sums of its moments; two runs are the same. */
TEST_THERE(fits_are_those_of_the_cpu, false) {
    faults = 0;
    for (int trial = 0; trial < 4; trial++) {
        scene *s = draw_scene(8, 8, 1, 1, 12, 0.3, trial % 2);
        size_t bytes = (size_t)s->values * sizeof(float);
        OWNED float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
        csrec_mixture from = draw_mixture(s->K, s->d, 60.0), m[3];
        run_fit(s, &csrec_context_cpu, &from, 3, false, a, &m[0]);
        run_fit(s, cuda_context(), &from, 3, false, b, &m[1]);
        compare_floats("estimate of 3 rounds", s->values, b, a);
        csrec_mixture_clear(&m[0]);
        csrec_mixture_clear(&m[1]);
        run_fit(s, &csrec_context_cpu, &from, 2, true, a, &m[0]);
        run_fit(s, cuda_context(), &from, 2, true, b, &m[1]);
        run_fit(s, cuda_context(), &from, 2, true, c, &m[2]);
        int64_t K = s->K, d = s->d;
        double largest = 0.0;
        for (int64_t i = 0; i < K * d * d; i++) largest = fmax(largest, fabs(m[0].C[i]));
        compare("weights", K, m[1].weights, m[0].weights, 0.0);
        compare("means", K * d, m[1].means, m[0].means, 1e-2);
        compare("covariances", K * d * d, m[1].C, m[0].C, 3e-6 * largest);
        compare_floats("a second run", s->values, c, b);
        compare("its covariances", K * d * d, m[2].C, m[1].C, 0.0);
        for (int i = 0; i < 3; i++) csrec_mixture_clear(&m[i]);
        csrec_mixture_clear(&from);
        csrec_call_end(&s->call);
    }
    assert_int_equal(faults, 0);
}

static float *draw_rows(const csrec_mixture *m, int64_t rows) {
    int d = m->d;
    float *X = malloc((size_t)(rows * d) * sizeof *X);
    OWNED double *L = malloc((size_t)(d * d) * sizeof *L);
    for (int64_t r = 0; r < rows; r++) {
        int k = (int)(r * m->K / rows); /* sorted: many rows without a share in a component */
        if (r == 0 || k != (int)((r - 1) * m->K / rows)) {
            memcpy(L, m->C + (size_t)k * (size_t)(d * d), (size_t)(d * d) * sizeof *L);
            assert_true(csrec_cholesky(d, L));
        }
        const double *z = kept_normals(&seed, d);
        for (int i = 0; i < d; i++) {
            double x = m->means[k * d + i];
            for (int j = 0; j <= i; j++) x += L[i * d + j] * z[j];
            X[r * d + i] = (float)x;
        }
    }
    return X;
}

static void copy_mixture(csrec_mixture *to, const csrec_mixture *from) {
    copy_parts(to, from);
    assert_ok(csrec_mixture_prepare(to, 1e-3, 2, NULL, NULL));
}

static double run_step(csrec_em *em, int64_t rows, int64_t d, const float *X, uint64_t pieces) {
    csrec_error error = {{0}};
    double likelihood = 0.0;
    check(csrec_em_begin(em, &error), "begin", &error);
    for (int64_t i = 0; i < rows;) {
        int64_t count = 32 * (1 + check_below(&pieces, 8));
        if (count > rows - i) count = rows - i;
        check(csrec_em_take(em, i, count, X + i * d, &error), "take", &error);
        i += count;
    }
    check(csrec_em_finish(em, &likelihood, &error), "finish", &error);
    return likelihood;
}

TEST(steps_are_those_of_the_cpu) {
    static const struct {
        int K, d;
        int64_t rows;
    } cases[] = {{1, 1, 5},    {3, 2, 333},    {20, 64, 3000}, {40, 64, 2500},
                 {7, 33, 999}, {5, 100, 1200}, {2, 200, 900}};
    if (no_device()) skip();
    faults = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int K = cases[i].K, d = cases[i].d;
        int64_t rows = cases[i].rows;
        ENDS_BY(csrec_mixture_clear)
        csrec_mixture truth = draw_mixture(K, d, 30.0), a = draw_mixture(K, d, 30.0);
        CLEARED(csrec_mixture) b = draw_mixture(K, d, 30.0);
        OWNED float *X = draw_rows(&truth, rows);
        const csrec_em_plan plan = {rows, rows, 2, NULL};
        csrec_em *cpu = NULL, *there = NULL;
        csrec_error error = {{0}};
        int before = faults;
        copy_mixture(&a, &truth);
        assert_ok(csrec_em_create(&csrec_context_cpu, &a, &plan, &cpu, NULL));
        csrec_status status = csrec_em_create(cuda_context(), &b, &plan, &there, &error);
        check(status, "create", &error);
        for (int round = 0; round < 3 && !status; round++) {
            double largest = 0.0, likelihood[2];
            copy_mixture(&b, &a); /* the same start for each step */
            uint64_t pieces = check_next(&seed);
            likelihood[0] = run_step(cpu, rows, d, X, pieces);
            likelihood[1] = run_step(there, rows, d, X, pieces);
            for (int64_t j = 0; j < (int64_t)K * d * d; j++) largest = fmax(largest, fabs(a.C[j]));
            compare("log-likelihood", 1, &likelihood[1], &likelihood[0],
                    1e-10 * fabs(likelihood[0]) + 1e-12);
            compare("weights", K, b.weights, a.weights, 1e-9);
            compare("means", (int64_t)K * d, b.means, a.means, 1e-6);
            compare("covariances", (int64_t)K * d * d, b.C, a.C, 4e-6 * largest);
            assert_ok(csrec_mixture_prepare(&a, 1e-3, 2, NULL, NULL));
        }
        print_message("learning %lld rows of %d, %d components: %s\n", (long long)rows, d, K,
                      faults == before ? "as the CPU" : "DIFFERENT");
        csrec_em_destroy(cpu);
        csrec_em_destroy(there);
    }
    assert_int_equal(faults, 0);
}

TEST_THERE(limits_are_reported, false) {
    scene *s = draw_scene(17, 17, 1, 1, 2, 0.3, true);
    const csrec_fit_plan plan = {2, true};
    csrec_error error = {{0}};
    void *there = NULL;
    assert_refused(csrec_fit_cuda.create(cuda_context(), &s->p, 2, &plan, &there, &told),
                   CSREC_UNSUPPORTED, "256 entries");
    assert_null(there);
    csrec_fit_cuda.destroy(NULL);
    csrec_em_cuda.destroy(NULL);
    csrec_mixture wide = {.K = 1, .d = 4000};
    const csrec_em_plan em = {100, 32, 1, NULL};
    assert_int_equal(csrec_em_cuda.create(cuda_context(), &wide, &em, &there, &error),
                     CSREC_UNSUPPORTED);
    csrec_call_end(&s->call);
}
