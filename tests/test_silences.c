/* SPDX-License-Identifier: BSD-3-Clause */
/* test_silences.c - every long piece of work asks before it begins whether to stop. The callback
 * sleeps for longer than reports lie apart, so that every place that may report does: pieces of
 * work are counted between two reports, and after the request, not timed. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "operator/operator.h"

SEED(seed);

typedef struct listener {
    const char *stage; /* whose reports are counted; NULL: all */
    int limit;         /* calls that sleep; what comes later is not counted */
    int calls, stop_at, calls_after;
    int work, most, work_after; /* pieces since the last report, at most, since the request */
    bool asked;
} listener;

static listener *heard; /* of the operator that counts */

static bool listen(const csrec_progress *progress, void *context) {
    listener *l = context;
    if (l->stage && strcmp(l->stage, progress->stage) != 0) return false;
    if (l->calls < l->limit) nanosleep(&(struct timespec){.tv_nsec = 11 * 1000 * 1000}, NULL);
    if (l->asked) l->calls_after++;
    if (l->work > l->most && l->calls <= l->limit) l->most = l->work;
    l->work = 0;
    l->asked = ++l->calls == l->stop_at || l->asked;
    return l->asked;
}

static void work_on(void) {
    heard->work++;
    if (heard->asked) heard->work_after++;
}

static const csrec_operator_type *real_type;

static csrec_status forward(const csrec_operator *A, const double *x, double *y) {
    work_on();
    return real_type->forward(A, x, y);
}

static csrec_status adjoint(const csrec_operator *A, const double *y, double *x) {
    work_on();
    return real_type->adjoint(A, y, x);
}

static csrec_status column_norms(const csrec_operator *A, double *norms) {
    work_on();
    return real_type->column_norms(A, norms);
}

enum { SIDE = 16, M = SIDE * SIDE / 2, STEPS = 3, LIMIT = 8 };

static const char *const solvers[] = {"fista", "iht", "htp", "cosamp", "romp", "omp"};

enum { SOLVERS = sizeof solvers / sizeof *solvers };

static void check_solver(const char *solver, const csrec_operator *A, const double *y) {
    for (int k = 0, stop_at = 0; k < 4; k++, stop_at += k) {
        csrec_solve_report report;
        CLEARED(csrec_atoms) atoms = {0};
        double r[M];
        listener l = {.limit = LIMIT, .stop_at = stop_at};
        csrec_solve_options o = {
            .solver = solver, .stop = {.atoms = STEPS}, .progress = listen, .context = &l};
        heard = &l;
        assert_well(csrec_solve(A, y, &o, &atoms, r, &report, &told));
        if (l.work > l.most && l.calls < LIMIT) l.most = l.work;
        if (l.most > 1 || l.calls_after + l.work_after > 0)
            fail_msg("%s, stopped at call %d: %d products in silence; then %d calls, %d products",
                     solver, stop_at, l.most, l.calls_after, l.work_after);
        assert_int_equal(report.outcome == CSREC_INTERRUPTED, l.asked);
        double *x = calloc((size_t)A->n, sizeof *x), Ax[M];
        for (int64_t i = 0; i < atoms.n; i++) x[atoms.column[i]] = atoms.coefficient[i];
        assert_ok(real_type->forward(A, x, Ax));
        for (int i = 0; i < M; i++) assert_true(fabs(y[i] - Ax[i] - r[i]) < 1e-9);
        free(x);
    }
}

/* Products and norms: at most one between two reports, none after the request; x and r that belong
 * together come back. */
TEST(solvers_ask_before_every_product) {
    csrec_shape shape = {2, {SIDE, SIDE}};
    CLEARED(csrec_sampling) s;
    assert_ok(csrec_sampling_create(&shape, CSREC_PATTERN_UNIFORM, M, check_next(&seed), &s, NULL));
    double y[M];
    for (int i = 0; i < M; i++) y[i] = check_normal(&seed);
    csrec_operator_spec specs[] = {
        {.name = "dct", .m = M, .shape = &shape, .index = s.index, .block = 8, .step = 4},
        {.name = "wavelet", .m = M, .shape = &shape, .index = s.index, .kind = "cdf97"}};
    for (int b = 0; b < 2; b++) {
        ENDS_BY(end_operator) csrec_operator *A = operator_of(&specs[b]);
        real_type = A->type;
        csrec_operator_type counting = *real_type;
        counting.forward = forward;
        counting.adjoint = adjoint;
        counting.column_norms = column_norms;
        A->type = &counting;
        for (int k = 0; k < SOLVERS; k++) check_solver(solvers[k], A, y);
        A->type = real_type;
    }
}

/* A piece of work: its reports at least `least`, and as many as are asked for stop it. */
typedef bool (*run_fn)(listener *l);

static void check_stops(const char *name, run_fn run, int least) {
    listener whole = {.limit = least};
    assert_false(run(&whole));
    if (whole.calls < least) fail_msg("%s: %d reports, not %d", name, whole.calls, least);
    for (int k = 0; k < 3; k++) {
        listener l = {.limit = least, .stop_at = 1 + k * (least - 1) / 2};
        if (!run(&l)) fail_msg("%s: not stopped by call %d", name, l.stop_at);
        if (l.calls != l.stop_at) fail_msg("%s: %d calls, not %d", name, l.calls, l.stop_at);
    }
}

enum { COLUMNS = 600, SAMPLES = 40, SIGNALS = 600 };

static bool solve_many(const char *solver, int64_t count, int64_t atoms, listener *l) {
    uint64_t own = 1;
    double *matrix = kept_normals(&own, SAMPLES * COLUMNS);
    double *y = kept_normals(&own, SAMPLES * SIGNALS);
    ENDS_BY(end_operator) csrec_operator *A = dense_operator(NULL, SAMPLES, COLUMNS, matrix);
    OWNED csrec_solve_report *reports = malloc(SIGNALS * sizeof *reports);
    csrec_solve_options o = {
        .solver = solver, .stop = {.atoms = atoms}, .progress = listen, .context = l};
    assert_ok(csrec_solve_many(A, count, y, &o, 1, NULL, NULL, reports, NULL));
    bool stopped = reports[count - 1].outcome == CSREC_INTERRUPTED;
    for (int64_t k = 0; k < count; k++) {
        assert_true(isfinite(reports[k].residual));
        if (stopped) assert_true(reports[k].outcome == CSREC_INTERRUPTED);
    }
    return stopped;
}

static bool run_batch(listener *l) {
    return solve_many("omp", SIGNALS, 2, l);
}

static bool run_working_set(listener *l) {
    return solve_many("fista", 1, 0, l);
}

typedef struct table {
    int64_t n;
} table;

static csrec_status read_rows(void *context, int64_t first, int64_t count, float *X,
                              csrec_error *error) {
    const table *t = context;
    (void)error;
    for (int64_t i = 0; i < count * t->n; i++) {
        uint64_t own = (uint64_t)(first * t->n + i);
        X[i] = (float)check_normal(&own);
    }
    return CSREC_OK;
}

static bool learn(csrec_status (*way)(const csrec_data *, const csrec_learn_options *,
                                      csrec_model **, bool *, csrec_error *),
                  int64_t rows, int64_t n, listener *l) {
    table t = {n};
    csrec_data data = {rows, n, read_rows, &t};
    csrec_learn_options o = {
        .components = 3, .threads = 1, .backend = "cpu", .progress = listen, .context = l};
    ENDS_BY(end_model) csrec_model *model = NULL;
    bool stopped = false;
    assert_ok(way(&data, &o, &model, &stopped, NULL));
    assert_true(stopped == (model == NULL));
    return stopped;
}

enum { LENGTH = 5000, PIECE = 1024, PIECES = (LENGTH + PIECE - 1) / PIECE };

static bool run_gram(listener *l) {
    return learn(csrec_pca_learn, 12, LENGTH, l);
}

/* Panels of G and of products with the samples; pieces of the Gram matrix and of the components. */
TEST(learning_and_batches_ask_on_their_way) {
    check_stops("Batch-OMP", run_batch, (COLUMNS + 255) / 256 + (SIGNALS + 255) / 256);
    check_stops("fista, working set", run_working_set, 3);
    check_stops("components by a Gram matrix", run_gram, 1 + PIECES + 1 + PIECES + 3);
}

enum { EDGE = 32, KNOWN = EDGE * EDGE / 3 };

typedef struct scene {
    csrec_measurement m;
    csrec_model *model;
} scene;

static csrec_model *make_components(void) {
    const int64_t d = EDGE * EDGE;
    csrec_data data = {40, d, read_rows, &(table){d}};
    csrec_learn_options o = {
        .shape = {2, {EDGE, EDGE}}, .components = 3, .threads = 1, .backend = "cpu"};
    csrec_model *model;
    assert_ok(csrec_pca_learn(&data, &o, &model, NULL, NULL));
    return model;
}

/* Of samples, and before each component. */
TEST(recovery_with_models_asks_on_its_way) {
    const int least = 3;
    csrec_shape shape = {2, {EDGE, EDGE}};
    CLEARED(csrec_sampling) s;
    assert_ok(
        csrec_sampling_create(&shape, CSREC_PATTERN_UNIFORM, KNOWN, check_next(&seed), &s, NULL));
    double y[KNOWN], signal[EDGE * EDGE];
    for (int i = 0; i < KNOWN; i++) y[i] = check_normal(&seed);
    csrec_measurement m = {
        .shape = shape, .n = KNOWN, .channels = 1, .index = s.index, .y = y, .dtype = CSREC_F64};
    ENDS_BY(end_model) csrec_model *model = make_components();
    for (int k = 0; k < 4; k++) {
        csrec_recover_report report;
        listener l = {.stage = "principal components",
                      .limit = least,
                      .stop_at = k * (least - 1) / 3 + (k > 0)};
        csrec_recover_options o = options_by(NULL);
        o.model = model;
        o.threads = 1;
        report_to(&o.solve, listen, &l);
        assert_well(csrec_recover(&m, &o, signal, NULL, &report, &told));
        if (k == 0 && l.calls < least) fail_msg("%d reports, not %d", l.calls, least);
        if (k > 0 && (report.outcome != CSREC_INTERRUPTED || l.calls != l.stop_at))
            fail_msg("outcome %d, %d calls, not %d", (int)report.outcome, l.calls, l.stop_at);
        for (int i = 0; i < EDGE * EDGE; i++) assert_true(isfinite(signal[i]));
        for (int i = 0; i < KNOWN; i++) assert_true(signal[s.index[i]] == y[i]);
    }
}
