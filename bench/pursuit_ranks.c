/* SPDX-License-Identifier: BSD-3-Clause */
/* pursuit_ranks.c - the exact pursuit of one signal by several ranks, threads of this process,
 * beside one eager pursuit. ranks_delay.py has ranks that are processes, on a network that delays
 * every message.
 *
 *     bench_pursuit_ranks [--json FILE] [--sizes LOG2N,...] [--ranks R,...] [--threads T]
 *                         [--shares S,...] [--device cuda]
 *
 * An atom for S samples, a share for each size or the last one for all. --device cuda: the pieces
 * are on all devices of the machine, a rank each, beside one device, up to 2^28 samples, which it
 * holds; the signal has one row of 32. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "haar/shared.h"
#ifdef CSREC_HAS_CUDA
#include "kernels/haar/speculate.h"
#endif

enum { RANKS = 64, LIST = 8 };

typedef struct options {
    const char *json, *device;
    int sizes[LIST], ranks[LIST],
        shares[LIST]; /* log2 N; processes; samples an atom. Ended by -1 */
    int threads;
} options;

/* A run by all ranks: the slowest one's seconds; of counts, sums over ranks or those of one. */
typedef struct figures {
    double seconds, waited; /* waited: the mean over ranks */
    csrec_shared_report report;
    int64_t atoms;
} figures;

typedef struct member {
    const char *device; /* NULL: the CPU */
    csrec_shared_job job;
    csrec_shared_report report;
    double seconds;
    int64_t atoms;
} member;

static void work(void *members, int rank, csrec_comm *comm, const csrec_error *why) {
    member *m = (member *)members + rank;
    char name[32];
    csrec_error error;
    csrec_atoms atoms = {0};
    if (!comm) bench_fail("communicator", why->text);
    snprintf(name, sizeof name, "%s:%d", m->device ? m->device : "cpu", rank);
    if (m->device && csrec_context_create(name, &m->job.where, &error))
        bench_fail(name, error.text);
    if (csrec_comm_size(comm) > 1) m->job.comm = comm;
    const double start = bench_seconds();
    if (csrec_shared_pursuit(&m->job, &atoms, NULL, &m->report, &error))
        bench_fail("pursuit", error.text);
    m->seconds = bench_seconds() - start;
    m->atoms = atoms.n;
    csrec_atoms_clear(&atoms);
}

static figures run_ranks(const csrec_shared_job *job, int ranks, const char *device) {
    static member all[RANKS];
    figures f = {.seconds = 0.0};
    for (int k = 0; k < ranks; k++) all[k] = (member){.device = device, .job = *job};
    bench_check(csrec_comm_hub_run(ranks, work, all), "ranks");
    f.report = all[0].report;
    for (int k = 0; k < ranks; k++) {
        f.seconds = fmax(f.seconds, all[k].seconds);
        f.waited += all[k].report.waited / ranks;
        f.atoms += all[k].atoms;
        if (k == 0) continue;
        f.report.undone += all[k].report.undone;
        f.report.picks += all[k].report.picks;
        f.report.messages += all[k].report.messages;
        f.report.bytes += all[k].report.bytes;
    }
    return f;
}

/* As csrec_solve does it: tree, start, atoms, list. */
static figures run_one(const csrec_shared_job *job) {
    figures f = {.seconds = bench_seconds()};
    csrec_tree tree;
    csrec_atoms atoms;
    void *p;
    bench_check(csrec_tree_create(job->levels, job->n, job->rows, job->columns, &tree), "tree");
    bench_check(csrec_pursuit_eager.create(&tree, job->y, &p), "pursuit");
    for (; f.report.iterations < job->limit; f.report.iterations++) {
        csrec_pursuit_eager.select(p);
        if (!csrec_pursuit_eager.update(p)) break;
    }
    bench_check(csrec_pursuit_eager.result(p, job->y, &atoms, NULL), "atoms");
    f.report.energy = csrec_pursuit_eager.energy(p);
    f.atoms = atoms.n;
    csrec_pursuit_eager.destroy(p);
    csrec_tree_clear(&tree);
    csrec_atoms_clear(&atoms);
    f.seconds = bench_seconds() - f.seconds;
    return f;
}

static void row(bench_json *json, int log_n, int ranks, const figures *f, const figures *one) {
    const csrec_shared_report *r = &f->report;
    bench_json_begin(json, NULL, '{');
    bench_json_numbers(json,
                       "log2_n ranks seconds seconds_one seconds_waited atoms rounds tops merged "
                       "undone messages bytes",
                       (double[]){log_n, ranks, f->seconds, one->seconds, f->waited, r->iterations,
                                  r->rounds, r->tops, r->merged, r->undone, r->messages, r->bytes});
    bench_json_end(json, '}');
}

static void check_equal(const figures *one, const figures *f) {
    if (one->report.iterations != f->report.iterations || one->report.energy != f->report.energy ||
        one->atoms != f->atoms)
        bench_fail("ranks", "the results differ from those of one process");
}

/* An atom for `share` samples. */
static csrec_shared_job job_of(const bench_problem *p, csrec_columns columns, int share,
                               int threads) {
    return (csrec_shared_job){.levels = p->levels,
                              .n = p->n,
                              .rows = p->rows,
                              .y = p->y,
                              .columns = columns,
                              .limit = p->n / share,
                              .threads = threads};
}

static void one_size(bench_json *json, const options *o, int log_n, int share) {
    bench_problem p = bench_problem_create(BENCH_PICTURE, log_n + 2, INT64_C(1) << log_n, 1);
    for (int64_t j = 0; j < p.n; j++)
        p.y[j] += 16.0 * (csrec_random_uniform(2, 1, (uint64_t)j) - 0.5);
    csrec_shared_job job = job_of(&p, CSREC_COLUMNS_PAPER, share, o->threads);
    figures one = run_one(&job);
    for (int k = 0; o->ranks[k] >= 0; k++) {
        figures f = run_ranks(&job, o->ranks[k], NULL);
        check_equal(&one, &f);
        row(json, log_n, o->ranks[k], &f, &one);
    }
    bench_problem_destroy(&p);
}

/* One row of 32 each, waves and edges with a little noise. */
static bench_problem waves(int log_n) {
    bench_problem s = {.n = INT64_C(1) << log_n, .levels = log_n + 5};
    s.rows = bench_allocate(s.n, sizeof *s.rows);
    s.y = bench_allocate(s.n, sizeof *s.y);
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

/* What one device gives: its atoms are as many. */
static double seconds_of_one(const csrec_shared_job *job, int64_t atoms) {
    double seconds = NAN;
    (void)job, (void)atoms;
#ifdef CSREC_HAS_CUDA
    csrec_speculate_problem p = {.levels = job->levels,
                                 .n = job->n,
                                 .rows = job->rows,
                                 .y = job->y,
                                 .columns = job->columns};
    csrec_speculate_options o = {.stop = {.atoms = job->limit}};
    csrec_speculate_report report;
    csrec_atoms found;
    csrec_error error;
    double start = bench_seconds();
    if (csrec_speculate_solve(&p, &o, &found, &report, &error)) bench_fail("device", error.text);
    seconds = bench_seconds() - start;
    if (found.n != atoms) bench_fail("ranks", "other atoms than those of one device");
    csrec_atoms_clear(&found);
#endif
    return seconds;
}

static void one_size_on(bench_json *json, const char *device, int devices, int log_n, int share) {
    bench_problem p = waves(log_n);
    csrec_shared_job job = job_of(&p, CSREC_COLUMNS_TWO_SIDED, share, 1);
    figures f = run_ranks(&job, devices, device);
    double squares = 0.0;
    for (int64_t j = 0; j < p.n; j++) squares += p.y[j] * p.y[j];
    bench_json_begin(json, NULL, '{');
    bench_json_numbers(json, "log2_n levels atoms ranks devices seconds rounds tops residual",
                       (double[]){log_n, p.levels, job.limit, devices, devices, f.seconds,
                                  f.report.rounds, f.report.tops, sqrt(f.report.energy / squares)});
    if (log_n <= 28) bench_json_number(json, "seconds_one", seconds_of_one(&job, f.atoms));
    bench_json_end(json, '}');
    bench_problem_destroy(&p);
}

/* As "2 NVIDIA H100 80GB HBM3". */
static void write_device(bench_json *json, int devices) {
    const char *name;
    char text[256], label[300];
    for (int i = 0; csrec_backend_info(i, &name, text, sizeof text); i++) {
        text[strcspn(text, ",")] = 0;
        snprintf(label, sizeof label, "%d %s", devices, text);
    }
    bench_json_text(json, "device", label);
}

static void read_list(const char *text, int *list) {
    int n = 0;
    for (char *end; *text && n < LIST - 1; text = *end ? end + 1 : end)
        list[n++] = (int)strtol(text, &end, 10);
    list[n] = -1;
}

static options parse(int argc, char **argv) {
    options o = {.json = "pursuit_ranks.json",
                 .sizes = {20, 22, 24, -1},
                 .ranks = {1, 2, 4, -1},
                 .shares = {4, -1},
                 .threads = 1};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--json")) o.json = value;
        if (!strcmp(name, "--device")) o.device = value;
        if (!strcmp(name, "--sizes")) read_list(value, o.sizes);
        if (!strcmp(name, "--ranks")) read_list(value, o.ranks);
        if (!strcmp(name, "--shares")) read_list(value, o.shares);
        if (!strcmp(name, "--threads")) o.threads = atoi(value);
    }
    return o;
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    int device[CSREC_DEVICES_MOST], devices = 0, share = 0;
    csrec_error error;
    if (o.device && csrec_backend_devices(o.device, device, &devices, &error)) {
        printf("SKIPPED: %s\n", error.text);
        return 0;
    }
    bench_json json = bench_json_open(o.json);
    if (o.device) write_device(&json, devices);
    bench_json_begin(&json, "runs", '[');
    for (int k = 0; o.sizes[k] >= 0; k++) {
        if (o.shares[k] >= 0 && share + 1 == k) share = k;
        if (o.device)
            one_size_on(&json, o.device, devices, o.sizes[k], o.shares[share]);
        else
            one_size(&json, &o, o.sizes[k], o.shares[share]);
    }
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
