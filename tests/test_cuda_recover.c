/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_recover.c - whole recoveries on the device, by every engine, against the CPU: signals,
 * coefficients and reports to the bit; what is chosen when; memory that is short. */

#include "kernels/method/grids/engine.h"
#include "cuda_check.h"
#include "kernels/device/pipe.h"

SEED(seed);

/* One method by itself, on a device, in the measurement's own units. */
static csrec_status run_method(const csrec_method_type *method, const csrec_context *context,
                               const csrec_measurement *m, const csrec_recover_options *options,
                               double *signal, csrec_atoms *atoms, csrec_recover_report *report,
                               csrec_error *error) {
    csrec_recover_options own = *options;
    csrec_whole whole;
    assert_ok(csrec_whole_of(m, &whole, NULL));
    const csrec_recovery recovery = {.measurement = m,
                                     .whole = &whole,
                                     .context = context,
                                     .unit = 1.0,
                                     .signal = signal,
                                     .atoms = atoms,
                                     .report = report};
    own.method = method->info.name;
    csrec_status status = csrec_recover_within(&recovery, &own, error);
    csrec_whole_clear(&whole);
    return status;
}

static csrec_measurement draw_measurement(csrec_shape shape, int64_t channels, int64_t one_in) {
    const int64_t entries = entries_in(&shape);
    csrec_measurement m = room_for_samples(shape, channels, entries);
    for (int64_t i = 0; i < entries; i++)
        if (i == 0 || check_below(&seed, one_in) == 0) m.index[m.n++] = i;
    for (int64_t k = m.n - 1; k > 0; k--) {
        int64_t other = check_below(&seed, k + 1), index = m.index[k];
        m.index[k] = m.index[other];
        m.index[other] = index;
    }
    int kind = (int)check_below(&seed, 6);
    for (int64_t k = 0; k < m.n * channels; k++)
        m.y[k] = draw_value(&seed, kind, m.index[k / channels]);
    return m;
}

/* Results of one recovery. */
typedef struct found {
    double *signal;
    csrec_atoms *atoms; /* [channels], of one grid; else NULL */
    int64_t channels;
    csrec_recover_report report;
} found;

static found found_create(const csrec_measurement *m, const csrec_recover_options *options) {
    found f = {.signal = check_room(entries_in(&m->shape) * m->channels)};
    if (options->shifts == 1)
        f.atoms = check_keep_zeros((size_t)(f.channels = m->channels), sizeof *f.atoms);
    return f;
}

static void found_clear(found *f) {
    for (int64_t c = 0; c < f->channels; c++) csrec_atoms_clear(&f->atoms[c]);
}

static void assert_same_found(const csrec_measurement *m, const found *a, const found *b) {
    assert_same_bits(b->signal, a->signal, entries_in(&m->shape) * m->channels);
    check_same_report(&a->report, &b->report);
    for (int64_t c = 0; a->atoms && c < m->channels; c++)
        assert_same_atoms(&a->atoms[c], &b->atoms[c]);
}

static csrec_status run_by(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                           const csrec_recover_options *options, found *f, csrec_error *error) {
    const csrec_recovery recovery = {.measurement = m,
                                     .options = options,
                                     .context = cuda_context(),
                                     .signal = f->signal,
                                     .atoms = f->atoms,
                                     .report = &f->report};
    return csrec_cuda_recover_grids_by(engine, &recovery, error);
}

static void run_cpu(const csrec_measurement *m, const csrec_recover_options *options, found *f) {
    assert_ok(run_method(&csrec_method_grids, &csrec_context_cpu, m, options, f->signal, f->atoms,
                         &f->report, NULL));
}

/* One engine's results against the CPU's. */
static void compare_engine(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                           const csrec_recover_options *options, const found *cpu) {
    ENDS_BY(found_clear) found f = found_create(m, options);
    assert_well(run_by(engine, m, options, &f, &told));
    assert_same_found(m, cpu, &f);
}

static void compare_engines(const csrec_measurement *m, const csrec_recover_options *options) {
    ENDS_BY(found_clear) found cpu = found_create(m, options);
    run_cpu(m, options, &cpu);
    compare_engine(CSREC_CUDA_GRIDS_BATCHES, m, options, &cpu);
    if (options->solve.stop.stagnation == 0.0)
        compare_engine(CSREC_CUDA_GRIDS_SEQUENTIAL, m, options, &cpu);
}

static csrec_shape draw_shape(void) {
    static const int64_t sides[] = {2000, 90, 20, 9};
    csrec_shape shape = {.dims = 1 + (int)check_below(&seed, 4)};
    for (int a = 0; a < shape.dims; a++)
        shape.dim[a] = 1 + check_below(&seed, sides[shape.dims - 1]);
    return shape;
}

static csrec_recover_options draw_options(int64_t shifts) {
    csrec_recover_options options = options_by(NULL);
    options.order = (csrec_order)check_below(&seed, 3);
    options.columns = draw_columns(&seed);
    options.shifts = shifts;
    options.seed = check_next(&seed);
    options.solve.stop = draw_stop(&seed);
    return options;
}

TEST_THERE(recovered_signals, false) {
    for (int k = 0; k < (brief() ? 4 : 120); k++) {
        csrec_measurement m =
            draw_measurement(draw_shape(), 1 + check_below(&seed, k % 8 ? 3 : 6), 4);
        csrec_recover_options options = draw_options(k % 2 ? 1 : 1 + check_below(&seed, 6));
        compare_engines(&m, &options);
    }
}

static void recover(const char *backend, const csrec_measurement *m, csrec_recover_options options,
                    found *f) {
    options.backend = backend;
    assert_well(csrec_recover(m, &options, f->signal, f->atoms, &f->report, &told));
}

/* Through the public call, few and many signals, small and large. */
TEST_THERE(both_sides_of_the_switch, true) {
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
        csrec_measurement m = draw_measurement((csrec_shape){2, {cases[k].side, cases[k].side}},
                                               cases[k].channels, 4);
        csrec_recover_options options = draw_options(cases[k].shifts);
        options.solve.stop = (csrec_stop){.atoms = m.n / 4};
        assert_int_equal(csrec_cuda_grids_choose(m.channels * options.shifts, m.n),
                         cases[k].engine);
        ENDS_BY(found_clear) found a = found_create(&m, &options), b = found_create(&m, &options);
        recover("cpu", &m, options, &a);
        recover("cuda", &m, options, &b);
        assert_string_equal(b.report.backend, "cuda");
        assert_same_found(&m, &a, &b);
    }
}

TEST_THERE(reference_pursuits_are_refused, false) {
    csrec_measurement m = draw_measurement((csrec_shape){2, {20, 30}}, 1, 4);
    csrec_recover_options options = draw_options(1);
    options.solve.reference = true;
    options.backend = "cuda";
    ENDS_BY(found_clear) found f = found_create(&m, &options);
    assert_refused(csrec_recover(&m, &options, f.signal, NULL, NULL, &told), CSREC_UNSUPPORTED,
                   "with these options");
}

/* auto leaves small signals, and what the device cannot do, to the CPU. */
TEST_THERE(automatic_backend, true) {
    for (int k = 0; k < 3; k++) {
        csrec_measurement m =
            draw_measurement((csrec_shape){2, {k ? 1600 : 64, k ? 1600 : 64}}, 1, 4);
        csrec_recover_options options = draw_options(1);
        options.solve.stop = (csrec_stop){.atoms = 1000};
        if (k == 2) options.solve.solver = "omp";
        if (k == 2) options.solve.stop.atoms = 3;
        ENDS_BY(found_clear) found f = found_create(&m, &options);
        recover("auto", &m, options, &f);
        assert_string_equal(f.report.backend, k == 1 ? "cuda" : "cpu");
    }
}

/* A signal too long to write out: atoms alone. */
TEST_THERE(atoms_alone, false) {
    csrec_measurement m = draw_measurement((csrec_shape){1, {5000}}, 2, 2);
    m.shape.dim[0] = INT64_C(1) << 50;
    for (int64_t k = 0; k < m.n; k++) m.index[k] *= INT64_C(123456789);
    csrec_recover_options options = draw_options(1);
    options.solve.stop = (csrec_stop){.atoms = 500};
    csrec_atoms atoms[3][2];
    run_cpu(&m, &options, &(found){.atoms = atoms[0]});
    for (int engine = CSREC_CUDA_GRIDS_BATCHES; engine <= CSREC_CUDA_GRIDS_SEQUENTIAL; engine++) {
        assert_ok(run_by((csrec_cuda_grids_engine)engine, &m, &options,
                         &(found){.atoms = atoms[engine]}, NULL));
        for (int c = 0; c < 2; c++) assert_same_atoms(&atoms[0][c], &atoms[engine][c]);
    }
    for (int k = 0; k < 6; k++) csrec_atoms_clear(&atoms[k / 2][k % 2]);
}

TEST_THERE(interruption, true) {
    csrec_measurement m = draw_measurement((csrec_shape){2, {1400, 1400}}, 2, 4);
    for (int64_t k = 0; k < m.n * 2; k++) m.y[k] = check_uniform(&seed);
    csrec_recover_options options = draw_options(2);
    int calls = 0;
    options.solve.stop = (csrec_stop){0};
    report_to(&options.solve, stop_by_count, &calls);
    for (int engine = CSREC_CUDA_GRIDS_BATCHES; engine <= CSREC_CUDA_GRIDS_SEQUENTIAL; engine++) {
        ENDS_BY(found_clear) found f = found_create(&m, &options);
        assert_ok(run_by((csrec_cuda_grids_engine)engine, &m, &options, &f, NULL));
        assert_int_equal(f.report.outcome, CSREC_INTERRUPTED);
        for (int64_t k = 0; k < 2 * 1400 * 1400; k++) assert_true(isfinite(f.signal[k]));
    }
    assert_true(calls <= -2);
}

static size_t free_bytes(void) {
    csrec_cuda_size size;
    assert_ok(csrec_cuda_measure(&size, NULL));
    return size.free;
}

/* Runs with no more than about `limit` bytes of the device left: the rest is taken. */
static csrec_status run_within(size_t limit, csrec_cuda_grids_engine engine,
                               const csrec_measurement *m, const csrec_recover_options *options,
                               found *f, csrec_error *error) {
    size_t had = free_bytes();
    ENDS_BY(csrec_cuda_block_destroy)
    csrec_cuda_block ballast = {.used = had > limit ? had - limit : 1};
    assert_ok(csrec_cuda_block_create(&ballast, "ballast", NULL));
    return run_by(engine, m, options, f, error);
}

static void within(csrec_cuda_grids_engine engine, const csrec_measurement *m,
                   const csrec_recover_options *options, size_t most, size_t surely) {
    ENDS_BY(found_clear) found cpu = found_create(m, options), f = found_create(m, options);
    run_cpu(m, options, &cpu);
    assert_ok(run_by(engine, m, options, &f, NULL));
    size_t had = free_bytes(), refused = 0;
    for (size_t limit = most; limit > 4u << 20; limit = limit / 4 * 3) {
        csrec_error error = {""};
        csrec_status status = run_within(limit, engine, m, options, &f, &error);
        if (status || limit >= surely) assert_int_equal(status, limit >= surely ? 0 : CSREC_MEMORY);
        if (!status) assert_same_found(m, &cpu, &f);
        if (status) {
            if (!refused++) print_message("%zu bytes: %s\n", limit, error.text);
            assert_non_null(strstr(error.text, "bytes"));
            assert_null(strchr(error.text, '\n'));
        }
        assert_true(free_bytes() >= had);
    }
    assert_true(refused > 0);
}

/* 72 signals of 2^16 samples, at least 16 bytes a sample each, 75 MB: in 64 MB only in parts. */
TEST_THERE(batches_are_cut, true) {
    csrec_measurement m = draw_measurement((csrec_shape){2, {256, 256}}, 3, 1);
    csrec_recover_options options = draw_options(24);
    options.solve.stop = (csrec_stop){.atoms = 300};
    assert_int_equal(m.n, 65536);
    within(CSREC_CUDA_GRIDS_BATCHES, &m, &options, 64 << 20, 48 << 20);
}

/* One signal fits or is refused with the bytes needed and had. */
TEST_THERE(one_signal_that_does_not_fit, true) {
    csrec_measurement m = draw_measurement((csrec_shape){2, {512, 512}}, 1, 1);
    csrec_recover_options options = draw_options(1);
    options.shifts = 2; /* no atoms are asked for */
    options.solve.stop = (csrec_stop){.atoms = 300};
    within(CSREC_CUDA_GRIDS_SEQUENTIAL, &m, &options, 256 << 20, 128 << 20);
    within(CSREC_CUDA_GRIDS_BATCHES, &m, &options, 256 << 20, 128 << 20);
}

/* Pinned buffers or not, every byte arrives; sizes about a piece and about the threshold. */
TEST_THERE(transfers, true) {
    const size_t sizes[] = {1, (32u << 20) - 1, 32u << 20, (72u << 20) + 5};
    ENDS_BY(csrec_cuda_pipe_destroy) csrec_cuda_pipe pipe = {0};
    csrec_cuda_pipe_create(sizes[3], &pipe);
    ENDS_BY(csrec_cuda_block_destroy) csrec_cuda_block block = {.used = sizes[3]};
    assert_ok(csrec_cuda_block_create(&block, "a test", NULL));
    OWNED uint64_t *a = malloc(sizes[3] + 8), *b = malloc(sizes[3] + 8);
    for (size_t i = 0; i <= sizes[3] / 8; i++) a[i] = check_next(&seed);
    for (int k = 0; k < 4; k++) {
        memset(b, 0, sizes[k]);
        assert_ok(csrec_cuda_pipe_send(&pipe, block.base, a, sizes[k], NULL));
        assert_ok(csrec_cuda_pipe_receive(&pipe, b, block.base, sizes[k], NULL));
        assert_true(memcmp(a, b, sizes[k]) == 0);
    }
}
