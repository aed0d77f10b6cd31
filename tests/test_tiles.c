/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery in tiles: as good as the whole, no seams, the same for any number of threads, within its
 * memory; and stopped at any time. */
#include "tiles.h"

SEED(seed);

/* What a difference of 12 of 255 between two halves exceeds, and noise of the measure does not. */
static const double SEAM = 1.3;

static double mean_square(const picture *p, int64_t channel, const double *signal) {
    double sum = 0.0;
    for (int64_t i = channel; i < p->entries * p->m.channels; i += p->m.channels)
        sum += (signal[i] - p->truth[i]) * (signal[i] - p->truth[i]);
    return sum / (double)p->entries;
}

/* Decibels that tiles lose in the channel that loses most. */
static double loss(const picture *p, const double *tiled) {
    double most = -INFINITY;
    for (int64_t c = 0; c < p->m.channels; c++)
        most = fmax(most, 10.0 * log10(mean_square(p, c, tiled) / mean_square(p, c, p->signal)));
    return most;
}

/* Memory that is too little for the whole, by the estimate: a share of it. */
static uint64_t memory_for_tiles(const csrec_measurement *m, csrec_recover_options *o,
                                 double share) {
    csrec_plan plan;
    o->memory = 0;
    int threads = o->threads;
    o->threads = 1;
    assert_ok(csrec_recover_plan(m, o, false, &plan, NULL));
    o->threads = threads;
    return (uint64_t)(share * (double)plan.estimate.bytes);
}

/* Mean of |second difference| along x beside column `at`, against that of all columns. A line there
 * makes it larger. */
static double line_at(const picture *p, const double *s, int64_t at, int64_t reach) {
    int64_t width = p->m.shape.dim[p->m.shape.dims - 1], c = p->m.channels;
    double near = 0.0, all = 0.0;
    int64_t n_near = 0, n_all = 0;
    for (int64_t i = 0; i < p->entries; i++) {
        int64_t x = i % width;
        if (x < 1 || x >= width - 1) continue;
        double d = fabs(s[(i - 1) * c] - 2.0 * s[i * c] + s[(i + 1) * c]);
        all += d;
        n_all++;
        if (llabs(x - at) > reach) continue;
        near += d;
        n_near++;
    }
    return near / (double)n_near / (all / (double)n_all);
}

typedef struct one_case {
    const char *name;
    csrec_shape shape;
    int64_t channels;
    double rate, sigma, share;
    double decibels; /* that tiles may lose */
    double less;     /* of a channel than of the one before, a share */
    const char *method, *solver;
    csrec_setting setting;
} one_case;

static const one_case cases[] = {
    {"frames", {2, {640, 700}}, 1, 0.1, 0.0, 0.7, 0.2, 0.0, "frames", NULL, {NULL, 0}},
    {"frames, noise", {2, {600, 640}}, 1, 0.2, 8.0, 0.7, 0.2, 0.0, "frames", NULL, {NULL, 0}},
    {"frames, 50 % less", {2, {560, 600}}, 3, 0.1, 0.0, 0.7, 0.2, 0.5, "frames", NULL, {NULL, 0}},
    {"net", {2, {300, 600}}, 1, 0.1, 0.0, 0.92, 0.2, 0.0, "net", NULL, {NULL, 0}},
    {"gaussian, less", {2, {300, 600}}, 3, 0.1, 6, 0.92, 0.2, 0.5, NULL, "gaussian", {"effort", 0}},
    {"gaussian", {2, {300, 600}}, 1, 0.1, 0.0, 0.92, 0.2, 0.0, NULL, "gaussian", {"effort", 0}},
    {"volume", {3, {40, 44, 160}}, 1, 0.1, 0.0, 0.92, 0.2, 0.0, NULL, "gaussian", {"effort", 0}},
};

static void set(const one_case *c, csrec_recover_options *o) {
    csrec_recover_defaults(o);
    o->method = c->method;
    if (c->solver) o->solve.solver = c->solver;
    if (c->setting.name) {
        use_settings(&o->solve, 1, &c->setting);
    }
    o->threads = 2;
}

static void check_case(const one_case *c) {
    ENDS_BY(clear) picture p = make(&c->shape, c->channels, c->less, c->rate, c->sigma, &seed);
    csrec_recover_options o;
    csrec_recover_report report;
    size_t bytes = (size_t)(p.entries * c->channels) * sizeof(double);
    OWNED double *tiled = malloc(bytes);
    set(c, &o);
    assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
    assert_int_equal(report.estimate.tiles, 1);
    o.memory = memory_for_tiles(&p.m, &o, c->share);
    csrec_error error = {{0}};
    if (csrec_recover(&p.m, &o, tiled, NULL, &report, &error))
        fail_msg("%s: %s", c->name, error.text);
    const csrec_estimate *e = &report.estimate;
    assert_true(e->tiles > 1 && e->bytes <= o.memory);
    double lost = loss(&p, tiled);
    int64_t width = c->shape.dim[c->shape.dims - 1], middle = (width + 1) / 2;
    double own = line_at(&p, p.signal, middle, 1), line = line_at(&p, tiled, middle, 1) / own;
    printf("%-20s %lld tiles of %lld x %lld, lost %.3f dB, seams %.3f\n", c->name,
           (long long)e->tiles, (long long)e->tile.dim[c->shape.dims - 2],
           (long long)e->tile.dim[c->shape.dims - 1], lost, line);
    assert_true(lost < c->decibels);
    assert_true(line < SEAM);
    for (int64_t i = 0; i < p.entries * c->channels; i++) /* as a seam would be that shows */
        if (i / c->channels % width >= middle) p.signal[i] += 24.0;
    assert_true(line_at(&p, p.signal, middle, 1) / own > SEAM);
}

TEST(tiles_are_as_good_as_the_whole) {
    const size_t step = SANITIZED ? 4 : 2; /* the seed tells which half, or quarter */
    for (size_t i = seed % step; i < sizeof cases / sizeof *cases; i += step) check_case(&cases[i]);
}

/* Two axes halved: thresholded blocks in 4 tiles. */
static picture small_tiles(double rate, csrec_recover_options *o) {
    picture p = make(&(csrec_shape){2, {560, 530}}, 1, 0.0, rate, 0.0, &seed);
    csrec_recover_defaults(o);
    o->method = "frames";
    o->memory = memory_for_tiles(&p.m, o, 0.7);
    return p;
}

/* More memory than the whole needs changes nothing. */
TEST(what_fits_is_one_tile) {
    csrec_recover_options o;
    ENDS_BY(clear) picture p = small_tiles(0.05, &o);
    OWNED double *other = malloc((size_t)p.entries * sizeof *other);
    csrec_recover_report report;
    assert_non_null(other);
    o.memory = 0;
    assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
    o.memory = memory_for_tiles(&p.m, &o, 1.0) + 1;
    o.threads = 7; /* of which not all fit */
    assert_ok(csrec_recover(&p.m, &o, other, NULL, &report, NULL));
    assert_int_equal(report.estimate.tiles, 1);
    assert_memory_equal(p.signal, other, (size_t)p.entries * sizeof *other);
}

/* Samples in one corner alone: tiles without any take the samples' mean. */
TEST(tiles_without_samples_are_filled) {
    csrec_recover_options o;
    ENDS_BY(clear) picture p = small_tiles(0.5, &o);
    int64_t n = 0;
    double mean = 0.0;
    for (int64_t k = 0; k < p.m.n; k++) {
        int64_t at = p.m.index[k];
        if (at % 530 > 100 || at / 530 > 100) continue;
        p.m.index[n] = at;
        p.m.y[n++] = p.m.y[k];
        mean += p.m.y[k];
    }
    p.m.n = n;
    csrec_recover_report report;
    o.memory = memory_for_tiles(&p.m, &o, 0.7);
    assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
    assert_true(report.estimate.tiles > 1);
    assert_true(fabs(p.signal[p.entries - 1] - mean / (double)n) < 1e-9);
    for (int64_t i = 0; i < p.entries; i++) assert_true(isfinite(p.signal[i]));
}

/* Whenever it is stopped there is a whole signal, and it says so. */
TEST(stopping_delivers_what_there_is) {
    csrec_recover_options o;
    ENDS_BY(clear) picture p = small_tiles(0.05, &o);
    csrec_recover_report report;
    for (int calls = 0; calls < 400; calls = 2 * calls + 1) {
        int left = calls;
        report_to(&o.solve, stop_by_count, &left);
        assert_ok(csrec_recover(&p.m, &o, p.signal, NULL, &report, NULL));
        if (left >= 0) break;
        assert_int_equal(report.outcome, CSREC_INTERRUPTED);
        assert_string_equal(report.backend, "cpu");
        for (int64_t i = 0; i < p.entries; i++)
            assert_true(p.signal[i] > -1000.0 && p.signal[i] < 1000.0);
    }
}

TEST(too_little_memory_is_refused) {
    csrec_recover_options o;
    ENDS_BY(clear) picture p = small_tiles(0.05, &o);
    p.signal[0] = 1.5;
    o.memory = 1 << 20;
    assert_refused(csrec_recover(&p.m, &o, p.signal, NULL, NULL, &told), CSREC_MEMORY,
                   "but may use 1.0 MiB of memory; give it more memory");
    assert_true(p.signal[0] == 1.5);
    o.method = "grids"; /* which knows no tiles */
    o.shifts = 1;
    assert_refused(csrec_recover(&p.m, &o, p.signal, NULL, NULL, &told), CSREC_MEMORY,
                   "use a preset that works in tiles");
}
