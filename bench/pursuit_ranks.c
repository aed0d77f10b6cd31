/* SPDX-License-Identifier: BSD-3-Clause */
/* pursuit_ranks.c - the exact pursuit of one signal by several ranks, threads of this process,
 * beside one eager pursuit, with and without a delay of every message.
 *
 * The model. A round is one exchange, of s = ceil(log2(ranks)) messages one after another, so
 *
 *     T = work of the busiest rank + rounds s (latency + delay) + bytes a rank / bandwidth.
 *
 * "expected" checks the middle term: T without a delay, as measured, + rounds s delay. So does
 * ranks_delay.py by MPI; docs/pursuit.md says what a network adds. "nodes" is the whole with
 * processor time as work, a latency of 10 us and 1 GB/s: the time where each rank has a machine of
 * its own. Processor time leaves out waiting, so that it may be measured with more ranks than
 * cores.
 *
 *     bench_pursuit_ranks [--json FILE] [--sizes LOG2N,...] [--ranks R,...] [--delays US,...]
 *                         [--threads T] [--shares S,...] [--device cuda]
 *
 * An atom for S samples, a share for each size or the last one for all. --device cuda: the pieces
 * are on all devices of the machine, a rank each, beside one device, up to 2^28 samples, which it
 * holds; the signal has one row of 32. */
#include <math.h>
#include <pthread.h>
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
    int sizes[LIST], ranks[LIST], delays[LIST], shares[LIST]; /* log2 N; processes; microseconds;
                                                                 samples an atom. Ended by -1 */
    int threads;
} options;

typedef struct letter {
    struct letter *next;
    int from;
    double due;
    size_t bytes;
    void *data;
} letter;

typedef struct office {
    pthread_mutex_t lock;
    double delay; /* seconds */
    letter *first[RANKS], **end[RANKS];
} office;

/* idle: processor seconds between calls that found nothing. */
typedef struct desk {
    office *office;
    int rank;
    bool empty;
    double mark, idle;
} desk;

/* Of this thread, which other programs on the machine do not add to. */
static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static csrec_status post(void *context, int to, const void *data, size_t bytes,
                         csrec_error *error) {
    desk *own = context;
    letter *l = malloc(sizeof *l);
    (void)error;
    own->empty = false; /* it has worked since it last looked */
    *l = (letter){NULL, own->rank, bench_seconds() + own->office->delay, bytes, malloc(bytes)};
    memcpy(l->data, data, bytes);
    pthread_mutex_lock(&own->office->lock);
    *own->office->end[to] = l;
    own->office->end[to] = &l->next;
    pthread_mutex_unlock(&own->office->lock);
    return CSREC_OK;
}

static csrec_status fetch(void *context, int *from, void **data, size_t *bytes,
                          csrec_error *error) {
    desk *own = context;
    office *o = own->office;
    (void)error;
    *data = NULL;
    double now = cpu_seconds();
    if (own->empty) own->idle += now - own->mark;
    own->mark = now;
    pthread_mutex_lock(&o->lock);
    letter *l = o->first[own->rank];
    if (l && l->due > bench_seconds()) l = NULL;
    if (l) o->first[own->rank] = l->next;
    if (!o->first[own->rank]) o->end[own->rank] = &o->first[own->rank];
    pthread_mutex_unlock(&o->lock);
    own->empty = !l;
    if (!l) return CSREC_OK;
    *from = l->from;
    *bytes = l->bytes;
    *data = l->data;
    free(l);
    return CSREC_OK;
}

static void leave(void *context) {
    (void)context;
}

/* A run by all ranks: the slowest one's seconds; of counts, sums over ranks or those of one. */
typedef struct figures {
    double seconds, waited; /* waited: the mean over ranks */
    double cpu, cpu_mean;   /* processor seconds: of the busiest rank */
    csrec_shared_report report;
    int64_t atoms;
} figures;

typedef struct member {
    desk desk;
    int size;
    const char *device; /* NULL: the CPU */
    csrec_shared_job job;
    csrec_shared_report report;
    double seconds, cpu;
    int64_t atoms;
} member;

static void *work(void *context) {
    member *m = context;
    csrec_comm_calls calls = {.context = &m->desk,
                              .rank = m->desk.rank,
                              .size = m->size,
                              .local_rank = m->desk.rank,
                              .local_size = m->size,
                              .send = post,
                              .receive = fetch,
                              .close = leave};
    csrec_error error;
    csrec_atoms atoms = {0};
    if (m->device && csrec_context_create(m->device, &m->job.where, &error))
        bench_fail(m->device, error.text);
    if (m->size > 1 && csrec_comm_create(&calls, &m->job.comm, &error))
        bench_fail("communicator", error.text);
    m->desk.idle = 0.0;
    double start = bench_seconds(), cpu = cpu_seconds();
    if (csrec_shared_pursuit(&m->job, &atoms, NULL, &m->report, &error))
        bench_fail("pursuit", error.text);
    m->seconds = bench_seconds() - start;
    m->cpu = cpu_seconds() - cpu - m->desk.idle;
    m->atoms = atoms.n;
    csrec_atoms_clear(&atoms);
    csrec_comm_destroy(m->job.comm);
    return NULL;
}

static figures run_ranks(const csrec_shared_job *job, int ranks, double delay, const char *device) {
    static member all[RANKS];
    char name[RANKS][32];
    pthread_t thread[RANKS];
    office o = {.lock = PTHREAD_MUTEX_INITIALIZER, .delay = delay};
    figures f = {.seconds = 0.0};
    for (int k = 0; k < ranks; k++) {
        o.end[k] = &o.first[k];
        snprintf(name[k], sizeof name[k], "%s:%d", device ? device : "cpu", k);
        all[k] = (member){
            .desk = {&o, k}, .size = ranks, .job = *job, .device = device ? name[k] : NULL};
    }
    for (int k = 0; k < ranks; k++) pthread_create(&thread[k], NULL, work, &all[k]);
    for (int k = 0; k < ranks; k++) {
        pthread_join(thread[k], NULL);
        f.seconds = fmax(f.seconds, all[k].seconds);
        f.cpu = fmax(f.cpu, all[k].cpu);
        f.cpu_mean += all[k].cpu / ranks;
        f.waited += all[k].report.waited / ranks;
        f.atoms += all[k].atoms;
        if (k == 0) f.report = all[0].report;
        if (k == 0) continue;
        f.report.undone += all[k].report.undone;
        f.report.picks += all[k].report.picks;
        f.report.messages += all[k].report.messages;
        f.report.bytes += all[k].report.bytes;
    }
    pthread_mutex_destroy(&o.lock);
    return f;
}

/* As csrec_solve does it: tree, start, atoms, list. */
static figures run_one(const csrec_shared_job *job) {
    figures f = {.seconds = bench_seconds(), .cpu = cpu_seconds()};
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
    f.cpu = cpu_seconds() - f.cpu;
    return f;
}

static const double LATENCY = 1e-5, BANDWIDTH = 1e9;

/* Seconds of all messages that wait for one another. */
static double messages(const figures *f, int ranks, double latency) {
    return (double)f->report.rounds * ceil(log2((double)ranks)) * latency;
}

static double on_nodes(const figures *f, int ranks, double delay) {
    return f->cpu + messages(f, ranks, LATENCY + delay) +
           (double)f->report.bytes / ranks / BANDWIDTH;
}

static void row(bench_json *json, int log_n, int ranks, int delay, const figures *f,
                const figures *one, double expected) {
    const csrec_shared_report *r = &f->report;
    bench_json_begin(json, NULL, '{');
    bench_json_numbers(json,
                       "log2_n ranks delay_us seconds seconds_one cpu_seconds cpu_seconds_mean "
                       "cpu_seconds_one seconds_waited atoms rounds tops merged undone messages "
                       "bytes seconds_expected seconds_nodes",
                       (double[]){log_n, ranks, delay, f->seconds, one->seconds, f->cpu,
                                  f->cpu_mean, one->cpu, f->waited, r->iterations, r->rounds,
                                  r->tops, r->merged, r->undone, r->messages, r->bytes, expected,
                                  on_nodes(f, ranks, 1e-6 * delay)});
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
        double plain = 0.0;
        for (int d = 0; o->delays[d] >= 0 && (d == 0 || o->ranks[k] > 1); d++) {
            double delay = 1e-6 * o->delays[d];
            figures f = run_ranks(&job, o->ranks[k], delay, NULL);
            check_equal(&one, &f);
            if (d == 0) plain = f.seconds - messages(&f, o->ranks[k], delay);
            row(json, log_n, o->ranks[k], o->delays[d], &f, &one,
                plain + messages(&f, o->ranks[k], delay));
        }
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
    figures f = run_ranks(&job, devices, 0.0, device);
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
                 .delays = {0, -1},
                 .shares = {4, -1},
                 .threads = 1};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--json")) o.json = value;
        if (!strcmp(name, "--device")) o.device = value;
        if (!strcmp(name, "--sizes")) read_list(value, o.sizes);
        if (!strcmp(name, "--ranks")) read_list(value, o.ranks);
        if (!strcmp(name, "--delays")) read_list(value, o.delays);
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
