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
 * cores. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "haar/shared.h"
#include "problem.h"

enum { RANKS = 64, LIST = 8 };

typedef struct options {
    const char *json;
    int sizes[LIST], ranks[LIST], delays[LIST]; /* log2 N; processes; microseconds. Ended by -1 */
    int threads;
    bench_signal signal;
    int64_t most, log, few, batch, share; /* one atom for `share` samples */
    csrec_columns columns;
} options;

/* ------------------------------------------------------------------ messages with a delay ----- */

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

/* ------------------------------------------------------------------ runs ---------------------- */

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

static figures run_ranks(const csrec_shared_job *job, int ranks, double delay) {
    static member all[RANKS];
    pthread_t thread[RANKS];
    office o = {.lock = PTHREAD_MUTEX_INITIALIZER, .delay = delay};
    figures f = {.seconds = 0.0};
    for (int k = 0; k < ranks; k++) {
        o.end[k] = &o.first[k];
        all[k] = (member){.desk = {&o, k}, .size = ranks, .job = *job};
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

/* ------------------------------------------------------------------ the model ----------------- */

static const double LATENCY = 1e-5, BANDWIDTH = 1e9;

/* Seconds of all messages that wait for one another. */
static double messages(const figures *f, int ranks, double latency) {
    return (double)f->report.rounds * ceil(log2((double)ranks)) * latency;
}

static double on_nodes(const figures *f, int ranks, double delay) {
    return f->cpu + messages(f, ranks, LATENCY + delay) +
           (double)f->report.bytes / ranks / BANDWIDTH;
}

/* ------------------------------------------------------------------ output -------------------- */

static void print_head(void) {
    printf("\n%5s %5s %6s | %8s %8s %7s %9s | %6s %5s %6s %7s %7s | %8s %8s | %8s %8s %7s\n", "N",
           "ranks", "delay", "seconds", "cpu", "faster", "imbalance", "rounds", "tops", "merged",
           "undone", "waited", "messages", "bytes", "expected", "nodes", "faster");
    printf("%5s %5s %6s | %8s %8s %7s %9s | %6s %5s %6s %7s %7s | %8s %8s | %8s %8s %7s\n", "log2",
           "", "us", "", "s", "by cpu", "", "", "", "", "share", "share", "an atom", "an atom", "s",
           "s", "");
}

static void row(bench_json *json, int log_n, int ranks, int delay, const figures *f,
                const figures *one, double expected) {
    const csrec_shared_report *r = &f->report;
    double atoms = (double)r->iterations, nodes = on_nodes(f, ranks, 1e-6 * delay);
    printf("%5d %5d %6d | %8.3f %8.3f %7.2f %9.3f | %6lld %5lld %6lld %7.3f %7.3f | %8.5f %8.3f | "
           "%8.3f %8.3f %7.2f\n",
           log_n, ranks, delay, f->seconds, f->cpu, one->cpu / f->cpu, f->cpu / f->cpu_mean,
           (long long)r->rounds, (long long)r->tops, (long long)r->merged,
           (double)r->undone / atoms, f->waited / f->seconds, (double)r->messages / atoms,
           (double)r->bytes / atoms, expected, nodes, one->cpu / nodes);
    fflush(stdout);
    bench_json_begin(json, NULL, '{');
    bench_json_integer(json, "log2_n", log_n);
    bench_json_integer(json, "ranks", ranks);
    bench_json_integer(json, "delay_us", delay);
    bench_json_number(json, "seconds", f->seconds);
    bench_json_number(json, "seconds_one", one->seconds);
    bench_json_number(json, "cpu_seconds", f->cpu);
    bench_json_number(json, "cpu_seconds_mean", f->cpu_mean);
    bench_json_number(json, "cpu_seconds_one", one->cpu);
    bench_json_number(json, "seconds_waited", f->waited);
    bench_json_integer(json, "atoms", r->iterations);
    bench_json_integer(json, "rounds", r->rounds);
    bench_json_integer(json, "tops", r->tops);
    bench_json_integer(json, "merged", r->merged);
    bench_json_integer(json, "undone", r->undone);
    bench_json_integer(json, "messages", r->messages);
    bench_json_integer(json, "bytes", r->bytes);
    bench_json_number(json, "seconds_expected", expected);
    bench_json_number(json, "seconds_nodes", nodes);
    bench_json_end(json, '}');
}

static void check_equal(const figures *one, const figures *f) {
    if (one->report.iterations != f->report.iterations || one->report.energy != f->report.energy ||
        one->atoms != f->atoms)
        bench_fail("ranks", "the results differ from those of one process");
}

static void one_size(bench_json *json, const options *o, int log_n) {
    int64_t n = INT64_C(1) << log_n;
    bench_problem p = bench_problem_create(o->signal, log_n + 2, n, 1);
    for (int64_t j = 0; j < n && o->signal == BENCH_PICTURE; j++)
        p.y[j] += 16.0 * (csrec_random_uniform(2, 1, (uint64_t)j) - 0.5);
    csrec_shared_job job = {.levels = p.levels,
                            .n = n,
                            .rows = p.rows,
                            .y = p.y,
                            .columns = o->columns,
                            .limit = n / o->share,
                            .threads = o->threads,
                            .most = o->most,
                            .log = o->log,
                            .few = o->few,
                            .batch = o->batch};
    figures one = run_one(&job);
    printf("%5d %5s %6s | %8.3f %8.3f  (%lld atoms, %.0f ns each)\n", log_n, "one", "", one.seconds,
           one.cpu, (long long)one.report.iterations,
           1e9 * one.cpu / (double)one.report.iterations);
    for (int k = 0; o->ranks[k] >= 0; k++) {
        double plain = 0.0;
        for (int d = 0; o->delays[d] >= 0 && (d == 0 || o->ranks[k] > 1); d++) {
            double delay = 1e-6 * o->delays[d];
            figures f = run_ranks(&job, o->ranks[k], delay);
            check_equal(&one, &f);
            if (d == 0) plain = f.seconds - messages(&f, o->ranks[k], delay);
            row(json, log_n, o->ranks[k], o->delays[d], &f, &one,
                plain + messages(&f, o->ranks[k], delay));
        }
    }
    bench_problem_destroy(&p);
}

static void read_list(const char *text, int *list) {
    int n = 0;
    for (char *end; *text && n < LIST - 1; text = *end ? end + 1 : end)
        list[n++] = (int)strtol(text, &end, 10);
    list[n] = -1;
}

int main(int argc, char **argv) {
    options o = {.json = "pursuit_ranks.json",
                 .sizes = {20, 22, 24, -1},
                 .ranks = {1, 2, 4, -1},
                 .delays = {0, -1},
                 .threads = 1,
                 .signal = BENCH_PICTURE,
                 .share = 4};
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--json")) o.json = value;
        if (!strcmp(name, "--sizes")) read_list(value, o.sizes);
        if (!strcmp(name, "--ranks")) read_list(value, o.ranks);
        if (!strcmp(name, "--delays")) read_list(value, o.delays);
        if (!strcmp(name, "--threads")) o.threads = atoi(value);
        if (!strcmp(name, "--signal")) o.signal = (bench_signal)atoi(value);
        if (!strcmp(name, "--most")) o.most = atoll(value);
        if (!strcmp(name, "--log")) o.log = atoll(value);
        if (!strcmp(name, "--few")) o.few = atoll(value);
        if (!strcmp(name, "--batch")) o.batch = atoll(value);
        if (!strcmp(name, "--share")) o.share = atoll(value);
        if (!strcmp(name, "--columns")) o.columns = (csrec_columns)atoi(value);
    }
    bench_machine_print();
    bench_json json = bench_json_open(o.json);
    bench_json_begin(&json, "runs", '[');
    print_head();
    for (int k = 0; o.sizes[k] >= 0; k++) one_size(&json, &o, o.sizes[k]);
    bench_json_end(&json, ']');
    bench_json_close(&json);
    return 0;
}
