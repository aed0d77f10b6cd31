/* SPDX-License-Identifier: BSD-3-Clause */
/* test_threads.c - any number of threads is taken, whatever can be started, also in forked
 * children, with the same bits. */
#define _DEFAULT_SOURCE /* setresuid */
#include "rows.h"
#include "samples.h"

#include <cblas.h>
#include <sys/resource.h>

#include "base/threads.h"

enum { EDGE = 48, ENTRIES = EDGE * EDGE, ROWS = 300, SHORT = 280, LONG = 700, SECONDS = 300 };

/* Exit code of a run under a limit that ended with CSREC_MEMORY. */
enum { REFUSED = 75 };
static bool limited;

static void check_status(csrec_status status, const csrec_error *error) {
    if (limited && status == CSREC_MEMORY && error->text[0]) _exit(REFUSED);
    if (status) fail_msg("%s", error->text);
}

/* Gives the recoveries, a product of matrices and learned components, one after another. */
typedef struct results {
    double gaussian[ENTRIES], grids[ENTRIES], dct[ENTRIES], residual[40 * ROWS];
    double covariance[4 * SHORT], gram[4 * LONG];
} results;

static void recover(uint64_t seed, const char *solver, const char *basis, int threads, double *to) {
    csrec_shape shape = {2, {EDGE, EDGE}};
    csrec_error error;
    CLEARED(csrec_measurement) m = draw_places(&shape, 1, CSREC_PATTERN_UNIFORM, ENTRIES / 3, seed);
    m.scale[1] = 255.0;
    for (int64_t k = 0; k < m.n; k++)
        m.y[k] = 100.0 + (double)(m.index[k] % 7 * 9) + check_uniform(&seed);
    csrec_recover_options o = options_on_cpu(NULL, NULL);
    o.solve.solver = solver;
    o.basis = basis;
    o.threads = threads;
    if (!solver) o.shifts = 5;
    check_status(csrec_recover(&m, &o, to, NULL, NULL, &error), &error);
}

static void solve_many(uint64_t seed, int threads, double *r) {
    enum { N = 400, COUNT = 40 };
    double *matrix = kept_normals(&seed, ROWS * N), *y = kept_normals(&seed, COUNT * ROWS);
    csrec_operator_spec spec = {.name = "dense", .m = ROWS, .n = N, .matrix = matrix};
    ENDS_BY(end_operator) csrec_operator *A;
    csrec_error error;
    check_status(csrec_operator_create(&spec, &A, &error), &error);
    csrec_solve_options o = {.solver = "omp", .stop = {.atoms = 60}};
    check_status(csrec_solve_many(A, COUNT, y, &o, threads, NULL, r, NULL, &error), &error);
}

/* Threads of this process. */
static int threads_now(void) {
    char line[256];
    int n = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "Threads: %d", &n);
    if (file) fclose(file);
    return n;
}

/* One right-hand side, or little work, is solved on the calling thread. */
static void run_little(uint64_t seed) {
    double *matrix = kept_normals(&seed, 20 * 30), *y = kept_normals(&seed, 3 * 20);
    double r[3 * 20];
    csrec_operator_spec spec = {.name = "dense", .m = 20, .n = 30, .matrix = matrix};
    csrec_operator *A;
    csrec_error error;
    check_status(csrec_operator_create(&spec, &A, &error), &error);
    csrec_solve_options o = {.solver = "omp", .stop = {.atoms = 5}};
    const int before = threads_now();
    for (int64_t count = 1; count <= 3; count += 2)
        check_status(csrec_solve_many(A, count, y, &o, 4, NULL, r, NULL, &error), &error);
    csrec_operator_destroy(A);
    if (before == 0 || threads_now() != before)
        fail_msg("%d threads, then %d", before, threads_now());
}

/* From the covariance where rows are shorter than there are rows, else from the Gram matrix. */
static void learn(uint64_t seed, int threads, int64_t length, double *components) {
    OWNED float *X = malloc((size_t)(ROWS * length) * sizeof *X);
    for (int64_t i = 0; i < ROWS * length; i++) X[i] = (float)check_normal(&seed);
    csrec_data data = {ROWS, length, read_source, &(source){.X = X, .m = ROWS, .n = length}};
    csrec_learn_options o = {.components = 4, .threads = threads, .backend = "cpu"};
    ENDS_BY(end_model) csrec_model *model;
    csrec_error error;
    check_status(csrec_pca_learn(&data, &o, &model, NULL, &error), &error);
    const csrec_array *found = csrec_model_array(model, "components");
    for (int64_t i = 0; i < 4 * length; i++) components[i] = csrec_array_value(found, i);
}

static void run(uint64_t seed, int threads, results *to) {
    recover(seed, "gaussian", NULL, threads, to->gaussian);
    recover(seed, NULL, NULL, threads, to->grids);
    recover(seed, "threshold", "dct", threads, to->dct);
    solve_many(seed, threads, to->residual);
    learn(seed, threads, SHORT, to->covariance);
    learn(seed, threads, LONG, to->gram);
}

static uint64_t seed;

/* The first test: no call is there yet. */
TEST(little_work_starts_no_team) {
    run_little(seed);
}

TEST(any_number_of_threads_gives_the_same_bits) {
    static const int numbers[] = {0, 2, 3, 7, 10000};
    OWNED results *wanted = malloc(sizeof *wanted), *found = malloc(sizeof *found);
    run(seed, 1, wanted);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (sanitized_leaves()) continue;
        run(seed, numbers[k], found);
        if (memcmp(wanted, found, sizeof *wanted)) fail_msg("%d threads differ", numbers[k]);
    }
}

TEST(numbers_are_bounded) {
    assert_int_equal(csrec_threads_wanted(1), 1);
    assert_int_equal(csrec_threads_wanted(64), 64);
    assert_true(csrec_threads_wanted(1 << 30) <= 4 * sysconf(_SC_NPROCESSORS_CONF) + 64);
    assert_int_equal(csrec_threads(7), 7);
    int inside = 0;
#pragma omp parallel num_threads(2) reduction(max : inside)
    inside = csrec_threads(7);
    assert_int_equal(inside, 1);
}

/* Nor does the number that linear algebra has for itself, which stays as it was. */
TEST(threads_of_openblas_do_not_matter) {
    static const int numbers[] = {2, 3, 7};
    OWNED results *wanted = malloc(sizeof *wanted), *found = malloc(sizeof *found);
    int before = openblas_get_num_threads();
    openblas_set_num_threads(1);
    run(seed, 1, wanted);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        openblas_set_num_threads(numbers[k]);
        run(seed, 2, found);
        assert_int_equal(openblas_get_num_threads(), numbers[k]);
        if (memcmp(wanted, found, sizeof *wanted)) fail_msg("%d threads differ", numbers[k]);
    }
    openblas_set_num_threads(before);
}

/* OpenMP's and the linear algebra's threads do not come along. */
TEST(forked_children_work) {
    OWNED results *wanted = malloc(sizeof *wanted), *found = malloc(sizeof *found);
    run(seed, 3, wanted);
    for (int k = 0; k < 3; k++) {
        const pid_t child = check_fork();
        if (child == 0) {
            alarm(SECONDS);
            run(seed, k, found);
            _exit(memcmp(wanted, found, sizeof *wanted) ? 1 : csrec_threads(5) != 1);
        }
        assert_int_equal(check_ended(child), 0);
    }
}

static const char *program;

/* This program again, with less of a resource: all that `run` runs succeeds, or is refused for lack
 * of memory where that may be. OpenMP ends no process, and nothing waits for ever. */
static void limit(const char *resource, const char *amount, bool may_refuse) {
    const char *text = check_print("%llu", (unsigned long long)seed);
    const pid_t child = check_fork();
    if (child == 0) {
        execl(program, program, resource, amount, text, (char *)NULL);
        _exit(127);
    }
    const int code = check_ended(child);
    if (code && !(may_refuse && code == REFUSED))
        fail_msg("%s %s: exit code %d", resource, amount, code);
}

/* Bytes of address space that this program has: with CUDA linked in, more than without. */
static rlim_t mapped(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu", &pages) != 1) _exit(3);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int run_limited(char **argv) {
    bool threads = strcmp(argv[1], "threads") == 0;
    rlim_t most = strtoul(argv[2], NULL, 10) + (threads ? 0 : mapped());
    struct rlimit to = {most, most};
    OWNED results *found = malloc(sizeof *found);
    alarm(SECONDS);
    limited = true;
    /* The limit on threads does not bind the superuser. */
    if (threads && geteuid() == 0 && (setgid(65534) || setuid(65534))) return 77;
    if (setrlimit(threads ? RLIMIT_NPROC : RLIMIT_AS, &to)) return 2;
    run(strtoull(argv[3], NULL, 10), 10000, found);
    run(strtoull(argv[3], NULL, 10), 0, found);
    return 0;
}

TEST(few_threads_to_be_had_are_enough) {
    if (SANITIZED) skip();
    limit("threads", "1", false);
    limit("threads", "20", false);
}

/* Bytes of address space beside what is mapped at the start: with stacks of 8 MiB some of the
 * threads asked for fit, or none. */
TEST(little_memory_is_enough) {
    if (SANITIZED) skip();
    limit("memory", "350000000", true);
    limit("memory", "750000000", true);
    limit("memory", "2750000000", false);
}

int main(int argc, char **argv) {
    if (argc == 4) return run_limited(argv);
    program = argv[0];
    seed = check_seed();
    return check_run();
}
