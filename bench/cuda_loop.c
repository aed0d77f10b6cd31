/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_loop.c - pursuits on the device, beside one CPU core in the same run: an atom of the
 * speculative pursuit and an iteration of the reference pursuit; grids by either engine, which is
 * where csrec_cuda_grids_choose comes from; a volume of 2^30 entries.
 *
 *     bench_cuda_loop [--json FILE] [--largest LOG2N] [--subtrees LOG2N] [--volume LOG2SIDE]
 *
 * --subtrees: sizes of subtrees side by side, how the default was chosen, up to this N. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "haar/pursuit.h"
#include "kernels/haar/reference.h"
#include "kernels/haar/speculate.h"
#include "kernels/method/grids/engine.h"

typedef struct options {
    const char *json;
    int largest, subtrees, volume; /* log2 of N, of N, of a side; 0: none */
} options;

/* The shortest pursuit of a few; a hash of its atoms, which are freed. */
static uint64_t solve(const bench_problem *p, csrec_speculate_options o, int repeats,
                      csrec_speculate_report *best) {
    csrec_speculate_problem q = {.levels = p->levels,
                                 .n = p->n,
                                 .rows = p->rows,
                                 .y = p->y,
                                 .columns = CSREC_COLUMNS_TWO_SIDED};
    uint64_t hash = 0;
    for (int k = 0; k < repeats; k++) {
        csrec_speculate_report report;
        csrec_error error;
        csrec_atoms atoms;
        if (csrec_speculate_solve(&q, &o, &atoms, &report, &error))
            bench_fail("pursuit", error.text);
        hash = bench_atoms_hash(&atoms);
        csrec_atoms_clear(&atoms);
        if (k == 0 || report.pursuit_ms < best->pursuit_ms) *best = report;
    }
    return hash;
}

static double atom_us(const csrec_speculate_report *r) {
    return r->pursuit_ms * 1e3 / (double)r->solve.iterations;
}

static void measure(bench_json *json, const char *signal, const bench_problem *p) {
    const csrec_columns columns = CSREC_COLUMNS_TWO_SIDED;
    csrec_speculate_report r;
    uint64_t hash = solve(p, (csrec_speculate_options){.stop = {.atoms = p->n / 4}}, 2, &r);
    bench_times cpu = bench_time_pursuit(p, columns, NULL, 0.0);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "signal", signal);
    bench_json_numbers(
        json,
        "n levels speculative_atom_us speculative_atoms rounds picks_above_the_subtrees "
        "picks_taken_back build_ms result_ms cpu_atom_us reference_iteration_us "
        "reference_cpu_iteration_us",
        (double[]){p->n, p->levels, atom_us(&r), r.solve.iterations, r.rounds, r.top, r.undone,
                   r.build_ms, r.result_ms, 1e-3 * cpu.atom_ns[1],
                   1e6 * bench_time_iteration(p, columns, &csrec_cuda_pursuit_reference),
                   1e6 * bench_time_iteration(p, columns, &csrec_pursuit_reference)});
    bench_json_bool(json, "equal_to_cpu", hash == cpu.hash);
    bench_json_end(json, '}');
}

static void measure_pursuits(bench_json *json, const options *o) {
    bench_json_begin(json, "pursuits", '[');
    for (int log_n = 12; log_n <= o->largest; log_n += 2)
        for (int signal = log_n == 18 ? 0 : BENCH_PICTURE; signal < BENCH_SIGNALS; signal++) {
            bench_problem p =
                bench_problem_create((bench_signal)signal, log_n + 2, INT64_C(1) << log_n, 1);
            measure(json, bench_signal_names[signal], &p);
            bench_problem_destroy(&p);
        }
    bench_json_end(json, ']');
}

static void measure_subtrees(bench_json *json, int log_n) {
    bench_problem p = bench_problem_create(BENCH_PICTURE, log_n + 2, INT64_C(1) << log_n, 1);
    char name[32];
    snprintf(name, sizeof name, "subtrees_%lld", (long long)p.n);
    bench_json_begin(json, name, '[');
    for (int32_t size = 1024; size <= 16384; size *= 2) {
        csrec_speculate_report r;
        solve(&p, (csrec_speculate_options){.subtree = size, .stop = {.atoms = p.n / 4}}, 2, &r);
        bench_json_begin(json, NULL, '{');
        bench_json_numbers(json, "samples atom_us rounds undone",
                           (double[]){size, atom_us(&r), r.rounds, r.undone});
        bench_json_end(json, '}');
    }
    bench_json_end(json, ']');
    bench_problem_destroy(&p);
}

/* ---- grids: all signals at once, or one after another on the whole device */

/* The shorter of two runs, in milliseconds. */
static double engine_ms(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                        const csrec_recover_options *how, double *signal) {
    double least = INFINITY;
    for (int k = 0; k < 2; k++) {
        csrec_error error;
        csrec_context context;
        csrec_recover_report report = {0};
        const csrec_recovery recovery = {.measurement = m,
                                         .options = how,
                                         .context = &context,
                                         .signal = signal,
                                         .report = &report};
        double start = bench_seconds();
        if (csrec_context_create("cuda", &context, &error) ||
            csrec_cuda_recover_grids_by(engine, &recovery, &error))
            bench_fail("grids", error.text);
        csrec_context_destroy(&context);
        least = fmin(least, bench_seconds() - start);
    }
    return 1e3 * least;
}

static void measure_engines(bench_json *json) {
    static const int64_t signals[][2] = {{1, 1}, {3, 1}, {2, 2}, {1, 8}, {1, 16}, {3, 64}};
    bench_json_begin(json, "engines", '[');
    for (int64_t side = 128; side <= 2048; side *= 2)
        for (size_t k = 0; k < sizeof signals / sizeof *signals; k++) {
            const int64_t channels = signals[k][0], grids = signals[k][1];
            if (side > 512 && grids == 64) continue;
            csrec_measurement m = bench_sampled(side, channels, CSREC_U8);
            for (int64_t i = 0; i < m.n * channels; i++) {
                int64_t at = m.index[i / channels], c = i % channels;
                double u = ((double)(at % side) + 0.5) / (double)side;
                double v = ((double)(at / side) + 0.5) / (double)side;
                m.y[i] = bench_picture_value(c == 1 ? v : u, c == 1 ? u : v, side);
            }
            double *signal = bench_allocate(side * side * channels, sizeof *signal);
            csrec_recover_options o;
            csrec_recover_defaults(&o);
            o.shifts = grids;
            o.order = CSREC_ORDER_MORTON;
            o.columns = CSREC_COLUMNS_TWO_SIDED;
            o.solve.stop = (csrec_stop){.atoms = m.n / 4};
            double batches = engine_ms(CSREC_CUDA_GRIDS_BATCHES, &m, &o, signal), one = NAN;
            if (grids < 64) one = engine_ms(CSREC_CUDA_GRIDS_SEQUENTIAL, &m, &o, signal);
            bench_json_begin(json, NULL, '{');
            bench_json_numbers(json, "n signals batches_ms sequential_ms",
                               (double[]){m.n, grids * channels, batches, one});
            bench_json_end(json, '}');
            free(signal);
            csrec_measurement_clear(&m);
        }
    bench_json_end(json, ']');
}

/* ---- the volume: soft blobs and hard spheres, one voxel in eight */

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static double uniform(uint64_t k) {
    return (double)(mix(k * UINT64_C(0x9E3779B97F4A7C15) + 1) >> 11) * 0x1p-53;
}

/* Every third bit, from bit 0. */
static double coordinate(uint64_t row) {
    uint64_t x = 0;
    for (int b = 0; b < 20; b++) x |= (row >> (3 * b) & 1) << b;
    return (double)x;
}

enum { BALLS = 24 };

static double volume_value(double x, double y, double z) {
    double value = 20.0 * (sin(5.0 * x + 1.0) + sin(4.0 * y) * cos(6.0 * z)) + 128.0;
    for (int k = 0; k < BALLS; k++) {
        double dx = x - uniform(8 * k), dy = y - uniform(8 * k + 1), dz = z - uniform(8 * k + 2);
        double radius = 0.03 + 0.12 * uniform(8 * k + 3), q = (dx * dx + dy * dy + dz * dz);
        double height = 120.0 * (uniform(8 * k + 4) - 0.4);
        if (k % 2)
            value += q < 4.0 * radius * radius ? height * exp(-2.0 * q / radius / radius) : 0.0;
        else
            value += q < radius * radius ? height : 0.0;
    }
    return value;
}

/* Of each 64 rows, a cube of 4 x 4 x 4 voxels in Morton order, 8 at random. */
static bench_problem volume(int side) {
    enum { CELL = 64, TAKEN = 8 };
    bench_problem p = {.levels = 3 * side, .n = (INT64_C(1) << (3 * side)) / CELL * TAKEN};
    p.rows = bench_allocate(p.n, sizeof *p.rows);
    p.y = bench_allocate(p.n, sizeof *p.y);
    double scale = ldexp(1.0, -side);
#pragma omp parallel for schedule(static, 4096)
    for (int64_t cell = 0; cell < p.n / TAKEN; cell++) {
        int taken = 0;
        for (int k = 0; k < CELL && taken < TAKEN; k++) {
            uint64_t row = (uint64_t)cell * CELL + (uint64_t)k;
            if (uniform(row ^ UINT64_C(0xABCDEF123456)) * (CELL - k) >= TAKEN - taken) continue;
            int64_t j = cell * TAKEN + taken++;
            p.rows[j] = row;
            p.y[j] = volume_value(scale * coordinate(row), scale * coordinate(row >> 1),
                                  scale * coordinate(row >> 2));
        }
    }
    return p;
}

static void measure_volume(bench_json *json, int side) {
    bench_problem p = volume(side);
    csrec_speculate_report r;
    double start = bench_seconds();
    solve(&p, (csrec_speculate_options){.stop = {.atoms = p.n / 64, .epsilon = 1e-9}}, 1, &r);
    double seconds = bench_seconds() - start;
    bench_json_begin(json, "volume", '{');
    bench_json_numbers(json,
                       "levels n atoms residual seconds build_seconds pursuit_seconds "
                       "result_seconds device_bytes rounds",
                       (double[]){p.levels, p.n, r.solve.iterations, r.solve.residual, seconds,
                                  1e-3 * r.build_ms, 1e-3 * r.pursuit_ms, 1e-3 * r.result_ms,
                                  (double)r.bytes, r.rounds});
    bench_json_end(json, '}');
    bench_problem_destroy(&p);
}

int main(int count, char **arguments) {
    options o = {"cuda_loop.json", 22, 0, 0};
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = arguments[i], *value = arguments[i + 1];
        if (strcmp(name, "--json") == 0) o.json = value;
        if (strcmp(name, "--largest") == 0) o.largest = atoi(value);
        if (strcmp(name, "--subtrees") == 0) o.subtrees = atoi(value);
        if (strcmp(name, "--volume") == 0) o.volume = atoi(value);
    }
    char text[256];
    if (bench_no_device()) return 0;
    csrec_cuda_describe(0, text, sizeof text);
    bench_json json = bench_json_open(o.json);
    bench_json_text(&json, "device", text);
    measure_pursuits(&json, &o);
    measure_engines(&json);
    for (int log_n = 18; log_n <= o.subtrees; log_n += 2) measure_subtrees(&json, log_n);
    if (o.volume) measure_volume(&json, o.volume);
    bench_json_close(&json);
    return 0;
}
