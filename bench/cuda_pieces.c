/* cuda_pieces.c - the exact pursuit of one signal whose pieces are on all devices of the machine, a
 * rank each, beside one device: picks, coefficients and seconds; and a signal that one device
 * cannot hold. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernels/device/device.h"
#include "haar/shared.h"
#include "kernels/haar/speculate.h"
#include "base/random.h"

enum { DEVICES = 16 };

typedef struct signal {
    int64_t n;
    int levels;
    uint64_t *rows;
    double *y;
} signal;

/* One row of 32 each, waves and edges with a little noise. */
static signal make(int log_n) {
    signal s = {.n = INT64_C(1) << log_n, .levels = log_n + 5};
    s.rows = malloc((size_t)s.n * sizeof *s.rows);
    s.y = malloc((size_t)s.n * sizeof *s.y);
    if (!s.rows || !s.y) bench_fail("memory", "of the host");
#pragma omp parallel for schedule(static)
    for (int64_t j = 0; j < s.n; j++) {
        uint64_t draw = csrec_random_u64(1, 0, (uint64_t)j);
        double x = (double)j / (double)s.n;
        s.rows[j] = 32 * (uint64_t)j + (draw & 31);
        s.y[j] = 60.0 * sin(40.0 * x) + (double)((uint64_t)j * 2654435761u >> 24 & 7) * 0.2 +
                 (double)(((uint64_t)j >> 14) * 0x9E3779B97F4A7C15u >> 58) +
                 (double)(draw >> 32) * 0x1p-30;
    }
    return s;
}

typedef struct rank {
    csrec_comm_hub *hub;
    int number, devices;
    csrec_shared_job job;
    csrec_shared_report report;
    int64_t atoms;
} rank;

static void *run_rank(void *context) {
    rank *k = context;
    csrec_error error;
    csrec_atoms atoms = {0};
    char name[32];
    snprintf(name, sizeof name, "cuda:%d", k->number % k->devices);
    if (csrec_context_create(name, &k->job.where, &error)) bench_fail(name, error.text);
    if (csrec_comm_hub_join(k->hub, k->number, &k->job.comm, &error))
        bench_fail("rank", error.text);
    if (csrec_shared_pursuit(&k->job, &atoms, NULL, &k->report, &error))
        bench_fail(name, error.text);
    k->atoms = atoms.n;
    csrec_atoms_clear(&atoms);
    csrec_comm_destroy(k->job.comm);
    return NULL;
}

static rank run_ranks(const signal *s, int64_t limit, int ranks, int devices, double *seconds) {
    pthread_t thread[DEVICES];
    static rank all[DEVICES];
    csrec_comm_hub *hub;
    bench_check(csrec_comm_hub_create(ranks, &hub), "ranks");
    *seconds = bench_seconds();
    for (int k = 0; k < ranks; k++) {
        csrec_shared_job job = {.levels = s->levels,
                                .n = s->n,
                                .rows = s->rows,
                                .y = s->y,
                                .columns = CSREC_COLUMNS_TWO_SIDED,
                                .limit = limit,
                                .threads = 1};
        all[k] = (rank){.hub = hub, .number = k, .devices = devices, .job = job};
        pthread_create(&thread[k], NULL, run_rank, &all[k]);
    }
    for (int k = 0; k < ranks; k++) pthread_join(thread[k], NULL);
    *seconds = bench_seconds() - *seconds;
    csrec_comm_hub_destroy(hub);
    return all[0];
}

/* What one device gives. */
static void compare(const signal *s, int64_t limit, const rank *r, double seconds,
                    bench_json *json) {
    csrec_speculate_problem p = {.levels = s->levels,
                                 .n = s->n,
                                 .rows = s->rows,
                                 .y = s->y,
                                 .columns = CSREC_COLUMNS_TWO_SIDED};
    csrec_speculate_options o = {.stop = {.atoms = limit}};
    csrec_speculate_report one;
    csrec_atoms atoms;
    csrec_error error;
    double start = bench_seconds();
    if (csrec_speculate_solve(&p, &o, &atoms, &one, &error)) bench_fail("one device", error.text);
    double alone = bench_seconds() - start;
    bool same = atoms.n == r->atoms && one.solve.iterations == r->report.iterations;
    printf("  one device %.2f s, pursuit %.2f s; %s; %.2f times\n", alone, one.pursuit_ms * 1e-3,
           same ? "as many atoms" : "OTHER ATOMS", alone / seconds);
    bench_json_number(json, "seconds_one", alone);
    bench_json_bool(json, "same", same);
    csrec_atoms_clear(&atoms);
}

static void one_size(int log_n, int share, int ranks, int devices, bench_json *json) {
    signal s = make(log_n);
    int64_t limit = s.n / share;
    double seconds;
    rank r = run_ranks(&s, limit, ranks, devices, &seconds);
    double residual = 0.0;
    for (int64_t j = 0; j < s.n; j++) residual += s.y[j] * s.y[j];
    residual = sqrt(r.report.energy / residual);
    printf("N 2^%d, M 2^%d, %lld atoms, %d ranks on %d devices: %.2f s, waited %.2f; %lld rounds, "
           "%lld picks above pieces, %lld taken back; residual %.6f\n",
           log_n, s.levels, (long long)limit, ranks, devices, seconds, r.report.waited,
           (long long)r.report.rounds, (long long)r.report.tops, (long long)r.report.undone,
           residual);
    bench_json_begin(json, NULL, '{');
    bench_json_integer(json, "log2_n", log_n);
    bench_json_integer(json, "levels", s.levels);
    bench_json_integer(json, "atoms", limit);
    bench_json_integer(json, "ranks", ranks);
    bench_json_integer(json, "devices", devices);
    bench_json_number(json, "seconds", seconds);
    bench_json_integer(json, "rounds", r.report.rounds);
    bench_json_integer(json, "tops", r.report.tops);
    bench_json_number(json, "residual", residual);
    if (log_n <= 28) compare(&s, limit, &r, seconds, json);
    bench_json_end(json, '}');
    fflush(stdout);
    free(s.rows);
    free(s.y);
}

int main(int argc, char **argv) {
    csrec_error error;
    int devices = csrec_cuda_devices(&error), ranks = devices;
    const char *path = "cuda_pieces.json";
    if (devices < 1) bench_fail("device", error.text);
    if (argc > 1) path = argv[1];
    if (argc > 2) ranks = atoi(argv[2]);
    bench_json json = bench_json_open(path);
    bench_json_begin(&json, "pieces", '[');
    for (int k = 3; k + 1 < argc; k += 2)
        one_size(atoi(argv[k]), atoi(argv[k + 1]), ranks, devices, &json);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
