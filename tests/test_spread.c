/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles of one recovery by threads, each with a device of its own: all blend into one signal,
 * which has the bits of one thread; samples in any order. */

#include "recover/parts/parts.h"
#include "tiles.h"

SEED(seed);

enum { RANKS = 4 };

/* A method whose values depend on the tile and its samples: their running sum. */
static csrec_status sum_samples(const csrec_recovery *r, csrec_error *error) {
    const csrec_measurement *m = r->measurement;
    double sum = (double)m->n;
    (void)error;
    const int64_t entries = entries_in(&m->shape);
    memset(r->signal, 0, (size_t)(entries * m->channels) * sizeof *r->signal);
    for (int64_t k = 0; k < m->n * m->channels; k++)
        r->signal[m->index[k / m->channels] * m->channels + k % m->channels] = m->y[k];
    for (int64_t i = 0; i < entries * m->channels; i++) r->signal[i] = sum += r->signal[i];
    r->report->backend = "cpu";
    return CSREC_OK;
}

static const csrec_method_type method = {.info = {.name = "sum"}, .run = sum_samples};

typedef struct sharing {
    const csrec_measurement *m;
    double *signal;
    int64_t tile;
    int done[RANKS]; /* [rank] */
} sharing;

static csrec_status recover_tiles(const sharing *r, csrec_comm *comm) {
    csrec_recover_report report = {0};
    CLEARED(csrec_whole) whole;
    csrec_context context = {.kind = CSREC_DEVICE_CPU};
    csrec_recover_options o = options_by(NULL);
    o.tile = r->tile;
    o.comm = comm;
    csrec_task task = csrec_task_of(r->m, &o);
    csrec_tiling tiling = csrec_tiling_usual(&task);
    csrec_recovery recovery = {.measurement = r->m,
                               .whole = &whole,
                               .options = &o,
                               .context = &context,
                               .unit = 1.0,
                               .signal = csrec_comm_rank(comm) == 0 ? r->signal : NULL,
                               .common = comm ? r->signal : NULL,
                               .report = &report};
    csrec_status status = csrec_whole_of(r->m, &whole, NULL);
    if (!status) status = csrec_recover_tiles(&method, &recovery, &tiling, NULL);
    return status;
}

static void run_rank(void *context, int rank, csrec_comm *comm, const csrec_error *why) {
    sharing *r = context;
    (void)why;
    r->done[rank] = comm && !recover_tiles(r, comm);
    if (comm && !r->done[rank]) csrec_comm_fail(comm, "a rank failed");
}

TEST(threads_share_one_signal) {
    static const csrec_shape shapes[] = {{2, {700, 560}}, {1, {5000}}, {3, {70, 150, 130}}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        ENDS_BY(clear) picture p = make(&shapes[k], 1 + (int64_t)k, 0.2, 0.2, 0.0, &seed);
        const size_t bytes = (size_t)(p.entries * p.m.channels) * sizeof(double);
        sharing alone = {.m = &p.m, .signal = p.truth, .tile = p.entries * p.m.channels / 5};
        assert_ok(recover_tiles(&alone, NULL));
        for (int n = 2; n <= RANKS; n++) {
            memset(p.signal, 0xff, bytes);
            sharing r = {.m = &p.m, .signal = p.signal, .tile = alone.tile};
            assert_ok(csrec_comm_hub_run(n, run_rank, &r));
            for (int i = 0; i < n; i++) assert_true(r.done[i]);
            assert_memory_equal(p.signal, p.truth, bytes);
        }
    }
}

/* Fails at one tile, once, as a device that is lost. */
static int64_t calls, fails_at;

static csrec_status fail_once(const csrec_recovery *r, csrec_error *error) {
    return calls++ == fails_at ? csrec_fail(error, CSREC_DEVICE, "lost") : sum_samples(r, error);
}

static void run_again(const picture *p, const csrec_tiling *tiling, const csrec_recovery *r) {
    static const csrec_method_type failing = {.info = {.name = "sum"}, .run = fail_once};
    OWNED csrec_survey *survey = NULL;
    assert_ok(csrec_survey_of(&p->m, tiling, &survey, NULL));
    csrec_survey_end(survey, &p->m.shape, 1.0);
    csrec_runner runner = {
        .method = &failing, .tiling = tiling, .survey = survey, .given = r->options};
    calls = 0;
    fails_at = check_below(&seed, tiling->tiles);
    assert_ok(csrec_runner_open(&runner, p->m.channels, 1.0, p->signal, NULL));
    assert_int_equal(csrec_runner_run(&runner, r, runner.end, NULL), CSREC_DEVICE);
    assert_int_equal(runner.done, fails_at);
    assert_ok(csrec_runner_run(&runner, r, runner.end, NULL));
    assert_int_equal(calls, tiling->tiles + 1);
    csrec_runner_close(&runner);
}

/* On another device the loop goes on with the tile that failed. */
TEST(a_failure_leaves_no_tile_out) {
    ENDS_BY(clear) picture p = make(&(csrec_shape){2, {700, 560}}, 2, 0.2, 0.2, 0.0, &seed);
    const sharing alone = {.m = &p.m, .signal = p.truth, .tile = p.entries * 2 / 5};
    csrec_context context = {.kind = CSREC_DEVICE_CPU};
    csrec_recover_report report = {0};
    csrec_recover_options o = options_by(NULL);
    o.tile = alone.tile;
    const csrec_task task = csrec_task_of(&p.m, &o);
    const csrec_tiling tiling = csrec_tiling_usual(&task);
    const csrec_recovery recovery = {
        .measurement = &p.m, .options = &o, .context = &context, .unit = 1.0, .report = &report};
    assert_ok(recover_tiles(&alone, NULL));
    run_again(&p, &tiling, &recovery);
    assert_memory_equal(p.signal, p.truth, (size_t)(p.entries * 2) * sizeof(double));
}

/* By coordinates, one sample after another. */
static void check_selection(const csrec_measurement *m, const csrec_tiling *t, int64_t number) {
    const csrec_tile tile = csrec_tiling_tile(t, number);
    const bool ascend = csrec_samples_ascend(m, 2);
    CLEARED(csrec_measurement) part;
    int64_t n = 0;
    assert_ok(csrec_samples_select(m, t, &tile.box, ascend, 2, &part));
    for (int64_t k = 0; k < m->n; k++) {
        int64_t at = m->index[k], x[3], to = 0;
        for (int a = 2; a >= 0; at /= t->extent[a], a--) x[a] = at % t->extent[a];
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            inside = inside && x[a] >= tile.box.at[a][0] && x[a] < tile.box.at[a][1];
            to = to * (tile.box.at[a][1] - tile.box.at[a][0]) + x[a] - tile.box.at[a][0];
        }
        if (!inside) continue;
        assert_true(n < part.n && part.index[n] == to);
        assert_memory_equal(part.y + n * m->channels, m->y + k * m->channels,
                            (size_t)m->channels * sizeof *m->y);
        n++;
    }
    assert_int_equal(part.n, n);
}

TEST(the_samples_of_a_tile_are_those_in_its_box) {
    static const csrec_shape shapes[] = {{2, {600, 610}}, {1, {90000}}, {3, {40, 150, 140}}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int sorted = 0; sorted < 2; sorted++) {
            ENDS_BY(clear) picture p = make(&shapes[k], 1 + (int64_t)k, 0.2, 0.25, 0.0, &seed);
            csrec_recover_options o = options_by(NULL);
            if (sorted)
                sort_samples(&p, 1.0, &seed);
            else /* whatever their order was */
                for (int64_t i = 0, last = p.m.n - 1; i < 100; i++, last--) {
                    int64_t index = p.m.index[i];
                    p.m.index[i] = p.m.index[last];
                    p.m.index[last] = index;
                }
            assert_int_equal(csrec_samples_ascend(&p.m, 2), sorted);
            o.tile = p.entries * p.m.channels / 5;
            csrec_task task = csrec_task_of(&p.m, &o);
            csrec_tiling t = csrec_tiling_usual(&task);
            assert_true(t.tiles > 1);
            for (int64_t tile = 0; tile < t.tiles; tile++) check_selection(&p.m, &t, tile);
        }
}
