/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_recover.c - whole recoveries on the device, by every engine, against the CPU: signals,
 * coefficients and reports to the bit; what is chosen when; memory that is short. */
#include <string.h>

#include "kernels/method/grids/engine.h"
#include "cuda_check.h"
#include "kernels/device/pipe.h"
#include "method.h"

SEED(seed);

static csrec_measurement draw_measurement(const csrec_shape *shape, int64_t channels,
                                          int64_t one_in) {
    csrec_measurement m = {.shape = *shape, .channels = channels, .dtype = CSREC_F64};
    int64_t entries;
    assert_ok(csrec_shape_count(&m.shape, &entries));
    m.index = malloc((size_t)entries * sizeof *m.index);
    for (int64_t i = 0; i < entries; i++)
        if (i == 0 || check_below(&seed, one_in) == 0) m.index[m.n++] = i;
    for (int64_t k = m.n - 1; k > 0; k--) {
        int64_t other = check_below(&seed, k + 1), index = m.index[k];
        m.index[k] = m.index[other];
        m.index[other] = index;
    }
    m.y = malloc((size_t)(m.n * channels) * sizeof *m.y);
    int kind = (int)check_below(&seed, 6);
    for (int64_t k = 0; k < m.n * channels; k++)
        m.y[k] = draw_value(&seed, kind, m.index[k / channels]);
    return m;
}

static void drop(csrec_measurement *m) {
    free(m->index);
    free(m->y);
}

/* Results of one recovery. */
typedef struct found {
    double *signal;
    csrec_atoms *atoms; /* of one grid; else NULL */
    csrec_recover_report report;
    csrec_error error;
} found;

static found found_create(const csrec_measurement *m, const csrec_recover_options *options) {
    int64_t entries;
    assert_ok(csrec_shape_count(&m->shape, &entries));
    found f = {.signal = malloc((size_t)(entries * m->channels) * sizeof *f.signal)};
    if (options->shifts == 1) f.atoms = calloc((size_t)m->channels, sizeof *f.atoms);
    return f;
}

static void found_clear(found *f, const csrec_measurement *m) {
    for (int64_t c = 0; f->atoms && c < m->channels; c++) csrec_atoms_clear(&f->atoms[c]);
    free(f->atoms);
    free(f->signal);
}

static void assert_same_found(const csrec_measurement *m, const found *a, const found *b) {
    int64_t entries;
    assert_ok(csrec_shape_count(&m->shape, &entries));
    assert_same_bits(b->signal, a->signal, entries * m->channels);
    assert_int_equal(a->report.pursuits, b->report.pursuits);
    assert_int_equal(a->report.iterations, b->report.iterations);
    assert_int_equal(a->report.outcome, b->report.outcome);
    assert_int_equal(a->report.levels, b->report.levels);
    assert_true(a->report.residual == b->report.residual);
    for (int64_t c = 0; a->atoms && c < m->channels; c++)
        assert_same_atoms(&a->atoms[c], &b->atoms[c]);
}

static csrec_status run_by(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                           const csrec_recover_options *options, double *signal, csrec_atoms *atoms,
                           csrec_recover_report *report, csrec_error *error) {
    const csrec_recovery recovery = {.measurement = m,
                                     .options = options,
                                     .context = cuda_context(),
                                     .signal = signal,
                                     .atoms = atoms,
                                     .report = report};
    return csrec_cuda_recover_grids_by(engine, &recovery, error);
}

/* One engine's results against the CPU's. */
static void compare_engine(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                           const csrec_recover_options *options, const found *cpu) {
    found f = found_create(m, options);
    csrec_status status = run_by(engine, m, options, f.signal, f.atoms, &f.report, &f.error);
    if (status) print_message("%s\n", f.error.text);
    assert_ok(status);
    assert_same_found(m, cpu, &f);
    found_clear(&f, m);
}

static void compare_engines(const csrec_measurement *m, const csrec_recover_options *options) {
    found cpu = found_create(m, options);
    assert_ok(run_method(&csrec_method_grids, &csrec_context_cpu, m, options, cpu.signal, cpu.atoms,
                         &cpu.report, NULL));
    compare_engine(CSREC_CUDA_GRIDS_BATCHES, m, options, &cpu);
    if (options->solve.stop.stagnation == 0.0)
        compare_engine(CSREC_CUDA_GRIDS_SEQUENTIAL, m, options, &cpu);
    found_clear(&cpu, m);
}

static csrec_shape draw_shape(void) {
    static const int64_t sides[] = {2000, 90, 20, 9};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 4)};
    for (int a = 0; a < shape.dims; a++)
        shape.dim[a] = 1 + check_below(&seed, sides[shape.dims - 1]);
    return shape;
}

static csrec_recover_options draw_options(int64_t shifts) {
    csrec_recover_options options;
    csrec_recover_defaults(&options);
    options.order = (csrec_order)check_below(&seed, 3);
    options.columns = draw_columns(&seed);
    options.shifts = shifts;
    options.seed = check_next(&seed);
    options.solve.stop = draw_stop(&seed);
    return options;
}

static bool brief(void) {
    return getenv("CSREC_TEST_BRIEF") != NULL;
}

TEST(recovered_signals) {
    if (no_device()) skip();
    for (int k = 0; k < (brief() ? 4 : 120); k++) {
        csrec_shape shape = draw_shape();
        csrec_measurement m = draw_measurement(&shape, 1 + check_below(&seed, k % 8 ? 3 : 6), 4);
        csrec_recover_options options = draw_options(k % 2 ? 1 : 1 + check_below(&seed, 6));
        compare_engines(&m, &options);
        drop(&m);
    }
}

static void recover(const char *backend, const csrec_measurement *m, csrec_recover_options options,
                    found *f) {
    options.backend = backend;
    csrec_status status = csrec_recover(m, &options, f->signal, f->atoms, &f->report, &f->error);
    if (status) print_message("%s\n", f->error.text);
    assert_ok(status);
}

/* Through the public call, few and many signals, small and large. */
TEST(both_sides_of_the_switch) {
    if (no_device() || brief()) skip();
    static const struct {
        int64_t side, channels, shifts;
        csrec_cuda_grids_engine engine;
    } cases[] = {
        {64, 1, 1, CSREC_CUDA_GRIDS_BATCHES},      {64, 3, 4, CSREC_CUDA_GRIDS_BATCHES},
        {300, 1, 1, CSREC_CUDA_GRIDS_SEQUENTIAL},  {700, 1, 3, CSREC_CUDA_GRIDS_SEQUENTIAL},
        {700, 3, 1, CSREC_CUDA_GRIDS_SEQUENTIAL},  {700, 3, 2, CSREC_CUDA_GRIDS_BATCHES},
        {1024, 1, 1, CSREC_CUDA_GRIDS_SEQUENTIAL}, {1400, 1, 1, CSREC_CUDA_GRIDS_SEQUENTIAL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        csrec_shape shape = {2, {cases[k].side, cases[k].side}};
        csrec_measurement m = draw_measurement(&shape, cases[k].channels, 4);
        csrec_recover_options options = draw_options(cases[k].shifts);
        options.solve.stop = (csrec_stop){.atoms = m.n / 4};
        assert_int_equal(csrec_cuda_grids_choose(m.channels * options.shifts, m.n),
                         cases[k].engine);
        found a = found_create(&m, &options), b = found_create(&m, &options);
        recover("cpu", &m, options, &a);
        recover("cuda", &m, options, &b);
        assert_string_equal(b.report.backend, "cuda");
        assert_same_found(&m, &a, &b);
        found_clear(&a, &m);
        found_clear(&b, &m);
        drop(&m);
    }
}

/* --reference-pursuit with --backend cuda runs on the device, and finds what the CPU finds. */
TEST(reference_pursuits) {
    if (no_device()) skip();
    for (int k = 0; k < (brief() ? 2 : 20); k++) {
        csrec_shape shape = draw_shape();
        csrec_measurement m = draw_measurement(&shape, 1 + check_below(&seed, 3), 4);
        csrec_recover_options options = draw_options(k % 2 ? 1 : 1 + check_below(&seed, 4));
        if (options.solve.stop.atoms == 0) options.solve.stop.atoms = 1 + check_below(&seed, 60);
        found a = found_create(&m, &options), b = found_create(&m, &options);
        recover("cpu", &m, options, &a);
        options.solve.reference = true;
        recover("cuda", &m, options, &b);
        assert_string_equal(b.report.backend, "cuda");
        assert_same_found(&m, &a, &b);
        found_clear(&a, &m);
        found_clear(&b, &m);
        drop(&m);
    }
}

/* auto leaves small signals, and what the device cannot do, to the CPU. */
TEST(automatic_backend) {
    if (no_device() || brief()) skip();
    for (int k = 0; k < 3; k++) {
        csrec_shape shape = {2, {k ? 1600 : 64, k ? 1600 : 64}};
        csrec_measurement m = draw_measurement(&shape, 1, 4);
        csrec_recover_options options = draw_options(1);
        options.solve.stop = (csrec_stop){.atoms = 1000};
        if (k == 2) options.solve.solver = "omp";
        if (k == 2) options.solve.stop.atoms = 3;
        found f = found_create(&m, &options);
        recover("auto", &m, options, &f);
        assert_string_equal(f.report.backend, k == 1 ? "cuda" : "cpu");
        found_clear(&f, &m);
        drop(&m);
    }
}

/* A signal too long to write out: atoms alone. */
TEST(atoms_alone) {
    if (no_device()) skip();
    csrec_shape shape = {1, {5000}};
    csrec_measurement m = draw_measurement(&shape, 2, 2);
    m.shape.dim[0] = INT64_C(1) << 50;
    for (int64_t k = 0; k < m.n; k++) m.index[k] *= INT64_C(123456789);
    csrec_recover_options options = draw_options(1);
    options.solve.stop = (csrec_stop){.atoms = 500};
    csrec_atoms atoms[3][2];
    csrec_recover_report report;
    assert_ok(run_method(&csrec_method_grids, &csrec_context_cpu, &m, &options, NULL, atoms[0],
                         &report, NULL));
    for (int engine = CSREC_CUDA_GRIDS_BATCHES; engine <= CSREC_CUDA_GRIDS_SEQUENTIAL; engine++) {
        assert_ok(run_by((csrec_cuda_grids_engine)engine, &m, &options, NULL, atoms[engine],
                         &report, NULL));
        for (int c = 0; c < 2; c++) assert_same_atoms(&atoms[0][c], &atoms[engine][c]);
    }
    for (int k = 0; k < 6; k++) csrec_atoms_clear(&atoms[k / 2][k % 2]);
    drop(&m);
}

static bool stop_at_once(const csrec_progress *progress, void *context) {
    (void)progress;
    ++*(int *)context;
    return true;
}

TEST(interruption) {
    if (no_device() || brief()) skip();
    csrec_shape shape = {2, {1400, 1400}};
    csrec_measurement m = draw_measurement(&shape, 2, 4);
    for (int64_t k = 0; k < m.n * 2; k++) m.y[k] = check_uniform(&seed);
    csrec_recover_options options = draw_options(2);
    int calls = 0;
    options.solve.stop = (csrec_stop){0};
    options.solve.progress = stop_at_once;
    options.solve.context = &calls;
    for (int engine = CSREC_CUDA_GRIDS_BATCHES; engine <= CSREC_CUDA_GRIDS_SEQUENTIAL; engine++) {
        found f = found_create(&m, &options);
        assert_ok(run_by((csrec_cuda_grids_engine)engine, &m, &options, f.signal, NULL, &f.report,
                         &f.error));
        assert_int_equal(f.report.outcome, CSREC_INTERRUPTED);
        for (int64_t k = 0; k < 2 * 1400 * 1400; k++) assert_true(isfinite(f.signal[k]));
        found_clear(&f, &m);
    }
    assert_true(calls >= 2);
    drop(&m);
}

/* ---- memory */

static size_t free_bytes(void) {
    csrec_cuda_size size;
    assert_ok(csrec_cuda_measure(&size, NULL));
    return size.free;
}

/* Runs with no more than about `limit` bytes of the device left: the rest is taken. */
static csrec_status run_within(size_t limit, csrec_cuda_grids_engine engine,
                               const csrec_measurement *m, const csrec_recover_options *options,
                               found *f) {
    size_t had = free_bytes();
    csrec_cuda_block ballast = {.used = had > limit ? had - limit : 1};
    assert_ok(csrec_cuda_block_create(&ballast, "ballast", NULL));
    csrec_status status = run_by(engine, m, options, f->signal, f->atoms, &f->report, &f->error);
    csrec_cuda_block_destroy(&ballast);
    return status;
}

static void within(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                   const csrec_recover_options *options, size_t most, size_t surely) {
    found cpu = found_create(m, options), f = found_create(m, options);
    assert_ok(run_method(&csrec_method_grids, &csrec_context_cpu, m, options, cpu.signal, NULL,
                         &cpu.report, NULL));
    assert_ok(run_by(engine, m, options, f.signal, NULL, &f.report, NULL));
    size_t had = free_bytes(), refused = 0;
    for (size_t limit = most; limit > 4u << 20; limit = limit / 4 * 3) {
        f.error.text[0] = 0;
        csrec_status status = run_within(limit, engine, m, options, &f);
        if (status || limit >= surely) assert_int_equal(status, limit >= surely ? 0 : CSREC_MEMORY);
        if (!status) assert_same_found(m, &cpu, &f);
        if (status) {
            if (!refused++) print_message("%zu bytes: %s\n", limit, f.error.text);
            assert_non_null(strstr(f.error.text, "bytes"));
            assert_null(strchr(f.error.text, '\n'));
        }
        assert_true(free_bytes() >= had);
    }
    assert_true(refused > 0);
    found_clear(&cpu, m);
    found_clear(&f, m);
}

/* 72 signals of 2^16 samples, at least 16 bytes a sample each, 75 MB: in 64 MB only in parts. */
TEST(batches_are_cut) {
    if (no_device() || brief()) skip();
    csrec_shape shape = {2, {256, 256}};
    csrec_measurement m = draw_measurement(&shape, 3, 1);
    csrec_recover_options options = draw_options(24);
    options.solve.stop = (csrec_stop){.atoms = 300};
    assert_int_equal(m.n, 65536);
    within(CSREC_CUDA_GRIDS_BATCHES, &m, &options, 64 << 20, 48 << 20);
    drop(&m);
}

/* One signal fits or is refused with the bytes needed and had. */
TEST(one_signal_that_does_not_fit) {
    if (no_device() || brief()) skip();
    csrec_shape shape = {2, {512, 512}};
    csrec_measurement m = draw_measurement(&shape, 1, 1);
    csrec_recover_options options = draw_options(1);
    options.shifts = 2; /* no atoms are asked for */
    options.solve.stop = (csrec_stop){.atoms = 300};
    within(CSREC_CUDA_GRIDS_SEQUENTIAL, &m, &options, 256 << 20, 128 << 20);
    within(CSREC_CUDA_GRIDS_BATCHES, &m, &options, 256 << 20, 128 << 20);
    drop(&m);
}

/* Pinned buffers or not, every byte arrives; sizes about a piece and about the threshold. */
TEST(transfers) {
    if (no_device() || brief()) skip();
    const size_t sizes[] = {1, (32u << 20) - 1, 32u << 20, (72u << 20) + 5};
    csrec_cuda_pipe pipe;
    csrec_cuda_pipe_create(sizes[3], &pipe);
    csrec_cuda_block block = {.used = sizes[3]};
    assert_ok(csrec_cuda_block_create(&block, "a test", NULL));
    uint64_t *a = malloc(sizes[3] + 8), *b = malloc(sizes[3] + 8);
    for (size_t i = 0; i <= sizes[3] / 8; i++) a[i] = check_next(&seed);
    for (int k = 0; k < 4; k++) {
        memset(b, 0, sizes[k]);
        assert_ok(csrec_cuda_pipe_send(&pipe, block.base, a, sizes[k], NULL));
        assert_ok(csrec_cuda_pipe_receive(&pipe, b, block.base, sizes[k], NULL));
        assert_true(memcmp(a, b, sizes[k]) == 0);
    }
    free(a);
    free(b);
    csrec_cuda_block_destroy(&block);
    csrec_cuda_pipe_destroy(&pipe);
}
