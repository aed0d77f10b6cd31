/* SPDX-License-Identifier: BSD-3-Clause */
/* test_rendered.c - the planes that networks of models of kind rendered take, against definitions
 * in double; what is refused. */
#include "rendered.h"

static double share_at(const csrec_rendered_samples *s, int64_t i) {
    const int64_t n = s->height * s->width;
    if (s->albedo && !three_finite(s->albedo, n, i)) return 0.0;
    if (s->normal && !three_finite(s->normal, n, i)) return 0.0;
    if (s->depth && isnan(s->depth[i])) return 0.0;
    return s->aov_rays ? (double)s->aov_rays[i] : 255.0;
}

/* A picture, of three channels or of one of them. */
typedef struct seen {
    int64_t h, w, n;
    csrec_rendered_samples s;
    int channel;
    double *rays, *share, unit[3], *plane; /* [TAKES][n] */
} seen;

static int64_t at(const seen *p, int k, int64_t i) {
    return (p->channel < 0 ? k : p->channel) * p->n + i;
}

static void fill_plane(const seen *p, const double *weight, int k) {
    double *own = p->plane + k * p->n, *filled = check_room(p->n);
    for (int64_t i = 0; i < p->n; i++)
        filled[i] = spread_by(p->h, p->w, weight, own, 0, i / p->w, i % p->w);
    memcpy(own, filled, (size_t)p->n * sizeof *own);
}

static void measure_light(seen *p) {
    for (int k = 0; k < 3; k++) {
        double sum = 0.0, roots = 0.0;
        for (int64_t i = 0; i < p->n; i++) {
            const float *y = p->s.radiance;
            if (p->rays[i] == 0.0) continue;
            const double mean =
                ((double)y[at(p, 0, i)] + (double)y[at(p, 1, i)] + (double)y[at(p, 2, i)]) / 3.0;
            sum += p->rays[i];
            roots += p->rays[i] * sqrt(fmax(mean, 0.0));
        }
        p->unit[k] = fmax(4.0 * pow(roots / sum, 2.0), 1e-30);
    }
}

static double limited(float v, double low, double high) {
    return fmin(fmax((double)v, low), high);
}

static void place_aovs(seen *p) {
    double logs = 0.0, sum = 0.0, *to = p->plane;
    const float *d = p->s.depth;
    for (int64_t i = 0; i < p->n && d; i++)
        if (p->share[i] > 0.0 && d[i] > 0.0f && isfinite(d[i]))
            logs += log((double)d[i]), sum += 1.0;
    for (int64_t i = 0; i < p->n; i++) {
        const bool hit = d && d[i] > 0.0f && isfinite(d[i]);
        for (int k = 0; k < 3; k++) {
            to[(12 + k) * p->n + i] =
                p->s.albedo ? limited(p->s.albedo[at(p, k, i)], 0.0, 1.0) : 0.96;
            to[(15 + k) * p->n + i] =
                p->s.normal ? limited(p->s.normal[k * p->n + i], -1.0, 1.0) : 0.0;
        }
        to[18 * p->n + i] = d ? 1.0 : 0.0;
        if (hit) to[18 * p->n + i] = (double)d[i] / ((double)d[i] + exp(logs / sum));
    }
    for (int k = 12; k < 19; k++)
        if (k < 15 ? p->s.albedo : k < 18 ? p->s.normal : d) fill_plane(p, p->share, k);
}

static double spread_at(const seen *p, int64_t i) {
    double deviation = 0.0, c = 0.0;
    for (int k = 0; k < 3; k++) {
        if (!p->s.deviation || !(p->s.deviation[at(p, k, i)] >= 0.0f)) return -0.5;
        deviation += (double)p->s.deviation[at(p, k, i)] / p->unit[k] / 3.0;
        c += fmax((double)p->s.radiance[at(p, k, i)], 0.0) / p->unit[k] / 3.0;
    }
    return fmin(2.0, deviation * 20.0 / (3.0 * (1.0 + 20.0 * c)));
}

static void place_light(seen *p) {
    for (int64_t i = 0; i < p->n; i++) {
        const bool M = p->rays[i] > 0.0;
        for (int k = 0; k < 3; k++) {
            double *to = p->plane + k * p->n + i;
            const double c = M ? fmax((double)p->s.radiance[at(p, k, i)] / p->unit[k], 0.0) : 0.0;
            to[0] = to[3 * p->n] = tone_of(c);
            to[9 * p->n] = tone_of(c / (to[12 * p->n] + 0.04));
        }
        p->plane[6 * p->n + i] = M ? 1.0 : 0.0;
        p->plane[7 * p->n + i] = log(1.0 + p->rays[i]) / log(2.0) / 6.0;
        p->plane[8 * p->n + i] = M ? spread_at(p, i) : 0.0;
    }
    for (int k = 0; k < 3; k++) {
        fill_plane(p, p->rays, k);
        fill_plane(p, p->rays, 9 + k);
    }
}

static seen planes_by_definition(const csrec_rendered_samples *s, int channel) {
    const int64_t n = s->height * s->width;
    seen p = {s->height,
              s->width,
              n,
              *s,
              channel,
              check_room(n),
              check_room(n),
              {0.0, 0.0, 0.0},
              check_room(TAKES * n)};
    double known = 0.0;
    for (int64_t i = 0; i < n; i++) {
        p.rays[i] = rays_at(s, i);
        p.share[i] = share_at(s, i);
        known += p.share[i];
    }
    if (known == 0.0) p.s.albedo = p.s.normal = p.s.depth = NULL;
    measure_light(&p);
    place_aovs(&p);
    place_light(&p);
    const bool any = p.s.albedo || p.s.normal || p.s.depth;
    for (int64_t i = 0; i < n; i++)
        p.plane[19 * n + i] = any ? fmin(1.0, log(1.0 + p.share[i]) / log(2.0) / 8.0) : 0.0;
    return p;
}

TEST(planes_equal_their_words) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.05);
    for (int round = 0; round < 48; round++) {
        const int64_t h = 1 + check_below(&seed, 18), w = 1 + check_below(&seed, 18), n = h * w;
        const csrec_rendered_samples s = draw_samples(h, w, round);
        const int channel = round % 7 < 3 ? round % 7 : -1;
        CLEARED(csrec_rendered) r;
        open_rendered(model, h, w, &r);
        assert_well(csrec_rendered_look(&r, &s, channel, &told));
        const seen p = planes_by_definition(&s, channel);
        for (int k = 0; k < 3; k++)
            assert_true(channel >= 0 && k != channel
                            ? r.unit[k] == 0.0
                            : fabs(r.unit[k] - p.unit[k]) <= 1e-9 * p.unit[k]);
        for (int64_t i = 0; i < TAKES * n; i++)
            if (!(fabs((double)r.planes[i] - p.plane[i]) <= 5e-6 * (1.0 + fabs(p.plane[i]))))
                fail_msg("round %d, plane %lld, pixel %lld of %lld x %lld: %g, not %g", round,
                         (long long)(i / n), (long long)(i % n), (long long)h, (long long)w,
                         (double)r.planes[i], p.plane[i]);
    }
}

/* Loops of a picture of this size have several threads. */
TEST(planes_do_not_depend_on_threads) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.05);
    const int64_t h = 301, w = 257;
    csrec_rendered_samples s = draw_samples(h, w, 7);
    CLEARED(csrec_rendered) one;
    CLEARED(csrec_rendered) three;
    open_rendered(model, h, w, &one);
    open_rendered(model, h, w, &three);
    s.threads = 1;
    assert_well(csrec_rendered_look(&one, &s, -1, &told));
    s.threads = 3;
    assert_well(csrec_rendered_look(&three, &s, -1, &told));
    assert_memory_equal(one.planes, three.planes, (size_t)(TAKES * h * w) * sizeof(float));
}

TEST(wrong_models_are_named) {
    static const char *const words[] = {"'channels': is 1; must be 3", "makes 7 planes; must be 8",
                                        "'weights': has "};
    for (int fault = 0; fault < 3; fault++) {
        design d = design_for_renderings(4);
        if (fault == 0) d.channels = 1;
        if (fault == 1) d.layers[d.n - 1].channels = 7;
        if (fault == 2) d.takes = 8;
        const csrec_model_parts parts = parts_of(&d, 0.05, &seed);
        csrec_model *model = NULL;
        assert_refused(csrec_model_assemble("rendered", &parts, &model, &told), CSREC_DATA,
                       words[fault]);
        assert_null(model);
    }
    const csrec_net_options options = {.threads = 1};
    ENDS_BY(end_model) csrec_model *gray = draw_model(1);
    CLEARED(csrec_rendered) r;
    assert_refused(csrec_rendered_create(&(csrec_prior_from){.model = gray}, &csrec_context_cpu,
                                         &options, 4, 5, &r, &told),
                   CSREC_DATA, "kind net; give one of kind rendered");
}

TEST(a_prior_that_is_not_installed_is_named) {
    const csrec_net_options options = {.threads = 1};
    CLEARED(csrec_rendered) r;
    const bool there = csrec_prior_installed(CSREC_PRIOR_RENDERED, 0, NULL);
    assert_refused(csrec_rendered_create(&(csrec_prior_from){.kept = NULL}, &csrec_context_cpu,
                                         &options, 4, 5, &r, &told),
                   there ? CSREC_OK : CSREC_FILE, "prior-rendered.npz");
}

TEST(pictures_without_samples_are_refused) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.05);
    const float rays[4] = {0.0f, 1.0f, NAN, -1.0f}, y[12] = {1.0f, 1.0f, 1.0f, 1.0f, 2.0f, NAN};
    const csrec_rendered_samples s = {2, 2, y, rays, .threads = 1};
    CLEARED(csrec_rendered) r;
    open_rendered(model, 2, 2, &r);
    assert_refused(csrec_rendered_look(&r, &s, -1, &told), CSREC_DATA, "no pixel has rays");
}
