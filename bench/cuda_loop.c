/* cuda_loop.c - pursuits on the device: an atom of the speculative pursuit and an iteration of the
 * reference pursuit, both against one CPU core in the same run; and a volume of 2^30 entries. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device.h"
#include "haar/eager.h"
#include "haar/pursuit.h"
#include "kernels/haar/reference.h"
#include "kernels/haar/speculate.h"
#include "problem.h"

typedef struct options {
    const char *json, *image;
    int largest;  /* log2 of the largest N of the table */
    int subtrees; /* and of the comparison of subtree sizes; 0: none */
    int volume;   /* log2 of the side of the volume; 0: none */
    double share; /* atoms a sample of the volume */
    int subtree;  /* of the volume; 0: the default */
    bool cpu;
} options;

typedef struct figures {
    double speculative_us, cpu_us, reference_us, reference_cpu_us; /* an iteration */
    int64_t atoms;
    csrec_speculate_report report;
    bool same; /* atoms and residual of the speculative pursuit equal the CPU's */
} figures;

static uint64_t hash_atoms(const csrec_atoms *atoms, double residual) {
    uint64_t h = 0, bits;
    memcpy(&bits, &residual, sizeof bits);
    for (int64_t i = 0; i < atoms->n; i++) {
        uint64_t c;
        memcpy(&c, &atoms->coefficient[i], sizeof c);
        h = (h ^ atoms->column[i] ^ (c << 1 | c >> 63)) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    return h ^ bits;
}

/* The shortest pursuit of a few; the atoms of the last. */
static uint64_t solve(const bench_problem *p, const csrec_speculate_options *o, int repeats,
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
        if (csrec_speculate_solve(&q, o, &atoms, &report, &error))
            bench_fail("pursuit", error.text);
        hash = hash_atoms(&atoms, report.solve.residual);
        csrec_atoms_clear(&atoms);
        if (k == 0 || report.pursuit_ms < best->pursuit_ms) *best = report;
    }
    return hash;
}

static double solve_cpu(const bench_problem *p, int64_t atoms, uint64_t *hash) {
    csrec_tree tree;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, CSREC_COLUMNS_TWO_SIDED, &tree),
                "tree");
    void *state;
    bench_check(csrec_pursuit_eager.create(&tree, p->y, &state), "pursuit");
    double start = 0.0, begin = bench_seconds();
    for (int64_t j = 0; j < p->n; j++) start += p->y[j] * p->y[j];
    for (int64_t k = 0; k < atoms; k++) {
        csrec_pursuit_eager.select(state);
        if (!csrec_pursuit_eager.update(state)) break;
    }
    double seconds = bench_seconds() - begin;
    csrec_atoms found;
    bench_check(csrec_pursuit_eager.result(state, p->y, &found, NULL), "atoms");
    *hash = hash_atoms(&found, sqrt(csrec_pursuit_eager.energy(state) / start));
    csrec_atoms_clear(&found);
    csrec_pursuit_eager.destroy(state);
    csrec_tree_clear(&tree);
    return seconds;
}

/* Seconds an iteration, the first left out. */
static double iterate(const csrec_pursuit_type *type, const bench_problem *p, int iterations) {
    csrec_tree tree;
    void *state;
    bench_check(csrec_tree_create(p->levels, p->n, p->rows, CSREC_COLUMNS_TWO_SIDED, &tree),
                "tree");
    bench_check(type->create(&tree, p->y, &state), "reference pursuit");
    double begin = 0.0;
    for (int k = 0; k <= iterations; k++) {
        if (k == 1) begin = bench_seconds();
        if (type->select(state) < 0.0 || !type->update(state))
            bench_fail("reference pursuit", "failed");
    }
    double seconds = bench_seconds() - begin;
    type->destroy(state);
    csrec_tree_clear(&tree);
    return seconds / iterations;
}

static void write_row(bench_json *json, const char *signal, const bench_problem *p,
                      const figures *f) {
    const csrec_speculate_report *r = &f->report;
    printf("%-10s %5.1f | %8.3f %8lld %8lld %8lld | %8.3f %7.1f | %9.1f %9.0f | %s\n", signal,
           log2((double)p->n), f->speculative_us, (long long)r->rounds, (long long)r->top,
           (long long)r->undone, f->cpu_us, f->cpu_us / f->speculative_us, f->reference_us,
           f->reference_cpu_us, f->same ? "equal" : "DIFFERENT");
    fflush(stdout);
    bench_json_begin(json, NULL, '{');
    bench_json_text(json, "signal", signal);
    bench_json_integer(json, "n", p->n);
    bench_json_integer(json, "levels", p->levels);
    bench_json_number(json, "speculative_atom_us", f->speculative_us);
    bench_json_integer(json, "speculative_atoms", r->solve.iterations);
    bench_json_integer(json, "rounds", r->rounds);
    bench_json_integer(json, "picks_above_the_subtrees", r->top);
    bench_json_integer(json, "picks_taken_back", r->undone);
    bench_json_number(json, "build_ms", r->build_ms);
    bench_json_number(json, "result_ms", r->result_ms);
    bench_json_number(json, "cpu_atom_us", f->cpu_us);
    bench_json_number(json, "reference_iteration_us", f->reference_us);
    bench_json_number(json, "reference_cpu_iteration_us", f->reference_cpu_us);
    bench_json_bool(json, "equal_to_cpu", f->same);
    bench_json_end(json, '}');
}

static void measure(bench_json *json, const char *signal, const bench_problem *p,
                    const options *o) {
    figures f = {.atoms = p->n / 4, .cpu_us = NAN, .reference_cpu_us = NAN};
    csrec_speculate_options speculate = {.stop = {.atoms = f.atoms}};
    uint64_t hash = solve(p, &speculate, 2, &f.report), expected = hash;
    f.speculative_us = f.report.pursuit_ms * 1e3 / (double)f.report.solve.iterations;
    if (o->cpu) f.cpu_us = solve_cpu(p, f.atoms, &expected) * 1e6 / (double)f.atoms;
    f.same = hash == expected;
    f.reference_us = iterate(&csrec_cuda_pursuit_reference, p, 200) * 1e6;
    if (o->cpu) f.reference_cpu_us = iterate(&csrec_pursuit_reference, p, 3) * 1e6;
    write_row(json, signal, p, &f);
}

/* Subtree sizes side by side: how the default was chosen. */
static void measure_subtrees(bench_json *json, const bench_problem *p) {
    printf("subtree: us an atom, rounds, picks taken back (N = %lld)\n", (long long)p->n);
    char name[32];
    snprintf(name, sizeof name, "subtrees_%lld", (long long)p->n);
    bench_json_begin(json, name, '[');
    for (int32_t size = 1024; size <= 16384; size *= 2) {
        csrec_speculate_options o = {.subtree = size, .stop = {.atoms = p->n / 4}};
        csrec_speculate_report r;
        solve(p, &o, 2, &r);
        double us = r.pursuit_ms * 1e3 / (double)r.solve.iterations;
        printf("  %5d %8.3f %8lld %8lld\n", size, us, (long long)r.rounds, (long long)r.undone);
        bench_json_begin(json, NULL, '{');
        bench_json_integer(json, "samples", size);
        bench_json_number(json, "atom_us", us);
        bench_json_integer(json, "rounds", r.rounds);
        bench_json_end(json, '}');
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

static void measure_volume(bench_json *json, const options *o) {
    double begin = bench_seconds();
    bench_problem p = volume(o->volume);
    double made = bench_seconds();
    int64_t atoms = (int64_t)(o->share * (double)p.n);
    csrec_speculate_options speculate = {.subtree = o->subtree,
                                         .stop = {.atoms = atoms, .epsilon = 1e-9}};
    csrec_speculate_problem q = {
        .levels = p.levels, .n = p.n, .rows = p.rows, .y = p.y, .columns = CSREC_COLUMNS_TWO_SIDED};
    csrec_speculate_report r;
    csrec_error error;
    csrec_atoms found;
    double start = bench_seconds();
    if (csrec_speculate_solve(&q, &speculate, &found, &r, &error)) bench_fail("volume", error.text);
    double seconds = bench_seconds() - start;
    printf("volume: M = 2^%d, N = %lld, made in %.1f s: %lld atoms, residual %.5f, %.2f s in all\n"
           "  upload and tree %.2f s, pursuit %.2f s, result %.2f s; device memory %.2f GiB; "
           "%lld rounds, %lld above the subtrees, %lld taken back, %lld subtrees\n",
           p.levels, (long long)p.n, made - begin, (long long)r.solve.iterations, r.solve.residual,
           seconds, r.build_ms * 1e-3, r.pursuit_ms * 1e-3, r.result_ms * 1e-3,
           (double)r.bytes / (1 << 30), (long long)r.rounds, (long long)r.top, (long long)r.undone,
           (long long)r.subtrees);
    bench_json_begin(json, "volume", '{');
    bench_json_integer(json, "levels", p.levels);
    bench_json_integer(json, "n", p.n);
    bench_json_integer(json, "atoms", r.solve.iterations);
    bench_json_number(json, "residual", r.solve.residual);
    bench_json_number(json, "seconds", seconds);
    bench_json_number(json, "build_seconds", r.build_ms * 1e-3);
    bench_json_number(json, "pursuit_seconds", r.pursuit_ms * 1e-3);
    bench_json_number(json, "result_seconds", r.result_ms * 1e-3);
    bench_json_integer(json, "device_bytes", (int64_t)r.bytes);
    bench_json_integer(json, "rounds", r.rounds);
    bench_json_end(json, '}');
    csrec_atoms_clear(&found);
    bench_problem_destroy(&p);
}

static void measure_table(bench_json *json, const options *o) {
    printf("%-10s %5s | %8s %8s %8s %8s | %8s %7s | %9s %9s | us an atom, an iteration\n", "signal",
           "N", "one", "rounds", "top", "undone", "CPU", "faster", "reference", "on CPU");
    bench_json_begin(json, "pursuits", '[');
    for (int log_n = 12; log_n <= o->largest; log_n += 2)
        for (int signal = log_n == 18 ? 0 : BENCH_PICTURE; signal < BENCH_SIGNALS; signal++) {
            bench_problem p =
                bench_problem_create((bench_signal)signal, log_n + 2, INT64_C(1) << log_n, 1);
            measure(json, bench_signal_names[signal], &p, o);
            bench_problem_destroy(&p);
        }
    if (o->image) {
        bench_problem p = bench_problem_image(o->image, 1);
        measure(json, "image", &p, o);
        bench_problem_destroy(&p);
    }
    bench_json_end(json, ']');
}

static options parse(int count, char **arguments) {
    options o = {"cuda_loop.json", NULL, 22, 0, 0, 1.0 / 64.0, 0, true};
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(name, "--no-cpu") == 0) {
            o.cpu = false;
            continue;
        }
        if (!value) bench_fail(name, "needs a value");
        i++;
        if (strcmp(name, "--json") == 0)
            o.json = value;
        else if (strcmp(name, "--image") == 0)
            o.image = value;
        else if (strcmp(name, "--largest") == 0)
            o.largest = atoi(value);
        else if (strcmp(name, "--subtrees") == 0)
            o.subtrees = atoi(value);
        else if (strcmp(name, "--subtree") == 0)
            o.subtree = atoi(value);
        else if (strcmp(name, "--volume") == 0)
            o.volume = atoi(value);
        else if (strcmp(name, "--share") == 0)
            o.share = atof(value);
        else
            bench_fail(name, "unknown; --json, --image, --largest LOG2N, --subtrees LOG2N, "
                             "--volume LOG2SIDE, --subtree, --share, "
                             "--no-cpu");
    }
    return o;
}

int main(int count, char **arguments) {
    options o = parse(count, arguments);
    char text[256];
    if (bench_no_device()) return 0;
    csrec_cuda_describe(0, text, sizeof text);
    printf("%s\n", text);
    bench_json json = bench_json_open(o.json);
    bench_json_text(&json, "device", text);
    measure_table(&json, &o);
    for (int log_n = 18; log_n <= o.subtrees; log_n += 2) {
        bench_problem p = bench_problem_create(BENCH_PICTURE, log_n + 2, INT64_C(1) << log_n, 1);
        measure_subtrees(&json, &p);
        bench_problem_destroy(&p);
    }
    if (o.volume) measure_volume(&json, &o);
    bench_json_close(&json);
    return 0;
}
