/* SPDX-License-Identifier: BSD-3-Clause */
/* test_rendered_film.c - renderings in time: the rays that a frame has from those around it against
 * their definition as direct sums, and the errors of scenes that move, are lit anew, cut or dropped
 * against the frames alone. */

#include "method/rendered/lights.h"
#include "rays.h"
#include "recover/recover.h"
#include "rendered.h"

/* Planes of guides: albedo, normal, depth, motion. */
enum { T = 8, PLANES = 9, H = 48, W = 56, N = H * W };

typedef struct movie {
    csrec_measurement m; /* the whole sequence */
    csrec_guides guides;
    double *truth; /* [T][N][3] */
} movie;

/* A wall with a pattern of patches, of which each is turned and far by itself, that moves by
 * step[0] rows and step[1] columns a frame, under light of waves in space; lamp [T] times it. */
typedef struct scene {
    int64_t step[2];
    double lamp[T], share, rays; /* pixels that have so many rays */
    int cut;                     /* the first frame of another wall; 0: none */
    bool told;                   /* motion is a guide */
} scene;

static double patch(int64_t y, int64_t x, int wall, int kind) {
    const int64_t row = (y + 640) / 5, column = (x + 640) / 7; /* never below 0 */
    uint64_t state = (uint64_t)(row * 4099 + column * 17 + wall * 1000003 + kind * 7919);
    return check_uniform(&state);
}

static double light_at(double y, double x, int64_t c) {
    return 1.2 + sin(0.11 * y + 0.07 * x + (double)c) * cos(0.05 * x - 0.02 * y);
}

/* A mean of n rays of an exponential law. */
static double noisy(double mean, double rays) {
    double sum = 0.0;
    for (int k = 0; k < (int)rays; k++) sum -= log(1.0 - check_uniform(&seed));
    return mean * sum / rays;
}

static void draw_pixel(const scene *s, movie *f, int64_t t, int64_t i) {
    const int64_t all = T * N, at = t * N + i;
    const int64_t y = i / W - t * s->step[0], x = i % W - t * s->step[1];
    const int wall = s->cut && t >= s->cut;
    float *g = f->guides.values + at;
    const double angle = 6.0 * patch(y, x, wall, 3);
    for (int64_t c = 0; c < 3; c++) {
        g[c * all] = (float)(0.1 + 0.8 * patch(y, x, wall, (int)c));
        f->truth[at * 3 + c] =
            s->lamp[t] * (double)g[c * all] * light_at((double)y, (double)x, c + 2 * wall);
    }
    g[3 * all] = (float)sin(angle);
    g[4 * all] = (float)cos(angle);
    g[5 * all] = 0.0f;
    g[6 * all] = (float)(2.0 + patch(y, x, wall, 4));
    for (int k = 0; k < 2 && s->told; k++) g[(7 + k) * all] = (float)-s->step[k];
    if (check_uniform(&seed) >= s->share) return;
    f->m.index[f->m.n] = at;
    f->m.rays[f->m.n] = s->rays;
    for (int64_t c = 0; c < 3; c++) f->m.y[f->m.n * 3 + c] = noisy(f->truth[at * 3 + c], s->rays);
    f->m.n++;
}

static movie *draw_film(const scene *s) {
    static const char *const names[PLANES] = {"albedo", "albedo", "albedo", "normal", "normal",
                                              "normal", "depth",  "motion", "motion"};
    movie *f = check_keep_zeros(1, sizeof *f);
    f->guides = (csrec_guides){.n = s->told ? 9 : 7, .values = floats((int64_t)PLANES * T * N)};
    f->m = room_for_samples((csrec_shape){3, {T, H, W}}, 3, T * N);
    f->m.sequence = true;
    f->m.rays = check_room(T * N);
    f->truth = check_room((int64_t)T * N * 3);
    f->m.guides = &f->guides;
    for (int k = 0; k < PLANES; k++) strcpy(f->guides.name[k], names[k]);
    for (int64_t i = 0; i < (int64_t)T * N; i++) draw_pixel(s, f, i / N, i % N);
    return f;
}

static scene usual(void) {
    scene s = {.step = {1, -2}, .share = 0.6, .rays = 2.0, .told = check_below(&seed, 2)};
    for (int t = 0; t < T; t++) s.lamp[t] = 1.0;
    return s;
}

/* Without the prior: the filter. */
static csrec_recover_options options_for(bool network, bool motion) {
    static csrec_setting settings[2];
    settings[0] = (csrec_setting){"network", network};
    settings[1] = (csrec_setting){"motion", motion};
    csrec_recover_options o = options_by("rendered");
    o.solve.settings = settings;
    o.solve.n_settings = 2;
    return o;
}

static double *recover(const movie *f, const csrec_recover_options *o) {
    double *signal = check_room((int64_t)T * N * 3);
    assert_well(csrec_recover(&f->m, o, signal, NULL, NULL, &told));
    return signal;
}

/* Of frame t, relative to its lamp. */
static double error_of(const movie *f, const double *signal, int64_t t) {
    double sum = 0.0, all = 0.0;
    for (int64_t i = t * N * 3; i < (t + 1) * N * 3; i++) {
        sum += pow(signal[i] - f->truth[i], 2.0);
        all += f->truth[i] * f->truth[i];
    }
    return sum / all;
}

typedef struct pair {
    double weight, factor[3];
    int64_t p, q;
} pair;

static double fade(double d) {
    return exp(-d * d / 0.04);
}

/* Pixels that frames k and t both see, by the motion that the guides tell: whole pixels. */
static int64_t pairs_of(const movie *f, const scene *s, int64_t k, int64_t t, pair *list) {
    const float *g = f->guides.values;
    const int64_t all = T * N;
    int64_t n = 0;
    for (int64_t p = 0; p < N; p++) {
        const int64_t y = p / W + (t - k) * s->step[0], x = p % W + (t - k) * s->step[1];
        if (y < 0 || x < 0 || y >= H || x >= W) continue;
        const int64_t q = y * W + x, a = k * N + p, b = t * N + q;
        pair one = {.p = p, .q = q};
        double differs = 0.0, turned = 0.0;
        for (int64_t c = 0; c < 3; c++) {
            const double there = (double)g[c * all + a], here = (double)g[c * all + b];
            differs += fabs(there - here) / 3.0;
            turned += 0.5 * pow((double)g[(3 + c) * all + a] - (double)g[(3 + c) * all + b], 2.0);
            one.factor[c] = (here + 0.04) / (there + 0.04);
        }
        const double z[2] = {(double)g[6 * all + a], (double)g[6 * all + b]};
        one.weight = fade(differs) * fade(turned) * fade(fabs(z[0] - z[1]) / fmin(z[0], z[1]));
        list[n++] = one;
    }
    return n;
}

/* alone [4][N] of either frame: light and variance. */
static double gain_by_hand(const pair *list, int64_t n, const float *own, const float *other) {
    double *ratio = check_room(n);
    for (int64_t j = 0; j < n; j++) {
        double here = 0.0, there = 0.0, factor = 0.0;
        for (int64_t c = 0; c < 3; c++) {
            here += (double)own[c * N + list[j].q] / 3.0;
            there += list[j].factor[c] * (double)other[c * N + list[j].p] / 3.0;
            factor += list[j].factor[c];
        }
        ratio[j] = here / there;
    }
    qsort(ratio, (size_t)n, sizeof *ratio, check_ascend_reals);
    return ratio[n / 2];
}

/* Of the window around pixel q: what a carried ray is worth. */
static double worth_by_hand(const pair *list, int64_t n, double gain, const float *own,
                            const float *other, int64_t q) {
    double off = 0.0, here = 0.0, there = 0.0;
    for (int64_t j = 0; j < n; j++) {
        const pair *a = &list[j];
        if (llabs(a->q / W - q / W) > 3 || llabs(a->q % W - q % W) > 3) continue;
        double squares = 0.0;
        for (int64_t c = 0; c < 3; c++) {
            const double factor = gain * a->factor[c];
            off += a->weight *
                   pow((double)own[c * N + a->q] - factor * (double)other[c * N + a->p], 2.0);
            squares += factor * factor / 3.0;
        }
        here += a->weight * (double)own[3 * N + a->q];
        there += a->weight * squares * (double)other[3 * N + a->p];
    }
    off -= 2.0 * 0.1 * (here + there);
    return off > 0.0 ? 1.0 / (1.0 + off / (0.1 * fmin(here, there))) : 1.0;
}

static csrec_measurement frame_of(const movie *f, int64_t t) {
    const int64_t at[3] = {t, 0, 0};
    const csrec_shape slice = {3, {1, H, W}};
    csrec_measurement m = room_for_samples((csrec_shape){2, {H, W}}, 3, N);
    m.rays = check_room(N);
    for (int64_t i = 0; i < f->m.n; i++) {
        if (f->m.index[i] / N != t) continue;
        for (int64_t c = 0; c < 3; c++) m.y[m.n * 3 + c] = f->m.y[i * 3 + c];
        m.rays[m.n] = f->m.rays[i];
        m.index[m.n++] = f->m.index[i] % N;
    }
    m.guides = csrec_guides_crop(&f->guides, &f->m.shape, at, &slice);
    return m;
}

/* Adds what frame k has of frame t to [4][N]: sums of light, rays. */
static void carry_by_hand(const movie *f, const scene *s, const csrec_film *film, int64_t k,
                          int64_t t, double *sums) {
    const csrec_lights *l = film->own;
    const csrec_measurement *m = &film->frame[csrec_film_slot(film, k)].m;
    const float *own = l->alone[csrec_film_slot(film, t)],
                *other = l->alone[csrec_film_slot(film, k)];
    const double gain = l->gain[csrec_film_slot(film, k)];
    pair *list = check_keep(sizeof *list * N);
    const int64_t n = pairs_of(f, s, k, t, list);
    int64_t *sample = check_keep_zeros(N, sizeof *sample);
    assert_true(fabs(gain / gain_by_hand(list, n, own, other) - 1.0) <
                0.012); /* a step: 2^(1/64) */
    for (int64_t i = 0; i < m->n; i++) sample[m->index[i]] = i + 1;
    for (int64_t j = 0; j < n; j++) {
        const pair *a = &list[j];
        const int64_t i = sample[a->p] - 1;
        if (i < 0) continue;
        const double rays = m->rays[i] * a->weight * worth_by_hand(list, n, gain, own, other, a->q);
        if (rays <= 1.0 / 64.0) continue;
        for (int64_t c = 0; c < 3; c++)
            sums[c * N + a->q] += rays * gain * a->factor[c] * m->y[i * 3 + c];
        sums[3 * N + a->q] += rays;
    }
}

/* The rays of a frame are its own and, as far as they are worth it, those of three frames before
 * and after it: by direct sums. */
TEST(rays_are_carried) {
    for (int round = 0; round < 2; round++) {
        const int64_t t = 3, window = CSREC_LIGHTS_WINDOW;
        scene s = usual();
        s.told = true;
        s.lamp[2] = round ? 0.4 : 1.0;
        const movie *f = draw_film(&s);
        csrec_recover_options o = options_for(false, true);
        const csrec_recovery r = {
            .measurement = &f->m, .options = &o, .context = &csrec_context_cpu, .unit = 1.0};
        csrec_film film;
        csrec_measurement frame[CSREC_LIGHTS_WINDOW];
        double *sums = check_keep_zeros(4 * N, sizeof *sums);
        assert_well(csrec_rendered_film(&r, true, &film, &told));
        for (int64_t k = 0; k < window; k++) {
            frame[k] = frame_of(f, k);
            csrec_film_push(&film, &frame[k], false);
        }
        assert_well(film.other(&film, t, check_room(N * 3), NULL, NULL, &told));
        for (int64_t i = 0; i < frame[t].n; i++) {
            const int64_t q = frame[t].index[i];
            for (int64_t c = 0; c < 3; c++)
                sums[c * N + q] += frame[t].rays[i] * frame[t].y[i * 3 + c];
            sums[3 * N + q] += frame[t].rays[i];
        }
        for (int64_t k = 0; k < window; k++)
            if (k != t) carry_by_hand(f, &s, &film, k, t, sums);
        const csrec_measurement *all = &((csrec_lights *)film.own)->all;
        int64_t known = 0;
        for (int64_t q = 0; q < N; q++) known += sums[3 * N + q] > 0.0;
        assert_int_equal(all->n, known);
        for (int64_t i = 0; i < all->n; i++) {
            const int64_t q = all->index[i];
            expect_near(all->rays[i], sums[3 * N + q], 1e-6 * all->rays[i], "rays", q);
            for (int64_t c = 0; c < 3; c++)
                expect_near(all->y[i * 3 + c], sums[c * N + q] / sums[3 * N + q],
                            1e-6 * fabs(all->y[i * 3 + c]), "light", q);
        }
        csrec_film_clear(&film);
        for (int64_t k = 0; k < window; k++) csrec_guides_destroy(frame[k].guides);
    }
}

/* Sums over frames of a film of errors with the rays of other frames, and without. */
static void compare_errors(const scene *s, bool network, double sums[2], double *worst) {
    const movie *f = draw_film(s);
    const csrec_recover_options with = options_for(network, true);
    const double *together = recover(f, &with);
    const csrec_recover_options without = options_for(network, false);
    const double *alone = recover(f, &without);
    *worst = 0.0;
    for (int64_t t = 0; t < T; t++) {
        sums[0] += error_of(f, together, t);
        sums[1] += error_of(f, alone, t);
        *worst = fmax(*worst, error_of(f, together, t) / error_of(f, alone, t));
    }
}

/* What moves as the guides tell, or as they show; under lamps that change; and where the scene
 * ends, in the middle: the rays of other frames lessen the error, and none has much more of it. */
TEST(frames_help_each_other) {
    for (int way = 0; way < 6; way++) {
        scene s = usual();
        const bool network = way % 2 && csrec_prior_installed(CSREC_PRIOR_RENDERED, 0, NULL);
        double sums[2] = {0.0}, worst;
        for (int t = 0; t < T && way / 2 == 1; t++) s.lamp[t] = 0.4 + 2.0 * check_uniform(&seed);
        s.cut = way / 2 == 2 ? 4 : 0;
        compare_errors(&s, network, sums, &worst);
        print_message("way %d: %.3f of the error, at worst %.3f\n", way, sums[0] / sums[1], worst);
        assert_true(sums[0] < 0.8 * sums[1]);
        assert_true(worst < 1.1);
    }
}

/* A shadow that is elsewhere in each frame: no frame errs much more for the others. */
TEST(shadows_are_not_carried) {
    const scene s = usual();
    movie *f = draw_film(&s);
    double sums[2] = {0.0};
    for (int64_t i = 0; i < f->m.n * 3; i++)
        if ((f->m.index[i / 3] % W + 7 * (f->m.index[i / 3] / N)) % 28 < 10) f->m.y[i] *= 0.1;
    for (int64_t i = 0; i < (int64_t)T * N * 3; i++)
        if ((i / 3 % N % W + 7 * (i / 3 / N)) % 28 < 10) f->truth[i] *= 0.1;
    for (int motion = 0; motion < 2; motion++) {
        const csrec_recover_options o = options_for(false, motion);
        const double *signal = recover(f, &o);
        for (int64_t t = 0; t < T; t++) sums[motion] += error_of(f, signal, t);
    }
    print_message("%.3f of the error\n", sums[1] / sums[0]);
    assert_true(sums[1] < 1.1 * sums[0]);
}

/* Leaves out the samples of these frames. */
static void drop(movie *f, int64_t first, int64_t last) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->m.n; i++) {
        const int64_t t = f->m.index[i] / N;
        if (t >= first && t <= last) continue;
        f->m.index[n] = f->m.index[i];
        f->m.rays[n] = f->m.rays[i];
        for (int64_t c = 0; c < 3; c++) f->m.y[n * 3 + c] = f->m.y[i * 3 + c];
        n++;
    }
    f->m.n = n;
}

/* Pushed one after another, frames have the bits of the array, for any number of threads. A dropped
 * frame errs little more than the frames beside it; of which nothing is known around stays NAN. */
TEST(frames_that_come_and_frames_that_do_not) {
    for (int way = 0; way < 2; way++) {
        const scene s = usual();
        movie *f = draw_film(&s);
        csrec_recover_options o = options_for(false, true);
        ENDS_BY(end_sequence) csrec_sequence *frames;
        double *one = check_room(N * 3), *errors = check_room(N * 3);
        drop(f, way ? 4 : 3, way ? 7 : 3);
        const double *all = recover(f, &o);
        if (!way) assert_true(error_of(f, all, 3) < 1.5 * error_of(f, all, 2));
        for (int64_t i = 0; i < (int64_t)T * N * 3; i++)
            assert_true(isnan(all[i]) == (way && i / (N * 3) == 7));
        o.threads = 3;
        assert_well(csrec_sequence_create(&o, &frames, &told));
        for (int64_t t = 0, taken = 0; t < T; t++) {
            csrec_measurement m = frame_of(f, t);
            assert_well(csrec_sequence_push(frames, &m, &told));
            csrec_guides_destroy(m.guides);
            if (t == T - 1) csrec_sequence_end(frames);
            for (; csrec_sequence_ready(frames); taken++) {
                assert_well(csrec_sequence_take(frames, one, errors, NULL, &told));
                assert_memory_equal(one, all + taken * N * 3, N * 3 * sizeof *one);
                for (int64_t i = 0; i < N * 3; i++) /* no ray is exact */
                    assert_true(isnan(one[i]) ? isnan(errors[i]) : errors[i] > 0.0);
            }
        }
    }
}

FIXTURE(NULL, NULL);
