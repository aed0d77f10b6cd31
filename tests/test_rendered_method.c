/* SPDX-License-Identifier: BSD-3-Clause */
/* test_rendered_method.c - method rendered against the network's steps called by hand and, without
 * the network, against the filter's definition in double; guides, gain, exact samples, presets. */
#include "rendered.h"

#include "rays.h"
#include "recover/recover.h"

typedef struct scene {
    csrec_measurement m;
    csrec_guides guides;
    int64_t h, w, n, albedos;
    const float *plane[4]; /* albedo, normal, depth, rays, or NULL */
    bool gaps;             /* of AOVs where there is no sample */
} scene;

/* Guides by `which`, a bit each, from another one on, among one that is none of them. */
static void draw_guides(int which, scene *s) {
    static const char *const names[][3] = {{"albedo", "diffuse color", "view.DiffCol"},
                                           {"normal", "N", "shading normal"},
                                           {"depth", "Z", "mist"},
                                           {"rays", "rays", "rays"},
                                           {"uv", "specular albedo", "crypto00"}};
    const double low[] = {-0.1, -1.0, 0.5, 1.0, 0.0}, high[] = {1.0, 1.0, 4.0, 9.0, 1.0};
    const int64_t first = check_below(&seed, 5), style = check_below(&seed, 3), n = s->n;
    const int64_t count[] = {s->albedos, 3, 1, 1, 1};
    uint8_t *known = check_keep_zeros((size_t)n, 1);
    for (int64_t i = 0; i < s->m.n; i++) known[s->m.index[i]] = 1;
    s->guides.values = floats(10 * n);
    for (int64_t k = first; k < first + 5; k++) {
        const int64_t kind = k % 5;
        if (kind < 4 && !(which >> kind & 1)) continue;
        float *to = s->guides.values + s->guides.n * n;
        for (int64_t i = 0; i < count[kind] * n; i++) {
            double v = low[kind] + (high[kind] - low[kind]) * check_uniform(&seed);
            if (kind == 2) v += 0.3 * (double)(i % s->w);
            to[i] = s->gaps && !known[i % n] ? NAN : (float)v;
        }
        if (kind < 4) s->plane[kind] = to;
        for (int64_t c = 0; c < count[kind]; c++)
            strcpy(s->guides.name[s->guides.n++], names[kind][style]);
    }
    s->m.guides = &s->guides;
}

static void draw_rendering(int64_t channels, int which, bool gaps, scene *s) {
    *s = (scene){.h = 5 + check_below(&seed, 20), .w = 5 + check_below(&seed, 20), .gaps = gaps};
    s->n = s->h * s->w;
    s->albedos = 1 + check_below(&seed, 2) * check_below(&seed, 4);
    s->m = draw_light_at((csrec_shape){2, {s->h, s->w}}, channels, s->n / 2);
    s->m.rays = draw_rays(s->m.n);
    for (int64_t i = 0; i < s->m.n * channels; i++) s->m.y[i] *= 30.0 * check_uniform(&seed);
    draw_guides(which, s);
}

/* NAN: not known, as also where less than 32 rays were equal. */
static double noise_at(const csrec_measurement *m, int64_t i, int64_t c) {
    const double own = m->deviation ? m->deviation[i * m->channels + c] : NAN;
    if (own > 0.0 || (own == 0.0 && (!m->rays || m->rays[i] >= 32.0))) return own;
    if (m->rays) return m->sigma > 0.0 ? m->sigma / sqrt(m->rays[i]) : NAN;
    return m->sigma;
}

/* Of channels first .. first + count - 1; paths of which nobody tells scatter by their mean. */
static csrec_rendered_samples by_hand(const scene *s, int64_t first, int64_t count) {
    const int64_t n = s->n, C = s->m.channels;
    float *radiance = floats(3 * n), *rays = floats(n), *deviation = floats(3 * n);
    float *albedo = floats(3 * n), *aov_rays = floats(n);
    csrec_rendered_samples r = {s->h, s->w, radiance, rays, deviation, .threads = 1};
    for (int64_t i = 0; i < n; i++) aov_rays[i] = 255.0f;
    for (int64_t i = 0; i < s->m.n; i++) {
        const int64_t at = s->m.index[i];
        double sum = 0.0, noise = 0.0;
        for (int64_t c = 0; c < C; c++) sum += s->m.y[i * C + c], noise += noise_at(&s->m, i, c);
        for (int64_t c = 0; c < count; c++) {
            radiance[c * n + at] = (float)s->m.y[i * C + first + c];
            deviation[c * n + at] = (float)noise_at(&s->m, i, first + c);
        }
        const double own = s->m.rays ? s->m.rays[i] : isnan(noise) ? 1.0 : pow(sum / noise, 2.0);
        rays[at] = noise == 0.0 ? 256.0f : (float)fmin(fmax(own, 1.0), 255.0);
        aov_rays[at] = rays[at];
    }
    for (int64_t i = 0; i < 3 * n && s->plane[0]; i++) {
        double mean = 0.0;
        for (int64_t k = 0; k < s->albedos; k++) mean += (double)s->plane[0][k * n + i % n];
        const int64_t own = first + i / n < s->albedos ? first + i / n : first;
        albedo[i] = s->albedos == C ? s->plane[0][own * n + i % n] : (float)(mean / s->albedos);
    }
    for (int64_t i = 0; i < n && s->plane[3]; i++)
        aov_rays[i] = isnan(s->plane[3][i]) ? 0.0f : s->plane[3][i];
    r.albedo = s->plane[0] ? albedo : NULL;
    r.normal = s->plane[1];
    r.depth = s->plane[2];
    r.aov_rays = s->gaps || s->plane[3] ? aov_rays : NULL;
    return r;
}

static double lesser_slope(const float *z, int64_t i, int64_t at, int64_t count, int64_t step) {
    const double back = at > 0 ? (double)z[i] - (double)z[i - step] : INFINITY;
    const double ahead = at + 1 < count ? (double)z[i + step] - (double)z[i] : INFINITY;
    const double least = fabs(back) < fabs(ahead) ? back : ahead;
    return isfinite(least) ? least : 0.0;
}

static double albedo_at(const csrec_rendered_samples *s, int64_t i) {
    const double a = s->albedo ? (double)s->albedo[i] : 1.0;
    return (isnan(a) ? 1.0 : fmax(a, 0.0)) + 0.04;
}

/* What is between pixels p and q, x columns and y rows on, of steps of `step`. */
static double between(const csrec_rendered_samples *s, int channels, int64_t p, int64_t q,
                      int64_t y, int64_t x, double step) {
    const int64_t n = s->height * s->width;
    double sum = 0.0;
    for (int k = 0; k < 3 && s->normal; k++) {
        const double d = ((double)s->normal[k * n + p] - (double)s->normal[k * n + q]) / 0.2;
        if (isfinite(d)) sum += d * d;
    }
    for (int64_t c = 0; c < channels && s->albedo; c++)
        sum += pow((albedo_at(s, c * n + p) - albedo_at(s, c * n + q)) / 0.2, 2.0) / channels;
    if (!s->depth) return sum;
    const double z = (double)s->depth[p];
    const double ahead = z +
                         (double)y * lesser_slope(s->depth, p, p / s->width, s->height, s->width) +
                         (double)x * lesser_slope(s->depth, p, p % s->width, s->width, 1);
    const double d = pow((ahead - (double)s->depth[q]) / (0.002 * z), 2.0) / step;
    return isfinite(d) ? sum + d : sum;
}

/* light [channels][n] and rays [n] of a level become those of the next. */
static void filter_once(const csrec_rendered_samples *s, int channels, int64_t step, double *light,
                        double *rays) {
    static const double b[] = {1.0, 4.0, 6.0, 4.0, 1.0};
    const int64_t H = s->height, W = s->width, n = H * W;
    double *from = check_room(channels * n), *of = check_room(n);
    memcpy(from, light, (size_t)(channels * n) * sizeof *from);
    memcpy(of, rays, (size_t)n * sizeof *of);
    for (int64_t p = 0; p < n; p++) {
        double sum[3] = {0.0, 0.0, 0.0}, all = 0.0, squares = 0.0;
        for (int k = 0; k < 25; k++) {
            const int64_t dy = (k / 5 - 2) * step, dx = (k % 5 - 2) * step, q = p + dy * W + dx;
            const int64_t y = p / W + dy, x = p % W + dx;
            if (y < 0 || y >= H || x < 0 || x >= W || of[q] == 0.0) continue;
            double v[2] = {0.0, 0.0}, off = between(s, channels, p, q, dy, dx, (double)step);
            for (int c = 0; c < channels; c++) v[0] += from[c * n + p], v[1] += from[c * n + q];
            const double m = (v[0] + v[1]) / 2.0, apart = (v[0] - v[1]) / (2.5 * m);
            if (of[p] > 0.0 && m > 0.0) off += apart * apart / (1.0 / of[p] + 1.0 / of[q]);
            const double weight = b[k / 5] * b[k % 5] * of[q] * exp(-fmin(off, 60.0));
            for (int c = 0; c < channels; c++) sum[c] += weight * from[c * n + q];
            all += weight;
            squares += weight * weight / of[q];
        }
        rays[p] = squares > 0.0 ? all * all / squares : 0.0;
        for (int c = 0; c < channels; c++) light[c * n + p] = squares > 0.0 ? sum[c] / all : 0.0;
    }
}

/* 4 (sum n sqrt(light) / sum n)^2. */
static double unit_of(const csrec_rendered_samples *s, int channels) {
    const int64_t n = s->height * s->width;
    double roots = 0.0, rays = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double light = 0.0;
        if (s->rays[i] == 0.0f) continue;
        for (int64_t c = 0; c < channels; c++)
            light += (double)s->radiance[c * n + i] / albedo_at(s, c * n + i) / channels;
        roots += (double)s->rays[i] * sqrt(light);
        rays += (double)s->rays[i];
    }
    return pow(2.0 * roots / rays, 2.0);
}

static void filter(const csrec_rendered_samples *s, int channels, double *result, double *squares) {
    const int64_t n = s->height * s->width;
    const double unit = unit_of(s, channels);
    double *rays = check_room(n);
    for (int64_t i = 0; i < n; i++) rays[i] = (double)s->rays[i];
    for (int64_t i = 0; i < channels * n; i++)
        result[i] = rays[i % n] > 0.0
                        ? log(1.0 + 2.0 * (double)s->radiance[i] / albedo_at(s, i) / unit)
                        : 0.0;
    for (int64_t step = 1; step <= 16; step *= 2) filter_once(s, channels, step, result, rays);
    double *light = check_room(channels * n);
    memcpy(light, result, (size_t)(channels * n) * sizeof *light);
    for (int64_t i = 0; i < channels * n; i++) {
        if (rays[i % n] == 0.0)
            result[i] = spread_by(s->height, s->width, rays, light + i / n * n, 0, i % n / s->width,
                                  i % n % s->width);
        result[i] = 0.5 * unit * (exp(result[i]) - 1.0) * albedo_at(s, i);
        squares[i] = result[i] * result[i] / fmax(rays[i % n], 0.1);
        if (s->rays[i % n] >= 256.0f) result[i] = (double)s->radiance[i], squares[i] = 0.0;
    }
}

/* By the network of a model; NULL: by the filter. */
static void run_by_hand(const csrec_model *model, const csrec_rendered_samples *s, int channels,
                        int turns, double *result, double *squares) {
    const int64_t n = s->height * s->width;
    if (!model) {
        filter(s, channels, result, squares);
        return;
    }
    float *x = floats(3 * n), *v = floats(3 * n);
    CLEARED(csrec_rendered) r;
    open_rendered(model, s->height, s->width, &r);
    assert_well(csrec_rendered_look(&r, s, channels == 3 ? -1 : 0, &told));
    for (int turn = 0; turn < turns; turn++)
        assert_well(csrec_rendered_add(&r, turn, 1, NULL, x, v, &told));
    csrec_rendered_finish(&r, s, turns, x, v);
    for (int64_t i = 0; i < channels * n; i++) result[i] = (double)x[i], squares[i] = (double)v[i];
}

/* (1 + d) x has the light of the rays; d counts by how sure it is. */
static double gain_of(const csrec_rendered_samples *s, const float *y, const double *x) {
    double made = 0.0, seen = 0.0, variance = 0.0;
    for (int64_t i = 0; i < s->height * s->width; i++) {
        const double rays = (double)s->rays[i], off = (double)y[i] - x[i];
        if (rays == 0.0 || rays == 256.0) continue;
        made += rays * x[i];
        seen += rays * (double)y[i];
        variance += rays * rays * off * off;
    }
    const double d = seen / made - 1.0, share = d * d / (d * d + variance / (made * made));
    return isfinite(share) ? 1.0 + share * d : 1.0;
}

static csrec_recover_options options_for(const csrec_model *model, csrec_setting set[3], int turns,
                                         bool apart) {
    csrec_recover_options o = options_on_cpu("rendered", model);
    const csrec_setting all[3] = {{"turns", turns}, {"network", model != NULL}, {"apart", apart}};
    memcpy(set, all, sizeof all);
    use_settings(&o.solve, 3, set);
    return o;
}

/* The samples' values stay if they are exact, none is below 0, and threads change nothing. */
static void check_scene(const scene *s, const csrec_model *model, int turns, bool apart) {
    const int64_t C = s->m.channels, n = s->n, together = C == 3 && !apart ? 3 : 1;
    double *got[2], *variance = check_room(n * C), *x = check_room(3 * n), *v = check_room(3 * n);
    int64_t *sample = check_keep((size_t)n * sizeof *sample);
    csrec_setting set[3];
    csrec_recover_options o = options_for(model, set, turns, apart);
    o.by_samples = true; /* as of presets: bounded by 0 */
    for (int64_t i = 0; i < n; i++) sample[i] = -1;
    for (int64_t i = 0; i < s->m.n; i++) sample[s->m.index[i]] = i;
    for (int k = 0; k < 2; k++) {
        got[k] = check_room(n * C);
        o.threads = 1 + 2 * k;
        assert_well(csrec_recover_variance(&s->m, &o, got[k], variance, NULL, &told));
    }
    assert_memory_equal(got[0], got[1], (size_t)(n * C) * sizeof *variance);
    const double factor = model ? 0.22 : 10.0; /* docs/renderings.md */
    for (int64_t first = 0; first < C; first += together) {
        const csrec_rendered_samples r = by_hand(s, first, together);
        run_by_hand(model, &r, (int)together, turns, x, v);
        for (int64_t c = 0; c < together; c++) {
            const double gain = gain_of(&r, r.radiance + c * n, x + c * n);
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = i * C + first + c, k = sample[i];
                const bool exact = k >= 0 && noise_at(&s->m, k, first + c) == 0.0;
                const double wanted = exact ? s->m.y[k * C + first + c] : gain * x[c * n + i];
                const double square = exact ? 0.0 : factor * gain * gain * v[c * n + i];
                if (exact) assert_true(got[0][at] == wanted);
                expect_number(got[0][at], fmax(wanted, 0.0), 1e-4 * (0.1 + wanted), "radiance", at);
                expect_number(variance[at], square, 1e-3 * square, "variance", at);
                assert_true(got[0][at] >= 0.0);
            }
        }
    }
}

/* What is known of the noise, in four ways. */
static void tell_noise(int way, scene *s) {
    const int64_t values = s->m.n * s->m.channels;
    if (way & 1) s->m.sigma = 2.0;
    if (!(way & 2)) return;
    s->m.deviation = draw_within(values, 0.1, 9.0);
    sprinkle(values, 0.2, NAN, s->m.deviation);
    for (int64_t i = 0; i < values; i++)
        if (i / s->m.channels % 5 == 2) s->m.deviation[i] = 0.0;
}

static const int64_t channels_of[] = {3, 1, 3, 4};

TEST(it_is_the_network_called_by_hand) {
    ENDS_BY(end_model) csrec_model *model = draw_rendered(0.06);
    for (int round = 0; round < 32; round++) {
        scene s;
        draw_rendering(channels_of[round % 4], (round * 7 + 3) % 16, round % 3 == 1, &s);
        tell_noise(round / 4 % 4, &s);
        if (round % 8 == 5 && s.plane[0] && s.m.deviation) s.m.rays = NULL;
        check_scene(&s, model, 1 + round % 3, round % 4 == 2);
    }
}

TEST(without_the_network_it_is_the_filter) {
    for (int round = 0; round < 32; round++) {
        scene s;
        draw_rendering(channels_of[round % 4], (round * 5 + 1) % 16, round % 3 == 1, &s);
        tell_noise(round / 4 % 4, &s);
        check_scene(&s, NULL, 1, round % 4 == 2);
    }
}

/* By the prior for renderings where it is installed; of rays, or of noise and albedo. */
TEST(presets_take_it_for_renderings) {
    const bool installed = csrec_prior_installed(-1, 0, NULL);
    for (int way = 0; way < 4; way++) {
        scene s;
        draw_rendering(3, way == 2 ? 1 : 0, false, &s);
        const char *name;
        csrec_recover_options o;
        int found = 0;
        s.m.deviation = draw_within(3 * s.m.n, 0.1, 1.0);
        if (way) s.m.rays = NULL;
        if (way == 3) s.m.deviation = NULL;
        for (int i = 0; (name = csrec_recover_preset(i, &s.m, &o)); i++) {
            if (way % 2) assert_true(!o.method || strcmp(o.method, "rendered") != 0);
            if (way % 2 || strcmp(o.method, "rendered") != 0) continue;
            const double network = csrec_setting_value(&o.solve, CSREC_OF_METHOD, "network", 1.0);
            assert_true(network == (installed && strcmp(name, "fast") != 0 ? 1.0 : 0.0));
            found++;
        }
        assert_int_equal(found, way % 2 ? 0 : 4);
    }
}
