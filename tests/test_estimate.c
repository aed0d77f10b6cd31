/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of memory and time: peaks against what the kernel saw, refusals before the work. */
#include "samples.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

static uint64_t seed;

/* A synthetic picture or volume: waves and a disc. */
static csrec_measurement make(const csrec_shape *shape, int64_t channels, double rate) {
    csrec_measurement m = draw_places(shape, channels, CSREC_PATTERN_UNIFORM,
                                      (int64_t)(rate * (double)entries_in(shape)), seed);
    for (int64_t k = 0; k < m.n * channels; k++) {
        int64_t at = m.index[k / channels], last = shape->dim[shape->dims - 1];
        double x = (double)(at % last), y = (double)(at / last);
        m.y[k] = 128.0 + 60.0 * sin(0.02 * x + 0.01 * y) + 30.0 * sin(0.005 * x * y / 100.0) +
                 (fmod(x, 300.0) < 100.0 ? 40.0 : 0.0) + 5.0 * (double)(k % channels);
    }
    return m;
}

/* Bytes of a line of /proc/self/status. */
static double status_bytes(const char *name) {
    char line[256];
    double kib = 0.0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) sscanf(line + strlen(name), ": %lf", &kib);
    if (file) fclose(file);
    return kib * 1024.0;
}

typedef struct peak {
    double estimated, least, measured, seconds, took; /* least: estimated for one thread */
    csrec_status status;
    int64_t tiles;
    int threads;
} peak;

typedef struct one_case {
    const char *name;
    csrec_shape shape;
    int64_t channels;
    double rate;
    const char *method, *solver, *basis;
    csrec_setting setting;
    int64_t shifts, atoms;
    int threads;
    int preset; /* number and 1, or 0 */
    uint64_t memory;
} one_case;

static void set(const one_case *c, const csrec_measurement *m, csrec_recover_options *o) {
    csrec_recover_defaults(o);
    if (c->preset) csrec_recover_preset(c->preset - 1, m, o);
    if (c->method) o->method = c->method;
    if (c->solver) o->solve.solver = c->solver;
    if (c->basis) o->basis = c->basis;
    if (c->setting.name) use_settings(&o->solve, 1, &c->setting);
    if (c->shifts) o->shifts = c->shifts;
    o->solve.stop.atoms = c->atoms;
    o->threads = c->threads;
    o->memory = c->memory;
    o->backend = "cpu"; /* of a device nothing is estimated */
}

#define PLANE(h, w) .shape = {2, {h, w}}
#define SQUARE(n)   PLANE(n, n)
#define CUBE(n)     .shape = {3, {n, n, n}}

static const one_case cases[] = {
    {"fast 2048 5 %", SQUARE(2048), 1, 0.05, .preset = 1, .threads = 1},
    {"frames 1 x 2^21, a few steps", PLANE(1, 1 << 21), 1, 0.2, .method = "frames",
     .setting = {"steps", 2}, .threads = 1},
    {"balanced 2^16 x 1", {2, {1 << 16, 1}}, 1, 0.2, .preset = 2, .threads = 1},
    {"wavelet threshold 1 x 2^21", PLANE(1, 1 << 21), 1, 0.2, .solver = "threshold",
     .basis = "wavelet", .setting = {"steps", 2}, .threads = 1},
    {"frames 1024 10 %, 1 thread", SQUARE(1024), 1, 0.1, .method = "frames", .threads = 1},
    {"frames 2048 2 %, 1 thread", SQUARE(2048), 1, 0.02, .method = "frames", .threads = 1},
    {"frames 1024 10 %, 3 threads", SQUARE(1024), 1, 0.1, .method = "frames", .threads = 3},
    {"frames 1024 10 % colour, 2 threads", SQUARE(1024), 3, 0.1, .method = "frames", .threads = 2},
    {"balanced 768 10 %, 2 threads", SQUARE(768), 1, 0.1, .preset = 2, .threads = 2},
    {"balanced 512 10 % colour", SQUARE(512), 3, 0.1, .preset = 2, .threads = 1},
    {"gaussian quick 1024 1 %", SQUARE(1024), 1, 0.01, .solver = "gaussian",
     .setting = {"effort", 0}, .threads = 2},
    {"gaussian quick 768 colour", SQUARE(768), 3, 0.02, .solver = "gaussian",
     .setting = {"effort", 0}, .threads = 1},
    {"gaussian 90^3 quick", CUBE(90), 1, 0.02, .solver = "gaussian", .setting = {"effort", 0},
     .threads = 2},
    {"wavelet threshold 1024", SQUARE(1024), 1, 0.1, .solver = "threshold", .basis = "wavelet",
     .setting = {"steps", 5}, .threads = 1},
    {"volume threshold 96", CUBE(96), 1, 0.05, .solver = "threshold", .basis = "dct",
     .setting = {"steps", 2}, .threads = 1},
    {"grids 1024, 8 of 20 %", SQUARE(1024), 1, 0.2, .shifts = 8, .threads = 2},
    {"grid 2048 of 20 %", SQUARE(2048), 1, 0.2, .shifts = 1, .threads = 1},
    {"best 320 colour, 2 threads", SQUARE(320), 3, 0.02, .preset = 3, .threads = 2},
    {"max 200 in two steps", SQUARE(200), 1, 0.1, .method = "net", .setting = {"steps", 2},
     .threads = 2},
    {"fista on dct 1024", SQUARE(1024), 1, 0.1, .solver = "fista", .basis = "dct", .atoms = 3,
     .threads = 1},
    {"omp on dct 768", SQUARE(768), 1, 0.1, .solver = "omp", .basis = "dct", .atoms = 40,
     .threads = 1},
    {"frames 2048 2 % in tiles", SQUARE(2048), 1, 0.02, .method = "frames", .threads = 1,
     .memory = 128 << 20},
};

/* The peak that the kernel saw is that of this recovery alone. */
static peak measure(const one_case *c) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20); /* as the tools do: what is freed is given back */
#endif
    peak p = {0};
    CLEARED(csrec_measurement) m = make(&c->shape, c->channels, c->rate);
    csrec_recover_options o;
    csrec_plan plan = {0};
    const csrec_estimate *e = &plan.estimate;
    csrec_recover_report report = {0};
    const int64_t entries = entries_in(&c->shape);
    set(c, &m, &o);
    double before = status_bytes("VmRSS");
    OWNED double *signal = malloc((size_t)(entries * c->channels) * sizeof *signal);
    o.threads = 1;
    p.status = csrec_recover_plan(&m, &o, false, &plan, NULL);
    p.least = (double)e->bytes;
    o.threads = c->threads;
    if (!p.status) p.status = csrec_recover_plan(&m, &o, false, &plan, NULL);
    if (!p.status) p.status = csrec_recover(&m, &o, signal, NULL, &report, NULL);
    p.measured = status_bytes("VmHWM") - before;
    p.estimated = (double)e->bytes;
    p.seconds = e->seconds;
    p.took = report.seconds_total;
    p.tiles = report.estimate.tiles;
    p.threads = report.estimate.threads;
    return p;
}

/* In a new program: a forked child of one that has used OpenMP runs on one thread. */
static peak measure_apart(size_t row) {
    int ends[2];
    peak p = {0};
    assert_int_equal(pipe(ends), 0);
    const char *number = check_print("%zu", row), *end = check_print("%d", ends[1]);
    const char *own_seed = check_print("%llu", (unsigned long long)seed);
    const pid_t child = check_fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_estimate", number, end, own_seed, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    assert_int_equal(check_ended(child), 0);
    assert_int_equal(read(ends[0], &p, sizeof p), sizeof p);
    close(ends[0]);
    return p;
}

/* Within a fifth beyond 64 MiB: what the process has besides does not count there. Threads that
 * wait for a processor take their memory one after another, so several may take as little as one.
 * Within the memory that was given. */
static bool is_foreseen(const one_case *c, const peak *p) {
    double ratio = p->measured / p->estimated;
    bool counts = fmax(p->measured, p->estimated) > 64.0 * 1048576.0;
    bool fits = !counts || (ratio < 1.2 && p->measured > p->least / 1.2);
    if (c->memory) fits = fits && p->tiles > 1 && p->measured < (double)c->memory;
    printf("%-38s estimated %7.1f MiB, measured %7.1f (%.2f); %6.2f s, took %6.2f%s\n", c->name,
           p->estimated / 1048576.0, p->measured / 1048576.0, ratio, p->seconds, p->took,
           fits ? "" : "  <--");
    return fits;
}

TEST(peaks_are_foreseen) {
    bool good = true;
    if (SANITIZED) skip();
    for (size_t i = seed % 2; i < sizeof cases / sizeof *cases; i += 2) { /* the seed tells which */
        peak p = measure_apart(i);
        assert_ok(p.status);
        assert_int_equal(p.threads, cases[i].threads);
        good = is_foreseen(&cases[i], &p) && good;
    }
    assert_true(good);
}

int main(int argc, char **argv) {
    if (argc == 4) { /* of measure_apart */
        seed = strtoull(argv[3], NULL, 10);
        peak p = measure(&cases[(strtoull(argv[1], NULL, 10))]);
        return write((atoi(argv[2])), &p, sizeof p) == sizeof p ? 0 : 1;
    }
    seed = check_seed();
    return check_run();
}
