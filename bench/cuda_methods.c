/* cuda_methods.c - whole recoveries and learning, with backend cuda and on the CPU in the same run,
 * by methods that compute a part of their work on a device, or none. A JSON object a line.
 *
 *     bench_cuda_methods [--quick]
 *
 * The least of some calls after one that makes the device ready. cuda_ms: null where the method has
 * no engine. difference: root mean square of the results' difference, values of 0 to 255; of
 * learning the difference of the log-likelihoods. --quick: without the largest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "problem.h"

typedef struct call {
    const char *method, *what;
    const csrec_measurement *m;
    csrec_recover_options options;
    bool device;
} call;

static double run(const call *c, const char *backend, int repeats, double *signal) {
    double least = INFINITY;
    csrec_recover_options options = c->options;
    options.backend = backend;
    for (int k = 0; k < repeats; k++) {
        csrec_error error;
        double begin = bench_seconds();
        if (csrec_recover(c->m, &options, signal, NULL, NULL, &error))
            bench_fail(c->method, error.text);
        least = fmin(least, bench_seconds() - begin);
    }
    return 1e3 * least;
}

static void print(const char *method, const char *what, double cuda, double cpu,
                  double difference) {
    printf("{\"method\": \"%s\", \"what\": \"%s\", ", method, what);
    if (isfinite(cuda))
        printf("\"cuda_ms\": %.2f, \"difference\": %.3g, ", cuda, difference);
    else
        printf("\"cuda_ms\": null, ");
    printf("\"cpu_ms\": %.2f, \"cpu_threads\": %d}\n", cpu, bench_cores());
    fflush(stdout);
}

static void measure(const call *c) {
    int64_t entries = 1;
    for (int a = 0; a < c->m->shape.dims; a++) entries *= c->m->shape.dim[a];
    int64_t n = entries * c->m->channels;
    double *cpu = bench_allocate(n, sizeof *cpu), *there = bench_allocate(n, sizeof *there);
    double cuda_ms = INFINITY, sum = 0.0;
    if (c->device) {
        run(c, "cuda", 1, there);
        cuda_ms = run(c, "cuda", 3, there);
    }
    double cpu_ms = run(c, "cpu", 2, cpu);
    for (int64_t i = 0; i < n; i++) sum += (cpu[i] - there[i]) * (cpu[i] - there[i]);
    print(c->method, c->what, cuda_ms, cpu_ms, sqrt(sum / (double)n));
    free(cpu);
    free(there);
}

/* ------------------------------------------------------------------ signals */

static double value_at(int64_t i, int64_t side) {
    return bench_picture_value(((double)(i % side) + 0.5) / (double)side,
                               ((double)(i / side % side) + 0.5) / (double)side, side);
}

static csrec_measurement draw_picture(int64_t side) {
    csrec_measurement m = bench_sampled(side, 1, CSREC_F64);
    m.scale[1] = 255.0;
    for (int64_t k = 0; k < m.n; k++) m.y[k] = value_at(m.index[k], side);
    return m;
}

/* A quarter of the entries; pictures that change from slice to slice. */
static csrec_measurement draw_signal(csrec_shape shape) {
    int64_t entries = 1, side = shape.dim[shape.dims - 1];
    for (int a = 0; a < shape.dims; a++) entries *= shape.dim[a];
    csrec_sampling s;
    bench_check(csrec_sampling_create(&shape, CSREC_PATTERN_UNIFORM, entries / 4, 1, &s, NULL),
                "sampling");
    csrec_measurement m = {.shape = shape,
                           .n = s.n,
                           .channels = 1,
                           .index = s.index,
                           .dtype = CSREC_F64,
                           .scale = {0.0, 255.0}};
    m.y = bench_allocate(m.n, sizeof *m.y);
    for (int64_t k = 0; k < m.n; k++)
        m.y[k] = shape.dims == 1 ? 128.0 + 90.0 * sin(3e-3 * (double)m.index[k]) +
                                       (m.index[k] / 5000 % 2 ? 20.0 : -20.0)
                                 : fmod(value_at(m.index[k] % (side * side), side) +
                                            (double)(m.index[k] / (side * side)),
                                        255.0);
    return m;
}

static csrec_model *make_model(const char *kind, int n, const char *const *names,
                               const csrec_shape *shapes, double *const *values) {
    csrec_array arrays[8];
    const csrec_array *list[8];
    csrec_model *model = NULL;
    csrec_error error;
    for (int i = 0; i < n; i++) {
        arrays[i] = (csrec_array){CSREC_F64, shapes[i], 1, values[i]};
        for (int a = 0; a < shapes[i].dims; a++) arrays[i].count *= shapes[i].dim[a];
        list[i] = &arrays[i];
    }
    if (csrec_model_create(kind, n, names, list, &model, &error)) bench_fail(kind, error.text);
    return model;
}

static double *draw(int64_t n, double scale) {
    float *x = bench_numbers(n, 7);
    double *values = bench_allocate(n, sizeof *values);
    for (int64_t i = 0; i < n; i++) values[i] = scale * (double)x[i];
    free(x);
    return values;
}

/* ------------------------------------------------------------------ learning */

typedef struct rows {
    int64_t side;
} rows;

/* 8 x 8 patches of the picture, two pixels apart. */
static csrec_status read_patches(void *context, int64_t first, int64_t count, float *X,
                                 csrec_error *error) {
    const rows *r = context;
    int64_t across = (r->side - 8) / 2 + 1;
    (void)error;
    for (int64_t k = first; k < first + count; k++)
        for (int64_t e = 0; e < 64; e++) {
            int64_t y = 2 * (k / across) + e / 8, x = 2 * (k % across) + e % 8;
            *X++ = (float)value_at(y * r->side + x, r->side);
        }
    return CSREC_OK;
}

static csrec_model *learn(int64_t side, int rounds, const char *backend, double *ms) {
    rows r = {side};
    int64_t across = (side - 8) / 2 + 1;
    csrec_data data = {across * across, 64, read_patches, &r};
    csrec_learn_options o = {.components = 40,
                             .rounds = rounds,
                             .least = 1.0,
                             .seed = 1,
                             .shape = {2, {8, 8}},
                             .scale = {0.0, 255.0},
                             .backend = backend};
    csrec_model *model = NULL;
    csrec_error error;
    double begin = bench_seconds();
    if (csrec_gmm_learn(&data, &o, &model, NULL, &error)) bench_fail("learning", error.text);
    *ms = 1e3 * (bench_seconds() - begin);
    return model;
}

static double last_likelihood(const csrec_model *model) {
    const csrec_array *history = csrec_model_array(model, "log_likelihood");
    return ((const double *)history->data)[history->count - 1];
}

static void measure_learning(int64_t side) {
    double cuda, cpu;
    char what[96];
    csrec_model_destroy(learn(side, 1, "cuda", &cuda));
    csrec_model *there = learn(side, 8, "cuda", &cuda), *here = learn(side, 8, "cpu", &cpu);
    snprintf(what, sizeof what,
             "learning, 8 rounds, 40 Gaussians of the 8 x 8 patches of %lld x %lld",
             (long long)side, (long long)side);
    print("mixture", what, cuda, cpu, fabs(last_likelihood(there) - last_likelihood(here)));
    csrec_model_destroy(there);
    csrec_model_destroy(here);
}

/* ------------------------------------------------------------------ methods */

static csrec_recover_options defaults(const char *method, const csrec_model *model) {
    csrec_recover_options o;
    csrec_recover_defaults(&o);
    o.method = method;
    o.model = model;
    return o;
}

static void measure_mixture(int64_t side, const csrec_model *model) {
    csrec_measurement m = draw_picture(side);
    char what[96];
    snprintf(what, sizeof what, "%lld x %lld%s", (long long)side, (long long)side,
             model ? ", a model of 40 Gaussians of 8 x 8" : "");
    measure(&(call){"mixture", what, &m, defaults("mixture", model), true});
    csrec_measurement_clear(&m);
}

/* 32 filters of 8 x 8, 40 iterations. */
static void measure_filters(int64_t side) {
    static const char *const names[] = {"filters"};
    const csrec_shape shape = {3, {32, 8, 8}};
    csrec_measurement m = draw_picture(side);
    double *filters = draw(32 * 64, 0.4);
    csrec_model *model = make_model("conv", 1, names, &shape, &filters);
    csrec_recover_options options = defaults("conv", model);
    char what[96];
    options.solve.stop.atoms = 40;
    snprintf(what, sizeof what, "%lld x %lld, 32 filters of 8 x 8, 40 iterations", (long long)side,
             (long long)side);
    measure(&(call){"conv", what, &m, options, true});
    csrec_model_destroy(model);
    csrec_measurement_clear(&m);
    free(filters);
}

/* What a device would have to save: sums over a quarter of the entries, and k x k eigenvectors. */
static void measure_components(int64_t side, int64_t k) {
    static const char *const names[] = {"mean",  "components", "variances",
                                        "noise", "shape",      "channels"};
    int64_t n = side * side;
    csrec_measurement m = draw_picture(side);
    double *mean = draw(n, 1.0), *components = draw(n * k, 2.0 / (double)side);
    double *variances = bench_allocate(k, sizeof *variances), noise = 1.0, one = 1.0;
    double shape[2] = {(double)side, (double)side};
    for (int64_t a = 0; a < k; a++) variances[a] = 1e5 / (double)(a + 1);
    const csrec_shape shapes[] = {{1, {n}}, {2, {k, n}}, {1, {k}}, {0}, {1, {2}}, {0}};
    double *const values[] = {mean, components, variances, &noise, shape, &one};
    csrec_model *model = make_model("pca", 6, names, shapes, values);
    char what[96];
    snprintf(what, sizeof what, "%lld x %lld, %lld components", (long long)side, (long long)side,
             (long long)k);
    measure(&(call){"pca", what, &m, defaults("pca", model), false});
    csrec_model_destroy(model);
    csrec_measurement_clear(&m);
    free(mean);
    free(components);
    free(variances);
}

static void measure_blocks(csrec_shape shape, const char *what) {
    csrec_measurement m = draw_signal(shape);
    measure(&(call){"frames", what, &m, defaults("frames", NULL), true});
    csrec_measurement_clear(&m);
}

int main(int argc, char **argv) {
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (bench_no_device()) return 0;
    double ms;
    csrec_model *model = learn(256, 4, "cpu", &ms);
    for (int64_t side = 256; side <= (quick ? 256 : 512); side *= 2) {
        measure_mixture(side, NULL);
        measure_mixture(side, model);
    }
    csrec_model_destroy(model);
    measure_learning(quick ? 256 : 512);
    measure_filters(quick ? 128 : 256);
    measure_components(quick ? 64 : 250, 200);
    measure_blocks((csrec_shape){1, {1 << 16}}, "a line of 2^16");
    measure_blocks((csrec_shape){3, {32, 64, 64}}, "a volume of 32 x 64 x 64");
    return 0;
}
