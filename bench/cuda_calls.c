/* cuda_calls.c - whole calls, from arrays of the host to arrays of the host, with backend cuda and
 * on the CPU in the same run: what backend auto has to choose between. A JSON object a line.
 *
 *     bench_cuda_calls
 *
 * The least of some calls, after one that makes the device ready. work: what the choice counts,
 * multiplications of a covariance or a convolution, n^3 of the eigenvectors of n x n, pixels of a
 * recovery, whose solver runs 40 iterations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/engine.h"
#include "bench.h"
#include "device.h"
#include "problem.h"

enum { ITERATIONS = 40 };

static float *numbers(int64_t count) {
    float *x = bench_allocate(count, sizeof *x);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) x[i] = (float)csrec_random_uniform(5, 0, (uint64_t)i);
    return x;
}

typedef struct call {
    const char *name;
    double work;
    void (*run)(const char *backend, void *with);
    void *with;
} call;

static void measure(const call *c, const char *what) {
    const char *const backend[] = {"cuda", "cpu"};
    double least[2] = {INFINITY, INFINITY};
    c->run(backend[0], c->with);
    for (int k = 0; k < 2; k++) {
        double spent = 0.0;
        for (int repeat = 0; repeat < 3 && spent < 0.5; repeat++) {
            double begin = bench_seconds();
            c->run(backend[k], c->with);
            double took = bench_seconds() - begin;
            spent += took;
            least[k] = fmin(least[k], took);
        }
    }
    printf("{\"call\": \"%s\", \"what\": \"%s\", \"work\": %.3g, \"cuda_ms\": %.2f, "
           "\"cpu_ms\": %.2f, \"cpu_threads\": %d}\n",
           c->name, what, c->work, 1e3 * least[0], 1e3 * least[1], bench_cores());
    fflush(stdout);
}

/* ---- statistics */

typedef struct data {
    int64_t m, n;
    float *X;
    double *mean, *C;
} data;

static void run_mean(const char *backend, void *with) {
    data *d = with;
    bench_check(csrec_mean_on(backend, d->m, d->n, d->X, NULL, 0, d->mean, NULL), "mean");
}

static void run_covariance(const char *backend, void *with) {
    data *d = with;
    bench_check(csrec_covariance_on(backend, d->m, d->n, d->X, NULL, NULL, 0, d->C, NULL),
                "covariance");
}

static void measure_statistics(int64_t m, int64_t n) {
    data d = {m, n, numbers(m * n), malloc((size_t)n * sizeof(double)),
              malloc((size_t)(n * n) * sizeof(double))};
    char what[64];
    snprintf(what, sizeof what, "%lld x %lld", (long long)m, (long long)n);
    measure(&(call){"mean", (double)m * (double)n, run_mean, &d}, what);
    measure(&(call){"covariance", (double)m * (double)n * (double)n, run_covariance, &d}, what);
    free(d.X);
    free(d.mean);
    free(d.C);
}

/* ---- the Haar transform */

typedef struct products {
    bench_problem p;
    csrec_transform_method method;
    int64_t capacity;
    csrec_product *product;
} products;

static void run_transform(const char *backend, void *with) {
    products *t = with;
    int64_t found;
    csrec_error error;
    if (csrec_haar_transform(backend, t->p.levels, t->p.n, t->p.rows, t->p.y, t->method,
                             t->capacity, t->product, &found, &error))
        bench_fail(backend, error.text);
}

static void measure_transform(int log_n, csrec_transform_method method) {
    int64_t n = INT64_C(1) << log_n;
    products t = {bench_problem_create(BENCH_NOISE, log_n + 2, n, 1), method, 0, NULL};
    bench_check(csrec_haar_transform("cpu", t.p.levels, n, t.p.rows, t.p.y, method, 0, NULL,
                                     &t.capacity, NULL),
                "transform");
    t.product = bench_allocate(t.capacity, sizeof *t.product);
    char what[64];
    snprintf(what, sizeof what, "%s, N = 2^%d",
             method == CSREC_TRANSFORM_LEVELS ? "levels" : "distinct", log_n);
    measure(&(call){"all inner products", (double)n, run_transform, &t}, what);
    free(t.product);
    bench_problem_destroy(&t.p);
}

/* ---- learning */

typedef struct matrix {
    int n;
    double *A, *copy, *values, *V; /* [n][n]; [n][n]; [n]; [n][n] */
} matrix;

static void run_eigen(const char *backend, void *with) {
    matrix *x = with;
    const char *used;
    memcpy(x->copy, x->A, (size_t)x->n * (size_t)x->n * sizeof *x->A);
    bench_check(csrec_eigen_largest_on(backend, x->n, x->copy, x->n, x->values, x->V, &used, NULL),
                "eigenvectors");
}

static csrec_status read_data(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    const data *d = context;
    (void)error;
    memcpy(X, d->X + first * d->n, (size_t)(count * d->n) * sizeof *X);
    return CSREC_OK;
}

static void run_pca(const char *backend, void *with) {
    data *d = with;
    csrec_data all = {d->m, d->n, read_data, d};
    csrec_learn_options options = {.components = 200, .backend = backend};
    csrec_model *model = NULL;
    csrec_error error;
    if (csrec_pca_learn(&all, &options, &model, NULL, &error)) bench_fail(backend, error.text);
    csrec_model_destroy(model);
}

/* The components of m rows of n, and all eigenvectors of their covariance. */
static void measure_learning(int64_t m, int n) {
    const size_t bytes = (size_t)n * (size_t)n * sizeof(double);
    data d = {.m = m, .n = n, .X = numbers(m * n)};
    matrix x = {n, malloc(bytes), malloc(bytes), malloc((size_t)n * sizeof(double)), malloc(bytes)};
    if (!x.A || !x.copy || !x.values || !x.V) bench_fail("memory", "out of memory");
    bench_check(csrec_covariance_on("cuda", m, n, d.X, NULL, NULL, 0, x.A, NULL), "covariance");
    char what[64];
    snprintf(what, sizeof what, "%d x %d", n, n);
    measure(&(call){"eigenvectors", pow(n, 3.0), run_eigen, &x}, what);
    snprintf(what, sizeof what, "%lld x %d", (long long)m, n);
    measure(&(call){"pca", (double)m * n * n, run_pca, &d}, what);
    double *arrays[] = {x.A, x.copy, x.values, x.V};
    for (int k = 0; k < 4; k++) free(arrays[k]);
    free(d.X);
}

/* ---- convolution */

typedef struct layer {
    csrec_conv2d conv;
    float *X, *W, *Y, *dX, *dW;
    void *space;
    size_t forward, backward;
} layer;

static void run_forward(const char *backend, void *with) {
    layer *l = with;
    l->conv.backend = backend;
    bench_check(
        csrec_conv2d_forward(&l->conv, l->X, l->W, NULL, NULL, l->Y, l->space, l->forward, NULL),
        "forward");
}

static void run_backward(const char *backend, void *with) {
    layer *l = with;
    l->conv.backend = backend;
    bench_check(csrec_conv2d_backward(&l->conv, l->X, l->W, NULL, l->Y, l->dX, l->dW, NULL,
                                      l->space, l->backward, NULL),
                "backward");
}

static void measure_conv2d(int64_t batch, int64_t in, int64_t out, int64_t side, int64_t kernel) {
    layer l = {.conv = {.batch = batch,
                        .channels_in = in,
                        .channels_out = out,
                        .size = {side, side},
                        .kernel = {kernel, kernel},
                        .padding = {kernel / 2, kernel / 2}}};
    int64_t size[2];
    bench_check(csrec_conv2d_output(&l.conv, size, NULL), "output");
    l.conv.backend = "cpu";
    bench_check(csrec_conv2d_workspace(&l.conv, &l.forward, &l.backward, NULL), "workspace");
    l.X = numbers(batch * in * side * side);
    l.dX = numbers(batch * in * side * side);
    l.W = numbers(in * out * kernel * kernel);
    l.dW = numbers(in * out * kernel * kernel);
    l.Y = numbers(batch * out * size[0] * size[1]);
    l.space = malloc(l.forward > l.backward ? l.forward : l.backward);
    double work = (double)(batch * in * out * kernel * kernel) * (double)(size[0] * size[1]);
    char what[64];
    snprintf(what, sizeof what, "(%d,%d,%d,%d) (%d,%d,%d,%d)", (int)batch, (int)in, (int)side,
             (int)side, (int)out, (int)in, (int)kernel, (int)kernel);
    measure(&(call){"conv2d forward", work, run_forward, &l}, what);
    measure(&(call){"conv2d backward", 2.0 * work, run_backward, &l}, what);
    float *arrays[] = {l.X, l.dX, l.W, l.dW, l.Y};
    for (int k = 0; k < 5; k++) free(arrays[k]);
    free(l.space);
}

/* ---- recoveries */

typedef struct recovery {
    csrec_measurement m;
    const char *basis, *solver;
    double *signal;
} recovery;

static void run_recovery(const char *backend, void *with) {
    recovery *r = with;
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.solve.solver = r->solver;
    options.solve.stop.atoms = ITERATIONS;
    options.basis = r->basis;
    options.backend = backend;
    csrec_error error;
    if (csrec_recover(&r->m, &options, r->signal, NULL, NULL, &error))
        bench_fail(backend, error.text);
}

static void measure_recovery(int64_t side, const char *basis, const char *solver) {
    recovery r = {.m = bench_sampled(side, 1, CSREC_F64), .basis = basis, .solver = solver};
    r.signal = malloc((size_t)(side * side) * sizeof *r.signal);
    for (int64_t k = 0; k < r.m.n; k++) {
        int64_t at = r.m.index[k];
        r.m.y[k] = bench_picture_value(((double)(at % side) + 0.5) / (double)side,
                                       ((double)(at / side) + 0.5) / (double)side, side);
    }
    char name[64], what[64];
    snprintf(name, sizeof name, "recover, %s, %s", basis, solver);
    snprintf(what, sizeof what, "%lld x %lld", (long long)side, (long long)side);
    measure(&(call){name, (double)(side * side), run_recovery, &r}, what);
    csrec_measurement_clear(&r.m);
    free(r.signal);
}

int main(void) {
    if (bench_no_device()) return 0;
    measure_statistics(4000, 256);
    measure_statistics(20000, 1024);
    measure_statistics(40000, 2475);
    for (int log_n = 16; log_n <= 22; log_n += 2)
        measure_transform(log_n, CSREC_TRANSFORM_DISTINCT);
    measure_transform(20, CSREC_TRANSFORM_LEVELS);
    for (int n = 256; n <= 2048; n *= 2) measure_learning(4096, n);
    measure_learning(40000, 2475);
    measure_conv2d(1, 16, 16, 128, 3);
    measure_conv2d(8, 64, 64, 128, 3);
    measure_conv2d(1, 64, 1, 512, 8);
    measure_conv2d(1, 1, 64, 512, 8);
    const char *const pair[][2] = {
        {"dct", "fista"}, {"dct", "iht"}, {"wavelet", "fista"}, {"wavelet", "iht"}};
    for (int k = 0; k < 4; k++)
        for (int64_t side = 128; side <= 512; side *= 4)
            measure_recovery(side, pair[k][0], pair[k][1]);
    return 0;
}
