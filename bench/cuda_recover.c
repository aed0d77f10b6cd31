/* cuda_recover.c - whole recoveries: the device by either engine against all CPU cores, by number
 * and size of signals, which is where csrec_cuda_grids_choose and csrec_cuda_pays come from; 64
 * grids of a 1024 x 1024 picture; transfers with and without pinned buffers.
 *
 *     bench_cuda_recover [--json FILE] [--all]
 *     bench_cuda_recover --picture FILE.png     only writes the picture
 *
 * --all: the whole table of numbers and sizes, two minutes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/method/grids/engine.h"
#include "bench.h"
#include "device.h"
#include "kernels/device/pipe.h"
#include "problem.h"
#include "recover/recover.h"

/* A picture of side x side sampled at 25 %, each channel another one. */
static csrec_measurement picture(int64_t side, int64_t channels) {
    csrec_measurement m = bench_sampled(side, channels, CSREC_U8);
    for (int64_t k = 0; k < m.n * channels; k++) {
        int64_t i = m.index[k / channels], c = k % channels;
        double u = ((double)(i % side) + 0.5) / (double)side;
        double v = ((double)(i / side) + 0.5) / (double)side;
        m.y[k] = rint(bench_picture_value(c == 1 ? v : u, c == 1 ? u : v, side));
    }
    return m;
}

static csrec_status recover_by(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                               const csrec_recover_options *options, double *signal,
                               csrec_recover_report *report, csrec_error *error) {
    csrec_context context;
    const csrec_recovery recovery = {.measurement = m,
                                     .options = options,
                                     .context = &context,
                                     .signal = signal,
                                     .report = report};
    csrec_status status = csrec_context_create("cuda", &context, error);
    if (status) return status;
    status = csrec_cuda_recover_grids_by(engine, &recovery, error);
    csrec_context_destroy(&context);
    return status;
}

/* The shorter of two runs; ways: -1 the CPU, else csrec_cuda_grids_engine. */
static double seconds_of(int engine, const csrec_measurement *m,
                         const csrec_recover_options *options, double *signal,
                         csrec_recover_report *best) {
    double least = INFINITY;
    for (int k = 0; k < 2; k++) {
        csrec_error error;
        csrec_recover_report report = {0};
        double start = bench_seconds();
        csrec_status status = engine < 0 ? csrec_recover(m, options, signal, NULL, &report, &error)
                                         : recover_by((csrec_cuda_grids_engine)engine, m, options,
                                                      signal, &report, &error);
        double seconds = bench_seconds() - start;
        if (status) bench_fail("recovery", error.text);
        if (seconds < least && best) *best = report;
        least = seconds < least ? seconds : least;
    }
    return least;
}

static csrec_recover_options options_of(const csrec_measurement *m, int64_t grids) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.shifts = grids;
    options.backend = "cpu"; /* of csrec_recover, beside the device's engines */
    options.order = CSREC_ORDER_MORTON;
    options.columns = CSREC_COLUMNS_TWO_SIDED;
    options.solve.stop = (csrec_stop){.atoms = m->n / 4};
    return options;
}

static void measure_choice(bench_json *json, int64_t side, int64_t channels, int64_t grids) {
    csrec_measurement m = picture(side, channels);
    csrec_recover_options options = options_of(&m, grids);
    size_t bytes = (size_t)(side * side * channels) * sizeof(double);
    double *a = malloc(bytes), *b = malloc(bytes);
    double cpu = seconds_of(-1, &m, &options, a, NULL);
    double batches = seconds_of(CSREC_CUDA_GRIDS_BATCHES, &m, &options, b, NULL);
    bool same = memcmp(a, b, bytes) == 0;
    double sequential = NAN;
    if (grids * channels <= 16) {
        sequential = seconds_of(CSREC_CUDA_GRIDS_SEQUENTIAL, &m, &options, b, NULL);
        same = same && memcmp(a, b, bytes) == 0;
    }
    printf(
        "%8lld samples x %4lld signals: CPU %8.2f ms, batches %8.2f ms, sequential %8.2f ms %s\n",
        (long long)m.n, (long long)(grids * channels), cpu * 1e3, batches * 1e3, sequential * 1e3,
        same ? "equal" : "DIFFERENT");
    fflush(stdout);
    bench_json_begin(json, NULL, '{');
    bench_json_integer(json, "n", m.n);
    bench_json_integer(json, "signals", grids * channels);
    bench_json_number(json, "cpu_ms", cpu * 1e3);
    bench_json_number(json, "batches_ms", batches * 1e3);
    bench_json_number(json, "sequential_ms", sequential * 1e3);
    bench_json_bool(json, "equal_to_cpu", same);
    bench_json_end(json, '}');
    free(a);
    free(b);
    free(m.index);
    free(m.y);
}

static void write_stages(bench_json *json, const char *name, double seconds,
                         const csrec_recover_report *r) {
    printf("%s: %.3f s (rows and trees %.3f, pursuits %.3f, synthesis %.3f), %lld atoms\n", name,
           seconds, r->seconds_tree, r->seconds_pursuit, r->seconds_synthesis,
           (long long)r->iterations);
    bench_json_begin(json, name, '{');
    bench_json_number(json, "seconds", seconds);
    bench_json_number(json, "rows_and_trees", r->seconds_tree);
    bench_json_number(json, "pursuits", r->seconds_pursuit);
    bench_json_number(json, "synthesis", r->seconds_synthesis);
    bench_json_integer(json, "atoms", r->iterations);
    bench_json_end(json, '}');
}

static void measure_whole(bench_json *json) {
    csrec_measurement m = picture(1024, 3);
    csrec_recover_options options = options_of(&m, 64);
    size_t bytes = (size_t)(1024 * 1024 * 3) * sizeof(double);
    double *a = malloc(bytes), *b = malloc(bytes);
    csrec_recover_report report;
    bench_json_begin(json, "picture_64_grids", '{');
    bench_json_integer(json, "n", m.n);
    double device = seconds_of(CSREC_CUDA_GRIDS_AUTO, &m, &options, a, &report);
    write_stages(json, "device", device, &report);
    csrec_error error;
    double start = bench_seconds();
    if (csrec_recover(&m, &options, b, NULL, &report, &error)) bench_fail("CPU", error.text);
    write_stages(json, "cpu", bench_seconds() - start, &report);
    bench_json_bool(json, "equal_to_cpu", memcmp(a, b, bytes) == 0);
    bench_json_end(json, '}');
    free(a);
    free(b);
    free(m.index);
    free(m.y);
}

/* GB a second of one direction into fresh or used host memory. */
static double rate(csrec_cuda_pipe *pipe, bool send, void *host, void *device, size_t bytes) {
    csrec_error error;
    double start = bench_seconds();
    csrec_status status = send ? csrec_cuda_pipe_send(pipe, device, host, bytes, &error)
                               : csrec_cuda_pipe_receive(pipe, host, device, bytes, &error);
    if (status) bench_fail("transfer", error.text);
    csrec_cuda_copy(host, device, 8, &error); /* all has arrived */
    return (double)bytes * 1e-9 / (bench_seconds() - start);
}

static void measure_transfer(bench_json *json, const char *name, csrec_cuda_pipe *pipe,
                             size_t bytes) {
    csrec_cuda_block block = {.used = bytes};
    csrec_error error;
    if (csrec_cuda_block_create(&block, "a transfer", &error)) bench_fail("memory", error.text);
    void *host = malloc(bytes);
    double down_fresh = rate(pipe, false, host, block.base, bytes);
    double up = rate(pipe, true, host, block.base, bytes);
    double down = rate(pipe, false, host, block.base, bytes);
    printf("transfer of %.0f MiB, %s: up %.1f GB/s, down %.1f, into fresh memory %.1f\n",
           (double)bytes / 1048576.0, name, up, down, down_fresh);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "buffers", name);
    bench_json_integer(json, "bytes", (int64_t)bytes);
    bench_json_number(json, "up_gb_s", up);
    bench_json_number(json, "down_gb_s", down);
    bench_json_number(json, "down_fresh_gb_s", down_fresh);
    bench_json_end(json, '}');
    free(host);
    csrec_cuda_block_destroy(&block);
}

static void measure_transfers(bench_json *json) {
    bench_json_begin(json, "transfers", '[');
    for (int log = 26; log <= 30; log += 2) {
        size_t bytes = (size_t)1 << log;
        csrec_cuda_pipe plain = {0}, pinned;
        double start = bench_seconds();
        csrec_cuda_pipe_create(bytes, &pinned);
        printf("pinned buffers: %.2f ms\n", (bench_seconds() - start) * 1e3);
        measure_transfer(json, "none", &plain, bytes);
        measure_transfer(json, "pinned", &pinned, bytes);
        csrec_cuda_pipe_destroy(&pinned);
    }
    bench_json_end(json, ']');
}

/* The 1024 x 1024 picture, for the command-line tools. */
static void write_picture(const char *path) {
    csrec_image image = {.bits = 8};
    const csrec_shape shape = {3, {1024, 1024, 3}};
    bench_check(csrec_array_create(CSREC_U8, &shape, &image.pixels), "picture");
    unsigned char *pixel = image.pixels.data;
    for (int i = 0; i < 1024 * 1024; i++)
        for (int c = 0; c < 3; c++) {
            double u = (i % 1024 + 0.5) / 1024.0, v = (i / 1024 + 0.5) / 1024.0;
            double value = bench_picture_value(c == 1 ? v : u, c == 1 ? u : v, 1024);
            pixel[3 * i + c] = (unsigned char)fmin(fmax(rint(value), 0.0), 255.0);
        }
    csrec_error error;
    if (csrec_image_write(path, &image, &error)) bench_fail(path, error.text);
    csrec_image_clear(&image);
}

static void measure_choices(bench_json *json, bool all) {
    static const struct {
        int64_t channels, grids;
        bool always;
    } signals[] = {{1, 1, true},  {3, 1, true},   {2, 2, false},
                   {1, 8, false}, {1, 16, false}, {3, 64, true}};
    bench_json_begin(json, "choice", '[');
    for (int64_t side = all ? 128 : 256; side <= 2048; side *= all ? 2 : 4)
        for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
            if ((all || signals[k].always) && (side < 1024 || signals[k].grids < 64))
                measure_choice(json, side, signals[k].channels, signals[k].grids);
    bench_json_end(json, ']');
}

int main(int argc, char **argv) {
    const char *path = "cuda_recover.json";
    bool all = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--all")) all = true;
        if (i + 1 == argc) break;
        if (!strcmp(argv[i], "--json")) path = argv[i + 1];
        if (!strcmp(argv[i], "--picture")) {
            write_picture(argv[i + 1]);
            return 0;
        }
    }
    double start = bench_seconds();
    if (bench_no_device()) return 0;
    double context = bench_seconds() - start;
    printf("a device ready in %.3f s\n", context);
    bench_json json = bench_json_open(path);
    bench_json_number(&json, "context_seconds", context);
    measure_choices(&json, all);
    measure_whole(&json);
    measure_transfers(&json);
    bench_json_close(&json);
    return 0;
}
