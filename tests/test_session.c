/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: means of what is measured again, against direct sums; results, against those of the
 * functions without a session; tiles, frames, files, and what is refused. */
#include <pthread.h>

#include "check.h"

SEED(seed);

CHECK_END(session)
CHECK_END(priors)

enum { SIDE = 40, ENTRIES = SIDE * SIDE };

typedef struct kind {
    const char *method;
    int64_t channels;
    double sigma;
    bool rays, deviations, again, guides;
} kind;

static const kind kinds[] = {
    {NULL, 1, 0.0, false, false, false, false},   {"smooth", 2, 0.0, false, false, true, false},
    {"net", 1, 0.0, false, false, true, false},   {"net", 3, 4.0, false, false, true, false},
    {"net", 1, 4.0, false, true, true, false},    {"frames", 1, 0.0, false, true, false, false},
    {"rendered", 3, 0.0, true, true, true, true}, {"rendered", 3, 0.0, true, false, true, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double truth_at(int64_t at, int64_t c) {
    const double y = (double)(at / SIDE), x = (double)(at % SIDE);
    return 100.0 + 40.0 * sin(0.3 * x + (double)c) + (hypot(x - 20.0, y - 15.0) < 9.0 ? 60.0 : 0.0);
}

/* Measurements in some calls, with what a direct sum needs of them. */
typedef struct log {
    int64_t n, at[3 * ENTRIES];
    double y[9 * ENTRIES], deviation[9 * ENTRIES], rays[3 * ENTRIES];
} log_of;

static csrec_session *open_session(const kind *k, const csrec_recover_options *recover,
                                   csrec_guides *guides) {
    csrec_session *s = NULL;
    csrec_recover_options plain = options_by(NULL);
    plain.threads = 1; /* tests run beside each other */
    const csrec_session_options o = {.shape = {2, {SIDE, SIDE}},
                                     .channels = k->channels,
                                     .sigma = k->sigma,
                                     .rays = k->rays,
                                     .guides = guides,
                                     .recover = recover ? recover : &plain};
    assert_well(csrec_session_create(&o, &s, &told));
    return s;
}

static void measure(const kind *k, csrec_session *s, int64_t n, const int64_t *at, log_of *l) {
    const int64_t C = k->channels, first = l->n;
    for (int64_t i = first; i < first + n; i++) {
        l->at[i] = at[i - first];
        l->rays[i] = k->rays ? 1.0 + (double)check_below(&seed, 50) : 1.0;
        for (int64_t c = 0; c < C; c++) {
            const double own = k->deviations ? 0.5 + 4.0 * check_uniform(&seed) : k->sigma;
            l->deviation[i * C + c] = own;
            l->y[i * C + c] = truth_at(l->at[i], c) + own * check_normal(&seed);
        }
    }
    l->n += n;
    int64_t left = -1;
    assert_well(csrec_session_add(s, n, l->at + first, l->y + first * C,
                                  k->deviations ? l->deviation + first * C : NULL,
                                  k->rays ? l->rays + first : NULL, &left, &told));
    assert_int_equal(left, 0);
}

static void measure_some(const kind *k, csrec_session *s, int64_t n, log_of *l) {
    OWNED int64_t *at = check_order(&seed, ENTRIES);
    for (int64_t i = 0; i < n && k->again && l->n > 0; i += 3)
        at[i] = l->at[i]; /* in the call, too */
    if (l->n == 0 || k->again) measure(k, s, n, at, l);
}

/* Weighted means by direct sums: rounding of 100 of them is below 1e-13 of the values. */
static void check_means(const kind *k, csrec_session *s, const log_of *l) {
    const int64_t C = k->channels;
    const csrec_measurement *m = csrec_session_samples(s);
    int64_t seen = 0;
    assert_ok(csrec_measurement_check(m, "samples", NULL));
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t c = 0; c < C; c++) {
            double sum = 0.0, weights = 0.0, rays = 0.0, variance = 0.0;
            for (int64_t j = 0; j < l->n; j++) {
                const double d = l->deviation[j * C + c];
                if (l->at[j] != m->index[i]) continue;
                const double w = k->rays ? l->rays[j] : k->deviations ? 1.0 / (d * d) : 1.0;
                sum += w * l->y[j * C + c];
                weights += w;
                rays += l->rays[j];
                variance += w * w * d * d;
                seen += c == 0;
            }
            assert_true(fabs(m->y[i * C + c] - sum / weights) < 1e-9);
            if (k->rays) assert_true(m->rays[i] == rays);
            if (m->deviation)
                assert_true(fabs(m->deviation[i * C + c] - sqrt(variance) / weights) < 1e-9);
        }
    assert_true(seen == l->n && (m->rays != NULL) == k->rays);
    assert_true((m->deviation != NULL) == (k->deviations || (l->n > 300 && k->sigma > 0.0)));
}

static void check_results(const kind *k, csrec_session *s, const csrec_recover_options *o) {
    const csrec_measurement *m = csrec_session_samples(s);
    const int64_t values = ENTRIES * k->channels;
    double *a = check_room(values), *b = check_room(values), *density = check_room(ENTRIES), rms[2];
    csrec_recover_report reports[2];
    assert_well(csrec_session_picture(s, a, &reports[0], &told));
    assert_well(csrec_recover(m, o, b, NULL, &reports[1], &told));
    assert_memory_equal(a, b, (size_t)values * sizeof *a);
    check_same_report(&reports[0], &reports[1]);
    assert_well(csrec_uncertainty(m, o, b, a, &rms[0], &told));
    assert_well(csrec_session_expected(s, b, &rms[1], &told));
    assert_memory_equal(a, b, (size_t)values * sizeof *a);
    assert_true(rms[0] == rms[1]);
    const csrec_next_options plain = {.count = 90, .seed = seed};
    csrec_session_next_options own = {.count = 90, .seed = seed};
    CLEARED(csrec_sampling) p = {0}, q = {0};
    assert_well(csrec_uncertainty_density(m, o, density, &told));
    assert_well((k->rays ? csrec_rays_next : csrec_where_next)(m, density, &plain, &p, &told));
    assert_well(csrec_session_next(s, &own, &q, &told));
    assert_int_equal(p.n, q.n);
    assert_memory_equal(p.index, q.index, (size_t)p.n * sizeof *p.index);
    if (k->rays) assert_memory_equal(p.rays, q.rays, (size_t)p.n * sizeof *p.rays);
}

TEST(results_are_those_without_a_session) {
    for (int i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        if (sanitized_leaves()) continue;
        csrec_recover_options o = options_by(k->method);
        CLEARED(csrec_measurement) form = {.shape = {2, {SIDE, SIDE}}, .channels = k->channels};
        double *albedo = kept_normals(&seed, ENTRIES);
        o.threads = 1;
        for (int64_t at = 0; at < ENTRIES; at++) albedo[at] = 0.5 + 0.1 * fabs(albedo[at]);
        if (k->guides) assert_well(csrec_guides_add(&form, "albedo", 1, albedo, &told));
        csrec_session *s ENDS_BY(end_session) = open_session(k, &o, form.guides);
        log_of *l = check_keep_zeros(1, sizeof *l);
        for (int round = 0; round < 2; round++) {
            measure_some(k, s, 300, l);
            check_means(k, s, l);
            check_results(k, s, &o);
        }
    }
}

/* Two threads with one store of priors: the bits of a recovery without. */
typedef struct worker {
    csrec_recover_options o;
    const csrec_measurement *m;
    double *signal;
} worker;

static void *work(void *of) {
    const worker *w = of;
    for (int k = 0; k < 3; k++)
        if (csrec_recover(w->m, &w->o, w->signal, NULL, NULL, NULL)) return of;
    return NULL;
}

TEST(kept_priors_change_nothing) {
    const kind *k = &kinds[2];
    const csrec_setting fit[] = {{"steps", 2}};
    csrec_recover_options o = options_by("net");
    csrec_session *s ENDS_BY(end_session) = open_session(k, &o, NULL);
    csrec_priors *priors ENDS_BY(end_priors) = NULL;
    log_of *l = check_keep_zeros(1, sizeof *l);
    double *alone = check_room(ENTRIES), *own[2] = {check_room(ENTRIES), check_room(ENTRIES)};
    pthread_t thread[2];
    measure_some(k, s, 400, l);
    assert_well(csrec_priors_create(&priors, &told));
    const csrec_measurement *m = csrec_session_samples(s);
    assert_well(csrec_recover(m, &o, alone, NULL, NULL, &told));
    o.priors = priors;
    use_settings(&o.solve, 1, fit); /* a network that is fitted is not the next one's */
    assert_well(csrec_recover(m, &o, own[0], NULL, NULL, &told));
    assert_memory_not_equal(alone, own[0], ENTRIES * sizeof *alone);
    use_settings(&o.solve, 0, NULL);
    worker w[2] = {{o, m, own[0]}, {o, m, own[1]}};
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_create(&thread[t], NULL, work, &w[t]), 0);
    for (int t = 0; t < 2; t++) {
        void *failed;
        pthread_join(thread[t], &failed);
        assert_null(failed);
        assert_memory_equal(alone, own[t], ENTRIES * sizeof *alone);
    }
}

/* Whole tiles: what is chosen of one is all that is free of it, or of rays all, with one number. */
TEST(tiles_are_whole) {
    const csrec_shape tiles[] = {{2, {1, SIDE}}, {2, {7, 9}}, {2, {SIDE, SIDE}}, {2, {99, 99}}};
    for (int i = 0; i < 16; i++) {
        const kind k = {.method = "smooth", .channels = 1, .sigma = 3.0, .rays = i % 4 == 3};
        const bool rays = k.rays || i % 4 == 2;
        csrec_recover_options o = options_by("smooth");
        csrec_session *s ENDS_BY(end_session) = open_session(&k, &o, NULL);
        log_of *l = check_keep_zeros(1, sizeof *l);
        csrec_session_next_options next = {
            .count = 150, .seed = seed, .tile = tiles[i / 4], .again = i % 4 == 2, .path = i % 2};
        CLEARED(csrec_sampling) found = {0};
        OWNED int64_t *sent = calloc(ENTRIES, sizeof *sent);
        const int64_t h = next.tile.dim[0], w = next.tile.dim[1];
        if (i > 3) measure_some(&k, s, 300, l);
        assert_well(csrec_session_next(s, &next, &found, &told));
        for (int64_t j = 0; j < found.n; j++) {
            assert_int_equal(sent[found.index[j]], 0);
            sent[found.index[j]] = rays ? found.rays[j] : 1;
        }
        if (!rays) assert_true(found.n > 0);
        const csrec_measurement *m = csrec_session_samples(s);
        for (int64_t j = 0; j < m->n && !rays; j++) {
            assert_int_equal(sent[m->index[j]], 0);
            sent[m->index[j]] = -1; /* with any of its tile */
        }
        for (int64_t at = 0; at < ENTRIES; at++) {
            const int64_t y = at / SIDE / h * h, x = at % SIDE / w * w;
            int64_t all = 0;
            for (int64_t r = y; r < y + h && r < SIDE; r++)
                for (int64_t c = x; c < x + w && c < SIDE; c++)
                    if (sent[r * SIDE + c] > all) all = sent[r * SIDE + c];
            assert_true(sent[at] == all || sent[at] == -1);
        }
    }
}

/* If moving costs time: the time by a walk of its own, places that are free, and more of the
 * expected error in it than of as many darts as it is enough for, which is why lines are chosen. */
static double walk_time(const double *move, int64_t n, const int64_t *at, int64_t *fit,
                        double time) {
    double taken = 1.0 + move[0];
    for (int64_t i = 1; i < n; taken += 1.0, i++) {
        const int64_t r = at[i] / SIDE - at[i - 1] / SIDE, c = at[i] % SIDE - at[i - 1] % SIDE;
        if (taken <= time) *fit = i;
        taken += r == 0 && c > 0 ? move[1] * (double)(c - 1)
                                 : move[0] + move[1] * hypot((double)r, (double)c);
    }
    return taken;
}

TEST(moves_cost_time) {
    const double moves[][2] = {{8.0, 0.05}, {20.0, 0.0}, {0.0, 0.5}, {5.0, 1.0}};
    const kind k = {.method = "frames", .channels = 1};
    for (int i = 0; i < 4; i++) {
        csrec_recover_options o = options_by("frames");
        csrec_session *s ENDS_BY(end_session) = open_session(&k, &o, NULL);
        log_of *l = check_keep_zeros(1, sizeof *l);
        double *e = check_room(ENTRIES), sum[2] = {0};
        csrec_session_next_options next = {
            .count = 600, .seed = seed, .move = {moves[i][0], moves[i][1]}};
        CLEARED(csrec_sampling) first = {0}, found = {0}, darts = {0};
        int64_t fit = 0;
        assert_well(csrec_session_next(s, &next, &first, &told));
        assert_true(first.n > 20 && walk_time(moves[i], first.n, first.index, &fit, 600) <= 600.0);
        measure(&k, s, first.n, first.index, l);
        next.count = 300;
        assert_well(csrec_session_next(s, &next, &found, &told));
        const double taken = walk_time(moves[i], found.n, found.index, &fit, 300);
        assert_true(taken <= 300.0 && taken > 300.0 - moves[i][0] - 3.0 * SIDE * moves[i][1] - 2.0);
        const csrec_session_next_options plain = {.count = 300, .seed = seed};
        assert_well(csrec_session_next(s, &plain, &darts, &told));
        walk_time(moves[i], darts.n, darts.index, &fit, 300);
        assert_well(csrec_session_expected(s, e, NULL, &told));
        for (int64_t j = 0; j < found.n; j++) sum[0] += e[found.index[j]];
        for (int64_t j = 0; j < fit; j++) sum[1] += e[darts.index[j]];
        assert_true(sum[0] > 1.3 * sum[1]);
        measure(&k, s, found.n, found.index, l);
        assert_int_equal(csrec_session_samples(s)->n, first.n + found.n); /* all were free */
    }
}

/* A still scene, the squares of errors in frame t of it. */
static void add_squares(double squares[4]) {
    const kind k = {.channels = 1};
    csrec_session *s ENDS_BY(end_session) = open_session(&k, NULL, NULL);
    double *signal = check_room(ENTRIES), *truth = check_room(ENTRIES), *map = check_room(ENTRIES);
    for (int64_t at = 0; at < ENTRIES; at++) truth[at] = truth_at(at, 0);
    for (int t = 0; t < 4; t++) {
        log_of *l = check_keep_zeros(1, sizeof *l);
        CLEARED(csrec_sampling) found = {0};
        const csrec_session_next_options next = {.count = 160, .seed = check_next(&seed)};
        double expected;
        if (t > 0) assert_well(csrec_session_frame(s, NULL, &told));
        assert_well(csrec_session_next(s, &next, &found, &told));
        measure(&k, s, found.n, found.index, l);
        csrec_sampling_clear(&found);
        assert_well(csrec_session_picture(s, signal, NULL, &told));
        squares[t] += pow(check_rms(ENTRIES, signal, truth), 2.0);
        assert_well(csrec_session_expected(s, map, &expected, &told));
        assert_true(expected > 0.0 && expected < 100.0);
        assert_well(csrec_session_next(s, &next, &found, &told)); /* within the frame */
        assert_int_equal(found.n, 160);
    }
}

/* What three frames show together is more than one does: of 20 sessions the third and the fourth
 * had 0.57 of the squares of the first, +- 0.18; that of eight is above 0.95 once in 10^7. */
TEST(frames_help_each_other) {
    double squares[4] = {0.0};
    for (int round = 0; round < 8; round++) add_squares(squares);
    assert_true(squares[2] + squares[3] < 0.95 * 2.0 * squares[0]);
}

TEST(saved_sessions_go_on) {
    char *path = check_print("/tmp/csrec-session-%llu.npz", (unsigned long long)seed);
    for (int i = 0; i < KINDS; i++) {
        const kind *k = &kinds[i];
        csrec_session *s ENDS_BY(end_session) = open_session(k, NULL, NULL);
        csrec_session *t ENDS_BY(end_session) = open_session(k, NULL, NULL);
        log_of *l = check_keep_zeros(1, sizeof *l);
        assert_fails(csrec_session_save(s, path, &told), CSREC_DATA);
        for (int round = 0; round < 2; round++) measure_some(k, s, 300, l);
        assert_well(csrec_session_save(s, path, &told));
        assert_well(csrec_session_load(t, path, &told));
        const csrec_measurement *a = csrec_session_samples(s), *b = csrec_session_samples(t);
        const size_t values = (size_t)(a->n * k->channels);
        assert_int_equal(a->n, b->n);
        assert_memory_equal(a->index, b->index, (size_t)a->n * sizeof *a->index);
        assert_memory_equal(a->y, b->y, values * sizeof *a->y);
        assert_true(!a->deviation == !b->deviation && !a->rays == !b->rays);
        if (a->deviation) assert_memory_equal(a->deviation, b->deviation, values * sizeof *a->y);
        const kind other = {.channels = k->channels + 1};
        csrec_session *u ENDS_BY(end_session) = open_session(&other, NULL, NULL);
        assert_refused(csrec_session_load(u, path, &told), CSREC_DATA, "channels");
    }
    remove(path);
}

TEST(what_is_refused_changes_nothing) {
    const kind k = {.channels = 2};
    csrec_session *s ENDS_BY(end_session) = open_session(&k, NULL, NULL), *none = NULL;
    const double y[] = {1, 2, NAN, 4, 5, INFINITY, 7, 8}, d[] = {1, 1, 1, 1, 1, 1, 1, -1};
    const int64_t at[] = {5, 6, 7, 5}, far[] = {5, ENTRIES}, below[] = {-1};
    double signal[2 * ENTRIES];
    int64_t left;
    csrec_sampling next;
    assert_refused(csrec_session_picture(s, signal, NULL, &told), CSREC_DATA, "nothing");
    assert_well(csrec_session_add(s, 4, at, y, NULL, NULL, &left, &told));
    assert_int_equal(left, 2);
    assert_refused(csrec_session_add(s, 2, far, y, NULL, NULL, NULL, &told), CSREC_DATA, "1600");
    assert_refused(csrec_session_add(s, 1, below, y, NULL, NULL, NULL, &told), CSREC_DATA, "-1");
    assert_refused(csrec_session_add(s, 4, at, y, d, NULL, NULL, &told), CSREC_DATA, "deviation 7");
    assert_refused(csrec_session_add(s, 2, at, y, d, NULL, NULL, &told), CSREC_DATA, "all or none");
    assert_refused(csrec_session_add(s, 1, at, y, NULL, d, NULL, &told), CSREC_ARGUMENT, "rays");
    const csrec_measurement *m = csrec_session_samples(s);
    assert_true(m->n == 1 && m->index[0] == 5 && m->y[0] == 4.0 && m->y[1] == 5.0);
    const csrec_session_next_options wrong[] = {{.count = 0},
                                                {.count = ENTRIES},
                                                {.count = 9, .again = true},
                                                {.count = 9, .tile = {1, {3}}},
                                                {.count = 9, .tile = {2, {3, 0}}},
                                                {.count = 9, .move = {-1, 0}},
                                                {.count = 9, .move = {0, NAN}},
                                                {.count = 9, .move = {1, 0}, .path = true}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_fails(csrec_session_next(s, &wrong[i], &next, &told), CSREC_ARGUMENT);
    csrec_recover_options labels = options_by(NULL);
    labels.labels = true;
    const csrec_session_options bad[] = {{.channels = 1},
                                         {.shape = {2, {4, 0}}},
                                         {.shape = {2, {4, 4}}, .channels = -1},
                                         {.shape = {2, {4, 4}}, .sigma = NAN},
                                         {.shape = {4, {2, 2, 2, 2}}},
                                         {.shape = {2, {4, 4}}, .recover = &labels}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(csrec_session_create(&bad[i], &none, NULL) != CSREC_OK && !none);
    const csrec_session_options line = {.shape = {1, {9}}};
    csrec_session *of_line ENDS_BY(end_session) = NULL;
    assert_well(csrec_session_create(&line, &of_line, &told));
    assert_refused(csrec_session_frame(of_line, NULL, &told), CSREC_UNSUPPORTED, "two axes");
}

/* A stop is not taken for a result. */
TEST(stops_are_not_kept) {
    const kind *k = &kinds[2];
    int calls = 0;
    csrec_recover_options o = options_by("net");
    csrec_session *s ENDS_BY(end_session) = NULL;
    double *signal = check_room(ENTRIES);
    log_of *l = check_keep_zeros(1, sizeof *l);
    csrec_recover_report report;
    csrec_sampling next = {0};
    report_to(&o.solve, stop_by_count, &calls);
    s = open_session(k, &o, NULL);
    measure_some(k, s, 300, l);
    const csrec_session_next_options some = {.count = 9};
    assert_fails(csrec_session_next(s, &some, &next, &told), CSREC_STOPPED);
    calls = 0;
    assert_well(csrec_session_picture(s, signal, &report, &told));
    assert_int_equal(report.outcome, CSREC_INTERRUPTED);
    calls = 1 << 30;
    assert_well(csrec_session_picture(s, signal, &report, &told));
    assert_int_equal(report.outcome, CSREC_DONE);
}
