/* SPDX-License-Identifier: BSD-3-Clause */
/* scene.h - random pictures and volumes for the Gaussian groups of a device. */
#pragma once

#include "device.h"
#include "method/gaussian/gaussian.h"

SEED(seed);

enum { CHANNELS = 3 };

typedef struct scene {
    csrec_gaussian_picture p;
    float *y[CHANNELS], *u[CHANNELS], *variance[CHANNELS];
    unsigned char *mask;
} scene;

/* Until the test's end. */
static inline float *floats(int64_t n) {
    return check_keep((size_t)n * sizeof(float));
}

static inline int64_t entries_of(const scene *s) {
    return (int64_t)s->p.depth * s->p.height * s->p.width;
}

/* Texture and an edge, in channels that are related; an estimate with errors. */
static inline void draw_channel(scene *s, int c, double slope) {
    double sigma = (double)s->p.sigma;
    for (int64_t i = 0; i < entries_of(s); i++) {
        double b = (double)(i % s->p.width), a = (double)(i / s->p.width % s->p.height);
        double z = (double)(i / s->p.width / s->p.height);
        double value =
            60.0 * sin(0.9 * a + 0.3 * b + 0.5 * z) + (a * slope + 0.4 * z > b ? 50.0 : -30.0);
        value = (1.0 - 0.25 * c) * value + 12.0 * c * sin(0.4 * b + 1.3 * a) + 5.0 * c;
        s->y[c][i] = (float)(value + sigma * (2.0 * check_uniform(&seed) - 1.0));
        s->u[c][i] = (float)(value + 20.0 * (check_uniform(&seed) - 0.5));
        s->variance[c][i] = (float)(30.0 * check_uniform(&seed));
        if (s->mask[i] && !(sigma > 0.0)) s->u[c][i] = s->y[c][i];
    }
}

static inline scene draw_volume(int depth, int height, int width, int channels, double rate,
                                float sigma) {
    scene s = {.p = {.depth = depth,
                     .height = height,
                     .width = width,
                     .channels = channels,
                     .sigma = sigma}};
    int64_t entries = entries_of(&s);
    double slope = check_uniform(&seed);
    s.p.mask = s.mask = check_keep((size_t)entries);
    s.p.guide = floats(entries * channels);
    for (int64_t i = 0; i < entries; i++) s.mask[i] = check_uniform(&seed) < rate;
    for (int c = 0; c < channels; c++) {
        s.y[c] = floats(entries);
        s.u[c] = floats(entries);
        s.variance[c] = floats(entries);
        draw_channel(&s, c, slope);
    }
    return s;
}

static inline scene draw(int height, int width, int channels, double rate, float sigma) {
    return draw_volume(1, height, width, channels, rate, sigma);
}

/* Three channels as the method has them: pooled or, with noise, apart. */
static inline scene draw_colours(int height, int width, double rate, float sigma) {
    scene s = draw(height, width, CHANNELS, rate, sigma);
    s.p.guides = CHANNELS;
    s.p.pooled = !(sigma > 0.0f);
    return s;
}

/* Arrays are by address: those of this copy. */
static inline csrec_gaussian_picture *picture(scene *s) {
    int64_t entries = entries_of(s);
    s->p.y = s->y;
    s->p.u = s->u;
    s->p.variance = s->variance;
    for (int c = 0; c < s->p.guides; c++)
        memcpy(s->p.guide + c * entries, s->u[c], (size_t)entries * sizeof(float));
    for (int64_t i = 0; s->p.guides == 0 && i < entries; i++) {
        float sum = 0.0f;
        for (int c = 0; c < s->p.channels; c++) sum += s->u[c][i];
        s->p.guide[i] = s->p.channels > 1 ? sum / (float)s->p.channels : sum;
    }
    return &s->p;
}

/* With its own estimate and variances. */
static inline scene scene_copy(const scene *s) {
    scene other = *s;
    size_t bytes = (size_t)entries_of(s) * sizeof(float);
    other.p.guide = floats(entries_of(s) * s->p.channels);
    for (int c = 0; c < s->p.channels; c++) {
        other.u[c] = floats(entries_of(s));
        other.variance[c] = floats(entries_of(s));
        memcpy(other.u[c], s->u[c], bytes);
        memcpy(other.variance[c], s->variance[c], bytes);
    }
    return other;
}

/* Of estimates and variances together. */
static inline double scene_rms(const scene *a, const scene *b) {
    double sum = 0.0;
    for (int c = 0; c < a->p.channels; c++)
        for (int64_t i = 0; i < entries_of(a); i++) {
            double e = (double)a->u[c][i] - (double)b->u[c][i];
            double v = (double)a->variance[c][i] - (double)b->variance[c][i];
            sum += e * e + v * v;
        }
    return sqrt(sum / (double)(entries_of(a) * a->p.channels));
}

static const csrec_gaussian_round usual = {.patch = 8,
                                           .step = 4,
                                           .group = 20,
                                           .radius = 5,
                                           .diagonal = 2,
                                           .noise = 1,
                                           .em = 1,
                                           .em_diagonal = 0.2f,
                                           .evenness = 5,
                                           .every = 3};

static inline csrec_gaussian_round round_of(int patch, int step, int group, int radius) {
    csrec_gaussian_round round = usual;
    round.patch = patch;
    round.step = step;
    round.group = group;
    round.radius = radius;
    return round;
}

/* Rounds there, drawn from seed `number`. */
static inline csrec_status create_there(csrec_gaussian_picture *p,
                                        const csrec_gaussian_round *rounds, int count,
                                        uint64_t number, void **there, csrec_error *error) {
    static csrec_call call; /* no progress callback */
    const csrec_gaussian_plan plan = {
        .rounds = rounds, .count = count, .seed = number, .call = &call};
    return csrec_gaussian_cuda.create(cuda_context(), p, &plan, there, error);
}
