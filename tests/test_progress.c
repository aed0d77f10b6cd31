/* SPDX-License-Identifier: BSD-3-Clause */
/* test_progress.c - callbacks come on the calling thread, may call the library, wait for no other
 * call; the stages that they name are those of the estimate; share and time left of a whole run. */
#include "samples.h"

#include <pthread.h>

#include "tools/common/progress.h"

SEED(seed);

enum { EDGE = 48, SHARE = 3, THREADS = 4, COUNT = 60 };

typedef struct way {
    const char *name, *solver, *basis;
    int64_t shifts;
    int64_t atoms;
} way;

static const way ways[] = {
    {"plain grid", "mp", NULL, 1, 0},      {"mean over grids", "mp", NULL, 8, 0},
    {"omp on grids", "omp", NULL, 3, 20},  {"dct, threshold", "threshold", "dct", 0, 0},
    {"dct, fista", "fista", "dct", 0, 60}, {"wavelet, iht", "iht", "wavelet", 0, 60},
    {"gaussian", "gaussian", NULL, 0, 0},
};

enum { WAYS = sizeof ways / sizeof *ways };

typedef struct scene {
    csrec_measurement m;
    double *signal;
} scene;

static scene draw_scene(void) {
    const csrec_shape shape = {2, {EDGE, EDGE}};
    scene s = {
        .m = draw_places(&shape, 2, CSREC_PATTERN_UNIFORM, EDGE * EDGE / SHARE, check_next(&seed))};
    s.m.scale[1] = 255.0;
    for (int64_t k = 0; k < s.m.n * s.m.channels; k++) {
        int64_t at = s.m.index[k / s.m.channels], x = at % EDGE, y = at / EDGE;
        s.m.y[k] = (x > y ? 90.0 : 180.0) + 20.0 * check_uniform(&seed);
    }
    s.signal = malloc((size_t)EDGE * EDGE * 2 * sizeof *s.signal);
    return s;
}

static void drop_scene(scene *s) {
    csrec_measurement_clear(&s->m);
    free(s->signal);
}

static void run_way(const scene *s, const way *w, double *signal, csrec_progress_fn progress,
                    void *context) {
    csrec_error error;
    csrec_recover_options o = options_on_cpu(NULL, NULL);
    o.solve.solver = w->solver;
    o.basis = w->basis;
    o.shifts = w->shifts;
    o.solve.stop.atoms = w->atoms;
    o.threads = THREADS;
    report_to(&o.solve, progress, context);
    if (csrec_recover(&s->m, &o, signal, NULL, NULL, &error))
        fail_msg("%s: %s", w->name, error.text);
}

typedef struct listener {
    pthread_t caller;
    int calls, inside;
    bool foreign, crossed; /* on another thread; while another callback ran */
    int stop_at;           /* asks to stop at this call; 0: never */
    int calls_after;       /* it had asked to */
} listener;

static bool listen(const csrec_progress *progress, void *context) {
    listener *l = context;
    int inside;
#pragma omp atomic capture
    inside = ++l->inside;
    if (inside > 1) l->crossed = true;
    if (!pthread_equal(pthread_self(), l->caller)) l->foreign = true;
    if (!progress->stage) l->foreign = true;
    l->calls++;
    bool stop = l->stop_at && l->calls >= l->stop_at;
    if (l->stop_at && l->calls > l->stop_at) l->calls_after++;
#pragma omp atomic
    l->inside--;
    return stop;
}

TEST(callbacks_come_on_the_calling_thread) {
    ENDS_BY(drop_scene) scene s = draw_scene();
    for (int w = 0; w < WAYS; w++) {
        if (sanitized_leaves()) continue;
        listener l = {.caller = pthread_self()};
        run_way(&s, &ways[w], s.signal, listen, &l);
        if (l.foreign || l.crossed || l.calls == 0)
            fail_msg("%s: %d calls, on other threads: %d, at once: %d", ways[w].name, l.calls,
                     l.foreign, l.crossed);
    }
}

typedef struct nested {
    const scene *s;
    const way *w;
    double *signal;
    bool done;
} nested;

static bool recover_within(const csrec_progress *progress, void *context) {
    nested *n = context;
    (void)progress;
    if (n->done) return false;
    n->done = true;
    run_way(n->s, n->w, n->signal, NULL, NULL);
    return false;
}

TEST(a_callback_may_recover) {
    ENDS_BY(drop_scene) scene s = draw_scene();
    size_t bytes = (size_t)EDGE * EDGE * 2 * sizeof(double);
    OWNED double *wanted = malloc(bytes), *within = malloc(bytes);
    for (int w = 0; w < WAYS; w++) {
        if (sanitized_leaves()) continue;
        nested n = {.s = &s, .w = &ways[w], .signal = within};
        run_way(&s, &ways[w], wanted, NULL, NULL);
        run_way(&s, &ways[w], s.signal, recover_within, &n);
        assert_true(n.done);
        assert_memory_equal(s.signal, wanted, bytes);
        assert_memory_equal(within, wanted, bytes);
    }
}

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int present;
    bool missed;
} meeting;

typedef struct visitor {
    meeting *place;
    const scene *s;
    const way *w;
    double *signal;
    bool came;
} visitor;

/* Returns once both callers are in their callbacks: none waits for the other's. */
static bool meet(const csrec_progress *progress, void *context) {
    visitor *v = context;
    struct timespec end;
    (void)progress;
    if (v->came) return false;
    v->came = true;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 120;
    pthread_mutex_lock(&v->place->lock);
    v->place->present++;
    pthread_cond_broadcast(&v->place->change);
    while (v->place->present < 2 && !v->place->missed)
        if (pthread_cond_timedwait(&v->place->change, &v->place->lock, &end))
            v->place->missed = true;
    pthread_mutex_unlock(&v->place->lock);
    return false;
}

static void *visit(void *context) {
    visitor *v = context;
    run_way(v->s, v->w, v->signal, meet, v);
    return NULL;
}

TEST(two_calls_report_at_once) {
    ENDS_BY(drop_scene) scene s = draw_scene();
    size_t bytes = (size_t)EDGE * EDGE * 2 * sizeof(double);
    OWNED double *other = malloc(bytes);
    for (int w = 0; w < WAYS; w++) {
        meeting place = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
        visitor a = {&place, &s, &ways[w], s.signal, false};
        visitor b = {&place, &s, &ways[w], other, false};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, visit, &b), 0);
        visit(&a);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (place.missed) fail_msg("%s: a callback waits for another call", ways[w].name);
        assert_memory_equal(s.signal, other, bytes);
    }
}

/* Of the second solver's matrix some columns are nearly the same: those signals go one by one. */
TEST(right_hand_sides_report_on_the_calling_thread) {
    enum { M = 24, N = 48 };
    double matrix[M * N], y[COUNT * M];
    for (int i = 0; i < M * N; i++) matrix[i] = check_normal(&seed);
    for (int i = 0; i < M; i++) matrix[i * N + 1] = matrix[i * N] * (1.0 + 1e-15 * (i % 2));
    for (int i = 0; i < COUNT * M; i++) y[i] = check_normal(&seed);
    ENDS_BY(end_operator) csrec_operator *A = dense_operator(NULL, M, N, matrix);
    static const char *const solvers[] = {"romp", "omp", "mp", "cosamp"};
    for (int k = 0; k < 4; k++) {
        csrec_solve_report reports[COUNT];
        listener l = {.caller = pthread_self()};
        csrec_solve_options o = {
            .solver = solvers[k], .stop = {.atoms = 6}, .progress = listen, .context = &l};
        assert_ok(csrec_solve_many(A, COUNT, y, &o, THREADS, NULL, NULL, reports, NULL));
        assert_true(l.calls > 0 && !l.foreign && !l.crossed);
        l.stop_at = 1;
        l.calls = 0;
        assert_ok(csrec_solve_many(A, COUNT, y, &o, THREADS, NULL, NULL, reports, NULL));
        assert_true(!l.foreign && !l.crossed);
        assert_int_equal(l.calls_after, 0);
    }
}

typedef struct stage_listener {
    const csrec_estimate *estimate;
    double share; /* of the recovery, of the last report */
    char strange[96];
} stage_listener;

static bool follow_stages(const csrec_progress *progress, void *context) {
    stage_listener *l = context;
    double share = progress->total > 0 ? (double)progress->done / (double)progress->total : 0.0;
    double whole = cli_share_of_stages(l->estimate, progress->stage, share);
    if (!(whole >= 0.0)) snprintf(l->strange, sizeof l->strange, "%s", progress->stage);
    l->share = fmax(l->share, whole);
    return false;
}

/* Every stage that reports is in the estimate. */
TEST(stages_are_those_of_the_estimate) {
    static const struct {
        const char *method;
        int stages;
    } runs[] = {{"frames", 1}, {"gaussian", 2}};
    ENDS_BY(drop_scene) scene s = draw_scene();
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        csrec_plan plan;
        csrec_error error;
        double sum = 0.0;
        csrec_recover_options o = options_on_cpu(runs[k].method, NULL);
        o.threads = 1;
        assert_ok(csrec_recover_plan(&s.m, &o, false, &plan, &error));
        assert_int_equal(plan.estimate.n_stages, runs[k].stages);
        for (int i = 0; i < plan.estimate.n_stages; i++) sum += plan.estimate.stage[i].seconds;
        assert_true(fabs(sum - plan.estimate.seconds) < 1e-9 * plan.estimate.seconds);
        stage_listener l = {.estimate = &plan.estimate};
        report_to(&o.solve, follow_stages, &l);
        assert_ok(csrec_recover(&s.m, &o, s.signal, NULL, NULL, &error));
        if (l.strange[0]) fail_msg("%s: no stage '%s'", runs[k].method, l.strange);
        if (!(l.share >= 0.0 && l.share <= 1.0)) fail_msg("%s: share %g", runs[k].method, l.share);
    }
}

/* Against the sum over stages that are cut into pieces. */
TEST(shares_of_stages) {
    enum { STAGES = 4, PIECES = 1000 };
    static const char *const names[STAGES] = {"first", "second", "third", "fourth"};
    for (int trial = 0; trial < 20; trial++) {
        csrec_estimate e = {.n_stages = STAGES};
        double piece[STAGES * PIECES], whole = 0.0, sum = 0.0;
        for (int i = 0; i < STAGES; i++) {
            e.stage[i] = (csrec_stage){names[i], 10.0 * check_uniform(&seed)};
            for (int p = 0; p < PIECES; p++) piece[i * PIECES + p] = e.stage[i].seconds / PIECES;
        }
        for (int p = 0; p < STAGES * PIECES; p++) whole += piece[p];
        int at = (int)(STAGES * PIECES * check_uniform(&seed));
        for (int p = 0; p < at; p++) sum += piece[p];
        double share = (double)(at % PIECES) / PIECES;
        double got = cli_share_of_stages(&e, names[at / PIECES], share);
        assert_true(fabs(got - sum / whole) < 1e-9);
    }
    csrec_estimate e = {.n_stages = 1, .stage = {{"learning", 2.0}}};
    assert_true(cli_share_of_stages(&e, "learning, round 2 of 3", 0.5) == 0.5);
    assert_true(cli_share_of_stages(&e, "reading", 0.5) == -1.0);
}

/* Of work at one speed what is left is known; the twentieth that the estimate counts for fades. */
TEST(seconds_left_of_a_run) {
    for (int trial = 0; trial < 100; trial++) {
        double expected = 0.1 + 100.0 * check_uniform(&seed),
               slower = 0.2 + 5.0 * check_uniform(&seed);
        double took = slower * expected;
        for (int percent = 1; percent <= 100; percent++) {
            double share = percent / 100.0, left = took * (1.0 - share);
            double got = cli_seconds_left(share, share * took, expected);
            /* Between the estimate's and the measured speed, weights 5 and `percent`. */
            double speed = (5.0 + percent * slower) / (5.0 + percent);
            assert_true(fabs(got - (1.0 - share) * expected * speed) < 1e-9 * (1.0 + took));
            assert_true(fabs(got - left) <= fabs((1.0 - share) * expected - left) + 1e-9);
            double alone = cli_seconds_left(share, share * took, 0.0);
            assert_true(fabs(alone - left) < 1e-9 * (1.0 + took));
        }
    }
    assert_true(cli_seconds_left(0.0, 0.0, 8.0) == 8.0);
    assert_true(cli_seconds_left(0.0, 3.0, 0.0) == -1.0);
}
