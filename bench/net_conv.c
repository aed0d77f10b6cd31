/* net_conv.c - the 3 x 3 convolutions of a network, batch 1, float: GFLOP/s, counted as the direct
 * product whatever the algorithm, of each way of `ways` in the same run. A way's arrays are brought
 * into its own layout before the timing. Beside it the error against direct sums in double at 64
 * places, as a share of the sum of magnitudes.
 * --json FILE, --threads N (2), --quick. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "net_conv.h"
#include "problem.h"

static const net_shape shapes[] = {{32, 256}, {64, 128}, {128, 64}, {256, 32}};
static const char *const passes[] = {"forward", "backward_data", "backward_weights"};

/* A way more is a row more. */
static const net_way *const ways[] = {&net_way_dnnl_direct, &net_way_dnnl_winograd, &net_way_block,
                                      &net_way_conv2d};

/* ---- csrec_conv2d */

typedef struct conv2d_state {
    csrec_conv2d conv;
    net_pass pass;
    const net_arrays *arrays;
    csrec_conv2d_weights *weights;
    int64_t results;
    float *made;
    void *memory;
    size_t room;
} conv2d_state;

static void *conv2d_create(const net_shape *shape, net_pass pass, const net_arrays *arrays,
                           int threads) {
    conv2d_state *s = bench_allocate(1, sizeof *s);
    int64_t c = shape->channels, side = shape->side;
    s->conv = (csrec_conv2d){1, c, c, {side, side}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, threads, "cpu"};
    s->pass = pass;
    s->arrays = arrays;
    size_t forward, backward;
    bench_check(csrec_conv2d_workspace(&s->conv, &forward, &backward, NULL), "conv2d");
    s->room = pass == NET_FORWARD ? forward : backward;
    s->memory = bench_allocate(1, s->room);
    s->results = pass == NET_BACKWARD_WEIGHTS ? c * c * 9 : c * side * side;
    s->made = bench_allocate(s->results, sizeof *s->made);
    bench_check(csrec_conv2d_weights_create(&s->conv, arrays->w, &s->weights, NULL), "conv2d");
    return s;
}

static void conv2d_run(void *of) {
    conv2d_state *s = of;
    const net_arrays *a = s->arrays;
    csrec_status status;
    if (s->pass == NET_FORWARD)
        status = csrec_conv2d_forward(&s->conv, a->x, NULL, s->weights, NULL, s->made, s->memory,
                                      s->room, NULL);
    else if (s->pass == NET_BACKWARD_DATA)
        status = csrec_conv2d_backward(&s->conv, NULL, NULL, s->weights, a->y, s->made, NULL, NULL,
                                       s->memory, s->room, NULL);
    else
        status = csrec_conv2d_backward(&s->conv, a->x, NULL, NULL, a->y, NULL, s->made, NULL,
                                       s->memory, s->room, NULL);
    bench_check(status, "conv2d");
}

static void conv2d_result(void *of, float *plain) {
    conv2d_state *s = of;
    memcpy(plain, s->made, (size_t)s->results * sizeof *plain);
}

static void conv2d_destroy(void *of) {
    conv2d_state *s = of;
    csrec_conv2d_weights_destroy(s->weights);
    free(s->memory);
    free(s->made);
    free(s);
}

const net_way net_way_conv2d = {"csrec_conv2d", "", conv2d_create, conv2d_run, conv2d_result,
                                conv2d_destroy};

/* ---- direct sums */

typedef struct sums {
    double value, magnitude;
} sums;

static void add(sums *s, double a, double b) {
    s->value += a * b;
    s->magnitude += fabs(a * b);
}

/* Result (channel, i, j) of the product, or of its adjoint, whose weights are turned. */
static sums plane_sum(const net_shape *shape, const float *from, const float *w, bool adjoint,
                      int64_t channel, int64_t i, int64_t j) {
    int64_t n = shape->channels, side = shape->side;
    sums s = {0, 0};
    for (int64_t c = 0; c < n; c++)
        for (int64_t t = 0; t < 9; t++) {
            int64_t y = i + t / 3 - 1, x = j + t % 3 - 1;
            if (y < 0 || y >= side || x < 0 || x >= side) continue;
            int64_t at = adjoint ? (c * n + channel) * 9 + 8 - t : (channel * n + c) * 9 + t;
            add(&s, from[(c * side + y) * side + x], w[at]);
        }
    return s;
}

static sums weight_sum(const net_shape *shape, const net_arrays *a, int64_t at) {
    int64_t n = shape->channels, side = shape->side, t = at % 9;
    const float *x = a->x + at / 9 % n * side * side, *y = a->y + at / 9 / n * side * side;
    sums s = {0, 0};
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++) {
            int64_t v = i + t / 3 - 1, u = j + t % 3 - 1;
            if (v < 0 || v >= side || u < 0 || u >= side) continue;
            add(&s, y[i * side + j], x[v * side + u]);
        }
    return s;
}

/* The largest error at 64 places, as a share of the sum of magnitudes there. */
static double worst(const net_shape *shape, net_pass pass, const net_arrays *a, const float *made) {
    int64_t side = shape->side, area = side * side, n = shape->channels;
    int64_t count = pass == NET_BACKWARD_WEIGHTS ? n * n * 9 : n * area;
    double most = 0;
    for (uint64_t k = 0; k < 64; k++) {
        int64_t at = (int64_t)(csrec_random_uniform(9, 0, k) * (double)count);
        int64_t i = at % area / side, j = at % side;
        sums s = pass == NET_BACKWARD_WEIGHTS
                     ? weight_sum(shape, a, at)
                     : plane_sum(shape, pass == NET_FORWARD ? a->x : a->y, a->w,
                                 pass == NET_BACKWARD_DATA, at / area, i, j);
        most = fmax(most, fabs(made[at] - s.value) / s.magnitude);
    }
    return most;
}

/* ---- the run */

enum { WAYS = sizeof ways / sizeof *ways };

typedef struct task {
    const net_shape *shape;
    const net_arrays *arrays;
    net_pass pass;
    int threads;
    void *state[WAYS];
    double seconds[WAYS];
} task;

/* The shortest of the runs: what the machine does left alone. The ways take turns, so that what
 * else runs here hits all of them. */
static void take_turns(task *t, double least) {
    double start = bench_seconds();
    do
        for (int i = 0; i < WAYS; i++) {
            if (!t->state[i]) continue;
            double before = bench_seconds();
            ways[i]->run(t->state[i]);
            t->seconds[i] = fmin(t->seconds[i], bench_seconds() - before);
        }
    while (bench_seconds() - start < WAYS * least);
}

static void report(bench_json *json, const task *t, int i, double error) {
    int64_t c = t->shape->channels, side = t->shape->side;
    double speed = 1e-9 * 2.0 * 9.0 * (double)(c * c * side * side) / t->seconds[i];
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "way", ways[i]->name);
    bench_json_text(json, "version", ways[i]->version);
    bench_json_text(json, "pass", passes[t->pass]);
    bench_json_integer(json, "channels", c);
    bench_json_integer(json, "side", side);
    bench_json_integer(json, "threads", t->threads);
    bench_json_number(json, "ms", 1e3 * t->seconds[i]);
    bench_json_number(json, "gflops", speed);
    bench_json_number(json, "error", error);
    bench_json_end(json, '}');
    printf("%4d channels %4d^2  %-16s %-16s %8.3f ms %7.0f GFLOP/s  error %.1e\n", (int)c,
           (int)side, passes[t->pass], ways[i]->name, 1e3 * t->seconds[i], speed, error);
    fflush(stdout);
}

static void measure(bench_json *json, task *t, float *made, double least) {
    for (int i = 0; i < WAYS; i++) {
        t->state[i] = ways[i]->create(t->shape, t->pass, t->arrays, t->threads);
        t->seconds[i] = INFINITY;
    }
    take_turns(t, least);
    for (int i = 0; i < WAYS; i++) {
        if (!t->state[i]) continue;
        ways[i]->result(t->state[i], made);
        ways[i]->destroy(t->state[i]);
        report(json, t, i, worst(t->shape, t->pass, t->arrays, made));
    }
}

static void measure_shape(bench_json *json, const net_shape *shape, int threads, double least) {
    int64_t planes = shape->channels * shape->side * shape->side;
    int64_t weights = 9 * shape->channels * shape->channels;
    float *x = bench_numbers(planes, 1), *w = bench_numbers(weights, 2),
          *y = bench_numbers(planes, 3);
    float *made = bench_numbers(planes > weights ? planes : weights, 4);
    net_arrays arrays = {x, w, y};
    for (int pass = 0; pass < NET_PASSES; pass++) {
        task t = {.shape = shape, .arrays = &arrays, .pass = (net_pass)pass, .threads = threads};
        measure(json, &t, made, least);
    }
    free(x);
    free(w);
    free(y);
    free(made);
}

int main(int argc, char **argv) {
    const char *path = "net_conv.json";
    double least = 1.0;
    int threads = 2;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            least = 0.1;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            threads = atoi(argv[++i]);
        else
            bench_fail("net_conv", "usage: bench_net_conv [--json FILE] [--threads N] [--quick]");
    }
    bench_machine_print();
    bench_json json = bench_json_open(path);
    bench_json_begin(&json, "net_conv", '[');
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        measure_shape(&json, &shapes[s], threads, least);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
