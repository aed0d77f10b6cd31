/* conv.c - convolutions forward and backward: GFLOP/s by shape and bytes of workspace, beside the
 * plain way, the whole im2col matrix and one product by BLAS an image; rounds of learning and
 * atoms of the pursuit a second.
 * --json FILE, --quick. */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "problem.h"

/* OpenBLAS's own; where BLAS is another one its threads are as they are. */
void openblas_set_num_threads(int threads) __attribute__((weak));

typedef struct shape {
    const char *name;
    csrec_conv2d conv;
} shape;

static const shape shapes[] = {{"(8,64,128,128) (64,64,3,3) pad 1",
                                {8, 64, 64, {128, 128}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 0, "cpu"}},
                               {"(1,64,512,512) (1,64,8,8) pad 4",
                                {1, 64, 1, {512, 512}, {8, 8}, {1, 1}, {1, 1}, {4, 4}, 0, "cpu"}},
                               {"(1,1,512,512) (64,1,8,8) pad 4",
                                {1, 1, 64, {512, 512}, {8, 8}, {1, 1}, {1, 1}, {4, 4}, 0, "cpu"}}};

typedef struct data {
    csrec_conv2d conv;
    int64_t out[2], x, w, y, k, plane;
    float *X, *W, *Y, *dX, *dW, *dB, *cols;
    void *memory;
    size_t forward, backward;
    csrec_conv2d_weights *weights;
} data;

static data prepare(const shape *s, int threads) {
    data d = {.conv = s->conv};
    const csrec_conv2d *c = &s->conv;
    d.conv.threads = threads;
    bench_check(csrec_conv2d_output(c, d.out, NULL), s->name);
    d.plane = d.out[0] * d.out[1];
    d.k = c->channels_in * c->kernel[0] * c->kernel[1];
    d.x = c->batch * c->channels_in * c->size[0] * c->size[1];
    d.w = c->channels_out * d.k;
    d.y = c->batch * c->channels_out * d.plane;
    d.X = bench_numbers(d.x, 1);
    d.W = bench_numbers(d.w, 2);
    d.Y = bench_numbers(d.y, 3);
    d.dX = bench_numbers(d.x, 4);
    d.dW = bench_numbers(d.w, 5);
    d.dB = bench_numbers(c->channels_out, 6);
    bench_check(csrec_conv2d_workspace(&d.conv, &d.forward, &d.backward, NULL), s->name);
    d.memory = bench_allocate(1, d.forward > d.backward ? d.forward : d.backward);
    bench_check(csrec_conv2d_weights_create(&d.conv, d.W, &d.weights, NULL), s->name);
    d.cols = bench_allocate(d.k * d.plane, sizeof *d.cols);
    return d;
}

static void finish(data *d) {
    float *all[] = {d->X, d->W, d->Y, d->dX, d->dW, d->dB, d->cols};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    free(d->memory);
    csrec_conv2d_weights_destroy(d->weights);
}

/* ---- the plain way; strides 1 as in all shapes here */

static void im2col(const data *d, const float *X, float *cols) {
    const csrec_conv2d *c = &d->conv;
#pragma omp parallel for num_threads(c->threads)
    for (int64_t k = 0; k < d->k; k++) {
        int64_t kw = k % c->kernel[1], kh = k / c->kernel[1] % c->kernel[0];
        const float *x = X + k / c->kernel[1] / c->kernel[0] * c->size[0] * c->size[1];
        for (int64_t h = 0; h < d->out[0]; h++)
            for (int64_t w = 0; w < d->out[1]; w++) {
                int64_t i = h - c->padding[0] + kh, j = w - c->padding[1] + kw;
                bool inside = i >= 0 && i < c->size[0] && j >= 0 && j < c->size[1];
                cols[k * d->plane + h * d->out[1] + w] = inside ? x[i * c->size[1] + j] : 0.0f;
            }
    }
}

static void col2im(const data *d, const float *cols, float *X) {
    const csrec_conv2d *c = &d->conv;
    int64_t area = c->size[0] * c->size[1], taps = c->kernel[0] * c->kernel[1];
#pragma omp parallel for num_threads(c->threads)
    for (int64_t ci = 0; ci < c->channels_in; ci++) {
        float *x = X + ci * area;
        memset(x, 0, (size_t)area * sizeof *x);
        for (int64_t t = 0; t < taps; t++)
            for (int64_t h = 0; h < d->out[0]; h++)
                for (int64_t w = 0; w < d->out[1]; w++) {
                    int64_t i = h - c->padding[0] + t / c->kernel[1];
                    int64_t j = w - c->padding[1] + t % c->kernel[1];
                    if (i >= 0 && i < c->size[0] && j >= 0 && j < c->size[1])
                        x[i * c->size[1] + j] +=
                            cols[(ci * taps + t) * d->plane + h * d->out[1] + w];
                }
    }
}

static void plain_forward(data *d) {
    const csrec_conv2d *c = &d->conv;
    int co = (int)c->channels_out, k = (int)d->k, p = (int)d->plane;
    for (int64_t n = 0; n < c->batch; n++) {
        im2col(d, d->X + n * (d->x / c->batch), d->cols);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, co, p, k, 1.0f, d->W, k, d->cols, p,
                    0.0f, d->Y + n * co * p, p);
    }
}

static void plain_backward(data *d) {
    const csrec_conv2d *c = &d->conv;
    int co = (int)c->channels_out, k = (int)d->k, p = (int)d->plane;
    for (int64_t n = 0; n < c->batch; n++) {
        const float *dY = d->Y + n * co * p;
        im2col(d, d->X + n * (d->x / c->batch), d->cols);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, co, k, p, 1.0f, dY, p, d->cols, p,
                    n ? 1.0f : 0.0f, d->dW, k);
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, k, p, co, 1.0f, d->W, k, dY, p, 0.0f,
                    d->cols, p);
        col2im(d, d->cols, d->dX + n * (d->x / c->batch));
    }
    for (int i = 0; i < co; i++) {
        double sum = 0.0;
        for (int64_t n = 0; n < c->batch; n++)
            for (int64_t j = 0; j < p; j++) sum += d->Y[(n * co + i) * p + j];
        d->dB[i] = (float)sum;
    }
}

/* ---- ours */

static void forward(data *d) {
    bench_check(csrec_conv2d_forward(&d->conv, d->X, NULL, d->weights, NULL, d->Y, d->memory,
                                     d->forward, NULL),
                "forward");
}

static void backward_x(data *d) {
    bench_check(csrec_conv2d_backward(&d->conv, NULL, NULL, d->weights, d->Y, d->dX, NULL, NULL,
                                      d->memory, d->backward, NULL),
                "dX");
}

static void backward_w(data *d) {
    bench_check(csrec_conv2d_backward(&d->conv, d->X, NULL, NULL, d->Y, NULL, d->dW, NULL,
                                      d->memory, d->backward, NULL),
                "dW");
}

static void backward(data *d) {
    bench_check(csrec_conv2d_backward(&d->conv, d->X, NULL, d->weights, d->Y, d->dX, d->dW, d->dB,
                                      d->memory, d->backward, NULL),
                "backward");
}

/* The shortest of the runs that fit into `least` seconds: what the machine does left alone. */
static double shortest(data *d, void (*work)(data *d), double least) {
    double best = INFINITY, start = bench_seconds();
    do {
        double before = bench_seconds();
        work(d);
        best = fmin(best, bench_seconds() - before);
    } while (bench_seconds() - start < least);
    return best;
}

static void measure(bench_json *json, const shape *s, int threads, double least) {
    data d = prepare(s, threads);
    double flops = 2.0 * (double)d.y * (double)d.k;
    void (*const works[])(data *) = {forward,  backward_x,    backward_w,
                                     backward, plain_forward, plain_backward};
    static const char *const names[] = {"forward",       "dx", "dw", "backward", "plain_forward",
                                        "plain_backward"};
    printf("%-34s %d threads:", s->name, threads);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "shape", s->name);
    bench_json_integer(json, "threads", threads);
    for (int i = 0; i < 6; i++) {
        double seconds = shortest(&d, works[i], least);
        double done = i == 3 || i == 5 ? 2.0 * flops : flops;
        char name[40];
        snprintf(name, sizeof name, "%s_ms", names[i]);
        bench_json_number(json, name, 1e3 * seconds);
        snprintf(name, sizeof name, "%s_gflops", names[i]);
        bench_json_number(json, name, 1e-9 * done / seconds);
        printf(" %s %.1f ms %.0f", names[i], 1e3 * seconds, 1e-9 * done / seconds);
        fflush(stdout);
    }
    size_t most = d.forward > d.backward ? d.forward : d.backward;
    double whole = (double)(d.k * d.plane) * sizeof(float);
    bench_json_integer(json, "workspace_bytes", (int64_t)most);
    bench_json_number(json, "im2col_bytes", whole);
    bench_json_end(json, '}');
    printf("; workspace %.1f MB, im2col %.1f MB\n", 1e-6 * (double)most, 1e-6 * whole);
    finish(&d);
}

/* Rounds of learning a second, and the time of a recovery's step, on a picture of smooth noise. */
static void measure_learning(bench_json *json, int threads, int rounds) {
    enum { SIDE = 256 };
    float *values = bench_numbers(SIDE * SIDE, 11);
    for (int64_t i = 1; i < SIDE * SIDE; i++) values[i] += 0.9f * values[i - 1];
    csrec_conv_picture picture = {SIDE, SIDE, values, NULL};
    bench_json_begin(json, "learning", '[');
    for (int side = 8; side <= 12; side += 4) {
        csrec_conv_learn_options o = {
            .filters = 64, .size = {side, side}, .iterations = rounds, .threads = threads};
        csrec_model *model;
        double start = bench_seconds();
        bench_check(csrec_conv_learn(1, &picture, &o, &model, NULL, NULL), "learning");
        double seconds = bench_seconds() - start;
        csrec_model_destroy(model);
        bench_json_begin(json, NULL, '{');
        bench_json_integer(json, "filters", 64);
        bench_json_integer(json, "side", side);
        bench_json_integer(json, "picture", SIDE);
        bench_json_integer(json, "threads", threads);
        bench_json_integer(json, "rounds", rounds);
        bench_json_number(json, "rounds_a_second", rounds / seconds);
        bench_json_end(json, '}');
        printf(
            "learning 64 filters of %dx%d, %dx%d, %d threads: %.3f rounds/s (the first of %d has "
            "30 steps on the codes, others 5)\n",
            side, side, SIDE, SIDE, threads, rounds / seconds, rounds);
    }
    bench_json_end(json, ']');
    free(values);
}

/* Seconds of so many atoms; the start is measured apart and taken off. */
static double pursuit_seconds(const csrec_operator *A, const double *y, bool reference,
                              int64_t atoms) {
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        csrec_solve_options o = {
            .solver = "mp", .reference = reference, .stop.atoms = i ? atoms + 1 : 1};
        double start = bench_seconds();
        bench_check(csrec_solve(A, y, &o, NULL, NULL, NULL, NULL), "mp");
        seconds[i] = bench_seconds() - start;
    }
    return seconds[1] - seconds[0];
}

/* Atoms a second where only neighbours are updated, beside all correlations anew for each. */
static void measure_pursuit(bench_json *json) {
    enum { SIDE = 256, RATE = 4, K = 64, EDGE = 8, LOCAL = 4000, WHOLE = 4 };
    csrec_shape plane = {2, {SIDE, SIDE}};
    csrec_sampling known;
    int64_t kernel[] = {EDGE, EDGE}, m = SIDE * SIDE / RATE;
    bench_check(csrec_sampling_create(&plane, CSREC_PATTERN_UNIFORM, m, 1, &known, NULL), "mp");
    double *filters = bench_allocate(K * EDGE * EDGE, sizeof *filters);
    double *y = bench_allocate(m, sizeof *y);
    for (int64_t i = 0; i < K * EDGE * EDGE; i++)
        filters[i] = csrec_random_normal(3, 0, (uint64_t)i);
    for (int64_t i = 0; i < m; i++) y[i] = csrec_random_normal(4, 0, (uint64_t)i);
    csrec_operator_spec spec = {.name = "conv",
                                .m = m,
                                .shape = &plane,
                                .index = known.index,
                                .filters = filters,
                                .n_filters = K,
                                .kernel = kernel};
    csrec_operator *A;
    bench_check(csrec_operator_create(&spec, &A, NULL), "mp");
    double local = LOCAL / pursuit_seconds(A, y, false, LOCAL);
    double whole = WHOLE / pursuit_seconds(A, y, true, WHOLE);
    bench_json_begin(json, "pursuit", '{');
    bench_json_integer(json, "filters", K);
    bench_json_integer(json, "samples", m);
    bench_json_number(json, "atoms_a_second", local);
    bench_json_number(json, "atoms_a_second_all_anew", whole);
    bench_json_end(json, '}');
    printf("pursuit, 64 filters of 8x8, 25 %% of 256x256: %.0f atoms/s, %.1f with all correlations "
           "anew: %.0f times\n",
           local, whole, local / whole);
    csrec_operator_destroy(A);
    csrec_sampling_clear(&known);
    free(filters);
    free(y);
}

int main(int argc, char **argv) {
    const char *path = NULL;
    double least = 2.0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            least = 0.2;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            path = argv[++i];
        else
            bench_fail("conv", "usage: bench_conv [--json FILE] [--quick]");
    }
    bench_machine_print();
    bench_json json = bench_json_open(path ? path : "conv.json");
    bench_json_begin(&json, "conv2d", '[');
    int all = omp_get_max_threads();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int threads = 1;; threads = all) {
            if (openblas_set_num_threads) openblas_set_num_threads(threads);
            measure(&json, &shapes[s], threads, least);
            if (threads == all) break;
        }
    bench_json_end(&json, ']');
    measure_learning(&json, all, least < 1.0 ? 3 : 20);
    measure_pursuit(&json);
    bench_json_close(&json);
    return 0;
}
